/* deploy.c: see deploy.h. */
#include "serve/mcp/mcp.h"
#include "serve/deploy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "serve/body.h"
#include "serve/build.h"
#include "serve/child.h"
#include "serve/reader.h"
#include "serve/versions.h"

enum { FILES_MOST = 256, PATH_MOST = 200, MESSAGES_MOST = 16 << 10, COMPAT_MS = 60000 };

/* A deploy on its way. */
typedef struct TfyDeploy {
    TfyShared *shared;       /* compiled, and not taken yet; owned */
    const TfyServed *served; /* … taken */
    bool again;              /* new runs had this version before */
    char before[33];         /* the version that they had; "": none */
    json_t *older;           /* versions with unfinished runs: [{"version", "runs"}, …]; owned */
} TfyDeploy;

void tfy__deploy_free(TfyDeploy *deploy)
{
    if (!deploy) return;
    tfy_shared_close(deploy->shared);
    json_decref(deploy->older);
    free(deploy);
}

/* ---- the body ---- */

/* Below its own directory, whatever the machine has elsewhere. */
static bool path_fits(const char *path)
{
    const size_t len = strlen(path);
    if (len < 5 || len > PATH_MOST || strcmp(path + len - 4, ".tfy") != 0 || *path == '/' || *path == '-') return false;
    if (strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") != len) return false;
    for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
        if (*at == '.' || *at == '/' || !*at) return false;
    return true;
}

static bool file_fits(const json_t *files, size_t i, TfyProblem *problem)
{
    static const TfyMemberOf members[] = {{"path", JSON_STRING}, {"text", JSON_STRING}, {NULL, JSON_NULL}};
    const json_t *file = json_array_get(files, i);
    char at[64];
    snprintf(at, sizeof at, "$.files[%zu]", i);
    if (!json_is_object(file)) return tfy__body_mistake(problem, at, "it is not an object");
    if (!tfy__body_fits(file, members, problem)) return false;
    const json_t *path = json_object_get(file, "path"), *text = json_object_get(file, "text");
    snprintf(at, sizeof at, "$.files[%zu].%s", i, path ? "text" : "path");
    if (!path || !text) return tfy__body_mistake(problem, at, "it is missing");
    if (strlen(json_string_value(text)) != json_string_length(text))
        return tfy__body_mistake(problem, at, "there is a NUL in it");
    snprintf(at, sizeof at, "$.files[%zu].path", i);
    if (!path_fits(json_string_value(path)))
        return tfy__body_mistake(
            problem, at,
            "a path such as lib/text.tfy has letters, digits, '_', '-' and '.', and no part starts "
            "with a dot");
    for (size_t j = 0; j < i; j++)
        if (json_equal(path, json_object_get(json_array_get(files, j), "path")))
            return tfy__body_mistake(problem, at, "another file has this path");
    return true;
}

static bool body_fits(TfyRequest *request)
{
    static const TfyMemberOf members[] = {{"files", JSON_ARRAY}, {NULL, JSON_NULL}};
    TfyProblem *problem = &request->problem;
    const json_t *files = json_object_get(request->json, "files");
    bool fits = true;
    if (!tfy__body_fits(request->json, members, problem)) return false;
    if (!json_array_size(files) || json_array_size(files) > FILES_MOST)
        return tfy__body_mistake(problem, "$.files", "1 to %d files, the program first", FILES_MOST);
    for (size_t i = 0; i < json_array_size(files); i++) fits &= file_fits(files, i, problem);
    return fits;
}

/* ---- what becomes of older runs ---- */

static void note_older(void *arg, const char *program, const char *version, int64_t live)
{
    const TfyRequest *request = arg;
    const TfyDeploy *deploy = request->deploy;
    if (strcmp(program, request->names.text[0]) == 0 && strcmp(version, deploy->served->version) != 0)
        json_array_append_new(deploy->older, json_pack("{s:s, s:I}", "version", version, "runs", (json_int_t)live));
}

/* Adds "refused", the runs that could not continue with the new version, each with why; or "unknown", why that is not known. */
static void compare(TfyRequest *request, json_t *older)
{
    const char *from = json_string_value(json_object_get(older, "version"));
    const char *const words[] = {"tfy",    "compat", from, request->deploy->served->hash, "--db", request->server->db,
                                 "--json", NULL};
    TfyProcess process = {.words = words, .deadline_ms = COMPAT_MS};
    char said[TFY_ERROR_TEXT];
    int status;
    const TfyProcessEnd end = tfy__child_run(request, &process, &status);
    json_t *verdict =
        end == TFY_PROCESS_ENDED ? json_loadb(process.out.data, process.out.len, JSON_ALLOW_NUL, NULL) : NULL;
    json_t *refused = json_object_get(verdict, "refused_runs");
    tfy__child_says(&process, said, sizeof said);
    if (refused)
        json_object_set(older, "refused", refused);
    else
        json_object_set_new(older, "unknown", json_string(*said ? said : "it could not be found out"));
    json_decref(verdict);
    tfy__process_free(&process);
}

static void answer(TfyRequest *request)
{
    const TfyDeploy *deploy = request->deploy;
    json_t *before = *deploy->before ? json_stringn(deploy->before, 12) : json_null();
    tfy__request_json(request, deploy->again ? 200 : 201,
                      json_pack("{s:s, s:s, s:o, s:O}", "program", deploy->served->name, "version",
                                deploy->served->version, "before", before, "older", deploy->older));
}

static void work_compare(TfyRequest *request)
{
    json_t *older;
    size_t i;
    json_array_foreach(request->deploy->older, i, older) compare(request, older);
    answer(request);
    tfy__request_done(request);
}

/* In a reader, once the deploy is durable. */
static void find_older(TfyRequest *request)
{
    TfyDeploy *deploy = request->deploy;
    deploy->older = json_array();
    (void)request->reader->lists->live(request->reader, "", note_older, request);
    if (json_array_size(deploy->older))
        tfy__child_work(request, work_compare);
    else
        answer(request);
}

/* ---- taking it ---- */

static bool take(TfyRequest *request)
{
    TfyServer *server = request->server;
    TfyDeploy *deploy = request->deploy;
    const TfyServed *before = tfy__served_named(server, request->names.text[0]);
    char error[TFY_ERROR_TEXT] = "";
    if (before) snprintf(deploy->before, sizeof deploy->before, "%s", before->hash);
    deploy->served = tfy__version_known(server->programs, request->names.text[0], &deploy->shared, error);
    if (!deploy->served) return tfy__problem(&request->problem, TFY_PROBLEM_NOT_POSSIBLE, "%s", error);
    deploy->again = deploy->served == before;
    if (deploy->again) return true;
    if (tfy__version_take(server, deploy->served, &request->caller, error) < 0)
        return tfy__problem(&request->problem, TFY_PROBLEM_NOT_POSSIBLE, "%s", error);
    request->lsn = tfy__log_last_lsn(tfy__loop_log(server->loop));
    return true;
}

/* In the loop, once it is compiled. */
static void take_compiled(TfyRequest *request)
{
    if (take(request)) {
        request->then = find_older;
        tfy__command_await(request, tfy__command_read);
    } else {
        tfy__request_done(request);
    }
}

/* ---- compiling ---- */

/* The files as `tfyc --bundle` reads them: it looks for imports among them, and nowhere else. */
static bool write_bundle(const char *path, const json_t *files)
{
    json_t *modules = json_array(), *bundle = json_pack("{s:O}", "modules", modules);
    const json_t *file;
    size_t i;
    json_array_foreach(files, i, file) json_array_append_new(
        modules, json_pack("{s:O, s:O}", "file", json_object_get(file, "path"), "text", json_object_get(file, "text")));
    const bool fine = bundle && json_dump_file(bundle, path, JSON_COMPACT) == 0;
    json_decref(modules);
    json_decref(bundle);
    return fine;
}

/* What it says names only the files that came. */
static void tell_messages(TfyRequest *request, const char *messages, const char *error)
{
    tfy__problem(&request->problem, TFY_PROBLEM_NOT_POSSIBLE, "%s", error);
    if (messages) {
        json_t *text = json_stringn(messages, strnlen(messages, MESSAGES_MOST));
        if (!text) text = json_string("the compiler's messages are not UTF-8");
        request->problem.more = json_pack("{s:o}", "messages", text);
    }
}

static void compile(TfyRequest *request, const char *dir)
{
    char path[64], error[TFY_ERROR_TEXT] = "";
    const TfyServer *server = request->server;
    TfyBuild build = {
        .what = path, .db = server->db, .most_ms = server->config->compile_ms, .born = tfy__child_born, .arg = request};
    TfyBuffer offer = {0};
    build.offer = tfy__mcp_offer_of(server, request->names.text[0], &offer);
    snprintf(path, sizeof path, "%s/program.json", dir);
    if (!write_bundle(path, json_object_get(request->json, "files"))) {
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "its files cannot be written: %s", strerror(errno));
        return;
    }
    request->deploy->shared = tfy__build(&build, error);
    tfy__buffer_free(&offer);
    if (!request->deploy->shared) tell_messages(request, build.messages, error);
    free(build.messages);
}

/* On a thread of its own. */
static void work_compile(TfyRequest *request)
{
    char dir[48];
    if (tfy__build_dir(dir)) {
        compile(request, dir);
        tfy__build_dir_remove(dir);
    } else {
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "a directory for compiling cannot be made");
    }
    request->then = take_compiled;
    if (request->deploy->shared)
        tfy__command_ask(request->server, request);
    else
        tfy__request_done(request);
}

/* ---- the route ---- */

void tfy__serve_deploy(TfyRequest *request)
{
    if (!tfy__program_name_fits(request->names.text[0])) {
        tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, TFY_PROGRAM_NAME_RULE);
        return;
    }
    if (!tfy__request_known(request, (const char *const[]){NULL}) || !body_fits(request)) return;
    request->deploy = calloc(1, sizeof *request->deploy);
    if (request->deploy)
        tfy__child_work(request, work_compile);
    else
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
}
