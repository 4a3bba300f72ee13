/* calls.c: stage 5: the system calls that no rule about files can refuse. make_calls.c says which. */
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "cell/cell.h"
#include "cell/system.h"
#include "cell_calls.h"

static void install(const Cell *cell, const struct sock_filter *filter, size_t count)
{
    struct sock_fprog program = {.len = (unsigned short)count, .filter = (struct sock_filter *)filter};
    cell_must(cell, CALL3(seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

#define INSTALL(cell, filter) install(cell, filter, sizeof(filter) / sizeof *(filter))

void cell_filter_calls(Cell *cell)
{
    const TfyCellHead *head = &cell->policy.head;
    cell->stage = TFY_CELL_CALLS;
    if (cell->landlock_abi < 3) INSTALL(cell, no_truncate);
    if (head->level == TFY_CELL_PARTIAL) INSTALL(cell, beside_others);
    if (head->level == TFY_CELL_PARTIAL && !(head->flags & TFY_CELL_HOST_NETWORK))
        INSTALL(cell, without_sockets);
    else
        INSTALL(cell, common);
}
