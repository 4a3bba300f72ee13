/* folded.h: tasks in a compact form of 80 bytes each. */
#ifndef CORE_TASK_FOLDED_H
#define CORE_TASK_FOLDED_H

#include "core/task/task.h"

/* The compact form of a task with little state: one that sleeps, one frame deep and with nothing else attached, or
 * one that has finished well. Its cell, its TaskRest and its step are released; when its timer fires, or when it
 * is needed, they are rebuilt as they were (fold.c).
 *   - It is not in any list of tasks: tfy__task_by_tid finds and unfolds it, and a walk over run->tasks must visit
 *     the sleeping folded tasks separately.
 *   - Asleep, it keeps its place among its parent's children, by reference, and its timer. Its parent has a live
 *     child, so it is never folded itself: its slot and its frames stay where they are.
 *   - The log has its row as of its head; nothing refers to its TfyLogTask.
 *   - Its run does not replay: a replay folds nothing, and whether a task was folded leaves no trace in the log. */
typedef enum FoldedKind {
    FOLDED_FREE,
    FOLDED_CHILD, /* asleep */
    FOLDED_LOOSE, /* asleep and detached: no parent */
    FOLDED_ENDED,
} FoldedKind;

typedef struct FoldedExtra FoldedExtra; /* fold.c */

typedef struct Folded {
    int64_t tid, head;
    uint64_t chain;
    union {
        TfyValue value;     /* asleep: its only live slot; ended: its result, owned */
        FoldedExtra *extra; /* asleep with has_extra; owned */
    };
    uint32_t born_back; /* records from its born to its head */
    uint32_t step;
    uint32_t next; /* in its bucket of by_tid; free: the next free one */
    uint16_t place;
    uint8_t kind; /* FoldedKind */
    bool has_extra : 1, unheld : 1;
    union {
        struct {
            /* a child: its parent's slot, and the frame's offset on its stack */
            uint32_t parent, parent_frame;
        };
        Run *run; /* all others */
    };
    union {
        struct {
            union {
                struct {
                    Siblings siblings; /* a child */
                    uint32_t ordinal;  /* the end of its path */
                };
                char loose_path[12];
            };
            uint32_t timer; /* node */
            int64_t due_ms;
        };
        struct {
            char path[16];                   /* ended */
            uint32_t ended_prev, ended_next; /* neighbours in its run's list; 0: none */
        };
    };
} Folded;
_Static_assert(sizeof(Folded) == 80, "a million of them are meant to be small");

/* A place where folded tasks stop: the data that they share. */
typedef struct FoldedPlace {
    const TfyWorkflow *workflow; /* NULL: a free entry of the table */
    const TfySite *site;         /* of its sleep; NULL: it has ended */
    uint32_t pc;
} FoldedPlace;
#define FOLDED_PLACES 1024u /* a hash table, at most three quarters full */

typedef struct FoldedChunk FoldedChunk; /* fold.c */

typedef struct FoldedTasks {
    FoldedChunk **chunks;
    uint32_t chunk_count, chunk_cap, used; /* numbers ever used, including 0, which means none */
    uint32_t first_free;                   /* 0: none */
    uint32_t asleep;                       /* live tasks among them */
    uint32_t *by_tid;                      /* hash table of numbers */
    uint32_t by_tid_cap, count;
    FoldedPlace *places;
    uint32_t place_count;
} FoldedTasks;

/* fold.c */
/* The task has just started to wait, for time alone: folds it if that is possible and worthwhile. */
void tfy__fold_asleep(TfyTask *task);
/* The task's slot was released: folds the task if possible, or drops it if nothing can refer to it. The caller
 * drops the TaskRest. */
void tfy__fold_ended(TaskRest *rest);
TaskRest *tfy__unfold(TfyLoop *loop, Folded *folded);         /* NULL: no memory; the loop has failed */
Folded *tfy__folded_by_tid(const TfyLoop *loop, int64_t tid); /* NULL: none */
/* Iterates over the sleeping folded tasks of one run or (NULL) of all, in no particular order. *at starts as 0.
 * NULL: no more. */
Folded *tfy__folded_next(const TfyLoop *loop, const Run *run, uint32_t *at);
bool tfy__unfold_run(Run *run, uint32_t most); /* at most so many sleepers; false: the loop has failed */
Folded *tfy__folded_by_path(const Run *run, const char *path);                /* a linear search; NULL: none */
const TfyPoint *tfy__folded_point(const TfyLoop *loop, const Folded *folded); /* where it sleeps */
const TfyValue *tfy__folded_values(const Folded *folded);                     /* of the point's live slots, in order */
Siblings *tfy__siblings(TfyLoop *loop, uint32_t child);                       /* of a reference */
TaskRest *tfy__child(TfyLoop *loop, uint32_t child);                          /* unfolded; NULL: the loop has failed */
void tfy__folded_drop(Run *run); /* the finished ones: the run leaves memory */
void tfy__fold_run(Run *run);    /* folds again the tasks that were unfolded to be read */
void tfy__folded_free(TfyLoop *loop);

#endif
