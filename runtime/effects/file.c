/* file.c: read_file and write_file inside the working root.
 *
 * A disk can take long, so both are work for the pool's threads. Writes are done one after the other, and whoever stops one waits until it
 * is over: no write goes on behind the back of a later attempt, which would use the same temporary name. A write is seen whole or not at all, also after a crash: a new file in the same directory, synced, renamed over
 * the old one, the directory synced. The temporary name follows from the step's key, so what a crash leaves behind is taken up by the
 * repeated step. */
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

#include "effects/pool.h"
#include "base/utf8.h"

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

const char *tfy__path_below(TfyLoop *loop, const TfyObj *path)
{
    const TfyString *text = (const TfyString *)path;
    const char *root = tfy__root(loop), *rest = text->bytes;
    size_t root_len = strlen(root);
    if (!text->byte_len || memchr(text->bytes, 0, text->byte_len)) return NULL;
    if (*rest != '/') return rest;
    while (root_len && root[root_len - 1] == '/') root_len--;
    if (strncmp(rest, root, root_len) != 0 || (rest[root_len] && rest[root_len] != '/')) return NULL;
    rest += root_len;
    rest += strspn(rest, "/");
    return *rest ? rest : ".";
}

/* ---- errors ---- */

static const char *explain(int error)
{
    switch (error) {
    case EXDEV: return "it leads outside the working root";
    case ELOOP: return "there is a symbolic link that cannot be followed here";
    case ENOENT: return "there is no such file or directory";
    case EISDIR: return "it is a directory";
    case ENOTDIR: return "a part of the path is not a directory";
    case ENOTSUP: return "it is not a regular file";
    case EFBIG: return "it is larger than 16 MiB, or than this process may write (ulimit -f)";
    default: return strerror(error);
    }
}

bool tfy__root_is_gone(TfyLoop *loop)
{
    struct stat info;
    return fstat(tfy__root_fd(loop), &info) < 0 || info.st_nlink == 0;
}

void tfy__file_error(TfyCall *call, const char *verb, const char *path, int error)
{
    if (tfy__is_no_room(error)) {
        tfy__call_no_room(call, error);
    } else if (tfy__root_is_gone(call->loop)) {
        tfy__call_tool_error(call, ENOENT, "cannot %s '%s': the working root %s is gone", verb, path,
                             tfy__root(call->loop));
    } else {
        tfy__call_tool_error(call, error, "cannot %s '%s': %s", verb, path, explain(error));
    }
}

/* ---- reading ---- */

/* Opens without waiting (a FIFO has no writer, a device may never answer) and looks at what it got. */
static int open_regular(int root_fd, const char *path, bool links)
{
    struct stat info;
    int fd = tfy__beneath_open(root_fd, path, O_RDONLY | O_NONBLOCK, links);
    if (fd == -ENXIO) return -ENOTSUP; /* a socket */
    if (fd < 0) return fd;
    int error = fstat(fd, &info) < 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : S_ISREG(info.st_mode) ? 0 : ENOTSUP;
    if (!error && info.st_size > (off_t)TFY_FILE_CAP) error = EFBIG;
    if (!error) return fd;
    close(fd);
    return -error;
}

int tfy__file_read(int root_fd, const char *path, bool links, TfyBuffer *out)
{
    char chunk[1 << 16];
    int fd = open_regular(root_fd, path, links), error = 0;
    if (fd < 0) return fd;
    tfy__buffer_reset(out);
    for (ssize_t len; !error && (len = read(fd, chunk, sizeof chunk)) != 0;) {
        if (len < 0 && errno == EINTR) continue;
        if (len < 0) error = errno;
        if (len > 0) tfy__buffer_add(out, chunk, (size_t)len);
        if (out->len > TFY_FILE_CAP) error = EFBIG;
    }
    close(fd);
    if (!error && out->failed) error = ENOMEM;
    return -error;
}

