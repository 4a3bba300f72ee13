/* events.c: GET /v1/events over a shared database: the records of one run as they are committed, each with its number in the run as
 * its id; without `run`, what the database notifies its workers of, without ids.
 *
 * A stream has one owner at a time: the thread of HTTP while there is something to send, and the thread here while it waits, with its
 * connection suspended. The thread asks for new records of each run several times a second, and for none when nobody listens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "cli/look/event.h"
#include "serve/runs.h"
#include "serve/shared/events.h"
#include "serve/shared/reader.h"
#include "serve/shared/server.h"
#include "wal/store/pg_cluster.h"

enum { LOOK_MS = 300, BEAT_MS = 15000, LISTENERS_MOST = 200, PAGE_BYTES = 256 << 10 };

typedef struct TfyFollow {
    struct TfyFollow *next; /* of those that wait */
    TfyRequest *request;
    struct TfySharedEvents *of; /* NULL: it does not count among the listeners */
    TfyEventFilter filter;      /* its texts belong to the request */
    int64_t run;                /* row id; 0: of none, and it has notices */
    int64_t lsn;                /* records up to this one were given to it, or are not wanted */
    TfyBuffer out;              /* of which `sent` bytes were taken */
    size_t sent;
    int64_t beat_ms;  /* it is told something by then */
    int64_t known_ms; /* when its caller's token or session was looked at last */
    bool said_bye;
} Follow;

typedef struct TfySharedEvents {
    TfyServer *server;
    TfyEvents *events;   /* the thread's own; NULL: not opened yet */
    TfyCluster *cluster; /* … for notices */
    pthread_t thread;
    bool started;
    pthread_mutex_t mutex; /* held for: */
    pthread_cond_t more;
    LIST(Follow) waiting;
    uint32_t count; /* of all streams */
    bool ends;
} Events;

/* ---- what is new ---- */

static int add_record(void *arg, const TfyEvent *event)
{
    Follow *follow = arg;
    if (follow->out.len >= PAGE_BYTES) return 1;
    follow->lsn = event->record->lsn;
    if (!tfy__event_wanted(&follow->filter, event->run, event->task, event->record->type)) return 0;
    tfy__buffer_printf(&follow->out, "id: %lld\nevent: record\ndata: ", (long long)follow->lsn);
    tfy__event_text(event, &follow->out);
    tfy__buffer_text(&follow->out, "\n\n");
    return 0;
}

/* False: the database does not answer now, and others need not ask it in this round. */
static bool read_records(Events *self, Follow *follow)
{
    char error[TFY_ERROR_TEXT];
    if (!self->events && !(self->events = tfy__events_open(self->server->db, error))) return false;
    return tfy__events_see_of(self->events, follow->run, follow->lsn + 1, add_record, follow) >= 0;
}

/* What was notified since the last look. */
static void read_notices(Events *self, TfyBuffer *out)
{
    char error[TFY_ERROR_TEXT];
    TfyNotice notice;
    if (!self->cluster && tfy__pg_cluster_open(&self->cluster, &(TfyPgOpen){.address = self->server->db}, error) != 0) {
        self->cluster = NULL;
        return;
    }
    if (self->cluster->ops->listen(self->cluster) < 0) return;
    while (self->cluster->ops->notice(self->cluster, &notice))
        tfy__buffer_printf(out, "event: live\ndata: {\"stage\":\"Notice\",\"%s\":%lld}\n\n",
                           notice.kind == TFY_NOTICE_READY ? "queue" : "session", (long long)notice.id);
}

static void prepare(Follow *follow, bool ends)
{
    const int64_t now = tfy__monotonic_ms();
    if (!follow->out.len && now >= follow->beat_ms) tfy__buffer_text(&follow->out, ":\n\n");
    if (ends) {
        tfy__buffer_text(&follow->out, "event: bye\ndata: {}\n\n");
        follow->said_bye = true;
    }
}

