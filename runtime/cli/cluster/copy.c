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

static int read_run(const TfyArgs *args, const char *run, TfyHistory **history)
{
    TfyLog *log;
    int status = tfy__db_open(args, &log);
    if (status != EXIT_DONE) return status;
    status = tfy__db_read(log, tfy__history_read_whole, run, history);
    tfy__log_close(log, false);
    return status;
}

/* The directory outlives this process if another program takes its place. */
static int make_place(char **path)
{
    TfyCaretaker caretaker = {.pid = 0};
    const int error = tfy__caretaker_start(&caretaker);
    if (error || fcntl(caretaker.held, F_SETFD, 0) < 0)
        return tfy__fail(EXIT_LOG, "no directory can be made for a copy of the run: %s; TMPDIR names another place",
                         strerror(error ? error : errno));
    if (asprintf(path, "%s/runs.db", caretaker.path) >= 0) return EXIT_DONE;
    *path = NULL;
    return tfy__fail(EXIT_BUG, "memory ran out");
}

static int write_run(TfyLog *log, TfyHistory *history, char *error)
{
    int64_t doubts;
    const TfyTicket ticket = tfy__log_opened(log, tfy_version(), "imports");
    int code = ticket < 0 ? (int)ticket : tfy__import_run(log, history, &doubts, error);
    if (!code && (code = tfy__log_sync(log))) tfy__log_error_text(log, error);
    return code;
}

static int write_file(const char *path, TfyHistory *history)
{
    char error[TFY_ERROR_TEXT] = "", closing[TFY_ERROR_TEXT] = "";
    TfyLog *log;
    const TfyLogOptions options = {.path = path, .no_thread = true};
    int code = tfy__log_open(&log, &options, error);
    if (code) return tfy__fail(tfy__exit_status(code), "%s", error);
    code = write_run(log, history, error);
    const int closed = tfy__log_close_saying(log, true, closing);
    if (code) return tfy__fail(tfy__exit_status(code), "the run cannot be copied into a file: %.400s", error);
    return closed ? tfy__fail(tfy__exit_status(closed), "%s", closing) : EXIT_DONE;
}

int tfy__run_copy(const TfyArgs *args, const char *run, char **path)
{
    TfyHistory *history = NULL;
    *path = NULL;
    int status = read_run(args, run, &history);
    if (status == EXIT_DONE) status = make_place(path);
    if (status == EXIT_DONE) status = write_file(*path, history);
    tfy__history_free(history);
    return status;
}
