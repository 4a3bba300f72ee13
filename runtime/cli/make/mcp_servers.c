/* mcp_servers.c: see mcp_servers.h. tfyc says where the servers are (tfyc --servers): each word of a command, an address
 * or an environment as a list of texts and of {"secret": NAME}. */
#include "cli/make/mcp_servers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/report.h"
#include "cli/make/compile.h"
#include "cli/make/mcp_pull.h"
#include "effects/secret_source.h"

/* What a server's spec points to. */
typedef struct Words {
    char **argv, **env, **headers, *url, *cwd;
} Words;

typedef struct Program {
    const TfyArgs *args;
    const char *path;
    json_t *servers;
} Program;

/* ---- words ---- */

static void free_word(char *word)
{
    if (word) explicit_bzero(word, strlen(word));
    free(word);
}

static void free_list(char **list)
{
    for (char **word = list; word && *word; word++) free_word(*word);
    free(list);
}

static void free_words(Words *words)
{
    free_list(words->argv);
    free_list(words->env);
    free_list(words->headers);
    free_word(words->url);
    free_word(words->cwd);
}

/* False after a message. */
static bool add_secret(const Program *program, const char *name, TfyBuffer *out)
{
    char error[TFY_ERROR_TEXT];
    TfySought sought = {.name = name, .given = program->args->option[OPT_SECRETS], .error = error};
    if (tfy__secret_look(&sought) && sought.value) {
        tfy__buffer_add(out, sought.value, sought.len);
        explicit_bzero(sought.value, sought.len);
    } else if (*error) {
        tfy__say("%s", error);
    } else {
        tfy__say("there is no value for secret(\"%s\"); set TFY_SECRET_%s, or give --secrets FILE", name, name);
    }
    const bool found = sought.value;
    free(sought.value);
    return found;
}

/* NULL after a message. Owned, to be wiped. */
static char *word_of(const Program *program, const json_t *parts)
{
    TfyBuffer text = {0};
    bool ok = tfy__buffer_reserve(&text, 1);
    size_t i;
    json_t *part;
    if (ok) *text.data = '\0';
    json_array_foreach(parts, i, part)
    {
        const char *secret = json_string_value(json_object_get(part, "secret"));
        if (!ok) break;
        if (secret)
            ok = add_secret(program, secret, &text);
        else
            tfy__buffer_text(&text, json_string_value(part));
    }
    if (ok && text.failed) tfy__say("memory ran out");
    if (ok && !text.failed) return text.data;
    tfy__buffer_free(&text);
    return NULL;
}

/* NULL after a message. */
static char **list_of(const Program *program, const json_t *words)
{
    char **list = calloc(json_array_size(words) + 1, sizeof *list);
    size_t i;
    json_t *parts;
    if (!list) tfy__say("memory ran out");
    json_array_foreach(words, i, parts)
    {
        if (!list || (list[i] = word_of(program, parts))) continue;
        free_list(list);
        return NULL;
    }
    return list;
}

/* Each entry as NAME, `between` and its value. NULL after a message. */
static char **entries_of(const Program *program, const json_t *map, const char *between)
{
    char **list = calloc(json_object_size(map) + 1, sizeof *list);
    size_t count = 0;
    const char *name;
    json_t *parts;
    if (!list) tfy__say("memory ran out");
    json_object_foreach((json_t *)(uintptr_t)map, name, parts)
    {
        char *value = list ? word_of(program, parts) : NULL, *entry = NULL;
        if (value && asprintf(&entry, "%s%s%s", name, between, value) < 0) entry = NULL;
        free_word(value);
        if (entry) {
            list[count++] = entry;
            continue;
        }
        free_list(list);
        return NULL;
    }
    return list;
}

static bool find_words(const Program *program, const json_t *server, Words *words)
{
    const json_t *http = json_object_get(server, "http"), *cwd = json_object_get(server, "cwd");
    if (cwd && !(words->cwd = word_of(program, cwd))) return false;
    if (http)
        return (words->url = word_of(program, http)) &&
               (words->headers = entries_of(program, json_object_get(server, "headers"), ": "));
    return (words->argv = list_of(program, json_object_get(server, "exec"))) &&
           (words->env = entries_of(program, json_object_get(server, "env"), "="));
}

