/* gc.c: tfy gc: removes or archives runs that have ended; from the others it can remove the records before their
 * snapshots. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/cluster/gc.h"
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/make/compile.h"
#include "cli/look/db.h"
#include "cli/program/owner.h"
#include "cli/frame/progress.h"
#include "tfy.h"
#include "value/json.h"
#include "wal/keep/gc.h"
#include "wal/history/history.h"

/* Reads a whole number with or without a unit of size; -1: it is not one. */
static int64_t read_size(const char *text, bool units)
{
    static const char letters[] = "KMGT";
    char *end;
    if (!isdigit((unsigned char)*text) || strlen(text) > 15) return -1;
    int64_t value = strtoll(text, &end, 10);
    const char *unit = *end && units ? strchr(letters, toupper((unsigned char)*end)) : NULL;
    if (unit) end++;
    if (*end) return -1;
    for (; unit && unit >= letters; unit--)
        if (__builtin_mul_overflow(value, 1024, &value)) return -1;
    return value;
}

/* ---- whether a run can lose its first records ---- */

/* The run's program decides: it replays the run from the snapshot on. Runs of one program are mostly neighbours, so
 * the last program is kept. */
typedef struct Judge {
    const TfyArgs *args;
    uint8_t hash[16]; /* of the program that was compiled last */
    bool known;       /* hash is set */
    char *program;    /* NULL: it did not compile */
} Judge;

static void take_program(Judge *judge, const TfyHistory *tail)
{
    if (judge->known && memcmp(judge->hash, tail->program_hash, sizeof judge->hash) == 0) return;
    free(judge->program);
    judge->program = NULL;
    judge->known = true;
    memcpy(judge->hash, tail->program_hash, sizeof judge->hash);
    const TfyCompile how = {.extras = judge->args->words, .extra_count = judge->args->word_count};
    if (tfy__compile_recorded(tail, &how, &judge->program) != EXIT_DONE) judge->program = NULL;
}

/* Reads the last line that it printed, without the program's name before the message, and the snapshot that it
 * names. */
static void read_verdict(FILE *said, int64_t *from, char *why)
{
    char line[TFY_ERROR_TEXT];
    rewind(said);
    while (fgets(line, sizeof line, said)) {
        line[strcspn(line, "\n")] = '\0';
        sscanf(line, "it started at the snapshot that is record %" SCNd64, from);
        if (*line) snprintf(why, TFY_ERROR_TEXT, "%s", strncmp(line, "tfy: ", 5) == 0 ? line + 5 : line);
    }
}

static bool can_do_without(void *state, const TfyHistory *tail, int64_t *from, char *why)
{
    Judge *judge = state;
    char run[37], newest[] = "--from-snapshot", db[] = "--db", *path = strdup(tfy__db_path(judge->args));
    int status = -1;
    tfy__uuid_text(tail->run.uuid, run);
    take_program(judge, tail);
    snprintf(why, TFY_ERROR_TEXT, judge->program ? "it could not be replayed" : "its program cannot be compiled");
    FILE *said = judge->program && path ? tmpfile() : NULL;
    fflush(NULL);
    const pid_t child = said ? fork() : -1;
    if (child == 0) {
        dup2(fileno(said), STDOUT_FILENO);
        dup2(fileno(said), STDERR_FILENO);
        _exit(tfy__exec_program(judge->program, "replay", (char *[]){run, newest, db, path}, 4));
    }
    while (child > 0 && waitpid(child, &status, 0) < 0) continue;
    if (said) read_verdict(said, from, why);
    if (said) fclose(said);
    free(path);
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_DONE;
}

/* ---- a database that a process has ---- */

