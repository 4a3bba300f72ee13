/* loop.c: the loop: opening, one turn after the other in a fixed order; and the services that performers use.
 *
 * A turn is a list of phases, named as those of libuv's uv_run: see `turn`. If nothing is ready, the loop blocks
 * in the poller until the next deadline. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/seldom.h"
#include "wal/log/run_id.h"
#include "core/loop/state.h"

#define TIMERS_PER_TURN 1024
#define EVENTS_PER_TURN 64
/* the wall clock counts milliseconds: a tenth of one does not matter */
#define WALL_STEP_NS  100000
#define FULL_PAUSE_NS 100000000 /* between two tries while the disk is full */
/* how long processes that a former owner left running may take to exit */
#define FORMER_MS 10000
/* between two checks of the names of the log's files: a loss is noticed within a second */
#define LOOK_NS 750000000

const char *tfy_version(void)
{
    return TFY_VERSION;
}

void tfy__loop_fail(TfyLoop *loop, int code, const char *format, ...)
{
    if (loop->failure) return;
    loop->failure = code;
    va_list args;
    va_start(args, format);
    vsnprintf(loop->failure_text, sizeof loop->failure_text, format, args);
    va_end(args);
    /* A stop for lack of memory may come between two records that belong together: nothing of this turn is
     * written, as after a kill. The same holds for everything that a timer or a task did to a step whose tool is
     * no longer supervised. */
    if ((code == TFY_E_NOMEM || code == TFY_E_LOST) && loop->log)
        tfy__log_give_up(loop->log, code == TFY_E_NOMEM ? "memory ran out" : loop->failure_text);
}

void tfy__loop_fail_log(TfyLoop *loop, int code)
{
    char text[TFY_ERROR_TEXT];
    tfy__log_error_text(loop->log, text);
    tfy__loop_fail(loop, code, "%s", text);
}

void tfy__loop_clock(TfyLoop *loop)
{
    loop->now_ns = loop->world.mono_ns(loop->world.state);
    if (loop->now_ms && loop->now_ns - loop->wall_read_ns < WALL_STEP_NS) return;
    loop->now_ms = loop->world.wall_ms(loop->world.state);
    loop->wall_read_ns = loop->now_ns;
}

/* ---- small services ---- */

uint64_t tfy__timer_add(TfyLoop *loop, int64_t deadline_ns, TfyTimerHandler handler, void *arg)
{
    return tfy__timers_add(&loop->timers, deadline_ns, handler, arg);
}
void tfy__timer_del(TfyLoop *loop, uint64_t handle)
{
    tfy__timers_del(&loop->timers, handle);
}
int64_t tfy__now_ns(TfyLoop *loop)
{
    return loop->now_ns;
}
int64_t tfy__wall_ms(TfyLoop *loop)
{
    return loop->now_ms;
}
const char *tfy__lock_path(TfyLoop *loop)
{
    return loop->lock_path;
}
const char *tfy__secrets_command(TfyLoop *loop)
{
    return loop->options.secrets_from;
}

/* TfyOptions may set others */
#define OUTPUT_MOST ((size_t)1 << 20)
#define FILE_MOST   ((size_t)16 << 20)

static size_t most_of(size_t wanted, size_t usual)
{
    return !wanted ? usual : wanted < TFY_MOST_BYTES ? wanted : TFY_MOST_BYTES;
}

size_t tfy__output_most(TfyLoop *loop)
{
    return most_of(loop->options.max_output, OUTPUT_MOST);
}

size_t tfy__file_most(TfyLoop *loop)
{
    return most_of(loop->options.max_file, FILE_MOST);
}

const char *tfy__llm_option(TfyLoop *loop)
{
    return loop->options.llm;
}

const char *tfy__models_option(TfyLoop *loop)
{
    return loop->options.models;
}
/* The opening of the database, which in a shared one is the session, and the loop's place in that. */
int64_t tfy__handles(TfyLoop *loop)
{
    const int64_t place = loop->options.hub ? loop->options.hub->place : 0;
    return tfy__log_epoch(loop->log) << 40 | place << 34;
}
const char *tfy__run_uuid(TfyTask *task)
{
    return rest_of(task)->run->uuid;
}
const char *tfy__task_path(TfyTask *task)
{
    return rest_of(task)->log.path;
}
void **tfy__effect_slot(TfyLoop *loop, int module)
{
    return &loop->effect_slots[module];
}
TfyLog *tfy__loop_log(TfyLoop *loop)
{
    return loop->log;
}
const char *tfy__run_of(TfyLoop *loop, int64_t tid)
{
    TaskRest *rest = tfy__task_by_tid(loop, tid);
    return rest ? rest->run->uuid : NULL;
}
const char *tfy_run_id(TfyLoop *loop, int64_t tid)
{
    return tfy__run_of(loop, tid);
}
const char *tfy__failure(TfyLoop *loop)
{
    return loop->failure_text;
}

