/* server_command.c: see server_command.h.
 *
 * start --db FILE [--server URL] [--id NAME] [--label NAME=VALUE]… [--wait] [--param NAME[=VALUE]]… PROGRAM[.WORKFLOW]
 * deploy --db FILE [--server URL] [--name NAME] [--move] FILE.tfy…      the program first, then all that it imports
 * drain --db FILE [--server URL] */
#include "serve/server_command.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "serve/client.h"
#include "serve/problem.h"

enum { GIVEN_MOST = 256, WAIT_S = 60, FILE_MOST = 8 << 20 };

typedef struct Words {
    TfyClient client;
    const char *name;
    bool move, wait, refused;
    const char *params[GIVEN_MOST], *labels[GIVEN_MOST]; /* NULL ends them */
    int param_count, label_count;
    char **operands;
    int count;
} Words;

/* ---- start: which workflow ---- */

/* "/v1/programs/shop/workflows/order/runs": the part behind "/v1/programs/shop/workflows/", up to its slash. */
static bool workflow_in(const char *path, const char *program, char name[128])
{
    char start[160];
    snprintf(start, sizeof start, "/v1/programs/%.64s/workflows/", program);
    if (strncmp(path, start, strlen(start)) != 0 || path[strlen(start)] == '{') return false;
    snprintf(name, 128, "%.*s", (int)strcspn(path + strlen(start), "/"), path + strlen(start));
    return true;
}

/* Named, or main, or the only one. Returns EXIT_DONE, or a status after a message. */
static int choose_workflow(const json_t *document, const char *word, char program[65], char workflow[128])
{
    const char *dot = strchr(word, '.'), *path;
    char one[128];
    json_t *value;
    TfyBuffer all = {0};
    int count = 0;
    bool has_main = false;
    snprintf(program, 65, "%.*s", (int)(dot ? (size_t)(dot - word) : strlen(word)), word);
    snprintf(workflow, 128, "%s", dot ? dot + 1 : "");
    json_object_foreach(json_object_get(document, "paths"), path, value)
    {
        if (!workflow_in(path, program, one)) continue;
        tfy__buffer_printf(&all, "%s%s", count++ ? ", " : "", one);
        has_main |= strcmp(one, "main") == 0;
        if (!dot) snprintf(workflow, 128, "%s", has_main ? "main" : one);
    }
    int status = EXIT_DONE;
    if (!count)
        status = tfy__fail(EXIT_MISSING, "the server has no program '%s'", program);
    else if (!dot && !has_main && count > 1)
        status = tfy__fail(EXIT_USAGE, "name the workflow of %s: %s.%s", program, program, all.data ? all.data : "");
    tfy__buffer_free(&all);
    return status;
}

/* ---- start: its arguments ---- */

static const json_t *arguments_schema(const json_t *document, const char *program, const char *workflow)
{
    static const char *const way[] = {"post",   "requestBody", "content", "application/json",
                                      "schema", "properties",  "args",    "properties"};
    char path[320];
    snprintf(path, sizeof path, "/v1/programs/%s/workflows/%s/runs", program, workflow);
    const json_t *at = json_object_get(json_object_get(document, "paths"), path);
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) at = json_object_get(at, way[i]);
    return at;
}

/* A text is typed as it is; everything else as JSON. */
static bool is_text(const json_t *document, const json_t *schema)
{
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    if (ref && strncmp(ref, "#/components/schemas/", 21) == 0)
        schema = json_object_get(json_object_get(json_object_get(document, "components"), "schemas"), ref + 21);
    const char *type = json_string_value(json_object_get(schema, "type"));
    return (type && strcmp(type, "string") == 0) || json_is_string(json_array_get(json_object_get(schema, "enum"), 0));
}

