/* canvas_repository.c: a view of a repository without the commands that its settings name.
 *
 * A repository's own config can name any number of commands (filters, drivers for diffs and merges, transports),
 * and .gitattributes, which anybody can write, says which files they apply to. Settings on git's command line can
 * switch off only commands whose names are known. So every git that reads the work tree gets a git directory of its
 * own: the repository's objects, where its history ends, its lists of ignored files and of attributes, an index of its own, and of its
 * settings those in the list below, which name no command. Hooks, filters and drivers of the repository cannot
 * run, since they are not in it. A person's own ~/.gitconfig and the system's still apply. The person's index is
 * neither read nor written.
 *
 * A filter that only the repository defines is kept as "required" without a command: if an attribute selects it,
 * git refuses. */
#include "effects/canvas.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "effects/file.h"

/* The lines of git's answer about where everything is. */
enum { TOP, OBJECTS, EXCLUDE, ATTRIBUTES, SHALLOW, PLACES };

static const char *const harmless[] = {
    "core.bigfilethreshold",  "core.checkstat",
    "core.compression",       "core.eol",
    "core.excludesfile",      "core.filemode",
    "core.ignorecase",        "core.loosecompression",
    "core.precomposeunicode", "core.repositoryformatversion",
    "core.safecrlf",          "core.symlinks",
    "core.trustctime",        "extensions.objectformat",
    "i18n.commitencoding",    "index.version",
};

bool tfy__git_is_harmless(const char *key)
{
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (strcasecmp(key, harmless[i]) == 0) return true;
    return false;
}

/* ---- the settings ---- */

/* One entry of git's list, "scope NUL key newline value NUL". */
typedef struct Setting {
    const char *scope, *key, *value;
    size_t key_len; /* the key is not terminated */
} Setting;

static bool next_setting(const char **at, const char *end, Setting *setting)
{
    const char *scope_end = memchr(*at, 0, (size_t)(end - *at));
    const char *stop = scope_end ? memchr(scope_end + 1, 0, (size_t)(end - scope_end - 1)) : NULL;
    if (!stop) return false;
    setting->scope = *at;
    setting->key = scope_end + 1;
    const char *newline = memchr(setting->key, '\n', (size_t)(stop - setting->key));
    setting->key_len = (size_t)((newline ? newline : stop) - setting->key);
    setting->value = newline ? newline + 1 : "true"; /* a name alone */
    *at = stop + 1;
    return true;
}

static bool is_repositorys(const Setting *setting)
{
    return strcmp(setting->scope, "local") == 0 || strcmp(setting->scope, "worktree") == 0;
}

static void add_quoted(TfyBuffer *out, const char *text, size_t len)
{
    tfy__buffer_char(out, '"');
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"' || text[i] == '\\') tfy__buffer_char(out, '\\');
        if (text[i] == '\n')
            tfy__buffer_text(out, "\\n");
        else
            tfy__buffer_char(out, text[i]);
    }
    tfy__buffer_char(out, '"');
}

void tfy__git_put_setting(TfyBuffer *out, const char *key, size_t key_len, const char *value)
{
    const char *first = memchr(key, '.', key_len), *last = memrchr(key, '.', key_len);
    if (!first) return;
    tfy__buffer_printf(out, "[%.*s", (int)(first - key), key);
    if (first < last) {
        tfy__buffer_char(out, ' ');
        add_quoted(out, first + 1, (size_t)(last - first) - 1);
    }
    tfy__buffer_printf(out, "]\n\t%.*s = ", (int)(key + key_len - last) - 1, last + 1);
    add_quoted(out, value, strlen(value));
    tfy__buffer_char(out, '\n');
}

/* The name between "filter." and the last dot; false: it is another setting. */
static bool filter_name(const Setting *setting, const char **name, size_t *len)
{
    const char *dot = memrchr(setting->key, '.', setting->key_len);
    *name = setting->key + 7;
    if (setting->key_len < 8 || strncmp(setting->key, "filter.", 7) != 0 || dot < *name) return false;
    *len = (size_t)(dot - *name);
    return true;
}

/* Does the person's own configuration define this filter? */
static bool is_own_filter(const TfyBuffer *list, const char *name, size_t len)
{
    const char *at = list->data, *own;
    size_t own_len;
    for (Setting setting; next_setting(&at, list->data + list->len, &setting);)
        if (!is_repositorys(&setting) && filter_name(&setting, &own, &own_len) && own_len == len &&
            memcmp(own, name, len) == 0)
            return true;
    return false;
}

static void add_setting(TfyBuffer *out, const TfyBuffer *list, const Setting *setting)
{
    char key[64];
    const char *name;
    size_t len;
    if (filter_name(setting, &name, &len)) {
        if (is_own_filter(list, name, len)) return;
        tfy__buffer_text(out, "[filter ");
        add_quoted(out, name, len);
        tfy__buffer_text(out, "]\n\trequired = true\n");
        return;
    }
    snprintf(key, sizeof key, "%.*s", (int)setting->key_len, setting->key);
    if (tfy__git_is_harmless(key)) tfy__git_put_setting(out, setting->key, setting->key_len, setting->value);
}

