/* program.c: the command line of a compiled program: run, resume, replay.
 *
 * `tfy run FILE.tfy` also ends here, after it compiled the program and replaced itself by it; argv[0] is then "tfy",
 * so messages and usage show the words that the user typed. */
#include "cli/program/ask.h"
#include "cli/program/ceiling.h"
#include "cli/frame/commands.h"
#include "cli/frame/databases.h"
#include "cli/frame/report.h"
#include "cli/debugger/debugger.h"
#include "cli/program/live.h"
#include "cli/program/named.h"
#include "cli/program/owner.h"
#include "cli/program/params.h"
#include "cli/program/reading.h"
#include "cli/program/rehearse.h"
#include "cli/program/where.h"
#include "cli/program/result.h"
#include "cli/program/tests.h"
#include "cli/program/worktree.h"
#include "core/effect.h"
#include "core/loop.h"
#include "core/served.h"
#include "core/world.h"
#include "tfy.h"
#include "value/json.h"
#include "wal/history/history.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Everything that one invocation holds open. */
typedef struct Session {
    const TfyProgram *program;
    const TfyArgs *args;
    const char *db_path;
    char other_path[TFY_PLACE_BYTES]; /* db_path, when the run went to another default database */
    bool may_move;                    /* … which it may */
    const char *command;              /* the words that people type: "tfy", with --db if needed */
    bool stdout_open;
    int files;          /* operands of run that name the files of the program */
    const char *root;   /* the working root; NULL: the current directory */
    bool move_root;     /* the run worked in another directory, and --root moves it */
    char workflow[128]; /* the root workflow of the run, for messages */
    TfyLoop *loop;
    TfyOwner *owner;
    TfyAsker *asker;
    TfyLiveLine *live; /* NULL: there is no terminal for it */
    char *grants;      /* of the command line; owned; NULL: none */
    bool diverged;     /* one of many runs differs from its log */
} Session;

/* ---- signals ---- */

#define GRACE_MS 10000

/* The loop that signal handlers act on; a handler has no argument of its own. */
static _Atomic(TfyLoop *) signalled_loop;
static volatile int64_t signalled_ms,
    signalled_grace_ms; /* when the first signal came, 0: none; the grace period it started */

static void on_signal(int number)
{
    const int reason = errno;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    if (!signalled_ms) {
        signalled_ms = now_ms;
        TfyLoop *loop = signalled_loop;
        if (loop) tfy_drain(loop, signalled_grace_ms);
    } else if (number != SIGHUP && now_ms - signalled_ms >= TFY_SIGNALS_APART_MS) {
        signal(number, SIG_DFL);
        raise(number);
    }
    errno = reason;
}

/* The first signal stops the process in order. A second one ends it at once by the default action, which loses
 * nothing durable. Two signals do not count as a second one: one that arrives together with the first (timeout(1)
 * sends two), and a hangup (closing a terminal sends several, and systemd sends one after SIGTERM). */
