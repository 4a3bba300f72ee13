/* seed.c: one seed: what it plans, its lives one after the other, and the people who meet its runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "models.h"
#include "net.h"
#include "wal/log/log_state.h"
#include "wal/history/history.h"

enum { TURNS_MAX = 50000, MS = 1000000, DRAIN_MS = 500, DRAIN_TURNS = 300, SIGNALS_MAX = 40, FETCHES_MAX = 20 };

Sim sim;
TfyProgram sim_program;
bool sim_cuts;

void sim_broken(const char *invariant, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "not ok - seed %llu, life %u, turn %llu: %s: ", (unsigned long long)sim.plan.seed, sim.life,
            (unsigned long long)sim.turn, invariant);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    _exit(1);
}

/* ---- deaths ---- */

void sim_die(void)
{
    if (sim.expecting) abort();
    sim_trace("dies %d", sim.plan.death);
    longjmp(sim.death, 1);
}

/* When the next life ends, if it is not the last. */
static void plan_death(void)
{
    SimPlan *plan = &sim.plan;
    plan->death_op = 0;
    plan->death_turn = plan->death_act = 0;
    plan->drains = false;
    uint32_t how = sim_below(&sim.chance, 10);
    plan->death = how < 3 && !sim_cuts ? SIM_DIES_PROCESS : how < 8 ? SIM_DIES_MACHINE : SIM_DIES_ALL;
    plan->no_memory = 0;
    if (plan->scarce && sim_percent(&sim.chance, plan->deaths ? 40 : 80))
        plan->no_memory = sim.allocs + 1 + sim_below(&sim.chance, 1500);
    if (!plan->deaths) plan->scarce = false;
    if (!plan->deaths) return;
    plan->deaths--;
    switch (sim_cuts ? 0 : sim_below(&sim.chance, 4)) {
    case 0:
        plan->death_op = sim_disk_ops() + 1 + sim_below(&sim.chance, sim_percent(&sim.chance, 50) ? 60 : 500);
        break;
    case 1:
        plan->death_turn = 1 + sim_below(&sim.chance, sim_percent(&sim.chance, 50) ? 12 : 150);
        plan->drains = plan->death == SIM_DIES_PROCESS;
        break;
    default: plan->death_act = 1 + sim_below(&sim.chance, sim_percent(&sim.chance, 50) ? 4 : 25); break;
    }
}

/* Whatever this life had is gone; its memory is left where it lies. */
static void bury(SimDeath death)
{
    sim.alive = false;
    sim.deaths_done++;
    sim_forget_events();
    sim_ledger_die();
    sim_disk_die(death);
    sim_system_die();
    sim_net_die(death);
    sim_traffic_die();
    sim_models_die();
    sim.loop = NULL;
    if (!sim.plan.still) sim.now_ns += (int64_t)sim_below(&sim.chance, 200) * MS;
}

/* ---- what is shown ---- */

void sim_show(const char *text, size_t len)
{
    if (sim.line_count == sim.line_cap) {
        sim.line_cap = sim.line_cap ? sim.line_cap * 2 : 64;
        sim.lines = realloc(sim.lines, sim.line_cap * sizeof *sim.lines);
        if (!sim.lines) abort();
    }
    SimLine *line = &sim.lines[sim.line_count++];
    line->text = strndup(text, len);
    line->len = len;
    if (!line->text) abort();
}

static void on_output(void *state, const char *text, size_t len)
{
    if (sim.expecting) return;
    sim_trace("shows %.*s", (int)len, text);
    if (sim.loop && tfy__log_error(sim.loop->log)) sim_broken("w1", "a line leaves after the log failed: %s", text);
    sim_show(text, len);
    sim_left();
}

/* ---- people ---- */

static Run *live_run(const SimRun *run)
{
    for (Run *live = sim.loop->runs.first; live; live = live->next)
        if (run->uuid[0] && strcmp(live->uuid, run->uuid) == 0) return live;
    return NULL;
}

/* A run that has left memory is brought back by whoever asks for it; so often, since one that nobody can help leaves again. */
static bool fetched(SimRun *run)
{
    if (!run->uuid[0] || run->over || run->fetched == FETCHES_MAX || live_run(run)) return false;
    if (!tfy__park_reach(sim.loop, run->uuid, false)) return false;
    run->fetched++;
    sim_trace("%s is fetched", run->workflow);
    return true;
}

