/* ps.c: tfy ps: the runs of a database, or of all databases of a directory, newest first.
 *
 * On a terminal each run has one line that fits it: ids are cut to what tells the runs apart, and the last column, the
 * program with its arguments, gets the room that is left. Elsewhere ids, times and hashes are whole. */
#include "cli/frame/commands.h"
#include "cli/frame/databases.h"
#include "cli/look/ceiling_text.h"
#include "cli/look/db.h"
#include "cli/make/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/terminal.h"
#include "observe/screen.h"
#include "value/json.h"
#include "wal/keep/doubt.h"
#include "wal/rows/payload.h"

#define HASH_SHOWN 12  /* digits of a program's hash */
#define ID_WHOLE   36  /* characters of an id */
#define ID_LEAST   13  /* characters of an id on a terminal: its time in milliseconds */
#define WIDE       120 /* columns of a terminal that has room for the hash */
#define MIDDLING   100 /* … for the whole time */
#define TEXT_MOST  200 /* columns of program and arguments, where no terminal sets a limit */

/* A program that runs have. */
typedef struct Program {
    int64_t id; /* its row; 0: none was read yet */
    char hash[33];
    char *file; /* the name of its main file, owned */
} Program;

/* A database. */
typedef struct Source {
    TfyLog *log;
    const char *path;
    bool held; /* a process has it open for writing */
} Source;

/* What is read of a run to show it. */
typedef struct Shown {
    TfyLogOutline outline;
    char *workflow; /* its root's, owned */
} Shown;

/* The runs of one database, or of all default ones, and which of them are shown. */
typedef struct Listing {
    const TfyArgs *args;
    Source sources[TFY_DATABASES_MAX];
    uint32_t source_count;
    TfyLogRun *runs;      /* owned, as is sources_of */
    uint32_t *sources_of; /* the database of each run */
    uint32_t asked;       /* the run whose `doubt` is known: its number from 1; 0: none */
    bool doubt;           /* a step of it is in doubt */
    uint32_t count;
    uint64_t limit;
    int columns;     /* of the terminal; 0: it is not one */
    int id_width;    /* characters of an id that are shown */
    uint64_t shown;  /* runs printed so far */
    Program program; /* that of the run before: most runs of a database have one of a few */
    const Source *program_source;
} Listing;

/* ---- reading ---- */

static const Source *source_of(const Listing *listing, uint32_t i)
{
    return &listing->sources[listing->sources_of[i]];
}

/* Of a run that cannot be read, this is unknown; inspect says why. */
static bool in_doubt(Listing *listing, uint32_t i)
{
    const TfyLogRun *run = &listing->runs[i];
    if (listing->asked != i + 1) {
        listing->doubt = false;
        listing->asked = i + 1;
        if (run->state < TFY_TASK_COMPLETED &&
            tfy__run_in_doubt(source_of(listing, i)->log, run, &listing->doubt) != TFY_OK)
            listing->doubt = false;
    }
    return listing->doubt;
}

static const char *run_state(Listing *listing, uint32_t i)
{
    return in_doubt(listing, i) ? "doubt" : tfy__db_run_state(&listing->runs[i], source_of(listing, i)->held);
}

static const Program *program_of(Listing *listing, uint32_t i)
{
    const TfyLogRun *run = &listing->runs[i];
    const Source *source = source_of(listing, i);
    Program *program = &listing->program;
    char *layout = NULL;
    if (program->id == run->program && listing->program_source == source) return program;
    listing->program_source = source;
    free(program->file);
    *program = (Program){.id = run->program, .hash = "?"};
    if (tfy__log_program_hash(source->log, run->program, program->hash, &layout) != 0) return program;
    program->hash[HASH_SHOWN] = '\0';
    json_t *json = json_loads(layout, 0, NULL);
    const char *file = json_string_value(json_object_get(json, "file"));
    program->file = file ? strdup(file) : NULL;
    json_decref(json);
    free(layout);
    return program;
}