/* NULL: it is not understood, which was said. */
static json_t *argument(const json_t *document, const json_t *schema, const char *name, const char *value)
{
    json_error_t error;
    if (!value) return json_true();
    if (!schema || is_text(document, schema)) return json_string(value); /* what it does not have, the server says */
    json_t *json = json_loads(value, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    if (!json) tfy__say("--%s takes JSON, and '%.80s' is none: %s", name, value, error.text);
    return json;
}

/* "NAME=VALUE" or "NAME". Returns NULL after a message. */
static json_t *arguments_of(const Words *words, const json_t *document, const json_t *schema)
{
    json_t *args = json_object();
    for (int i = 0; i < words->param_count; i++) {
        const char *equal = strchr(words->params[i], '=');
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)(equal ? (size_t)(equal - words->params[i]) : 127), words->params[i]);
        json_t *value = argument(document, json_object_get(schema, name), name, equal ? equal + 1 : NULL);
        if (!value || json_object_set_new(args, name, value) != 0) {
            json_decref(args);
            return NULL;
        }
    }
    return args;
}

static json_t *labels_of(const Words *words)
{
    json_t *labels = json_object();
    for (int i = 0; i < words->label_count; i++) {
        const char *equal = strchr(words->labels[i], '=');
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)(equal ? (size_t)(equal - words->labels[i]) : 127), words->labels[i]);
        json_object_set_new(labels, name, json_string(equal ? equal + 1 : ""));
    }
    return labels;
}

/* ---- start: what comes of it ---- */