static void catch_signals(TfyLoop *loop, int64_t grace_ms)
{
    static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};
    signalled_ms = 0;
    signalled_grace_ms = grace_ms;
    tfy__drain_by(loop, &signalled_loop);
    for (size_t i = 0; i < sizeof SIGNALS / sizeof *SIGNALS; i++) {
        struct sigaction old;
        if (sigaction(SIGNALS[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(SIGNALS[i], &action, NULL);
    }
}

/* ---- opening and closing ---- */

static void print_notice(void *state, const char *text)
{
    tfy__say("%s", text);
}

static void print_drain(void *state, const char *calls, int64_t grace_ms)
{
    (void)state;
    tfy__say("interrupted; waiting up to %g s for %s to finish; a second signal ends it at once",
             (double)grace_ms / 1000, calls);
}

static void print_event(void *state, const char *json, size_t len)
{
    (void)state;
    tfy__say_text("%.*s\n", (int)len, json);
}

/* From here on this program's messages are log lines like the others. */
static int read_log_format(const char *format, bool *json)
{
    if (format && strcmp(format, "json") != 0 && strcmp(format, "text") != 0)
        return tfy__fail(EXIT_USAGE, "log lines are written as json or text, not as '%s'", format);
    *json = format && strcmp(format, "json") == 0;
    tfy__say_json(*json);
    return EXIT_DONE;
}

/* Returns false after a message. */
static bool read_grace(const TfyArgs *args, int64_t *ms)
{
    const char *text = args->option[OPT_GRACE];
    *ms = GRACE_MS;
    if (!text || (tfy__read_duration(text, strlen(text), ms) && *ms >= 0)) return true;
    if (strcmp(text, "0") == 0) return *ms = 0, true;
    tfy__say("--grace takes a time such as 10s or 2m, not '%s'", text);
    return false;
}

static bool read_limits(const TfyArgs *args, TfyOptions *options)
{
    uint64_t tasks = 0, queue = 0, memory = 0, output = 0, file = 0;
    if (!tfy__args_limit(args, OPT_MAX_TASKS, UINT32_MAX, false, &tasks) ||
        !tfy__args_limit(args, OPT_MAX_QUEUE, UINT32_MAX, false, &queue) ||
        !tfy__args_limit(args, OPT_MAX_MEMORY, UINT64_C(1) << 46, true, &memory) ||
        !tfy__args_limit(args, OPT_MAX_OUTPUT, TFY_MOST_BYTES, true, &output) ||
        !tfy__args_limit(args, OPT_MAX_FILE, TFY_MOST_BYTES, true, &file))
        return false;
    options->max_tasks = (uint32_t)tasks;
    options->max_queue = (uint32_t)queue;
    options->max_memory = memory;
    options->max_output = output;
    options->max_file = file;
    return true;
}

/* `tfy crashtest` watches. Tools that are tfy programs themselves are not meant. */
static int rehearse(TfyLoop *loop, char *error)
{
    const char *dir = getenv("TFY_TEST_REHEARSE");
    const int code = dir ? tfy__rehearse_begin(loop, dir, error) : TFY_OK;
    unsetenv("TFY_TEST_REHEARSE");
    return code;
}

/* Opens the loop. A command that answers a run holds the database for a moment and does not listen as a run does, so
 * this waits for it; a run that is under way is reported at once. */
static int open_loop(Session *session, const TfyOptions *options, char *error_text)
{
    enum { PAUSE_MS = 20, WAITS = 100 };
    int code = tfy_open(&session->loop, session->program, options, error_text);
    for (int i = 0; i < WAITS && code == TFY_E_HELD; i++) {
        json_t *nothing = json_object();
        const int owner = nothing ? tfy__owner_connect(session->db_path, nothing) : -1;
        json_decref(nothing);
        if (owner >= 0) {
            close(owner);
            return code;
        }
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
        code = tfy_open(&session->loop, session->program, options, error_text);
    }
    return code;
}

/* Another process holds .tfy/runs.db: opens the first of the following databases that is free. */
static int open_other(Session *session, TfyOptions *options, char *error_text)
{
    const int lock = tfy__db_choice_lock();
    int code = TFY_E_HELD;
    for (int n = 2; code == TFY_E_HELD && n <= TFY_DATABASES_MAX; n++) {
        if (!tfy__db_numbered(n, session->other_path)) continue;
        options->db_path = session->db_path = session->other_path;
        code = tfy_open(&session->loop, session->program, options, error_text);
    }
    if (lock >= 0) close(lock);
    return code;
}

static bool is_disposable(void)
{
    const char *said = getenv("TFY_DISPOSABLE");
    return said && strcmp(said, "1") == 0;
}

/* Is --yolo for here? False after a message. */
static bool may_answer_all(const Session *session)
{
    const char *root = session->root ? session->root : ".", *sandbox = session->args->option[OPT_CEILING];
    const char *where = session->program->yolo_refused ? session->program->yolo_refused(root, sandbox) : NULL;
    if (where) tfy__say("--yolo is refused %s; TFY_DISPOSABLE=1 says that this machine may be lost", where);
    return !where;
}

/* The database cannot be opened; where a server has it, runs are started there. */
static int refuse_session(const Session *session, int code, const char *error)
{
    char http[PATH_MAX];
    const bool served = code == TFY_E_HELD &&
                        snprintf(http, sizeof http, "%s-live/http", session->db_path) < (int)sizeof http &&
                        access(http, F_OK) == 0;
    return tfy__fail(tfy__exit_status(code), "%s%s", error,
                     served ? "; it is a server's, and `tfy start` starts a run there" : "");
}

static int open_session(Session *session)
{
    char error[TFY_ERROR_TEXT] = "";
    const TfyArgs *args = session->args;
    bool log_json = false;
    int status = read_log_format(args->option[OPT_LOG_FORMAT], &log_json);
    if (status != EXIT_DONE) return status;
    const char *log_level = args->option[OPT_LOG_LEVEL] ? args->option[OPT_LOG_LEVEL] : getenv("TFY_LOG");
    const bool risky = args->option[OPT_YOLO] && !is_disposable();
    if (risky && !may_answer_all(session)) return EXIT_USAGE;
    bool terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && !args->option[OPT_YOLO];
    if (args->option[OPT_ESCALATE] && !terminal)
        return tfy__fail(EXIT_USAGE, "--escalate asks a person on a terminal, and %s",
                         args->option[OPT_YOLO] ? "with --yolo nobody is asked"
                                                : "there is none; --grant is the other way");
    TfyOptions options = {
        .db_path = session->db_path,
        .root = session->root,
        .move_root = session->move_root,
        .policy = args->option[OPT_POLICY],
        .llm = args->option[OPT_LLM],
        .models = args->option[OPT_MODELS],
        .secrets = args->option[OPT_SECRETS],
        .secrets_from = args->option[OPT_SECRETS_FROM],
        .record_prompts = args->option[OPT_RECORD_PROMPTS],
        .approve_all = args->option[OPT_YOLO] != NULL,
        .approve_trusted = args->option[OPT_YES] != NULL,
        .escalate = args->option[OPT_ESCALATE] != NULL,
        .wait_people = terminal || args->option[OPT_WAIT],
        .on_event = args->option[OPT_EVENTS] ? print_event : NULL,
        .log_json = log_json,
        .log_level = log_level && *log_level ? log_level : NULL,
        .quiet = !session->stdout_open,
    };
    int64_t grace_ms;
    if (!read_limits(args, &options) || !read_grace(args, &grace_ms)) return EXIT_USAGE;
    if (!tfy__read_ceiling(session->program, args, &options, &session->grants)) return EXIT_USAGE;
    int code = open_loop(session, &options, error);
    if (code == TFY_E_HELD && session->may_move) code = open_other(session, &options, error);
    if (code != TFY_OK) return refuse_session(session, code, error);
    code = tfy__loop_prepare(session->loop, session->program, error);
    if (code == TFY_OK) code = rehearse(session->loop, error);
    if (code != TFY_OK) { /* an unreadable recorded session: nothing may start with it */
        tfy_close(session->loop);
        session->loop = NULL;
        return tfy__fail(tfy__exit_status(code), "%s", error);
    }
    if (args->option[OPT_RESULT_ONLY]) tfy__print_to_stderr(session->loop);
    if (risky) tfy__keep_sandboxes(session->loop);
    tfy__say_through(session->loop);
    tfy__on_notice(session->loop, print_notice, NULL);
    session->owner = tfy__owner_start(session->loop, session->db_path);
    session->asker = tfy__ask_start(session->loop, terminal, args->option[OPT_DETAILS], session->command);
    if (!options.on_event && !options.quiet) session->live = tfy__live_start(session->loop, session->command);
    tfy__on_drain(session->loop, print_drain, NULL);
    catch_signals(session->loop, grace_ms);
    return EXIT_DONE;
}

/* A signal arrived while nothing read the run's output. */
static int report_unread(const Session *session)
{
    return tfy__fail(
        EXIT_INTERRUPTED,
        "interrupted before standard output was read; the run has ended, '%s output last' shows what it printed",
        session->command);
}

static int close_session(Session *session, int status)
{
    tfy__live_stop(session->live);
    tfy__ask_stop(session->asker);
    tfy__owner_stop(session->owner);
    if (session->loop) {
        const long long safe = tfy__log_durable_lsn(tfy__loop_log(session->loop));
        if (tfy__out_finish(session->loop) == EINTR && status == EXIT_DONE) status = report_unread(session);
        tfy__say_through(NULL);
        int code = tfy_close(session->loop);
        if (code != TFY_OK && status == EXIT_DONE)
            status = tfy__fail(tfy__exit_status(code),
                               "the log could not be closed in order; the last record on disk is %lld", safe);
    }
    session->loop = NULL;
    free(session->grants);
    session->grants = NULL;
    return status;
}

/* ---- how it ended ---- */

static int report_failure(Session *session, int64_t tid, const char *run)
{
    const char *error = tfy_task_error(session->loop, tid);
    if (tfy_task_state(session->loop, tid) == TFY_TASK_CANCELLED)
        return tfy__fail(EXIT_RUN_FAILED, "%s was cancelled (run %s)", session->workflow, run);
    return tfy__fail(EXIT_RUN_FAILED, "%s failed: %s", session->workflow, error ? error : "no reason is known");
}

/* The line is let out as one text: a process killed at it leaves no half of a line that the next one would go on with. */
static int report_result(Session *session, int64_t tid)
{
    const char *result = tfy_task_result(session->loop, tid);
    if (!result) return EXIT_DONE;
    if (!session->stdout_open) return tfy__fail(EXIT_LOG, "standard output is closed; the result is in the log");
    char *line;
    const int len = asprintf(&line, "%s\n", result);
    if (len >= 0) {
        tfy__out_text(session->loop, STDOUT_FILENO, line, (size_t)len);
        free(line);
    }
    const int reason = len < 0 ? ENOMEM : tfy__out_finish(session->loop);
    if (!reason) return EXIT_DONE;
    if (reason == EINTR) return report_unread(session);
    if (reason == EPIPE) return EXIT_LOG; /* the reader has left, and knows it; the result is in the log */
    return tfy__fail(EXIT_LOG, "cannot write to standard output: %s", strerror(reason));
}

/* Lines that start with " tfy " are commands to type; with another database they name it. */
static void print_commands(const char *text, const char *command)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        bool is_command = strncmp(text, "  tfy ", 6) == 0;
        if (tfy__says_json())
            tfy__say("%s%.*s", is_command ? command : "", (int)(is_command ? len - 5 : len),
                     is_command ? text + 5 : text);
        else
            tfy__say_text("%s%s%.*s\n", is_command ? "  " : "", is_command ? command : "",
                          (int)(is_command ? len - 5 : len), is_command ? text + 5 : text);
        text += text[len] ? len + 1 : len;
    }
}

