/* root.c: the working roots of the programs, and which runs work there (wal/log/root.h).
 *
 * A program has one root, and programs with the same one share it. The loop resumes the runs that work in the root of
 * their program and leaves the others: a run requested by name is refused with both paths, unless the embedding program
 * requested the move; without a name such runs are skipped. Runs of older versions do not record where they work, and
 * continue in their program's root. */
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

static void free_root(Root *root)
{
    if (root->fd >= 0) close(root->fd);
    tfy__root_free(&root->at);
    free(root);
}

/* A root that is the same directory by the same path, or this one, which the loop takes. */
static Root *shared(TfyLoop *loop, Root *root)
{
    Root *other = loop->roots.first;
    while (other && !(strcmp(other->at.path, root->at.path) == 0 && tfy__root_is(&other->at, &root->at)))
        other = other->next;
    if (other)
        free_root(root);
    else
        LIST_APPEND(&loop->roots, root, next);
    return other ? other : root;
}

int tfy__root_open(TfyLoop *loop, const char *path, Root **out, char *error_text)
{
    Root *root = calloc(1, sizeof *root);
    if (!root) return TFY_E_NOMEM;
    if (!path) path = ".";
    root->at.path = realpath(path, NULL);
    root->fd = root->at.path ? open(root->at.path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (root->fd < 0 || (loop->world.look_root && !loop->world.look_root(root->fd, &root->at))) {
        snprintf(error_text, TFY_ERROR_TEXT, "the working root '%s' cannot be opened: %s", path, strerror(errno));
        free_root(root);
        return TFY_E_ABSENT;
    }
    loop->root_known = loop->world.look_root;
    *out = shared(loop, root);
    return 0;
}

void tfy__roots_close(TfyLoop *loop)
{
    for (Root *root; (root = LIST_TAKE(&loop->roots, next));) free_root(root);
    free(loop->elsewhere.ids);
}

const char *tfy__root(TfyTask *task)
{
    const Root *root = rest_of(task)->run->loaded->root;
    return root ? root->at.path : NULL;
}

int tfy__root_fd(TfyTask *task)
{
    return rest_of(task)->run->loaded->root->fd;
}

const char *tfy__program_root(TfyLoop *loop, const TfyProgram *program)
{
    return tfy__loaded_as(loop, program)->root->at.path;
}

bool tfy__root_serves(const Loaded *loaded, const TfyRoot *recorded)
{
    if (!loaded->loop->root_known) return true;
    return recorded->path ? tfy__root_leads(recorded, &loaded->root->at) : !loaded->loop->only_rooted;
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
    const Loaded *loaded = state;
    TfyLoop *loop = loaded->loop;
    TfyRoot root;
    if (!loop->root_known) return 0;
    const size_t place = place_of(loop, run->id);
    if (is_known(loop, place, run->id)) return 1;
    const int code = tfy__log_root_locked(loop->log, run, &root);
    const bool here = tfy__root_serves(loaded, &root);
    tfy__root_free(&root);
    return code ? code : here ? 0 : remember(loop, place, run->id);
}

/* ---- by name ---- */

int tfy__root_check(const Loaded *loaded, const TfyHistory *history, char *error_text)
{
    char uuid[37];
    if (!history->root.path || loaded->loop->options.move_root || tfy__root_serves(loaded, &history->root)) return 0;
    const char *here = loaded->root->at.path;
    tfy__uuid_text(history->run.uuid, uuid);
    snprintf(error_text, TFY_ERROR_TEXT,
             "run %s works in %.180s, and this process in %.180s%s; --root DIR (move_root in TfyOptions) moves it",
             uuid, history->root.path, here, strcmp(history->root.path, here) == 0 ? ", another directory" : "");
    return TFY_E_STATE;
}

int tfy__root_take(const Loaded *loaded, TfyHistory *history, char *error_text)
{
    int code = tfy__root_check(loaded, history, error_text);
    if (code) return code;
    forget(loaded->loop, history->run.id); /* it may have been found elsewhere, also with another program */
    if (!history->root.path || tfy__root_serves(loaded, &history->root)) return 0;
    code = tfy__root_move(loaded->loop->log, history, &loaded->root->at);
    if (!code) return 1;
    snprintf(error_text, TFY_ERROR_TEXT, "the log could not be written");
    return code;
}
