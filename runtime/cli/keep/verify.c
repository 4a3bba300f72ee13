/* verify.c: tfy verify: checks the whole database; prints the errors first, then what to type. */
#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#include "cli/cluster/verify.h"
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/frame/progress.h"
#include "tfy.h"
#include "wal/store/store.h"
#include "wal/keep/verify.h"

static void print_json(const char *db, const TfyVerified *found, int code, const char *error)
{
    json_t *report = json_pack("{s:s,s:b}", "db", db, "sound", code == 0);
    if (code) json_object_set_new(report, "error", json_string(error));
    if (found->bad_record) json_object_set_new(report, "record", json_integer(found->bad_record));
    if (found->bad_task >= 0) json_object_set_new(report, "task", json_integer(found->bad_task));
    if (found->bad_run[0]) json_object_set_new(report, "run", json_string(found->bad_run));
    json_t *counts = json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "pages", found->pages, "marks", found->marks,
                               "records", found->records, "last", found->last, "deleted", found->base + found->gone,
                               "runs", found->runs, "tasks", found->tasks, "programs", found->programs);
    json_object_update_new(report, counts);
    tfy__report_print(report, 2);
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_text(const char *db, const TfyVerified *found)
{
    printf("%s is sound: %" PRId64 " record%s of %" PRId64 " task%s in %" PRId64 " run%s, %" PRId64 " mark%s, %" PRId64
           " program%s, %" PRId64 " page%s; the newest record is %" PRId64 "\n",
           db, found->records, plural(found->records), found->tasks, plural(found->tasks), found->runs,
           plural(found->runs), found->marks, plural(found->marks), found->programs, plural(found->programs),
           found->pages, plural(found->pages), found->last);
    if (found->base + found->gone)
        printf("%" PRId64 " records were deleted by tfy gc, as the marks say\n", found->base + found->gone);
}

static int verify(const TfyArgs *args)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyProgress progress = {0};
    TfyVerified found;
    const char *db = tfy__db_path(args);
    const int code = tfy__verify(db, tfy__progress, &progress, &found, error);
    tfy__progress_end(&progress);
    if (args->option[OPT_JSON] && (!code || code == TFY_E_DATA)) print_json(db, &found, code, error);
    if (code) tfy__fail(tfy__exit_status(code), "%s", error);
    if (code == TFY_E_DATA && tfy__store_identify(db, NULL) == 0)
        tfy__say("restore it from a copy, or copy what can be read: tfy salvage %s NEW.db", db);
    if (!code && !args->option[OPT_JSON]) print_text(db, &found);
    return tfy__flush_stdout(tfy__exit_status(code));
}

int tfy__cmd_verify(const TfyArgs *args)
{
    return tfy__db_is_shared(args) ? tfy__cluster_verify(args) : verify(args);
}
