/* policy.c: which ready task runs next, if it is not simply the task that has been ready longest.
 *
 * fifo is the ring itself and does not use this file. With any other policy the ring is only where ready tasks
 * arrive: before each slice they are moved to the policy's own queue, and the task that the policy returns runs. A
 * policy decides only the order of live tasks; in a replay, including that of a resume, the records decide it, so
 * a history is the same under every policy.
 *
 * No task starves: a task's place is the number of its turn minus a bonus, so only tasks that become ready at most
 * so many turns later can overtake it. */
#include <stdlib.h>
#include <string.h>

#include "core/loop/state.h"

#define LEVEL       64   /* turns that one level of priority is worth */
#define AWAITED_MAX 1000 /* deps: more dependents make no difference */

/* ---- a queue ordered by places ---- */

typedef struct Place {
    int64_t key; /* lowest first; each is unique, since it contains seq */
    uint64_t seq;
    uint32_t slot;
} Place;

typedef struct Places {
    Place *heap; /* binary, by key, then by seq */
    uint32_t count, cap;
} Places;

static bool before(const Place *a, const Place *b)
{
    return a->key < b->key || (a->key == b->key && a->seq < b->seq);
}

static void *places_open(void)
{
    return calloc(1, sizeof(Places));
}

static void places_close(void *queue)
{
    Places *places = queue;
    free(places->heap);
    free(places);
}

static bool places_push(Places *places, Place place)
{
    if (!GROW(places->heap, places->cap, places->count + 1, 64)) return false;
    uint32_t at = places->count++;
    for (; at && before(&place, &places->heap[(at - 1) / 2]); at = (at - 1) / 2)
        places->heap[at] = places->heap[(at - 1) / 2];
    places->heap[at] = place;
    return true;
}

static uint32_t places_pop(void *queue)
{
    Places *places = queue;
    CHECK(places->count > 0);
    uint32_t slot = places->heap[0].slot, at = 0;
    Place last = places->heap[--places->count];
    for (uint32_t child; (child = 2 * at + 1) < places->count; at = child) {
        if (child + 1 < places->count && before(&places->heap[child + 1], &places->heap[child])) child++;
        if (!before(&places->heap[child], &last)) break;
        places->heap[at] = places->heap[child];
    }
    places->heap[at] = last;
    return slot;
}

/* ---- the built-in policies ---- */

static bool push_by_priority(void *queue, const TfyReadyTask *ready)
{
    return places_push(queue, (Place){(int64_t)ready->seq - (int64_t)ready->priority * LEVEL, ready->seq, ready->slot});
}

/* The task that most others wait for goes first; the priority counts too. */
static bool push_by_dependents(void *queue, const TfyReadyTask *ready)
{
    int64_t awaited = ready->awaited < AWAITED_MAX ? ready->awaited : AWAITED_MAX;
    int64_t bonus = (awaited + ready->priority) * LEVEL;
    return places_push(queue, (Place){(int64_t)ready->seq - bonus, ready->seq, ready->slot});
}

static const TfyScheduling policies[] = {
    {"priority", places_open, push_by_priority, places_pop, places_close},
    {"deps", places_open, push_by_dependents, places_pop, places_close},
};

int tfy__policy_init(TfyLoop *loop, const char *name, char *error_text)
{
    if (!name || strcmp(name, "fifo") == 0) return 0;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (strcmp(policies[i].name, name) == 0) return tfy_register_policy(loop, &policies[i]);
    snprintf(error_text, TFY_ERROR_TEXT, "'%.40s' is not a policy; use fifo, priority or deps", name);
    return TFY_E_INVALID;
}

/* ---- moving tasks ---- */

static uint32_t awaited_by(const TaskRest *rest)
{
    uint32_t count = 0;
    for (const Step *joiner = rest->joiners.first; joiner && count < AWAITED_MAX; joiner = joiner->queue_next) count++;
    for (const Follower *follower = rest->followers; follower && count < AWAITED_MAX; follower = follower->next)
        count++;
    return count;
}

static bool hand_over(TfyLoop *loop, void *queue, const TfyScheduling *policy)
{
    while (loop->ring_head != loop->ring_tail) {
        CHECK(loop->ring_tail - loop->ring_head <= loop->ring_mask + 1);
        uint32_t slot = loop->ring[loop->ring_head & loop->ring_mask];
        const TaskRest *rest = rest_of(task_at(loop, slot));
        CHECK(rest && rest->task->state & T_QUEUED);
        TfyReadyTask ready = {.slot = slot,
                              .priority = rest->priority,
                              .awaited = awaited_by(rest),
                              .tid = rest->log.tid,
                              .seq = ++loop->policy_seq};
        if (!policy->push(queue, &ready)) {
            tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for the policy '%s'", policy->name);
            return false;
        }
        loop->ring_head++;
        loop->policy_count++;
    }
    return true;
}

static bool is_ready(const TfyLoop *loop, uint32_t slot)
{
    return slot < loop->task_count && (task_at(loop, slot)->state & (T_QUEUED | T_FREE)) == T_QUEUED;
}

uint32_t tfy__policy_run(TfyLoop *loop, uint32_t most)
{
    uint32_t ran = 0;
    while (ran < most && hand_over(loop, loop->policy_queue, loop->policy) && loop->policy_count) {
        uint32_t slot = loop->policy->pop(loop->policy_queue);
        loop->policy_count--;
        if (!is_ready(loop, slot)) {
            tfy__loop_fail(loop, TFY_E_INVALID, "the policy '%s' returned slot %u, which is not ready",
                           loop->policy->name, slot);
            break;
        }
        loop->ring[loop->ring_tail++ & loop->ring_mask] = slot;
        tfy__sched_run_ready(loop, 1);
        ran++;
        if (loop->failure) break;
    }
    return ran;
}

/* ---- choosing ---- */

void tfy__policy_close(TfyLoop *loop)
{
    if (loop->policy) loop->policy->close(loop->policy_queue);
    loop->policy = NULL;
    loop->policy_queue = NULL;
}

int tfy_register_policy(TfyLoop *loop, const TfyScheduling *policy)
{
    void *queue = policy ? policy->open() : NULL;
    if (policy && !queue) return TFY_E_NOMEM;
    while (loop->policy_count) { /* ready tasks move over, in the order of the previous policy */
        loop->ring[loop->ring_tail++ & loop->ring_mask] = loop->policy->pop(loop->policy_queue);
        loop->policy_count--;
    }
    tfy__policy_close(loop);
    loop->policy = policy;
    loop->policy_queue = queue;
    return 0;
}
