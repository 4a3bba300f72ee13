/* canvas_cell.c: the cell in which the runtime's own git runs.
 *
 * A repository, its attributes and a patch may all be a model's work, so git gets no more than its work needs:
 *
 *   commit           reads the root and the repository, and writes objects and the branches of runs
 *   preview, apply   read and write their own temporary directory alone
 *
 * The temporary directory is git's home, too. A commit puts the person's configuration there, as far as it says who
 * commits, which files are ignored and how files are kept: keys and addresses in it stay outside. A git without a
 * repository reads it, so that nothing that a repository names can run outside the cell. Which of its conditional
 * includes hold, the git inside finds out. */
#include "effects/canvas.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "effects/file.h"
#include "effects/git_dirs.h"
#include "effects/protect.h"

/* ---- the person's configuration ---- */

/* Sections of which all settings are taken; with the dot behind them. */
static const char *const sections[] = {"author.", "committer.", "filter.", "safe.", "user."};

/* With the directory of the person's own settings, "/home/ann/.config/git"; false: there is none. */
static bool config_dir(char dir[PATH_MAX])
{
    const char *given = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int len = PATH_MAX;
    if (given && *given == '/')
        len = snprintf(dir, PATH_MAX, "%s/git", given);
    else if (home && *home == '/')
        len = snprintf(dir, PATH_MAX, "%s/.config/git", home);
    return len < PATH_MAX;
}

static bool has_configuration(void)
{
    char dir[PATH_MAX], path[PATH_MAX + 16];
    const char *home = getenv("HOME");
    snprintf(path, sizeof path, "%s/.gitconfig", home ? home : "");
    if (home && access(path, R_OK) == 0) return true;
    if (!config_dir(dir)) return false;
    snprintf(path, sizeof path, "%s/config", dir);
    return access(path, R_OK) == 0;
}

/* A path of the configuration, in a file in dir, without links; false: it does not exist. */
static bool real_path(const char *dir, const char *path, char real[PATH_MAX])
{
    char joined[2 * PATH_MAX];
    const char *home = getenv("HOME");
    if (path[0] == '~' && path[1] == '/')
        snprintf(joined, sizeof joined, "%s%s", home ? home : "", path + 1);
    else
        snprintf(joined, sizeof joined, "%s%s%s", *path == '/' ? "" : dir, *path == '/' ? "" : "/", path);
    return realpath(joined, real);
}

/* A file that settings name, which the cell reads. */
static void put_file(TfyCanvasJob *job, TfyBuffer *out, const char *key, const char *dir, const char *path)
{
    char real[PATH_MAX];
    if (!real_path(dir, path, real) || tfy__cell_is_system(real)) return;
    tfy__cell_add(&job->confined.plan, TFY_CELL_READS, real);
    tfy__git_put_setting(out, key, strlen(key), real);
}

/* "gitdir:~/work/" means the person's home, not that of the cell. */
static void put_include(TfyCanvasJob *job, TfyBuffer *out, const char *key, const char *dir, const char *path)
{
    const char *home = getenv("HOME"), *tilde = strstr(key, ":~/");
    char *whole = tilde ? tfy__sys_printf("%.*s%s%s", (int)(tilde - key) + 1, key, home ? home : "", tilde + 2) : NULL;
    put_file(job, out, whole ? whole : key, dir, path);
    free(whole);
}

static bool is_wanted(const char *key)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (strncasecmp(key, sections[i], strlen(sections[i])) == 0) return true;
    return tfy__git_is_harmless(key);
}

/* A filter that cannot run in the cell must not let a file through as it is. */
static void put_filter(TfyBuffer *out, const char *key, const char *value)
{
    const char *dot = strrchr(key, '.');
    char *required;
    tfy__git_put_setting(out, key, strlen(key), value);
    if (strncmp(key, "filter.", 7) != 0 || (strcmp(dot, ".clean") != 0 && strcmp(dot, ".process") != 0)) return;
    required = tfy__sys_printf("%.*s.required", (int)(dot - key), key);
    if (required) tfy__git_put_setting(out, required, strlen(required), "true");
    out->failed = out->failed || !required;
    free(required);
}

