/* buffer.h: a growing byte buffer, used wherever the runtime builds text (records, events, messages, requests).
 *
 * Failure is sticky: after memory ran out, or when the text would pass TFY_BUFFER_MAX, `failed` stays set and further
 * calls need not add anything. So a writer adds all its parts without looking and tests `failed` once. The price:
 * nobody learns which part failed. */
#ifndef TFY_BASE_BUFFER_H
#define TFY_BASE_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A value that shares its parts can encode to far more bytes than it occupies; this bound keeps such a text from
 * eating the machine. */
#define TFY_BUFFER_MAX ((size_t)1 << 30)

/* All zero is an empty buffer. */
typedef struct TfyBuffer {
    char *data;     /* len bytes, then a NUL; NULL while nothing was ever added */
    size_t len;     /* bytes, the NUL not counted */
    size_t cap;     /* bytes allocated, the NUL's included */
    bool failed;    /* something could not be added; what data holds is incomplete */
    bool starved;   /* … for the system had no memory; else it would have been too long for anybody */
    uint32_t depth; /* the deepest nesting of containers that tfy__encode wrote into it */
    size_t max;     /* bytes it may hold; 0: TFY_BUFFER_MAX */
    bool exact;     /* tfy__encode writes for tfy__decode_exact (json.h) */
} TfyBuffer;

/* Makes room for len more bytes and the NUL; false: failed. */
bool tfy__buffer_reserve(TfyBuffer *buffer, size_t len);

/* Records are built of many short pieces: while there is room, one costs no call. */
static inline void tfy__buffer_add(TfyBuffer *buffer, const void *bytes, size_t len)
{
    if (len >= buffer->cap - buffer->len && !tfy__buffer_reserve(buffer, len)) return;
    if (len) memcpy(buffer->data + buffer->len, bytes, len);
    buffer->len += len;
    buffer->data[buffer->len] = '\0';
}

static inline void tfy__buffer_char(TfyBuffer *buffer, char c)
{
    tfy__buffer_add(buffer, &c, 1);
}

static inline void tfy__buffer_text(TfyBuffer *buffer, const char *text) /* NUL-terminated */
{
    tfy__buffer_add(buffer, text, strlen(text));
}

void tfy__buffer_printf(TfyBuffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tfy__buffer_vprintf(TfyBuffer *buffer, const char *format, va_list args);
void tfy__buffer_int(TfyBuffer *buffer, int64_t value); /* decimal */

/* A JSON string with its quotes. Invalid UTF-8 becomes U+FFFD, so the result is always valid JSON. */
void tfy__buffer_json_string(TfyBuffer *buffer, const char *bytes, size_t len);

/* Text from outside for a terminal (shown.h). */
void tfy__buffer_shown(TfyBuffer *buffer, const char *text, size_t len);

void tfy__buffer_reset(TfyBuffer *buffer); /* empty, not failed; the memory is kept for the next use */
void tfy__buffer_free(TfyBuffer *buffer);  /* gives the memory back; the buffer is empty and usable again */

#endif
