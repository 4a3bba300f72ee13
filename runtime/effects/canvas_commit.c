/* canvas_commit.c: commit: the files that the run wrote, on the run's branch, once per step.
 *
 *   where is the repository? → is it the run's first commit? (then: what is checked out?) → does the history have this
 *   step's trailer? (then its SHA is the answer, and the files are only compared with it) → who commits? → the parent: the run's branch, else its last commit, else what is checked out → its tree, in an
 *   index of the commit's own → the run's files (wrote.h) into that → its tree → is it another one? → the commit
 *   → the branch
 *
 * Nothing else changes: not the work tree, the person's index, or what is checked out. Git's plumbing commands do all
 * of it: none of them runs a hook, and those that read the work tree run apart from the repository's own settings
 * (canvas_repository.c). The only visible change is the branch, which moves atomically; after a crash before that, the
 * repeated step commits the same files. */
#include "effects/canvas.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "effects/former.h"
#include "effects/git.h"
#include "effects/wrote.h"
#include "wal/rows/payload.h"

static const TfyWrote *first_file(const TfyCanvasJob *job)
{
    const TfyWroteRun *run = tfy__wrote_of(job->call->loop, tfy__run_uuid(job->call->task));
    return run ? run->files.first : NULL;
}

static void put_beginning(TfyCanvasJob *job)
{
    TfyCall *call = job->call;
    if (job->began) tfy__put_text(&call->extra, TFY_P_BRANCH, job->began);
    if (*job->base) tfy__put_text(&call->extra, TFY_P_BASE, job->base);
    tfy__wrote_began(call->loop, tfy__run_uuid(call->task), job->began, job->base);
}

/* The commit with job->commit_id exists. settled: the notes that it settles, taken over; NULL: no memory. */
static void commit_done(TfyCanvasJob *job, json_t *settled)
{
    if (!settled) {
        tfy__call_starved(tfy__canvas_leave(job));
        return;
    }
    TfyCall *call = job->call;
    TfyTask *task = call->task;
    TfyHeap *heap = task->heap;
    uint32_t mark = tfy_mark(task);
    TfyObj *sha = tfy_string_of(task, job->commit_id, strlen(job->commit_id));
    call->outcome = TFY_UNKNOWN; /* the commit exists, whatever becomes of its answer */
    if (sha) {
        tfy__put_string(&call->extra, TFY_P_MESSAGE, call->args[0].o);
        tfy__put_text(&call->extra, TFY_P_KEY, call->key);
        tfy__put_tree(&call->extra, TFY_P_PATHS, settled);
        if (job->begins) put_beginning(job);
        tfy__wrote_committed(call->loop, tfy__run_uuid(task), ((const TfyString *)sha)->bytes, settled);
        tfy__call_done(tfy__canvas_leave(job), tfy_of_obj(sha));
    } else {
        tfy_drop(task, tfy_take_error(task));
        tfy__canvas_error(job, ENOMEM, "memory ran out");
    }
    json_decref(settled);
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

/* Those of its files that were not written again meanwhile. */
static json_t *settled_now(const TfyCanvasJob *job)
{
    json_t *paths = json_array();
    for (const TfyWrote *file = first_file(job); file && paths; file = file->next) {
        if (file->noted > job->as_of || json_array_append_new(paths, json_string(file->path)) == 0) continue;
        json_decref(paths);
        paths = NULL;
    }
    return paths;
}

static void on_branch_moved(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code && !end->signal) job->call->outcome = TFY_NOT_DONE; /* the branch is where it was */
    if (end->code == 0) {
        commit_done(job, settled_now(job));
    } else if (!tfy__git_try_later(job, end)) {
        tfy__git_fail(job, end, "the commit was made, but the run's branch cannot be moved to it");
    }
}

/* The branch moves from the commit that was read to the new one, or not at all. */
static void move_branch(TfyCanvasJob *job)
{
    char why[128], ref[100];
    int len = (int)strcspn(job->text.data, "\n");
    snprintf(ref, sizeof ref, "refs/heads/%s", job->branch);
    snprintf(why, sizeof why, "commit%s: %.*s", *job->parent ? "" : " (initial)", len, job->text.data);
    TfyGit git = {.args = {"update-ref", "-m", why, ref, job->commit_id, job->has_branch ? job->parent : ""}};
    job->call->outcome = TFY_UNKNOWN;
    tfy__git_run(job, on_branch_moved, &git);
}