static SimRun *sim_run_of(const char *uuid)
{
    for (uint32_t i = 0; i < sim.run_count; i++)
        if (strcmp(sim.runs[i].uuid, uuid) == 0) return &sim.runs[i];
    return NULL;
}

static void acknowledge(SimAck ack, SimRun *run, const char *path, const char *text)
{
    if (sim.expecting || sim.ack_count == sizeof sim.acks / sizeof *sim.acks) return;
    ack.run = (uint32_t)(run - sim.runs);
    snprintf(ack.path, sizeof ack.path, "%s", path);
    snprintf(ack.text, sizeof ack.text, "%s", text);
    sim_trace("acknowledged %d %s %lld %s", ack.kind, ack.path, (long long)ack.step, text);
    sim.acks[sim.ack_count++] = ack;
    sim_left();
}

typedef struct Asked {
    char run[37], path[64], answer[32];
    int64_t step;
} Asked;

/* An answer that follows from the question, so that it is the same whenever it is asked. */
static void answer_of(const TfyQuestion *question, char answer[32])
{
    bool yes = XXH3_64bits(question->question, strlen(question->question)) & 1;
    if (question->free_text)
        snprintf(answer, 32, "somebody");
    else if (strcmp(question->answers, "yes, no") == 0)
        snprintf(answer, 32, "%s", yes ? "yes" : "no");
    else
        snprintf(answer, 32, "%.*s", (int)strcspn(question->answers, ","), question->answers);
}

static void person_answers(SimEvent *event)
{
    Asked *asked = event->arg;
    char error[TFY_ERROR_TEXT] = "";
    SimRun *run = sim_run_of(asked->run);
    int code = tfy__arrive_approval(sim.loop, asked->run, asked->path, asked->step, asked->answer, "sim", NULL, error);
    if (code == TFY_E_INVALID) sim_broken("w1", "an answer does not fit: %s", error);
    if (code == 0) acknowledge((SimAck){.kind = ACK_APPROVAL, .step = asked->step}, run, asked->path, asked->answer);
    free(asked);
}

static void on_question(void *state, const TfyQuestion *question)
{
    Asked *asked = calloc(1, sizeof *asked);
    if (!asked) abort();
    snprintf(asked->run, sizeof asked->run, "%s", question->run);
    snprintf(asked->path, sizeof asked->path, "%s", question->task);
    asked->step = question->step;
    answer_of(question, asked->answer);
    for (Run *run = sim.loop->runs.first; run; run = run->next)
        for (TaskRest *rest = run->tasks; rest; rest = rest->next_in_run)
            if (strcmp(run->uuid, question->run) == 0 && strcmp(rest->log.path, question->task) == 0)
                sim_check_behind(rest, "a question");
    if (!sim.expecting) sim_trace("asks %s %s", question->task, question->question);
    int64_t delay_ns = sim.plan.still ? 0 : (int64_t)sim_below(&sim.chance, 30) * MS;
    sim_plan_event(delay_ns, sim_below(&sim.chance, 6), person_answers, asked, 0);
    sim_left();
}

/* Sends the run's next signal; one that was not acknowledged is sent again under the same id. */
static void send_signal(SimRun *run, const char *name)
{
    char id[16], value[16], error[TFY_ERROR_TEXT] = "";
    uint32_t number = run->signals_acked + 1;
    snprintf(id, sizeof id, "s%u", number);
    snprintf(value, sizeof value, "%u", number);
    if (!sim.expecting) sim_trace("signal %s %s", name, id);
    if (tfy__arrive_signal(sim.loop, run->uuid, name, value, id, "sim", error) != 0) return;
    run->signals_acked++;
    acknowledge((SimAck){.kind = ACK_SIGNAL}, run, "1", id);
}

