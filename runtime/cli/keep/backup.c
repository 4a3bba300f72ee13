/* backup.c: tfy backup and tfy adopt: copy a database, and turn a copy into a database of its own. */
#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/frame/progress.h"
#include "tfy.h"
#include "wal/keep/backup.h"

static int backup(const TfyArgs *args)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyProgress progress = {0};
    TfyVerified copy;
    const char *db = tfy__db_path(args), *to = args->words[0];
    const int code = tfy__backup(db, to, tfy__progress, &progress, &copy, error);
    tfy__progress_end(&progress);
    if (code) return tfy__fail(tfy__exit_status(code), "%s", error);
    if (args->option[OPT_JSON])
        tfy__report_print(json_pack("{s:s,s:s,s:I,s:I,s:I}", "db", db, "copy", to, "last", copy.last, "records",
                                    copy.records, "runs", copy.runs),
                          2);
    else
        tfy__say("%s is a copy of %s up to record %" PRId64 ", checked: %" PRId64 " run%s", to, db, copy.last,
                 copy.runs, copy.runs == 1 ? "" : "s");
    return tfy__flush_stdout(EXIT_DONE);
}

static int adopt(const TfyArgs *args)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyAdopted adopted;
    const char *db = tfy__db_path(args);
    const int code = tfy__adopt(db, tfy_version(), args->option[OPT_FORCE] != NULL, &adopted, error);
    if (code) return tfy__fail(tfy__exit_status(code), "%s", error);
    if (args->option[OPT_JSON]) {
        tfy__report_print(json_pack("{s:s,s:b,s:I,s:I,s:I}", "db", db, "adopted", !adopted.own, "epoch", adopted.epoch,
                                    "unfinished", adopted.runs, "in_doubt", adopted.doubts),
                          2);
        return tfy__flush_stdout(EXIT_DONE);
    }
    if (adopted.own) {
        tfy__say("%s is not a copy and opens as it is; nothing was changed (--force adopts it all the same)", db);
        return EXIT_DONE;
    }
    tfy__say("%s is a database of its own now; unfinished runs: %" PRId64 ", steps in doubt: %" PRId64, db,
             adopted.runs, adopted.doubts);
    if (adopted.runs) tfy__say("'%s doctor' says what each waits for", tfy__tfy_command(db));
    return EXIT_DONE;
}

int tfy__cmd_backup(const TfyArgs *args)
{
    return backup(args);
}

int tfy__cmd_adopt(const TfyArgs *args)
{
    return adopt(args);
}