/* ---- opening ---- */

/* When records are written: at the time when the turn started, or that of the late clock if it is later. */
static int64_t log_clock(void *state)
{
    const TfyLoop *loop = state;
    if (!loop->world.wall_late_ms) return loop->world.wall_ms(loop->world.state);
    const int64_t late_ms = loop->world.wall_late_ms(loop->world.state);
    return late_ms > loop->now_ms ? late_ms : loop->now_ms;
}

static int64_t log_pause_clock(void *state)
{
    TfyLoop *loop = state;
    return loop->world.mono_ns(loop->world.state) / 1000000;
}

static void on_log_event(void *arg, uint32_t events)
{
    TfyLoop *loop = arg;
    (void)events;
    tfy__log_event_clear(loop->log); /* the turn checks the durable ticket itself */
}

/* Ends the processes that a former owner of the database left running, before any run continues. False: it takes
 * too long. */
static bool end_former(TfyLoop *loop)
{
    bool ended = true;
    for (int i = 0; i < TFY_F_COUNT && ended && loop->lock_path; i++) {
        const TfyPerformer *performer = performer_once(loop, i);
        if (performer && performer->end_former) ended = performer->end_former(loop->lock_path, FORMER_MS) >= 0;
    }
    return ended;
}

static int open_log(TfyLoop *loop, char *error_text)
{
    const TfyOptions *options = &loop->options;
    TfyLogOptions log_options = {
        .path = options->db_path, .forgets = options->forget, .wall_ms = log_clock, .clock_state = loop};
    log_options.mark_every = loop->world.mark_every;
    if (loop->world.writer_by_hand) log_options.by_hand_ms = log_pause_clock;
    if (options->hub) {
        const int joined = loop->options.hub->claims->join(loop, &log_options, error_text);
        if (joined < 0) return joined;
    }
    int code = tfy__log_open(&loop->log, &log_options, error_text);
    if (code < 0) return code;
    const char *path = tfy__log_path(loop->log);
    if (path && asprintf(&loop->lock_path, "%s-tfy", path) < 0) {
        loop->lock_path = NULL;
        return TFY_E_NOMEM;
    }
    int fd = tfy__log_event_fd(loop->log);
    const int64_t watch = fd >= 0 ? tfy__watch_add(loop, fd, TFY_FD_READ, on_log_event, loop) : 0;
    if (watch < 0) {
        if (watch != TFY_E_NOMEM)
            snprintf(error_text, TFY_ERROR_TEXT, "the log cannot be watched: %s", strerror(errno));
        return (int)watch;
    }
    if (!end_former(loop)) {
        snprintf(error_text, TFY_ERROR_TEXT,
                 "processes that the former owner of %s started are still being stopped; try again", path);
        return TFY_E_HELD;
    }
    return 0;
}

/* The first record of this opening; everything that leaves the process comes after it. */
static int record_opened(TfyLoop *loop, char *error_text)
{
    if (loop->options.hub) {
        loop->options.hub->claims->beat(loop);
        return loop->failure;
    }
    const TfyTicket ticket = tfy__log_opened(loop->log, tfy_version(), NULL);
    if (ticket < 0 && ticket != TFY_E_NOMEM) tfy__log_error_text(loop->log, error_text);
    return ticket < 0 ? (int)ticket : 0;
}

static TfyLoop *loop_new(const TfyProgram *program, const TfyOptions *options)
{
    TfyLoop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    tfy__sys_watch_json();
    loop->program = program;
    if (options) loop->options = *options;
    loop->stdout_closed = loop->options.served;
    loop->world = options && options->world ? *options->world : tfy__world_real;
    if (!options || !options->world) loop->world.poller = tfy__poller_of_choice();
    pthread_mutex_init(&loop->posts.mutex, NULL);
    loop->watch_free = NO_INDEX;
    loop->wake_fd = -1;
    if (tfy__loaded_new(loop, program)) return loop;
    free(loop);
    return NULL;
}

