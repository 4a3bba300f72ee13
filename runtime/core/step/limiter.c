/* limiter.c: `limit N` and `rate N/D` of tools: how often a tool is used in this process at a time, and how often
 * within a period.
 *
 * A step requests admission before it records its start, so a step with a StepStart may have started, and a step
 * that waits here has not. Admission is not recorded: a replay continues without waiting wherever the history
 * continues. Runs that are resumed know when their steps started (StepStart) or finished (all others), so a
 * restart does not open the window of a rate anew; starts before a snapshot are stored in it. A run whose steps
 * still count is not parked (park.c), since a process that starts then would not know of them. Within a process
 * the window is one of the monotonic clock: a wall clock that jumps neither opens it nor keeps it shut. A start
 * that seems to be in the future counts as now.
 *
 * In a shared database limits hold for all its sessions. The hub lends permits then (hub/permits.h), which take the
 * place of the window and of the count here; the lines of those that wait are the same. What another session does is not
 * in a run's history, so runs neither record their starts nor stay in memory for them.
 *
 * The effect http has its limits at a place of the program, and for each host. Places that say the same share them.
 * Programs of one name are versions of one program: they share their limits.
 *
 * Fair between runs: the steps of each run have a queue of their own, first come first served, and the runs take
 * turns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/step/step.h"

bool tfy__limit_bounds(const Step *step)
{
    const TfyTool *tool = step->call.site->tool;
    return !step->backoff_only && (tool->limit || tool->rate);
}

/* ---- limiters ---- */

/* The effect http: the places that give it the same limits share them, for each host that they ask. */
static bool by_host(const TfyTool *tool)
{
    return tool->family == TFY_F_HTTP && !tool->argv;
}

/* The host of an address, with its port, without the user. */
static const char *host_in(const char *url, size_t *len)
{
    const char *scheme = strstr(url, "://"), *host = scheme ? scheme + 3 : url;
    const char *end = host + strcspn(host, "/?#"), *user = memrchr(host, '@', (size_t)(end - host));
    if (user) host = user + 1;
    *len = (size_t)(end - host);
    return host;
}

static bool same_bounds(const TfyTool *a, const TfyTool *b)
{
    return a->limit == b->limit && a->rate == b->rate && (!a->rate || a->rate_ms == b->rate_ms);
}

/* Versions of a program share the limits of a tool, unless one of them changes them. */
static bool same_limits(const Limiter *known, const TfyProgram *program, const TfyTool *tool)
{
    const TfyTool *other = known->tool;
    if (other == tool && known->program == program) return true;
    if (strcmp(known->program->name, program->name) != 0 || by_host(other) != by_host(tool)) return false;
    return same_bounds(other, tool) && (by_host(tool) || strcmp(other->name, tool->name) == 0);
}

static int64_t window_ns(const TfyTool *tool)
{
    return tool->rate_ms < INT64_MAX / 2000000 ? tool->rate_ms * 1000000 : INT64_MAX / 2;
}

static bool anybody_waits(const Limiter *limiter)
{
    for (const LimitTurn *turn = limiter->turns.first; turn; turn = turn->next)
        if (turn->waiters.first) return true;
    return false;
}

static bool is_idle(const Limiter *limiter)
{
    if (limiter->in_use || limiter->timer || anybody_waits(limiter)) return false;
    const uint32_t count = limiter->start_count;
    if (!count) return true;
    const int64_t last_ns = limiter->starts[(limiter->start_head + count - 1) % limiter->tool->rate].at_ns;
    return limiter->loop->now_ns - last_ns >= window_ns(limiter->tool);
}

static TfyPermits *permits_of(const TfyLoop *loop)
{
    return loop->options.hub->permits;
}

static uint32_t place_of(const TfyLoop *loop)
{
    return loop->options.hub->place;
}

static void free_limiter(Limiter *limiter)
{
    if (limiter->permit) permits_of(limiter->loop)->ops->drop(permits_of(limiter->loop), limiter->permit, place_of(limiter->loop));
    for (LimitTurn *turn; (turn = LIST_TAKE(&limiter->turns, next));) free(turn);
    free(limiter->starts);
    free(limiter->host);
    free(limiter);
}

