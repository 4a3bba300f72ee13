/* cell.h: tfy-cell inside: the cell that is being built, and its stages.
 *
 *   full:     tfy-cell ── first process of the new namespaces ── tool
 *   partial:  tfy-cell, which becomes the tool
 *
 * Every function here either did all that it promises or does not return: it answers {stage, errno} and ends the
 * process. So the order of the calls in main.c is the proof that no stage is left out. In full, everything behind
 * stage 1 happens in the first process of the new namespaces, which all walls hold as well: it only waits. */
#ifndef TFY_CELL_CELL_H
#define TFY_CELL_CELL_H

#include <sys/types.h>

#include "cell/policy.h"

typedef struct Cell {
    int socket; /* close-on-exec: its end of file is the answer that the tool runs */
    /* full, in the first process: where it writes the tool's status for the process outside */
    int status;
    TfyCellStage stage; /* being built */
    uint32_t path;      /* the policy's path that is being worked on, from 1; 0: none */
    uid_t uid;
    gid_t gid;
    int landlock_abi; /* set by stage 4 */
    TfyCellPolicy policy;
    char **candidates, **argv;
} Cell;

/* Answers that the stage failed with this errno value, and ends the process. */
__attribute__((noreturn)) void cell_stop(const Cell *cell, int error);
/* The result of a system call; does not return if that failed. */
long cell_must(const Cell *cell, long result);

/* Stage 1. Returns in the first process of the new namespaces; the process outside stays in here until the tool has
 * exited, and then exits as it did. */
void cell_enter_namespaces(Cell *cell);
/* Stage 2: what is mounted, and how. */
void cell_mount(Cell *cell);
/* Stage 3: no capabilities, no new privileges, limits. */
void cell_drop_rights(Cell *cell);
/* Stage 4. */
void cell_landlock(Cell *cell);
/* Stage 5: system calls that fail from now on. */
void cell_filter_calls(Cell *cell);
/* Full: starts the tool as a child, and exits when nothing is left to wait for. Partial: becomes the tool. */
__attribute__((noreturn)) void cell_start(Cell *cell);

/* ---- what stages 2 and 4 have in common ---- */

/* Files with what only root may know; NULL ends the list. */
extern const char *const cell_hidden[];
/* Calls visit for each private key of the SSH server. */
void cell_each_server_key(Cell *cell, void (*visit)(Cell *cell, const char *path));

#endif
