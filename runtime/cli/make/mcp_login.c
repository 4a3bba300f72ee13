/* mcp_login.c: tfy mcp login: a person logs in at an MCP server (OAuth 2.1 with PKCE), and the tokens are kept.
 *
 *   ask the server ──401──▶ who lets people in ──▶ what the issuer can
 *                  ──▶ a client there ──▶ the browser ──▶ tokens, kept
 *
 * The server is asked like a client without a login asks it, so that it says what it wants. Of a login that fails only
 * the registered client is kept, for the next time. The verifier, codes and tokens are never shown. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/desktop.h"
#include "base/sha256.h"
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/make/mcp_issuer.h"
#include "cli/make/mcp_redirect.h"
#include "cli/make/mcp_servers.h"
#include "cli/make/mcp_talk.h"
#include "effects/secret_source.h"
#include "mcp/login/fetch.h"
#include "mcp/login/logins.h"
#include "mcp/login/place.h"
#include "mcp/tools.h"
#include "value/json.h"

#define PERSON_MS INT64_C(600000) /* a person may take so long in the browser */
#define LOCK_MS   30000           /* another process may hold the file of logins for a while */
#define WORD_SIZE 44              /* 32 random bytes in base64url, with a NUL */

typedef struct Login {
    const TfyArgs *args;
    TfyEntering entering;
    TfyMcpTalk talk;
    bool asked; /* the server wants a login */
    json_t *logins;
    json_t *client; /* owned */
    TfyRedirect redirect;
    char state[WORD_SIZE], verifier[WORD_SIZE];
    char scope[TFY_SCOPE_MOST]; /* that is asked for; "": none is named */
} Login;

/* ---- what the server wants ---- */

static void on_tools(void *arg, json_t *tools, const char *why, const TfyMcpEnd *failed)
{
    Login *login = arg;
    (void)tools, (void)why; /* only whether it answers matters */
    if (failed && (failed->status == 401 || failed->status == 403)) {
        login->asked = true;
        tfy__challenge_read(failed->challenge, &login->entering.challenge);
        tfy__mcp_talk_end(&login->talk, EXIT_DONE);
    } else if (failed) {
        tfy__mcp_talk_failed(&login->talk, "tools/list", failed);
    } else {
        tfy__mcp_talk_end(&login->talk, EXIT_DONE);
    }
}

static int ask_server(Login *login)
{
    TfyMcpListing *listing = tfy__mcp_list(login->talk.client, on_tools, login);
    const int status = listing ? tfy__mcp_talk_run(&login->talk) : tfy__fail(EXIT_BUG, "memory ran out");
    if (listing && !login->talk.done) tfy__mcp_list_stop(listing);
    return status;
}

/* ---- the file of logins ---- */

static int read_logins(Login *login)
{
    char why[TFY_ERROR_TEXT];
    login->logins = tfy__logins_read(why);
    return login->logins ? EXIT_DONE : tfy__fail(EXIT_DATA, "%s", why);
}

/* Locked, as it is now. -1 after a message. */
static int lock_logins(Login *login)
{
    char why[TFY_ERROR_TEXT] = "";
    int lock = -1;
    for (int waited = 0; lock < 0 && !*why && waited < LOCK_MS; waited += 50) {
        lock = tfy__logins_lock(why);
        if (lock < 0 && !*why) usleep(50000);
    }
    json_t *logins = lock >= 0 ? tfy__logins_read(why) : NULL;
    if (!logins) {
        tfy__say("%s", *why ? why : "another process holds the file of logins");
        if (lock >= 0) close(lock);
        return -1;
    }
    json_decref(login->logins);
    login->logins = logins;
    return lock;
}

/* Keeps the client for further logins at the issuer (NULL: none is), and the login at the server (NULL: as it is). */
static int keep(Login *login, json_t *client, json_t *entry)
{
    char why[TFY_ERROR_TEXT];
    const TfyEntering *entering = &login->entering;
    const int lock = lock_logins(login);
    if (lock < 0) return EXIT_LOG;
    json_t *of = tfy__logins_issuer(login->logins, entering->issuer);
    bool ok = of && (client ? json_object_set(of, "client", client) == 0 : json_object_del(of, "client") <= 0);
    if (ok && entry) {
        tfy__logins_forget(login->logins, entering->url);
        ok = json_object_set(json_object_get(of, "servers"), entering->url, entry) == 0;
    }
    snprintf(why, sizeof why, "memory ran out");
    ok = ok && tfy__logins_write(login->logins, why);
    close(lock);
    return ok ? EXIT_DONE : tfy__fail(EXIT_LOG, "%s", why);
}

