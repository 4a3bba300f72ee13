/* ledger_tool LEDGER RESULT WORD…: a tool with an effect outside that can be counted: it works a little, appends one line to the ledger,
 * works a little more, and prints its result. `ledger_tool --probe LEDGER KEY` answers whether a line of that key is there: null, or the
 * result as JSON. A line is "done", the step's key, the result, and the words, separated by tabs; it is written by one call, so a tool that
 * is killed has done its work whole or not at all, and nobody but the ledger can tell which.
 *
 * `ledger_tool --leave LEDGER RESULT WORD…` has the work done by a process with an empty environment in a session of its own, whose parents have
 * ended, and waits for its end. That process holds a lock as long as it works. An attempt or a probe that comes meanwhile writes a line that
 * says so, and waits. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORK_MS = 3, LEFT_WORK_MS = 15 };

static void work(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

static int append(const char *ledger, const char *line)
{
    int fd = open(ledger, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    ssize_t written = write(fd, line, strlen(line));
    int synced = fsync(fd);
    close(fd);
    return written == (ssize_t)strlen(line) ? synced : -1;
}

/* argv: LEDGER RESULT WORD… from 1 on. ms: half of the time that it takes. */
static int book(int argc, char **argv, const char *key, int ms)
{
    char line[4096];
    int len = snprintf(line, sizeof line, "done\t%s\t%s\t", key, argv[2]);
    for (int i = 3; i < argc; i++)
        len += snprintf(line + len, sizeof line - (size_t)len, "%s%s", argv[i], i + 1 < argc ? " " : "");
    snprintf(line + len, sizeof line - (size_t)len, "\n");
    work(ms);
    if (append(argv[1], line) < 0) return 1;
    work(ms);
    printf("%s", argv[2]);
    return 0;
}

/* ---- work that is left to another process ---- */

/* Inherited by what is started. */
static int open_lock(const char *ledger, const char *key)
{
    char name[4096];
    const int len = snprintf(name, sizeof name, "%s.lock.", ledger);
    snprintf(name + len, sizeof name - (size_t)len, "%s", key);
    for (char *at = name + len; *at; at++) *at = *at == '/' ? '_' : *at;
    return open(name, O_RDWR | O_CREAT, 0600);
}

/* Takes the lock of the key's work; a line in the ledger says when that is still being done. */
static int take_lock(const char *ledger, const char *key, const char *who)
{
    char line[4096];
    const int fd = open_lock(ledger, key);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    snprintf(line, sizeof line, "beside\t%s\t%s comes while it is at work\n", key, who);
    append(ledger, line);
    flock(fd, LOCK_EX);
    return fd;
}

/* The process that works gets these words, with the key before them, and the lock; nothing else of ours. */
__attribute__((noreturn)) static void start_worker(char **argv, const char *key)
{
    char *words[64] = {argv[0], "--work", (char *)key};
    for (int i = 2; argv[i] && i < 60; i++) words[i + 1] = argv[i];
    setsid();
    if (fork() != 0) _exit(0);
    for (int fd = 0; fd < 3; fd++) dup2(open("/dev/null", O_RDWR | O_CLOEXEC), fd);
    execve("/proc/self/exe", words, (char *const[]){NULL});
    _exit(127);
}

static int leave(char **argv, const char *key)
{
    const int lock = take_lock(argv[2], key, "an attempt");
    const pid_t child = fork();
    if (child == 0) start_worker(argv, key);
    waitpid(child, NULL, 0);
    close(lock);
    flock(open_lock(argv[2], key), LOCK_EX); /* free when the worker has ended */
    printf("%s", argv[3]);
    return 0;
}

static int probe(const char *ledger, const char *key)
{
    char line[4096];
    const size_t len = strlen(key);
    take_lock(ledger, key, "the probe");
    FILE *file = fopen(ledger, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "done\t", 5) != 0 || strncmp(line + 5, key, len) != 0 || line[5 + len] != '\t') continue;
        char *result = line + 5 + len + 1;
        result[strcspn(result, "\t")] = '\0';
        puts(result);
        fclose(file);
        return 0;
    }
    if (file) fclose(file);
    puts("null");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--probe") == 0) return probe(argv[2], argv[3]);
    const char *key = getenv("TFY_KEY") ? getenv("TFY_KEY") : "-";
    if (argc >= 4 && strcmp(argv[1], "--leave") == 0) return leave(argv, key);
    if (argc >= 5 && strcmp(argv[1], "--work") == 0) return book(argc - 2, argv + 2, argv[2], LEFT_WORK_MS);
    if (argc >= 3) return book(argc, argv, key, WORK_MS);
    fprintf(stderr, "usage: ledger_tool [--leave] LEDGER RESULT WORD… | --probe LEDGER KEY\n");
    return 64;
}
