/* bug.h: how the compiler stops when it is wrong.
 *
 * A fact that holds for every program, whatever people write, is a CHECK, the runtime's macro. In the compiler a
 * failed one names the fact, the line of the compiler that holds it, and the place in the program that was being
 * compiled, asks for a report, and ends with status 70. What people can get wrong is a diagnostic (diag.h) instead. */
#ifndef DSL_BUG_H
#define DSL_BUG_H

#include "../runtime/base/check.h"
#include "source.h"

/* Where control never gets while `fact`, a sentence, is so. */
#define UNREACHED(fact) tfy__check_failed(fact, __FILE__, __LINE__)

/* Where a pass is, so that a failed check can say it. The pass fills it in as it proceeds, and clears it when it
 * ends, because it lives no longer than the pass. */
typedef struct BugPlace {
    const SourceSet *sources;
    uint32_t off; /* global offset */
} BugPlace;

/* From here on a failed check names this place; NULL: none. */
void bug_compiles(const BugPlace *place);

#endif