static int open_core(TfyLoop *loop, char *error_text)
{
    int code = tfy__heap_init(&loop->heap, loop->world.alloc, loop->world.state);
    if (code < 0) return code;
    code = tfy__tasks_init(loop);
    if (code < 0) return code;
    tfy__memory_init(loop);
    code = tfy__snapshot_init(loop, error_text);
    if (code >= 0) code = tfy__park_init(loop, error_text);
    if (code >= 0 && !loop->options.world) code = tfy__poller_check(error_text);
    if (code < 0) return code;
    code = loop->world.poller->open(&loop->poller);
    if (code < 0) {
        snprintf(error_text, TFY_ERROR_TEXT, "no poller can be opened: %s", strerror(errno));
        return code;
    }
    tfy__loop_clock(loop);
    loop->opened_ms = loop->now_ms;
    return tfy__activity_init(loop, error_text);
}

int tfy__explained(int code, char *error_text)
{
    if (code == TFY_E_NOMEM && !*error_text) snprintf(error_text, TFY_ERROR_TEXT, "memory ran out");
    return code;
}

/* For a check that fails: the running task, or the run if there is only one. */
static void tell_place(const void *arg, char *text, size_t size)
{
    const TfyLoop *loop = arg;
    const Run *run = loop->runs.first;
    if (run && !run->next) snprintf(text, size, "run %s", run->uuid);
    for (uint32_t slot = 0; slot < loop->task_count; slot++) {
        const TfyTask *task = &loop->cells[slot].task;
        if (task->state & T_FREE || state_of(task) != TFY_TASK_RUNNING) continue;
        snprintf(text, size, "run %s, task %s", rest_of(task)->run->uuid, rest_of(task)->log.path);
    }
}

/* Options that contradict each other. */
TFY_SELDOM static int check_served(const TfyOptions *options, char *error_text)
{
    if (!options->served || !(options->approve_all || options->approve_trusted)) return TFY_OK;
    snprintf(error_text, TFY_ERROR_TEXT, "a loop that is served has no one who says yes to everything");
    return TFY_E_INVALID;
}

int tfy_open(TfyLoop **out, const TfyProgram *program, const TfyOptions *options, char *error_text)
{
    char scratch[TFY_ERROR_TEXT];
    if (!error_text) error_text = scratch;
    *out = NULL;
    *error_text = '\0';
    TfyLoop *loop = loop_new(program, options);
    if (!loop) return tfy__explained(TFY_E_NOMEM, error_text);
    tfy__check_place(tell_place, loop);
    int code = check_served(&loop->options, error_text);
    if (code >= 0) code = open_core(loop, error_text);
    if (code >= 0) code = tfy__root_open(loop, loop->options.root, &loop->programs.first->root, error_text);
    if (code >= 0) code = tfy__policy_init(loop, loop->options.policy, error_text);
    if (code >= 0) code = tfy__prompts_check(loop->options.record_prompts, error_text);
    if (code >= 0) code = open_log(loop, error_text);
    if (code >= 0) code = record_opened(loop, error_text);
    if (code < 0) {
        loop->failure = code;
        tfy_close(loop);
        return tfy__explained(code, error_text);
    }
    *out = loop;
    return 0;
}

int tfy__loop_open_replay(TfyLoop **out, const TfyProgram *program, const TfyOptions *options, char *error_text)
{
    *error_text = '\0';
    TfyLoop *loop = loop_new(program, options);
    if (!loop) return tfy__explained(TFY_E_NOMEM, error_text);
    loop->replay_only = true;
    int code = open_core(loop, error_text);
    if (code < 0) {
        loop->failure = code;
        tfy_close(loop);
        return tfy__explained(code, error_text);
    }
    *out = loop;
    return 0;
}

int tfy__loop_prepare(TfyLoop *loop, const TfyProgram *program, char *error_text)
{
    int code = TFY_OK;
    for (int i = 0; i < TFY_F_COUNT && code == TFY_OK; i++) {
        const TfyPerformer *performer = program->performers && program->performers[i] ? performer_once(loop, i) : NULL;
        if (performer && performer->prepare) code = performer->prepare(loop, program, error_text);
    }
    return code;
}

void tfy__rehearse(TfyLoop *loop, const TfyRehearsal *rehearsal)
{
    loop->rehearsal = rehearsal;
    loop->world.state = rehearsal->state;
    loop->world.mono_ns = rehearsal->mono_ns;
    loop->world.wall_ms = rehearsal->wall_ms;
    loop->world.wall_late_ms = NULL;
    loop->world.jump = rehearsal->jump;
    loop->world.random = rehearsal->random;
}

/* ---- submitting ---- */