static void print_deadlock(Session *session)
{
    const char *graph = tfy_deadlock(session->loop);
    if (graph) tfy__say_text("%s", graph);
}

static int report_deadlock(Session *session, const char *run)
{
    tfy__say("deadlock: nothing can ever run again");
    print_deadlock(session);
    tfy__say_text("end one of the tasks, then continue:\n  %s kill %s --task PATH\n  %s resume %s\n", session->command,
                  strcmp(run, "--all") == 0 ? "RUN" : run, session->command, run);
    return EXIT_WAITING;
}

/* run: the run to resume; "--all": several. */
static int report_waiting(Session *session, const char *run)
{
    char *text = NULL;
    uint32_t signals, count = tfy__waiting_for_people(session->loop, &signals, &text);
    if (count) {
        tfy__say("waiting for %s; %s, then continue with: %s resume %s", count > signals ? "people" : "signals",
                 count > signals ? "answer" : "send them", session->command, run);
        /* Only this message reports steps in doubt. */
        if (count > tfy__ask_told(session->asker)) print_commands(text ? text : "", session->command);
    } else if (tfy__any_parked(session->loop)) {
        tfy__say("the runs that are left wait and have left memory; '%s doctor' says for what, then continue with: %s "
                 "resume %s",
                 session->command, session->command, run);
    }
    free(text);
    print_deadlock(session); /* from the other runs that this process resumed */
    return EXIT_WAITING;
}

