/* doctor.c: tfy doctor: reports problems of a database: its files, which process has it open, and for each unfinished
 * run why it waits and what to type. inspect computes what is known about a run; doctor prints it for all runs. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cluster/doctor.h"
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/keep/doctor_sandbox.h"
#include "cli/look/db.h"
#include "cli/look/inspect.h"
#include "base/buffer.h"
#include "wal/keep/health.h"
#include "tfy.h"
#include "wal/history/history.h"

/* A larger -wal file means that some process prevents its transfer into the database, which the writer attempts every
 * 24 MB. */
#define WAL_LARGE (INT64_C(96) << 20)
#define DISK_LOW  (INT64_C(256) << 20)

/* Of the runs of PostgreSQL, so many of the oldest are shown. */
#define SHARED_MOST 100

typedef struct Doctor {
    const char *db;
    TfyHealth health; /* of a file */
    bool shared;
    json_t *report;
    json_t *advice; /* problems, and what to do about them; owned by the report */
} Doctor;

static void advise(Doctor *doctor, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void advise(Doctor *doctor, const char *format, ...)
{
    TfyBuffer text = {0};
    va_list arguments;
    va_start(arguments, format);
    tfy__buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    if (!text.failed) json_array_append_new(doctor->advice, json_string(text.data));
    tfy__buffer_free(&text);
}

static void take_advice(void *state, const char *text)
{
    advise(state, "%s", text);
}

static void size_text(int64_t bytes, char text[32])
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    double size = (double)bytes;
    int unit = 0;
    while (size >= 1024 && unit < 4) {
        size /= 1024;
        unit++;
    }
    snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", size, units[unit]);
}

/* ---- the files ---- */

static void advise_files(Doctor *doctor)
{
    const TfyHealth *health = &doctor->health;
    char size[32];
    if (health->wal_bytes > WAL_LARGE && health->reader_pid) {
        size_text(health->wal_bytes, size);
        advise(doctor,
               "the -wal file has grown to %s because pid %" PRId64
               " (%s) has been reading for a long time; it cannot shrink before that process ends: stop it",
               size, health->reader_pid, health->reader_name);
    } else if (health->wal_bytes > WAL_LARGE && !health->held) {
        size_text(health->wal_bytes, size);
        advise(doctor, "the -wal file has %s; the next process that closes the database moves them into it", size);
    }
    if (health->disk_bytes && health->disk_free < DISK_LOW) {
        size_text(health->disk_free, size);
        advise(doctor, "the disk has only %s left; runs pause when it is full: make room, or 'tfy gc'", size);
    }
    if (health->network)
        advise(doctor,
               "the database is on a network file system, whose locks and syncs cannot be relied on; move it to "
               "a local disk");
    if (health->open_to_others)
        advise(doctor,
               "others on this machine can read the database, and with it all that models and tools said: "
               "chmod 600 %s",
               doctor->db);
}

static void report_files(Doctor *doctor)
{
    const TfyHealth *health = &doctor->health;
    json_t *files = json_pack("{s:I,s:I,s:I,s:I}", "database", health->db_bytes, "wal", health->wal_bytes, "wal_frames",
                              health->wal_frames, "disk_free", health->disk_free);
    json_object_set_new(doctor->report, "bytes", files);
    json_object_set_new(doctor->report, "writer", health->held ? json_string(health->owner) : json_null());
    json_t *reader = health->reader_pid ? json_pack("{s:I,s:s,s:I}", "pid", health->reader_pid, "name",
                                                    health->reader_name, "frames_behind", health->reader_frames)
                                        : json_null();
    json_object_set_new(doctor->report, "oldest_reader", reader);
    advise_files(doctor);
}

/* ---- the runs ---- */

static int report_run(Doctor *doctor, TfyLog *log, int64_t id, json_t *runs)
{
    char error[TFY_ERROR_TEXT] = "", text[24];
    TfyHistory *history;
    snprintf(text, sizeof text, "%" PRId64, id);
    const int code = tfy__history_read(log, text, &history, error);
    if (code == TFY_E_ABSENT && doctor->shared) return 0; /* it has been removed */
    if (code) {
        advise(doctor, "run %s: %s; 'tfy verify' says what is damaged", text, error);
        return code;
    }
    json_array_append_new(runs, tfy__inspect_report(history, doctor->db, doctor->health.held));
    tfy__history_free(history);
    return 0;
}

