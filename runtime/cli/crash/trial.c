/* trial.c: performs one trial: run, kill, resume until the run has ended, compare. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/crash/crash.h"

enum {
    PROCESSES_MAX = 30,
    STATUS_KILLED = 128 + 9,
    STATUS_TERMINATED = 128 + 15,
    STATUS_DRAINED = 130,
    STATUS_HUNG_UP = 128 + 1, /* the signal came before the process could handle it */
    LEDGER_LINE = 4096
};

/* The state of one trial. */
typedef struct Trial {
    const Case *the;
    char dir[PATH_BYTES];
    char db[PATH_BYTES + 16];
    const char *id;
    unsigned processes; /* started so far */
    bool elsewhere;     /* resumes run in another directory */
    unsigned harsh;     /* number of them that were killed, or could not print */
    /* the place at which the first `tfy resolve` is killed: a value of TFY_TEST_KILL, or NULL */
    const char *spoil;
    FILE *out; /* receives the description of every difference */
    bool bad;  /* at least one difference was found and reported */
    /* a once tool was running at the kill, and nothing records what it did */
    bool unknown;
} Trial;

/* ---- reporting differences ---- */

static void complain(Trial *trial, const char *what, const char *expected, const char *got)
{
    if (!trial->bad) fprintf(trial->out, "not ok %s %s (kept in %s)\n", trial->the->name, trial->id, trial->dir);
    trial->bad = true;
    fprintf(trial->out, "    %s\n", what);
    if (expected) fprintf(trial->out, "    expected:\n%s\n", expected);
    if (got) fprintf(trial->out, "    got:\n%s\n", got);
}

/* Reports two long texts only from where they differ. */
static void complain_texts(Trial *trial, const char *what, const char *expected, const char *got)
{
    const char *a = expected, *b = got;
    for (size_t len = strcspn(a, "\n"); *a && strncmp(a, b, len + 1) == 0; len = strcspn(a, "\n")) {
        a += len + (a[len] == '\n');
        b += len + (b[len] == '\n');
    }
    char *x = crash_text("%.700s", a), *y = crash_text("%.700s", b);
    complain(trial, what, x, y);
    free(x);
    free(y);
}

/* ---- directories ---- */

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

static void shell(const Trial *trial, const char *script, const char *out)
{
    Command command = {.out = out, .err = "shell.err"};
    crash_command_add(&command, "sh");
    crash_command_add(&command, "-c");
    crash_command_add(&command, script);
    if (crash_command_run(&command, trial->dir) != 0) {
        char *said = crash_file_text(trial->dir, "shell.err");
        crash_die("in %s this failed: %s\n%s", trial->dir, script, said);
    }
}

/* Makes a fresh directory. The program runs in its "root", which the setup fills; the database and the outputs are
 * beside "root". */
static void begin(Trial *trial, const Case *the, const char *id, FILE *out)
{
    static const char *const spoils[] = {NULL, NULL, NULL, "before:1", "after:1", "before:2", "after:2", "before:3"};
    *trial = (Trial){
        .the = the, .id = id, .out = out, .spoil = spoils[strlen(id) ? (unsigned char)id[strlen(id) - 1] % 8 : 0]};
    snprintf(trial->dir, sizeof trial->dir, "%s/trial-XXXXXX", the->scratch);
    char root[PATH_BYTES + 16];
    if (!mkdtemp(trial->dir)) crash_die("no directory can be made in %s", the->scratch);
    snprintf(root, sizeof root, "%s/root", trial->dir);
    if (mkdir(root, 0700) < 0) crash_die("no directory can be made in %s", trial->dir);
    snprintf(trial->db, sizeof trial->db, "%s/runs.db", trial->dir);
    if (the->answers) {
        snprintf(root, sizeof root, "%s/answers", trial->dir);
        if (symlink(the->answers, root) < 0) crash_die("no link can be made in %s", trial->dir);
    }
    if (the->setup) shell(trial, the->setup, "shell.out");
}