/* Of how far its tools may go and who answers, the record of the newest resume that was given something has all. */
static TfyLogRecord outline_bounds(const TfyLogOutline *outline)
{
    return tfy__record_of_payload(outline->options ? outline->options : outline->birth);
}

/* ---- which runs ---- */

static bool is_state(const char *wanted, const char *state)
{
    if (strcmp(wanted, "unfinished") == 0)
        return strcmp(state, "completed") != 0 && strcmp(state, "failed") != 0 && strcmp(state, "cancelled") != 0;
    return strcmp(wanted, state) == 0;
}

static bool is_wanted(Listing *listing, uint32_t i)
{
    const char *state = listing->args->option[OPT_STATE];
    return !state || is_state(state, run_state(listing, i));
}

static int check_options(const TfyArgs *args, uint64_t *limit)
{
    const char *state = args->option[OPT_STATE];
    const char *states = tfy__option_at(OPT_STATE)->argument;
    const char *found = state && *state && !strchr(state, '|') ? strstr(states, state) : NULL;
    const size_t len = state ? strlen(state) : 0;
    if (state && !(found && (found == states || found[-1] == '|') && (!found[len] || found[len] == '|')))
        return tfy__fail(EXIT_USAGE, "'%s' is not the state of a run; --state takes one of %s", state, states);
    *limit = UINT64_MAX;
    return tfy__db_number(args, OPT_LIMIT, limit);
}

/* ---- JSON ---- */

static void add_raw(TfyBuffer *out, const char *name, const TfyLogRecord *record, TfyMember member)
{
    size_t len;
    const char *raw = tfy__record_raw(record, member, &len);
    if (raw) tfy__buffer_printf(out, ",\"%s\":%.*s", name, (int)len, raw);
}

static void print_object(Listing *listing, uint32_t i, const Program *program, const Shown *shown)
{
    const TfyLogOutline *outline = &shown->outline;
    const TfyLogRun *run = &listing->runs[i];
    const TfyLogRecord birth = tfy__record_of_payload(outline->birth), end = tfy__record_of_payload(outline->end),
                       bounds = outline_bounds(outline);
    TfyBuffer out = {0};
    char uuid[37];
    tfy__uuid_text(run->uuid, uuid);
    tfy__buffer_printf(&out, "%s\n  {\"id\":%lld,\"run\":\"%s\",\"workflow\":", listing->shown ? "," : "",
                       (long long)run->id, uuid);
    tfy__buffer_json_string(&out, shown->workflow, strlen(shown->workflow));
    tfy__buffer_printf(&out, ",\"state\":\"%s\",\"started\":\"", run_state(listing, i));
    tfy__write_time(&out, run->started_ms);
    tfy__buffer_printf(&out, "\",\"program\":\"%s\"", program->hash);
    if (tfy__db_held_why(run)) tfy__buffer_printf(&out, ",\"held\":\"%s\"", tfy__db_held_why(run));
    if (program->file) {
        tfy__buffer_text(&out, ",\"file\":");
        tfy__buffer_json_string(&out, program->file, strlen(program->file));
    }
    if (listing->source_count > 1) {
        tfy__buffer_text(&out, ",\"db\":");
        tfy__buffer_json_string(&out, source_of(listing, i)->path, strlen(source_of(listing, i)->path));
    }
    add_raw(&out, "args", &birth, TFY_P_ARGS);
    add_raw(&out, "yolo", &bounds, TFY_P_YOLO);
    add_raw(&out, "ceiling", &bounds, TFY_P_CEILING);
    if (run->ended_ms) {
        tfy__buffer_text(&out, ",\"ended\":\"");
        tfy__write_time(&out, run->ended_ms);
        tfy__buffer_char(&out, '"');
    }
    add_raw(&out, "result", &end, TFY_P_VALUE);
    add_raw(&out, "error", &end, TFY_P_ERROR);
    tfy__buffer_char(&out, '}');
    if (!out.failed) fwrite(out.data, 1, out.len, stdout);
    tfy__buffer_free(&out);
}

