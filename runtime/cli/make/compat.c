/* compat.c: tfy compat and tfy move: whether the runs of one program can continue with another, and that they do. Compares the
 * two point by point, counts the tasks at each point, and gives for each unfinished run the verdict that `resume --with` would
 * give: what the layouts refuse is refused (tfy__move_fits), and the new program itself is asked about the rest. It replays
 * these runs, and writes nothing. */
#include "base/grow.h"
#include "cli/cluster/copy.h"
#include "cli/cluster/move.h"
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/make/compile.h"
#include "cli/look/db.h"
#include "tfy.h"
#include "wal/history/compat.h"
#include "wal/history/history.h"
#include "wal/history/move.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* One of the two programs. */
typedef struct Side {
    const char *word; /* as it was named */
    char *layout;     /* owned */
    char *source;     /* owned, as the database holds it; NULL: the word is a file */
} Side;

/* An unfinished run of the old program. */
typedef struct Live {
    char uuid[37];
    int64_t lsn;   /* of a run of PostgreSQL: its newest record */
    char *refused; /* why it cannot continue with the new program, owned; NULL: it can */
    bool decided;
    uint32_t *points; /* where each task is that has not ended, owned */
    uint32_t count;
} Live;

typedef struct Question {
    const TfyArgs *args;
    TfyLog *log; /* NULL: without a database */
    Side old, new;
    char named[37]; /* the run that OLD names, if it has not ended; else "" */
    TfyCompat *compat;
    Live *runs;
    uint32_t count, cap;
    uint32_t refused; /* number of runs that cannot continue */
    uint32_t *tasks;  /* per old point: number of tasks there */
} Question;

static const char *const VERDICTS[] = {[TFY_SAME] = "same", [TFY_MAPPED] = "mapped", [TFY_REFUSED] = "refused"};

/* ---- the two programs ---- */

static int read_whole(FILE *file, char **text)
{
    size_t size = 0;
    FILE *into = open_memstream(text, &size);
    for (int byte; into && (byte = getc(file)) != EOF;) putc(byte, into);
    fclose(file);
    return into && fclose(into) == 0 ? EXIT_DONE : tfy__fail(EXIT_BUG, "memory ran out");
}

static int layout_of_file(const Question *question, Side *side)
{
    FILE *printed;
    int status = tfy__read_layout(side->word, question->args->dirs, question->args->dir_count, &printed);
    return status == EXIT_DONE ? read_whole(printed, &side->layout) : status;
}

static int stored_program(Question *question, Side *side)
{
    return tfy__db_program(question->log, side->word, &side->source, &side->layout,
                           side == &question->old ? question->named : NULL);
}

static int read_programs(Question *question)
{
    Side *const sides[] = {&question->old, &question->new};
    for (int i = 0; i < 2; i++) {
        const int status =
            tfy__is_source(sides[i]->word) ? layout_of_file(question, sides[i]) : stored_program(question, sides[i]);
        if (status != EXIT_DONE) return status;
    }
    const int code = tfy__compat_new(question->old.layout, question->new.layout, &question->compat);
    return code == TFY_OK ? EXIT_DONE : tfy__fail(tfy__exit_status(code), "the layouts cannot be read");
}

/* ---- the runs ---- */

/* Notes where the tasks are. */
static int note_points(Live *live, const TfyHistory *history)
{
    uint32_t *points = calloc(history->task_count + 1, sizeof *points);
    live->points = points;
    for (uint32_t i = 0; points && i < history->record_count; i++)
        if (history->records[i].point) points[history->record_tasks[i]] = history->records[i].point;
    for (uint32_t i = 0; points && i < history->task_count; i++)
        if (history->tasks[i].state < TFY_TASK_COMPLETED) points[live->count++] = points[i];
    return points ? TFY_OK : TFY_E_NOMEM;
}

/* What the layouts refuse needs no trial. */
static int add_run(Question *question, const TfyHistory *history, char *error)
{
    char reason[TFY_ERROR_TEXT];
    if (!GROW(question->runs, question->cap, question->count + 1, 8)) return TFY_E_NOMEM;
    Live *live = &question->runs[question->count++];
    *live = (Live){0};
    tfy__uuid_text(history->run.uuid, live->uuid);
    live->lsn = history->run.lsn;
    int code = note_points(live, history);
    if (!code) code = tfy__move_fits(history, question->new.layout, reason);
    if (code == TFY_E_DIVERGED) {
        live->decided = true;
        live->refused = strdup(reason);
        return live->refused ? TFY_OK : TFY_E_NOMEM;
    }
    if (code) snprintf(error, TFY_ERROR_TEXT, "run %s cannot be compared", live->uuid);
    return code;
}