static bool resolve_doubt(SimRun *run, const TaskRest *rest)
{
    char path[64], error[TFY_ERROR_TEXT] = "";
    int64_t step = rest->step->call.step;
    snprintf(path, sizeof path, "%s", rest->log.path);
    SimEntry *entry = sim_entry_of_step(run->uuid, path, step);
    const char *how = "retry", *value = NULL;
    if (entry && entry->happened) {
        how = entry->failed ? "fail" : "done";
        value = entry->value;
    }
    if (entry && strcmp(how, "retry") == 0) entry->allowed = entry->begun + 1;
    sim_trace("resolve %s %lld %s", path, (long long)step, how);
    int code = tfy__arrive_resolve(sim.loop, run->uuid, path, step, how, value, "sim", error);
    if (code == TFY_E_INVALID || code == TFY_E_ABSENT || code == TFY_E_DATA)
        sim_broken("w2", "a doubt cannot be resolved: %s", error);
    if (code == 0) acknowledge((SimAck){.kind = ACK_RESOLVE, .step = step}, run, path, how);
    return true;
}

/* Nothing else moves now: somebody looks what waits for people. False: nothing does. */
static bool people_look(bool doubts)
{
    for (uint32_t i = 0; i < sim.run_count; i++) {
        if (!doubts && fetched(&sim.runs[i])) return true;
        Run *live = live_run(&sim.runs[i]);
        for (TaskRest *rest = live ? live->tasks : NULL; rest; rest = rest->next_in_run) {
            const Step *step = rest->step;
            if (!step) continue;
            if (doubts && step->stage == STAGE_DOUBT && step->asking) return resolve_doubt(&sim.runs[i], rest);
            if (doubts || step->stage != STAGE_RUN || step->call.site == NULL) continue;
            if (step->call.tool->family != TFY_F_SIGNAL || sim.runs[i].signals_acked >= SIGNALS_MAX) continue;
            char name[64];
            snprintf(name, sizeof name, "%s", ((TfyString *)step->call.args[0].o)->bytes);
            send_signal(&sim.runs[i], name);
            return true;
        }
    }
    return false;
}

static void meddle(SimEvent *event)
{
    SimRun *run = &sim.runs[event->number];
    Run *live = live_run(run);
    char path[64], error[TFY_ERROR_TEXT] = "";
    if (!live || live->ended || !live->tasks) return;
    uint32_t tasks = 0;
    for (TaskRest *rest = live->tasks; rest; rest = rest->next_in_run) tasks++;
    uint32_t which = sim_below(&sim.chance, tasks);
    TaskRest *rest = live->tasks;
    while (which--) rest = rest->next_in_run;
    snprintf(path, sizeof path, "%s", rest->log.path);
    if (sim_percent(&sim.chance, 60)) {
        send_signal(run, "go");
        return;
    }
    sim_trace("kill %s", path);
    int code = tfy__arrive_kill(sim.loop, run->uuid, path, sim_percent(&sim.chance, 20), "sim", error);
    if (code == 0) acknowledge((SimAck){.kind = ACK_KILL}, run, path, "");
}

/* ---- lives ---- */

static void submit(SimEvent *event)
{
    SimRun *run = &sim.runs[event->number];
    char error[TFY_ERROR_TEXT] = "";
    int64_t tid;
    if (sim.loop->failure) return;
    int code = tfy_submit(sim.loop, run->workflow, "{}", &tid, error);
    if (code < 0) {
        if (sim.loop->failure || tfy__log_error(tfy__loop_log(sim.loop))) return; /* the loop hears of it in its turn */
        sim_broken("d1", "%s cannot be submitted: %s", run->workflow, error);
    }
    snprintf(run->uuid, sizeof run->uuid, "%s", tfy_run_id(sim.loop, tid));
    run->submit_lsn = tfy__log_last_lsn(tfy__loop_log(sim.loop));
    run->signals_acked = 0;
    if (!sim.expecting) sim_trace("submit %s %s", run->workflow, run->uuid);
}

static void write_log(SimEvent *event)
{
    sim.writer_planned = false;
    if (sim_percent(&sim.chance, 4)) tfy__loop_log(sim.loop)->writer->checkpoint_wanted = true;
    tfy__log_write(tfy__loop_log(sim.loop));
}

/* What is queued may be rows alone, without a record that is not durable yet: a run that was brought back says so. */
static void plan_writer(void)
{
    const TfyLog *log = tfy__loop_log(sim.loop);
    if (sim.writer_planned || tfy__log_error(log) || !log->writer->queue.first) return;
    sim.writer_planned = true;
    int64_t delay_ns = sim.plan.still ? 0 : (int64_t)sim_below(&sim.chance, 400) * 1000;
    if (tfy__log_full(log)) delay_ns += 20 * MS;
    sim_plan_event(delay_ns, sim_below(&sim.chance, 4), write_log, NULL, 0);
}

