/* gc.c: tfy gc: runs that have ended are dropped or archived. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/cli.h"
#include "cli/db.h"
#include "cli/progress.h"
#include "tfy.h"
#include "value/json.h"
#include "wal/gc.h"

/* A whole number with a unit of size or without one; -1: it is none. */
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

static int read_options(const TfyArgs *args, TfyGcOptions *options)
{
    const char *age = args->option[OPT_OLDER_THAN], *keep = args->option[OPT_KEEP], *size = args->option[OPT_MAX_SIZE];
    *options = (TfyGcOptions){.older_than_ms = -1,
                              .keep = keep ? read_size(keep, false) : -1,
                              .max_bytes = size ? read_size(size, true) : -1,
                              .archive = args->option[OPT_ARCHIVE],
                              .dry_run = args->option[OPT_DRY_RUN] != NULL,
                              .version = tfy_version()};
    if (!age && !keep && !size)
        return tfy__fail(EXIT_USAGE, "say which runs may go: --older-than 30d, --keep N or --max-size 1G");
    if (age && (!tfy__read_duration(age, strlen(age), &options->older_than_ms) || options->older_than_ms < 0))
        return tfy__fail(EXIT_USAGE, "--older-than takes a time such as 30d or 12h, not '%s'", age);
    if (keep && options->keep < 0) return tfy__fail(EXIT_USAGE, "--keep takes a number of runs, not '%s'", keep);
    if (size && options->max_bytes < 0)
        return tfy__fail(EXIT_USAGE, "--max-size takes a size such as 500M or 1G, not '%s'", size);
    return EXIT_DONE;
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
        json_pack("{s:b,s:I,s:I,s:I,s:I,s:o}", "dry_run", options->dry_run, "records", (json_int_t)result->records,
                  "programs", (json_int_t)result->programs, "bytes_before", (json_int_t)result->bytes_before,
                  "bytes_after", (json_int_t)result->bytes_after, "runs", runs);
    json_dumpf(report, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(report);
}

static void print_text(const TfyGcOptions *options, const TfyGcResult *result)
{
    for (uint32_t i = 0; options->dry_run && i < result->count; i++) {
        char uuid[37], ended[32];
        tfy__uuid_text(result->runs[i].run.uuid, uuid);
        tfy__db_time(result->runs[i].run.ended_ms, ended);
        printf("%s  %-9s  %s  %" PRId64 " records\n", uuid, tfy__db_run_state(&result->runs[i].run, false), ended,
               result->runs[i].records);
    }
    tfy__say("%u run%s with %" PRId64 " records %s; the database needs %" PRId64 " KB%s %" PRId64 " KB", result->count,
             result->count == 1 ? "" : "s", result->records,
             options->dry_run   ? "would go"
             : options->archive ? "were archived and dropped"
                                : "were dropped",
             result->bytes_after / 1024, options->dry_run ? " then, now" : ", before", result->bytes_before / 1024);
}

static int collect(const TfyArgs *args)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyGcOptions options;
    TfyGcResult result;
    TfyProgress progress = {0};
    const int status = read_options(args, &options);
    if (status != EXIT_DONE) return status;
    const int code = tfy__gc(tfy__db_path(args), &options, tfy__progress, &progress, &result, error);
    tfy__progress_end(&progress);
    if (code) return tfy__fail(tfy__exit_status(code), "%s", error);
    if (args->option[OPT_JSON])
        print_json(&options, &result);
    else
        print_text(&options, &result);
    free(result.runs);
    return tfy__flush_stdout(EXIT_DONE);
}

int tfy__cmd_gc(int argc, char **argv)
{
    TfyArgs args;
    int status = tfy__args_parse(argc, argv, &args);
    if (status < 0) status = collect(&args);
    tfy__args_free(&args);
    return status;
}
