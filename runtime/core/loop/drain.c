/* drain.c: how a process ends when it is asked to stop. Nothing starts any more: no task runs, no step is
 * advanced, no timer of a task fires. Calls under way in performers may finish within a grace period, and their
 * results are recorded; input from people is recorded as usual. Then loop.c writes the ShutdownMarker.
 *
 * A drain needs no records of its own: at every moment the log is one that a kill could have left. It only makes
 * it less likely that a `once` step is cut off in the middle and in doubt. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/step/step.h"

#define NAMES_SHOWN 3

/* ---- the request ---- */

/* Runs in signal handlers: it only sets variables, and wakes a loop that sleeps or is about to. */
void tfy_drain(TfyLoop *loop, int64_t grace_ms)
{
    const int reason = errno;
    if (!loop->interrupted) loop->grace_ms = grace_ms;
    if (loop->interrupted < 2) loop->interrupted++;
    atomic_thread_fence(memory_order_seq_cst); /* either this sees the descriptor, or the loop the request */
    if (loop->wake_fd >= 0) (void)!write(loop->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
    errno = reason;
}

static void on_wake(void *arg, uint32_t events)
{
    TfyLoop *loop = arg;
    uint64_t count;
    (void)events;
    (void)!read(loop->wake_fd, &count, sizeof count);
    tfy__out_look(loop);
}

/* Opened when the loop blocks for the first time: most loops of tests and benches never do. */
bool tfy__wake_open(TfyLoop *loop)
{
    if (loop->wake_fd >= 0 || loop->options.world) return loop->wake_fd >= 0;
    const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) return false;
    if (tfy__watch_add(loop, fd, TFY_FD_READ, on_wake, loop) < 0) {
        close(fd);
        return false;
    }
    loop->wake_fd = fd;
    atomic_thread_fence(memory_order_seq_cst); /* see tfy_drain */
    return true;
}

int tfy_fd(TfyLoop *loop)
{
    const TfyPoller *poller = loop->world.poller;
    return poller->fd && tfy__wake_open(loop) ? poller->fd(loop->poller) : TFY_E_STATE;
}

/* ---- what is waited for ---- */

/* Its StepStart is in the log, so a resume must assume that it was done: it is allowed to start rather than left
 * in doubt. */
bool tfy__drain_lets_start(const Step *step)
{
    return step->started && step->stage == STAGE_SYNC && !is_question(step->call.tool) &&
           step->call.tool->repeat == TFY_ONCE;
}

/* Work that found no room has not started, so there is nothing to wait for but a start that would leave a doubt. */
static bool holds_up(const Step *step)
{
    if (step->in_call == CALL_NO_ROOM) return step->started && step->call.tool->repeat == TFY_ONCE;
    if (step->in_call) return step->in_call != CALL_UNANSWERED && !tfy__step_only_takes(step->call.tool);
    return tfy__drain_lets_start(step);
}

/* Adds the first few calls that are waited for to out, if it is given. */
static uint32_t count_held(const TfyLoop *loop, TfyBuffer *out)
{
    uint32_t count = 0;
    for (const Run *run = loop->runs.first; run; run = run->next) {
        for (const TaskRest *rest = run->tasks; rest; rest = rest->next_in_run) {
            if (!rest->step || !holds_up(rest->step)) continue;
            count++;
            if (out && count <= NAMES_SHOWN)
                tfy__buffer_printf(out, "%s%s (task %s)", count > 1 ? ", " : "", rest->step->call.tool->name,
                                   rest->log.path);
        }
    }
    if (out && count > NAMES_SHOWN) tfy__buffer_printf(out, " and %u more", (unsigned)(count - NAMES_SHOWN));
    return count;
}

char *tfy__under_way(TfyLoop *loop)
{
    TfyBuffer out = {0};
    if (count_held(loop, &out) && !out.failed) return out.data;
    tfy__buffer_free(&out);
    return NULL;
}

void tfy__on_drain(TfyLoop *loop, void (*tell)(void *state, const char *calls, int64_t grace_ms), void *state)
{
    loop->on_drain = tell;
    loop->drain_state = state;
}

void tfy__drain_by(TfyLoop *loop, _Atomic(TfyLoop *) *place)
{
    loop->drained_by = place;
    *place = loop;
}

static void begin(TfyLoop *loop)
{
    tfy__loop_clock(loop);
    loop->draining = true;
    const int64_t most_ms = (INT64_MAX - loop->now_ns) / 1000000, grace_ms = loop->grace_ms;
    loop->drain_until_ns = loop->now_ns + (grace_ms < 0 ? 0 : grace_ms < most_ms ? grace_ms : most_ms) * 1000000;
    char *calls = loop->on_drain && grace_ms > 0 ? tfy__under_way(loop) : NULL;
    if (calls) loop->on_drain(loop->drain_state, calls, grace_ms);
    free(calls);
}

bool tfy__drain_goes_on(TfyLoop *loop)
{
    if (!loop->draining) begin(loop);
    if (loop->failure || loop->interrupted > 1 || loop->now_ns >= loop->drain_until_ns) return false;
    return count_held(loop, NULL) > 0;
}
