/* serve.c: tfy serve, tfy publish, and the commands that ask a server: compiles what has to be compiled, and becomes tfy-serve or
 * tfy-publish, the programs beside this one that do the rest. */
#include "cli/cluster/cluster.h"
#include "cli/cluster/cluster.h"
#include "cli/frame/commands.h"
#include "cli/make/compile.h"
#include "cli/make/serve.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/own_path.h"
#include "base/sys_memory.h"

enum { FILES_MOST = 256 };

/* "shop=/path/of/shop.so": the name is that of the file, without what follows the first dot. */
static char *named(const char *file, const char *object)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    return tfy__sys_printf("%.*s=%s", (int)strcspn(name, "."), name, object);
}

/* "--watch=shop=path/of/shop.tfy" */
static char *watched(const char *file)
{
    char *name = named(file, file);
    char *word = name ? tfy__sys_printf("--watch=%s", name) : NULL;
    free(name);
    return word;
}

/* Returns an exit status; *word is owned by the caller. */
static int prepare(const TfyArgs *args, const char *file, const char *offer, char **word)
{
    char *object = NULL;
    const TfyCompile what = {
        .name = file, .path = file, .dirs = args->dirs, .dir_count = args->dir_count, .shared = true, .offer = offer};
    int status = EXIT_DONE;
    if (tfy__ends_with(file, ".tfy"))
        status = tfy__compile(&what, &object);
    else if (!tfy__ends_with(file, ".so"))
        return tfy__fail(EXIT_USAGE, "%s takes FILE.tfy, or FILE.so that `tfy build --shared` made, not '%s'",
                         args->command->name, file);
    if (status == EXIT_DONE && !(*word = named(file, object ? object : file)))
        status = tfy__fail(EXIT_BUG, "memory ran out");
    free(object);
    return status;
}

static int become(char **words)
{
    char path[PATH_MAX];
    if (tfy__path_beside(words[0], path)) execv(path, words);
    return tfy__fail(EXIT_MISSING, "%s, which belongs beside tfy, cannot be started: %s", words[0], strerror(errno));
}

/* ---- options ---- */

/* Those that the other program reads itself, as it reads them. */
static void add_options(const TfyArgs *args, char **words, int *count)
{
    static const TfyOption values[] = {OPT_CONFIG,       OPT_TLS_CERT,    OPT_TLS_KEY,    OPT_TLS_CA,
                                       OPT_ROLES,        OPT_ONLY,        OPT_EXPIRES,    OPT_RATE,
                                       OPT_SERVER,       OPT_RUN_ID,      OPT_DRAIN,      OPT_PROGRAM_NAME,
                                       OPT_TO,           OPT_FOLLOWER,    OPT_TYPE,       OPT_SECRET_FILE,
                                       OPT_STATE,        OPT_OF_WORKFLOW, OPT_LIMIT,      OPT_MCP_HOLD,
                                       OPT_MCP_APPROVE,  OPT_LLM,         OPT_MODELS,     OPT_SECRETS,
                                       OPT_SECRETS_FROM, OPT_LOG_LEVEL,   OPT_LOG_FORMAT, OPT_WORKER_NAME,
                                       OPT_WORKER_POOL,  OPT_THREADS},
                           flags[] = {OPT_NO_TCP, OPT_CHECK_ONLY, OPT_PRINT_CONFIG, OPT_OPEN,    OPT_JSON,
                                      OPT_MOVE,   OPT_START_WAIT, OPT_CONTENT,      OPT_DETAILS, OPT_MCP};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (!args->option[values[i]]) continue;
        words[(*count)++] = tfy__sys_printf("--%s=%s", tfy__options[values[i]].name, args->option[values[i]]);
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (args->option[flags[i]]) words[(*count)++] = tfy__sys_printf("--%s", tfy__options[flags[i]].name);
    for (int i = 0; i < args->given_count; i++)
        words[(*count)++] = tfy__sys_printf("--%s=%s", tfy__options[args->given[i].option].name, args->given[i].value);
    for (int i = 0; i < args->param_count; i++) {
        const char *value = args->params[2 * i + 1];
        words[(*count)++] =
            tfy__sys_printf("--param=%s%s%s", args->params[2 * i], value ? "=" : "", value ? value : "");
    }
}

