/* effects_lease.c: behind the deadline of a lease nothing lives. Each runtime is a process of its own, since it is killed. Its tools are
 * counted by the mark in their words; the kernel's clock says when it died. */
#include "effects_fixture.h"

#include <poll.h>
#include <sys/mman.h>

#include "base/lease.h"
#include "effects/cell.h"
#include "effects/former.h"
#include "effects/process.h"
#include "effects/sandbox.h"

#define MS INT64_C(1000000)

/* How late the machine may be, when it is busy. Nothing may be early. */
enum { SLACK_MS = 1500, HUNG_S = 120 };

/* A lease of which most has gone: 1.5 s are left until its margin of 2 s. A busy machine needs so much. */
enum { LEASE_MS = 20000, GONE_MS = 14500, LATE_MS = LEASE_MS / 20 };

/* What a runtime and its test share. */
typedef struct Runtime {
    pid_t pid;
    int said;     /* the runtime writes a byte when its tools run, and another one for each fact that it states */
    int released; /* the reading end of tfy__lease_tell */
    _Atomic int64_t *deadline; /* ns, written by the runtime */
    _Atomic bool *keep;        /* it renews as long as this is true */
} Runtime;

/* In the runtime: what it is told to do, and where it says so. */
typedef struct Life {
    TfyLoop *loop;
    _Atomic int64_t *deadline;
    _Atomic bool *keep;
    int say;
} Life;

static int open_loop(void **state)
{
    alarm(HUNG_S);
    *state = loop_open();
    return 0;
}

static pid_t stopped[2]; /* by a test; 0: they are dead */

/* After a failure nothing is left either. */
static int close_loop(void **state)
{
    TfyLoop *loop = *state;
    alarm(0);
    for (int i = 0; i < 2; i++) {
        if (stopped[i]) kill(stopped[i], SIGKILL);
        stopped[i] = 0;
    }
    tfy__former_end(loop->lock_path, 10000);
    loop_close(*state);
    return 0;
}

static const TfyTool exec_tool = {
    .name = "exec", .family = TFY_F_EXEC, .param_count = 4, .result = &tfy_type_exec_result};

/* '@' in the script stands for the loop's mark. */
static Job *sh(TfyLoop *loop, const char *script)
{
    char marked[1000] = "";
    size_t len = 0;
    for (; *script; script++) {
        len += (size_t)snprintf(marked + len, sizeof marked - len, *script == '@' ? "%s" : "%.1s",
                                *script == '@' ? loop->mark : script);
    }
    Job *job = job_new(loop, &exec_tool);
    job->args[0] = tfy_of_obj(WORDS(loop, "sh", "-c", marked));
    job->args[1] = job->args[2] = tfy_of_obj(NULL);
    tfy__perform_exec.start(&job->call);
    return job;
}

#define DEAF "trap '' TERM; setsid sh -c \"trap '' TERM; sleep @\" & while :; do sleep 0.01; : @; done"

/* ---- the runtime ---- */

static void say(const Life *life)
{
    if (write(life->say, "r", 1) != 1) _exit(3);
}

static void must(bool fact)
{
    if (!fact) _exit(4);
}

static void renew_at(const Life *life, int64_t sent_ns, int64_t lease_ms)
{
    *life->deadline = sent_ns + lease_ms * MS - lease_ms * MS / 10;
    must(tfy__lease_renew(sent_ns, lease_ms) == 0);
}

static void renew(const Life *life)
{
    renew_at(life, tfy__lease_now_ns() - GONE_MS * MS, LEASE_MS);
}

/* Turns the loop and renews, as long as it is told to. */
static void keep_on(const Life *life)
{
    do {
        renew(life);
        run_for(life->loop, 30);
    } while (*life->keep);
}

static void await_tools(const Life *life, int count)
{
    while (count_processes(life->loop->mark) < count) {
        renew(life);
        run_for(life->loop, 30);
    }
}

static Runtime start(TfyLoop *like, void (*live)(const Life *life))
{
    int said[2], released[2];
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    Runtime runtime = {.deadline = (void *)page, .keep = (void *)(page + 64)};
    assert_true(page != MAP_FAILED && pipe2(said, O_CLOEXEC) == 0 && pipe2(released, O_CLOEXEC) == 0);
    *runtime.keep = true;
    runtime.pid = fork();
    if (runtime.pid == 0) {
        Life life = {.loop = loop_open(), .deadline = runtime.deadline, .keep = runtime.keep, .say = said[1]};
        strcpy(life.loop->lock_path, like->lock_path);
        strcpy(life.loop->mark, like->mark);
        strcpy(life.loop->root, like->root);
        life.loop->root_fd = like->root_fd;
        close(released[0]);
        close(said[0]);
        tfy__lease_tell(released[1]);
        live(&life);
        _exit(0);
    }
    close(said[1]);
    close(released[1]);
    runtime.said = said[0];
    runtime.released = released[0];
    return runtime;
}

