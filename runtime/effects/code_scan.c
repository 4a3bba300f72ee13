/* code_scan.c: see code_scan.h. */
#include "effects/code_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/sys_memory.h"
#include "base/utf8.h"
#include "effects/file.h"

#define NS_PER_S INT64_C(1000000000)

static int64_t ns_of(const struct timespec *time)
{
    return (int64_t)time->tv_sec * NS_PER_S + time->tv_nsec;
}

/* ---- names ---- */

/* Of the runtime, or of git: in them is no code of the project. */
static bool is_own(const char *path)
{
    for (const char *at = path; *at; at += strspn(at, "/")) {
        const size_t len = strcspn(at, "/");
        if ((len == 4 && strncasecmp(at, ".tfy", 4) == 0) || (len == 4 && strncasecmp(at, ".git", 4) == 0)) return true;
        at += len;
    }
    return false;
}

/* A name with a newline could be shown as two. */
static bool can_be_told(const char *path)
{
    const size_t len = strlen(path);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)path[i] < ' ' || path[i] == 0x7f) return false;
    return len && len < PATH_MAX && tfy__utf8_broken(path, len) == len && !is_own(path);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int sort_paths(TfyCodeScan *scan)
{
    const TfyBuffer *listed = &scan->listed;
    uint32_t all = 0, kept = 0;
    for (size_t at = 0; at < listed->len; at += strlen(listed->data + at) + 1) all++;
    if (all > TFY_CODE_FILES) return E2BIG;
    if (!(scan->paths = tfy__sys_malloc((all + 1) * sizeof *scan->paths))) return ENOMEM;
    all = 0;
    for (size_t at = 0; at < listed->len; at += strlen(listed->data + at) + 1)
        if (can_be_told(listed->data + at)) scan->paths[all++] = listed->data + at;
    qsort(scan->paths, all, sizeof *scan->paths, by_bytes);
    for (uint32_t i = 0; i < all; i++)
        if (!kept || strcmp(scan->paths[kept - 1], scan->paths[i]) != 0) scan->paths[kept++] = scan->paths[i];
    scan->path_count = kept;
    return 0;
}

static int by_path(const void *a, const void *b, void *arg)
{
    const TfyCodeIndex *index = arg;
    return strcmp(tfy__code_text(index, index->files[*(const uint32_t *)a].path),
                  tfy__code_text(index, index->files[*(const uint32_t *)b].path));
}

/* The derived file has its files sorted; one that was written to mislead may not. */
static int sort_old(TfyCodeScan *scan)
{
    TfyCodeIndex *before = &scan->before;
    scan->old = tfy__sys_malloc((before->file_count + 1) * sizeof *scan->old);
    scan->strings = tfy__sys_calloc((size_t)before->string_count + 1, sizeof *scan->strings);
    if (!scan->old || !scan->strings) return ENOMEM;
    for (uint32_t i = 0; i < before->file_count; i++) scan->old[i] = i;
    qsort_r(scan->old, before->file_count, sizeof *scan->old, by_path, before);
    return 0;
}

void tfy__scan_begin(TfyCodeScan *scan)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now); /* the clock that files get their times from */
    scan->begun_ns = ns_of(&now);
    scan->changed = !tfy__code_load(scan->root_fd, &scan->before);
    scan->error = sort_paths(scan);
    if (!scan->error) scan->error = sort_old(scan);
}

/* ---- one file ---- */

/* False: there is no regular file of this name, or a link is on the way. */
static bool stamp_of(const TfyCodeScan *scan, const char *path, TfyCodeStamp *stamp)
{
    struct stat info;
    const int found = tfy__beneath_open(scan->root_fd, path, O_PATH | O_NOFOLLOW, false);
    const bool is_file = found >= 0 && fstat(found, &info) == 0 && S_ISREG(info.st_mode);
    if (found >= 0) close(found);
    if (!is_file) return false;
    *stamp = (TfyCodeStamp){.inode = info.st_ino,
                            .size = info.st_size,
                            .modified_ns = ns_of(&info.st_mtim),
                            .changed_ns = ns_of(&info.st_ctim)};
    return true;
}

static const TfyCodeFile *file_before(TfyCodeScan *scan, const char *path)
{
    const TfyCodeIndex *before = &scan->before;
    while (scan->old_next < before->file_count) {
        const TfyCodeFile *file = &before->files[scan->old[scan->old_next]];
        const int order = strcmp(tfy__code_text(before, file->path), path);
        if (order >= 0) return order ? NULL : file;
        scan->old_next++;
    }
    return NULL;
}

static bool has_long_line(const char *text, size_t len)
{
    const char *end = text + len, *newline;
    for (const char *at = text; at < end; at = newline + 1) {
        newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline) newline = end;
        if (newline - at > TFY_CODE_LINE) return true;
    }
    return false;
}

bool tfy__scan_is_code(const char *text, size_t len)
{
    return !memchr(text, 0, len) && tfy__utf8_broken(text, len) == len && !has_long_line(text, len);
}

static void read_file(TfyCodeScan *scan, const char *path, TfyCodeStamp *stamp)
{
    const bool is_settled = stamp->changed_ns < scan->begun_ns - NS_PER_S;
    const int error = tfy__file_read(scan->protect, scan->root_fd, path, false, TFY_CODE_FILE, &scan->text);
    const uint32_t file =
        tfy__code_add_file(&scan->now, path, is_settled || error == -EFBIG ? stamp : &(TfyCodeStamp){0});
    const char *text = scan->text.data;
    if (scan->now.failed || error || !scan->text.len || !tfy__scan_is_code(text, scan->text.len)) return;
    tfy__code_add_uses(&scan->now, text, scan->text.len);
    scan->now.failed |= !tfy__tags_ask(&scan->tags, file, path, text, scan->text.len);
}

static void look_at(TfyCodeScan *scan, const char *path)
{
    TfyCodeStamp stamp;
    if (!stamp_of(scan, path, &stamp)) return;
    const TfyCodeFile *before = file_before(scan, path);
    if (before && memcmp(&before->stamp, &stamp, sizeof stamp) == 0) {
        tfy__code_copy_file(&scan->now, &scan->before, before, scan->strings);
        return;
    }
    scan->changed = true;
    read_file(scan, path, &stamp);
}

void tfy__scan_some(TfyCodeScan *scan)
{
    while (!scan->error && scan->next < scan->path_count && scan->tags.input.len < TFY_CODE_PART) {
        if (atomic_load_explicit(&scan->stop, memory_order_relaxed)) scan->error = ECANCELED;
        look_at(scan, scan->paths[scan->next++]);
        if (scan->now.failed) scan->error = ENOMEM;
    }
}

/* ---- the end ---- */

void tfy__scan_end(TfyCodeScan *scan)
{
    if (scan->changed || scan->now.file_count != scan->before.file_count) tfy__code_save(scan->root_fd, &scan->now);
}

void tfy__scan_free(TfyCodeScan *scan)
{
    tfy__protect_free(scan->protect);
    tfy__buffer_free(&scan->listed);
    tfy__buffer_free(&scan->text);
    free(scan->paths);
    free(scan->old);
    free(scan->strings);
    tfy__code_index_free(&scan->before);
    tfy__code_index_free(&scan->now);
    tfy__tags_free(&scan->tags);
}
