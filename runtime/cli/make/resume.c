/* resume.c: tfy resume and tfy replay, which start from a run in the database. The database holds the program's source,
 * so a run is continued or replayed with exactly the code that it started with, even if the file has changed. */
#include "base/grow.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/copy.h"
#include "cli/frame/commands.h"
#include "cli/make/compile.h"
#include "cli/look/db.h"
#include "cli/program/where.h"
#include "cli/program/result.h"
#include "tfy.h"
#include "wal/history/history.h"
#include "wal/log/root.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The operands of resume and replay: a run, then extern C files. */
static const char *run_of(const TfyArgs *args)
{
    size_t len = args->word_count ? strlen(args->words[0]) : 0;
    return len == 0 || (len > 2 && strcmp(args->words[0] + len - 2, ".c") == 0) ? "last" : args->words[0];
}

static int first_extra(const TfyArgs *args)
{
    return args->word_count && run_of(args) == args->words[0] ? 1 : 0;
}

/* Whether the run is shown to a person instead of only compared. */
static bool steps(const TfyArgs *args)
{
    return args->option[OPT_STEPPING] || args->option[OPT_UNTIL] || args->option[OPT_PRINT_LOCALS];
}

static int compile_recorded(const TfyArgs *args, const TfyHistory *history, char **program)
{
    const int from = first_extra(args);
    const TfyCompile how = {.extras = args->words + from, .extra_count = args->word_count - from, .steps = steps(args)};
    return tfy__compile_recorded(history, &how, program);
}

/* Replaces this process with the program, run as COMMAND [RUN] with the given options. An empty run: no run is named.
 * Returns only on failure. */
static int exec_with(const TfyArgs *args, const char *program, const char *command, const char *run)
{
    char *words[OPT_COUNT + 2] = {NULL};
    int count = 0;
    if (*run) words[count++] = strdup(run);
    for (int i = 0; i < OPT_COUNT; i++) {
        const char *value = i == OPT_DB ? tfy__db_path(args) : args->option[i];
        if (!value || i == OPT_PROGRAM || i == OPT_DIR) continue;
        if (asprintf(&words[count++], "--%s%s%s", tfy__option_at(i)->name, *value ? "=" : "", value) < 0) {
            return tfy__fail(EXIT_BUG, "memory ran out");
        }
    }
    int status = tfy__exec_program(program, command, words, count);
    while (count > 0) free(words[--count]);
    return status;
}

/* Whether a process in the current directory, or in that of --root, continues the run. Processes for other directories
 * are given theirs by --root, and skip runs that name no directory. */
static bool is_here(const TfyArgs *args, const TfyHistory *history)
{
    return args->option[OPT_ROOT] || !history->root.path || tfy__where_is(history, ".");
}

