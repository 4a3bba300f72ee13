/* canvas_checkout.c: what is checked out where a run lands: compared with both commits, and its index brought to the new
 * one. See the rules in canvas_land.c.
 *
 *   which paths differ between the commits? → their files, in an index of the job's own: do some differ from the new
 *   commit, and from the old one too? → a copy of the person's index: the same → the entries of the landed paths into
 *   the copy
 *
 * Git works on copies alone. The copy becomes the index as git itself replaces one: it is put into `index.lock`, made with
 * O_EXCL, the index is read once more, and the lock is renamed. A lock with our very bytes is our own, from before
 * a crash. */
#include "effects/canvas_land.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GONE, EXISTING };

/* ---- names ---- */

static const char *name_at(const TfyNames *names, size_t at)
{
    return at < names->len ? names->data + at : NULL;
}

static void add_name(TfyNames *names, const char *name)
{
    tfy__buffer_add(names, name, strlen(name) + 1);
}

/* Is the name in the list? *at is the place from which to search, and moves on: both lists are sorted. */
static bool has_name(const TfyNames *names, size_t *at, const char *name)
{
    const char *found;
    while ((found = name_at(names, *at)) && strcmp(found, name) < 0) *at += strlen(found) + 1;
    return found && strcmp(found, name) == 0;
}

/* Sorts the landed paths that differ from the new commit: those that differ from the old one, too, are in conflict. */
static void compare(TfyLanding *landing, const TfyNames *from_old, TfyNames *behind)
{
    size_t at_new = 0, at_old = 0, at_known = 0;
    const TfyNames known = landing->conflicts;
    TfyNames conflicts = {0};
    const char *name;
    for (size_t at = 0; (name = name_at(&landing->landed, at)); at += strlen(name) + 1) {
        const bool is_new = !has_name(&landing->differs, &at_new, name), is_old = !has_name(from_old, &at_old, name);
        if (has_name(&known, &at_known, name) || (!is_new && !is_old))
            add_name(&conflicts, name);
        else if (!is_new)
            add_name(behind, name);
    }
    tfy__buffer_free(&landing->conflicts);
    landing->conflicts = conflicts;
}

/* ---- the new index ---- */

/* 0 or -errno. */
static int read_whole(int dir, const char *name, TfyBuffer *out)
{
    char chunk[1 << 16];
    tfy__buffer_reset(out);
    const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int error = fd < 0 ? -errno : 0;
    for (ssize_t len; !error && (len = read(fd, chunk, sizeof chunk)) != 0;) {
        if (len < 0 && errno != EINTR) error = -errno;
        if (len > 0) tfy__buffer_add(out, chunk, (size_t)len);
    }
    if (fd >= 0) close(fd);
    return !error && out->failed ? -ENOMEM : error;
}

static void fail_index(TfyCanvasJob *job, int error)
{
    tfy__canvas_error(job, -error, "cannot land: the index '%s' cannot be read: %s", job->landing->index,
                      strerror(-error));
}

static void on_entries(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    TfyLanding *landing = job->landing;
    const int error = end->code ? 0 : read_whole(job->dir_fd, "index", &landing->after_index);
    if (end->code)
        tfy__git_fail(job, end, "git update-index failed");
    else if (error)
        fail_index(job, error);
    else
        job->begun(job);
}

/* In a landing that is caught up, the entries in conflict are the person's by now. */
static void leave_out_conflicts(TfyLanding *landing)
{
    TfyBuffer kept = {0};
    size_t at_conflict = 0;
    const char *entry;
    for (size_t at = 0; (entry = name_at(&landing->entries, at)); at += strlen(entry) + 1) {
        at_conflict = 0;
        if (!has_name(&landing->conflicts, &at_conflict, strchr(entry, '\t') + 1)) add_name(&kept, entry);
    }
    tfy__buffer_free(&landing->entries);
    landing->entries = kept;
}

static void renew_index(TfyCanvasJob *job)
{
    TfyLanding *landing = job->landing;
    if (landing->found) leave_out_conflicts(landing);
    if (landing->entries.failed)
        tfy__call_starved(tfy__canvas_leave(job));
    else
        tfy__git_run(job, on_entries,
                     &(TfyGit){.args = {"-c", "core.splitIndex=false", "update-index", "-z", "--index-info"},
                               .input = landing->entries.data ? landing->entries.data : "",
                               .input_len = landing->entries.len,
                               .apart = true});
}

