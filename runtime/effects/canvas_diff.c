/* canvas_diff.c: preview_diff: a unified diff, of several files maybe, as a patch for each file.
 *
 *   which files does it name? (git apply --numstat) → copies of them in a directory of its own, below work/ by their
 *   names and in old/ by numbers → git applies the diff in work/ → what came of them, in new/ by numbers → git compares
 *   old/ with new/
 *
 * So the patches are git's own words about the files as they are, with whole ids, and apply can tell that one is done.
 * The root is only read. A diff that git cannot read, or whose lines are not there, is a BadValue. */
#include "effects/canvas.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "effects/file.h"
#include "effects/former.h"

#define FILES 256 /* of one diff */

static const TfyString *diff_of(const TfyCanvasJob *job)
{
    return (const TfyString *)job->call->args[0].o;
}

/* ---- what is wrong with a diff ---- */

static void fail_value(TfyCanvasJob *job, const char *path, TfyBuffer *message)
{
    TfyCall *call = tfy__canvas_leave(job);
    if (message->failed)
        tfy__call_starved(call);
    else
        tfy__call_bad_value(call, path, message->data);
    tfy__buffer_free(message);
}

/* The `+++` line (of a file that goes: the `---` line) above a line of the diff; empty: there is none. */
static void file_above(const TfyString *diff, long line, char name[PATH_MAX])
{
    const char *at = diff->bytes, *end = at + diff->byte_len;
    *name = 0;
    for (long i = 1; at < end && i < line; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        const size_t len = (size_t)(stop - at);
        const bool names = len > 4 && (memcmp(at, "+++ ", 4) == 0 || memcmp(at, "--- ", 4) == 0);
        if (names && strncmp(at + 4, "/dev/null", 9) != 0) {
            const char *slash = memchr(at + 4, '/', len - 4), *from = slash ? slash + 1 : at + 4;
            snprintf(name, PATH_MAX, "%.*s", (int)(stop - from < PATH_MAX ? stop - from : PATH_MAX - 1), from);
        }
        at = newline ? newline + 1 : end;
    }
}

/* Git says "patch failed: FILE:LINE" of a hunk that does not fit, and "… at line N" of one that it cannot read. */
static void find_place(const TfyString *diff, const char *words, size_t len, char place[PATH_MAX + 32])
{
    static const char failed[] = "patch failed: ", at_line[] = " at line ";
    const char *at = memmem(words, len, failed, sizeof failed - 1);
    char name[PATH_MAX];
    snprintf(place, PATH_MAX + 32, "diff");
    if (at) {
        at += sizeof failed - 1;
        const char *newline = memchr(at, '\n', (size_t)(words + len - at));
        const ptrdiff_t most = (newline ? newline : words + len) - at;
        snprintf(place, PATH_MAX + 32, "%.*s", (int)(most < PATH_MAX ? most : PATH_MAX), at);
    } else if ((at = memmem(words, len, at_line, sizeof at_line - 1))) {
        const long line = strtol(at + sizeof at_line - 1, NULL, 10);
        file_above(diff, line, name);
        snprintf(place, PATH_MAX + 32, "%s%sdiff:%ld", name, *name ? ", " : "", line);
    }
}

static void fail_diff(TfyCanvasJob *job, const TfyProcessEnd *end, const char *what)
{
    TfyBuffer message = {0};
    char place[PATH_MAX + 32];
    const char *words;
    const int len = tfy__git_words(end, &words);
    find_place(diff_of(job), words, (size_t)len, place);
    const int said = len > 7 && memcmp(words, "error: ", 7) == 0 ? 7 : 0;
    tfy__buffer_printf(&message, "%s (%s): %.*s", what, place, len - said, words + said);
    fail_value(job, place, &message);
}

