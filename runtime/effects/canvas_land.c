/* canvas_land.c: land: the run's last commit into the branch on which the run began, once per step.
 *
 *   the branch and where it is checked out → does its history have this step's trailer? (then its SHA is the answer)
 *   → who commits? → the merge of the branch's commit with the run's, in trees alone → is it another tree? → what is
 *   checked out: compared, and its new index made (canvas_checkout.c) → the commit → the index's lock → the branch
 *   moves, if it is still where it was read → the new index takes the old one's place
 *
 * The rules:
 *
 *   - The branch is the one that was checked out when the run made its first commit. The record of that commit names it.
 *   - Landed is the run's last commit by its records, which the person saw, and not what somebody put on the run's branch.
 *   - A squash has one parent, the branch's commit; a merge has the run's commit as its second. Neither is made as
 *     a fast-forward: a landing is a commit with the trailers that find it again.
 *   - A run that landed before is merged from the commit that it landed then. A squash does not connect the histories.
 *   - Both sides changed the same lines: Conflict, and nothing is changed. A branch that moves meanwhile is merged anew.
 *   - Where the branch is checked out, no file is written. Each landed path must have its file, and its index entry, as in
 *     the old commit or in the new one; else Conflict. Usually the run itself wrote the files, which are as in the new one.
 *     Index entries of the landed paths are brought to the new commit, all others stay as they are, byte for byte.
 *
 * A landing that is killed has moved the branch or not. The index follows the branch at once, while git's own lock keeps
 * other gits from committing the old one; what was killed in between is completed by the repeated step.
 *
 * git moves the branch in a view of the repository in which it is not checked out, so that it needs no lock on HEAD and
 * the cell need not open the repository's directory. The branch's log has the landing, the log of HEAD does not. */
#include "effects/canvas_land.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "effects/former.h"
#include "effects/git.h"
#include "effects/git_dirs.h"
#include "effects/wrote.h"

enum { MOVES = 20 };    /* how often in a row the branch may move while a landing is made */
enum { SQUASH, MERGE }; /* the cases of Land */
#define VIEW    "view"  /* of the repository, in the job's directory */
#define NOWHERE "ref: refs/heads/none\n"

static const char *short_name(const TfyLanding *landing)
{
    const char heads[] = "refs/heads/";
    const size_t len = sizeof heads - 1;
    return strncmp(landing->onto, heads, len) == 0 ? landing->onto + len : landing->onto;
}

/* ---- the end ---- */

static void forget_checkout(TfyLanding *landing)
{
    tfy__checkout_unlock(landing);
    free(landing->checkout);
    free(landing->index);
    free(landing->lock);
    landing->checkout = landing->index = landing->lock = NULL;
}

static void free_landing(TfyCanvasJob *job)
{
    TfyLanding *landing = job->landing;
    forget_checkout(landing);
    TfyBuffer *buffers[] = {&landing->landed,  &landing->entries,      &landing->conflicts,  &landing->behind,
                            &landing->differs, &landing->before_index, &landing->after_index};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) tfy__buffer_free(buffers[i]);
    free(landing->onto);
    free(landing);
}

