/* seat.c: see seat.h. */
#include "hub/seat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "wal/store/store.h"

static TfySeat *seat_of(TfyHub *hub)
{
    return (TfySeat *)hub;
}

/* ---- mail ---- */

static void free_mail(TfyMail *mail)
{
    free((char *)mail->body);
    free((char *)mail->id);
    free((char *)mail->sender);
    *mail = (TfyMail){0};
}

static bool copy_text(const char **to, const char *text)
{
    *to = text ? strdup(text) : NULL;
    return !text || *to;
}

static bool copy_mail(TfyMail *to, const TfyMail *mail)
{
    *to = (TfyMail){.run = mail->run, .n = mail->n};
    const bool copied =
        copy_text(&to->body, mail->body) && copy_text(&to->id, mail->id) && copy_text(&to->sender, mail->sender);
    if (!copied) free_mail(to);
    return copied;
}

static void drop_letter(TfyLetters *letters)
{
    TfyLetter *letter = LIST_TAKE(letters, next);
    free_mail(&letter->mail);
    free(letter);
}

bool tfy__letters_put(TfyLetters *letters, const TfyMail *mail)
{
    if (mail->n <= letters->newest) return true;
    TfyLetter *letter = malloc(sizeof *letter);
    if (!letter || !copy_mail(&letter->mail, mail)) {
        free(letter);
        return false;
    }
    LIST_APPEND(letters, letter, next);
    letters->newest = mail->n;
    return true;
}

/* ---- boxes, with the mutex ---- */

static uint64_t hash_of(int64_t run)
{
    return tfy__mix((uint64_t)run);
}

static TfyBox *find_box(const TfySeat *seat, int64_t run)
{
    return TABLE_ITEM(tfy__table_find(&seat->by_run, hash_of(run)), TfyBox, by_run);
}

static TfyBox *make_box(TfySeat *seat, int64_t run)
{
    TfyBox *box = tfy__table_reserve(&seat->by_run) ? calloc(1, sizeof *box) : NULL;
    if (!box) return NULL;
    box->run = run;
    LIST2_APPEND(&seat->boxes, box, prev, next);
    tfy__table_add(&seat->by_run, &box->by_run, hash_of(run));
    return box;
}

static void drop_box(TfySeat *seat, TfyBox *box)
{
    while (box->letters.first) drop_letter(&box->letters);
    LIST2_REMOVE(&seat->boxes, box, prev, next);
    tfy__table_remove(&seat->by_run, &box->by_run);
    free(box);
}

/* Takes over the letters. */
static int put_box(TfySeat *seat, int64_t run, TfyLetters *letters)
{
    TfyBox *old = find_box(seat, run), *box = NULL;
    if (old) drop_box(seat, old); /* of an earlier claim */
    if (!letters->first) return 0;
    if (!(box = make_box(seat, run))) return TFY_E_NOMEM;
    box->letters = *letters;
    box->listed = UINT64_MAX;
    *letters = (TfyLetters){0};
    return 0;
}

static void wake_loop(const TfySeat *seat)
{
    if (seat->wake) seat->wake(seat->wake_arg);
}

void tfy__seats_wake(TfySeats *seats)
{
    for (uint32_t i = 0; i < seats->count; i++) {
        if (seats->items[i].given_runs) wake_loop(&seats->items[i]);
        seats->items[i].given_runs = false;
    }
}

bool tfy__seat_take_mail(TfySeat *seat, const TfyMail *mail, uint64_t reading)
{
    pthread_mutex_lock(&seat->all->mutex);
    TfyBox *box = find_box(seat, mail->run);
    const bool is_new = !box || mail->n > box->letters.newest;
    if (!box) box = make_box(seat, mail->run);
    const bool put = box && tfy__letters_put(&box->letters, mail);
    if (box && box->listed != UINT64_MAX) box->listed = reading;
    if (put && is_new) wake_loop(seat);
    pthread_mutex_unlock(&seat->all->mutex);
    return put;
}

