/* move.h: runs that change their program.
 *
 * A record names a point by its number in the program the run had then. A move is a record of type Moved in the
 * root's chain, {"from", "to": hashes}: behind it, numbers are the new program's. The run's row has the program it
 * has now, and says which record moved it last.
 *
 * Readers need not know: tfy__history_read hands out numbers of the program the run has now. That every recorded
 * point has one was seen before the run was moved. */
#ifndef WAL_HISTORY_MOVE_H
#define WAL_HISTORY_MOVE_H

#include "wal/history/history.h"

/* A program that a run had before. */
typedef struct TfyHistoryMove {
    uint32_t index;               /* of the Moved record */
    int64_t program;              /* row id of the program up to there; 0: the history comes from elsewhere */
    uint8_t hash[16];             /* its hash */
    char *tfyc, *source, *layout; /* the rest of it, owned */
} TfyHistoryMove;

struct TfyStoreProgram;

/* A record that says which program the run has from there on; other Moved records name a directory (root.h). */
bool tfy__record_is_move(const TfyLogRecord *record);

/* The hashes in a Moved record. False: it is damaged. */
bool tfy__move_hashes(const TfyLogRecord *record, uint8_t from[16], uint8_t to[16]);

/* The history's record `index` moved the run away from this program. Moves are added in the order of their records. */
int tfy__history_add_move(TfyHistory *history, uint32_t index, const struct TfyStoreProgram *from);
void tfy__history_forget_moves(TfyHistory *history);

/* Whether the moves lead from one program to the next, and the last one to the run's own. */
bool tfy__history_moves_fit(const TfyHistory *history);

/* Makes the numbers of points those of a layout: of another program, or of the run's own for records before a move.
 * One that is not there becomes TFY_NO_POINT (compat.h). 0, or TFY_E_…. Once done it is not done again. */
int tfy__history_adapt(TfyHistory *history, const char *layout);

/* The snapshot that the history begins at, in the terms of another program: takes it over in every case. 0, or
 * TFY_E_NOMEM. */
int tfy__history_take_snapshot(TfyHistory *history, struct json_t *snapshot, const char *layout);

/* The layout that record's point is a number of, and the row id of its program. */
const char *tfy__history_layout(const TfyHistory *history, uint32_t index);
int64_t tfy__history_program(const TfyHistory *history, uint32_t index);

/* The program a run is to go on with. */
typedef struct TfyMoveTarget {
    const uint8_t *hash; /* 16 bytes */
    const char *tfyc, *source, *layout;
} TfyMoveTarget;

/* Appends the move and changes the run's row, in one transaction; the caller has seen to it that the run can go on
 * there. Waits until it is durable. The history is the run as it was read, and of no use afterwards. */
int tfy__move_write(TfyLog *log, TfyHistory *history, const TfyMoveTarget *to);

/* Appends that the run goes on in that directory, and waits until it is synced. The history has to be read again. */
int tfy__root_move(TfyLog *log, TfyHistory *history, const TfyRoot *to);

#endif
