/* harness.c: kills one program at every place there is, and checks that nobody can tell afterwards.
 *
 *   crash_harness --name N --program P --tfy T --scratch D [--setup SH] [--effects SH] [--ledger FILE] [--results FILE] [--kinds LIST]
 *                 [--every N] [--shard I/M] [--loose] [--verbose] [--again OPTION]… [-- ARGUMENTS of run]
 *
 * Kinds: commit (before and after every commit, before every checkpoint), point (every stop of a task), strace (a sample of system calls),
 * double (a second kill while the run is taken up). --every takes each N-th place only; --shard splits the places between processes. The
 * last line says how many trials passed and failed. */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

enum { COUNT_MAX = 100000 };

/* The whole undertaking. */
typedef struct Work {
    Case the;
    Outcome reference;
    const char *kinds;
    int every;         /* each so many-th place */
    int shard, shards; /* this process takes places whose number leaves shard when divided by shards */
    int place;         /* number of the next place */
    char *done;        /* the results file as it was */
    int passed, failed, skipped;
} Work;

/* ---- results ---- */

static bool was_done(const Work *work, const char *id)
{
    char *line = text_format("%s\t%s\tok\n", work->the.name, id);
    const bool found = work->done && strstr(work->done, line);
    free(line);
    return found;
}

static void note(const Work *work, const char *id, Verdict verdict)
{
    if (!work->the.results) return;
    char *line = text_format("%s\t%s\t%s\n", work->the.name, id, verdict == PASSED ? "ok" : "failed");
    int fd = open(work->the.results, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line))
        die("%s cannot be written", work->the.results);
    close(fd);
    free(line);
}

/* ---- trials ---- */

static Verdict attempt(Work *work, const Kill *first, const Kill *second)
{
    char *id = text_format("%s%s%s:%d", first->strace ? "strace:" : "", first->in_line ? "inline:" : "", first->kind,
                           first->count);
    if (second) {
        char *both = text_format("%s+%s:%d", id, second->kind, second->count);
        free(id);
        id = both;
    }
    Verdict verdict = PASSED;
    if (was_done(work, id)) {
        work->skipped++;
    } else {
        verdict = trial_run(&work->the, &work->reference, id, first, second);
        work->passed += verdict == PASSED;
        work->failed += verdict == FAILED;
        if (verdict != UNREACHED) note(work, id, verdict);
        if (verdict == PASSED && work->the.verbose) printf("ok %s %s\n", work->the.name, id);
    }
    free(id);
    return verdict;
}

/* Every place of one kind, until the program ends before it is killed. */
static void all_places(Work *work, const char *kind)
{
    for (int count = 1; count < COUNT_MAX; count++) {
        if ((count - 1) % work->every != 0 || work->place++ % work->shards != work->shard) continue;
        if (attempt(work, &(Kill){.kind = kind, .count = count}, NULL) == UNREACHED) return;
    }
}

/* A sample: near the beginning each, later ever more seldom. */
static void some_calls(Work *work, const char *call, bool in_line)
{
    for (int count = 1; count < COUNT_MAX; count += 1 + count * work->every / 3) {
        if (work->place++ % work->shards != work->shard) continue;
        if (attempt(work, &(Kill){.kind = call, .strace = true, .in_line = in_line, .count = count}, NULL) == UNREACHED)
            return;
    }
}

/* The second kill falls early, in the middle and late in the resume; some of them come too late, which is a trial like any other. */
static void doubles(Work *work, const char *first, const char *second)
{
    static const int seconds[] = {1, 2, 4, 9};
    for (int count = 2, i = 0; count < COUNT_MAX; count += 2 * work->every + 1, i++) {
        if (work->place++ % work->shards != work->shard) continue;
        Kill one = {.kind = first, .count = count}, two = {.kind = second, .count = seconds[i % 4]};
        if (attempt(work, &one, &two) == UNREACHED) return;
    }
}

static bool wanted(const Work *work, const char *kind)
{
    return !work->kinds || strstr(work->kinds, kind);
}

