/* buffer.h: a growing byte buffer, used wherever the runtime builds text (records, events, messages, requests).
 *
 * Failure is sticky: once memory runs out, or the text would pass TFY_BUFFER_MAX, `failed` stays set and further
 * calls may add nothing. So a writer adds all its parts unchecked and tests `failed` once. The price: nobody learns
 * which part failed. */
#ifndef TFY_BASE_BUFFER_H
#define TFY_BASE_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A value that shares its parts can encode to far more bytes than it occupies. This bound keeps such a text from
 * exhausting the machine's memory. */
#define TFY_BUFFER_MAX ((size_t)1 << 30)

/* A zeroed struct is an empty buffer. */
typedef struct TfyBuffer {
    char *data;     /* len bytes, then a NUL; NULL until something is added */
    size_t len;     /* bytes, without the NUL */
    size_t cap;     /* bytes allocated, with the NUL */
    bool failed;    /* an addition failed; data is incomplete */
    bool starved;   /* … because the system had no memory; otherwise the text hit its limit */
    uint32_t depth; /* the deepest nesting of containers that tfy__encode wrote into it */
    size_t max;     /* limit in bytes; 0: TFY_BUFFER_MAX */
    bool exact;     /* tfy__encode writes for tfy__decode_exact (json.h) */
} TfyBuffer;

/* tfy__buffer_reserve, where the room is not there yet. */
bool tfy__buffer_grow(TfyBuffer *buffer, size_t len);

/* Makes room for len more bytes and the NUL; false: failed. Records are built of many short pieces: while there is
 * room, adding one costs no call. */
static inline bool tfy__buffer_reserve(TfyBuffer *buffer, size_t len)
{
    return len < buffer->cap - buffer->len || tfy__buffer_grow(buffer, len);
}

static inline void tfy__buffer_add(TfyBuffer *buffer, const void *bytes, size_t len)
{
    if (!tfy__buffer_reserve(buffer, len)) return;
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

/* Adds a quoted JSON string. Invalid UTF-8 becomes U+FFFD, so the result is always valid JSON. */
void tfy__buffer_json_string(TfyBuffer *buffer, const char *bytes, size_t len);

/* Adds a word that a shell reads as this one: in quotes where it needs some. */
void tfy__buffer_shell_word(TfyBuffer *buffer, const char *word);

/* Adds a text as one part of an address or a form (RFC 3986, 2.3): all but letters, digits and -._~ is escaped. */
void tfy__buffer_url_part(TfyBuffer *buffer, const char *text, size_t len);

/* Adds text from outside, escaped for a terminal (shown.h). */
void tfy__buffer_shown(TfyBuffer *buffer, const char *text, size_t len);

void tfy__buffer_reset(TfyBuffer *buffer); /* empty, not failed; keeps its memory for reuse */
void tfy__buffer_free(TfyBuffer *buffer);  /* releases the memory; the buffer is empty and reusable */
void tfy__buffer_wipe(TfyBuffer *buffer);  /* the same of one that held a secret: its bytes are gone first */

#endif