/* The first line of the diff that begins so; a line of a text has a sign before it. 0: there is none. */
static long line_that_begins(const TfyString *diff, const char *with)
{
    const char *at = diff->bytes, *end = at + diff->byte_len;
    const size_t len = strlen(with);
    for (long line = 1; at < end; line++) {
        if ((size_t)(end - at) >= len && memcmp(at, with, len) == 0) return line;
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    return 0;
}

static bool is_absolute(const char *line, size_t len, const char *sign)
{
    return len > 5 && memcmp(line, sign, 4) == 0 && line[4] == '/' && strncmp(line + 4, "/dev/null", 9) != 0;
}

/* The `+++` line of a file whose name begins at the machine's root: git would take it for one below ours. 0: none. */
static long absolute_line(const TfyString *diff)
{
    const char *at = diff->bytes, *end = at + diff->byte_len, *before = at;
    size_t before_len = 0;
    for (long line = 1; at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        const size_t len = (size_t)(stop - at);
        const bool named = before_len > 4 && memcmp(before, "--- ", 4) == 0 && len > 4 && memcmp(at, "+++ ", 4) == 0;
        if (named && (is_absolute(before, before_len, "--- ") || is_absolute(at, len, "+++ "))) return line;
        before = at;
        before_len = len;
        at = newline ? newline + 1 : end;
    }
    return 0;
}

static void fail_line(TfyCanvasJob *job, long line, const char *what)
{
    TfyBuffer message = {0};
    char place[32];
    snprintf(place, sizeof place, "diff:%ld", line);
    tfy__buffer_printf(&message, "line %ld of the diff %s", line, what);
    fail_value(job, place, &message);
}

/* False: the call has failed. */
static bool changes_texts_alone(TfyCanvasJob *job)
{
    static const char *const refused[][2] = {
        {"rename from ", "renames a file, and a Patch changes one: remove the one and make the other"},
        {"copy from ", "copies a file, and a Patch changes one: make the other as a new file"},
        {"GIT binary patch", "is about a file that is not text"},
        {"Binary files ", "is about a file that is not text"},
    };
    const long absolute = absolute_line(diff_of(job));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const long line = line_that_begins(diff_of(job), refused[i][0]);
        if (!line) continue;
        fail_line(job, line, refused[i][1]);
        return false;
    }
    if (absolute)
        fail_line(job, absolute, "names an absolute path; give a path below the working root, behind a/ and b/");
    return !absolute;
}

/* ---- the patches ---- */

static const char *nth_name(const TfyBuffer *names, long n)
{
    size_t at = 0;
    while (n-- > 0 && at < names->len) at += strlen(names->data + at) + 1;
    return at < names->len ? names->data + at : NULL;
}

/* The number behind the last slash of "diff --git a/DIR/old/3 b/DIR/new/3". */
static long number_of(const char *section, const char *end)
{
    const char *newline = memchr(section, '\n', (size_t)(end - section));
    const char *slash = memrchr(section, '/', (size_t)((newline ? newline : end) - section));
    return slash ? strtol(slash + 1, NULL, 10) : LONG_MAX;
}

/* Where the section that begins at `at` ends: within one, every line has a sign, or is one of git's own. */
static const char *section_end(const char *at, const char *end)
{
    const char *next = memmem(at + 1, (size_t)(end - at - 1), "\ndiff --git ", 12);
    return next ? next + 1 : end;
}

static int64_t count_sections(const char *at, const char *end)
{
    int64_t count = 0;
    for (; at < end; at = section_end(at, end)) count++;
    return count;
}

/* NULL: task->error is set; *odd: the words are not git's. */
static TfyObj *patches_of(TfyCanvasJob *job, const char *at, const char *end, bool *odd)
{
    TfyTask *task = job->call->task;
    TfyObj *list = tfy_list_room(task, job->call->result, count_sections(at, end));
    TfyBuffer diff = {0};
    for (const char *next; list && at < end; at = next) {
        const char *name = nth_name(&job->names[0], number_of(at, end));
        next = section_end(at, end);
        tfy__buffer_reset(&diff);
        *odd = !name || !tfy__canvas_put_patch(&diff, name, at, (size_t)(next - at)) || diff.failed;
        TfyObj *patch = *odd ? NULL : tfy__canvas_patch_of(task, name, diff.data, diff.len);
        if (patch)
            tfy_list_add(list, tfy_of_obj(patch));
        else
            list = NULL;
    }
    tfy__buffer_free(&diff);
    return list;
}

