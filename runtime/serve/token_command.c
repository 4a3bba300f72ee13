/* token_command.c: see token_command.h.
 *
 * token --db FILE create NAME --roles viewer,operator [--only GLOB]… [--expires 30d] [--rate N|none]
 * token --db FILE list | revoke NAME | login */
#include "serve/token_command.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "serve/admin.h"
#include "serve/client.h"
#include "serve/tokens.h"
#include "wal/rows/payload.h"

typedef struct Words {
    const char *db, *verb, *name, *roles, *only, *expires, *rate;
    bool json;
} Words;

/* ---- what is wanted ---- */

/* The body of POST /v1/tokens. */
static json_t *body_of(const Words *words)
{
    json_t *roles = json_array(), *only = json_array();
    char *copy = strdup(words->roles ? words->roles : ""), *globs = strdup(words->only ? words->only : "");
    for (char *rest = copy, *one; copy && (one = strtok_r(rest, ",", &rest));)
        json_array_append_new(roles, json_string(one));
    for (char *rest = globs, *one; globs && (one = strtok_r(rest, ",", &rest));)
        json_array_append_new(only, json_string(one));
    json_t *body = json_pack("{s:s, s:o, s:o}", "name", words->name, "roles", roles, "only", only);
    if (words->expires) json_object_set_new(body, "expires", json_string(words->expires));
    if (words->rate && strcmp(words->rate, "none") == 0)
        json_object_set_new(body, "rate", json_null());
    else if (words->rate)
        json_object_set_new(body, "rate", json_integer(strtoll(words->rate, NULL, 10)));
    free(copy);
    free(globs);
    return body;
}

/* ---- the files alone ---- */

/* The log is held meanwhile, so no server starts between its record and the file. */
static TfyLog *hold_log(const Words *words, int *code, char *error)
{
    const TfyLogOptions options = {.path = words->db, .no_thread = true};
    TfyLog *log = NULL;
    *code = tfy__log_open(&log, &options, error);
    if (*code != TFY_OK) return NULL;
    const TfyTicket ticket = tfy__log_opened(log, tfy_version(), NULL);
    *code = ticket < 0 ? (int)ticket : TFY_OK;
    return log;
}

static int record(TfyLog *log, const char *what, const char *name, const json_t *value)
{
    TfyCaller caller = {.how = "file"};
    tfy__user_name(geteuid(), caller.name, sizeof caller.name);
    const TfyTicket ticket = tfy__admin_append(log, &caller, what, name, value);
    return ticket < 0 ? (int)ticket : tfy__log_sync(log);
}

static int create_here(TfyLog *log, TfyDoor *door, const json_t *body, char secret[TFY_SECRET_SIZE], char *error)
{
    TfyToken token;
    TfyProblem problem = {.kind = TFY_NO_PROBLEM};
    if (!tfy__token_read(body, &token, &problem)) {
        snprintf(error, TFY_ERROR_TEXT, "%s",
                 json_string_value(json_object_get(json_array_get(problem.errors, 0), "detail")));
        tfy__problem_clear(&problem);
        return TFY_E_INVALID;
    }
    json_t *value = json_pack("{s:o, s:s}", "roles", tfy__roles_json(token.roles), "only", token.only);
    int code = tfy__secret_make(token.name, secret) ? record(log, "token", token.name, value) : TFY_E_IO;
    if (code == TFY_OK) code = tfy__door_add(door, &token, secret);
    if (code == TFY_E_STATE) snprintf(error, TFY_ERROR_TEXT, "there is a token '%s'; revoke it first", token.name);
    json_decref(value);
    return code;
}

static int revoke_here(TfyLog *log, TfyDoor *door, const char *name, char *error)
{
    const int code = tfy__door_revoke(door, name);
    if (code == TFY_E_ABSENT) snprintf(error, TFY_ERROR_TEXT, "there is no token '%.60s'", name);
    return code == TFY_OK ? record(log, "revoke", name, NULL) : code;
}

static TfyReply change_here(const Words *words, const json_t *body, char *error)
{
    TfyReply answer = {.status = 500};
    char secret[TFY_SECRET_SIZE];
    int code;
    TfyLog *log = hold_log(words, &code, error);
    TfyDoor *door = log && code == TFY_OK ? tfy__door_open(words->db, error) : NULL;
    if (door && strcmp(words->verb, "list") == 0) {
        answer = (TfyReply){.status = 200, .json = json_pack("{s:o}", "tokens", tfy__door_list(door))};
    } else if (door && strcmp(words->verb, "revoke") == 0) {
        code = revoke_here(log, door, words->name, error);
        answer.status = code == TFY_OK ? 200 : code == TFY_E_ABSENT ? 404 : 500;
    } else if (door) {
        code = create_here(log, door, body, secret, error);
        answer.status = code == TFY_OK ? 201 : code == TFY_E_INVALID || code == TFY_E_STATE ? 422 : 500;
        if (code == TFY_OK) answer.json = json_pack("{s:s}", "token", secret);
    }
    tfy__door_close(door);
    if (log) tfy__log_close(log, true);
    if (answer.status >= 400) answer.json = json_pack("{s:s}", "detail", error);
    return answer;
}

