/* queue.c: see queue.h. */
#include "serve/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/grow.h"
#include "cli/frame/cli.h"
#include "serve/rate.h"
#include "serve/times.h"
#include "wal/rows/payload.h"

enum { LEVELS = 2 * TFY_PRIORITY_MOST + 1, ADMIT_MOST = 256, QUEUED_USUAL = 10000 };

/* Limits of a workflow; all zero: none. */
typedef struct Limits {
    int64_t max_running, max_queued, per_key;
    int64_t rate, rate_ms; /* so many begin within so long */
} Limits;

/* Runs of a workflow with the same concurrency. */
typedef struct Key {
    TfyLink link; /* in keys */
    uint32_t running, members;
    char text[];
} Key;

typedef struct Entry {
    TfyLink link; /* in entries, by its run */
    struct Lane *lane;
    struct Entry *prev, *next;      /* while it waits: those of its priority */
    Key *key;                       /* NULL: none */
    int64_t per_key, lsn, asked_ms; /* asked_ms: wall clock: when it was recorded */
    int32_t priority;
    bool waits, aside; /* aside: it differs from its log, and gives its place to others; its key stays taken */
    char run[37];
} Entry;

/* A workflow. */
typedef struct Lane {
    struct Lane *next;
    char *program, *workflow; /* owned */
    Limits limits;
    LIST(Entry) waiting[LEVELS]; /* the highest priority first */
    int64_t running, queued;
    TfyTable keys;
    int64_t *begun_ms; /* when the last `limits.rate` of them began: a ring; owned */
    int64_t begun;     /* how many ever did */
} Lane;

struct TfyQueue {
    TfyServer *server;
    _Atomic(const TfyConfig *) config; /* which the limits are of */
    LIST(Lane) lanes;
    TfyTable entries;
    bool posted;        /* the loop will look who may begin */
    _Atomic bool rated; /* somebody waits for a rate */
    TfyTimes waits;     /* from a start to its beginning */
    Entry **found;      /* while the log is read */
    uint32_t found_count, found_room;
};

static void look_soon(struct TfyQueue *queue);

/* ---- limits ---- */

static int64_t number_of(const json_t *limits, const char *name, int64_t usual)
{
    const json_t *value = json_object_get(limits, name);
    return value ? json_integer_value(value) : usual;
}

static Limits limits_of(const TfyConfig *config, const char *program, const char *workflow)
{
    const json_t *limits = tfy__config_limits(config, program, workflow);
    Limits read = {.max_running = number_of(limits, "max_running", 0),
                   .max_queued = number_of(limits, "max_queued", QUEUED_USUAL),
                   .per_key = number_of(limits, "per_key", 0)};
    const char *rate = json_string_value(json_object_get(limits, "rate"));
    if (rate) (void)tfy__rate_read(rate, &read.rate, &read.rate_ms);
    return read;
}

static bool has_limits(const Limits *limits)
{
    return limits->max_running || limits->per_key || limits->rate;
}

/* ---- lanes, keys and entries ---- */

static Lane *lane_of(struct TfyQueue *queue, const char *program, const char *workflow)
{
    Lane *lane = queue->lanes.first;
    while (lane && (strcmp(lane->workflow, workflow) != 0 || strcmp(lane->program, program) != 0)) lane = lane->next;
    if (lane || !(lane = calloc(1, sizeof *lane))) return lane;
    LIST_APPEND(&queue->lanes, lane, next);
    lane->limits = limits_of(queue->config, program, workflow);
    lane->program = strdup(program);
    lane->workflow = strdup(workflow);
    if (lane->limits.rate) lane->begun_ms = calloc((size_t)lane->limits.rate, sizeof *lane->begun_ms);
    return lane->program && lane->workflow && (lane->begun_ms || !lane->limits.rate) ? lane : NULL;
}

static uint64_t hash_of(const char *text)
{
    return XXH3_64bits(text, strlen(text));
}

static Key *key_of(Lane *lane, const char *text)
{
    const uint64_t hash = hash_of(text);
    TfyLink *link = tfy__table_find(&lane->keys, hash);
    while (link && strcmp(TABLE_ITEM(link, Key, link)->text, text) != 0) link = tfy__table_next(link);
    return TABLE_ITEM(link, Key, link);
}

static Key *key_join(Lane *lane, const char *text)
{
    Key *key = key_of(lane, text);
    if (key) {
        key->members++;
        return key;
    }
    key = tfy__table_reserve(&lane->keys) ? calloc(1, sizeof *key + strlen(text) + 1) : NULL;
    if (!key) return NULL;
    key->members = 1;
    memcpy(key->text, text, strlen(text) + 1);
    tfy__table_add(&lane->keys, &key->link, hash_of(text));
    return key;
}