/* ---- the directory ---- */

int tfy__git_write_all(int fd, const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno != EINTR) return -errno;
        if (n > 0) text += n, len -= (size_t)n;
    }
    return 0;
}

int tfy__git_write_text(int dir, const char *name, const char *text, size_t len)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int error = fd < 0 ? -errno : tfy__git_write_all(fd, text, len);
    if (fd >= 0) close(fd);
    return error;
}

static int fill_directory(TfyCanvasJob *job, char *const places[PLACES])
{
    static const char *const links[PLACES] = {
        [EXCLUDE] = "info/exclude", [ATTRIBUTES] = "info/attributes", [SHALLOW] = "shallow"};
    static const char head[] = "ref: refs/heads/none\n";
    static const char *const dirs[] = {"objects", "refs", "info"};
    int error = tfy__git_write_text(job->dir_fd, "HEAD", head, sizeof head - 1);
    for (size_t i = 0; !error && i < sizeof dirs / sizeof *dirs; i++)
        if (mkdirat(job->dir_fd, dirs[i], 0700) < 0) error = -errno;
    for (size_t i = 0; !error && i < PLACES; i++)
        if (links[i] && symlinkat(places[i], job->dir_fd, links[i]) < 0) error = -errno;
    return error;
}

static int make_directory(TfyCanvasJob *job, char *const places[PLACES])
{
    char objects[PATH_MAX + 32], index[PATH_MAX + 32];
    if (!(job->tree = tfy__sys_strdup(places[TOP]))) return -ENOMEM;
    snprintf(objects, sizeof objects, "GIT_OBJECT_DIRECTORY=%s", places[OBJECTS]);
    snprintf(index, sizeof index, "GIT_INDEX_FILE=%s/index", job->dir);
    if (!tfy__canvas_add_env(job, objects) || !tfy__canvas_add_env(job, index)) return -ENOMEM;
    return fill_directory(job, places);
}

/* ---- the chain ---- */

static void fail_directory(TfyCanvasJob *job, int error)
{
    tfy__canvas_error(job, -error, "cannot commit: a temporary directory cannot be made: %s", strerror(-error));
}

static void on_settings(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    TfyBuffer config = {0};
    if (end->code) {
        tfy__git_fail(job, end, "cannot read the repository's settings");
        return;
    }
    const char *at = end->out.data ? end->out.data : "", *stop = at + end->out.len;
    for (Setting setting; next_setting(&at, stop, &setting);)
        if (is_repositorys(&setting)) add_setting(&config, &end->out, &setting);
    int error = config.failed ? -ENOMEM
                              : tfy__git_write_text(job->dir_fd, "config", config.data ? config.data : "", config.len);
    tfy__buffer_free(&config);
    if (error)
        fail_directory(job, error);
    else
        job->ready(job);
}

/* Cuts git's answer into its lines; false: their number is wrong. */
static bool cut_lines(char *text, char *places[PLACES])
{
    int count = 0;
    for (char *line = text, *stop; *line; line = stop + 1) {
        if (count == PLACES || !(stop = strchr(line, '\n'))) return false;
        *stop = 0;
        places[count++] = line;
    }
    return count == PLACES;
}

static void use_places(TfyCanvasJob *job, char *const places[PLACES])
{
    int error = make_directory(job, places);
    if (error)
        fail_directory(job, error);
    else
        tfy__git_run(job, on_settings, &(TfyGit){.args = {"config", "--list", "-z", "--show-scope"}});
}

static void on_places(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    char *places[PLACES], *text;
    if (end->code) {
        tfy__git_fail(job, end, "cannot commit: the working root is not in a git repository");
    } else if (!(text = tfy__sys_strdup(end->out.data ? end->out.data : ""))) {
        tfy__call_starved(tfy__canvas_leave(job));
    } else {
        if (cut_lines(text, places))
            use_places(job, places);
        else
            tfy__canvas_error(job, EINVAL, "cannot commit: the path of the repository has a newline in it");
        free(text);
    }
}

static void ask_places(TfyCanvasJob *job)
{
    TfyGit git = {.args = {"rev-parse", "--path-format=absolute", "--show-toplevel", "--git-path", "objects",
                           "--git-path", "info/exclude", "--git-path", "info/attributes", "--git-path", "shallow"}};
    job->ready = job->begun;
    tfy__git_run(job, on_places, &git);
}

void tfy__canvas_repository(TfyCanvasJob *job, void (*ready)(TfyCanvasJob *job))
{
    if (job->tree) {
        ready(job);
        return;
    }
    const int error = job->dir ? 0 : tfy__canvas_make_dir(job);
    job->begun = ready;
    if (error)
        fail_directory(job, error);
    else
        tfy__canvas_confine_repository(job, ask_places);
}
