/* stream.c: see stream.h. */
#include "serve/stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/list.h"
#include "cli/look/event.h"
#include "serve/reader.h"
#include "serve/runs.h"
#include "wal/log/log.h"

enum {
    EVENTS = 1 << 16, /* places of the ring */
    EVENTS_BYTES = 32 << 20,
    LISTENERS_MOST = 1200,
    LIVE_MOST = 4096,       /* live events that wait for the hub */
    PAGE = 2000,            /* records of a page out of the log … */
    PAGE_BYTES = 256 << 10, /* … and bytes: each page is a way to a reader and back; less if there are many listeners */
    PAGES_BYTES = 64 << 20, /* what the pages of all are to stay below */
    CHUNK = 64 << 10,       /* bytes that are prepared for a client out of the ring */
    BEAT_MS = 15000,
    LOOK_MS = 1000,
    FAULT_MS = 200,
    ROUND = 40, /* listeners that are woken in a millisecond, at most */
};

typedef struct Event {
    int64_t lsn; /* 0: a live one */
    TfyEventRun *run;
    int type;
    char *text; /* as it is sent; the task's path follows its NUL */
    uint32_t len;
} Event;

/* A live event on its way from the loop. */
typedef struct Live {
    struct Live *next;
    size_t len;
    char json[];
} Live;

typedef struct TfyStream {
    struct TfyStream *prev, *next; /* of the hub's listeners */
    struct TfyHub *hub;
    TfyRequest *request;
    TfyEventFilter filter; /* its texts belong to the request */
    bool live;             /* wants live events, too */
    int64_t lsn;           /* records up to this one were given to it, or are not wanted */
    int64_t said;          /* the newest id that it was told */
    int64_t ring_from;     /* the ring has all that it wants from this record on, if it has that record */
    uint64_t seq;          /* the next of the ring; 0: it reads the log */
    TfyBuffer out;         /* prepared, of which `sent` bytes were taken */
    size_t sent;
    int64_t given_ms; /* when it was given something last */
    int64_t known_ms; /* when its caller's token or session was looked at last */
    bool waits;       /* suspended until there is more */
    bool beats;       /* it was woken to be told something */
    bool said_bye;
} Stream;

struct TfyHub {
    TfyEvents *events; /* the thread's own */
    pthread_t thread;
    char db[37];          /* uuid */
    int64_t epoch;        /* of this opening */
    _Atomic int64_t head; /* the newest durable record */
    _Atomic uint32_t live_listeners;
    pthread_mutex_t mutex; /* held for: */
    pthread_cond_t more;
    LIST(Stream) listeners;
    uint32_t count;
    LIST(Live) lives;
    uint32_t live_count;
    int64_t beat_ms; /* a client hears something at least so often */
    Event *ring;
    uint64_t first, next; /* places, from 1 */
    size_t bytes;
    uint64_t types; /* bits by TfyRecordType: what any listener wants. Of these, the ring has … */
    int64_t from;   /* … all records from this one on … */
    int64_t cursor; /* … to this one */
    bool woken, ends, ended;
};

/* ---- the ring ---- */

static Event *event_at(const struct TfyHub *hub, uint64_t seq)
{
    return &hub->ring[seq & (EVENTS - 1)];
}

static void drop_oldest(struct TfyHub *hub)
{
    Event *event = event_at(hub, hub->first++);
    if (event->lsn) hub->from = event->lsn + 1;
    hub->bytes -= event->len;
    tfy__event_run_drop(event->run);
    free(event->text);
}

static void empty(struct TfyHub *hub)
{
    while (hub->first < hub->next) drop_oldest(hub);
}

/* Takes over the text. */
static void push(struct TfyHub *hub, const Event *event)
{
    pthread_mutex_lock(&hub->mutex);
    while (hub->first < hub->next && (hub->next - hub->first == EVENTS || hub->bytes + event->len > EVENTS_BYTES))
        drop_oldest(hub);
    *event_at(hub, hub->next++) = *event;
    hub->bytes += event->len;
    tfy__event_run_keep(event->run);
    pthread_mutex_unlock(&hub->mutex);
}

