/* core_script.h: workflows as scripts, for tests of the scheduler: one function in the shape that tfyc emits runs any of them, on a virtual
 * clock, and a bench stops a run by a kill, a deadline or the end of the process at any turn, takes it up again and replays it.
 *
 * A test defines its scripts with SCRIPT, lists them in PROGRAM and names those that are tried at every turn in AT_EVERY_TURN. */
#ifndef UNIT_CORE_SCRIPT_H
#define UNIT_CORE_SCRIPT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/loop/state.h"
#include "wal/history/history.h"

static const TfyProgram program; /* of the test */

/* ---- scripts ---- */

typedef enum OpKind {
    OP_END,
    OP_SAY,     /* print(text) */
    OP_NOW,     /* now() */
    OP_YIELD,   /* yield */
    OP_SPIN,    /* a loop of n rounds that spends fuel */
    OP_SLEEP,   /* yield sleep(n ms) timeout … */
    OP_WORK,    /* yield work(n) retry … backoff … timeout …; a negative n fails */
    OP_ONCE,    /* yield burn(n): a once tool */
    OP_NARROW,  /* yield narrow(n): a tool of which one runs at a time, and three in 100 ms */
    OP_DEAR,    /* yield dear(n): a once tool of which one runs at a time */
    OP_ASK,     /* yield approve("…") timeout … */
    OP_SPAWN,   /* h = spawn script, n times (0: once) */
    OP_AFTER,   /* h = spawn script with (priority: n, after: [h]) */
    OP_JOIN,    /* yield join(h) timeout … */
    OP_CALL,    /* yield script() retry … backoff … timeout … */
    OP_KILL,    /* kill(h) */
    OP_BODY,    /* script is a body of the next group */
    OP_ROOM,    /* fewer than n bodies run */
    OP_ALL,     /* parallel: the bodies' values as a list */
    OP_RACE,    /* the first of them */
    OP_DETACH,  /* spawn detached script */
    OP_WITHIN,  /* with deadline(n ms) … */
    OP_LEAVE,   /* … to here */
    OP_CHANNEL, /* the root makes its first channel (of ints) and its second (of strings), both with room for n */
    OP_SEND,    /* n, or text, to them */
    OP_RECV,    /* from the first, or the second when there is a text; said */
    OP_CLOSE,   /* likewise */
    OP_LOCK,    /* with semaphore(text, n) …; n 0: lock(text) */
    OP_UNLOCK,  /* … to here */
    OP_SIGNAL,  /* waits for signal text, a string; said */
    OP_TEXT,    /* yield ask("…"): any text; said */
    OP_FAIL,    /* fail ToolError */
    OP_CATCH,   /* an error above this place goes on here */
    OP_FINALLY, /* what follows runs in every case, then … */
    OP_DONE,    /* … the end that was pending goes on */
} OpKind;

typedef struct Script Script;
typedef struct Op {
    OpKind kind;
    int64_t n;
    const char *text; /* WORK, ONCE, CALL: undo { print(text …); yield work(…) } */
    const Script *script;
    int64_t retry, backoff_ms, timeout_ms; /* 0: none */
} Op;

struct Script {
    TfyWorkflow workflow; /* first: found again from a frame */
    const Op *ops;
};

typedef struct Frame {
    TfyFrame head;
    TfyObj *step;   /* the error a finally holds */
    TfyObj *bodies; /* of the group that is open */
    TfyObj *raised; /* the error that waits for the bodies' end */
    int64_t at, handle, round, attempt, scope;
    int64_t locked;   /* 1 + the op that locked; 0: nothing is */
    int64_t cleaning; /* in a finally; 2: its end was an error */
} Frame;

static const TfyLive frame_live[] = {{0, &tfy_type_any_error, NULL}, {1, &tfy_type_handles, NULL},
                                     {2, &tfy_type_any_error, NULL}, {3, &tfy_type_int, NULL},
                                     {4, &tfy_type_int, NULL},       {5, &tfy_type_int, NULL},
                                     {6, &tfy_type_int, NULL},       {7, &tfy_type_int, NULL},
                                     {8, &tfy_type_int, NULL},       {9, &tfy_type_int, NULL}};