static void end(Trial *trial)
{
    if (!trial->bad && !trial->the->keep) nftw(trial->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- processes of the program ---- */

/* Runs the program as one process of the trial, with the given kill. */
static int launch(Trial *trial, const char *verb, const Kill *kill)
{
    const Case *the = trial->the;
    Command command = {.out = "out", .err = "err", .in_line = kill && kill->in_line, .rehearsed = the->rehearsed};
    char *point = NULL;
    if (kill && kill->tracer) {
        crash_command_add_all(&command, kill->tracer);
        command.traced = true;
    } else if (kill && kill->after_us) {
        command.kill_us = kill->after_us;
    } else if (kill && kill->kind && kill->count) {
        command.whom = kill->whom;
        command.kill = point = crash_text("%s%s:%d", kill->whom ? "stop-" : "", kill->kind, kill->count);
    } else if (kill && kill->kind) {
        command.kill = point = crash_text("%s:%s/counts", kill->kind, trial->dir);
    }
    if (kill) command.signal = kill->signal;
    if (kill) command.mouth = kill->mouth;
    crash_command_add(&command, the->program);
    crash_command_add(&command, verb);
    const bool resumes = strcmp(verb, "resume") == 0;
    if (resumes) crash_command_add(&command, "last");
    command.elsewhere = resumes && trial->elsewhere;
    crash_command_add_all(&command, strcmp(verb, "run") == 0 ? the->args : the->again);
    trial->processes++;
    const int status = crash_command_run(&command, trial->dir);
    trial->harsh += status == STATUS_KILLED || command.mouth;
    free(point);
    return status;
}

static int tool_killed(Trial *trial, const char *const *words, const char *out, const char *kill)
{
    Command command = {.out = out, .err = "tfy.err", .kill = kill};
    crash_command_add(&command, trial->the->tfy);
    crash_command_add_all(&command, words);
    return crash_command_run(&command, trial->dir);
}

static int tool(Trial *trial, const char *const *words, const char *out)
{
    return tool_killed(trial, words, out, NULL);
}

/* ---- steps in doubt ---- */

static char *ledger_text(const Trial *trial)
{
    if (!trial->the->ledger) return crash_text("%s", "");
    char *name = crash_text("root/%s", trial->the->ledger), *text = crash_file_text(trial->dir, name);
    free(name);
    return text;
}

/* Returns the ledger's entry for a key: its result as JSON (the caller frees it), or NULL if the step was not
 * done. */
static char *ledger_result(const Trial *trial, const char *key)
{
    char *ledger = ledger_text(trial), *result = NULL;
    char *want = crash_text("done\t%s\t", key);
    for (char *line = ledger; *line && !result; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, want, strlen(want)) != 0) continue;
        const char *value = line + strlen(want);
        result = crash_text("%.*s", (int)strcspn(value, "\t\n"), value);
    }
    free(want);
    free(ledger);
    return result;
}

/* Runs `tfy resolve`. The first one of a trial may be killed; it is repeated if its answer was not recorded. */
static int resolve_with(Trial *trial, const char *const *words)
{
    int status = tool_killed(trial, words, "tfy.out", trial->spoil);
    trial->spoil = NULL;
    if (status != STATUS_KILLED) return status;
    Doubt doubt;
    const bool open =
        crash_history_doubt(trial->db, &doubt) && doubt.step == atoll(words[2]) && strcmp(doubt.path, words[4]) == 0;
    return open ? tool(trial, words, "tfy.out") : 0;
}

/* Returns what happened to a step in doubt; NULL: it never started. */
static char *what_became(Trial *trial, const Doubt *doubt)
{
    char *result = NULL;
    if (!trial->the->rehearsed) return ledger_result(trial, doubt->key);
    if (crash_call_state(trial->dir, doubt->key, &result) == CALL_BEGUN) trial->unknown = true;
    return result;
}

