/* supervise.c: the worker, which has the children: see worker.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lease.h"
#include "base/steady.h"
#include "base/sys_memory.h"
#include "cli/frame/cli.h"
#include "hub/ending.h"
#include "tfy.h"
#include "wal/store/pg_cluster.h"
#include "worker/worker.h"

enum {
    JITTER_MS = 500, /* all workers come back at once when a database does */
    PAUSE_MS = 1000, /* before a child that failed is started again; twice that each time … */
    PAUSE_MOST_MS = 30000,
    STEADY_MS = 60000, /* … until it has lived so long */
    SPEAK_MS = 1000,   /* how soon a database that did not answer is told again */
};

/* A program and its child. The slots of children of runs that need one of their own stand behind those of all programs. */
typedef struct Slot {
    const char *program;
    bool solo, wanted;   /* of such runs; and one waits */
    int page;            /* a file in memory: TfyChildPage; -1: none */
    int64_t oom_kills;   /* of the machine, when it was alive last */
    pid_t pid;           /* 0: none */
    int pipe;            /* what the child and its watchers say; -1: it has ended */
    int64_t session;     /* 0: it has not said */
    bool said;           /* the whole number */
    int watchers, ended; /* that were started, and of which nothing is left */
    bool dead;           /* reaped; what its status was: */
    int status;
    int64_t begun_ms, again_ms; /* when it was started; when it is started again */
    int64_t pause_ms;
} Slot;

/* A session of which nothing is left. */
typedef struct Dead {
    TfySessionEnd end;
    Slot *slot; /* of its program */
} Dead;

typedef struct Worker {
    const TfyWorkerWords *words;
    Slot slots[2 * TFY_WORKER_PROGRAMS];
    Dead dead[2 * TFY_WORKER_PROGRAMS]; /* of which the database has not been told yet … */
    int dead_count;
    int64_t speak_ms;   /* … and when it is told again */
    int count, signals; /* count: of slots */
    bool stops;
    int64_t told_ms; /* when children were told to stop; 0: they were not */
    int status;
} Worker;

/* How often this machine has killed a process for want of memory; 0: it does not say. */
static int64_t oom_kills(void)
{
    char line[80];
    long long count = 0;
    FILE *file = fopen("/proc/vmstat", "re");
    while (file && !count && fgets(line, sizeof line, file)) (void)sscanf(line, "oom_kill %lld", &count);
    if (file) fclose(file);
    return count;
}

/* ---- starting ---- */

static int jitter_ms(void)
{
    uint32_t random = 0;
    return getrandom(&random, sizeof random, GRND_NONBLOCK) == sizeof random ? (int)(random % JITTER_MS) : 0;
}

static bool add_word(char **words, int *count, const char *name, const char *value)
{
    if (value) words[(*count)++] = tfy__sys_printf("--%s=%s", name, value);
    return !value || words[*count - 1];
}

/* What the child is called with; the process is new, and its memory need not be freed. False: no memory. */
static bool words_of_child(const Worker *worker, const Slot *slot, int report, char **out)
{
    const TfyWorkerWords *words = worker->words;
    char number[16], page[16];
    int count = 0;
    snprintf(number, sizeof number, "%d", report);
    snprintf(page, sizeof page, "%d", slot->page);
    out[count++] = (char *)words->self;
    if (slot->solo) out[count++] = "--solo";
    const bool fine =
        add_word(out, &count, "child", number) && add_word(out, &count, "page", page) &&
        add_word(out, &count, "db", words->db) && add_word(out, &count, "pool", words->pool) &&
        add_word(out, &count, "name", words->name) && add_word(out, &count, "llm", words->llm) &&
        add_word(out, &count, "models", words->models) && add_word(out, &count, "secrets", words->secrets) &&
        add_word(out, &count, "secrets-from", words->secrets_from) &&
        add_word(out, &count, "log-level", words->log_level) &&
        add_word(out, &count, "log-format", words->log_format) && add_word(out, &count, "drain", words->drain) &&
        add_word(out, &count, "threads", slot->solo ? NULL : words->threads);
    out[count++] = (char *)slot->program;
    out[count] = NULL;
    return fine;
}

/* In the child: SIGTERM stays blocked until it is handled. */
_Noreturn static void become_child(const Worker *worker, const Slot *slot, int report, pid_t parent)
{
    char *words[20];
    sigset_t set;
    sigfillset(&set);
    sigdelset(&set, SIGTERM);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || fcntl(report, F_SETFD, 0) != 0 || fcntl(slot->page, F_SETFD, 0) != 0) _exit(EXIT_BUG);
    if (words_of_child(worker, slot, report, words)) execv("/proc/self/exe", words);
    _exit(EXIT_BUG);
}

