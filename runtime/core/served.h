/* served.h: what a server needs of its loop: to be called from other threads, and when something is durable; and runs that
 * others start. Only the loop's own thread may do anything else with it. */
#ifndef CORE_SERVED_H
#define CORE_SERVED_H

#include "base/buffer.h"
#include "core/effect.h"
#include "tfy.h"
#include "wal/log/log.h"

/* From any thread: has the loop call this function at the start of a turn; with NULL in tfy__finish. TFY_E_NOMEM or 0. */
typedef void (*TfyPosted)(TfyLoop *loop, void *arg);
int tfy__post(TfyLoop *loop, TfyPosted call, void *arg);

/* On the loop's thread: has the loop call this function once all that was appended so far is durable; with NULL in
 * tfy__finish. TFY_E_NOMEM or 0. */
int tfy__when_durable(TfyLoop *loop, TfyPosted call, void *arg);

/* Ends what is under way and makes all of it durable, as the first part of tfy_close, which is then the rest. The loop
 * does not turn again, nothing may be posted, and no callback comes; other threads may read its log until tfy_close.
 * Returns what tfy_close would. */
int tfy__finish(TfyLoop *loop);

/* Who sent an arrival (loop.h), where a server vouches for it. All is borrowed. */
typedef struct TfySender {
    const char *via;    /* how it came, as a JSON object for the log; NULL: nothing is recorded */
    const char *digest; /* of the question that it answers, as 16 hexadecimal digits; NULL: of whichever is open */
    bool unsynced;      /* it returns at once: the caller waits until it is durable (tfy__when_durable) */
} TfySender;
/* Says who sent the arrivals from now on; NULL: nobody vouches for them, and they return when they are durable. An answer
 * to another question than its sender saw is refused with TFY_E_DIVERGED. */
void tfy__arrive_from(TfyLoop *loop, const TfySender *sender);

/* Adds a callback on the loop's thread for turns in which more records are found durable than before. */
enum { TFY_ON_DURABLE_MOST = 2 }; /* the owner's socket, and a server */
void tfy__on_durable(TfyLoop *loop, TfyPosted call, void *arg);
void tfy__off_durable(TfyLoop *loop, const void *arg); /* removes the one with that argument, if there is one */

/* A run that another database is to have: its row without the numbers of that database, and the payload of its first record. */
typedef struct TfyBirth {
    TfyLogRun row;
    TfyBuffer payload;
} TfyBirth;

/* How a run starts that somebody else wants. All zero: like tfy_submit. */
typedef struct TfyStart {
    bool queued;               /* it is recorded and does not begin: tfy__resume lets it */
    const char *id;            /* its starter's own name for it (wal/log/run_id.h); NULL: none */
    const TfyCeiling *ceiling; /* how far it may go where the loop's options say nothing; NULL: as far as they let it */
    void (*facts)(void *arg,
                  TfyBuffer *members); /* adds members to InstructionStart (wal/rows/payload.h); NULL: none */
    void *arg;
    char *run;       /* gets its uuid (37 bytes); NULL: it is not wanted */
    TfyBirth *birth; /* gets what would be recorded, without a working root, and nothing starts here; NULL: it starts */
} TfyStart;
/* tfy_submit for such a run. TFY_E_STATE: the log has a run of that id. */
int tfy__submit_start(TfyLoop *loop, const TfyProgram *program, const char *workflow, const char *args_json,
                      const TfyStart *start, int64_t *tid, char *error_text);

/* Has the log keep a loaded program before it has runs. Its row, or a negative code. */
int64_t tfy__store_program(TfyLoop *loop, const TfyProgram *program);

/* Moves an unfinished run, by its uuid, to another loaded program, and continues it there. 0; TFY_E_STATE: something of it
 * is under way, or it has ended; TFY_E_DIVERGED: it cannot continue with that program; it is then as it was. */
int tfy__move_to(TfyLoop *loop, const char *run, const TfyProgram *program, char *error_text);

/* Sets callbacks on the loop's thread: a run that was queued begins, for whatever reason; and a run has ended. */
typedef struct TfyRunsSeen {
    void (*begun)(void *state, const char *run); /* its uuid */
    void (*ended)(void *state, const char *run);
    void *state;
} TfyRunsSeen;
void tfy__on_runs(TfyLoop *loop, const TfyRunsSeen *seen);
/* From now on a run that differs from its log does not fail the loop: it is set aside, and the others go on. In the log it is
 * unfinished, and the next opening, a tfy__resume or a tfy__move_to tries it again. Arrivals for it are refused with
 * TFY_E_STATE, but a kill by force ends it. told: on the loop's thread; run: its uuid; why: a sentence with what people can
 * do; NULL: it is set aside no longer. */
typedef void (*TfyDivergedTold)(void *state, const char *run, const char *why);
void tfy__set_aside(TfyLoop *loop, TfyDivergedTold told, void *state);
const char *tfy__diverged_why(const TfyLoop *loop, const char *run); /* run: its uuid; NULL: it is not set aside */
void tfy__see_diverged(const TfyLoop *loop, TfyDivergedTold see, void *state); /* shows all that are */

/* Sets a callback on the loop's thread after each turn of tfy_run: how long it took, without the time that it slept. */
void tfy__on_turns(TfyLoop *loop, void (*turned)(void *state, int64_t took_ns), void *state);

/* Shows all runs of the loop's programs that have not ended, those in no memory too, with their InstructionStart; both are
 * valid during the call. It first waits until all that was appended is durable. 0 or a negative code. */
int tfy__see_unfinished(TfyLoop *loop, void (*see)(void *state, const TfyLogRun *run, const TfyLogRecord *birth),
                        void *state);

#endif
