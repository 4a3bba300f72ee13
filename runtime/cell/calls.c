/* calls.c: stage 5: the system calls that no rule about files can refuse. make_calls.c says which. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell/cell.h"
#include "cell_calls.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "make_calls.c has no filters for this architecture"
#endif

static void install(const Cell *cell, const struct sock_filter *filter, size_t count)
{
    struct sock_fprog program = {.len = (unsigned short)count, .filter = (struct sock_filter *)filter};
    cell_must(cell, syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

#define INSTALL(cell, filter) install(cell, filter, sizeof(filter) / sizeof *(filter))

void cell_filter_calls(Cell *cell)
{
    const TfyCellHead *head = &cell->policy.head;
    cell->stage = TFY_CELL_CALLS;
    if (head->level == TFY_CELL_PARTIAL && !(head->flags & TFY_CELL_HOST_NETWORK)) INSTALL(cell, no_sockets);
    if (cell->landlock_abi < 3) INSTALL(cell, no_truncate);
    INSTALL(cell, common);
}
