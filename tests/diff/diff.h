/* diff.h: what the runner and the extern tools of generated programs share. In memory that outlives a killed child, so that a resumed
 * program finds the world as the killed one left it. */
#ifndef DIFF_H
#define DIFF_H

#include "tfy.h"

#define DIFF_FLAKY_MAX 512

typedef struct FlakyCount {
    char who[64]; /* the task's path */
    int64_t id;
    int calls; /* 0: the place is free */
} FlakyCount;

typedef struct DiffState {
    char calls[1 << 20]; /* tool calls, a line each */
    size_t calls_len;
    char out[1 << 20]; /* what was printed */
    size_t out_len;
    FlakyCount flaky[DIFF_FLAKY_MAX];
    int64_t wall_ms; /* when the killed child died */
    int64_t tid;     /* of the root task */
} DiffState;

extern DiffState *diff_state;

/* The prototypes that tfyc writes for the tools of gen.c's preamble. */
bool tool_add(TfyTask *task, TfyObj *who, int64_t a, int64_t b, int64_t *out);
bool tool_text(TfyTask *task, TfyObj *who, int64_t n, TfyObj **out);
bool tool_maybe(TfyTask *task, TfyObj *who, int64_t n, TfyObj **out);
bool tool_item(TfyTask *task, TfyObj *who, TfyObj *item, TfyObj **out);
bool tool_ints(TfyTask *task, TfyObj *who, TfyObj *xs, TfyObj **out);
bool tool_shape(TfyTask *task, TfyObj *who, TfyObj *shape, TfyObj **out);
bool tool_half(TfyTask *task, TfyObj *who, double x, double *out);
bool tool_note(TfyTask *task, TfyObj *who, TfyObj *said);
bool tool_flaky(TfyTask *task, TfyObj *who, int64_t id, int64_t fails, int64_t *out);

#endif