static void look(Events *self, Follow *follow, bool ends)
{
    TfyBuffer notices = {0};
    bool answers = !ends, any = false;
    for (const Follow *one = follow; one; one = one->next) any |= !one->run;
    if (any && !ends) read_notices(self, &notices);
    for (Follow *next; follow; follow = next) {
        next = follow->next;
        if (answers && follow->run) answers = read_records(self, follow);
        if (!follow->run && notices.len) tfy__buffer_add(&follow->out, notices.data, notices.len);
        prepare(follow, ends);
        if (follow->out.len) { /* HTTP has it from here on */
            tfy__http_go_on(follow->request);
            continue;
        }
        pthread_mutex_lock(&self->mutex);
        LIST_APPEND(&self->waiting, follow, next);
        pthread_mutex_unlock(&self->mutex);
    }
    tfy__buffer_free(&notices);
}

static void *work(void *arg)
{
    Events *self = arg;
    bool ends = false;
    pthread_setname_np(pthread_self(), "tfy events");
    while (!ends) {
        pthread_mutex_lock(&self->mutex);
        while (!self->waiting.first && !self->ends) pthread_cond_wait(&self->more, &self->mutex);
        const struct timespec until = tfy__deadline(LOOK_MS);
        while (!self->ends && pthread_cond_timedwait(&self->more, &self->mutex, &until) == 0) continue;
        Follow *waiting = self->waiting.first;
        self->waiting.first = self->waiting.last = NULL;
        ends = self->ends;
        pthread_mutex_unlock(&self->mutex);
        look(self, waiting, ends);
    }
    return NULL;
}

/* ---- to the client ---- */

static bool is_still_known(Follow *follow)
{
    const int64_t now = tfy__monotonic_ms();
    if (now - follow->known_ms < BEAT_MS) return true;
    follow->known_ms = now;
    return tfy__door_holds(follow->request->server->door, &follow->request->caller);
}

static ssize_t take_prepared(Follow *follow, char *bytes, size_t most)
{
    const size_t left = follow->out.len - follow->sent, len = left < most ? left : most;
    memcpy(bytes, follow->out.data + follow->sent, len);
    follow->sent += len;
    follow->beat_ms = tfy__monotonic_ms() + BEAT_MS;
    if (len == left) {
        tfy__buffer_free(&follow->out);
        follow->sent = 0;
    }
    return (ssize_t)len;
}

/* The thread has it from here on. False: the thread has ended. */
static bool leave(Follow *follow)
{
    Events *self = follow->of;
    pthread_mutex_lock(&self->mutex);
    const bool works = !self->ends;
    if (works) {
        tfy__http_pause(follow->request);
        LIST_APPEND(&self->waiting, follow, next);
        if (self->waiting.first == follow) pthread_cond_signal(&self->more);
    }
    pthread_mutex_unlock(&self->mutex);
    return works;
}

ssize_t tfy__follow_take(TfyRequest *request, char *bytes, size_t most)
{
    Follow *follow = request->follow;
    if (follow->out.failed || !is_still_known(follow)) return -1;
    if (follow->out.len) return take_prepared(follow, bytes, most);
    if (follow->said_bye || !leave(follow)) return -1;
    return 0;
}

void tfy__follow_free(Follow *follow)
{
    if (!follow) return;
    if (follow->of) {
        pthread_mutex_lock(&follow->of->mutex);
        follow->of->count--;
        pthread_mutex_unlock(&follow->of->mutex);
    }
    tfy__buffer_free(&follow->out);
    free(follow);
}

/* ---- the request ---- */

static void note_head(void *arg, const TfyRunShown *run)
{
    TfyRequest *request = arg;
    snprintf(request->follow->filter.run, sizeof request->follow->filter.run, "%s", run->id);
    request->follow->lsn = run->lsn;
}

/* The run that is followed, from its newest record on. */
static bool find(TfyRequest *request, const char *run)
{
    uint8_t uuid[16];
    TfyLogRun row;
    Follow *follow = request->follow;
    if (!run) return true;
    if (!tfy__run_look_up(request, run, note_head, request) || !tfy__uuid_read(follow->filter.run, uuid)) return false;
    const int code = tfy__log_find_run(request->reader->log, uuid, &row);
    follow->run = row.id;
    return code == TFY_OK || tfy__lists_failed(request, code, "the run cannot be read");
}

