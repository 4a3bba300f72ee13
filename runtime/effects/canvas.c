/* canvas.c: preview, apply, commit: changes to the working root as patches that people can read, by real git.
 *
 * Each call is a chain of git processes; a job holds what they hand on. Rules that make a repeated call harmless:
 *
 *   preview  only reads. Its diff names the file's contents before and after (git's `index` line, whole ids).
 *   apply    lets git patch a copy of the file in a directory of its own, where no repository's rules apply, and then replaces the file
 *            whole, so that a crash leaves the old text or the new. A file that already is what the diff's ids name is done; so is one
 *            where the patch can only be undone, not done.
 *   commit   carries the trailer `Tiffany-Step: <key>`, and looks for it in the branch before it commits.
 *
 * Applying and committing take turns within a loop: git locks its index, and a second git would fail instead of waiting. git runs
 * without a terminal, a pager, an editor or a prompt, in English, and every process has a time limit, so that a hook cannot hang a run. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "effects/file.h"
#include "effects/process.h"
#include "value/utf8.h"
#include "wal/record.h"

#define DIFF_CAP   ((size_t)64 << 20) /* bytes of a diff; more is an error, never a part */
#define GIT_MS     300000             /* how long one git process may take, hooks included */
#define TRIES      20                 /* while another git holds the index */
#define RETRY_MS   250
#define TRAILER    "Tiffany-Step"
#define FORMAT     "--format=%H %(trailers:key=" TRAILER ",valueonly,separator=%x20)"
#define HISTORY    "-1000" /* commits searched for the trailer: those since the last crash, and many more */
#define ID_LEN     64      /* hex digits of an object's id, at most (SHA-256) */
#define NS_PER_MS  INT64_C(1000000)
#define ARGS_MAX   24
#define RUN_DIGITS 13 /* of the run's uuid in the branch: its whole millisecond */

typedef struct Job Job;
typedef void Next(Job *job, const TfyProcessEnd *end);

/* One call of the three, while its processes run. */
struct Job {
    TfyCall *call;
    Job *next_job;           /* in the queue of those that change something */
    void (*begin)(Job *job); /* what to do when its turn comes */
    bool queued;             /* it changes something: it has or awaits its turn */
    TfyProcess *process;     /* running now, or NULL */
    Next *next;              /* who gets the end of process */
    uint64_t timer;          /* time limit of process, or the pause before a retry; 0: none */
    int tries;
    char **env;              /* for git; NULL-terminated, owned */
    char *path;              /* below the root, owned */
    char *files[2];          /* preview: temporary files with the old and the new text, owned; NULL: none */
    TfyBuffer text;          /* preview: the old text; apply: the file's text; commit: the whole message */
    bool exists;             /* preview: the file exists now */
    bool executable;         /* preview: it may be run */
    char *dir;               /* apply: temporary directory with the copy, owned; NULL: none */
    int dir_fd;              /* of dir; -1: none */
    char new_id[ID_LEN + 1]; /* apply: what the diff's index line says the text becomes; empty: it does not say */
    char branch[64];         /* commit: "tiffany/feature/<run>" */
    char *trailer;           /* commit: the key as it stands in the message, owned */
};

/* What the module keeps with the loop. */
typedef struct Canvas {
    Job *first, *last; /* jobs that change something; the first has its turn */
} Canvas;

/* ---- jobs ---- */

static void end_turn(Job *job);

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    return remove(path);
}

