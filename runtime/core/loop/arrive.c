/* arrive.c: arrivals as requests, which come over the owner's socket or through a shared database. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/loop.h"

static const char *text_of(const json_t *request, const char *name)
{
    return json_string_value(json_object_get(request, name));
}

static int64_t step_of(const json_t *request)
{
    return json_integer_value(json_object_get(request, "step"));
}

static int obey_approve(TfyLoop *loop, const char *run, const json_t *request, const char *by, char *error_text)
{
    return tfy__arrive_approval(loop, run, text_of(request, "task"), step_of(request), text_of(request, "answer"), by,
                                text_of(request, "why"), error_text);
}

static int obey_kill(TfyLoop *loop, const char *run, const json_t *request, const char *by, char *error_text)
{
    const bool force = json_is_true(json_object_get(request, "force"));
    return tfy__arrive_kill(loop, run, text_of(request, "task"), force, by, error_text);
}

/* NULL for a value that is not there, and without memory: the callee then says that there is none. */
static char *value_of(const json_t *request)
{
    return json_dumps(json_object_get(request, "value"), JSON_ENCODE_ANY | JSON_COMPACT);
}

static int obey_signal(TfyLoop *loop, const char *run, const json_t *request, const char *by, char *error_text)
{
    char *value = value_of(request);
    const int code =
        tfy__arrive_signal(loop, run, text_of(request, "name"), value, text_of(request, "id"), by, error_text);
    free(value);
    return code;
}

static int obey_resolve(TfyLoop *loop, const char *run, const json_t *request, const char *by, char *error_text)
{
    char *value = value_of(request);
    const char *how = text_of(request, "how");
    const int code = tfy__arrive_resolve(loop, run, text_of(request, "task"), step_of(request), how ? how : "", value,
                                         by, error_text);
    free(value);
    return code;
}

int tfy__arrive_request(TfyLoop *loop, const char *run, const json_t *request, const char *by, char *error_text)
{
    const char *what = text_of(request, "do");
    const json_t *answer = json_object_get(request, "answer"); /* absent means yes */
    if (what && strcmp(what, "approve") == 0 && (!answer || json_is_string(answer)))
        return obey_approve(loop, run, request, by, error_text);
    if (what && strcmp(what, "kill") == 0) return obey_kill(loop, run, request, by, error_text);
    if (what && strcmp(what, "signal") == 0 && text_of(request, "name"))
        return obey_signal(loop, run, request, by, error_text);
    if (what && strcmp(what, "resolve") == 0) return obey_resolve(loop, run, request, by, error_text);
    snprintf(error_text, TFY_ERROR_TEXT, "the request is not understood");
    return TFY_E_INVALID;
}
