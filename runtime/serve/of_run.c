/* of_run.c: see of_run.h. */
#include "serve/of_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "serve/reader.h"
#include "serve/runs.h"

typedef struct Search {
    TfyRequest *request;
    TfyRunFound *run;
    uint32_t count;
} Search;

static void note(void *arg, const TfyRunShown *shown)
{
    Search *search = arg;
    TfyRunFound *run = search->run;
    if (!tfy__may_see(&search->request->caller, shown->program, shown->workflow) || search->count++) return;
    snprintf(run->id, sizeof run->id, "%s", shown->id);
    snprintf(run->program, sizeof run->program, "%s", shown->program);
    snprintf(run->workflow, sizeof run->workflow, "%s", shown->workflow);
    snprintf(run->by, sizeof run->by, "%s", shown->by);
    run->labels = shown->labels ? json_deep_copy(shown->labels) : NULL;
    run->ended = shown->ended_ms;
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
    TfyRunFound *run = request->run = calloc(1, sizeof *request->run);
    Search search = {.request = request, .run = run};
    const size_t len = strlen(id);
    if (!run) return tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    if (len >= 4 && len <= 36 && len == strspn(id, "0123456789abcdef-"))
        (void)tfy__index_run(request->reader->index, id, note, &search);
    if (search.count == 1) return true;
    if (search.count)
        return tfy__problem(&request->problem, TFY_PROBLEM_AMBIGUOUS, "several runs start with '%.36s'", id);
    return tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND, "there is no run '%.60s'; gc may have removed it",
                        id);
}

static void pass_to_loop(TfyRequest *request)
{
    tfy__command_ask(request->server, request);
}

void tfy__of_run(TfyRequest *request)
{
    request->then = NULL;
    if (!tfy__index_awaited(request) || !tfy__run_find(request, request->names.text[0])) return;
    const TfyRunFound *run = request->run;
    const TfyAbout about = {run->program, run->workflow, run->by};
    if (tfy__may(request->server, &request->caller, request->route->role, &about, &request->problem))
        request->pass = pass_to_loop;
}
