/* terminal.c: see terminal.h. */
#include "terminal.h"
#include "shown.h"
#include "utf8.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CHUNK 512 /* bytes per write, while so many are left */

/* A stream that goes to a terminal. */
typedef struct Guard {
    FILE *stream; /* NULL: it is not a terminal */
    int fd;
    bool codes;   /* the terminal must obey what comes */
    char held[4]; /* the start of a character whose rest has not arrived */
    size_t held_len;
} Guard;

/* Bytes on their way to the terminal. */
typedef struct Chunk {
    int fd, error;
    size_t len;
    char bytes[CHUNK];
} Chunk;

static Guard guards[] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};

/* Returns 0 or an errno value. Another process may have made the terminal nonblocking. */
static int write_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        const ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno != EINTR && errno != EAGAIN) return errno;
        if (n < 0 && errno == EAGAIN) poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        if (n > 0) bytes += n;
        if (n > 0) len -= (size_t)n;
    }
    return 0;
}

static void flush_chunk(Chunk *chunk)
{
    if (!chunk->error) chunk->error = write_all(chunk->fd, chunk->bytes, chunk->len);
    chunk->len = 0;
}

static void put(void *to, const char *bytes, size_t len)
{
    Chunk *chunk = to;
    if (len > CHUNK - chunk->len) flush_chunk(chunk);
    if (len > CHUNK) {
        if (!chunk->error) chunk->error = write_all(chunk->fd, bytes, len);
        return;
    }
    memcpy(chunk->bytes + chunk->len, bytes, len);
    chunk->len += len;
}

/* Completes the held character with the first bytes of a text; returns how many of them it used. */
static size_t complete(Guard *guard, const char *bytes, size_t len, Chunk *chunk)
{
    size_t taken = 0;
    while (guard->held_len && taken < len) {
        const bool goes_on = ((unsigned char)bytes[taken] & 0xc0) == 0x80;
        if (goes_on) guard->held[guard->held_len++] = bytes[taken++];
        if (goes_on && tfy__utf8_torn_tail(guard->held, guard->held_len)) continue;
        tfy__shown_each(guard->held, guard->held_len, put, chunk);
        guard->held_len = 0;
    }
    return taken;
}

static void show(Guard *guard, const char *bytes, size_t len, Chunk *chunk)
{
    const size_t taken = complete(guard, bytes, len, chunk);
    bytes += taken;
    len -= taken;
    const size_t torn = tfy__utf8_torn_tail(bytes, len);
    tfy__shown_each(bytes, len - torn, put, chunk);
    if (!torn) return;
    memcpy(guard->held, bytes + len - torn, torn);
    guard->held_len = torn;
}

static ssize_t write_stream(void *cookie, const char *bytes, size_t len)
{
    Guard *guard = cookie;
    Chunk chunk = {.fd = guard->fd};
    if (guard->codes)
        put(&chunk, bytes, len);
    else
        show(guard, bytes, len, &chunk);
    flush_chunk(&chunk);
    errno = chunk.error;
    return chunk.error ? 0 : (ssize_t)len;
}

/* Bytes still held at exit are not a character. */
static void at_end(void)
{
    for (size_t i = 0; i < sizeof guards / sizeof *guards; i++) {
        Guard *guard = &guards[i];
        Chunk chunk = {.fd = guard->fd};
        if (!guard->stream) continue;
        fflush(guard->stream);
        tfy__shown_each(guard->held, guard->held_len, put, &chunk);
        flush_chunk(&chunk);
        guard->held_len = 0;
    }
}

/* Returns the guarded stream, or the original if it is not a terminal. */
static FILE *guarded(Guard *guard, FILE *stream, int buffering)
{
    if (!isatty(guard->fd)) return stream;
    guard->stream = fopencookie(guard, "w", (cookie_io_functions_t){.write = write_stream});
    if (!guard->stream) abort(); /* without memory this early, no process can run */
    setvbuf(guard->stream, NULL, buffering, BUFSIZ);
    return guard->stream;
}

void tfy__terminal_guard(void)
{
    stdout = guarded(&guards[0], stdout, _IOLBF);
    stderr = guarded(&guards[1], stderr, _IONBF);
    if (guards[0].stream || guards[1].stream) atexit(at_end);
}

void tfy__terminal_codes(FILE *out, const char *codes)
{
    Guard *guard = out == guards[0].stream ? &guards[0] : out == guards[1].stream ? &guards[1] : NULL;
    if (!*codes) return;
    flockfile(out);
    fflush(out);
    if (guard) guard->codes = true;
    fputs(codes, out);
    fflush(out);
    if (guard) guard->codes = false;
    funlockfile(out);
}

int tfy__terminal_columns(int fd)
{
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
