/* canvas_patch.c: preview and apply: a change as a diff that people can read, and the diff as a change. */
#include "effects/canvas.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "effects/file.h"
#include "effects/former.h"
#include "effects/wrote.h"
#include "base/utf8.h"
#include "wal/rows/record.h"

/* ---- preview ---- */

/* A name as git writes it in a patch: in quotes with escapes if it has bytes that could be misread. */
static void add_name(TfyBuffer *out, const char *side, const char *path)
{
    bool plain = true;
    for (const char *at = path; *at; at++)
        plain = plain && (unsigned char)*at >= 0x20 && *at != 0x7f && *at != '"' && *at != '\\';
    if (plain) {
        tfy__buffer_printf(out, "%s%s", side, path);
        return;
    }
    tfy__buffer_printf(out, "\"%s", side);
    for (const char *at = path; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f) {
            tfy__buffer_printf(out, "\\%03o", (unsigned char)*at);
        } else {
            tfy__buffer_printf(out, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
        }
    }
    tfy__buffer_char(out, '"');
}

/* A `---` or `+++` line; a tab after a name with a space marks the name's end. */
static void add_side(TfyBuffer *out, const char *sign, const char *side, const char *path)
{
    tfy__buffer_printf(out, "%s ", sign);
    if (side) {
        add_name(out, side, path);
        if (strchr(path, ' ')) tfy__buffer_char(out, '\t');
    } else {
        tfy__buffer_text(out, "/dev/null");
    }
    tfy__buffer_char(out, '\n');
}

/* The value of git's `index` line in a diff, "old..new", up to a space or the line's end; NULL: there is none
 * before the first hunk. */
static const char *find_index(const char *diff, size_t len, size_t *value_len)
{
    for (const char *line = diff, *end = diff + len; line < end && *line != '@';) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop) stop = end;
        if (stop - line > 6 && memcmp(line, "index ", 6) == 0) {
            *value_len = strcspn(line + 6, " \n");
            return line + 6;
        }
        line = stop + 1;
    }
    return NULL;
}

static const char *line_after(const char *line, const char *end)
{
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    return newline ? newline + 1 : end;
}