/* ---- the commands ---- */

static void print_list(const json_t *tokens)
{
    const json_t *token;
    size_t i;
    json_array_foreach(tokens, i, token)
    {
        const char *used = json_string_value(json_object_get(token, "used")),
                   *expires = json_string_value(json_object_get(token, "expires"));
        char *roles = json_dumps(json_object_get(token, "roles"), JSON_COMPACT),
             *only = json_dumps(json_object_get(token, "only"), JSON_COMPACT);
        printf("%-20s %s %s  used %s, expires %s\n", json_string_value(json_object_get(token, "name")), roles, only,
               used ? used : "never", expires ? expires : "never");
        free(roles);
        free(only);
    }
}

static int report(const Words *words, const TfyReply *answer)
{
    const TfyClient client = {.db = words->db};
    const char *secret = json_string_value(json_object_get(answer->json, "token")),
               *url = json_string_value(json_object_get(answer->json, "url"));
    const int status = tfy__client_judge(&client, answer);
    if (status != EXIT_DONE) return status;
    if (strcmp(words->verb, "list") == 0 && words->json) {
        char *text = json_dumps(json_object_get(answer->json, "tokens"), JSON_INDENT(1));
        puts(text ? text : "[]");
        free(text);
    } else if (strcmp(words->verb, "list") == 0) {
        print_list(json_object_get(answer->json, "tokens"));
    } else if (strcmp(words->verb, "login") == 0) {
        if (!url) return tfy__fail(EXIT_MISSING, "the server has no address that a browser could open");
        puts(url);
    } else if (secret) {
        puts(secret);
    }
    return tfy__flush_stdout(EXIT_DONE);
}

static int run(const Words *words)
{
    const bool creates = strcmp(words->verb, "create") == 0, revokes = strcmp(words->verb, "revoke") == 0,
               lists = strcmp(words->verb, "list") == 0;
    char path[128], error[TFY_ERROR_TEXT] = "the files cannot be written";
    if (!creates && !revokes && !lists && strcmp(words->verb, "login") != 0)
        return tfy__fail(EXIT_USAGE, "token takes create, list, revoke or login, not '%.40s'", words->verb);
    if ((creates || revokes) && (!words->name || !tfy__token_name_fits(words->name)))
        return tfy__fail(EXIT_USAGE, "name the token with 1 to %d of a-z, 0-9 and '-'", TFY_TOKEN_NAME);
    json_t *body = creates ? body_of(words) : revokes || lists ? NULL : json_object();
    snprintf(path, sizeof path, revokes ? "/v1/tokens/%s" : "%s",
             revokes            ? words->name
             : creates || lists ? "/v1/tokens"
                                : "/v1/login");
    const TfyClient client = {.db = words->db};
    TfyReply answer = tfy__client_ask(&client, lists ? "GET" : revokes ? "DELETE" : "POST", path, body);
    if (answer.absent && strcmp(words->verb, "login") == 0) {
        json_decref(body);
        return tfy__fail(EXIT_MISSING, "no server runs that a browser could open");
    }
    if (answer.absent) answer = change_here(words, body, error);
    const int status = report(words, &answer);
    tfy__client_free(&answer);
    json_decref(body);
    return status;
}

int tfy__token_command(int argc, char **argv)
{
    static const struct option options[] = {{"db", required_argument, NULL, 'd'},
                                            {"roles", required_argument, NULL, 'r'},
                                            {"only", required_argument, NULL, 'o'},
                                            {"expires", required_argument, NULL, 'e'},
                                            {"rate", required_argument, NULL, 't'},
                                            {"json", no_argument, NULL, 'j'},
                                            {NULL, 0, NULL, 0}};
    Words words = {.db = ".tfy/runs.db"};
    tfy__set_program_name("tfy");
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'd': words.db = optarg; break;
        case 'r': words.roles = optarg; break;
        case 'o': words.only = optarg; break;
        case 'e': words.expires = optarg; break;
        case 't': words.rate = optarg; break;
        case 'j': words.json = true; break;
        default: return EXIT_USAGE;
        }
    }
    if (optind == argc) return tfy__fail(EXIT_USAGE, "token takes create, list, revoke or login");
    words.verb = argv[optind];
    words.name = optind + 1 < argc ? argv[optind + 1] : NULL;
    return run(&words);
}
