/* main.c: sim [--seeds A..B] [--time SECONDS] [--jobs N] [--first] [--trace] [--hashes] [--cuts] [--workers N]: runs seeds, each in a process of its own, and prints "N passed, N failed".
 *
 * --time stops after so many seconds, wherever it is; --first stops at the first seed that fails; --trace tells everything that happens (of one seed); --hashes prints each seed's trace
 * as a number; --cuts makes every death a power cut in the midst of a write, and more of them; --workers is another simulation (cluster.h). Every eighth seed is run twice, and must do the same. */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cluster.h"

enum { SEED_SECONDS = 60, TWICE_EVERY = 8, FAILURES_MAX = 20 };

typedef struct Shared {
    atomic_ullong next;
    atomic_uint passed, failed, deaths;
    uint64_t trace[64]; /* by worker: of the seed that just ran */
    uint32_t deaths_of[64];
} Shared;

static Shared *shared;
static uint64_t last;
static int64_t until_s;
static bool hashes, verbose;
static uint32_t failures_max = FAILURES_MAX;

static int64_t seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* In a process of its own: what it leaves behind at its deaths goes with it. */
static bool run_in_child(uint64_t seed, uint32_t worker)
{
    int status = 0;
    pid_t pid = fork();
    if (pid < 0) return false;
    if (pid == 0) {
        setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = SEED_SECONDS},
                  NULL); /* of its own time, not the clock's */
        if (sim_workers)
            sim_run_cluster(seed, verbose);
        else
            sim_run_seed(seed, verbose);
        shared->trace[worker] = sim.trace;
        shared->deaths_of[worker] = sim.deaths_done;
        _exit(0);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFSIGNALED(status))
        fprintf(stderr, "not ok - seed %llu: ended by signal %d%s\n", (unsigned long long)seed, WTERMSIG(status),
                WTERMSIG(status) == SIGPROF ? " (it takes for ever)" : "");
    else if (WEXITSTATUS(status) > 1)
        fprintf(stderr, "not ok - seed %llu: ended with status %d\n", (unsigned long long)seed, WEXITSTATUS(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool run_seed(uint64_t seed, uint32_t worker)
{
    if (!run_in_child(seed, worker)) return false;
    uint64_t trace = shared->trace[worker];
    atomic_fetch_add(&shared->deaths, shared->deaths_of[worker]);
    if (hashes) printf("%llu %016llx\n", (unsigned long long)seed, (unsigned long long)trace);
    if (seed % TWICE_EVERY || verbose) return true;
    if (!run_in_child(seed, worker)) return false;
    if (shared->trace[worker] == trace) return true;
    fprintf(stderr, "not ok - seed %llu: e4: run again, it does something else\n", (unsigned long long)seed);
    return false;
}

static void work(uint32_t worker)
{
    for (;;) {
        uint64_t seed = atomic_fetch_add(&shared->next, 1);
        if (seed > last || (until_s && seconds() >= until_s)) break;
        if (atomic_load(&shared->failed) >= failures_max) break;
        if (run_seed(seed, worker))
            atomic_fetch_add(&shared->passed, 1);
        else
            atomic_fetch_add(&shared->failed, 1);
    }
    fflush(stdout);
}

static int usage(void)
{
    fprintf(stderr, "usage: sim [--seeds A..B] [--time SECONDS] [--jobs N] [--first] [--trace] [--hashes] [--cuts] "
                    "[--workers 2..5]\n");
    return 64;
}

int main(int argc, char **argv)
{
    uint64_t first = 1;
    int jobs = 2;
    last = 1000;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--trace") == 0) {
            verbose = true;
            continue;
        }
        if (strcmp(argv[i], "--cuts") == 0) {
            sim_cuts = true;
            continue;
        }
        if (strcmp(argv[i], "--hashes") == 0) {
            hashes = true;
            continue;
        }
        if (strcmp(argv[i], "--first") == 0) {
            failures_max = 1;
            continue;
        }
        if (!value) return usage();
        if (strcmp(argv[i], "--seeds") == 0) {
            const char *to = strstr(value, "..");
            first = last = strtoull(value, NULL, 10);
            if (to) last = strtoull(to + 2, NULL, 10);
        } else if (strcmp(argv[i], "--time") == 0) {
            until_s = seconds() + atoll(value);
        } else if (strcmp(argv[i], "--jobs") == 0) {
            jobs = atoi(value);
        } else if (strcmp(argv[i], "--workers") == 0) {
            sim_workers = (uint32_t)atoi(value);
            if (sim_workers < 2 || sim_workers > CLUSTER_MACHINES) return usage();
        } else {
            return usage();
        }
        i++;
    }
    if (jobs < 1 || jobs > 64 || last < first) return usage();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 70;
    atomic_store(&shared->next, first);
    setlinebuf(stdout);
    json_object_seed(1);
    sim_disk_register();
    for (int worker = 0; worker < jobs; worker++) {
        pid_t pid = fork();
        if (pid == 0) {
            work((uint32_t)worker);
            _exit(0);
        }
    }
    while (wait(NULL) > 0 || errno == EINTR) continue;
    fprintf(stderr, "%u %s\n", atomic_load(&shared->deaths),
            sim_workers ? "times a run went to another session"
            : sim_cuts  ? "power cuts"
                        : "deaths");
    printf("%u passed, %u failed\n", atomic_load(&shared->passed), atomic_load(&shared->failed));
    return atomic_load(&shared->failed) != 0;
}