/* UUIDv7: 48 bits of milliseconds, then randomness. */
static void make_uuid(TfyLoop *loop, uint8_t uuid[16])
{
    loop->world.random(loop->world.state, uuid, 16);
    for (int i = 0; i < 6; i++) uuid[i] = (uint8_t)(loop->now_ms >> (40 - 8 * i));
    uuid[6] = (uint8_t)(0x70 | (uuid[6] & 0x0f));
    uuid[8] = (uint8_t)(0x80 | (uuid[8] & 0x3f));
}

static TfyBuffer instruction(const Run *run, const TfyWorkflow *workflow, const TfyValue *args, const TfyStart *start)
{
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_RUN, run->uuid);
    tfy__put_int(&out, TFY_P_TID, run->log.root);
    tfy__put_text(&out, TFY_P_PATH, "1");
    tfy__put_text(&out, TFY_P_WORKFLOW, workflow->name);
    tfy__put(&out, TFY_P_ARGS);
    tfy__encode_args(&out, workflow->params, workflow->param_count, args);
    tfy__put_hex(&out, TFY_P_SEED, run->seed);
    tfy__put_int(&out, TFY_P_FUEL, TFY_FUEL_SLICE);
    if (run->max_memory) tfy__put_int(&out, TFY_P_MAX_MEMORY, run->max_memory);
    if (run->max_queue) tfy__put_int(&out, TFY_P_MAX_QUEUE, run->max_queue);
    if (run->rooted) {
        tfy__put(&out, TFY_P_ROOT);
        tfy__root_write(&out, &run->loaded->root->at);
    }
    tfy__ceiling_write(run, &out, TFY_P_CEILING);
    if (start->id) tfy__put_text(&out, TFY_P_ID, start->id);
    if (run->digests_only) tfy__put_text(&out, TFY_P_PROMPTS, DIGESTS_ONLY);
    tfy__put_true(&out, TFY_P_YOLO, run->yolo);
    if (start->facts) start->facts(start->arg, &out);
    tfy__put_end(&out);
    return out;
}

/* The run begins. */
static int submit_now(TfyLoop *loop, Run *run, const TfyWorkflow *workflow, const TfyValue *args, const TfyStart *start)
{
    TaskRest *root = tfy__run_begin_root(loop, run, workflow, args, run->log.root);
    /* the log has the run's row already: only another opening can continue it */
    if (!root) {
        tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for a task");
        return TFY_E_NOMEM;
    }
    tfy__log_add_task(loop->log, &root->log);
    TfyBuffer out = instruction(run, workflow, args, start);
    const TfyTicket ticket = tfy__record_append(root, TFY_R_INSTRUCTION_START, 0, 0, &out);
    const bool noted = out.failed || !start->facts ||
                       tfy__trace_note(run, &(TfyLogRecord){.payload = out.data, .payload_len = (uint32_t)out.len});
    tfy__buffer_free(&out);
    if (ticket < 0) return (int)ticket;
    if (!noted) {
        tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for a run");
        return TFY_E_NOMEM;
    }
    root->log.born = root->log.head;
    tfy__activity(root->task, "ReceivedInstruction", "%s", workflow->name);
    return 0;
}

/* The run is in the log alone: it has a row, a task without steps and its first record, as after a kill at this place. */
static int submit_queued(TfyLoop *loop, Run *run, const TfyWorkflow *workflow, const TfyValue *args,
                         const TfyStart *start)
{
    char path[] = "1";
    TfyLogTask task = {.tid = run->log.root, .run = &run->log, .path = path, .state = TFY_TASK_READY};
    tfy__log_add_task(loop->log, &task);
    TfyBuffer out = instruction(run, workflow, args, start);
    const TfyTicket ticket = tfy__log_append_payload(loop->log, &task, TFY_R_INSTRUCTION_START, 0, 0, &out);
    tfy__log_forget_task(loop->log, &task);
    tfy__run_discard(loop, run);
    if (ticket < 0) tfy__loop_fail_log(loop, (int)ticket);
    loop->metrics.records[TFY_R_INSTRUCTION_START]++;
    loop->parked++;
    return ticket < 0 ? (int)ticket : 0;
}

/* Nothing starts: the run is for another database. */
static int submit_elsewhere(TfyLoop *loop, Run *run, const TfyWorkflow *workflow, const TfyValue *args,
                            const TfyStart *start)
{
    TfyBirth *birth = start->birth;
    birth->payload = instruction(run, workflow, args, start);
    birth->row = run->log;
    birth->row.program = 0;
    tfy__run_discard(loop, run);
    return birth->payload.failed ? TFY_E_NOMEM : TFY_OK;
}