/* ---- who asks ---- */

/* The secret of a client that a person has registered, looked up like those of programs. False after a message. */
static bool add_secret(const Login *login, const char *name)
{
    char error[TFY_ERROR_TEXT] = "";
    TfySought sought = {.name = name, .given = login->args->option[OPT_SECRETS], .error = error};
    (void)tfy__secret_look(&sought);
    if (sought.value) json_object_set_new(login->client, "secret", json_stringn(sought.value, sought.len));
    if (sought.value) explicit_bzero(sought.value, sought.len);
    if (!sought.value && *error)
        tfy__say("%s", error);
    else if (!sought.value)
        tfy__say("there is no value for the secret %s; set TFY_SECRET_%s, or give --secrets FILE", name, name);
    else if (!json_object_get(login->client, "secret"))
        tfy__say("the secret %s is not UTF-8", name);
    free(sought.value);
    return json_object_get(login->client, "secret");
}

/* The client that the person names. */
static int take_given(Login *login, const char *id, const char *secret)
{
    const char *method = tfy__entering_method(&login->entering.at, secret);
    if (!method || (secret && strcmp(method, "none") == 0))
        return tfy__fail(EXIT_DATA, "%s wants clients to show themselves in a way that is not known here",
                         login->entering.issuer);
    login->client = json_pack("{s:s, s:s}", "id", id, "method", method);
    if (!login->client) return tfy__fail(EXIT_USAGE, "'%.60s' is not UTF-8", id);
    return !secret || add_secret(login, secret) ? EXIT_DONE : EXIT_MISSING;
}

/* The client that is known to the issuer from an earlier login; NULL: none is. */
static json_t *known_client(const Login *login)
{
    const json_t *of = json_object_get(json_object_get(login->logins, "issuers"), login->entering.issuer);
    return json_object_get(of, "client");
}

/* Takes that one, unless its secret has expired or its port is taken. */
static bool take_known(Login *login)
{
    json_t *client = known_client(login);
    const char *redirect = json_string_value(json_object_get(client, "redirect"));
    const json_int_t expires = json_integer_value(json_object_get(client, "expires"));
    if (!json_string_value(json_object_get(client, "id")) || (expires && expires <= time(NULL))) return false;
    if (redirect && strcmp(redirect, login->redirect.address) != 0) return false;
    login->client = json_incref(client);
    return true;
}

static int choose_client(Login *login)
{
    const char *id = login->args->option[OPT_CLIENT_ID], *secret = login->args->option[OPT_CLIENT_SECRET];
    const bool document = id && !secret && strncmp(id, "https://", 8) == 0;
    if (secret && !id) return tfy__fail(EXIT_USAGE, "--client-secret needs --client-id");
    if (!tfy__redirect_open(&login->redirect, json_string_value(json_object_get(known_client(login), "redirect"))))
        return tfy__fail(EXIT_MISSING, "no port of 127.0.0.1 can be opened: %s", strerror(errno));
    if (id && (!document || login->entering.at.documents)) return take_given(login, id, secret);
    if (take_known(login)) return EXIT_DONE;
    if (!login->entering.at.registration)
        return tfy__fail(EXIT_DATA,
                         "%s does not register clients by itself; register one there with the redirect address "
                         "http://127.0.0.1" TFY_REDIRECT_PATH ", and give --client-id ID",
                         login->entering.issuer);
    const int status = tfy__entering_register(&login->entering, login->redirect.address, &login->client);
    return status == EXIT_DONE ? keep(login, login->client, NULL) : status;
}

/* ---- what is asked for ---- */

/* What the login at this server has already, if the same issuer gave it. */
static const char *scope_before(const Login *login)
{
    const char *issuer, *scope;
    const json_t *entry = tfy__logins_find(login->logins, login->entering.url, &issuer);
    if (!entry || strcmp(issuer, login->entering.issuer) != 0) return "";
    scope = json_string_value(json_object_get(entry, "scope"));
    return scope && tfy__is_scope(scope) ? scope : "";
}

