/* room.c: steps that find no room in the process: no descriptor is free, no process or thread can be made. That is
 * not an outcome of a step, so nothing is recorded: the step waits, which is reported once, and its work is
 * started again when other work has finished, or a moment later. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "core/step/step.h"

/* between two tries when no work here finishes: another process may make room */
#define ROOM_PAUSE_NS INT64_C(100000000)

void tfy__room_tell(const Step *step, int error)
{
    TfyLoop *loop = step->call.loop;
    const char *name = step->call.tool->name;
    struct rlimit files = {.rlim_cur = 0};
    if (loop->room_told) return;
    loop->room_told = true;
    getrlimit(RLIMIT_NOFILE, &files);
    if (error == EMFILE)
        tfy__report_text(
            loop,
            "tfy: no file descriptor is free for %s (RLIMIT_NOFILE is %llu): steps wait, and continue when one "
            "is; raise 'ulimit -n' before the start for more\n",
            name, (unsigned long long)files.rlim_cur);
    else
        tfy__report_text(loop, "tfy: the system has no room for %s (%s): steps wait, and continue when it has\n", name,
                         error == EAGAIN ? "no further process or thread can be made, see 'ulimit -u'"
                                         : strerror(error));
}

static void try_again(void *arg);

static void try_in(TfyLoop *loop, int64_t delay_ns)
{
    tfy__timers_del(&loop->timers, loop->room_timer);
    loop->room_timer = tfy__timers_add(&loop->timers, loop->now_ns + delay_ns, try_again, loop);
    if (!loop->room_timer) tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for a timer");
}

void tfy__call_no_room(TfyCall *call, int error)
{
    TfyLoop *loop = call->loop;
    Step *step = (Step *)((char *)call - offsetof(Step, call));
    if (tfy__loop_starved(loop)) { /* memory: the process ends with this turn */
        tfy__call_starved(call);
        return;
    }
    if (error) tfy__room_tell(step, error);
    CHECK(step->in_call == CALL_BEGUN);
    step->in_call = CALL_NO_ROOM;
    step->waited_room = true;
    step->room_next = NULL;
    *(loop->room_last ? &loop->room_last->room_next : &loop->room_first) = step;
    loop->room_last = step;
    if (!loop->room_timer) try_in(loop, ROOM_PAUSE_NS);
}

void tfy__call_room_again(TfyLoop *loop)
{
    if (loop->room_first) try_in(loop, 0);
}

void tfy__room_leave(Step *step)
{
    TfyLoop *loop = step->call.loop;
    Step **link = &loop->room_first, *before = NULL;
    for (; *link != step; link = &(*link)->room_next) {
        before = *link;
        CHECK(before);
    }
    *link = step->room_next;
    if (loop->room_last == step) loop->room_last = before;
}

/* All waiting steps, in their order. A step that finds no room again goes behind the others, and is not tried
 * twice. */
static void try_again(void *arg)
{
    TfyLoop *loop = arg;
    uint32_t count = 0;
    loop->room_timer = 0;
    for (const Step *step = loop->room_first; step; step = step->room_next) count++;
    while (count-- && loop->room_first && tfy__step_may_work(loop)) {
        Step *step = loop->room_first;
        CHECK(step->in_call == CALL_NO_ROOM);
        tfy__room_leave(step);
        step->in_call = CALL_BEGUN;
        tfy__step_start_work(step);
    }
    if (loop->room_first && !loop->room_timer) try_in(loop, ROOM_PAUSE_NS);
}

void tfy__room_made(Step *step)
{
    TfyLoop *loop = step->call.loop;
    const bool waited = step->waited_room;
    step->waited_room = false;
    if (loop->room_first) {
        try_in(loop, 0);
    } else if (waited && loop->room_told) {
        loop->room_told = false;
        tfy__report_text(loop, "tfy: there is room again: steps continue\n");
    }
}