int tfy__submit(TfyLoop *loop, Loaded *loaded, const TfyWorkflow *workflow, const TfyValue *args, const TfyStart *start,
                int64_t *tid)
{
    TfyLogRun log = {.state = TFY_TASK_READY, .started_ms = loop->now_ms};
    log.program = tfy__loaded_row(loop, loaded);
    if (log.program < 0) return (int)log.program;
    make_uuid(loop, log.uuid);
    if (start->id) tfy__run_id_of("", loaded->program->name, workflow->name, start->id, log.uuid);
    if (start->run) tfy__uuid_text(log.uuid, start->run);
    TfyLogRun other;
    if (start->id && tfy__log_find_run(loop->log, log.uuid, &other) == TFY_OK) return TFY_E_STATE;
    log.root = *tid = tfy__log_next_tid(loop->log, NULL);
    Run *run = tfy__run_new(loop, loaded, &log);
    if (!run) return TFY_E_NOMEM;
    loop->world.random(loop->world.state, &run->seed, sizeof run->seed);
    run->digests_only = tfy__is_digests_only(loop->options.record_prompts);
    if (!tfy__ceiling_begin(run, start->ceiling)) return TFY_E_NOMEM;
    run->max_memory = (int64_t)loop->options.max_memory;
    run->max_queue = loop->options.max_queue;
    run->rooted = loop->root_known && !start->birth;
    if (start->birth) return submit_elsewhere(loop, run, workflow, args, start);
    if (start->queued) run->log.parked_ms = TFY_QUEUED_MS;
    const int code = tfy__log_begin_run(loop->log, &run->log);
    if (code < 0) return code;
    return (start->queued ? submit_queued : submit_now)(loop, run, workflow, args, start);
}

void tfy__on_runs(TfyLoop *loop, const TfyRunsSeen *seen)
{
    loop->runs_seen = *seen;
}

void tfy__on_turns(TfyLoop *loop, void (*turned)(void *state, int64_t took_ns), void *state)
{
    loop->turned = turned;
    loop->turned_state = state;
}

/* ---- the phases of a turn, in their order ---- */

typedef struct Turn {
    bool block;        /* it may sleep in the poller */
    bool paused;       /* no task runs: the disk is full, or the process drains */
    int happened;      /* things that this turn did */
    TfyTicket durable; /* the durable ticket when it started */
} Turn;

static bool ready(const TfyLoop *loop)
{
    return loop->ring_head != loop->ring_tail || loop->policy_count || tfy__step_is_synced(loop);
}

static bool all_durable(const TfyLoop *loop)
{
    return tfy__log_durable(loop->log) >= tfy__log_last(loop->log);
}

/* The log is in a file. A simulated world's files belong to no other process. */
static bool has_files(const TfyLoop *loop)
{
    return !loop->options.world && tfy__log_path(loop->log);
}

/* First: the phases of a turn share its clock, and can tell what has become durable since it started. */
static void update_time(TfyLoop *loop, Turn *turn)
{
    tfy__loop_clock(loop);
    turn->durable = tfy__log_durable(loop->log);
}

/* What other threads ask for comes before the tasks. */
static void run_posts(TfyLoop *loop, Turn *turn)
{
    turn->happened += tfy__posts_run(loop);
}

/* Before anything leaves the process: a lost file becomes the log's error, and run_pending starts by checking it. */
static void inspect_files(TfyLoop *loop)
{
    if (!has_files(loop) || loop->now_ns - loop->looked_ns < LOOK_NS) return;
    loop->looked_ns = loop->now_ns;
    tfy__log_look(loop->log);
}

/* Reads the log's error first, so nothing leaves the process after a failed sync. Then come the steps and the
 * outputs whose records are durable. */
static void release_durable(TfyLoop *loop)
{
    int code = tfy__log_error(loop->log);
    char text[TFY_ERROR_TEXT];
    if (code < 0) {
        tfy__loop_fail_log(loop, code);
        return;
    }
    if (loop->on_notice && tfy__log_notice(loop->log, text)) loop->on_notice(loop->notice_state, text);
    tfy__step_synced(loop);
    tfy__out_flush(loop);
    tfy__posts_durable(loop);
}

/* Before the poll: a step whose record is durable starts now, and its call runs while the loop sleeps. Steps that
 * can go on are advanced before the flush, so that what they append is handed over with the rest. */
static void run_pending(TfyLoop *loop, Turn *turn)
{
    release_durable(loop);
    while (!loop->failure && !loop->draining && tfy__step_work(loop)) turn->happened++;
}

/* Flush before poll: a record that is still here while the loop sleeps would become durable only after the sleep,
 * and the steps that wait for it would wait as long. */
