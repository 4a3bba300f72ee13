/* schedules.c: see schedules.h. */
#include "serve/schedules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/frame/cli.h"
#include "serve/admin.h"
#include "serve/body.h"
#include "serve/schedule_file.h"
#include "serve/start.h"
#include "value/json.h"

enum { LOOK_MS = 1000, AGAIN_MS = 1000, OFF_SIZE = 256 };

/* A schedule, and how far it has come. It stays until the end, since the loop may have it. */
typedef struct State {
    struct State *next;
    struct TfySchedules *schedules;
    const TfySchedule *of; /* of the configuration; NULL: it has it no more */
    TfyScheduleRow row;    /* as the file has it, unless `unwritten` */
    bool unwritten;
    bool asked;         /* the loop starts a time of it */
    uint32_t made_good; /* times that were missed, in one go */
    int64_t again_ms;   /* the loop refused: not before then, monotonic */
    char off[OFF_SIZE]; /* why it is off; "": it is on */
    int64_t at_s;       /* while the loop has it: the time */
    char run[37];       /* … and the run */
    TfyCaller caller;   /* who starts its runs */
} State;

struct TfySchedules {
    TfyServer *server;
    TfyServeFile *file;
    pthread_t thread;
    pthread_mutex_t writing; /* held for the file, and taken first */
    pthread_mutex_t mutex;   /* held for the rest, and never while the file is written */
    pthread_cond_t more;
    LIST(State) states;
    const TfyConfig *config; /* which they are of */
    bool ends, woken;
};

static void wake(struct TfySchedules *schedules)
{
    schedules->woken = true;
    pthread_cond_signal(&schedules->more);
}

/* ---- in the loop: whether it is on ---- */

static void turn_off(State *state, const char *why)
{
    if (strcmp(state->off, why) == 0) return;
    snprintf(state->off, sizeof state->off, "%s", why);
    if (*why) tfy__say("the schedule %s is off: %s", state->row.name, why);
}

static void look_whether_off(TfyServer *server, State *state)
{
    char why[TFY_ERROR_TEXT] = "";
    TfyBuffer args = {0};
    const TfyServed *served = tfy__served_named(server, state->of->program);
    const TfyWorkflow *workflow = served ? tfy__served_workflow(served, state->of->workflow) : NULL;
    if (!served)
        snprintf(why, sizeof why, "there is no program '%.80s'", state->of->program);
    else if (!workflow)
        snprintf(why, sizeof why, "%s has no workflow '%.80s'", served->name, state->of->workflow);
    else
        (void)tfy__encode_arguments(server->loop, workflow, state->of->args, &args, why);
    tfy__buffer_free(&args);
    turn_off(state, why);
}

static void look_all(TfyLoop *loop, void *arg)
{
    struct TfySchedules *schedules = arg;
    if (!loop) return;
    pthread_mutex_lock(&schedules->mutex);
    for (State *state = schedules->states.first; state; state = state->next)
        if (state->of) look_whether_off(schedules->server, state);
    wake(schedules);
    pthread_mutex_unlock(&schedules->mutex);
}

void tfy__schedules_look(struct TfySchedules *schedules)
{
    look_all(schedules->server->loop, schedules);
}

/* ---- in the loop: a time has come ---- */

/* It is dealt with: started, or skipped, and the run before it is still the newest. */
static void settle(State *state, bool started, const char *why)
{
    state->row.done_s = state->row.last_s = state->at_s;
    if (started) memcpy(state->row.run, state->run, sizeof state->run);
    snprintf(state->row.why, sizeof state->row.why, "%s", why);
    state->unwritten = true;
    state->asked = false;
    wake(state->schedules);
}

static void settle_started(TfyLoop *loop, void *arg)
{
    State *state = arg;
    pthread_mutex_lock(&state->schedules->mutex);
    if (loop) settle(state, true, "");
    pthread_mutex_unlock(&state->schedules->mutex);
}

static bool goes_on(TfyLoop *loop, const char *run)
{
    uint8_t uuid[16];
    TfyLogRun row;
    return tfy__uuid_read(run, uuid) && tfy__log_find_run(tfy__loop_log(loop), uuid, &row) == TFY_OK &&
           row.state == TFY_TASK_READY;
}