#define POINT(Name, Number, Kind)                                                                                      \
    static const TfyPoint Name = {                                                                                     \
        .id = #Name, .number = Number, .line = Number, .kind = Kind, .live = frame_live, .live_count = 10}
POINT(point_say, 1, TFY_POINT_MARK);
POINT(point_now, 2, TFY_POINT_MARK);
POINT(point_yield, 3, TFY_POINT_YIELD);
POINT(point_spin, 4, TFY_POINT_FUEL);
POINT(point_sleep, 5, TFY_POINT_EFFECT);
POINT(point_work, 6, TFY_POINT_EFFECT);
POINT(point_once, 7, TFY_POINT_EFFECT);
POINT(point_ask, 8, TFY_POINT_EFFECT);
POINT(point_spawn, 9, TFY_POINT_MARK);
POINT(point_join, 10, TFY_POINT_EFFECT);
POINT(point_call, 11, TFY_POINT_CALL);
POINT(point_again, 12, TFY_POINT_EFFECT);
POINT(point_kill, 13, TFY_POINT_MARK);
POINT(point_body, 14, TFY_POINT_MARK);
POINT(point_group, 15, TFY_POINT_EFFECT);
POINT(point_detach, 16, TFY_POINT_MARK);
POINT(point_undo, 17, TFY_POINT_UNDO);
POINT(point_deadline, 18, TFY_POINT_MARK);
POINT(point_channel, 19, TFY_POINT_EFFECT);
POINT(point_lock, 20, TFY_POINT_EFFECT);
POINT(point_signal, 21, TFY_POINT_EFFECT);

static const TfyField work_params[] = {{"n", &tfy_type_int, NULL, NULL}};
static const TfyTool work = {.name = "work",
                             .family = TFY_F_EXTERN,
                             .repeat = TFY_PURE,
                             .params = work_params,
                             .param_count = 1,
                             .result = &tfy_type_string};
static const TfyTool burn = {.name = "burn",
                             .family = TFY_F_EXTERN,
                             .repeat = TFY_ONCE,
                             .params = work_params,
                             .param_count = 1,
                             .result = &tfy_type_string};
static const TfyTool narrow = {.name = "narrow",
                               .family = TFY_F_EXTERN,
                               .repeat = TFY_PURE,
                               .params = work_params,
                               .param_count = 1,
                               .result = &tfy_type_string,
                               .limit = 1,
                               .rate = 3,
                               .rate_ms = 100};
static const TfyTool dear = {.name = "dear",
                             .family = TFY_F_EXTERN,
                             .repeat = TFY_ONCE,
                             .params = work_params,
                             .param_count = 1,
                             .result = &tfy_type_string,
                             .limit = 1};
static const TfyType type_channel = {.kind = TFY_CHANNEL, .scalar = true, .name = "channel", .elem = &tfy_type_int};
static const TfyType type_optional_int = {.kind = TFY_OPTIONAL, .name = "int?", .elem = &tfy_type_int};
static const TfyField send_int_params[] = {{"channel", &type_channel, NULL, NULL},
                                           {"value", &tfy_type_int, NULL, NULL}};
static const TfyField send_text_params[] = {{"channel", &type_channel, NULL, NULL},
                                            {"value", &tfy_type_string, NULL, NULL}};
static const TfyTool send_int = {.name = "send",
                                 .family = TFY_F_SEND,
                                 .repeat = TFY_PURE,
                                 .params = send_int_params,
                                 .param_count = 2,
                                 .result = &tfy_type_nothing};
static const TfyTool send_text = {.name = "send",
                                  .family = TFY_F_SEND,
                                  .repeat = TFY_PURE,
                                  .params = send_text_params,
                                  .param_count = 2,
                                  .result = &tfy_type_nothing};
static const TfyTool recv_int = {.name = "recv",
                                 .family = TFY_F_RECV,
                                 .repeat = TFY_PURE,
                                 .params = send_int_params,
                                 .param_count = 1,
                                 .result = &type_optional_int};
static const TfyTool recv_text = {.name = "recv",
                                  .family = TFY_F_RECV,
                                  .repeat = TFY_PURE,
                                  .params = send_text_params,
                                  .param_count = 1,
                                  .result = &tfy_type_optional_string};
static const TfyField case_fields[] = {{"text", &tfy_type_string, NULL, NULL}};
static const TfyCase winner_cases[] = {
    {"a", case_fields, 1, NULL, NULL}, {"b", case_fields, 1, NULL, NULL}, {"c", case_fields, 1, NULL, NULL}};
static const TfyType type_winner = {.kind = TFY_ENUM, .name = "Winner", .cases = winner_cases, .case_count = 3};
static const TfySite site_sleep = {&point_sleep, &tfy_effect_sleep, &tfy_type_nothing, NULL, NULL},
                     site_work = {&point_work, &work, &tfy_type_string, NULL, NULL},
                     site_once = {&point_once, &burn, &tfy_type_string, NULL, NULL},
                     site_narrow = {&point_work, &narrow, &tfy_type_string, NULL, NULL},
                     site_dear = {&point_once, &dear, &tfy_type_string, NULL, NULL},
                     site_ask = {&point_ask, &tfy_effect_approve, &tfy_type_bool, NULL, NULL},
                     site_join = {&point_join, &tfy_effect_join, &tfy_type_string, NULL, NULL},
                     site_send_int = {&point_channel, &send_int, &tfy_type_nothing, NULL, NULL},
                     site_send_text = {&point_channel, &send_text, &tfy_type_nothing, NULL, NULL},
                     site_recv_int = {&point_channel, &recv_int, &type_optional_int, NULL, NULL},
                     site_recv_text = {&point_channel, &recv_text, &tfy_type_optional_string, NULL, NULL},
                     site_lock = {&point_lock, &tfy_effect_lock, &tfy_type_nothing, NULL, NULL},
                     site_signal = {&point_signal, &tfy_effect_signal, &tfy_type_string, NULL, NULL},
                     site_text = {&point_ask, &tfy_effect_ask, &tfy_type_string, NULL, NULL},
                     site_again = {&point_again, NULL, &tfy_type_string, NULL, NULL},
                     site_room = {&point_group, &tfy_effect_room, &tfy_type_bool, NULL, NULL},
                     site_all = {&point_group, &tfy_effect_parallel, &tfy_type_list_string, NULL, NULL},
                     site_race = {&point_group, &tfy_effect_race, &type_winner, NULL, NULL},
                     site_abandon = {&point_group, &tfy_effect_abandon, &tfy_type_nothing, NULL, NULL};
enum {
    PC_YIELD = 1,
    PC_SPIN,
    PC_SLEEP,
    PC_WORK,
    PC_ONCE,
    PC_ASK,
    PC_JOIN,
    PC_CALL,
    PC_AGAIN,
    PC_ROOM,
    PC_ALL,
    PC_RACE,
    PC_ABANDON,
    PC_UNDO,
    PC_SEND,
    PC_RECV,
    PC_LOCK,
    PC_SIGNAL,
    PC_TEXT
};
static const TfyPoint *const resume_points[] = {
    &point_yield,   &point_spin,    &point_sleep, &point_work,   &point_once,  &point_ask,   &point_join,
    &point_call,    &point_again,   &point_group, &point_group,  &point_group, &point_group, &point_undo,
    &point_channel, &point_channel, &point_lock,  &point_signal, &point_ask};

/* What undoes a step: says so with the step's answer, then works. One whose text begins with '!' fails. */
typedef struct UndoFrame {
    TfyFrame head;
    TfyObj *text, *answer;
} UndoFrame;

static TfyStatus undoer_run(TfyTask *t, void *place)
{
    UndoFrame *F = place;
    if (!F->head.pc) {
        TfyObj *parts[3] = {F->text, tfy_string_of(t, " of ", 4), F->answer ? F->answer : tfy_string_of(t, "?", 1)};
        TfyObj *text = parts[1] && parts[2] ? tfy_concat(t, 1, 3, parts) : NULL;
        bool ok = text && tfy_print(t, &point_say, text);
        tfy_cut(t, 0);
        int64_t n = *((TfyString *)F->text)->bytes == '!' ? -10 : 10;
        if (ok) {
            F->head.pc = 1;
            return tfy_perform(t, &site_work, (TfyValue[]){tfy_of_int(n)}, NULL);
        }
    } else if (!t->error) {
        tfy_discard(t, &tfy_type_string);
    }
    tfy_clear(t, &F->text);
    tfy_clear(t, &F->answer);
    return t->error || !F->head.pc ? (t->error ? TFY_RETURN : TFY_STOP) : TFY_RETURN;
}

static const TfyField undoer_params[] = {{"text", &tfy_type_string, NULL, NULL},
                                         {"answer", &tfy_type_optional_string, NULL, NULL}};
static const TfyLive undoer_live[] = {{0, &tfy_type_string, NULL}, {1, &tfy_type_optional_string, NULL}};
static const TfyPoint undoer_point = {
    .id = "point_work", .number = 6, .line = 6, .kind = TFY_POINT_EFFECT, .live = undoer_live, .live_count = 2};
static const TfyPoint *const undoer_points[] = {&undoer_point};
static const TfyWorkflow undoer = {.name = "undoer",
                                   .run = undoer_run,
                                   .frame_size = sizeof(UndoFrame),
                                   .params = undoer_params,
                                   .param_count = 2,
                                   .result = &tfy_type_nothing,
                                   .resume = undoer_points,
                                   .resume_count = 1,
                                   .line = 1};

static bool with_undo(TfyTask *t, const Op *op)
{
    if (!op->text) return true;
    TfyObj *text = tfy_string_of(t, op->text, strlen(op->text));
    return text && tfy_undo_push(t, &point_work, &undoer, (TfyValue[]){tfy_of_obj(text), {.o = NULL}});
}

static bool text_answer(const Frame *frame)
{
    return frame->head.pc == PC_WORK || frame->head.pc == PC_ONCE || frame->head.pc == PC_JOIN ||
           frame->head.pc == PC_CALL;
}

/* The number of a channel the root made: 1 of ints, 2 of strings. */
static int64_t channel_number(const TfyTask *t, const Op *op)
{
    return tfy__task_handle(rest_of(t)->run->root) << 20 | (op->text ? 2 : 1);
}

static bool say_received(TfyTask *t, const Op *op)
{
    TfyObj *got = t->result.o, *text = NULL;
    char words[40] = "closed";
    if (got && op->text) snprintf(words, sizeof words, "got %s", ((TfyString *)got)->bytes);
    if (got && !op->text) snprintf(words, sizeof words, "got %d", (int)tfy_unbox(got).i);
    tfy_discard(t, op->text ? &tfy_type_optional_string : &type_optional_int);
    text = tfy_string_of(t, words, strlen(words));
    return text && tfy_print(t, &point_say, text);
}

static bool unlock(TfyTask *t, Frame *frame, const Op *ops)
{
    if (!frame->locked) return true;
    const char *name = ops[frame->locked - 1].text;
    frame->locked = 0;
    TfyObj *error = tfy_take_error(t), *text = tfy_string_of(t, name, strlen(name));
    bool ok = text && tfy_unlock(t, &point_lock, text);
    if (error) tfy_put_error(t, error);
    return ok;
}

static void leave(TfyTask *t, Frame *frame)
{
    if (frame->scope) tfy_deadline_end(t, 1, frame->scope);
    frame->scope = 0;
}

/* Where an error goes: behind the next catch that takes it or the next finally; false: out of the frame. */
static bool land(TfyTask *t, Frame *frame, const Op *ops)
{
    tfy_cut(t, 0);
    tfy_clear(t, &frame->step);
    tfy_clear(t, &frame->bodies);
    tfy_clear(t, &frame->raised);
    if (frame->cleaning) frame->head.mask--;
    frame->cleaning = frame->attempt = frame->round = 0;
    if (!t->error) return false;
    for (int64_t at = frame->at + 1; ops[at - 1].kind != OP_END; at++) {
        if ((ops[at].kind == OP_UNLOCK || ops[at].kind == OP_END) && !unlock(t, frame, ops)) return false;
        if (ops[at].kind == OP_LEAVE || ops[at].kind == OP_END) leave(t, frame);
        if (ops[at].kind == OP_CATCH && tfy_catchable(t)) {
            tfy_drop(t, tfy_take_error(t));
            frame->at = at + 1;
            return true;
        }
        if (ops[at].kind == OP_FINALLY) {
            frame->step = tfy_take_error(t);
            frame->cleaning = 2;
            frame->head.mask++;
            frame->at = at + 1;
            return true;
        }
    }
    return false;
}

static TfyStatus perform(TfyTask *t, Frame *frame, const Op *op, uint32_t pc, const TfySite *site, TfyValue a)
{
    TfyPolicy policy = {
        .retry = op->retry, .backoff_ms = op->backoff_ms, .timeout_ms = op->timeout_ms ? op->timeout_ms : TFY_NEVER};
    frame->head.pc = pc;
    return tfy_perform(t, site, (TfyValue[]){a, {.o = NULL}}, &policy);
}

static TfyStatus script_run(TfyTask *t, void *place)
{
    Frame *F = place;
    const Op *ops = ((const Script *)F->head.workflow)->ops;
    TfyObj *text;
    if (F->head.pc == PC_ABANDON) {
        F->head.mask--;
        tfy_clear(t, &F->bodies);
        if (F->raised) tfy_put_error(t, F->raised);
        F->raised = NULL;
        if (t->error) goto fail;
        F->at++;
        goto step;
    }
    if (F->head.pc == PC_UNDO) {
        if (t->error && !tfy_undo_lost(t, &point_undo)) {
            tfy_clear(t, &F->raised);
            goto fail;
        }
        if (tfy_undo_height(t)) return tfy_undo(t, &point_undo);
        F->head.mask--;
        tfy_put_error(t, F->raised);
        F->raised = NULL;
        goto fail;
    }
    if (F->head.pc == PC_AGAIN) {
        if (t->error) goto fail;
        goto step;
    }
    if (F->head.pc == PC_SPIN) {
        if (t->error) goto fail;
        goto step;
    }
    if (F->head.pc) {
        if (t->error && F->head.pc == PC_CALL && F->attempt < ops[F->at].retry && tfy_retriable(t)) {
            F->head.pc = PC_AGAIN;
            return tfy_backoff(t, &site_again, ++F->attempt, ops[F->at].backoff_ms);
        }
        if (ops[F->at].text && text_answer(F) && F->head.pc != PC_JOIN) {
            if (t->error)
                tfy_undo_failed(t);
            else
                tfy_undo_done(t, t->result.o);
        }
        if (t->error) goto fail;
        if (F->head.pc == PC_ROOM && !tfy_take(t).b)
            return perform(t, F, &ops[F->at], PC_ALL, &site_all, tfy_of_obj(F->bodies));
        if (text_answer(F)) tfy_discard(t, &tfy_type_string);
        if (F->head.pc == PC_ALL) {
            assert_int_equal(tfy_list_len(t->result.o), F->bodies ? tfy_list_len(F->bodies) : 0);
            tfy_discard(t, &tfy_type_list_string);
            tfy_clear(t, &F->bodies);
        }
        if (F->head.pc == PC_RECV && !say_received(t, &ops[F->at])) goto fail;
        if (F->head.pc == PC_SIGNAL || F->head.pc == PC_TEXT) {
            text = tfy_concat(t, 1, 1, &t->result.o);
            tfy_discard(t, &tfy_type_string);
            if (!text || !tfy_print(t, &point_say, text)) goto fail;
        }
        if (F->head.pc == PC_LOCK) F->locked = F->at + 1;
        if (F->head.pc == PC_RACE) {
            text = tfy_string_of(t, winner_cases[tfy_tag(t->result.o)].name, 1);
            if (text) text = tfy_concat(t, 1, 2, (TfyObj *[]){text, tfy_field(t->result.o, 0).o});
            tfy_discard(t, &type_winner);
            if (!text || !tfy_print(t, &point_say, text)) goto fail;
            goto abandon;
        }
        F->at++;
        F->attempt = 0;
    }
step:
    for (;;) {
        const Op *op = &ops[F->at];
        switch (op->kind) {
        case OP_END:
            if (!(text = tfy_string_of(t, "the end", 7))) goto fail;
            t->result.o = tfy_keep(text);
            goto end;
        case OP_SAY:
            if (!(text = tfy_string_of(t, op->text, strlen(op->text))) || !tfy_print(t, &point_say, text)) goto fail;
            break;
        case OP_NOW: {
            int64_t now;
            if (!tfy_now(t, &point_now, &now)) goto fail;
            break;
        }
        case OP_YIELD: F->head.pc = PC_YIELD; return TFY_YIELD;
        case OP_SPIN:
            for (; F->round < op->n; F->round++) {
                if (!tfy_spend(t)) continue;
                F->round++;
                F->head.pc = PC_SPIN;
                return TFY_SPENT;
            }
            F->round = 0;
            break;
        case OP_SLEEP: return perform(t, F, op, PC_SLEEP, &site_sleep, tfy_of_int(op->n));
        case OP_WORK:
            if (!with_undo(t, op)) goto fail;
            return perform(t, F, op, PC_WORK, &site_work, tfy_of_int(op->n));
        case OP_ONCE:
            if (!with_undo(t, op)) goto fail;
            return perform(t, F, op, PC_ONCE, &site_once, tfy_of_int(op->n));
        case OP_NARROW:
            if (!with_undo(t, op)) goto fail;
            return perform(t, F, op, PC_WORK, &site_narrow, tfy_of_int(op->n));
        case OP_DEAR:
            if (!with_undo(t, op)) goto fail;
            return perform(t, F, op, PC_ONCE, &site_dear, tfy_of_int(op->n));
        case OP_ASK:
            if (!(text = tfy_string_of(t, "well?", 5))) goto fail;
            return perform(t, F, op, PC_ASK, &site_ask, tfy_of_obj(text));
        case OP_SPAWN:
            for (int64_t i = 0; i < (op->n ? op->n : 1); i++)
                if (!tfy_spawn(t, &point_spawn, &op->script->workflow, NULL, &F->handle)) goto fail;
            break;
        case OP_AFTER: {
            const TfyValue after = tfy_of_int(F->handle);
            if (!tfy_spawn_with(t, &point_spawn, &op->script->workflow, NULL, op->n, &after, F->handle != 0, false,
                                &F->handle))
                goto fail;
            break;
        }
        case OP_JOIN: return perform(t, F, op, PC_JOIN, &site_join, tfy_of_int(F->handle));
        case OP_CALL: {
            if (!F->attempt && !with_undo(t, op)) goto fail;
            tfy_cut(t, 0);
            F->head.pc = PC_CALL;
            if (tfy_push(t, &op->script->workflow, &point_call, op->timeout_ms ? op->timeout_ms : TFY_NEVER))
                return TFY_CALL;
            F = tfy_frame(t);
            if (op->text) tfy_undo_failed(t);
            goto fail;
        }
        case OP_KILL:
            if (!tfy_kill_task(t, &point_kill, op->n ? op->n : F->handle)) goto fail;
            break;
        case OP_BODY:
            if (!tfy_branch(t, &point_body, &op->script->workflow, NULL, &F->bodies)) goto fail;
            break;
        case OP_ROOM: {
            F->head.pc = PC_ROOM;
            return tfy_perform(t, &site_room, (TfyValue[]){tfy_of_obj(F->bodies), tfy_of_int(op->n)}, NULL);
        }
        case OP_ALL: return perform(t, F, op, PC_ALL, &site_all, tfy_of_obj(F->bodies));
        case OP_RACE: return perform(t, F, op, PC_RACE, &site_race, tfy_of_obj(F->bodies));
        case OP_DETACH:
            if (!tfy_spawn_detached(t, &point_detach, &op->script->workflow, NULL, &F->handle)) goto fail;
            break;
        case OP_WITHIN:
            if (!tfy_deadline_begin(t, &point_deadline, op->n, &F->scope)) goto fail;
            break;
        case OP_LEAVE: leave(t, F); break;
        case OP_CHANNEL: {
            int64_t made;
            if (!tfy_channel(t, 1, op->n, &made) || !tfy_channel(t, 1, op->n, &made)) goto fail;
            assert_int_equal(made, channel_number(t, &(Op){.text = ""}));
            break;
        }
        case OP_SEND: {
            TfyPolicy policy = {.timeout_ms = op->timeout_ms ? op->timeout_ms : TFY_NEVER};
            TfyValue value = tfy_of_int(op->n);
            if (op->text && !(value.o = tfy_string_of(t, op->text, strlen(op->text)))) goto fail;
            F->head.pc = PC_SEND;
            return tfy_perform(t, op->text ? &site_send_text : &site_send_int,
                               (TfyValue[]){tfy_of_int(channel_number(t, op)), value}, &policy);
        }
        case OP_RECV:
            return perform(t, F, op, PC_RECV, op->text ? &site_recv_text : &site_recv_int,
                           tfy_of_int(channel_number(t, op)));
        case OP_CLOSE:
            if (!tfy_channel_close(t, &point_channel, channel_number(t, op))) goto fail;
            break;
        case OP_LOCK: {
            TfyPolicy policy = {.timeout_ms = op->timeout_ms ? op->timeout_ms : TFY_NEVER};
            if (!(text = tfy_string_of(t, op->text, strlen(op->text)))) goto fail;
            F->head.pc = PC_LOCK;
            return tfy_perform(t, &site_lock, (TfyValue[]){tfy_of_obj(text), tfy_of_int(op->n ? op->n : 1)}, &policy);
        }
        case OP_SIGNAL:
            if (!(text = tfy_string_of(t, op->text, strlen(op->text)))) goto fail;
            return perform(t, F, op, PC_SIGNAL, &site_signal, tfy_of_obj(text));
        case OP_TEXT:
            if (!(text = tfy_string_of(t, "who?", 4))) goto fail;
            return perform(t, F, op, PC_TEXT, &site_text, tfy_of_obj(text));
        case OP_UNLOCK:
            if (!unlock(t, F, ops)) goto fail;
            break;
        case OP_FAIL:
            if ((text = tfy_string_of(t, "as told", 7)))
                tfy_fail(t, &tfy_type_tool_error, 1, (TfyValue[]){{.o = text}, {.o = text}, {.i = 1}});
            goto fail;
        case OP_CATCH: break;
        case OP_FINALLY:
            F->cleaning = 1;
            F->head.mask++;
            break;
        case OP_DONE:
            F->head.mask--;
            F->cleaning = 0;
            if (!F->step) break;
            tfy_put_error(t, F->step);
            F->step = NULL;
            goto fail;
        }
        tfy_cut(t, 0);
        F->at++;
    }
fail:
    if (t->error && F->bodies) {
        F->raised = tfy_take_error(t);
    abandon:
        tfy_cut(t, 0);
        F->head.mask++;
        F->head.pc = PC_ABANDON;
        return tfy_perform(t, &site_abandon, (TfyValue[]){tfy_of_obj(F->bodies)}, NULL);
    }
    if (t->error && tfy_undo_height(t)) {
        tfy_cut(t, 0);
        F->raised = tfy_take_error(t);
        F->head.mask++;
        F->head.pc = PC_UNDO;
        return tfy_undo(t, &point_undo);
    }
    if (land(t, F, ops)) goto step;
    if (!t->error) return TFY_STOP;
end:
    tfy_cut(t, 0);
    return TFY_RETURN;
}

#define SCRIPT(Name, ...)                                                                                              \
    static const Op Name##_ops[] = {__VA_ARGS__, {.kind = OP_END}};                                                    \
    static const Script Name = {.workflow = {.name = #Name,                                                            \
                                             .run = script_run,                                                        \
                                             .frame_size = sizeof(Frame),                                              \
                                             .result = &tfy_type_string,                                               \
                                             .resume = resume_points,                                                  \
                                             .resume_count = sizeof resume_points / sizeof *resume_points,             \
                                             .line = 1},                                                               \
                                .ops = Name##_ops}
#define SAY(Text)                                                                                                      \
    {                                                                                                                  \
        .kind = OP_SAY, .text = Text                                                                                   \
    }
#define DO(Kind, ...)                                                                                                  \
    {                                                                                                                  \
        .kind = OP_##Kind, __VA_ARGS__                                                                                 \
    }
#define CALL(Script, ...)                                                                                              \
    {                                                                                                                  \
        .kind = OP_CALL, .script = &Script, __VA_ARGS__                                                                \
    }
#define BODY(Script)                                                                                                   \
    {                                                                                                                  \
        .kind = OP_BODY, .script = &Script                                                                             \
    }
#define DETACH(Script)                                                                                                 \
    {                                                                                                                  \
        .kind = OP_DETACH, .script = &Script                                                                           \
    }
#define SPAWN(Script)                                                                                                  \
    {                                                                                                                  \
        .kind = OP_SPAWN, .script = &Script                                                                            \
    }

static const TfyPoint *const points[] = {
    &point_say,   &point_now,    &point_yield, &point_spin,     &point_sleep,   &point_work, &point_once,
    &point_ask,   &point_spawn,  &point_join,  &point_call,     &point_again,   &point_kill, &point_body,
    &point_group, &point_detach, &point_undo,  &point_deadline, &point_channel, &point_lock, &point_signal};

/* All scripts of a test, each as &NAME.workflow. */
#define PROGRAM(...)                                                                                                   \
    static const TfyWorkflow *const workflows[] = {__VA_ARGS__};                                                       \
    static const TfyProgram program = {.name = "script.tfy",                                                           \
                                       .source = "",                                                                   \
                                       .layout = "{}",                                                                 \
                                       .hash = {3, 4},                                                                 \
                                       .tfyc = "hand",                                                                 \
                                       .workflows = workflows,                                                         \
                                       .workflow_count = sizeof workflows / sizeof *workflows,                         \
                                       .points = points,                                                               \
                                       .point_count = sizeof points / sizeof *points,                                  \
                                       .main = 1}

/* ---- tools that take their time ---- */

typedef struct Job {
    TfyCall *call;
    uint64_t timer;
} Job;

static void finish_job(void *arg)
{
    TfyCall *call = arg;
    TfyTask *task = call->task;
    int64_t n = call->args[0].i;
    free(call->state);
    call->state = NULL;
    TfyObj *text = n < 0 ? NULL : tfy_string_of(task, "fine", 4);
    call->outcome = TFY_NOT_DONE;
    if (n < 0)
        tfy__call_tool_error(call, 1, "no luck");
    else if (text)
        tfy__call_done(call, tfy_of_obj(text));
    else
        tfy__call_panicked(call);
    tfy_cut(task, 0);
}

static void start_job(TfyCall *call)
{
    int64_t n = call->args[0].i;
    if (!n) {
        finish_job(call);
        return;
    }
    Job *job = malloc(sizeof *job);
    assert_non_null(job);
    *job = (Job){.call = call};
    call->state = job;
    job->timer = tfy__timer_add(call->loop, tfy__now_ns(call->loop) + (n < 0 ? -n : n) * 1000000, finish_job, call);
}

static void abort_job(TfyCall *call)
{
    Job *job = call->state;
    tfy__timer_del(call->loop, job->timer);
    free(job);
    call->state = NULL;
}

static const TfyPerformer jobs = {.name = "jobs", .start = start_job, .abort = abort_job};

/* ---- the bench ---- */

typedef struct Bench {
    TfyWorld *world;
    TfyLoop *loop;
} Bench;

static void open_bench(Bench *bench, const char *db, int64_t wall_ms)
{
    char error[TFY_ERROR_TEXT] = "";
    bench->world = tfy__world_virtual(wall_ms, 42);
    bench->world->performers[TFY_F_EXTERN] = &jobs;
    TfyOptions options = {.world = bench->world, .quiet = true, .db_path = db};
    if (tfy_open(&bench->loop, &program, &options, error) < 0) fail_msg("%s", error);
}

static void close_bench(Bench *bench)
{
    int64_t objects = 0;
    for (Run *run = bench->loop->runs.first; run; run = run->next)
        for (TaskRest *rest = run->tasks; rest; rest = rest->next_in_run) objects += rest->task != NULL;
    assert_int_equal(objects, 0);
    assert_int_equal(tfy_close(bench->loop), 0);
    tfy__world_free(bench->world);
}

static void start(Bench *bench, const char *workflow)
{
    char error[TFY_ERROR_TEXT] = "";
    int64_t tid = 0;
    if (tfy_submit(bench->loop, workflow, "{}", &tid, error) < 0) fail_msg("%s", error);
}

/* One turn; the virtual clock moves when nothing else can. False: nothing is left to do. */
static bool one_turn(TfyLoop *loop)
{
    if (tfy_step(loop) < 0) fail_msg("%s", tfy__failure(loop));
    if (tfy__log_sync(loop->log) < 0) { /* so that a number of turns means the same in every run */
        char error[TFY_ERROR_TEXT];
        tfy__log_error_text(loop->log, error);
        fail_msg("%s", error);
    }
    if (loop->ring_head != loop->ring_tail || loop->work.first || loop->sync.first) return true;
    int64_t next_ns = tfy__timers_next(&loop->timers);
    if (next_ns == INT64_MAX) return false;
    loop->world.jump(loop->world.state, next_ns);
    return true;
}

static void temp_db(char path[64])
{
    strcpy(path, access("/dev/shm", W_OK) == 0 ? "/dev/shm/tfy-cancel-XXXXXX" : "/tmp/tfy-cancel-XXXXXX");
    assert_non_null(mkdtemp(path));
    strcat(path, "/runs.db");
}

static void remove_db(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-tfy"};
    char name[96];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
    snprintf(name, sizeof name, "%.*s", (int)(strlen(path) - 8), path);
    assert_int_equal(rmdir(name), 0);
}

/* The newest run of a log, replayed to its end. */
static void check_history(TfyLog *log, const char *what)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyHistory *history = NULL;
    if (tfy__history_read(log, "last", &history, error) < 0) fail_msg("%s: %s", what, error);
    TfyReplayReport report;
    TfyOptions quiet = {.quiet = true};
    if (tfy__replay(&program, history, &quiet, &report) < 0) fail_msg("%s: replay: %s", what, report.text);
    if (!report.finished) fail_msg("%s: replay does not come to the end", what);
    tfy__history_free(history);
}

/* The same by another process, later. */
static void check_replay(const char *db, const char *what)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyLog *log;
    TfyLogOptions options = {.path = db, .read_only = true};
    if (tfy__log_open(&log, &options, error) < 0) fail_msg("%s: %s", what, error);
    check_history(log, what);
    tfy__log_close(log, false);
}

