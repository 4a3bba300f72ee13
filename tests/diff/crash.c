/* crash.c: see crash.h. A child process runs the turns and ends without closing anything, as a killed process does. */
#include "crash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/loop/state.h"
#include "core/loop.h"
#include "diff.h"
#include "runner.h"
#include "trace.h"
#include "wal/history/history.h"

#define WALL_MS INT64_C(1700000000000)

/* Everything the program did, as text that can be compared; lines by task. Owned by the caller. */
static char *told(const char *state, const char *result, const char *error)
{
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    if (!to) abort();
    trace_lines(to, "out ", diff_state->out, 1);
    fprintf(to, "state %s\nresult %s\nerror %s\n", state, result ? result : "none", error ? error : "none");
    fclose(to);
    return text;
}

static TfyLoop *open_loop(const TfyProgram *program, TfyWorld *world, const char *db)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyLoop *loop;
    TfyOptions options = {.world = world,
                          .on_output = runner_collect,
                          .state = diff_state,
                          .quiet = true,
                          .approve_all = true,
                          .db_path = db};
    if (tfy_open(&loop, program, &options, error) >= 0) return loop;
    fprintf(stderr, "runner: %s\n", error);
    exit(70);
}

static char *undisturbed(const TfyProgram *program, const char *name)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyWorld *world = tfy__world_virtual(WALL_MS, 42);
    TfyLoop *loop = open_loop(program, world, NULL);
    if (runner_submit(loop, name, &diff_state->tid, error) < 0 || tfy_step_until_idle(loop) < 0) exit(70);
    char *text = told(runner_state_name(tfy_task_state(loop, diff_state->tid)), tfy_task_result(loop, diff_state->tid),
                      tfy_task_error(loop, diff_state->tid));
    tfy_close(loop);
    tfy__world_free(world);
    return text;
}

/* The child: so many turns, time jumping where there is nothing else to do. */
static void run_turns(const TfyProgram *program, const char *name, const char *db, int turns)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyWorld *world = tfy__world_virtual(WALL_MS, 42);
    TfyLoop *loop = open_loop(program, world, db);
    if (runner_submit(loop, name, &diff_state->tid, error) < 0) _exit(70);
    for (int i = 0; i < turns; i++) {
        int64_t next_ns = tfy__timers_next(&loop->timers);
        if (tfy_step(loop) == 0 && next_ns != INT64_MAX) world->jump(world->state, next_ns);
        if (i + 2 < turns && tfy__log_sync(loop->log) < 0) _exit(70); /* only the last turns may race the disk */
        diff_state->wall_ms = world->wall_ms(world->state);
    }
    _exit(tfy_task_state(loop, diff_state->tid) >= TFY_TASK_COMPLETED ? 1 : 0);
}

/* 1: the program had ended; 0: it was killed before. */
static int kill_after(const TfyProgram *program, const char *name, const char *db, int turns)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) run_turns(program, name, db, turns);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) > 1) {
        fprintf(stderr, "runner: %s: the child of %d turns failed\n", name, turns);
        exit(70);
    }
    return WEXITSTATUS(status);
}

/* Detached tasks can wait for ever although the root has ended. */
static bool is_over(TfyLoop *loop)
{
    const TaskRest *root = tfy__task_by_tid(loop, diff_state->tid);
    return root && root->run->ended;
}

/* What the log has told in the end, in the order of the replay; over: the run had ended. */
static bool replay(const TfyProgram *program, const char *name, const char *db, bool over)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyLog *log;
    TfyHistory *history = NULL;
    TfyReplayReport report = {0};
    TfyLogOptions log_options = {.path = db, .read_only = true};
    TfyOptions options = {.on_output = runner_collect, .state = diff_state, .quiet = true, .approve_all = true};
    diff_state->out_len = 0;
    diff_state->out[0] = '\0';
    if (tfy__log_open(&log, &log_options, error) < 0 || tfy__history_read(log, "last", &history, error) < 0) {
        fprintf(stderr, "runner: %s: %s\n", name, error);
        return false;
    }
    int code = tfy__replay(program, history, &options, &report);
    bool ok = code >= 0 && report.divergences == 0 && report.finished == over;
    if (!ok) fprintf(stderr, "not ok - %s: the replay says %s\n", name, report.text);
    tfy__history_free(history);
    tfy__log_close(log, false);
    return ok;
}

static bool same(const char *name, int turns, const char *expected, const char *actual)
{
    if (strcmp(expected, actual) == 0) return true;
    fprintf(stderr, "not ok - %s, killed after %d turns: expected\n%sdone\n%s", name, turns, expected, actual);
    return false;
}

/* Resumes what was killed and compares. Nothing to resume is fine: it had ended, or nothing of it was durable yet. */
static bool resume(const TfyProgram *program, const char *name, const char *db, int turns, const char *expected)
{
    char error[TFY_ERROR_TEXT] = "", *text = NULL;
    TfyWorld *world = tfy__world_virtual(diff_state->wall_ms ? diff_state->wall_ms : WALL_MS, 43);
    TfyLoop *loop = open_loop(program, world, db);
    int code = tfy__resume(loop, "last", error);
    bool nothing = code == TFY_E_STATE || code == TFY_E_ABSENT, ok = nothing || code >= 0;
    if (!ok) fprintf(stderr, "not ok - %s, killed after %d turns: %s\n", name, turns, error);
    if (ok && !nothing) ok = tfy_step_until_idle(loop) >= 0;
    const char *state = runner_state_name(tfy_task_state(loop, diff_state->tid));
    char *result = ok && !nothing && tfy_task_result(loop, diff_state->tid)
                       ? strdup(tfy_task_result(loop, diff_state->tid))
                       : NULL;
    char *failure =
        ok && !nothing && tfy_task_error(loop, diff_state->tid) ? strdup(tfy_task_error(loop, diff_state->tid)) : NULL;
    bool over = is_over(loop);
    tfy_close(loop);
    tfy__world_free(world);
    if (ok && !nothing) ok = replay(program, name, db, over);
    if (ok && !nothing && strncmp(name, "root_a", 6) != 0) {
        text = told(state, result, failure);
        ok = same(name, turns, expected, text);
    }
    free(text);
    free(result);
    free(failure);
    return ok;
}

int crash_program(const TfyProgram *program, const char *name)
{
    bool ok = true;
    int kills = 0;
    memset(diff_state, 0, sizeof *diff_state);
    char *expected = undisturbed(program, name);
    bool stuck = strstr(expected, "state waiting") != NULL;
    for (int turns = 1, ended = 0; ok && !ended && !stuck && turns < 200; turns += 1 + turns / 4) {
        char db[] = "/tmp/tfy-diff-XXXXXX/runs.db", command[100];
        const size_t folder = strlen(db) - strlen("/runs.db");
        db[folder] = '\0';
        if (!mkdtemp(db)) exit(70);
        snprintf(command, sizeof command, "rm -rf '%s'", db);
        db[folder] = '/';
        memset(diff_state, 0, sizeof *diff_state);
        ended = kill_after(program, name, db, turns);
        kills += !ended;
        ok = resume(program, name, db, turns, expected);
        if (system(command) != 0) exit(70);
    }
    free(expected);
    return ok ? kills : -1;
}