/* Whether the run before it is no hindrance. */
static bool may_overlap(TfyLoop *loop, State *state)
{
    char error[TFY_ERROR_TEXT];
    if (state->of->overlap == TFY_OVERLAP_ALLOW || state->of->overlap == TFY_OVERLAP_QUEUE ||
        !goes_on(loop, state->row.run))
        return true;
    if (state->of->overlap == TFY_OVERLAP_SKIP) return false;
    const TfySender sender = {.via = "{\"how\":\"schedule\"}", .unsynced = true};
    tfy__arrive_from(loop, &sender);
    (void)tfy__arrive_kill(loop, state->row.run, NULL, false, state->caller.name, error);
    tfy__arrive_from(loop, NULL);
    return true;
}

static int submit(State *state, char *error)
{
    TfyServer *server = state->schedules->server;
    const TfySchedule *of = state->of;
    const TfyServed *served = tfy__served_named(server, of->program);
    const TfyWorkflow *workflow = tfy__served_workflow(served, of->workflow);
    char key[128];
    TfyBuffer time = {0};
    tfy__write_time(&time, state->at_s * 1000);
    snprintf(key, sizeof key, "schedule/%s/%s", state->row.name, time.failed ? "" : time.data);
    tfy__buffer_free(&time);
    json_t *labels = json_pack("{s:s}", "tfy.schedule", state->row.name);
    TfyStartFacts facts = {.caller = &state->caller, .labels = labels, .program = served->name};
    if (of->overlap == TFY_OVERLAP_QUEUE) {
        facts.concurrency = state->caller.name;
        facts.per_key = 1;
    }
    const int code =
        labels ? tfy__start_run(server, served, workflow, of->args, key, &facts, state->run, error) : TFY_E_NOMEM;
    json_decref(labels);
    return code;
}

static void start_at(TfyLoop *loop, State *state)
{
    TfyServer *server = state->schedules->server;
    char error[TFY_ERROR_TEXT] = "";
    look_whether_off(server, state);
    if (*state->off) {
        state->asked = false;
        return;
    }
    if (!may_overlap(loop, state)) {
        settle(state, false, "the run before it had not finished");
        return;
    }
    const int code = submit(state, error);
    if (code == TFY_E_STATE) {
        settle(state, true, "");
    } else if (code != TFY_OK || tfy__when_durable(loop, settle_started, state) != TFY_OK) {
        state->again_ms = tfy__monotonic_ms() + AGAIN_MS;
        state->asked = false;
    }
}

static void time_comes(TfyLoop *loop, void *arg)
{
    State *state = arg;
    pthread_mutex_lock(&state->schedules->mutex);
    if (loop && !state->schedules->server->draining && state->of && !state->row.paused)
        start_at(loop, state);
    else
        state->asked = false;
    pthread_mutex_unlock(&state->schedules->mutex);
}

/* ---- the timer's thread ---- */

static State *state_named(struct TfySchedules *schedules, const char *name)
{
    State *state = schedules->states.first;
    while (state && strcmp(state->row.name, name) != 0) state = state->next;
    return state;
}

static State *state_new(struct TfySchedules *schedules, const TfySchedule *of)
{
    State *state = calloc(1, sizeof *state);
    if (!state) return NULL;
    state->schedules = schedules;
    snprintf(state->row.name, sizeof state->row.name, "%s", of->name);
    state->caller = (TfyCaller){.how = "schedule"};
    snprintf(state->caller.name, sizeof state->caller.name, "schedule/%.50s", of->name);
    (void)tfy__schedule_file_get(schedules->file, &state->row);
    LIST_APPEND(&schedules->states, state, next);
    return state;
}