/* What a thread of the pool needs to know of a call, and what comes of it. */
typedef struct FileJob {
    TfyJob job;    /* first */
    TfyCall *call; /* the loop's thread's affair */
    int root_fd;   /* open as long as the pool */
    char *path;    /* owned */
    TfyBuffer content;
    const char *bytes, *key; /* of a write: the call's */
    size_t len;
    int error;     /* 0 or -errno */
    bool replaced; /* of a write: the new file is in its place, whatever failed then */
} FileJob;

static const char *shown(const TfyCall *call)
{
    return ((const TfyString *)call->args[0].o)->bytes;
}

static void job_drop(TfyJob *job)
{
    FileJob *own = (FileJob *)job;
    tfy__buffer_free(&own->content);
    free(own->path);
    free(own);
}

/* Hands the call to the pool, or fails it. */
static void begin(TfyCall *call, const char *verb, FileJob wanted)
{
    call->outcome = TFY_NOT_DONE;
    const char *path = tfy__path_below(call->loop, call->args[0].o);
    FileJob *job = path ? tfy__sys_malloc(sizeof *job) : NULL;
    if (!path) {
        tfy__file_error(call, verb, shown(call), EXDEV);
        return;
    }
    if (job) *job = wanted;
    if (job) job->call = call;
    if (job) job->root_fd = tfy__root_fd(call->loop);
    if (job) job->job.drop = job_drop;
    const int code = job && (job->path = tfy__sys_strdup(path)) ? tfy__pool_add(call->loop, &job->job) : TFY_E_NOMEM;
    const int error = code == TFY_E_STATE ? errno : ENOMEM;
    if (code == 0) {
        call->state = job;
        return;
    }
    if (job) job_drop(&job->job);
    tfy__call_no_room(call, error);
}

static void read_work(TfyJob *job)
{
    FileJob *own = (FileJob *)job;
    own->error = tfy__file_read(own->root_fd, own->path, true, &own->content);
}

