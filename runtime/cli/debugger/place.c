/* place.c: finds a record by the name that people give it, from the records alone, without a replay. */
#include "cli/debugger/debugger.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const TfyPoint *point_of(const TfyPlaces *places, uint32_t index)
{
    const uint32_t number = places->history->records[index].point;
    return number && number <= places->program->point_count ? places->program->points[number - 1] : NULL;
}

static const char *path_of(const TfyPlaces *places, uint32_t index)
{
    return places->history->tasks[places->history->record_tasks[index]].path;
}

/* ---- what a place can name ---- */

typedef struct Wanted {
    enum { ANY, FAILURE, LINE, POINT, STEP } what;
    uint32_t line;    /* LINE: counted over all files */
    const char *text; /* POINT: its id; STEP: the task's path … */
    size_t len;
    int64_t step;
} Wanted;

/* Was the task's newest deadline a timeout, seen from a TimerFired? */
static bool was_timeout(const TfyHistory *history, uint32_t index)
{
    if (tfy__record_has(&history->records[index], TFY_P_SCOPE)) return true;
    for (uint32_t i = index; i-- > 0;) {
        const TfyLogRecord *record = &history->records[i];
        if (record->tid == history->records[index].tid && record->type == TFY_R_TASK_YIELD &&
            !tfy__record_is_busy(record))
            return tfy__record_is(record, TFY_P_WHY, "timeout");
    }
    return false;
}

/* Did something fail here: an attempt, a join, a timeout, a task, the run? A retry does not count, because it repeats
 * its attempt's failure. */
static bool is_failure(const TfyHistory *history, uint32_t index)
{
    const TfyLogRecord *record = &history->records[index];
    switch (record->type) {
    case TFY_R_RETRY:
    case TFY_R_OUTPUT: return false;
    case TFY_R_IN_DOUBT:
    case TFY_R_TASK_ABORT: return true;
    case TFY_R_TIMER_FIRED: return was_timeout(history, index);
    case TFY_R_TASK_COMPLETE: return tfy__record_end(record) != TFY_TASK_COMPLETED;
    default: return tfy__record_failed(record);
    }
}

/* A replay does not stop at a record that belongs to no step, or at one that a compacted run kept from before its
 * snapshot. */
static bool is_passed_over(const TfyHistory *history, uint32_t index)
{
    const TfyLogRecord *record = &history->records[index];
    return tfy__record_is_nobodys(record) || record->lsn <= history->snapshot_lsn;
}

static bool fits(const TfyPlaces *places, const Wanted *wanted, uint32_t index)
{
    const TfyPoint *point = point_of(places, index);
    if (is_passed_over(places->history, index)) return false;
    switch (wanted->what) {
    case FAILURE: return is_failure(places->history, index);
    case LINE: return point && point->line == wanted->line;
    case POINT: return point && strcmp(point->id, wanted->text) == 0;
    case STEP:
        return places->history->records[index].step == wanted->step && strlen(path_of(places, index)) == wanted->len &&
               memcmp(path_of(places, index), wanted->text, wanted->len) == 0;
    default: return true;
    }
}

/* Returns the next record that matches; record_count: there is none. */
static uint32_t seek(const TfyPlaces *places, const Wanted *wanted, uint32_t from, bool back)
{
    const uint32_t count = places->history->record_count;
    for (uint32_t i = back ? from - 1 : from + 1; i < count; i += back ? UINT32_MAX : 1)
        if (fits(places, wanted, i) && (!places->task || strcmp(path_of(places, i), places->task) == 0)) return i;
    return count;
}

uint32_t tfy__place_next(const TfyPlaces *places, uint32_t from)
{
    return from < places->history->record_count ? seek(places, &(Wanted){.what = ANY}, from, false) : from;
}

uint32_t tfy__place_back(const TfyPlaces *places, uint32_t from)
{
    const uint32_t found = from ? seek(places, &(Wanted){.what = ANY}, from, true) : 0;
    return found < places->history->record_count ? found : from;
}

/* ---- reading ---- */

static bool is_number(const char *text, int64_t *number)
{
    char *end;
    if (!isdigit((unsigned char)*text) || strlen(text) > 18) return false;
    *number = strtoll(text, &end, 10);
    return *end == '\0';
}

static int64_t refuse(int status, char *error_text, const char *what, const char *text)
{
    snprintf(error_text, TFY_ERROR_TEXT, "%s '%.100s'", what, text);
    return -status;
}

/* Converts a file's line to a line over all files of the program; 0: there is no such file. The main file has number
 * 1, and its name may be omitted. */
