/* compat.h: compares two layouts of a program, point by point: can a task that is at a point of the old program
 * continue at a point of the new one?
 *
 * Points are the same if their ids are: the label, else workflow, kind, callee and ordinal among equals. The code
 * between two points is not compared; a replay checks that.
 *   same      the frame holds the same names, types and places there, and the point has the same number
 *   mapped    the same names and types; numbers or places have changed, or some values are no longer needed
 *   refused   the point is gone, requests something else, or needs a value that an old frame does not have
 *
 * Without a history to replay, the frame alone must prove that it is at the same place (compat_frame.c):
 *   - The statement reads the same, apart from blocks that belong to it, and so do the enclosing `with` and `finally`.
 *     If several statements of a workflow read the same, both programs must have as many, and it must be the same one
 *     among them.
 *   - Values that the compiler keeps in the frame belong to statements that read the same; and a name of several
 *     variables has equally many in both.
 *   - Its workflow has the same name and result, and a body or undo belongs to the same point. */
#ifndef WAL_HISTORY_COMPAT_H
#define WAL_HISTORY_COMPAT_H

#include <stdbool.h>
#include <stdint.h>

#include "wal/log/log.h"

typedef enum TfyVerdict { TFY_SAME, TFY_MAPPED, TFY_REFUSED } TfyVerdict;

typedef struct TfyCompatPoint {
    char *id;
    char *place;         /* "12", or "FILE:12" if the old program has several files */
    bool mark;           /* no task stops there */
    uint32_t new_number; /* 0: the point is gone */
    TfyVerdict verdict;
    char *reason; /* why it is refused; else NULL */
    /* Why a frame alone does not prove that it is the same place; NULL: it does. */
    char *unsure;
    /* Why the frame's contents do not prove which variable is which; NULL: they do. */
    char *mixed;
} TfyCompatPoint;

/* A workflow, a body of parallel or race, or an undo, in the order of the program's routines. */
typedef struct TfyCompatRoutine {
    uint32_t new_index;
    bool inner;   /* a body or an undo: never found by its name */
    char *reason; /* why a frame of it cannot be taken over alone; NULL: it can */
} TfyCompatRoutine;

typedef struct TfyCompat {
    TfyCompatPoint *points; /* points[n - 1] is the old program's number n */
    uint32_t count;
    TfyCompatRoutine *routines;
    uint32_t routine_count;
    struct Comparison *both; /* the layouts (compat_state.h) */
} TfyCompat;

/* 0, TFY_E_NOMEM, or TFY_E_DATA if one of the two is not a layout. */
int tfy__compat_new(const char *old_layout, const char *new_layout, TfyCompat **compat);
void tfy__compat_free(TfyCompat *compat);

/* The new number of an old one; 0 stays 0. TFY_NO_POINT: the new program has no such point. */
#define TFY_NO_POINT UINT32_MAX
uint32_t tfy__compat_number(const TfyCompat *compat, uint32_t number);

/* The old program's routine of this name; NULL: none. */
const TfyCompatRoutine *tfy__compat_routine(const TfyCompat *compat, const char *name);

#endif
