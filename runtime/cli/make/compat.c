/* compat.c: tfy compat: checks, point by point, whether the tasks of one program can continue with another, and
 * counts the tasks at each point. */
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/make/compile.h"
#include "cli/look/db.h"
#include "tfy.h"
#include "wal/history/compat.h"
#include "wal/history/snapshot_map.h"
#include "wal/history/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Question {
    const TfyArgs *args;
    TfyLog *log;     /* NULL: without a database */
    char *layout[2]; /* old, new; owned */
    TfyCompat *compat;
    uint32_t *live; /* per old point: number of tasks there */
    uint32_t runs;  /* number of unfinished runs of the old program */
    /* array: {"run", "reason"} of the runs that start at a snapshot which the new program cannot resume */
    json_t *stuck;
} Question;

static const char *const VERDICTS[] = {[TFY_SAME] = "same", [TFY_MAPPED] = "mapped", [TFY_REFUSED] = "refused"};

/* ---- the two programs ---- */

static bool is_file(const char *word)
{
    const size_t len = strlen(word);
    return len > 4 && strcmp(word + len - 4, ".tfy") == 0;
}

static int read_whole(FILE *file, char **text)
{
    size_t size = 0;
    FILE *into = open_memstream(text, &size);
    for (int byte; into && (byte = getc(file)) != EOF;) putc(byte, into);
    fclose(file);
    return into && fclose(into) == 0 ? EXIT_DONE : tfy__fail(EXIT_BUG, "memory ran out");
}

static int layout_of_file(const Question *question, const char *path, char **layout)
{
    FILE *printed;
    int status = tfy__read_layout(path, question->args->dirs, question->args->dir_count, &printed);
    return status == EXIT_DONE ? read_whole(printed, layout) : status;
}

/* Reads the layout of a run's program, or of one named by its hash. */
static int stored_layout(const Question *question, const char *word, char **layout)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyHistory *history = NULL;
    int code = tfy__history_read(question->log, word, &history, error);
    if (code == TFY_OK) *layout = strdup(history->program_layout);
    tfy__history_free(history);
    if (code == TFY_E_ABSENT) {
        code = tfy__log_find_layout(question->log, word, layout);
        snprintf(error, sizeof error,
                 code == TFY_E_INVALID
                     ? "several programs of the database have a hash that starts with '%.40s'; give more of it"
                     : "'%.60s' is not a FILE.tfy, a run, or a program's hash; 'tfy ps' lists runs and their programs",
                 word);
    }
    return code == TFY_OK ? EXIT_DONE : tfy__fail(tfy__exit_status(code), "%s", error);
}

static int read_programs(Question *question)
{
    int status = EXIT_DONE;
    for (int i = 0; i < 2 && status == EXIT_DONE; i++) {
        const char *word = question->args->words[i];
        status = is_file(word) ? layout_of_file(question, word, &question->layout[i])
                               : stored_layout(question, word, &question->layout[i]);
    }
    if (status != EXIT_DONE) return status;
    const int code = tfy__compat_new(question->layout[0], question->layout[1], &question->compat);
    return code == TFY_OK ? EXIT_DONE : tfy__fail(tfy__exit_status(code), "the layouts cannot be read");
}

/* ---- the tasks at each point ---- */

static void count_tasks(Question *question, const TfyHistory *history)
{
    uint32_t *points = calloc(history->task_count + 1, sizeof *points);
    for (uint32_t i = 0; points && i < history->record_count; i++)
        if (history->records[i].point) points[history->record_tasks[i]] = history->records[i].point;
    for (uint32_t i = 0; points && i < history->task_count; i++) {
        const bool lives = history->tasks[i].state < TFY_TASK_COMPLETED;
        if (lives && points[i] && points[i] <= question->compat->count) question->live[points[i] - 1]++;
    }
    free(points);
}

/* A compacted run starts at its snapshot, which may belong to an earlier program of the run. */
static int try_snapshot(Question *question, const TfyHistory *history)
{
    const bool own = history->snapshot && strcmp(history->snapshot_layout, question->layout[0]) == 0;
    char reason[TFY_ERROR_TEXT], uuid[37];
    TfyCompat *compat = question->compat;
    json_t *mapped = NULL;
    if (!history->snapshot) return TFY_OK;
    int code = own ? TFY_OK : tfy__compat_new(history->snapshot_layout, question->layout[1], &compat);
    if (code != TFY_OK) return code;
    code = tfy__snapshot_map(compat, history->snapshot, &mapped, reason);
    json_decref(mapped);
    if (!own) tfy__compat_free(compat);
    if (code != TFY_E_DIVERGED) return code;
    tfy__uuid_text(history->run.uuid, uuid);
    return json_array_append_new(question->stuck, json_pack("{s:s,s:s}", "run", uuid, "reason", reason)) == 0
               ? TFY_OK
               : TFY_E_NOMEM;
}

