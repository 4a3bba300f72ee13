/* copy.c: see copy.h. */
#include "cli/cluster/copy.h"

#include "cli/program/reading.h"
#include "effects/caretaker.h"
#include "tfy.h"
#include "wal/history/history.h"
#include "wal/keep/import.h"
#include "wal/log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The directory outlives this process if another program takes its place. */
static int make_place(char **path)
{
    TfyCaretaker caretaker = {.pid = 0};
    const int error = tfy__caretaker_start(&caretaker);
    if (error || fcntl(caretaker.held, F_SETFD, 0) < 0)
        return tfy__fail(EXIT_LOG, "no directory can be made for a copy of the runs: %s; TMPDIR names another place",
                         strerror(error ? error : errno));
    if (asprintf(path, "%s/runs.db", caretaker.path) >= 0) return EXIT_DONE;
    *path = NULL;
    return tfy__fail(EXIT_BUG, "memory ran out");
}

static int copy_run(TfyLog *from, const char *run, TfyLog *to)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyHistory *history = NULL;
    int64_t doubts;
    const int status = tfy__db_read(from, tfy__history_read_whole, run, &history);
    if (status != EXIT_DONE) return status;
    int code = tfy__import_run(to, history, &doubts, error);
    if (!code && (code = tfy__log_sync(to))) tfy__log_error_text(to, error);
    tfy__history_free(history);
    return code ? tfy__fail(tfy__exit_status(code), "run %s cannot be copied into a file: %.400s", run, error)
                : EXIT_DONE;
}

static int open_file(const char *path, TfyLog **log)
{
    char error[TFY_ERROR_TEXT] = "";
    const TfyLogOptions options = {.path = path, .no_thread = true};
    int code = tfy__log_open(log, &options, error);
    if (code) return tfy__fail(tfy__exit_status(code), "%s", error);
    const TfyTicket ticket = tfy__log_opened(*log, tfy_version(), "imports");
    return ticket < 0 ? tfy__fail(tfy__exit_status((int)ticket), "%s cannot be written", path) : EXIT_DONE;
}

int tfy__runs_copy(const TfyArgs *args, const char *const *runs, uint32_t count, char **path)
{
    char closing[TFY_ERROR_TEXT] = "";
    TfyLog *from = NULL, *to = NULL;
    *path = NULL;
    int status = tfy__db_open(args, &from);
    if (status == EXIT_DONE) status = make_place(path);
    if (status == EXIT_DONE) status = open_file(*path, &to);
    for (uint32_t i = 0; i < count && status == EXIT_DONE; i++) status = copy_run(from, runs[i], to);
    const int closed = to ? tfy__log_close_saying(to, true, closing) : 0;
    if (from) tfy__log_close(from, false);
    if (closed && status == EXIT_DONE) status = tfy__fail(tfy__exit_status(closed), "%s", closing);
    return status;
}