/* A crawler asks many hosts: those that are no longer bounded are forgotten. */
static void forget_hosts(TfyLoop *loop)
{
    for (Limiter **link = &loop->limiters; *link;) {
        Limiter *limiter = *link;
        if (!limiter->host || !is_idle(limiter)) {
            link = &limiter->next;
            continue;
        }
        *link = limiter->next;
        free_limiter(limiter);
    }
}

static void write_name(const Limiter *limiter, TfyBuffer *out);

/* Permits by the names of its program and of the tool; false: no memory. */
static bool ask_permits(Limiter *limiter)
{
    const TfyTool *tool = limiter->tool;
    TfyBuffer name = {0};
    tfy__buffer_printf(&name, "%s/", limiter->program->name);
    write_name(limiter, &name);
    const TfyPermitKind kind = {.name = name.data, .limit = tool->limit, .rate = tool->rate, .rate_ms = tool->rate_ms};
    if (!name.failed) limiter->permit = permits_of(limiter->loop)->ops->make(permits_of(limiter->loop), &kind);
    tfy__buffer_free(&name);
    return limiter->permit;
}

/* host NULL: the tool's limits hold whatever it asks. NULL: no memory. */
static Limiter *limiter_for(TfyLoop *loop, const TfyProgram *program, const TfyTool *tool, const char *host,
                            size_t host_len)
{
    for (Limiter *known = loop->limiters; known; known = known->next) {
        if (!same_limits(known, program, tool) || !known->host != !host) continue;
        if (!host || (strlen(known->host) == host_len && strncasecmp(known->host, host, host_len) == 0)) return known;
    }
    if (host) forget_hosts(loop);
    Limiter *limiter = calloc(1, sizeof *limiter);
    if (limiter) {
        const bool counts_here = tool->rate && !loop->options.hub;
        *limiter = (Limiter){.loop = loop, .program = program, .tool = tool, .next = loop->limiters};
        limiter->starts = counts_here ? calloc(tool->rate, sizeof *limiter->starts) : NULL;
        limiter->host = host ? strndup(host, host_len) : NULL;
        if ((!counts_here || limiter->starts) && (!host || limiter->host) &&
            (!loop->options.hub || ask_permits(limiter)))
            return loop->limiters = limiter;
        free_limiter(limiter);
    }
    tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for the limit of %s", tool->name);
    return NULL;
}

static Limiter *limiter_of(const Step *step)
{
    const TfyTool *tool = step->call.site->tool;
    size_t len = 0;
    const char *host = by_host(tool) ? host_in(((const TfyString *)step->call.args[1].o)->bytes, &len) : NULL;
    return limiter_for(step->call.loop, program_of(step->rest->run), tool, host, len);
}

void tfy__limits_free(TfyLoop *loop)
{
    while (loop->limiters) {
        Limiter *limiter = loop->limiters;
        loop->limiters = limiter->next;
        free_limiter(limiter);
    }
}

/* ---- the window of a rate ---- */

static LimitStart *start_at(const Limiter *limiter, uint32_t index)
{
    return &limiter->starts[(limiter->start_head + index) % limiter->tool->rate];
}

/* Notes a start, in the order of time; the oldest is dropped. */
static void note_start(Limiter *limiter, int64_t run, int64_t at_ns)
{
    uint32_t rate = limiter->tool->rate;
    if (!limiter->starts) return;
    if (limiter->start_count == rate) {
        if (start_at(limiter, 0)->at_ns >= at_ns) return;
        limiter->start_head = (limiter->start_head + 1) % rate;
        limiter->start_count--;
    }
    CHECK(limiter->start_count < rate);
    uint32_t at = limiter->start_count++;
    for (; at && start_at(limiter, at - 1)->at_ns > at_ns; at--) *start_at(limiter, at) = *start_at(limiter, at - 1);
    *start_at(limiter, at) = (LimitStart){at_ns, run};
}

/* The time of a start that was ago_ms ago. */
static int64_t start_ns(const Limiter *limiter, int64_t ago_ms)
{
    const int64_t most_ns = window_ns(limiter->tool), ago_ns = ago_ms < most_ns / 1000000 ? ago_ms * 1000000 : most_ns;
    return limiter->loop->now_ns - (ago_ms < 0 ? 0 : ago_ns);
}