/* ---- one server ---- */

/* The file beside the program. */
static int name_file(const Program *program, const char *name, char file[PATH_MAX])
{
    const char *slash = strrchr(program->path, '/');
    const int dir = slash ? (int)(slash - program->path) + 1 : 0;
    if (snprintf(file, PATH_MAX, "%.*s%s.mcp.json", dir, program->path, name) < PATH_MAX) return EXIT_DONE;
    return tfy__fail(EXIT_USAGE, "the name of %s.mcp.json is too long", name);
}

static int pull_server(const TfyArgs *args, const TfyMcpSpec *spec, const char *cwd, void *arg)
{
    char file[PATH_MAX];
    TfyMcpTalk talk = {.loop = NULL};
    int status = name_file(arg, spec->name, file);
    if (status == EXIT_DONE) status = tfy__mcp_talk_open_spec(&talk, args, spec, cwd);
    if (status == EXIT_DONE) status = tfy__mcp_pull(&talk, file, args->option[OPT_MCP_CHECK]);
    tfy__mcp_talk_close(&talk);
    return status;
}

/* Visits a server with what its words stand for. */
static int visit_server(const Program *program, const json_t *server, TfyMcpVisit *visit, void *arg)
{
    Words words = {.argv = NULL};
    TfyBuffer login = {0};
    const char *name = tfy__json_text(server, "name");
    int status = EXIT_MISSING;
    tfy__buffer_printf(&login, "%s ", name);
    tfy__buffer_shell_word(&login, program->path);
    if (find_words(program, server, &words)) {
        const TfyMcpSpec spec = {.name = name,
                                 .argv = (const char *const *)words.argv,
                                 .env = (const char *const *)words.env,
                                 .url = words.url,
                                 .headers = (const char *const *)words.headers,
                                 .login_words = login.failed ? NULL : login.data};
        status = visit(program->args, &spec, words.cwd ? words.cwd : ".", arg);
    }
    free_words(&words);
    tfy__buffer_free(&login);
    return status;
}

/* ---- the program ---- */

static int read_servers(Program *program)
{
    FILE *printed;
    json_error_t error;
    const int status = tfy__list_servers(program->path, &printed);
    if (status != EXIT_DONE) return status;
    program->servers = json_loadf(printed, 0, &error);
    fclose(printed);
    return program->servers ? EXIT_DONE : tfy__fail(EXIT_BUG, "tfyc --servers printed what cannot be read");
}

/* Each server, or the one of that name. Goes on behind one that fails. */
static int visit_servers(const Program *program, const char *only, TfyMcpVisit *visit, void *arg)
{
    int status = EXIT_DONE, found = 0;
    size_t i;
    json_t *server;
    json_array_foreach(program->servers, i, server)
    {
        if (only && strcmp(tfy__json_text(server, "name"), only) != 0) continue;
        const int one = visit_server(program, server, visit, arg);
        found++;
        if (status == EXIT_DONE) status = one;
    }
    if (found) return status;
    if (only) return tfy__fail(EXIT_USAGE, "%s declares no MCP server '%s'", program->path, only);
    return tfy__fail(EXIT_USAGE, "%s declares no MCP server; one looks like this: mcp docs = exec [\"docs-server\"]",
                     program->path);
}

int tfy__mcp_with_server(const TfyArgs *args, const char *path, const char *name, TfyMcpVisit *visit, void *arg)
{
    Program program = {.args = args, .path = path};
    int status = read_servers(&program);
    if (status == EXIT_DONE) status = visit_servers(&program, name, visit, arg);
    json_decref(program.servers);
    return status;
}

int tfy__mcp_pull_program(const TfyArgs *args)
{
    Program program = {.args = args, .path = args->words[0]};
    if (args->word_count > 2) return tfy__fail(EXIT_USAGE, "'%s' is too much", args->words[2]);
    int status = read_servers(&program);
    if (status == EXIT_DONE)
        status = visit_servers(&program, args->word_count > 1 ? args->words[1] : NULL, pull_server, &program);
    json_decref(program.servers);
    return status;
}
