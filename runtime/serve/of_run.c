/* of_run.c: see of_run.h. */
#include "serve/of_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "serve/reader.h"
#include "serve/runs.h"

void tfy__run_found_note(TfyRunFound *run, const TfyRunShown *shown)
{
    snprintf(run->id, sizeof run->id, "%s", shown->id);
    snprintf(run->program, sizeof run->program, "%s", shown->program);
    snprintf(run->workflow, sizeof run->workflow, "%s", shown->workflow);
    snprintf(run->by, sizeof run->by, "%s", shown->by);
    run->ended = shown->ended_ms;
}

static void note(void *arg, const TfyRunShown *shown)
{
    TfyRunFound *run = arg;
    tfy__run_found_note(run, shown);
    run->labels = shown->labels ? json_deep_copy(shown->labels) : NULL;
}

void tfy__run_found_free(TfyRunFound *run)
{
    if (!run) return;
    json_decref(run->labels);
    free(run);
}

bool tfy__run_find(TfyRequest *request, const char *id)
{
    tfy__run_found_free(request->run);
    request->run = calloc(1, sizeof *request->run);
    if (!request->run) return tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    return tfy__run_look_up(request, id, note, request->run);
}

static void pass_to_loop(TfyRequest *request)
{
    tfy__command_ask(request->server, request);
}

void tfy__of_run(TfyRequest *request)
{
    if (!tfy__index_awaited(request) || !tfy__run_find(request, request->names.text[0])) return;
    const TfyRunFound *run = request->run;
    const TfyAbout about = {run->program, run->workflow, run->by};
    if (tfy__may(request->server, &request->caller, request->route->role, &about, &request->problem))
        request->pass = pass_to_loop;
}
