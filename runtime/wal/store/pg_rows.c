/* pg_rows.c: see pg_rows.h. */
#include "wal/store/pg_rows.h"

#include <endian.h>
#include <limits.h>
#include <string.h>

#include "base/check.h"

/* The head of an array: dimensions, whether nulls are in it, type, length, number of the first one. */
enum { HEAD_DIMENSIONS = 0, HEAD_NULLS = 4, HEAD_TYPE = 8, HEAD_COUNT = 12, HEAD_FIRST = 16, HEAD_BYTES = 20 };

static void put_four(char *at, uint32_t word)
{
    const uint32_t big = htobe32(word);
    memcpy(at, &big, sizeof big);
}

/* The last bytes of a number are its least significant ones. */
static const void *big_word(uint32_t type, int64_t word, uint64_t *big, size_t *len)
{
    *len = type == TFY_PG_I2 ? 2 : type == TFY_PG_I4 ? 4 : 8;
    *big = htobe64((uint64_t)word);
    return (const char *)big + 8 - *len;
}

void tfy__pg_column_start(TfyPgColumn *column, uint32_t type)
{
    char head[HEAD_BYTES] = {0};
    put_four(head + HEAD_DIMENSIONS, 1);
    put_four(head + HEAD_TYPE, type);
    put_four(head + HEAD_FIRST, 1);
    tfy__buffer_reset(&column->bytes);
    tfy__buffer_add(&column->bytes, head, sizeof head);
    column->count = 0;
}

void tfy__pg_column_bytes(TfyPgColumn *column, const void *bytes, size_t len)
{
    char head[4];
    CHECK(column->bytes.len || column->bytes.failed);
    put_four(head, bytes ? (uint32_t)len : UINT32_MAX);
    tfy__buffer_add(&column->bytes, head, sizeof head);
    if (bytes)
        tfy__buffer_add(&column->bytes, bytes, len);
    else if (!column->bytes.failed)
        put_four(column->bytes.data + HEAD_NULLS, 1);
    column->count++;
}

void tfy__pg_column_word(TfyPgColumn *column, uint32_t type, int64_t word)
{
    uint64_t big;
    size_t len;
    const void *bytes = big_word(type, word, &big, &len);
    tfy__pg_column_bytes(column, bytes, len);
}

void tfy__pg_column_free(TfyPgColumn *column)
{
    tfy__buffer_free(&column->bytes);
}

static void ask_value(TfyPgAsk *ask, const void *bytes, size_t len, uint32_t type)
{
    CHECK(ask->count < TFY_PG_PARAMETERS);
    ask->values[ask->count] = bytes;
    ask->lengths[ask->count] = (int)len;
    ask->types[ask->count++] = type;
}

void tfy__pg_ask_bytes(TfyPgAsk *ask, const void *bytes, size_t len, uint32_t type)
{
    CHECK(len <= INT_MAX);
    ask_value(ask, bytes, len, type);
}

static void ask_word(TfyPgAsk *ask, uint32_t type, int64_t word)
{
    uint64_t big;
    size_t len;
    CHECK(ask->count < TFY_PG_PARAMETERS);
    const void *bytes = big_word(type, word, &big, &len);
    memcpy(ask->words[ask->count], bytes, len);
    ask_value(ask, ask->words[ask->count], len, type);
}

void tfy__pg_ask_word(TfyPgAsk *ask, int64_t word)
{
    ask_word(ask, TFY_PG_I8, word);
}

void tfy__pg_ask_half(TfyPgAsk *ask, int32_t word)
{
    ask_word(ask, TFY_PG_I4, word);
}

void tfy__pg_ask_float(TfyPgAsk *ask, double number)
{
    int64_t word;
    memcpy(&word, &number, sizeof word);
    ask_word(ask, TFY_PG_F8, word);
}

bool tfy__pg_ask_column(TfyPgAsk *ask, TfyPgColumn *column)
{
    if (column->bytes.failed || column->bytes.len > INT_MAX) return false;
    put_four(column->bytes.data + HEAD_COUNT, column->count);
    ask_value(ask, column->bytes.data, column->bytes.len, 0);
    return true;
}

int64_t tfy__pg_word(const TfyPgApi *api, const TfyPgResult *result, int row, int column)
{
    uint64_t big = 0;
    const int len = api->getlength(result, row, column);
    if (api->getisnull(result, row, column) || len < 1 || len > 8) return 0;
    const char *bytes = api->getvalue(result, row, column);
    if (len > 1 && *bytes & 0x80) big = UINT64_MAX;
    memcpy((char *)&big + 8 - len, bytes, (size_t)len);
    return (int64_t)be64toh(big);
}

double tfy__pg_float(const TfyPgApi *api, const TfyPgResult *result, int row, int column)
{
    double number;
    const int64_t word = tfy__pg_word(api, result, row, column);
    memcpy(&number, &word, sizeof number);
    return number;
}

bool tfy__pg_id(const TfyPgApi *api, const TfyPgResult *result, int row, int column, uint8_t id[16])
{
    if (api->getisnull(result, row, column) || api->getlength(result, row, column) != 16) return false;
    memcpy(id, api->getvalue(result, row, column), 16);
    return true;
}
