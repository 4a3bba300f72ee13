/* row.h: the rows of runs, tasks and saved tables in memory: what the store keeps and the log writes. record.h has
 * the rows of the log itself. */
#ifndef WAL_ROWS_ROW_H
#define WAL_ROWS_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TFY_QUEUED_MS (INT64_MAX - 1)

struct TfyLogTask;

/* What the session that owns a run of a shared database keeps about it; nothing of it is stored. Its tasks are numbered
 * 1, 2, 3 … there. In this process they have numbers that are unique: those, with its slot in the upper half. */
typedef struct TfyLogOwned {
    uint32_t slot;            /* from 1; 0: not owned, or in a file */
    int64_t claims;           /* how often it has had an owner, with this session */
    uint32_t tasks;           /* the greatest number of a task so far */
    struct TfyLogTask *dirty; /* its tasks that changed since its newest snapshot */
} TfyLogOwned;

/* Who has a run of a shared database, as of its row; of one that has ended, this says nothing. */
typedef enum TfyRunTurn {
    TFY_RUN_IN_FILE, /* it is in none */
    TFY_RUN_READY,   /* nobody; whoever claims it next */
    TFY_RUN_DUE,     /* nobody, until its time comes, or something arrives for it */
    TFY_RUN_OWNED,   /* a session */
    TFY_RUN_HELD,    /* nobody, until people let it go on */
} TfyRunTurn;

/* Why nobody may claim a run of a shared database. */
typedef enum TfyRunHeld {
    TFY_HELD_NOT,
    TFY_HELD_PERSON,  /* somebody wants it so */
    TFY_HELD_POISON,  /* processes have died of it */
    TFY_HELD_DAMAGED, /* its program cannot continue with its records */
    TFY_HELD_LOST,    /* the database has lost what it had acknowledged */
    TFY_HELD_COUNT
} TfyRunHeld;

/* A run: one submitted workflow with all its tasks. */
typedef struct TfyLogRun {
    int64_t id;       /* row id, assigned by tfy__log_begin_run */
    uint8_t uuid[16]; /* UUIDv7 */
    int64_t program;  /* row id of its program */
    int64_t root;     /* tid of its root task */
    /* A fork: the uuid of the run whose records it starts with … */
    uint8_t origin[16];
    int64_t origin_lsn; /* … and the last of them there; 0: not a fork */
    /* The newest record that moved it to another program; 0: none. */
    int64_t moved_lsn;
    /* The newest record of what a resume was given; 0: none. */
    int64_t options_lsn;
    int state; /* TfyTaskState of the run: READY (unfinished), COMPLETED, FAILED, CANCELLED */
    int64_t started_ms, ended_ms;
    /* Its records up to this lsn came from another database, and the numbers of records and tasks in their payloads
     * are from there; 0: none. */
    int64_t imported;
    /* It was compacted: few of its records before this Snapshot are left (compact.h); 0: it was not. */
    int64_t base_lsn;
    /* Not in memory before this time, by the wall clock; INT64_MAX: until something needs it; TFY_QUEUED_MS: it has not
     * begun, and waits in a server's queue; 0: it is in memory. */
    int64_t parked_ms;
    /* The clock's time when parked_ms was set; 0: parked_ms is not a time. */
    int64_t parked_at_ms;
    /* In a shared database, where its records have numbers of their own: the newest one as of this row, and the newest
     * Snapshot, 0: none; the rows of its tasks are at least as new as that. */
    int64_t lsn, snap;
    /* For those who only read, there: who has it, and the session that owns it, 0: none. */
    uint8_t turn; /* TfyRunTurn */
    uint8_t held; /* TfyRunHeld; of one that a session owns: it is held as soon as it leaves */
    int64_t owner;
    /* For a run that begins there in a session: where it waits when nobody owns it, 0: nowhere; and how many owners it has had
     * elsewhere. */
    int64_t queue, claims;
    TfyLogOwned owned;
} TfyLogRun;

static inline uint8_t tfy__run_turn(int64_t owner, int64_t due_ms, bool held)
{
    if (owner) return TFY_RUN_OWNED;
    if (held) return TFY_RUN_HELD;
    return due_ms ? TFY_RUN_DUE : TFY_RUN_READY;
}

/* A task in the log's view: embedded in the scheduler's task, or in a TfyHistory. */
typedef struct TfyLogTask {
    int64_t tid;    /* unique in the file, or in the process (TfyLogOwned); 0: the database itself */
    TfyLogRun *run; /* NULL for tid 0 */
    char *path;     /* "1.3.2": its place in its run; owned by the holder of this struct */
    int64_t born;   /* lsn of its InstructionStart or TaskSpawn */
    /* lsn of its newest record; before the first one: `born` of a child, 0 of a root. */
    int64_t head;
    uint64_t chain; /* chain value of the head; before the first record: the seed */
    int64_t step;   /* its step counter, for the task's row */
    /* TfyTaskState; and what it waits for (a record type, or 0), for the task's row. */
    int state, wait;
    bool dirty; /* changed since the last mark, or in a shared database since the last snapshot */
    struct TfyLogTask *next_dirty;
    /* The pointer in that list that points at this task, for immediate removal. */
    struct TfyLogTask **dirty_link;
} TfyLogTask;

/* The directory in which a run works (log/root.h). */
typedef struct TfyRoot {
    char *path;       /* absolute, with links followed; NULL: unknown */
    int64_t dev, ino; /* of the directory */
    int64_t born_ns;  /* its creation time, by the file system's clock; 0: unknown */
} TfyRoot;

/* ---- saved tables (log/saved.h) ---- */

/* How each saved table's text in sqlite_schema starts, behind CREATE TABLE "NAME". */
#define SAVED_HEAD "(tfy_run TEXT NOT NULL,tfy_task TEXT NOT NULL,tfy_step INT NOT NULL"
#define SAVED_KEY  "tfy_run,tfy_task,tfy_step"

enum { SAVED_KEYS = 3, SAVED_CELLS = 64, SAVED_NAME = 63 };

typedef enum TfyCellKind { TFY_CELL_NULL, TFY_CELL_INT, TFY_CELL_FLOAT, TFY_CELL_TEXT, TFY_CELL_BLOB } TfyCellKind;

typedef struct TfyCell {
    const char *name; /* of the column; only the log needs it */
    /* Its declared type: "INT", "BOOL INT", "TIME INT", "DURATION INT", "REAL", "TEXT", "BLOB" or "JSON TEXT". */
    const char *decl;
    uint8_t kind; /* TfyCellKind */
    int64_t i;
    double f;
    const char *bytes;
    size_t len;
} TfyCell;

/* Whether an entry of a database's schema is a saved table or a plain index on one. */
bool tfy__saved_table_text(const char *name, const char *sql);

#endif
