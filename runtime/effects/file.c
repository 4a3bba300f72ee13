/* file.c: read_file, write_file, read_bytes and write_bytes inside the working root.
 *
 * A disk can be slow, so both are work for the pool's threads. Writes are done one after the other, and aborting
 * one waits until it is over: no write continues unnoticed beside a later attempt, which would use the same
 * temporary name. A write is visible whole or not at all, also after a crash: a new file in the same directory,
 * synced, renamed over the old one, the directory synced. The temporary name follows from the step's key, so the
 * repeated step reuses a file that a crash left behind. */
#include "effects/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/utf8.h"
#include "effects/file_job.h"
#include "effects/wrote.h"
#include "value/heap.h"

#define LINK_HOPS 8 /* symbolic links followed when a file is written */

/* ---- paths beneath the root ---- */

int tfy__beneath_walk(int root_fd, const char *path, int flags)
{
    int dir = fcntl(root_fd, F_DUPFD_CLOEXEC, 0), added = O_CLOEXEC | O_NOCTTY | O_NOFOLLOW;
    while (dir >= 0) {
        char name[NAME_MAX + 1];
        path += strspn(path, "/");
        size_t len = strcspn(path, "/");
        bool last = !path[len + strspn(path + len, "/")];
        if (len > NAME_MAX || (len == 2 && memcmp(path, "..", 2) == 0)) {
            close(dir);
            return len > NAME_MAX ? -ENAMETOOLONG : -EXDEV;
        }
        snprintf(name, sizeof name, "%.*s", len ? (int)len : 1, len ? path : ".");
        int next = openat(dir, name, added | (last ? flags : O_PATH | O_DIRECTORY), 0666), error = errno;
        close(dir);
        if (next < 0) return -error;
        if (last) return next;
        dir = next;
        path += len;
    }
    return -errno;
}

int tfy__beneath_open(int root_fd, const char *path, int flags, bool links)
{
    struct open_how how = {.flags =
                               (uint64_t)(flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NOCTTY)), /* EINVAL with O_PATH */
                           .mode = flags & O_CREAT ? 0666 : 0,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (links ? 0 : RESOLVE_NO_SYMLINKS)};
    long fd;
    do {
        fd = syscall(SYS_openat2, root_fd, path, &how, sizeof how);
    } while (fd < 0 && (errno == EAGAIN || errno == EINTR)); /* EAGAIN: something was renamed meanwhile */
    if (fd >= 0) return (int)fd;
    return errno == ENOSYS || errno == EPERM ? tfy__beneath_walk(root_fd, path, flags) : -errno;
}

const char *tfy__path_below(TfyTask *task, const TfyObj *path)
{
    const TfyString *text = (const TfyString *)path;
    const char *root = tfy__root(task), *rest = text->bytes;
    if (!text->byte_len || memchr(text->bytes, 0, text->byte_len)) return NULL;
    if (*rest != '/') return rest;
    if (!root) return NULL; /* a replay has no working root, and performs nothing */
    size_t root_len = strlen(root);
    while (root_len && root[root_len - 1] == '/') root_len--;
    if (strncmp(rest, root, root_len) != 0 || (rest[root_len] && rest[root_len] != '/')) return NULL;
    rest += root_len;
    rest += strspn(rest, "/");
    return *rest ? rest : ".";
}

/* ---- errors ---- */

static const char *explain(int error)
{
    const char *reason = tfy__protect_reason(error);
    if (reason) return reason;
    switch (error) {
    case EXDEV: return "it leads outside the working root";
    case ELOOP: return "there is a symbolic link that cannot be followed here";
    case ENOENT: return "there is no such file or directory";
    case EISDIR: return "it is a directory";
    case ENOTDIR: return "a part of the path is not a directory";
    case ENOTSUP: return "it is not a regular file";
    default: return strerror(error);
    }
}

bool tfy__root_is_gone(TfyTask *task)
{
    struct stat info;
    return fstat(tfy__root_fd(task), &info) < 0 || info.st_nlink == 0;
}