/* As the slot of a child that is not there. */
static Slot empty_slot(const Slot *slot)
{
    return (Slot){.program = slot->program, .solo = slot->solo, .pipe = -1, .page = -1};
}

static int make_page(void)
{
    const int fd = memfd_create("tfy-child", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, sizeof(TfyChildPage)) == 0) return fd;
    close(fd);
    return -1;
}

static void start_child(Worker *worker, Slot *slot)
{
    int ends[2] = {-1, -1};
    const pid_t parent = getpid();
    const int64_t pause_ms = slot->pause_ms;
    *slot = empty_slot(slot);
    slot->begun_ms = tfy__steady_ms();
    slot->pause_ms = pause_ms;
    slot->oom_kills = oom_kills();
    slot->page = make_page();
    if (slot->page >= 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) slot->pid = fork();
    if (slot->pid == 0 && ends[1] >= 0) become_child(worker, slot, ends[1], parent);
    if (ends[1] >= 0) close(ends[1]);
    slot->pipe = ends[0];
    if (slot->pid > 0) return;
    tfy__worker_say("no process for %s can be started: %s", slot->program, strerror(errno));
    if (slot->pipe >= 0) close(slot->pipe);
    if (slot->page >= 0) close(slot->page);
    *slot = empty_slot(slot);
    slot->again_ms = tfy__steady_ms() + PAUSE_MOST_MS;
}

/* ---- what it says ---- */

/* The slot of runs of this program that need a process of their own. */
static Slot *solo_of(Worker *worker, const Slot *slot)
{
    return slot->solo ? (Slot *)slot : &worker->slots[slot - worker->slots + worker->count / 2];
}

static void hear_byte(Worker *worker, Slot *slot, char byte)
{
    if (!slot->said && byte >= '0' && byte <= '9')
        slot->session = slot->session * 10 + (byte - '0');
    else if (!slot->said)
        slot->said = true;
    else if (byte == TFY_CHILD_SOLO)
        solo_of(worker, slot)->wanted = true;
    else
        *(byte == TFY_LEASE_WATCHED ? &slot->watchers : &slot->ended) += 1;
}

static void hear(Worker *worker, Slot *slot)
{
    char bytes[256];
    ssize_t got;
    while ((got = read(slot->pipe, bytes, sizeof bytes)) > 0)
        for (ssize_t i = 0; i < got; i++) hear_byte(worker, slot, bytes[i]);
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(slot->pipe);
        slot->pipe = -1;
    }
}

/* ---- speaking for the dead ---- */

typedef struct Ended {
    Worker *worker;
    Slot *slot;
} Ended;

/* Whether it died of what it did: by a signal that nobody sends to stop a process, of memory, or by ending itself in the middle of a
 * run, as a C function that calls exit does. A lease kills by SIGKILL, as people do; so does a machine without memory. */
static bool died_of_it(const Slot *slot)
{
    if (WIFEXITED(slot->status)) return WEXITSTATUS(slot->status) != EXIT_WAITING;
    switch (WTERMSIG(slot->status)) {
    case SIGKILL: return oom_kills() > slot->oom_kills;
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
    case SIGQUIT: return false;
    default: return true;
    }
}

static TfyChildPage page_of(const Slot *slot)
{
    TfyChildPage page;
    return pread(slot->page, &page, sizeof page, 0) == sizeof page ? page : (TfyChildPage){0};
}

/* The run that was executed by the loop of which it died; if that is not known, by the only one that executed any. */
static int64_t executed_run(const TfyChildPage *page)
{
    int64_t run = 0;
    if (page->died > 0 && page->died <= TFY_LOOPS_MOST) return page->executes[page->died - 1];
    for (int i = 0; i < TFY_LOOPS_MOST; i++) {
        if (page->executes[i] && run) return 0;
        if (page->executes[i]) run = page->executes[i];
    }
    return run;
}

void tfy__worker_blame(const TfyBlame *blame)
{
    char run[37];
    tfy__uuid_text(blame->uuid, run);
    if (blame->held && blame->crashes >= TFY_HELD_CRASHES)
        tfy__worker_say(
            "run %s is held: %lld processes have died while they executed it. See 'tfy inspect %s'; when the cause "
            "is mended, 'tfy release %s' lets workers take it again",
            run, (long long)blame->crashes, run, run);
    else if (blame->held)
        tfy__worker_say(
            "run %s is held: %lld processes in a row have ended before anything of it was recorded. See 'tfy inspect "
            "%s'; when the cause is mended, 'tfy release %s' lets workers take it again",
            run, (long long)blame->vain, run, run);
    else
        tfy__worker_say("the process died while it executed run %s, which is continued by a process of its own", run);
}

/* A run does so only a few times, so the process need not wait before it is started again. */
static void on_blame(void *state, const TfyBlame *blame)
{
    Ended *ended = state;
    ended->slot->pause_ms = 0;
    solo_of(ended->worker, ended->slot)->wanted |= !blame->held;
    tfy__worker_blame(blame);
}

