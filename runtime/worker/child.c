/* child.c: the process of one program: see worker.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/kill_point.h"
#include "base/lease.h"
#include "cli/frame/cli.h"
#include "cli/frame/report.h"
#include "core/loop.h"
#include "core/served.h"
#include "host/loops.h"
#include "hub/hub_cluster.h"
#include "tfy.h"
#include "wal/store/pg.h"
#include "wal/store/pg_cluster.h"
#include "worker/threads.h"

typedef struct Child {
    const TfyWorkerWords *words;
    TfyShared *shared;
    TfyHub *hub;
    TfyChildPage *page;
    _Atomic bool outdated; /* the database's tables are for newer programs */
    TfyLoops *loops;
    char name[100]; /* of the program */
    char error[TFY_ERROR_TEXT];
} Child;

static _Atomic(TfyLoops *) signalled; /* a handler has no argument of its own */
static int64_t signalled_drain_ms;

static void on_signal(int number)
{
    const int reason = errno;
    TfyLoops *loops = signalled;
    (void)number;
    if (loops) tfy__loops_drain(loops, signalled_drain_ms);
    errno = reason;
}

/* A terminal sends its signals to all processes, and the worker tells its children what they are to do. The threads of other
 * loops have all signals blocked. */
static void catch_signals(const Child *child)
{
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigset_t set;
    signalled_drain_ms = child->words->drain_ms;
    signalled = child->loops;
    sigaction(SIGTERM, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int join(void *state, int64_t session, int64_t lease_ms, struct TfyStore **store, char *error_text)
{
    const Child *child = state;
    const TfyPgOpen open = {.address = child->words->db, .session = session, .lease_ms = lease_ms};
    return tfy__pg_open(store, &open, error_text);
}

static void on_solo_waits(void *state)
{
    const Child *child = state;
    const char byte = TFY_CHILD_SOLO;
    (void)!write(child->words->report, &byte, 1); /* if the pipe is full, it is said again */
}

/* Its loop is there: it has asked for runs. */
static void on_solo_idle(void *state)
{
    const Child *child = state;
    tfy__loops_drain(child->loops, 0);
}

static void on_outdated(void *state)
{
    Child *child = state;
    TfyLoops *loops = signalled; /* NULL: they do not work yet */
    if (!loops || child->outdated) return;
    child->outdated = true;
    tfy__worker_say("the database was upgraded for a newer Tiffany than %s: this process claims no more runs",
                    tfy_version());
    tfy__loops_drain(loops, signalled_drain_ms);
}

static void on_blame(void *state, const TfyBlame *blame)
{
    (void)state;
    tfy__worker_blame(blame);
}

static int map_page(Child *child)
{
    const int fd = child->words->page;
    void *page = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *child->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        snprintf(child->error, sizeof child->error, "the page of the worker cannot be mapped: %s", strerror(errno));
        return TFY_E_IO;
    }
    close(fd);
    child->page = page;
    return 0;
}

/* The worker knows the session before any tool of it can start. */
static int open_session(Child *child)
{
    TfyHubOpen open = {.join = join,
                       .state = child,
                       .session = {.worker = child->words->name,
                                   .version = tfy_version(),
                                   .pool = child->words->pool ? child->words->pool : "default",
                                   .name = child->name,
                                   .program = (const uint8_t *)tfy_shared_program(child->shared)->hash,
                                   .capacity = child->words->solo ? 1 : TFY_RUNS_MOST},
                       .pool = child->words->pool,
                       .leased = true,
                       .loops = child->words->loops,
                       .solo = child->words->solo,
                       .solo_waits = on_solo_waits,
                       .solo_idle = child->words->solo ? on_solo_idle : NULL,
                       .outdated = on_outdated,
                       .blame = on_blame};
    const char *program = child->words->programs[0];
    char line[32];
    snprintf(child->name, sizeof child->name, "%.*s", tfy__worker_name_len(program), program);
    (void)fcntl(child->words->report, F_SETFD, FD_CLOEXEC); /* no tool inherits it */
    tfy__lease_tell(child->words->report);
    int code = tfy__pg_cluster_open(&open.cluster, &(TfyPgOpen){.address = child->words->db}, child->error);
    if (!code) code = tfy__hub_cluster_open(&child->hub, &open, child->error);
    if (code) return code;
    child->hub->acknowledged = &child->page->acknowledged;
    const int len = snprintf(line, sizeof line, "%lld\n", (long long)child->hub->session);
    return write(child->words->report, line, (size_t)len) == len ? 0 : TFY_E_IO;
}

static void on_diverged(void *state, const char *run, const char *why)
{
    (void)state, (void)run;
    if (why)
        tfy__worker_say(
            "set aside: %s. It is held: when the cause is mended, 'tfy release RUN' lets workers take it again", why);
}

static void on_notice(void *state, const char *text)
{
    (void)state;
    tfy__worker_say("%s", text);
}

static void on_loop_begins(void *state, uint32_t place, TfyHub *hub)
{
    const Child *child = state;
    hub->executes = &child->page->executes[place];
    tfy__deaths_enter(place);
}

static void on_loop_opened(void *state, TfyLoop *loop)
{
    tfy__set_aside(loop, on_diverged, state);
    tfy__on_notice(loop, on_notice, state);
}

/* Nothing of it is executed any more, unless memory ran out, of which its run may be the cause. */
static void on_loop_ended(void *state, uint32_t place, TfyLoop *loop, int code)
{
    const Child *child = state;
    if (code == TFY_E_NOMEM)
        child->page->died = child->page->died ? child->page->died : (int32_t)place + 1;
    else
        child->page->executes[place] = 0;
    if (code != TFY_E_STATE && code != 0) {
        tfy__worker_say("%s", tfy__failure(loop));
        return;
    }
    char *calls = tfy__under_way(loop);
    if (calls) tfy__worker_say("%s did not finish in time and is ended", calls);
    free(calls);
}

static void on_loop_closed(void *state, uint32_t place)
{
    (void)state, (void)place;
    tfy__deaths_leave();
}

static int open_loops(Child *child)
{
    const TfyWorkerWords *words = child->words;
    const TfyLoopsOpen open = {.program = tfy_shared_program(child->shared),
                               .options = {.stay = true,
                                           .served = true,
                                           .llm = words->llm,
                                           .models = words->models,
                                           .secrets = words->secrets,
                                           .secrets_from = words->secrets_from,
                                           .log_json = words->log_json,
                                           .log_level = words->log_level},
                               .hub = child->hub,
                               .count = words->loops,
                               .begins = on_loop_begins,
                               .opened = on_loop_opened,
                               .ended = on_loop_ended,
                               .closed = on_loop_closed,
                               .state = child};
    if (words->loops > 1) tfy__deaths_watch(child->page);
    return tfy__loops_open(&child->loops, &open, child->error);
}

static void say_ready(const Child *child)
{
    const char *program = child->words->programs[0];
    char loops[40] = "";
    if (child->words->loops > 1) snprintf(loops, sizeof loops, ", in %u threads", child->words->loops);
    tfy__worker_say("session %lld executes the runs of %.*s%s%s", (long long)child->hub->session,
                    tfy__worker_name_len(program), program,
                    child->words->solo ? " that need a process of their own" : "", loops);
}

/* How the process ends when its loops did. */
static int status_of(const Child *child, int code)
{
    if (code == TFY_E_STATE || code == 0) return child->outdated ? TFY_CHILD_OUTDATED : EXIT_DONE;
    return code == TFY_E_NOMEM ? TFY_CHILD_STARVED : code == TFY_E_IO ? EXIT_LOG : EXIT_WAITING;
}

/* The session is ended by the worker, when nothing is left of what its watchers had started. */
static int work(Child *child)
{
    int code = tfy_shared_open(&child->shared, tfy__worker_file(child->words->programs[0]), child->error);
    if (!code) code = map_page(child);
    if (!code) code = open_session(child);
    if (!code) code = open_loops(child);
    if (code) return tfy__fail(tfy__exit_status(code), "%s", child->error);
    catch_signals(child);
    say_ready(child);
    return status_of(child, tfy__loops_run(child->loops));
}

int tfy__worker_child(const TfyWorkerWords *words)
{
    Child child = {.words = words};
    tfy__kill_arm(); /* before there are threads */
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    const int status = work(&child);
    signalled = NULL;
    tfy__loops_close(child.loops);
    tfy__hub_cluster_close(child.hub, false);
    tfy_shared_close(child.shared);
    return status;
}