/* Finds the old program's unfinished runs, parked ones included. */
static int find_runs(Question *question)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyLogRun *runs = NULL;
    char **names = NULL;
    uint32_t count = 0;
    int code = question->log ? tfy__log_runs(question->log, &runs, &names, &count) : TFY_OK;
    for (uint32_t i = 0; i < count; i++) {
        char id[24];
        TfyHistory *history = NULL;
        snprintf(id, sizeof id, "%lld", (long long)runs[i].id);
        const bool ended = runs[i].state >= TFY_TASK_COMPLETED;
        if (!code && !ended) code = tfy__history_read(question->log, id, &history, error);
        if (history && strcmp(history->program_layout, question->old.layout) == 0)
            code = add_run(question, history, error);
        tfy__history_free(history);
        free(names[i]);
    }
    free(names);
    free(runs);
    return code == TFY_OK ? EXIT_DONE : tfy__fail(tfy__exit_status(code), "%s", error);
}

/* ---- a trial: the new program replays what the layouts allow ---- */

#define RUNS_PER_TRIAL 500

static int compile_new(const Question *question, char **program)
{
    const TfyArgs *args = question->args;
    const Side *new = &question->new;
    const char *const *extras = args->words + 2;
    const int extra_count = args->word_count - 2;
    const TfyHistory stored = {.program_source = new->source, .program_layout = new->layout};
    const TfyCompile how = {.extras = extras, .extra_count = extra_count};
    if (new->source) return tfy__compile_recorded(&stored, &how, program);
    const TfyCompile file = {.name = new->word,
                             .path = new->word,
                             .dirs = args->dirs,
                             .dir_count = args->dir_count,
                             .extras = extras,
                             .extra_count = extra_count};
    return tfy__compile(&file, program);
}

/* The program opens files alone: runs of PostgreSQL are copied into one. *path: malloc'ed. */
static int file_of(const Question *question, Live *const *batch, int count, char **path)
{
    const char *runs[RUNS_PER_TRIAL];
    for (int i = 0; i < count; i++) runs[i] = batch[i]->uuid;
    if (tfy__db_is_shared(question->args)) return tfy__runs_copy(question->args, runs, (uint32_t)count, path);
    *path = strdup(tfy__db_path(question->args));
    return *path ? EXIT_DONE : tfy__fail(EXIT_BUG, "memory ran out");
}

/* Replaces the process by the program, which says what `resume --with` would say; its stdout is `out`. */
static int exec_trial(const Question *question, const char *program, Live *const *batch, int count, int out)
{
    char *path;
    const int status = file_of(question, batch, count, &path);
    if (status != EXIT_DONE) return status;
    char *words[RUNS_PER_TRIAL + 3];
    for (int i = 0; i < count; i++) words[i] = batch[i]->uuid;
    if (dup2(out, STDOUT_FILENO) < 0 || asprintf(&words[count], "--with=%s", question->new.word) < 0 ||
        asprintf(&words[count + 1], "--db=%s", path) < 0)
        return tfy__fail(EXIT_BUG, "memory ran out");
    words[count + 2] = (char[]){"--dry-run"};
    return tfy__exec_program(program, "resume", words, count + 3);
}

/* Takes one line of the program's, the verdict about one run. */
static int take_verdict(const Question *question, Live *live, const char *line)
{
    char no[64 + sizeof live->uuid];
    const char *with = question->new.word;
    const int len = snprintf(no, sizeof no, "run %s cannot continue with ", live->uuid);
    live->decided = true;
    if (strncmp(line, no, (size_t)len) != 0) return EXIT_DONE;
    live->refused = strdup(line + len + strlen(with) + strlen(": "));
    return live->refused ? EXIT_DONE : tfy__fail(EXIT_BUG, "memory ran out");
}

static int read_verdicts(const Question *question, Live *const *batch, int count, FILE *said)
{
    char *line = NULL;
    size_t room = 0;
    int status = EXIT_DONE;
    for (ssize_t len; status == EXIT_DONE && (len = getline(&line, &room, said)) > 0;) {
        if (line[len - 1] == '\n') line[len - 1] = '\0';
        for (int i = 0; i < count && status == EXIT_DONE; i++)
            if (strncmp(line, "run ", 4) == 0 && strncmp(line + 4, batch[i]->uuid, 36) == 0)
                status = take_verdict(question, batch[i], line);
    }
    free(line);
    return status;
}

