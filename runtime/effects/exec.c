/* exec.c: exec() and exec tools: one process per attempt, its end turned into a value.
 *
 * A result of type ExecResult takes any exit code. Any other result type is what the tool prints: a string gets the text as it is, every
 * other type is read as JSON by its descriptor, and a non-zero exit is a ToolError that ends with the last lines of stderr. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "effects/file.h"
#include "effects/process.h"
#include "value/json.h"

#define TAIL_LINES 8 /* of stderr, quoted in an error */
#define TAIL_BYTES 2000

enum { ARG_ARGV, ARG_STDIN, ARG_CWD, ARG_ENV, ARG_COUNT }; /* of the built-in exec */

/* ---- the end of a process; the helpers answer whether the call was answered, else a panic is pending ---- */

/* The last lines of an output, without the newline at its end. */
static const char *last_lines(const TfyBuffer *output, int *len)
{
    const char *text = output->data ? output->data : "";
    size_t end = output->len, from;
    while (end && (text[end - 1] == '\n' || text[end - 1] == '\r' || text[end - 1] == ' ')) end--;
    int lines = 0;
    for (from = end; from && end - from < TAIL_BYTES; from--) {
        if (text[from - 1] == '\n' && ++lines == TAIL_LINES) break;
    }
    *len = (int)(end - from);
    return text + from;
}

static bool fail_exit(TfyCall *call, const TfyProcessEnd *end)
{
    int len;
    const char *tail = last_lines(&end->err, &len);
    if (!len) tail = last_lines(&end->out, &len);
    char how[64];
    snprintf(how, sizeof how, end->signal ? "was ended by signal %d" : "exited with status %d",
             end->signal ? end->signal : end->code);
    tfy__call_tool_error(call, end->code, "'%s' %s%s%.*s", call->tool->name, how, len ? ":\n" : "", len, tail);
    return true;
}

static bool give_exec_result(TfyCall *call, const TfyProcessEnd *end)
{
    TfyTask *task = call->task;
    bool lossy = false;
    TfyObj *out = tfy__process_text(task, &end->out, end->out_cut, &lossy);
    TfyObj *err = out ? tfy__process_text(task, &end->err, end->err_cut, &lossy) : NULL;
    if (!err) return false;
    TfyValue fields[] = {tfy_of_int(end->code), tfy_of_obj(out), tfy_of_obj(err),
                         tfy_of_bool(end->out_cut || end->err_cut), tfy_of_bool(lossy)};
    TfyObj *result = tfy_record_of(task, &tfy_type_exec_result, fields);
    if (result) tfy__call_done(call, tfy_of_obj(result));
    return result;
}

/* A decoder's message "$.a.b: expected …" as a BadValue. */
static bool fail_value(TfyCall *call, const char *error)
{
    const char *colon = strstr(error, ": ");
    char path[TFY_ERROR_TEXT];
    snprintf(path, sizeof path, "%.*s", colon && *error == '$' ? (int)(colon - error) : 1, *error == '$' ? error : "$");
    tfy__call_bad_value(call, path, error);
    return true;
}

static bool give_decoded(TfyCall *call, const TfyProcessEnd *end)
{
    TfyTask *task = call->task;
    TfyValue value = {.i = 0};
    char error[TFY_ERROR_TEXT];
    bool lossy = false;
    if (call->result->kind == TFY_NOTHING) {
        tfy__call_done(call, value);
        return true;
    }
    if (end->out_cut) {
        tfy__call_bad_value(call, "$", "the tool printed more than 1 MiB; only an ExecResult can hold a part of it");
        return true;
    }
    TfyObj *text = tfy__process_text(task, &end->out, false, &lossy);
    if (!text) return false;
    const TfyString *string = (const TfyString *)text;
    if (call->result->kind == TFY_STRING) {
        tfy__call_done(call, tfy_of_obj(text));
        return true;
    }
    if (tfy__decode_text(task, call->result, string->bytes, string->byte_len, &value, error)) {
        tfy__call_done(call, value);
        return true;
    }
    return !task->error && fail_value(call, error);
}

/* Making a value, or the program's own code for an argv or a default, panicked: the step ends with that panic. */
static void fail_pending(TfyCall *call)
{
    TfyTask *task = call->task;
    TfyObj *error = tfy_take_error(task);
    tfy__call_fail(call, error->type, ((TfyRecord *)error)->fields);
    tfy_drop(task, error);
}

