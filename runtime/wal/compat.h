/* compat.h: two layouts of a program compared, point by point: can a task that stands at a point of the old program stand at the new one's?
 *
 * Points are the same when their ids are: the label, else workflow, kind, callee and ordinal among equals. What is between two points is not
 * looked at; a replay does that.
 *   same      what lies in the frame there has the same names, types and places, and the point has the same number
 *   mapped    the same names and types; numbers or places have changed, or some are not needed any more
 *   refused   the point is gone, asks for something else, or needs a value that an old frame has not */
#ifndef WAL_COMPAT_H
#define WAL_COMPAT_H

#include <stdbool.h>
#include <stdint.h>

#include "log.h"

typedef enum TfyVerdict { TFY_SAME, TFY_MAPPED, TFY_REFUSED } TfyVerdict;

typedef struct TfyCompatPoint {
    char *id;
    char *place;         /* "12", or "FILE:12" where the old program has several files */
    bool mark;           /* nobody stops there */
    uint32_t new_number; /* 0: the point is gone */
    TfyVerdict verdict;
    char *reason; /* why refused; else NULL */
} TfyCompatPoint;

typedef struct TfyCompat {
    TfyCompatPoint *points; /* points[n - 1] is the old program's number n */
    uint32_t count;
    uint32_t new_count; /* points of the new program */
} TfyCompat;

/* 0, TFY_E_NOMEM, or TFY_E_DATA when one of the two is no layout. */
int tfy__compat_new(const char *old_layout, const char *new_layout, TfyCompat **compat);
void tfy__compat_free(TfyCompat *compat);

/* The new number of an old one; 0 stays 0. TFY_NO_POINT: the new program has no such point. */
#define TFY_NO_POINT UINT32_MAX
uint32_t tfy__compat_number(const TfyCompat *compat, uint32_t number);

#endif