static bool read_filter(TfyRequest *request, TfyEventFilter *filter)
{
    const char *types = tfy__request_parameter(request, "type");
    char error[TFY_ERROR_TEXT];
    filter->task = tfy__request_parameter(request, "task");
    filter->program = tfy__request_parameter(request, "program");
    filter->workflow = tfy__request_parameter(request, "workflow");
    tfy__request_label(request, &filter->label, &filter->label_value);
    return !types || tfy__event_types(types, &filter->types, error) ||
           tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, "%s", error);
}

/* Behind what the client got. False: that is no record of this run. */
static bool read_place(TfyRequest *request, const char *db)
{
    const char *after = tfy__request_parameter(request, "after"), *of = tfy__request_parameter(request, "db");
    const char *text = request->last_event ? request->last_event : after;
    Follow *follow = request->follow;
    if (!text || !follow->run) return true;
    if ((of && strcmp(of, db) != 0) || !*text || strlen(text) > 18 || text[strspn(text, "0123456789")]) return false;
    const int64_t given = strtoll(text, NULL, 10);
    if (given > follow->lsn) return false;
    follow->lsn = given;
    return true;
}

static void greet(TfyRequest *request)
{
    Follow *follow = request->follow;
    const int64_t head = follow->lsn;
    char db[37];
    tfy__uuid_text(request->server->uuid, db);
    const bool known = read_place(request, db);
    if (follow->run) tfy__buffer_printf(&follow->out, "id: %lld\n", (long long)follow->lsn);
    tfy__buffer_printf(&follow->out, "event: hello\ndata: {\"db\":\"%s\",\"head\":%lld}\n\n", db, (long long)head);
    if (!known) tfy__buffer_printf(&follow->out, "event: reset\ndata: {\"head\":%lld}\n\n", (long long)head);
}

static bool join(Events *self, Follow *follow)
{
    pthread_mutex_lock(&self->mutex);
    const bool room = self->count < LISTENERS_MOST && !self->ends;
    if (room) {
        self->count++;
        follow->of = self;
    }
    pthread_mutex_unlock(&self->mutex);
    return room;
}

void tfy__shared_events(TfyRequest *request)
{
    static const char *const parameters[] = {"run",    "task",  "type", "program", "workflow",
                                             "label.", "after", "db",   "live",    NULL};
    Follow *follow = request->follow = calloc(1, sizeof *follow);
    if (!follow) {
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
        return;
    }
    follow->request = request;
    follow->known_ms = tfy__monotonic_ms();
    if (!tfy__request_known(request, parameters) ||
        !tfy__request_choice(request, "live", (const char *const[]){"0", "1", NULL}) ||
        !read_filter(request, &follow->filter) || !find(request, tfy__request_parameter(request, "run")))
        return;
    greet(request);
    if (join(tfy__shared_events_of(request->server), follow)) return;
    request->retry_after_s = 5;
    tfy__problem(&request->problem, TFY_PROBLEM_BUSY, "%d streams are open", LISTENERS_MOST);
}

/* ---- opening and closing ---- */

void tfy__shared_events_quit(Events *self)
{
    if (!self || !self->started) return;
    pthread_mutex_lock(&self->mutex);
    self->ends = true;
    pthread_cond_signal(&self->more);
    pthread_mutex_unlock(&self->mutex);
    pthread_join(self->thread, NULL);
    self->started = false;
}

void tfy__shared_events_close(Events *self)
{
    if (!self) return;
    tfy__shared_events_quit(self);
    tfy__events_close(self->events);
    if (self->cluster) self->cluster->ops->close(self->cluster);
    pthread_mutex_destroy(&self->mutex);
    pthread_cond_destroy(&self->more);
    free(self);
}

Events *tfy__shared_events_open(TfyServer *server, char *error)
{
    Events *self = calloc(1, sizeof *self);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!self) return NULL;
    self->server = server;
    pthread_mutex_init(&self->mutex, NULL);
    tfy__cond_init(&self->more);
    self->started = pthread_create(&self->thread, NULL, work, self) == 0;
    if (self->started) return self;
    tfy__shared_events_close(self);
    return NULL;
}