static void go_through(Work *work)
{
    static const char *const calls[] = {"write",   "pwrite64",   "fdatasync", "fsync",     "sendmsg",
                                        "recvmsg", "clone",      "clone3",    "execve",    "rename",
                                        "openat",  "epoll_wait", "unlink",    "ftruncate", "read"};
    if (wanted(work, "commit")) {
        all_places(work, "before");
        all_places(work, "after");
        all_places(work, "checkpoint");
    }
    if (wanted(work, "point")) all_places(work, "point");
    if (wanted(work, "double")) {
        doubles(work, "before", "before");
        doubles(work, "after", "point");
        doubles(work, "point", "after");
    }
    for (size_t i = 0; wanted(work, "strace") && i < sizeof calls / sizeof *calls; i++)
        some_calls(work, calls[i], i % 3 != 2);
}

/* ---- the command line ---- */

static char *absolute(const char *path)
{
    char *full = realpath(path, NULL);
    if (!full) die("there is no %s", path);
    return full;
}

static void read_options(Work *work, int argc, char **argv)
{
    static const char *again[WORDS_MAX];
    int again_count = 0;
    enum {
        NAME = 1,
        PROGRAM,
        TFY,
        SCRATCH,
        SETUP,
        EFFECTS,
        LEDGER,
        RESULTS,
        KINDS,
        EVERY,
        SHARD,
        LOOSE,
        VERBOSE,
        AGAIN
    };
    static const struct option options[] = {
        {"name", 1, NULL, NAME},       {"program", 1, NULL, PROGRAM}, {"tfy", 1, NULL, TFY},
        {"scratch", 1, NULL, SCRATCH}, {"setup", 1, NULL, SETUP},     {"effects", 1, NULL, EFFECTS},
        {"ledger", 1, NULL, LEDGER},   {"results", 1, NULL, RESULTS}, {"kinds", 1, NULL, KINDS},
        {"every", 1, NULL, EVERY},     {"shard", 1, NULL, SHARD},     {"loose", 0, NULL, LOOSE},
        {"verbose", 0, NULL, VERBOSE}, {"again", 1, NULL, AGAIN},     {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case NAME: work->the.name = optarg; break;
        case PROGRAM: work->the.program = absolute(optarg); break;
        case TFY: work->the.tfy = absolute(optarg); break;
        case SCRATCH: work->the.scratch = absolute(optarg); break;
        case SETUP: work->the.setup = optarg; break;
        case EFFECTS: work->the.effects = optarg; break;
        case LEDGER: work->the.ledger = optarg; break;
        case RESULTS: work->the.results = optarg; break;
        case KINDS: work->kinds = optarg; break;
        case EVERY: work->every = atoi(optarg); break;
        case SHARD: sscanf(optarg, "%d/%d", &work->shard, &work->shards); break;
        case LOOSE: work->the.loose = true; break;
        case VERBOSE: work->the.verbose = true; break;
        case AGAIN:
            if (again_count < WORDS_MAX - 1) again[again_count++] = optarg;
            break;
        default: exit(64);
        }
    }
    work->the.args = (const char *const *)argv + optind;
    work->the.again = again;
}

int main(int argc, char **argv)
{
    Work work = {.the = {.ledger = "ledger"}, .every = 1, .shards = 1};
    read_options(&work, argc, argv);
    if (!work.the.name || !work.the.program || !work.the.tfy || !work.the.scratch || work.every < 1 || work.shards < 1)
        die("--name, --program, --tfy and --scratch are needed");
    setvbuf(stdout, NULL, _IOLBF, 0);
    become_subreaper();
    if (work.the.results) work.done = file_text("", work.the.results);
    trial_reference(&work.the, &work.reference);
    go_through(&work);
    if (work.skipped) printf("%d trials had passed before\n", work.skipped);
    printf("%d passed, %d failed\n", work.passed, work.failed);
    return work.failed != 0;
}
