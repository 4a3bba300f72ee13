/* world.c: see sim.h. Chance, time, events, and the tools that are performed outside. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "models.h"
#include "net.h"

/* ---- chance ---- */

/* splitmix64: the same everywhere. */
uint64_t sim_next(SimChance *chance)
{
    uint64_t word = chance->state += 0x9e3779b97f4a7c15u;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

uint32_t sim_below(SimChance *chance, uint32_t n)
{
    uint64_t word = sim_next(chance) >> 20;
    return n ? (uint32_t)(word % n) : 0;
}

bool sim_percent(SimChance *chance, uint32_t percent)
{
    return sim_below(chance, 100) < percent;
}

/* ---- trace ---- */

void sim_trace(const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (len < 0) return;
    if ((size_t)len >= sizeof text) len = sizeof text - 1;
    sim.trace = XXH3_64bits_withSeed(text, (size_t)len, sim.trace);
    if (sim.verbose)
        fprintf(stderr, "%u.%llu %.3f ms: %s\n", sim.life, (unsigned long long)sim.turn, (double)sim.now_ns / 1e6,
                text);
}

/* ---- events ---- */

static bool before(const SimEvent *a, const SimEvent *b)
{
    if (a->at_ns != b->at_ns) return a->at_ns < b->at_ns;
    if (a->turn != b->turn) return a->turn < b->turn;
    return a->order < b->order;
}

SimEvent *sim_plan_event(int64_t delay_ns, uint32_t turns, void (*happen)(SimEvent *), void *arg, int64_t number)
{
    SimEvent *event = malloc(sizeof *event), **place = &sim.events;
    if (!event) abort();
    *event = (SimEvent){.at_ns = sim.now_ns + delay_ns,
                        .turn = sim.turn + turns,
                        .order = sim.orders++,
                        .happen = happen,
                        .arg = arg,
                        .number = number};
    while (*place && before(*place, event)) place = &(*place)->next;
    event->next = *place;
    *place = event;
    return event;
}

bool sim_event_due(void)
{
    for (SimEvent **place = &sim.events; *place && (*place)->at_ns <= sim.now_ns; place = &(*place)->next) {
        SimEvent *event = *place;
        if (event->turn > sim.turn) continue;
        *place = event->next;
        event->happen(event);
        free(event);
        return true;
    }
    return false;
}

int64_t sim_next_event_ns(void)
{
    return sim.events ? sim.events->at_ns : INT64_MAX;
}

bool sim_events_wait_for_turns(void)
{
    return sim.events && sim.events->at_ns <= sim.now_ns;
}

void sim_forget_events(void)
{
    while (sim.events) {
        SimEvent *event = sim.events;
        sim.events = event->next;
        free(event);
    }
}

static void forget_call(const TfyCall *call)
{
    for (SimEvent **place = &sim.events; *place;) {
        SimEvent *event = *place;
        if (event->arg != call) {
            place = &event->next;
            continue;
        }
        *place = event->next;
        free(event);
    }
}

void sim_left(void)
{
    sim.acts++;
    if (sim.alive && sim.plan.death_act && sim.acts >= sim.plan.death_act) sim_die();
}

/* How long something outside takes. */
static SimEvent *plan_soon(void (*happen)(SimEvent *), void *arg)
{
    uint32_t turns = sim_below(&sim.chance, 5);
    int64_t delay_ns = 0;
    if (!sim.plan.still) delay_ns = (int64_t)sim_below(&sim.chance, sim_percent(&sim.chance, 10) ? 50000 : 3000) * 1000;
    return sim_plan_event(delay_ns, turns, happen, arg, 0);
}

/* ---- the ledger ---- */

SimEntry *sim_entry_of_key(const char *key)
{
    for (uint32_t i = 0; i < sim.entry_count; i++)
        if (strcmp(sim.entries[i].key, key) == 0) return &sim.entries[i];
    return NULL;
}

SimEntry *sim_entry_of_step(const char *run, const char *path, int64_t step)
{
    for (uint32_t i = 0; i < sim.entry_count; i++) {
        SimEntry *entry = &sim.entries[i];
        if (entry->step == step && strcmp(entry->run, run) == 0 && strcmp(entry->path, path) == 0) return entry;
    }
    return NULL;
}

SimEntry *sim_entry_new(const TfyCall *call)
{
    if (sim.entry_count == sim.entry_cap) {
        sim.entry_cap = sim.entry_cap ? sim.entry_cap * 2 : 64;
        sim.entries = realloc(sim.entries, sim.entry_cap * sizeof *sim.entries);
        if (!sim.entries) abort();
    }
    SimEntry *entry = &sim.entries[sim.entry_count++];
    *entry = (SimEntry){.step = call->step,
                        .digest = call->digest,
                        .once = call->site->tool->repeat == TFY_ONCE,
                        .own_key = strncmp(call->key, tfy__run_uuid(call->task), 36) != 0,
                        .allowed = 1};
    snprintf(entry->key, sizeof entry->key, "%s", call->key);
    snprintf(entry->tool, sizeof entry->tool, "%s", call->tool->name);
    snprintf(entry->run, sizeof entry->run, "%s", tfy__run_uuid(call->task));
    snprintf(entry->path, sizeof entry->path, "%s", tfy__task_path(call->task));
    return entry;
}

/* Whether anybody hears of it is another matter. The tool is outside: it does not run out of the process's memory. */
void sim_foresee(TfyCall *call, SimEntry *entry)
{
    const uint64_t no_memory = sim.plan.no_memory;
    sim.plan.no_memory = 0;
    TfyTask *task = call->task;
    TfyHeap *heap = task->heap;
    uint32_t mark = tfy_mark(task);
    TfyValue value = {.i = 0};
    TfyBuffer json = {0};
    free(entry->value);
    entry->value = NULL;
    entry->failed = !call->tool->call(task, call->args, &value);
    if (entry->failed) {
        tfy_drop(task, tfy_take_error(task));
    } else if (call->result->kind != TFY_NOTHING) {
        tfy__encode(&json, call->result, value);
        entry->value = json.data;
    }
    if (heap->temp_count > mark) tfy__cut(heap, mark);
    sim.plan.no_memory = no_memory;
}

/* w4 */
static void check_alone(SimEntry *entry)
{
    for (uint32_t i = 0; i < sim.entry_count; i++) {
        const SimEntry *other = &sim.entries[i];
        if (other != entry && other->inside && strcmp(other->run, entry->run) == 0)
            sim_broken("w4", "%s begins while %s is under way under the same lock", entry->key, other->key);
    }
    entry->inside = true;
}

static void ends(const char *key)
{
    SimEntry *entry = sim_entry_of_key(key);
    if (entry) entry->inside = false;
}

void sim_ledger_die(void)
{
    for (uint32_t i = 0; i < sim.entry_count; i++) sim.entries[i].inside = false;
}

static void begin_outside(TfyCall *call)
{
    sim_check_behind(rest_of(call->task), call->tool->name);
    sim_models_performed(call);
    SimEntry *entry = sim_entry_of_key(call->key);
    if (!entry) entry = sim_entry_new(call);
    sim_trace("begin %s %s %016llx", call->tool->name, call->key, (unsigned long long)call->digest);
    if (!entry->own_key && entry->digest != call->digest)
        sim_broken("w3", "%s begins again with other arguments under key %s", call->tool->name, call->key);
    entry->begun++;
    if (entry->once && !entry->own_key && entry->begun > entry->allowed)
        sim_broken("w2", "once tool %s began %u times under key %s", call->tool->name, entry->begun, call->key);
    entry->happened = entry->vague = false;
    if (strcmp(entry->tool, "alone") == 0) check_alone(entry);
    sim_foresee(call, entry);
}

static void answers(SimEvent *event)
{
    TfyCall *call = event->arg;
    sim_trace("answer %s", call->key);
    ends(call->key);
    tfy__perform_extern.start(call);
}

/* It ends without saying what became of it: killed by a signal, with a text that makes no sense, or where an answer breaks off. Whether it has
 * happened, only the ledger knows. */
static void breaks_off(SimEvent *event)
{
    TfyCall *call = event->arg;
    SimEntry *entry = sim_entry_of_key(call->key);
    sim_trace("breaks off %s", call->key);
    ends(call->key);
    entry->vague = true;
    call->outcome = TFY_UNKNOWN;
    if (event->number)
        tfy__call_bad_value(call, "$", "its output makes no sense");
    else
        tfy__call_tool_error(call, 137, "it was ended by a signal");
}

/* A probe that finds nothing fails the step: then results differ. */
static bool may_break_off(const TfyCall *call)
{
    if (call->site->tool->repeat != TFY_ONCE || sim.plan.eager) return false;
    return sim.plan.meddles ? sim_percent(&sim.chance, 10) : !call->site->tool->probe && sim_percent(&sim.chance, 5);
}

static void vanishes(SimEvent *event)
{
    TfyCall *call = event->arg;
    SimEntry *entry = sim_entry_of_key(call->key);
    entry->happened = sim_percent(&sim.chance, 50);
    plan_soon(breaks_off, call)->number = sim_percent(&sim.chance, 50);
    sim_left();
}

static void happens(SimEvent *event)
{
    TfyCall *call = event->arg;
    SimEntry *entry = sim_entry_of_key(call->key);
    sim_trace("happens %s", call->key);
    if (entry) entry->happened = true;
    plan_soon(answers, call);
    sim_left();
}

static void tool_start(TfyCall *call)
{
    if (sim.expecting) {
        tfy__perform_extern.start(call);
        return;
    }
    if (sim.drained_at && call->tool->repeat != TFY_ONCE)
        sim_broken("w9", "%s of task %s begins, and the process was asked to stop", call->tool->name,
                   rest_of(call->task)->log.path);
    if (call->tool != call->site->tool) { /* a probe asks the ledger */
        sim_check_behind(rest_of(call->task), call->tool->name);
        plan_soon(answers, call);
        return;
    }
    begin_outside(call);
    if (sim.plan.eager && sim_percent(&sim.chance, 70)) {
        sim_entry_of_key(call->key)->happened = true;
        sim_left();
        ends(call->key);
        tfy__perform_extern.start(call);
        return;
    }
    plan_soon(may_break_off(call) ? vanishes : happens, call);
    sim_left();
}

/* Stopped in the middle: it has happened, or it has not. */
static void tool_abort(TfyCall *call)
{
    SimEntry *entry = sim_entry_of_key(call->key);
    sim_trace("abort %s", call->key);
    if (entry && call->tool == call->site->tool && sim_percent(&sim.chance, 50)) entry->happened = true;
    ends(call->key);
    forget_call(call);
}

static const TfyPerformer sim_tools = {.name = "sim", .start = tool_start, .abort = tool_abort};

/* ---- clock, memory ---- */

static int64_t world_mono(void *state)
{
    return sim.now_ns - sim.boot_ns + 1000000000;
}

static int64_t world_wall(void *state)
{
    return SIM_WALL_MS + sim.now_ns / 1000000;
}

static void world_random(void *state, void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) ((uint8_t *)bytes)[i] = (uint8_t)sim_next(&sim.chance);
}

static void *world_alloc(void *state, void *old, size_t old_size, size_t new_size)
{
    if (!new_size) {
        free(old);
        return NULL;
    }
    sim.allocs++;
    if (sim.alive && sim.plan.no_memory && sim.allocs >= sim.plan.no_memory) {
        sim.plan.no_memory = 0;
        sim_trace("no memory for %zu bytes", new_size);
        return NULL;
    }
    return realloc(old, new_size);
}

void sim_world_begin(void)
{
    sim.world = (TfyWorld){.mono_ns = world_mono,
                           .wall_ms = world_wall,
                           .random = world_random,
                           .alloc = world_alloc,
                           .poller = &sim_poller,
                           .writer_by_hand = true,
                           .folds = true,
                           .mark_every = sim.plan.mark_every};
    sim.world.performers[TFY_F_EXTERN] = &sim_tools;
    for (int family = TFY_F_LISTEN; family <= TFY_F_ADDRESS; family++) sim.world.performers[family] = &sim_sockets;
    sim_models_begin();
    sim.boot_ns = sim.now_ns;
    sim.turn = 0;
    sim.acts = 0;
    sim.writer_planned = false;
}