/* Reports the outcome of one run. */
static int report_run(Session *session, int64_t tid, const char *run)
{
    switch (tfy_task_state(session->loop, tid)) {
    case TFY_TASK_COMPLETED: return report_result(session, tid);
    case TFY_TASK_FAILED:
    case TFY_TASK_CANCELLED: return report_failure(session, tid, run);
    default: return report_waiting(session, run);
    }
}

static int report_interrupted(Session *session, const char *run)
{
    char *calls = tfy__under_way(session->loop);
    if (calls) tfy__say("%s did not finish in time and is ended", calls);
    free(calls);
    return tfy__fail(EXIT_INTERRUPTED, "interrupted; continue with: %s resume %s", session->command, run);
}

/* Reports why the loop stopped before its runs had ended. */
static int report_stop(Session *session, int code, const char *run)
{
    if (tfy__ask_open(session->asker)) tfy__say_text("\n");
    char error[TFY_ERROR_TEXT];
    const char *why = tfy__failure(session->loop);
    if (!*why) {
        tfy__log_error_text(tfy__loop_log(session->loop), error);
        why = error;
    }
    switch (code) {
    case TFY_E_STATE: return report_interrupted(session, run);
    case TFY_E_IO: return tfy__fail(EXIT_LOG, "%s; continue with: %s resume %s", why, session->command, run);
    case TFY_E_LOST: return tfy__fail(EXIT_BUG, "%s; continue with: %s resume %s", why, session->command, run);
    case TFY_E_DEADLOCK: return report_deadlock(session, run);
    default: return tfy__fail(tfy__exit_status(code), "run %s stopped: %s", run, why);
    }
}

