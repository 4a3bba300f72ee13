/* log.c: the loop's side of the log: opening, appending, rows of runs, tasks and programs, handing over. */
#include "base/check.h"
#include "base/grow.h"
#include "wal/log/log_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/kill_point.h"
#include "wal/rows/payload.h"
#include "wal/store/lock.h"
#include "wal/store/place.h"

enum { WAL_PAGES = 65536, MARK_EVERY = 16384, PAYLOAD_MAX = 900 << 20 };

static int64_t real_ms(void *state)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- opening and closing ---- */

static void init_writer(TfyWriter *writer, TfyLog *first)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&writer->mutex, NULL);
    pthread_cond_init(&writer->wake, &monotonic);
    pthread_cond_init(&writer->rest, &monotonic);
    pthread_condattr_destroy(&monotonic);
    writer->first = first;
}

static void free_batches(TfyBatch *batch)
{
    while (batch) {
        TfyBatch *next = batch->next;
        tfy__batch_free(batch);
        batch = next;
    }
}

static void free_writer(TfyWriter *writer)
{
    free_batches(writer->queue.first);
    free_batches(writer->unsure.first);
    free_batches(writer->empty);
    pthread_cond_destroy(&writer->wake);
    pthread_cond_destroy(&writer->rest);
    pthread_mutex_destroy(&writer->mutex);
}

static void join_writer(TfyLog *log, TfyWriter *writer)
{
    log->writer = writer;
    pthread_mutex_lock(&writer->mutex);
    log->place = writer->places++;
    LIST_APPEND(&writer->logs, log, next);
    pthread_mutex_unlock(&writer->mutex);
}

static void init_threads(TfyLog *log, TfyLog *with)
{
    pthread_mutex_init(&log->store_mutex, NULL);
    if (!with) init_writer(&log->own, log);
    join_writer(log, with ? with->writer : &log->own);
    log->event_fd = log->lock_fd = log->files.directory = -1;
}

static void free_log(TfyLog *log, bool clean)
{
    if (log->store) log->store->ops->close(log->store, clean);
    /* The locks go last, so that the next opener finds the store closed. */
    tfy__hold_drop(log->hold, !log->read_only);
    tfy__files_forget(&log->files);
    tfy__lock_drop(log->lock_fd);
    if (log->event_fd >= 0) close(log->event_fd);
    tfy__batch_free(log->filling);
    tfy__heads_clear(&log->heads);
    if (log->writer == &log->own) free_writer(log->writer);
    pthread_mutex_destroy(&log->store_mutex);
    tfy__saved_free(log->saved);
    free(log->stayed);
    free(log->programs);
    free(log->path);
    free(log);
}

/* Inspect first, then lock: nothing is created beside a file that is not ours. */
static int lock_store(TfyLog *log, bool existing, char *error_text)
{
    const int found = tfy__store_identify(log->path, error_text);
    if (found && found != TFY_E_ABSENT) return found;
    if (!log->read_only && (!found || !existing)) {
        log->lock_fd = tfy__lock_take(log->path, error_text);
        if (log->lock_fd < 0) return log->lock_fd;
    }
    return found ? 0 : tfy__hold_take(log->path, !log->read_only, &log->hold, error_text);
}

static int open_store(TfyLog *log, const TfyLogOptions *options, char *error_text)
{
    if (log->shared) return 0;
    if (!log->path) {
        const int code = tfy__store_open_memory(&log->store);
        return code ? tfy__log_refuse(error_text, code, "no memory for a log") : 0;
    }
    const TfyStoreMode mode = log->read_only ? TFY_STORE_READ : options->existing ? TFY_STORE_WRITE : TFY_STORE_CREATE;
    int code = lock_store(log, options->existing, error_text);
    if (!code) code = tfy__guard_before(log, error_text);
    if (!code) code = tfy__store_open_sqlite(&log->store, log->path, mode, error_text);
    if (!code && !log->hold) code = tfy__hold_take(log->path, !log->read_only, &log->hold, error_text);
    return code;
}