/* What is done to a run, and when. turn 0: never. */
typedef struct Trouble {
    const char *workflow;
    int kill_turn, force_turn, crash_turn, signal_turn;
    const char *path; /* whom the kills mean */
} Trouble;

TFY__UNUSED static void arrive(TfyLoop *loop, const char *path, bool force)
{
    char error[TFY_ERROR_TEXT] = "";
    int code = tfy__arrive_kill(loop, "last", path, force, "test", error);
    if (code < 0 && code != TFY_E_STATE && code != TFY_E_ABSENT) fail_msg("kill: %s", error);
}

/* Answers the number of turns taken until the end, or until the crash. */
static int run_turns(Bench *bench, const Trouble *trouble)
{
    for (int turn = 1; turn < 5000; turn++) {
        if (turn == trouble->kill_turn) arrive(bench->loop, trouble->path, false);
        if (turn == trouble->force_turn) arrive(bench->loop, trouble->path, true);
        if (turn == trouble->signal_turn) {
            char error[TFY_ERROR_TEXT] = "";
            int code = tfy__arrive_signal(bench->loop, "last", "go", "\"went\"", NULL, "test", error);
            if (code < 0 && code != TFY_E_STATE) fail_msg("signal: %s", error);
        }
        if (turn == trouble->crash_turn) return turn;
        if (!one_turn(bench->loop)) return turn;
    }
    fail_msg("%s does not end", trouble->workflow);
    return 0;
}

