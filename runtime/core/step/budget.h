/* budget.h: what a run may ask of models (budget.c): tokens, cost and requests; and what its database may in a day
 * (day.c).
 *
 * Budgets nest: a block within a block, and around all of them what the command line gave the run, and the day's. A task
 * has the innermost one of the place where it is; a child starts with its parent's. What is asked counts in all around it.
 *
 * Before a request, the most that it can come to is put down in an LLMRequest record, and counts as spent from then
 * on: so tasks side by side cannot overshoot, and a request that a crash lost stays charged. The endpoint's own count
 * replaces it, once it is known. A budget follows from these records and is not recorded itself. */
#ifndef CORE_STEP_BUDGET_H
#define CORE_STEP_BUDGET_H

#include <stdlib.h>

#include "core/effect.h"

typedef struct Budget {
    struct Budget *around; /* NULL: only the run's own is */
    uint32_t users;        /* tasks whose innermost it is, and budgets within it */
    uint32_t number;       /* in the snapshot that is being written or read, from 1 */
    TfyAmount limit;       /* of each part; TFY_UNBOUNDED: none */
    TfyAmount spent;       /* with what requests under way have put down */
} Budget;

/* What a step has put down, or why it may not ask. */
typedef struct BudgetHold {
    TfyAmount amount;
    const char *what;          /* refused: "tokens", "cost", "calls"; NULL: it is put down */
    double limit, spent, more; /* refused: more is what the request may come to */
    bool of_day;               /* refused: by the day */
    int64_t day;               /* of the day's sum it is a part, too; 0: of none */
} BudgetHold;

/* False: notes the part of the limit that has no room. */
bool tfy__budget_fits(const TfyAmount *limit, const TfyAmount *spent, BudgetHold *hold);
static inline void tfy__budget_add(TfyAmount *sum, const TfyAmount *amount)
{
    sum->tokens += amount->tokens;
    sum->cost += amount->cost;
    sum->calls += amount->calls;
}

/* ---- the day (day.c) ---- */

/* Whether the day has room; false also if the loop has failed. */
bool tfy__day_has_room(TfyLoop *loop, const TfyAmount *limit, BudgetHold *hold);
bool tfy__day_put_down(struct Step *step); /* what its hold has; false: the log has failed */
/* What was put down on that day (0: on none) came to another amount. */
void tfy__day_change(TfyCall *call, int64_t day, const TfyAmount *change);

static inline Budget *tfy__budget_share(Budget *budget)
{
    if (budget) budget->users++;
    return budget;
}

static inline void tfy__budget_leave(Budget **innermost)
{
    for (Budget *budget = *innermost; budget && --budget->users == 0;) {
        Budget *around = budget->around;
        free(budget);
        budget = around;
    }
    *innermost = NULL;
}

#endif