/* The parent's tree; without a parent, whether the new tree has entries. */
static void on_compared(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    size_t len = tfy__git_line_len(&end->out);
    bool same = *job->parent ? len == strlen(job->tree_id) && memcmp(end->out.data, job->tree_id, len) == 0 : len == 0;
    if (end->code) {
        tfy__git_fail(job, end, "cannot read the commit that the new one follows");
    } else if (same) {
        tfy__canvas_error(job, 1,
                          "nothing to commit: the files that the run wrote are as they were at its last commit");
    } else {
        tfy__canvas_make_commit(job, job->parent, NULL, move_branch);
    }
}

static void on_tree(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    char of_parent[TFY_GIT_ID_LEN + 8];
    if (!tfy__git_id(job, end, job->tree_id, "git write-tree failed")) return;
    snprintf(of_parent, sizeof of_parent, "%s^{tree}", job->parent);
    TfyGit git = {.args = {"rev-parse", "--verify", of_parent}, .apart = true};
    if (!*job->parent) git = (TfyGit){.args = {"ls-tree", job->tree_id}, .apart = true};
    tfy__git_run(job, on_compared, &git);
}

/* ---- the files ---- */

enum { GONE, EXISTING };

/* The file's real path; of one that is gone, its directory's, as far as that exists. 0 or -errno. */
static int real_path(const char *path, char real[PATH_MAX])
{
    char above[PATH_MAX], directory[PATH_MAX];
    if (realpath(path, real)) return 0;
    if (errno != ENOENT && errno != ENOTDIR) return -errno;
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path) return -ENOENT;
    if (snprintf(above, sizeof above, "%.*s", (int)(slash - path), path) >= (int)sizeof above) return -ENAMETOOLONG;
    int error = real_path(above, directory);
    if (!error && snprintf(real, PATH_MAX, "%s%s", directory, slash) >= PATH_MAX) error = -ENAMETOOLONG;
    return error;
}

/* The file's name below the top, in real. 0 or -errno. */
static int top_name(const TfyCanvasJob *job, const TfyWrote *file, char real[PATH_MAX], const char **name)
{
    char path[PATH_MAX];
    const size_t len = strcmp(job->tree, "/") == 0 ? 0 : strlen(job->tree);
    if (snprintf(path, sizeof path, "%s/%s", tfy__root(job->call->task), file->path) >= (int)sizeof path)
        return -ENAMETOOLONG;
    int error = real_path(path, real);
    if (!error && (strncmp(real, job->tree, len) != 0 || real[len] != '/')) error = -EXDEV;
    *name = real + len + 1;
    return error;
}

static bool has_name(const TfyBuffer *names, const char *name)
{
    for (size_t at = 0; at < names->len; at += strlen(names->data + at) + 1)
        if (strcmp(names->data + at, name) == 0) return true;
    return false;
}

/* The notes of a commit that was made before a crash: those whose files are as in the commit. What was written after
 * it, by another task, stays to be committed. differing: names ended by NUL; NULL: unknown, all stay. */
static void settle_found(TfyCanvasJob *job, const TfyBuffer *differing)
{
    json_t *paths = json_array();
    const char *name;
    char real[PATH_MAX];
    for (const TfyWrote *file = differing ? first_file(job) : NULL; file && paths; file = file->next) {
        if (top_name(job, file, real, &name) || has_name(differing, name)) continue;
        if (json_array_append_new(paths, json_string(file->path)) == 0) continue;
        json_decref(paths);
        paths = NULL;
    }
    commit_done(job, paths);
}

static void on_differing(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    settle_found(job, end->code ? NULL : &end->out);
}

static void on_added(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    TfyGit write = {.args = {"write-tree", "--missing-ok"}, .apart = true};
    TfyGit compare = {.args = {"diff-index", "--cached", "--name-only", "-z", job->commit_id}, .apart = true};
    if (end->code && job->found)
        settle_found(job, NULL);
    else if (end->code)
        tfy__git_fail_files(job, end, "commit", "update-index");
    else
        tfy__git_run(job, job->found ? on_differing : on_tree, job->found ? &compare : &write);
}

static void on_removed(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code)
        on_added(job, end);
    else
        tfy__git_on_names(job, on_added, &job->names[EXISTING],
                          &(TfyGit){.args = {"update-index", "--add", "--replace", "-z", "--stdin"}});
}

