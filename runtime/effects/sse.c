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

/* The value of a field `data`: what follows the colon, without one blank. */
static void take_field(TfySse *sse, const char *line, size_t len)
{
    static const char DATA[] = "data";
    const size_t name = sizeof DATA - 1;
    if (len < name || memcmp(line, DATA, name) != 0 || (len > name && line[name] != ':')) return;
    size_t at = len > name ? name + 1 : len;
    if (at < len && line[at] == ' ') at++;
    if (add(sse, &sse->data, line + at, len - at)) add(sse, &sse->data, "\n", 1);
}

/* False: nothing more is wanted. */
static bool end_event(TfySse *sse, TfySseTake *take, void *arg)
{
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
    *sse = (TfySse){.most = sse->most};
}