static int print_json(const json_t *json)
{
    char *text = json ? json_dumps(json, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    puts(text ? text : "null");
    free(text);
    return tfy__flush_stdout(EXIT_DONE);
}

static int report_end(const json_t *run)
{
    const char *state = json_string_value(json_object_get(run, "state")),
               *id = json_string_value(json_object_get(run, "id"));
    const json_t *error = json_object_get(run, "error");
    const char *kind = json_string_value(json_object_get(error, "error")),
               *message = json_string_value(json_object_get(error, "message"));
    if (state && strcmp(state, "completed") == 0) return print_json(json_object_get(run, "result"));
    return tfy__fail(EXIT_RUN_FAILED, "run %s has %s%s%s%s%s", id, state ? state : "ended", kind ? ": " : "",
                     kind ? kind : "", message ? ": " : "", message ? message : "");
}

/* Asks again until the run has ended. Takes the reply. */
static int await_end(const Words *words, TfyReply *reply)
{
    char path[64];
    snprintf(path, sizeof path, "/v1/runs/%.40s", json_string_value(json_object_get(reply->json, "id")));
    int status = EXIT_DONE;
    while (status == EXIT_DONE && json_is_null(json_object_get(reply->json, "ended"))) {
        tfy__client_free(reply);
        sleep(1);
        *reply = tfy__client_ask(&words->client, "GET", path, NULL);
        status = tfy__client_judge(&words->client, reply);
    }
    return status == EXIT_DONE ? report_end(reply->json) : status;
}

static int report_start(const Words *words, TfyReply *reply)
{
    const char *id = json_string_value(json_object_get(reply->json, "id"));
    const int status = tfy__client_judge(&words->client, reply);
    if (status != EXIT_DONE) return status;
    if (!id) return tfy__fail(EXIT_LOG, "the server answered what no server of tfy does");
    if (words->wait) return await_end(words, reply);
    puts(id);
    return tfy__flush_stdout(EXIT_DONE);
}

static int start(Words *words)
{
    char program[65], workflow[128], path[320];
    TfyReply document = tfy__client_ask(&words->client, "GET", "/openapi.json", NULL);
    int status = tfy__client_judge(&words->client, &document);
    if (status == EXIT_DONE) status = choose_workflow(document.json, words->operands[0], program, workflow);
    json_t *args = status == EXIT_DONE
                       ? arguments_of(words, document.json, arguments_schema(document.json, program, workflow))
                       : NULL;
    tfy__client_free(&document);
    if (!args) return status == EXIT_DONE ? EXIT_USAGE : status;
    json_t *body = json_pack("{s:o, s:o}", "args", args, "labels", labels_of(words));
    snprintf(path, sizeof path, "/v1/programs/%s/workflows/%s/runs", program, workflow);
    words->client.wait_s = words->wait ? WAIT_S : 0;
    TfyReply reply = tfy__client_ask(&words->client, "POST", path, body);
    words->client.wait_s = 0;
    words->client.key = NULL;
    status = report_start(words, &reply);
    tfy__client_free(&reply);
    json_decref(body);
    return status;
}

/* ---- deploy ---- */

/* The length of the directory that all files are in, with its slash. */
static size_t common_dir(char reals[][PATH_MAX], int count)
{
    size_t len = (size_t)(strrchr(reals[0], '/') - reals[0]) + 1;
    for (int i = 1; i < count; i++)
        while (strncmp(reals[0], reals[i], len) != 0)
            for (len--; len && reals[0][len - 1] != '/';) len--;
    return len;
}

static json_t *file_json(const char *real, const char *path)
{
    json_t *file = NULL;
    char *text = malloc(FILE_MOST);
    FILE *in = text ? fopen(real, "re") : NULL;
    const size_t len = in ? fread(text, 1, FILE_MOST, in) : 0;
    if (in && len < FILE_MOST) file = json_pack("{s:s, s:s%}", "path", path, "text", text, len);
    if (in) fclose(in);
    free(text);
    if (!file) tfy__say("%s cannot be read, is not UTF-8, or has more than %d MiB", path, FILE_MOST >> 20);
    return file;
}

/* Their paths are those below the directory that they have in common. NULL after a message. */
static json_t *files_of(char **files, int count)
{
    char(*reals)[PATH_MAX] = calloc((size_t)count, sizeof *reals);
    json_t *list = json_array();
    bool fine = reals && list;
    for (int i = 0; i < count && fine; i++)
        if (!realpath(files[i], reals[i])) fine = tfy__fail(EXIT_MISSING, "cannot read %s", files[i]) == EXIT_DONE;
    const size_t dir = fine ? common_dir(reals, count) : 0;
    for (int i = 0; i < count && fine; i++) {
        json_t *file = file_json(reals[i], reals[i] + dir);
        fine = file && json_array_append_new(list, file) == 0;
    }
    free(reals);
    if (fine) return list;
    json_decref(list);
    return NULL;
}

static void name_of(const Words *words, char name[65])
{
    const char *slash = strrchr(words->operands[0], '/'), *base = slash ? slash + 1 : words->operands[0];
    snprintf(name, 65, "%.*s", words->name ? 64 : (int)strcspn(base, "."), words->name ? words->name : base);
}

/* What the deploy says of older versions. */
static void report_older(const json_t *deployed)
{
    const json_t *older, *refused;
    size_t i, j;
    json_array_foreach(json_object_get(deployed, "older"), i, older)
    {
        const char *unknown = json_string_value(json_object_get(older, "unknown"));
        const json_int_t runs = json_integer_value(json_object_get(older, "runs"));
        printf("%lld %s version %s", (long long)runs, runs == 1 ? "run has" : "runs have",
               json_string_value(json_object_get(older, "version")));
        if (unknown)
            printf("; whether they can be moved is not known: %s\n", unknown);
        else
            printf("; %lld of them can be moved\n",
                   (long long)(runs - (json_int_t)json_array_size(json_object_get(older, "refused"))));
        json_array_foreach(json_object_get(older, "refused"), j, refused)
            printf("  %s: %s\n", json_string_value(json_object_get(refused, "run")),
                   json_string_value(json_object_get(refused, "reason")));
    }
}

static void report_move(const json_t *moved)
{
    const json_t *stayed;
    size_t i;
    printf("%lld moved\n", (long long)json_integer_value(json_object_get(moved, "moved")));
    json_array_foreach(json_object_get(moved, "stayed"), i, stayed)
        printf("  %s stays: %s\n", json_string_value(json_object_get(stayed, "run")),
               json_string_value(json_object_get(stayed, "reason")));
}

/* All of them: each request moves a thousand at most. */
static int move(const Words *words, const char *name)
{
    char path[128];
    bool more = true;
    int status = EXIT_DONE;
    json_t *nothing = json_object();
    snprintf(path, sizeof path, "/v1/programs/%.64s/move", name);
    while (status == EXIT_DONE && more) {
        TfyReply reply = tfy__client_ask(&words->client, "POST", path, nothing);
        status = tfy__client_judge(&words->client, &reply);
        if (status == EXIT_DONE) report_move(reply.json);
        more = json_is_true(json_object_get(reply.json, "more")) &&
               json_integer_value(json_object_get(reply.json, "moved"));
        tfy__client_free(&reply);
    }
    json_decref(nothing);
    return status;
}

static int deploy(Words *words)
{
    char name[65], path[128];
    json_t *files = files_of(words->operands, words->count);
    if (!files) return EXIT_MISSING;
    json_t *body = json_pack("{s:o}", "files", files);
    name_of(words, name);
    snprintf(path, sizeof path, "/v1/programs/%.64s", name);
    TfyReply reply = tfy__client_ask(&words->client, "PUT", path, body);
    int status = tfy__client_judge(&words->client, &reply);
    if (status == EXIT_DONE)
        printf("%s: version %s is active%s\n", name, json_string_value(json_object_get(reply.json, "version")),
               reply.status == 200 ? ", as before" : "");
    if (status == EXIT_DONE && !words->move) report_older(reply.json);
    tfy__client_free(&reply);
    json_decref(body);
    if (status == EXIT_DONE && words->move) status = move(words, name);
    return tfy__flush_stdout(status);
}

/* ---- drain ---- */

static int drain(Words *words)
{
    json_t *nothing = json_object();
    TfyReply reply = tfy__client_ask(&words->client, "POST", "/v1/drain", nothing);
    const int status = tfy__client_judge(&words->client, &reply);
    tfy__client_free(&reply);
    json_decref(nothing);
    return status;
}

/* ---- the commands ---- */

static void keep(const char **list, int *count, const char *value)
{
    if (*count < GIVEN_MOST - 1) list[(*count)++] = value;
}

static bool take_option(Words *words, int option)
{
    switch (option) {
    case 'd': words->client.db = optarg; return true;
    case 's': words->client.url = optarg; return true;
    case 'i': words->client.key = optarg; return true;
    case 'n': words->name = optarg; return true;
    case 'm': words->move = true; return true;
    case 'w': words->wait = true; return true;
    case 'p': keep(words->params, &words->param_count, optarg); return true;
    case 'l': keep(words->labels, &words->label_count, optarg); return true;
    default: return false;
    }
}

static const struct {
    const char *name;
    int (*run)(Words *words);
} commands[] = {{"start", start}, {"deploy", deploy}, {"drain", drain}};

bool tfy__is_server_command(const char *word)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, word) == 0) return true;
    return false;
}

int tfy__server_command(int argc, char **argv)
{
    static const struct option options[] = {{"db", required_argument, NULL, 'd'},
                                            {"server", required_argument, NULL, 's'},
                                            {"id", required_argument, NULL, 'i'},
                                            {"name", required_argument, NULL, 'n'},
                                            {"move", no_argument, NULL, 'm'},
                                            {"wait", no_argument, NULL, 'w'},
                                            {"param", required_argument, NULL, 'p'},
                                            {"label", required_argument, NULL, 'l'},
                                            {NULL, 0, NULL, 0}};
    Words words = {.client.db = ".tfy/runs.db"};
    tfy__set_program_name("tfy");
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        if (!take_option(&words, option)) return EXIT_USAGE;
    words.operands = argv + optind;
    words.count = argc - optind;
    if (!words.count && strcmp(argv[0], "drain") != 0) return tfy__fail(EXIT_USAGE, "%s needs an operand", argv[0]);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, argv[0]) == 0) return commands[i].run(&words);
    return EXIT_USAGE;
}