static int report_runs(Doctor *doctor, TfyLog *log)
{
    TfyLogRun *rows = NULL; /* includes parked runs */
    uint32_t count, shown = 0;
    int worst = tfy__log_runs(log, &rows, NULL, &count);
    json_t *runs = json_array();
    for (uint32_t i = count; i > 0; i--) { /* oldest first */
        if (rows[i - 1].state >= TFY_TASK_COMPLETED || (worst && !doctor->shared)) continue;
        if (doctor->shared && ++shown > SHARED_MOST) break;
        const int code = report_run(doctor, log, rows[i - 1].id, runs);
        if (code) worst = code;
    }
    json_object_set_new(doctor->report, "unfinished", runs);
    free(rows);
    return worst;
}

/* ---- for people ---- */

static void print_files(const Doctor *doctor)
{
    const TfyHealth *health = &doctor->health;
    char db[32], wal[32], room[32];
    size_text(health->db_bytes, db);
    size_text(health->wal_bytes, wal);
    size_text(health->disk_free, room);
    printf("database   %s, %s, and %s in its -wal file\n", doctor->db, db, wal);
    printf("disk       %s free\n", room);
    printf("writer     %s\n", health->held ? health->owner : "none");
    if (health->reader_pid)
        printf("reader     pid %" PRId64 " (%s)%s\n", health->reader_pid, health->reader_name,
               health->reader_frames ? ", which does not see what was written since" : "");
}

/* Omits tasks that have ended or that need no mention. */
static void print_run(const json_t *run)
{
    const json_t *item, *next = json_object_get(run, "next");
    const bool stopped = strcmp(tfy__json_text(run, "state"), "stopped") == 0;
    size_t i;
    printf("run        %s %s, %s since %s\n", tfy__json_text(run, "run"), tfy__json_text(run, "workflow"),
           tfy__json_text(run, "state"), tfy__json_text(run, "started"));
    json_array_foreach(json_object_get(run, "tasks"), i, item)
    {
        if (strcmp(tfy__json_text(item, "state"), "unfinished") != 0 &&
            strcmp(tfy__json_text(item, "state"), "ending") != 0)
            continue;
        printf("  %s %s", tfy__json_text(item, "task"), tfy__json_text(item, "workflow"));
        if (json_object_get(item, "line"))
            printf(", line %lld", (long long)json_integer_value(json_object_get(item, "line")));
        putchar('\n');
        tfy__inspect_waits(stdout, item, stopped, false);
    }
    json_array_foreach(next, i, item) printf("  type: %s\n", json_string_value(item));
}

static void print_text(const Doctor *doctor)
{
    const json_t *item, *runs = json_object_get(doctor->report, "unfinished");
    size_t i;
    if (doctor->shared)
        tfy__cluster_print(doctor->report);
    else
        print_files(doctor);
    if (!json_array_size(runs) && !doctor->shared) printf("runs       none unfinished\n");
    json_array_foreach(runs, i, item) print_run(item);
    if (doctor->shared && json_array_size(runs) == SHARED_MOST)
        printf("...        of the others, 'tfy inspect RUN' says what they wait for\n");
    json_array_foreach(doctor->advice, i, item) printf("advice     %s\n", json_string_value(item));
}

static int examine(const TfyArgs *args)
{
    Doctor doctor = {
        .db = tfy__db_path(args), .shared = tfy__db_is_shared(args), .report = json_object(), .advice = json_array()};
    TfyLog *log = NULL;
    json_object_set_new(doctor.report, "db", json_string(doctor.db));
    int code = 0, status = EXIT_DONE;
    if (doctor.shared) {
        status = tfy__cluster_examine(doctor.db, doctor.report, take_advice, &doctor);
    } else if (!(code = tfy__health(doctor.db, &doctor.health))) { /* before the connection opens */
        report_files(&doctor);
    }
    if (status == EXIT_DONE) status = tfy__db_open(args, &log);
    if (status == EXIT_DONE) {
        code = report_runs(&doctor, log);
        tfy__log_close(log, false);
        json_object_set(doctor.report, "advice", doctor.advice);
        if (args->option[OPT_JSON])
            tfy__report_print(json_incref(doctor.report), 2);
        else
            print_text(&doctor);
        status = tfy__exit_status(code);
    } else if (!code && status == EXIT_DATA && !doctor.shared) {
        tfy__say("'tfy verify' says what is damaged; 'tfy salvage %s NEW.db' copies what can be read", doctor.db);
    }
    json_decref(doctor.advice);
    json_decref(doctor.report);
    return tfy__flush_stdout(status);
}

int tfy__cmd_doctor(const TfyArgs *args)
{
    return args->option[OPT_CELL_WALLS] ? tfy__doctor_sandbox(args) : examine(args);
}