static uint32_t line_over_all(const TfyProgram *program, const char *file, size_t len, int64_t line)
{
    const size_t own = strlen(program->name);
    if (!len || (own == len && memcmp(program->name, file, len) == 0)) return (uint32_t)line;
    for (uint32_t i = 0; i < program->module_count; i++) {
        const TfyModule *module = &program->modules[i];
        if (strlen(module->file) == len && memcmp(module->file, file, len) == 0)
            return (uint32_t)line + module->first_line - 1;
    }
    return 0;
}

static int64_t by_lsn(const TfyHistory *history, int64_t lsn)
{
    for (uint32_t i = 0; i < history->record_count; i++)
        if (history->records[i].lsn == lsn) return i;
    return -1;
}

static const char *point_candidate(const void *state, int index)
{
    const TfyProgram *program = state;
    return (uint32_t)index < program->point_count ? program->points[index]->id : NULL;
}

static int64_t find_wanted(const TfyPlaces *places, const Wanted *wanted, const char *text, uint32_t from, bool back,
                           char *error_text)
{
    const uint32_t count = places->history->record_count;
    const uint32_t found = seek(places, wanted, from, back);
    if (found < count) return found;
    return refuse(EXIT_MISSING, error_text, back ? "no earlier record is at" : "no later record is at", text);
}

/* FILE:LINE, or line:LINE for the main file. */
static bool read_line(const TfyPlaces *places, const char *text, Wanted *wanted)
{
    const char *colon = strrchr(text, ':');
    int64_t line;
    if (!colon || !is_number(colon + 1, &line) || line < 1 || line > UINT32_MAX / 2) return false;
    const bool own = strncmp(text, "line:", 5) == 0;
    *wanted =
        (Wanted){.what = LINE, .line = line_over_all(places->program, text, own ? 0 : (size_t)(colon - text), line)};
    return wanted->line != 0;
}

static bool read_step(const char *text, Wanted *wanted)
{
    const char *slash = strchr(text, '/');
    *wanted = (Wanted){.what = STEP, .text = text, .len = slash ? (size_t)(slash - text) : 0};
    return slash && strspn(text, "0123456789.") == wanted->len && is_number(slash + 1, &wanted->step);
}

static int64_t find_point(const TfyPlaces *places, const char *text, uint32_t from, bool back, char *error_text)
{
    const TfyProgram *program = places->program;
    const Wanted wanted = {.what = POINT, .text = text};
    for (uint32_t i = 0; i < program->point_count; i++)
        if (strcmp(program->points[i]->id, text) == 0)
            return find_wanted(places, &wanted, text, from, back, error_text);
    const char *meant = tfy__nearest(text, point_candidate, program);
    snprintf(
        error_text, TFY_ERROR_TEXT,
        "'%.100s' is not a place: write a record's number, lsn:N, TASK/STEP, line:N, FILE:N, failure, start, end, or a "
        "point%s%.100s%s",
        text, meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
    return -EXIT_USAGE;
}

static int64_t find_place(const TfyPlaces *places, const char *text, uint32_t from, bool back, char *error_text)
{
    const TfyHistory *history = places->history;
    Wanted wanted = {.what = FAILURE};
    int64_t number;
    if (strcmp(text, "start") == 0) return 0;
    if (strcmp(text, "end") == 0) return history->record_count;
    if (is_number(text, &number)) {
        if (number >= 1 && number <= history->record_count) return number - 1;
        snprintf(error_text, TFY_ERROR_TEXT, "the run has no record %lld; it has %u", (long long)number,
                 history->record_count);
        return -EXIT_MISSING;
    }
    if (strncmp(text, "lsn:", 4) == 0 && is_number(text + 4, &number)) {
        number = by_lsn(history, number);
        return number >= 0 ? number : refuse(EXIT_MISSING, error_text, "the run has no record with", text);
    }
    if (read_step(text, &wanted)) {
        number = seek(&(TfyPlaces){.program = places->program, .history = history}, &wanted, UINT32_MAX, false);
        return number < history->record_count ? number : refuse(EXIT_MISSING, error_text, "the run has no step", text);
    }
    wanted = (Wanted){.what = FAILURE};
    if (strcmp(text, "failure") == 0 || read_line(places, text, &wanted))
        return find_wanted(places, &wanted, text, from, back, error_text);
    return find_point(places, text, from, back, error_text);
}

/* A record without a stop is replaced by the next one that has a stop. */
int64_t tfy__place_find(const TfyPlaces *places, const char *text, uint32_t from, bool back, char *error_text)
{
    const TfyHistory *history = places->history;
    int64_t found = find_place(places, text, from, back, error_text);
    while (found >= 0 && found < history->record_count && is_passed_over(history, (uint32_t)found)) found++;
    return found;
}