static void on_compared(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    TfyTask *task = job->call->task;
    const uint32_t mark = tfy_mark(task);
    const char *words = end->out.data ? end->out.data : "";
    bool odd = false;
    if (end->code > 1) {
        tfy__git_fail(job, end, "git diff failed");
    } else if (end->out_cut) {
        tfy__canvas_error(job, EFBIG, "the patches are too big");
    } else {
        TfyObj *list = patches_of(job, words, words + end->out.len, &odd);
        if (odd)
            tfy__canvas_error(job, EIO, "git diff printed something unexpected");
        else
            tfy__canvas_give(job, list, mark);
    }
    if (task->heap->temp_count > mark) tfy__cut(task->heap, mark);
}

/* ---- the copies ---- */

/* A file DIR/N. 0 or -errno. */
static int put_numbered(const TfyCanvasJob *job, const char *dir, int number, bool executable)
{
    char name[32];
    snprintf(name, sizeof name, "%s/%03d", dir, number); /* git gives them in this order */
    const int error = tfy__git_write_text(job->dir_fd, name, job->text.data ? job->text.data : "", job->text.len);
    return !error && executable && fchmodat(job->dir_fd, name, 0700, 0) < 0 ? -errno : error;
}

/* The n-th file as the diff leaves it: into new/N, unless it is gone. 0 or -errno. */
static int take_result(TfyCanvasJob *job, int work, int n)
{
    struct stat info;
    const int error = tfy__file_read(NULL, work, job->path, false, tfy__file_most(job->call->loop), &job->text);
    if (error == -ENOENT) return 0;
    if (!error && !tfy__canvas_is_text(&job->text)) return -EILSEQ;
    if (error || fstatat(work, job->path, &info, AT_SYMLINK_NOFOLLOW) < 0) return error ? error : -errno;
    return put_numbered(job, "new", n, info.st_mode & S_IXUSR);
}

/* A directory below job->dir: a descriptor, or -errno. */
static int open_below(const TfyCanvasJob *job, const char *name)
{
    const int fd = openat(job->dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Makes job->path the n-th name. False: there are no more, or there is no memory, which *error says. */
static bool take_name(TfyCanvasJob *job, int n, int *error)
{
    const char *name = nth_name(&job->names[0], n);
    char *path = name ? tfy__sys_strdup(name) : NULL;
    if (!path) {
        if (name) *error = -ENOMEM;
        return false;
    }
    free(job->path);
    job->path = path;
    return true;
}

static void on_applied(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    char old[PATH_MAX], new[PATH_MAX];
    if (end->code) {
        fail_diff(job, end, "the diff does not fit the files");
        return;
    }
    int work = open_below(job, "work"), error = work < 0 ? work : 0;
    for (int n = 0; !error && take_name(job, n, &error); n++) error = take_result(job, work, n);
    if (work >= 0) close(work);
    if (error) {
        tfy__canvas_file_error(job, "preview the diff of", -error);
        return;
    }
    snprintf(old, sizeof old, "%s/old", job->dir);
    snprintf(new, sizeof new, "%s/new", job->dir);
    TfyGit git = {.args = {"-C", "/", "diff", TFY_GIT_DIFF, "--", old, new}};
    tfy__git_run(job, on_compared, &git);
}

/* The file at job->path, which was read: into old/N and below work. 0 or a negative reason. */
static int copy_old(TfyCanvasJob *job, int work, int n)
{
    bool replaced;
    if (!job->exists) return 0;
    const TfyFileContent content = {.key = job->call->key,
                                    .executable = job->executable,
                                    .bytes = job->text.data ? job->text.data : "",
                                    .len = job->text.len,
                                    .most = tfy__file_most(job->call->loop)};
    const int error = tfy__file_write(NULL, work, job->path, &content, &replaced);
    return error ? error : put_numbered(job, "old", n, job->executable);
}

/* False: the call has failed. */
static bool copy_files(TfyCanvasJob *job)
{
    const int work = open_below(job, "work");
    size_t most = tfy__file_most(job->call->loop); /* of all of them */
    int error = work < 0 ? work : 0;
    bool failed = false;
    for (int n = 0; !error && !failed && take_name(job, n, &error); n++) {
        job->executable = false;
        failed = !tfy__canvas_take_old(job);
        if (failed) break;
        if (job->text.len > most) error = -EFBIG;
        most -= error ? 0 : job->text.len;
        if (!error) error = copy_old(job, work, n);
    }
    if (work >= 0) close(work);
    if (error) tfy__canvas_file_error(job, "preview", -error);
    return !error && !failed;
}

static bool has_name(const TfyBuffer *names, const char *name)
{
    for (size_t at = 0; at < names->len; at += strlen(names->data + at) + 1)
        if (strcmp(names->data + at, name) == 0) return true;
    return false;
}

/* Git's records "N\tN\tpath\0": each path once. How many there are. */
static int take_names(TfyBuffer *names, const TfyBuffer *stat)
{
    int count = 0;
    for (size_t at = 0; at < stat->len && count <= FILES; at += strlen(stat->data + at) + 1) {
        const char *tab = strchr(stat->data + at, '\t'), *name = tab ? strchr(tab + 1, '\t') : NULL;
        if (!name || has_name(names, name + 1)) continue;
        tfy__buffer_add(names, name + 1, strlen(name + 1) + 1);
        count++;
    }
    return count;
}

/* Does a name lead out of the root? The kernel would refuse it later; this says so. */
static bool leads_out(const char *name)
{
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (!at[2] || at[2] == '/')) return true;
    }
    return *name == '/';
}

