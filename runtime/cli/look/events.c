/* events.c: tfy events: the records of a database, or of a run, as events, as a server's streams have them, and on request
 * those that follow. It only reads, whether a process works with the database or not. In a database of PostgreSQL records are
 * numbered within their run, so there are no events of all runs. */
#include "cli/frame/commands.h"
#include "cli/look/event.h"
#include "cli/program/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tfy.h"

typedef struct Printing {
    const TfyArgs *args;
    const char *run; /* as it is named; NULL: all */
    int64_t id;      /* its row id */
    bool ended;      /* all of its records are there */
    TfyEventFilter filter;
    int64_t lsn; /* of the newest record that was looked at */
    TfyBuffer line;
} Printing;

static int print(void *arg, const TfyEvent *event)
{
    Printing *printing = arg;
    printing->lsn = event->record->lsn;
    if (!tfy__event_wanted(&printing->filter, event->run, event->task, event->record->type)) return 0;
    tfy__buffer_reset(&printing->line);
    tfy__event_text(event, &printing->line);
    tfy__buffer_char(&printing->line, '\n');
    if (printing->line.failed) return TFY_E_NOMEM;
    fwrite(printing->line.data, 1, printing->line.len, stdout);
    return ferror(stdout);
}

/* Which run is meant, and whether it has ended. */
static int look_run(Printing *printing)
{
    TfyLog *log;
    TfyLogRun run;
    char error[TFY_ERROR_TEXT] = "";
    if (!printing->run) return EXIT_DONE;
    const int status = tfy__db_open(printing->args, &log);
    if (status != EXIT_DONE) return status;
    const int code = tfy__history_find(log, printing->id ? printing->filter.run : printing->run, &run, error);
    tfy__log_close(log, false);
    if (code) return tfy__fail(tfy__exit_status(code), "%s", error);
    tfy__uuid_text(run.uuid, printing->filter.run);
    printing->id = run.id;
    printing->ended = run.state >= TFY_TASK_COMPLETED;
    return EXIT_DONE;
}

/* Follows a run until it has ended. */
static int print_all(TfyEvents *events, Printing *printing, bool follows)
{
    const struct timespec pause = {.tv_nsec = 200000000};
    int code = 0, status = EXIT_DONE;
    bool again = true;
    while (again && status == EXIT_DONE) {
        again = follows && !printing->ended;
        code = tfy__events_see_of(events, printing->id, printing->lsn + 1, print, printing);
        status = tfy__flush_stdout(code < 0 ? tfy__exit_status(code) : EXIT_DONE);
        if (!again || status != EXIT_DONE) break;
        nanosleep(&pause, NULL);
        status = look_run(printing);
    }
    return code < 0 ? tfy__fail(status, "the log cannot be read") : status;
}

static int read_after(const TfyArgs *args, int64_t *lsn)
{
    const char *text = args->option[OPT_AFTER];
    char *end = NULL;
    if (!text) return EXIT_DONE;
    *lsn = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : 0;
    if (end && !*end && strlen(text) < 19) return EXIT_DONE;
    return tfy__fail(EXIT_USAGE, "--after takes the number of a record, not '%s'", text);
}

int tfy__cmd_events(const TfyArgs *args)
{
    Printing printing = {.args = args, .run = args->word_count ? args->words[0] : NULL};
    char error[TFY_ERROR_TEXT];
    int status = read_after(args, &printing.lsn);
    if (status != EXIT_DONE) return status;
    if (args->option[OPT_TYPE] && !tfy__event_types(args->option[OPT_TYPE], &printing.filter.types, error))
        return tfy__fail(EXIT_USAGE, "%s", error);
    if (!printing.run && tfy__db_is_shared(args))
        return tfy__fail(EXIT_USAGE, "in a database of PostgreSQL, events are those of a run: %s events RUN",
                         tfy__tfy_command(tfy__db_path(args)));
    status = look_run(&printing);
    if (status != EXIT_DONE) return status;
    TfyEvents *events = tfy__events_open(tfy__db_path(args), error);
    if (!events) return tfy__fail(EXIT_MISSING, "%s", error);
    status = print_all(events, &printing, args->option[OPT_FOLLOW]);
    tfy__buffer_free(&printing.line);
    tfy__events_close(events);
    return status;
}