/* A schedule that is new, or has other times, starts from now on. */
static void take_schedule(struct TfySchedules *schedules, const TfySchedule *of)
{
    State *state = state_named(schedules, of->name);
    if (!state && !(state = state_new(schedules, of))) return;
    char times[sizeof state->row.times];
    snprintf(times, sizeof times, "%.250s %s", of->times, of->zone ? of->zone : "");
    state->of = of;
    if (strcmp(times, state->row.times) == 0) return;
    memcpy(state->row.times, times, sizeof times);
    state->row.done_s = tfy__clock_ms() / 1000;
    state->unwritten = true;
}

static void take_config(struct TfySchedules *schedules)
{
    const TfyConfig *config = schedules->server->config;
    if (config == schedules->config) return;
    schedules->config = config;
    for (State *state = schedules->states.first; state; state = state->next) state->of = NULL;
    for (const TfySchedule *of = config->schedules.first; of; of = of->next) take_schedule(schedules, of);
    (void)tfy__command_post(schedules->server, look_all, schedules);
}

/* When it is to be looked at again; asks the loop for what is due. */
static int64_t look_at(State *state, int64_t now_ms)
{
    if (!state->of || *state->off || state->asked) return now_ms + LOOK_MS;
    if (state->row.paused) {
        state->row.done_s = state->row.done_s > now_ms / 1000 ? state->row.done_s : now_ms / 1000;
        return now_ms + LOOK_MS;
    }
    const TfyDue due = tfy__schedule_due(state->of, state->row.done_s, state->made_good, now_ms);
    state->row.done_s = due.passed_s;
    if (!due.at_s || due.due_ms > now_ms) {
        state->made_good = 0;
        return due.at_s ? due.due_ms : now_ms + LOOK_MS;
    }
    if (state->again_ms > tfy__monotonic_ms()) return now_ms + AGAIN_MS;
    state->at_s = due.at_s;
    state->made_good = due.missed ? state->made_good + 1 : 0;
    state->asked = tfy__command_post(state->schedules->server, time_comes, state) == TFY_OK;
    return now_ms + LOOK_MS;
}

/* Looks at all. Returns after how long it has to look again. */
static int64_t look(struct TfySchedules *schedules)
{
    int64_t now_ms = tfy__clock_ms(), next_ms = now_ms + LOOK_MS;
    for (State *state = schedules->states.first; state; state = state->next) {
        const int64_t again_ms = look_at(state, now_ms);
        if (again_ms < next_ms) next_ms = again_ms;
    }
    return next_ms > now_ms ? next_ms - now_ms : 1;
}

/* Without the mutex: whoever writes copies the row while nobody else writes, so that no older one comes after it. */
static void write_row(struct TfySchedules *schedules, State *state)
{
    pthread_mutex_lock(&schedules->writing);
    pthread_mutex_lock(&schedules->mutex);
    const TfyScheduleRow row = state->row;
    state->unwritten = false;
    pthread_mutex_unlock(&schedules->mutex);
    const bool kept = tfy__schedule_file_put(schedules->file, &row) == TFY_OK;
    pthread_mutex_lock(&schedules->mutex);
    state->unwritten |= !kept;
    pthread_mutex_unlock(&schedules->mutex);
    pthread_mutex_unlock(&schedules->writing);
}

/* What cannot be written is written later: its times are asked for again after a crash, and found started. */
static void write_all(struct TfySchedules *schedules)
{
    for (State *state = schedules->states.first; state; state = state->next) {
        if (!state->unwritten) continue;
        pthread_mutex_unlock(&schedules->mutex);
        write_row(schedules, state);
        pthread_mutex_lock(&schedules->mutex);
    }
}

static void *work(void *arg)
{
    struct TfySchedules *schedules = arg;
    pthread_setname_np(pthread_self(), "tfy schedules");
    pthread_mutex_lock(&schedules->mutex);
    while (!schedules->ends) {
        schedules->woken = false;
        take_config(schedules);
        write_all(schedules);
        const struct timespec until = tfy__deadline(look(schedules));
        while (!schedules->woken && !schedules->ends &&
               pthread_cond_timedwait(&schedules->more, &schedules->mutex, &until) != ETIMEDOUT) {}
    }
    write_all(schedules);
    pthread_mutex_unlock(&schedules->mutex);
    return NULL;
}