void tfy__seats_drop_boxes(TfySeats *seats, uint64_t before)
{
    pthread_mutex_lock(&seats->mutex);
    for (uint32_t i = 0; i < seats->count; i++)
        for (TfyBox *box = seats->items[i].boxes.first, *next; box; box = next) {
            next = box->next;
            if (box->listed < before) drop_box(&seats->items[i], box);
        }
    pthread_mutex_unlock(&seats->mutex);
}

/* ---- claims, with the mutex ---- */

void tfy__read_batch_drop(TfyReadBatch *batch)
{
    if (!batch || --batch->users) return;
    batch->ahead->free(batch->ahead);
    free(batch);
}

void tfy__seat_claim_free(TfySeatClaim *claim)
{
    while (claim->letters.first) drop_letter(&claim->letters);
    tfy__read_batch_drop(claim->batch);
    free(claim);
}

/* Those that have been claimed, and not taken yet, are tasks soon. */
static uint32_t tasks_of(const TfySeat *seat)
{
    return seat->tasks + seat->claim_count;
}

uint32_t tfy__seats_choose(const TfySeats *seats)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < seats->count; i++) {
        const TfySeat *seat = &seats->items[i], *other = &seats->items[best];
        const bool has_room = seat->room > seat->claim_count, had_room = other->room > other->claim_count;
        if (has_room == had_room ? tasks_of(seat) < tasks_of(other) : has_room) best = i;
    }
    return best;
}

int tfy__seat_hand_over(TfySeat *seat, TfySeatClaim *claim, TfyReadBatch *batch)
{
    if (put_box(seat, claim->claim.run, &claim->letters) != 0) {
        tfy__seat_claim_free(claim);
        return TFY_E_NOMEM;
    }
    if ((claim->batch = batch) != NULL) {
        claim->claim.ahead = batch->ahead;
        batch->users++;
    }
    LIST_APPEND(&seat->claims, claim, next);
    seat->claim_count++;
    seat->given_runs = true;
    return 0;
}

uint32_t tfy__seats_room(TfySeats *seats, int64_t *program)
{
    uint32_t room = 0;
    pthread_mutex_lock(&seats->mutex);
    for (uint32_t i = 0; i < seats->count; i++) {
        const TfySeat *seat = &seats->items[i];
        if (seat->room > seat->claim_count) room += seat->room - seat->claim_count;
    }
    *program = seats->program;
    pthread_mutex_unlock(&seats->mutex);
    return room;
}

bool tfy__seats_turn(const TfySeats *seats, int64_t now_ms, int64_t within_ms)
{
    for (uint32_t i = 0; i < seats->count; i++) {
        const int64_t since_ns = atomic_load_explicit(&seats->items[i].hub.awake_ns, memory_order_relaxed);
        if (since_ns && now_ms - since_ns / 1000000 >= within_ms) return false;
    }
    return true;
}

/* ---- what a loop asks ---- */

void tfy__seats_kick(TfySeats *seats)
{
    (void)!write(seats->kick_fd, &(uint64_t){1}, sizeof(uint64_t));
}

void tfy__seat_want(TfyHub *hub, int64_t program, uint32_t room, uint32_t tasks)
{
    TfySeat *seat = seat_of(hub);
    TfySeats *all = seat->all;
    pthread_mutex_lock(&all->mutex);
    const bool more = room && (!seat->room || all->program != program);
    all->program = program;
    all->kicked |= more;
    seat->room = room;
    seat->tasks = tasks;
    if (more) tfy__seats_kick(all);
    pthread_mutex_unlock(&all->mutex);
}

bool tfy__seat_claimed(TfyHub *hub, TfyClaim *claim)
{
    TfySeat *seat = seat_of(hub);
    pthread_mutex_lock(&seat->all->mutex);
    TfySeatClaim *taken = LIST_TAKE(&seat->claims, next);
    tfy__read_batch_drop(seat->batch);
    seat->batch = taken ? taken->batch : NULL;
    if (taken) {
        *claim = taken->claim;
        seat->claim_count--;
        seat->tasks++;
        if (seat->room) seat->room--;
    }
    pthread_mutex_unlock(&seat->all->mutex);
    free(taken);
    return taken;
}

