/* tools.c: the tool that the measured workflows call: it does nothing, so that a step costs what the runtime costs. */
#include "tfy.h"

bool bench_see(TfyTask *task, int64_t number, int64_t *out);
int64_t bench_seen(void);

static int64_t seen;

int64_t bench_seen(void)
{
    return seen;
}

bool bench_see(TfyTask *task, int64_t number, int64_t *out)
{
    (void)task;
    seen++;
    *out = number;
    return true;
}
