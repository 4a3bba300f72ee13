/* git_dirs.c: see git_dirs.h. */
#include "effects/git_dirs.h"
#include "base/sys_memory.h"
#include "effects/git.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALTERNATES = 100 }; /* directories of other repositories' objects at most */

/* ---- finding ---- */

static bool has(const char *dir, const char *name)
{
    char path[2 * PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s", dir, name) < (int)sizeof path && access(path, F_OK) == 0;
}

bool tfy__git_is_dir(const char *path)
{
    return has(path, "HEAD") && (has(path, "commondir") || (has(path, "objects") && has(path, "refs")));
}

/* The first line of the file dir/name, behind this word; false: it has none. */
static bool first_line(const char *dir, const char *name, const char *word, char line[PATH_MAX])
{
    char path[2 * PATH_MAX];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "re") : NULL;
    const bool read = file && fgets(line, PATH_MAX, file);
    if (file) fclose(file);
    const size_t len = strlen(word);
    if (!read || strncmp(line, word, len) != 0) return false;
    memmove(line, line + len, strlen(line + len) + 1);
    line[strcspn(line, "\r\n")] = 0;
    return *line != 0;
}

/* A path as a file in dir has it, without links. */
static bool resolve(const char *dir, const char *path, char real[PATH_MAX])
{
    char joined[2 * PATH_MAX];
    const int len = snprintf(joined, sizeof joined, "%s%s%s", *path == '/' ? "" : dir, *path == '/' ? "" : "/", path);
    return len < (int)sizeof joined && realpath(joined, real);
}

bool tfy__git_dirs_at(const char *top, TfyGitDirs *dirs)
{
    char line[PATH_MAX], path[2 * PATH_MAX];
    struct stat info;
    snprintf(path, sizeof path, "%s/.git", top);
    if (stat(path, &info) < 0 || !realpath(top, dirs->top)) return false;
    const bool named = S_ISREG(info.st_mode) && first_line(top, ".git", "gitdir: ", line);
    if (!resolve(top, named ? line : ".git", dirs->own) || !tfy__git_is_dir(dirs->own)) return false;
    if (!first_line(dirs->own, "commondir", "", line)) {
        snprintf(dirs->common, sizeof dirs->common, "%s", dirs->own);
        return true;
    }
    return resolve(dirs->own, line, dirs->common) && tfy__git_is_dir(dirs->common);
}

bool tfy__git_dirs_above(const char *root, TfyGitDirs *dirs)
{
    char top[PATH_MAX];
    struct stat first, info;
    snprintf(top, sizeof top, "%s", root);
    if (stat(root, &first) < 0) return false;
    for (;;) {
        const char *dir = *top ? top : "/";
        if (stat(dir, &info) < 0 || info.st_dev != first.st_dev) return false; /* where git stops, too */
        if (tfy__git_dirs_at(dir, dirs)) return true;
        if (!*top) return false;
        *strrchr(top, '/') = 0;
    }
}

/* ---- opening ---- */

/* A directory of objects must be in one that git takes for a repository's. */
static void open_objects(TfyCellPlan *plan, int kind, const char *dir, const char *path)
{
    char real[PATH_MAX];
    if (!resolve(dir, path, real)) return;
    char *slash = strrchr(real, '/');
    if (strcmp(slash, "/objects") != 0) return;
    *slash = 0;
    const bool whole = tfy__git_is_dir(real);
    *slash = '/';
    if (whole) tfy__cell_add(plan, kind, real);
}