static void land_done(TfyCanvasJob *job)
{
    TfyCall *call = job->call;
    TfyTask *task = call->task;
    TfyHeap *heap = task->heap;
    const uint32_t mark = tfy_mark(task);
    TfyObj *sha = tfy_string_of(task, job->commit_id, strlen(job->commit_id));
    call->outcome = TFY_UNKNOWN; /* the branch has moved, whatever becomes of the answer */
    if (sha) {
        tfy__wrote_landed(call->loop, tfy__run_uuid(task));
        tfy__call_done(tfy__canvas_leave(job), tfy_of_obj(sha));
    } else {
        tfy_drop(task, tfy_take_error(task));
        tfy__canvas_error(job, ENOMEM, "memory ran out");
    }
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

static TfyObj *list_of(TfyTask *task, const TfyNames *paths)
{
    TfyObj *list = tfy_list_of(task, &tfy_type_list_string, 0, NULL);
    for (size_t at = 0; list && at < paths->len; at += strlen(paths->data + at) + 1) {
        TfyObj *path = tfy_string_of(task, paths->data + at, strlen(paths->data + at));
        list = path ? tfy_list_pushed(task, 0, list, tfy_of_obj(path)) : NULL;
    }
    return list;
}

void tfy__land_conflict(TfyCanvasJob *job, const TfyNames *paths, const char *what)
{
    TfyBuffer text = {0};
    TfyTask *task = job->call->task;
    TfyHeap *heap = task->heap;
    const uint32_t mark = tfy_mark(task);
    tfy__buffer_printf(&text, "cannot land on %s: %s:", short_name(job->landing), what);
    for (size_t at = 0; at < paths->len && text.len < 1000; at += strlen(paths->data + at) + 1)
        tfy__buffer_printf(&text, "%s %s", at ? "," : "", paths->data + at);
    TfyObj *message = text.failed ? NULL : tfy_string_of(task, text.data, text.len);
    TfyObj *list = message ? list_of(task, paths) : NULL;
    tfy__buffer_free(&text);
    const TfyValue fields[] = {tfy_of_obj(message), tfy_of_obj(list)};
    if (list)
        tfy__call_fail(tfy__canvas_leave(job), &tfy_type_conflict, fields);
    else
        tfy__call_starved(tfy__canvas_leave(job));
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

/* ---- the branch moves ---- */

static void report_behind(const TfyCanvasJob *job)
{
    const TfyLanding *landing = job->landing;
    size_t count = 0;
    for (size_t at = 0; at < landing->behind.len; at += strlen(landing->behind.data + at) + 1) count++;
    if (count)
        tfy__report_text(job->call->loop,
                         "landed on %s, but %zu of the files in %s %s as before the landing, beginning with '%s'; "
                         "'git restore' brings the new text\n",
                         short_name(landing), count, landing->checkout, count == 1 ? "is" : "are",
                         landing->behind.data);
}

/* The branch is where it belongs, and the index follows. */
static void follow(TfyCanvasJob *job)
{
    TfyLanding *landing = job->landing;
    const int error = landing->locked ? tfy__checkout_finish(landing) : 0;
    if (error)
        tfy__report_text(job->call->loop, "landed on %s, but its index '%s' cannot be replaced: %s\n",
                         short_name(landing), landing->index, strerror(-error));
    report_behind(job);
    land_done(job);
}

/* Another git moved the branch between our reading it and our moving it. */
static bool moved_meanwhile(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    const char *words;
    const size_t len = (size_t)tfy__git_words(end, &words);
    const bool moved = memmem(words, len, "but expected", 12) || memmem(words, len, "reference already exists", 24) ||
                       memmem(words, len, "unable to resolve reference", 27);
    if (!moved || ++job->landing->moves > MOVES) return false;
    tfy__canvas_again(job, 0);
    return true;
}

static void on_branch_moved(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code == 0) {
        follow(job);
        return;
    }
    if (!end->signal) job->call->outcome = TFY_NOT_DONE; /* the branch is where it was */
    tfy__checkout_unlock(job->landing);
    if (!moved_meanwhile(job, end) && !tfy__git_try_later(job, end))
        tfy__git_fail(job, end, "the commit was made, but the branch cannot be moved to it");
}

/* A view of the repository as that of a work tree in which nothing is checked out. 0 or -errno. */
static int make_view(TfyCanvasJob *job)
{
    TfyGitDirs dirs;
    if (!tfy__git_dirs_above(tfy__root(job->call->task), &dirs)) return -ENOENT;
    if (mkdirat(job->dir_fd, VIEW, 0700) < 0 && errno != EEXIST) return -errno;
    const int view = openat(job->dir_fd, VIEW, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (view < 0) return -errno;
    int error = tfy__git_write_text(view, "HEAD", NOWHERE, sizeof NOWHERE - 1);
    if (!error) error = tfy__git_write_text(view, "commondir", dirs.common, strlen(dirs.common));
    close(view);
    return error;
}

static void move_branch(TfyCanvasJob *job)
{
    TfyLanding *landing = job->landing;
    char why[128], view[PATH_MAX + 32];
    const int error = make_view(job), len = (int)strcspn(job->text.data, "\n");
    if (error) {
        tfy__canvas_error(job, -error, "cannot land: a temporary directory cannot be made: %s", strerror(-error));
        return;
    }
    if (landing->checkout && !tfy__checkout_lock(job)) return;
    snprintf(why, sizeof why, "land: %.*s", len, job->text.data);
    snprintf(view, sizeof view, "--git-dir=%s/" VIEW, job->dir);
    job->call->outcome = TFY_UNKNOWN;
    tfy__git_run(job, on_branch_moved,
                 &(TfyGit){.args = {view, "update-ref", "-m", why, landing->onto, job->commit_id, landing->tip}});
}

static void make_commit(TfyCanvasJob *job)
{
    const TfyLanding *landing = job->landing;
    tfy__canvas_make_commit(job, landing->tip, landing->merge ? landing->last : NULL, move_branch);
}

/* It was landed before a crash: the index follows, where it has not. */
static void catch_up(TfyCanvasJob *job)
{
    if (!job->landing->entries.len || tfy__checkout_lock(job)) follow(job);
}

/* ---- the merge ---- */

static void on_old_tree(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    TfyLanding *landing = job->landing;
    if (!tfy__git_id(job, end, landing->old, "cannot read the branch's commit")) return;
    if (landing->found)
        tfy__checkout_prepare(job, catch_up);
    else if (strcmp(landing->old, job->tree_id) == 0)
        tfy__canvas_error(job, 1, "nothing to land: %s has all that the run committed", short_name(landing));
    else if (landing->checkout)
        tfy__checkout_prepare(job, make_commit);
    else
        make_commit(job);
}

/* The tree that the branch has now. */
static void read_old_tree(TfyCanvasJob *job)
{
    char tree[TFY_GIT_ID_LEN + 8];
    snprintf(tree, sizeof tree, "%s^{tree}", job->landing->tip);
    TfyGit of_tip = {.args = {"rev-parse", "--verify", tree}, .apart = true};
    TfyGit empty = {.args = {"mktree"}, .input = "", .apart = true};
    tfy__git_run(job, on_old_tree, *job->landing->tip ? &of_tip : &empty);
}

/* The tree's id, and behind it the names in conflict, each ended by NUL. */
static void on_merged(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    const size_t len = end->out.len ? strnlen(end->out.data, end->out.len) : 0;
    if (end->code > 1 || end->signal || !len || len > TFY_GIT_ID_LEN) {
        tfy__git_fail(job, end, "cannot merge the run's commit with the branch's");
        return;
    }
    if (end->code == 0) {
        memcpy(job->tree_id, end->out.data, len);
        job->tree_id[len] = 0;
        read_old_tree(job);
        return;
    }
    const char *names = end->out.data + len + 1, *stop = end->out.data + end->out.len;
    TfyNames paths = {0};
    while (names < stop && *names) {
        tfy__buffer_add(&paths, names, strlen(names) + 1);
        names += strlen(names) + 1;
    }
    tfy__land_conflict(job, &paths, "both sides changed the same lines");
    tfy__buffer_free(&paths);
}

static void merge_trees(TfyCanvasJob *job, const char *ours)
{
    tfy__git_run(job, on_merged,
                 &(TfyGit){.args = {"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours,
                                    job->landing->last},
                           .apart = true});
}

static void on_ours(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    char ours[TFY_GIT_ID_LEN + 1];
    if (tfy__git_id(job, end, ours, "git commit-tree failed")) merge_trees(job, ours);
}

static void on_whole(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (tfy__git_id(job, end, job->tree_id, "cannot read the run's commit")) read_old_tree(job);
}

/* The branch's text as if it followed what the run landed last: the merge starts from there. */
static void merge(TfyCanvasJob *job)
{
    const TfyLanding *landing = job->landing;
    char tree[TFY_GIT_ID_LEN + 8];
    snprintf(tree, sizeof tree, "%s^{tree}", *landing->tip ? landing->tip : landing->last);
    if (!*landing->tip)
        tfy__git_run(job, on_whole, &(TfyGit){.args = {"rev-parse", "--verify", tree}, .apart = true});
    else if (*landing->before)
        tfy__git_run(job, on_ours, &(TfyGit){.args = {"commit-tree", tree, "-p", landing->before, "-m", "ours"}});
    else
        merge_trees(job, landing->tip);
}

/* ---- was it landed before? ---- */

/* The tree before the landing, of which the index may still have entries. */
static void on_parent(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    const size_t len = end->code ? 0 : tfy__git_line_len(&end->out);
    snprintf(job->landing->tip, sizeof job->landing->tip, "%.*s", (int)len, len ? end->out.data : "");
    read_old_tree(job);
}

static void on_its_tree(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    char parent[TFY_GIT_ID_LEN + 8];
    if (!tfy__git_id(job, end, job->tree_id, "cannot read the commit of the landing")) return;
    snprintf(parent, sizeof parent, "%s^1", job->commit_id);
    tfy__git_run(job, on_parent, &(TfyGit){.args = {"rev-parse", "--verify", "--quiet", parent}});
}

/* What is checked out follows only while nobody committed there since. */
static void resume_landing(TfyCanvasJob *job)
{
    TfyLanding *landing = job->landing;
    char tree[TFY_GIT_ID_LEN + 8];
    if (!landing->checkout || strcmp(landing->tip, job->commit_id) != 0) {
        land_done(job);
        return;
    }
    landing->found = true;
    snprintf(tree, sizeof tree, "%s^{tree}", job->commit_id);
    tfy__git_run(job, on_its_tree, &(TfyGit){.args = {"rev-parse", "--verify", tree}});
}

static void on_history(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code)
        tfy__git_fail(job, end, "cannot read the branch's history");
    else if (end->out.len && tfy__canvas_found(job, &end->out))
        resume_landing(job);
    else
        tfy__canvas_identify(job, merge);
}

/* ---- the branch ---- */

/* Where the branch is checked out: its index is in a directory of the same repository. False: the job has failed. */
static bool use_checkout(TfyCanvasJob *job, const char *path)
{
    TfyLanding *landing = job->landing;
    TfyGitDirs here, there;
    char root[PATH_MAX];
    if (!tfy__git_dirs_at(path, &there) || !tfy__git_dirs_above(tfy__root(job->call->task), &here) ||
        strcmp(here.common, there.common) != 0)
        return true; /* its directory is gone */
    landing->checkout = tfy__sys_strdup(there.top);
    landing->index = tfy__sys_printf("%s/index", there.own);
    landing->lock = tfy__sys_printf("%s/index.lock", there.own);
    free(job->tree);
    job->tree = tfy__sys_strdup(there.top);
    if (!job->confined.open && realpath(tfy__root(job->call->task), root) && strcmp(root, there.top) != 0)
        tfy__cell_add(&job->confined.plan, TFY_CELL_READS, there.top);
    if (landing->checkout && landing->index && landing->lock && job->tree) return true;
    tfy__call_starved(tfy__canvas_leave(job));
    return false;
}

/* The branch has no commit. It may be what is checked out in the run's work tree, which git lists nowhere. */
static void on_unborn(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    const TfyLanding *landing = job->landing;
    const size_t len = end->code ? 0 : tfy__git_line_len(&end->out);
    TfyGitDirs dirs;
    const bool here = len && len == strlen(landing->onto) && memcmp(end->out.data, landing->onto, len) == 0;
    if (here && tfy__git_dirs_above(tfy__root(job->call->task), &dirs) && !use_checkout(job, dirs.top)) return;
    tfy__canvas_identify(job, merge);
}

/* Lines "ref NUL id NUL work tree"; also of branches below one of this name. */
static const char *find_line(const TfyBuffer *out, const char *ref)
{
    const char *line = out->data, *stop = line ? line + out->len : NULL;
    while (line && line < stop) {
        if (strcmp(line, ref) == 0) return line + strlen(ref) + 1;
        line = memchr(line, '\n', (size_t)(stop - line));
        if (line) line++;
    }
    return NULL;
}

static void on_branch(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    TfyLanding *landing = job->landing;
    const TfyWroteRun *run = tfy__wrote_of(job->call->loop, tfy__run_uuid(job->call->task));
    char path[PATH_MAX];
    const char *id = end->code ? NULL : find_line(&end->out, landing->onto);
    if (end->code) {
        tfy__git_fail(job, end, "cannot look for the branch on which the run began");
    } else if (!id && *run->base) {
        tfy__canvas_error(job, ENOENT, "cannot land: the branch %s, on which the run began, is gone",
                          short_name(landing));
    } else if (!id) {
        tfy__git_run(job, on_unborn, &(TfyGit){.args = {"symbolic-ref", "--quiet", "HEAD"}});
    } else {
        snprintf(landing->tip, sizeof landing->tip, "%s", id);
        const char *tree = id + strlen(id) + 1;
        snprintf(path, sizeof path, "%.*s", (int)strcspn(tree, "\n"), tree);
        if (!*path || use_checkout(job, path))
            tfy__git_run(job, on_history, &(TfyGit){.args = {TFY_GIT_HISTORY, landing->tip, "--"}});
    }
}

/* The repository is at hand; the cell opens what moving the branch needs. */
static void find_branch(TfyCanvasJob *job)
{
    TfyLanding *landing = job->landing;
    TfyGitDirs dirs;
    if (!job->confined.open && tfy__git_dirs_above(tfy__root(job->call->task), &dirs))
        tfy__git_dirs_branch(&dirs, landing->onto, &job->confined.plan);
    tfy__git_run(
        job, on_branch,
        &(TfyGit){.args = {"for-each-ref", "--format=%(refname)%00%(objectname)%00%(worktreepath)", landing->onto}});
}

/* Also called when it begins again. False: the call has failed. */
static bool take_run(TfyCanvasJob *job)
{
    TfyLanding *landing = job->landing;
    const TfyWroteRun *run = tfy__wrote_of(job->call->loop, tfy__run_uuid(job->call->task));
    forget_checkout(landing);
    landing->found = false;
    *landing->tip = 0;
    if (!run || !*run->last) {
        tfy__canvas_error(job, 1, "nothing to land: the run has made no commit");
    } else if (!run->branch) {
        tfy__canvas_error(job, EINVAL, "cannot land: the run began on no branch; a commit was checked out");
    } else {
        memcpy(landing->last, run->last, sizeof landing->last);
        memcpy(landing->before, run->landed, sizeof landing->before);
        free(landing->onto);
        if ((landing->onto = tfy__sys_strdup(run->branch))) return true;
        tfy__call_starved(tfy__canvas_leave(job));
    }
    return false;
}

static void begin_land(TfyCanvasJob *job)
{
    if (take_run(job)) tfy__canvas_repository(job, find_branch);
}

static void land_start(TfyCall *call)
{
    const TfyObj *how = call->args[1].o;
    TfyCanvasJob *job = tfy__canvas_job(call, NULL, "land in");
    if (!job) return;
    job->landing = tfy__sys_calloc(1, sizeof *job->landing);
    if (!job->landing) {
        tfy__call_starved(tfy__canvas_leave(job));
        return;
    }
    job->release = free_landing;
    job->landing->merge = how && how->aux == MERGE;
    if (tfy__canvas_message(job, (const TfyString *)call->args[0].o, "landing")) tfy__canvas_take_turn(job, begin_land);
}

const TfyPerformer tfy__perform_land = {.name = "land",
                                        .start = land_start,
                                        .abort = tfy__canvas_abort,
                                        .close = tfy__canvas_close,
                                        .prepare = tfy__canvas_prepare,
                                        .ask = tfy__git_ask,
                                        .recorded = tfy__wrote_land_recorded,
                                        .forget = tfy__wrote_forget,
                                        .end_former = tfy__former_end};