/* False: the database did not answer. */
static bool speak_for(Worker *worker, const Dead *dead)
{
    Ended ended = {worker, dead->slot};
    char error[TFY_ERROR_TEXT] = "";
    TfyCluster *cluster;
    if (tfy__pg_cluster_open(&cluster, &(TfyPgOpen){.address = worker->words->db, .newer = true}, error) != 0)
        return false;
    cluster->blame = on_blame;
    cluster->blame_state = &ended;
    const int code = tfy__end_finished(cluster, &dead->end);
    if (cluster->lost)
        tfy__worker_say(
            "the database has lost acknowledged commits of session %lld: %u of its runs are held: 'tfy ps --state "
            "held' lists them, and 'tfy release RUN' continues one",
            (long long)dead->end.session, cluster->lost);
    cluster->ops->close(cluster);
    return code >= 0;
}

/* Milliseconds until the database is to be told of those that are left; -1: none is. Others find out by themselves when the
 * sessions have been silent long enough. */
static int64_t speak_due(Worker *worker)
{
    int left = 0;
    if (!worker->dead_count) return -1;
    const int64_t now_ms = tfy__steady_ms();
    if (now_ms < worker->speak_ms) return worker->speak_ms - now_ms;
    for (int i = 0; i < worker->dead_count; i++) {
        const Dead dead = worker->dead[i];
        if (left || !speak_for(worker, &dead)) worker->dead[left++] = dead;
    }
    worker->dead_count = left;
    worker->speak_ms = tfy__steady_ms() + SPEAK_MS;
    return left ? SPEAK_MS : -1;
}

/* As it was told to. */
static bool ended_in_order(const Slot *slot)
{
    const int status = WIFEXITED(slot->status) ? WEXITSTATUS(slot->status) : -1;
    return status == EXIT_DONE || status == TFY_CHILD_OUTDATED;
}

static void end_session(Worker *worker, Slot *slot)
{
    const bool exited = WIFEXITED(slot->status);
    const TfyChildPage page = page_of(slot);
    const Dead dead = {{.session = slot->session,
                        .why = exited ? "its process has ended" : "its process was killed",
                        .in_order = ended_in_order(slot),
                        .blamed = died_of_it(slot) ? executed_run(&page) : 0,
                        .acknowledged = page.acknowledged},
                       slot};
    if (speak_for(worker, &dead) || worker->dead_count == 2 * TFY_WORKER_PROGRAMS) return;
    worker->dead[worker->dead_count++] = dead;
    worker->speak_ms = tfy__steady_ms() + SPEAK_MS;
}

/* ---- its end ---- */

static void say_end(const Slot *slot)
{
    const int len = tfy__worker_name_len(slot->program);
    if (WIFSIGNALED(slot->status) && WTERMSIG(slot->status) == SIGKILL)
        tfy__worker_say("the process of %.*s was killed, as at the end of a lease; it is started again", len,
                        slot->program);
    else if (WIFSIGNALED(slot->status))
        tfy__worker_say("the process of %.*s was killed (%s); it is started again", len, slot->program,
                        strsignal(WTERMSIG(slot->status)));
    else
        tfy__worker_say("the process of %.*s has ended with status %d; it is started again", len, slot->program,
                        WEXITSTATUS(slot->status));
}

/* A program that cannot be opened, or a database that is not there: nothing that starting again would change. */
static bool is_hopeless(const Slot *slot)
{
    const int status = WIFEXITED(slot->status) ? WEXITSTATUS(slot->status) : -1;
    return !slot->session && (status == EXIT_USAGE || status == EXIT_DATA || status == EXIT_MISSING);
}

static void plan_again(Slot *slot)
{
    const int64_t now = tfy__steady_ms();
    const bool steady = now - slot->begun_ms >= STEADY_MS;
    const int64_t last = steady ? 0 : slot->pause_ms;
    slot->pause_ms = !last ? PAUSE_MS : last * 2 < PAUSE_MOST_MS ? last * 2 : PAUSE_MOST_MS;
    slot->again_ms = now + (steady ? 0 : last) + jitter_ms();
}

/* Whether it leaves something undone: without a session it had nothing to do. SIGTERM kills it only while it begins, and later it
 * drains. */
static bool is_unfinished(const Slot *slot)
{
    if (!slot->session) return false;
    return WIFSIGNALED(slot->status) ? WTERMSIG(slot->status) != SIGTERM : !ended_in_order(slot);
}