static bool begins(const char *line, const char *end, const char *with)
{
    return (size_t)(end - line) >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

bool tfy__canvas_put_patch(TfyBuffer *out, const char *path, const char *diff, size_t len)
{
    const char *end = diff + len, *head = len ? line_after(diff, end) : diff, *line = head;
    if (!begins(diff, end, "diff --git ")) return false;
    tfy__buffer_text(out, "diff --git ");
    add_name(out, "a/", path);
    tfy__buffer_char(out, ' ');
    add_name(out, "b/", path);
    tfy__buffer_char(out, '\n');
    while (line < end && !begins(line, end, "--- ")) line = line_after(line, end);
    tfy__buffer_add(out, head, (size_t)(line - head)); /* modes and ids, without names */
    if (line == end) return true;                      /* no text changes */
    const char *second = line_after(line, end), *hunks = line_after(second, end);
    add_side(out, "---", begins(line, end, "--- /dev/null\n") ? NULL : "a/", path);
    add_side(out, "+++", begins(second, end, "+++ /dev/null\n") ? NULL : "b/", path);
    tfy__buffer_add(out, hunks, (size_t)(end - hunks));
    return true;
}

TfyObj *tfy__canvas_patch_of(TfyTask *task, const char *path, const char *diff, size_t len)
{
    TfyValue fields[2] = {tfy_of_obj(tfy_string_of(task, path, strlen(path)))};
    fields[1].o = fields[0].o ? tfy_string_of(task, diff, len) : NULL;
    return fields[1].o ? tfy_record_of(task, &tfy_type_patch, fields) : NULL;
}

void tfy__canvas_give(TfyCanvasJob *job, TfyObj *result, uint32_t mark)
{
    TfyTask *task = job->call->task;
    TfyHeap *heap = task->heap;
    if (result) {
        tfy__call_done(tfy__canvas_leave(job), tfy_of_obj(result));
    } else {
        tfy_drop(task, tfy_take_error(task));
        tfy__canvas_error(job, ENOMEM, "memory ran out");
    }
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

static void give_patch(TfyCanvasJob *job, const char *diff, size_t len)
{
    TfyTask *task = job->call->task;
    const uint32_t mark = tfy_mark(task);
    tfy__canvas_give(job, tfy__canvas_patch_of(task, job->path, diff, len), mark);
}

static void on_diff(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    TfyBuffer diff = {0};
    if (end->code > 1) {
        tfy__git_fail(job, end, "git diff failed");
    } else if (end->out_cut) {
        tfy__canvas_error(job, EFBIG, "the diff of '%s' is too big", job->path);
    } else if (end->code == 0 && job->exists) {
        give_patch(job, "", 0);
    } else if (!end->out.len || !tfy__canvas_put_patch(&diff, job->path, end->out.data, end->out.len) || diff.failed) {
        tfy__canvas_error(job, EIO, "git diff printed something unexpected");
    } else {
        give_patch(job, diff.data, diff.len);
    }
    tfy__buffer_free(&diff);
}

int tfy__canvas_read_old(TfyCanvasJob *job)
{
    struct stat info;
    int root_fd = tfy__root_fd(job->call->task);
    TfyProtect *protect = tfy__protect_new(job->call->loop, root_fd);
    int error = protect ? tfy__file_may_write(protect, root_fd, job->path) : -ENOMEM;
    if (!error) error = tfy__file_read(protect, root_fd, job->path, false, tfy__file_most(job->call->loop), &job->text);
    tfy__protect_free(protect);
    job->exists = error != -ENOENT;
    if (error == 0 && fstatat(root_fd, job->path, &info, AT_SYMLINK_NOFOLLOW) == 0)
        job->executable = info.st_mode & S_IXUSR;
    return error == -ENOENT ? 0 : error;
}

bool tfy__canvas_is_text(const TfyBuffer *text)
{
    return tfy__utf8_broken(text->data ? text->data : "", text->len) == text->len;
}

/* A file in job->dir with a text, for git to read. 0 or -errno. */
static int write_side(TfyCanvasJob *job, int side, const char *text, size_t len)
{
    static const char *const names[] = {"old", "new"};
    job->files[side] = tfy__sys_printf("%s/%s", job->dir, names[side]);
    if (!job->files[side]) return -ENOMEM;
    const int error = tfy__git_write_text(job->dir_fd, names[side], text, len);
    return !error && job->executable && fchmodat(job->dir_fd, names[side], 0700, 0) < 0 ? -errno : error;
}

bool tfy__canvas_take_old(TfyCanvasJob *job)
{
    const int error = tfy__canvas_read_old(job);
    if (error)
        tfy__canvas_file_error(job, "preview", -error);
    else if (job->exists && !tfy__canvas_is_text(&job->text))
        tfy__canvas_error(job, EILSEQ, "cannot preview '%s': it is not UTF-8 text", job->path);
    else
        return true;
    return false;
}

void tfy__canvas_preview(TfyCanvasJob *job, const char *text, size_t len)
{
    int error = len > tfy__file_most(job->call->loop) ? -EFBIG : tfy__canvas_make_dir(job);
    if (!error && job->exists) error = write_side(job, 0, job->text.data ? job->text.data : "", job->text.len);
    if (!error) error = write_side(job, 1, text, len);
    if (error) {
        tfy__canvas_file_error(job, "preview", -error);
        return;
    }
    if (!tfy__canvas_confine(job)) return;
    TfyGit git = {
        .args = {"-C", "/", "diff", TFY_GIT_DIFF, "--", job->files[0] ? job->files[0] : "/dev/null", job->files[1]}};
    tfy__git_run(job, on_diff, &git);
}

static void preview_start(TfyCall *call)
{
    TfyCanvasJob *job = tfy__canvas_job(call, call->args[0].o, "preview");
    const TfyString *text = (const TfyString *)call->args[1].o;
    if (!job) return;
    call->record_type = TFY_R_PATCH_PREVIEW;
    if (tfy__canvas_take_old(job)) tfy__canvas_preview(job, text->bytes, text->byte_len);
}

/* ---- apply ---- */

static const TfyString *diff_of(const TfyCanvasJob *job)
{
    return (const TfyString *)tfy_field(job->call->args[0].o, 1).o;
}

static void note_patched(const TfyCall *call)
{
    tfy__wrote_note(call, tfy_field(call->args[0].o, 0).o);
}

static void apply_recorded(TfyCall *call, const struct TfyPayload *payload)
{
    if (tfy__wrote_maybe(payload)) note_patched(call);
}

static void apply_done(TfyCanvasJob *job)
{
    note_patched(job->call);
    tfy__call_done(tfy__canvas_leave(job), tfy_of_int(0));
}

/* git apply with the diff on stdin and up to three options. */
static void run_apply(TfyCanvasJob *job, TfyCanvasNext *next, const char *first, const char *second, const char *third)
{
    const TfyString *diff = diff_of(job);
    TfyGit git = {.args = {"apply", "--whitespace=nowarn", first, second, third},
                  .input = diff->bytes,
                  .input_len = diff->byte_len,
                  .cwd_fd = job->dir_fd};
    tfy__git_run(job, next, &git);
}

static void on_reversed(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code == 0) {
        apply_done(job); /* it can only be undone: it was done before */
        return;
    }
    TfyBuffer words = job->text; /* git's message about applying it */
    job->text = (TfyBuffer){0};
    tfy__canvas_error(job, 1, "cannot apply the patch to '%s': %.*s", job->path,
                      words.len > 3000 ? 3000 : (int)words.len, words.data ? words.data : "");
    tfy__buffer_free(&words);
}

static TfyFileContent content_of(const TfyCanvasJob *job)
{
    return (TfyFileContent){.key = job->call->key,
                            .executable = job->executable,
                            .bytes = job->text.data ? job->text.data : "",
                            .len = job->text.len,
                            .most = tfy__file_most(job->call->loop)};
}

/* Replaces the file by the patched copy. */
static void install(TfyCanvasJob *job)
{
    bool replaced;
    struct stat info;
    int root_fd = tfy__root_fd(job->call->task),
        error = tfy__file_read(NULL, job->dir_fd, job->path, false, tfy__file_most(job->call->loop), &job->text);
    TfyProtect *protect = tfy__protect_new(job->call->loop, root_fd);
    if (error == -ENOENT) {
        job->call->outcome = TFY_UNKNOWN;
        error = protect ? tfy__file_remove(protect, root_fd, job->path, &replaced) : -ENOMEM;
    } else if (!error) {
        TfyFileContent content = content_of(job);
        content.executable = fstatat(job->dir_fd, job->path, &info, 0) == 0 && info.st_mode & S_IXUSR;
        replaced = false;
        error = protect ? tfy__file_write(protect, root_fd, job->path, &content, &replaced) : -ENOMEM;
        job->call->outcome = replaced ? TFY_UNKNOWN : TFY_NOT_DONE;
    }
    tfy__protect_free(protect);
    if (!error) {
        apply_done(job);
        return;
    }
    if (job->call->outcome == TFY_UNKNOWN) note_patched(job->call);
    tfy__canvas_file_error(job, "apply a patch to", -error);
}

static void on_applied(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    const char *words;
    if (end->code == 0) {
        install(job);
        return;
    }
    int len = tfy__git_words(end, &words);
    tfy__buffer_reset(&job->text);
    tfy__buffer_add(&job->text, words, (size_t)len);
    run_apply(job, on_reversed, "--check", "--reverse", NULL);
}

/* The id of the file as it is now. */
static void on_hashed(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    size_t len = strlen(job->new_id);
    if (end->code == 0 && len && end->out.len > len && memcmp(end->out.data, job->new_id, len) == 0) {
        apply_done(job);
        return;
    }
    run_apply(job, on_applied, NULL, NULL, NULL);
}

/* Splits git's numstat record "N\tN\tpath\0" and the summary after it. True: it lists this path alone, as a
 * plain file. */
static bool touches_only(const TfyBuffer *stat, const char *path)
{
    const char *at = stat->data, *end = at + stat->len;
    for (int tabs = 0; tabs < 2; tabs++) {
        at = memchr(at, '\t', (size_t)(end - at));
        if (!at++) return false;
    }
    size_t len = strlen(path);
    if ((size_t)(end - at) <= len || memcmp(at, path, len + 1) != 0) return false;
    at += len + 1;
    if (at == end) return true;
    if (memchr(at, 0, (size_t)(end - at))) return false; /* another file */
    static const char *const allowed[] = {" create mode 100644 ",           " create mode 100755 ",
                                          " delete mode 100644 ",           " delete mode 100755 ",
                                          " mode change 100644 => 100755 ", " mode change 100755 => 100644 "};
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        size_t head = strlen(allowed[i]);
        if (strncmp(at, allowed[i], head) != 0 || (size_t)(end - at) != head + len + 1) continue;
        return memcmp(at + head, path, len) == 0 && end[-1] == '\n';
    }
    return false;
}

