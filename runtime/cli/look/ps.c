/* ps.c: tfy ps: the runs of a database, newest first. */
#include "cli/frame/commands.h"
#include "cli/look/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "value/json.h"

#define HASH_SHOWN 12 /* digits of a program's hash */

/* Reads the program hash of each run, shortened. Most runs of a database have one of a few programs. */
static char (*read_hashes(TfyLog *log, const TfyLogRun *runs, uint32_t count))[33]
{
    char(*hashes)[33] = calloc(count + 1, sizeof *hashes);
    for (uint32_t i = 0; hashes && i < count; i++) {
        if (i && runs[i].program == runs[i - 1].program)
            memcpy(hashes[i], hashes[i - 1], sizeof *hashes);
        else if (tfy__log_program_hash(log, runs[i].program, hashes[i]) != 0)
            strcpy(hashes[i], "?");
        hashes[i][HASH_SHOWN] = '\0';
    }
    return hashes;
}

static void print_object(const TfyLogRun *run, const char *name, const char *hash, bool held, bool first)
{
    TfyBuffer out = {0};
    char uuid[37];
    tfy__uuid_text(run->uuid, uuid);
    tfy__buffer_printf(&out, "%s\n  {\"id\":%lld,\"run\":\"%s\",\"workflow\":", first ? "" : ",", (long long)run->id,
                       uuid);
    tfy__buffer_json_string(&out, name, strlen(name));
    tfy__buffer_printf(&out, ",\"state\":\"%s\",\"started\":\"", tfy__db_run_state(run, held));
    tfy__write_time(&out, run->started_ms);
    tfy__buffer_printf(&out, "\",\"program\":\"%s\"", hash);
    if (run->ended_ms) {
        tfy__buffer_text(&out, ",\"ended\":\"");
        tfy__write_time(&out, run->ended_ms);
        tfy__buffer_char(&out, '"');
    }
    tfy__buffer_char(&out, '}');
    if (!out.failed) fwrite(out.data, 1, out.len, stdout);
    tfy__buffer_free(&out);
}

static void print_row(const TfyLogRun *run, const char *name, const char *hash, bool held)
{
    char uuid[37], started[32], took[32] = "";
    tfy__uuid_text(run->uuid, uuid);
    tfy__db_time(run->started_ms, started);
    const int64_t took_ms = run->ended_ms - run->started_ms;
    if (run->ended_ms && took_ms < 0)
        snprintf(took, sizeof took, "?"); /* the clock was set back meanwhile: the duration is unknown */
    else if (run->ended_ms)
        snprintf(took, sizeof took, "%.1f s", (double)took_ms / 1000);
    printf("%-36s  %-9s  %-19s  %9s  %-12s  %s\n", uuid, tfy__db_run_state(run, held), started, took, hash, name);
}

static int list(const TfyArgs *args)
{
    TfyLog *log;
    TfyLogRun *runs;
    char **names;
    uint32_t count;
    const bool before = tfy__db_held(tfy__db_path(args));
    const int status = tfy__db_open(args, &log);
    if (status != EXIT_DONE) return status;
    const int code = tfy__log_runs(log, &runs, &names, &count);
    char(*hashes)[33] = code ? NULL : read_hashes(log, runs, count);
    tfy__log_close(log, false);
    if (code)
        return tfy__fail(tfy__exit_status(code), "the runs of %s cannot be read; restore it from a copy",
                         tfy__db_path(args));
    if (!hashes) return tfy__fail(EXIT_BUG, "memory ran out");
    const bool held = before || tfy__db_held(tfy__db_path(args)), json = args->option[OPT_JSON];
    if (json)
        printf("[");
    else if (count)
        printf("%-36s  %-9s  %-19s  %9s  %-12s  %s\n", "RUN", "STATE", "STARTED", "TOOK", "PROGRAM", "WORKFLOW");
    for (uint32_t i = 0; i < count; i++) {
        if (json)
            print_object(&runs[i], names[i], hashes[i], held, i == 0);
        else
            print_row(&runs[i], names[i], hashes[i], held);
        free(names[i]);
    }
    if (json)
        printf("%s]\n", count ? "\n" : "");
    else if (!count)
        tfy__say("%s has no runs yet", tfy__db_path(args));
    free(hashes);
    free(names);
    free(runs);
    return tfy__flush_stdout(EXIT_DONE);
}

int tfy__cmd_ps(const TfyArgs *args)
{
    return list(args);
}