static void key_leave(Lane *lane, Key *key)
{
    if (!key || --key->members) return;
    tfy__table_remove(&lane->keys, &key->link);
    free(key);
}

static Entry *entry_of(const struct TfyQueue *queue, const char *run)
{
    TfyLink *link = tfy__table_find(&queue->entries, hash_of(run));
    while (link && strcmp(TABLE_ITEM(link, Entry, link)->run, run) != 0) link = tfy__table_next(link);
    return TABLE_ITEM(link, Entry, link);
}

static Entry *entry_new(struct TfyQueue *queue, const TfyQueued *start)
{
    Lane *lane = lane_of(queue, start->program, start->workflow);
    Entry *entry = lane && tfy__table_reserve(&queue->entries) ? calloc(1, sizeof *entry) : NULL;
    if (!entry) return NULL;
    *entry = (Entry){.lane = lane,
                     .per_key = start->per_key,
                     .lsn = start->lsn,
                     .asked_ms = start->asked_ms,
                     .priority = (int32_t)start->priority};
    snprintf(entry->run, sizeof entry->run, "%s", start->run);
    if (start->concurrency && !(entry->key = key_join(lane, start->concurrency))) {
        free(entry);
        return NULL;
    }
    tfy__table_add(&queue->entries, &entry->link, hash_of(entry->run));
    return entry;
}

static void wait_in_lane(Entry *entry)
{
    Lane *lane = entry->lane;
    entry->waits = true;
    lane->queued++;
    LIST2_APPEND(&lane->waiting[TFY_PRIORITY_MOST - entry->priority], entry, prev, next);
}

static void leave_lane(Entry *entry)
{
    Lane *lane = entry->lane;
    entry->waits = false;
    lane->queued--;
    LIST2_REMOVE(&lane->waiting[TFY_PRIORITY_MOST - entry->priority], entry, prev, next);
}

static void begin(Entry *entry, bool now)
{
    Lane *lane = entry->lane;
    lane->running++;
    if (entry->key) entry->key->running++;
    if (now && lane->limits.rate) lane->begun_ms[lane->begun++ % lane->limits.rate] = tfy__monotonic_ms();
}

static void forget(struct TfyQueue *queue, Entry *entry)
{
    if (entry->waits) {
        leave_lane(entry);
    } else {
        entry->lane->running -= !entry->aside;
        if (entry->key) entry->key->running--;
    }
    key_leave(entry->lane, entry->key);
    tfy__table_remove(&queue->entries, &entry->link);
    free(entry);
}

/* ---- who may begin ---- */

static bool rate_allows(const Lane *lane)
{
    const Limits *limits = &lane->limits;
    if (!limits->rate || lane->begun < limits->rate) return true;
    return tfy__monotonic_ms() - lane->begun_ms[lane->begun % limits->rate] >= limits->rate_ms;
}

static bool has_room(const Lane *lane)
{
    return (!lane->limits.max_running || lane->running < lane->limits.max_running) && rate_allows(lane);
}

static bool key_allows(const Lane *lane, const Key *key, int64_t own)
{
    const int64_t least = own && (!lane->limits.per_key || own < lane->limits.per_key) ? own : lane->limits.per_key;
    return !key || !least || key->running < least;
}

/* A run that cannot be resumed stays in the log, and is looked at again at the next start. */
static void admit(struct TfyQueue *queue, Entry *entry)
{
    char error[TFY_ERROR_TEXT] = "", run[37];
    memcpy(run, entry->run, sizeof run);
    const int code = tfy__resume(queue->server->loop, run, error);
    entry = entry_of(queue, run); /* it may have ended meanwhile */
    if (!entry || !entry->waits) return;
    tfy__say("run %s cannot begin: %s", run, code < 0 ? error : "it was not queued");
    forget(queue, entry);
}

/* The first that may begin. */
static Entry *next_of(const struct TfyQueue *queue, const Lane *lane)
{
    const int64_t durable = tfy__log_durable_lsn(tfy__loop_log(queue->server->loop));
    for (int i = 0; lane->queued && i < LEVELS; i++)
        for (Entry *entry = lane->waiting[i].first; entry; entry = entry->next)
            if (entry->lsn <= durable && key_allows(lane, entry->key, entry->per_key)) return entry;
    return NULL;
}