/* One of the person's own settings; dir: of the file that has it. */
static void take_setting(TfyCanvasJob *job, TfyBuffer *out, const char *dir, const char *key, const char *value)
{
    const bool included = strncmp(key, "includeif.", 10) == 0;
    if (included)
        put_include(job, out, key, dir, value);
    else if (strcmp(key, "core.excludesfile") == 0 || strcmp(key, "core.attributesfile") == 0)
        put_file(job, out, key, dir, value);
    else if (is_wanted(key))
        put_filter(out, key, value);
}

/* Git's list: scope, origin, key newline value, each with a NUL behind it. */
static void take_list(TfyCanvasJob *job, TfyBuffer *out, char *at, const char *end)
{
    char *field[3];
    while (at < end) {
        for (int i = 0; i < 3; i++) {
            field[i] = at;
            at = memchr(at, 0, (size_t)(end - at));
            if (!at++) return;
        }
        if (strcmp(field[0], "global") != 0 || strncmp(field[1], "file:", 5) != 0) continue;
        char *newline = strchr(field[2], '\n'), *slash = strrchr(field[1], '/');
        if (newline) *newline = 0;
        if (slash) *slash = 0;
        take_setting(job, out, field[1] + 5, field[2], newline ? newline + 1 : "true");
    }
}

/* What git reads without being told so comes first: a setting of the same name replaces it. */
static void take_configuration(TfyCanvasJob *job, const TfyProcessEnd *end, TfyBuffer *out)
{
    char dir[PATH_MAX];
    if (config_dir(dir)) {
        put_file(job, out, "core.excludesfile", dir, "ignore");
        put_file(job, out, "core.attributesfile", dir, "attributes");
    }
    if (end && end->code == 0 && end->out.len) take_list(job, out, end->out.data, end->out.data + end->out.len);
}

/* ---- the plan ---- */

static void fail_cell(TfyCanvasJob *job, int error)
{
    if (tfy__is_no_room(error))
        tfy__call_no_room(tfy__canvas_leave(job), error);
    else
        tfy__canvas_error(job, error, "the sandbox of git cannot be built: %s", strerror(error));
}

/* The path behind a descriptor, without links; false: there is no /proc. */
static bool path_behind(int fd, char path[PATH_MAX])
{
    char link[48];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t len = readlink(link, path, PATH_MAX - 1);
    if (len <= 0) return false;
    path[len] = 0;
    return *path == '/';
}

typedef struct Closing {
    TfyCellPlan *plan;
    const char *root, *log; /* the root's `.tfy`, which is closed as a whole */
} Closing;

static void add_closed(void *arg, const char *path)
{
    const Closing *closing = arg;
    if (tfy__cell_within(path, closing->root) && !tfy__cell_within(path, closing->log))
        tfy__cell_add(closing->plan, TFY_CELL_CLOSED, path);
}

int tfy__canvas_close_own(TfyLoop *loop, const char *root, TfyCellPlan *plan)
{
    char log[PATH_MAX + 8];
    struct stat info;
    const TfyProtect *protect = tfy__sandbox_protect(loop);
    if (!protect) return ENOMEM;
    snprintf(log, sizeof log, "%s/.tfy", root);
    if (lstat(log, &info) == 0 && !S_ISLNK(info.st_mode)) tfy__cell_add(plan, TFY_CELL_CLOSED, log);
    tfy__protect_each_closed(protect, add_closed, &(Closing){plan, root, log});
    return 0;
}

/* The root, which is only read, without what is the runtime's; and the repository. */
static int plan_repository(TfyCanvasJob *job, const char *root)
{
    TfyCellPlan *plan = &job->confined.plan;
    TfyGitDirs dirs;
    const int error = tfy__canvas_close_own(job->call->loop, root, plan);
    if (error) return error;
    if (!tfy__git_dirs_above(root, &dirs)) return 0; /* git says so */
    tfy__git_dirs_commit(&dirs, plan);
    tfy__git_dirs_read(&dirs, root, plan);
    /* The root, and what else is open, is a mount of its own inside. */
    return tfy__canvas_add_env(job, "GIT_DISCOVERY_ACROSS_FILESYSTEM=1") ? 0 : ENOMEM;
}