static int set_path(TfyLog *log, const char *name, char *error_text)
{
    char path[TFY_PLACE_BYTES];
    const int code = tfy__place_resolve(name, path, error_text);
    if (code) return code;
    log->path = strdup(path);
    return log->path ? 0 : tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory for the log");
}

/* Tasks with records behind the newest mark may not change again before the next mark, which would then hide these
 * records. So their rows are updated at once; after a clean close there are none. */
static int carry_heads(TfyLog *log)
{
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (code) return code;
    for (size_t i = 0; !code && i < log->heads.count; i++) {
        const TfyHead *head = &log->heads.items[i];
        TfyStoreTask row;
        /* In memory it is right; its row is written with the next mark. */
        if (head->tid == 0) tfy__mark_touch(log, &log->self);
        if (head->tid <= 0) continue;
        code = TFY_STORE(log->store, TFY_CALL_READ, get_task, 0, head->tid, &row);
        if (code) break;
        row.head = head->lsn;
        row.chain = head->chain;
        if (head->step > row.step) row.step = head->step;
        code = tfy__batch_add_task(log->filling, &row, false);
    }
    log->store->ops->look_away(log->store);
    return code;
}

/* This opening's epoch, owner and file; they are written with the first commit, which also resets the `clean` of the
 * last close. */
static int begin_epoch(TfyLog *log, char *error_text)
{
    log->meta.epoch++;
    log->meta.clean = 0;
    log->meta.dev = log->witness.dev;
    log->meta.ino = log->witness.ino;
    tfy__lock_owner(log->meta.owner, sizeof log->meta.owner);
    if (tfy__batch_add_meta(log->filling, &log->meta) != 0)
        return tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory for the log");
    const int code = carry_heads(log);
    return code ? tfy__log_refuse(error_text, code, "the tasks of %s cannot be read", log->path ? log->path : "the log")
                : 0;
}

static int begin_writing(TfyLog *log, char *error_text)
{
    if (!(log->filling = tfy__batch_new())) return tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory for the log");
    const int code = log->shared ? 0 : begin_epoch(log, error_text);
    if (code) return code;
    if (log->inline_only || log->by_hand_ms) return 0;
    log->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return log->event_fd >= 0 ? 0 : tfy__log_refuse(error_text, TFY_E_IO, "no descriptor is left for the log");
}

static void join_shared(TfyLog *log, const TfyLogOptions *options)
{
    const TfyLog *with = options->with;
    CHECK(!options->path && (options->session > 0 || options->read_only || with));
    CHECK(!with || with->shared);
    log->shared = true;
    log->store = options->store;
    log->session = with ? with->session : options->session;
    log->lease_ms = with ? with->lease_ms : options->lease_ms;
    log->renewed = options->renewed;
    log->may_send = options->may_send;
    log->renewed_state = options->renewed_state;
}

static int read_log(TfyLog *log, char *error_text)
{
    if (log->shared) {
        const int code = TFY_STORE(log->store, TFY_CALL_READ, get_meta, &log->meta);
        return code ? tfy__log_refuse(error_text, code, "the database cannot be read (%s)", log->store->error) : 0;
    }
    const int code = tfy__recover(log, error_text);
    return code ? code : tfy__guard_recovered(log, error_text);
}