/* A directory that git would make itself, with those above it. Nobody's link is followed. */
static void open_branches(TfyCellPlan *plan, const char *common, const char *name)
{
    char path[2 * PATH_MAX], real[PATH_MAX];
    const size_t len = strlen(common) + 1;
    snprintf(path, sizeof path, "%s/%s", common, name);
    for (char *slash = strchr(path + len, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        const bool plain = (mkdir(path, 0777) == 0 || errno == EEXIST) && realpath(path, real) && !strcmp(path, real);
        *slash = '/';
        if (!plain) return;
    }
    if (mkdir(path, 0777) < 0 && errno != EEXIST) return;
    if (realpath(path, real) && strcmp(path, real) == 0) tfy__cell_add(plan, TFY_CELL_WRITES, real);
}

void tfy__git_dirs_commit(const TfyGitDirs *dirs, TfyCellPlan *plan)
{
    char reftable[PATH_MAX + 16];
    snprintf(reftable, sizeof reftable, "%s/reftable", dirs->common);
    struct stat info;
    tfy__cell_add(plan, TFY_CELL_READS, dirs->common);
    if (strcmp(dirs->own, dirs->common) != 0) tfy__cell_add(plan, TFY_CELL_READS, dirs->own);
    open_objects(plan, TFY_CELL_WRITES, dirs->common, "objects");
    if (lstat(reftable, &info) == 0 && S_ISDIR(info.st_mode)) {
        tfy__cell_add(plan, TFY_CELL_WRITES, reftable);
        return;
    }
    open_branches(plan, dirs->common, "refs/heads/" TFY_BRANCHES);
    open_branches(plan, dirs->common, "logs/refs/heads/" TFY_BRANCHES);
}

void tfy__git_dirs_branch(const TfyGitDirs *dirs, const char *ref, TfyCellPlan *plan)
{
    char name[PATH_MAX], log[PATH_MAX + 8];
    snprintf(name, sizeof name, "%s", ref);
    char *slash = strrchr(name, '/');
    if (slash) *slash = 0;
    snprintf(log, sizeof log, "logs/%s", name);
    open_branches(plan, dirs->common, name);
    open_branches(plan, dirs->common, log);
}

/* From these git outside takes commands, or settings, which name commands. */
static const char *const shut[] = {"config", "config.worktree", "hooks", "modules", "worktrees", "commondir", NULL};
static const char *const own_shut[] = {"config.worktree", "commondir", NULL};

/* What a link leads to can be written, too, if it lies in the root. */
static void protect_target(TfyCellPlan *plan, const char *root, const char *path)
{
    char real[PATH_MAX];
    if (realpath(path, real) && tfy__cell_within(real, root) && strcmp(real, root) != 0)
        tfy__cell_add(plan, TFY_CELL_PROTECTED, real);
}

static int shut_names(TfyCellPlan *plan, const char *root, const char *dir, const char *const *name, TfyGitNames *names)
{
    char path[2 * PATH_MAX];
    struct stat info;
    for (; *name; name++) {
        snprintf(path, sizeof path, "%s/%s", dir, *name);
        const bool exists = lstat(path, &info) == 0;
        if (exists && !S_ISLNK(info.st_mode)) {
            tfy__cell_add(plan, TFY_CELL_PROTECTED, path);
            continue;
        }
        if (exists) protect_target(plan, root, path);
        TfyGitName *kept = &names->names[names->count];
        if (!(kept->path = tfy__sys_strdup(path))) return ENOMEM;
        kept->inode = exists ? info.st_ino : 0;
        names->count++;
    }
    return 0;
}

/* It may be in the plan already, as protected or as read. */
static void open_path(TfyCellPlan *plan, const char *path)
{
    const char *item;
    for (uint32_t i = 1; (item = tfy__cell_path_of(plan, i)); i++) {
        if (strcmp(item, path) != 0 || (item[-1] != TFY_CELL_PROTECTED && item[-1] != TFY_CELL_READS)) continue;
        plan->paths.data[item - plan->paths.data - 1] = TFY_CELL_WRITES;
        return;
    }
    tfy__cell_add(plan, TFY_CELL_WRITES, path);
}

int tfy__git_dirs_open(const TfyGitDirs *dirs, const char *root, TfyCellPlan *plan, TfyGitNames *names)
{
    open_path(plan, dirs->common);
    int error = shut_names(plan, root, dirs->common, shut, names);
    if (error || strcmp(dirs->own, dirs->common) == 0) return error;
    open_path(plan, dirs->own);
    return shut_names(plan, root, dirs->own, own_shut, names);
}

const char *tfy__git_names_made(const TfyGitNames *names)
{
    struct stat info;
    for (int i = 0; i < names->count; i++)
        if (lstat(names->names[i].path, &info) == 0 && info.st_ino != names->names[i].inode)
            return names->names[i].path;
    return NULL;
}

void tfy__git_names_free(TfyGitNames *names)
{
    while (names->count) free(names->names[--names->count].path);
}

static void read_file(TfyCellPlan *plan, const char *dir, const char *name)
{
    char path[2 * PATH_MAX], real[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    struct stat info;
    if (lstat(path, &info) == 0 && S_ISREG(info.st_mode) && realpath(path, real))
        tfy__cell_add(plan, TFY_CELL_READS, real);
}

/* Those of other repositories, as a clone that shares them names them. */
static void read_alternates(TfyCellPlan *plan, const TfyGitDirs *dirs)
{
    char objects[2 * PATH_MAX], path[3 * PATH_MAX], line[PATH_MAX];
    struct stat info;
    snprintf(objects, sizeof objects, "%s/objects", dirs->common);
    snprintf(path, sizeof path, "%s/info/alternates", objects);
    FILE *file = lstat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "re") : NULL;
    for (int count = 0; file && count < ALTERNATES && fgets(line, sizeof line, file); count++) {
        line[strcspn(line, "\r\n")] = 0;
        if (*line && *line != '#') open_objects(plan, TFY_CELL_READS, objects, line);
    }
    if (file) fclose(file);
}

void tfy__git_dirs_read(const TfyGitDirs *dirs, const char *root, TfyCellPlan *plan)
{
    char above[PATH_MAX];
    read_alternates(plan, dirs);
    snprintf(above, sizeof above, "%s", root);
    while (strcmp(above, dirs->top) != 0 && tfy__cell_within(above, dirs->top)) {
        char *slash = strrchr(above, '/');
        *slash = 0;
        const char *dir = *above ? above : "/";
        read_file(plan, dir, ".gitignore");
        read_file(plan, dir, ".gitattributes");
        if (!*above) break;
    }
    if (strcmp(root, dirs->top) != 0) read_file(plan, dirs->top, ".git"); /* in a linked work tree */
}
