/* canvas_commit.c: commit: everything that changed below the working root, on the run's branch, once per step.
 *
 *   where is the repository? → does the history have this step's trailer? (then its SHA is the answer)
 *   → who commits? → the run's branch, created at HEAD or switched to → what changed → into the index → its tree
 *   → is it another one? → the commit → the branch
 *
 * Git's plumbing commands do all of it: none of them runs a hook, and those that read the work tree or the index
 * run apart from the repository's own settings (canvas_repository.c). Visible changes happen in two places only,
 * the index and the branch, each atomically; a crash in between leaves the changes staged, and the repeated step
 * commits them. */
#include "effects/canvas.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "effects/former.h"
#include "wal/rows/payload.h"

#define TRAILER "Tiffany-Step"
#define FORMAT  "--format=%H %(trailers:key=" TRAILER ",valueonly,separator=%x20)"
/* commits searched for the trailer: those since the last crash, and many more */
#define HISTORY    "-1000"
#define RUN_DIGITS 13 /* digits of the run's uuid in the branch: its whole millisecond */

static void commit_done(TfyCanvasJob *job, const char *id, size_t id_len)
{
    TfyCall *call = job->call;
    TfyTask *task = call->task;
    TfyHeap *heap = task->heap;
    uint32_t mark = tfy_mark(task);
    TfyObj *sha = tfy_string_of(task, id, id_len);
    call->outcome = TFY_UNKNOWN; /* the commit exists, whatever becomes of its answer */
    if (sha) {
        tfy__put_string(&call->extra, TFY_P_MESSAGE, call->args[0].o);
        tfy__put_text(&call->extra, TFY_P_KEY, call->key);
        tfy__call_done(tfy__canvas_leave(job), tfy_of_obj(sha));
    } else {
        tfy_drop(task, tfy_take_error(task));
        tfy__canvas_error(job, ENOMEM, "memory ran out");
    }
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

/* Keeps the id that git printed; false after the job was failed with `what`. */
static bool take_id(TfyCanvasJob *job, const TfyProcessEnd *end, char id[TFY_GIT_ID_LEN + 1], const char *what)
{
    size_t len = end->code ? 0 : tfy__git_line_len(&end->out);
    if (len && len <= TFY_GIT_ID_LEN) {
        snprintf(id, TFY_GIT_ID_LEN + 1, "%.*s", (int)len, end->out.data);
        return true;
    }
    tfy__git_fail(job, end, what);
    return false;
}

static void on_branch_moved(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    char id[TFY_GIT_ID_LEN + 1];
    memcpy(id, job->commit_id, sizeof id);
    if (end->code && !end->signal) job->call->outcome = TFY_NOT_DONE; /* the branch is where it was */
    if (end->code == 0)
        commit_done(job, id, strlen(id));
    else if (!tfy__git_try_later(job, end))
        tfy__git_fail(job, end, "the commit was made, but the run's branch cannot be moved to it");
}

/* The branch moves from the commit that was read to the new one, or not at all. */
static void on_commit_made(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    char why[128];
    if (!take_id(job, end, job->commit_id, "git commit-tree failed")) return;
    int len = (int)strcspn(job->text.data, "\n");
    snprintf(why, sizeof why, "commit%s: %.*s", *job->head ? "" : " (initial)", len, job->text.data);
    TfyGit git = {.args = {"update-ref", "-m", why, "HEAD", job->commit_id, job->head}};
    job->call->outcome = TFY_UNKNOWN;
    tfy__git_run(job, on_branch_moved, &git);
}

/* commit-tree reads no file, no hook and no index; it uses the repository's settings, since they name the
 * committer. */
static void on_message(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code) {
        tfy__git_fail(job, end, "git stripspace failed");
        return;
    }
    TfyGit git = {.args = {"commit-tree", job->tree_id, "-F", "-"},
                  .input = end->out.data ? end->out.data : "",
                  .input_len = end->out.len};
    if (*job->head) {
        git.args[4] = "-p";
        git.args[5] = job->head;
    }
    tfy__git_run(job, on_commit_made, &git);
}