/* Answers one step in doubt from the ledger. Returns false if no step is in doubt, or the answer is unknown. */
static bool resolve(Trial *trial)
{
    Doubt doubt;
    if (!crash_history_doubt(trial->db, &doubt)) return false;
    char *done = what_became(trial, &doubt);
    if (trial->unknown) return false;
    char *step = crash_text("%lld", doubt.step);
    const char *words[] = {"resolve", "last", step, "--task", doubt.path, done ? "--done" : "--retry", done, NULL};
    const int status = resolve_with(trial, words);
    if (status != 0) {
        char *said = crash_file_text(trial->dir, "tfy.err");
        complain(trial, "a step in doubt could not be resolved:", NULL, said);
        free(said);
    }
    free(done);
    free(step);
    return status == 0;
}

/* ---- from the kill to the end ---- */

/* A run that was killed before its first record was durable never started: nothing of it may be visible, and the
 * trial starts it again. */
static bool never_began(Trial *trial)
{
    if (access(trial->db, F_OK) == 0 && crash_history_has_run(trial->db)) return false;
    char *out = crash_file_text(trial->dir, "out"),
         *ledger = trial->the->rehearsed ? crash_file_text(trial->dir, "calls") : ledger_text(trial);
    if (*out || *ledger) complain(trial, "a run without a record was seen:", out, ledger);
    free(out);
    free(ledger);
    return true;
}

static bool was_stopped(int status)
{
    return status == STATUS_KILLED || status == STATUS_TERMINATED || status == STATUS_DRAINED ||
           status == STATUS_HUNG_UP;
}

/* If every process stopped in order, its tools had time to finish, so no step may be in doubt. */
static void check_doubt(Trial *trial)
{
    Doubt doubt;
    if (trial->harsh || !crash_history_doubt(trial->db, &doubt)) return;
    complain(trial, "nobody was killed, and yet a step is in doubt:", NULL, doubt.key);
}

/* Resumes the run until it has ended; returns the last status. */
static int finish(Trial *trial, int status, const Kill *second)
{
    while (!trial->bad && trial->processes < PROCESSES_MAX) {
        if (was_stopped(status) && never_began(trial)) {
            status = launch(trial, "run", NULL);
        } else if (was_stopped(status)) {
            status = launch(trial, "resume", second);
            second = NULL;
        } else if (status == HELD) {
            check_doubt(trial);
            if (!resolve(trial)) break;
            while (crash_history_doubt(trial->db, &(Doubt){0}) && resolve(trial)) continue;
            status = launch(trial, "resume", NULL);
        } else {
            break;
        }
    }
    return status;
}

/* ---- checks after the end ---- */

static char *effects_text(Trial *trial, const char *uuid)
{
    const Case *the = trial->the;
    if (the->effects) {
        shell(trial, the->effects, "effects");
        return crash_normal_text(crash_file_text(trial->dir, "effects"), uuid);
    }
    char *root = crash_text("%s/root", trial->dir), *text = crash_files_text(root, uuid);
    free(root);
    return the->varying ? crash_files_mask(text, the->varying) : text;
}

static void collect(Trial *trial, Outcome *outcome)
{
    outcome->history = crash_history_text(trial->db, &outcome->value);
    tool(trial, (const char *const[]){"output", "last", NULL}, "output");
    char *uuid = crash_history_uuid(trial->db);
    outcome->output = crash_file_text(trial->dir, "output");
    outcome->effects = effects_text(trial, uuid);
    outcome->uuid = uuid;
    outcome->counts = crash_file_text(trial->dir, "counts");
    if (trial->the->rehearsed) outcome->calls = crash_calls_text(trial->dir, uuid);
}

void crash_trial_outcome_free(Outcome *outcome)
{
    free(outcome->history);
    free(outcome->output);
    free(outcome->effects);
    free(outcome->value);
    free(outcome->printed);
    free(outcome->uuid);
    free(outcome->calls);
    free(outcome->counts);
}