/* ---- a table ---- */

/* As a person would type it: a plain text without quotes, anything else as JSON. */
static void add_value(TfyBuffer *out, const json_t *value)
{
    const char *text = json_string_value(value);
    if (text && *text && !text[strcspn(text, " \t\n\"'\\$`*?<>|&;()")])
        tfy__buffer_add(out, text, json_string_length(value));
    else
        tfy__encode_json(out, value);
}

static void add_bounds(TfyBuffer *out, const TfyLogRecord *bounds)
{
    TfyPayload payload;
    tfy__payload_open(&payload, bounds);
    if (tfy__payload_flag(&payload, TFY_P_YOLO)) tfy__buffer_text(out, " yolo");
    tfy__ceiling_text(out, tfy__payload_get(&payload, TFY_P_CEILING));
    tfy__payload_close(&payload);
}

static void add_arguments(TfyBuffer *out, const TfyLogRecord *birth)
{
    TfyPayload payload;
    const char *name;
    json_t *value;
    tfy__payload_open(&payload, birth);
    json_object_foreach(tfy__payload_get(&payload, TFY_P_ARGS), name, value)
    {
        tfy__buffer_printf(out, " --%s ", name);
        add_value(out, value);
    }
    tfy__payload_close(&payload);
}

/* On a narrow terminal "11-20 10:15" of "2026-11-20 10:15:20". */
static bool cuts_time(const Listing *listing)
{
    return listing->columns && listing->columns < MIDDLING;
}

static bool shows_hash(const Listing *listing)
{
    return !listing->columns || listing->columns >= WIDE;
}

/* Adds the last column, in the room that is left of the line. */
static void add_rest(const Listing *listing, TfyBuffer *out, const char *text)
{
    const int room = listing->columns ? listing->columns - 1 - (int)out->len - 2 : TEXT_MOST;
    TfyBuffer whole = {0};
    tfy__buffer_text(out, "  ");
    tfy__screen_clean(&whole, text);
    if (!whole.failed && whole.data) {
        const bool cut = tfy__screen_width(whole.data) > room;
        tfy__screen_cut(out, whole.data, cut ? (room > 1 ? room - 1 : 0) : room);
        if (cut) tfy__buffer_text(out, "…");
    }
    tfy__buffer_free(&whole);
}

static void end_row(TfyBuffer *line)
{
    tfy__buffer_char(line, '\n');
    if (!line->failed) fwrite(line->data, 1, line->len, stdout);
    tfy__buffer_free(line);
}

static void print_titles(const Listing *listing)
{
    TfyBuffer out = {0};
    tfy__buffer_printf(&out, "%-*s  %-9s  %-*s  %9s", listing->id_width, "RUN", "STATE", cuts_time(listing) ? 11 : 19,
                       "STARTED", "TOOK");
    if (shows_hash(listing)) tfy__buffer_printf(&out, "  %-*s", HASH_SHOWN, "PROGRAM");
    add_rest(listing, &out, "FILE, WORKFLOW, ARGUMENTS");
    end_row(&out);
}

