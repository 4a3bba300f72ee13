/* cell.h: tfy-cell inside: the cell that is being built, and its stages.
 *
 *   full:     tfy-cell ── first process of the new namespaces ── tool
 *             makes the       builds all the other walls
 *             network
 *   partial:  tfy-cell, which becomes the tool
 *
 * Every function here either did all that it promises or does not return: it answers {stage, errno} and ends the
 * process. So the order of the calls in main.c is the proof that no stage is left out. In full, everything behind
 * stage 1 happens in the first process of the new namespaces, which all walls hold as well: it only waits. A network
 * namespace takes longer than all the rest, so the process outside makes it meanwhile and the first one joins it. */
#ifndef TFY_CELL_CELL_H
#define TFY_CELL_CELL_H

#include <sys/types.h>

#include "cell/policy.h"

typedef struct Cell {
    int socket; /* close-on-exec: its end of file is the answer that the tool runs */
    /* full, in the first process: where it hears of the network and writes the tool's status; else 0 */
    int outside;
    int outside_pid;    /* a pidfd, set beside it */
    TfyCellStage stage; /* being built */
    uint32_t path;      /* the policy's path that is being worked on, from 1; 0: none */
    uid_t uid;
    gid_t gid;
    int landlock_abi; /* set by stage 4 */
    int layer;        /* with TFY_CELL_LAYER: the ruleset that came; else 0 */
    TfyCellPolicy policy;
    char **candidates, **argv;
} Cell;

/* Answers that the stage failed with this errno value, and ends the process. */
__attribute__((noreturn)) void cell_stop(const Cell *cell, long error);
/* The result of a system call, as the kernel returns it; does not return if that failed. */
long cell_must(const Cell *cell, long result);

/* Stage 1. Returns in the first process of the new namespaces; the process outside stays in here until the tool has
 * exited, and then exits as it did. */
void cell_enter_namespaces(Cell *cell);
/* A part of stage 1, behind the loopback: makes the listener and hands it out. */
void cell_hand_out_listener(const Cell *cell);
/* Sends this with a descriptor, and closes that here. */
void cell_hand_out(const Cell *cell, const TfyCellHandout *said, int descriptor);
/* The rest of stage 1, as late as it can be: waits for the network namespace, and enters it. */
void cell_join_network(Cell *cell);
/* Stage 2: what is mounted, and how. */
void cell_mount(Cell *cell);
/* Stage 3: no capabilities, no new privileges, limits. */
void cell_drop_rights(Cell *cell);
/* Stage 4: opens what the rules are about, while that may still be opened; then holds to them. */
void cell_prepare_landlock(Cell *cell);
void cell_landlock(Cell *cell);
/* In the place of all that: makes the ruleset of TFY_CELL_MAKE_LAYER and hands it out. */
void cell_make_layer(Cell *cell);
/* Stage 5: system calls that fail from now on. */
void cell_filter_calls(Cell *cell);
/* Full: starts the tool as a child, and exits when nothing is left to wait for. Partial: becomes the tool. */
__attribute__((noreturn)) void cell_start(Cell *cell);

/* ---- what stages 2 and 4 have in common ---- */

/* Opens a path without following any link: the sender resolved them, so one that is there now came later. */
int cell_open_plain(const Cell *cell, const char *path);
/* Files with what only root may know; NULL ends the list. */
extern const char *const cell_hidden[];
/* Calls visit for each private key of the SSH server. */
void cell_each_server_key(Cell *cell, void (*visit)(Cell *cell, const char *path));

#endif