static int set_variables(TfyConfined *confined, const char *dir)
{
    confined->variables[0] = tfy__sys_printf("HOME=%s", dir);
    confined->variables[1] = tfy__sys_printf("TMPDIR=%s", dir);
    return confined->variables[0] && confined->variables[1] ? 0 : ENOMEM;
}

/* Without a repository git needs no root: it gets a directory of the system, which it can read anyway. */
static int make_plan(TfyCanvasJob *job, bool repository)
{
    TfyConfined *confined = &job->confined;
    TfyCellPlan *plan = &confined->plan;
    char root[PATH_MAX] = "/usr", dir[PATH_MAX], home[PATH_MAX];
    if (!path_behind(job->dir_fd, dir) || (repository && !path_behind(tfy__root_fd(job->call->task), root)))
        return ENOENT;
    tfy__cell_add(plan, TFY_CELL_ROOT, root);
    tfy__cell_add(plan, TFY_CELL_CWD, repository ? root : dir);
    if (plan->head.level == TFY_CELL_FULL && tfy__cell_home(root, home)) tfy__cell_add(plan, TFY_CELL_HOME, home);
    tfy__cell_add(plan, plan->head.level == TFY_CELL_FULL ? TFY_CELL_WRITES : TFY_CELL_TEMP, dir);
    plan->head.processes = confined->limits.processes = TFY_CELL_PROCESSES;
    plan->head.file_bytes = confined->limits.file_bytes = TFY_CELL_FILE;
    confined->limits.memory = TFY_CELL_MEMORY;
    confined->open = false;
    const int error = repository ? plan_repository(job, root) : 0;
    return error ? error : set_variables(confined, dir);
}

static void on_person(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    TfyBuffer settings = {0};
    take_configuration(job, end, &settings);
    int error = settings.failed
                    ? ENOMEM
                    : -tfy__git_write_text(job->dir_fd, ".gitconfig", settings.data ? settings.data : "", settings.len);
    tfy__buffer_free(&settings);
    if (!error) error = make_plan(job, true);
    if (error)
        fail_cell(job, error);
    else
        job->ready(job);
}

/* ---- the ways in ---- */

/* False: git runs with the rights of this process, or the call, or the loop, has failed; *open says the first. */
static bool needs_cell(TfyCanvasJob *job, bool *open)
{
    TfyLoop *loop = job->call->loop;
    const TfyCeiling ceiling = tfy__ceiling(job->call->task);
    char why[TFY_CONFINED_WHY];
    *open = ceiling.sandbox && strcmp(ceiling.sandbox, "open") == 0;
    if (*open) return false;
    const int code = tfy__sandbox_level(loop, &job->confined.plan.head.level, why);
    if (code == TFY_OK) return true;
    tfy__canvas_leave(job);
    tfy__loop_fail(loop, code, "%s", why);
    return false;
}

bool tfy__canvas_confine(TfyCanvasJob *job)
{
    bool open;
    if (!needs_cell(job, &open)) return open;
    const int error = make_plan(job, false);
    if (error) fail_cell(job, error);
    return !error;
}

void tfy__canvas_confine_repository(TfyCanvasJob *job, void (*ready)(TfyCanvasJob *job))
{
    bool open;
    job->ready = ready;
    if (!needs_cell(job, &open)) {
        if (open) ready(job);
    } else if (!has_configuration()) {
        on_person(job, NULL);
    } else {
        TfyGit git = {.args = {"--git-dir=/dev/null", "config", "--list", "-z", "--show-scope", "--show-origin"},
                      .outside = true,
                      .cwd_fd = job->dir_fd};
        tfy__git_run(job, on_person, &git);
    }
}

int tfy__canvas_prepare(TfyLoop *loop, const TfyProgram *program, char *error_text)
{
    const TfyCeiling ceiling = tfy__ceiling_option(loop);
    uint32_t level;
    if (ceiling.sandbox && strcmp(ceiling.sandbox, "open") == 0) return TFY_OK;
    return tfy__sandbox_level(loop, &level, error_text);
}
