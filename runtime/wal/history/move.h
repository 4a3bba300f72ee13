/* move.h: runs that move to another program.
 *
 * A record names a point by its number in the run's program at that time. A move is a record of type Moved in the
 * root's chain, {"from", "to": hashes}: after it, numbers are the new program's. The run's row has its current
 * program, and the record that last moved it.
 *
 * Readers need not know: tfy__history_read returns numbers of the run's current program. Before the run was moved, it
 * was checked that every recorded point has such a number. */
#ifndef WAL_HISTORY_MOVE_H
#define WAL_HISTORY_MOVE_H

#include "wal/history/history.h"

/* An earlier program of a run. */
typedef struct TfyHistoryMove {
    uint32_t index; /* of the Moved record */
    /* Row id of the program up to there; 0: the history comes from elsewhere. */
    int64_t program;
    uint8_t hash[16];             /* its hash */
    char *tfyc, *source, *layout; /* owned */
} TfyHistoryMove;

struct TfyStoreProgram;

/* Whether the record names the run's program from there on; other Moved records name a directory (root.h). */
bool tfy__record_is_move(const TfyLogRecord *record);

/* The hashes in a Moved record. False: it is damaged. */
bool tfy__move_hashes(const TfyLogRecord *record, uint8_t from[16], uint8_t to[16]);

/* Notes that the history's record `index` moved the run away from this program. Add moves in the order of their
 * records. */
int tfy__history_add_move(TfyHistory *history, uint32_t index, const struct TfyStoreProgram *from);
void tfy__history_forget_moves(TfyHistory *history);

/* Whether the moves lead from each program to the next, and the last one to the run's own. */
bool tfy__history_moves_fit(const TfyHistory *history);

/* Translates point numbers to those of a layout: another program's, or the run's own for records before a move. A
 * missing point becomes TFY_NO_POINT (compat.h). 0, or TFY_E_…. A second call changes nothing. */
int tfy__history_adapt(TfyHistory *history, const char *layout);

/* Replaces the snapshot at which the history starts by one in the terms of another program; takes it over in every
 * case. 0, or TFY_E_NOMEM. */
int tfy__history_take_snapshot(TfyHistory *history, struct json_t *snapshot, const char *layout);

/* The layout to which a record's point number refers, and the row id of its program. */
const char *tfy__history_layout(const TfyHistory *history, uint32_t index);
int64_t tfy__history_program(const TfyHistory *history, uint32_t index);

/* Whether the layouts of the two programs allow the run to continue with the other one: it has the points of all
 * recorded steps, and maps the snapshot that the run starts at. A replay decides the rest (tfy__move_check of
 * core/loop.h). 0; TFY_E_DIVERGED with a sentence; another code. The history is the run read whole. */
int tfy__move_fits(const TfyHistory *history, const char *layout, char *error_text);

/* The program with which a run continues. */
typedef struct TfyMoveTarget {
    const uint8_t *hash; /* 16 bytes */
    const char *tfyc, *source, *layout;
} TfyMoveTarget;

/* Appends the move to a program that the log's database has, by its row id; the run's row is the caller's to queue. Its owner has
 * checked that it can continue there. 0 or a negative code. */
int tfy__move_append(TfyLog *log, TfyHistory *history, const uint8_t hash[16], int64_t program);

/* Appends the move and changes the run's row, in one transaction; the caller must have checked that the run can
 * continue there. Waits until both are durable. The history is the run as it was read, and must not be used
 * afterwards. */
int tfy__move_write(TfyLog *log, TfyHistory *history, const TfyMoveTarget *to);

/* Records that the run continues in that directory, and waits until the record is synced. The history must be read
 * again. */
int tfy__root_move(TfyLog *log, TfyHistory *history, const TfyRoot *to);

#endif
