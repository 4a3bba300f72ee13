/* compat.h: two layouts of a program compared, point by point: can a task that stands at a point of the old program
 * stand at the new one's?
 *
 * Points are the same when their ids are: the label, else workflow, kind, callee and ordinal among equals. What is
 * between two points is not looked at; a replay does that.
 *   same      what lies in the frame there has the same names, types and places, and the point has the same number
 *   mapped    the same names and types; numbers or places have changed, or some are not needed any more
 *   refused   the point is gone, asks for something else, or needs a value that an old frame has not
 *
 * Without a history that could be replayed, a frame must tell by itself that it stands at the same place
 * (compat_frame.c):
 *   - the statement reads the same, blocks that belong to it aside, and so do the `with` and `finally` around it;
 *     where several of a workflow do, there must be as many in both programs, and it must be the same one among them
 *   - what the compiler keeps in the frame is of statements that read the same, and of a name that stands for several
 *     variables there are as many
 *   - its workflow has the same name and result, and a body or undo belongs to the same point */
#ifndef WAL_HISTORY_COMPAT_H
#define WAL_HISTORY_COMPAT_H

#include <stdbool.h>
#include <stdint.h>

#include "wal/log/log.h"

typedef enum TfyVerdict { TFY_SAME, TFY_MAPPED, TFY_REFUSED } TfyVerdict;

typedef struct TfyCompatPoint {
    char *id;
    char *place;         /* "12", or "FILE:12" where the old program has several files */
    bool mark;           /* nobody stops there */
    uint32_t new_number; /* 0: the point is gone */
    TfyVerdict verdict;
    char *reason; /* why refused; else NULL */
    char *unsure; /* why a frame alone does not tell that it is the same place; NULL: it does */
    char *mixed;  /* why what lies in the frame does not tell which variable it is; NULL: it does */
} TfyCompatPoint;

/* A workflow, a body of parallel or race, an undo, in the order of the program's routines. */
typedef struct TfyCompatRoutine {
    uint32_t new_index;
    bool inner;   /* a body or an undo: nobody looks for it by its name */
    char *reason; /* why a frame of it cannot be taken over alone; NULL: it can */
} TfyCompatRoutine;

typedef struct TfyCompat {
    TfyCompatPoint *points; /* points[n - 1] is the old program's number n */
    uint32_t count;
    TfyCompatRoutine *routines;
    uint32_t routine_count;
    struct Comparison *both; /* the layouts (compat_state.h) */
} TfyCompat;

/* 0, TFY_E_NOMEM, or TFY_E_DATA when one of the two is no layout. */
int tfy__compat_new(const char *old_layout, const char *new_layout, TfyCompat **compat);
void tfy__compat_free(TfyCompat *compat);

/* The new number of an old one; 0 stays 0. TFY_NO_POINT: the new program has no such point. */
#define TFY_NO_POINT UINT32_MAX
uint32_t tfy__compat_number(const TfyCompat *compat, uint32_t number);

/* The old program's routine of this name; NULL: it has none. */
const TfyCompatRoutine *tfy__compat_routine(const TfyCompat *compat, const char *name);

#endif
