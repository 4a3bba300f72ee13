/* source.c: loading files, and turning global offsets back into lines and columns. */
#include "source.h"
#include "../runtime/base/list.h"
#include "bug.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void source_set_init(SourceSet *set, Arena *arena)
{
    *set = (SourceSet){.arena = arena};
}

static uint32_t count_lines(const char *text, size_t len)
{
    uint32_t count = 1;
    for (size_t i = 0; i < len; i++) count += text[i] == '\n';
    return count;
}

/* One offset more than the bytes: the end of a file is a position of its own. */
static Source *append_source(SourceSet *set, const char *name, const char *text, size_t len)
{
    Source *source = arena_new(set->arena, Source);
    source->name = arena_strndup(set->arena, name, strlen(name));
    source->text = text;
    CHECK(len < UINT32_MAX - set->next_base); /* every byte has an offset of its own */
    source->len = (uint32_t)len;
    source->base = set->next_base;
    source->line_base = set->next_line_base;
    set->next_base += source->len + 1;
    set->next_line_base += count_lines(text, len);
    LIST_APPEND(set, source, next);
    return source;
}

Source *source_add(SourceSet *set, const char *name, const char *text, size_t len)
{
    return append_source(set, name, arena_strndup(set->arena, text, len), len);
}

/* Reads to the end; pipes and growing files have no size to trust. Returns an errno value. */
static int read_all(Arena *arena, int fd, char **text, size_t *len)
{
    uint32_t cap = 0, used = 0;
    char *bytes = NULL;
    for (;;) {
        bytes = arena_grow(arena, bytes, &cap, used + (64u << 10), 1);
        ssize_t got = read(fd, bytes + used, cap - used - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        if (got == 0) break;
        used += (uint32_t)got;
        if (used > SOURCE_MAX) return EFBIG;
    }
    bytes[used] = 0;
    *text = bytes;
    *len = used;
    return 0;
}

static int read_file(Arena *arena, const char *path, char **text, size_t *len)
{
    bool standard_input = strcmp(path, "-") == 0;
    int fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    int error = read_all(arena, fd, text, len);
    if (!standard_input) close(fd);
    return error;
}

Source *source_load(SourceSet *set, const char *path, int *error)
{
    char *text = NULL;
    const char *held;
    size_t len = 0;
    *error = EFBIG;
    if (set->next_base > UINT32_MAX - SOURCE_MAX - 2) return NULL;
    *error = set->overlay ? set->overlay(set->overlay_state, path, &held, &len) : ENOENT;
    if (*error == 0) return source_add(set, path, held, len);
    if (*error == ENOENT) *error = read_file(set->arena, path, &text, &len);
    return *error ? NULL : append_source(set, strcmp(path, "-") == 0 ? "<stdin>" : path, text, len);
}

Source *source_of(const SourceSet *set, uint32_t off)
{
    for (Source *source = set->first; source; source = source->next)
        if (off >= source->base && off - source->base <= source->len) return source;
    return NULL;
}

static void index_lines(const SourceSet *set, Source *source)
{
    uint32_t count = count_lines(source->text, source->len);
    uint32_t *starts = arena_alloc(set->arena, count * sizeof *starts);
    uint32_t line = 1;
    for (uint32_t i = 0; i < source->len; i++)
        if (source->text[i] == '\n') starts[line++] = i + 1;
    CHECK(line == count);
    source->line_starts = starts;
    source->line_count = count;
}

static uint32_t line_index_of(const Source *source, uint32_t local)
{
    uint32_t low = 0, high = source->line_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (source->line_starts[middle] <= local) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

LineCol source_line_col(const SourceSet *set, uint32_t off)
{
    Source *source = source_of(set, off);
    if (!source) return (LineCol){NULL, 1, 1};
    if (!source->line_starts) index_lines(set, source);
    uint32_t local = off - source->base;
    uint32_t line = line_index_of(source, local);
    CHECK(source->line_starts[line] <= local);
    uint32_t col = 1;
    for (uint32_t i = source->line_starts[line]; i < local; i++) col += ((unsigned char)source->text[i] & 0xc0) != 0x80;
    return (LineCol){source, line + 1, col};
}

uint32_t source_line_of(const SourceSet *set, uint32_t off, uint32_t *start)
{
    Source *source = source_of(set, off);
    CHECK(source);
    if (!source->line_starts) index_lines(set, source);
    uint32_t line = line_index_of(source, off - source->base);
    *start = source->line_starts[line];
    return line + 1;
}

uint32_t source_global_line(const SourceSet *set, uint32_t off)
{
    LineCol at = source_line_col(set, off);
    return at.source ? at.source->line_base + at.line : at.line;
}

const char *source_line(const Source *source, uint32_t line, uint32_t *len)
{
    *len = 0;
    if (!source->line_starts || line == 0 || line > source->line_count) return "";
    uint32_t start = source->line_starts[line - 1];
    uint32_t end = line < source->line_count ? source->line_starts[line] - 1 : source->len;
    if (end > start && source->text[end - 1] == '\r') end--;
    *len = end - start;
    return source->text + start;
}

const char *source_text(const SourceSet *set, Span span)
{
    const Source *source = source_of(set, span.off);
    CHECK(!source || span.off - source->base + span.len <= source->len); /* a span is within one file */
    return source ? source->text + (span.off - source->base) : "";
}
