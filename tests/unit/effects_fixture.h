/* effects_fixture.h: a loop small enough to see through, for the tests of performers: real descriptors (epoll, edge-triggered as the
 * runtime's own), real time, one task, and a place where the answers of calls are put. It defines what effect.h says the loop provides. */
#ifndef EFFECTS_FIXTURE_H
#define EFFECTS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/effect.h"
#include "core/world.h"
#include "effects/wrote.h"
#include "value/heap.h"

enum { WATCHES = 2048, TIMERS = 2048 };

typedef struct Watch {
    TfyFdHandler handler; /* NULL: free */
    void *arg;
    int fd;
    uint32_t generation;
} Watch;

typedef struct Timer {
    TfyTimerHandler handler; /* NULL: free */
    void *arg;
    int64_t deadline_ns;
    uint64_t handle;
} Timer;

struct TfyLoop {
    int epoll;
    Watch watches[WATCHES];
    Timer timers[TIMERS];
    uint64_t last_timer;
    void *modules[TFY_M_COUNT];
    char root[256];
    int root_fd;
    char lock_path[300];
    char report[8192]; /* what was last said on stderr */
    int failure;       /* what the loop was stopped with */
    bool no_lock;
    char mark[32]; /* a number of seconds that no other test on this machine sleeps */
    TfyHeap heap;
    TfyTask task;
};

/* A call and what became of it. */
typedef struct Job {
    TfyCall call; /* first: the performer's pointer is the job's */
    TfySite site;
    TfyTool tool;
    TfyValue args[4];
    bool done, failed;
    TfyValue value;       /* owned */
    const TfyType *error; /* of a failure */
    char message[8192];
    char path[256]; /* of a BadValue */
    int64_t code;
} Job;

/* ---- what the loop provides ---- */

static int64_t clock_ahead_ns; /* of the real one: a test need not wait for a limit */

static int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec + clock_ahead_ns;
}

int64_t tfy__watch_add(TfyLoop *loop, int fd, uint32_t events, TfyFdHandler handler, void *arg)
{
    uint32_t slot = 0;
    while (slot < WATCHES && loop->watches[slot].handler) slot++;
    if (slot == WATCHES) return TFY_E_NOMEM;
    Watch *watch = &loop->watches[slot];
    *watch = (Watch){handler, arg, fd, watch->generation + 1};
    struct epoll_event event = {.events = EPOLLET | (events & TFY_FD_READ ? EPOLLIN : 0u) |
                                          (events & TFY_FD_WRITE ? EPOLLOUT : 0u),
                                .data.u64 = (uint64_t)watch->generation << 32 | slot};
    assert_int_equal(epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event), 0);
    return slot;
}

/* epoll's edges need none. */
void tfy__watch_arm(TfyLoop *loop, int64_t handle, uint32_t events)
{
    assert_non_null(loop->watches[handle].handler);
}

void tfy__watch_del(TfyLoop *loop, int64_t handle)
{
    Watch *watch = &loop->watches[handle];
    assert_non_null(watch->handler);
    assert_int_equal(epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL), 0);
    watch->handler = NULL;
}

const char *tfy__secrets_option(TfyLoop *loop, const TfyProgram *program)
{
    return NULL;
}

const char *tfy__models_option(TfyLoop *loop)
{
    return NULL;
}

const TfyProgram *tfy__program_at(TfyLoop *loop, uint32_t i)
{
    return NULL;
}

uint64_t tfy__timer_add(TfyLoop *loop, int64_t deadline_ns, TfyTimerHandler handler, void *arg)
{
    uint32_t slot = 0;
    while (slot < TIMERS && loop->timers[slot].handler) slot++;
    assert_true(slot < TIMERS);
    loop->timers[slot] = (Timer){handler, arg, deadline_ns, ++loop->last_timer};
    return loop->last_timer;
}

void tfy__timer_del(TfyLoop *loop, uint64_t handle)
{
    for (uint32_t i = 0; i < TIMERS; i++) {
        if (loop->timers[i].handler && loop->timers[i].handle == handle) loop->timers[i].handler = NULL;
    }
}

int64_t tfy__now_ns(TfyLoop *loop)
{
    return clock_ns();
}

int64_t tfy__wall_ms(TfyLoop *loop)
{
    return (int64_t)time(NULL) * 1000;
}

const char *tfy__root(TfyTask *task)
{
    return task->loop->root;
}

int tfy__root_fd(TfyTask *task)
{
    return task->loop->root_fd;
}

const char *tfy__program_root(TfyLoop *loop, const TfyProgram *program)
{
    return loop->root;
}

enum { OUTPUT_MOST = 1 << 20, FILE_MOST = 16 << 20 };

size_t tfy__output_most(TfyLoop *loop)
{
    return OUTPUT_MOST;
}

size_t tfy__file_most(TfyLoop *loop)
{
    return FILE_MOST;
}

const char *tfy__lock_path(TfyLoop *loop)
{
    return loop->no_lock ? NULL : loop->lock_path;
}

