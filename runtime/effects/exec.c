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
#include "effects/invocation.h"
#include "effects/known.h"
#include "effects/output.h"
#include "effects/process.h"
#include "effects/refusal.h"
#include "effects/sandbox.h"
#include "effects/secret.h"
#include "effects/secret_source.h"
#include "effects/told.h"
#include "value/heap.h"

#define TAIL_LINES 8 /* of stderr, quoted in an error */
#define TAIL_BYTES 2000
#define LOOKED_AT  4096 /* bytes of stderr's end, for a refusal of the sandbox: stack traces are long */

enum { ARG_ARGV, ARG_STDIN, ARG_CWD, ARG_ENV, ARG_COUNT }; /* of the built-in exec */

/* How a process ended, kept while a person is asked whether the tool may have more. */
typedef struct Kept {
    TfyProcessEnd end; /* its out and err are owned */
    TfyBuffer hint;
} Kept;

/* A tool under way: its process runs, or a person is asked. */
typedef struct Job {
    TfyCall *call;
    TfyProcess *process; /* NULL: it has ended */
    Kept *kept;          /* owned; NULL: nobody is asked */
    char *granted;       /* what people let this call have besides, as in TfyCeiling.grants; owned; NULL: nothing */
    TfyInvocation invocation;
} Job;

static void free_kept(Kept *kept)
{
    if (!kept) return;
    tfy__buffer_free(&kept->end.out);
    tfy__buffer_free(&kept->end.err);
    tfy__buffer_free(&kept->hint);
    free(kept);
}

