/* canvas.c: preview, apply, commit, land: changes to the working root as patches that people can read, by real git.
 *
 * Each call is a chain of git processes; a job holds the data that they pass on. These rules make a repeated call
 * harmless:
 *
 *   preview  only reads. Its diff names the file's contents before and after (git's `index` line, whole ids).
 *   apply    lets git patch a copy of the file in a directory of its own, where no repository's rules apply, and then
 *            replaces the file whole, so that a crash leaves the old text or the new. A file that already has the
 *            content of the diff's new id is done; so is one where the patch can only be undone, not done.
 *   commit   carries the trailer `Tiffany-Step: <key>`, and searches the branch for it before it commits.
 *   land     does the same on the branch on which the run began (canvas_land.c).
 *
 * Applying, committing and landing take turns within a loop: a commit takes whole files, and its parent is the branch's newest
 * commit. git runs without a terminal, a pager, an editor or a prompt, in English, and every process has a time
 * limit. It runs no command that the repository names, since a model may have written that; and should one run all the
 * same, it finds itself in a cell (canvas_cell.c). */
#include "effects/canvas.h"
#include "base/list.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "effects/file.h"
#include "effects/git.h"
#include "effects/wrote.h"

#define DIFF_CAP ((size_t)64 << 20) /* bytes of a diff; more is an error, never a part */
#define GIT_MS   300000             /* how long one git process may take */

/* The module's data with the loop. */
typedef struct Canvas {
    TfyCanvasJob *first, *last; /* jobs that change something; the first has its turn */
} Canvas;

/* ---- jobs ---- */

static void end_turn(TfyCanvasJob *job);

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    return remove(path);
}