static void check_replay(Trial *trial)
{
    Command command = {.out = "replay", .err = "replay"};
    crash_command_add(&command, trial->the->program);
    crash_command_add(&command, "replay");
    crash_command_add(&command, "last");
    const int status = crash_command_run(&command, trial->dir);
    char *said = crash_file_text(trial->dir, "replay");
    if (status != 0 || !strstr(said, " 0 divergences, 0 effects performed"))
        complain(trial, "the history does not replay:", NULL, said);
    free(said);
}

static void check_export(Trial *trial)
{
    if (tool(trial, (const char *const[]){"wal", "export", "last", "-o", "../export", NULL}, "tfy.out") == 0) return;
    char *said = crash_file_text(trial->dir, "tfy.err");
    complain(trial, "the history cannot be exported:", NULL, said);
    free(said);
}

static void check_twice(Trial *trial)
{
    char *twice = trial->the->rehearsed ? crash_calls_twice(trial->dir) : NULL;
    if (twice) complain(trial, "a once call began twice:", NULL, twice);
    free(twice);
}

/* Is this the line with the result? */
static bool is_result(const char *line, size_t len, const char *uuid, const char *printed)
{
    if (!printed) return false;
    char *text = crash_normal_text(crash_text("%.*s", (int)len, line), uuid);
    const bool same = strcmp(text, printed) == 0;
    free(text);
    return same;
}

/* The output of all processes together must be part of the log's output, in its order. The result follows, at most
 * once from each process: a process that finds the run ended prints it again. */
static void check_printed(Trial *trial, const Outcome *outcome, const char *printed)
{
    char *out = crash_file_text(trial->dir, "out");
    const char *logged = outcome->output;
    unsigned results = 0;
    for (char *line = out; *line;) {
        const size_t len = strcspn(line, "\n");
        while (*logged && (strcspn(logged, "\n") != len || strncmp(logged, line, len) != 0))
            logged += strcspn(logged, "\n"), logged += *logged == '\n';
        if (!*logged && !(is_result(line, len, outcome->uuid, printed) && ++results <= trial->processes)) {
            complain_texts(trial, "a line was printed twice, out of order, or without a record:", outcome->output, out);
            break;
        }
        logged += strcspn(logged, "\n"), logged += *logged == '\n';
        line += len + (line[len] == '\n');
    }
    free(out);
}

static int lines_of(const char *text)
{
    int count = 0;
    for (; *text; text++) count += *text == '\n';
    return count;
}

/* Processes that stopped in order have printed everything that they recorded. */
static void check_complete(Trial *trial, const Outcome *outcome, const char *printed)
{
    if (trial->harsh || trial->bad) return;
    char *out = crash_file_text(trial->dir, "out");
    if (lines_of(out) - (printed != NULL) != lines_of(outcome->output))
        complain_texts(trial, "nobody was killed, and yet a line is missing:", outcome->output, out);
    free(out);
}

/* Returns the output, independent of the order of tasks. */
static char *normal_output(const Outcome *outcome)
{
    return crash_in_order(crash_normal_text(crash_text("%s", outcome->output), outcome->uuid));
}

static void compare(Trial *trial, const Outcome *expected, const Outcome *got)
{
    if (!trial->the->loose && !crash_history_same(expected->history, got->history))
        complain_texts(trial, "the histories differ:", expected->history, got->history);
    if (!expected->value != !got->value || (got->value && strcmp(expected->value, got->value) != 0))
        complain(trial, "the results differ:", expected->value ? expected->value : "none",
                 got->value ? got->value : "none");
    char *a = normal_output(expected), *b = normal_output(got);
    if (!trial->the->any_output && strcmp(a, b) != 0) complain_texts(trial, "the outputs differ:", a, b);
    char *e = crash_in_order(crash_text("%s", expected->effects)), *f = crash_in_order(crash_text("%s", got->effects));
    if (strcmp(e, f) != 0) complain_texts(trial, "the effects differ:", e, f);
    if (got->calls && strcmp(expected->calls, got->calls) != 0)
        complain_texts(trial, "other once calls were made:", expected->calls, got->calls);
    free(a);
    free(b);
    free(e);
    free(f);
}

