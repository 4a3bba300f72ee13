/* result.c: tfy result: prints the result of a run; for an unfinished run, what it waits for. */
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/look/db.h"
#include "cli/look/inspect.h"
#include "cli/program/result.h"
#include "tfy.h"
#include "wal/history/history.h"

#include <stdio.h>
#include <string.h>

static int not_ended(const TfyArgs *args, const TfyHistory *history, bool held)
{
    const char *db_path = tfy__db_path(args);
    const json_t *item;
    size_t i;
    json_t *report = tfy__inspect_report(history, db_path, held);
    const bool stopped = strcmp(tfy__json_text(report, "state"), "stopped") == 0;
    tfy__say("run %s has not ended; it is %s", tfy__json_text(report, "run"), tfy__json_text(report, "state"));
    json_array_foreach(json_object_get(report, "tasks"), i, item)
    {
        if (*tfy__json_text(item, "waits_for"))
            fprintf(stderr, "  task %s %s:\n", tfy__json_text(item, "task"), tfy__json_text(item, "workflow"));
        tfy__inspect_waits(stderr, item, stopped, false);
    }
    json_array_foreach(json_object_get(report, "next"), i, item) fprintf(stderr, "  %s\n", json_string_value(item));
    json_decref(report);
    return EXIT_WAITING;
}

static int result(const TfyArgs *args, const TfyHistory *history, bool held)
{
    return history->run.state >= TFY_TASK_COMPLETED ? tfy__result_print(history) : not_ended(args, history, held);
}

int tfy__cmd_result(const TfyArgs *args)
{
    return tfy__db_with_history(args, result);
}