int tfy__log_open(TfyLog **result, const TfyLogOptions *options, char *error_text)
{
    *result = NULL;
    TfyLog *log = calloc(1, sizeof *log);
    if (!log) {
        if (options->store) options->store->ops->close(options->store, false);
        return tfy__log_refuse(error_text, TFY_E_NOMEM, "no memory for a log");
    }
    init_threads(log, options->with);
    if (options->store) join_shared(log, options);
    log->read_only = options->read_only;
    log->adopts = options->adopt;
    log->looked_lsn = -1;
    if (options->path && !log->read_only) tfy__kill_arm();
    log->forgets = !options->path && options->forgets;
    log->inline_only = options->no_thread || (!options->path && !log->shared) || tfy__kill_inline();
    log->wall_ms = options->wall_ms ? options->wall_ms : real_ms;
    log->clock_state = options->clock_state;
    log->by_hand_ms = options->by_hand_ms;
    log->mark_every = options->mark_every ? options->mark_every : MARK_EVERY;
    int code = options->path ? set_path(log, options->path, error_text) : 0;
    if (!code) code = open_store(log, options, error_text);
    if (!code) {
        log->store->fault = options->fault;
        log->store->fault_state = options->fault_state;
        log->store->wal_limit = options->wal_pages ? options->wal_pages : WAL_PAGES;
        code = read_log(log, error_text);
    }
    if (!code && !log->read_only) code = begin_writing(log, error_text);
    if (code) {
        if (options->with) tfy__writer_stop(log);
        free_log(log, false);
        return code;
    }
    *result = log;
    return 0;
}

int tfy__log_close(TfyLog *log, bool clean)
{
    return tfy__log_close_saying(log, clean, NULL);
}

int tfy__log_close_saying(TfyLog *log, bool clean, char *error_text)
{
    if (!log) return 0;
    if (log->read_only) {
        free_log(log, false);
        return 0;
    }
    tfy__log_flush(log);
    tfy__writer_stop(log);
    if (clean && !log->shared && !tfy__log_error(log) && !tfy__log_full(log)) {
        if (tfy__mark_add(log, true) != 0) tfy__writer_fail(log, TFY_E_NOMEM, "memory ran out");
        tfy__writer_hand_over(log);
    }
    const int code = tfy__log_full(log) ? TFY_E_IO : tfy__log_error(log);
    if (code && error_text) tfy__log_error_text(log, error_text);
    free_log(log, clean && !code);
    return code;
}

const char *tfy__log_path(const TfyLog *log)
{
    return log->path;
}

int64_t tfy__log_epoch(const TfyLog *log)
{
    return log->shared ? log->session : log->meta.epoch;
}

const uint8_t *tfy__log_uuid(const TfyLog *log)
{
    return log->meta.db;
}

TfyLogTask *tfy__log_self(TfyLog *log)
{
    return &log->self;
}

/* ---- rows ---- */

/* Whether rows may be queued now: 0, or why not. */
static int writable(const TfyLog *log)
{
    return log->read_only ? TFY_E_STATE : tfy__log_error(log);
}

/* A row that could not even be copied is missing from the log forever: that is a failure like a failed write. */
static int queued(TfyLog *log, int code)
{
    if (code) tfy__writer_fail(log, code, "memory ran out");
    return code;
}

static int remember_program(TfyLog *log, const uint8_t hash[16], int64_t id)
{
    if (!GROW(log->programs, log->program_cap, log->program_count + 1, 4)) return TFY_E_NOMEM;
    memcpy(log->programs[log->program_count].hash, hash, 16);
    CHECK(id > 0);
    log->programs[log->program_count++].id = id;
    return 0;
}

static int find_program(TfyLog *log, const uint8_t hash[16], int64_t *id)
{
    TfyStoreProgram program;
    pthread_mutex_lock(&log->store_mutex);
    int code = TFY_STORE(log->store, TFY_CALL_READ, look);
    if (!code) {
        code = TFY_STORE(log->store, TFY_CALL_READ, get_program, 0, hash, &program);
        log->store->ops->look_away(log->store);
    }
    pthread_mutex_unlock(&log->store_mutex);
    if (!code) *id = program.id;
    return code;
}

int64_t tfy__log_program(TfyLog *log, const uint8_t hash[16], const char *tfyc, const char *source, const char *layout)
{
    for (size_t i = 0; i < log->program_count; i++) {
        if (memcmp(log->programs[i].hash, hash, 16) == 0) return log->programs[i].id;
    }
    int64_t id = 0;
    int code = find_program(log, hash, &id);
    if (code == TFY_E_ABSENT && !log->shared) {
        if ((code = writable(log))) return code;
        TfyStoreProgram program = {.id = log->next_program, .tfyc = tfyc, .source = source, .layout = layout};
        memcpy(program.hash, hash, 16);
        if ((code = queued(log, tfy__batch_add_program(log->filling, &program)))) return code;
        id = log->next_program++;
    }
    if (!code) code = remember_program(log, hash, id);
    return code ? code : id;
}

