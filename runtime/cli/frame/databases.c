#include "cli/frame/databases.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "tfy.h"
#include "wal/history/history.h"
#include "wal/store/lock.h"

bool tfy__db_is_default(const TfyArgs *args)
{
    const char *from_environment = getenv("TFY_DB");
    return !args->option[OPT_DB] && !(from_environment && *from_environment);
}

bool tfy__db_numbered(int number, char path[TFY_PLACE_BYTES])
{
    char name[32];
    snprintf(name, sizeof name, number > 1 ? ".tfy/runs-%d.db" : ".tfy/runs.db", number);
    return tfy__place_resolve(name, path, NULL) == 0;
}

bool tfy__db_exists(int number, char path[TFY_PLACE_BYTES])
{
    return tfy__db_numbered(number, path) && access(path, F_OK) == 0;
}

bool tfy__db_is_usual(const char *path)
{
    char usual[TFY_PLACE_BYTES];
    bool is = false;
    for (int n = 1; n <= TFY_DATABASES_MAX && !is; n++) is = tfy__db_numbered(n, usual) && strcmp(path, usual) == 0;
    return is;
}

int tfy__db_choice_lock(void)
{
    const int fd = open(".tfy/lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) (void)flock(fd, LOCK_EX);
    return fd;
}

/* ---- the database of a run ---- */

static bool is_named(const TfyArgs *args, const char *name)
{
    return strcmp(args->command->name, name) == 0;
}

/* Returns the run that the words name; NULL: none. */
static const char *run_named(const TfyArgs *args)
{
    const char *operands = args->command->operands, *first = args->word_count ? args->words[0] : NULL;
    if (is_named(args, "compat") || is_named(args, "graph")) {
        for (int i = 0; i < args->word_count; i++)
            if (!tfy__is_source(args->words[i]) && !tfy__ends_with(args->words[i], ".c")) return args->words[i];
        return NULL;
    }
    if (strncmp(operands, "RUN", 3) != 0 && strncmp(operands, "[RUN]", 5) != 0) return NULL;
    if (is_named(args, "resume") && args->option[OPT_ALL]) return NULL;
    return first && *first && !tfy__ends_with(first, ".c") ? first : "last";
}

typedef struct Choice {
    char path[TFY_PLACE_BYTES], other[TFY_PLACE_BYTES]; /* where the run is; where another is that has the name too */
    int64_t started_ms;
    bool found, ambiguous;
} Choice;

static void look_in(Choice *choice, const char *path, const char *run)
{
    const TfyLogOptions options = {.path = path, .read_only = true, .existing = true};
    const bool last = strcmp(run, "last") == 0;
    TfyLog *log = NULL;
    TfyLogRun found;
    if (tfy__log_open(&log, &options, NULL) != TFY_OK) return;
    const int code = tfy__history_find(log, run, &found, NULL);
    tfy__log_close(log, false);
    if (code != TFY_OK && code != TFY_E_INVALID) return;
    /* a name of several runs is refused by the database that has them */
    const bool first = !choice->found || code == TFY_E_INVALID, newer = last && found.started_ms > choice->started_ms;
    if (first || newer) {
        strcpy(choice->path, path);
        choice->started_ms = code == TFY_OK ? found.started_ms : INT64_MAX;
    } else if (!last && strlen(run) < 36) {
        strcpy(choice->other, path);
        choice->ambiguous = true;
    }
    choice->found = true;
}

/* Without a run, these are about a process: the one that is there. */
static void look_for_process(Choice *choice)
{
    char path[TFY_PLACE_BYTES], owner[TFY_LOCK_OWNER_BYTES];
    for (int n = 1; n <= TFY_DATABASES_MAX && !choice->found; n++) {
        if (!tfy__db_exists(n, path) || !tfy__lock_held(path, owner, sizeof owner)) continue;
        strcpy(choice->path, path);
        choice->found = true;
    }
}

static bool are_several(void)
{
    char path[TFY_PLACE_BYTES];
    bool several = false;
    for (int n = 2; n <= TFY_DATABASES_MAX && !several; n++) several = tfy__db_exists(n, path);
    return several;
}

int tfy__db_choose(TfyArgs *args)
{
    const char *run = run_named(args);
    char path[TFY_PLACE_BYTES];
    Choice choice = {.found = false};
    if (!run || !tfy__db_is_default(args) || !are_several()) return -1;
    if (!args->word_count && (is_named(args, "watch") || is_named(args, "stats")))
        look_for_process(&choice);
    else
        for (int n = 1; n <= TFY_DATABASES_MAX; n++)
            if (tfy__db_exists(n, path)) look_in(&choice, path, run);
    if (choice.ambiguous)
        return tfy__fail(EXIT_USAGE, "runs of %s and of %s have the name '%s'; give more of it, or name one with --db",
                         choice.path, choice.other, run);
    if (!choice.found) return -1;
    free(args->db);
    args->db = strdup(choice.path);
    return args->db ? -1 : tfy__fail(EXIT_BUG, "memory ran out");
}

/* ---- commands about all runs ---- */

int tfy__db_each(TfyArgs *args, int (*run)(const TfyArgs *args, void *state), void *state)
{
    int status = EXIT_DONE;
    char path[TFY_PLACE_BYTES];
    if (!tfy__db_is_default(args) || !are_several()) return run(args, state);
    for (int n = 1; n <= TFY_DATABASES_MAX; n++) {
        if (!tfy__db_exists(n, path)) continue;
        free(args->db);
        if (!(args->db = strdup(path))) return tfy__fail(EXIT_BUG, "memory ran out");
        const int one = run(args, state);
        if (one > status) status = one;
    }
    return status;
}

static bool is_about_all(const TfyArgs *args)
{
    return is_named(args, "doctor") || is_named(args, "gc") || is_named(args, "verify") ||
           (is_named(args, "resume") && args->option[OPT_ALL]);
}

int tfy__db_run(TfyArgs *args, int (*run)(const TfyArgs *args, void *state), void *state)
{
    return is_about_all(args) ? tfy__db_each(args, run, state) : run(args, state);
}
