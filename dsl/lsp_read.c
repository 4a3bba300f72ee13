/* lsp_read.c: cutting the stream into messages. */
#include "lsp_read.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "bug.h"

static const char length_word[] = "Content-Length:";

void lsp_reader_deinit(LspReader *reader)
{
    arena_deinit(&reader->arena);
    *reader = (LspReader){0};
}

static void use_up(LspReader *reader, size_t len)
{
    reader->at += len;
    CHECK(reader->at <= reader->len);
    if (reader->at == reader->len) reader->at = reader->len = 0;
}

/* What was used up goes first, so the buffer holds one message and what arrived with its end. */
void lsp_reader_feed(LspReader *reader, const char *bytes, size_t len)
{
    size_t skipped = reader->skip < len ? reader->skip : len;
    reader->skip -= skipped;
    bytes += skipped;
    len -= skipped;
    if (!len) return;
    if (!reader->len && reader->cap > LSP_BUFFER_KEPT) lsp_reader_deinit(reader);
    if (reader->at) memmove(reader->bytes, reader->bytes + reader->at, reader->len - reader->at);
    reader->len -= reader->at;
    reader->at = 0;
    CHECK(reader->len + len <= UINT32_MAX / 4); /* a body is bounded, and so is what comes at once */
    reader->bytes = arena_regrow(&reader->arena, reader->bytes, &reader->cap, (uint32_t)(reader->len + len), 1);
    memcpy(reader->bytes + reader->len, bytes, len);
    reader->len += len;
}

/* The bytes of the head with its empty line, or 0 when that has not come. Lines end with \r\n; \n alone is taken
 * too. */
static size_t find_head_end(const char *head, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (head[i] != '\n') continue;
        if (i + 1 < len && head[i + 1] == '\n') return i + 2;
        if (i + 2 < len && head[i + 1] == '\r' && head[i + 2] == '\n') return i + 3;
    }
    return 0;
}

/* The number behind "Content-Length:", ended by blanks and the line's end; false when there is none or it is beyond
 * all measure. */
static bool read_number(const char *text, const char *end, size_t *number)
{
    while (text < end && *text == ' ') text++;
    const char *digits = text;
    for (*number = 0; text < end && *text >= '0' && *text <= '9' && *number <= LSP_SKIP_MAX; text++)
        *number = *number * 10 + (size_t)(*text - '0');
    bool some = text > digits;
    while (text < end && (*text == ' ' || *text == '\r')) text++;
    return some && text < end && *text == '\n' && *number <= LSP_SKIP_MAX;
}

static bool read_length(const char *head, size_t len, size_t *length)
{
    bool found = false;
    for (const char *line = head, *end = head + len; line < end;) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        bool names_length = (size_t)(end - line) >= sizeof length_word - 1 &&
                            strncasecmp(line, length_word, sizeof length_word - 1) == 0;
        if (names_length) {
            if (found || !read_number(line + sizeof length_word - 1, end, length)) return false;
            found = true;
        }
        line = line_end ? line_end + 1 : end;
    }
    return found;
}

/* To the next place behind this one where a head can start, or to where one may have started to arrive. A head that is
 * whole (head_len is not 0) and holds no such place goes with its empty line. */
static void pass_over_head(LspReader *reader, size_t head_len)
{
    const size_t word = sizeof length_word - 1;
    size_t i = reader->at + 1, end = head_len ? reader->at + head_len : reader->len;
    while (i + word <= end && strncasecmp(reader->bytes + i, length_word, word) != 0) i++;
    if (head_len && i + word > end) i = end;
    use_up(reader, i - reader->at);
}

LspReadResult lsp_reader_next(LspReader *reader, const char **body, size_t *len)
{
    const char *head = reader->bytes + reader->at;
    size_t there = reader->len - reader->at, length;
    if (!there) return LSP_READ_MORE;
    size_t head_len = find_head_end(head, there < LSP_HEAD_MAX ? there : LSP_HEAD_MAX);
    if (!head_len && there < LSP_HEAD_MAX) return LSP_READ_MORE;
    if (!head_len || !read_length(head, head_len, &length)) {
        pass_over_head(reader, head_len);
        return LSP_READ_BAD_HEAD;
    }
    if (length > LSP_BODY_MAX) {
        size_t known = there - head_len < length ? there - head_len : length;
        reader->skip = length - known;
        use_up(reader, head_len + known);
        return LSP_READ_TOO_LARGE;
    }
    if (there - head_len < length) return LSP_READ_MORE;
    *body = head + head_len;
    *len = length;
    use_up(reader, head_len + length);
    return LSP_READ_MESSAGE;
}