static void run_prepare(TfyLoop *loop, const Turn *turn)
{
    if (turn->block && (!ready(loop) || loop->draining)) tfy__log_flush(loop->log);
}

static int64_t poll_timeout(TfyLoop *loop, bool block)
{
    /* With a full disk no task runs, ready or not: polling without a pause would only waste time. The same holds
     * for a drain. */
    const bool busy = (ready(loop) && !tfy__log_full(loop->log)) || loop->work.first;
    if (!block || (busy && !loop->draining)) return 0;
    int64_t next_ns = tfy__timers_next(&loop->timers);
    if (loop->draining && loop->drain_until_ns < next_ns) next_ns = loop->drain_until_ns;
    if (loop->park_list.first && loop->park_list.first->park_look_ns < next_ns)
        next_ns = loop->park_list.first->park_look_ns;
    if (loop->options.hub && !loop->draining && loop->deployed_look_ns < next_ns) next_ns = loop->deployed_look_ns;
    int64_t wait_ns = next_ns == INT64_MAX ? -1 : next_ns > loop->now_ns ? next_ns - loop->now_ns : 0;
    if (tfy__log_full(loop->log) && (wait_ns < 0 || wait_ns > FULL_PAUSE_NS)) wait_ns = FULL_PAUSE_NS;
    if (has_files(loop) && (wait_ns < 0 || wait_ns > LOOK_NS)) wait_ns = LOOK_NS;
    return wait_ns;
}

/* A task that lacks memory for a value leaves the path that a replay could follow: with memory, nothing happens at
 * that place. So the process ends as if it had been killed at its last commit. (A task that wants more than a task
 * may have is another case: that is recorded, see memory.c.) */
bool tfy__loop_starved(TfyLoop *loop)
{
    if (loop->heap.ran_out || tfy__sys_starved())
        tfy__loop_fail(loop, TFY_E_NOMEM,
                       "memory ran out; every recorded step is kept, and `tfy resume` continues from there");
    return loop->failure;
}

int tfy_timeout_ms(TfyLoop *loop)
{
    if (loop->failure || (loop->interrupted && !loop->draining)) return 0;
    tfy__loop_clock(loop);
    const TfyTicket durable = tfy__log_durable(loop->log);
    if (!ready(loop)) tfy__log_flush(loop->log); /* see run_prepare; a step may have to follow */
    const int64_t ns = poll_timeout(loop, tfy__log_durable(loop->log) == durable),
                  ms = ns / 1000000 + (ns % 1000000 != 0);
    return ns < 0 ? -1 : ms > INT32_MAX ? INT32_MAX : (int)ms;
}

/* A session's lease is renewed while each of its loops makes turns, or sleeps in its poller. */
static void tell_turn_begins(const TfyLoop *loop, bool sleeps)
{
    atomic_store_explicit(&loop->options.hub->awake_ns, sleeps ? 0 : loop->now_ns, memory_order_relaxed);
}

static int poll_events(TfyLoop *loop, bool block)
{
    TfyFdEvent events[EVENTS_PER_TURN];
    int64_t timeout_ns = poll_timeout(loop, block);
    if (timeout_ns) tfy__wake_open(loop);
    /* requested before there was a descriptor to wake it */
    if (timeout_ns && ((loop->interrupted && !loop->draining) || tfy__posts_wait(loop))) timeout_ns = 0;
    if (loop->options.hub) tell_turn_begins(loop, timeout_ns != 0);
    if (!timeout_ns && loop->watch_count == (loop->wake_fd >= 0 && !loop->muffled_count)) return 0;
    int count = loop->world.poller->wait(loop->poller, events, EVENTS_PER_TURN, timeout_ns);
    if (timeout_ns) tfy__loop_clock(loop);
    if (timeout_ns && loop->options.hub) tell_turn_begins(loop, false);
    for (int i = 0; i < count && !tfy__loop_starved(loop); i++) tfy__watch_fire(loop, &events[i]);
    return count > 0 ? count : 0;
}

/* After the flush, and once only: a second poll could wait for an event that the first has consumed. It does not
 * block if something happened already, or if the disk was faster: then the next turn has work. */
static void io_poll(TfyLoop *loop, Turn *turn)
{
    const bool block = turn->block && !turn->happened && tfy__log_durable(loop->log) == turn->durable;
    turn->happened += poll_events(loop, block);
}

/* After the poll: its sleep ends at the next deadline, and a result that came before the deadline counts. Equal
 * deadlines fire in the order of their creation. */
static void run_timers(TfyLoop *loop, Turn *turn)
{
    for (int i = 0; i < TIMERS_PER_TURN && tfy__timers_fire_one(&loop->timers, loop->now_ns); i++) turn->happened++;
}

