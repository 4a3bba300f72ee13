/* import.c: tfy wal import: imports runs that tfy wal export wrote. It reads and checks everything before it writes,
 * and imports a run in one commit: the file or the database of PostgreSQL has the whole run or nothing of it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cluster/carry.h"
#include "cli/frame/commands.h"
#include "cli/keep/exported.h"
#include "wal/keep/import.h"
#include "wal/log/saved.h"
#include "wal/store/store.h"
#include "wal/history/history.h"

static int64_t count_rows(const TfySavedRows *saved)
{
    int64_t count = 0;
    for (; saved; saved = saved->next) count += saved->row_count;
    return count;
}

static void tell(const TfyHistory *history, int64_t doubts, bool json)
{
    char uuid[37], rows[64] = "";
    const int64_t count = count_rows(history->saved);
    tfy__uuid_text(history->run.uuid, uuid);
    if (json) {
        printf("{\"run\":\"%s\",\"records\":%u,\"rows\":%" PRId64 ",\"in_doubt\":%" PRId64 "}\n", uuid,
               history->record_count, count, doubts);
        return;
    }
    if (count) snprintf(rows, sizeof rows, ", %" PRId64 " saved row%s", count, count == 1 ? "" : "s");
    tfy__say("run %s: %u records of %u tasks%s%s", uuid, history->record_count, history->task_count, rows,
             doubts ? "; steps under way are in doubt now, 'tfy inspect' shows them" : "");
}

/* Where the runs go: a file, or a database of PostgreSQL. */
typedef struct Place {
    TfyLog *log;
    bool shared;
    TfyCarry carry; /* of a shared database; has the log, too */
} Place;

static int open_file(const TfyArgs *args, Place *place, char *error)
{
    const TfyLogOptions options = {.path = tfy__db_path(args), .no_thread = true};
    const int code = tfy__log_open(&place->log, &options, error);
    if (code) return code;
    const TfyTicket ticket = tfy__log_opened(place->log, tfy_version(), "imports");
    if (ticket >= 0) return 0;
    tfy__log_error_text(place->log, error);
    return (int)ticket;
}

static int open_place(const TfyArgs *args, Place *place, char *error)
{
    *place = (Place){.shared = tfy__db_is_shared(args)};
    if (!place->shared) return open_file(args, place, error);
    const int code = tfy__carry_open(tfy__db_path(args), "tfy wal import", &place->carry, error);
    place->log = place->carry.log;
    return code;
}

static int close_place(Place *place, char *error)
{
    return place->shared ? tfy__carry_close(&place->carry, error) : tfy__log_close_saying(place->log, true, error);
}

static int put_run(Place *place, TfyHistory *history, int64_t *doubts, char *why)
{
    const int code = place->shared ? tfy__carry_place(&place->carry, history, why) : 0;
    return code ? code : tfy__import_run(place->log, history, doubts, why);
}

static int write_run(Place *place, TfyExported *exported, bool json)
{
    int64_t doubts = 0;
    char why[TFY_ERROR_TEXT] = "";
    int code = put_run(place, exported->history, &doubts, why);
    if (code == TFY_E_DATA)
        return tfy__log_refuse(exported->error, code, "%s: %.400s; it was not imported", exported->name, why);
    if (code) return tfy__log_refuse(exported->error, code, "%s", why);
    if ((code = place->shared ? tfy__carry_sync(&place->carry) : tfy__log_sync(place->log))) {
        tfy__log_error_text(place->log, exported->error);
        return place->shared ? TFY_E_IO : code;
    }
    if (!place->shared) tfy__import_epoch(place->log, exported->epoch);
    tell(exported->history, doubts, json);
    return 0;
}

static int import_all(const TfyArgs *args, TfyExported *exported, int count)
{
    char error[TFY_ERROR_TEXT] = "";
    Place place;
    int code = open_place(args, &place, error);
    int status = code ? tfy__fail(tfy__exit_status(code), "%s", error) : EXIT_DONE;
    for (int i = 0; i < count && !code; i++) {
        code = write_run(&place, &exported[i], args->option[OPT_JSON]);
        if (code) status = tfy__fail(tfy__exit_status(code), "%s", exported[i].error);
        if (code == TFY_E_STATE || code == TFY_E_DATA) code = 0; /* this run is refused; the others may follow */
    }
    const int closed = close_place(&place, error);
    if (closed && status == EXIT_DONE) status = tfy__fail(tfy__exit_status(closed), "%s", error);
    return tfy__flush_stdout(status);
}

static int import(const TfyArgs *args)
{
    TfyExported *exported = calloc((size_t)args->word_count + 1, sizeof *exported);
    int status = exported ? EXIT_DONE : tfy__fail(EXIT_BUG, "memory ran out"), count = 0;
    while (status == EXIT_DONE && count < args->word_count) {
        exported[count].name = args->words[count];
        const int code = tfy__exported_read(&exported[count]);
        if (code) status = tfy__fail(tfy__exit_status(code), "%s; nothing was imported", exported[count].error);
        count++;
    }
    if (status == EXIT_DONE) status = import_all(args, exported, count);
    for (int i = 0; i < count; i++) tfy__exported_free(&exported[i]);
    free(exported);
    return status;
}

int tfy__cmd_wal_import(const TfyArgs *args)
{
    return import(args);
}