static int queue_run(TfyLog *log, const TfyLogRun *run, TfyRunPut put)
{
    const int code = writable(log);
    return code || log->forgets ? code : queued(log, tfy__mark_run_row(log, run, put));
}

int tfy__log_begin_run(TfyLog *log, TfyLogRun *run)
{
    CHECK(log->shared ? run->id > 0 : log->next_run > 0);
    if (!log->shared && writable(log) == 0) run->id = log->next_run++;
    run->state = TFY_TASK_READY;
    return queue_run(log, run, TFY_RUN_BEGINS);
}

int tfy__log_end_run(TfyLog *log, const TfyLogRun *run)
{
    CHECK(run->id > 0 && (log->shared || run->id < log->next_run));
    return queue_run(log, run, TFY_RUN_ENDS);
}

int tfy__log_change_run(TfyLog *log, const TfyLogRun *run)
{
    CHECK(run->id > 0 && (log->shared || run->id < log->next_run));
    return queue_run(log, run, TFY_RUN_CHANGES);
}

/* ---- numbers ---- */

enum { SLOT_SHIFT = 32 };

bool tfy__log_shared(const TfyLog *log)
{
    return log->shared;
}

int64_t tfy__log_coming_tid(const TfyLog *log, const TfyLogRun *run)
{
    return log->shared ? (int64_t)run->owned.tasks + 1 : log->next_tid;
}

int64_t tfy__log_next_tid(TfyLog *log, TfyLogRun *run)
{
    if (!log->shared) return log->next_tid++;
    CHECK(run && run->owned.slot);
    return tfy__log_owned_tid(run, ++run->owned.tasks);
}

void tfy__log_own(TfyLog *log, TfyLogRun *run, uint32_t tasks)
{
    CHECK(log->shared);
    run->owned = (TfyLogOwned){.slot = ++log->slots, .tasks = tasks};
}

int64_t tfy__log_owned_tid(const TfyLogRun *run, int64_t stored)
{
    return (int64_t)run->owned.slot << SLOT_SHIFT | stored;
}

int64_t tfy__log_stored_tid(const TfyLog *log, int64_t tid)
{
    return log->shared ? tid & ((INT64_C(1) << SLOT_SHIFT) - 1) : tid;
}

static int64_t next_lsn(const TfyLog *log, const TfyLogTask *task)
{
    return log->shared ? task->run->lsn + 1 : log->last + 1;
}

void tfy__log_add_task(TfyLog *log, TfyLogTask *task)
{
    static const uint8_t nobody[16];
    if (log->forgets || writable(log) != 0) return;
    TfyStoreTask row;
    /* A root's first record is appended next; its row is queued before it, so that both are in one commit. */
    if (!task->born) task->born = next_lsn(log, task);
    tfy__mark_task_row(log, task, &row);
    row.head = row.base = task->head = strchr(task->path, '.') ? task->born : 0;
    row.chain = row.base_chain = task->chain = tfy__chain_seed(task->run ? task->run->uuid : nobody, task->path);
    queued(log, tfy__batch_add_task(log->filling, &row, true));
}

void tfy__log_forget_task(TfyLog *log, TfyLogTask *task)
{
    if (!task->dirty) return;
    tfy__mark_untouch(log, task);
    if (writable(log) != 0) return;
    TfyStoreTask row;
    tfy__mark_task_row(log, task, &row);
    queued(log, tfy__batch_add_task(log->filling, &row, false));
}

/* ---- records ---- */