/* After all that can wake a task. Only tasks that are ready now run: a task that yields runs again in the next
 * turn, after the descriptors and timers of that turn. */
static void run_ready(TfyLoop *loop, Turn *turn)
{
    turn->paused = tfy__log_full(loop->log) || loop->draining;
    uint32_t count = turn->paused ? 0 : loop->ring_tail - loop->ring_head;
    if (count > SCHED_TASKS) count = SCHED_TASKS;
    const bool chosen = loop->policy && !turn->paused;
    turn->happened += (int)(chosen              ? tfy__policy_run(loop, SCHED_TASKS)
                            : loop->options.hub ? loop->options.hub->claims->run(loop, count)
                                                : tfy__sched_run_ready(loop, count));
}

/* After the tasks, whose memory is counted here. Runs that wait long leave memory before due runs need it. */
static void run_check(TfyLoop *loop, Turn *turn)
{
    const size_t in_use = loop->heap.in_use, limit = loop->options.max_memory;
    if (!loop->draining && (in_use > loop->memory_watch || (limit && in_use < limit))) tfy__memory_look(loop);
    if (turn->paused) return;
    if (loop->park_list.first && loop->park_list.first->park_look_ns <= loop->now_ns) tfy__park_look(loop);
    if (loop->wake_due) turn->happened += (int)tfy__park_wake(loop);
    if (loop->options.hub) turn->happened += (int)loop->options.hub->claims->take(loop);
}

/* After run_check: a run that leaves memory writes a snapshot of its own, and one that is ready has just run. */
static void run_snapshots(TfyLoop *loop, const Turn *turn)
{
    if (loop->snapshots_due && !turn->paused) tfy__snapshots_write(loop);
}

/* Last: what the tasks of the turn appended goes to the writer in one batch, with the rows of the tasks whose runs
 * leave memory: behind the flush they would be a commit of their own. Outputs come after their sync: those that are
 * durable by now leave the process, and the others wait for a later turn. */
static void run_closing(TfyLoop *loop, Turn *turn)
{
    for (Run *run; (run = LIST_TAKE(&loop->runs_over, over_next));) {
        if (loop->options.hub)
            (void)loop->options.hub->claims->leave(run, INT64_MAX); /* else the log's error reaches the loop */
        tfy__run_discard(loop, run);
    }
    tfy__log_flush(loop->log);
    release_durable(loop);
    turn->happened += tfy__log_durable(loop->log) != turn->durable;
}

/* ---- turns ---- */

/* One turn; returns the number of things that happened. A loop whose memory ran out stops between two phases, and
 * hands nothing more to the writer. */
static int turn(TfyLoop *loop, bool block)
{
    Turn turn = {.block = block};
    update_time(loop, &turn);
    inspect_files(loop);
    run_posts(loop, &turn);
    run_pending(loop, &turn);
    if (tfy__loop_starved(loop)) return turn.happened;
    run_prepare(loop, &turn);
    io_poll(loop, &turn);
    run_timers(loop, &turn);
    run_ready(loop, &turn);
    run_check(loop, &turn);
    if (tfy__loop_starved(loop)) return turn.happened;
    run_snapshots(loop, &turn);
    if (tfy__loop_starved(loop)) return turn.happened;
    run_closing(loop, &turn);
    return turn.happened;
}

/* No work is left that could continue without people. */
static bool idle(TfyLoop *loop)
{
    return !ready(loop) && !loop->work.first && !loop->in_flight && !loop->out.first && !loop->sync.first &&
           !loop->muffled_count && all_durable(loop) && !tfy__posts_wait(loop);
}

static int write_shutdown(TfyLoop *loop)
{
    TfyBuffer out = {0};
    if (loop->shutdown_written || loop->options.hub) return 0;
    loop->shutdown_written = true;
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_WHY, "interrupted");
    tfy__put_end(&out);
    const TfyTicket ticket =
        tfy__log_append_payload(loop->log, tfy__log_self(loop->log), TFY_R_SHUTDOWN_MARKER, 0, 0, &out);
    int code = ticket < 0 ? (int)ticket : tfy__log_sync(loop->log);
    if (code >= 0) tfy__out_flush(loop);
    return code;
}

/* With a virtual clock nothing is waited for: if nothing happens, the clock jumps to the next deadline, or to the
 * end of the drain. */
