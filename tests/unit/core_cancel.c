/* Cancellation against everything: small programs are stopped by a kill, a deadline or the end of the process at every turn, taken up again,
 * and replayed. Whatever happened, the log must tell the same story again: 0 divergences, nothing leaked, nothing hanging.
 *
 * The workflows are scripts: one function in the shape that tfyc emits runs any of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/core.h"

/* ---- scripts ---- */

typedef enum OpKind {
    OP_END,
    OP_SAY,     /* print(text) */
    OP_NOW,     /* now() */
    OP_YIELD,   /* yield */
    OP_SPIN,    /* a loop of n rounds that spends fuel */
    OP_SLEEP,   /* yield sleep(n ms) timeout … */
    OP_WORK,    /* yield work(n) retry … backoff … timeout …; a negative n fails */
    OP_ONCE,    /* yield burn(n): a once tool */
    OP_ASK,     /* yield approve("…") timeout … */
    OP_SPAWN,   /* h = spawn script */
    OP_JOIN,    /* yield join(h) timeout … */
    OP_CALL,    /* yield script() retry … backoff … timeout … */
    OP_KILL,    /* kill(h) */
    OP_FAIL,    /* fail ToolError */
    OP_CATCH,   /* an error above this place goes on here */
    OP_FINALLY, /* what follows runs in every case, then … */
    OP_DONE,    /* … the end that was pending goes on */
} OpKind;

typedef struct Script Script;
typedef struct Op {
    OpKind kind;
    int64_t n;
    const char *text;
    const Script *script;
    int64_t retry, backoff_ms, timeout_ms; /* 0: none */
} Op;

struct Script {
    TfyWorkflow workflow; /* first: found again from a frame */
    const Op *ops;
};

typedef struct Frame {
    TfyFrame head;
    TfyObj *pending; /* the error a finally holds */
    int64_t at, handle, round, attempt;
    int64_t cleaning; /* in a finally; 2: its end was an error */
} Frame;