/* ---- run ---- */

static int refuse_params(const Session *session, const TfyWorkflow *workflow)
{
    tfy__params_usage(session->args->command, NULL, session->program, workflow, stderr);
    return EXIT_USAGE;
}

static int resume_one(Session *session, const char *name);

/* A run with a name: *status when there is one, or it cannot be started. */
static bool is_found(Session *session, const TfyWorkflow *workflow, const char *params, int *status)
{
    char run[37];
    switch (tfy__named_find(session->args, session->program, workflow, params, run, status)) {
    case TFY_NAMED_NEW: return false;
    case TFY_NAMED_UNFINISHED: *status = resume_one(session, run); return true;
    default: return true;
    }
}

static int run_workflow(Session *session, const TfyWorkflow *workflow, const char *params)
{
    char error[TFY_ERROR_TEXT] = "";
    int64_t tid = 0;
    const char *id = session->args->option[OPT_RUN_ID];
    /* rows that it saves belong beside those of the runs before it */
    session->may_move = tfy__db_is_default(session->args) && !session->program->saves && !id;
    int status;
    if (id && is_found(session, workflow, params, &status)) return status;
    status = tfy__check_runners(session->program, session->args);
    if (status == EXIT_DONE) status = open_session(session);
    if (status != EXIT_DONE) return status;
    snprintf(session->workflow, sizeof session->workflow, "%s", workflow->name);
    int code = tfy__submit_named(session->loop, session->program, workflow->name, params, id, &tid, error);
    if (code == TFY_E_STATE && id) { /* another process has started it meanwhile */
        close_session(session, EXIT_DONE);
        if (is_found(session, workflow, params, &status)) return status;
    }
    if (code != TFY_OK) {
        /* the decoder names the parameter by its path */
        bool param = code == TFY_E_INVALID && strncmp(error, "$.", 2) == 0;
        tfy__say("%s%s", param ? "--" : "", param ? error + 2 : error);
        return close_session(session,
                             code == TFY_E_INVALID ? refuse_params(session, workflow) : tfy__exit_status(code));
    }
    char run[37];
    const char *uuid = tfy__run_of(session->loop, tid);
    snprintf(run, sizeof run, "%s", uuid ? uuid : "last");
    if (id) tfy__say("run %s", run);
    code = tfy_run(session->loop);
    return close_session(session, code == TFY_OK ? report_run(session, tid, run) : report_stop(session, code, run));
}

static int command_run(Session *session)
{
    const TfyProgram *program = session->program;
    const TfyWorkflow *workflow =
        tfy__choose_workflow(program, session->args->option[OPT_WORKFLOW], "choose one with --workflow");
    if (!workflow) return EXIT_USAGE;
    if (session->args->option[OPT_HELP]) {
        tfy__params_usage(session->args->command, NULL, program, workflow, stdout);
        printf("\nEvery program takes these too:\n");
        tfy__command_options(session->args->command, stdout);
        const char *name = tfy__program_name();
        if (strcmp(name, "tfy") != 0)
            printf("'%s resume' and '%s replay' resume and replay its runs; 'tfy' has all other commands.\n", name,
                   name);
        return tfy__flush_stdout(EXIT_DONE);
    }
    if (session->args->word_count > session->files) {
        tfy__say("unexpected '%s'; parameters are written --NAME VALUE", session->args->words[session->files]);
        return refuse_params(session, workflow);
    }
    TfyBuffer params = {0};
    int status;
    if (!tfy__params_json(workflow, session->args, &params))
        status = refuse_params(session, workflow);
    else if (params.failed)
        status = tfy__fail(EXIT_BUG, "memory ran out");
    else
        status = run_workflow(session, workflow, params.data);
    tfy__buffer_free(&params);
    return status;
}

/* ---- resume ---- */

/* Reads the history of a run; or only its tail from the newest snapshot on, if the caller may close its log again. */
static int read_history(const TfyArgs *args, const char *run, bool tail, TfyHistory **history)
{
    TfyLog *log;
    int status = tfy__db_open(args, &log);
    if (status != EXIT_DONE) return status;
    status = tfy__db_read(log, tail ? tfy__history_read_tail : tfy__history_read, run, history);
    tfy__log_close(log, false);
    return status;
}