static int drain_by_jumps(TfyLoop *loop)
{
    const int happened = turn(loop, false);
    const int64_t next_ns = tfy__timers_next(&loop->timers), end_ns = loop->drain_until_ns;
    if (!happened && all_durable(loop)) loop->world.jump(loop->world.state, next_ns < end_ns ? next_ns : end_ns);
    tfy__loop_clock(loop);
    return happened;
}

/* One turn of a drain, or its end: TFY_E_STATE, or the error. */
static int drain(TfyLoop *loop, bool block)
{
    if (tfy__drain_goes_on(loop)) return block && loop->world.jump ? drain_by_jumps(loop) : turn(loop, block);
    if (loop->failure) return loop->failure;
    int code = write_shutdown(loop);
    return code < 0 ? code : TFY_E_STATE;
}

/* Can time or people continue an idle loop? If not, *code is the result of tfy_run. With a virtual clock, the clock
 * jumps to the next deadline. */
static bool alive(TfyLoop *loop, int *code)
{
    if (loop->options.stay && !loop->world.jump) return true;
    const bool parked = loop->wake_timer || (loop->parked && loop->options.wait_people);
    if (!loop->runs_live && !parked) return false;
    const int64_t next_ns = tfy__timers_next(&loop->timers);
    if (next_ns != INT64_MAX) {
        if (loop->world.jump) loop->world.jump(loop->world.state, next_ns);
        return true;
    }
    if (loop->runs_live && tfy__deadlocked(loop))
        *code = tfy__deadlock_record(loop) < 0 ? TFY_E_IO : TFY_E_DEADLOCK;
    else if (tfy__unanswered_tell(loop))
        *code = loop->failure;
    return !*code && loop->options.wait_people;
}

/* The clock was last read when the turn began, or when it woke up. */
static void tell_turn(TfyLoop *loop)
{
    const int64_t since_ns = loop->now_ns;
    tfy__loop_clock(loop);
    loop->turned(loop->turned_state, loop->now_ns - since_ns);
}

int tfy_run(TfyLoop *loop)
{
    while (!loop->failure) {
        if (loop->interrupted) {
            int code = drain(loop, true);
            if (code < 0) return code;
            continue;
        }
        int code = 0;
        if (idle(loop) && !alive(loop, &code)) return code;
        turn(loop, true);
        if (loop->turned) tell_turn(loop);
    }
    return loop->failure;
}

int tfy_step(TfyLoop *loop)
{
    if (loop->failure) return loop->failure;
    if (loop->interrupted) {
        int code = drain(loop, false);
        return code < 0 ? code : 1;
    }
    int happened = turn(loop, false);
    if (loop->failure) return loop->failure;
    return happened > 0 || !idle(loop);
}

int tfy_step_until_idle(TfyLoop *loop)
{
    while (!loop->failure) {
        bool waits = loop->in_flight || !all_durable(loop);
        if (turn(loop, waits && (!ready(loop) || tfy__log_full(loop->log))) || !idle(loop)) continue;
        int64_t next_ns = tfy__timers_next(&loop->timers);
        if (!loop->world.jump || next_ns == INT64_MAX) return 0;
        loop->world.jump(loop->world.state, next_ns);
    }
    return loop->failure;
}

void tfy__on_notice(TfyLoop *loop, void (*tell)(void *state, const char *text), void *state)
{
    loop->on_notice = tell;
    loop->notice_state = state;
}

/* ---- inspecting ---- */

static const TaskRest *reach_task(TfyLoop *loop, int64_t tid)
{
    TaskRest *rest = tfy__task_by_tid(loop, tid);
    if (!rest && loop->parked && tfy__park_reach_tid(loop, tid)) rest = tfy__task_by_tid(loop, tid);
    return rest;
}

TfyTaskState tfy_task_state(TfyLoop *loop, int64_t tid)
{
    const Folded *folded = tfy__folded_by_tid(loop, tid); /* often requested, for many tasks: it stays folded */
    if (folded) return folded->kind == FOLDED_ENDED ? TFY_TASK_COMPLETED : TFY_TASK_SLEEPING;
    const TaskRest *rest = reach_task(loop, tid);
    if (!rest) return TFY_TASK_UNKNOWN;
    return rest->end_state ? rest->end_state : state_of(rest->task);
}

const char *tfy_task_result(TfyLoop *loop, int64_t tid)
{
    const TaskRest *rest = reach_task(loop, tid);
    return rest && rest->run->root == rest ? rest->run->result : NULL;
}

const char *tfy_task_error(TfyLoop *loop, int64_t tid)
{
    const TaskRest *rest = reach_task(loop, tid);
    if (!rest) return NULL;
    return rest->run->root == rest && rest->run->error ? rest->run->error : rest->failure_text;
}
