/* fork.c: tfy fork: a new run that starts with the records of another one up to a step. */
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/look/db.h"
#include "cli/answer/request.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns NULL after a message. */
static json_t *read_request(const TfyArgs *args)
{
    const char *at = args->option[OPT_AT];
    char *end = NULL;
    errno = 0;
    const long long step = at && *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : -1;
    if (!at || !end || *end || errno) {
        if (at)
            tfy__say("a step is a number from 0, not '%.60s'; 'tfy timeline' and 'tfy inspect' show a run's steps", at);
        else
            tfy__say("fork needs --at STEP, the last step that the new run keeps");
        return NULL;
    }
    json_t *request = tfy__request_new(args, "fork");
    json_object_set_new(request, "step", json_integer(step));
    if (!tfy__request_json(request, "value", args->option[OPT_SET_RESULT], "--set-result takes a result as JSON")) {
        json_decref(request);
        return NULL;
    }
    return request;
}

/* Lists the once steps that the other run had started and not finished. */
static json_t *list_doubts(const TfyHistory *history)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < history->task_count; i++) {
        const TfyLogRecord *newest = NULL;
        for (uint32_t j = 0; j < history->record_count; j++)
            if (history->record_tasks[j] == i && !tfy__record_is_nobodys(&history->records[j]))
                newest = &history->records[j]; /* a worker may have claimed it */
        if (!newest || newest->type != TFY_R_IN_DOUBT) continue;
        TfyPayload payload;
        tfy__payload_open(&payload, newest);
        json_array_append_new(list,
                              json_pack("{s:s,s:I,s:O?}", "task", history->tasks[i].path, "step",
                                        (json_int_t)newest->step, "tool", tfy__payload_get(&payload, TFY_P_TOOL)));
        tfy__payload_close(&payload);
    }
    return list;
}

static void say_doubts(const json_t *doubts, const char *command, const char *run)
{
    const json_t *one;
    size_t i;
    json_array_foreach(doubts, i, one)
    {
        const char *task = json_string_value(json_object_get(one, "task")),
                   *tool = json_string_value(json_object_get(one, "tool"));
        const long long step = json_integer_value(json_object_get(one, "step"));
        fprintf(stderr,
                "step %lld (%s) of task %s was under way in the other run, which may have done it; say which:\n", step,
                tool ? tool : "?", task);
        fprintf(stderr, "  %s resolve %s %lld --task %s --done JSON|--retry|--fail\n", command, run, step, task);
    }
}

static int report(const TfyArgs *args, const char *run, bool live)
{
    const char *db_path = tfy__db_path(args), *command = tfy__tfy_command(db_path), *words[] = {run};
    TfyArgs made = *args;
    TfyHistory *history = NULL;
    made.words = words;
    made.word_count = 1;
    int status = tfy__db_history(&made, &history);
    if (status != EXIT_DONE) return status;
    json_t *doubts = list_doubts(history);
    if (args->option[OPT_JSON]) {
        json_t *json = json_pack("{s:s,s:O}", "run", run, "doubts", doubts);
        tfy__report_line(json);
    } else {
        puts(run);
        say_doubts(doubts, command, run);
        if (tfy__db_is_shared(args))
            tfy__say("forked; a worker continues it");
        else
            tfy__say("forked; %s: %s resume %s",
                     live ? "when the process that has the database has ended, continue with" : "continue with",
                     command, run);
    }
    json_decref(doubts);
    tfy__history_free(history);
    return tfy__flush_stdout(EXIT_DONE);
}

static int fork_run(const TfyArgs *args)
{
    TfyDelivery delivery;
    json_t *request = read_request(args);
    if (!request) return EXIT_USAGE;
    const int code = tfy__request_send(args, request, &delivery);
    json_decref(request);
    return code == TFY_OK ? report(args, delivery.run, delivery.live)
                          : tfy__fail(tfy__exit_status(code), "%s", delivery.text);
}

int tfy__cmd_fork(const TfyArgs *args)
{
    return fork_run(args);
}