/* Gone files are removed before others are added: a file may have become a directory. */
static void remove_gone(TfyCanvasJob *job)
{
    tfy__git_on_names(job, on_removed, &job->names[GONE],
                      &(TfyGit){.args = {"update-index", "--force-remove", "-z", "--stdin"}});
}

/* Which of the files does git ignore? Files of the parent's tree are in the index, and never ignored. */
static void on_ignored(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->out.len)
        tfy__canvas_error(job, EPERM,
                          "cannot commit '%.1000s', which the run wrote: git ignores it; write it elsewhere, remove it "
                          "before the commit, or change .gitignore",
                          end->out.data);
    else if (end->code > 1)
        tfy__git_fail(job, end, "git check-ignore failed");
    else
        remove_gone(job);
}

static void on_parent_read(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code && job->found)
        settle_found(job, NULL);
    else if (end->code)
        tfy__git_fail(job, end, "git read-tree failed");
    else if (job->found)
        remove_gone(job);
    else
        tfy__git_on_names(job, on_ignored, &job->names[EXISTING], &(TfyGit){.args = {"check-ignore", "-z", "--stdin"}});
}

/* The directory of another repository, below this one's top, that the file is in: its length; 0: none. */
static int repository_inside(const char *real, const char *name)
{
    char path[PATH_MAX + 8];
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        const int len = (int)(slash - real);
        snprintf(path, sizeof path, "%.*s/.git", len, real);
        if (access(path, F_OK) == 0) return len;
    }
    return 0;
}

/* False: the job was failed. */
static bool name_file(TfyCanvasJob *job, const TfyWrote *file)
{
    char real[PATH_MAX];
    const char *name;
    struct stat info;
    const int error = top_name(job, file, real, &name), inside = error ? 0 : repository_inside(real, name);
    if ((error || inside) && job->found) return true;
    if (error) {
        tfy__canvas_error(job, -error, "cannot commit '%s': %s", file->path,
                          error == -EXDEV ? "it is outside the repository" : strerror(-error));
    } else if (inside) {
        tfy__canvas_error(job, EXDEV, "cannot commit '%s', which the run wrote: %.*s is another repository", file->path,
                          inside, real);
    } else {
        const bool exists = lstat(real, &info) == 0 && !S_ISDIR(info.st_mode);
        tfy__buffer_add(&job->names[exists ? EXISTING : GONE], name, strlen(name) + 1);
    }
    return !error && !inside;
}

static void name_files(TfyCanvasJob *job)
{
    const TfyWroteRun *run = tfy__wrote_of(job->call->loop, tfy__run_uuid(job->call->task));
    for (int i = 0; i < 2; i++) tfy__buffer_reset(&job->names[i]);
    job->as_of = run ? run->notes : 0;
    for (const TfyWrote *file = first_file(job); file; file = file->next)
        if (!name_file(job, file)) return;
    if (job->names[GONE].failed || job->names[EXISTING].failed)
        tfy__call_starved(tfy__canvas_leave(job));
    else if (!job->found && !job->names[GONE].len && !job->names[EXISTING].len)
        tfy__canvas_error(job, 1,
                          "nothing to commit: the run has written no file since its last commit (what its tools wrote "
                          "does not count)");
    else
        tfy__git_run(job, on_parent_read,
                     &(TfyGit){.args = {"read-tree", *job->parent ? job->parent : "--empty"}, .apart = true});
}

/* ---- the parent ---- */

/* The commit that is checked out; none in a new repository. */
static void on_head(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    size_t len = end->code ? 0 : tfy__git_line_len(&end->out);
    snprintf(job->parent, sizeof job->parent, "%.*s", (int)len, len ? end->out.data : "");
    name_files(job);
}