/* The ring does not get this record: who listens has to read it out of the log. */
static void pass_over(struct TfyHub *hub, int64_t lsn)
{
    pthread_mutex_lock(&hub->mutex);
    empty(hub);
    hub->first = ++hub->next; /* nobody's place is in it now */
    hub->from = lsn + 1;
    pthread_mutex_unlock(&hub->mutex);
}

/* Takes the text. */
static void push_text(struct TfyHub *hub, TfyBuffer *text, int64_t lsn, TfyEventRun *run, const char *task, int type)
{
    const size_t len = text->len;
    tfy__buffer_char(text, '\0');
    tfy__buffer_text(text, task);
    if (!text->failed) {
        push(hub, &(Event){lsn, run, type, text->data, (uint32_t)len});
        return;
    }
    tfy__buffer_free(text);
    if (lsn) pass_over(hub, lsn);
}

/* ---- what is sent ---- */

static void add_gap(TfyBuffer *out, int64_t from, int64_t to)
{
    tfy__buffer_printf(out, "id: %lld\nevent: gap\ndata: {\"from\":%lld,\"to\":%lld,\"why\":\"compacted\"}\n\n",
                       (long long)to, (long long)from, (long long)to);
}

static void add_record(TfyBuffer *out, const TfyEvent *event)
{
    tfy__buffer_text(out, "id: ");
    tfy__buffer_int(out, event->record->lsn);
    tfy__buffer_text(out, "\nevent: record\ndata: ");
    tfy__event_text(event, out);
    tfy__buffer_text(out, "\n\n");
}

/* ---- the hub's thread ---- */

typedef struct Following {
    struct TfyHub *hub;
    int64_t cursor;
    int count;
} Following;

/* Is with the record, if nobody wants one of its type. Who begins to want that wants it from the next record on. */
static bool skips(struct TfyHub *hub, const TfyLogRecord *record)
{
    pthread_mutex_lock(&hub->mutex);
    const bool unwanted = !(hub->types >> record->type & 1);
    if (unwanted) hub->cursor = record->lsn;
    pthread_mutex_unlock(&hub->mutex);
    return unwanted;
}

static int follow_one(void *arg, const TfyEvent *event)
{
    Following *following = arg;
    struct TfyHub *hub = following->hub;
    const int64_t lsn = event->record->lsn;
    TfyBuffer text = {0};
    if (following->count++ == PAGE) return 1;
    if (lsn > following->cursor + 1) {
        add_gap(&text, following->cursor + 1, lsn - 1);
        push_text(hub, &text, lsn - 1, NULL, "", 0);
        text = (TfyBuffer){0};
    }
    following->cursor = lsn;
    if (skips(hub, event->record)) return 0;
    add_record(&text, event);
    push_text(hub, &text, lsn, event->run, event->task, event->record->type);
    pthread_mutex_lock(&hub->mutex);
    hub->cursor = lsn;
    pthread_mutex_unlock(&hub->mutex);
    return 0;
}

/* {"seq":N,"ts":"…","task_id":"RUN/PATH",…}, whose first members are always these (observe/pal.h). */
static void push_live(struct TfyHub *hub, const Live *live)
{
    const char *id = strstr(live->json, "\"task_id\":\"");
    char uuid[37] = "", task[256] = "";
    TfyBuffer text = {0};
    if (!id || sscanf(id, "\"task_id\":\"%36[0-9a-f-]/%255[0-9.]", uuid, task) != 2) return;
    TfyEventRun *run = tfy__events_run(hub->events, uuid);
    if (!run) return;
    tfy__buffer_text(&text, "event: live\ndata: ");
    tfy__buffer_add(&text, live->json, live->len);
    tfy__buffer_text(&text, "\n\n");
    push_text(hub, &text, 0, run, task, 0);
}

/* Records of the database itself say what was done to the server, which is for its admins. */
static bool may_see(const Stream *stream, const TfyEventRun *run)
{
    const TfyCaller *caller = &stream->request->caller;
    return run ? tfy__may_see(caller, run->program, run->workflow) : caller->roles & TFY_ROLE_ADMIN;
}

static bool wants(const Stream *stream, const Event *event)
{
    if (!event->lsn && !stream->live) return false;
    if (event->lsn && event->lsn <= stream->lsn) return false;
    if (event->lsn && !event->type) return true; /* a gap */
    return may_see(stream, event->run) &&
           tfy__event_wanted(&stream->filter, event->run, event->text + event->len + 1, event->type);
}

