/* files.c: the files that a trial left in its directory: one line per file, with a checksum of its content.
 *
 * Tools write the keys of their steps into files, and a key starts with the run's uuid, which differs in each trial;
 * so the uuid counts as one fixed word. Content from the world, such as the time, differs from run to run; two
 * undisturbed runs show which files these are. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "cli/crash/crash.h"

/* ---- one file ---- */

typedef struct Sum {
    XXH3_state_t *state;
    unsigned long long bytes;
} Sum;

static void add(Sum *sum, const char *bytes, size_t len)
{
    XXH3_64bits_update(sum->state, bytes, len);
    sum->bytes += len;
}

/* Does what crash_normal_text() does, but for any bytes. */
static void add_normal(Sum *sum, const char *bytes, size_t len, const char *uuid)
{
    const char *const end = bytes + len, *found;
    while (uuid && (found = memmem(bytes, (size_t)(end - bytes), uuid, CRASH_SHORT_UUID))) {
        add(sum, bytes, (size_t)(found - bytes));
        add(sum, "RUN", 3);
        bytes = found + crash_uuid_len(found, end, uuid);
    }
    add(sum, bytes, (size_t)(end - bytes));
}

static void add_file(Sum *sum, const char *path, const char *uuid)
{
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &info) < 0) crash_die("%s cannot be read: %s", path, strerror(errno));
    if (info.st_size > 0) {
        char *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED) crash_die("%s cannot be read: %s", path, strerror(errno));
        add_normal(sum, bytes, (size_t)info.st_size, uuid);
        munmap(bytes, (size_t)info.st_size);
    }
    close(fd);
}

/* ---- all of them ---- */

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

char *crash_files_text(const char *root, const char *run_uuid)
{
    char *roots[] = {(char *)root, NULL}, *text = NULL;
    size_t len = 0;
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, by_name);
    FILE *out = open_memstream(&text, &len);
    Sum sum = {.state = XXH3_createState()};
    if (!tree || !out || !sum.state) crash_die("the files in %s cannot be listed: %s", root, strerror(errno));
    for (FTSENT *entry; (entry = fts_read(tree));) {
        if (entry->fts_info == FTS_D && strcmp(entry->fts_name, ".git") == 0) fts_set(tree, entry, FTS_SKIP);
        if (entry->fts_info != FTS_F) continue;
        sum.bytes = 0;
        XXH3_64bits_reset(sum.state);
        add_file(&sum, entry->fts_path, run_uuid);
        fprintf(out, ".%s\t%llu bytes, sum %020llu\n", entry->fts_path + strlen(root), sum.bytes,
                (unsigned long long)XXH3_64bits_digest(sum.state));
    }
    XXH3_freeState(sum.state);
    fts_close(tree);
    fclose(out);
    return crash_normal_text(text, run_uuid);
}

/* ---- files that differ between any two runs ---- */

static bool is_named(const char *names, const char *line)
{
    char *name = crash_text("\n%.*s\n", (int)strcspn(line, "\t"), line);
    const bool found = strstr(names, name) != NULL;
    free(name);
    return found;
}

char *crash_files_varying(const char *a, const char *b)
{
    char *names = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&names, &len);
    if (!out) crash_die("memory ran out");
    fputc('\n', out);
    bool same = true;
    while (same && (*a || *b)) {
        const size_t a_len = strcspn(a, "\n"), b_len = strcspn(b, "\n"), name = strcspn(a, "\t");
        same = name == strcspn(b, "\t") && strncmp(a, b, name) == 0;
        if (same && (a_len != b_len || strncmp(a, b, a_len) != 0)) fprintf(out, "%.*s\n", (int)name, a);
        a += a_len + (a[a_len] == '\n');
        b += b_len + (b[b_len] == '\n');
    }
    fclose(out);
    if (same) return names;
    free(names);
    return NULL;
}

char *crash_files_mask(char *text, const char *names)
{
    char *out = malloc(strlen(text) + 1), *to = out;
    if (!out) crash_die("memory ran out");
    for (const char *line = text; *line;) {
        const size_t len = strcspn(line, "\n");
        const size_t shown = is_named(names, line) ? strcspn(line, "\t") : len;
        to = mempcpy(to, line, shown);
        *to++ = '\n';
        line += len + (line[len] == '\n');
    }
    *to = '\0';
    free(text);
    return out;
}
