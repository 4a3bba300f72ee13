/* file_tree.c: list_files, exists, remove_file and make_dir inside the working root.
 *
 * A listing walks beneath the root, one component of the pattern at a time, on a thread of the pool. It follows
 * symbolic links that stay inside, except below `**`, where they could lead in circles. A file that the program may
 * not read (protect.h) is not listed. The result is sorted by bytes, so that it depends on the files alone. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "effects/file_job.h"
#include "effects/wrote.h"
#include "value/heap.h"

#define FILES_MOST   10000   /* paths in one answer */
#define ENTRIES_MOST 1000000 /* entries of directories that one listing inspects */
#define DEPTH_MOST   100     /* nested directories that it has open */

/* Reasons of this file, apart from errno values and TFY_PROTECT_…. */
enum { TOO_MANY_FILES = 6000, TOO_MANY_ENTRIES, TOO_DEEP, NAME_NOT_UTF8 };

/* ---- listing ---- */

/* One listing: where it is, and what it found. */
typedef struct Walk {
    const TfyProtect *protect;
    int root_fd;
    TfyBuffer *found;    /* the paths, each with its NUL */
    size_t files, seen;  /* paths found; entries inspected */
    char path[PATH_MAX]; /* of the directory being read, with a '/' after it; empty: the root */
    size_t len;
    int depth;
} Walk;

static int walk_pattern(Walk *walk, const char *pattern);

/* Appends a name to the walk's path. False: the path is too long. */
static bool enter(Walk *walk, const char *name, size_t len)
{
    if (walk->len + len + 2 > sizeof walk->path) return false;
    memcpy(walk->path + walk->len, name, len);
    walk->len += len;
    walk->path[walk->len] = '\0';
    return true;
}

static void leave(Walk *walk, size_t len)
{
    walk->len = len;
    walk->path[len] = '\0';
}

/* The type of the entry at the walk's path, reached through links that stay beneath the root; 0: the program may not
 * read it, or it does not exist. */
static mode_t kind_here(const Walk *walk)
{
    struct stat info;
    const int found = tfy__beneath_open(walk->root_fd, walk->path, O_PATH, true);
    const bool is_known = found >= 0 && fstat(found, &info) == 0;
    const bool is_free = is_known && tfy__protect_found(walk->protect, found) == 0;
    if (found >= 0) close(found);
    return is_free ? info.st_mode & S_IFMT : 0;
}

static int add_file(Walk *walk)
{
    if (tfy__utf8_broken(walk->path, walk->len) < walk->len) return -NAME_NOT_UTF8;
    if (++walk->files > FILES_MOST) return -TOO_MANY_FILES;
    tfy__buffer_add(walk->found, walk->path, walk->len + 1);
    return walk->found->failed ? -ENOMEM : 0;
}

/* The entry of this name, which fits the pattern's first component: rest is what must fit below it. */
static int walk_entry(Walk *walk, const char *name, size_t name_len, const char *rest)
{
    const size_t before = walk->len;
    if (!enter(walk, name, name_len)) return 0;
    const mode_t kind = kind_here(walk);
    int error = 0;
    if (!rest && kind == S_IFREG) error = add_file(walk);
    if (rest && kind == S_IFDIR && enter(walk, "/", 1)) error = walk_pattern(walk, rest);
    leave(walk, before);
    return error;
}