/* What became durable: acknowledged to those who submitted. */
static void look_at_runs(void)
{
    TfyLog *log = tfy__loop_log(sim.loop);
    int64_t durable = tfy__log_durable_lsn(log);
    if (durable < sim.opened_lsn) return; /* what this life found may be in the memory of the machine alone */
    if (durable > sim.durable) sim.durable = durable;
    for (uint32_t i = 0; i < sim.run_count; i++) {
        SimRun *run = &sim.runs[i];
        Run *live = live_run(run);
        if (run->found) run->acked = true;
        if (!live && !run->over && run->found >= TFY_TASK_COMPLETED) { /* it ended, and nobody was told */
            run->over = true;
            run->state = run->found;
        }
        if (!live || run->over) continue;
        if (durable >= run->submit_lsn) run->acked = true;
        if (!live->ended || durable < tfy__log_last_lsn(log)) continue;
        run->over = true;
        run->state = live->log.state;
        free(run->result);
        run->result = live->result ? strdup(live->result) : NULL;
        if (!sim.expecting) sim_trace("over %s %d %s", run->workflow, run->state, run->result ? run->result : "");
        sim_left();
    }
}

static bool all_over(void)
{
    for (uint32_t i = 0; i < sim.run_count; i++)
        if (!sim.runs[i].over) return false;
    return true;
}

static bool can_run(void)
{
    const TfyLoop *loop = sim.loop;
    if (tfy__log_full(loop->log)) return false;
    return loop->ring_head != loop->ring_tail || loop->work.first || sim_net_awake();
}

/* When the next timer of the loop is due, in sim time. */
static int64_t next_timer_ns(void)
{
    const int64_t timer_ns = tfy__timers_next(&sim.loop->timers);
    return timer_ns == INT64_MAX ? timer_ns : timer_ns + sim.boot_ns - 1000000000;
}

/* Moves on when nothing can run. False: nothing will ever happen again. */
static bool move_on(void)
{
    if (!sim_net_awake()) sim_check_waiting(sim.loop); /* with a full disk it may be */
    if (sim_events_wait_for_turns()) return true;      /* a turn passes */
    if (sim.plan.still && !tfy__log_full(sim.loop->log) && (people_look(true) || people_look(false))) return true;
    int64_t timer_ns = next_timer_ns();
    const int64_t event_ns = sim_next_event_ns();
    if (event_ns < timer_ns) timer_ns = event_ns;
    if (timer_ns != INT64_MAX) {
        if (timer_ns > sim.now_ns) sim.now_ns = timer_ns;
        return true;
    }
    return people_look(true) || people_look(false);
}

/* In a process that was asked to stop only what is under way outside goes on, and its time can run out. */
static void wait_for_tools(void)
{
    if (sim.plan.still) return; /* the next life finds the time as it was */
    const int64_t event_ns = sim_next_event_ns(), timer_ns = next_timer_ns();
    const int64_t next_ns = timer_ns > sim.now_ns && timer_ns < event_ns ? timer_ns : event_ns;
    if (!sim_events_wait_for_turns() && next_ns != INT64_MAX && next_ns > sim.now_ns) sim.now_ns = next_ns;
}

static const char *state_name(TfyTaskState state)
{
    static const char *const names[] = {
        "created",         "ready",           "running",         "sleeping",         "waiting for io", "joining",
        "waiting: effect", "waiting: answer", "waiting: signal", "waiting: channel", "waiting: lock"};
    return state < sizeof names / sizeof *names ? names[state] : "ended";
}

/* A task that waits for something that is there: a wake-up was lost. */
static bool is_forgotten(const TaskRest *rest)
{
    const Step *step = rest->step;
    if (!step || step->stage != STAGE_RUN) return true;
    switch (step->call.site->tool->family) {
    case TFY_F_JOIN: return !step->target || step->target->end_state;
    case TFY_F_SEND:
    case TFY_F_RECV:
    case TFY_F_PARALLEL:
    case TFY_F_RACE:
    case TFY_F_ROOM:
    case TFY_F_ABANDON:
    case TFY_F_SIGNAL:
    case TFY_F_LOCK: return !step->queue;
    default: return true;
    }
}