/* Counts the old program's unfinished runs, parked ones included. */
static int count_live(Question *question)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyLogRun *runs = NULL;
    char **names = NULL;
    uint32_t count = 0;
    question->live = calloc(question->compat->count + 1, sizeof *question->live);
    question->stuck = json_array();
    if (!question->live || !question->stuck) return tfy__fail(EXIT_BUG, "memory ran out");
    if (!question->log) return EXIT_DONE;
    int code = tfy__log_runs(question->log, &runs, &names, &count);
    for (uint32_t i = 0; i < count; i++) {
        char id[24];
        TfyHistory *history = NULL;
        snprintf(id, sizeof id, "%lld", (long long)runs[i].id);
        const bool ended = runs[i].state >= TFY_TASK_COMPLETED;
        if (!code && !ended) code = tfy__history_read(question->log, id, &history, error);
        if (history && strcmp(history->program_layout, question->layout[0]) == 0) {
            question->runs++;
            count_tasks(question, history);
            if ((code = try_snapshot(question, history)))
                snprintf(error, sizeof error, "a snapshot cannot be compared");
        }
        tfy__history_free(history);
        free(names[i]);
    }
    free(names);
    free(runs);
    return code == TFY_OK ? EXIT_DONE : tfy__fail(tfy__exit_status(code), "%s", error);
}

/* ---- the answer ---- */

static void count_verdicts(const Question *question, uint32_t counts[3], uint32_t *stuck)
{
    counts[TFY_SAME] = counts[TFY_MAPPED] = counts[TFY_REFUSED] = *stuck = 0;
    for (uint32_t i = 0; i < question->compat->count; i++) {
        const TfyVerdict verdict = question->compat->points[i].verdict;
        counts[verdict]++;
        if (verdict == TFY_REFUSED) *stuck += question->live[i];
    }
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
        if (question->log) json_object_set_new(one, "tasks", json_integer(question->live[i]));
        json_array_append_new(points, one);
    }
    json_t *json = json_pack("{s:o}", "points", points);
    if (question->log) json_object_set_new(json, "runs", json_integer(question->runs));
    if (question->log) json_object_set_new(json, "stuck", json_integer(stuck));
    if (question->log) json_object_set(json, "refused_runs", question->stuck);
    tfy__report_line(json);
}

static void print_text(const Question *question, const uint32_t counts[3])
{
    const json_t *run;
    size_t at;
    for (uint32_t i = 0; i < question->compat->count; i++) {
        const TfyCompatPoint *point = &question->compat->points[i];
        if (point->verdict != TFY_REFUSED && !question->live[i]) continue;
        printf("%-7s  %s (line %s)", VERDICTS[point->verdict], point->id, point->place);
        if (point->reason) printf(": %s", point->reason);
        if (question->live[i])
            printf("; %u task%s there", question->live[i], question->live[i] == 1 ? " stands" : "s stand");
        printf("\n");
    }
    json_array_foreach(question->stuck, at, run)
        printf("refused  run %s, which starts at a snapshot: %s\n", json_string_value(json_object_get(run, "run")),
               json_string_value(json_object_get(run, "reason")));
    printf("%u points: %u same, %u mapped by name, %u refused", question->compat->count, counts[TFY_SAME],
           counts[TFY_MAPPED], counts[TFY_REFUSED]);
    if (question->log)
        printf("; %u unfinished run%s of the old program", question->runs, question->runs == 1 ? "" : "s");
    printf("\n");
}

/* Without a database it is unknown whether a task is at a point that the new program cannot continue, so every
 * refusal counts. */
static int answer(const Question *question)
{
    uint32_t counts[3], stuck;
    count_verdicts(question, counts, &stuck);
    if (question->args->option[OPT_JSON])
        print_json(question, stuck);
    else
        print_text(question, counts);
    const bool fine = question->log ? !stuck && !json_array_size(question->stuck) : !counts[TFY_REFUSED];
    return tfy__flush_stdout(fine ? EXIT_DONE : EXIT_RUN_FAILED);
}

static int compare(const TfyArgs *args)
{
    Question question = {.args = args};
    const bool stored = !is_file(args->words[0]) || !is_file(args->words[1]) || args->option[OPT_DB];
    int status = stored ? tfy__db_open(args, &question.log) : EXIT_DONE;
    if (status == EXIT_DONE) status = read_programs(&question);
    if (status == EXIT_DONE) status = count_live(&question);
    if (status == EXIT_DONE) status = answer(&question);
    if (question.log) tfy__log_close(question.log, false);
    tfy__compat_free(question.compat);
    free(question.live);
    json_decref(question.stuck);
    free(question.layout[0]);
    free(question.layout[1]);
    return status;
}

int tfy__cmd_compat(const TfyArgs *args)
{
    return compare(args);
}