static int try_batch(const Question *question, const char *program, Live *const *batch, int count)
{
    FILE *said = tmpfile();
    int status = 0;
    if (!said) return tfy__fail(EXIT_LOG, "a temporary file cannot be made: %s", strerror(errno));
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) _exit(exec_trial(question, program, batch, count, fileno(said)));
    while (child > 0 && waitpid(child, &status, 0) < 0) continue;
    rewind(said);
    int code =
        child < 0 ? tfy__fail(EXIT_BUG, "no process can be started") : read_verdicts(question, batch, count, said);
    fclose(said);
    for (int i = 0; i < count && code == EXIT_DONE; i++) {
        if (batch[i]->decided) continue;
        code = WIFEXITED(status) && WEXITSTATUS(status) != EXIT_DONE ? WEXITSTATUS(status) : EXIT_BUG;
        tfy__say("run %s could not be tried", batch[i]->uuid);
    }
    return code;
}

static int try_runs(Question *question)
{
    Live *batch[RUNS_PER_TRIAL];
    char *program = NULL;
    int count = 0, status = EXIT_DONE;
    for (uint32_t i = 0; i < question->count && status == EXIT_DONE; i++) {
        if (!question->runs[i].decided) batch[count++] = &question->runs[i];
        if (count && !program) status = compile_new(question, &program);
        if (status != EXIT_DONE || !count || (count < RUNS_PER_TRIAL && i + 1 < question->count)) continue;
        status = try_batch(question, program, batch, count);
        count = 0;
    }
    free(program);
    return status;
}

/* The layouts refuse a point even to a task that has left it since its newest record; the run's verdict decides. */
static int count_tasks(Question *question)
{
    question->tasks = calloc(question->compat->count + 1, sizeof *question->tasks);
    if (!question->tasks) return tfy__fail(EXIT_BUG, "memory ran out");
    for (uint32_t i = 0; i < question->count; i++) {
        const Live *live = &question->runs[i];
        question->refused += live->refused != NULL;
        for (uint32_t j = 0; j < live->count; j++) {
            const uint32_t point = live->points[j];
            if (!point || point > question->compat->count) continue;
            if (live->refused || question->compat->points[point - 1].verdict != TFY_REFUSED)
                question->tasks[point - 1]++;
        }
    }
    return EXIT_DONE;
}

/* ---- the answer ---- */

static void count_verdicts(const Question *question, uint32_t counts[3], uint32_t *stuck)
{
    counts[TFY_SAME] = counts[TFY_MAPPED] = counts[TFY_REFUSED] = *stuck = 0;
    for (uint32_t i = 0; i < question->compat->count; i++) {
        const TfyVerdict verdict = question->compat->points[i].verdict;
        counts[verdict]++;
        if (verdict == TFY_REFUSED) *stuck += question->tasks[i];
    }
}

static json_t *refused_runs(const Question *question)
{
    json_t *runs = json_array();
    for (uint32_t i = 0; i < question->count; i++) {
        const Live *live = &question->runs[i];
        if (live->refused)
            json_array_append_new(runs, json_pack("{s:s,s:s}", "run", live->uuid, "reason", live->refused));
    }
    return runs;
}

static void print_json(const Question *question, uint32_t stuck)
{
    json_t *points = json_array();
    for (uint32_t i = 0; i < question->compat->count; i++) {
        const TfyCompatPoint *point = &question->compat->points[i];
        json_t *one =
            json_pack("{s:s,s:s,s:s}", "id", point->id, "line", point->place, "verdict", VERDICTS[point->verdict]);
        json_object_set_new(one, "old", json_integer((json_int_t)i + 1));
        if (point->new_number) json_object_set_new(one, "new", json_integer(point->new_number));
        if (point->reason) json_object_set_new(one, "reason", json_string(point->reason));
        if (question->log) json_object_set_new(one, "tasks", json_integer(question->tasks[i]));
        json_array_append_new(points, one);
    }
    json_t *json = json_pack("{s:o}", "points", points);
    if (question->log) json_object_set_new(json, "runs", json_integer(question->count));
    if (question->log) json_object_set_new(json, "stuck", json_integer(stuck));
    if (question->log) json_object_set_new(json, "refused_runs", refused_runs(question));
    tfy__report_line(json);
}

static void print_text(const Question *question, const uint32_t counts[3])
{
    for (uint32_t i = 0; i < question->compat->count; i++) {
        const TfyCompatPoint *point = &question->compat->points[i];
        const uint32_t tasks = question->tasks[i];
        if (point->verdict != TFY_REFUSED && !tasks) continue;
        printf("%-7s  %s (line %s)", VERDICTS[point->verdict], point->id, point->place);
        if (point->reason) printf(": %s", point->reason);
        if (tasks) printf("; %u task%s there", tasks, tasks == 1 ? " is" : "s are");
        printf("\n");
    }
    for (uint32_t i = 0; i < question->count; i++)
        if (question->runs[i].refused)
            printf("refused  run %s: %s\n", question->runs[i].uuid, question->runs[i].refused);
    printf("%u points: %u same, %u mapped by name, %u refused", question->compat->count, counts[TFY_SAME],
           counts[TFY_MAPPED], counts[TFY_REFUSED]);
    const char *of_old =
        question->count == 1 ? "unfinished run of the old program" : "unfinished runs of the old program";
    if (question->count)
        printf("; %u of %u %s can continue", question->count - question->refused, question->count, of_old);
    else if (question->log)
        printf("; 0 %s", of_old);
    printf("\n");
}

