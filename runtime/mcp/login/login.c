/* login.c: see login.h. */
#include "mcp/login/login.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "effects/http_client.h"
#include "effects/known.h"
#include "mcp/login/challenge.h"
#include "mcp/login/fetch.h"
#include "mcp/login/logins.h"
#include "mcp/login/place.h"
#include "mcp/login/token.h"

#define NS_PER_MS    INT64_C(1000000)
#define WHY_MOST     ((int)TFY_ERROR_TEXT - 64)
#define EARLY_S      10    /* a token that expires so soon is renewed first */
#define LOCK_MS      50    /* between two tries to lock the file */
#define LOCK_MOST_MS 60000 /* another process may wait for its issuer meanwhile */

struct TfyMcpLogin {
    TfyLoop *loop;
    const TfyMcpSpec *spec;
    void (*changed)(void *arg);
    void *arg;
    char *url; /* of the server, canonical */
    /* what the file says; NULL: there is no login */
    json_t *entry;
    char *issuer;
    uint32_t number; /* of the token: how many there have been */
    uint32_t spent;  /* the number of a token that is sent though it has expired: renewing it did not help; 0: none */
    enum { READY, LOCKING, ASKING } state;
    char why[TFY_ERROR_TEXT]; /* why the file cannot be used, or the newest renewal failed for a while; "": neither */
    int lock;                 /* of the file; -1: none */
    int waited_ms;            /* for it */
    uint64_t timer;
    TfyHttp *http; /* NULL: not needed yet */
    TfyTransfer transfer;
    TfyFetch fetch;
};

static const char *text_of(const json_t *entry, const char *name)
{
    return json_string_value(json_object_get(entry, name));
}

/* ---- the file ---- */

static void forget(TfyMcpLogin *login)
{
    json_decref(login->entry);
    free(login->issuer);
    login->entry = NULL;
    login->issuer = NULL;
}

/* Takes what the file says of the server. Its token has a new number if it is another. */
static void take(TfyMcpLogin *login, const json_t *logins)
{
    const char *issuer = NULL, *before = text_of(login->entry, "access");
    json_t *entry = tfy__logins_find(logins, login->url, &issuer);
    const char *token = text_of(entry, "access");
    if (token && (!before || strcmp(token, before) != 0)) {
        login->number++;
        (void)tfy__known_add("login", token, strlen(token));
    }
    json_incref(entry);
    forget(login);
    login->entry = entry;
    login->issuer = issuer ? tfy__sys_strdup(issuer) : NULL;
}

/* Reads the file; without one that can be used there is no login. */
static json_t *look(TfyMcpLogin *login)
{
    char why[TFY_ERROR_TEXT] = "";
    json_t *logins = tfy__logins_read(why);
    login->why[0] = '\0';
    if (*why) snprintf(login->why, sizeof login->why, "has no login that can be used: %.*s", WHY_MOST, why);
    take(login, logins);
    return logins;
}

/* ---- renewing ---- */

static void set_timer(TfyMcpLogin *login, int64_t wait_ms, TfyTimerHandler handler)
{
    login->timer = tfy__timer_add(login->loop, tfy__now_ns(login->loop) + wait_ms * NS_PER_MS, handler, login);
}

/* It is READY again, with a login or without. */
static void settle(TfyMcpLogin *login)
{
    if (login->lock >= 0) close(login->lock);
    login->lock = -1;
    login->state = READY;
    tfy__fetch_free(&login->fetch);
    tfy__http_easy_free(login->http, login->transfer.easy);
    login->transfer.easy = NULL;
    login->changed(login->arg);
}

__attribute__((format(printf, 2, 3))) static void fail(TfyMcpLogin *login, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(login->why, sizeof login->why, format, args);
    va_end(args);
    login->spent = login->number;
    settle(login);
}

