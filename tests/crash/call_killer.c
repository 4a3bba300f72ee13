/* call_killer.c: runs a program and kills it at one of its system calls, or interrupts it there.
 *
 *   call_killer enter:N PROGRAM ARGUMENT…   when its N-th call is about to begin, and never does
 *   call_killer leave:N PROGRAM ARGUMENT…   when the N-th that comes back has been done, and nobody has been told
 *   call_killer interrupt:N PROGRAM …       the same as enter, with SIGINT: the call is done, and the program may clear up
 *   call_killer count:FILE PROGRAM …        nowhere; at its end there stands in FILE how many calls began
 *
 * Counted are the calls of all threads of the program's own process, as the kernel comes upon them, from its execve on; what the process starts
 * is not followed and lives on, as it would after a crash. It ends as the program does, so by SIGKILL when that was killed.
 *
 * Why not strace: it counts each kind of call in each thread by itself, so that "the N-th call of all" is not to be had, kills at the
 * entry only, and takes longer. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Watch {
    pid_t program;
    long enter, leave; /* the call to kill it at; 0: none */
    long begun, done;  /* so far */
    int signal;        /* what it is killed with */
} Watch;

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "call_killer: %s: %s\n", what, strerror(errno));
    exit(70);
}

__attribute__((noreturn)) static void become(char **words)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0) die("it cannot be traced");
    raise(SIGSTOP); /* until the options are set */
    execvp(words[0], words);
    die(words[0]);
}

/* A thread stands at the beginning or the end of a call. Ends are counted once the first call, the execve, has begun. */
static void count_call(Watch *watch, pid_t thread)
{
    struct __ptrace_syscall_info call;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof call, &call) < 0) return; /* killed meanwhile */
    const bool begins = call.op == PTRACE_SYSCALL_INFO_ENTRY;
    if (begins) watch->begun++;
    if (!begins && watch->begun) watch->done++;
    if (begins ? watch->begun == watch->enter : watch->done && watch->done == watch->leave)
        kill(watch->program, watch->signal);
}

/* Lets the program go from call to call until it ends; its status as wait(2) gives it. */
static int follow(Watch *watch)
{
    for (;;) {
        int status;
        const pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0 && errno == EINTR) continue;
        if (thread < 0) die("the program is lost");
        if (!WIFSTOPPED(status)) {
            if (thread == watch->program) return status;
            continue;
        }
        const int stop = WSTOPSIG(status);
        int number = 0;
        if (stop == (SIGTRAP | 0x80)) {
            count_call(watch, thread);
        } else if (status >> 16 == 0 &&
                   stop != SIGSTOP) { /* neither news of the tracer's own nor a thread's first stop */
            number = stop;
        }
        ptrace(PTRACE_SYSCALL, thread, NULL,
               number); /* fails for a thread that was killed: its end is what comes next */
    }
}

static void read_place(Watch *watch, const char *text, const char **count_file)
{
    if (sscanf(text, "enter:%ld", &watch->enter) == 1 && watch->enter > 0) return;
    if (sscanf(text, "leave:%ld", &watch->leave) == 1 && watch->leave > 0) return;
    if (sscanf(text, "interrupt:%ld", &watch->enter) == 1 && watch->enter > 0) {
        watch->signal = SIGINT;
        return;
    }
    if (strncmp(text, "count:", 6) == 0) {
        *count_file = text + 6;
        return;
    }
    fprintf(stderr, "call_killer: '%s' is none of enter:N, leave:N, interrupt:N, count:FILE\n", text);
    exit(64);
}

static void write_count(const Watch *watch, const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file || fprintf(file, "%ld\n", watch->begun) < 0 || fclose(file) != 0) die(path);
}

int main(int argc, char **argv)
{
    Watch watch = {.signal = SIGKILL};
    const char *count_file = NULL;
    int status;
    if (argc < 3) {
        fprintf(stderr, "usage: call_killer enter:N|leave:N|interrupt:N|count:FILE PROGRAM ARGUMENT…\n");
        return 64;
    }
    read_place(&watch, argv[1], &count_file);
    watch.program = fork();
    if (watch.program < 0) die("no process can be started");
    if (watch.program == 0) become(argv + 2);
    if (waitpid(watch.program, &status, 0) < 0 || !WIFSTOPPED(status)) die("the program did not start");
    ptrace(PTRACE_SETOPTIONS, watch.program, NULL,
           PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
    ptrace(PTRACE_SYSCALL, watch.program, NULL, 0);
    status = follow(&watch);
    if (count_file) write_count(&watch, count_file);
    if (WIFSIGNALED(status)) raise(WTERMSIG(status));
    return WEXITSTATUS(status);
}
