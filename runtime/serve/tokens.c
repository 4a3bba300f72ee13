/* tokens.c: see tokens.h. A token is in the audit before it is in the file: after a crash the audit may know of one that
 * never worked, and never the other way round. A token that is revoked leaves the file first. */
#include "serve/tokens.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/frame/cli.h"
#include "core/world.h"
#include "serve/admin.h"
#include "serve/body.h"
#include "serve/bounds.h"
#include "serve/caller.h"
#include "value/json.h"

/* ---- who I am ---- */

static json_t *me(const TfyServer *server, const TfyCaller *caller)
{
    json_t *only = json_array();
    char globs[TFY_ONLY_SIZE];
    memcpy(globs, caller->only, sizeof globs);
    for (char *rest = globs, *glob; (glob = strtok_r(rest, " ", &rest));)
        json_array_append_new(only, json_string(glob));
    return json_pack("{s:s, s:o, s:o, s:s, s:o, s:s}", "name", caller->name, "roles", tfy__roles_json(caller->roles),
                     "only", only, "how", caller->how, "token",
                     *caller->token ? json_string(caller->token) : json_null(), "database",
                     server->shared ? "postgresql" : "file");
}

void tfy__serve_me(TfyRequest *request)
{
    if (!request->caller.roles && !*request->caller.name) {
        tfy__problem(&request->problem, TFY_PROBLEM_UNAUTHENTICATED, "name yourself with a token");
        return;
    }
    tfy__request_json(request, 200, me(request->server, &request->caller));
}

/* ---- sessions ---- */

static const char *text_of(const TfyRequest *request, const char *name)
{
    return json_string_value(json_object_get(request->json, name));
}

static void set_cookie(TfyRequest *request, const char *session, bool ends)
{
    char name[48];
    tfy__cookie_name(request->server, request->tls, name);
    snprintf(request->cookie, sizeof request->cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s%s", name, session,
             request->tls ? "; Secure" : "", ends ? "; Max-Age=0" : "");
}

void tfy__serve_enter(TfyRequest *request)
{
    static const TfyMemberOf members[] = {{"code", JSON_STRING}, {"token", JSON_STRING}, {NULL, JSON_NULL}};
    const char *code = text_of(request, "code"), *secret = code ? code : text_of(request, "token");
    char session[TFY_SECRET_SIZE];
    TfyCaller caller = {.how = request->caller.how};
    if (!tfy__body_fits(request->json, members, &request->problem)) return;
    if (!secret) {
        tfy__body_mistake(&request->problem, "$.code", "a session starts with a code or a token");
        return;
    }
    const int result = tfy__door_enter(request->server->door, secret, &caller, session);
    if (result == TFY_E_ABSENT) {
        tfy__bounds_failed(request->server->bounds, request->caller.from);
        tfy__problem(
            &request->problem, TFY_PROBLEM_UNAUTHENTICATED,
            code ? "the code is not known, was used, or is older than ten minutes; `tfy token login` makes another"
                 : "the token is not known, or has expired");
    } else if (result != TFY_OK) {
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "the session cannot be kept");
    } else {
        set_cookie(request, session, false);
        tfy__request_json(request, 201, me(request->server, &caller));
    }
}

void tfy__serve_leave(TfyRequest *request)
{
    if (*request->session && tfy__door_leave(request->server->door, request->session) != TFY_OK) {
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "the session cannot be ended");
        return;
    }
    set_cookie(request, "", true);
    tfy__request_json(request, 200, json_object());
}

/* A person on this machine, or an admin, sends a browser in. */
void tfy__serve_login(TfyRequest *request)
{
    static const TfyMemberOf none[] = {{NULL, JSON_NULL}};
    char code[TFY_SECRET_SIZE];
    if (!tfy__body_fits(request->json, none, &request->problem)) return;
    if (!tfy__door_code(request->server->door, &request->caller, code)) {
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "the system gives no random numbers");
        return;
    }
    const char *base = request->server->base;
    tfy__request_json(
        request, 201,
        json_pack("{s:s, s:o}", "code", code, "url", *base ? json_sprintf("%s/#login=%s", base, code) : json_null()));
}

/* ---- tokens ---- */

static bool read_roles(const json_t *list, TfyToken *token, TfyProblem *problem)
{
    if (!tfy__roles_read(list, &token->roles))
        return tfy__body_mistake(problem, "$.roles", "roles are viewer, approver, operator and admin");
    return token->roles ||
           tfy__body_mistake(problem, "$.roles", "a token has roles: viewer, approver, operator, admin");
}

static bool read_only(const json_t *list, TfyToken *token, TfyProblem *problem)
{
    const json_t *glob;
    size_t i, len = 0;
    json_array_foreach(list, i, glob)
    {
        const char *text = json_string_value(glob);
        if (!text || !*text || strchr(text, ' ') || len + strlen(text) + 2 > sizeof token->only)
            return tfy__body_mistake(problem, "$.only", "it is not a list of globs such as shop.*");
        len += (size_t)snprintf(token->only + len, sizeof token->only - len, "%s%s", len ? " " : "", text);
    }
    return tfy__only_fits(token->only) ||
           tfy__body_mistake(problem, "$.only", "it has at most %d globs of visible characters", TFY_ONLY_MOST);
}