static void on_listed(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code) {
        tfy__git_fail(job, end, "the patch cannot be read");
        return;
    }
    if (!end->out.len || !touches_only(&end->out, job->path)) {
        tfy__canvas_error(job, EXDEV, "the patch changes something other than the text of '%s'; it was not applied",
                          job->path);
        return;
    }
    if (!job->exists || !job->new_id[0]) { /* nothing to compare */
        run_apply(job, on_applied, NULL, NULL, NULL);
        return;
    }
    TfyGit git = {.args = {"-C", "/", "hash-object", "--no-filters", "--stdin"},
                  .input = job->text.data ? job->text.data : "",
                  .input_len = job->text.len};
    tfy__git_run(job, on_hashed, &git);
}

/* Reads the new id from the diff's index line, if it is a whole one. */
static void read_ids(TfyCanvasJob *job)
{
    size_t len = 0;
    const char *ids = find_index(diff_of(job)->bytes, diff_of(job)->byte_len, &len),
               *dots = ids ? memmem(ids, len, "..", 2) : NULL;
    size_t new_len = dots ? (size_t)(ids + len - dots - 2) : 0;
    if (new_len != 40 && new_len != TFY_GIT_ID_LEN) return;
    memcpy(job->new_id, dots + 2, new_len);
    job->new_id[new_len] = 0;
}