static void read_done(TfyJob *job)
{
    FileJob *own = (FileJob *)job;
    TfyCall *call = own->call;
    TfyTask *task = call->task; /* the call may be gone when it is answered */
    TfyHeap *heap = task->heap;
    uint32_t mark = tfy_mark(task);
    TfyBuffer content = own->content;
    int error = own->error;
    own->content = (TfyBuffer){0};
    job_drop(job);
    TfyObj *text = error ? NULL : tfy_string_of(task, content.data ? content.data : "", content.len);
    if (error) {
        tfy__file_error(call, "read", shown(call), -error);
    } else if (text) {
        tfy__call_done(call, tfy_of_obj(text));
    } else {
        tfy_drop(task, tfy_take_error(task));
        tfy__call_tool_error(call, ENOMEM, "cannot read '%s': %s", shown(call), strerror(ENOMEM));
    }
    tfy__buffer_free(&content);
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

static void read_start(TfyCall *call)
{
    begin(call, "read", (FileJob){.job = {.work = read_work, .done = read_done}});
}

static void read_abort(TfyCall *call)
{
    FileJob *own = call->state;
    tfy__pool_let_go(call->loop, &own->job);
}

/* ---- writing ---- */

/* Makes the directories a path stands in, as far as they are missing. 0 or -errno. */
static int make_parents(int root_fd, char *path)
{
    int above = fcntl(root_fd, F_DUPFD_CLOEXEC, 0), error = above < 0 ? -errno : 0;
    for (char *at = path + strspn(path, "/"), *slash; !error && (slash = strchr(at, '/')); at = slash + 1) {
        *slash = 0;
        int dir = tfy__beneath_open(root_fd, path, O_PATH | O_DIRECTORY, true);
        if (dir == -ENOENT && mkdirat(above, at, 0777) < 0 && errno != EEXIST) error = -errno;
        if (dir == -ENOENT && !error) dir = tfy__beneath_open(root_fd, path, O_PATH | O_DIRECTORY, true);
        if (dir < 0 && !error) error = dir;
        *slash = '/';
        close(above);
        above = dir;
    }
    if (above >= 0) close(above);
    return error;
}

/* Opens the directory a path stands in, readable so that it can be synced; *name is the last component. A descriptor or -errno. */
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

/* Replaces a path that ends in a symbolic link by what the link names, so that a write goes through it and not over it. 0: nothing more to
 * follow; 1: path has changed; or -errno. */
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

/* What is to be written, and how. */
typedef struct Content {
    const char *key; /* names the temporary file */
    int executable;  /* 0, 1, or -1: as it was */
    const char *bytes;
    size_t len;
} Content;

/* The permissions of a file that is replaced: those it had, but for what is asked about execution (by whoever may read it). */
static mode_t replaced_mode(const struct stat *old, int executable)
{
    mode_t mode = old->st_mode & 07777;
    if (executable < 0 || (mode & S_IXUSR ? 1 : 0) == executable) return mode;
    return executable ? mode | (mode & 0444) >> 2 : mode & ~0111u;
}

/* Writes the file whole under a temporary name and puts it in the place of the old one. */
static int replace_file(int dir, const char *name, const Content *content, bool *replaced)
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

int tfy__file_write(int root_fd, const char *start, const char *key, int executable, const char *bytes, size_t len,
                    bool *replaced)
{
    Content content = {.key = key, .executable = executable, .bytes = bytes, .len = len};
    int error = len > TFY_FILE_CAP ? -EFBIG : 0;
    char *path = tfy__sys_strdup(start), *name = NULL;
    *replaced = false;
    if (!path) return -ENOMEM;
    for (int hops = 0; !error; hops++) {
        error = hops > LINK_HOPS ? -ELOOP : make_parents(root_fd, path);
        int dir = error ? error : open_parent(root_fd, path, &name);
        if (dir < 0) {
            error = dir;
            break;
        }
        int followed = follow_link(dir, name, &path);
        if (followed == 0) error = replace_file(dir, name, &content, replaced);
        if (followed < 0) error = followed;
        close(dir);
        if (followed == 0) break;
    }
    free(path);
    return error;
}

int tfy__file_remove(int root_fd, const char *start)
{
    char *path = tfy__sys_strdup(start), *name = NULL;
    if (!path) return -ENOMEM;
    int dir = open_parent(root_fd, path, &name), error = dir < 0 ? dir : 0;
    if (!error && unlinkat(dir, name, 0) < 0) error = -errno;
    if (!error && fsync(dir) < 0) error = -errno;
    if (dir >= 0) close(dir);
    free(path);
    return error == -ENOENT ? 0 : error;
}

static void write_work(TfyJob *job)
{
    FileJob *own = (FileJob *)job;
    own->error = tfy__file_write(own->root_fd, own->path, own->key, -1, own->bytes, own->len, &own->replaced);
}

static void write_done(TfyJob *job)
{
    FileJob *own = (FileJob *)job;
    TfyCall *call = own->call;
    int error = own->error;
    call->outcome = own->replaced ? TFY_UNKNOWN : TFY_NOT_DONE;
    job_drop(job);
    if (error) {
        tfy__file_error(call, "write", shown(call), -error);
    } else {
        tfy__call_done(call, tfy_of_int(0));
    }
}

static void write_start(TfyCall *call)
{
    const TfyString *text = (const TfyString *)call->args[1].o;
    begin(call, "write",
          (FileJob){.job = {.work = write_work, .done = write_done, .alone = true},
                    .bytes = text->bytes,
                    .key = call->key,
                    .len = text->byte_len});
}

static void write_abort(TfyCall *call)
{
    FileJob *own = call->state;
    tfy__pool_settle(call->loop, &own->job);
    tfy__pool_let_go(call->loop, &own->job);
}

const TfyPerformer tfy__perform_read_file = {
    .name = "read_file", .start = read_start, .abort = read_abort, .close = tfy__pool_close};
const TfyPerformer tfy__perform_write_file = {
    .name = "write_file", .start = write_start, .abort = write_abort, .close = tfy__pool_close};
