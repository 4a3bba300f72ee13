/* move.c: see move.h. */
#include "serve/move.h"

#include <stdio.h>
#include <stdlib.h>

#include "serve/admin.h"
#include "serve/body.h"
#include "serve/programs.h"
#include "serve/reader.h"
#include "serve/runs.h"

enum { RUNS_MOST = 1000 };

/* A request on its way through the loop. */
typedef struct TfyMove {
    const TfyServed *to;
    char runs[RUNS_MOST][37];
    int count, at;
    json_int_t moved;
    json_t *stayed; /* [{"run", "reason"}, …]; owned */
    bool more;      /* there are others */
} TfyMove;

void tfy__move_free(TfyMove *move)
{
    if (!move) return;
    json_decref(move->stayed);
    free(move);
}

/* ---- which runs ---- */

static void note_run(void *arg, const TfyRunShown *run)
{
    TfyMove *move = arg;
    if (move->count == RUNS_MOST)
        move->more = true;
    else
        snprintf(move->runs[move->count++], sizeof move->runs[0], "%s", run->id);
}

static void note_version(void *arg, const char *program, const char *version, int64_t live)
{
    static const char *const states[] = {"running", "queued"};
    TfyRequest *request = arg;
    TfyMove *move = request->move;
    const char *from = json_string_value(json_object_get(request->json, "from"));
    TfyPlace next;
    if (strcmp(program, move->to->name) != 0 || strcmp(version, move->to->version) == 0) return;
    if (from && strcmp(version, from) != 0) return;
    for (size_t i = 0; i < 2; i++) {
        const TfyRunsWanted wanted = {
            .program = program, .version = version, .state = states[i], .limit = RUNS_MOST + 1 - (uint32_t)move->count};
        (void)request->reader->lists->runs(request->reader, &wanted, note_run, move, &next);
        move->more |= next.at != 0;
    }
}

/* ---- in the loop ---- */

static void answer(TfyRequest *request)
{
    const TfyMove *move = request->move;
    tfy__request_json(request, 200,
                      json_pack("{s:s, s:s, s:I, s:O, s:b}", "program", move->to->name, "version", move->to->version,
                                "moved", move->moved, "stayed", move->stayed, "more", move->more));
}

static void end(TfyRequest *request)
{
    const TfyMove *move = request->move;
    answer(request);
    if (!move->moved) {
        tfy__request_done(request);
        return;
    }
    json_t *value = json_pack("{s:s, s:I}", "version", move->to->hash, "moved", move->moved);
    tfy__admin_audit(request, "move", move->to->name, value, tfy__command_answer);
    json_decref(value);
}

static void move_next(TfyLoop *loop, void *arg)
{
    TfyRequest *request = arg;
    TfyMove *move = request->move;
    char error[TFY_ERROR_TEXT] = "";
    if (!tfy__command_may(loop, request)) return;
    if (move->at == move->count) {
        end(request);
        return;
    }
    const char *run = move->runs[move->at++];
    if (tfy__move_to(loop, run, move->to->program, error) == TFY_OK)
        move->moved++;
    else
        json_array_append_new(move->stayed, json_pack("{s:s, s:s}", "run", run, "reason", error));
    if (tfy__command_post(request->server, move_next, request) != TFY_OK) tfy__command_refuse(request);
}

/* ---- the route ---- */

static void pass_to_loop(TfyRequest *request)
{
    if (tfy__command_post(request->server, move_next, request) != TFY_OK) tfy__command_refuse(request);
}

void tfy__serve_move(TfyRequest *request)
{
    static const TfyMemberOf members[] = {{"from", JSON_STRING}, {NULL, JSON_NULL}};
    const TfyServed *to = tfy__served_named(request->server, request->names.text[0]);
    if (!tfy__request_known(request, (const char *const[]){NULL}) ||
        !tfy__body_fits(request->json, members, &request->problem) || !tfy__index_awaited(request))
        return;
    if (!to) {
        tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND, "there is no program '%.80s'", request->names.text[0]);
        return;
    }
    TfyMove *move = request->move = calloc(1, sizeof *move);
    if (!move || !(move->stayed = json_array())) {
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
        return;
    }
    move->to = to;
    if (request->reader->lists->live(request->reader, "", note_version, request) == TFY_OK)
        request->pass = pass_to_loop;
    else
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "the index cannot be read");
}