void tfy__file_error(TfyCall *call, const char *verb, const char *path, int error)
{
    if (tfy__is_no_room(error)) {
        tfy__call_no_room(call, error);
    } else if (tfy__root_is_gone(call->task)) {
        tfy__call_tool_error(call, ENOENT, "cannot %s '%s': the working root %s is gone", verb, path,
                             tfy__root(call->task));
    } else if (error == EFBIG) {
        const size_t most = tfy__file_most(call->loop);
        const bool whole = most % (1 << 20) == 0;
        tfy__call_tool_error(call, error,
                             "cannot %s '%s': it is larger than %zu %s (--max-file SIZE allows more), or than this "
                             "process may write (ulimit -f)",
                             verb, path, whole ? most >> 20 : most, whole ? "MiB" : "bytes");
    } else {
        tfy__call_tool_error(call, tfy__protect_reason(error) ? EPERM : error, "cannot %s '%s': %s", verb, path,
                             explain(error));
    }
}

/* ---- reading ---- */

static int kind_error(const struct stat *info, size_t most)
{
    if (S_ISLNK(info->st_mode)) return -ELOOP; /* of a walk that follows none */
    if (S_ISDIR(info->st_mode)) return -EISDIR;
    return !S_ISREG(info->st_mode) ? -ENOTSUP : info->st_size > (off_t)most ? -EFBIG : 0;
}

/* Finds the file without opening it, and opens only what may be read: closing a file of the database, opened for
 * whatever reason, releases every lock that this process has on it. A FIFO or a device, which may never answer, is
 * not opened either. */
int tfy__file_open(const TfyProtect *protect, int root_fd, const char *path, bool links, size_t most)
{
    struct stat info;
    char link[48];
    int found = tfy__beneath_open(root_fd, path, O_PATH, links), fd = -1;
    if (found < 0) return found;
    int error = fstat(found, &info) < 0 ? -errno : kind_error(&info, most);
    if (!error && protect) error = tfy__protect_found(protect, found);
    snprintf(link, sizeof link, "/proc/self/fd/%d", found);
    if (!error && (fd = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)) < 0) error = -errno;
    close(found);
    return error ? error : fd;
}

int tfy__file_read(const TfyProtect *protect, int root_fd, const char *path, bool links, size_t most, TfyBuffer *out)
{
    char chunk[1 << 16];
    int fd = tfy__file_open(protect, root_fd, path, links, most), error = 0;
    if (fd < 0) return fd;
    tfy__buffer_reset(out);
    for (ssize_t len; !error && (len = read(fd, chunk, sizeof chunk)) != 0;) {
        if (len < 0 && errno == EINTR) continue;
        if (len < 0) error = errno;
        if (len > 0) tfy__buffer_add(out, chunk, (size_t)len);
        if (out->len > most) error = EFBIG;
    }
    close(fd);
    if (!error && out->failed) error = ENOMEM;
    return -error;
}

void tfy__file_job_drop(TfyJob *job)
{
    TfyFileJob *own = (TfyFileJob *)job;
    tfy__buffer_free(&own->content);
    tfy__protect_free(own->protect);
    free(own->path);
    free(own);
}

void tfy__file_begin(TfyCall *call, const char *verb, TfyFileJob wanted)
{
    call->outcome = TFY_NOT_DONE;
    const char *path = tfy__path_below(call->task, call->args[0].o);
    TfyFileJob *job = path ? tfy__sys_malloc(sizeof *job) : NULL;
    if (!path) {
        tfy__file_error(call, verb, tfy__file_shown(call), EXDEV);
        return;
    }
    if (job) *job = wanted;
    if (job) job->call = call;
    if (job) job->most = tfy__file_most(call->loop);
    if (job) job->root_fd = tfy__root_fd(call->task);
    if (job) job->protect = tfy__protect_new(call->loop, job->root_fd);
    if (job) job->job.drop = tfy__file_job_drop;
    const bool made = job && job->protect && (job->path = tfy__sys_strdup(path));
    const int code = made ? tfy__pool_add(call->loop, &job->job) : TFY_E_NOMEM;
    const int error = code == TFY_E_STATE ? errno : ENOMEM;
    if (code == 0) {
        call->state = job;
        return;
    }
    if (job) tfy__file_job_drop(&job->job);
    tfy__call_no_room(call, error);
}

