/* traffic.c: see net.h: what steps asked of sockets, remembered across deaths like the ledger of tools, and what must hold of it. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "effects/net.h"
#include "net.h"
#include "base/utf8.h"
#include "wal/history/history.h"

/* A step that began. After a death it may begin again, under another number of life. */
typedef struct Passage {
    char run[37], path[64];
    int64_t step;
    uint32_t life;
    uint8_t family;
    uint32_t link; /* 0: it has none: a listener's, or a lost one's */
    int side;
    bool lost;  /* its descriptor is of an earlier life */
    char *text; /* a write's */
    size_t len, sent;
    bool aborted;
    bool left; /* something of it may be known outside */
} Passage;

/* A descriptor as programs know it, since its first use. */
typedef struct Handle {
    int64_t handle;
    uint64_t serial; /* of the socket */
    uint32_t life;
} Handle;

/* The program has closed it; the world may see that when lsn is durable. */
typedef struct Closing {
    char run[37];
    int64_t handle, lsn;
} Closing;

static struct {
    Passage *passages;
    uint32_t passage_count, passage_cap;
    Handle *handles;
    uint32_t handle_count, handle_cap;
    Closing *closings; /* of this life */
    uint32_t closing_count, closing_cap;
} traffic;

/* Room for one more behind `count`. */
static void *grown(void *list, uint32_t count, uint32_t *cap, size_t size)
{
    if (count < *cap) return list;
    *cap = *cap ? *cap * 2 : 64;
    list = realloc(list, *cap * size);
    if (!list) abort();
    return list;
}

void sim_traffic_die(void)
{
    traffic.closing_count = 0;
}

/* ---- w7: descriptors ---- */

static int descriptor_of(TfyLoop *loop, int64_t handle)
{
    const TfyNet *table = *tfy__effect_slot(loop, TFY_M_NET);
    if (!table) return -1;
    const TfyDescriptor *d = TABLE_ITEM(tfy__table_find(&table->table, (uint64_t)handle), const TfyDescriptor, link);
    return d ? d->fd : -1;
}

static Handle *handle_known(int64_t handle)
{
    for (uint32_t i = 0; i < traffic.handle_count; i++)
        if (traffic.handles[i].handle == handle) return &traffic.handles[i];
    return NULL;
}

/* Which link a step is about; it is lost when no socket of this life ever was behind its handle. */
static void find_link(Passage *passage, TfyLoop *loop, int64_t handle)
{
    uint64_t serial = sim_socket_serial(descriptor_of(loop, handle), &passage->link, &passage->side);
    Handle *known = handle_known(handle);
    if (known && serial && (known->serial != serial || known->life != sim.life))
        sim_broken("w7", "descriptor %lld of task %s was socket %llu in life %u and is socket %llu now",
                   (long long)handle, passage->path, (unsigned long long)known->serial, known->life,
                   (unsigned long long)serial);
    passage->lost = !serial && (!known || known->life != sim.life);
    if (known || !serial) return;
    traffic.handles = grown(traffic.handles, traffic.handle_count, &traffic.handle_cap, sizeof *traffic.handles);
    traffic.handles[traffic.handle_count++] = (Handle){.handle = handle, .serial = serial, .life = sim.life};
}

/* ---- steps ---- */

static bool opens(uint8_t family)
{
    return family == TFY_F_LISTEN || family == TFY_F_CONNECT;
}

static void remember(const TfyCall *call)
{
    traffic.passages = grown(traffic.passages, traffic.passage_count, &traffic.passage_cap, sizeof *traffic.passages);
    Passage *passage = &traffic.passages[traffic.passage_count++];
    *passage = (Passage){.step = call->step, .life = sim.life, .family = call->tool->family};
    snprintf(passage->run, sizeof passage->run, "%s", tfy__run_uuid(call->task));
    snprintf(passage->path, sizeof passage->path, "%s", tfy__task_path(call->task));
    passage->left = opens(passage->family);
    if (!passage->left) find_link(passage, call->loop, call->args[0].i);
    if (passage->family != TFY_F_WRITE) return;
    const TfyString *text = (const TfyString *)call->args[1].o;
    passage->len = text->byte_len;
    passage->text = malloc(passage->len + 1);
    if (!passage->text) abort();
    memcpy(passage->text, text->bytes, passage->len);
}

/* The newest that began under this key. */
static Passage *passage_of(const char *run, const char *path, int64_t step)
{
    for (uint32_t i = traffic.passage_count; i-- > 0;) {
        Passage *passage = &traffic.passages[i];
        if (passage->step == step && strcmp(passage->path, path) == 0 && strcmp(passage->run, run) == 0) return passage;
    }
    return NULL;
}