/* It is reaped, and its pipe has ended: so has all that could write to it. */
static void bury(Worker *worker, Slot *slot)
{
    const bool in_order = ended_in_order(slot), outdated = in_order && WEXITSTATUS(slot->status) != EXIT_DONE;
    slot->wanted = false; /* unless the end of the session or other children say otherwise */
    if (slot->session && slot->watchers == slot->ended) end_session(worker, slot);
    close(slot->page);
    slot->pid = 0;
    if (outdated && !worker->stops) {
        worker->stops = true;
        worker->status = EXIT_DATA;
    } else if (worker->stops) {
        if (is_unfinished(slot)) worker->status = EXIT_WAITING;
    } else if (slot->solo && in_order) {
        slot->again_ms = 0;
    } else if (is_hopeless(slot) && slot->pause_ms == 0) {
        worker->stops = true;
        worker->status = WEXITSTATUS(slot->status);
    } else {
        say_end(slot);
        plan_again(slot);
    }
}

static void stop(Worker *worker)
{
    worker->stops = true;
    worker->told_ms = tfy__steady_ms();
    for (int i = 0; i < worker->count; i++)
        if (worker->slots[i].pid > 0 && !worker->slots[i].dead) kill(worker->slots[i].pid, SIGTERM);
}

static void reap(Worker *worker)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (int i = 0; i < worker->count; i++) {
            Slot *slot = &worker->slots[i];
            if (slot->pid != pid) continue;
            slot->dead = true;
            slot->status = status;
        }
}

/* ---- the turns ---- */

/* The first one lets tools finish. A second one ends them, unless it came together with the first: see program.c. */
static void take_signal(Worker *worker, int number)
{
    const bool second = worker->told_ms != 0;
    if (second && (number == SIGHUP || tfy__steady_ms() - worker->told_ms < TFY_SIGNALS_APART_MS)) return;
    if (second)
        tfy__worker_say("a second signal: tools under way are ended");
    else
        tfy__worker_say("tools under way have %s to finish; a second signal ends them", worker->words->drain);
    stop(worker);
}

static void take_signals(Worker *worker)
{
    struct signalfd_siginfo info;
    while (read(worker->signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD) continue;
        take_signal(worker, (int)info.ssi_signo);
    }
    reap(worker);
}

static bool any_lives(const Worker *worker)
{
    for (int i = 0; i < worker->count; i++)
        if (worker->slots[i].pid > 0) return true;
    return false;
}

/* Milliseconds until a child is to be started; -1: none is. */
static int64_t start_due(Worker *worker)
{
    int64_t next = -1;
    for (int i = 0; i < worker->count && !worker->stops; i++) {
        Slot *slot = &worker->slots[i];
        const int64_t left = slot->again_ms - tfy__steady_ms();
        if (slot->pid > 0 || (slot->solo && !slot->wanted)) continue;
        if (left <= 0) start_child(worker, slot);
        if (left > 0 && (next < 0 || left < next)) next = left;
    }
    return next;
}

static void turn(Worker *worker)
{
    struct pollfd polled[2 * TFY_WORKER_PROGRAMS + 1] = {{worker->signals, POLLIN, 0}};
    const int64_t start_ms = start_due(worker), speak_ms = speak_due(worker);
    const int64_t due_ms = speak_ms < 0 || (start_ms >= 0 && start_ms < speak_ms) ? start_ms : speak_ms;
    for (int i = 0; i < worker->count; i++) polled[i + 1] = (struct pollfd){worker->slots[i].pipe, POLLIN, 0};
    (void)poll(polled, (nfds_t)worker->count + 1, (int)due_ms);
    take_signals(worker);
    const int64_t killed = oom_kills();
    for (int i = 0; i < worker->count; i++) {
        Slot *slot = &worker->slots[i];
        if (slot->pipe >= 0) hear(worker, slot);
        if (slot->pid > 0 && slot->dead && slot->pipe < 0) bury(worker, slot);
        if (slot->pid > 0 && !slot->dead && slot->pipe >= 0) slot->oom_kills = killed;
    }
}

int tfy__worker_supervise(const TfyWorkerWords *words)
{
    Worker worker = {.words = words, .count = 2 * words->program_count};
    sigset_t set;
    sigemptyset(&set);
    for (const int *number = (const int[]){SIGCHLD, SIGTERM, SIGINT, SIGHUP, 0}; *number; number++)
        sigaddset(&set, *number);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN); /* who read its messages may go away */
    worker.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (worker.signals < 0) return tfy__fail(EXIT_BUG, "signals cannot be taken: %s", strerror(errno));
    for (int i = 0; i < worker.count; i++)
        worker.slots[i] = empty_slot(
            &(Slot){.program = words->programs[i % words->program_count], .solo = i >= words->program_count});
    while (!worker.stops || any_lives(&worker)) {
        turn(&worker);
        if (worker.stops && !worker.told_ms) stop(&worker); /* a child had no hope, so the others end */
    }
    close(worker.signals);
    return worker.status;
}
