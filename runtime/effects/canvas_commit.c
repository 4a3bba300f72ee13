/* canvas_commit.c: commit: everything that changed below the working root, on the run's branch, once per step.
 *
 *   is there a repository? → does the history have this step's trailer? (then its SHA is the answer) → who commits? → the run's branch,
 *   made where HEAD stands or switched to → git add → is there anything? → git commit → its SHA */
#include "effects/canvas.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wal/record.h"

#define TRAILER    "Tiffany-Step"
#define FORMAT     "--format=%H %(trailers:key=" TRAILER ",valueonly,separator=%x20)"
#define HISTORY    "-1000" /* commits searched for the trailer: those since the last crash, and many more */
#define RUN_DIGITS 13      /* of the run's uuid in the branch: its whole millisecond */

static void commit_done(TfyCanvasJob *job, const char *id, size_t id_len)
{
    TfyCall *call = job->call;
    TfyTask *task = call->task;
    TfyHeap *heap = task->heap;
    uint32_t mark = tfy_mark(task);
    const TfyString *message = (const TfyString *)call->args[0].o;
    TfyObj *sha = tfy_string_of(task, id, id_len);
    call->outcome = TFY_UNKNOWN; /* the commit is there, whatever its answer comes to */
    if (sha) {
        tfy__buffer_text(&call->extra, ",\"message\":");
        tfy__buffer_json_string(&call->extra, message->bytes, message->byte_len);
        tfy__buffer_text(&call->extra, ",\"key\":");
        tfy__buffer_json_string(&call->extra, call->key, strlen(call->key));
        tfy__call_done(tfy__canvas_leave(job), tfy_of_obj(sha));
    } else {
        tfy_drop(task, tfy_take_error(task));
        tfy__canvas_error(job, ENOMEM, "memory ran out");
    }
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

static void on_committed_id(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    size_t len = end->out.len;
    while (len && end->out.data[len - 1] == '\n') len--;
    if (end->code || !len) {
        tfy__git_fail(job, end, "the commit was made, but git does not name it");
    } else {
        commit_done(job, end->out.data, len);
    }
}

static void on_committed(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code == 0) {
        tfy__git_run(job, on_committed_id, &(TfyGit){.args = {"rev-parse", "--verify", "HEAD"}});
    } else if (!tfy__git_try_later(job, end)) {
        if (!end->signal) job->call->outcome = TFY_NOT_DONE; /* a hook refused it, or git did */
        tfy__git_fail(job, end, "git commit failed");
    }
}

static void git_commit(TfyCanvasJob *job)
{
    TfyGit git = {.args = {"-c", "maintenance.auto=false", "commit", "--quiet", "--no-gpg-sign", "--cleanup=whitespace",
                           "--file=-"},
                  .input = job->text.data,
                  .input_len = job->text.len};
    job->call->outcome = TFY_UNKNOWN;
    tfy__git_run(job, on_committed, &git);
}

/* Exit status 1: there are staged changes. */
static void on_compared(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code == 1) {
        git_commit(job);
    } else if (end->code == 0) {
        tfy__canvas_error(job, 1, "nothing to commit: the working root is as it was at the last commit");
    } else {
        tfy__git_fail(job, end, "git diff failed");
    }
}

static void on_added(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code == 0) {
        tfy__git_run(job, on_compared, &(TfyGit){.args = {"diff", "--cached", "--quiet"}});
    } else if (!tfy__git_try_later(job, end)) {
        tfy__git_fail(job, end, "git add failed");
    }
}

/* The log's files below the root, as a pattern that git leaves out; false: they are elsewhere. It begins with a wildcard, because git takes
 * the plain beginning of a pattern, even of what to leave out, for a path that was asked for, and complains when that is ignored. */
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

static void git_add(TfyCanvasJob *job)
{
    char pattern[PATH_MAX + 64];
    TfyGit git = {.args = {"-c", "advice.addIgnoredFile=false", "add", "--all", "--", ".", ":(exclude,glob)[.]tfy/**",
                           ":(exclude,glob)**/.tfy-*.tmp"}};
    if (log_pattern(job, pattern, sizeof pattern)) git.args[8] = pattern;
    tfy__git_run(job, on_added, &git);
}

static void on_switched(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code == 0) {
        git_add(job);
    } else if (!tfy__git_try_later(job, end)) {
        tfy__git_fail(job, end, "cannot switch to the run's branch");
    }
}

/* Is there a branch of this run already? */
static void on_branch(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    TfyGit git = {.args = {"switch", "--quiet", "--no-guess"}};
    int at = 3;
    if (end->code) git.args[at++] = "--create";
    git.args[at] = job->branch;
    tfy__git_run(job, on_switched, &git);
}

/* Which branch is checked out? */
static void on_head(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    char ref[100];
    size_t len = strlen(job->branch);
    if (end->out.len == len + 1 && memcmp(end->out.data, job->branch, len) == 0) {
        git_add(job);
        return;
    }
    snprintf(ref, sizeof ref, "refs/heads/%s", job->branch);
    tfy__git_run(job, on_branch, &(TfyGit){.args = {"show-ref", "--verify", "--quiet", ref}});
}

/* Without a name and an address git refuses to commit; people who never set them get ours. */
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
    tfy__git_run(job, on_head, &(TfyGit){.args = {"symbolic-ref", "--quiet", "--short", "HEAD"}});
}

/* Looks for this step's trailer among lines "SHA trailer trailer…": whole words, for one key may begin with another. */
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
    if (end->code && !memmem(words, (size_t)len, "bad revision", 12)) { /* that: a repository without commits */
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

static void on_repository(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    char branches[100];
    int last = (int)strlen(job->branch) - 1;
    if (end->code) {
        tfy__git_fail(job, end, "cannot commit: the working root is not in a git repository");
        return;
    }
    /* A pattern that matches this one branch, if it exists; a plain name would mean the branches below it. */
    snprintf(branches, sizeof branches, "--branches=%.*s[%c]", last, job->branch, job->branch[last]);
    TfyGit git = {.args = {"log", HISTORY, "--no-color", "--no-show-signature", FORMAT, branches, "HEAD", "--"}};
    tfy__git_run(job, on_history, &git);
}

static void begin_commit(TfyCanvasJob *job)
{
    tfy__git_run(job, on_repository, &(TfyGit){.args = {"rev-parse", "--is-inside-work-tree"}});
}

static bool is_blank(const TfyString *text)
{
    return strspn(text->bytes, " \t\r\n") == text->byte_len;
}

/* The key as one word: whatever git would fold or cut is percent-encoded. */
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

const TfyPerformer tfy__perform_commit = {
    .name = "commit", .start = commit_start, .abort = tfy__canvas_abort, .close = tfy__canvas_close};