static bool is_dir_itself(const DIR *dir, const struct dirent *entry)
{
    struct stat info;
    if (entry->d_type != DT_UNKNOWN) return entry->d_type == DT_DIR;
    return fstatat(dirfd((DIR *)dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

/* Inspects one entry for `**` (pattern starts with it) or for a component with wildcards. */
static int fit_entry(Walk *walk, DIR *dir, const struct dirent *entry, const char *component, const char *pattern,
                     const char *rest)
{
    const char *name = entry->d_name;
    const bool is_deep = strcmp(component, "**") == 0;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return 0;
    if (++walk->seen > ENTRIES_MOST) return -TOO_MANY_ENTRIES;
    if (is_deep && (*name == '.' || !is_dir_itself(dir, entry))) return 0;
    if (!is_deep && fnmatch(component, name, FNM_PERIOD) != 0) return 0;
    return walk_entry(walk, name, strlen(name), is_deep ? pattern : rest);
}

static int walk_entries(Walk *walk, const char *component, const char *pattern, const char *rest)
{
    const int fd = walk->depth < DEPTH_MOST
                       ? tfy__beneath_open(walk->root_fd, walk->len ? walk->path : ".", O_RDONLY | O_DIRECTORY, true)
                       : -TOO_DEEP;
    if (fd == -ENOENT || fd == -ENOTDIR) return 0; /* removed meanwhile */
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    int error = fd < 0 ? fd : dir ? 0 : -errno;
    walk->depth++;
    for (struct dirent *entry; !error && (errno = 0, entry = readdir(dir));)
        error = fit_entry(walk, dir, entry, component, pattern, rest);
    walk->depth--;
    if (!error && errno) error = -errno;
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return error;
}

/* `**` matches any number of directories, including none; at the end of a pattern it matches every file below. */
static int walk_deep(Walk *walk, const char *pattern, const char *rest)
{
    const int error = walk_pattern(walk, rest ? rest : "*");
    return error ? error : walk_entries(walk, "**", pattern, rest);
}

static int walk_pattern(Walk *walk, const char *pattern)
{
    char component[NAME_MAX + 1];
    pattern += strspn(pattern, "/");
    while (strncmp(pattern, "**/", 3) == 0 && strncmp(pattern + 3, "**/", 3) == 0) pattern += 3;
    const size_t len = strcspn(pattern, "/");
    const char *rest = pattern[len] ? pattern + len + strspn(pattern + len, "/") : NULL;
    if (rest && !*rest) rest = NULL;
    if (len > NAME_MAX || !len) return 0;
    memcpy(component, pattern, len);
    component[len] = '\0';
    if (strcmp(component, "..") == 0) return -EXDEV;
    if (strcmp(component, ".") == 0) return rest ? walk_pattern(walk, rest) : 0;
    if (strcmp(component, "**") == 0) return walk_deep(walk, pattern, rest);
    if (!strpbrk(component, "*?[\\")) return walk_entry(walk, component, len, rest);
    return walk_entries(walk, component, pattern, rest);
}

static void list_work(TfyJob *job)
{
    TfyFileJob *own = (TfyFileJob *)job;
    Walk *walk = tfy__sys_malloc(sizeof *walk);
    if (!walk) {
        own->error = -ENOMEM;
        return;
    }
    *walk = (Walk){.protect = own->protect, .root_fd = own->root_fd, .found = &own->content};
    own->error = walk_pattern(walk, own->path);
    free(walk);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The paths that a listing found, sorted, each once. NULL: no memory. */
static const char **sorted_paths(const TfyBuffer *found, uint32_t *count)
{
    const char **paths = tfy__sys_malloc((FILES_MOST + 1) * sizeof *paths);
    uint32_t all = 0, kept = 0;
    if (!paths) return NULL;
    for (size_t at = 0; at < found->len; at += strlen(found->data + at) + 1) paths[all++] = found->data + at;
    qsort(paths, all, sizeof *paths, by_bytes);
    for (uint32_t i = 0; i < all; i++)
        if (!kept || strcmp(paths[kept - 1], paths[i]) != 0) paths[kept++] = paths[i];
    *count = kept;
    return paths;
}

static TfyObj *list_of(TfyTask *task, const TfyBuffer *found)
{
    uint32_t count = 0;
    const char **paths = sorted_paths(found, &count);
    TfyValue *values = paths ? tfy__sys_malloc((count + 1) * sizeof *values) : NULL;
    bool ok = values != NULL;
    for (uint32_t i = 0; ok && i < count; i++)
        ok = (values[i].o = tfy_string_of(task, paths[i], strlen(paths[i]))) != NULL;
    TfyObj *list = ok ? tfy_list_of(task, &tfy_type_list_string, count, values) : NULL;
    free(values);
    free(paths);
    return list;
}

static void give_list(TfyCall *call, const TfyBuffer *found)
{
    TfyTask *task = call->task; /* answering the call may free it */
    TfyHeap *heap = task->heap;
    const uint32_t mark = tfy_mark(task);
    TfyObj *list = list_of(task, found);
    if (list)
        tfy__call_done(call, tfy_of_obj(list));
    else if (task->error)
        tfy__call_panicked(call);
    else
        tfy__call_starved(call);
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

static void refuse_list(TfyCall *call, int reason)
{
    const char *glob = tfy__file_shown(call);
    switch (reason) {
    case TOO_MANY_FILES:
        tfy__call_tool_error(call, E2BIG, "cannot list '%s': more than %d files fit; narrow the pattern", glob,
                             FILES_MOST);
        break;
    case TOO_MANY_ENTRIES:
        tfy__call_tool_error(call, E2BIG,
                             "cannot list '%s': there are more than %d entries to inspect; narrow the "
                             "pattern",
                             glob, ENTRIES_MOST);
        break;
    case TOO_DEEP:
        tfy__call_tool_error(call, E2BIG, "cannot list '%s': directories are nested more than %d deep", glob,
                             DEPTH_MOST);
        break;
    case NAME_NOT_UTF8:
        tfy__call_tool_error(call, EILSEQ,
                             "cannot list '%s': the name of a file there is not UTF-8; rename it, or "
                             "narrow the pattern",
                             glob);
        break;
    default: tfy__file_error(call, "list", glob, reason);
    }
}

static void list_done(TfyJob *job)
{
    TfyFileJob *own = (TfyFileJob *)job;
    TfyCall *call = own->call;
    TfyBuffer found = own->content;
    const int error = own->error;
    own->content = (TfyBuffer){0};
    tfy__file_job_drop(job);
    if (error)
        refuse_list(call, -error);
    else
        give_list(call, &found);
    tfy__buffer_free(&found);
}

static void list_start(TfyCall *call)
{
    tfy__file_begin(call, "list", (TfyFileJob){.job = {.work = list_work, .done = list_done}});
}

/* ---- exists ---- */

static void exists_work(TfyJob *job)
{
    TfyFileJob *own = (TfyFileJob *)job;
    const int found = tfy__beneath_open(own->root_fd, own->path, O_PATH, true);
    own->error = found < 0 ? found : tfy__protect_found(own->protect, found);
    if (found >= 0) close(found);
    own->found = !own->error;
    if (own->error == -ENOENT || own->error == -ENOTDIR) own->error = 0;
}

static void exists_done(TfyJob *job)
{
    TfyFileJob *own = (TfyFileJob *)job;
    TfyCall *call = own->call;
    const int error = own->error;
    const bool found = own->found;
    tfy__file_job_drop(job);
    if (error)
        tfy__file_error(call, "look for", tfy__file_shown(call), -error);
    else
        tfy__call_done(call, tfy_of_bool(found));
}

static void exists_start(TfyCall *call)
{
    tfy__file_begin(call, "look for", (TfyFileJob){.job = {.work = exists_work, .done = exists_done}});
}

/* ---- changing ---- */

static void remove_work(TfyJob *job)
{
    TfyFileJob *own = (TfyFileJob *)job;
    own->error = tfy__file_remove(own->protect, own->root_fd, own->path, &own->replaced);
    own->replaced |= !own->error; /* also what is gone already: it may have gone just before a kill */
}

/* Appends a '/', so that the directory itself is made as a parent of that path. */
static void make_work(TfyJob *job)
{
    TfyFileJob *own = (TfyFileJob *)job;
    char *inside = tfy__sys_printf("%s/", own->path);
    own->error = inside ? tfy__file_may_write(own->protect, own->root_fd, own->path) : -ENOMEM;
    if (!own->error) own->error = tfy__file_make_parents(own->protect, own->root_fd, inside);
    free(inside);
}

static void finish_change(TfyJob *job, const char *verb)
{
    TfyFileJob *own = (TfyFileJob *)job;
    TfyCall *call = own->call;
    const int error = own->error;
    call->outcome = own->replaced ? TFY_UNKNOWN : TFY_NOT_DONE;
    tfy__file_job_drop(job);
    if (error)
        tfy__file_error(call, verb, tfy__file_shown(call), -error);
    else
        tfy__call_done(call, tfy_of_int(0));
}

static void remove_done(TfyJob *job)
{
    const TfyFileJob *own = (TfyFileJob *)job;
    if (own->replaced) tfy__wrote_note(own->call, own->call->args[0].o);
    finish_change(job, "remove");
}

static void make_done(TfyJob *job)
{
    finish_change(job, "make");
}

static void remove_start(TfyCall *call)
{
    tfy__file_begin(call, "remove",
                    (TfyFileJob){.job = {.work = remove_work, .done = remove_done, .alone = true}, .key = call->key});
}

static void make_start(TfyCall *call)
{
    tfy__file_begin(call, "make",
                    (TfyFileJob){.job = {.work = make_work, .done = make_done, .alone = true}, .key = call->key});
}

const TfyPerformer tfy__perform_list_files = {
    .name = "list_files", .start = list_start, .abort = tfy__file_let_go, .close = tfy__pool_close};
const TfyPerformer tfy__perform_exists = {
    .name = "exists", .start = exists_start, .abort = tfy__file_let_go, .close = tfy__pool_close};
const TfyPerformer tfy__perform_remove_file = {.name = "remove_file",
                                               .start = remove_start,
                                               .abort = tfy__file_settle,
                                               .close = tfy__file_close,
                                               .prepare = tfy__protect_root,
                                               .recorded = tfy__wrote_recorded,
                                               .forget = tfy__wrote_forget};
const TfyPerformer tfy__perform_make_dir = {.name = "make_dir",
                                            .start = make_start,
                                            .abort = tfy__file_settle,
                                            .close = tfy__pool_close,
                                            .prepare = tfy__protect_root};