/* Goes on to the next event of the ring that it wants. False: there is none yet. */
static bool advance(const struct TfyHub *hub, Stream *stream)
{
    for (; stream->seq < hub->next; stream->seq++) {
        const Event *event = event_at(hub, stream->seq);
        if (wants(stream, event)) return true;
        if (event->lsn > stream->lsn) stream->lsn = event->lsn;
    }
    if (hub->cursor > stream->lsn) stream->lsn = hub->cursor;
    return false;
}

/* Has fallen out of the ring. */
static bool is_late(const struct TfyHub *hub, const Stream *stream)
{
    return stream->seq < hub->first;
}

static void wake(Stream *stream)
{
    stream->waits = false;
    tfy__http_go_on(stream->request);
}

static void wake_listeners(struct TfyHub *hub)
{
    const int64_t now = tfy__monotonic_ms();
    pthread_mutex_lock(&hub->mutex);
    for (Stream *stream = hub->listeners.first; stream; stream = stream->next) {
        if (!stream->waits) continue;
        stream->beats = now - stream->given_ms >= hub->beat_ms;
        if (stream->beats || hub->ended || is_late(hub, stream) || advance(hub, stream)) wake(stream);
    }
    pthread_mutex_unlock(&hub->mutex);
}

static Live *take_lives(struct TfyHub *hub)
{
    pthread_mutex_lock(&hub->mutex);
    Live *live = hub->lives.first;
    hub->lives.first = hub->lives.last = NULL;
    hub->live_count = 0;
    pthread_mutex_unlock(&hub->mutex);
    return live;
}

static int64_t cursor_of(struct TfyHub *hub)
{
    pthread_mutex_lock(&hub->mutex);
    const int64_t cursor = hub->cursor;
    pthread_mutex_unlock(&hub->mutex);
    return cursor;
}

/* Live events follow the records that they tell of. False: the log cannot be read now. */
static bool follow(struct TfyHub *hub)
{
    int code;
    Live *live = take_lives(hub);
    do {
        Following following = {hub, cursor_of(hub), 0};
        code = tfy__events_see(hub->events, following.cursor + 1, follow_one, &following);
        wake_listeners(hub);
    } while (code > 0);
    for (Live *next; live; live = next) {
        next = live->next;
        push_live(hub, live);
        free(live);
    }
    wake_listeners(hub);
    return code == 0;
}

/* Nobody listens: it sleeps until somebody does. */
static void await(struct TfyHub *hub, int64_t ms)
{
    while (!hub->ends && !hub->count) pthread_cond_wait(&hub->more, &hub->mutex);
    const struct timespec until = tfy__deadline(ms);
    while (!hub->ends && !hub->woken && pthread_cond_timedwait(&hub->more, &hub->mutex, &until) != ETIMEDOUT) {}
    hub->woken = false;
}

/* A thousand listeners keep the thread of HTTP busy for some ten milliseconds. What comes meanwhile is sent in one piece
 * with what follows: else each event would be a round of its own, and rounds would queue up. */
static void rest(struct TfyHub *hub)
{
    const struct timespec until = tfy__deadline(hub->count / ROUND);
    while (!hub->ends && pthread_cond_timedwait(&hub->more, &hub->mutex, &until) != ETIMEDOUT) {}
}

static void *work(void *arg)
{
    struct TfyHub *hub = arg;
    bool fine = true, ends = false;
    pthread_setname_np(pthread_self(), "tfy events");
    while (!ends) {
        pthread_mutex_lock(&hub->mutex);
        rest(hub);
        await(hub, !fine ? FAULT_MS : hub->beat_ms < LOOK_MS ? hub->beat_ms : LOOK_MS);
        ends = hub->ends;
        const bool listened = hub->count;
        pthread_mutex_unlock(&hub->mutex);
        if (listened) fine = follow(hub);
    }
    pthread_mutex_lock(&hub->mutex);
    hub->ended = true;
    pthread_mutex_unlock(&hub->mutex);
    wake_listeners(hub);
    return NULL;
}

