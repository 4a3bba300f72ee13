/* ending.c: see ending.h. */
#include "hub/ending.h"

enum { FREE_MOST = 1000 /* runs in one transaction */ };

int tfy__free_runs(TfyCluster *cluster, int64_t session)
{
    int count;
    do count = cluster->ops->free_runs(cluster, session, FREE_MOST);
    while (count == FREE_MOST);
    return count < 0 ? count : 0;
}

int tfy__end_silent(TfyCluster *cluster, const TfySessionEnd *end)
{
    const int ended = cluster->ops->end_session(cluster, end);
    const int code = ended == 1 ? tfy__free_runs(cluster, end->session) : 0;
    return code < 0 ? code : ended;
}

typedef struct Found {
    int64_t session, beat; /* beat -1: it does not live */
} Found;

static int find(void *state, const TfyLiving *living)
{
    Found *found = state;
    if (living->session == found->session) found->beat = living->beat;
    return 0;
}

int tfy__end_finished(TfyCluster *cluster, const TfySessionEnd *end)
{
    Found found = {end->session, -1};
    TfySessionEnd now = *end;
    const int code = cluster->ops->see_living(cluster, find, &found);
    if (code || found.beat < 0) return code;
    now.beat = found.beat;
    return tfy__end_silent(cluster, &now);
}
