/* row.h: the rows of runs, tasks and saved tables as they are held in memory: what the store keeps and the log writes.
 * Rows of the log itself are in record.h. */
#ifndef WAL_ROWS_ROW_H
#define WAL_ROWS_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A run: one submitted workflow with all its tasks. */
typedef struct TfyLogRun {
    int64_t id;         /* row id; given by tfy__log_begin_run */
    uint8_t uuid[16];   /* UUIDv7 */
    int64_t program;    /* row id of its program */
    int64_t root;       /* tid of its root task */
    uint8_t origin[16]; /* a fork: the uuid of the run whose records it began with … */
    int64_t origin_lsn; /* … and the last of those there; 0: it is no fork */
    int64_t moved_lsn;  /* the newest record that gave it another program; 0: none did */
    int state;          /* TfyTaskState of the run: READY (unfinished), COMPLETED, FAILED, CANCELLED */
    int64_t started_ms, ended_ms;
    int64_t imported; /* its records up to this lsn came from another database: the numbers of records and tasks
                         in their payloads are that one's; 0: none */
    int64_t
        base_lsn; /* it was compacted: of its records before this Snapshot few are left (compact.h); 0: it was not */
    int64_t parked_ms;    /* not in memory before this time, wall clock; INT64_MAX: till somebody wants it; 0: it is */
    int64_t parked_at_ms; /* what the clock showed when that was said; 0: parked_ms is no time */
} TfyLogRun;

/* A task as the log knows it: embedded in the scheduler's task, or in a TfyHistory. */
typedef struct TfyLogTask {
    int64_t tid;     /* unique in the file; 0: the database itself */
    TfyLogRun *run;  /* NULL for tid 0 */
    char *path;      /* "1.3.2": its place in its run; owned by whoever holds this struct */
    int64_t born;    /* lsn of its InstructionStart or TaskSpawn */
    int64_t head;    /* lsn of its newest record; before the first: born of a child, 0 of a root */
    uint64_t chain;  /* chain value of the head; before the first: the seed */
    int64_t step;    /* its step counter, for the task row */
    int state, wait; /* TfyTaskState; what it waits for (record type or 0): for the task row */
    bool dirty;      /* changed since the last mark */
    struct TfyLogTask *next_dirty;
    struct TfyLogTask **dirty_link; /* what points at this task in that list, so that it leaves at once */
} TfyLogTask;

/* The directory that a run works in (log/root.h). */
typedef struct TfyRoot {
    char *path;       /* absolute, links followed; NULL: it is not known */
    int64_t dev, ino; /* of the directory */
    int64_t born_ns;  /* when it was made, by the file system's clock; 0: not known */
} TfyRoot;

/* ---- saved tables (log/saved.h) ---- */

/* What each saved table's text in sqlite_schema begins with, behind CREATE TABLE "NAME". */
#define SAVED_HEAD "(tfy_run TEXT NOT NULL,tfy_task TEXT NOT NULL,tfy_step INT NOT NULL"
#define SAVED_KEY  "tfy_run,tfy_task,tfy_step"

enum { SAVED_KEYS = 3, SAVED_CELLS = 64, SAVED_NAME = 63 };

typedef enum TfyCellKind { TFY_CELL_NULL, TFY_CELL_INT, TFY_CELL_FLOAT, TFY_CELL_TEXT, TFY_CELL_BLOB } TfyCellKind;

typedef struct TfyCell {
    const char *name; /* of the column; not needed behind the log */
    const char *
        decl; /* its declared type: "INT", "BOOL INT", "TIME INT", "DURATION INT", "REAL", "TEXT", "BLOB", "JSON TEXT" */
    uint8_t kind; /* TfyCellKind */
    int64_t i;
    double f;
    const char *bytes;
    size_t len;
} TfyCell;

/* Whether something in a database's schema is a saved table or a plain index on one. */
bool tfy__saved_table_text(const char *name, const char *sql);

#endif