static void free_job(Job *job)
{
    if (job->timer) tfy__timer_del(job->call->loop, job->timer);
    for (int i = 0; i < 2; i++) {
        if (job->files[i]) unlink(job->files[i]);
        free(job->files[i]);
    }
    if (job->dir_fd >= 0) close(job->dir_fd);
    if (job->dir) nftw(job->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(job->dir);
    for (char **entry = job->env; entry && *entry; entry++) free(*entry);
    free(job->env);
    free(job->path);
    free(job->trailer);
    tfy__buffer_free(&job->text);
    free(job);
}

/* Takes the job off its call; the call can be answered afterwards. */
static TfyCall *leave(Job *job)
{
    TfyCall *call = job->call;
    call->state = NULL;
    end_turn(job);
    free_job(job);
    return call;
}

static void abort_job(TfyCall *call)
{
    Job *job = call->state;
    if (!job) return;
    if (job->process) tfy__process_abort(job->process);
    leave(job);
}

static void job_error(Job *job, int64_t code, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void job_error(Job *job, int64_t code, const char *format, ...)
{
    char message[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    tfy__call_tool_error(leave(job), code, "%s", message);
}

static void job_file_error(Job *job, const char *verb, int error)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", job->path);
    tfy__file_error(leave(job), verb, path, error);
}

/* ---- turns ---- */

static Canvas *canvas_of(TfyLoop *loop)
{
    Canvas **place = (Canvas **)tfy__module(loop, TFY_M_CANVAS);
    if (!*place) *place = calloc(1, sizeof **place);
    return *place;
}

static void on_turn(void *arg)
{
    Job *job = arg;
    job->timer = 0;
    job->begin(job);
}

/* Begins a job now, or when those before it have ended. */
static void take_turn(Job *job, void (*begin)(Job *job))
{
    Canvas *canvas = canvas_of(job->call->loop);
    if (!canvas) {
        job_error(job, ENOMEM, "memory ran out");
        return;
    }
    job->begin = begin;
    job->queued = true;
    if (canvas->last) {
        canvas->last->next_job = job;
        canvas->last = job;
        return;
    }
    canvas->first = canvas->last = job;
    begin(job);
}

static void end_turn(Job *job)
{
    if (!job->queued) return;
    Canvas *canvas = canvas_of(job->call->loop);
    TfyLoop *loop = job->call->loop;
    Job **link = &canvas->first, *before = NULL;
    bool had_turn = canvas->first == job;
    for (; *link != job; link = &(*link)->next_job) before = *link;
    *link = job->next_job;
    if (canvas->last == job) canvas->last = before;
    job->queued = false;
    Job *first = canvas->first;
    if (had_turn && first) first->timer = tfy__timer_add(loop, tfy__now_ns(loop), on_turn, first);
}

/* ---- git ---- */

/* Its words, without the last newline, as much as fits a message. */
static int git_words(const TfyProcessEnd *end, const char **words)
{
    const TfyBuffer *output = end->err.len ? &end->err : &end->out;
    size_t len = output->len;
    while (len && output->data[len - 1] == '\n') len--;
    *words = output->data ? output->data : "";
    return len > 3000 ? 3000 : (int)len;
}

static void fail_git(Job *job, const TfyProcessEnd *end, const char *what)
{
    const char *words;
    int len = git_words(end, &words);
    job_error(job, end->code, "%s: %.*s", what, len, words);
}

static void on_git_end(void *arg, const TfyProcessEnd *end)
{
    Job *job = arg;
    job->process = NULL;
    tfy__timer_del(job->call->loop, job->timer);
    job->timer = 0;
    if (end->error) {
        job_error(job, end->error, "%s; the canvas needs git", end->message);
    } else {
        job->next(job, end);
    }
}

static void on_git_late(void *arg)
{
    Job *job = arg;
    job->timer = 0;
    tfy__process_abort(job->process);
    job->process = NULL;
    job_error(job, ETIMEDOUT, "git took longer than %d s and was ended; a hook may be waiting for something",
              GIT_MS / 1000);
}

typedef struct Git {
    const char *args[ARGS_MAX]; /* after "git" */
    const char *input;          /* stdin; NULL: none */
    size_t input_len;
    int cwd_fd; /* 0: the working root */
} Git;

/* Runs git, in the working root unless told otherwise; next gets its end. What compares bare texts passes `-C /`: no repository's attributes apply there. */
static void run_git(Job *job, Next *next, const Git *git)
{
    TfyLoop *loop = job->call->loop;
    const char *argv[ARGS_MAX + 8] = {"git", "-c", "core.autocrlf=false", "-c", "gc.auto=0"};
    memcpy(argv + 5, git->args, sizeof git->args);
    TfyProcessSpec spec = {.argv = argv,
                           .env = (const char *const *)job->env,
                           .key = job->call->key,
                           .cwd_fd = git->cwd_fd ? git->cwd_fd : -1,
                           .input = git->input,
                           .input_len = git->input_len,
                           .output_cap = DIFF_CAP};
    job->next = next;
    job->process = tfy__process_start(loop, &spec, on_git_end, job);
    if (!job->process) {
        job_error(job, ENOMEM, "memory or descriptors ran out while starting git");
        return;
    }
    job->timer = tfy__timer_add(loop, tfy__now_ns(loop) + GIT_MS * NS_PER_MS, on_git_late, job);
}

static bool fill_env(Job *job)
{
    static const char *const fixed[] = {
        "LC_ALL=C",      "LANGUAGE=C",       "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true",
        "GIT_PAGER=cat", "GIT_ASKPASS=true", "SSH_ASKPASS=true",      "GIT_SEQUENCE_EDITOR=true"};
    enum { FIXED = sizeof fixed / sizeof *fixed };
    job->env = calloc(FIXED + 5, sizeof *job->env); /* room for a ceiling or an identity */
    for (int i = 0; job->env && i < FIXED; i++) {
        if (!(job->env[i] = strdup(fixed[i]))) return false;
    }
    return job->env;
}

static bool add_env(Job *job, const char *entry)
{
    char **place = job->env;
    while (*place) place++;
    return (*place = strdup(entry));
}

/* Takes "." and "..", and doubled slashes, out of a path, as git writes names; symbolic links, which could make a difference, are refused
 * later. 0, EXDEV when it leads out, EISDIR when nothing is left. */
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

/* A job for a call about a path (or NULL). NULL after the call was failed. */
static Job *new_job(TfyCall *call, const TfyObj *path, const char *verb)
{
    Job *job = calloc(1, sizeof *job);
    const char *below = path ? tfy__path_below(call->loop, path) : ".";
    if (!job) {
        tfy__call_tool_error(call, ENOMEM, "memory ran out");
        return NULL;
    }
    job->call = call;
    job->dir_fd = -1;
    call->state = job;
    job->path = below ? strdup(below) : strdup(((const TfyString *)path)->bytes);
    if (!job->path || !fill_env(job)) {
        job_error(job, ENOMEM, "memory ran out");
        return NULL;
    }
    int error = below ? path ? tidy_path(job->path) : 0 : EXDEV;
    if (!error && !tfy__root_is_gone(call->loop)) return job;
    job_file_error(job, verb, error);
    return NULL;
}

/* ---- preview ---- */

/* A name as git writes it in a patch: in quotes with escapes when it has bytes that could be misread. */
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

/* A `---` or `+++` line; a name with a space ends in a tab, so that readers know where it ends. */
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

/* The value of git's `index` line in a diff, "old..new", up to a space or the line's end; NULL: it has none before its first hunk. */
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

/* Git compared two nameless files; this writes the head for the real name around its hunks. */
static bool write_diff(Job *job, const TfyBuffer *git, TfyBuffer *diff)
{
    size_t ids_len = 0;
    const char *text = git->data ? git->data : "", *ids = find_index(text, git->len, &ids_len);
    const char *hunks = git->len && *text == '@' ? text : strstr(text, "\n@@ ");
    const char *mode = job->executable ? "100755" : "100644";
    if (!ids) return false;
    tfy__buffer_text(diff, "diff --git ");
    add_name(diff, "a/", job->path);
    tfy__buffer_char(diff, ' ');
    add_name(diff, "b/", job->path);
    if (!job->exists) tfy__buffer_printf(diff, "\nnew file mode %s", mode);
    tfy__buffer_printf(diff, "\nindex %.*s", (int)ids_len, ids);
    tfy__buffer_printf(diff, job->exists ? " %s\n" : "\n", mode);
    if (!hunks) return true; /* a new file without text */
    add_side(diff, "---", job->exists ? "a/" : NULL, job->path);
    add_side(diff, "+++", "b/", job->path);
    hunks += *hunks == '\n';
    tfy__buffer_add(diff, hunks, git->len - (size_t)(hunks - text));
    return true;
}

static void give_patch(Job *job, const char *diff, size_t len)
{
    TfyTask *task = job->call->task;
    TfyHeap *heap = task->heap;
    uint32_t mark = tfy_mark(task);
    TfyValue fields[2] = {tfy_of_obj(tfy_string_of(task, job->path, strlen(job->path)))};
    fields[1].o = fields[0].o ? tfy_string_of(task, diff, len) : NULL;
    TfyObj *patch = fields[1].o ? tfy_record_of(task, &tfy_type_patch, fields) : NULL;
    if (patch) {
        tfy__call_done(leave(job), tfy_of_obj(patch));
    } else {
        tfy_drop(task, tfy_take_error(task));
        job_error(job, ENOMEM, "memory ran out");
    }
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

static void on_diff(Job *job, const TfyProcessEnd *end)
{
    TfyBuffer diff = {0};
    if (end->code > 1) {
        fail_git(job, end, "git diff failed");
    } else if (end->out_cut) {
        job_error(job, EFBIG, "the diff of '%s' is too big", job->path);
    } else if (end->code == 0 && job->exists) {
        give_patch(job, "", 0);
    } else if (!write_diff(job, &end->out, &diff) || diff.failed) {
        job_error(job, EIO, "git diff printed something unexpected");
    } else {
        give_patch(job, diff.data, diff.len);
    }
    tfy__buffer_free(&diff);
}

/* Reads the file as it is now. 0 or -errno; a file that does not exist is fine. */
static int read_old(Job *job)
{
    struct stat info;
    int root_fd = tfy__root_fd(job->call->loop), error = tfy__file_read(root_fd, job->path, false, &job->text);
    job->exists = error != -ENOENT;
    if (error == 0 && fstatat(root_fd, job->path, &info, AT_SYMLINK_NOFOLLOW) == 0)
        job->executable = info.st_mode & S_IXUSR;
    return error == -ENOENT ? 0 : error;
}

static bool is_text(const TfyBuffer *text)
{
    for (size_t at = 0; at < text->len;) {
        int step = tfy__utf8_step((const unsigned char *)text->data + at, text->len - at);
        if (step < 0) return false;
        at += (size_t)step;
    }
    return true;
}

/* "<temporary directory>/tfy-XXXXXX", owned; NULL: no memory. */
static char *temp_name(void)
{
    const char *dir = getenv("TMPDIR");
    char *name;
    return asprintf(&name, "%s/tfy-XXXXXX", dir && *dir == '/' ? dir : "/tmp") < 0 ? NULL : name;
}

/* A temporary file with a text, for git to read; *file is its owned name. 0 or -errno. */
static int write_temp(char **file, const char *text, size_t len)
{
    char *name = temp_name();
    if (!name) return -ENOMEM;
    int fd = mkostemp(name, O_CLOEXEC), error = fd < 0 ? -errno : 0;
    if (fd < 0) {
        free(name);
        return error;
    }
    *file = name;
    for (size_t done = 0; !error && done < len;) {
        ssize_t n = write(fd, text + done, len - done);
        if (n < 0 && errno != EINTR) error = -errno;
        if (n > 0) done += (size_t)n;
    }
    close(fd);
    return error;
}

static void preview_start(TfyCall *call)
{
    Job *job = new_job(call, call->args[0].o, "preview");
    const TfyString *text = (const TfyString *)call->args[1].o;
    if (!job) return;
    call->record_type = TFY_R_PATCH_PREVIEW;
    int error = read_old(job);
    if (text->byte_len > TFY_FILE_CAP) error = -EFBIG;
    if (!error && job->exists && !is_text(&job->text)) {
        job_error(job, EILSEQ, "cannot preview '%s': it is not UTF-8 text", job->path);
        return;
    }
    if (!error && job->exists) error = write_temp(&job->files[0], job->text.data, job->text.len);
    if (!error) error = write_temp(&job->files[1], text->bytes, text->byte_len);
    if (error) {
        job_file_error(job, "preview", -error);
        return;
    }
    Git git = {.args = {"-C", "/", "diff", "--no-index", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv",
                        "--text", "--unified=3", "--diff-algorithm=histogram", "--",
                        job->files[0] ? job->files[0] : "/dev/null", job->files[1]}};
    run_git(job, on_diff, &git);
}

/* ---- apply ---- */

static const TfyString *diff_of(const Job *job)
{
    return (const TfyString *)tfy_field(job->call->args[0].o, 1).o;
}

static void apply_done(Job *job)
{
    tfy__call_done(leave(job), tfy_of_int(0));
}

/* git apply with the diff on stdin and up to three options. */
static void run_apply(Job *job, Next *next, const char *first, const char *second, const char *third)
{
    const TfyString *diff = diff_of(job);
    Git git = {.args = {"apply", "--whitespace=nowarn", first, second, third},
               .input = diff->bytes,
               .input_len = diff->byte_len,
               .cwd_fd = job->dir_fd};
    run_git(job, next, &git);
}

static void on_reversed(Job *job, const TfyProcessEnd *end)
{
    if (end->code == 0) {
        apply_done(job); /* it can only be undone: it was done before */
        return;
    }
    TfyBuffer words = job->text; /* what git said about applying it */
    job->text = (TfyBuffer){0};
    job_error(job, 1, "cannot apply the patch to '%s': %.*s", job->path, words.len > 3000 ? 3000 : (int)words.len,
              words.data ? words.data : "");
    tfy__buffer_free(&words);
}

/* Puts the patched copy in the place of the file. */
static void install(Job *job)
{
    struct stat info;
    int root_fd = tfy__root_fd(job->call->loop), error = tfy__file_read(job->dir_fd, job->path, false, &job->text);
    if (error == -ENOENT) {
        error = tfy__file_remove(root_fd, job->path);
    } else if (!error) {
        bool executable = fstatat(job->dir_fd, job->path, &info, 0) == 0 && info.st_mode & S_IXUSR;
        error = tfy__file_write(root_fd, job->path, job->call->key, executable, job->text.data ? job->text.data : "",
                                job->text.len);
    }
    if (error) {
        job_file_error(job, "apply a patch to", -error);
    } else {
        apply_done(job);
    }
}

static void on_applied(Job *job, const TfyProcessEnd *end)
{
    const char *words;
    if (end->code == 0) {
        install(job);
        return;
    }
    int len = git_words(end, &words);
    tfy__buffer_reset(&job->text);
    tfy__buffer_add(&job->text, words, (size_t)len);
    run_apply(job, on_reversed, "--check", "--reverse", NULL);
}

/* The id of the file as it is now. */
static void on_hashed(Job *job, const TfyProcessEnd *end)
{
    size_t len = strlen(job->new_id);
    if (end->code == 0 && len && end->out.len > len && memcmp(end->out.data, job->new_id, len) == 0) {
        apply_done(job);
        return;
    }
    run_apply(job, on_applied, NULL, NULL, NULL);
}

/* Splits git's numstat record "N\tN\tpath\0" and the summary behind it. Is it this path alone, as a plain file? */
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

static void on_listed(Job *job, const TfyProcessEnd *end)
{
    if (end->code) {
        fail_git(job, end, "the patch cannot be read");
        return;
    }
    if (!end->out.len || !touches_only(&end->out, job->path)) {
        job_error(job, EXDEV, "the patch changes something else than the text of '%s'; it was not applied", job->path);
        return;
    }
    if (!job->exists || !job->new_id[0]) { /* nothing to compare */
        run_apply(job, on_applied, NULL, NULL, NULL);
        return;
    }
    Git git = {.args = {"-C", "/", "hash-object", "--no-filters", "--stdin"},
               .input = job->text.data ? job->text.data : "",
               .input_len = job->text.len};
    run_git(job, on_hashed, &git);
}

/* Takes the new id from the diff's index line, when it is a whole one. */
static void read_ids(Job *job)
{
    size_t len = 0;
    const char *ids = find_index(diff_of(job)->bytes, diff_of(job)->byte_len, &len),
               *dots = ids ? memmem(ids, len, "..", 2) : NULL;
    size_t new_len = dots ? (size_t)(ids + len - dots - 2) : 0;
    if (new_len != 40 && new_len != ID_LEN) return;
    memcpy(job->new_id, dots + 2, new_len);
    job->new_id[new_len] = 0;
}

/* A directory of its own for the copy; git must not take it for a part of a repository it may lie in. 0 or -errno. */
static int open_dir(Job *job)
{
    char real[PATH_MAX], ceiling[PATH_MAX + 32];
    char *name = temp_name();
    if (!name) return -ENOMEM;
    if (!mkdtemp(name)) {
        int error = -errno;
        free(name);
        return error;
    }
    job->dir = name;
    job->dir_fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (job->dir_fd < 0 || !realpath(name, real)) return -errno;
    snprintf(ceiling, sizeof ceiling, "GIT_CEILING_DIRECTORIES=%s", dirname(real));
    return add_env(job, ceiling) ? 0 : -ENOMEM;
}

static void begin_apply(Job *job)
{
    int error = read_old(job);
    if (!error) error = open_dir(job);
    if (!error && job->exists) {
        const char *bytes = job->text.data ? job->text.data : "";
        error = tfy__file_write(job->dir_fd, job->path, job->call->key, job->executable, bytes, job->text.len);
    }
    if (error) {
        job_file_error(job, "apply a patch to", -error);
    } else {
        run_apply(job, on_listed, "--numstat", "-z", "--summary");
    }
}

static void apply_start(TfyCall *call)
{
    Job *job = new_job(call, tfy_field(call->args[0].o, 0).o, "apply a patch to");
    if (!job) return;
    if (diff_of(job)->byte_len == 0) {
        apply_done(job); /* nothing was to change */
        return;
    }
    read_ids(job);
    take_turn(job, begin_apply);
}

/* ---- commit ---- */

static void commit_done(Job *job, const char *id, size_t id_len)
{
    TfyCall *call = job->call;
    TfyTask *task = call->task;
    TfyHeap *heap = task->heap;
    uint32_t mark = tfy_mark(task);
    const TfyString *message = (const TfyString *)call->args[0].o;
    TfyObj *sha = tfy_string_of(task, id, id_len);
    if (sha) {
        tfy__buffer_text(&call->extra, ",\"message\":");
        tfy__buffer_json_string(&call->extra, message->bytes, message->byte_len);
        tfy__buffer_text(&call->extra, ",\"key\":");
        tfy__buffer_json_string(&call->extra, call->key, strlen(call->key));
        tfy__call_done(leave(job), tfy_of_obj(sha));
    } else {
        tfy_drop(task, tfy_take_error(task));
        job_error(job, ENOMEM, "memory ran out");
    }
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

static void on_committed_id(Job *job, const TfyProcessEnd *end)
{
    size_t len = end->out.len;
    while (len && end->out.data[len - 1] == '\n') len--;
    if (end->code || !len) {
        fail_git(job, end, "the commit was made, but git does not name it");
    } else {
        commit_done(job, end->out.data, len);
    }
}

static void begin_commit(Job *job);

/* Another git is at work here: begins anew a little later. False: it has lasted too long, or it is something else. */
static bool try_later(Job *job, const TfyProcessEnd *end)
{
    const char *words;
    int len = git_words(end, &words);
    TfyLoop *loop = job->call->loop;
    if (!memmem(words, (size_t)len, "index.lock", 10) || job->tries++ == TRIES) return false;
    job->begin = begin_commit;
    job->timer = tfy__timer_add(loop, tfy__now_ns(loop) + RETRY_MS * NS_PER_MS, on_turn, job);
    return true;
}

static void on_committed(Job *job, const TfyProcessEnd *end)
{
    if (end->code == 0) {
        run_git(job, on_committed_id, &(Git){.args = {"rev-parse", "--verify", "HEAD"}});
    } else if (!try_later(job, end)) {
        fail_git(job, end, "git commit failed");
    }
}

static void git_commit(Job *job)
{
    Git git = {.args = {"-c", "maintenance.auto=false", "commit", "--quiet", "--no-gpg-sign", "--cleanup=whitespace",
                        "--file=-"},
               .input = job->text.data,
               .input_len = job->text.len};
    run_git(job, on_committed, &git);
}

/* Exit status 1: there are staged changes. */
static void on_compared(Job *job, const TfyProcessEnd *end)
{
    if (end->code == 1) {
        git_commit(job);
    } else if (end->code == 0) {
        job_error(job, 1, "nothing to commit: the working root is as it was at the last commit");
    } else {
        fail_git(job, end, "git diff failed");
    }
}

static void on_added(Job *job, const TfyProcessEnd *end)
{
    if (end->code == 0) {
        run_git(job, on_compared, &(Git){.args = {"diff", "--cached", "--quiet"}});
    } else if (!try_later(job, end)) {
        fail_git(job, end, "git add failed");
    }
}

/* The log's files below the root, as a pattern that git leaves out; false: they are elsewhere. It begins with a wildcard, because git takes
 * the plain beginning of a pattern, even of what to leave out, for a path that was asked for, and complains when that is ignored. */
static bool log_pattern(Job *job, char *pattern, size_t cap)
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

static void git_add(Job *job)
{
    char pattern[PATH_MAX + 64];
    Git git = {.args = {"-c", "advice.addIgnoredFile=false", "add", "--all", "--", ".", ":(exclude,glob)[.]tfy/**",
                        ":(exclude,glob)**/.tfy-*.tmp"}};
    if (log_pattern(job, pattern, sizeof pattern)) git.args[8] = pattern;
    run_git(job, on_added, &git);
}

static void on_switched(Job *job, const TfyProcessEnd *end)
{
    if (end->code == 0) {
        git_add(job);
    } else if (!try_later(job, end)) {
        fail_git(job, end, "cannot switch to the run's branch");
    }
}

/* Is there a branch of this run already? */
static void on_branch(Job *job, const TfyProcessEnd *end)
{
    Git git = {.args = {"switch", "--quiet", "--no-guess"}};
    int at = 3;
    if (end->code) git.args[at++] = "--create";
    git.args[at] = job->branch;
    run_git(job, on_switched, &git);
}

/* Which branch is checked out? */
static void on_head(Job *job, const TfyProcessEnd *end)
{
    char ref[100];
    size_t len = strlen(job->branch);
    if (end->out.len == len + 1 && memcmp(end->out.data, job->branch, len) == 0) {
        git_add(job);
        return;
    }
    snprintf(ref, sizeof ref, "refs/heads/%s", job->branch);
    run_git(job, on_branch, &(Git){.args = {"show-ref", "--verify", "--quiet", ref}});
}

/* Without a name and an address git refuses to commit; people who never set them get ours. */
static void on_identity(Job *job, const TfyProcessEnd *end)
{
    bool fits = end->code == 0 ||
                (add_env(job, "GIT_AUTHOR_NAME=Tiffany") && add_env(job, "GIT_AUTHOR_EMAIL=tiffany@localhost") &&
                 add_env(job, "GIT_COMMITTER_NAME=Tiffany") && add_env(job, "GIT_COMMITTER_EMAIL=tiffany@localhost"));
    if (!fits) {
        job_error(job, ENOMEM, "memory ran out");
        return;
    }
    run_git(job, on_head, &(Git){.args = {"symbolic-ref", "--quiet", "--short", "HEAD"}});
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

static void on_history(Job *job, const TfyProcessEnd *end)
{
    const char *words;
    int len = git_words(end, &words);
    size_t id_len = 0;
    if (end->code && !memmem(words, (size_t)len, "bad revision", 12)) { /* that: a repository without commits */
        fail_git(job, end, "cannot read the history");
        return;
    }
    const char *id = end->out.len ? find_commit(&end->out, job->trailer, &id_len) : NULL;
    if (id) {
        commit_done(job, id, id_len);
    } else {
        run_git(job, on_identity, &(Git){.args = {"-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"}});
    }
}

static void on_repository(Job *job, const TfyProcessEnd *end)
{
    char branches[100];
    int last = (int)strlen(job->branch) - 1;
    if (end->code) {
        fail_git(job, end, "cannot commit: the working root is not in a git repository");
        return;
    }
    /* A pattern that matches this one branch, if it exists; a plain name would mean the branches below it. */
    snprintf(branches, sizeof branches, "--branches=%.*s[%c]", last, job->branch, job->branch[last]);
    Git git = {.args = {"log", HISTORY, "--no-color", "--no-show-signature", FORMAT, branches, "HEAD", "--"}};
    run_git(job, on_history, &git);
}

static void begin_commit(Job *job)
{
    run_git(job, on_repository, &(Git){.args = {"rev-parse", "--is-inside-work-tree"}});
}

static bool is_blank(const TfyString *text)
{
    return strspn(text->bytes, " \t\r\n") == text->byte_len;
}

/* The key as one word: whatever git would fold or cut is percent-encoded. */
static void fill_trailer(Job *job)
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
static void fill_message(Job *job, const TfyString *message)
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
    Job *job = new_job(call, NULL, "commit in");
    if (!job) return;
    call->record_type = TFY_R_COMMIT;
    if (is_blank(message) || memchr(message->bytes, 0, message->byte_len)) {
        job_error(job, EINVAL, "a commit needs a message, without NUL bytes");
        return;
    }
    fill_message(job, message);
    if (!job->trailer || job->text.failed) {
        job_error(job, ENOMEM, "memory ran out");
        return;
    }
    snprintf(job->branch, sizeof job->branch, "tiffany/feature/%.*s", RUN_DIGITS, tfy__run_uuid(call->task));
    take_turn(job, begin_commit);
}

static void close_canvas(TfyLoop *loop)
{
    Canvas **place = (Canvas **)tfy__module(loop, TFY_M_CANVAS);
    free(*place);
    *place = NULL;
}

const TfyPerformer tfy__perform_preview = {.name = "preview", .start = preview_start, .abort = abort_job};
const TfyPerformer tfy__perform_apply = {.name = "apply", .start = apply_start, .abort = abort_job};
const TfyPerformer tfy__perform_commit = {
    .name = "commit", .start = commit_start, .abort = abort_job, .close = close_canvas};