/* The words of the program: its name, what it does, the database, and the options. NULL: no memory. */
static char **words_of(const TfyArgs *args, const char *program, const char *verb, int *count)
{
    char **words =
        tfy__sys_calloc((size_t)(2 * args->word_count + args->given_count + args->param_count) + 48, sizeof *words);
    if (!words) return NULL;
    words[(*count)++] = tfy__sys_strdup(program);
    if (verb) words[(*count)++] = tfy__sys_strdup(verb);
    words[(*count)++] = tfy__sys_printf("--db=%s", tfy__db_path(args));
    add_options(args, words, count);
    for (int i = 0; i < *count; i++)
        if (!words[i]) *count = 0;
    return words;
}

static void free_words(char **words, int count)
{
    while (words && count) free(words[--count]);
    free(words);
}

/* What is offered to MCP clients, as tfyc --offer has it: what --tool names, else all that is documented; and what is bound
 * as a prompt or a resource, "ADDRESS=NAME". malloc'ed; NULL: no memory. */
static char *offer_of(const TfyArgs *args)
{
    TfyBuffer list = {0};
    tfy__buffer_text(&list, args->option[OPT_MCP_TOOL] ? "" : "-");
    for (int i = 0; i < args->given_count; i++) {
        const TfyGiven *given = &args->given[i];
        const char *equal = given->option == OPT_MCP_RESOURCE ? strrchr(given->value, '=') : NULL;
        if (given->option != OPT_MCP_TOOL && given->option != OPT_MCP_PROMPT && !equal) continue;
        tfy__buffer_printf(&list, "%s%s", list.len ? "," : "", equal ? equal + 1 : given->value);
    }
    return list.failed ? (tfy__buffer_free(&list), NULL) : list.data;
}

/* verb: NULL, or what the client at standard input and output speaks. */
static int serve(const TfyArgs *args, const char *verb)
{
    int count = 0;
    char **words = words_of(args, "tfy-serve", verb, &count);
    char *offer = verb || args->option[OPT_MCP] ? offer_of(args) : NULL;
    int status = words && count ? EXIT_DONE : tfy__fail(EXIT_BUG, "memory ran out");
    if (status == EXIT_DONE && !args->word_count && !args->option[OPT_CHECK_ONLY] && !args->option[OPT_PRINT_CONFIG] &&
        !args->option[OPT_CONFIG] && !tfy__db_is_shared(args))
        status = tfy__fail(EXIT_USAGE,
                           "serve needs a program: FILE.tfy, FILE.so that `tfy build --shared` made, or --config FILE");
    if (status == EXIT_DONE && args->word_count && tfy__db_is_shared(args))
        status = tfy__fail(EXIT_USAGE,
                           "a server of PostgreSQL has the programs that are deployed there: 'tfy deploy %s', then "
                           "'tfy serve' without a file",
                           args->words[0]);
    for (int i = 0; i < args->word_count && status == EXIT_DONE && args->option[OPT_WATCH]; i++)
        if (tfy__ends_with(args->words[i], ".tfy")) words[count++] = watched(args->words[i]);
    for (int i = 0; i < args->word_count && status == EXIT_DONE; i++)
        status = prepare(args, args->words[i], offer, &words[count++]);
    if (status == EXIT_DONE) status = become(words);
    free_words(words, count);
    free(offer);
    return status;
}

int tfy__cmd_serve(const TfyArgs *args)
{
    return serve(args, NULL);
}

int tfy__cmd_mcp_serve(const TfyArgs *args)
{
    return serve(args, "mcp");
}