static void read_work(TfyJob *job)
{
    TfyFileJob *own = (TfyFileJob *)job;
    own->error = tfy__file_read(own->protect, own->root_fd, own->path, true, own->most, &own->content);
}

/* Text that would lose bytes, silently and for good once it is written back, is refused. */
static bool refuse_broken(TfyCall *call, const TfyBuffer *content)
{
    const bool is_text = call->result->kind == TFY_STRING;
    const bool is_lossy = is_text && call->args[1].o && tfy_unbox(call->args[1].o).i;
    const size_t at = is_text && !is_lossy ? tfy__utf8_broken(content->data, content->len) : content->len;
    if (at == content->len) return false;
    tfy__call_tool_error(call, EILSEQ,
                         "cannot read '%s': byte %zu (0x%02X) is not UTF-8; read_bytes reads any file, and "
                         "read_file with lossy: true replaces such bytes",
                         tfy__file_shown(call), at, (unsigned char)content->data[at]);
    return true;
}

static void give_content(TfyCall *call, const TfyBuffer *content)
{
    TfyTask *task = call->task; /* answering the call may free it */
    TfyHeap *heap = task->heap;
    const uint32_t mark = tfy_mark(task);
    const TfyType *type = call->result;
    TfyObj *text = tfy_temp(task, tfy__string_new(task, type, content->data ? content->data : "", content->len));
    if (text) {
        tfy__call_done(call, tfy_of_obj(text));
    } else {
        tfy_drop(task, tfy_take_error(task));
        tfy__call_tool_error(call, ENOMEM, "cannot read '%s': %s", tfy__file_shown(call), strerror(ENOMEM));
    }
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

static void read_done(TfyJob *job)
{
    TfyFileJob *own = (TfyFileJob *)job;
    TfyCall *call = own->call;
    TfyBuffer content = own->content;
    int error = own->error;
    own->content = (TfyBuffer){0};
    tfy__file_job_drop(job);
    if (error)
        tfy__file_error(call, "read", tfy__file_shown(call), -error);
    else if (!refuse_broken(call, &content))
        give_content(call, &content);
    tfy__buffer_free(&content);
}

static void read_start(TfyCall *call)
{
    tfy__file_begin(call, "read", (TfyFileJob){.job = {.work = read_work, .done = read_done}});
}

void tfy__file_let_go(TfyCall *call)
{
    TfyFileJob *own = call->state;
    tfy__pool_let_go(call->loop, &own->job);
}

/* ---- writing ---- */

static int sync_entry(int above)
{
    const int dir = openat(above, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int error = dir < 0 || fsync(dir) < 0 ? -errno : 0;
    if (dir >= 0) close(dir);
    return error;
}

static int make_dir(const TfyProtect *protect, int above, const char *name)
{
    int error = protect ? tfy__protect_check(protect, above, name, true) : 0;
    if (error) return error;
    if (mkdirat(above, name, 0777) < 0) return errno == EEXIST ? 0 : -errno;
    return sync_entry(above);
}

int tfy__file_make_parents(const TfyProtect *protect, int root_fd, char *path)
{
    int above = fcntl(root_fd, F_DUPFD_CLOEXEC, 0), error = above < 0 ? -errno : 0;
    for (char *at = path + strspn(path, "/"), *slash; !error && (slash = strchr(at, '/')); at = slash + 1) {
        *slash = 0;
        int dir = tfy__beneath_open(root_fd, path, O_PATH | O_DIRECTORY, true);
        if (dir == -ENOENT) error = make_dir(protect, above, at);
        if (dir == -ENOENT && !error) dir = tfy__beneath_open(root_fd, path, O_PATH | O_DIRECTORY, true);
        if (dir < 0 && !error) error = dir;
        *slash = '/';
        close(above);
        above = dir;
    }
    if (above >= 0) close(above);
    return error;
}

/* Opens the directory of a path, readable so that it can be synced; *name is the last component. A descriptor or
 * -errno. */
static int open_parent(int root_fd, char *path, char **name)
{
    char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    if (!**name || strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0) return -EISDIR;
    if (!slash) return tfy__beneath_open(root_fd, ".", O_RDONLY | O_DIRECTORY, true);
    *slash = 0;
    int dir = tfy__beneath_open(root_fd, path, O_RDONLY | O_DIRECTORY, true);
    *slash = '/';
    return dir;
}

/* Replaces a path that ends in a symbolic link by the link's target, so that a write goes through the link and not
 * over it. 0: nothing more to follow; 1: path has changed; or -errno. */
static int follow_link(int dir, const char *name, char **path)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(dir, name, target, sizeof target - 1);
    if (len < 0) return errno == EINVAL || errno == ENOENT ? 0 : -errno;
    target[len] = 0;
    if (*target == '/') return -EXDEV;
    char *slash = strrchr(*path, '/'), *next;
    if (!(next = tfy__sys_printf("%.*s%s", slash ? (int)(slash - *path) + 1 : 0, *path, target))) return -ENOMEM;
    free(*path);
    *path = next;
    return 1;
}

static int write_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -errno;
        bytes += n;
        len -= (size_t)n;
    }
    return fsync(fd) < 0 ? -errno : 0;
}

