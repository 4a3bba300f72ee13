/* problem.c: see problem.h. */
#include "serve/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/frame/cli.h"

typedef struct Kind {
    int status;
    const char *id, *title;
} Kind;

static const Kind kinds[] = {{200, "none", ""},
#define TFY__PROBLEM(Name, Status, Id, Title) {Status, Id, Title},
                             TFY_PROBLEMS(TFY__PROBLEM)
#undef TFY__PROBLEM
};

bool tfy__problem(TfyProblem *problem, TfyProblemKind kind, const char *format, ...)
{
    va_list args;
    if (problem->kind) return false;
    problem->kind = kind;
    va_start(args, format);
    vsnprintf(problem->detail, sizeof problem->detail, format, args);
    va_end(args);
    return false;
}

void tfy__problem_clear(TfyProblem *problem)
{
    json_decref(problem->errors);
    json_decref(problem->more);
    *problem = (TfyProblem){.kind = TFY_NO_PROBLEM};
}

int tfy__problem_status(TfyProblemKind kind)
{
    return kinds[kind].status;
}

const char *tfy__problem_id(TfyProblemKind kind)
{
    return kinds[kind].id;
}

static void add_json(TfyBuffer *out, const char *name, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    tfy__buffer_printf(out, ",\"%s\":", name);
    if (text)
        tfy__buffer_text(out, text);
    else
        out->failed = true;
    free(text);
}

static void add_more(TfyBuffer *out, json_t *more)
{
    const char *name;
    json_t *value;
    json_object_foreach(more, name, value) add_json(out, name, value);
}

void tfy__problem_text(const TfyProblem *problem, const char *request, TfyBuffer *out)
{
    const Kind *kind = &kinds[problem->kind];
    tfy__buffer_printf(out, "{\"type\":\"/problems/%s\",\"title\":\"%s\",\"status\":%d", kind->id, kind->title,
                       kind->status);
    if (problem->detail[0]) {
        tfy__buffer_text(out, ",\"detail\":");
        tfy__buffer_json_string(out, problem->detail, strlen(problem->detail));
    }
    tfy__buffer_text(out, ",\"request\":");
    tfy__buffer_json_string(out, request, strlen(request));
    add_more(out, problem->more);
    if (problem->errors) add_json(out, "errors", problem->errors);
    tfy__buffer_char(out, '}');
}

/* ---- names that are nearly right ---- */

static const char *candidate(const void *state, int index)
{
    return ((const char *const *)state)[index];
}

TfyMeant tfy__meant(const char *name, const char *const *names)
{
    const char *near = tfy__nearest(name, candidate, names);
    TfyMeant meant = {""};
    if (near) snprintf(meant.text, sizeof meant.text, "; did you mean '%.80s'?", near);
    return meant;
}
