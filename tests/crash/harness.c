/* harness.c: kills one program at every place there is, and checks that nobody can tell afterwards.
 *
 *   crash_harness --name N --program P --tfy T --scratch D [--setup SH] [--effects SH] [--ledger FILE] [--results FILE] [--kinds LIST]
 *                 [--call-killer K] [--every N] [--dense] [--random N] [--shard I/M] [--loose] [--verbose] [--again OPTION]… [-- ARGUMENTS of run]
 *
 * Kinds: commit (before and after every commit, before every checkpoint), point (every stop of a task), double (a second kill while the run is
 * taken up), drain (SIGTERM, SIGINT or SIGHUP at some moment, and in the resume again), mouth (stdout is closed or full in the process that is
 * killed), elsewhere (the run is taken up from another directory), family (stops of a task, and commits: the watcher of the tools is killed too,
 * or with its stubs, or alone); with call_killer.c also call (system calls, before they begin and when they are done) and resume (those of a
 * process that takes the run up). --every takes each N-th place only, --dense leaves nothing out, --random adds N kills at some moment; --shard
 * splits the places between processes. The last line says how many trials passed and failed. */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/crash/crash.h"

enum {
    COUNT_MAX = 100000,
    CALL_STEP = 16, /* of a process's system calls each so many-th is enough for a sample */
    RESUME_AT = 9,  /* the commit behind which a run is killed whose resume is killed at its calls */
};

/* The whole undertaking. */
typedef struct Work {
    Case the;
    Outcome reference;
    const char *kinds;
    int every;  /* each so many-th place */
    bool dense; /* every system call, and every pair of kills */
    const char *call_killer;
    int random;        /* kills at some moment */
    int shard, shards; /* this process takes places whose number leaves shard when divided by shards */
    int place;         /* number of the next place */
    int sorts;         /* of places that were begun */
    char *done;        /* the results file as it was */
    int passed, failed, skipped;
    char *paths[4]; /* what the case names, made absolute */
} Work;

/* ---- results ---- */

static bool was_done(const Work *work, const char *id)
{
    char *line = crash_text("%s\t%s\tok\n", work->the.name, id);
    const bool found = work->done && strstr(work->done, line);
    free(line);
    return found;
}

static void note(const Work *work, const char *id, Verdict verdict)
{
    if (!work->the.results) return;
    char *line = crash_text("%s\t%s\t%s\n", work->the.name, id, verdict == PASSED ? "ok" : "failed");
    int fd = open(work->the.results, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line))
        crash_die("%s cannot be written", work->the.results);
    close(fd);
    free(line);
}

/* ---- trials ---- */

static Verdict attempt(Work *work, const Kill *first, const Kill *second)
{
    const char *before = first->mouth ? first->mouth : first->elsewhere ? "elsewhere" : first->whom;
    char *id = crash_text("%s%s%s%s:%d", first->in_line ? "inline:" : "", before ? before : "", before ? ":" : "",
                          first->kind, first->count);
    if (second) {
        char *both = crash_text("%s+%s:%d", id, second->kind, second->count);
        free(id);
        id = both;
    }
    Verdict verdict = PASSED;
    if (was_done(work, id)) {
        work->skipped++;
    } else {
        verdict = crash_trial_run(&work->the, &work->reference, id, first, second, stdout);
        work->passed += verdict == PASSED;
        work->failed += verdict == FAILED;
        if (verdict != UNREACHED) note(work, id, verdict);
        if (verdict == PASSED && work->the.verbose) printf("ok %s %s\n", work->the.name, id);
    }
    free(id);
    return verdict;
}

/* Places of another sort begin. All processes number them from the same start: where the sort before ended depends on which
 * place each of them found to be the last, and a place would be everybody's or nobody's. */
static void begin_sort(Work *work)
{
    work->place = work->sorts++;
}

static bool mine(Work *work)
{
    return work->place++ % work->shards == work->shard;
}

/* Every place of one kind, until the program ends before it is killed. whom: as in Kill. */
static void all_places(Work *work, const char *whom, const char *kind)
{
    begin_sort(work);
    for (int count = 1; count < COUNT_MAX; count++) {
        if ((count - 1) % work->every != 0 || !mine(work)) continue;
        if (attempt(work, &(Kill){.whom = whom, .kind = kind, .count = count}, NULL) == UNREACHED) return;
    }
}