static void hears(const Runtime *runtime)
{
    char byte;
    assert_int_equal(read(runtime->said, &byte, 1), 1);
}

/* Waits for its end; returns by how many ms that was behind its deadline, and *status. One that does not end is killed. */
static int64_t ends(Runtime *runtime, int *status)
{
    const int64_t begun_ns = tfy__lease_now_ns();
    for (;;) {
        const int64_t now_ns = tfy__lease_now_ns();
        if (waitpid(runtime->pid, status, WNOHANG) == runtime->pid) return (now_ns - *runtime->deadline) / MS;
        if (now_ns > begun_ns + 10000 * MS) break;
        usleep(500);
    }
    kill(runtime->pid, SIGKILL);
    waitpid(runtime->pid, status, 0);
    fail_msg("the runtime lives on behind its deadline");
    return 0;
}

/* It was killed, at its deadline at the latest. */
static void dies(Runtime *runtime)
{
    int status;
    assert_true(ends(runtime, &status) < SLACK_MS);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void finish(Runtime *runtime)
{
    close(runtime->said);
    close(runtime->released);
}

/* What is written about the release until the end of file. */
static void reads_release(const Runtime *runtime, const char *expected)
{
    char text[16] = "";
    size_t len = 0;
    for (ssize_t n; len < sizeof text - 1 && (n = read(runtime->released, text + len, 1)) > 0;) len += (size_t)n;
    assert_string_equal(text, expected);
}

static void none_remain(TfyLoop *loop, int64_t until_ns)
{
    while (count_processes(loop->mark) && tfy__lease_now_ns() < until_ns) usleep(2000);
    assert_int_equal(count_processes(loop->mark), 0);
}

/* ---- the deadline ---- */

static void lives_short(const Life *life)
{
    renew_at(life, tfy__lease_now_ns(), 300);
    say(life);
    raise(SIGSTOP);
    for (;;) pause();
}

/* Nobody is there but the kernel. */
static void a_stopped_runtime_dies_at_the_deadline(void **state)
{
    int status;
    Runtime runtime = start(*state, lives_short);
    const int64_t late_ms = ends(&runtime, &status);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(late_ms >= -1 && late_ms < SLACK_MS);
    finish(&runtime);
}

static void lives_from_sending(const Life *life)
{
    renew_at(life, tfy__lease_now_ns() - 3000 * MS, 4000);
    say(life);
    for (;;) pause();
}

/* The answer took 3 of the 4 seconds. */
static void the_deadline_is_counted_from_the_sending(void **state)
{
    Runtime runtime = start(*state, lives_from_sending);
    hears(&runtime);
    dies(&runtime);
    finish(&runtime);
}

static void lives_deaf(const Life *life)
{
    renew(life);
    sh(life->loop, DEAF);
    sh(life->loop, "sleep @");
    await_tools(life, 4);
    say(life);
    keep_on(life);
    for (;;) pause();
}

/* The tools die first, and nothing remains. */
static void tools_die_before_their_runtime(void **state)
{
    TfyLoop *loop = *state;
    Runtime runtime = start(loop, lives_deaf);
    hears(&runtime);
    assert_true(count_processes(loop->mark) >= 4);
    kill(runtime.pid, SIGSTOP);
    dies(&runtime);
    assert_int_equal(count_processes(loop->mark), 0);
    reads_release(&runtime, "Ww");
    finish(&runtime);
}

static void renewals_keep_all_alive(void **state)
{
    TfyLoop *loop = *state;
    Runtime runtime = start(loop, lives_deaf);
    hears(&runtime);
    usleep(5000 * 1000);
    assert_int_equal(waitpid(runtime.pid, NULL, WNOHANG), 0);
    assert_true(count_processes(loop->mark) >= 4);
    *runtime.keep = false;
    dies(&runtime);
    assert_int_equal(count_processes(loop->mark), 0);
    finish(&runtime);
}

/* A direct child of the process with this name in its status; 0: none. */
static pid_t child_of(pid_t parent, const char *name)
{
    char path[64], word[64];
    int pid = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    FILE *list = fopen(path, "r");
    while (list && fscanf(list, "%d", &pid) == 1) {
        snprintf(path, sizeof path, "/proc/%d/comm", pid);
        FILE *comm = fopen(path, "r");
        bool is_it = comm && fscanf(comm, "%63s", word) == 1 && strcmp(word, name) == 0;
        if (comm) fclose(comm);
        if (is_it) break;
        pid = 0;
    }
    if (list) fclose(list);
    return pid;
}

/* Not yet reaped is dead. */
static bool lives_on(pid_t pid)
{
    char path[64], state = 'X';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *stat = fopen(path, "r");
    if (stat && fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) state = 'X';
    if (stat) fclose(stat);
    return state != 'X' && state != 'Z';
}

/* Everything that could end a tool is stopped: the kernel does it. */
static void check_all_stopped(TfyLoop *loop, void (*live)(const Life *life))
{
    Runtime runtime = start(loop, live);
    hears(&runtime);
    const pid_t watcher = child_of(runtime.pid, "tfy-watcher"), stub = child_of(watcher, "tfy-stub");
    assert_true(watcher > 0 && stub > 0);
    stopped[0] = stub;
    stopped[1] = watcher;
    kill(stub, SIGSTOP);
    kill(watcher, SIGSTOP);
    kill(runtime.pid, SIGSTOP);
    assert_true(count_processes(loop->mark) > 0);
    dies(&runtime);
    none_remain(loop, *runtime.deadline + (LATE_MS + SLACK_MS) * MS);
    const int64_t until_ns = *runtime.deadline + (LATE_MS + SLACK_MS) * MS;
    while ((lives_on(stub) || lives_on(watcher)) && tfy__lease_now_ns() < until_ns) usleep(2000);
    assert_false(lives_on(stub) || lives_on(watcher));
    stopped[0] = stopped[1] = 0;
    reads_release(&runtime, "W"); /* time decides */
    finish(&runtime);
}

static void lives_with_one_tool(const Life *life)
{
    renew(life);
    sh(life->loop, "exec sleep @");
    await_tools(life, 1);
    say(life);
    keep_on(life);
}

static void the_kernel_ends_what_is_stopped(void **state)
{
    check_all_stopped(*state, lives_with_one_tool);
}

static void lives_with_a_cell(const Life *life)
{
    ceiling_sandbox = NULL;
    renew(life);
    sh(life->loop, "trap '' TERM; setsid sleep @ & sleep @; sleep @");
    await_tools(life, 5); /* tfy-cell twice, the shell, and two that sleep */
    say(life);
    keep_on(life);
}

/* … with all that a tool has started in its cell, also in sessions of its own. */
static void the_kernel_ends_a_cell(void **state)
{
    TfyCellAnswer answer;
    if (tfy__cell_probe(TFY_CELL_FULL, &answer) != 0) skip();
    check_all_stopped(*state, lives_with_a_cell);
}

/* ---- the margin ---- */

/* A lease of 20 s has a margin of 2 s. The tool comes 0.2 s after it has begun. */
static void lives_in_the_margin(const Life *life)
{
    renew_at(life, tfy__lease_now_ns() - 16200 * MS, 20000);
    must(tfy__lease_phase() == TFY_LEASE_ENDING);
    sh(life->loop, "echo started >started-@; sleep @");
    while (!life->loop->failure) turn(life->loop);
    must(life->loop->failure == TFY_E_LOST && strstr(life->loop->report, "renewed the lease"));
    say(life);
    for (;;) pause();
}

static void no_tool_starts_in_the_margin(void **state)
{
    char name[64];
    TfyLoop *loop = *state;
    snprintf(name, sizeof name, "started-%s", loop->mark);
    Runtime runtime = start(loop, lives_in_the_margin);
    hears(&runtime);
    dies(&runtime);
    assert_int_equal(faccessat(loop->root_fd, name, F_OK, 0), -1);
    finish(&runtime);
}

/* No process, so no time is needed: the words of the interface. */
static void lives_by_the_words(const Life *life)
{
    const int64_t now_ns = tfy__lease_now_ns();
    must(tfy__lease_phase() == TFY_LEASE_NONE && tfy__lease_kill_ms() == -1);
    must(tfy__lease_ahead() && !tfy__lease_end() && !tfy__lease_ended());
    renew_at(life, now_ns, 20000);
    must(tfy__lease_phase() == TFY_LEASE_HELD && tfy__lease_ahead() && !tfy__lease_end());
    TfyLeaseTimer timer = {0};
    must(tfy__lease_sleep_ms(&timer) == -1 && tfy__lease_timer_set(&timer) == 0);
    must(tfy__lease_sleep_ms(&timer) > 15000 && tfy__lease_sleep_ms(&timer) <= 16000);
    must(tfy__lease_kill_ms() > 16000 && tfy__lease_kill_ms() <= 17000);
    must(tfy__lease_renew(now_ns - 17000 * MS, 20000) == 0); /* an older one */
    must(tfy__lease_phase() == TFY_LEASE_HELD);
    renew_at(life, now_ns, 60000);
    must(tfy__lease_sleep_ms(&timer) <= 16000); /* it is armed for the older deadline */
    must(tfy__lease_timer_set(&timer) == 0 && tfy__lease_sleep_ms(&timer) > 50000);
    say(life);
}

static void a_lease_has_phases(void **state)
{
    int status;
    Runtime runtime = start(*state, lives_by_the_words);
    hears(&runtime);
    ends(&runtime, &status);
    assert_int_equal(status, 0);
    finish(&runtime);
}

static void lives_past_its_end(const Life *life)
{
    renew_at(life, tfy__lease_now_ns() - 16200 * MS, 20000);
    must(tfy__lease_end() && tfy__lease_ended());
    must(tfy__lease_renew(tfy__lease_now_ns(), 20000) == -ECANCELED);
    must(tfy__lease_phase() != TFY_LEASE_HELD);
    say(life);
}

static void no_renewal_stops_the_end(void **state)
{
    int status;
    Runtime runtime = start(*state, lives_past_its_end);
    hears(&runtime);
    ends(&runtime, &status);
    assert_int_equal(status, 0);
    finish(&runtime);
}

static void lives_without(const Life *life)
{
    Job *job = sh(life->loop, "exit 7");
    await(life->loop, job);
    must(tfy_field(job->value.o, 0).i == 7);
    must(tfy__lease_renew(tfy__lease_now_ns(), LEASE_MS) == -EBUSY);
    tfy__process_close(life->loop);
    say(life);
}

/* Its watcher would not know of it. Nothing is written of a release either. */
static void a_lease_comes_before_the_first_tool(void **state)
{
    int status;
    Runtime runtime = start(*state, lives_without);
    hears(&runtime);
    assert_int_equal(waitpid(runtime.pid, &status, 0), runtime.pid);
    assert_int_equal(status, 0);
    reads_release(&runtime, "");
    finish(&runtime);
}

/* ---- the quick release ---- */

static void lives_long(const Life *life)
{
    renew_at(life, tfy__lease_now_ns(), 60000);
    sh(life->loop, DEAF);
    while (count_processes(life->loop->mark) < 3) run_for(life->loop, 30);
    say(life);
    for (;;) pause();
}

static void the_release_comes_when_all_is_reaped(void **state)
{
    char byte;
    TfyLoop *loop = *state;
    Runtime runtime = start(loop, lives_long);
    hears(&runtime);
    assert_int_equal(read(runtime.released, &byte, 1), 1);
    assert_int_equal(byte, TFY_LEASE_WATCHED);
    struct pollfd more = {.fd = runtime.released, .events = POLLIN};
    assert_int_equal(poll(&more, 1, 100), 0);
    kill(runtime.pid, SIGKILL);
    waitpid(runtime.pid, NULL, 0);
    assert_int_equal(poll(&more, 1, 100), 0); /* the tool is deaf for half a second */
    assert_true(count_processes(loop->mark) > 0);
    reads_release(&runtime, "w");
    assert_int_equal(count_processes(loop->mark), 0);
    finish(&runtime);
}

/* The tools end, but nobody is left who could say so. */
static void a_killed_watcher_says_nothing(void **state)
{
    TfyLoop *loop = *state;
    Runtime runtime = start(loop, lives_long);
    hears(&runtime);
    const pid_t watcher = child_of(runtime.pid, "tfy-watcher");
    assert_true(watcher > 0);
    kill(runtime.pid, SIGSTOP);
    kill(watcher, SIGKILL);
    kill(runtime.pid, SIGKILL);
    waitpid(runtime.pid, NULL, 0);
    reads_release(&runtime, "W");
    assert_int_equal(count_processes(loop->mark), 0);
    finish(&runtime);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_loop, close_loop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stopped_runtime_dies_at_the_deadline),
        TEST(the_deadline_is_counted_from_the_sending),
        TEST(tools_die_before_their_runtime),
        TEST(renewals_keep_all_alive),
        TEST(the_kernel_ends_what_is_stopped),
        TEST(the_kernel_ends_a_cell),
        TEST(no_tool_starts_in_the_margin),
        TEST(a_lease_has_phases),
        TEST(no_renewal_stops_the_end),
        TEST(a_lease_comes_before_the_first_tool),
        TEST(the_release_comes_when_all_is_reaped),
        TEST(a_killed_watcher_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