static void on_listed(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    int error = 0;
    if (end->code) {
        fail_diff(job, end, "the diff cannot be read");
        return;
    }
    const int count = take_names(&job->names[0], &end->out);
    if (job->names[0].failed) {
        tfy__call_starved(tfy__canvas_leave(job));
        return;
    }
    if (count > FILES) {
        tfy__canvas_error(job, E2BIG, "the diff changes more than %d files", FILES);
        return;
    }
    for (int n = 0; take_name(job, n, &error);) {
        if (leads_out(nth_name(&job->names[0], n++))) {
            tfy__canvas_file_error(job, "preview", EXDEV);
            return;
        }
    }
    if (error || !copy_files(job)) {
        if (error) tfy__call_starved(tfy__canvas_leave(job));
        return;
    }
    TfyGit git = {.args = {"-C", "work", "apply", "--whitespace=nowarn"},
                  .input = diff_of(job)->bytes,
                  .input_len = diff_of(job)->byte_len,
                  .cwd_fd = job->dir_fd};
    tfy__git_run(job, on_applied, &git);
}

static int make_dirs(TfyCanvasJob *job)
{
    static const char *const names[] = {"work", "old", "new"};
    int error = tfy__canvas_make_dir_apart(job);
    for (size_t i = 0; !error && i < sizeof names / sizeof *names; i++)
        if (mkdirat(job->dir_fd, names[i], 0700) < 0) error = -errno;
    return error;
}

static void preview_diff_start(TfyCall *call)
{
    TfyCanvasJob *job = tfy__canvas_job(call, NULL, "preview a diff of");
    if (!job) return;
    if (diff_of(job)->byte_len == 0) {
        const uint32_t mark = tfy_mark(call->task);
        tfy__canvas_give(job, tfy_list_room(call->task, call->result, 0), mark);
        return;
    }
    if (!changes_texts_alone(job)) return;
    const int error = diff_of(job)->byte_len > tfy__file_most(call->loop) ? -EFBIG : make_dirs(job);
    if (error) {
        tfy__canvas_file_error(job, "preview a diff of", -error);
    } else if (tfy__canvas_confine(job)) {
        TfyGit git = {.args = {"-C", "work", "apply", "--numstat", "-z"},
                      .input = diff_of(job)->bytes,
                      .input_len = diff_of(job)->byte_len,
                      .cwd_fd = job->dir_fd};
        tfy__git_run(job, on_listed, &git);
    }
}

const TfyPerformer tfy__perform_preview_diff = {.name = "preview_diff",
                                                .start = preview_diff_start,
                                                .abort = tfy__canvas_abort,
                                                .close = tfy__canvas_close,
                                                .prepare = tfy__canvas_prepare,
                                                .ask = tfy__git_ask,
                                                .end_former = tfy__former_end};
