/* zone_file.c: see zone_file.h. The files are TZif (RFC 8536). */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/effect.h"
#include "effects/zone_file.h"
#include "value/clock.h"

#define FILE_MOST    65536 /* bytes of a zone's file; the largest of all has 4 kB */
#define HEADER       44
#define CHANGES_MOST 4096

/* The counts of a header, and its block of data. */
typedef struct Block {
    uint32_t isut, isstd, leap, changes, types, chars;
    const unsigned char *data;
} Block;

static int64_t read_signed(const unsigned char *at, int size)
{
    uint64_t value = 0;
    for (int i = 0; i < size; i++) value = value << 8 | at[i];
    return size == 8 ? (int64_t)value : (int32_t)(uint32_t)value;
}

static Block read_header(const unsigned char *at)
{
    uint32_t n[6];
    for (int i = 0; i < 6; i++) n[i] = (uint32_t)read_signed(at + 20 + 4 * i, 4);
    return (Block){n[0], n[1], n[2], n[3], n[4], n[5], at + HEADER};
}

/* The size of the block if a time has `time` bytes; SIZE_MAX: larger than any file. */
static size_t block_size(const Block *b, size_t time)
{
    if ((b->isut | b->isstd | b->leap | b->changes | b->types | b->chars) > CHANGES_MOST) return SIZE_MAX;
    return b->changes * (time + 1) + b->types * 6 + b->chars + b->leap * (time + 4) + b->isstd + b->isut;
}

/* The offset of one of the block's types. False: it is damaged. */
static bool type_of(const Block *b, uint32_t number, TfyOffset *out)
{
    const unsigned char *types = b->data + b->changes * 9, *type = types + number * 6, *chars = types + b->types * 6;
    if (number >= b->types || type[5] >= b->chars) return false;
    const size_t most = b->chars - type[5];
    const int len = (int)strnlen((const char *)chars + type[5], most < TFY_ZONE_NAME ? most : TFY_ZONE_NAME - 1);
    out->seconds = read_signed(type, 4);
    snprintf(out->name, sizeof out->name, "%.*s", len, (const char *)chars + type[5]);
    return len > 0 && !strchr(out->name, ';');
}

static bool same_offset(const TfyOffset *a, const TfyOffset *b)
{
    return a->seconds == b->seconds && strcmp(a->name, b->name) == 0;
}

/* How many changes must be written: the last ones are omitted if the rule for later times produces them too. */
static uint32_t changes_needed(const Block *b, const char *rule)
{
    uint32_t count = *rule ? b->changes : 0;
    TfyOffset made, now, before;
    if (!*rule) return b->changes;
    for (; count; count--) {
        const int64_t at = read_signed(b->data + (size_t)(count - 1) * 8, 8);
        const unsigned char *numbers = b->data + (size_t)b->changes * 8;
        if (!type_of(b, numbers[count - 1], &now) || !type_of(b, count > 1 ? numbers[count - 2] : 0, &before)) break;
        if (!tfy__zone_offset(rule, at, &made) || !same_offset(&made, &now)) break;
        if (!tfy__zone_offset(rule, at - 1, &made) || !same_offset(&made, &before)) break;
    }
    return count;
}

static bool write_rules(TfyBuffer *out, const Block *b, const char *rule)
{
    TfyOffset offset;
    const uint32_t count = changes_needed(b, rule);
    const bool has_past = count || !*rule;
    if (has_past && !type_of(b, 0, &offset)) return false;
    if (has_past) tfy__buffer_printf(out, "-99999999999 %" PRId64 " %s;", offset.seconds, offset.name);
    for (uint32_t i = 0; i < count; i++) {
        if (!type_of(b, b->data[(size_t)b->changes * 8 + i], &offset)) return false;
        tfy__buffer_printf(out, "%" PRId64 " %" PRId64 " %s;", read_signed(b->data + (size_t)i * 8, 8), offset.seconds,
                           offset.name);
    }
    tfy__buffer_text(out, rule);
    return tfy__zone_offset(out->data ? out->data : "", 0, &offset);
}

/* Reads the file's second part, with times of 8 bytes, and the rule after it. False: the file has another form. */
static bool read_file(TfyBuffer *out, unsigned char *file, size_t len)
{
    if (len < HEADER || memcmp(file, "TZif", 4) != 0 || file[4] < '2') return false;
    const Block first = read_header(file);
    const size_t skipped = block_size(&first, 4);
    if (skipped > len || HEADER + skipped + HEADER > len) return false;
    const Block second = read_header(first.data + skipped);
    const size_t size = block_size(&second, 8), left = len - (size_t)(second.data - file);
    if (size > left || left - size < 2 || second.data[size] != '\n') return false;
    char *rule = (char *)file + (second.data - file) + size + 1, *end = memchr(rule, '\n', left - size - 1);
    if (!end) return false;
    *end = '\0';
    return write_rules(out, &second, rule);
}

/* Is it a plain name, such as America/Argentina/Ushuaia, that cannot lead out of the directory? */
static bool is_name(const char *name, size_t len)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/";
    return len && len < 100 && strspn(name, letters) == len && *name != '/';
}

static FILE *open_zone(const char *name, const char **dir)
{
    char path[512];
    const char *own = getenv("TZDIR");
    *dir = own && *own == '/' ? own : "/usr/share/zoneinfo";
    const int len = snprintf(path, sizeof path, "%s/%s", *dir, name);
    return len < (int)sizeof path ? fopen(path, "rbe") : NULL;
}

static int fail(char *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int fail(char *error, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error, TFY_ERROR_TEXT, format, args);
    va_end(args);
    return code;
}

int tfy__zone_read(const char *name, size_t len, TfyBuffer *rules, char *error)
{
    const char *dir = "";
    if (!is_name(name, len))
        return fail(error, EINVAL, "'%s' is not the name of a time zone, such as Europe/Berlin", name);
    FILE *file = open_zone(name, &dir);
    const int why = file ? 0 : errno;
    if (!file)
        return fail(error, tfy__is_no_room(why) ? why : ENOENT, "there is no time zone '%s' in %s (%s)", name, dir,
                    strerror(why));
    unsigned char *bytes = tfy__sys_malloc(FILE_MOST);
    const size_t size = bytes ? fread(bytes, 1, FILE_MOST, file) : 0;
    int code = 0;
    rules->failed |= !bytes;
    if (bytes && !read_file(rules, bytes, size))
        code = fail(error, EINVAL, "%s/%s does not hold the rules of a time zone", dir, name);
    fclose(file);
    free(bytes);
    return code;
}
