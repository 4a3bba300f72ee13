/* code_store.c: the derived file of a project's code, `.tfy/code-map` below the root.
 *
 *   ┌────────┬───────┬─────────┬───────┬──────┬─────────┬────────────────────┐
 *   │ head   │ files │ symbols │ uses  │ text: the strings, each with its NUL │    in the machine's own byte order
 *   └────────┴───────┴─────────┴───────┴──────┴─────────┴────────────────────┘
 *
 * The sum in the head is over all that follows it, so damage is found before anything is read; what was written with
 * a true sum to mislead is still checked to the last number, since every one of them leads somewhere. */
#include "effects/code_index.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/sys_memory.h"
#include "base/utf8.h"
#include "base/whole_file.h"
#include "effects/file.h"

#define CODE_FILE ".tfy/code-map"
#define FILE_MOST ((size_t)512 << 20)

typedef struct Head {
    char magic[8];
    uint64_t sum;
    uint32_t files, symbols, uses, strings;
    uint64_t text; /* bytes */
} Head;

/* The last digit is the version. */
static const char magic[8] = {'t', 'f', 'y', 'c', 'o', 'd', 'e', '1'};

/* ---- reading ---- */

static bool set_starts(TfyCodeIndex *index)
{
    const char *text = index->text.data;
    uint32_t count = 0;
    if (!(index->starts = tfy__sys_malloc((index->string_count + 1) * sizeof *index->starts))) return false;
    for (size_t at = 0; at < index->text.len; at += strlen(text + at) + 1) {
        if (count == index->string_count) return false;
        index->starts[count++] = (uint32_t)at;
    }
    return count == index->string_count;
}

static bool is_whole_file(const TfyCodeIndex *index, const TfyCodeFile *file)
{
    return file->path && file->path <= index->string_count && file->language <= index->string_count &&
           file->symbol_at <= index->symbol_count && file->symbol_count <= index->symbol_count - file->symbol_at &&
           file->use_at <= index->use_count && file->use_count <= index->use_count - file->use_at;
}

/* Does every number lead to what is there? */
static bool is_whole(const TfyCodeIndex *index)
{
    const uint32_t most = index->string_count;
    bool whole = true;
    for (uint32_t i = 0; whole && i < index->file_count; i++) whole = is_whole_file(index, &index->files[i]);
    for (uint32_t i = 0; whole && i < index->use_count; i++) whole = index->uses[i].name && index->uses[i].name <= most;
    for (uint32_t i = 0; whole && i < index->symbol_count; i++) {
        const TfyCodeSymbol *s = &index->symbols[i];
        whole = s->name && s->name <= most && s->kind <= most && s->scope <= most && s->signature <= most &&
                s->text <= most;
    }
    return whole;
}

/* Copies an array and moves on behind it. NULL: no memory. */
static void *take(const char **at, size_t bytes)
{
    void *array = tfy__sys_malloc(bytes + 1);
    if (array && bytes) memcpy(array, *at, bytes);
    *at += bytes;
    return array;
}

static bool read_parts(const Head *head, const char *at, TfyCodeIndex *index)
{
    index->file_count = head->files;
    index->symbol_count = head->symbols;
    index->use_count = head->uses;
    index->string_count = head->strings;
    index->files = take(&at, head->files * sizeof *index->files);
    index->symbols = take(&at, head->symbols * sizeof *index->symbols);
    index->uses = take(&at, head->uses * sizeof *index->uses);
    tfy__buffer_add(&index->text, at, head->text);
    return index->files && index->symbols && index->uses && !index->text.failed && set_starts(index) && is_whole(index);
}

bool tfy__code_read(const char *bytes, size_t len, TfyCodeIndex *index)
{
    Head head;
    *index = (TfyCodeIndex){0};
    if (len < sizeof head) return false;
    memcpy(&head, bytes, sizeof head);
    const uint64_t wanted = (uint64_t)head.files * sizeof(TfyCodeFile) +
                            (uint64_t)head.symbols * sizeof(TfyCodeSymbol) + (uint64_t)head.uses * sizeof(TfyCodeUse);
    const size_t left = len - sizeof head;
    if (memcmp(head.magic, magic, sizeof magic) != 0 || wanted > left || head.text != left - wanted) return false;
    if (head.text > UINT32_MAX || head.strings > head.text || (head.text && bytes[len - 1])) return false;
    const char *text = bytes + len - head.text;
    if (tfy__utf8_broken(text, head.text) < head.text) return false;
    if (XXH3_64bits(bytes + sizeof head, left) != head.sum) return false;
    if (read_parts(&head, bytes + sizeof head, index)) return true;
    tfy__code_index_free(index);
    return false;
}

bool tfy__code_load(int root_fd, TfyCodeIndex *index)
{
    TfyBuffer bytes = {0};
    const bool read = tfy__file_read(NULL, root_fd, CODE_FILE, false, FILE_MOST, &bytes) == 0 &&
                      tfy__code_read(bytes.data ? bytes.data : "", bytes.len, index);
    tfy__buffer_free(&bytes);
    if (!read) *index = (TfyCodeIndex){0};
    return read;
}

/* ---- writing ---- */

typedef struct Part {
    const void *bytes;
    size_t len;
} Part;

static bool write_parts(int fd, const TfyCodeIndex *index)
{
    const Part parts[] = {{index->files, index->file_count * sizeof *index->files},
                          {index->symbols, index->symbol_count * sizeof *index->symbols},
                          {index->uses, index->use_count * sizeof *index->uses},
                          {index->text.data, index->text.len}};
    enum { PARTS = sizeof parts / sizeof *parts };
    Head head = {.files = index->file_count,
                 .symbols = index->symbol_count,
                 .uses = index->use_count,
                 .strings = index->string_count,
                 .text = index->text.len};
    XXH3_state_t *sum = XXH3_createState();
    if (!sum) return false;
    XXH3_64bits_reset(sum);
    for (int i = 0; i < PARTS; i++)
        if (parts[i].len) XXH3_64bits_update(sum, parts[i].bytes, parts[i].len);
    memcpy(head.magic, magic, sizeof magic);
    head.sum = XXH3_64bits_digest(sum);
    XXH3_freeState(sum);
    bool written = tfy__write_all(fd, &head, sizeof head);
    for (int i = 0; written && i < PARTS; i++) written = tfy__write_all(fd, parts[i].bytes, parts[i].len);
    return written;
}

/* `.tfy` itself, which is made if need be: never through a link. */
static int open_directory(int root_fd)
{
    const int made = mkdirat(root_fd, ".tfy", 0700);
    (void)made; /* it is there, or opening says why not */
    return tfy__beneath_open(root_fd, ".tfy", O_RDONLY | O_DIRECTORY, false);
}

void tfy__code_save(int root_fd, const TfyCodeIndex *index)
{
    char path[64];
    TfyWhole whole;
    const int dir = open_directory(root_fd);
    snprintf(path, sizeof path, "/proc/self/fd/%d/code-map", dir);
    const int fd = dir < 0 ? -1 : tfy__whole_open(&whole, path, 0600);
    if (fd >= 0) {
        const bool written = write_parts(fd, index);
        close(fd);
        if (written)
            tfy__whole_commit(&whole, TFY_WHOLE_OVER);
        else
            tfy__whole_abandon(&whole);
    }
    if (dir >= 0) close(dir);
}