/* Steps in doubt are said to have failed. */
static void run_to_the_end(Bench *bench)
{
    char error[TFY_ERROR_TEXT] = "";
    for (int turn = 0; turn < 5000; turn++) {
        if (one_turn(bench->loop)) continue;
        if (tfy__arrive_resolve(bench->loop, "last", NULL, 0, "fail", NULL, "test", error) == 0) continue;
        return;
    }
    fail_msg("a run does not end");
}

/* Crashes share a database, six at a time: to make one takes longer than all that is done to it, and a crash in one that has seen many has a
 * long -wal file to read. Each has a run of its own, an hour later than the one before. */
static struct {
    char path[64];
    int64_t wall_ms;
    int crashes;
} crash_site = {.wall_ms = 1700000000000};

static void remove_crash_site(void)
{
    if (*crash_site.path) remove_db(crash_site.path);
    *crash_site.path = '\0';
}

static void next_crash(void)
{
    static bool at_exit;
    if (!at_exit) assert_int_equal(atexit(remove_crash_site), 0);
    at_exit = true;
    if (crash_site.crashes++ % 6 == 0) {
        remove_crash_site();
        temp_db(crash_site.path);
    }
    crash_site.wall_ms += 3600000;
}

/* Leaves the database as a killed process would. False: the run had ended before. */
static bool crash(const Trouble *trouble)
{
    next_crash();
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        Bench bench = {0};
        open_bench(&bench, crash_site.path, crash_site.wall_ms);
        start(&bench, trouble->workflow);
        run_turns(&bench, trouble);
        _exit(bench.loop->runs_live ? 1 : 2);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || !WEXITSTATUS(status)) fail_msg("%s: the child died", trouble->workflow);
    return WEXITSTATUS(status) == 1;
}