static void ask_head(TfyCanvasJob *job)
{
    tfy__git_run(job, on_head, &(TfyGit){.args = {"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}});
}

/* The run's last commit by its record: of a fork, and of a run whose branch somebody deleted. */
static void on_last(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code == 0 && tfy__git_line_len(&end->out))
        on_head(job, end);
    else
        ask_head(job); /* it is in another repository */
}

/* Does the run already have a branch, and is it checked out somewhere? "SHA PATH", or nothing. */
static void on_branch(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    char last[TFY_GIT_ID_LEN + 16];
    const TfyWroteRun *run = tfy__wrote_of(job->call->loop, tfy__run_uuid(job->call->task));
    size_t len = tfy__git_line_len(&end->out), id_len = len ? strcspn(end->out.data, " \n") : 0;
    job->has_branch = id_len > 0;
    if (end->code || id_len > TFY_GIT_ID_LEN) {
        tfy__git_fail(job, end, "cannot look for the run's branch");
    } else if (len > id_len + 1) {
        tfy__canvas_error(job, EBUSY,
                          "cannot commit: the run's branch %s is checked out in %.*s; check out another one there",
                          job->branch, (int)(len - id_len - 1), end->out.data + id_len + 1);
    } else if (id_len) {
        snprintf(job->parent, sizeof job->parent, "%.*s", (int)id_len, end->out.data);
        name_files(job);
    } else if (run && *run->last) {
        snprintf(last, sizeof last, "%s^{commit}", run->last);
        tfy__git_run(job, on_last, &(TfyGit){.args = {"rev-parse", "--verify", "--quiet", last}});
    } else {
        ask_head(job);
    }
}

static void find_parent(TfyCanvasJob *job)
{
    char ref[100];
    snprintf(ref, sizeof ref, "refs/heads/%s", job->branch);
    tfy__git_run(job, on_branch, &(TfyGit){.args = {"for-each-ref", "--format=%(objectname) %(worktreepath)", ref}});
}

static void on_history(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    const char *words;
    int len = tfy__git_words(end, &words);
    if (end->code && !memmem(words, (size_t)len, "bad revision", 12)) { /* which means a repository without commits */
        tfy__git_fail(job, end, "cannot read the history");
        return;
    }
    if (end->out.len && tfy__canvas_found(job, &end->out)) {
        job->found = true;
        memcpy(job->parent, job->commit_id, sizeof job->parent);
        name_files(job);
    } else {
        tfy__canvas_identify(job, find_parent);
    }
}

static void read_history(TfyCanvasJob *job)
{
    char branches[100];
    int last = (int)strlen(job->branch) - 1;
    /* A pattern that matches only this branch, if it exists; a plain name would mean the branches below it. */
    snprintf(branches, sizeof branches, "--branches=%.*s[%c]", last, job->branch, job->branch[last]);
    tfy__git_run(job, on_history, &(TfyGit){.args = {TFY_GIT_HISTORY, branches, "HEAD", "--"}});
}

/* ---- where the run began ---- */

static void on_base(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    size_t len = end->code ? 0 : tfy__git_line_len(&end->out);
    snprintf(job->base, sizeof job->base, "%.*s", (int)len, len ? end->out.data : "");
    read_history(job);
}

/* The branch that is checked out; nothing if none is. */
static void on_began(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    size_t len = end->code ? 0 : tfy__git_line_len(&end->out);
    free(job->began);
    job->began = len ? tfy__sys_printf("%.*s", (int)len, end->out.data) : NULL;
    if (len && !job->began)
        tfy__call_starved(tfy__canvas_leave(job));
    else
        tfy__git_run(job, on_base, &(TfyGit){.args = {"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}});
}

/* The first commit says where the run began, so that a landing finds it. */
static void find_beginning(TfyCanvasJob *job)
{
    const TfyWroteRun *run = tfy__wrote_of(job->call->loop, tfy__run_uuid(job->call->task));
    job->begins = !run || !*run->last;
    if (job->begins)
        tfy__git_run(job, on_began, &(TfyGit){.args = {"symbolic-ref", "--quiet", "HEAD"}});
    else
        read_history(job);
}

static void begin_commit(TfyCanvasJob *job)
{
    tfy__canvas_repository(job, find_beginning);
}

static void commit_start(TfyCall *call)
{
    const TfyString *message = (const TfyString *)call->args[0].o;
    TfyCanvasJob *job = tfy__canvas_job(call, NULL, "commit in");
    if (!job) return;
    call->record_type = TFY_R_COMMIT;
    if (!tfy__canvas_message(job, message, "commit")) return;
    tfy__run_branch(tfy__run_uuid(call->task), job->branch);
    tfy__canvas_take_turn(job, begin_commit);
}

const TfyPerformer tfy__perform_commit = {.name = "commit",
                                          .start = commit_start,
                                          .abort = tfy__canvas_abort,
                                          .close = tfy__canvas_close,
                                          .prepare = tfy__canvas_prepare,
                                          .ask = tfy__git_ask,
                                          .recorded = tfy__wrote_commit_recorded,
                                          .save = tfy__wrote_save,
                                          .restore = tfy__wrote_restore,
                                          .forget = tfy__wrote_forget,
                                          .end_former = tfy__former_end};