/* Tasks of a program of kind a may wait for each other for ever, by themselves or when they meet otherwise after a death; nobody else's may. */
static bool is_of_kind_a(const SimRun *run)
{
    return strncmp(run->workflow, "root_a", 6) == 0;
}

static bool may_hang(const SimRun *run)
{
    return is_of_kind_a(run) || sim.plan.meddles;
}

static void check_stuck(void)
{
    for (uint32_t i = 0; i < sim.run_count; i++) {
        if (sim.runs[i].over) continue;
        Run *live = live_run(&sim.runs[i]);
        if (!live && sim.runs[i].uuid[0] && tfy__park_reach(sim.loop, sim.runs[i].uuid, false))
            live = live_run(&sim.runs[i]);
        if (!live) sim_broken("e1", "%s is not there", sim.runs[i].workflow);
        for (TaskRest *rest = live->tasks; rest; rest = rest->next_in_run) {
            if (rest->end_state) continue;
            bool returning = rest->task && (rest->task->state & T_RETURNING);
            if (returning || (may_hang(&sim.runs[i]) && !is_forgotten(rest))) continue;
            sim_broken("e1", "%s can never go on: task %s is %s", sim.runs[i].workflow, rest->log.path,
                       state_name(state_of(rest->task)));
        }
    }
}

static TfyOptions options_of(const char *db)
{
    return (TfyOptions){.db_path = db,
                        .world = &sim.world,
                        .on_output = on_output,
                        .quiet = true,
                        .models = SIM_MODELS,
                        .snapshot_every = sim.plan.snapshot_every,
                        .park_after_ms = sim.plan.park_after_ms};
}

/* The failure of a call is the plan's when something was made to fail in this life. */
static void must(int code, const char *what, const char *error, bool disturbed)
{
    if (code >= 0) return;
    if (!disturbed) sim_broken("d1", "%s: %s", what, error);
    sim_trace("%s fails: %d", what, code);
    if (sim.loop) tfy_close(sim.loop);
    sim.plan.death = code == TFY_E_NOMEM ? SIM_DIES_PROCESS : SIM_DIES_MACHINE;
    sim_die();
}

static bool was_disturbed(const SimPlan *begin)
{
    return begin->fail_sync != sim.plan.fail_sync || begin->full_op != sim.plan.full_op ||
           begin->no_memory != sim.plan.no_memory;
}

static void room_again(SimEvent *event)
{
    sim_trace("room again");
    sim_disk_room(true);
}

/* Tools under way may finish; whoever waits too long asks a second time. */
static void die_or_drain(void)
{
    if (!sim.plan.drains) sim_die();
    if (!sim.drained_at) sim_trace("is asked to stop");
    if (!sim.drained_at || sim.turn == sim.drained_at + DRAIN_TURNS) tfy_drain(sim.loop, DRAIN_MS);
    if (!sim.drained_at) sim.drained_at = sim.turn;
}

static void one_turn(const SimPlan *begin, bool *full_seen)
{
    while (sim_event_due()) continue;
    int code = tfy_step(sim.loop);
    sim.turn++;
    if (code == TFY_E_STATE && sim.drained_at) {
        sim_trace("stopped");
        sim_die();
    }
    plan_writer();
    if (!sim.plan.still) sim.now_ns += (int64_t)(1 + sim_below(&sim.chance, 20)) * 1000;
    must(code, "a turn", tfy__failure(sim.loop), was_disturbed(begin));
    look_at_runs();
    if (begin->full_op && !sim.plan.full_op && !*full_seen) {
        *full_seen = true;
        sim_plan_event((int64_t)sim.plan.full_ms * MS, 0, room_again, NULL, 0);
    }
    if (sim.plan.death_turn && sim.turn >= sim.plan.death_turn) die_or_drain();
}