static void print_row(Listing *listing, uint32_t i, const Program *program, const Shown *shown)
{
    const TfyLogOutline *outline = &shown->outline;
    const TfyLogRun *run = &listing->runs[i];
    const TfyLogRecord birth = tfy__record_of_payload(outline->birth), bounds = outline_bounds(outline);
    TfyBuffer out = {0}, what = {0};
    char uuid[37], started[32];
    tfy__uuid_text(run->uuid, uuid);
    tfy__db_time(run->started_ms, started);
    tfy__buffer_printf(&out, "%.*s  %-9s  ", listing->id_width, uuid, run_state(listing, i));
    if (cuts_time(listing) && strlen(started) == 19)
        tfy__buffer_printf(&out, "%.11s", started + 5);
    else
        tfy__buffer_printf(&out, "%-19s", started);
    tfy__db_add_took(&out, run->started_ms, run->ended_ms);
    if (shows_hash(listing)) tfy__buffer_printf(&out, "  %-*s", HASH_SHOWN, program->hash);
    tfy__buffer_printf(&what, "%s %s", program->file ? program->file : "?", shown->workflow);
    if (tfy__db_held_why(run)) tfy__buffer_printf(&what, " (held: %s)", tfy__db_held_why(run));
    add_bounds(&what, &bounds);
    add_arguments(&what, &birth);
    add_rest(listing, &out, what.data && !what.failed ? what.data : shown->workflow);
    end_row(&out);
    tfy__buffer_free(&what);
}

/* ---- ids ---- */

static int compare_ids(const void *one, const void *other)
{
    return strcmp(one, other);
}

/* Returns how many characters of an id tell all runs of the database apart. */
static int width_of_ids(const Listing *listing)
{
    size_t width = ID_LEAST;
    if (!listing->columns) return ID_WHOLE;
    char(*ids)[ID_WHOLE + 1] = calloc((size_t)listing->count + 1, sizeof *ids);
    if (!ids) return ID_WHOLE;
    for (uint32_t i = 0; i < listing->count; i++) tfy__uuid_text(listing->runs[i].uuid, ids[i]);
    qsort(ids, listing->count, sizeof *ids, compare_ids);
    for (uint32_t i = 0; i + 1 < listing->count; i++) {
        size_t same = 0;
        while (ids[i][same] && ids[i][same] == ids[i + 1][same]) same++;
        if (same + 1 > width) width = same + 1;
    }
    free(ids);
    return width < ID_WHOLE ? (int)width : ID_WHOLE;
}

/* A run whose first record is not there was removed meanwhile, or the database is damaged. */
static int absent(Listing *listing, uint32_t i)
{
    TfyLogRun row;
    const int code = tfy__log_find_run(source_of(listing, i)->log, listing->runs[i].uuid, &row);
    return code == TFY_E_ABSENT ? 0 : code ? code : TFY_E_DATA;
}

/* 0, with a workflow if the run is there. */
static int read_shown(Listing *listing, uint32_t i, Shown *shown)
{
    *shown = (Shown){.workflow = NULL};
    const int code = tfy__log_outline(source_of(listing, i)->log, &listing->runs[i], &shown->outline);
    if (code) return code == TFY_E_ABSENT ? absent(listing, i) : code;
    const TfyLogRecord birth = tfy__record_of_payload(shown->outline.birth);
    shown->workflow = tfy__record_workflow(&birth);
    return shown->workflow ? 0 : TFY_E_NOMEM;
}

static void free_shown(Shown *shown)
{
    tfy__log_outline_free(&shown->outline);
    free(shown->workflow);
}

static void print_run(Listing *listing, uint32_t i, const Shown *shown)
{
    const char *workflow = listing->args->option[OPT_OF_WORKFLOW];
    const bool json = listing->args->option[OPT_JSON];
    if (!shown->workflow || (workflow && strcmp(workflow, shown->workflow) != 0)) return;
    if (!json && !listing->shown) print_titles(listing);
    (json ? print_object : print_row)(listing, i, program_of(listing, i), shown);
    listing->shown++;
}

static int print_runs(Listing *listing)
{
    int code = 0;
    for (uint32_t i = 0; !code && i < listing->count && listing->shown < listing->limit && !ferror(stdout); i++) {
        Shown shown;
        if (!is_wanted(listing, i)) continue;
        code = read_shown(listing, i, &shown);
        if (!code) print_run(listing, i, &shown);
        free_shown(&shown);
    }
    return code;
}

/* ---- the databases ---- */