static const TfyLive frame_live[] = {{0, &tfy_type_any_error, NULL}};
#define POINT(Name, Number, Kind)                                                                                      \
    static const TfyPoint Name = {                                                                                     \
        .id = #Name, .number = Number, .line = Number, .kind = Kind, .live = frame_live, .live_count = 1}
POINT(point_say, 1, TFY_POINT_MARK);
POINT(point_now, 2, TFY_POINT_MARK);
POINT(point_yield, 3, TFY_POINT_YIELD);
POINT(point_spin, 4, TFY_POINT_FUEL);
POINT(point_sleep, 5, TFY_POINT_EFFECT);
POINT(point_work, 6, TFY_POINT_EFFECT);
POINT(point_once, 7, TFY_POINT_EFFECT);
POINT(point_ask, 8, TFY_POINT_EFFECT);
POINT(point_spawn, 9, TFY_POINT_MARK);
POINT(point_join, 10, TFY_POINT_EFFECT);
POINT(point_call, 11, TFY_POINT_CALL);
POINT(point_again, 12, TFY_POINT_EFFECT);
POINT(point_kill, 13, TFY_POINT_MARK);

static const TfyField work_params[] = {{"n", &tfy_type_int, NULL}};
static const TfyTool work = {.name = "work",
                             .family = TFY_F_EXTERN,
                             .repeat = TFY_PURE,
                             .params = work_params,
                             .param_count = 1,
                             .result = &tfy_type_string};
static const TfyTool burn = {.name = "burn",
                             .family = TFY_F_EXTERN,
                             .repeat = TFY_ONCE,
                             .params = work_params,
                             .param_count = 1,
                             .result = &tfy_type_string};
static const TfySite site_sleep = {&point_sleep, &tfy_effect_sleep, &tfy_type_nothing},
                     site_work = {&point_work, &work, &tfy_type_string},
                     site_once = {&point_once, &burn, &tfy_type_string},
                     site_ask = {&point_ask, &tfy_effect_approve, &tfy_type_bool},
                     site_join = {&point_join, &tfy_effect_join, &tfy_type_string},
                     site_again = {&point_again, NULL, &tfy_type_string};
enum { PC_YIELD = 1, PC_SPIN, PC_SLEEP, PC_WORK, PC_ONCE, PC_ASK, PC_JOIN, PC_CALL, PC_AGAIN };
static const TfyPoint *const resume_points[] = {&point_yield, &point_spin, &point_sleep, &point_work, &point_once,
                                                &point_ask,   &point_join, &point_call,  &point_again};

static bool text_answer(const Frame *frame)
{
    return frame->head.pc == PC_WORK || frame->head.pc == PC_ONCE || frame->head.pc == PC_JOIN ||
           frame->head.pc == PC_CALL;
}

/* Where an error goes: behind the next catch that takes it or the next finally; false: out of the frame. */
static bool land(TfyTask *t, Frame *frame, const Op *ops)
{
    tfy_cut(t, 0);
    tfy_clear(t, &frame->pending);
    if (frame->cleaning) frame->head.mask--;
    frame->cleaning = frame->attempt = frame->round = 0;
    if (!t->error) return false;
    for (int64_t at = frame->at + 1; ops[at - 1].kind != OP_END; at++) {
        if (ops[at].kind == OP_CATCH && tfy_catchable(t)) {
            tfy_drop(t, tfy_take_error(t));
            frame->at = at + 1;
            return true;
        }
        if (ops[at].kind == OP_FINALLY) {
            frame->pending = tfy_take_error(t);
            frame->cleaning = 2;
            frame->head.mask++;
            frame->at = at + 1;
            return true;
        }
    }
    return false;
}

static TfyStatus perform(TfyTask *t, Frame *frame, const Op *op, uint32_t pc, const TfySite *site, TfyValue a)
{
    TfyPolicy policy = {
        .retry = op->retry, .backoff_ms = op->backoff_ms, .timeout_ms = op->timeout_ms ? op->timeout_ms : TFY_NEVER};
    frame->head.pc = pc;
    return tfy_perform(t, site, (TfyValue[]){a, {.o = NULL}}, &policy);
}

static TfyStatus script_run(TfyTask *t, void *place)
{
    Frame *F = place;
    const Op *ops = ((const Script *)F->head.workflow)->ops;
    TfyObj *text;
    if (F->head.pc == PC_AGAIN) {
        if (t->error) goto fail;
        goto step;
    }
    if (F->head.pc == PC_SPIN) {
        if (t->error) goto fail;
        goto step;
    }
    if (F->head.pc) {
        if (t->error && F->head.pc == PC_CALL && F->attempt < ops[F->at].retry && tfy_retriable(t)) {
            F->head.pc = PC_AGAIN;
            return tfy_backoff(t, &site_again, ++F->attempt, ops[F->at].backoff_ms);
        }
        if (t->error) goto fail;
        if (text_answer(F)) tfy_discard(t, &tfy_type_string);
        F->at++;
        F->attempt = 0;
    }
step:
    for (;;) {
        const Op *op = &ops[F->at];
        switch (op->kind) {
        case OP_END:
            if (!(text = tfy_string_of(t, "the end", 7))) goto fail;
            t->result.o = tfy_keep(text);
            goto end;
        case OP_SAY:
            if (!(text = tfy_string_of(t, op->text, strlen(op->text))) || !tfy_print(t, &point_say, text)) goto fail;
            break;
        case OP_NOW: {
            int64_t now;
            if (!tfy_now(t, &point_now, &now)) goto fail;
            break;
        }
        case OP_YIELD: F->head.pc = PC_YIELD; return TFY_YIELD;
        case OP_SPIN:
            for (; F->round < op->n; F->round++) {
                if (!tfy_spend(t)) continue;
                F->round++;
                F->head.pc = PC_SPIN;
                return TFY_SPENT;
            }
            F->round = 0;
            break;
        case OP_SLEEP: return perform(t, F, op, PC_SLEEP, &site_sleep, tfy_of_int(op->n));
        case OP_WORK: return perform(t, F, op, PC_WORK, &site_work, tfy_of_int(op->n));
        case OP_ONCE: return perform(t, F, op, PC_ONCE, &site_once, tfy_of_int(op->n));
        case OP_ASK:
            if (!(text = tfy_string_of(t, "well?", 5))) goto fail;
            return perform(t, F, op, PC_ASK, &site_ask, tfy_of_obj(text));
        case OP_SPAWN:
            if (!tfy_spawn(t, &point_spawn, &op->script->workflow, NULL, &F->handle)) goto fail;
            break;
        case OP_JOIN: return perform(t, F, op, PC_JOIN, &site_join, tfy_of_int(F->handle));
        case OP_CALL: {
            F->head.pc = PC_CALL;
            if (tfy_push(t, &op->script->workflow, &point_call, op->timeout_ms ? op->timeout_ms : TFY_NEVER))
                return TFY_CALL;
            F = tfy_frame(t);
            goto fail;
        }
        case OP_KILL:
            if (!tfy_kill_task(t, &point_kill, op->n ? op->n : F->handle)) goto fail;
            break;
        case OP_FAIL:
            if ((text = tfy_string_of(t, "as told", 7)))
                tfy_fail(t, &tfy_type_tool_error, 1, (TfyValue[]){{.o = text}, {.o = text}, {.i = 1}});
            goto fail;
        case OP_CATCH: break;
        case OP_FINALLY:
            F->cleaning = 1;
            F->head.mask++;
            break;
        case OP_DONE:
            F->head.mask--;
            F->cleaning = 0;
            if (!F->pending) break;
            tfy_put_error(t, F->pending);
            F->pending = NULL;
            goto fail;
        }
        tfy_cut(t, 0);
        F->at++;
    }
fail:
    if (land(t, F, ops)) goto step;
    if (!t->error) return TFY_STOP;
end:
    tfy_cut(t, 0);
    return TFY_RETURN;
}

#define SCRIPT(Name, ...)                                                                                              \
    static const Op Name##_ops[] = {__VA_ARGS__, {.kind = OP_END}};                                                    \
    static const Script Name = {.workflow = {.name = #Name,                                                            \
                                             .run = script_run,                                                        \
                                             .frame_size = sizeof(Frame),                                              \
                                             .result = &tfy_type_string,                                               \
                                             .resume = resume_points,                                                  \
                                             .resume_count = 9,                                                        \
                                             .line = 1},                                                               \
                                .ops = Name##_ops}
#define SAY(Text)                                                                                                      \
    {                                                                                                                  \
        .kind = OP_SAY, .text = Text                                                                                   \
    }
#define DO(Kind, ...)                                                                                                  \
    {                                                                                                                  \
        .kind = OP_##Kind, __VA_ARGS__                                                                                 \
    }
#define CALL(Script, ...)                                                                                              \
    {                                                                                                                  \
        .kind = OP_CALL, .script = &Script, __VA_ARGS__                                                                \
    }
#define SPAWN(Script)                                                                                                  \
    {                                                                                                                  \
        .kind = OP_SPAWN, .script = &Script                                                                            \
    }

SCRIPT(napper, DO(SLEEP, .n = 500), SAY("slept"), DO(FINALLY, 0), SAY("nap over"), DO(SLEEP, .n = 100), DO(DONE, 0));
SCRIPT(worker, DO(WORK, .n = 30), SAY("worked"), DO(YIELD, 0), DO(YIELD, 0), DO(WORK, .n = 0), SAY("done"));
SCRIPT(failer, DO(YIELD, 0), DO(WORK, .n = -20, .retry = 2, .backoff_ms = 50, .timeout_ms = 1000));
SCRIPT(spinner, DO(WORK, .n = 5), DO(SPIN, .n = 9950), DO(WORK, .n = 40), DO(SPIN, .n = 30000), DO(WORK, .n = 40));
SCRIPT(idler, DO(YIELD, 0), DO(YIELD, 0), DO(YIELD, 0));

/* A parent whose child outlives it, in a call, with yields before the end. */
SCRIPT(family, SPAWN(idler), DO(WORK, .n = 3), SPAWN(worker), DO(YIELD, 0), SPAWN(napper), DO(YIELD, 0));
SCRIPT(mother, CALL(family), DO(SPIN, .n = 9990), DO(WORK, .n = 10), SAY("mother ends"));
/* Fails while its children run; theirs have cleanup to do. */
SCRIPT(deserter, SPAWN(napper), SPAWN(worker), DO(YIELD, 0), DO(WORK, .n = 40), DO(FAIL, 0), DO(FINALLY, 0),
       SAY("deserted"), DO(WORK, .n = 20), DO(DONE, 0));
/* A call out of time, tried again, in a call out of time, with cleanup at both levels. */
SCRIPT(inner, SPAWN(napper), DO(SLEEP, .n = 200), DO(FINALLY, 0), SAY("inner"), DO(WORK, .n = 80), DO(DONE, 0));
SCRIPT(middle, CALL(inner, .timeout_ms = 90, .retry = 2, .backoff_ms = 60), DO(CATCH, 0), SAY("inner was late"),
       DO(SLEEP, .n = 50), DO(FINALLY, 0), DO(WORK, .n = 10), SAY("middle"), DO(DONE, 0));
SCRIPT(outer, CALL(middle, .timeout_ms = 150), DO(CATCH, 0), SAY("middle was late"), DO(WORK, .n = 10));
SCRIPT(slowly, CALL(middle, .timeout_ms = 900), DO(CATCH, 0), SAY("still late"), DO(NOW, 0));
/* Joins with timeouts of tasks that end, fail, are killed. */
SCRIPT(joiner, SPAWN(failer), DO(JOIN, .timeout_ms = 60), DO(CATCH, 0), SAY("no answer yet"), DO(JOIN, 0), DO(CATCH, 0),
       SPAWN(napper), DO(JOIN, .timeout_ms = 500), DO(CATCH, 0), DO(KILL, 0), DO(JOIN, 0), DO(CATCH, 0), SAY("joined"));
/* Kills: one that has not begun, one that has ended, one twice. */
SCRIPT(killer, SPAWN(worker), DO(KILL, 0), SPAWN(napper), DO(SLEEP, .n = 20), DO(KILL, 0), DO(KILL, 0), DO(JOIN, 0),
       DO(CATCH, 0), DO(KILL, 0), SAY("killed"), SPAWN(idler), DO(SLEEP, .n = 9), DO(KILL, 0));
SCRIPT(retrier, DO(WORK, .n = -10, .retry = 3, .backoff_ms = 40, .timeout_ms = 25), DO(CATCH, 0),
       DO(WORK, .n = 60, .retry = 1, .backoff_ms = 10, .timeout_ms = 25), DO(CATCH, 0), SAY("tried"), DO(FINALLY, 0),
       DO(WORK, .n = -10, .retry = 1, .backoff_ms = 40), DO(DONE, 0));
SCRIPT(asker, DO(ASK, .timeout_ms = 70, .retry = 2, .backoff_ms = 30), DO(CATCH, 0), SAY("nobody there"));
SCRIPT(burner, DO(ONCE, .n = 10), SAY("burnt"), DO(ONCE, .n = 0), DO(NOW, 0), DO(ONCE, .n = 0));
SCRIPT(suicide, DO(WORK, .n = 2), DO(YIELD, 0), DO(KILL, .n = 1), SAY("last words"), DO(WORK, .n = 5), SAY("never"));
/* Cleanup that gives itself a deadline. */
SCRIPT(briefly, CALL(napper, .timeout_ms = 50), DO(CATCH, 0), SAY("gave up"));
SCRIPT(cleaner, DO(SLEEP, .n = 5000), DO(FINALLY, 0), CALL(briefly), SAY("cleaned"), DO(DONE, 0));
SCRIPT(everything, SPAWN(outer), SPAWN(joiner), SPAWN(killer), SPAWN(spinner), SPAWN(mother), SPAWN(deserter),
       SPAWN(retrier), SPAWN(slowly), DO(SLEEP, .n = 30));

static const TfyWorkflow *const workflows[] = {
    &napper.workflow,  &worker.workflow,   &failer.workflow,    &spinner.workflow, &idler.workflow,  &family.workflow,
    &mother.workflow,  &deserter.workflow, &inner.workflow,     &middle.workflow,  &outer.workflow,  &slowly.workflow,
    &joiner.workflow,  &killer.workflow,   &retrier.workflow,   &asker.workflow,   &burner.workflow, &suicide.workflow,
    &briefly.workflow, &cleaner.workflow,  &everything.workflow};
static const TfyPoint *const points[] = {&point_say,  &point_now,   &point_yield, &point_spin,  &point_sleep,
                                         &point_work, &point_once,  &point_ask,   &point_spawn, &point_join,
                                         &point_call, &point_again, &point_kill};
static const TfyProgram program = {.name = "core_cancel.tfy",
                                   .source = "",
                                   .layout = "{}",
                                   .hash = {3, 4},
                                   .tfyc = "hand",
                                   .workflows = workflows,
                                   .workflow_count = sizeof workflows / sizeof *workflows,
                                   .points = points,
                                   .point_count = 13,
                                   .main = 1};

/* ---- tools that take their time ---- */

typedef struct Job {
    TfyCall *call;
    uint64_t timer;
} Job;

static void finish_job(void *arg)
{
    TfyCall *call = arg;
    TfyTask *task = call->task;
    int64_t n = call->args[0].i;
    free(call->state);
    call->state = NULL;
    TfyObj *text = n < 0 ? NULL : tfy_string_of(task, "fine", 4);
    if (n < 0)
        tfy__call_tool_error(call, 1, "no luck");
    else if (text)
        tfy__call_done(call, tfy_of_obj(text));
    else
        tfy__call_panicked(call);
    tfy_cut(task, 0);
}

static void start_job(TfyCall *call)
{
    int64_t n = call->args[0].i;
    if (!n) {
        finish_job(call);
        return;
    }
    Job *job = malloc(sizeof *job);
    assert_non_null(job);
    *job = (Job){.call = call};
    call->state = job;
    job->timer = tfy__timer_add(call->loop, tfy__now_ns(call->loop) + (n < 0 ? -n : n) * 1000000, finish_job, call);
}

static void abort_job(TfyCall *call)
{
    Job *job = call->state;
    tfy__timer_del(call->loop, job->timer);
    free(job);
    call->state = NULL;
}

static const TfyPerformer jobs = {.name = "jobs", .start = start_job, .abort = abort_job};

/* ---- the bench ---- */

typedef struct Bench {
    TfyWorld *world;
    TfyLoop *loop;
} Bench;

static void open_bench(Bench *bench, const char *db, int64_t wall_ms)
{
    char error[TFY_ERROR_TEXT] = "";
    bench->world = tfy__world_virtual(wall_ms, 42);
    bench->world->performers[TFY_F_EXTERN] = &jobs;
    TfyOptions options = {.world = bench->world, .quiet = true, .db_path = db};
    if (tfy_open(&bench->loop, &program, &options, error) < 0) fail_msg("%s", error);
}

static void close_bench(Bench *bench)
{
    int64_t objects = 0;
    for (Run *run = bench->loop->runs; run; run = run->next)
        for (Cold *cold = run->tasks; cold; cold = cold->next_in_run) objects += cold->task != NULL;
    assert_int_equal(objects, 0);
    assert_int_equal(tfy_close(bench->loop), 0);
    tfy__world_free(bench->world);
}

static void start(Bench *bench, const char *workflow)
{
    char error[TFY_ERROR_TEXT] = "";
    int64_t tid = 0;
    if (tfy_submit(bench->loop, workflow, "{}", &tid, error) < 0) fail_msg("%s", error);
}

/* One turn; the virtual clock moves when nothing else can. False: nothing is left to do. */
static bool one_turn(TfyLoop *loop)
{
    if (tfy_step(loop) < 0) fail_msg("%s", tfy__failure(loop));
    if (tfy__log_sync(loop->log) < 0) { /* so that a number of turns means the same in every run */
        char error[TFY_ERROR_TEXT];
        tfy__log_error_text(loop->log, error);
        fail_msg("%s", error);
    }
    if (loop->ring_head != loop->ring_tail || loop->work_first || loop->sync_first) return true;
    int64_t next_ns = tfy__timers_next(&loop->timers);
    if (next_ns == INT64_MAX) return false;
    loop->world.jump(loop->world.state, next_ns);
    return true;
}

static void temp_db(char path[64])
{
    strcpy(path, access("/dev/shm", W_OK) == 0 ? "/dev/shm/tfy-cancel-XXXXXX" : "/tmp/tfy-cancel-XXXXXX");
    assert_non_null(mkdtemp(path));
    strcat(path, "/runs.db");
}

static void remove_db(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-tfy"};
    char name[96];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
    snprintf(name, sizeof name, "%.*s", (int)(strlen(path) - 8), path);
    assert_int_equal(rmdir(name), 0);
}

static void check_replay(const char *db, const char *what)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyLog *log;
    TfyHistory *history = NULL;
    TfyLogOptions options = {.path = db, .read_only = true};
    if (tfy__log_open(&log, &options, error) < 0 || tfy__history_read(log, "last", &history, error) < 0)
        fail_msg("%s: %s", what, error);
    TfyReplayReport report;
    TfyOptions quiet = {.quiet = true};
    if (tfy__replay(&program, history, &quiet, &report) < 0) fail_msg("%s: replay: %s", what, report.text);
    if (!report.finished) fail_msg("%s: replay does not come to the end", what);
    tfy__history_free(history);
    tfy__log_close(log, false);
}

/* What is done to a run, and when. turn 0: never. */
typedef struct Trouble {
    const char *workflow;
    int kill_turn, force_turn, crash_turn;
    const char *path; /* whom the kills mean */
} Trouble;

static void arrive(TfyLoop *loop, const char *path, bool force)
{
    char error[TFY_ERROR_TEXT] = "";
    int code = tfy__arrive_kill(loop, "last", path, force, "test", error);
    if (code < 0 && code != TFY_E_STATE && code != TFY_E_ABSENT) fail_msg("kill: %s", error);
}

/* Answers the number of turns taken until the end, or until the crash. */
static int run_turns(Bench *bench, const Trouble *trouble)
{
    for (int turn = 1; turn < 5000; turn++) {
        if (turn == trouble->kill_turn) arrive(bench->loop, trouble->path, false);
        if (turn == trouble->force_turn) arrive(bench->loop, trouble->path, true);
        if (turn == trouble->crash_turn) return turn;
        if (!one_turn(bench->loop)) return turn;
    }
    fail_msg("%s does not end", trouble->workflow);
    return 0;
}

/* Steps in doubt are said to have failed. */
static void run_to_the_end(Bench *bench)
{
    char error[TFY_ERROR_TEXT] = "";
    for (int turn = 0; turn < 5000; turn++) {
        if (one_turn(bench->loop)) continue;
        if (tfy__arrive_resolve(bench->loop, "last", NULL, 0, "fail", NULL, "test", error) == 0) continue;
        return;
    }
    fail_msg("a run does not end");
}

/* Leaves the database as a killed process would. False: the run had ended before. */
static bool crash(const char *db, const Trouble *trouble)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        Bench bench = {0};
        open_bench(&bench, db, 1700000000000);
        start(&bench, trouble->workflow);
        run_turns(&bench, trouble);
        _exit(bench.loop->runs_live ? 1 : 2);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || !WEXITSTATUS(status)) fail_msg("%s: the child died", trouble->workflow);
    return WEXITSTATUS(status) == 1;
}