/* Seals a numbered record, and adds it to the batch. */
static int keep_record(TfyLog *log, TfyLogTask *task, TfyLogRecord *record)
{
    record->run = task->run ? task->run->id : 0;
    record->tid = tfy__log_stored_tid(log, task->tid);
    record->prev = task->head;
    record->chain = tfy__chain_next(task->chain, record);
    CHECK(record->prev < record->lsn);
    CHECK(log->shared ? record->tid && record->tid <= task->run->owned.tasks : record->tid < log->next_tid);
    CHECK(!record->tid || (task->born && task->born <= record->lsn));
    const int code = queued(log, tfy__batch_add_record(log->filling, record, log->last + 1));
    if (code) return code;
    task->chain = record->chain;
    if (!log->shared) tfy__mark_count(log, record);
    tfy__mark_touch(log, task);
    return 0;
}

/* Whoever continues a run from its newest snapshot finds its tasks as of then in their rows. */
static int note_snapshot(TfyLog *log, TfyLogRun *run)
{
    run->snap = run->lsn;
    return queued(log, tfy__mark_run(log, run));
}

/* Numbers the record, and keeps it. */
static TfyTicket add_record(TfyLog *log, TfyLogTask *task, TfyLogRecord *record)
{
    int code = writable(log);
    if (code) return code;
    if (record->payload_len > PAYLOAD_MAX) return TFY_E_INVALID;
    if (log->shared && !task->run) return TFY_E_STATE; /* nobody's chain does not exist there */
    record->lsn = next_lsn(log, task);
    CHECK(record->type);
    CHECK(task->head < record->lsn);
    if (log->forgets) atomic_store_explicit(&log->durable, record->lsn, memory_order_release);
    if (!log->forgets && (code = keep_record(log, task, record))) return code;
    task->head = record->lsn;
    if (record->step > task->step) task->step = record->step;
    if (log->shared) task->run->lsn = record->lsn;
    log->last++;
    log->last_ms = record->ts_ms;
    CHECK(log->shared || log->last == record->lsn);
    CHECK(tfy__log_durable_lsn(log) <= log->last);
    if (log->shared && record->type == TFY_R_SNAPSHOT && (code = note_snapshot(log, task->run))) return code;
    return tfy__log_last(log);
}

TfyTicket tfy__log_copy(TfyLog *log, TfyLogTask *task, const TfyLogRecord *from)
{
    TfyLogRecord record = *from;
    return add_record(log, task, &record);
}

TfyTicket tfy__log_copy_behind_gap(TfyLog *log, TfyLogTask *task, const TfyLogRecord *from, uint64_t chain)
{
    const TfyStoreGap gap = {.run = task->run->id, .lsn = next_lsn(log, task), .below = task->head, .chain = chain};
    int code = writable(log);
    if (!code) code = queued(log, tfy__batch_add_gap(log->filling, &gap));
    if (code) return code;
    task->chain = chain;
    return tfy__log_copy(log, task, from);
}

TfyTicket tfy__log_append(TfyLog *log, TfyLogTask *task, TfyRecordType type, int64_t step, uint32_t point,
                          const char *payload, size_t payload_len)
{
    if (payload_len > PAYLOAD_MAX) return TFY_E_INVALID;
    TfyLogRecord record = {.ts_ms = log->forgets ? 0 : log->wall_ms(log->clock_state),
                           .step = step,
                           .point = point,
                           .v = TFY_RECORD_V,
                           .type = (uint8_t)type,
                           .payload_len = (uint32_t)payload_len,
                           .payload = payload};
    return add_record(log, task, &record);
}

TfyTicket tfy__log_append_payload(TfyLog *log, TfyLogTask *task, TfyRecordType type, int64_t step, uint32_t point,
                                  TfyBuffer *payload)
{
    const TfyTicket ticket =
        payload->failed ? TFY_E_NOMEM : tfy__log_append(log, task, type, step, point, payload->data, payload->len);
    tfy__buffer_free(payload);
    return ticket;
}