/* A kill at a system call: what the tracer is told. */
typedef struct CallKill {
    Kill kill;
    char place[32];
    const char *words[3];
} CallKill;

static const Kill *at_call(const Work *work, CallKill *call, const char *side, int count)
{
    snprintf(call->place, sizeof call->place, "%s:%d", side, count);
    call->words[0] = work->call_killer;
    call->words[1] = call->place;
    call->words[2] = NULL;
    call->kill = (Kill){.kind = side, .count = count, .tracer = call->words};
    return &call->kill;
}

/* Kills at system calls 1 to last: of the first process, or, when that is killed at a place of its own, of the one that takes the run up. Dense:
 * on both sides of each call; else of some, the sides in turn. */
static void calls(Work *work, const Kill *first, int last)
{
    static const char *const sides[] = {"enter", "leave"};
    const int step = (work->dense ? 1 : CALL_STEP) * work->every;
    CallKill call;
    begin_sort(work);
    for (int count = 1, turn = 0; count <= last; count += step, turn++) {
        for (int side = 0; side < 2; side++) {
            if (!work->dense && side != turn % 2) continue;
            if (!mine(work)) continue;
            const Kill *kill = at_call(work, &call, sides[side], count);
            if (attempt(work, first ? first : kill, first ? kill : NULL) == UNREACHED) return;
        }
    }
}

/* The same in the process that takes the run up. How many calls that makes is counted first. */
static void calls_of_resume(Work *work)
{
    const Kill first = {.kind = "after", .count = RESUME_AT, .in_line = true};
    char *file = crash_text("%s/calls", work->the.scratch), *where = crash_text("count:%s", file);
    const char *const words[] = {work->call_killer, where, NULL};
    const Kill nowhere = {.kind = "count", .tracer = words};
    const Verdict verdict = crash_trial_run(&work->the, &work->reference, "counting", &first, &nowhere, stdout);
    if (verdict == PASSED) {
        char *count = crash_file_text("", file);
        calls(work, &first, atoi(count));
        free(count);
    }
    work->failed += verdict == FAILED;
    free(where);
    free(file);
}

/* The second kill falls early, in the middle and late in the resume; some of them come too late, which is a trial like any other. */
static void doubles(Work *work, const char *first, const char *second)
{
    static const int seconds[] = {1, 2, 4, 9};
    const int step = work->dense ? 1 : 2 * work->every + 1;
    begin_sort(work);
    for (int i = 0, count = 1; count < COUNT_MAX; i++) {
        const Kill one = {.kind = first, .count = count}, two = {.kind = second, .count = seconds[i % 4]};
        if (!work->dense || i % 4 == 3) count += step;
        if (!mine(work)) continue;
        if (attempt(work, &one, &two) == UNREACHED) return;
    }
}

/* Kills at moments that repeat themselves from one harness to the next, spread over the time of an undisturbed run; each resume is killed, too. */
static void moments(Work *work)
{
    const long long span_us = work->reference.us;
    begin_sort(work);
    for (int i = 1; i <= work->random; i++) {
        if (!mine(work)) continue;
        const Kill one = {.kind = "moment", .count = i, .after_us = (long long)i * 7919 * 104729 % span_us + 1},
                   two = {.kind = "moment", .count = i, .after_us = (long long)i * 6101 * 103 % span_us + 1};
        attempt(work, &one, &two);
    }
}

/* Signals that drain, the one after the other: no step may be in doubt, and no line missing. */
static void drains(Work *work)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    const int places = work->dense ? 60 : 12 / work->every + 4;
    const long long span_us = work->reference.us;
    begin_sort(work);
    for (int i = 1; i <= places; i++) {
        if (!mine(work)) continue;
        const Kill one = {.kind = "drain", .count = i, .after_us = span_us * i / places + 1, .signal = signals[i % 3]},
                   two = {.kind = "drain",
                          .count = i,
                          .after_us = (long long)i * 6101 * 103 % span_us + 1,
                          .signal = signals[(i + 1) % 3]};
        attempt(work, &one, &two);
    }
}

/* A process that cannot print is killed: what it did is in the log all the same. */
static void mouths(Work *work)
{
    begin_sort(work);
    for (int i = 0, count = 1; count < COUNT_MAX; i++, count += 7 * work->every) {
        const char *const mouth = i % 2 ? "full" : "closed";
        if (!mine(work)) continue;
        if (attempt(work, &(Kill){.kind = "after", .count = count, .mouth = mouth}, NULL) == UNREACHED) return;
    }
}