static void say_trouble(const Trouble *trouble, char text[200])
{
    snprintf(text, 200, "%s, kill %s at %d, force at %d, crash at %d", trouble->workflow,
             trouble->path ? trouble->path : "1", trouble->kill_turn, trouble->force_turn, trouble->crash_turn);
}

/* Answers false when the crash came after the end. */
static bool survive(const Trouble *trouble)
{
    char db[64], what[200], error[TFY_ERROR_TEXT] = "";
    bool unfinished = true, nothing = false;
    say_trouble(trouble, what);
    temp_db(db);
    Bench bench = {0};
    if (trouble->crash_turn) {
        unfinished = crash(db, trouble);
        open_bench(&bench, db, 1700000000000 + trouble->crash_turn % 3 * 200);
        int code = tfy__resume(bench.loop, "last", error);
        if (code < 0 && code != TFY_E_STATE && code != TFY_E_ABSENT) fail_msg("%s: %s", what, error);
        nothing = code == TFY_E_ABSENT; /* not even its beginning was durable */
        if (code == 0) run_to_the_end(&bench);
    } else {
        open_bench(&bench, db, 1700000000000);
        start(&bench, trouble->workflow);
        run_turns(&bench, trouble);
    }
    if (bench.loop->runs_live) fail_msg("%s: it hangs", what);
    close_bench(&bench);
    if (!nothing) check_replay(db, what);
    remove_db(db);
    return unfinished;
}