/* Nanoseconds until the rate allows another start; 0: now. */
static int64_t rate_wait_ns(const Limiter *limiter)
{
    const TfyTool *tool = limiter->tool;
    if (!tool->rate || limiter->start_count < tool->rate) return 0;
    const int64_t wait_ns = start_at(limiter, 0)->at_ns + window_ns(tool) - limiter->loop->now_ns;
    return wait_ns < 0 ? 0 : wait_ns;
}

void tfy__limit_note(const Step *step, const TfyLogRecord *record)
{
    TfyLoop *loop = step->call.loop;
    if (loop->replay_only || loop->options.hub || !step->call.site->tool->rate) return;
    Limiter *limiter = limiter_of(step);
    if (limiter) note_start(limiter, step->rest->run->log.id, start_ns(limiter, loop->now_ms - record->ts_ms));
}

/* ---- windows in snapshots ---- */

static bool counts(const Limiter *limiter, const LimitStart *start, const Run *run)
{
    return start->run == run->log.id && limiter->loop->now_ns - start->at_ns < window_ns(limiter->tool);
}

static uint32_t count_of(const Limiter *limiter, const Run *run)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < limiter->start_count; i++) count += counts(limiter, start_at(limiter, i), run);
    return count;
}

bool tfy__limit_holds(const Run *run)
{
    for (const Limiter *limiter = run->loop->limiters; limiter; limiter = limiter->next)
        if (count_of(limiter, run)) return true;
    return false;
}

enum { BOUNDS_MAX = 96, WAITING_MOST = 256 };

/* How a snapshot names the limiters of http, before the host: "http 4 10/1000 ". */
static void write_bounds(const TfyTool *tool, char out[BOUNDS_MAX])
{
    snprintf(out, BOUNDS_MAX, "%.16s %u %u/%lld ", tool->name, tool->limit, tool->rate, (long long)tool->rate_ms);
}

static void write_name(const Limiter *limiter, TfyBuffer *out)
{
    char bounds[BOUNDS_MAX];
    write_bounds(limiter->tool, bounds);
    tfy__buffer_text(out, limiter->host ? bounds : limiter->tool->name);
    tfy__buffer_text(out, limiter->host ? limiter->host : "");
}

static void put_name(const Limiter *limiter, TfyBuffer *out)
{
    TfyBuffer name = {0};
    write_name(limiter, &name);
    if (name.failed)
        out->failed = true;
    else
        tfy__put_text(out, TFY_S_TOOL, name.data);
    tfy__buffer_free(&name);
}

static void write_window(const Limiter *limiter, const Run *run, TfyBuffer *out)
{
    const TfyLoop *loop = limiter->loop;
    const char *comma = "";
    tfy__put_begin(out);
    put_name(limiter, out);
    tfy__put(out, TFY_S_AT);
    tfy__buffer_char(out, '[');
    for (uint32_t i = 0; i < limiter->start_count; i++) {
        const LimitStart *start = start_at(limiter, i);
        if (!counts(limiter, start, run)) continue;
        tfy__buffer_text(out, comma);
        tfy__buffer_int(out, loop->now_ms - (loop->now_ns - start->at_ns) / 1000000);
        comma = ",";
    }
    tfy__buffer_text(out, "]}");
}

void tfy__limit_write(const Run *run, TfyBuffer *out)
{
    bool some = false;
    for (const Limiter *limiter = run->loop->limiters; limiter; limiter = limiter->next) {
        if (!count_of(limiter, run)) continue;
        if (!some) tfy__put(out, TFY_S_STARTS);
        tfy__buffer_char(out, some ? ',' : '[');
        write_window(limiter, run, out);
        some = true;
    }
    if (some) tfy__buffer_char(out, ']');
}

/* Does a limiter of the tool have this name? *host: what it adds to the tool's. */
static bool has_name(const TfyTool *tool, const char *name, const char **host)
{
    char bounds[BOUNDS_MAX];
    if (!by_host(tool)) return strcmp(tool->name, name) == 0;
    write_bounds(tool, bounds);
    *host = name + strlen(bounds);
    return strncmp(name, bounds, strlen(bounds)) == 0;
}

