/* answers.c: effects that are answered without a performer: by a test with values given beforehand, or by
 * functions of the embedding program. live.c tries both before it starts a performer. */
#include <stdlib.h>
#include <string.h>

#include "core/loop/state.h"
#include "value/json.h"

/* ---- tests' answers ---- */

static Injection *injection_of(TfyLoop *loop, const char *tool)
{
    for (Injection *injection = loop->injections; injection; injection = injection->next)
        if (strcmp(injection->tool, tool) == 0) return injection;
    Injection *injection = calloc(1, sizeof *injection);
    if (!injection || !(injection->tool = strdup(tool))) {
        free(injection);
        return NULL;
    }
    injection->next = loop->injections;
    loop->injections = injection;
    return injection;
}

int tfy_inject(TfyLoop *loop, const char *tool, const char *result_json, const char *error_text)
{
    if (!tool) return TFY_E_INVALID;
    if (!result_json && !error_text) result_json = "null"; /* a tool without a result */
    Injection *injection = injection_of(loop, tool);
    InjectedAnswer *answer = calloc(1, sizeof *answer);
    if (!injection || !answer) {
        free(answer);
        return TFY_E_NOMEM;
    }
    answer->json = result_json ? strdup(result_json) : NULL;
    answer->error = error_text ? strdup(error_text) : NULL;
    if (!answer->json == !!result_json || !answer->error == !!error_text) {
        free(answer->json);
        free(answer->error);
        free(answer);
        return TFY_E_NOMEM;
    }
    LIST_APPEND(&injection->answers, answer, next);
    return 0;
}

static void injections_free(TfyLoop *loop)
{
    while (loop->injections) {
        Injection *injection = loop->injections;
        loop->injections = injection->next;
        for (InjectedAnswer *answer; (answer = LIST_TAKE(&injection->answers, next));) {
            free(answer->json);
            free(answer->error);
            free(answer);
        }
        free(injection->tool);
        free(injection);
    }
}

/* ---- effects of the embedding program ---- */

int tfy_register_effect(TfyLoop *loop, const char *tool, TfyEffect call, void *state)
{
    Registration *own = loop->registrations;
    while (own && strcmp(own->tool, tool) != 0) own = own->next;
    if (!own) {
        own = calloc(1, sizeof *own);
        if (!own || !(own->tool = strdup(tool))) {
            free(own);
            return TFY_E_NOMEM;
        }
        own->next = loop->registrations;
        loop->registrations = own;
    }
    own->call = call;
    own->state = state;
    return 0;
}

const TfyType *tfy_result_type(TfyTask *task)
{
    const Step *step = rest_of(task)->step;
    return step && step->call.tool ? step->call.result : NULL;
}

bool tfy_result_json(TfyTask *task, const char *json, TfyValue *out)
{
    char why[TFY_ERROR_TEXT];
    const TfyType *type = tfy_result_type(task);
    if (!type) return tfy_tool_unknown(task, -1, "no step is under way");
    if (tfy__decode_text(task, type, json, strlen(json), out, why)) return true;
    return !task->error && tfy_tool_unknown(task, -1, "its result does not fit: %.400s", why);
}

static void registrations_free(TfyLoop *loop)
{
    while (loop->registrations) {
        Registration *own = loop->registrations;
        loop->registrations = own->next;
        free(own->tool);
        free(own);
    }
}

void tfy__answers_free(TfyLoop *loop)
{
    injections_free(loop);
    registrations_free(loop);
}