void tfy__hub_wake(struct TfyHub *hub, int64_t durable)
{
    hub->head = durable;
    pthread_mutex_lock(&hub->mutex);
    hub->woken = true;
    if (hub->count) pthread_cond_signal(&hub->more);
    pthread_mutex_unlock(&hub->mutex);
}

void tfy__hub_tell(struct TfyHub *hub, const char *json, size_t len)
{
    if (!hub || !hub->live_listeners) return;
    Live *live = malloc(sizeof *live + len + 1);
    if (!live) return;
    live->len = len;
    memcpy(live->json, json, len);
    live->json[len] = '\0';
    pthread_mutex_lock(&hub->mutex);
    if (hub->live_count < LIVE_MOST) {
        LIST_APPEND(&hub->lives, live, next);
        hub->live_count++;
        live = NULL;
    }
    hub->woken = true;
    pthread_cond_signal(&hub->more);
    pthread_mutex_unlock(&hub->mutex);
    free(live);
}

uint32_t tfy__hub_listeners(struct TfyHub *hub)
{
    pthread_mutex_lock(&hub->mutex);
    const uint32_t count = hub->count;
    pthread_mutex_unlock(&hub->mutex);
    return count;
}

/* ---- listeners ---- */

static uint64_t types_of(const Stream *stream)
{
    return stream->filter.types ? stream->filter.types : ~UINT64_C(0);
}

/* Begins to follow with the first of them. False: there are too many. */
static bool join(struct TfyHub *hub, Stream *stream)
{
    pthread_mutex_lock(&hub->mutex);
    const bool room = hub->count < LISTENERS_MOST && !hub->ends;
    if (room && !hub->count) {
        empty(hub);
        hub->cursor = hub->head;
        hub->from = hub->cursor + 1;
        hub->types = 0;
    }
    if (room) {
        stream->ring_from = types_of(stream) & ~hub->types ? hub->cursor + 1 : 0;
        hub->types |= types_of(stream);
        hub->count++;
        hub->live_listeners += stream->live;
        LIST2_APPEND(&hub->listeners, stream, prev, next);
        stream->hub = hub;
        pthread_cond_signal(&hub->more);
    }
    pthread_mutex_unlock(&hub->mutex);
    return room;
}

void tfy__stream_free(Stream *stream)
{
    if (!stream) return;
    struct TfyHub *hub = stream->hub;
    if (hub) {
        pthread_mutex_lock(&hub->mutex);
        LIST2_REMOVE(&hub->listeners, stream, prev, next);
        hub->live_listeners -= stream->live;
        hub->count--;
        pthread_mutex_unlock(&hub->mutex);
    }
    tfy__buffer_free(&stream->out);
    free(stream);
}

/* ---- pages out of the log ---- */

typedef struct Paging {
    Stream *stream;
    int count;
    size_t bytes; /* of a page */
} Paging;

static size_t page_bytes(struct TfyHub *hub)
{
    pthread_mutex_lock(&hub->mutex);
    const size_t share = PAGES_BYTES / (hub->count ? hub->count : 1);
    pthread_mutex_unlock(&hub->mutex);
    return share > PAGE_BYTES ? PAGE_BYTES : share < CHUNK ? CHUNK : share;
}

static int page_one(void *arg, const TfyEvent *event)
{
    Paging *paging = arg;
    Stream *stream = paging->stream;
    const int64_t lsn = event->record->lsn;
    if (paging->count++ == PAGE || stream->out.len >= paging->bytes) return 1;
    if (lsn > stream->lsn + 1) add_gap(&stream->out, stream->lsn + 1, lsn - 1);
    if (may_see(stream, event->run) &&
        tfy__event_wanted(&stream->filter, event->run, event->task, event->record->type)) {
        add_record(&stream->out, event);
        stream->said = lsn;
    }
    stream->lsn = lsn;
    return 0;
}

static int read_events(TfyRequest *request, Paging *paging)
{
    TfyEvents *events = tfy__reader_events(request);
    return !events ? TFY_E_IO : tfy__events_see(events, paging->stream->lsn + 1, page_one, paging);
}