static void check(Trial *trial, const Outcome *reference, int status)
{
    Outcome outcome = {.status = status};
    char *damage = crash_history_damage(trial->db);
    if (damage) {
        complain(trial, "the database is damaged:", NULL, damage);
        free(damage);
        return;
    }
    collect(trial, &outcome);
    if (status != reference->status) {
        char *said = crash_file_text(trial->dir, "err"),
             *what = crash_text("it ended with status %d, not %d; it said:", status, reference->status);
        complain(trial, what, NULL, said);
        free(said);
        free(what);
    }
    compare(trial, reference, &outcome);
    check_printed(trial, &outcome, reference->printed);
    check_complete(trial, &outcome, reference->printed);
    check_replay(trial);
    check_export(trial);
    check_twice(trial);
    crash_trial_outcome_free(&outcome);
}

/* ---- the two kinds of runs ---- */

static char *last_line(const char *text)
{
    size_t len = strlen(text);
    while (len && text[len - 1] == '\n') len--;
    size_t from = len;
    while (from && text[from - 1] != '\n') from--;
    return crash_text("%.*s", (int)(len - from), text + from);
}

char *crash_trial_reference(const Case *the, Outcome *outcome, const char *answers, bool in_line)
{
    Trial trial;
    char *said = NULL, *why = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&said, &len);
    if (!out) crash_die("memory ran out");
    begin(&trial, the, "undisturbed", out);
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    const Kill nowhere = {.kind = "count", .in_line = in_line};
    *outcome = (Outcome){.status = launch(&trial, "run", the->rehearsed ? &nowhere : NULL)};
    clock_gettime(CLOCK_MONOTONIC, &to);
    outcome->us = (to.tv_sec - from.tv_sec) * 1000000LL + (to.tv_nsec - from.tv_nsec) / 1000 + 1;
    if (outcome->status < 0 || outcome->status > 1) {
        char *err = crash_file_text(trial.dir, "err");
        why = outcome->status < 0 ? crash_text("it had not ended after a minute; it said:\n%s", err)
                                  : crash_text("it ended with status %d; it said:\n%s", outcome->status, err);
        free(err);
    } else {
        collect(&trial, outcome);
        char *printed = crash_file_text(trial.dir, "out");
        if (outcome->value) outcome->printed = crash_normal_text(last_line(printed), outcome->uuid);
        free(printed);
        check_printed(&trial, outcome, outcome->printed);
        check_replay(&trial);
        check_twice(&trial);
        if (answers) crash_answers_write(trial.db, answers);
    }
    if (!crash_processes_gone()) complain(&trial, "processes were left behind", NULL, NULL);
    if (the->verbose) printf("%s\n%s\n%s\n", outcome->history, outcome->output, outcome->effects);
    end(&trial);
    fclose(out);
    if (!trial.bad || why) {
        free(said);
        return why;
    }
    return said;
}

Verdict crash_trial_run(const Case *the, const Outcome *reference, const char *id, const Kill *first,
                        const Kill *second, FILE *out)
{
    Trial trial;
    begin(&trial, the, id, out);
    trial.elsewhere = first->elsewhere;
    int status = launch(&trial, "run", first);
    const bool reached = was_stopped(status);
    if (reached) status = finish(&trial, status, second);
    /* a process that cannot print ends with another status */
    const int alone = first->mouth ? status : reference->status;
    if (!trial.bad && !trial.unknown && (reached || status != alone)) check(&trial, reference, status);
    if (!crash_processes_gone()) complain(&trial, "processes were left behind", NULL, NULL);
    end(&trial);
    return trial.bad ? FAILED : trial.unknown ? UNKNOWN : reached ? PASSED : UNREACHED;
}
