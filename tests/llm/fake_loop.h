/* fake_loop.h: just enough of a loop for the performer of models: descriptors (epoll, edge-triggered, as the real one), timers, and a note
 * of how the call ended. It defines the services of core/effect.h itself, so that nothing of core/ is linked. */
#ifndef TESTS_LLM_FAKE_LOOP_H
#define TESTS_LLM_FAKE_LOOP_H

#include "core/effect.h"
#include "core/world.h"
#include "value/heap.h"
#include "value/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wunused-function" /* not every test needs every helper */

#define FAKE_MAX 256

typedef struct FakeWatch {
    TfyFdHandler handler; /* NULL: free */
    void *arg;
    int fd;
    uint32_t generation; /* a stale event has another one */
} FakeWatch;

typedef struct FakeTimer {
    uint64_t id; /* 0: free */
    int64_t deadline_ns;
    TfyTimerHandler handler;
    void *arg;
} FakeTimer;

struct TfyLoop {
    int epoll;
    FakeWatch watches[FAKE_MAX];
    FakeTimer timers[FAKE_MAX];
    uint64_t last_id;
    void *modules[TFY_M_COUNT];
    const char *option; /* --llm */
    char uuid[37];
    int activities;
    char activity[512]; /* the newest one that waits for a model */
    bool keeps;         /* what is sent */
    TfyBuffer said;     /* by models, to those who watch */
    TfyBuffer notes;    /* payloads of the records beside the calls', a line each */
};

/* One call with its task, and how it ended. */
typedef struct FakeCall {
    TfyCall call;
    TfyHeap heap;
    TfyTask task;
    const char *path; /* of the task */
    TfyValue args[4];
    int ended;            /* times; must become 1 */
    int64_t waits_ms;     /* how long it was asked to wait; 0: it was not */
    bool ok;              /* done, not failed */
    char *value;          /* JSON of the result */
    const TfyType *error; /* type of the error */
    char message[1024];   /* of the error */
    char at[256];         /* BadValue's path */
    int64_t code;         /* ToolError's code */
} FakeCall;

static FakeCall *fake_of(TfyTask *task)
{
    return (FakeCall *)((char *)task - offsetof(FakeCall, task));
}

/* ---- services ---- */

static int64_t mono_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t tfy__now_ns(TfyLoop *loop)
{
    return mono_ns();
}

int64_t tfy__watch_add(TfyLoop *loop, int fd, uint32_t events, TfyFdHandler handler, void *arg)
{
    for (uint32_t i = 0; i < FAKE_MAX; i++) {
        FakeWatch *watch = &loop->watches[i];
        if (watch->handler) continue;
        *watch = (FakeWatch){.handler = handler, .arg = arg, .fd = fd, .generation = watch->generation + 1};
        struct epoll_event event = {.events = EPOLLET | (events & TFY_FD_READ ? EPOLLIN : 0) |
                                              (events & TFY_FD_WRITE ? EPOLLOUT : 0),
                                    .data.u64 = (uint64_t)watch->generation << 32 | i};
        return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? (int64_t)i : TFY_E_IO;
    }
    return TFY_E_NOMEM;
}

void tfy__watch_del(TfyLoop *loop, int64_t handle)
{
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, loop->watches[handle].fd, NULL);
    loop->watches[handle].handler = NULL;
}

uint64_t tfy__timer_add(TfyLoop *loop, int64_t deadline_ns, TfyTimerHandler handler, void *arg)
{
    for (uint32_t i = 0; i < FAKE_MAX; i++) {
        if (loop->timers[i].id) continue;
        loop->timers[i] =
            (FakeTimer){.id = ++loop->last_id, .deadline_ns = deadline_ns, .handler = handler, .arg = arg};
        return loop->last_id;
    }
    abort();
}

void tfy__timer_del(TfyLoop *loop, uint64_t handle)
{
    for (uint32_t i = 0; i < FAKE_MAX; i++)
        if (loop->timers[i].id == handle) loop->timers[i].id = 0;
}

const TfyProgram *tfy__program_of(TfyTask *task)
{
    return NULL;
}

const char *tfy__secrets_option(TfyLoop *loop, const TfyProgram *program)
{
    return NULL;
}

bool tfy__is_served(TfyLoop *loop)
{
    return false;
}

const char *tfy__llm_option(TfyLoop *loop)
{
    return loop->option;
}

const TfySite *tfy__site_at(TfyLoop *loop, const char *run_uuid, uint32_t point)
{
    (void)loop;
    (void)run_uuid, (void)point;
    return NULL;
}