TfyTicket tfy__log_opened(TfyLog *log, const char *version, const char *how)
{
    TfyBuffer out = {0};
    CHECK(!log->shared);
    tfy__put_begin(&out);
    tfy__put_int(&out, TFY_P_EPOCH, tfy__log_epoch(log));
    tfy__put_int(&out, TFY_P_PID, getpid());
    tfy__put_text(&out, TFY_P_VERSION, version);
    if (how) tfy__put_text(&out, TFY_P_WHY, how);
    tfy__put_end(&out);
    return tfy__log_append_payload(log, tfy__log_self(log), TFY_R_OPENED, 0, 0, &out);
}

void tfy__log_give_up(TfyLog *log, const char *why)
{
    pthread_mutex_lock(&log->writer->mutex);
    tfy__writer_fail(log, TFY_E_NOMEM, why);
    pthread_mutex_unlock(&log->writer->mutex);
}

#ifdef TFY_POISON
static const TfyTicket apart = INT64_C(1) << 40;
#else
static const TfyTicket apart = 0;
#endif

TfyTicket tfy__log_last(const TfyLog *log)
{
    return log->last + apart;
}

TfyTicket tfy__log_durable(const TfyLog *log)
{
    return tfy__log_durable_lsn(log) + apart;
}

int64_t tfy__log_last_lsn(const TfyLog *log)
{
    return log->last;
}

int64_t tfy__log_last_ms(const TfyLog *log)
{
    return log->last_ms;
}

int64_t tfy__log_durable_lsn(const TfyLog *log)
{
    return atomic_load(&((TfyLog *)log)->durable);
}

int tfy__log_error(const TfyLog *log)
{
    return atomic_load(&log->writer->error);
}

void tfy__log_error_text(TfyLog *log, char *error_text)
{
    TfyWriter *writer = log->writer;
    pthread_mutex_lock(&writer->mutex);
    const bool full = tfy__log_full(log) && !tfy__log_error(log);
    const char *why = full ? writer->notice_text : writer->error_text;
    if (writer->files_lost)
        tfy__log_refuse(error_text, 0, "%s%s", log->path, writer->error_text);
    else if (log->shared)
        tfy__log_refuse(error_text, 0, "this process writes no more to the database: %s", why);
    else
        tfy__log_refuse(error_text, 0, "the log %s could not be written (%s); the last record that is safe is %" PRId64,
                        log->path ? log->path : "in memory", why, tfy__log_durable_lsn(log));
    pthread_mutex_unlock(&writer->mutex);
}

bool tfy__log_full(const TfyLog *log)
{
    return atomic_load(&log->writer->full);
}

bool tfy__log_notice(TfyLog *log, char *text)
{
    TfyWriter *writer = log->writer;
    if (!atomic_load(&writer->notice)) return false;
    pthread_mutex_lock(&writer->mutex);
    const bool is_new = atomic_exchange(&writer->notice, false); /* another loop may have been first */
    if (is_new) snprintf(text, TFY_ERROR_TEXT, "%s", writer->notice_text);
    pthread_mutex_unlock(&writer->mutex);
    return is_new;
}

/* ---- handing over ---- */

void tfy__log_look(TfyLog *log)
{
    if (log->path && writable(log) == 0) tfy__writer_look(log);
}

void tfy__log_flush(TfyLog *log)
{
    if (writable(log) != 0) return;
    if (tfy__mark_due(log) && queued(log, tfy__mark_add(log, false)) != 0) return;
    if (log->filling->len || tfy__log_full(log)) tfy__writer_hand_over(log);
}

int tfy__log_event_fd(const TfyLog *log)
{
    return log->event_fd;
}

void tfy__log_event_clear(TfyLog *log)
{
    uint64_t count;
    /* An empty descriptor is fine, too: another event cleared it. */
    if (log->event_fd >= 0 && read(log->event_fd, &count, sizeof count) < 0) return;
}

bool tfy__log_write(TfyLog *log)
{
    return writable(log) == 0 && tfy__writer_round(log);
}

int tfy__log_sync(TfyLog *log)
{
    const int code = writable(log);
    if (code) return code;
    tfy__log_flush(log);
    return tfy__writer_wait(log);
}
