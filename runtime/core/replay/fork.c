/* fork.c: what is different in a run that began as a copy of another one's records (wal/history/fork.h): random numbers go on
 * from a seed of its own where the copy ends, so that what uuid() names in the fork and in the other run are two
 * things. */
#include <stdlib.h>

#include "core/loop/state.h"

bool tfy__fork_begin(Run *run, const json_t *forks, int64_t first)
{
    const json_t *fork;
    size_t i;
    if (!json_array_size(forks)) return true;
    run->forks = malloc(json_array_size(forks) * sizeof *run->forks);
    if (!run->forks) return false;
    json_array_foreach(forks, i, fork)
    {
        const char *seed = json_string_value(json_object_get(fork, "seed"));
        const int64_t records = json_integer_value(json_object_get(fork, "records"));
        run->forks[run->fork_count++] = (Fork){first + records - 1, seed ? strtoull(seed, NULL, 16) : 0};
    }
    return true;
}

/* For a task the copy has ended when it has nothing of it left to do again. */
uint64_t tfy__fork_seed(const TaskRest *rest)
{
    const Run *run = rest->run;
    const TfyLogRecord *next = tfy__history_peek(rest);
    uint64_t seed = run->seed;
    for (uint32_t i = 0; i < run->fork_count && (!next || next->lsn > run->forks[i].lsn); i++)
        seed = run->forks[i].seed;
    return seed;
}