static uint32_t admit_some(struct TfyQueue *queue, Lane *lane, uint32_t most)
{
    uint32_t count = 0;
    for (Entry *entry; count < most && lane->queued && has_room(lane) && (entry = next_of(queue, lane)); count++)
        admit(queue, entry);
    if (lane->queued && !rate_allows(lane)) queue->rated = true;
    return count;
}

static void take_config(struct TfyQueue *queue);

static void look(TfyLoop *loop, void *arg)
{
    struct TfyQueue *queue = arg;
    uint32_t count = 0;
    queue->posted = false;
    if (!loop || queue->server->draining) return;
    take_config(queue);
    for (Lane *lane = queue->lanes.first; lane && count < ADMIT_MOST; lane = lane->next)
        count += admit_some(queue, lane, ADMIT_MOST - count);
    if (count == ADMIT_MOST) look_soon(queue);
}

static void look_soon(struct TfyQueue *queue)
{
    if (queue->posted) return;
    queue->posted = tfy__command_post(queue->server, look, queue) == TFY_OK;
}

/* Something became durable, or time has passed. */
static void look_again(TfyLoop *loop, void *arg)
{
    if (loop) look_soon(arg);
}

void tfy__queue_tick(struct TfyQueue *queue)
{
    if (!queue || (!queue->rated && queue->config == queue->server->config)) return;
    queue->rated = false;
    (void)tfy__command_post(queue->server, look_again, queue);
}

static void run_begins(void *arg, const char *run)
{
    struct TfyQueue *queue = arg;
    Entry *entry = entry_of(queue, run);
    if (!entry || !entry->waits) return;
    leave_lane(entry);
    begin(entry, true);
    tfy__times_add(&queue->waits, 1000 * (tfy__wall_ms(queue->server->loop) - entry->asked_ms));
    tfy__tail_begun(queue->server->tail, run, entry->lsn);
}

static void run_ends(void *arg, const char *run)
{
    struct TfyQueue *queue = arg;
    Entry *entry = entry_of(queue, run);
    if (!entry) return;
    if (entry->lane->queued) look_soon(queue);
    forget(queue, entry);
}

void tfy__queue_diverged(struct TfyQueue *queue, const char *run, bool aside)
{
    Entry *entry = entry_of(queue, run);
    if (!entry || entry->waits || entry->aside == aside) return;
    entry->aside = aside;
    entry->lane->running += aside ? -1 : 1;
    if (aside && entry->lane->queued) look_soon(queue);
}

/* ---- starts ---- */

TfyAdmission tfy__queue_ask(struct TfyQueue *queue, const TfyQueued *start)
{
    take_config(queue);
    Lane *lane = lane_of(queue, start->program, start->workflow);
    if (!lane) return TFY_ADMIT_NOT;
    const Key *key = start->concurrency ? key_of(lane, start->concurrency) : NULL;
    if (!lane->queued && has_room(lane) && key_allows(lane, key, start->per_key)) return TFY_ADMIT_NOW;
    return lane->queued < lane->limits.max_queued ? TFY_ADMIT_LATER : TFY_ADMIT_NOT;
}

void tfy__queue_add(struct TfyQueue *queue, const TfyQueued *start, TfyAdmission admission)
{
    const Lane *lane = lane_of(queue, start->program, start->workflow);
    if (admission == TFY_ADMIT_NOW) tfy__times_add(&queue->waits, 0);
    if (admission == TFY_ADMIT_NOW && lane && !has_limits(&lane->limits) && !start->per_key) return;
    Entry *entry = entry_new(queue, start);
    if (!entry) return; /* it is in the log, and is found at the next start */
    if (admission == TFY_ADMIT_NOW) {
        begin(entry, true);
        return;
    }
    wait_in_lane(entry);
    (void)tfy__when_durable(queue->server->loop, look_again, queue);
}

bool tfy__queue_holds(struct TfyQueue *queue, const char *run)
{
    const Entry *entry = entry_of(queue, run);
    return entry && entry->waits;
}

int64_t tfy__queue_place(struct TfyQueue *queue, const char *run)
{
    const Entry *entry = entry_of(queue, run);
    int64_t place = 0;
    if (!entry || !entry->waits) return 0;
    for (int level = 0; level <= TFY_PRIORITY_MOST - entry->priority; level++)
        for (const Entry *at = entry->lane->waiting[level].first; at; at = at->next, place++)
            if (at == entry) return place + 1;
    return 0;
}

