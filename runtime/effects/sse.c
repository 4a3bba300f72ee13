/* sse.c: see sse.h. */
#include "effects/sse.h"

static const char MARK[] = "\xef\xbb\xbf";

/* Bytes up to the end of the line, or all. */
static size_t line_len(const char *bytes, size_t len)
{
    const char *lf = memchr(bytes, '\n', len);
    const size_t most = lf ? (size_t)(lf - bytes) : len;
    const char *cr = memchr(bytes, '\r', most);
    return cr ? (size_t)(cr - bytes) : most;
}

static bool add(TfySse *sse, TfyBuffer *to, const char *bytes, size_t len)
{
    if (len < sse->most - to->len)
        tfy__buffer_add(to, bytes, len);
    else
        to->failed = true;
    sse->failed |= to->failed;
    return !sse->failed;
}

static void take_id(TfySse *sse, const char *value, size_t len)
{
    if (len > TFY_SSE_ID_MOST || memchr(value, '\0', len)) return;
    tfy__buffer_reset(&sse->id);
    add(sse, &sse->id, value, len);
}

/* Digits alone: a number of milliseconds. */
static void take_retry(TfySse *sse, const char *value, size_t len)
{
    int64_t ms = 0;
    for (size_t i = 0; i < len; i++) {
        if (value[i] < '0' || value[i] > '9') return;
        ms = ms * 10 + (value[i] - '0');
        if (ms > TFY_SSE_RETRY_MOST) ms = TFY_SSE_RETRY_MOST;
    }
    if (len) sse->retry_ms = ms;
}

static bool is_named(const char *line, size_t len, const char *name)
{
    return strlen(name) == len && memcmp(line, name, len) == 0;
}

/* "name: value": the value is what follows the colon, without one blank. */
static void take_field(TfySse *sse, const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len);
    const size_t name = colon ? (size_t)(colon - line) : len;
    size_t at = name + (colon != NULL);
    if (at < len && line[at] == ' ') at++;
    if (is_named(line, name, "data") && add(sse, &sse->data, line + at, len - at)) add(sse, &sse->data, "\n", 1);
    if (is_named(line, name, "id")) take_id(sse, line + at, len - at);
    if (is_named(line, name, "retry")) take_retry(sse, line + at, len - at);
}

static void keep_id(TfySse *sse)
{
    if (!sse->id.len) return;
    tfy__buffer_reset(&sse->last_id);
    add(sse, &sse->last_id, sse->id.data, sse->id.len);
}

/* False: nothing more is wanted. */
static bool end_event(TfySse *sse, TfySseTake *take, void *arg)
{
    keep_id(sse);
    if (!sse->data.len) return true;
    sse->data.data[--sse->data.len] = '\0';
    const bool more = take(arg, sse->data.data, sse->data.len);
    tfy__buffer_reset(&sse->data);
    return more;
}

/* A whole line; False: the stream has failed, or nothing more is wanted. */
static bool take_line(TfySse *sse, const char *line, size_t len, TfySseTake *take, void *arg)
{
    if (!sse->begun && len >= sizeof MARK - 1 && memcmp(line, MARK, sizeof MARK - 1) == 0) {
        line += sizeof MARK - 1;
        len -= sizeof MARK - 1;
    }
    sse->begun = true;
    if (!len) return end_event(sse, take, arg);
    take_field(sse, line, len);
    return !sse->failed;
}

bool tfy__sse_feed(TfySse *sse, const char *bytes, size_t len, TfySseTake *take, void *arg)
{
    if (!len) return !sse->failed; /* bytes may be NULL */
    const char *end = bytes + len;
    while (bytes < end && !sse->failed) {
        if (sse->after_cr && *bytes == '\n') {
            bytes++;
            sse->after_cr = false;
            continue;
        }
        sse->after_cr = false;
        const size_t n = line_len(bytes, (size_t)(end - bytes));
        const bool whole = bytes + n < end;
        if ((sse->line.len || !whole) && !add(sse, &sse->line, bytes, n)) break;
        if (!whole) return true;
        sse->after_cr = bytes[n] == '\r';
        const bool kept = sse->line.len;
        const bool more = take_line(sse, kept ? sse->line.data : bytes, kept ? sse->line.len : n, take, arg);
        tfy__buffer_reset(&sse->line);
        if (!more) return false;
        bytes += n + 1;
    }
    return !sse->failed;
}

void tfy__sse_free(TfySse *sse)
{
    tfy__buffer_free(&sse->line);
    tfy__buffer_free(&sse->data);
    tfy__buffer_free(&sse->id);
    tfy__buffer_free(&sse->last_id);
    *sse = (TfySse){.most = sse->most};
}