/* The records that the work tree is compared with may come before the newest snapshot, which a resume does not read
 * otherwise. */
static int explain_worktree(const Session *session, const TfyHistory *tail, const char *run)
{
    const char *root = session->root ? session->root : ".";
    TfyHistory *whole = NULL;
    if (!tail->snapshot) {
        tfy__explain_worktree(session->program, tail, root);
        return EXIT_DONE;
    }
    if (!tfy__touches_worktree(tail)) return EXIT_DONE;
    const int status = read_history(session->args, run, false, &whole);
    if (status == EXIT_DONE) tfy__explain_worktree(session->program, whole, root);
    tfy__history_free(whole);
    return status;
}

/* Resumes the run once the loop is open. Returns 0, or a code after a message. */
static int take_up(Session *session, const char *run, const char *from)
{
    char error[TFY_ERROR_TEXT] = "";
    const char *with = session->args->option[OPT_WITH];
    const int code = with ? tfy__resume_with(session->loop, run, error) : tfy__resume(session->loop, run, error);
    if (code == TFY_E_DIVERGED && with) {
        tfy__say("run %s cannot continue with %s: %s", run, with, error);
        tfy__say("nothing was changed; '%s resume %s' continues with its own code, '%s compat %s %s' compares the two",
                 session->command, run, session->command, run, with);
    } else if (code != TFY_OK) {
        tfy__say("%s", error);
    } else if (from) {
        tfy__say("run %s worked in %s; from now on it works in %s", run, from,
                 tfy__program_root(session->loop, session->program));
    }
    return code;
}

static int resume_one(Session *session, const char *name)
{
    TfyHistory *history = NULL;
    TfyWhere where = {0};
    char run[37];
    int status = read_history(session->args, name, true, &history);
    if (status != EXIT_DONE) return status;
    tfy__uuid_text(history->run.uuid, run);
    int64_t root = history->run.root;
    snprintf(session->workflow, sizeof session->workflow, "%s", history->workflow ? history->workflow : "the run");
    if (history->run.state >= TFY_TASK_COMPLETED) {
        status = tfy__result_again(history);
        tfy__history_free(history);
        return status;
    }
    status = tfy__where_choose(session->args, history, &where);
    session->root = where.root;
    session->move_root = where.moves;
    if (status == EXIT_DONE) status = explain_worktree(session, history, run);
    if (status == EXIT_DONE) status = open_session(session);
    int code = status == EXIT_DONE ? take_up(session, run, where.moves ? history->root.path : NULL) : TFY_OK;
    tfy__history_free(history);
    if (status != EXIT_DONE) return status;
    if (code != TFY_OK) return close_session(session, tfy__exit_status(code));
    code = tfy_run(session->loop);
    return close_session(session, code == TFY_OK ? report_run(session, root, run) : report_stop(session, code, run));
}

/* The verdict about a move, a line on stdout; cli/make/compat.c reads it. */
static int try_move(const Session *session, TfyLog *log, const char *name)
{
    TfyHistory *history = NULL;
    char run[37], error[TFY_ERROR_TEXT] = "";
    int status = tfy__db_read(log, tfy__history_read, name, &history);
    if (status != EXIT_DONE) return status;
    history->log = log;
    tfy__uuid_text(history->run.uuid, run);
    const bool ended = history->run.state >= TFY_TASK_COMPLETED;
    const char *with = session->args->option[OPT_WITH];
    const int code = ended ? TFY_OK : tfy__move_check(session->program, history, error);
    if (ended)
        printf("run %s has ended\n", run);
    else if (code == TFY_OK)
        printf("run %s can continue with %s\n", run, with);
    else if (code == TFY_E_DIVERGED)
        printf("run %s cannot continue with %s: %s\n", run, with, error);
    else
        tfy__say("%s", error);
    tfy__history_free(history);
    return tfy__exit_status(code);
}

/* resume --with --dry-run, of any number of runs. */
static int try_moves(const Session *session)
{
    const TfyArgs *args = session->args;
    TfyLog *log;
    if (!args->option[OPT_WITH]) return tfy__fail(EXIT_USAGE, "--dry-run goes with --with FILE.tfy");
    int refused = EXIT_DONE, status = tfy__db_open(args, &log);
    if (status != EXIT_DONE) return status;
    for (int i = 0; status == EXIT_DONE && i < (args->word_count ? args->word_count : 1); i++) {
        status = try_move(session, log, args->word_count ? args->words[i] : "last");
        if (status != EXIT_DATA) continue;
        refused = status;
        status = EXIT_DONE;
    }
    tfy__log_close(log, false);
    return tfy__flush_stdout(status == EXIT_DONE ? refused : status);
}

