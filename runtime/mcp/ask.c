/* ask.c: see ask.h. */
#include "mcp/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "effects/http_client.h"
#include "value/form.h"
#include "value/json.h"

#define REQUESTS_MOST 8    /* that a server makes at once */
#define TEXT_MOST     4000 /* bytes of a question */

static const json_t *params_of(const json_t *request)
{
    return json_object_get(request, "params");
}

static const json_t *form_of(const json_t *params)
{
    return json_object_get(params, "requestedSchema");
}

static json_t *yes_or_no(const char *text, char *error)
{
    if (strcmp(text, "yes") == 0) return json_pack("{s:s}", "action", "accept");
    if (strcmp(text, "no") == 0) return json_pack("{s:s}", "action", "decline");
    snprintf(error, TFY_ERROR_TEXT, "'%.60s' is not an answer to this question; it takes one of: yes, no", text);
    return NULL;
}

json_t *tfy__mcp_ask_answer(const json_t *params, const char *text, char *error)
{
    if (strcmp(text, "no") == 0) return json_pack("{s:s}", "action", "decline");
    if (!json_object_get(params, "url")) {
        json_t *content = tfy__form_content(form_of(params), text, error);
        return content ? json_pack("{s:s, s:o}", "action", "accept", "content", content) : NULL;
    }
    return yes_or_no(text, error);
}

void tfy__mcp_ask_wrong(const json_t *requests, char *error)
{
    const char *name;
    const json_t *request;
    *error = '\0';
    if (json_object_size(requests) > REQUESTS_MOST)
        snprintf(error, TFY_ERROR_TEXT, "the server asks %zu things at once; %d are allowed",
                 json_object_size(requests), REQUESTS_MOST);
    json_object_foreach((json_t *)(uintptr_t)requests, name, request)
    {
        const char *method = json_string_value(json_object_get(request, "method"));
        if (!method || strcmp(method, "elicitation/create") != 0)
            snprintf(error, TFY_ERROR_TEXT, "the server asks for '%.60s', which is not offered", method ? method : "?");
    }
}

/* ---- logins ---- */

#define LOGIN "tfy/login" /* the name of the request, and its method */

json_t *tfy__mcp_ask_login(const char *say, json_t *answers)
{
    return json_pack("{s:{s:s, s:s, s:O?}}", LOGIN, "method", LOGIN, "say", say, "answers", answers);
}

static bool is_login(const json_t *request)
{
    const char *method = json_string_value(json_object_get(request, "method"));
    return method && strcmp(method, LOGIN) == 0;
}

const json_t *tfy__mcp_asked_login(const TfyRound *round)
{
    const json_t *request = round ? json_object_get(json_object_get(round->asked, "requests"), LOGIN) : NULL;
    return is_login(request) ? request : NULL;
}

json_t *tfy__mcp_answers(const TfyRound *round)
{
    const json_t *login = tfy__mcp_asked_login(round);
    json_t *answers = login ? json_object_get(login, "answers") : round ? round->answers : NULL;
    return json_object_size(answers) ? answers : NULL;
}

bool tfy__mcp_login_denied(const TfyRound *round)
{
    const json_t *answer = tfy__mcp_asked_login(round) ? json_object_get(round->answers, LOGIN) : NULL;
    const char *action = json_string_value(json_object_get(answer, "action"));
    return action && strcmp(action, "accept") != 0;
}

/* ---- the inquiry ---- */

/* Its host stands alone, so that nobody reads it wrong. */
static void put_address(TfyBuffer *out, const json_t *params)
{
    const char *url = json_string_value(json_object_get(params, "url"));
    char *host = NULL;
    CURLU *parts = url ? tfy__http_parse_url(url) : NULL;
    if (parts) curl_url_get(parts, CURLUPART_HOST, &host, 0);
    tfy__buffer_printf(out, "to open at %s: %s", host ? host : "an address that is none", host ? url : "");
    curl_free(host);
    curl_url_cleanup(parts);
}

void tfy__mcp_ask_details(const json_t *params, TfyBuffer *out)
{
    if (json_object_get(params, "url"))
        put_address(out, params);
    else
        tfy__form_describe(form_of(params), out);
}

/* docs asks: who are you? */
static bool question(const TfyCall *call, const char *name, const json_t *request, TfyBuffer *text, TfyBuffer *details)
{
    const json_t *params = params_of(request), *message = json_object_get(params, "message");
    const size_t len = json_string_length(message);
    const char *server = call->site->tool->mcp->server->name, *say = json_string_value(json_object_get(request, "say"));
    (void)name;
    if (is_login(request)) {
        tfy__buffer_printf(text, "%s %s", server, say ? say : "needs a login");
        return !text->failed;
    }
    tfy__buffer_printf(text, "%s asks: ", server);
    if (len)
        tfy__buffer_add(text, json_string_value(message), tfy__utf8_fit(json_string_value(message), len, TEXT_MOST));
    tfy__mcp_ask_details(params, details);
    return !text->failed && !details->failed;
}

static json_t *type(const json_t *request)
{
    const json_t *params = params_of(request), *form = form_of(params);
    if (is_login(request) || json_object_get(params, "url")) return json_string("bool");
    json_t *asked = form ? json_deep_copy(form) : json_object();
    if (asked) json_object_set_new(asked, TFY_FORM_MAY_DECLINE, json_true());
    return asked;
}

static json_t *answer(const json_t *request, const char *text, char *error)
{
    return is_login(request) ? yes_or_no(text, error) : tfy__mcp_ask_answer(params_of(request), text, error);
}

const TfyInquiry tfy__mcp_inquiry = {.question = question, .type = type, .answer = answer, .abandon = tfy__mcp_abandon};