static int turns_of(const char *workflow)
{
    Bench bench = {0};
    open_bench(&bench, NULL, 1700000000000);
    start(&bench, workflow);
    int turns = run_turns(&bench, &(Trouble){.workflow = workflow});
    close_bench(&bench);
    return turns;
}

static void at_every_turn(const char *workflow)
{
    int turns = turns_of(workflow);
    for (int turn = 1; turn < turns; turn++) {
        survive(&(Trouble){.workflow = workflow, .kill_turn = turn});
        survive(&(Trouble){.workflow = workflow, .kill_turn = turn, .force_turn = turn + 2});
        survive(&(Trouble){.workflow = workflow, .force_turn = turn});
        survive(&(Trouble){.workflow = workflow, .kill_turn = turn, .path = "1.1"});
        survive(&(Trouble){.workflow = workflow, .crash_turn = turn});
        for (int later = 1; later < 6; later += 2)
            survive(&(Trouble){.workflow = workflow, .kill_turn = turn, .crash_turn = turn + later});
        survive(&(Trouble){.workflow = workflow, .force_turn = turn, .crash_turn = turn + 1});
        survive(&(Trouble){.workflow = workflow, .kill_turn = turn, .path = "1.1", .crash_turn = turn + 1});
    }
}

#define AT_EVERY_TURN(Name)                                                                                            \
    static void test_##Name(void **state)                                                                              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        at_every_turn(#Name);                                                                                          \
    }