/* `tfy` starts one process for each directory. */
static void say_left(const Session *session)
{
    const uint32_t count = tfy__left_elsewhere(session->loop);
    if (!count || strcmp(tfy__program_name(), "tfy") == 0) return;
    tfy__say("%u run%s in other directories and not resumed; '%s resume --all' goes through all of them", count,
             count == 1 ? " is" : "s are", session->command);
}

static void say_diverged(void *state, const char *run, const char *why)
{
    Session *session = state;
    if (!why) return;
    session->diverged = true;
    tfy__say("set aside: %s", why);
}

/* A run that differs from its log does not keep the others from continuing. */
static int resume_all(Session *session)
{
    char error[TFY_ERROR_TEXT] = "";
    int status = open_session(session);
    if (status != EXIT_DONE) return status;
    tfy__set_aside(session->loop, say_diverged, session);
    if (session->root) tfy__leave_rootless(session->loop);
    int code = tfy__resume_all(session->loop, error);
    if (code != TFY_OK) {
        tfy__say("%s", error);
        return close_session(session, tfy__exit_status(code));
    }
    say_left(session);
    code = tfy_run(session->loop);
    if (code != TFY_OK) return close_session(session, report_stop(session, code, "--all"));
    bool waits = tfy__waiting_for_people(session->loop, NULL, NULL) > 0 || tfy__any_parked(session->loop);
    status = close_session(session, waits ? report_waiting(session, "--all") : EXIT_DONE);
    return session->diverged && status == EXIT_DONE ? EXIT_DATA : status;
}

static int command_resume(Session *session)
{
    if (session->args->option[OPT_ALL]) return resume_all(session);
    if (session->args->option[OPT_DRY_RUN]) return try_moves(session);
    if (session->args->word_count > 1)
        return tfy__fail(EXIT_USAGE, "resume takes one run, not '%s' too", session->args->words[1]);
    return resume_one(session, session->args->word_count ? session->args->words[0] : "last");
}

/* ---- replay ---- */

/* from: the snapshot at which the replay started; 0: at the start of the run. */
static void print_report_json(const char *run, int64_t from, const TfyReplayReport *report)
{
    json_t *json = json_pack("{s:s,s:I,s:I,s:I,s:b,s:s}", "run", run, "steps", (json_int_t)report->steps, "divergences",
                             (json_int_t)report->divergences, "performed", (json_int_t)report->performed, "finished",
                             report->finished, "text", report->text);
    if (from) json_object_set_new(json, "from", json_integer(from));
    tfy__report_line(json);
}

static void print_report(const char *run, int64_t from, const TfyReplayReport *report)
{
    printf("run %s: %lld record%s compared, %lld divergence%s, %lld effects performed\n", run, (long long)report->steps,
           report->steps == 1 ? "" : "s", (long long)report->divergences, report->divergences == 1 ? "" : "s",
           (long long)report->performed);
    if (from) printf("it started at the snapshot that is record %lld\n", (long long)from);
    if (report->divergences && *report->text) printf("%s\n", report->text);
    if (!report->divergences && !report->finished) printf("the history ends before the run does: it can be resumed\n");
}

static int replay_whole(Session *session, const TfyHistory *history)
{
    TfyReplayReport report = {0};
    TfyOptions options = {.quiet = true, .on_event = session->args->option[OPT_EVENTS] ? print_event : NULL};
    char run[37];
    tfy__uuid_text(history->run.uuid, run);
    const int code = tfy__replay(session->program, history, &options, &report);
    if (code != TFY_OK && !report.divergences) {
        return tfy__fail(tfy__exit_status(code), "run %s cannot be replayed: %s", run,
                         *report.text ? report.text : "unknown reason");
    }
    (session->args->option[OPT_JSON] ? print_report_json : print_report)(run, history->snapshot_lsn, &report);
    return tfy__flush_stdout(report.divergences ? EXIT_DATA : EXIT_DONE);
}