/* A run that was killed is taken up by somebody who stands in another directory: its files and commits are its own directory's all the same. */
static void elsewheres(Work *work)
{
    begin_sort(work);
    for (int i = 0, count = 2; count < COUNT_MAX; i++, count += 5 * work->every) {
        if (!mine(work)) continue;
        const Kill kill = {.kind = i % 2 ? "before" : "after", .count = count, .elsewhere = true};
        if (attempt(work, &kill, NULL) == UNREACHED) return;
    }
}

static bool wanted(const Work *work, const char *kind)
{
    return !work->kinds || strstr(work->kinds, kind);
}

static void go_through(Work *work)
{
    if (wanted(work, "commit")) {
        all_places(work, NULL, "before");
        all_places(work, NULL, "after");
        all_places(work, NULL, "checkpoint");
    }
    if (wanted(work, "point")) all_places(work, NULL, "point");
    if (wanted(work, "family")) {
        all_places(work, "both", "point");
        all_places(work, "all", "point");
        all_places(work, "watcher", "point");
        all_places(work, "watcher", "after");
    }
    if (wanted(work, "double")) {
        doubles(work, "before", "before");
        doubles(work, "after", "point");
        doubles(work, "point", "after");
    }
    moments(work);
    if (wanted(work, "drain")) drains(work);
    if (wanted(work, "mouth")) mouths(work);
    if (wanted(work, "elsewhere")) elsewheres(work);
    if (work->call_killer && wanted(work, "call")) calls(work, NULL, COUNT_MAX);
    if (work->call_killer && wanted(work, "resume")) calls_of_resume(work);
}

/* ---- the command line ---- */

static const char *absolute(char **place, const char *path)
{
    free(*place);
    *place = realpath(path, NULL);
    if (!*place) crash_die("there is no %s", path);
    return *place;
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
        KILLER,
        EVERY,
        RANDOM,
        SHARD,
        AGAIN,
        DENSE,
        LOOSE,
        VERBOSE
    };
    static const char *const names[] = {"name",   "program", "tfy",   "scratch",     "setup",  "effects",
                                        "ledger", "results", "kinds", "call-killer", "every",  "random",
                                        "shard",  "again",   "dense", "loose",       "verbose"};
    struct option options[VERBOSE + 1] = {{0}};
    for (int i = 0; i < VERBOSE; i++)
        options[i] = (struct option){.name = names[i], .has_arg = i + 1 < DENSE, .val = i + 1};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case NAME: work->the.name = optarg; break;
        case PROGRAM: work->the.program = absolute(&work->paths[0], optarg); break;
        case TFY: work->the.tfy = absolute(&work->paths[1], optarg); break;
        case SCRATCH: work->the.scratch = absolute(&work->paths[2], optarg); break;
        case SETUP: work->the.setup = optarg; break;
        case EFFECTS: work->the.effects = optarg; break;
        case LEDGER: work->the.ledger = optarg; break;
        case RESULTS: work->the.results = optarg; break;
        case KINDS: work->kinds = optarg; break;
        case KILLER: work->call_killer = absolute(&work->paths[3], optarg); break;
        case EVERY: work->every = atoi(optarg); break;
        case SHARD: sscanf(optarg, "%d/%d", &work->shard, &work->shards); break;
        case DENSE: work->dense = true; break;
        case RANDOM: work->random = atoi(optarg); break;
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
        crash_die("--name, --program, --tfy and --scratch are needed");
    setvbuf(stdout, NULL, _IOLBF, 0);
    crash_become_subreaper();
    if (work.the.results) work.done = crash_file_text("", work.the.results);
    char *why = crash_trial_reference(&work.the, &work.reference, NULL, true);
    if (why) crash_die("the undisturbed run of %s is not as it should be: %s", work.the.name, why);
    if (work.reference.status) crash_die("the undisturbed run of %s fails, so nothing is tried", work.the.name);
    go_through(&work);
    if (work.skipped) printf("%d trials had passed before\n", work.skipped);
    printf("%d passed, %d failed\n", work.passed, work.failed);
    crash_trial_outcome_free(&work.reference);
    free(work.done);
    for (size_t i = 0; i < sizeof work.paths / sizeof *work.paths; i++) free(work.paths[i]);
    return work.failed != 0;
}