AT_EVERY_TURN(spinner)
AT_EVERY_TURN(mother)
AT_EVERY_TURN(deserter)
AT_EVERY_TURN(outer)
AT_EVERY_TURN(slowly)
AT_EVERY_TURN(joiner)
AT_EVERY_TURN(killer)
AT_EVERY_TURN(retrier)
AT_EVERY_TURN(asker)
AT_EVERY_TURN(burner)
AT_EVERY_TURN(suicide)
AT_EVERY_TURN(cleaner)

/* Many tasks at once: too many turns to try each. */
static void test_everything(void **state)
{
    (void)state;
    int turns = turns_of("everything");
    for (int turn = 1; turn < turns; turn += 7) {
        survive(&(Trouble){.workflow = "everything", .kill_turn = turn});
        survive(&(Trouble){.workflow = "everything", .crash_turn = turn});
        survive(&(Trouble){.workflow = "everything", .kill_turn = turn, .path = "1.2", .crash_turn = turn + 3});
    }
}

static void collect(void *state, const char *text, size_t len)
{
    strncat(state, text, len);
}

/* Runs a workflow with a kill after some milliseconds and perhaps a --force later; answers what it said, and when it ended. */
static int64_t said_when_killed(const char *workflow, int kill_ms, int force_ms, char said[400])
{
    Bench bench = {0};
    char error[TFY_ERROR_TEXT] = "";
    said[0] = '\0';
    bench.world = tfy_world_virtual(0, 42);
    bench.world->performers[TFY_F_EXTERN] = &jobs;
    TfyOptions options = {.world = bench.world, .on_output = collect, .state = said};
    if (tfy_open(&bench.loop, &program, &options, error) < 0) fail_msg("%s", error);
    start(&bench, workflow);
    for (int ms = 0; ms < 20000 && bench.loop->runs_live; ms++) {
        if (ms == kill_ms) arrive(bench.loop, NULL, false);
        if (ms == force_ms) arrive(bench.loop, NULL, true);
        bench.world->jump(bench.world->state, (int64_t)ms * 1000000);
        do {
            if (tfy_step(bench.loop) < 0) fail_msg("%s", tfy__failure(bench.loop));
            assert_int_equal(tfy__log_sync(bench.loop->log), 0);
        } while (bench.loop->ring_head != bench.loop->ring_tail || bench.loop->work_first || bench.loop->sync_first);
    }
    tfy_step(bench.loop);
    int64_t end_ms = bench.world->wall_ms(bench.world->state);
    close_bench(&bench);
    return end_ms;
}

