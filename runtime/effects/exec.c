/* exec.c: exec() and exec tools: one process per attempt, its end turned into a value.
 *
 * A result of type ExecResult takes any exit code. Any other result type is the tool's output: a string receives
 * the text as it is, every other type is read from JSON, and a non-zero exit is a ToolError that ends with the
 * last lines of stderr. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "effects/file.h"
#include "effects/former.h"
#include "effects/known.h"
#include "effects/output.h"
#include "effects/process.h"
#include "effects/sandbox.h"
#include "effects/secret.h"
#include "value/heap.h"

#define TAIL_LINES 8 /* of stderr, quoted in an error */
#define TAIL_BYTES 2000

enum { ARG_ARGV, ARG_STDIN, ARG_CWD, ARG_ENV, ARG_COUNT }; /* of the built-in exec */

/* A tool under way. */
typedef struct Job {
    TfyCall *call;
    TfyProcess *process;
    TfySecrets secrets; /* inserted into its arguments */
    TfyConfined confined;
} Job;

static void free_job(Job *job)
{
    tfy__secrets_free(&job->secrets);
    tfy__confined_free(&job->confined);
    free(job);
}

/* ---- the end of a process; the helpers return whether the call was answered, else a panic is pending ---- */

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

/* A tool that exits with a status has reported its failure. A tool that a signal ended has reported nothing. */
static bool fail_exit(TfyCall *call, const TfyProcessEnd *end)
{
    int len;
    if (!end->signal) call->outcome = TFY_NOT_DONE;
    const char *tail = last_lines(&end->err, &len);
    if (!len) tail = last_lines(&end->out, &len);
    char how[64], refused[sizeof end->refused + 32] = "";
    if (*end->refused) snprintf(refused, sizeof refused, "; the sandbox refused %s", end->refused);
    snprintf(how, sizeof how, end->signal ? "was ended by signal %d" : "exited with status %d",
             end->signal ? end->signal : end->code);
    tfy__call_tool_error(call, end->code, "'%s' %s%s%s%.*s", call->tool->name, how, refused, len ? ":\n" : "", len,
                         tail);
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

/* Masks the values of secrets in an output; the process owns the old text. */
static void mask_output(TfyBuffer *output, bool cut, TfyBuffer *masked)
{
    if (tfy__known_mask(output->data, output->len, cut, masked)) *output = *masked;
}

static void on_end(void *arg, const TfyProcessEnd *ended)
{
    Job *job = arg;
    TfyCall *call = job->call;
    TfyTask *task = call->task; /* answering the call may free it */
    TfyHeap *heap = task->heap;
    TfyProcessEnd masked = *ended, *end = &masked;
    TfyBuffer out = {0}, err = {0}, message = {0};
    uint32_t mark = tfy_mark(task);
    bool answered = true;
    char made[PATH_MAX] = "";
    const char *name = tfy__sandbox_made(&job->confined);
    if (name) snprintf(made, sizeof made, "%s", name);
    call->state = NULL;
    mask_output(&end->out, end->out_cut, &out);
    mask_output(&end->err, end->err_cut, &err);
    if (tfy__known_mask(end->message, strlen(end->message), true, &message))
        snprintf(end->message, sizeof end->message, "%.*s", (int)message.len, message.data ? message.data : "");
    if (*end->refused)
        tfy__report_text(call->loop, "tfy: the sandbox of '%s' refused %s\n", call->tool->name, end->refused);
    free_job(job);
    if (end->no_room) {
        tfy__call_no_room(call, end->error);
    } else if (end->error) {
        if (end->error > 0) call->outcome = TFY_NOT_DONE; /* it could not be started */
        tfy__call_tool_error(call, end->error, "%s", end->message);
    } else if (*made) {
        tfy__call_tool_error(call, EPERM,
                             "'%s' made '%s', from which programs outside the sandbox take commands; look at it before "
                             "you use them here",
                             call->tool->name, made);
    } else if (*end->passed) {
        tfy__call_tool_error(call, end->code, "'%s' was ended: it %s", call->tool->name, end->passed);
    } else if (call->result == &tfy_type_exec_result) {
        answered = give_exec_result(call, end);
    } else {
        answered = end->code ? fail_exit(call, end) : tfy__output_give(call, &end->out, end->out_cut, "an ExecResult");
    }
    if (!answered) tfy__output_panicked(call);
    tfy__buffer_free(&out);
    tfy__buffer_free(&err);
    tfy__buffer_free(&message);
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

/* ---- the start ---- */

/* A text for the tool, its secrets inserted; NULL after the call has failed. */
static const char *text_for(Job *job, const TfyObj *string, const char *what, int64_t index)
{
    size_t len;
    TfyCall *call = job->call;
    const char *text = tfy__secrets_fill(&job->secrets, call->loop, string, &len);
    if (!text) {
        tfy__secrets_fail(call, &job->secrets);
    } else if (memchr(text, 0, len)) {
        tfy__call_tool_error(call, EINVAL, "%s %lld of '%s' has a NUL byte in it", what, (long long)index,
                             call->tool->name);
        text = NULL;
    }
    return text;
}

/* The argv as C strings, NULL-terminated, borrowed; NULL after the call has failed. */
static const char **c_argv(Job *job, const TfyObj *list)
{
    TfyCall *call = job->call;
    int64_t count = tfy_list_len(list);
    const char **argv = tfy__sys_calloc((size_t)count + 1, sizeof *argv);
    if (!argv) {
        tfy__call_starved(call);
        return NULL;
    }
    for (int64_t i = 0; i < count; i++) {
        argv[i] = text_for(job, tfy_list_item(list, i).o, "argument", i);
        if (!argv[i]) goto failed;
    }
    if (count && *argv[0]) return argv;
    tfy__call_tool_error(call, EINVAL, "'%s' was given no command to run", call->tool->name);
failed:
    free(argv);
    return NULL;
}

static void free_env(char **env)
{
    for (char **entry = env; env && *entry; entry++) {
        explicit_bzero(*entry, strlen(*entry));
        free(*entry);
    }
    free(env);
}

/* One "NAME=value"; NULL after the call has failed. */
static char *env_entry(Job *job, const TfyObj *name, const TfyObj *value, int64_t index)
{
    const TfyString *word = (const TfyString *)name;
    if (!word->byte_len || memchr(word->bytes, '=', word->byte_len)) {
        tfy__call_tool_error(job->call, EINVAL,
                             "environment entry %lld is not valid: a name must not be empty or contain '='",
                             (long long)index);
        return NULL;
    }
    const char *left = text_for(job, name, "environment entry", index);
    const char *right = left ? text_for(job, value, "environment entry", index) : NULL;
    if (!right) return NULL;
    char *entry = tfy__sys_printf("%s=%s", left, right);
    if (!entry) tfy__call_starved(job->call);
    return entry;
}

/* "NAME=value" strings from the map; NULL after the call has failed. */
static char **c_env(Job *job, const TfyObj *map)
{
    int64_t count = map ? tfy_map_len(map) : 0;
    char **env = tfy__sys_calloc((size_t)count + 1, sizeof *env);
    if (!env) tfy__call_starved(job->call);
    for (int64_t i = 0; env && i < count; i++) {
        env[i] = env_entry(job, tfy_map_key_at(map, i).o, tfy_map_value_at(map, i).o, i);
        if (env[i]) continue;
        free_env(env);
        return NULL;
    }
    return env;
}

/* The directory to run in, or -1 after the call has failed. */
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

/* Stdin may contain any byte. True: *spec has it; false after the call has failed. */
static bool set_input(Job *job, const TfyObj *input, TfyProcessSpec *spec)
{
    if (!input) return true;
    spec->input = tfy__secrets_fill(&job->secrets, job->call->loop, input, &spec->input_len);
    if (!spec->input) tfy__secrets_fail(job->call, &job->secrets);
    return spec->input;
}

/* False after the call, or the loop, has failed. */
static bool confine(Job *job, int cwd_fd)
{
    TfyCall *call = job->call;
    char why[TFY_CONFINED_WHY];
    const int error = tfy__sandbox_confine(call, cwd_fd, &job->confined, why);
    if (tfy__is_no_room(error))
        tfy__call_no_room(call, error);
    else if (error > 0)
        tfy__call_tool_error(call, error, "the sandbox '%s' of '%s' cannot be built: %s", job->confined.name,
                             call->tool->name, why);
    else if (error < 0)
        tfy__loop_fail(call->loop, error, "%s", why);
    return error == 0;
}

/* False after the call has failed. */
static bool start_job(Job *job, const TfyValue args[])
{
    TfyCall *call = job->call;
    TfyProcessSpec input = {0};
    const char **argv = c_argv(job, args[ARG_ARGV].o);
    char **env = argv ? c_env(job, args[ARG_ENV].o) : NULL;
    int cwd_fd = env && set_input(job, args[ARG_STDIN].o, &input) ? open_cwd(call, args[ARG_CWD].o) : -1;
    if (cwd_fd >= 0 && confine(job, cwd_fd)) {
        TfyProcessSpec spec = {.argv = argv,
                               .env = (const char *const *)env,
                               .key = call->key,
                               .cwd_fd = args[ARG_CWD].o ? cwd_fd : -1,
                               .input = input.input,
                               .input_len = input.input_len,
                               .output_cap = job->confined.output,
                               .confined = &job->confined};
        job->process = tfy__process_start(call->loop, &spec, on_end, job);
        if (job->process) {
            call->state = job;
            call->outcome = TFY_UNKNOWN;
        } else if (tfy__is_no_room(errno))
            tfy__call_no_room(call, errno);
        else
            tfy__call_tool_error(call, errno, "cannot start '%s': %s", call->tool->name, strerror(errno));
    }
    if (cwd_fd >= 0) close(cwd_fd);
    free_env(env);
    free(argv);
    return job->process;
}

static void start_process(TfyCall *call, const TfyValue args[])
{
    Job *job = tfy__sys_calloc(1, sizeof *job);
    if (!job) {
        tfy__call_starved(call);
        return;
    }
    job->call = call;
    if (!start_job(job, args)) free_job(job);
}

/* The arguments of the built-in exec, computed from a tool's declaration. */
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
    call->outcome = TFY_NOT_DONE;
    if (!call->tool->argv) {
        start_process(call, call->args);
    } else if (declared_args(call, declared)) {
        start_process(call, declared);
    } else {
        tfy__output_panicked(call);
    }
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

static void abort_process(TfyCall *call)
{
    Job *job = call->state;
    call->state = NULL;
    if (!job) return;
    tfy__process_abort(job->process);
    free_job(job);
}

static void close_loop(TfyLoop *loop)
{
    tfy__process_close(loop);
    tfy__sandbox_close(loop);
}

const TfyPerformer tfy__perform_exec = {.name = "exec",
                                        .start = start,
                                        .abort = abort_process,
                                        .close = close_loop,
                                        .prepare = tfy__sandbox_prepare,
                                        .end_former = tfy__former_end};