static void net_start(TfyCall *call)
{
    uint8_t family = call->tool->family;
    if (!sim.expecting) {
        if (opens(family) || family == TFY_F_WRITE) sim_check_behind(rest_of(call->task), call->tool->name);
        remember(call);
    }
    tfy__perform_net.start(call);
}

static void net_abort(TfyCall *call)
{
    Passage *passage =
        sim.expecting ? NULL : passage_of(tfy__run_uuid(call->task), tfy__task_path(call->task), call->step);
    if (passage) passage->aborted = true;
    if (passage && passage->link && passage->sent) sim_link(passage->link)->streams[passage->side].cut = true;
    tfy__perform_net.abort(call);
}

/* ---- w6: bytes ---- */

static Passage *write_under_way(const SimLink *link, int side)
{
    for (uint32_t i = 0; i < traffic.passage_count; i++) {
        Passage *passage = &traffic.passages[i];
        if (passage->link == link->number && passage->side == side && passage->text && !passage->aborted &&
            passage->sent < passage->len)
            return passage;
    }
    return NULL;
}

void sim_traffic_sent(const SimLink *link, int side, const char *bytes, size_t len)
{
    if (sim.expecting) return;
    Passage *passage = write_under_way(link, side);
    if (!passage) sim_broken("w6", "bytes leave on link %u that nobody writes: %.*s", link->number, (int)len, bytes);
    if (link->streams[side].cut)
        sim_broken("w6", "bytes follow on link %u behind a write that was stopped: %.*s", link->number, (int)len,
                   bytes);
    if (len > passage->len - passage->sent || memcmp(passage->text + passage->sent, bytes, len) != 0)
        sim_broken("w6", "task %s, step %lld writes %.*s, and behind %zu bytes of it leaves: %.*s", passage->path,
                   (long long)passage->step, (int)passage->len, passage->text, passage->sent, (int)len, bytes);
    passage->sent += len;
    passage->left = true;
}

/* ---- w5: ends ---- */

static Closing *closing_of(const char *run, int64_t handle)
{
    for (uint32_t i = 0; i < traffic.closing_count; i++)
        if (traffic.closings[i].handle == handle && strcmp(traffic.closings[i].run, run) == 0)
            return &traffic.closings[i];
    return NULL;
}

static void net_let_go(TfyLoop *loop, const char *run, int64_t handle, bool durable)
{
    const TfyLog *log = sim.expecting ? NULL : loop->log;
    const Closing *closing = log ? closing_of(run, handle) : NULL;
    if (log && durable && (!closing || closing->lsn > tfy__log_durable_lsn(log)))
        sim_broken("w5", "descriptor %lld is closed outside before record %lld is durable (%lld is)", (long long)handle,
                   closing ? (long long)closing->lsn : 0, (long long)tfy__log_durable_lsn(log));
    if (log && !durable && !closing) {
        traffic.closings =
            grown(traffic.closings, traffic.closing_count, &traffic.closing_cap, sizeof *traffic.closings);
        Closing *added = &traffic.closings[traffic.closing_count++];
        *added = (Closing){.handle = handle, .lsn = tfy__log_last_lsn(log)};
        snprintf(added->run, sizeof added->run, "%s", run);
    }
    tfy__perform_net.let_go(loop, run, handle, durable);
}

static void net_close(TfyLoop *loop)
{
    tfy__perform_net.close(loop);
}

const TfyPerformer sim_sockets = {
    .name = "sim sockets", .start = net_start, .abort = net_abort, .close = net_close, .let_go = net_let_go};

/* ---- w8: waiting ---- */

/* The first of a queue has tried, and is told when that may end otherwise. */
void sim_check_waiting(TfyLoop *loop)
{
    const TfyNet *net = *tfy__effect_slot(loop, TFY_M_NET);
    if (!net) return;
    for (const TfyLink *link = tfy__table_walk(&net->table, NULL); link; link = tfy__table_walk(&net->table, link)) {
        const TfyDescriptor *d = TABLE_ITEM(link, const TfyDescriptor, link);
        bool in = d->takes.first && sim_socket_ready(d->fd, false);
        if (!d->again && (in || (d->gives.first && sim_socket_ready(d->fd, true))))
            sim_broken("w8", "somebody waits to %s descriptor %lld, which is ready", in ? "read" : "write",
                       (long long)d->handle);
    }
}

/* ---- d5: what the log says of it ---- */