void tfy__report_text(TfyLoop *loop, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(loop->report, sizeof loop->report, format, args);
    va_end(args);
}

const char *tfy__source_name(TfyLoop *loop, uint32_t i)
{
    return i ? NULL : "program.tfy";
}

/* Cells have tests of their own; NULL: tools and git run in them. */
static const char *ceiling_sandbox = "open";

TfyCeiling tfy__ceiling_option(TfyLoop *loop)
{
    return (TfyCeiling){.sandbox = ceiling_sandbox};
}

TfyCeiling tfy__ceiling(TfyTask *task)
{
    return tfy__ceiling_option(NULL);
}

void tfy__set_cell_level(TfyLoop *loop, const char *level)
{
}

static const char *level_option;

const char *tfy__sandbox_level_option(TfyLoop *loop)
{
    return level_option;
}

static const TfyProgram no_program;

const TfyProgram *tfy__program_of(TfyTask *task)
{
    return &no_program;
}

const char *tfy__run_uuid(TfyTask *task)
{
    return "0190b0c2-1234-7abc-8def-0123456789ab";
}

void tfy__loop_fail(TfyLoop *loop, int code, const char *format, ...)
{
    va_list args;
    loop->failure = code;
    va_start(args, format);
    vsnprintf(loop->report, sizeof loop->report, format, args);
    va_end(args);
}

void **tfy__effect_slot(TfyLoop *loop, int module)
{
    return &loop->modules[module];
}

void tfy__call_done(TfyCall *call, TfyValue result)
{
    Job *job = (Job *)call;
    assert_false(job->done || job->failed);
    job->done = true;
    job->value = tfy__keep_value(call->result, result);
}

void tfy__call_fail(TfyCall *call, const TfyType *error, const TfyValue *fields)
{
    Job *job = (Job *)call;
    assert_false(job->done || job->failed);
    job->failed = true;
    job->error = error;
    snprintf(job->message, sizeof job->message, "%s", ((TfyString *)fields[0].o)->bytes);
}

void tfy__call_tool_error(TfyCall *call, int64_t code, const char *format, ...)
{
    Job *job = (Job *)call;
    va_list args;
    assert_false(job->done || job->failed);
    job->failed = true;
    job->error = &tfy_type_tool_error;
    job->code = code;
    va_start(args, format);
    vsnprintf(job->message, sizeof job->message, format, args);
    va_end(args);
}

void tfy__call_starved(TfyCall *call)
{
    tfy__call_tool_error(call, ENOMEM, "memory ran out");
}

void tfy__call_no_room(TfyCall *call, int error)
{
    tfy__call_tool_error(call, error, "no room");
}

void tfy__call_room_again(TfyLoop *loop)
{
}

bool tfy__call_note(TfyCall *call, uint8_t record_type, const TfyBuffer *payload)
{
    return true;
}

/* There is nobody to ask. */
bool tfy__call_ask(TfyCall *call, const char *question, const char *grant, TfyGranted *answered)
{
    return false;
}

void tfy__activity(TfyTask *task, const char *stage, const char *format, ...)
{
}

const char *tfy__task_path(TfyTask *task)
{
    return "1";
}

const char *tfy__secrets_command(TfyLoop *loop)
{
    return NULL;
}

void tfy__call_bad_value(TfyCall *call, const char *path, const char *message)
{
    Job *job = (Job *)call;
    assert_false(job->done || job->failed);
    job->failed = true;
    job->error = &tfy_type_bad_value;
    snprintf(job->path, sizeof job->path, "%s", path);
    snprintf(job->message, sizeof job->message, "%s", message);
}

/* ---- running ---- */

static inline void run_timers(TfyLoop *loop)
{
    int64_t now_ns = clock_ns();
    uint64_t newest = loop->last_timer; /* those set by a handler wait for the next turn */
    for (uint32_t i = 0; i < TIMERS; i++) {
        Timer timer = loop->timers[i];
        if (!timer.handler || timer.deadline_ns > now_ns || timer.handle > newest) continue;
        loop->timers[i].handler = NULL;
        timer.handler(timer.arg);
    }
}

static inline int next_timeout_ms(TfyLoop *loop)
{
    int64_t next_ns = clock_ns() + 50000000;
    for (uint32_t i = 0; i < TIMERS; i++) {
        if (loop->timers[i].handler && loop->timers[i].deadline_ns < next_ns) next_ns = loop->timers[i].deadline_ns;
    }
    int64_t left_ns = next_ns - clock_ns();
    return left_ns <= 0 ? 0 : (int)(left_ns / 1000000 + 1);
}

static inline void turn(TfyLoop *loop)
{
    struct epoll_event events[64];
    int count = epoll_wait(loop->epoll, events, 64, next_timeout_ms(loop));
    for (int i = 0; i < count; i++) {
        Watch *watch = &loop->watches[events[i].data.u64 & UINT32_MAX];
        const uint32_t told = TFY_FD_READ | (events[i].events & EPOLLHUP ? TFY_FD_HANGUP : 0u);
        if (watch->handler && watch->generation == events[i].data.u64 >> 32) watch->handler(watch->arg, told);
    }
    run_timers(loop);
}