static int command_replay(Session *session)
{
    const TfyArgs *args = session->args;
    const bool steps = args->option[OPT_STEPPING] || args->option[OPT_UNTIL] || args->option[OPT_PRINT_LOCALS];
    TfyHistory *history = NULL;
    TfyLog *log = NULL;
    if (args->word_count > 1) return tfy__fail(EXIT_USAGE, "replay takes one run, not '%s' too", args->words[1]);
    if (steps && args->option[OPT_EVENTS])
        return tfy__fail(EXIT_USAGE, "--events goes with a replay that does not stop");
    if (steps && args->option[OPT_FROM_SNAPSHOT])
        return tfy__fail(EXIT_USAGE, "--from-snapshot goes with a replay that does not stop");
    if (steps && !session->program->debugger)
        return tfy__fail(EXIT_MISSING,
                         "%s was compiled without the debugger; type '%s replay RUN --step', or build it with --debug",
                         session->program->name, session->command);
    int status = tfy__db_open(args, &log);
    if (status != EXIT_DONE) return status;
    status = tfy__db_read(log, args->option[OPT_FROM_SNAPSHOT] ? tfy__history_read_tail : tfy__history_read,
                          args->word_count ? args->words[0] : "last", &history);
    if (status == EXIT_DONE) history->log = log; /* large payloads are read when the replay reaches them */
    if (status == EXIT_DONE)
        status = steps ? session->program->debugger->command(session->program, history, args)
                       : replay_whole(session, history);
    tfy__history_free(history);
    tfy__log_close(log, false);
    return status;
}

/* ---- test ---- */

static int command_test(Session *session)
{
    const TfyTester *tester = session->program->tester;
    return tester ? tester->run(session->program, session->args) : EXIT_DONE;
}

/* ---- the entry ---- */

/* A command that every program has, and its function here. */
typedef struct OwnCommand {
    TfyCommand command;
    int (*run)(Session *session);
} OwnCommand;

#define OTHER(...)
#define OWN(function, ...) {{.run = NULL, __VA_ARGS__}, command_##function},
static const OwnCommand OWN_COMMANDS[] = {TFY_COMMANDS(OTHER, OWN)};
#undef OTHER
#undef OWN

static const OwnCommand *find_command(const char *word)
{
    for (size_t i = 0; word && i < sizeof OWN_COMMANDS / sizeof *OWN_COMMANDS; i++) {
        if (strcmp(word, OWN_COMMANDS[i].command.name) == 0) return &OWN_COMMANDS[i];
    }
    return NULL;
}

/* `tfy run FILE.tfy [FILE.c …]` leaves the files among the words of the process, so that a list of processes shows
 * what runs, and says here how many they are. Tools that are tfy programs themselves are not meant. */
static int named_files(void)
{
    const char *count = getenv(TFY_RUN_FILES);
    const int files = count ? atoi(count) : 0;
    unsetenv(TFY_RUN_FILES);
    return files;
}

typedef struct Invocation {
    const TfyProgram *program;
    const OwnCommand *own;
    bool stdout_open;
} Invocation;

/* On the database of the arguments. */
static int run_command(const TfyArgs *args, void *state)
{
    const Invocation *invocation = state;
    const char *db_path = tfy__db_path(args);
    Session session = {.program = invocation->program,
                       .args = args,
                       .db_path = db_path,
                       .root = args->option[OPT_ROOT],
                       .command = tfy__tfy_command(db_path),
                       .stdout_open = invocation->stdout_open,
                       .files = named_files()};
    return invocation->own->run(&session);
}

int tfy_main(int argc, char **argv, const TfyProgram *program)
{
    bool stdout_open = tfy__standard_files();
    tfy_hide_secrets(program->debug || getenv("TFY_DEBUG"));
    const char *slash = argc ? strrchr(argv[0], '/') : NULL;
    tfy__set_program_name(slash ? slash + 1 : argc ? argv[0] : program->name);
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("%s (tfyc %s, runtime %s)\n", program->name, program->tfyc, tfy_version());
        return tfy__flush_stdout(EXIT_DONE);
    }
    const int files = tfy__enough_files();
    if (files) return files;
    /* Without a command word the program runs: the word before the arguments is then its own name. */
    const OwnCommand *named = find_command(argc > 1 ? argv[1] : NULL), *own = named ? named : find_command("run");
    TfyArgs args = {0};
    int status = named ? tfy__args_parse(&own->command, argc - 1, argv + 1, &args)
                       : tfy__args_parse(&own->command, argc, argv, &args);
    if (status < 0) status = tfy__db_run(&args, run_command, &(Invocation){program, own, stdout_open});
    tfy__args_free(&args);
    return status;
}
