/* diff.c: tfy diff: compares two runs step by step, for people and as JSON. */
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/look/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/look/align.h"
#include "observe/screen.h"
#include "tfy.h"
#include "base/buffer.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

#define VALUE_CUT 160 /* code points of a value that the text output shows */

static const char *how_name(TfyDiffHow how)
{
    static const char *const names[] = {"same", "changed", "only_a", "only_b"};
    return names[how];
}

/* Returns the record that describes a row: a's, or b's if only b has it. */
static const TfyLogRecord *record_of(const TfyDiff *diff, const TfyDiffRow *row, const TfyDiffSide **side)
{
    const bool in_a = row->a != ALIGN_NONE;
    *side = in_a ? &diff->a : &diff->b;
    return &(*side)->history->records[in_a ? row->a : row->b];
}

/* ---- JSON ---- */

static json_t *json_of_side(const TfyHistory *history)
{
    char run[37];
    tfy__uuid_text(history->run.uuid, run);
    json_t *json = json_pack("{s:s, s:s, s:s, s:i}", "run", run, "workflow", history->workflow, "state",
                             tfy__db_run_state(&history->run, false), "records", (int)history->record_count);
    if (history->run.base_lsn) json_object_set_new(json, "base", json_integer(history->run.base_lsn));
    return json;
}

static bool is_partial(const TfyDiff *diff)
{
    return diff->a.history->run.base_lsn || diff->b.history->run.base_lsn;
}

static json_t *json_of_record(const TfyDiffSide *side, uint32_t index, bool whole)
{
    const TfyLogRecord *record = &side->history->records[index];
    const char *file, *point = tfy__source_point(&side->map, record->point);
    const int64_t line = tfy__source_line(&side->map, record->point, &file);
    json_t *json = json_pack("{s:i, s:I, s:I}", "record", (int)index + 1, "lsn", (json_int_t)record->lsn, "step",
                             (json_int_t)record->step);
    if (point) json_object_set_new(json, "point", json_string(point));
    if (file) json_object_set_new(json, "file", json_string(file));
    if (line) json_object_set_new(json, "line", json_integer(line));
    TfyPayload payload;
    if (whole && tfy__payload_open(&payload, record)) json_object_set_new(json, "payload", payload.json);
    return json;
}

static json_t *json_of_row(const TfyDiff *diff, const TfyDiffRow *row)
{
    const TfyDiffSide *side;
    const TfyLogRecord *record = record_of(diff, row, &side);
    json_t *json = json_pack("{s:s, s:s, s:s}", "task", row->path, "how", how_name(row->how), "type",
                             tfy__record_type_name(record->type));
    const bool whole = row->how != TFY_DIFF_SAME;
    if (row->a != ALIGN_NONE) json_object_set_new(json, "a", json_of_record(&diff->a, row->a, whole));
    if (row->b != ALIGN_NONE) json_object_set_new(json, "b", json_of_record(&diff->b, row->b, whole));
    if (row->changed) json_object_set(json, "changed", row->changed);
    return json;
}

static void print_json(const TfyDiff *diff)
{
    const TfyDiffRow *first = tfy__diff_first(diff);
    json_t *steps = json_array();
    for (size_t i = 0; i < diff->count; i++) json_array_append_new(steps, json_of_row(diff, &diff->rows[i]));
    json_t *counts = json_object();
    for (int how = TFY_DIFF_SAME; how <= TFY_DIFF_ONLY_B; how++)
        json_object_set_new(counts, how_name(how), json_integer((json_int_t)diff->counts[how]));
    json_t *json = json_pack("{s:o, s:o, s:b, s:o, s:o, s:o}", "a", json_of_side(diff->a.history), "b",
                             json_of_side(diff->b.history), "same", !first, "counts", counts, "first",
                             first ? json_of_row(diff, first) : json_null(), "steps", steps);
    if (is_partial(diff))
        json_object_set_new(json, "not_compared",
                            json_pack("{s:i, s:i}", "a", (int)diff->a.left_out, "b", (int)diff->b.left_out));
    tfy__report_print(json, 2);
}

/* ---- for people ---- */

static void add_value(TfyBuffer *out, const json_t *value)
{
    char *text = value ? tfy__json_print(value, 0) : NULL;
    tfy__screen_cut(out, text ? text : "nothing", VALUE_CUT);
    if (text && strlen(text) > VALUE_CUT) tfy__buffer_text(out, "…");
    free(text);
}

/* "step 3, line 12: ToolResult fetch" */
static void add_where(const TfyDiff *diff, const TfyDiffRow *row, TfyBuffer *out)
{
    const TfyDiffSide *side;
    const TfyLogRecord *record = record_of(diff, row, &side);
    const char *file;
    const int64_t line = tfy__source_line(&side->map, record->point, &file);
    char *tool = tfy__record_text(record, TFY_P_TOOL);
    tfy__buffer_printf(out, "step %lld", (long long)record->step);
    if (line) tfy__buffer_printf(out, ", line %lld", (long long)line);
    if (file) tfy__buffer_text(out, " of ");
    if (file) tfy__screen_clean(out, file);
    tfy__buffer_printf(out, ": %s", tfy__record_type_name(record->type));
    if (tool) tfy__buffer_char(out, ' ');
    if (tool) tfy__screen_clean(out, tool);
    free(tool);
}