static void test_meanings(void **state)
{
    char said[400];
    (void)state;
    /* the deadline of a call in cleanup counts although the task is being killed */
    assert_in_range(said_when_killed("cleaner", 10, -1, said), 150, 170);
    assert_string_equal(said, "nap over\ngave up\ncleaned\n");
    /* --force ends what a kill has begun */
    assert_in_range(said_when_killed("cleaner", 10, 40, said), 40, 45);
    assert_string_equal(said, "");
    /* of two calls that are out of time while a finally holds both, the outer one is not forgotten */
    said_when_killed("outer", -1, -1, said);
    assert_non_null(strstr(said, "middle was late\n"));
    /* a task killed before it began does nothing at all */
    assert_in_range(said_when_killed("worker", 0, -1, said), 0, 1);
    assert_string_equal(said, "");
}

/* Closing with steps in every stage: nothing is lost, nothing is freed twice, performers are told. */
static void test_close(void **state)
{
    (void)state;
    int turns = turns_of("everything");
    for (int turn = 1; turn < turns; turn += 3) {
        Bench bench = {0};
        open_bench(&bench, NULL, 1700000000000);
        start(&bench, "everything");
        run_turns(&bench, &(Trouble){.workflow = "everything", .crash_turn = turn});
        assert_int_equal(tfy_close(bench.loop), 0);
        tfy_world_free(bench.world);
    }
}