int tfy__canvas_make_dir_apart(TfyCanvasJob *job)
{
    char real[PATH_MAX], ceiling[PATH_MAX + 32];
    int error = tfy__canvas_make_dir(job);
    if (error) return error;
    if (!realpath(job->dir, real)) return -errno;
    snprintf(ceiling, sizeof ceiling, "GIT_CEILING_DIRECTORIES=%s", dirname(real));
    return tfy__canvas_add_env(job, ceiling) ? 0 : -ENOMEM;
}

static void begin_apply(TfyCanvasJob *job)
{
    bool replaced;
    int error = tfy__canvas_read_old(job);
    if (!error) error = tfy__canvas_make_dir_apart(job);
    if (!error && job->exists) {
        TfyFileContent content = content_of(job);
        error = tfy__file_write(NULL, job->dir_fd, job->path, &content, &replaced);
    }
    if (error) {
        tfy__canvas_file_error(job, "apply a patch to", -error);
    } else if (tfy__canvas_confine(job)) {
        run_apply(job, on_listed, "--numstat", "-z", "--summary");
    }
}

static void apply_start(TfyCall *call)
{
    TfyCanvasJob *job = tfy__canvas_job(call, tfy_field(call->args[0].o, 0).o, "apply a patch to");
    if (!job) return;
    if (diff_of(job)->byte_len == 0) {
        apply_done(job); /* nothing to change */
        return;
    }
    read_ids(job);
    tfy__canvas_take_turn(job, begin_apply);
}

static int prepare_apply(TfyLoop *loop, const TfyProgram *program, char *error_text)
{
    const int code = tfy__protect_root(loop, program, error_text);
    return code ? code : tfy__canvas_prepare(loop, program, error_text);
}

const TfyPerformer tfy__perform_preview = {.name = "preview",
                                           .start = preview_start,
                                           .abort = tfy__canvas_abort,
                                           .close = tfy__canvas_close,
                                           .prepare = tfy__canvas_prepare,
                                           .ask = tfy__git_ask,
                                           .end_former = tfy__former_end};
const TfyPerformer tfy__perform_apply = {.name = "apply",
                                         .start = apply_start,
                                         .abort = tfy__canvas_abort,
                                         .close = tfy__canvas_close,
                                         .recorded = apply_recorded,
                                         .forget = tfy__wrote_forget,
                                         .prepare = prepare_apply,
                                         .end_former = tfy__former_end};