/* ---- comparing an index with both commits ---- */

static void run_compare(TfyCanvasJob *job, TfyCanvasNext *next, const char *tree)
{
    tfy__git_run(
        job, next,
        &(TfyGit){.args = {"diff-index", "--cached", "--name-only", "--no-renames", "-z", tree}, .apart = true});
}

static bool take_differing(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    TfyNames *differs = &job->landing->differs;
    tfy__buffer_reset(differs);
    tfy__buffer_add(differs, end->out.data ? end->out.data : "", end->out.len);
    if (end->code)
        tfy__git_fail(job, end, "git diff-index failed");
    else if (differs->failed)
        tfy__call_starved(tfy__canvas_leave(job));
    return !end->code && !differs->failed;
}

/* False: some entries of the index are in conflict, or the job has failed. */
static void on_entries_old(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    TfyLanding *landing = job->landing;
    TfyNames behind = {0}; /* as all entries usually are */
    if (end->code) {
        tfy__git_fail(job, end, "git diff-index failed");
        return;
    }
    compare(landing, &end->out, &behind);
    tfy__buffer_free(&behind);
    if (landing->conflicts.len && !landing->found)
        tfy__land_conflict(job, &landing->conflicts, "other changes to them are staged");
    else
        renew_index(job);
}

static void on_entries_new(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (take_differing(job, end)) run_compare(job, on_entries_old, job->landing->old);
}

/* A copy of the person's index takes the place of the job's own. */
static void compare_index(TfyCanvasJob *job)
{
    TfyLanding *landing = job->landing;
    int error = read_whole(AT_FDCWD, landing->index, &landing->before_index);
    if (unlinkat(job->dir_fd, "index", 0) < 0 && errno != ENOENT) error = -errno;
    if (!error)
        error = tfy__git_write_text(job->dir_fd, "index", landing->before_index.data, landing->before_index.len);
    if (error && error != -ENOENT) /* without an index nothing is staged */
        fail_index(job, error);
    else
        run_compare(job, on_entries_new, job->tree_id);
}

/* ---- the files ---- */

static void on_files_old(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    TfyLanding *landing = job->landing;
    if (end->code) {
        tfy__git_fail(job, end, "git diff-index failed");
        return;
    }
    compare(landing, &end->out, &landing->behind);
    if (landing->conflicts.len)
        tfy__land_conflict(job, &landing->conflicts, "they are changed where it is checked out");
    else
        compare_index(job);
}

static void on_files_new(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (take_differing(job, end)) run_compare(job, on_files_old, job->landing->old);
}

static void on_added(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code)
        tfy__git_fail_files(job, end, "land", "update-index");
    else
        run_compare(job, on_files_new, job->tree_id);
}

static void on_removed(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code)
        on_added(job, end);
    else
        tfy__git_on_names(job, on_added, &job->names[EXISTING],
                          &(TfyGit){.args = {"update-index", "--add", "--replace", "-z", "--stdin"}});
}

static void on_new_read(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code)
        tfy__git_fail(job, end, "git read-tree failed");
    else
        tfy__git_on_names(job, on_removed, &job->names[GONE],
                          &(TfyGit){.args = {"update-index", "--force-remove", "-z", "--stdin"}});
}

/* A directory where the new commit has a file may hold anything, and is in conflict; elsewhere it means no file. */
static void name_file(TfyCanvasJob *job, const char *name, bool stays)
{
    char path[2 * PATH_MAX];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", job->landing->checkout, name);
    const bool exists = lstat(path, &info) == 0, is_directory = exists && S_ISDIR(info.st_mode);
    if (is_directory && stays)
        add_name(&job->landing->conflicts, name);
    else
        add_name(&job->names[exists && !is_directory ? EXISTING : GONE], name);
}

static void compare_files(TfyCanvasJob *job)
{
    const TfyLanding *landing = job->landing;
    const char *entry;
    for (size_t at = 0; (entry = name_at(&landing->entries, at)); at += strlen(entry) + 1)
        name_file(job, strchr(entry, '\t') + 1, *entry != '0');
    if (job->names[GONE].failed || job->names[EXISTING].failed || landing->conflicts.failed)
        tfy__call_starved(tfy__canvas_leave(job));
    else
        tfy__git_run(job, on_new_read, &(TfyGit){.args = {"read-tree", job->tree_id}, .apart = true});
}

