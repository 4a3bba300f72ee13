/* rights.c: stage 3: nothing that a program could gain or use up. */
#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "cell/cell.h"
#include "cell/system.h"

typedef struct Capabilities {
    struct __user_cap_header_struct head;
    struct __user_cap_data_struct data[2];
} Capabilities;

static void get_capabilities(const Cell *cell, Capabilities *own)
{
    *own = (Capabilities){.head = {.version = _LINUX_CAPABILITY_VERSION_3}};
    cell_must(cell, CALL2(capget, &own->head, own->data));
}

/* With the bounding set goes what a program could gain by being executed. Only who may drop it has to: without
 * CAP_SETPCAP, there is nothing that no_new_privs does not withhold. */
static void drop_bounding_set(const Cell *cell)
{
    const unsigned long fixed = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                                SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    long error;
    for (unsigned long capability = 0; (error = CALL2(prctl, PR_CAPBSET_DROP, capability)) == 0;) capability++;
    if (error != -EINVAL) cell_stop(cell, -error); /* else there is no capability with this number */
    cell_must(cell, CALL2(prctl, PR_SET_SECUREBITS, fixed));
}

static void drop_capabilities(const Cell *cell)
{
    Capabilities own;
    get_capabilities(cell, &own);
    if (own.data[0].effective & 1U << CAP_SETPCAP) drop_bounding_set(cell);
    cell_must(cell, CALL5(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
    own.data[0] = own.data[1] = (struct __user_cap_data_struct){0};
    cell_must(cell, CALL2(capset, &own.head, own.data));
    get_capabilities(cell, &own);
    if (own.data[0].permitted || own.data[1].permitted || own.data[0].inheritable || own.data[1].inheritable)
        cell_stop(cell, EPERM);
}

/* A limit that is lower already stays. The kernel kills at the upper one; at the lower one it sends the signal that says
 * which limit that was. */
static void limit_between(const Cell *cell, int resource, uint64_t lower, uint64_t upper)
{
    struct rlimit now;
    cell_must(cell, CALL4(prlimit64, 0, resource, NULL, &now));
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < upper) upper = now.rlim_max;
    if (upper < lower) lower = upper;
    now = (struct rlimit){.rlim_cur = lower, .rlim_max = upper};
    cell_must(cell, CALL4(prlimit64, 0, resource, &now, NULL));
}

static void limit(const Cell *cell, int resource, uint64_t most)
{
    limit_between(cell, resource, most, most);
}

void cell_drop_rights(Cell *cell)
{
    const TfyCellHead *head = &cell->policy.head;
    cell->stage = TFY_CELL_RIGHTS;
    drop_capabilities(cell);
    cell_must(cell, CALL5(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    limit(cell, RLIMIT_CORE, 0); /* a core could be written by a program outside */
    if (head->memory) limit(cell, RLIMIT_DATA, head->memory);
    if (head->cpu_s) limit_between(cell, RLIMIT_CPU, head->cpu_s, head->cpu_s + 1);
    if (head->file_bytes) limit(cell, RLIMIT_FSIZE, head->file_bytes);
    /* Elsewhere the kernel would count all processes of the user, or none. */
    if (head->processes && head->level == TFY_CELL_FULL && cell->uid) limit(cell, RLIMIT_NPROC, head->processes);
}