/* NULL: the program has none of this name any more. */
static Limiter *limiter_named(TfyLoop *loop, const TfyProgram *program, const char *name, bool *failed)
{
    for (uint32_t i = 0; i < program->point_count; i++) {
        const TfySite *site = program->sites[i];
        const char *host = NULL;
        if (!site || !site->tool || !site->tool->rate || !has_name(site->tool, name, &host)) continue;
        Limiter *limiter = limiter_for(loop, program, site->tool, host, host ? strlen(host) : 0);
        *failed = !limiter;
        return limiter;
    }
    return NULL;
}

bool tfy__limit_read(Run *run, const json_t *starts, int64_t back_ms)
{
    const json_t *one, *at;
    size_t i, j;
    json_array_foreach(starts, i, one)
    {
        const char *name = tfy__member_text(one, TFY_S_TOOL);
        bool failed = false;
        Limiter *limiter = name ? limiter_named(run->loop, program_of(run), name, &failed) : NULL;
        if (failed) return false;
        if (!limiter) continue;               /* it no longer has a rate */
        if (count_of(limiter, run)) continue; /* the limiter already has the run's starts */
        json_array_foreach(tfy__member_get(one, TFY_S_AT), j, at)
            note_start(limiter, run->log.id, start_ns(limiter, run->loop->now_ms - (json_integer_value(at) - back_ms)));
    }
    return true;
}

/* ---- queues ---- */

/* The queue of a run, made if absent. NULL: no memory. */
static LimitTurn *turn_of(Limiter *limiter, const Run *run)
{
    LimitTurn *turn = limiter->turns.first;
    while (turn && turn->run != run) turn = turn->next;
    if (turn || !(turn = calloc(1, sizeof *turn))) return turn;
    turn->run = run;
    LIST_APPEND(&limiter->turns, turn, next);
    return turn;
}

/* The first step of the next run; that run goes behind the others. NULL: no step waits. */
static Step *next_waiter(Limiter *limiter)
{
    for (LimitTurn *turn; (turn = LIST_TAKE(&limiter->turns, next));) {
        Step *step = turn->waiters.first;
        if (!step || !step->queue_next) {
            if (step) tfy__wait_leave(step);
            free(turn);
        } else {
            tfy__wait_leave(step);
            LIST_APPEND(&limiter->turns, turn, next);
        }
        if (step) return step;
    }
    return NULL;
}

/* One more step may start; a permit is taken for it. */
static bool has_room(Limiter *limiter)
{
    const TfyTool *tool = limiter->tool;
    TfyPermits *permits = limiter->permit ? permits_of(limiter->loop) : NULL;
    if (permits) return permits->ops->take(permits, limiter->permit, &limiter->fresh_ms);
    return (!tool->limit || limiter->in_use < tool->limit) && rate_wait_ns(limiter) == 0;
}

static void give_back(const Limiter *limiter)
{
    if (limiter->permit) permits_of(limiter->loop)->ops->give(permits_of(limiter->loop), limiter->permit);
}

/* Says how many wait; of very many, that there are. */
static void tell_waiting(const Limiter *limiter)
{
    uint32_t count = 0;
    if (!limiter->permit) return;
    for (const LimitTurn *turn = limiter->turns.first; turn; turn = turn->next)
        for (const Step *step = turn->waiters.first; step && count < WAITING_MOST; step = step->queue_next) count++;
    permits_of(limiter->loop)->ops->await(permits_of(limiter->loop), limiter->permit, place_of(limiter->loop), count);
}

static void take(Step *step, Limiter *limiter)
{
    CHECK(!limiter->tool->limit || limiter->in_use < limiter->tool->limit);
    limiter->in_use++;
    note_start(limiter, step->rest->run->log.id, limiter->loop->now_ns);
    CHECK(!step->limiter && !step->queue);
    step->limiter = limiter;
    step->fresh_ms = limiter->fresh_ms;
    step->admission = ADMISSION_GRANTED;
}

static void window_moved(void *arg);