/* The tree of the commit that is checked out; without one, whether the new tree has entries. */
static void on_compared(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    size_t len = tfy__git_line_len(&end->out);
    bool same = *job->head ? len == strlen(job->tree_id) && memcmp(end->out.data, job->tree_id, len) == 0 : len == 0;
    if (end->code) {
        tfy__git_fail(job, end, "cannot read the commit that is checked out");
    } else if (same) {
        tfy__canvas_error(job, 1, "nothing to commit: the working root is as it was at the last commit");
    } else {
        TfyGit git = {.args = {"stripspace"}, .input = job->text.data, .input_len = job->text.len, .apart = true};
        tfy__git_run(job, on_message, &git);
    }
}

static void on_tree(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    char of_head[TFY_GIT_ID_LEN + 8];
    if (!take_id(job, end, job->tree_id, "git write-tree failed")) return;
    snprintf(of_head, sizeof of_head, "%s^{tree}", job->head);
    TfyGit git = {.args = {"rev-parse", "--verify", of_head}, .apart = true};
    if (!*job->head) git = (TfyGit){.args = {"ls-tree", job->tree_id}, .apart = true};
    tfy__git_run(job, on_compared, &git);
}

static void write_tree(TfyCanvasJob *job)
{
    tfy__git_run(job, on_tree, &(TfyGit){.args = {"write-tree", "--missing-ok"}, .apart = true});
}

/* Git failed while it read files. */
static void fail_files(TfyCanvasJob *job, const TfyProcessEnd *end, const char *what)
{
    const char *words;
    int len = tfy__git_words(end, &words);
    if (memmem(words, (size_t)len, " filter '", 9))
        what = "cannot commit: a filter that only the repository's settings define is not run; define it in your own";
    tfy__git_fail(job, end, what);
}

static void on_staged(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code == 0)
        write_tree(job);
    else if (!tfy__git_try_later(job, end))
        fail_files(job, end, "git update-index failed");
}

/* Adds the names that git listed, each "TAG NAME" ended by NUL: either the new ones or those that were in the
 * index. A nested repository is listed with a slash after its name; a deleted file is listed as modified too. */
static void add_names(TfyBuffer *names, const TfyBuffer *list, bool new)
{
    const char *before = "";
    for (size_t at = 0, len; at < list->len; at += len + 1) {
        const char *entry = list->data + at;
        len = strlen(entry);
        if (len < 3 || (*entry == '?') != new || strcmp(entry + 2, before) == 0) continue;
        before = entry + 2;
        tfy__buffer_add(names, entry + 2, len - 2 - (entry[len - 1] == '/'));
        tfy__buffer_add(names, "", 1);
    }
}

/* Deleted and changed names go first: a file may have become a directory. */
static void on_listed(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    TfyBuffer names = {0};
    if (end->code || end->out_cut) {
        fail_files(job, end, end->code ? "git ls-files failed" : "too many files have changed");
        return;
    }
    add_names(&names, &end->out, false);
    add_names(&names, &end->out, true);
    if (names.failed) {
        tfy__call_starved(tfy__canvas_leave(job));
    } else if (!names.len) {
        write_tree(job);
    } else {
        TfyGit git = {.args = {"update-index", "--add", "--remove", "--replace", "-z", "--stdin"},
                      .input = names.data,
                      .input_len = names.len,
                      .apart = true};
        tfy__git_run(job, on_staged, &git);
    }
    tfy__buffer_free(&names);
}

/* A pattern that makes git leave out the log's files below the root; false: they are elsewhere. It starts with a
 * wildcard, because git takes the literal start of a pattern, even of an exclusion, for a requested path, and
 * complains if that path is ignored. */
static bool log_pattern(TfyCanvasJob *job, char *pattern, size_t cap)
{
    char root[PATH_MAX], log[PATH_MAX];
    const char *lock_path = tfy__lock_path(job->call->loop);
    if (!lock_path || !realpath(tfy__root(job->call->loop), root) || !realpath(lock_path, log)) return false;
    size_t root_len = strlen(root), log_len = strlen(log);
    if (strncmp(log, root, root_len) != 0 || log[root_len] != '/') return false;
    if (log_len > 4 && strcmp(log + log_len - 4, "-tfy") == 0) log[log_len - 4] = 0;
    size_t at = (size_t)snprintf(pattern, cap, ":(exclude,glob)");
    const char *from = log + root_len + 1;
    at += (size_t)snprintf(pattern + at, cap - at, isalnum((unsigned char)*from) || *from == '.' ? "[%c]" : "?", *from);
    for (from++; *from && at + 3 < cap; from++) {
        if (strchr("*?[\\", *from)) pattern[at++] = '\\';
        pattern[at++] = *from;
    }
    pattern[at++] = '*';
    pattern[at] = 0;
    return true;
}