/* A scope that the person names comes on top of what there is; else the server says what it wants, or what it knows. */
static int choose_scope(Login *login)
{
    static const char offline[] = "offline_access"; /* a refresh token is given for it */
    const char *given = login->args->option[OPT_SCOPE];
    const TfyEntering *entering = &login->entering;
    if (given && !tfy__is_scope(given)) return tfy__fail(EXIT_USAGE, "'%.60s' is not a scope", given);
    bool fits = true;
    if (given)
        fits = tfy__scope_add(login->scope, scope_before(login)) && tfy__scope_add(login->scope, given);
    else
        fits = tfy__scope_add(login->scope,
                              *entering->challenge.scope ? entering->challenge.scope : entering->resource.scope);
    if (*login->scope && tfy__list_has(entering->at.scopes, offline))
        fits = tfy__scope_add(login->scope, offline) && fits;
    return fits ? EXIT_DONE : tfy__fail(EXIT_USAGE, "the scope is longer than %d bytes", TFY_SCOPE_MOST);
}

/* ---- the browser ---- */

static void encode(const unsigned char *bytes, size_t len, char word[WORD_SIZE])
{
    TfyBuffer text = {0};
    tfy__write_base64(&text, bytes, len);
    for (size_t i = 0; i < text.len; i++)
        text.data[i] = text.data[i] == '+' ? '-' : text.data[i] == '/' ? '_' : text.data[i];
    snprintf(word, WORD_SIZE, "%.*s", text.data ? (int)strcspn(text.data, "=") : 0, text.data ? text.data : "");
    tfy__buffer_free(&text);
}

/* Two words that nobody can guess. */
static int choose_words(Login *login)
{
    unsigned char bytes[2][32];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return tfy__fail(EXIT_BUG, "the system gives no random numbers: %s", strerror(errno));
    encode(bytes[0], sizeof bytes[0], login->state);
    encode(bytes[1], sizeof bytes[1], login->verifier);
    explicit_bzero(bytes, sizeof bytes);
    return EXIT_DONE;
}

static void add(TfyBuffer *url, const char *name, const char *value)
{
    const char last = url->len ? url->data[url->len - 1] : '\0';
    if (last != '?' && last != '&') tfy__buffer_char(url, memchr(url->data, '?', url->len) ? '&' : '?');
    tfy__buffer_printf(url, "%s=", name);
    tfy__buffer_url_part(url, value, strlen(value));
}

/* The address that the person opens. */
static void write_address(const Login *login, TfyBuffer *url)
{
    unsigned char digest[TFY_SHA256_SIZE];
    char challenge[WORD_SIZE];
    tfy__sha256(login->verifier, strlen(login->verifier), digest);
    encode(digest, sizeof digest, challenge);
    tfy__buffer_text(url, login->entering.at.authorization);
    add(url, "response_type", "code");
    add(url, "client_id", json_string_value(json_object_get(login->client, "id")));
    add(url, "redirect_uri", login->redirect.address);
    add(url, "code_challenge", challenge);
    add(url, "code_challenge_method", "S256");
    add(url, "state", login->state);
    add(url, "resource", login->entering.resource.resource);
    if (*login->scope) add(url, "scope", login->scope);
}

static int ask_person(Login *login, TfyLoginAnswer *answer)
{
    TfyBuffer url = {0};
    char why[TFY_ERROR_TEXT];
    const TfyEntering *entering = &login->entering;
    write_address(login, &url);
    if (url.failed) {
        tfy__buffer_free(&url);
        return tfy__fail(EXIT_BUG, "memory ran out");
    }
    tfy__say("log in to %s at %s; open in a browser of this machine:", entering->name, entering->issuer);
    tfy__say_text("%s\n", url.data);
    (void)tfy__desktop_open(url.data);
    tfy__buffer_free(&url);
    const int heard = tfy__redirect_wait(&login->redirect, PERSON_MS, answer);
    if (!heard) return tfy__fail(EXIT_MISSING, "no answer came within %d min", (int)(PERSON_MS / 60000));
    if (heard < 0) return tfy__fail(EXIT_DATA, "the browser brought an answer that cannot be read");
    tfy__login_answer_wrong(answer, login->state, entering->issuer, entering->at.says_issuer, why);
    return *why ? tfy__fail(EXIT_DATA, "%s", why) : EXIT_DONE;
}

/* ---- the command ---- */