/* The permissions of a file that is replaced: those it had, except for execution if the caller sets that (for
 * everybody who may read it). */
static mode_t replaced_mode(const struct stat *old, int executable)
{
    mode_t mode = old->st_mode & 07777;
    if (executable < 0 || (mode & S_IXUSR ? 1 : 0) == executable) return mode;
    return executable ? mode | (mode & 0444) >> 2 : mode & ~0111u;
}

/* Writes the file whole under a temporary name and puts it in the place of the old one. */
static int replace_file(int dir, const char *name, const TfyFileContent *content, bool *replaced)
{
    struct stat old;
    char temp[40];
    const char *key = content->key;
    bool exists = fstatat(dir, name, &old, AT_SYMLINK_NOFOLLOW) == 0;
    if (exists && !S_ISREG(old.st_mode)) return S_ISDIR(old.st_mode) ? -EISDIR : -ENOTSUP;
    snprintf(temp, sizeof temp, ".tfy-%016llx.tmp", (unsigned long long)XXH3_64bits(key, strlen(key)));
    unlinkat(dir, temp, 0);
    int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, content->executable > 0 ? 0777 : 0666);
    if (fd < 0) return -errno;
    int error = exists && fchmod(fd, replaced_mode(&old, content->executable)) < 0 ? -errno : 0;
    if (!error) error = write_all(fd, content->bytes, content->len);
    close(fd);
    if (!error && renameat(dir, temp, dir, name) < 0) error = -errno;
    if (error) unlinkat(dir, temp, 0);
    *replaced = !error;
    if (!error && fsync(dir) < 0) error = -errno;
    return error;
}

int tfy__file_may_write(const TfyProtect *protect, int root_fd, const char *start)
{
    char *path = tfy__sys_strdup(start);
    if (!path) return -ENOMEM;
    size_t at = strlen(path); /* what follows is missing, or is the last component */
    int dir = -ENOENT;
    while (dir == -ENOENT && at) {
        for (at--; at && path[at - 1] != '/';) at--;
        char kept = path[at];
        path[at] = 0;
        dir = tfy__beneath_open(root_fd, at ? path : ".", O_PATH | O_DIRECTORY, true);
        path[at] = kept;
    }
    int error = dir < 0 ? dir : tfy__protect_check(protect, dir, path + at, true);
    if (dir >= 0) close(dir);
    free(path);
    return tfy__protect_reason(-error) ? error : 0;
}

/* Writes it there unless the entry is protected. */
static int replace_allowed(const TfyProtect *protect, int dir, const char *name, const TfyFileContent *content,
                           bool *replaced)
{
    int error = protect ? tfy__protect_check(protect, dir, name, true) : 0;
    return error ? error : replace_file(dir, name, content, replaced);
}