/* The file as it is behind the lock, with another entry for the server; NULL: with none. */
static void keep(TfyMcpLogin *login, const json_t *entry)
{
    char why[TFY_ERROR_TEXT];
    json_t *logins = tfy__logins_read(why);
    json_t *of = logins && login->issuer ? tfy__logins_issuer(logins, login->issuer) : NULL;
    if (!entry && logins) tfy__logins_forget(logins, login->url);
    if (entry && of) json_object_set(json_object_get(of, "servers"), login->url, (json_t *)(uintptr_t)entry);
    if (logins && !tfy__logins_write(logins, why)) snprintf(login->why, sizeof login->why, "%s", why);
    take(login, logins);
    json_decref(logins);
}

/* The refresh token is of no use: there is no login any more. */
static bool is_over(const TfyMcpLogin *login, long status)
{
    return (status == 400 || status == 401) && (tfy__fetch_is_error(&login->fetch, "invalid_grant") ||
                                                tfy__fetch_is_error(&login->fetch, "invalid_client") ||
                                                tfy__fetch_is_error(&login->fetch, "unauthorized_client"));
}

static void on_renewed(void *arg, CURLcode result)
{
    TfyMcpLogin *login = arg;
    char why[TFY_ERROR_TEXT];
    const long status = tfy__fetch_ended(&login->fetch, login->transfer.easy, result, why);
    json_t *answer = *why ? NULL : tfy__fetch_json(&login->fetch), *entry = json_copy(login->entry);
    const int64_t now_s = tfy__wall_ms(login->loop) / 1000;
    if (*why && is_over(login, status)) {
        keep(login, NULL);
        settle(login);
    } else if (*why || !tfy__token_take(entry, answer, NULL, now_s, why)) {
        fail(login, "cannot renew its login: %.150s: %.300s", login->issuer, why);
    } else {
        keep(login, entry);
        login->spent = login->number; /* it is not renewed at once if it expires soon */
        settle(login);
    }
    json_decref(answer);
    json_decref(entry);
}

static bool start_asking(TfyMcpLogin *login, const char *endpoint)
{
    TfyFetch *fetch = &login->fetch;
    tfy__fetch_add(fetch, "grant_type", "refresh_token");
    tfy__fetch_add(fetch, "refresh_token", text_of(login->entry, "refresh"));
    tfy__fetch_add(fetch, "resource", text_of(login->entry, "resource"));
    if (!login->http) login->http = tfy__http_new(login->loop);
    if (!login->http || !tfy__fetch_show(fetch, json_object_get(login->entry, "client"))) return false;
    login->transfer = (TfyTransfer){.easy = tfy__http_easy(login->http), .ended = on_renewed, .arg = login};
    return login->transfer.easy && tfy__fetch_set(fetch, login->transfer.easy, endpoint) &&
           tfy__http_start(login->http, &login->transfer);
}

static void ask(TfyMcpLogin *login)
{
    const char *endpoint = text_of(login->entry, "endpoint"), *resource = text_of(login->entry, "resource");
    const char *wrong =
        endpoint ? tfy__place_wrong(endpoint, tfy__place_is_local(login->url)) : "is missing in the file of logins";
    login->state = ASKING;
    if (wrong || !resource)
        fail(login, "cannot renew its login: the endpoint of %.200s %s", login->issuer,
             wrong ? wrong : "has no resource");
    else if (!start_asking(login, endpoint))
        fail(login, "cannot renew its login: memory ran out");
}

static void lock(void *arg)
{
    TfyMcpLogin *login = arg;
    const uint32_t before = login->number;
    char why[TFY_ERROR_TEXT];
    login->timer = 0;
    login->lock = tfy__logins_lock(why);
    if (login->lock < 0 && (*why || (login->waited_ms += LOCK_MS) > LOCK_MOST_MS)) {
        fail(login, "cannot renew its login: %s", *why ? why : "another process holds the file of logins");
        return;
    }
    if (login->lock < 0) {
        set_timer(login, LOCK_MS, lock);
        return;
    }
    json_decref(look(login));
    if (login->number != before || !text_of(login->entry, "refresh"))
        settle(login); /* another process was faster, or the login is gone */
    else
        ask(login);
}