static void list_changes(TfyCanvasJob *job)
{
    char pattern[PATH_MAX + 64];
    TfyGit git = {.args = {"ls-files", "-z", "-t", "--modified", "--deleted", "--others", "--exclude-standard", "--",
                           ".", ":(exclude,glob)[.]tfy/**", ":(exclude,glob)**/.tfy-*.tmp"},
                  .apart = true};
    if (log_pattern(job, pattern, sizeof pattern)) git.args[11] = pattern;
    tfy__git_run(job, on_listed, &git);
}

static void on_switched(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code == 0)
        list_changes(job);
    else if (!tfy__git_try_later(job, end))
        tfy__git_fail(job, end, "cannot switch to the run's branch");
}

/* Makes HEAD name the run's branch. */
static void switch_head(TfyCanvasJob *job)
{
    char ref[100], why[128];
    snprintf(ref, sizeof ref, "refs/heads/%s", job->branch);
    snprintf(why, sizeof why, "checkout: moving to %s", job->branch);
    tfy__git_run(job, on_switched, &(TfyGit){.args = {"symbolic-ref", "-m", why, "HEAD", ref}});
}

static void on_made(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code == 0)
        switch_head(job);
    else if (!tfy__git_try_later(job, end))
        tfy__git_fail(job, end, "cannot make the run's branch");
}

/* The files are those of the branch, with the changes made since; from here on the branch's commit is the parent
 * of a new one. */
static void on_read(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code == 0) {
        memcpy(job->head, job->branch_id, sizeof job->head);
        switch_head(job);
    } else if (!tfy__git_try_later(job, end)) {
        fail_files(job, end, "cannot switch to the run's branch");
    }
}

/* Does this run already have a branch, and is it checked out in another work tree? "SHA PATH", or nothing. */
static void on_branch(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    char ref[100];
    size_t len = tfy__git_line_len(&end->out), id_len = len ? strcspn(end->out.data, " \n") : 0;
    snprintf(ref, sizeof ref, "refs/heads/%s", job->branch);
    if (end->code || id_len > TFY_GIT_ID_LEN) {
        tfy__git_fail(job, end, "cannot look for the run's branch");
    } else if (len > id_len + 1) {
        tfy__canvas_error(job, EBUSY, "cannot switch to the run's branch: it is checked out in %.*s",
                          (int)(len - id_len - 1), end->out.data + id_len + 1);
    } else if (len) {
        snprintf(job->branch_id, sizeof job->branch_id, "%.*s", (int)id_len, end->out.data);
        TfyGit git = {.args = {"read-tree", "-m", "-u", job->head, job->branch_id}, .apart = true};
        tfy__git_run(job, on_read, &git);
    } else if (*job->head) {
        tfy__git_run(job, on_made, &(TfyGit){.args = {"update-ref", ref, job->head, ""}});
    } else {
        switch_head(job);
    }
}

/* Which branch is checked out? */
static void on_head(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    char ref[100];
    size_t len = tfy__git_line_len(&end->out);
    snprintf(ref, sizeof ref, "refs/heads/%s", job->branch);
    if (len == strlen(ref) && memcmp(end->out.data, ref, len) == 0) {
        list_changes(job);
        return;
    }
    tfy__git_run(job, on_branch, &(TfyGit){.args = {"for-each-ref", "--format=%(objectname) %(worktreepath)", ref}});
}

/* The commit that is checked out; none in a new repository. */
static void on_head_id(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    size_t len = end->code ? 0 : tfy__git_line_len(&end->out);
    snprintf(job->head, sizeof job->head, "%.*s", (int)len, len ? end->out.data : "");
    tfy__git_run(job, on_head, &(TfyGit){.args = {"symbolic-ref", "--quiet", "HEAD"}});
}