static void free_job(TfyCanvasJob *job)
{
    if (job->timer) tfy__timer_del(job->call->loop, job->timer);
    for (int i = 0; i < 2; i++) {
        if (job->files[i]) unlink(job->files[i]);
        free(job->files[i]);
    }
    tfy__confined_free(&job->confined);
    if (job->dir_fd >= 0) close(job->dir_fd);
    if (job->dir) nftw(job->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(job->dir);
    for (char **entry = job->env; entry && *entry; entry++) free(*entry);
    free(job->env);
    free(job->path);
    free(job->trailer);
    free(job->began);
    if (job->release) job->release(job);
    free(job->tree);
    for (int i = 0; i < 2; i++) tfy__buffer_free(&job->names[i]);
    tfy__buffer_free(&job->text);
    free(job);
}

TfyCall *tfy__canvas_leave(TfyCanvasJob *job)
{
    TfyCall *call = job->call;
    call->state = NULL;
    end_turn(job);
    free_job(job);
    return call;
}

void tfy__canvas_abort(TfyCall *call)
{
    TfyCanvasJob *job = call->state;
    if (!job) return;
    if (job->process) tfy__process_abort(job->process);
    tfy__canvas_leave(job);
}

void tfy__canvas_error(TfyCanvasJob *job, int64_t code, const char *format, ...)
{
    char message[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    tfy__call_tool_error(tfy__canvas_leave(job), code, "%s", message);
}

void tfy__canvas_file_error(TfyCanvasJob *job, const char *verb, int error)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", job->path);
    tfy__file_error(tfy__canvas_leave(job), verb, path, error);
}

/* ---- turns ---- */

static Canvas *canvas_of(TfyLoop *loop)
{
    Canvas **place = (Canvas **)tfy__effect_slot(loop, TFY_M_CANVAS);
    if (!*place) *place = tfy__sys_calloc(1, sizeof **place);
    return *place;
}

static void on_turn(void *arg)
{
    TfyCanvasJob *job = arg;
    job->timer = 0;
    job->begin(job);
}

void tfy__canvas_again(TfyCanvasJob *job, int64_t delay_ms)
{
    TfyLoop *loop = job->call->loop;
    job->timer = tfy__timer_add(loop, tfy__now_ns(loop) + delay_ms * TFY_NS_PER_MS, on_turn, job);
}

void tfy__canvas_take_turn(TfyCanvasJob *job, void (*begin)(TfyCanvasJob *job))
{
    Canvas *canvas = canvas_of(job->call->loop);
    if (!canvas) {
        tfy__call_starved(tfy__canvas_leave(job));
        return;
    }
    job->begin = begin;
    job->queued = true;
    LIST_APPEND(canvas, job, next_job);
    if (canvas->first == job) begin(job);
}

static void end_turn(TfyCanvasJob *job)
{
    if (!job->queued) return;
    Canvas *canvas = canvas_of(job->call->loop);
    const bool had_turn = canvas->first == job;
    LIST_REMOVE(canvas, job, next_job);
    job->queued = false;
    TfyCanvasJob *first = canvas->first;
    if (had_turn && first) tfy__canvas_again(first, 0);
}

/* ---- git ---- */

size_t tfy__git_line_len(const TfyBuffer *text)
{
    size_t len = text->len;
    while (len && text->data[len - 1] == '\n') len--;
    return len;
}

int tfy__git_words(const TfyProcessEnd *end, const char **words)
{
    const TfyBuffer *output = end->err.len ? &end->err : &end->out;
    size_t len = tfy__git_line_len(output);
    *words = output->data ? output->data : "";
    return len > 3000 ? 3000 : (int)len;
}

void tfy__git_fail(TfyCanvasJob *job, const TfyProcessEnd *end, const char *what)
{
    const char *words;
    int len = tfy__git_words(end, &words);
    tfy__canvas_error(job, end->code, "%s: %.*s", what, len, words);
}

static void on_git_end(void *arg, const TfyProcessEnd *end)
{
    TfyCanvasJob *job = arg;
    job->process = NULL;
    tfy__timer_del(job->call->loop, job->timer);
    job->timer = 0;
    if (end->no_room) {
        tfy__call_no_room(tfy__canvas_leave(job), end->error);
    } else if (end->error) {
        tfy__canvas_error(job, end->error, "%s%s", end->message, end->error == ENOENT ? "; the canvas needs git" : "");
    } else if (*end->passed) {
        tfy__canvas_error(job, end->code, "git was ended: it %s", end->passed);
    } else {
        job->next(job, end);
    }
}

static void on_git_late(void *arg)
{
    TfyCanvasJob *job = arg;
    job->timer = 0;
    tfy__process_abort(job->process);
    job->process = NULL;
    tfy__canvas_error(job, ETIMEDOUT, "git took longer than %d s and was ended", GIT_MS / 1000);
}

static const char *const settings[] = {TFY_GIT_SETTINGS};
_Static_assert(1 + 2 * sizeof settings / sizeof *settings + 2 <= TFY_GIT_FIXED,
               "no room for the words before git's own");

void tfy__git_run(TfyCanvasJob *job, TfyCanvasNext *next, const TfyGit *git)
{
    TfyLoop *loop = job->call->loop;
    char dir[PATH_MAX], tree[PATH_MAX];
    const char *argv[TFY_GIT_FIXED + TFY_GIT_ARGS + 1] = {"git"};
    int at = 1;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        argv[at++] = "-c";
        argv[at++] = settings[i];
    }
    if (git->apart) {
        snprintf(dir, sizeof dir, "--git-dir=%s", job->dir);
        snprintf(tree, sizeof tree, "--work-tree=%s", job->tree);
        argv[at++] = dir;
        argv[at++] = tree;
    }
    memcpy(argv + at, git->args, sizeof git->args);
    TfyProcessSpec spec = {.argv = argv,
                           .env = (const char *const *)job->env,
                           .key = job->call->key,
                           .cwd_fd = git->cwd_fd ? git->cwd_fd : tfy__root_fd(job->call->task),
                           .input = git->input,
                           .input_len = git->input_len,
                           .output_cap = DIFF_CAP,
                           .confined = git->outside ? NULL : &job->confined};
    job->next = next;
    job->process = tfy__process_start(loop, &spec, on_git_end, job);
    if (!job->process && tfy__is_no_room(errno)) {
        tfy__call_no_room(tfy__canvas_leave(job), errno);
        return;
    }
    if (!job->process) {
        tfy__canvas_error(job, errno, "cannot start git: %s", strerror(errno));
        return;
    }
    job->timer = tfy__timer_add(loop, tfy__now_ns(loop) + GIT_MS * TFY_NS_PER_MS, on_git_late, job);
}