/* On a reader's thread. A log that cannot be read ends the stream: its client comes again. */
static void read_page(TfyRequest *request)
{
    Stream *stream = request->stream;
    const int64_t head = stream->hub->head;
    Paging paging = {stream, 0, page_bytes(stream->hub)};
    const int code = read_events(request, &paging);
    stream->said_bye = code < 0;
    if (code || stream->lsn >= head) return;
    add_gap(&stream->out, stream->lsn + 1, head); /* of what was up to the head, nothing is left */
    stream->lsn = stream->said = head;
}

/* ---- to the client ---- */

/* Enters the ring where it has all that the listener has not got yet. */
static bool enters(const struct TfyHub *hub, Stream *stream)
{
    if (stream->lsn + 1 < hub->from || stream->lsn + 1 < stream->ring_from) return false;
    stream->seq = hub->first;
    return true;
}

static void add_event(Stream *stream, const Event *event)
{
    tfy__buffer_add(&stream->out, event->text, event->len);
    if (event->lsn) stream->lsn = stream->said = event->lsn;
    stream->seq++;
}

/* A client that comes again need not ask for what passed it meanwhile: a mere id is no event. */
static void add_beat(Stream *stream)
{
    tfy__buffer_text(&stream->out, ":\n");
    if (stream->lsn > stream->said) tfy__buffer_printf(&stream->out, "id: %lld\n", (long long)stream->lsn);
    tfy__buffer_char(&stream->out, '\n');
    stream->said = stream->lsn;
}

/* Prepares what there is. False: it has to be read out of the log first. */
static bool prepare(const struct TfyHub *hub, Stream *stream)
{
    if (stream->seq && is_late(hub, stream)) stream->seq = 0;
    if (!hub->ended && !stream->seq && !enters(hub, stream)) return false;
    while (stream->seq && stream->out.len < CHUNK && advance(hub, stream))
        add_event(stream, event_at(hub, stream->seq));
    if (stream->beats && !stream->out.len) add_beat(stream);
    stream->beats = false;
    if (hub->ended && !stream->out.len) {
        tfy__buffer_text(&stream->out, "event: bye\ndata: {}\n\n");
        stream->said_bye = true;
    }
    return true;
}

static ssize_t take_prepared(Stream *stream, char *bytes, size_t most)
{
    const size_t left = stream->out.len - stream->sent, len = left < most ? left : most;
    memcpy(bytes, stream->out.data + stream->sent, len);
    stream->sent += len;
    stream->given_ms = tfy__monotonic_ms();
    if (len == left) {
        tfy__buffer_free(&stream->out);
        stream->sent = 0;
    }
    return (ssize_t)len;
}

/* A stream ends with the token or session that it was asked for with. */
static bool is_still_known(Stream *stream)
{
    const int64_t now = tfy__monotonic_ms();
    if (now - stream->known_ms < stream->hub->beat_ms) return true;
    stream->known_ms = now;
    return tfy__door_holds(stream->request->server->door, &stream->request->caller);
}

ssize_t tfy__stream_take(TfyRequest *request, char *bytes, size_t most)
{
    Stream *stream = request->stream;
    struct TfyHub *hub = stream->hub;
    if (stream->out.failed || !is_still_known(stream)) return -1;
    if (stream->out.len) return take_prepared(stream, bytes, most);
    if (stream->said_bye) return -1;
    pthread_mutex_lock(&hub->mutex);
    const bool there = prepare(hub, stream);
    if (there && !stream->out.len && !stream->out.failed) {
        stream->waits = true;
        tfy__http_pause(request);
    }
    pthread_mutex_unlock(&hub->mutex);
    if (!there) { /* a reader has it from here on */
        tfy__http_lend(request, read_page);
        return 0;
    }
    return stream->out.failed ? -1 : stream->out.len ? take_prepared(stream, bytes, most) : 0;
}

/* ---- the request ---- */

const char *const tfy__events_parameters[] = {"run",    "task",  "type", "program", "workflow",
                                              "label.", "after", "db",   "live",    NULL};

static bool read_types(TfyRequest *request, const char *names, uint64_t *types)
{
    char error[TFY_ERROR_TEXT];
    return !names || tfy__event_types(names, types, error) ||
           tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, "%s", error);
}