static void begin_life(const char *db, const SimPlan *begin)
{
    char error[TFY_ERROR_TEXT] = "";
    sim_world_begin();
    TfyOptions options = options_of(db);
    sim.loop = NULL;
    sim.opened_lsn = 0;
    sim.drained_at = 0;
    if (sim.life < SIM_LIVES) sim.boots_ms[sim.life - !!sim.life] = SIM_WALL_MS + sim.now_ns / 1000000;
    for (uint32_t i = 0; i < sim.run_count; i++) sim.runs[i].found = 0;
    int code = tfy_open(&sim.loop, &sim_program, &options, error);
    must(code, "the database does not open", error, was_disturbed(begin));
    tfy__on_question(sim.loop, on_question, NULL);
    if (!db) return;
    TfyLog *log = tfy__loop_log(sim.loop);
    sim.opened_lsn = tfy__log_last_lsn(log);
    if (tfy__log_last_lsn(log) - 1 < sim.durable) /* its own Opened is the newest */
        sim_broken("d1", "record %lld was durable, and the log ends at %lld", (long long)sim.durable,
                   (long long)tfy__log_last_lsn(log) - 1);
    sim_check_recovered(log);
    code = tfy_resume_all(sim.loop, error);
    must(code, "resuming", error, was_disturbed(begin));
}

/* A moment within so many turns and, in a moving seed, so much time. (The order in which arguments are evaluated is the compiler's.) */
static void plan_within(uint32_t us, uint32_t turns, void (*happen)(SimEvent *), uint32_t run)
{
    int64_t delay_ns = sim.plan.still ? 0 : (int64_t)sim_below(&sim.chance, us) * 1000;
    sim_plan_event(delay_ns, sim_below(&sim.chance, turns), happen, NULL, run);
}

static void plan_arrivals(uint32_t run)
{
    if (!sim.runs[run].uuid[0]) plan_within(4000, 3, submit, run);
    uint32_t meddlings = sim.plan.meddles ? 1 + sim_below(&sim.chance, 3) : 0;
    while (meddlings--) plan_within(20000, 60, meddle, run);
}

/* From opening to the end of all runs, or to its death (longjmp). */
static void live(const char *db)
{
    const SimPlan begin = sim.plan;
    bool full_seen = false;
    sim_trace("life %u, machine dies %d, op %llu turn %u act %u", sim.life, begin.death,
              (unsigned long long)begin.death_op, begin.death_turn, begin.death_act);
    begin_life(db, &begin);
    for (uint32_t i = 0; i < sim.run_count; i++) plan_arrivals(i);
    while (!all_over() || (sim.plan.death_turn && !sim.expecting)) {
        one_turn(&begin, &full_seen);
        if (sim.turn > TURNS_MAX) sim_broken("e1", "it goes on for ever");
        if (sim.drained_at) {
            wait_for_tools();
            continue;
        }
        if (!can_run() && !move_on()) {
            if (!sim.expecting) check_stuck();
            break;
        }
    }
    if (!sim.expecting) sim_trace("the end of life %u", sim.life);
}

static void close_life(void)
{
    const SimPlan begin = sim.plan;
    TfyLoop *loop = sim.loop;
    sim.loop = NULL;
    int code = tfy_close(loop);
    if (code < 0 && !was_disturbed(&begin) && sim_disk_has_room()) sim_broken("d1", "closing fails: %d", code);
    sim.alive = false;
    /* Without room, or with a sync that fails, what the close was to move stays in the -wal file, where it is safe. */
    sim.closed = code == 0 && !was_disturbed(&begin) && sim_disk_has_room();
    sim_forget_events();
    sim_system_die();
}

/* ---- what a run comes to by itself ---- */

bool sim_expect(SimRun *run)
{
    Sim kept = sim;
    TfyHistory *history = NULL;
    char error[TFY_ERROR_TEXT] = "";
    sim.expecting = true;
    sim.plan = (SimPlan){.seed = kept.plan.seed, .still = true, .eager = true};
    sim.events = NULL;
    sim.run_count = 1;
    sim.runs[0] = (SimRun){.workflow = run->workflow};
    live(NULL);
    bool over = sim.runs[0].over;
    char *told = NULL;
    if (over && sim_history(tfy__loop_log(sim.loop), sim.runs[0].uuid, &history, error)) {
        told = sim_told(history, sim.runs[0].state);
        tfy__history_free(history);
    }
    tfy_close(sim.loop);
    sim_forget_events();
    sim_system_die();
    sim_net_forget();
    run->takes_ns = sim.now_ns - kept.now_ns;
    sim = kept;
    run->expect = told;
    return told != NULL;
}

