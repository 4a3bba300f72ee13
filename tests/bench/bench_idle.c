/* bench_idle.c: the CPU that a process uses whose tasks all wait: sleepers and one that waits for a signal, the log on a disk, for a minute. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "bench.h"

enum { SETTLE_S = 2, WATCH_S = 60 };

/* Never comes back. */
_Noreturn static void be_idle(const char *path)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    TfyLoop *loop;
    char error[TFY_ERROR_TEXT] = "";
    TfyOptions options = {.db_path = path, .quiet = true, .wait_people = true};
    if (tfy_open(&loop, &tfyg_program, &options, error) < 0) bench_die("%s", error);
    bench_submit(loop, "crowd", "{\"count\":1000}", 1);
    bench_submit(loop, "attend", "{}", 1);
    tfy_run(loop);
    bench_die("the process was to wait for ever");
}

static double cpu_seconds_of(pid_t pid)
{
    clockid_t clock;
    if (clock_getcpuclockid(pid, &clock) != 0) bench_die("the waiting process has ended");
    return bench_clock(clock);
}

int main(void)
{
    BenchPlace place;
    bench_place(&place);
    pid_t pid = fork();
    if (pid < 0) bench_die("no process can be started");
    if (pid == 0) be_idle(place.path);
    sleep(SETTLE_S);
    double before = cpu_seconds_of(pid);
    sleep(WATCH_S);
    double used = cpu_seconds_of(pid) - before;
    if (waitpid(pid, NULL, WNOHANG) != 0) bench_die("the waiting process has ended");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    bench_clear(&place);
    fprintf(stderr, "bench: idle: %.3f ms of CPU in %d s, %.3f ms before that\n", used * 1e3, WATCH_S, before * 1e3);
    bench_report("CPU of a process whose 1,000 tasks wait, over 60 s (%)", used * 100 / WATCH_S, "<=", 0.1);
    return 0;
}