/* ---- the landed paths ---- */

/* Raw records ":mode mode id id X NUL path NUL" become names, and entries with the new mode and id. */
static bool take_paths(TfyLanding *landing, const TfyBuffer *raw)
{
    char mode[8], id[TFY_GIT_ID_LEN + 1];
    for (size_t at = 0; at < raw->len;) {
        const char *record = raw->data + at;
        if (sscanf(record, ":%*o %7[0-7] %*[0-9a-f] %64[0-9a-f]", mode, id) != 2) return false;
        const char *path = record + strlen(record) + 1;
        at = (size_t)(path - raw->data) + strlen(path) + 1;
        if (at > raw->len) return false;
        add_name(&landing->landed, path);
        tfy__buffer_printf(&landing->entries, "%s %s\t%s", strspn(mode, "0") == 6 ? "0" : mode, id, path);
        tfy__buffer_char(&landing->entries, 0);
    }
    return !landing->landed.failed && !landing->entries.failed;
}

static void on_paths(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    TfyLanding *landing = job->landing;
    if (end->code)
        tfy__git_fail(job, end, "git diff-tree failed");
    else if (!take_paths(landing, &end->out))
        tfy__canvas_error(job, EINVAL, "cannot land: git's list of paths cannot be read");
    else if (landing->found)
        compare_index(job);
    else
        compare_files(job);
}

void tfy__checkout_prepare(TfyCanvasJob *job, void (*ready)(TfyCanvasJob *job))
{
    TfyLanding *landing = job->landing;
    TfyBuffer *buffers[] = {&landing->landed, &landing->entries, &landing->conflicts,
                            &landing->behind, &job->names[GONE], &job->names[EXISTING]};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) tfy__buffer_reset(buffers[i]);
    job->begun = ready;
    tfy__git_run(
        job, on_paths,
        &(TfyGit){.args = {"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", landing->old, job->tree_id},
                  .apart = true});
}

/* ---- the lock ---- */

static bool same_bytes(const TfyBuffer *a, const TfyBuffer *b)
{
    return a->len == b->len && (!a->len || memcmp(a->data, b->data, a->len) == 0);
}

/* Is it the same as when it was read? */
static bool index_is_as_read(TfyLanding *landing)
{
    TfyBuffer now = {0};
    const int error = read_whole(AT_FDCWD, landing->index, &now);
    const bool same = (!error || error == -ENOENT) && same_bytes(&now, &landing->before_index);
    tfy__buffer_free(&now);
    return same;
}

/* A lock from before a crash has the bytes that it would get now. */
static bool lock_is_ours(const TfyLanding *landing)
{
    TfyBuffer there = {0};
    const bool ours = read_whole(AT_FDCWD, landing->lock, &there) == 0 && same_bytes(&there, &landing->after_index);
    tfy__buffer_free(&there);
    return ours;
}

/* 0; -EEXIST: another git has it; or -errno. */
static int fill_lock(TfyLanding *landing)
{
    struct stat info;
    const mode_t mode = stat(landing->index, &info) == 0 ? info.st_mode & 0777 : 0644;
    const int fd = open(landing->lock, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0) return -errno;
    landing->locked = true;
    int error = tfy__git_write_all(fd, landing->after_index.data, landing->after_index.len);
    if (!error && fsync(fd) < 0) error = -errno;
    close(fd);
    return error;
}

bool tfy__checkout_lock(TfyCanvasJob *job)
{
    TfyLanding *landing = job->landing;
    int error = fill_lock(landing);
    if (error == -EEXIST && lock_is_ours(landing)) {
        landing->locked = true;
        error = 0;
    }
    if (!error && index_is_as_read(landing)) return true;
    tfy__checkout_unlock(landing);
    if (!error && ++landing->moves <= 20)
        tfy__canvas_again(job, 0);
    else if (error != -EEXIST || !tfy__git_lock_later(job, landing->lock))
        tfy__canvas_error(job, -error, "cannot land: the index '%s' cannot be locked: %s", landing->index,
                          error ? strerror(-error) : "it changes all the time");
    return false;
}

void tfy__checkout_unlock(TfyLanding *landing)
{
    if (landing->locked) unlink(landing->lock);
    landing->locked = false;
}

int tfy__checkout_finish(TfyLanding *landing)
{
    if (rename(landing->lock, landing->index) < 0) return -errno;
    landing->locked = false;
    return 0;
}