static int write_content(const TfyProtect *protect, int root_fd, char **path, const TfyFileContent *content,
                         bool *replaced)
{
    for (int hops = 0; hops <= LINK_HOPS; hops++) {
        char *name = NULL;
        int error = protect ? tfy__file_may_write(protect, root_fd, *path) : 0; /* before any directory is made */
        if (!error) error = tfy__file_make_parents(protect, root_fd, *path);
        int dir = error ? error : open_parent(root_fd, *path, &name);
        if (dir < 0) return dir;
        int followed = follow_link(dir, name, path);
        if (followed == 0) error = replace_allowed(protect, dir, name, content, replaced);
        close(dir);
        if (followed <= 0) return followed ? followed : error;
    }
    return -ELOOP;
}

int tfy__file_write(const TfyProtect *protect, int root_fd, const char *start, const TfyFileContent *content,
                    bool *replaced)
{
    char *path = tfy__sys_strdup(start);
    *replaced = false;
    if (!path) return -ENOMEM;
    int error = content->len > content->most ? -EFBIG : write_content(protect, root_fd, &path, content, replaced);
    free(path);
    return error;
}

int tfy__file_remove(const TfyProtect *protect, int root_fd, const char *start, bool *removed)
{
    *removed = false;
    char *path = tfy__sys_strdup(start), *name = NULL;
    if (!path) return -ENOMEM;
    int dir = open_parent(root_fd, path, &name), error = dir < 0 ? dir : tfy__protect_check(protect, dir, name, true);
    if (!error && unlinkat(dir, name, 0) < 0) error = -errno;
    *removed = !error;
    if (!error && fsync(dir) < 0) error = -errno;
    if (dir >= 0) close(dir);
    free(path);
    return error == -ENOENT ? 0 : error;
}

static void write_work(TfyJob *job)
{
    TfyFileJob *own = (TfyFileJob *)job;
    TfyFileContent content = {
        .key = own->key, .executable = -1, .bytes = own->bytes, .len = own->len, .most = own->most};
    own->error = tfy__file_write(own->protect, own->root_fd, own->path, &content, &own->replaced);
}

static void write_done(TfyJob *job)
{
    TfyFileJob *own = (TfyFileJob *)job;
    TfyCall *call = own->call;
    int error = own->error;
    call->outcome = own->replaced ? TFY_UNKNOWN : TFY_NOT_DONE;
    if (own->replaced) tfy__wrote_note(call, call->args[0].o);
    tfy__file_job_drop(job);
    if (error) {
        tfy__file_error(call, "write", tfy__file_shown(call), -error);
    } else {
        tfy__call_done(call, tfy_of_int(0));
    }
}

static void write_start(TfyCall *call)
{
    const TfyString *text = (const TfyString *)call->args[1].o;
    tfy__file_begin(call, "write",
                    (TfyFileJob){.job = {.work = write_work, .done = write_done, .alone = true},
                                 .bytes = text->bytes,
                                 .key = call->key,
                                 .len = text->byte_len});
}

void tfy__file_settle(TfyCall *call)
{
    TfyFileJob *own = call->state;
    tfy__pool_settle(call->loop, &own->job);
    if (own->replaced) tfy__wrote_note(call, call->args[0].o);
    tfy__pool_let_go(call->loop, &own->job);
}

void tfy__file_close(TfyLoop *loop)
{
    tfy__pool_close(loop);
    tfy__wrote_close(loop);
}

/* Text and bytes go the same ways. */
#define READER(Name)                                                                                                   \
    const TfyPerformer tfy__perform_##Name = {                                                                         \
        .name = #Name, .start = read_start, .abort = tfy__file_let_go, .close = tfy__pool_close}
#define WRITER(Name)                                                                                                   \
    const TfyPerformer tfy__perform_##Name = {.name = #Name,                                                           \
                                              .start = write_start,                                                    \
                                              .abort = tfy__file_settle,                                               \
                                              .close = tfy__file_close,                                                \
                                              .prepare = tfy__protect_root,                                            \
                                              .recorded = tfy__wrote_recorded,                                         \
                                              .forget = tfy__wrote_forget}

READER(read_file);
READER(read_bytes);
WRITER(write_file);
WRITER(write_bytes);