int64_t tfy__seat_news(TfyHub *hub)
{
    TfySeat *seat = seat_of(hub);
    int64_t run = 0;
    pthread_mutex_lock(&seat->all->mutex);
    TfyBox *box = seat->boxes.first;
    if (box && box->named != seat->round) {
        box->named = seat->round;
        run = box->run;
        LIST2_REMOVE(&seat->boxes, box, prev, next);
        LIST2_APPEND(&seat->boxes, box, prev, next);
    } else {
        seat->round++;
    }
    pthread_mutex_unlock(&seat->all->mutex);
    return run;
}

bool tfy__seat_mail(TfyHub *hub, int64_t run, int64_t after, TfyMail *out)
{
    TfySeat *seat = seat_of(hub);
    free_mail(&seat->given);
    pthread_mutex_lock(&seat->all->mutex);
    TfyBox *box = find_box(seat, run);
    while (box && box->letters.first && box->letters.first->mail.n <= after) drop_letter(&box->letters);
    const TfyLetter *letter = box ? box->letters.first : NULL;
    const bool found = letter && copy_mail(&seat->given, &letter->mail);
    if (box && !letter) drop_box(seat, box);
    pthread_mutex_unlock(&seat->all->mutex);
    *out = seat->given;
    return found;
}

/* A loop that is not to be woken any more makes no turns. */
void tfy__seat_wake_by(TfyHub *hub, void (*wake)(void *arg), void *arg)
{
    TfySeat *seat = seat_of(hub);
    pthread_mutex_lock(&seat->all->mutex);
    seat->wake = wake;
    seat->wake_arg = arg;
    if (!wake) atomic_store_explicit(&hub->awake_ns, 0, memory_order_relaxed);
    if (!wake) seat->room = 0;
    pthread_mutex_unlock(&seat->all->mutex);
}

int tfy__seat_failed(TfyHub *hub, char *error_text)
{
    TfySeats *all = seat_of(hub)->all;
    pthread_mutex_lock(&all->mutex);
    const int code = all->code;
    if (code) snprintf(error_text, TFY_ERROR_TEXT, "%s", all->error);
    pthread_mutex_unlock(&all->mutex);
    return code;
}

void tfy__seats_fail(TfySeats *seats, int code, const char *why)
{
    pthread_mutex_lock(&seats->mutex);
    seats->code = code;
    snprintf(seats->error, sizeof seats->error, "%s", why);
    for (uint32_t i = 0; i < seats->count; i++) wake_loop(&seats->items[i]);
    pthread_mutex_unlock(&seats->mutex);
}

/* ---- opening and closing ---- */

int tfy__seats_init(TfySeats *seats, uint32_t count)
{
    *seats = (TfySeats){.kick_fd = -1};
    pthread_mutex_init(&seats->mutex, NULL);
    if (!(seats->items = calloc(count, sizeof *seats->items))) return TFY_E_NOMEM;
    seats->count = count;
    for (uint32_t i = 0; i < count; i++) {
        seats->items[i].all = seats;
        seats->items[i].round = 1;
    }
    seats->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return seats->kick_fd < 0 ? TFY_E_IO : 0;
}

static void free_seat(TfySeat *seat)
{
    tfy__read_batch_drop(seat->batch);
    for (TfySeatClaim *claim; (claim = LIST_TAKE(&seat->claims, next));) tfy__seat_claim_free(claim);
    while (seat->boxes.first) drop_box(seat, seat->boxes.first);
    tfy__table_free(&seat->by_run);
    free_mail(&seat->given);
}

void tfy__seats_free(TfySeats *seats)
{
    for (uint32_t i = 0; i < seats->count; i++) free_seat(&seats->items[i]);
    free(seats->items);
    if (seats->kick_fd >= 0) close(seats->kick_fd);
    pthread_mutex_destroy(&seats->mutex);
}