static bool owner_listens(const TfyArgs *args)
{
    json_t *nothing = json_object();
    const int fd = nothing ? tfy__owner_connect(tfy__db_path(args), nothing) : -1;
    json_decref(nothing);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

/* What a process had deleted before it ended is gone, and the next gc deletes the rest. */
static int give_to_owner(void *state, const json_t *part, char *error_text)
{
    const TfyArgs *args = state;
    bool live;
    char run[37], text[TFY_ERROR_TEXT] = "";
    const int code = tfy__owner_request(tfy__db_path(args), part, &live, run, text);
    const bool left = !live || code == TFY_E_IO;
    if (left)
        snprintf(error_text, TFY_ERROR_TEXT,
                 "the process that has %.300s ended, or did not answer; type the command again for the rest",
                 tfy__db_path(args));
    else
        snprintf(error_text, TFY_ERROR_TEXT, "%s", code ? text : "");
    return left ? TFY_E_HELD : code;
}

/* ---- the command ---- */

static int read_options(const TfyArgs *args, TfyGcOptions *options)
{
    const char *age = args->option[OPT_OLDER_THAN], *keep = args->option[OPT_KEEP], *size = args->option[OPT_MAX_SIZE];
    *options = (TfyGcOptions){.older_than_ms = -1,
                              .keep = keep ? read_size(keep, false) : -1,
                              .max_bytes = size ? read_size(size, true) : -1,
                              .archive = args->option[OPT_ARCHIVE],
                              .compact = args->option[OPT_COMPACT] != NULL,
                              .dry_run = args->option[OPT_DRY_RUN] != NULL,
                              .version = tfy_version()};
    if (!age && !keep && !size && !options->compact)
        return tfy__fail(EXIT_USAGE,
                         "say which runs may go: --older-than 30d, --keep N or --max-size 1G; or shorten those "
                         "that stay: --compact");
    if (args->word_count && !options->compact)
        return tfy__fail(EXIT_USAGE, "gc takes no '%s' without --compact", args->words[0]);
    if (age && (!tfy__read_duration(age, strlen(age), &options->older_than_ms) || options->older_than_ms < 0))
        return tfy__fail(EXIT_USAGE, "--older-than takes a time such as 30d or 12h, not '%s'", age);
    if (keep && options->keep < 0) return tfy__fail(EXIT_USAGE, "--keep takes a number of runs, not '%s'", keep);
    if (size && options->max_bytes < 0)
        return tfy__fail(EXIT_USAGE, "--max-size takes a size such as 500M or 1G, not '%s'", size);
    return EXIT_DONE;
}

static json_t *compacted_json(const TfyGcResult *result)
{
    json_t *runs = json_array();
    for (uint32_t i = 0; i < result->compacted_count; i++) {
        const TfyGcCompacted *run = &result->compacted[i];
        char uuid[37];
        tfy__uuid_text(run->run.uuid, uuid);
        json_t *one = json_pack("{s:s,s:I,s:I}", "run", uuid, "snapshot", (json_int_t)run->base, "records",
                                (json_int_t)run->records);
        if (*run->refused) json_object_set_new(one, "left", json_string(run->refused));
        json_array_append_new(runs, one);
    }
    return runs;
}

static void print_json(const TfyGcOptions *options, const TfyGcResult *result)
{
    json_t *runs = json_array();
    for (uint32_t i = 0; i < result->count; i++) {
        char uuid[37];
        tfy__uuid_text(result->runs[i].run.uuid, uuid);
        json_array_append_new(runs, json_pack("{s:s,s:s,s:I}", "run", uuid, "state",
                                              tfy__db_run_state(&result->runs[i].run, false), "records",
                                              (json_int_t)result->runs[i].records));
    }
    json_t *report =
        json_pack("{s:b,s:I,s:I,s:I,s:I,s:I,s:o}", "dry_run", options->dry_run, "records", (json_int_t)result->records,
                  "programs", (json_int_t)result->programs, "kept", (json_int_t)result->kept_count, "bytes_before",
                  (json_int_t)result->bytes_before, "bytes_after", (json_int_t)result->bytes_after, "runs", runs);
    if (options->compact) json_object_set_new(report, "compacted", compacted_json(result));
    tfy__report_print(report, 2);
}

/* Prints what each remaining run lost, or why it lost nothing. */
static void print_compacted(const TfyGcOptions *options, const TfyGcResult *result)
{
    uint32_t count = 0;
    int64_t records = 0;
    for (uint32_t i = 0; i < result->compacted_count; i++) {
        const TfyGcCompacted *run = &result->compacted[i];
        char uuid[37];
        tfy__uuid_text(run->run.uuid, uuid);
        count += !*run->refused;
        records += run->records;
        if (*run->refused)
            tfy__say("run %s stays as it is: %s", uuid, run->refused);
        else if (options->dry_run)
            printf("%s  from record %" PRId64 "  %" PRId64 " records\n", uuid, run->base, run->records);
    }
    tfy__say("%u run%s %s at %s snapshot%s, without %" PRId64 " records", count, count == 1 ? "" : "s",
             options->dry_run ? "would start"
             : count == 1     ? "now starts"
                              : "now start",
             count == 1 ? "its" : "their", count == 1 ? "" : "s", records);
}

static void print_dropped(const TfyGcOptions *options, const TfyGcResult *result)
{
    for (uint32_t i = 0; options->dry_run && i < result->count; i++) {
        char uuid[37], ended[32];
        tfy__uuid_text(result->runs[i].run.uuid, uuid);
        tfy__db_time(result->runs[i].run.ended_ms, ended);
        printf("%s  %-9s  %s  %" PRId64 " records\n", uuid, tfy__db_run_state(&result->runs[i].run, false), ended,
               result->runs[i].records);
    }
}

static void print_text(const TfyGcOptions *options, const TfyGcResult *result)
{
    print_dropped(options, result);
    if (options->compact) print_compacted(options, result);
    tfy__say("%u run%s with %" PRId64 " records %s; the database needs %" PRId64 " KB%s %" PRId64 " KB", result->count,
             result->count == 1 ? "" : "s", result->records,
             options->dry_run   ? "would go"
             : options->archive ? "were archived and dropped"
                                : "were dropped",
             result->bytes_after / 1024, options->dry_run ? " then, now" : ", before", result->bytes_before / 1024);
    if (result->kept_count)
        tfy__say("%u run%s: a start with the same key or --id must find a run for a day", result->kept_count,
                 result->kept_count == 1 ? " stays" : "s stay");
}

static bool removes_runs(const TfyGcOptions *options)
{
    return options->older_than_ms >= 0 || options->keep >= 0 || options->max_bytes >= 0 || options->archive;
}

static int collect(const TfyArgs *args)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyGcOptions options;
    TfyGcResult result;
    TfyProgress progress = {0};
    Judge judge = {.args = args};
    const int status = read_options(args, &options);
    if (status != EXIT_DONE) return status;
    if (tfy__db_is_shared(args)) return tfy__cluster_gc(args, &options);
    options.check = can_do_without;
    options.check_state = &judge;
    int code = tfy__gc(tfy__db_path(args), &options, tfy__progress, &progress, &result, error);
    if (code == TFY_E_HELD && removes_runs(&options)) {
        const size_t len = strlen(error);
        snprintf(error + len, sizeof error - len,
                 "; --older-than, --keep, --max-size and --archive need the database for themselves, --compact alone "
                 "does not");
    } else if (code == TFY_E_HELD && owner_listens(args)) {
        options.send = give_to_owner;
        options.send_state = (void *)(uintptr_t)args;
        code = tfy__gc(tfy__db_path(args), &options, tfy__progress, &progress, &result, error);
    }
    tfy__progress_end(&progress);
    free(judge.program);
    if (code) return tfy__fail(tfy__exit_status(code), "%s", error);
    if (args->option[OPT_JSON])
        print_json(&options, &result);
    else
        print_text(&options, &result);
    tfy__gc_free(&result);
    return tfy__flush_stdout(EXIT_DONE);
}

int tfy__cmd_gc(const TfyArgs *args)
{
    return collect(args);
}
