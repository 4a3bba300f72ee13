/* root.c: the process's working root, and which runs work there (wal/log/root.h).
 *
 * A process has one root. It resumes the runs that work in it and leaves the others: a run requested by name is
 * refused with both paths, unless the embedding program requested the move; without a name such runs are skipped.
 * Runs of older versions do not record where they work, and continue in the process's root. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "core/loop/state.h"
#include "wal/history/move.h"
#include "wal/history/history.h"

int tfy__root_open(TfyLoop *loop, char *error_text)
{
    const char *path = loop->options.root ? loop->options.root : ".";
    loop->root.path = realpath(path, NULL);
    loop->root_fd = loop->root.path ? open(loop->root.path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (loop->root_fd < 0 || (loop->world.look_root && !loop->world.look_root(loop->root_fd, &loop->root))) {
        snprintf(error_text, TFY_ERROR_TEXT, "the working root '%s' cannot be opened: %s", path, strerror(errno));
        return TFY_E_ABSENT;
    }
    loop->root_known = loop->world.look_root;
    return 0;
}

void tfy__root_close(TfyLoop *loop)
{
    if (loop->root_fd >= 0) close(loop->root_fd);
    tfy__root_free(&loop->root);
    free(loop->elsewhere.ids);
}

bool tfy__root_serves(const TfyLoop *loop, const TfyRoot *recorded)
{
    if (!loop->root_known) return true;
    return recorded->path ? tfy__root_leads(recorded, &loop->root) : !loop->only_rooted;
}

void tfy__leave_rootless(TfyLoop *loop)
{
    loop->only_rooted = true;
}

uint32_t tfy__left_elsewhere(const TfyLoop *loop)
{
    return loop->left_elsewhere;
}

/* ---- parked runs ---- */

/* The run's index in the list, or where it would be inserted. */
static size_t place_of(const TfyLoop *loop, int64_t run)
{
    size_t low = 0, high = loop->elsewhere.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (loop->elsewhere.ids[middle] < run)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_known(const TfyLoop *loop, size_t place, int64_t run)
{
    return place < loop->elsewhere.count && loop->elsewhere.ids[place] == run;
}

static int remember(TfyLoop *loop, size_t place, int64_t run)
{
    int64_t *ids;
    if (!GROW(loop->elsewhere.ids, loop->elsewhere.room, loop->elsewhere.count + 1, 64)) return TFY_E_NOMEM;
    ids = loop->elsewhere.ids;
    memmove(ids + place + 1, ids + place, (loop->elsewhere.count++ - place) * sizeof *ids);
    ids[place] = run;
    return 1;
}

static void forget(TfyLoop *loop, int64_t run)
{
    const size_t place = place_of(loop, run);
    int64_t *ids = loop->elsewhere.ids;
    if (is_known(loop, place, run))
        memmove(ids + place, ids + place + 1, (--loop->elsewhere.count - place) * sizeof *ids);
}

int tfy__root_elsewhere(void *state, const TfyLogRun *run)
{
    TfyLoop *loop = state;
    TfyRoot root;
    if (!loop->root_known) return 0;
    const size_t place = place_of(loop, run->id);
    if (is_known(loop, place, run->id)) return 1;
    const int code = tfy__log_root_locked(loop->log, run, &root);
    const bool here = tfy__root_serves(loop, &root);
    tfy__root_free(&root);
    return code ? code : here ? 0 : remember(loop, place, run->id);
}

bool tfy__root_has_parked(TfyLoop *loop, const TfyLogRun *run)
{
    TfyRoot root;
    if (!loop->root_known) return true;
    const int code = tfy__log_root(loop->log, run, &root);
    const bool here = !code && tfy__root_serves(loop, &root);
    tfy__root_free(&root);
    return here;
}

/* ---- by name ---- */

int tfy__root_check(const TfyLoop *loop, const TfyHistory *history, char *error_text)
{
    char uuid[37];
    if (!history->root.path || loop->options.move_root || tfy__root_serves(loop, &history->root)) return 0;
    tfy__uuid_text(history->run.uuid, uuid);
    snprintf(error_text, TFY_ERROR_TEXT,
             "run %s works in %.180s, and this process in %.180s%s; --root DIR (move_root in TfyOptions) moves it",
             uuid, history->root.path, loop->root.path,
             strcmp(history->root.path, loop->root.path) == 0 ? ", another directory" : "");
    return TFY_E_STATE;
}

int tfy__root_take(TfyLoop *loop, TfyHistory *history, char *error_text)
{
    int code = tfy__root_check(loop, history, error_text);
    if (code || !history->root.path || tfy__root_serves(loop, &history->root)) return code;
    code = tfy__root_move(loop->log, history, &loop->root);
    if (code) {
        snprintf(error_text, TFY_ERROR_TEXT, "the log could not be written");
        return code;
    }
    forget(loop, history->run.id);
    return 1;
}
