/* permit_memory.c: permits of a shared database in memory (shared.h). */
#include "wal/store/shared.h"

#include <stdlib.h>
#include <string.h>

static TfySharedLimiter *find(const TfyShared *shared, const char *name)
{
    for (size_t i = 0; i < shared->limiters.filled; i++) {
        TfySharedLimiter *limiter = tfy__rows_at(&shared->limiters, i);
        if (strcmp(limiter->name, name) == 0) return limiter;
    }
    return NULL;
}

static bool lives(const TfyShared *shared, int64_t session)
{
    const TfySharedSession *row = tfy__shared_session(shared, session);
    return row && row->state == TFY_SESSION_LIVES;
}

static void count_uses(const TfySharedLimiter *limiter, TfyPermitNow *now)
{
    for (size_t i = 0; i < limiter->uses.filled; i++) {
        const TfySharedUse *use = tfy__rows_at(&limiter->uses, i);
        if (use->until_ms <= now->now_ms) continue;
        now->used += use->count;
        if (!now->first_ms || use->until_ms < now->first_ms) now->first_ms = use->until_ms;
    }
}

int tfy__shared_see_permits(TfyShared *shared, const char *name, TfyPermitNow *now, TfySeePermit *see, void *state)
{
    const TfySharedLimiter *limiter = find(shared, name);
    int code = 0;
    *now = (TfyPermitNow){.turn = limiter ? limiter->turn : 0, .now_ms = now->now_ms};
    if (limiter) count_uses(limiter, now);
    for (size_t i = 0; limiter && !code && i < limiter->rows.filled; i++) {
        const TfyPermitRow *row = tfy__rows_at(&limiter->rows, i);
        if (lives(shared, row->session)) code = see(state, row);
    }
    return code;
}

static TfySharedLimiter *make(TfyShared *shared, const char *name)
{
    char *copy = tfy__rows_copy(name, strlen(name));
    TfySharedLimiter *limiter = copy ? tfy__rows_add(&shared->limiters) : NULL;
    if (!limiter) {
        free(copy);
        return NULL;
    }
    *limiter = (TfySharedLimiter){
        .name = copy, .rows = {.item_size = sizeof(TfyPermitRow)}, .uses = {.item_size = sizeof(TfySharedUse)}};
    return limiter;
}

/* Its row of the session; NULL: no memory. */
static TfyPermitRow *row_of(TfySharedLimiter *limiter, int64_t session)
{
    for (size_t i = 0; i < limiter->rows.filled; i++) {
        TfyPermitRow *row = tfy__rows_at(&limiter->rows, i);
        if (row->session == session) return row;
    }
    return tfy__rows_add(&limiter->rows);
}

int tfy__shared_put_permit(TfyShared *shared, const TfyPermitPut *put)
{
    TfySharedLimiter *limiter = find(shared, put->name);
    if ((limiter ? limiter->turn : 0) != put->turn) return 0;
    if (!limiter && !(limiter = make(shared, put->name))) return TFY_E_NOMEM;
    TfyPermitRow *row = row_of(limiter, put->row.session);
    TfySharedUse *use = put->uses ? tfy__rows_add(&limiter->uses) : NULL;
    if (!row || (put->uses && !use)) return TFY_E_NOMEM;
    *row = put->row;
    if (use) *use = (TfySharedUse){put->uses, put->until_ms};
    limiter->turn++;
    return 1;
}

void tfy__shared_free_permits(TfyShared *shared)
{
    for (size_t i = 0; i < shared->limiters.filled; i++) {
        TfySharedLimiter *limiter = tfy__rows_at(&shared->limiters, i);
        free(limiter->name);
        free(limiter->rows.items);
        free(limiter->uses.items);
    }
    free(shared->limiters.items);
}
