/* codegen_leaks.c: linked with one compiled program. Runs it again and again and breaks every run at another place: the root task is killed
 * after N turns, or the Nth allocation fails. Afterwards nothing may be left of its memory: landings gave back what was held, and nothing twice. Built
 * with TFY_POISON, the program also stops at the first use of a dead slot.
 *
 * Usage: codegen_leaks kill|memory LIMIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/loop/state.h"

extern const TfyProgram tfyg_program;

/* Refuses one allocation; frames of new tasks are spared, so that the run gets into the program. */
typedef struct Memory {
    void *(*plain)(void *state, void *old, size_t old_size, size_t new_size);
    void *plain_state;
    long until;      /* allocations before the refused one; negative: none is refused */
    long long bytes; /* that are not given back */
} Memory;

static bool is_frame(size_t size)
{
    for (uint32_t i = 0; i < tfyg_program.workflow_count; i++)
        if (tfyg_program.workflows[i]->frame_size == size) return true;
    return false;
}

static void *allocate(void *state, void *old, size_t old_size, size_t new_size)
{
    Memory *memory = state;
    bool counts = new_size && !(is_frame(new_size) && !old);
    if (counts && memory->until >= 0 && memory->until-- == 0) return NULL;
    void *block = memory->plain(memory->plain_state, old, old_size, new_size);
    if (block || !new_size) memory->bytes += (long long)new_size - (long long)old_size;
    return block;
}

static void say_nothing(void *state, const char *text, size_t len)
{
    (void)state;
    (void)text;
    (void)len;
}

static void pause_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* At most `limit` turns; answers how many it took. */
static int take_turns(TfyLoop *loop, int64_t tid, int limit)
{
    int turns = 0;
    while (turns < limit && tfy_task_state(loop, tid) < TFY_TASK_COMPLETED) {
        int happened = tfy_step(loop);
        if (happened < 0) break;
        turns += happened > 0;
        if (!happened) pause_a_little();
    }
    return turns;
}

static TfyLoop *open_loop(int64_t *tid, Memory *memory)
{
    char error[TFY_ERROR_TEXT];
    TfyLoop *loop;
    TfyOptions options = {.approve_all = true, .on_output = say_nothing};
    if (tfy_open(&loop, &tfyg_program, &options, error) || tfy_submit(loop, "main", "{}", tid, error)) {
        fprintf(stderr, "cannot start: %s\n", error);
        exit(2);
    }
    memory->plain = loop->heap.alloc;
    memory->plain_state = loop->heap.alloc_state;
    loop->heap.alloc = allocate;
    loop->heap.alloc_state = memory;
    memory->bytes = (long long)loop->heap.in_use;
    return loop;
}

/* One run; true when nothing was left. *reached: the place where it was to break exists. */
static bool run_broken(bool kills, int at, bool *reached)
{
    Memory memory = {.until = kills ? -1 : at};
    int64_t tid;
    TfyLoop *loop = open_loop(&tid, &memory);
    *reached = true;
    if (kills) {
        *reached = take_turns(loop, tid, at) == at;
        tfy_kill(loop, tid, false);
    }
    tfy_run(loop);
    if (!kills) *reached = memory.until < 0;
    bool cut = !loop->heap.temp_count;
    tfy_close(loop);
    bool clean = cut && !memory.bytes;
    if (!clean)
        printf("%s %d: %lld bytes are left%s\n", kills ? "kill" : "memory", at, memory.bytes,
               cut ? "" : ", and borrowed objects");
    return clean;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 64;
    bool kills = strcmp(argv[1], "kill") == 0, clean = true, reached = true;
    int limit = atoi(argv[2]), runs = 0;
    for (int at = 0; at < limit && reached; at++, runs++) clean &= run_broken(kills, at, &reached);
    printf("%d runs\n", runs);
    return clean ? 0 : 1;
}
