/* store.c: what both stores share: sums of rows, the first rows of a new database, refusals. */
#include "wal/store/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <endian.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

int tfy__log_refuse(char *error_text, int code, const char *format, ...)
{
    if (error_text) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error_text, TFY_ERROR_TEXT, format, arguments);
        va_end(arguments);
    }
    return code;
}

/* A sum is a chain of hashes over a row's columns in the schema's order; the hash of each column is seeded with the
 * previous one. */
static uint64_t add_words(uint64_t sum, const int64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t little = htole64((uint64_t)words[i]);
        sum = XXH3_64bits_withSeed(&little, sizeof little, sum);
    }
    return sum;
}

static uint64_t add_text(uint64_t sum, const char *text)
{
    return XXH3_64bits_withSeed(text, strlen(text), sum);
}

#define ADD_WORDS(sum, ...)                                                                                            \
    add_words(sum, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

uint64_t tfy__store_sum_meta(const TfyStoreMeta *meta)
{
    uint64_t sum = ADD_WORDS(XXH3_64bits(meta->db, 16), meta->epoch);
    sum = add_text(sum, meta->owner);
    return ADD_WORDS(sum, meta->dev, meta->ino, meta->clean, meta->next_lsn, meta->next_tid, meta->mark, meta->base,
                     (int64_t)meta->base_chain);
}

uint64_t tfy__store_sum_program(const TfyStoreProgram *program)
{
    uint64_t sum = ADD_WORDS(XXH3_64bits(program->hash, 16), program->id);
    return add_text(add_text(add_text(sum, program->tfyc), program->source), program->layout);
}

uint64_t tfy__store_sum_run(const TfyLogRun *run)
{
    const uint64_t sum = ADD_WORDS(XXH3_64bits(run->uuid, 16), run->id, run->program, run->root, run->state,
                                   run->started_ms, run->ended_ms, run->imported);
    const uint64_t own = run->origin_lsn ? ADD_WORDS(XXH3_64bits_withSeed(run->origin, 16, sum), run->origin_lsn) : sum;
    const uint64_t parked = run->parked_ms ? ADD_WORDS(own, run->parked_ms, run->parked_at_ms) : own;
    const uint64_t moved = run->moved_lsn ? ADD_WORDS(parked, run->moved_lsn) : parked;
    const uint64_t base = run->base_lsn ? ADD_WORDS(moved, run->base_lsn) : moved;
    return run->options_lsn ? ADD_WORDS(base, run->options_lsn) : base;
}

void tfy__store_origin_blob(const TfyLogRun *run, uint8_t blob[TFY_ORIGIN_SIZE])
{
    const uint64_t lsn = htobe64((uint64_t)run->origin_lsn);
    memcpy(blob, run->origin, 16);
    memcpy(blob + 16, &lsn, sizeof lsn);
}

bool tfy__store_origin_read(TfyLogRun *run, const void *blob, int size)
{
    uint64_t lsn;
    if (!blob && !size) return true;
    if (size != TFY_ORIGIN_SIZE) return false;
    memcpy(run->origin, blob, 16);
    memcpy(&lsn, (const uint8_t *)blob + 16, sizeof lsn);
    run->origin_lsn = (int64_t)be64toh(lsn);
    return run->origin_lsn > 0;
}

uint64_t tfy__store_sum_task(const TfyStoreTask *task)
{
    uint64_t sum = add_text(ADD_WORDS(0, task->tid, task->run), task->path);
    return ADD_WORDS(sum, task->program, task->born, task->head, (int64_t)task->chain, task->step, task->state,
                     task->wait);
}

uint64_t tfy__store_mark_seed(const uint8_t db[16])
{
    return XXH3_64bits(db, 16);
}

uint64_t tfy__store_mark_chain(uint64_t previous, const TfyStoreMark *mark)
{
    return ADD_WORDS(previous, mark->lsn, mark->epoch, mark->rows, (int64_t)mark->sum);
}

uint64_t tfy__store_segment_part(const TfyLogRecord *record)
{
    const uint64_t words[4] = {htole64((uint64_t)record->lsn), htole64((uint64_t)record->tid),
                               htole64((uint64_t)record->prev), htole64(record->chain)};
    return XXH3_64bits(words, sizeof words);
}

int tfy__store_found(TfyStore *store)
{
    static const uint8_t nobody[16];
    TfyStoreMeta meta = {.clean = 1, .next_lsn = 1, .next_tid = 1};
    if (getrandom(meta.db, sizeof meta.db, 0) != (ssize_t)sizeof meta.db) return TFY_E_IO;
    meta.base_chain = tfy__store_mark_seed(meta.db);
    TfyStoreMark mark = {.lsn = 0};
    mark.chain = tfy__store_mark_chain(meta.base_chain, &mark);
    const uint64_t seed = tfy__chain_seed(nobody, "");
    const TfyStoreTask self = {.path = "", .base_chain = seed, .chain = seed};
    int code = store->ops->put_meta(store, &meta);
    if (!code) code = store->ops->put_mark(store, &mark);
    return code ? code : store->ops->put_task(store, &self, true);
}