const char *tfy__run_uuid(TfyTask *task)
{
    return task->loop->uuid;
}

const char *tfy__task_path(TfyTask *task)
{
    return fake_of(task)->path;
}

void **tfy__effect_slot(TfyLoop *loop, int module)
{
    return &loop->modules[module];
}

void tfy__activity(TfyTask *task, const char *stage, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (strcmp(stage, "WaitingForLLM") == 0) vsnprintf(task->loop->activity, sizeof task->loop->activity, format, args);
    va_end(args);
    task->loop->activities++;
}

/* "text|", "text." for the last piece, "!" for a loss. */
bool tfy__activity_says(TfyTask *task, TfySays kind, const char *text, size_t len)
{
    if (kind != TFY_SAYS_VOID) tfy__buffer_add(&task->loop->said, text, len);
    tfy__buffer_char(&task->loop->said, "|.!"[kind]);
    return true;
}

void tfy__count_repeat(TfyLoop *loop)
{
}

void tfy__count_answer(TfyLoop *loop, const char *model, const int64_t tokens[3], int64_t cost)
{
}

void tfy__call_done(TfyCall *call, TfyValue result)
{
    FakeCall *fake = fake_of(call->task);
    TfyBuffer text = {0};
    fake->ended++;
    fake->ok = true;
    tfy__encode(&text, call->result, result);
    fake->value = text.data;
}

static const char *bytes_of(TfyValue text)
{
    return ((const TfyString *)text.o)->bytes;
}

void tfy__call_fail(TfyCall *call, const TfyType *error, const TfyValue *fields)
{
    FakeCall *fake = fake_of(call->task);
    fake->ended++;
    fake->error = error;
    snprintf(fake->message, sizeof fake->message, "%s", bytes_of(fields[0]));
}

void tfy__call_tool_error(TfyCall *call, int64_t code, const char *format, ...)
{
    FakeCall *fake = fake_of(call->task);
    va_list args;
    fake->ended++;
    fake->error = &tfy_type_tool_error;
    fake->code = code;
    va_start(args, format);
    vsnprintf(fake->message, sizeof fake->message, format, args);
    va_end(args);
}

bool tfy__keeps_prompts(TfyTask *task)
{
    return task->loop->keeps;
}

bool tfy__call_note(TfyCall *call, uint8_t record_type, const TfyBuffer *payload)
{
    tfy__buffer_add(&call->loop->notes, payload->data, payload->len);
    tfy__buffer_char(&call->loop->notes, '\n');
    return true;
}

const char *tfy__models_option(TfyLoop *loop)
{
    return NULL;
}

const char *tfy__secrets_command(TfyLoop *loop)
{
    return NULL;
}

void tfy__call_room_again(TfyLoop *loop)
{
}

bool tfy__budget_request(struct Step *step)
{
    return true;
}

void tfy__budget_requested(struct Step *step, const struct TfyRecord_ *record)
{
}

bool tfy__budget_refuses(TfyCall *call)
{
    return false;
}

bool tfy__budget_holds(const TfyCall *call)
{
    return false;
}

void tfy__budget_settle(TfyCall *call, int64_t tokens, int64_t cost)
{
}

void tfy__budget_leave_off(TfyCall *call, bool lost)
{
}

/* A call that waits has not ended; it can be started again. */
void tfy__call_wait(TfyCall *call, int64_t wait_ms, uint32_t tries, bool lost)
{
    fake_of(call->task)->waits_ms = wait_ms;
    call->tries = tries;
}

void tfy__budget_close(TfyLoop *loop)
{
}

void tfy__budget_save(TfyLoop *loop, const char *run_uuid, TfyBuffer *out)
{
}

void tfy__budget_restore(TfyLoop *loop, const char *run_uuid, const json_t *json)
{
}

void tfy__call_starved(TfyCall *call)
{
    abort();
}

void tfy__loop_fail(TfyLoop *loop, int code, const char *format, ...)
{
    abort();
}

void tfy__call_no_room(TfyCall *call, int error)
{
    tfy__call_tool_error(call, error, "no room");
}

void tfy__call_panicked(TfyCall *call)
{
    FakeCall *fake = fake_of(call->task);
    fake->ended++;
    fake->error = call->task->error->type;
    snprintf(fake->message, sizeof fake->message, "%s", bytes_of(tfy_field(call->task->error, 0)));
}