static void close_sources(Listing *listing)
{
    for (uint32_t i = 0; i < listing->source_count; i++) {
        tfy__log_close(listing->sources[i].log, false);
        free((char *)(uintptr_t)listing->sources[i].path);
    }
    free(listing->sources_of);
    free(listing->runs);
    free(listing->program.file);
}

/* Puts the runs of one more database before or among those that are there, newest first. Returns false if memory ran
 * out. */
static bool merge_runs(Listing *listing, const TfyLogRun *runs, uint32_t count)
{
    const uint32_t total = listing->count + count;
    TfyLogRun *all = calloc((size_t)total + 1, sizeof *all);
    uint32_t *from = calloc((size_t)total + 1, sizeof *from), i = 0, j = 0;
    const bool ok = all && from;
    for (uint32_t n = 0; ok && n < total; n++) {
        const bool old = j == count || (i < listing->count && listing->runs[i].started_ms > runs[j].started_ms);
        from[n] = old ? listing->sources_of[i] : listing->source_count - 1;
        all[n] = old ? listing->runs[i++] : runs[j++];
    }
    if (!ok) {
        free(all);
        free(from);
        return false;
    }
    free(listing->runs);
    free(listing->sources_of);
    listing->runs = all;
    listing->sources_of = from;
    listing->count = total;
    return true;
}

/* Reads the runs of the database of the arguments. */
static int add_source(const TfyArgs *args, void *state)
{
    Listing *listing = state;
    TfyLogRun *runs;
    char *path = strdup(tfy__db_path(args));
    uint32_t count;
    Source *source = &listing->sources[listing->source_count];
    if (!path) return tfy__fail(EXIT_BUG, "memory ran out");
    *source = (Source){.path = path, .held = tfy__db_held(path)};
    const int status = tfy__db_open(args, &source->log);
    if (status != EXIT_DONE) {
        free(path);
        return status;
    }
    listing->source_count++;
    const int code = tfy__log_runs(source->log, &runs, NULL, &count);
    source->held |= tfy__db_held(path);
    if (code == TFY_E_NOMEM) return tfy__fail(EXIT_BUG, "memory ran out");
    if (code) return tfy__fail(tfy__exit_status(code), "the runs of %s cannot be read; restore it from a copy", path);
    const bool merged = merge_runs(listing, runs, count);
    free(runs);
    return merged ? EXIT_DONE : tfy__fail(EXIT_BUG, "memory ran out");
}

/* ---- the command ---- */

static int list(Listing *listing)
{
    const bool json = listing->args->option[OPT_JSON];
    const char *db_path = listing->sources[0].path;
    listing->id_width = width_of_ids(listing);
    if (json) printf("[");
    const int code = print_runs(listing);
    if (code == TFY_E_NOMEM) return tfy__fail(EXIT_BUG, "memory ran out");
    if (code)
        return tfy__fail(tfy__exit_status(code), "the runs of %s cannot be read; restore it from a copy", db_path);
    if (json)
        printf("%s]\n", listing->shown ? "\n" : "");
    else if (!listing->shown)
        tfy__say(listing->count ? "no run of %s is of that kind" : "%s has no runs yet", db_path);
    return EXIT_DONE;
}

int tfy__cmd_ps(const TfyArgs *args)
{
    Listing listing = {.args = args, .columns = tfy__terminal_columns(STDOUT_FILENO)};
    TfyArgs own = *args;
    int status = check_options(args, &listing.limit);
    if (args->option[OPT_SERVER]) return status == EXIT_DONE ? tfy__ask_server(args, "ps") : status;
    own.db = NULL; /* its path changes from one database to the next */
    if (status == EXIT_DONE && (own.db = strdup(tfy__db_path(args)))) status = tfy__db_each(&own, add_source, &listing);
    if (listing.source_count) {
        const int listed = list(&listing);
        if (listed > status) status = listed;
    }
    free(own.db);
    close_sources(&listing);
    return tfy__flush_stdout(status);
}