/* Begins to renew the token. */
static TfyLoginNow renew(TfyMcpLogin *login)
{
    login->state = LOCKING;
    login->waited_ms = 0;
    login->why[0] = '\0';
    set_timer(login, 0, lock);
    return TFY_LOGIN_WAIT;
}

/* ---- for the client ---- */

static TfyMcpLogin *open_login(TfyLoop *loop, const TfyMcpSpec *spec, void (*changed)(void *arg), void *arg)
{
    TfyMcpLogin *login = tfy__sys_calloc(1, sizeof *login);
    if (!login) return NULL;
    *login = (TfyMcpLogin){
        .loop = loop, .spec = spec, .changed = changed, .arg = arg, .url = tfy__place_canonical(spec->url), .lock = -1};
    if (login->url) json_decref(look(login));
    if (login->url) return login;
    free(login);
    return NULL;
}

static void close_login(TfyMcpLogin *login)
{
    if (!login) return;
    if (login->timer) tfy__timer_del(login->loop, login->timer);
    if (login->transfer.easy) tfy__http_stop(login->http, &login->transfer);
    tfy__http_easy_free(login->http, login->transfer.easy);
    tfy__http_free(login->http);
    tfy__fetch_free(&login->fetch);
    if (login->lock >= 0) close(login->lock);
    forget(login);
    free(login->url);
    free(login);
}

static bool has_expired(const TfyMcpLogin *login)
{
    const json_t *expires = json_object_get(login->entry, "expires");
    return json_is_integer(expires) && tfy__wall_ms(login->loop) / 1000 + EARLY_S >= json_integer_value(expires);
}

static TfyLoginNow token(TfyMcpLogin *login, const char **out, uint32_t *number)
{
    if (login->state != READY) return TFY_LOGIN_WAIT;
    if (has_expired(login) && text_of(login->entry, "refresh") && login->spent != login->number) return renew(login);
    *out = text_of(login->entry, "access");
    *number = login->number;
    return TFY_LOGIN_SEND;
}

static TfyLoginNow refused(TfyMcpLogin *login, uint32_t number)
{
    if (login->state != READY) return TFY_LOGIN_WAIT;
    if (login->number == number) json_decref(look(login));
    if (login->entry && login->number != number) return TFY_LOGIN_SEND;
    if (!text_of(login->entry, "refresh")) return TFY_LOGIN_NONE;
    return renew(login);
}

/* ---- what a person is told ---- */

static void say_command(const TfyMcpLogin *login, const char *scope, char *why)
{
    TfyBuffer command = {0};
    tfy__buffer_printf(&command, "needs a login: tfy mcp login %s", login->spec->login_words);
    if (*scope) {
        tfy__buffer_text(&command, " --scope ");
        tfy__buffer_shell_word(&command, scope);
    }
    snprintf(why, TFY_ERROR_TEXT, "%s", command.failed ? "needs a login" : command.data);
    tfy__buffer_free(&command);
}

/* A token that does not suffice: what else does the server want? */
static bool explain_403(const TfyMcpLogin *login, const TfyChallenge *challenge, char *why)
{
    char more[TFY_SCOPE_MOST];
    const char *had = text_of(login->entry, "scope");
    if (strcmp(challenge->error, "insufficient_scope") != 0) return false;
    tfy__scope_lacks(had ? had : "", challenge->scope, more);
    if (*more) {
        say_command(login, more, why);
        return true;
    }
    snprintf(why, TFY_ERROR_TEXT, "refuses access (HTTP 403), although its login has the scope '%.300s'",
             challenge->scope);
    return false;
}

static bool explain(const TfyMcpLogin *login, long status, const char *text, char *why)
{
    TfyChallenge challenge;
    tfy__challenge_read(text, &challenge);
    if (status == 403) return explain_403(login, &challenge, why);
    if (*login->why) {
        snprintf(why, TFY_ERROR_TEXT, "%s", login->why);
        return false;
    }
    say_command(login, "", why);
    return true;
}

const TfyMcpLogins tfy__mcp_logins = {
    .open = open_login, .close = close_login, .token = token, .refused = refused, .explain = explain};
