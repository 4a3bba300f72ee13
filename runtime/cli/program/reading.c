#include "cli/program/reading.h"

#include "tfy.h"
#include "wal/store/pg_address.h"

int tfy__db_open(const TfyArgs *args, TfyLog **log)
{
    char error[TFY_ERROR_TEXT] = "";
    const TfyLogOptions options = {.path = tfy__db_path(args), .read_only = true, .existing = true};
    *log = NULL;
    const int code = tfy__pg_is_address(options.path) ? tfy__db_open_shared(options.path, log, error)
                                                      : tfy__log_open(log, &options, error);
    return code == TFY_OK ? EXIT_DONE : tfy__fail(tfy__exit_status(code), "%s", error);
}

int tfy__db_read(TfyLog *log, TfyHistoryReader reader, const char *run, TfyHistory **history)
{
    char error[TFY_ERROR_TEXT] = "";
    *history = NULL;
    const int code = reader(log, run, history, error);
    return code == TFY_OK ? EXIT_DONE : tfy__fail(tfy__exit_status(code), "%s", error);
}