int tfy__canvas_make_dir(TfyCanvasJob *job)
{
    const char *above = getenv("TMPDIR");
    char *name = tfy__sys_printf("%s/tfy-XXXXXX", above && *above == '/' ? above : "/tmp");
    if (!name) return -ENOMEM;
    if (!mkdtemp(name)) {
        int error = -errno;
        free(name);
        return error;
    }
    job->dir = name;
    job->dir_fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return job->dir_fd < 0 ? -errno : 0;
}

static bool fill_env(TfyCanvasJob *job)
{
    static const char *const fixed[] = {TFY_GIT_ENVIRONMENT};
    enum { FIXED = sizeof fixed / sizeof *fixed };
    job->env = tfy__sys_calloc(FIXED + 8, sizeof *job->env); /* room for a ceiling, or a repository and an identity */
    for (int i = 0; job->env && i < FIXED; i++) {
        if (!(job->env[i] = tfy__sys_strdup(fixed[i]))) return false;
    }
    return job->env;
}

bool tfy__canvas_add_env(TfyCanvasJob *job, const char *entry)
{
    char **place = job->env;
    while (*place) place++;
    return (*place = tfy__sys_strdup(entry));
}

/* Removes ".", ".." and doubled slashes from a path, as git writes names; symbolic links, which could make a
 * difference, are refused later. 0, EXDEV if the path leads out, EISDIR if nothing is left. */
static int tidy_path(char *path)
{
    char *out = path, *from = path;
    while (*from) {
        size_t len = strcspn(from, "/");
        bool is_up = len == 2 && from[0] == '.' && from[1] == '.', is_here = len == 0 || (len == 1 && *from == '.');
        if (is_up && out == path) return EXDEV;
        if (is_up) {
            while (out > path && *--out != '/') {}
        } else if (!is_here) {
            if (out > path) *out++ = '/';
            memmove(out, from, len);
            out += len;
        }
        from += len;
        if (*from) from++;
    }
    *out = 0;
    return out > path ? 0 : EISDIR;
}

TfyCanvasJob *tfy__canvas_job(TfyCall *call, const TfyObj *path, const char *verb)
{
    TfyCanvasJob *job = tfy__sys_calloc(1, sizeof *job);
    const char *below = path ? tfy__path_below(call->task, path) : ".";
    if (!job) {
        tfy__call_starved(call);
        return NULL;
    }
    call->outcome = TFY_NOT_DONE; /* until it makes a lasting change */
    job->call = call;
    job->dir_fd = -1;
    job->confined.open = true;
    call->state = job;
    job->path = below ? tfy__sys_strdup(below) : tfy__sys_strdup(((const TfyString *)path)->bytes);
    if (!job->path || !fill_env(job)) {
        tfy__call_starved(tfy__canvas_leave(job));
        return NULL;
    }
    int error = below ? path ? tidy_path(job->path) : 0 : EXDEV;
    if (!error && !tfy__root_is_gone(call->task)) return job;
    tfy__canvas_file_error(job, verb, error);
    return NULL;
}

void tfy__canvas_close(TfyLoop *loop)
{
    Canvas **place = (Canvas **)tfy__effect_slot(loop, TFY_M_CANVAS);
    free(*place);
    *place = NULL;
    tfy__wrote_close(loop);
    /* git ran under the watcher, in cells; a program need not have exec, which closes both, too */
    tfy__process_close(loop);
    tfy__sandbox_close(loop);
}