static void say_trouble(const Trouble *trouble, char text[200])
{
    snprintf(text, 200, "%s, kill %s at %d, force at %d, signal at %d, crash at %d", trouble->workflow,
             trouble->path ? trouble->path : "1", trouble->kill_turn, trouble->force_turn, trouble->signal_turn,
             trouble->crash_turn);
}

/* Answers false when the crash came after the end. */
TFY__UNUSED static bool survive(const Trouble *trouble)
{
    char what[200], error[TFY_ERROR_TEXT] = "";
    bool unfinished = true, nothing = false;
    say_trouble(trouble, what);
    Bench bench = {0};
    if (trouble->crash_turn) {
        unfinished = crash(trouble);
        open_bench(&bench, crash_site.path, crash_site.wall_ms + trouble->crash_turn % 3 * 200);
        int code = tfy__resume(bench.loop, "last", error);
        if (code < 0 && code != TFY_E_STATE && code != TFY_E_ABSENT) fail_msg("%s: %s", what, error);
        nothing = code == TFY_E_ABSENT; /* not even its beginning was durable */
        if (code == 0) run_to_the_end(&bench);
    } else {
        open_bench(&bench, NULL, crash_site.wall_ms);
        start(&bench, trouble->workflow);
        run_turns(&bench, trouble);
    }
    if (bench.loop->runs_live) fail_msg("%s: it hangs", what);
    assert_int_equal(tfy__log_sync(bench.loop->log), 0);
    if (!nothing) check_history(bench.loop->log, what);
    close_bench(&bench);
    return unfinished;
}