static int get_tokens(Login *login, const TfyLoginAnswer *answer)
{
    json_t *entry = NULL;
    bool forget = false;
    const char *redirect = login->redirect.address;
    int status = tfy__entering_exchange(&login->entering, login->client, answer->code, login->verifier, redirect,
                                        *login->scope ? login->scope : NULL, &entry, &forget);
    if (forget && json_object_get(login->client, "redirect")) (void)keep(login, NULL, NULL);
    if (status == EXIT_DONE) status = keep(login, login->client, entry);
    if (status == EXIT_DONE) {
        const char *scope = json_string_value(json_object_get(entry, "scope"));
        printf("logged in to %s at %s%s%s\n", login->entering.name, login->entering.issuer, scope ? ", for " : "",
               scope ? scope : "");
        status = tfy__flush_stdout(EXIT_DONE);
    }
    json_decref(entry);
    return status;
}

static int enter(Login *login)
{
    bool found = false;
    TfyLoginAnswer *answer = calloc(1, sizeof *answer);
    int status = answer ? tfy__entering_server(&login->entering, &found) : tfy__fail(EXIT_BUG, "memory ran out");
    if (status == EXIT_DONE && !found && login->asked)
        status = tfy__fail(EXIT_DATA, "%s wants a login, and does not say who lets people in", login->entering.name);
    else if (status == EXIT_DONE && !found)
        tfy__say("%s needs no login", login->entering.name);
    if (status == EXIT_DONE && found) status = read_logins(login);
    if (status == EXIT_DONE && found) status = tfy__entering_issuer(&login->entering, login->args->option[OPT_ISSUER]);
    if (status == EXIT_DONE && found) status = choose_client(login);
    if (status == EXIT_DONE && found) status = choose_scope(login);
    if (status == EXIT_DONE && found) status = choose_words(login);
    if (status == EXIT_DONE && found) status = ask_person(login, answer);
    if (status == EXIT_DONE && found) status = get_tokens(login, answer);
    if (answer) explicit_bzero(answer, sizeof *answer);
    free(answer);
    return status;
}

static int log_in(Login *login, const char *url)
{
    login->entering.name = login->talk.name;
    login->entering.url = tfy__place_canonical(url);
    login->entering.local = tfy__place_is_local(url);
    login->redirect.listener = -1;
    const char *wrong = tfy__place_wrong(url, true);
    int status = !login->entering.url ? tfy__fail(EXIT_BUG, "memory ran out")
                 : wrong ? tfy__fail(EXIT_USAGE, "a token cannot be sent to %s: it %s", login->entering.url, wrong)
                         : ask_server(login);
    if (status == EXIT_DONE) status = enter(login);
    tfy__redirect_close(&login->redirect);
    tfy__entering_free(&login->entering);
    json_decref(login->client);
    json_decref(login->logins);
    explicit_bzero(login->verifier, sizeof login->verifier);
    return status;
}

static int refuse_command(const char *name)
{
    return tfy__fail(EXIT_USAGE, "'%s' is a command and has no address; only servers over HTTP want logins", name);
}

static int log_in_at(const TfyArgs *args, const TfyMcpSpec *spec, const char *cwd, void *arg)
{
    Login login = {.args = args, .talk = {.logs_in = true}};
    (void)arg;
    if (!spec->url) return refuse_command(spec->name);
    int status = tfy__mcp_talk_open_spec(&login.talk, args, spec, cwd);
    if (status == EXIT_DONE) status = log_in(&login, spec->url);
    tfy__mcp_talk_close(&login.talk);
    return status;
}

int tfy__cmd_mcp_login(const TfyArgs *args)
{
    const char *word = args->words[0];
    if (args->word_count == 2) return tfy__mcp_with_server(args, args->words[1], word, log_in_at, NULL);
    if (!strstr(word, "://"))
        return tfy__fail(EXIT_USAGE,
                         "'%.60s' is not an address; for a server of a program, name it too: tfy mcp login "
                         "%.60s FILE.tfy",
                         word, word);
    Login login = {.args = args, .talk = {.logs_in = true}};
    int status = tfy__mcp_talk_open(&login.talk, args, 0);
    if (status == EXIT_DONE && !login.talk.spec.url) status = refuse_command(word);
    if (status == EXIT_DONE) status = log_in(&login, login.talk.spec.url);
    tfy__mcp_talk_close(&login.talk);
    return status;
}
