/* events.c: tfy events: the records of a database as events, as a server's streams have them, and on request those that
 * follow. It only reads the file, whether a process works with it or not. */
#include "cli/frame/commands.h"
#include "cli/look/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tfy.h"

typedef struct Printing {
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

static int print_all(TfyEvents *events, Printing *printing, bool follows)
{
    const struct timespec pause = {.tv_nsec = 200000000};
    int code, status;
    do {
        code = tfy__events_see(events, printing->lsn + 1, print, printing);
        status = tfy__flush_stdout(code < 0 ? tfy__exit_status(code) : EXIT_DONE);
        if (follows && status == EXIT_DONE) nanosleep(&pause, NULL);
    } while (follows && status == EXIT_DONE);
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
    Printing printing = {.lsn = 0};
    char error[TFY_ERROR_TEXT];
    int status = read_after(args, &printing.lsn);
    if (status != EXIT_DONE) return status;
    if (args->option[OPT_TYPE] && !tfy__event_types(args->option[OPT_TYPE], &printing.filter.types, error))
        return tfy__fail(EXIT_USAGE, "%s", error);
    TfyEvents *events = tfy__events_open(tfy__db_path(args), error);
    if (!events) return tfy__fail(EXIT_MISSING, "%s", error);
    status = print_all(events, &printing, args->option[OPT_FOLLOW]);
    tfy__buffer_free(&printing.line);
    tfy__events_close(events);
    return status;
}
