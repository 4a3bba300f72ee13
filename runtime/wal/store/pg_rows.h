/* pg_rows.h: parameters and results of statements, in PostgreSQL's binary format: numbers with the most significant byte
 * first, texts and bytes as they are. Many rows are one statement with an array for each column. */
#ifndef WAL_STORE_PG_ROWS_H
#define WAL_STORE_PG_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "wal/store/pg_api.h"

/* Numbers of types. */
enum {
    TFY_PG_BYTES = 17,
    TFY_PG_I8 = 20,
    TFY_PG_I2 = 21,
    TFY_PG_I4 = 23,
    TFY_PG_TEXT = 25,
    TFY_PG_F8 = 701,
    TFY_PG_UUID = 2950
};

/* An array of one dimension that is being filled. A zeroed struct is an empty one without a type. */
typedef struct TfyPgColumn {
    TfyBuffer bytes; /* the array's head, then a length and a value for each row */
    uint32_t count;
} TfyPgColumn;

void tfy__pg_column_start(TfyPgColumn *column, uint32_t type); /* empty, keeps its memory */
void tfy__pg_column_word(TfyPgColumn *column, uint32_t type, int64_t word);
void tfy__pg_column_bytes(TfyPgColumn *column, const void *bytes, size_t len); /* NULL: null */
void tfy__pg_column_free(TfyPgColumn *column);

enum { TFY_PG_PARAMETERS = 64 };

/* The least role that may send a statement (pg_roles.h), for messages. */
typedef enum TfyPgRole {
    TFY_PG_ANYBODY, /* as the connection says */
    TFY_PG_READER,
    TFY_PG_SENDER,
    TFY_PG_WORKER,
    TFY_PG_GC,
    TFY_PG_OWNER
} TfyPgRole;

/* A statement with its parameters, which are borrowed except for the words. */
typedef struct TfyPgAsk {
    const char *text;
    const char *what; /* for messages: "append records" */
    TfyPgRole needs;
    int prepared; /* its number among a connection's prepared statements; -1: it is none */
    int count;
    const char *values[TFY_PG_PARAMETERS];
    int lengths[TFY_PG_PARAMETERS];
    uint32_t types[TFY_PG_PARAMETERS]; /* 0: the statement says */
    uint8_t words[TFY_PG_PARAMETERS][8];
} TfyPgAsk;

void tfy__pg_ask_word(TfyPgAsk *ask, int64_t word); /* int8 */
void tfy__pg_ask_half(TfyPgAsk *ask, int32_t word); /* int4 */
void tfy__pg_ask_float(TfyPgAsk *ask, double number);
void tfy__pg_ask_bytes(TfyPgAsk *ask, const void *bytes, size_t len, uint32_t type); /* NULL: null */
/* The column must not change before the statement was queued. False: it had no memory, or is too large. */
bool tfy__pg_ask_column(TfyPgAsk *ask, TfyPgColumn *column);

/* A value of a result: a number of 2, 4 or 8 bytes, or a truth; null: 0. */
int64_t tfy__pg_word(const TfyPgApi *api, const TfyPgResult *result, int row, int column);
double tfy__pg_float(const TfyPgApi *api, const TfyPgResult *result, int row, int column);
/* 16 bytes; false: it is something else. */
bool tfy__pg_id(const TfyPgApi *api, const TfyPgResult *result, int row, int column, uint8_t id[16]);

#endif