/* ---- memory that runs out ---- */

typedef struct Scarce {
    int64_t allowed; /* allocations until one fails; every later one fails too when `lasting` */
    bool lasting;
    int64_t in_use; /* bytes */
} Scarce;

static Scarce scarce;

static void *scarce_alloc(void *state, void *old, size_t old_size, size_t new_size)
{
    (void)state;
    if (new_size && (scarce.allowed == 0 || (scarce.allowed < 0 && scarce.lasting))) {
        scarce.allowed = -1;
        return NULL;
    }
    if (new_size && scarce.allowed > 0) scarce.allowed--;
    scarce.in_use += (int64_t)new_size - (int64_t)old_size;
    if (new_size) return realloc(old, new_size);
    free(old);
    return NULL;
}

/* Each allocation of the heap fails once, alone or with all behind it: the task panics or the loop stops with a code; it never hangs,
 * crashes or leaks. */
static void run_out_of_memory(const char *workflow, bool lasting)
{
    for (int64_t allowed = 1; allowed < 4000; allowed++) {
        Bench bench = {0};
        char error[TFY_ERROR_TEXT] = "";
        int64_t tid = 0;
        scarce = (Scarce){.allowed = allowed, .lasting = lasting};
        bench.world = tfy__world_virtual(1700000000000, 42);
        bench.world->performers[TFY_F_EXTERN] = &jobs;
        bench.world->alloc = scarce_alloc;
        TfyOptions options = {.world = bench.world, .quiet = true};
        bool opened = tfy_open(&bench.loop, &program, &options, error) == 0;
        if (opened && tfy_submit(bench.loop, workflow, "{}", &tid, error) == 0) {
            int turn = 0;
            while (!bench.loop->failure && bench.loop->runs_live && turn < 3000) {
                turn++;
                tfy_step(bench.loop);
                if (bench.loop->failure) break;
                tfy__log_sync(bench.loop->log);
                if (bench.loop->ring_head != bench.loop->ring_tail || bench.loop->work_first || bench.loop->sync_first)
                    continue;
                int64_t next_ns = tfy__timers_next(&bench.loop->timers);
                if (next_ns == INT64_MAX) break;
                bench.loop->world.jump(bench.loop->world.state, next_ns);
            }
            if (!bench.loop->failure && bench.loop->runs_live)
                fail_msg("%s hangs when allocation %lld fails", workflow, (long long)allowed);
        }
        bool failed = scarce.allowed < 0;
        if (opened) tfy_close(bench.loop);
        tfy_world_free(bench.world);
        if (scarce.in_use)
            fail_msg("%s leaks %lld bytes when allocation %lld fails", workflow, (long long)scarce.in_use,
                     (long long)allowed);
        if (!failed) return;
    }
    fail_msg("%s: the end was never reached", workflow);
}