void tfy__queue_figures(const struct TfyQueue *queue, TfyBuffer *out)
{
    tfy__buffer_text(out, "# HELP tfy_queue_length Runs that wait to begin.\n# TYPE tfy_queue_length gauge\n");
    for (const Lane *lane = queue->lanes.first; lane; lane = lane->next)
        if (has_limits(&lane->limits) || lane->queued)
            tfy__buffer_printf(out, "tfy_queue_length{workflow=\"%s.%s\"} %lld\n", lane->program, lane->workflow,
                               (long long)lane->queued);
    tfy__times_text(&queue->waits, "tfy_start_wait_seconds", "Time from a start's record to the beginning of its run.",
                    out);
}

/* ---- out of the log ---- */

/* Of ten thousand runs: the payload is not read whole. */
static void see(void *arg, const TfyLogRun *run, const TfyLogRecord *birth)
{
    struct TfyQueue *queue = arg;
    char uuid[37], *program = tfy__record_text(birth, TFY_P_PROGRAM_NAME),
                   *workflow = tfy__record_text(birth, TFY_P_WORKFLOW),
                   *concurrency = tfy__record_text(birth, TFY_P_CONCURRENCY);
    tfy__uuid_text(run->uuid, uuid);
    const TfyQueued start = {.program = program,
                             .workflow = workflow,
                             .run = uuid,
                             .concurrency = concurrency,
                             .per_key = tfy__record_int(birth, TFY_P_PER_KEY),
                             .priority = tfy__record_int(birth, TFY_P_PRIORITY),
                             .lsn = birth->lsn,
                             .asked_ms = birth->ts_ms};
    const bool waits = run->parked_ms == TFY_QUEUED_MS;
    const Lane *lane = start.program && start.workflow ? lane_of(queue, start.program, start.workflow) : NULL;
    const bool counts = lane && (waits || has_limits(&lane->limits) || start.per_key);
    if (tfy__record_flag(birth, TFY_P_QUEUED) && !waits) tfy__tail_begun(queue->server->tail, uuid, birth->lsn);
    Entry *entry =
        counts && GROW(queue->found, queue->found_room, queue->found_count + 1, 64) ? entry_new(queue, &start) : NULL;
    if (entry && waits)
        queue->found[queue->found_count++] = entry;
    else if (entry)
        begin(entry, false);
    free(program);
    free(workflow);
    free(concurrency);
}

static void see_diverged(void *arg, const char *run, const char *why)
{
    tfy__queue_diverged(arg, run, why);
}

static int by_lsn(const void *a, const void *b)
{
    const Entry *one = *(Entry *const *)a, *other = *(Entry *const *)b;
    return one->lsn < other->lsn ? -1 : one->lsn > other->lsn;
}

static int read_log(struct TfyQueue *queue)
{
    const int code = tfy__see_unfinished(queue->server->loop, see, queue);
    if (queue->found_count) qsort(queue->found, queue->found_count, sizeof *queue->found, by_lsn);
    for (uint32_t i = 0; i < queue->found_count; i++) wait_in_lane(queue->found[i]);
    free(queue->found);
    queue->found = NULL;
    queue->found_count = queue->found_room = 0;
    tfy__see_diverged(queue->server->loop, see_diverged, queue);
    if (queue->entries.count) look_soon(queue);
    return code;
}

static void forget_all(struct TfyQueue *queue)
{
    for (TfyLink *link; (link = tfy__table_walk(&queue->entries, NULL));) forget(queue, TABLE_ITEM(link, Entry, link));
    for (Lane *lane; (lane = LIST_TAKE(&queue->lanes, next));) {
        tfy__table_free(&lane->keys);
        free(lane->program);
        free(lane->workflow);
        free(lane->begun_ms);
        free(lane);
    }
}

/* Other limits: what waits and runs is read anew, which nothing depends on but the times of rates. */
static void take_config(struct TfyQueue *queue)
{
    const TfyConfig *config = queue->server->config;
    if (config == queue->config) return;
    forget_all(queue);
    queue->config = config;
    if (read_log(queue) < 0) tfy__say("the queue cannot be read from the log");
}

struct TfyQueue *tfy__queue_open(TfyServer *server, char *error)
{
    struct TfyQueue *queue = calloc(1, sizeof *queue);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!queue) return NULL;
    queue->server = server;
    queue->config = server->config;
    const int code = read_log(queue);
    if (code < 0) {
        snprintf(error, TFY_ERROR_TEXT, "the queue cannot be read from the log");
        tfy__queue_close(queue);
        return NULL;
    }
    tfy__on_runs(server->loop, &(TfyRunsSeen){run_begins, run_ends, queue});
    return queue;
}

void tfy__queue_close(struct TfyQueue *queue)
{
    if (!queue) return;
    forget_all(queue);
    tfy__table_free(&queue->entries);
    free(queue);
}