static bool read_filter(TfyRequest *request, TfyEventFilter *filter)
{
    const char *run = tfy__request_parameter(request, "run");
    filter->task = tfy__request_parameter(request, "task");
    filter->program = tfy__request_parameter(request, "program");
    filter->workflow = tfy__request_parameter(request, "workflow");
    tfy__request_label(request, &filter->label, &filter->label_value);
    return (!run || tfy__find_run_id(request, run, filter->run)) &&
           read_types(request, tfy__request_parameter(request, "type"), &filter->types);
}

/* Where to go on: behind what the client got. False: from now, since it is no record of this database. */
static bool read_place(TfyRequest *request, const char *db, int64_t head, int64_t *lsn)
{
    const char *after = tfy__request_parameter(request, "after"), *of = tfy__request_parameter(request, "db");
    const char *text = request->last_event ? request->last_event : after;
    *lsn = head;
    if (!text) return true;
    if ((of && strcmp(of, db) != 0) || !*text || strlen(text) > 18 || text[strspn(text, "0123456789")]) return false;
    const int64_t given = strtoll(text, NULL, 10);
    if (given > head) return false;
    *lsn = given;
    return true;
}

static void greet(TfyRequest *request, Stream *stream)
{
    const struct TfyHub *hub = request->server->hub;
    const int64_t head = hub->head;
    const bool known = read_place(request, hub->db, head, &stream->lsn);
    stream->said = stream->lsn;
    stream->given_ms = tfy__monotonic_ms();
    tfy__buffer_printf(&stream->out, "id: %lld\nevent: hello\ndata: {\"db\":\"%s\",\"epoch\":%lld,\"head\":%lld}\n\n",
                       (long long)stream->lsn, hub->db, (long long)hub->epoch, (long long)head);
    if (!known) tfy__buffer_printf(&stream->out, "event: reset\ndata: {\"head\":%lld}\n\n", (long long)head);
}

void tfy__serve_events(TfyRequest *request)
{
    Stream *stream = calloc(1, sizeof *stream);
    const char *live = tfy__request_parameter(request, "live");
    request->stream = stream;
    if (!stream) {
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
        return;
    }
    stream->request = request;
    stream->live = live && strcmp(live, "1") == 0;
    if (!tfy__request_known(request, tfy__events_parameters) ||
        !tfy__request_choice(request, "live", (const char *const[]){"0", "1", NULL}) ||
        !read_filter(request, &stream->filter))
        return;
    greet(request, stream);
    if (join(request->server->hub, stream)) return;
    request->retry_after_s = 5;
    tfy__problem(&request->problem, TFY_PROBLEM_BUSY, "%d streams are open", LISTENERS_MOST);
}

/* ---- opening and closing ---- */

struct TfyHub *tfy__hub_open(TfyServer *server, char *error)
{
    struct TfyHub *hub = calloc(1, sizeof *hub);
    const TfyLog *log = tfy__loop_log(server->loop);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!hub) return NULL;
    hub->epoch = tfy__log_epoch(log);
    hub->head = tfy__log_durable_lsn(log);
    tfy__uuid_text(tfy__log_uuid(log), hub->db);
    hub->first = hub->next = 1;
    hub->beat_ms = tfy__bound("TFY_TEST_BEAT_MS", BEAT_MS);
    hub->ring = calloc(EVENTS, sizeof *hub->ring);
    pthread_mutex_init(&hub->mutex, NULL);
    tfy__cond_init(&hub->more);
    hub->events = hub->ring ? tfy__events_open(server->db, error) : NULL;
    if (hub->events && pthread_create(&hub->thread, NULL, work, hub) == 0) return hub;
    hub->ended = true;
    tfy__hub_close(hub);
    return NULL;
}

void tfy__hub_quit(struct TfyHub *hub)
{
    if (!hub || hub->ended) return;
    pthread_mutex_lock(&hub->mutex);
    hub->ends = true;
    pthread_cond_signal(&hub->more);
    pthread_mutex_unlock(&hub->mutex);
    pthread_join(hub->thread, NULL);
}

void tfy__hub_close(struct TfyHub *hub)
{
    if (!hub) return;
    tfy__hub_quit(hub);
    empty(hub);
    for (Live *live; (live = LIST_TAKE(&hub->lives, next));) free(live);
    tfy__events_close(hub->events);
    pthread_mutex_destroy(&hub->mutex);
    pthread_cond_destroy(&hub->more);
    free(hub->ring);
    free(hub);
}
