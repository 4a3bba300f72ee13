/* former.c: see former.h. */
#include "effects/former.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "effects/proc.h"
#include "effects/watcher.h"
#include "tfy.h"
#include "base/steady.h"
#include "base/sys_memory.h"

#define NOTE_AT     256
#define ENVIRON_MAX ((size_t)1 << 20) /* how much of a process's environment is searched for a mark */
#define LOOK_MS     10                /* how often locks and processes are checked */
#define LINK_BYTES  64
/* checks in a row that find nothing: a process may start another and exit during one */
#define EMPTY_LOOKS 2

typedef struct Note {
    char magic[8];
    uint64_t mark, dev, ino;
} Note;

static const char magic[8] = {'t', 'f', 'y', 't', 'o', 'o', 'l', '1'};

/* What is searched for. */
typedef struct Quarry {
    char variable[40];     /* the start of the environment's entry */
    char file[LINK_BYTES]; /* the target of a link in /proc/PID/fd */
    char *environ;         /* ENVIRON_MAX bytes of scratch */
} Quarry;

static void file_name(char name[TFY_MARK_BYTES], uint64_t mark)
{
    snprintf(name, TFY_MARK_BYTES, "tfy-%016llx", (unsigned long long)mark);
}

int tfy__former_mark_file(uint64_t mark)
{
    char name[TFY_MARK_BYTES];
    file_name(name, mark);
    const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    /* Sealed: tools share it, and must not communicate through it. */
    if (fd >= 0) fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    return fd;
}

/* ---- the note ---- */

int tfy__former_note(int lock_fd, uint64_t mark)
{
    Note note = {.mark = 0};
    struct stat file;
    if (mark) {
        if (fstat(lock_fd, &file) < 0) return errno;
        note = (Note){.mark = mark, .dev = (uint64_t)file.st_dev, .ino = (uint64_t)file.st_ino};
        memcpy(note.magic, magic, sizeof magic);
    }
    const ssize_t written = pwrite(lock_fd, &note, sizeof note, NOTE_AT);
    return written == sizeof note ? 0 : written < 0 ? errno : EIO;
}

/* The mark in the note; 0: none. */
static uint64_t noted(int lock_fd)
{
    Note note;
    struct stat file;
    if (pread(lock_fd, &note, sizeof note, NOTE_AT) != sizeof note || fstat(lock_fd, &file) < 0) return 0;
    const bool ours = memcmp(note.magic, magic, sizeof magic) == 0 && note.dev == (uint64_t)file.st_dev &&
                      note.ino == (uint64_t)file.st_ino;
    return ours ? note.mark : 0;
}

/* ---- the search ---- */

static bool environment_has(const Quarry *quarry, pid_t pid)
{
    const size_t len = tfy__proc_read(pid, "environ", quarry->environ, ENVIRON_MAX), want = strlen(quarry->variable);
    for (const char *at = quarry->environ, *end = at + len; at < end;) {
        const size_t left = (size_t)(end - at);
        if (left >= want && memcmp(at, quarry->variable, want) == 0) return true;
        const char *nul = memchr(at, 0, left);
        if (!nul) return false;
        at = nul + 1;
    }
    return false;
}

static bool is_other_file(int dir, const char *name, void *arg)
{
    char link[LINK_BYTES];
    const Quarry *quarry = arg;
    const ssize_t len = readlinkat(dir, name, link, sizeof link);
    return len != (ssize_t)strlen(quarry->file) || memcmp(link, quarry->file, (size_t)len) != 0;
}

static bool has_file_open(Quarry *quarry, pid_t pid)
{
    const int dir = tfy__proc_open_dir(pid, "fd");
    if (dir < 0) return false;
    const bool none = tfy__proc_each(dir, is_other_file, quarry);
    close(dir);
    return !none;
}

static bool is_marked(pid_t pid, void *arg)
{
    return pid != getpid() && (environment_has(arg, pid) || has_file_open(arg, pid));
}

/* Ends every process that has the mark. False: some still live. */
static bool end_marked(uint64_t mark, int64_t end_ms)
{
    static const int term[] = {SIGTERM, SIGCONT, 0}, term_again[] = {0}, last[] = {SIGKILL, 0};
    const int64_t kill_ms = tfy__steady_ms() + TFY_FAREWELL_MS;
    char name[TFY_MARK_BYTES];
    Quarry quarry = {.environ = tfy__sys_malloc(ENVIRON_MAX)};
    if (!quarry.environ) return false;
    file_name(name, mark);
    snprintf(quarry.variable, sizeof quarry.variable, TFY_MARK_VARIABLE "%016llx-", (unsigned long long)mark);
    snprintf(quarry.file, sizeof quarry.file, "/memfd:%s (deleted)", name);
    const int *signals = term;
    int empty = 0;
    while (empty < EMPTY_LOOKS && tfy__steady_ms() < end_ms) {
        const uint32_t found = tfy__proc_signal(signals, is_marked, &quarry);
        empty = found ? 0 : empty + 1;
        signals = tfy__steady_ms() >= kill_ms ? last : term_again;
        if (found) poll(NULL, 0, LOOK_MS);
    }
    free(quarry.environ);
    return empty == EMPTY_LOOKS;
}

/* Waits for the lock of the watcher and its stubs. */
static int await_watcher(int lock_fd, int64_t end_ms)
{
    for (;;) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = TFY_LOCK_WATCHER_BYTE, .l_len = 1};
        if (fcntl(lock_fd, F_OFD_GETLK, &lock) < 0) return TFY_E_IO;
        if (lock.l_type == F_UNLCK) return TFY_OK;
        if (tfy__steady_ms() >= end_ms) return TFY_E_HELD;
        poll(NULL, 0, LOOK_MS);
    }
}

int tfy__former_end(const char *lock_path, int timeout_ms)
{
    const int64_t end_ms = tfy__steady_ms() + timeout_ms;
    const int fd = open(lock_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return errno == ENOENT ? TFY_OK : TFY_E_IO;
    int answer = await_watcher(fd, end_ms);
    const uint64_t mark = answer ? 0 : noted(fd);
    if (mark && !end_marked(mark, end_ms)) answer = TFY_E_HELD;
    if (mark && !answer && tfy__former_note(fd, 0)) answer = TFY_E_IO;
    close(fd);
    return answer;
}