static void free_job(Job *job)
{
    free_kept(job->kept);
    free(job->granted);
    tfy__invocation_free(&job->invocation);
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
static bool fail_exit(TfyCall *call, const TfyProcessEnd *end, const TfyBuffer *hint)
{
    int len;
    if (!end->signal) call->outcome = TFY_NOT_DONE;
    const char *tail = last_lines(&end->err, &len);
    if (!len) tail = last_lines(&end->out, &len);
    char how[64], refused[sizeof end->refused + 32] = "";
    if (*end->refused) snprintf(refused, sizeof refused, "; the sandbox refused %s", end->refused);
    snprintf(how, sizeof how, end->signal ? "was ended by signal %d" : "exited with status %d",
             end->signal ? end->signal : end->code);
    tfy__call_tool_error(call, end->code, "'%s' %s%s%s%.*s%s%.*s", call->tool->name, how, refused, len ? ":\n" : "",
                         len, tail, hint->len ? "\n" : "", (int)hint->len, hint->len ? hint->data : "");
    return true;
}

/* What a person can do about a failure that looks like a refusal of the sandbox; nothing if it does not. */
static void find_hint(const Job *job, const TfyProcessEnd *end, TfyRefusal *refusal, TfyBuffer *hint)
{
    *refusal->grant = 0;
    const size_t len = end->err.len < LOOKED_AT ? end->err.len : LOOKED_AT;
    if (end->error || !end->code || *end->passed) return;
    const char *tail = len ? end->err.data + end->err.len - len : "";
    if (tfy__refusal_find(&job->invocation.confined, tail, len, end->refused, refusal))
        tfy__refusal_say(&job->invocation.confined, job->call->tool->name, refusal, hint);
    if (hint->failed) tfy__buffer_free(hint); /* without memory it is left out */
}

/* An ExecResult has no place for what the sandbox did: it is said on stderr. */
static void tell_refused(const TfyCall *call, const TfyProcessEnd *end, const TfyBuffer *hint)
{
    if (hint->len && call->result == &tfy_type_exec_result && tfy__sandbox_is_news(call->loop, hint))
        tfy__report_text(call->loop, "tfy: %.*s\n", (int)hint->len, hint->data);
    else if (!hint->len && *end->refused)
        tfy__report_text(call->loop, "tfy: the sandbox of '%s' refused %s\n", call->tool->name, end->refused);
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

/* The same in a text of this size. */
static void mask_text(char *text, size_t size)
{
    TfyBuffer masked = {0};
    if (tfy__known_mask(text, strlen(text), true, &masked))
        snprintf(text, size, "%.*s", (int)masked.len, masked.data ? masked.data : "");
    tfy__buffer_free(&masked);
}

static bool leads_git(const char *made)
{
    const char *slash = strrchr(made, '/');
    return slash && (strcmp(slash, "/commondir") == 0 || strcmp(slash, "/config.worktree") == 0);
}

/* Answers the call. made: a protected name that the tool has made, or "". */
static void deliver(TfyCall *call, const TfyProcessEnd *end, const char *made, const TfyBuffer *hint)
{
    TfyTask *task = call->task; /* answering the call may free it */
    TfyHeap *heap = task->heap;
    uint32_t mark = tfy_mark(task);
    bool answered = true;
    tell_refused(call, end, hint);
    if (end->no_room) {
        tfy__call_no_room(call, end->error);
    } else if (end->error) {
        if (end->error > 0) call->outcome = TFY_NOT_DONE; /* it could not be started */
        tfy__call_tool_error(call, end->error, "%s", end->message);
    } else if (leads_git(made)) {
        tfy__call_tool_error(call, EPERM,
                             "'%s' made '%s', from which git outside would take its configuration; look at it before "
                             "you use git here",
                             call->tool->name, made);
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
        answered =
            end->code ? fail_exit(call, end, hint) : tfy__output_give(call, &end->out, end->out_cut, "an ExecResult");
    }
    if (!answered) tfy__output_panicked(call);
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

/* ---- a person may let a tool have what its sandbox refused ---- */

static void start_process(TfyCall *call, char *granted);

/* A person has answered; grant NULL: with no. */
static void on_answer(TfyCall *call, const char *grant)
{
    Job *job = call->state;
    Kept *kept = job->kept;
    char *granted = NULL;
    if (grant) granted = tfy__sys_printf("%s%s%s", job->granted ? job->granted : "", job->granted ? "\n" : "", grant);
    call->state = NULL;
    job->kept = NULL;
    free_job(job);
    if (granted)
        start_process(call, granted);
    else
        deliver(call, &kept->end, "", &kept->hint);
    free_kept(kept);
}

static bool has_line(const char *text, const char *line)
{
    const size_t len = strlen(line);
    for (; text && *text; text += strcspn(text, "\n"), text += *text == '\n')
        if (strcspn(text, "\n") == len && memcmp(text, line, len) == 0) return true;
    return false;
}

/* Keeps the end for later; NULL: no memory. */
static Kept *keep(const TfyProcessEnd *end, const TfyBuffer *hint)
{
    Kept *kept = tfy__sys_calloc(1, sizeof *kept);
    if (!kept) return NULL;
    kept->end = *end;
    kept->end.out = kept->end.err = (TfyBuffer){0};
    tfy__buffer_add(&kept->end.out, end->out.data, end->out.len);
    tfy__buffer_add(&kept->end.err, end->err.data, end->err.len);
    tfy__buffer_add(&kept->hint, hint->data, hint->len);
    if (!kept->end.out.failed && !kept->end.err.failed && !kept->hint.failed) return kept;
    free_kept(kept);
    return NULL;
}

/* Asks a person about a refusal, if one is to be asked: of a tool that may be started again, about something that can be
 * granted and was not granted yet. True: on_answer goes on. */
static bool ask_person(Job *job, const TfyProcessEnd *end, const TfyRefusal *refusal, const TfyBuffer *hint)
{
    TfyCall *call = job->call;
    const char *tool = call->tool->name;
    bool asked = false;
    TfyBuffer question = {0};
    TfyRefusal only = *refusal; /* without what to type */
    if (!hint->len || !*refusal->grant || strcmp(refusal->grant, "network=HOST:PORT") == 0) return false;
    if (call->tool->repeat == TFY_ONCE || call->site->tool->repeat == TFY_ONCE) return false;
    char *grant = tfy__sys_printf("%s:%s", tool, refusal->grant);
    *only.grant = 0;
    tfy__refusal_say(&job->invocation.confined, tool, &only, &question);
    tfy__buffer_printf(&question, "\nMay '%s' have %s?", tool, refusal->grant);
    job->kept = keep(end, hint);
    job->process = NULL;
    call->state = job;
    if (grant && !question.failed && job->kept && !has_line(job->granted, grant))
        asked = tfy__call_ask(call, question.data, grant, on_answer);
    if (!asked) call->state = NULL;
    free(grant);
    tfy__buffer_free(&question);
    return asked;
}

static void on_end(void *arg, const TfyProcessEnd *ended)
{
    Job *job = arg;
    TfyCall *call = job->call;
    TfyProcessEnd masked = *ended, *end = &masked;
    TfyBuffer out = {0}, err = {0}, hint = {0};
    TfyRefusal refusal;
    char made[PATH_MAX] = "";
    const char *name = tfy__sandbox_made(&job->invocation.confined);
    if (name) snprintf(made, sizeof made, "%s", name);
    call->state = NULL;
    mask_output(&end->out, end->out_cut, &out);
    mask_output(&end->err, end->err_cut, &err);
    mask_text(end->message, sizeof end->message);
    mask_text(end->refused, sizeof end->refused);
    find_hint(job, end, &refusal, &hint);
    if (*made || !ask_person(job, end, &refusal, &hint)) {
        free_job(job);
        deliver(call, end, made, &hint);
    }
    tfy__buffer_free(&out);
    tfy__buffer_free(&err);
    tfy__buffer_free(&hint);
}

/* ---- the start ---- */

/* Stdin may contain any byte. True: *spec has it; false after the call has failed. */
static bool set_input(Job *job, const TfyObj *input, TfyProcessSpec *spec)
{
    if (!input) return true;
    spec->input = tfy__secrets_fill(&job->invocation.secrets, job->call, input, &spec->input_len);
    if (!spec->input) tfy__secrets_fail(job->call, &job->invocation.secrets);
    return spec->input;
}

/* False after the call has failed. */
static bool start_job(Job *job, const TfyValue args[])
{
    TfyCall *call = job->call;
    TfyInvocation *invocation = &job->invocation;
    TfyProcessSpec spec = {0};
    if (tfy__invocation_build(invocation, call, args[ARG_ARGV].o, args[ARG_ENV].o, args[ARG_CWD].o, job->granted) &&
        set_input(job, args[ARG_STDIN].o, &spec)) {
        spec.argv = invocation->argv;
        spec.env = (const char *const *)invocation->env;
        spec.key = call->key;
        spec.fence = call->fence;
        spec.cwd_fd = invocation->cwd_fd;
        spec.output_cap = invocation->confined.output;
        spec.confined = &invocation->confined;
        job->process = tfy__process_start(call->loop, &spec, on_end, job);
        if (job->process) {
            call->state = job;
            call->outcome = TFY_UNKNOWN;
            tfy__secrets_used(call, &invocation->secrets);
        } else if (tfy__is_no_room(errno))
            tfy__call_no_room(call, errno);
        else
            tfy__call_tool_error(call, errno, "cannot start '%s': %s", call->tool->name, strerror(errno));
    }
    tfy__invocation_started(invocation);
    return job->process;
}

/* granted becomes the job's; NULL: nothing. */
static void start_with(TfyCall *call, const TfyValue args[], char *granted)
{
    Job *job = tfy__sys_calloc(1, sizeof *job);
    if (!job) {
        free(granted);
        tfy__call_starved(call);
        return;
    }
    job->call = call;
    job->granted = granted;
    job->invocation.cwd_fd = -1;
    if (!start_job(job, args)) free_job(job);
}

/* The arguments of the built-in exec, computed from a tool's declaration. */
static bool declared_args(TfyTask *task, const TfyTool *tool, const TfyValue given[], TfyValue args[])
{
    return tool->argv(task, given, &args[ARG_ARGV]) && (!tool->input || tool->input(task, given, &args[ARG_STDIN])) &&
           (!tool->cwd || tool->cwd(task, given, &args[ARG_CWD])) &&
           (!tool->env || tool->env(task, given, &args[ARG_ENV]));
}

static void show_text_row(TfyBuffer *out, const char *label, const TfyObj *text)
{
    if (!text) return;
    tfy__show_row(out, label);
    tfy__show_text(out, text);
    tfy__buffer_char(out, ']');
}

/* ["sandbox"]: none */
static void show_sandbox(TfyTask *task, const TfyTool *tool, TfyBuffer *out)
{
    bool readonly;
    const char *name = tfy__sandbox_told(task, tool, &readonly);
    tfy__show_row(out, "sandbox");
    if (name) tfy__show_word(out, name, strlen(name));
    if (readonly) tfy__show_word(out, "readonly", strlen("readonly"));
    tfy__buffer_char(out, ']');
}

bool tfy__show_exec(TfyTask *task, const TfyAsked *asked, const TfyValue *args, TfyBuffer *out)
{
    TfyValue declared[ARG_COUNT] = {{.o = NULL}};
    if (asked->tool && !declared_args(task, asked->tool, args, declared)) return false;
    if (asked->tool) args = declared;
    tfy__show_row(out, "runs");
    for (int64_t i = 0; i < tfy_list_len(args[ARG_ARGV].o); i++)
        tfy__show_text(out, tfy_list_item(args[ARG_ARGV].o, i).o);
    tfy__buffer_char(out, ']');
    show_sandbox(task, asked->tool ? asked->tool : &tfy_effect_exec, out);
    show_text_row(out, "in", args[ARG_CWD].o);
    tfy__show_entries(out, "env", "=", args[ARG_ENV].o);
    show_text_row(out, "stdin", args[ARG_STDIN].o);
    return true;
}

static bool tell(TfyCall *call, const json_t *messages, TfyBuffer *out)
{
    TfyValue declared[ARG_COUNT] = {{.o = NULL}};
    const TfyValue *args = call->tool->argv ? declared : call->args;
    (void)messages;
    if (call->tool->argv && !declared_args(call->task, call->tool, call->args, declared)) return false;
    tfy__told_texts(out, "argv", args[ARG_ARGV].o);
    tfy__told_text(out, "stdin", args[ARG_STDIN].o);
    tfy__told_text(out, "cwd", args[ARG_CWD].o);
    tfy__told_names(out, "env", args[ARG_ENV].o);
    return true;
}

/* granted is freed. */
static void start_process(TfyCall *call, char *granted)
{
    TfyTask *task = call->task;
    TfyHeap *heap = task->heap;
    TfyValue declared[ARG_COUNT] = {{.o = NULL}};
    uint32_t mark = tfy_mark(task);
    call->outcome = TFY_NOT_DONE;
    if (!call->tool->argv) {
        start_with(call, call->args, granted);
    } else if (declared_args(task, call->tool, call->args, declared)) {
        start_with(call, declared, granted);
    } else {
        free(granted);
        tfy__output_panicked(call);
    }
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

static void start(TfyCall *call)
{
    start_process(call, NULL);
}

static void abort_process(TfyCall *call)
{
    Job *job = call->state;
    call->state = NULL;
    if (!job) return;
    if (job->process) tfy__process_abort(job->process);
    free_job(job);
}

static void close_loop(TfyLoop *loop)
{
    tfy__process_close(loop);
    tfy__sandbox_close(loop);
    tfy__secret_close(loop);
}

static int prepare(TfyLoop *loop, const TfyProgram *program, char *error_text)
{
    const int code = tfy__secrets_prepare(loop, program, error_text);
    return code == TFY_OK ? tfy__sandbox_prepare(loop, program, error_text) : code;
}

const TfyPerformer tfy__perform_exec = {.name = "exec",
                                        .start = start,
                                        .abort = abort_process,
                                        .close = close_loop,
                                        .tell = tell,
                                        .prepare = prepare,
                                        .end_former = tfy__former_end};