/* Admits as many as there is room for, and tries again when the window has moved. */
static void serve(Limiter *limiter)
{
    TfyLoop *loop = limiter->loop;
    while (anybody_waits(limiter) && has_room(limiter)) {
        Step *step = next_waiter(limiter);
        tfy__timers_del(&loop->timers, step->timer); /* set again when the work starts */
        step->timer = 0;
        CHECK(step->stage == STAGE_BEGIN && step->admission == ADMISSION_ASKED);
        take(step, limiter);
        tfy__step_queue(step);
    }
    tell_waiting(limiter);
    const int64_t wait_ns = rate_wait_ns(limiter);
    if (!wait_ns || limiter->timer || !anybody_waits(limiter)) return;
    limiter->timer = tfy__timers_add(&loop->timers, loop->now_ns + wait_ns, window_moved, limiter);
    if (!limiter->timer) tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for a timer");
}

static void window_moved(void *arg)
{
    Limiter *limiter = arg;
    limiter->timer = 0;
    serve(limiter);
}

static void line_up(Step *step, Limiter *limiter)
{
    LimitTurn *turn = turn_of(limiter, step->rest->run);
    if (!turn) {
        tfy__loop_fail(limiter->loop, TFY_E_NOMEM, "no memory for the limit of %s", limiter->tool->name);
        return;
    }
    tfy__wait_enter(&turn->waiters, step);
    tfy__step_arm(step); /* its timeout includes the wait */
    serve(limiter);
}

/* ---- a step ---- */

/* The history's next record for this place. The step was admitted then, unless it timed out before. */
static bool admit_recorded(Step *step, const TfyLogRecord *record)
{
    if (record->type != TFY_R_TIMER_FIRED || step->call.site->tool->repeat != TFY_ONCE) {
        step->admission = ADMISSION_GRANTED;
        return true;
    }
    if (!tfy__history_at_cursor(step->rest)) return false;
    tfy__history_take(step->rest);
    tfy__step_raise_timeout(step);
    return true;
}

bool tfy__limit_admit(Step *step)
{
    TfyLoop *loop = step->call.loop;
    if (step->queue) return false;
    CHECK(step->admission != ADMISSION_GRANTED);
    if (!step->admission) step->call.task->passages++; /* waiting here is a suspension of its own */
    step->admission = ADMISSION_ASKED;
    const TfyLogRecord *record = tfy__history_peek(step->rest);
    if (record) return admit_recorded(step, record);
    if (!tfy__history_live(step->rest)) return tfy__history_defer(step), false;
    if (loop->test) {
        step->admission = ADMISSION_GRANTED; /* a test's answer uses nothing */
        return true;
    }
    Limiter *limiter = limiter_of(step);
    if (!limiter) return false;
    if (anybody_waits(limiter) || !has_room(limiter))
        line_up(step, limiter);
    else
        take(step, limiter);
    if (step->queue) tfy__activity(step->call.task, "Idle", "%s waits for its turn", step->call.tool->name);
    return step->admission == ADMISSION_GRANTED && !(step->queued & IN_WORK);
}

void tfy__limit_leave(Step *step)
{
    Limiter *limiter = step->limiter;
    step->admission = ADMISSION_NONE;
    step->limiter = NULL;
    if (!limiter) return;
    CHECK(limiter->in_use > 0);
    limiter->in_use--;
    give_back(limiter);
    serve(limiter);
}

void tfy__limits_serve(TfyLoop *loop)
{
    for (Limiter *limiter = loop->limiters; limiter; limiter = limiter->next) serve(limiter);
}

bool tfy__limit_ready(Step *step)
{
    const TfyLoop *loop = step->call.loop;
    if (!loop->options.hub || loop->test || !tfy__limit_bounds(step)) return true;
    TfyPermits *permits = permits_of(loop);
    if (step->limiter && (!step->fresh_ms || permits->ops->fresh(permits, step->fresh_ms))) {
        step->fresh_ms = 0;
        return true;
    }
    tfy__limit_leave(step);
    step->stage = STAGE_BEGIN;
    step->admission = ADMISSION_ASKED; /* it is no suspension of its own */
    tfy__step_queue(step);
    return false;
}