void tfy__call_bad_value(TfyCall *call, const char *path, const char *message)
{
    FakeCall *fake = fake_of(call->task);
    fake->ended++;
    fake->error = &tfy_type_bad_value;
    snprintf(fake->message, sizeof fake->message, "%s", message);
    snprintf(fake->at, sizeof fake->at, "%s", path);
}

/* ---- driving ---- */

static void fake_open(TfyLoop *loop, const char *option)
{
    *loop = (TfyLoop){
        .epoll = epoll_create1(EPOLL_CLOEXEC), .option = option, .uuid = "01234567-0000-7000-8000-000000000001"};
}

static void fake_close(TfyLoop *loop)
{
    tfy__perform_llm.close(loop);
    for (uint32_t i = 0; i < FAKE_MAX; i++)
        if (loop->watches[i].handler || loop->timers[i].id) abort(); /* something was left behind */
    tfy__buffer_free(&loop->notes);
    tfy__buffer_free(&loop->said);
    close(loop->epoll);
}

static void fire_timers(TfyLoop *loop)
{
    for (uint32_t i = 0; i < FAKE_MAX; i++) {
        FakeTimer timer = loop->timers[i];
        if (!timer.id || timer.deadline_ns > mono_ns()) continue;
        loop->timers[i].id = 0;
        timer.handler(timer.arg);
    }
}

static int next_ms(const TfyLoop *loop, int most)
{
    for (uint32_t i = 0; i < FAKE_MAX; i++) {
        if (!loop->timers[i].id) continue;
        int64_t left = (loop->timers[i].deadline_ns - mono_ns() + 999999) / 1000000;
        if (left < most) most = left < 0 ? 0 : (int)left;
    }
    return most;
}

static void fake_turn(TfyLoop *loop)
{
    struct epoll_event events[16];
    int n = epoll_wait(loop->epoll, events, 16, next_ms(loop, 100));
    for (int i = 0; i < n; i++) {
        FakeWatch watch = loop->watches[(uint32_t)events[i].data.u64];
        if (!watch.handler || watch.generation != events[i].data.u64 >> 32) continue;
        uint32_t what = (events[i].events & EPOLLIN ? TFY_FD_READ : 0) |
                        (events[i].events & EPOLLOUT ? TFY_FD_WRITE : 0) |
                        (events[i].events & (EPOLLHUP | EPOLLERR) ? TFY_FD_HANGUP : 0);
        watch.handler(watch.arg, what);
    }
    fire_timers(loop);
}

static void fake_wait(TfyLoop *loop, const FakeCall *fake, int64_t ms)
{
    for (int64_t end = mono_ns() + ms * 1000000; !fake->ended && mono_ns() < end;) fake_turn(loop);
}

/* A call of a tool at a site; fake_free gives all back. texts: the arguments, NULL-terminated; missing ones are null. */
static void fake_init(FakeCall *fake, TfyLoop *loop, const TfySite *site, const char *const *texts)
{
    *fake = (FakeCall){.path = "1"};
    tfy__heap_init(&fake->heap, NULL, NULL);
    fake->task = (TfyTask){.fuel = 10000, .heap = &fake->heap, .loop = loop};
    fake->call = (TfyCall){.loop = loop,
                           .task = &fake->task,
                           .site = site,
                           .tool = site->tool,
                           .result = site->result,
                           .args = fake->args,
                           .key = "run/1/1",
                           .step = 1,
                           .attempt = 1};
    for (int i = 0; texts[i]; i++) fake->args[i].o = tfy_keep(tfy_string_of(&fake->task, texts[i], strlen(texts[i])));
    tfy_cut(&fake->task, 0);
}

/* Answers the number of objects that leaked. */
static int64_t fake_free(FakeCall *fake)
{
    for (int i = 0; i < 4; i++) tfy_drop(&fake->task, fake->args[i].o);
    tfy_drop(&fake->task, fake->task.error);
    tfy_cut(&fake->task, 0);
    tfy__buffer_free(&fake->call.extra);
    free(fake->value);
    int64_t left = fake->heap.objects;
    tfy__heap_deinit(&fake->heap);
    return left;
}

/* The same call asked again, as the loop does after a failed attempt. */
static void fake_again(FakeCall *fake)
{
    tfy__buffer_reset(&fake->call.extra);
    free(fake->value);
    fake->value = NULL;
    fake->ended = 0;
    fake->ok = false;
    fake->error = NULL;
    fake->call.attempt++;
}

#endif