static void test_memory(void **state)
{
    static const char *const names[] = {"outer", "joiner", "killer", "retrier", "deserter", "mother", "asker"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        run_out_of_memory(names[i], false);
        run_out_of_memory(names[i], true);
    }
}

/* ---- the embedding API with what it does not expect ---- */

static void test_misuse(void **state)
{
    (void)state;
    Bench bench = {0};
    char error[TFY_ERROR_TEXT] = "";
    open_bench(&bench, NULL, 1700000000000);
    int64_t tid = 7;
    assert_int_equal(tfy_submit(bench.loop, "nobody", "{}", &tid, error), TFY_E_ABSENT);
    assert_int_equal(tid, 0);
    assert_int_equal(tfy_submit(bench.loop, "asker", "[1]", &tid, NULL), TFY_E_INVALID);
    assert_int_equal(tfy_submit(bench.loop, "asker", NULL, NULL, NULL), 0);
    assert_int_equal(tfy_inject(bench.loop, NULL, "1", NULL), TFY_E_INVALID);
    assert_int_equal(tfy_inject(bench.loop, "no such tool", NULL, NULL), 0);
    assert_int_equal(tfy_approve(bench.loop, 99, "yes"), TFY_E_ABSENT);
    assert_int_equal(tfy_kill(bench.loop, 99, false), TFY_E_ABSENT);
    assert_int_equal(tfy_task_state(bench.loop, 99), TFY_TASK_UNKNOWN);
    int64_t root = bench.loop->runs->root->log.tid;
    assert_int_equal(tfy_approve(bench.loop, root, "yes"), TFY_E_STATE); /* it has not asked yet */
    while (tfy_task_state(bench.loop, root) != TFY_TASK_WAITING_APPROVAL || !bench.loop->runs->root->pending->asking)
        tfy_step(bench.loop);
    assert_int_equal(tfy_resume(bench.loop, "last", &tid, error), TFY_E_STATE);
    assert_int_equal(tfy__arrive_resolve(bench.loop, "last", NULL, 0, "done", "true", "x", error), TFY_E_STATE);
    assert_int_equal(tfy_approve(bench.loop, root, "no"), 0);
    assert_int_equal(tfy_approve(bench.loop, root, "no"), TFY_E_STATE);
    run_to_the_end(&bench);
    assert_int_equal(tfy_kill(bench.loop, root, true), TFY_E_STATE);
    tfy__loop_fail(bench.loop, TFY_E_IO, "the disk went away");
    assert_int_equal(tfy_step(bench.loop), TFY_E_IO);
    assert_int_equal(tfy_run(bench.loop), TFY_E_IO);
    assert_int_equal(tfy_submit(bench.loop, "asker", "{}", &tid, error), TFY_E_IO);
    assert_string_equal(error, "the disk went away");
    assert_int_equal(tfy_close(bench.loop), TFY_E_IO);
    tfy_world_free(bench.world);
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spinner),  cmocka_unit_test(test_mother),     cmocka_unit_test(test_deserter),
        cmocka_unit_test(test_outer),    cmocka_unit_test(test_slowly),     cmocka_unit_test(test_joiner),
        cmocka_unit_test(test_killer),   cmocka_unit_test(test_retrier),    cmocka_unit_test(test_asker),
        cmocka_unit_test(test_burner),   cmocka_unit_test(test_suicide),    cmocka_unit_test(test_cleaner),
        cmocka_unit_test(test_meanings), cmocka_unit_test(test_everything), cmocka_unit_test(test_close),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_misuse),
    };
    return cmocka_run_group_tests_name("core_cancel", tests, NULL, NULL);
}