int tfy__cmd_worker(const TfyArgs *args)
{
    int count = 0;
    char **words = words_of(args, "tfy-worker", NULL, &count);
    int status = words && count ? EXIT_DONE : tfy__fail(EXIT_BUG, "memory ran out");
    if (status == EXIT_DONE && !tfy__db_is_shared(args))
        status = tfy__fail(EXIT_USAGE,
                           "a worker takes runs out of a database of PostgreSQL: --db postgresql://USER@HOST/NAME; "
                           "`tfy serve` executes those of a file");
    for (int i = 0; i < args->word_count && status == EXIT_DONE; i++)
        status = prepare(args, args->words[i], NULL, &words[count++]);
    if (status == EXIT_DONE) status = become(words);
    free_words(words, count);
    return status;
}

/* The words as they are: tfy-serve does the rest. */
static int pass_on(const TfyArgs *args, const char *verb)
{
    int count = 0;
    char **words = words_of(args, "tfy-serve", verb, &count);
    int status = words && count ? EXIT_DONE : tfy__fail(EXIT_BUG, "memory ran out");
    for (int i = 0; i < args->word_count && status == EXIT_DONE; i++) words[count++] = tfy__sys_strdup(args->words[i]);
    if (status == EXIT_DONE) status = become(words);
    free_words(words, count);
    return status;
}

int tfy__ask_server(const TfyArgs *args, const char *verb)
{
    if (args->option[OPT_OUTPUT])
        return tfy__fail(EXIT_USAGE, "--output is of a database; a server has it at /v1/runs/RUN/output");
    return pass_on(args, verb);
}

int tfy__send_server(const TfyArgs *args, const json_t *request, const char *done)
{
    TfyArgs own = *args;
    char *text = json_dumps(request, JSON_COMPACT);
    const char *words[] = {text, done};
    own.words = words;
    own.word_count = 2;
    const int status = text ? pass_on(&own, "request") : tfy__fail(EXIT_BUG, "memory ran out");
    free(text);
    return status;
}

int tfy__cmd_token(const TfyArgs *args)
{
    return pass_on(args, "token");
}

/* A server elsewhere does it, if one is named, whatever the database. */
static bool is_for_cluster(const TfyArgs *args)
{
    return tfy__db_is_shared(args) && !args->option[OPT_SERVER];
}

int tfy__cmd_start(const TfyArgs *args)
{
    if (is_for_cluster(args)) return tfy__cluster_start(args);
    if (args->option[OPT_POOL])
        return tfy__fail(EXIT_USAGE,
                         "--pool is of a database of PostgreSQL, whose workers are in pools; a server executes "
                         "its runs itself");
    if (args->option[OPT_MANY] || args->option[OPT_PRIORITY] || args->option[OPT_START_AFTER] ||
        args->option[OPT_TENANT])
        return tfy__fail(EXIT_USAGE, "--many, --priority, --after and --tenant are of a database of PostgreSQL");
    return pass_on(args, "start");
}

int tfy__cmd_drain(const TfyArgs *args)
{
    return pass_on(args, "drain");
}

/* All files of the program, as the compiler finds them, the main one first. */
int tfy__cmd_deploy(const TfyArgs *args)
{
    char path[PATH_MAX];
    FILE *list;
    TfyArgs own = *args;
    const char *files[FILES_MOST];
    if (is_for_cluster(args)) return tfy__cluster_deploy(args);
    if (args->option[OPT_SHARE])
        return tfy__fail(EXIT_USAGE,
                         "--share is of a database of PostgreSQL; on a server all new runs get the version");
    int status = tfy__list_files(args->words[0], &list);
    if (status != EXIT_DONE) return status;
    own.words = files;
    own.word_count = 0;
    while (own.word_count < FILES_MOST && fgets(path, sizeof path, list)) {
        path[strcspn(path, "\n")] = '\0';
        files[own.word_count++] = tfy__sys_strdup(path);
    }
    fclose(list);
    status = pass_on(&own, "deploy");
    while (own.word_count) free((char *)files[--own.word_count]);
    return status;
}

int tfy__cmd_publish(const TfyArgs *args)
{
    int count = 0;
    char **words = words_of(args, "tfy-publish", NULL, &count);
    const int status = words && count ? become(words) : tfy__fail(EXIT_BUG, "memory ran out");
    free_words(words, count);
    return status;
}
