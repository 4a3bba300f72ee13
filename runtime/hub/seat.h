/* seat.h: what the thread of a hub (hub_cluster.h) hands to each loop of its process, and what the loop says to it.
 *
 * Each loop has a seat, which is its TfyHub. One mutex guards all seats: nothing is done with it but moving things from one list
 * to another.
 *
 * Invariants
 *   - A run that was claimed goes to the loop with the fewest live tasks among those that have room, and stays its until it leaves.
 *   - What is sent to a run goes to the seat that has it. */
#ifndef HUB_SEAT_H
#define HUB_SEAT_H

#include <pthread.h>

#include "base/list.h"
#include "base/table.h"
#include "hub/hub.h"
#include "wal/store/cluster.h"

/* What was read of runs that were claimed together. */
typedef struct TfyReadBatch {
    uint32_t users; /* claims that have it, and who hands them over; with the mutex */
    TfyAhead *ahead;
} TfyReadBatch;

typedef struct TfyLetter {
    struct TfyLetter *next;
    TfyMail mail; /* strings owned */
} TfyLetter;

typedef struct TfyLetters {
    TfyLetter *first, *last;
    int64_t newest; /* number of the newest one that was ever put */
} TfyLetters;

typedef struct TfySeatClaim {
    struct TfySeatClaim *next;
    TfyClaim claim;
    TfyReadBatch *batch; /* NULL: nothing was read */
    TfyLetters letters;  /* what was sent to the run before; until it is handed over */
} TfySeatClaim;

/* What was sent to a run and the loop has not asked past. */
typedef struct TfyBox {
    TfyLink by_run;
    struct TfyBox *prev, *next;
    int64_t run;
    TfyLetters letters;
    uint64_t listed; /* the reading of the session's mail that had some for it; UINT64_MAX: it came with a claim */
    uint64_t named;  /* the round of `news` that has named it */
} TfyBox;

struct TfySeats;

typedef struct TfySeat {
    TfyHub hub; /* must be first */
    struct TfySeats *all;
    /* The loop's alone. */
    TfyMail given;       /* strings owned */
    TfyReadBatch *batch; /* of the last claim */
    /* With the mutex. */
    uint32_t room, tasks; /* the loop's, as it has said */
    LIST(TfySeatClaim) claims;
    uint32_t claim_count;
    bool given_runs; /* and not woken for them yet */
    TfyTable by_run; /* of boxes */
    LIST(TfyBox) boxes;
    uint64_t round;
    void (*wake)(void *arg);
    void *wake_arg;
} TfySeat;

typedef struct TfySeats {
    TfySeat *items; /* owned; they do not move */
    uint32_t count;
    int kick_fd; /* wakes the thread */
    pthread_mutex_t mutex;
    /* With the mutex. */
    bool kicked; /* a loop has room that had none */
    int64_t program;
    int code; /* the hub has given up */
    char error[TFY_ERROR_TEXT];
} TfySeats;

/* Makes so many seats. 0, or a negative code; then tfy__seats_free frees what there is. */
int tfy__seats_init(TfySeats *seats, uint32_t count);
void tfy__seats_free(TfySeats *seats);
void tfy__seats_kick(TfySeats *seats);

/* What a loop asks, as in TfyHubOps. */
void tfy__seat_want(TfyHub *hub, int64_t program, uint32_t room, uint32_t tasks);
bool tfy__seat_claimed(TfyHub *hub, TfyClaim *claim);
int64_t tfy__seat_news(TfyHub *hub);
bool tfy__seat_mail(TfyHub *hub, int64_t run, int64_t after, TfyMail *out);
void tfy__seat_wake_by(TfyHub *hub, void (*wake)(void *arg), void *arg);
int tfy__seat_failed(TfyHub *hub, char *error_text);

/* ---- the thread's side ---- */

/* What all loops have room for, without what waits for them already. */
uint32_t tfy__seats_room(TfySeats *seats, int64_t *program);
/* Whether each loop sleeps, or has begun a turn within so many milliseconds. */
bool tfy__seats_turn(const TfySeats *seats, int64_t now_ms, int64_t within_ms);
/* The hub gives up: all loops hear of it. */
void tfy__seats_fail(TfySeats *seats, int code, const char *why);
void tfy__seats_drop_boxes(TfySeats *seats, uint64_t before); /* that were listed before that reading alone */

/* With the mutex. Which loop gets the next run. */
uint32_t tfy__seats_choose(const TfySeats *seats);
void tfy__seats_wake(TfySeats *seats); /* those that were given runs */
/* With the mutex. Takes over the claim, whatever becomes of it; batch: NULL: nothing was read. 0 or TFY_E_NOMEM. */
int tfy__seat_hand_over(TfySeat *seat, TfySeatClaim *claim, TfyReadBatch *batch);
void tfy__read_batch_drop(TfyReadBatch *batch);
/* With the mutex if the claim has a batch. */
void tfy__seat_claim_free(TfySeatClaim *claim);
bool tfy__letters_put(TfyLetters *letters, const TfyMail *mail);
/* False: no memory. Wakes the loop if it is news. */
bool tfy__seat_take_mail(TfySeat *seat, const TfyMail *mail, uint64_t reading);

#endif
