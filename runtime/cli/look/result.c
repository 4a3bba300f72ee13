/* result.c: tfy result: what a run came to; of one that has not ended, what it waits for. */
#include "cli/look/db.h"
#include "cli/look/inspect.h"
#include "cli/program/result.h"
#include "tfy.h"
#include "wal/history/history.h"

#include <stdio.h>
#include <string.h>

static const char *text_of(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text ? text : "";
}

static int not_ended(const TfyArgs *args, const TfyHistory *history, bool held)
{
    const char *db_path = tfy__db_path(args);
    const json_t *item;
    size_t i;
    json_t *report = tfy__inspect_report(history, db_path, held);
    const bool stopped = strcmp(text_of(report, "state"), "stopped") == 0;
    tfy__say("run %s has not ended; it is %s", text_of(report, "run"), text_of(report, "state"));
    json_array_foreach(json_object_get(report, "tasks"), i, item)
    {
        if (*text_of(item, "waits_for"))
            fprintf(stderr, "  task %s %s:\n", text_of(item, "task"), text_of(item, "workflow"));
        tfy__inspect_waits(stderr, item, stopped);
    }
    json_array_foreach(json_object_get(report, "next"), i, item) fprintf(stderr, "  %s\n", json_string_value(item));
    json_decref(report);
    return EXIT_WAITING;
}

int tfy__cmd_result(int argc, char **argv)
{
    TfyArgs args;
    TfyHistory *history = NULL;
    int status = tfy__args_parse(argc, argv, &args);
    if (status < 0) {
        const bool held = tfy__db_held(tfy__db_path(&args));
        status = tfy__db_history(&args, &history);
        if (status == EXIT_DONE)
            status =
                history->run.state >= TFY_TASK_COMPLETED ? tfy__result_print(history) : not_ended(&args, history, held);
    }
    tfy__history_free(history);
    tfy__args_free(&args);
    return status;
}