/* Of several runs, the one that was named decides. Without a database it is unknown whether a task is at a point that
 * the new program cannot continue, so every refusal counts. */
static bool can_continue(const Question *question, uint32_t refused_points)
{
    if (!question->log) return !refused_points;
    for (uint32_t i = 0; i < question->count; i++)
        if (strcmp(question->runs[i].uuid, question->named) == 0) return !question->runs[i].refused;
    return !question->refused;
}

static int answer(const Question *question)
{
    uint32_t counts[3], stuck;
    count_verdicts(question, counts, &stuck);
    if (question->args->option[OPT_JSON])
        print_json(question, stuck);
    else
        print_text(question, counts);
    return tfy__flush_stdout(can_continue(question, counts[TFY_REFUSED]) ? EXIT_DONE : EXIT_RUN_FAILED);
}

static void free_question(Question *question)
{
    if (question->log) tfy__log_close(question->log, false);
    tfy__compat_free(question->compat);
    for (uint32_t i = 0; i < question->count; i++) {
        free(question->runs[i].refused);
        free(question->runs[i].points);
    }
    free(question->runs);
    free(question->tasks);
    free(question->old.layout);
    free(question->old.source);
    free(question->new.layout);
    free(question->new.source);
}

static int examine(Question *question)
{
    const TfyArgs *args = question->args;
    for (int i = 2; i < args->word_count; i++)
        if (!tfy__ends_with(args->words[i], ".c"))
            return tfy__fail(EXIT_USAGE, "%s takes two programs, not '%s' too", args->command->name, args->words[i]);
    const bool stored = !tfy__is_source(args->words[0]) || !tfy__is_source(args->words[1]) || tfy__db_is_shared(args) ||
                        args->option[OPT_DB];
    question->old.word = args->words[0];
    question->new.word = args->words[1];
    int status = stored ? tfy__db_open(args, &question->log) : EXIT_DONE;
    if (status == EXIT_DONE) status = read_programs(question);
    if (status == EXIT_DONE) status = find_runs(question);
    if (status == EXIT_DONE) status = try_runs(question);
    return status == EXIT_DONE ? count_tasks(question) : status;
}

int tfy__cmd_compat(const TfyArgs *args)
{
    Question question = {.args = args};
    int status = examine(&question);
    if (status == EXIT_DONE) status = answer(&question);
    free_question(&question);
    return status;
}

/* ---- moving ---- */

/* A run that was named moves alone. */
static bool is_meant(const Question *question, const Live *live)
{
    return question->args->option[OPT_ALL] || strcmp(live->uuid, question->named) == 0;
}

static int move_all(const Question *question)
{
    uint32_t count = 0, moved = 0, meant = 0;
    TfyMovable *runs = calloc((size_t)question->count + 1, sizeof *runs);
    if (!runs) return tfy__fail(EXIT_BUG, "memory ran out");
    for (uint32_t i = 0; i < question->count; i++) {
        const Live *live = &question->runs[i];
        if (!is_meant(question, live)) continue;
        meant++;
        if (live->refused)
            printf("run %s: not moved: %s\n", live->uuid, live->refused);
        else
            runs[count++] = (TfyMovable){live->uuid, live->lsn};
    }
    int status = count ? tfy__cluster_move(question->args, question->new.word, runs, count, &moved) : EXIT_DONE;
    free(runs);
    if (status == EXIT_DONE) tfy__say("%u of %u unfinished runs were moved", moved, meant);
    return tfy__flush_stdout(status == EXIT_DONE && moved < meant ? EXIT_RUN_FAILED : status);
}

int tfy__cmd_move(const TfyArgs *args)
{
    Question question = {.args = args};
    if (!tfy__db_is_shared(args))
        return tfy__fail(EXIT_USAGE, "a run of a file is moved by: %s resume RUN --with FILE.tfy",
                         tfy__tfy_command(tfy__db_path(args)));
    int status = examine(&question);
    if (status == EXIT_DONE && !question.named[0] && !args->option[OPT_ALL])
        status =
            tfy__fail(EXIT_USAGE, "'%s' is not an unfinished run; --all moves all runs of a program", args->words[0]);
    if (status == EXIT_DONE) status = move_all(&question);
    free_question(&question);
    return status;
}