TFY__UNUSED static int turns_of(const char *workflow)
{
    Bench bench = {0};
    open_bench(&bench, NULL, 1700000000000);
    start(&bench, workflow);
    int turns = run_turns(&bench, &(Trouble){.workflow = workflow});
    close_bench(&bench);
    return turns;
}

/* Sanitizers make a process that is forked and killed ten times as slow: a fifth of the turns has to do. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TURN_STRIDE 5
#endif
#endif
#ifndef TURN_STRIDE
#define TURN_STRIDE 1
#endif

TFY__UNUSED static void at_every_turn(const char *workflow)
{
    int turns = turns_of(workflow);
    for (int turn = 1; turn < turns; turn += TURN_STRIDE) {
        survive(&(Trouble){.workflow = workflow, .kill_turn = turn});
        survive(&(Trouble){.workflow = workflow, .kill_turn = turn, .force_turn = turn + 2});
        survive(&(Trouble){.workflow = workflow, .force_turn = turn});
        survive(&(Trouble){.workflow = workflow, .kill_turn = turn, .path = "1.1"});
        survive(&(Trouble){.workflow = workflow, .crash_turn = turn});
        for (int later = 1; later < 6; later += 2)
            survive(&(Trouble){.workflow = workflow, .kill_turn = turn, .crash_turn = turn + later});
        survive(&(Trouble){.workflow = workflow, .force_turn = turn, .crash_turn = turn + 1});
        survive(&(Trouble){.workflow = workflow, .kill_turn = turn, .path = "1.1", .crash_turn = turn + 1});
    }
    if (turns > 1) check_replay(crash_site.path, workflow);
}

#define AT_EVERY_TURN(Name)                                                                                            \
    static void test_##Name(void **state)                                                                              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        at_every_turn(#Name);                                                                                          \
    }
TFY__UNUSED static void collect(void *state, const char *text, size_t len)
{
    strncat(state, text, len);
}

/* A bench at time 0 whose output is collected in said, which is empty. */
TFY__UNUSED static void open_collecting(Bench *bench, char said[400])
{
    char error[TFY_ERROR_TEXT] = "";
    bench->world = tfy_world_virtual(0, 42);
    bench->world->performers[TFY_F_EXTERN] = &jobs;
    TfyOptions options = {.world = bench->world, .on_output = collect, .state = said};
    if (tfy_open(&bench->loop, &program, &options, error) < 0) fail_msg("%s", error);
}