double tfy__schedules_late_s(struct TfySchedules *schedules)
{
    const int64_t now_ms = tfy__clock_ms();
    int64_t late_ms = 0;
    pthread_mutex_lock(&schedules->mutex);
    for (const State *state = schedules->states.first; state; state = state->next) {
        if (!state->of || state->row.paused) continue;
        const TfyDue due = tfy__schedule_due(state->of, state->row.done_s, state->made_good, now_ms);
        if (due.at_s && now_ms - due.due_ms > late_ms) late_ms = now_ms - due.due_ms;
    }
    pthread_mutex_unlock(&schedules->mutex);
    return (double)late_ms / 1000;
}

struct TfySchedules *tfy__schedules_open(TfyServer *server, char *error)
{
    struct TfySchedules *schedules = calloc(1, sizeof *schedules);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!schedules) return NULL;
    schedules->server = server;
    pthread_mutex_init(&schedules->writing, NULL);
    pthread_mutex_init(&schedules->mutex, NULL);
    tfy__cond_init(&schedules->more);
    schedules->file = tfy__serve_file_open(server->db, error);
    if (schedules->file && pthread_create(&schedules->thread, NULL, work, schedules) == 0) return schedules;
    tfy__serve_file_close(schedules->file);
    free(schedules);
    return NULL;
}

void tfy__schedules_quit(struct TfySchedules *schedules)
{
    if (!schedules) return;
    pthread_mutex_lock(&schedules->mutex);
    schedules->ends = true;
    pthread_cond_signal(&schedules->more);
    pthread_mutex_unlock(&schedules->mutex);
    pthread_join(schedules->thread, NULL);
}

void tfy__schedules_close(struct TfySchedules *schedules)
{
    if (!schedules) return;
    for (State *state; (state = LIST_TAKE(&schedules->states, next));) free(state);
    tfy__serve_file_close(schedules->file);
    pthread_mutex_destroy(&schedules->writing);
    pthread_mutex_destroy(&schedules->mutex);
    pthread_cond_destroy(&schedules->more);
    free(schedules);
}

/* ---- requests ---- */

static json_t *last_of(const TfyScheduleRow *row)
{
    if (!row->last_s) return json_null();
    return json_pack("{s:o, s:o, s:o}", "time", tfy__json_time(row->last_s * 1000), "run",
                     *row->why ? json_null() : json_string(row->run), "skipped",
                     *row->why ? json_string(row->why) : json_null());
}

static json_t *next_of(const State *state)
{
    if (state->row.paused || *state->off) return json_null();
    const TfyDue due = tfy__schedule_due(state->of, state->row.done_s, state->made_good, tfy__clock_ms());
    return due.at_s ? tfy__json_time(due.due_ms) : json_null();
}

static json_t *duration(int64_t ms)
{
    TfyBuffer text = {0};
    tfy__write_duration(&text, ms);
    json_t *json = text.failed ? NULL : json_string(text.data);
    tfy__buffer_free(&text);
    return json;
}

static json_t *shown(const State *state)
{
    const TfySchedule *of = state->of;
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:b, s:o, s:o, s:o}", "name", of->name, "cron", of->times,
                     "zone", of->zone ? of->zone : "UTC", "start", of->start, "overlap", tfy__overlap_name(of->overlap),
                     "catch_up", duration(of->catch_up_ms), "jitter", duration(of->jitter_ms), "paused",
                     state->row.paused, "off", *state->off ? json_string(state->off) : json_null(), "next",
                     next_of(state), "last", last_of(&state->row));
}

void tfy__serve_schedules(TfyRequest *request)
{
    struct TfySchedules *schedules = request->server->schedules;
    if (!tfy__request_known(request, (const char *const[]){NULL})) return;
    json_t *list = json_array();
    pthread_mutex_lock(&schedules->mutex);
    for (const State *state = schedules->states.first; state; state = state->next)
        if (state->of && tfy__may_see(&request->caller, state->of->program, state->of->workflow))
            json_array_append_new(list, shown(state));
    pthread_mutex_unlock(&schedules->mutex);
    tfy__request_json(request, 200, json_pack("{s:o, s:n}", "schedules", list, "next"));
}