/* "30d". */
static bool read_expiry(const char *text, TfyToken *token, TfyProblem *problem)
{
    int64_t ms = 0;
    if (!text) return true;
    if (!tfy__read_duration(text, strlen(text), &ms) || ms <= 0)
        return tfy__body_mistake(problem, "$.expires", "it is not a time such as 30d or 12h");
    token->expires_ms = token->created_ms + ms;
    return true;
}

static bool read_rate(const json_t *rate, TfyToken *token, TfyProblem *problem)
{
    const json_int_t number = json_integer_value(rate);
    token->rate = TFY_RATE_USUAL;
    if (!rate) return true;
    if (!json_is_null(rate) && (!json_is_integer(rate) || number < 1 || number > 1000000))
        return tfy__body_mistake(problem, "$.rate", "it is not a number of requests a second, or null");
    token->rate = number;
    return true;
}

bool tfy__token_read(const json_t *body, TfyToken *token, TfyProblem *problem)
{
    static const TfyMemberOf members[] = {{"name", JSON_STRING},    {"roles", JSON_ARRAY}, {"only", JSON_ARRAY},
                                          {"expires", JSON_STRING}, {"rate", JSON_NULL},   {NULL, JSON_NULL}};
    const char *name = json_string_value(json_object_get(body, "name"));
    *token = (TfyToken){.created_ms = tfy__clock_ms()};
    if (!tfy__body_fits(body, members, problem)) return false;
    if (!name || !tfy__token_name_fits(name))
        return tfy__body_mistake(problem, "$.name", "a name has 1 to %d of a-z, 0-9 and '-'", TFY_TOKEN_NAME);
    snprintf(token->name, sizeof token->name, "%s", name);
    return read_roles(json_object_get(body, "roles"), token, problem) &&
           read_only(json_object_get(body, "only"), token, problem) &&
           read_expiry(json_string_value(json_object_get(body, "expires")), token, problem) &&
           read_rate(json_object_get(body, "rate"), token, problem);
}

void tfy__serve_tokens(TfyRequest *request)
{
    if (!tfy__request_known(request, (const char *const[]){NULL})) return;
    tfy__request_json(request, 200, json_pack("{s:o, s:n}", "tokens", tfy__door_list(request->server->door), "next"));
}

/* In a reader: the audit has it. */
static void keep_token(TfyRequest *request)
{
    TfyToken token;
    char secret[TFY_SECRET_SIZE];
    if (!tfy__token_read(request->json, &token, &request->problem)) return;
    const int code =
        tfy__secret_make(token.name, secret) ? tfy__door_add(request->server->door, &token, secret) : TFY_E_IO;
    if (code == TFY_E_STATE)
        tfy__problem(&request->problem, TFY_PROBLEM_TAKEN, "there is a token '%s'; revoke it first", token.name);
    else if (code != TFY_OK)
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "the token cannot be kept");
    else
        tfy__request_json(
            request, 201,
            json_pack("{s:s, s:s, s:o}", "name", token.name, "token", secret, "roles", tfy__roles_json(token.roles)));
}

/* Nobody gives a role that they do not have, nor sight of what they do not see. */
static bool may_grant(TfyRequest *request, const TfyToken *token)
{
    return !*request->caller.only || strcmp(request->caller.only, token->only) == 0 ||
           tfy__problem(&request->problem, TFY_PROBLEM_FORBIDDEN, "%s sees only a part of the workflows",
                        request->caller.name);
}

void tfy__serve_grant(TfyRequest *request)
{
    TfyToken token;
    if (!tfy__token_read(request->json, &token, &request->problem) || !may_grant(request, &token)) {
        tfy__request_done(request);
        return;
    }
    json_t *value = json_pack("{s:o, s:s}", "roles", tfy__roles_json(token.roles), "only", token.only);
    request->then = keep_token;
    tfy__admin_audit(request, "token", token.name, value, tfy__command_read);
    json_decref(value);
}

/* In the loop: it is revoked. */
static void audit_revoke(TfyLoop *loop, void *arg)
{
    TfyRequest *request = arg;
    if (loop)
        tfy__admin_audit(request, "revoke", request->names.text[0], NULL, tfy__command_answer);
    else
        tfy__command_refuse(request);
}

static void pass_revoked(TfyRequest *request)
{
    if (tfy__command_post(request->server, audit_revoke, request) == TFY_OK) return;
    tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    tfy__request_done(request);
}

void tfy__serve_revoke(TfyRequest *request)
{
    const char *name = request->names.text[0];
    const int code = tfy__token_name_fits(name) ? tfy__door_revoke(request->server->door, name) : TFY_E_ABSENT;
    if (code == TFY_E_ABSENT) {
        tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND, "there is no token '%.60s'", name);
    } else if (code != TFY_OK) {
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "the token cannot be revoked");
    } else {
        tfy__request_json(request, 200, json_pack("{s:s}", "name", name));
        request->pass = pass_revoked;
    }
}