/* Runs a workflow with a kill after some milliseconds and perhaps a --force later; answers what it said, and when it ended. */
TFY__UNUSED static int64_t said_when_killed(const char *workflow, int kill_ms, int force_ms, char said[400])
{
    Bench bench = {0};
    said[0] = '\0';
    open_collecting(&bench, said);
    start(&bench, workflow);
    for (int ms = 0; ms < 20000 && bench.loop->runs_live; ms++) {
        if (ms == kill_ms) arrive(bench.loop, NULL, false);
        if (ms == force_ms) arrive(bench.loop, NULL, true);
        bench.world->jump(bench.world->state, (int64_t)ms * 1000000);
        do {
            if (tfy_step(bench.loop) < 0) fail_msg("%s", tfy__failure(bench.loop));
            assert_int_equal(tfy__log_sync(bench.loop->log), 0);
        } while (bench.loop->ring_head != bench.loop->ring_tail || bench.loop->work.first || bench.loop->sync.first);
    }
    tfy_step(bench.loop);
    int64_t end_ms = bench.world->wall_ms(bench.world->state);
    close_bench(&bench);
    return end_ms;
}

/* ---- memory that runs out ---- */

typedef struct Scarce {
    int64_t allowed; /* allocations until one fails; every later one fails too when `lasting` */
    bool lasting;
    int64_t in_use; /* bytes */
} Scarce;

