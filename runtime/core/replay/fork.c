/* fork.c: the differences of a run that started as a copy of another run's records (wal/history/fork.h): where the
 * copy ends, random numbers continue from a seed of their own, so that uuid() in the fork and in the other run
 * names two things. */
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
        const int64_t records = tfy__member_int(fork, TFY_P_RECORDS);
        run->forks[run->fork_count++] = (Fork){first + records - 1, tfy__member_hex(fork, TFY_P_SEED)};
    }
    return true;
}

/* For a task the copy has ended when it has no record left to repeat. */
uint64_t tfy__fork_seed(const TaskRest *rest)
{
    const Run *run = rest->run;
    const TfyLogRecord *next = tfy__history_peek(rest);
    uint64_t seed = run->seed;
    for (uint32_t i = 0; i < run->fork_count && (!next || next->lsn > run->forks[i].lsn); i++)
        seed = run->forks[i].seed;
    return seed;
}