/* The schedule that the path names, if the caller may change it. Otherwise the problem says why not. */
static State *named(TfyRequest *request)
{
    static const TfyMemberOf members[] = {{NULL, JSON_NULL}};
    struct TfySchedules *schedules = request->server->schedules;
    enum { MOST = 64 };
    const char *names[MOST + 1] = {NULL}, *name = request->names.text[0];
    uint32_t count = 0;
    for (State *state = schedules->states.first; state; state = state->next) {
        if (!state->of) continue;
        const TfyAbout about = {state->of->program, state->of->workflow, NULL};
        if (strcmp(state->row.name, name) == 0)
            return tfy__may(request->server, &request->caller, request->route->role, &about, &request->problem) &&
                           tfy__body_fits(request->json, members, &request->problem)
                       ? state
                       : NULL;
        if (count < MOST && tfy__may_see(&request->caller, about.program, about.workflow))
            names[count++] = state->row.name;
    }
    tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND, "there is no schedule '%.80s'%s", name,
                 tfy__meant(name, names).text);
    return NULL;
}

void tfy__serve_trigger(TfyRequest *request)
{
    struct TfySchedules *schedules = request->server->schedules;
    pthread_mutex_lock(&schedules->mutex);
    const State *state = named(request);
    const TfySchedule *of = state ? state->of : NULL; /* which stays */
    pthread_mutex_unlock(&schedules->mutex);
    if (!of) {
        tfy__request_done(request);
        return;
    }
    json_decref(request->json);
    request->json =
        json_pack("{s:o, s:{s:s}}", "args", json_loads(of->args, 0, NULL), "labels", "tfy.schedule", of->name);
    request->names = (TfyRouteNames){.text = {of->program, of->workflow}, .count = 2};
    request->ours = true;
    tfy__serve_start(request);
}

/* Times that came while it was paused are not made good. */
static bool write_paused(struct TfySchedules *schedules, State *state, bool pauses)
{
    pthread_mutex_lock(&schedules->mutex);
    TfyScheduleRow row = state->row;
    pthread_mutex_unlock(&schedules->mutex);
    const int64_t now_s = tfy__clock_ms() / 1000;
    if (row.paused && row.done_s < now_s) row.done_s = now_s;
    row.paused = pauses;
    const bool kept = tfy__schedule_file_put(schedules->file, &row) == TFY_OK;
    pthread_mutex_lock(&schedules->mutex);
    if (kept) state->row.paused = pauses;
    if (kept && state->row.done_s < row.done_s) state->row.done_s = row.done_s;
    pthread_mutex_unlock(&schedules->mutex);
    return kept;
}

/* In a reader: the audit has it. */
static void keep_paused(TfyRequest *request)
{
    struct TfySchedules *schedules = request->server->schedules;
    pthread_mutex_lock(&schedules->writing);
    pthread_mutex_lock(&schedules->mutex);
    State *state = named(request);
    pthread_mutex_unlock(&schedules->mutex);
    if (state && !write_paused(schedules, state, request->route->serve == tfy__serve_pause))
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "it cannot be kept");
    pthread_mutex_lock(&schedules->mutex);
    if (!request->problem.kind) tfy__request_json(request, 200, shown(state));
    wake(schedules);
    pthread_mutex_unlock(&schedules->mutex);
    pthread_mutex_unlock(&schedules->writing);
}

static void change_paused(TfyRequest *request, bool pauses)
{
    struct TfySchedules *schedules = request->server->schedules;
    pthread_mutex_lock(&schedules->mutex);
    const State *state = named(request);
    pthread_mutex_unlock(&schedules->mutex);
    if (!state) {
        tfy__request_done(request);
        return;
    }
    json_t *value = json_pack("{s:b}", "paused", pauses);
    request->then = keep_paused;
    tfy__admin_audit(request, "schedule", request->names.text[0], value, tfy__command_read);
    json_decref(value);
}

void tfy__serve_pause(TfyRequest *request)
{
    change_paused(request, true);
}

void tfy__serve_unpause(TfyRequest *request)
{
    change_paused(request, false);
}