/* A program that could open descriptors keeps all its runs in memory. Where nobody does, nobody could: so others are parked. */
static void without_sockets(void)
{
    static const TfySite *sites[1 << 16];
    for (uint32_t i = 0; i < sim.run_count; i++)
        if (strncmp(sim.runs[i].workflow, "root_n", 6) == 0) return;
    if (sim_program.point_count > sizeof sites / sizeof *sites) return;
    for (uint32_t i = 0; i < sim_program.point_count; i++) {
        const TfySite *site = sim_program.sites[i];
        bool opens = site && site->tool && site->tool->family >= TFY_F_LISTEN && site->tool->family <= TFY_F_ADDRESS;
        sites[i] = opens ? NULL : site;
    }
    sim_program.sites = sites;
}

static void choose_runs(void)
{
    static const char *roots[4096];
    uint32_t count = 0;
    for (uint32_t i = 0; i < sim_program.workflow_count && count < 4096; i++)
        if (strncmp(sim_program.workflows[i]->name, "root_", 5) == 0) roots[count++] = sim_program.workflows[i]->name;
    if (!count) sim_broken("d1", "the program has no workflow root_…");
    uint32_t wanted = 1 + sim_below(&sim.chance, SIM_RUNS);
    for (uint32_t tries = 0; sim.run_count < wanted && tries < 20; tries++) {
        const char *name = roots[sim_below(&sim.chance, count)];
        if (sim_percent(&sim.chance, 50)) { /* those of work.tfy and agents.tfy */
            char own[16];
            bool sockets = sim.plan.sockets && sim_percent(&sim.chance, 70);
            bool models = sim.plan.models && sim_percent(&sim.chance, 70);
            const char kind = models ? 'm' : sockets ? 'n' : 'w';
            snprintf(own, sizeof own, "root_%c%u", kind, 1 + sim_below(&sim.chance, models ? 8 : sockets ? 4 : 9));
            for (uint32_t i = 0; i < count; i++)
                if (strcmp(roots[i], own) == 0) name = roots[i];
        }
        SimRun run = {.workflow = name};
        if (!sim_expect(&run)) {
            if (!is_of_kind_a(&run)) sim_broken("e1", "%s can never go on by itself", name);
            continue;
        }
        sim.runs[sim.run_count] = run;
        if (!sim.plan.still || sim.plan.meddles || is_of_kind_a(&run)) {
            free(run.expect);
            sim.runs[sim.run_count].expect = NULL;
        }
        sim.run_count++;
    }
}

/* ---- the end ---- */

static void ignore(void *state, const char *text, size_t len)
{
}

static TfyLog *look(char *error)
{
    TfyLogOptions options = {.path = SIM_DB, .read_only = true};
    TfyLog *log;
    return tfy__log_open(&log, &options, error) < 0 ? NULL : log;
}

/* Everything that can be read, as one number; 0: it cannot. */
static uint64_t all_read(void)
{
    char error[TFY_ERROR_TEXT] = "";
    uint64_t sum = 1;
    TfyLog *log = look(error);
    if (!log) return 0;
    for (uint32_t i = 0; i < sim.run_count && sum; i++) {
        TfyHistory *history = NULL;
        if (!sim.runs[i].uuid[0]) continue;
        if (tfy__history_read(log, sim.runs[i].uuid, &history, error) < 0) {
            sum = 0;
            break;
        }
        for (uint32_t r = 0; r < history->record_count; r++)
            sum = XXH3_64bits_withSeed(history->records[r].payload, history->records[r].payload_len, sum);
        tfy__history_free(history);
    }
    tfy__log_close(log, false);
    return sum;
}

static void check_rot(void)
{
    uint64_t sum = all_read();
    if (!sum) sim_broken("d1", "the log cannot be read in the end");
    /* Closed in order, the database is whole without its -wal file, which would be read instead of the changed byte. */
    sim_disk_unlink(SIM_DB "-wal");
    if (all_read() != sum) sim_broken("d1", "a log that was closed in order is less without its -wal file");
    if (!sim_disk_rot(&sim.disk_chance)) return;
    uint64_t now = all_read();
    sim_trace("read %s", now ? "all the same" : "refused");
    if (now && now != sum) sim_broken("e3", "a changed byte was read as if it had been written");
}

