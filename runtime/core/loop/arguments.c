/* arguments.c: from a run's arguments, as JSON, to its start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/loop/state.h"
#include "value/json.h"

int tfy__encode_arguments(TfyLoop *loop, const TfyWorkflow *workflow, const char *args_json, TfyBuffer *out,
                          char *error_text)
{
    TfyTask task = {.heap = &loop->heap, .loop = loop};
    TfyValue *values = calloc(workflow->param_count + 1, sizeof *values);
    if (!values) return TFY_E_NOMEM;
    const bool fits = tfy__decode_args(&task, workflow->params, workflow->param_count, args_json, strlen(args_json),
                                       values, error_text);
    if (fits) tfy__encode_args(out, workflow->params, workflow->param_count, values);
    tfy_drop(&task, tfy_take_error(&task));
    tfy__cut(&loop->heap, 0);
    free(values);
    return !fits ? TFY_E_INVALID : out->failed ? TFY_E_NOMEM : TFY_OK;
}

int tfy_submit(TfyLoop *loop, const char *workflow, const char *args_json, int64_t *tid, char *error_text)
{
    return tfy__submit_named(loop, loop->program, workflow, args_json, NULL, tid, error_text);
}

int tfy_submit_to(TfyLoop *loop, const TfyProgram *program, const char *workflow, const char *args_json, int64_t *tid,
                  char *error_text)
{
    return tfy__submit_named(loop, program, workflow, args_json, NULL, tid, error_text);
}

int tfy__submit_named(TfyLoop *loop, const TfyProgram *program, const char *workflow, const char *args_json,
                      const char *id, int64_t *tid, char *error_text)
{
    return tfy__submit_start(loop, program, workflow, args_json, &(TfyStart){.id = id}, tid, error_text);
}

int tfy__submit_start(TfyLoop *loop, const TfyProgram *program, const char *workflow_name, const char *args_json,
                      const TfyStart *start, int64_t *tid, char *error_text)
{
    char scratch[TFY_ERROR_TEXT];
    if (!error_text) error_text = scratch;
    int64_t unasked;
    if (!tid) tid = &unasked;
    *tid = 0;
    *error_text = '\0';
    if (!args_json) args_json = "{}";
    Loaded *loaded = tfy__loaded_as(loop, program);
    const TfyWorkflow *workflow = loaded ? tfy__workflow_by_name(program, workflow_name) : NULL;
    if (!workflow) {
        snprintf(error_text, TFY_ERROR_TEXT, loaded ? "there is no workflow '%s' in %s" : "'%s' of %s is not loaded",
                 workflow_name, program->name);
        return TFY_E_ABSENT;
    }
    if (loop->failure) {
        snprintf(error_text, TFY_ERROR_TEXT, "%.500s", loop->failure_text);
        return loop->failure;
    }
    if (tfy__tasks_full(loop)) {
        snprintf(error_text, TFY_ERROR_TEXT, "there are %u tasks already: the limit of this process",
                 tfy__tasks_limit(loop));
        return TFY_E_FULL;
    }
    tfy__loop_clock(loop);
    TfyTask task = {.heap = &loop->heap, .loop = loop};
    TfyValue *values = calloc(workflow->param_count + 1, sizeof *values);
    if (!values) return tfy__explained(TFY_E_NOMEM, error_text);
    int code = TFY_E_INVALID;
    if (tfy__decode_args(&task, workflow->params, workflow->param_count, args_json, strlen(args_json), values,
                         error_text))
        code = tfy__submit(loop, loaded, workflow, values, start, tid);
    tfy_drop(&task, tfy_take_error(&task));
    tfy__cut(&loop->heap, 0);
    free(values);
    return tfy__explained(code, error_text);
}