/* Without a name and an address git refuses to commit; a person who never set them gets ours. */
static void on_identity(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    bool fits = end->code == 0 || job->named ||
                (tfy__canvas_add_env(job, "GIT_AUTHOR_NAME=Tiffany") &&
                 tfy__canvas_add_env(job, "GIT_AUTHOR_EMAIL=tiffany@localhost") &&
                 tfy__canvas_add_env(job, "GIT_COMMITTER_NAME=Tiffany") &&
                 tfy__canvas_add_env(job, "GIT_COMMITTER_EMAIL=tiffany@localhost"));
    if (!fits) {
        tfy__call_starved(tfy__canvas_leave(job));
        return;
    }
    job->named = true;
    tfy__git_run(job, on_head_id, &(TfyGit){.args = {"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}});
}

/* Searches for this step's trailer among lines "SHA trailer trailer…": whole words, since one key may be a prefix
 * of another. */
static const char *find_commit(const TfyBuffer *log, const char *trailer, size_t *id_len)
{
    size_t want = strlen(trailer);
    const char *end = log->data + log->len, *line = log->data;
    for (const char *word = line; word < end;) {
        size_t len = strcspn(word, " \n");
        if (word == line) *id_len = len;
        if (word != line && len == want && memcmp(word, trailer, want) == 0) return line;
        if (word[len] == '\n') line = word + len + 1;
        word += len + 1;
    }
    return NULL;
}

static void on_history(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    const char *words;
    int len = tfy__git_words(end, &words);
    size_t id_len = 0;
    if (end->code && !memmem(words, (size_t)len, "bad revision", 12)) { /* which means a repository without commits */
        tfy__git_fail(job, end, "cannot read the history");
        return;
    }
    const char *id = end->out.len ? find_commit(&end->out, job->trailer, &id_len) : NULL;
    if (id) {
        commit_done(job, id, id_len);
    } else {
        tfy__git_run(job, on_identity,
                     &(TfyGit){.args = {"-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"}});
    }
}

static void read_history(TfyCanvasJob *job)
{
    char branches[100];
    int last = (int)strlen(job->branch) - 1;
    /* A pattern that matches only this branch, if it exists; a plain name would mean the branches below it. */
    snprintf(branches, sizeof branches, "--branches=%.*s[%c]", last, job->branch, job->branch[last]);
    TfyGit git = {.args = {"log", HISTORY, "--no-color", "--no-show-signature", "--no-patch", "--no-ext-diff",
                           "--no-textconv", FORMAT, branches, "HEAD", "--"}};
    tfy__git_run(job, on_history, &git);
}

static void begin_commit(TfyCanvasJob *job)
{
    tfy__canvas_repository(job, read_history);
}

static bool is_blank(const TfyString *text)
{
    return strspn(text->bytes, " \t\r\n") == text->byte_len;
}

/* The key as one word: characters that git would fold or cut are percent-encoded. */
static void fill_trailer(TfyCanvasJob *job)
{
    TfyBuffer trailer = {0};
    for (const char *at = job->call->key; *at; at++) {
        bool plain = (unsigned char)*at > ' ' && *at != 0x7f && *at != '%';
        tfy__buffer_printf(&trailer, plain ? "%c" : "%%%02X", (unsigned char)*at);
    }
    job->trailer = trailer.failed ? NULL : trailer.data;
    if (trailer.failed) tfy__buffer_free(&trailer);
}

/* The message without blanks at its end, a blank line, the trailer. */
static void fill_message(TfyCanvasJob *job, const TfyString *message)
{
    size_t len = message->byte_len;
    while (len && strchr(" \t\r\n", message->bytes[len - 1])) len--;
    fill_trailer(job);
    tfy__buffer_add(&job->text, message->bytes, len);
    tfy__buffer_printf(&job->text, "\n\n%s: %s\n", TRAILER, job->trailer ? job->trailer : "");
}

static void commit_start(TfyCall *call)
{
    const TfyString *message = (const TfyString *)call->args[0].o;
    TfyCanvasJob *job = tfy__canvas_job(call, NULL, "commit in");
    if (!job) return;
    call->record_type = TFY_R_COMMIT;
    if (is_blank(message) || memchr(message->bytes, 0, message->byte_len)) {
        tfy__canvas_error(job, EINVAL, "a commit needs a message, without NUL bytes");
        return;
    }
    fill_message(job, message);
    if (!job->trailer || job->text.failed) {
        tfy__call_starved(tfy__canvas_leave(job));
        return;
    }
    snprintf(job->branch, sizeof job->branch, "tiffany/feature/%.*s", RUN_DIGITS, tfy__run_uuid(call->task));
    tfy__canvas_take_turn(job, begin_commit);
}

const TfyPerformer tfy__perform_commit = {.name = "commit",
                                          .start = commit_start,
                                          .abort = tfy__canvas_abort,
                                          .close = tfy__canvas_close,
                                          .end_former = tfy__former_end};