static void broken_result(const Passage *passage, const TfyLogRecord *record, const char *what)
{
    sim_broken("d5", "task %s, step %lld, link %u: %s, and the log says %s", passage->path, (long long)passage->step,
               passage->link, what, record->payload);
}

bool sim_gives_text(const char *bytes, size_t len, const char *text, size_t text_len, size_t *used)
{
    *used = 0;
    for (size_t told = 0, piece_len; told < text_len; told += piece_len) {
        if (*used == len) return false;
        int step = tfy__utf8_step((const unsigned char *)bytes + *used, len - *used);
        const char *piece = step > 0 ? bytes + *used : TFY__REPLACEMENT;
        piece_len = step > 0 ? (size_t)step : strlen(TFY__REPLACEMENT);
        if (piece_len > text_len - told) piece_len = text_len - told;
        if (memcmp(text + told, piece, piece_len) != 0) return false;
        *used += (size_t)abs(step);
    }
    return true;
}

/* A line ends before the end of line that came, or with all that came. */
static void check_read(const Passage *passage, const TfyLogRecord *record, const json_t *value)
{
    SimStream *in = &sim_link(passage->link)->streams[1 - passage->side];
    size_t there = in->taken - in->read, used;
    const char *at = there ? in->bytes.data + in->read : "";
    if (!json_is_string(value)) {
        if (there) broken_result(passage, record, "bytes that came were never read");
        return;
    }
    if (!sim_gives_text(at, there, json_string_value(value), json_string_length(value), &used))
        broken_result(passage, record, "what came is something else");
    if (passage->family == TFY_F_READ_LINE && used < there) {
        if (at[used] != '\n') broken_result(passage, record, "the line is longer");
        used++;
    }
    in->read += used;
}

static void check_written(const Passage *passage, const TfyLogRecord *record, const json_t *value)
{
    size_t count = (size_t)json_integer_value(value);
    if (count != passage->len || count != passage->sent)
        broken_result(passage, record, passage->sent < passage->len ? "not all of it has left" : "all of it has left");
}

static void check_result(const Passage *passage, const TfyLogRecord *record)
{
    json_t *json = sim_record_json(record);
    const json_t *value = json_object_get(json, "value"), *error = json_object_get(json, "error");
    const char *name = json_string_value(json_object_get(error, "error"));
    bool lost = name && strcmp(name, "Lost") == 0;
    if (lost != passage->lost)
        broken_result(passage, record, lost ? "the socket is of this life" : "the socket is of an earlier life");
    if (!error && passage->link && (passage->family == TFY_F_READ || passage->family == TFY_F_READ_LINE))
        check_read(passage, record, value);
    if (!error && passage->family == TFY_F_WRITE) check_written(passage, record, value);
    json_decref(json);
}

static void begin_reading(const char *run)
{
    for (uint32_t i = 0; i < traffic.passage_count; i++) {
        const Passage *passage = &traffic.passages[i];
        SimLink *link = strcmp(passage->run, run) == 0 ? sim_link(passage->link) : NULL;
        if (link) link->streams[0].read = link->streams[1].read = 0;
    }
}

/* ---- d6: what is behind it ---- */

static bool has_before(const TfyHistory *history, const Passage *passage)
{
    for (uint32_t i = 0; i < history->task_count; i++)
        if (passage->step == 1 && strcmp(history->tasks[i].path, passage->path) == 0) return true;
    for (uint32_t i = 0; i < history->record_count; i++)
        if (history->records[i].step >= passage->step - 1 &&
            strcmp(history->tasks[history->record_tasks[i]].path, passage->path) == 0)
            return true;
    return false;
}

void sim_check_traffic(const TfyHistory *history, const char *uuid)
{
    begin_reading(uuid);
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->type != TFY_R_TOOL_RESULT) continue;
        const Passage *passage = passage_of(uuid, history->tasks[history->record_tasks[i]].path, record->step);
        if (passage) check_result(passage, record);
    }
    for (uint32_t i = 0; i < traffic.passage_count; i++) {
        const Passage *passage = &traffic.passages[i];
        if (passage->left && strcmp(passage->run, uuid) == 0 && !has_before(history, passage))
            sim_broken("d6", "task %s has used a socket in step %lld, and the log does not know how it came there",
                       passage->path, (long long)passage->step);
    }
}

void sim_check_no_traffic(const char *uuid, const char *workflow)
{
    for (uint32_t i = 0; i < traffic.passage_count; i++)
        if (traffic.passages[i].left && strcmp(traffic.passages[i].run, uuid) == 0)
            sim_broken("d6", "task %s of %s has used a socket, and the log knows nothing of the run",
                       traffic.passages[i].path, workflow);
}