static void on_end(void *arg, const TfyProcessEnd *end)
{
    TfyCall *call = arg;
    TfyTask *task = call->task; /* the call may be gone when it is answered */
    TfyHeap *heap = task->heap;
    uint32_t mark = tfy_mark(task);
    bool answered = true;
    call->state = NULL;
    if (end->error) {
        tfy__call_tool_error(call, end->error, "%s", end->message);
    } else if (call->result == &tfy_type_exec_result) {
        answered = give_exec_result(call, end);
    } else {
        answered = end->code ? fail_exit(call, end) : give_decoded(call, end);
    }
    if (!answered) fail_pending(call);
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

/* ---- the start ---- */

static bool has_nul(const TfyObj *string)
{
    const TfyString *text = (const TfyString *)string;
    return memchr(text->bytes, 0, text->byte_len);
}

/* The argv as C strings, NULL-terminated, pointing into the list; NULL after the call was failed. */
static const char **c_argv(TfyCall *call, const TfyObj *list)
{
    int64_t count = tfy_list_len(list);
    const char **argv = calloc((size_t)count + 1, sizeof *argv);
    if (!argv) {
        tfy__call_tool_error(call, ENOMEM, "memory ran out while starting a tool");
        return NULL;
    }
    for (int64_t i = 0; i < count; i++) {
        const TfyObj *item = tfy_list_item(list, i).o;
        argv[i] = ((const TfyString *)item)->bytes;
        if (!has_nul(item)) continue;
        tfy__call_tool_error(call, EINVAL, "argument %lld of '%s' has a NUL byte in it", (long long)i,
                             call->tool->name);
        goto failed;
    }
    if (count && *argv[0]) return argv;
    tfy__call_tool_error(call, EINVAL, "'%s' was given no command to run", call->tool->name);
failed:
    free(argv);
    return NULL;
}

static bool is_env_name(const TfyObj *name)
{
    const TfyString *text = (const TfyString *)name;
    return text->byte_len && !has_nul(name) && !memchr(text->bytes, '=', text->byte_len);
}

static void free_env(char **env)
{
    for (char **entry = env; env && *entry; entry++) free(*entry);
    free(env);
}

/* "NAME=value" strings from the map; NULL after the call was failed. */
static char **c_env(TfyCall *call, const TfyObj *map)
{
    int64_t count = map ? tfy_map_len(map) : 0;
    char **env = calloc((size_t)count + 1, sizeof *env);
    for (int64_t i = 0; env && i < count; i++) {
        const TfyObj *name = tfy_map_key_at(map, i).o, *value = tfy_map_value_at(map, i).o;
        if (!is_env_name(name) || has_nul(value)) {
            tfy__call_tool_error(call, EINVAL,
                                 "environment entry %lld is not possible: a name has no '=' and is not empty, and "
                                 "nothing has a NUL byte",
                                 (long long)i);
            free_env(env);
            return NULL;
        }
        if (asprintf(&env[i], "%s=%s", ((const TfyString *)name)->bytes, ((const TfyString *)value)->bytes) >= 0)
            continue;
        env[i] = NULL;
        free_env(env);
        env = NULL;
    }
    if (!env) tfy__call_tool_error(call, ENOMEM, "memory ran out while starting a tool");
    return env;
}

/* The directory to run in, or -1 after the call was failed. */
static int open_cwd(TfyCall *call, const TfyObj *cwd)
{
    const char *path = cwd ? tfy__path_below(call->loop, cwd) : ".";
    int fd = path ? tfy__beneath_open(tfy__root_fd(call->loop), path, O_PATH | O_DIRECTORY, true) : -EXDEV;
    if (fd >= 0 && tfy__root_is_gone(call->loop)) {
        close(fd);
        fd = -ENOENT;
    }
    if (fd < 0) tfy__file_error(call, "run in", cwd ? ((const TfyString *)cwd)->bytes : ".", -fd);
    return fd;
}

static void start_process(TfyCall *call, const TfyValue args[])
{
    const TfyString *input = (const TfyString *)args[ARG_STDIN].o;
    const char **argv = c_argv(call, args[ARG_ARGV].o);
    char **env = argv ? c_env(call, args[ARG_ENV].o) : NULL;
    int cwd_fd = env ? open_cwd(call, args[ARG_CWD].o) : -1;
    if (cwd_fd >= 0) {
        TfyProcessSpec spec = {.argv = argv,
                               .env = (const char *const *)env,
                               .key = call->key,
                               .cwd_fd = args[ARG_CWD].o ? cwd_fd : -1,
                               .input = input ? input->bytes : NULL,
                               .input_len = input ? input->byte_len : 0};
        call->state = tfy__process_start(call->loop, &spec, on_end, call);
        close(cwd_fd);
        if (!call->state) tfy__call_tool_error(call, ENOMEM, "memory or descriptors ran out while starting a tool");
    }
    free_env(env);
    free(argv);
}

/* The arguments of the built-in exec, from what a tool declares. */
static bool declared_args(const TfyCall *call, TfyValue args[])
{
    const TfyTool *tool = call->tool;
    TfyTask *task = call->task;
    return tool->argv(task, call->args, &args[ARG_ARGV]) &&
           (!tool->input || tool->input(task, call->args, &args[ARG_STDIN])) &&
           (!tool->cwd || tool->cwd(task, call->args, &args[ARG_CWD])) &&
           (!tool->env || tool->env(task, call->args, &args[ARG_ENV]));
}

static void start(TfyCall *call)
{
    TfyTask *task = call->task;
    TfyHeap *heap = task->heap;
    TfyValue declared[ARG_COUNT] = {{.o = NULL}};
    uint32_t mark = tfy_mark(task);
    if (!call->tool->argv) {
        start_process(call, call->args);
    } else if (declared_args(call, declared)) {
        start_process(call, declared);
    } else {
        fail_pending(call);
    }
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

static void abort_process(TfyCall *call)
{
    if (call->state) tfy__process_abort(call->state);
    call->state = NULL;
}

const TfyPerformer tfy__perform_exec = {
    .name = "exec", .start = start, .abort = abort_process, .close = tfy__process_close};