/* Continues the unfinished runs of one program in one directory, in a process of its own. Returns its exit status. */
static int resume_program(const TfyArgs *args, const TfyHistory *history, bool here)
{
    char *program = NULL;
    TfyArgs own = *args;
    int status = here ? EXIT_DONE : tfy__where_check(history);
    if (status == EXIT_DONE) status = compile_recorded(args, history, &program);
    if (status != EXIT_DONE) return status;
    if (!here) {
        own.option[OPT_ROOT] = history->root.path;
        tfy__say("continuing runs that work in %s", history->root.path);
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(exec_with(&own, program, "resume", ""));
    free(program);
    if (child < 0) return tfy__fail(EXIT_BUG, "no process can be started");
    while (waitpid(child, &status, 0) < 0) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Finds runs of every program that has work to do: all runs that were in memory when their process ended, and one parked
 * run of each program, whose process continues the others by itself. */
static int find_unfinished(TfyLog *log, int64_t **ids, uint32_t *count)
{
    int64_t *parked = NULL;
    uint32_t parked_count = 0;
    int code = tfy__log_unfinished(log, ids, count);
    if (!code) code = tfy__log_parked_programs(log, &parked, &parked_count);
    if (!code && !RESIZE(*ids, *count + parked_count + 1)) code = TFY_E_NOMEM;
    for (uint32_t i = 0; !code && i < parked_count; i++) (*ids)[(*count)++] = parked[i];
    free(parked);
    return code;
}

/* Whether the same process continues both. */
static bool are_together(const TfyHistory *a, bool a_here, const TfyHistory *b, bool b_here)
{
    if (memcmp(a->program_hash, b->program_hash, sizeof a->program_hash) != 0) return false;
    if (a_here || b_here) return a_here && b_here;
    return strcmp(a->root.path, b->root.path) == 0 && tfy__root_is(&a->root, &b->root);
}

/* With --root, only the runs of that directory count. */
static uint32_t leave_others(const TfyArgs *args, TfyHistory **histories, uint32_t count)
{
    uint32_t kept = 0;
    if (!args->option[OPT_ROOT]) return count;
    for (uint32_t i = 0; i < count; i++) {
        if (tfy__where_is(histories[i], args->option[OPT_ROOT]))
            histories[kept++] = histories[i];
        else
            tfy__history_free(histories[i]);
    }
    if (kept < count)
        tfy__say("runs of directories other than %s stay as they are; 'resume RUN --root DIR' moves one",
                 args->option[OPT_ROOT]);
    return kept;
}

/* Continues every unfinished run, grouped by program and directory, one process after the other: only one may write the
 * database. */
static int resume_all(const TfyArgs *args)
{
    TfyLog *log = NULL;
    int64_t *ids = NULL;
    uint32_t count = 0;
    int status = tfy__db_open(args, &log);
    if (status != EXIT_DONE) return status;
    const int code = find_unfinished(log, &ids, &count);
    if (code)
        status = tfy__fail(tfy__exit_status(code), "the unfinished runs of %s cannot be read", tfy__db_path(args));
    TfyHistory **histories = calloc(count + 1, sizeof *histories);
    for (uint32_t i = 0; histories && i < count && status == EXIT_DONE; i++) {
        char id[24];
        snprintf(id, sizeof id, "%lld", (long long)ids[i]);
        status = tfy__db_read(log, tfy__history_read_tail, id, &histories[i]);
    }
    tfy__log_close(log, false);
    const bool read = status == EXIT_DONE; /* a program that fails does not stop the others */
    if (histories && read) count = leave_others(args, histories, count);
    bool *here = calloc(count + 1, sizeof *here);
    for (uint32_t i = 0; histories && here && i < count && read; i++) {
        bool seen = false;
        here[i] = is_here(args, histories[i]);
        for (uint32_t j = 0; j < i; j++) seen |= are_together(histories[j], here[j], histories[i], here[i]);
        if (!seen) {
            int one = resume_program(args, histories[i], here[i]);
            if (one > status) status = one;
        }
    }
    free(here);
    for (uint32_t i = 0; histories && i < count; i++) tfy__history_free(histories[i]);
    free(histories);
    free(ids);
    return status;
}

/* Becomes the program, which opens files alone: a run of PostgreSQL is copied into one, and that is replayed. */
static int become(const TfyArgs *args, const char *program, const char *command, const char *run)
{
    TfyArgs own = *args;
    char *path = NULL;
    if (!tfy__db_is_shared(args)) return exec_with(args, program, command, run);
    int status = tfy__runs_copy(args, &run, 1, &path);
    own.db = path;
    if (status == EXIT_DONE) status = exec_with(&own, program, command, run);
    free(path);
    return status;
}

/* Reads the run, finds or compiles the program, and replaces this process with it. */
static int continue_as(const TfyArgs *args, const char *command)
{
    TfyLog *log = NULL;
    TfyHistory *history = NULL;
    char run[37], *program = NULL;
    int status = tfy__db_open(args, &log);
    if (status != EXIT_DONE) return status;
    const bool resumes = strcmp(command, "resume") == 0; /* needs only the newest snapshot and what follows */
    status = tfy__db_read(log, resumes ? tfy__history_read_tail : tfy__history_read, run_of(args), &history);
    tfy__log_close(log, false);
    if (status != EXIT_DONE) return status;
    tfy__uuid_text(history->run.uuid, run);
    if (resumes && history->run.state >= TFY_TASK_COMPLETED) { /* no program is needed */
        status = tfy__result_again(history);
        tfy__history_free(history);
        return status;
    }
    const char *other = args->option[OPT_PROGRAM] ? args->option[OPT_PROGRAM] : args->option[OPT_WITH];
    if (other) {
        int from = first_extra(args);
        TfyCompile what = {.name = other,
                           .path = other,
                           .dirs = args->dirs,
                           .dir_count = args->dir_count,
                           .steps = steps(args),
                           .debug = steps(args) && !history->snapshot,
                           .extras = args->words + from,
                           .extra_count = args->word_count - from};
        status = tfy__compile(&what, &program);
    } else {
        status = compile_recorded(args, history, &program);
    }
    tfy__history_free(history);
    if (status == EXIT_DONE) status = become(args, program, command, run);
    free(program);
    return status;
}

int tfy__cmd_resume(const TfyArgs *args)
{
    if (tfy__db_is_shared(args))
        return tfy__fail(EXIT_USAGE,
                         "workers continue the runs of a database of PostgreSQL by themselves; start one: "
                         "%s worker FILE.tfy",
                         tfy__tfy_command(tfy__db_path(args)));
    if (args->option[OPT_DRY_RUN] && !args->option[OPT_WITH])
        return tfy__fail(EXIT_USAGE, "--dry-run goes with --with FILE.tfy");
    if (args->option[OPT_ALL] && args->option[OPT_WITH])
        return tfy__fail(EXIT_USAGE, "--with moves one run to another program: name it instead of --all");
    return args->option[OPT_ALL] ? resume_all(args) : continue_as(args, "resume");
}

int tfy__cmd_replay(const TfyArgs *args)
{
    return continue_as(args, "replay");
}