/* Of an argument that was not recorded only the digest is known; it would not help people. */
static void add_changes(const TfyDiffRow *row, TfyBuffer *out)
{
    const json_t *change;
    size_t i;
    json_array_foreach(row->changed, i, change)
    {
        const char *member = json_string_value(json_object_get(change, "member"));
        if (strcmp(member, tfy__member_name(TFY_P_DIGEST)) == 0) {
            tfy__buffer_text(out, "      argument\n");
            continue;
        }
        tfy__buffer_printf(out, "      %s", json_string_value(json_object_get(change, "what")));
        if (strcmp(member, tfy__member_name(TFY_P_ERROR)) != 0) tfy__buffer_printf(out, " (%s)", member);
        tfy__buffer_text(out, "\n        a  ");
        add_value(out, json_object_get(change, "a"));
        tfy__buffer_text(out, "\n        b  ");
        add_value(out, json_object_get(change, "b"));
        tfy__buffer_char(out, '\n');
    }
}

static void add_row(const TfyDiff *diff, const TfyDiffRow *row, TfyBuffer *out)
{
    static const char marks[] = {' ', '~', '-', '+'};
    tfy__buffer_printf(out, "  %c ", marks[row->how]);
    add_where(diff, row, out);
    tfy__buffer_char(out, '\n');
    if (row->how == TFY_DIFF_CHANGED) {
        add_changes(row, out);
        return;
    }
    const TfyDiffSide *side;
    json_t *normal = tfy__diff_normal(record_of(diff, row, &side));
    json_object_del(normal, "digest");
    json_object_del(normal, "tool");
    if (json_object_size(normal)) {
        tfy__buffer_text(out, "      ");
        add_value(out, normal);
        tfy__buffer_char(out, '\n');
    }
    json_decref(normal);
}

static void add_same(size_t count, TfyBuffer *out)
{
    if (count) tfy__buffer_printf(out, "    %zu same\n", count);
}

static void add_side(const char *name, const TfyHistory *history, TfyBuffer *out)
{
    char run[37];
    tfy__uuid_text(history->run.uuid, run);
    tfy__buffer_printf(out, "%s  %s  %s, %s, %u record%s\n", name, run, history->workflow,
                       tfy__db_run_state(&history->run, false), history->record_count,
                       history->record_count == 1 ? "" : "s");
}

/* "a was compacted: …" */
static void add_partial(const TfyDiff *diff, TfyBuffer *out)
{
    const bool a = diff->a.history->run.base_lsn, b = diff->b.history->run.base_lsn;
    tfy__buffer_printf(out, "%s compacted: before %s, %u record%s of a and %u of b are not compared\n",
                       a && b ? "a and b were"
                       : a    ? "a was"
                              : "b was",
                       a && b ? "their snapshots" : "its snapshot", diff->a.left_out, diff->a.left_out == 1 ? "" : "s",
                       diff->b.left_out);
}

static void print_text(const TfyDiff *diff)
{
    TfyBuffer out = {0};
    const TfyDiffRow *first = tfy__diff_first(diff);
    const char *path = NULL;
    size_t same = 0;
    add_side("a", diff->a.history, &out);
    add_side("b", diff->b.history, &out);
    if (is_partial(diff)) add_partial(diff, &out);
    if (first) {
        tfy__buffer_printf(&out, "first difference: task %s\n", first->path);
        add_row(diff, first, &out);
    }
    for (size_t i = 0; first && i < diff->count; i++) {
        const TfyDiffRow *row = &diff->rows[i];
        if (row->path != path) {
            add_same(same, &out);
            same = 0;
            path = row->path;
            tfy__buffer_printf(&out, "task %s\n", path);
        }
        if (row->how == TFY_DIFF_SAME) {
            same++;
            continue;
        }
        add_same(same, &out);
        same = 0;
        add_row(diff, row, &out);
    }
    add_same(first ? same : 0, &out);
    tfy__buffer_printf(&out, "%zu same, %zu changed, %zu only in a, %zu only in b\n", diff->counts[TFY_DIFF_SAME],
                       diff->counts[TFY_DIFF_CHANGED], diff->counts[TFY_DIFF_ONLY_A], diff->counts[TFY_DIFF_ONLY_B]);
    if (out.data && !out.failed) fwrite(out.data, 1, out.len, stdout);
    tfy__buffer_free(&out);
}

/* ---- the command ---- */

static int read_runs(const TfyArgs *args, TfyHistory *histories[2])
{
    TfyLog *log;
    int status = tfy__db_open(args, &log);
    for (int i = 0; i < 2 && status == EXIT_DONE; i++)
        status = tfy__db_read(log, tfy__history_read, args->words[i], &histories[i]);
    if (log) tfy__log_close(log, false);
    return status;
}

static int compare(const TfyArgs *args, TfyHistory *const histories[2])
{
    TfyDiff diff;
    int status = EXIT_BUG;
    if (tfy__diff_runs(&diff, histories[0], histories[1])) {
        status = diff.counts[TFY_DIFF_SAME] == diff.count ? EXIT_DONE : EXIT_RUN_FAILED;
        if (args->option[OPT_JSON])
            print_json(&diff);
        else
            print_text(&diff);
    } else {
        tfy__fail(status, "memory ran out");
    }
    tfy__diff_free(&diff);
    return tfy__flush_stdout(status);
}

int tfy__cmd_diff(const TfyArgs *args)
{
    TfyHistory *histories[2] = {NULL, NULL};
    int status = read_runs(args, histories);
    if (status == EXIT_DONE) status = compare(args, histories);
    tfy__history_free(histories[0]);
    tfy__history_free(histories[1]);
    return status;
}
