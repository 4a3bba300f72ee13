/* family.c: see family.h. /proc is read once for a look: ancestry is followed in what was read, so a look takes as long
 * as the machine has processes, and not that times their depth. */
#include "effects/family.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "effects/proc.h"

/* Processes of the machine that are looked at; a table of so many takes memory only as it fills. */
#define PROCESSES_MAX 65536
#define STAT_BYTES    512
#define SHARES_BYTES  2048 /* of /proc/PID/smaps_rollup */
#define REST          50   /* times as long as a look took, … */
#define REST_MAX_MS   1000 /* … but no longer than this */

/* In /proc/PID/stat, counted from the state, which follows the name. */
enum { STAT_PARENT = 1, STAT_THREADS = 17, STAT_RESIDENT = 21 };

typedef struct Relative {
    pid_t pid, parent;
    bool ours;
    uint32_t threads;
    uint64_t pages;
} Relative;

typedef struct Look {
    Relative *all;
    uint32_t count;
} Look;

#define LOOK_BYTES (PROCESSES_MAX * sizeof(Relative))

/* Skips so many words. NULL: there are not so many. */
static const char *word_at(const char *text, int ordinal)
{
    for (; text && ordinal; ordinal--) text = (text = strchr(text, ' ')) ? text + 1 : NULL;
    return text;
}

static bool read_one(int dir, const char *name, void *arg)
{
    Look *look = arg;
    char stat[STAT_BYTES];
    const pid_t pid = atoi(name);
    (void)dir;
    const size_t len = tfy__proc_read(pid, "stat", stat, sizeof stat - 1);
    stat[len] = 0;
    const char *end = strrchr(stat, ')'); /* the name before it may contain anything */
    const char *state = end && end[1] ? end + 2 : NULL, *resident = word_at(state, STAT_RESIDENT);
    if (!resident) return true; /* it has gone */
    look->all[look->count++] = (Relative){.pid = pid,
                                          .parent = atoi(word_at(state, STAT_PARENT)),
                                          .threads = (uint32_t)atoi(word_at(state, STAT_THREADS)),
                                          .pages = strtoull(resident, NULL, 10)};
    return look->count < PROCESSES_MAX;
}

/* The kernel lists processes in the order of their numbers. */
static bool is_ours(const Look *look, pid_t pid, pid_t ancestor)
{
    uint32_t from = 0, to = look->count;
    if (pid == ancestor) return true;
    while (from < to) {
        const uint32_t middle = (from + to) / 2;
        if (look->all[middle].pid == pid) return look->all[middle].ours;
        if (look->all[middle].pid < pid)
            from = middle + 1;
        else
            to = middle;
    }
    return false;
}

/* Parents mostly come before their children; where numbers began anew, another pass finds the rest. */
static void find_ours(const Look *look, pid_t ancestor)
{
    for (bool found = true; found;) {
        found = false;
        for (uint32_t i = 0; i < look->count; i++) {
            Relative *one = &look->all[i];
            if (one->ours || !is_ours(look, one->parent, ancestor)) continue;
            one->ours = found = true;
        }
    }
}

static uint64_t memory_of(const Relative *one)
{
    return one->pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* What a process has for itself, and its part of what it shares; all that it has, if the kernel does not say. */
static uint64_t share_of(const Relative *one)
{
    static const char row[] = "\nPss:";
    char text[SHARES_BYTES];
    const size_t len = tfy__proc_read(one->pid, "smaps_rollup", text, sizeof text - 1);
    text[len] = 0;
    const char *found = strstr(text, row);
    return found ? strtoull(found + sizeof row - 1, NULL, 10) * 1024 : memory_of(one);
}

static bool take_look(Look *look, pid_t ancestor)
{
    *look = (Look){
        .all = mmap(NULL, LOOK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)};
    if (look->all == MAP_FAILED) return false;
    const int dir = tfy__proc_open_dir(0, "");
    if (dir < 0) return true;
    tfy__proc_each(dir, read_one, look);
    close(dir);
    find_ours(look, ancestor);
    return true;
}

static TfyFamilyUse sum(const Look *look, uint64_t (*memory)(const Relative *one))
{
    TfyFamilyUse family = {0};
    for (uint32_t i = 0; i < look->count; i++) {
        if (!look->all[i].ours) continue;
        family.processes += look->all[i].threads;
        family.memory += memory(&look->all[i]);
    }
    return family;
}

TfyFamilyUse tfy__family_of(pid_t ancestor)
{
    Look look;
    if (!take_look(&look, ancestor)) return (TfyFamilyUse){0};
    const TfyFamilyUse family = sum(&look, share_of);
    munmap(look.all, LOOK_BYTES);
    return family;
}

/* What is shared is only followed up where it matters: that takes the kernel much longer. */
TfyLimit tfy__family_passed(pid_t ancestor, const TfyLimits *limits)
{
    Look look;
    TfyLimit passed = TFY_LIMIT_NONE;
    if (!take_look(&look, ancestor)) return passed;
    const TfyFamilyUse most = sum(&look, memory_of);
    if (limits->processes && most.processes > limits->processes)
        passed = TFY_LIMIT_PROCESSES;
    else if (limits->memory && most.memory > limits->memory && sum(&look, share_of).memory > limits->memory)
        passed = TFY_LIMIT_MEMORY;
    munmap(look.all, LOOK_BYTES);
    return passed;
}

void tfy__family_go_first(void)
{
    const struct sched_param lowest = {.sched_priority = 1};
    sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest);
}

int64_t tfy__family_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t tfy__family_rest_ms(int64_t took_ms)
{
    const int64_t rest_ms = took_ms * REST;
    return rest_ms < TFY_FAMILY_LOOK_MS ? TFY_FAMILY_LOOK_MS : rest_ms < REST_MAX_MS ? rest_ms : REST_MAX_MS;
}

TfyLimit tfy__family_signal(int signal, const TfyLimits *limits)
{
    if (signal == SIGXCPU && limits->cpu_s) return TFY_LIMIT_CPU;
    return signal == SIGXFSZ && limits->file_bytes ? TFY_LIMIT_FILE : TFY_LIMIT_NONE;
}

/* "2 GiB", in the largest unit that gives a whole number. */
static void say_size(uint64_t bytes, char *text, size_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    for (; unit < 4 && bytes && bytes % 1024 == 0; unit++) bytes /= 1024;
    snprintf(text, size, "%llu %s", (unsigned long long)bytes, units[unit]);
}

void tfy__family_say(TfyLimit limit, const TfyLimits *limits, char *text, size_t size)
{
    char bytes[40];
    say_size(limit == TFY_LIMIT_MEMORY ? limits->memory : limits->file_bytes, bytes, sizeof bytes);
    *text = 0;
    if (limit == TFY_LIMIT_MEMORY) snprintf(text, size, "used more than %s of memory", bytes);
    if (limit == TFY_LIMIT_FILE) snprintf(text, size, "wrote a file larger than %s", bytes);
    if (limit == TFY_LIMIT_PROCESSES)
        snprintf(text, size, "ran more than %llu processes", (unsigned long long)limits->processes);
    if (limit == TFY_LIMIT_CPU)
        snprintf(text, size, "used more than %llus of processor time", (unsigned long long)limits->cpu_s);
}