static Scarce scarce;

static void *scarce_alloc(void *state, void *old, size_t old_size, size_t new_size)
{
    (void)state;
    if (new_size && (scarce.allowed == 0 || (scarce.allowed < 0 && scarce.lasting))) {
        scarce.allowed = -1;
        return NULL;
    }
    if (new_size && scarce.allowed > 0) scarce.allowed--;
    scarce.in_use += (int64_t)new_size - (int64_t)old_size;
    if (new_size) return realloc(old, new_size);
    free(old);
    return NULL;
}

/* Each allocation of the heap fails once, alone or with all behind it: the task panics or the loop stops with a code; it never hangs,
 * crashes or leaks. */
TFY__UNUSED static void run_out_of_memory(const char *workflow, bool lasting)
{
    for (int64_t allowed = 1; allowed < 4000; allowed++) {
        Bench bench = {0};
        char error[TFY_ERROR_TEXT] = "";
        int64_t tid = 0;
        scarce = (Scarce){.allowed = allowed, .lasting = lasting};
        bench.world = tfy__world_virtual(1700000000000, 42);
        bench.world->performers[TFY_F_EXTERN] = &jobs;
        bench.world->alloc = scarce_alloc;
        TfyOptions options = {.world = bench.world, .quiet = true};
        bool opened = tfy_open(&bench.loop, &program, &options, error) == 0;
        if (opened && tfy_submit(bench.loop, workflow, "{}", &tid, error) == 0) {
            int turn = 0;
            while (!bench.loop->failure && bench.loop->runs_live && turn < 3000) {
                turn++;
                tfy_step(bench.loop);
                if (bench.loop->failure) break;
                tfy__log_sync(bench.loop->log);
                if (bench.loop->ring_head != bench.loop->ring_tail || bench.loop->work.first || bench.loop->sync.first)
                    continue;
                int64_t next_ns = tfy__timers_next(&bench.loop->timers);
                if (next_ns == INT64_MAX) break;
                bench.loop->world.jump(bench.loop->world.state, next_ns);
            }
            if (!bench.loop->failure && bench.loop->runs_live)
                fail_msg("%s hangs when allocation %lld fails", workflow, (long long)allowed);
        }
        bool failed = scarce.allowed < 0;
        if (opened) tfy_close(bench.loop);
        tfy_world_free(bench.world);
        if (scarce.in_use)
            fail_msg("%s leaks %lld bytes when allocation %lld fails", workflow, (long long)scarce.in_use,
                     (long long)allowed);
        if (!failed) return;
    }
    fail_msg("%s: the end was never reached", workflow);
}

TFY__UNUSED static void run_all_out_of_memory(const char *const *workflows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        run_out_of_memory(workflows[i], false);
        run_out_of_memory(workflows[i], true);
    }
}

#endif