static inline void run_for(TfyLoop *loop, int ms)
{
    for (int64_t end_ns = clock_ns() + ms * INT64_C(1000000); clock_ns() < end_ns;) turn(loop);
}

/* Runs until the job is answered. The limit is for a test that would hang: it is far from what the slowest machine needs. */
static inline void await(TfyLoop *loop, Job *job)
{
    enum { LIMIT_S = 120 };
    const int64_t end_ns = clock_ns() + LIMIT_S * INT64_C(1000000000);
    while (!job->done && !job->failed && clock_ns() < end_ns) turn(loop);
    if (!job->done && !job->failed) fail_msg("no answer within %d s", LIMIT_S);
}

/* ---- setting up ---- */

static inline TfyLoop *loop_open(void)
{
    TfyLoop *loop = calloc(1, sizeof *loop);
    assert_non_null(loop);
    snprintf(loop->root, sizeof loop->root, "/tmp/tfy-effects-XXXXXX");
    assert_non_null(mkdtemp(loop->root));
    snprintf(loop->lock_path, sizeof loop->lock_path, "%s.lock", loop->root);
    snprintf(loop->mark, sizeof loop->mark, "31417.%d", getpid());
    loop->root_fd = open(loop->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    assert_int_equal(tfy__heap_init(&loop->heap, NULL, NULL), 0);
    loop->task.heap = &loop->heap;
    loop->task.loop = loop;
    return loop;
}

static inline void remove_tree(const char *path)
{
    char command[1000];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

static inline void loop_close(TfyLoop *loop)
{
    tfy__cut(&loop->heap, 0);
    tfy__wrote_close(loop);
    for (uint32_t i = 0; i < WATCHES; i++) assert_null(loop->watches[i].handler);
    for (uint32_t i = 0; i < TIMERS; i++) assert_null(loop->timers[i].handler);
    assert_int_equal(loop->heap.objects, 0);
    tfy__heap_deinit(&loop->heap);
    close(loop->epoll);
    close(loop->root_fd);
    remove_tree(loop->root);
    unlink(loop->lock_path);
    free(loop);
}

/* A call of a tool, ready to be started. */
static inline Job *job_new(TfyLoop *loop, const TfyTool *tool)
{
    Job *job = calloc(1, sizeof *job);
    assert_non_null(job);
    job->tool = *tool;
    static const TfyPoint point = {.id = "job", .number = 1};
    job->site = (TfySite){.point = &point, .tool = &job->tool, .result = tool->result};
    job->call = (TfyCall){.loop = loop,
                          .task = &loop->task,
                          .site = &job->site,
                          .tool = &job->tool,
                          .result = tool->result,
                          .args = job->args,
                          .key = "run/1/1",
                          .step = 1,
                          .attempt = 1};
    return job;
}

static inline void job_free(Job *job)
{
    TfyTask *task = job->call.task;
    if (job->done) tfy__drop_value(task, job->call.result, job->value);
    tfy__buffer_free(&job->call.extra);
    tfy__cut(task->heap, 0);
    free(job);
}

static inline TfyObj *text_of(TfyLoop *loop, const char *text)
{
    return tfy_string_of(&loop->task, text, strlen(text));
}

static inline const char *chars(TfyValue string)
{
    return ((TfyString *)string.o)->bytes;
}

/* list<string> of the words up to NULL. */
static inline TfyObj *words(TfyLoop *loop, const char *const *word)
{
    TfyValue items[64];
    uint32_t count = 0;
    for (; word[count]; count++) items[count] = tfy_of_obj(text_of(loop, word[count]));
    return tfy_list_of(&loop->task, &tfy_type_list_string, count, items);
}
#define WORDS(loop, ...) words(loop, (const char *const[]){__VA_ARGS__, NULL})

/* ---- looking at the outside ---- */

/* How many processes have this text in their command line? */
static inline int count_processes(const char *needle)
{
    char path[300], line[4096];
    int found = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; (entry = readdir(proc));) {
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        size_t len = fread(line, 1, sizeof line - 1, file);
        fclose(file);
        line[len] = 0;
        for (size_t i = 0; i < len; i++) line[i] = line[i] ? line[i] : ' ';
        found += strstr(line, needle) && atoi(entry->d_name) != getpid();
    }
    closedir(proc);
    return found;
}

/* Waits until no process has the text in its command line; how long that took, in ms, or -1. */
static inline int await_none(const char *needle, int limit_ms)
{
    for (int waited_ms = 0; waited_ms <= limit_ms; waited_ms += 10) {
        if (!count_processes(needle)) return waited_ms;
        usleep(10000);
    }
    return -1;
}

static inline int open_descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir)) count++;
    closedir(dir);
    return count;
}

#endif
