/* where.c: see where.h. */
#include "cli/program/where.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wal/log/root.h"
#include "wal/history/history.h"

bool tfy__where_is(const TfyHistory *history, const char *dir)
{
    TfyRoot here = {.path = realpath(dir, NULL)};
    const bool is = here.path && history->root.path && tfy__root_look_at(here.path, &here) &&
                    tfy__root_leads(&history->root, &here);
    tfy__root_free(&here);
    return is;
}

static int refuse(const TfyHistory *history, int status, const char *why)
{
    char run[37], *here = realpath(".", NULL);
    tfy__uuid_text(history->run.uuid, run);
    status = tfy__fail(status,
                       "run %s worked in %s, %s; this is %s; if its files are in another directory now, say which: "
                       "resume %s --root DIR",
                       run, history->root.path, why, here ? here : "nowhere", run);
    free(here);
    return status;
}

int tfy__where_check(const TfyHistory *history)
{
    TfyRoot now = {.path = history->root.path};
    if (!tfy__root_look_at(history->root.path, &now)) return refuse(history, EXIT_MISSING, strerror(errno));
    if (!tfy__root_is(&now, &history->root)) return refuse(history, EXIT_DATA, "but another directory is there now");
    return EXIT_DONE;
}

int tfy__where_choose(const TfyArgs *args, const TfyHistory *history, TfyWhere *choice)
{
    const char *given = args->option[OPT_ROOT];
    char run[37];
    *choice = (TfyWhere){.root = given};
    if (!history->root.path) return EXIT_DONE;
    choice->moves = given && !tfy__where_is(history, given);
    if (given || tfy__where_is(history, ".")) return EXIT_DONE;
    const int status = tfy__where_check(history);
    if (status != EXIT_DONE) return status;
    choice->root = history->root.path;
    tfy__uuid_text(history->run.uuid, run);
    tfy__say("run %s continues in %s, where it worked before", run, choice->root);
    return EXIT_DONE;
}