/* e5: one recorded digest, changed in memory. */
static void check_digest(void)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyLog *log = look(error);
    TfyHistory *history = NULL;
    TfyReplayReport report = {0};
    TfyOptions options = {.quiet = true, .on_output = ignore};
    if (!log || !sim_history(log, sim.runs[0].uuid, &history, error)) sim_broken("d1", "%s", error);
    uint32_t from = sim_below(&sim.disk_chance, history->record_count);
    char *digest = NULL;
    for (uint32_t i = 0; i < history->record_count && !digest; i++) {
        const TfyLogRecord *record = &history->records[(from + i) % history->record_count];
        if (record->type == TFY_R_TOOL_RESULT) digest = strstr((char *)record->payload, "\"digest\":\"");
    }
    if (digest) {
        digest += strlen("\"digest\":\"");
        *digest = *digest == '0' ? '1' : '0';
        tfy__replay(&sim_program, history, &options, &report);
        if (!report.divergences) sim_broken("e5", "a replay does not notice another digest");
    }
    tfy__history_free(history);
    tfy__log_close(log, false);
}

static void the_end(void)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyLog *log = look(error);
    if (!log) sim_broken("d1", "the database does not open in the end: %s", error);
    sim_check_recovered(log);
    sim_check_end(log);
    tfy__log_close(log, false);
    if (sim.plan.seed % 4 == 1) check_digest();
    if (sim.closed && sim.plan.seed % 4 == 0) check_rot();
}

static void make_plan(uint64_t seed)
{
    SimPlan *plan = &sim.plan;
    *plan = (SimPlan){.seed = seed};
    plan->still = sim_percent(&sim.chance, 50);
    plan->meddles = sim_percent(&sim.chance, plan->still ? 10 : 35);
    plan->eager = sim_percent(&sim.chance, 30);
    plan->deaths = sim_cuts ? 3 + sim_below(&sim.chance, 9) : sim_below(&sim.chance, 7);
    if (sim_percent(&sim.chance, 12)) plan->fail_sync = 30 + sim_below(&sim.chance, 300);
    if (sim_percent(&sim.chance, 12)) plan->full_op = 60 + sim_below(&sim.chance, 400);
    if (plan->still) plan->full_op = 0;
    if (plan->full_op) plan->full_ms = 50 + sim_below(&sim.chance, 400);
    if (sim_percent(&sim.chance, 6)) {
        plan->scarce = true;
        plan->fail_sync = plan->full_op = 0;
    }
    if (sim_percent(&sim.chance, 60)) plan->mark_every = 3 + sim_below(&sim.chance, 60);
    plan->sockets = sim_percent(&sim.chance, 40);
    plan->models = sim_percent(&sim.chance, 40);
    plan->levels = sim_percent(&sim.chance, 40);
    if (sim_percent(&sim.chance, 40)) plan->snapshot_every = 1 + sim_below(&sim.chance, 40);
    if (sim_percent(&sim.chance, 40)) plan->park_after_ms = 1 + sim_below(&sim.chance, 20);
}

void sim_run_seed(uint64_t seed, bool verbose)
{
    sim = (Sim){.chance = {seed * 3 + 1}, .disk_chance = {seed * 7 + 5}, .verbose = verbose};
    sim_program = tfyg_program;
    sim_program.source = "// the simulation's programs\n";
    sim_program.layout = "{}";
    make_plan(seed);
    choose_runs();
    without_sockets();
    sim.now_ns = 0;
    sim.trace = seed;
    volatile bool done = false;
    while (!done) {
        sim.life++;
        plan_death();
        sim.alive = true;
        if (setjmp(sim.death) == 0) {
            live(SIM_DB);
            if (sim.plan.seed % 3 == 0 && sim.plan.deaths) sim_die(); /* killed after everything was done */
            close_life();
            done = true;
        } else {
            sim.closed = false;
            bury(sim.plan.death);
        }
        if (sim.life > 60) sim_broken("e1", "it dies again and again");
    }
    the_end();
}
