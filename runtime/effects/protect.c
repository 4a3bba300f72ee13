/* protect.c: decides whether effects may use an entry of a directory. */
#include "effects/protect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* two places of the cache, the file with a model's key, the credentials of systemd, three places of logins */
#define CLOSED_MAX 7
/* of this process; in the cache, if `tfy run` compiled it */
#define OWN_PROGRAM "/proc/self/exe"

const char *const tfy__protect_names[] = {".git",    ".envrc", ".vscode", ".idea", ".mcp.json",
                                          ".claude", ".codex", ".cursor", NULL};

struct TfyProtect {
    TfyLoop *loop; /* has the names of the program's files, which never change */
    int root_fd;
    char *db_dir, *db_name; /* owned; NULL: a log in memory */
    /* paths that are neither read nor written, with everything below, as the secrets of each program; owned; NULL: none */
    char *closed[CLOSED_MAX];
};

/* ---- what is protected ---- */

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static char *joined(const char *dir, const char *name)
{
    return dir && *dir == '/' ? tfy__sys_printf("%s/%s", dir, name) : NULL;
}

/* The directory and the name of the database, from "<db>-tfy"; false: no memory. */
static bool set_database(TfyProtect *protect, const char *lock_path)
{
    char dir[PATH_MAX], real[PATH_MAX];
    if (!lock_path) return true;
    const char *slash = strrchr(lock_path, '/'), *name = slash ? slash + 1 : lock_path;
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - lock_path) + 1 : 1, slash ? lock_path : ".");
    size_t len = strlen(name);
    if (len > 4 && strcmp(name + len - 4, "-tfy") == 0) len -= 4;
    protect->db_dir = tfy__sys_strdup(realpath(dir, real) ? real : dir);
    protect->db_name = tfy__sys_printf("%.*s", (int)len, name);
    return protect->db_dir && protect->db_name;
}

TfyProtect *tfy__protect_new(TfyLoop *loop, int root_fd)
{
    TfyProtect *protect = tfy__sys_calloc(1, sizeof *protect);
    if (!protect) return NULL;
    const char *key = getenv("TFY_LLM_KEY_FILE");
    const char *credentials = getenv("CREDENTIALS_DIRECTORY"), *logins = getenv("TFY_LOGINS");
    protect->loop = loop;
    protect->root_fd = root_fd;
    protect->closed[0] = joined(getenv("XDG_CACHE_HOME"), "tfy");
    protect->closed[1] = joined(getenv("HOME"), ".cache/tfy");
    protect->closed[2] = key && *key ? tfy__sys_strdup(key) : NULL;
    protect->closed[3] = joined(credentials, ".");
    protect->closed[4] = joined(getenv("XDG_CONFIG_HOME"), "tfy");
    protect->closed[5] = joined(getenv("HOME"), ".config/tfy");
    protect->closed[6] = logins && *logins ? tfy__sys_strdup(logins) : NULL;
    if (set_database(protect, tfy__lock_path(loop)) && !(credentials && *credentials == '/' && !protect->closed[3]))
        return protect;
    tfy__protect_free(protect);
    return NULL;
}

void tfy__protect_free(TfyProtect *protect)
{
    if (!protect) return;
    free(protect->db_dir);
    free(protect->db_name);
    for (int i = 0; i < CLOSED_MAX; i++) free(protect->closed[i]);
    free(protect);
}

const char *tfy__protect_reason(int reason)
{
    switch (reason) {
    case TFY_PROTECT_LOG: return "it belongs to the runtime: its log, its cache, or a file of secrets";
    case TFY_PROTECT_COMMANDS: return "programs outside the sandbox take commands from it";
    case TFY_PROTECT_SOURCE: return "it is the source of this program";
    case TFY_PROTECT_PROGRAM: return "it is this program";
    case TFY_PROTECT_BLIND: return "without /proc its target cannot be determined";
    default: return NULL;
    }
}

/* Is the root this directory, or below it? */
static bool is_root_in(const char *path, const char *dir)
{
    char real[PATH_MAX], root[PATH_MAX];
    if (!dir || !realpath(dir, real) || !realpath(path, root)) return false;
    const size_t len = strlen(real);
    return strncmp(root, real, len) == 0 && (!root[len] || root[len] == '/');
}

int tfy__protect_root(TfyLoop *loop, const TfyProgram *program, char *error_text)
{
    const char *secrets = tfy__secrets_option(loop, program), *credentials = getenv("CREDENTIALS_DIRECTORY");
    const char *path = tfy__program_root(loop, program);
    if (is_root_in(path, secrets) || is_root_in(path, credentials)) {
        snprintf(error_text, TFY_ERROR_TEXT,
                 "the working root is in the directory of secrets %s, and this program changes files or runs tools; "
                 "keep the secrets elsewhere, or say --root DIR",
                 is_root_in(path, secrets) ? secrets : credentials);
        return TFY_E_INVALID;
    }
    const char *home = getenv("HOME");
    struct stat root, info;
    if (stat(path, &root) < 0) return TFY_OK;
    const bool is_home = home && stat(home, &info) == 0 && same_file(&root, &info);
    if (!is_home && !(stat("/", &info) == 0 && same_file(&root, &info))) return TFY_OK;
    snprintf(
        error_text, TFY_ERROR_TEXT,
        "the working root is %s, and this program changes files or runs tools; start it in a directory of its own, "
        "or say --root DIR",
        is_home ? "your home directory" : "'/'");
    return TFY_E_INVALID;
}

/* The paths that are closed, wherever they lead. */
static void each_closed(const TfyProtect *protect, void (*visit)(void *arg, const char *path), void *arg)
{
    const TfyProgram *program;
    const char *last = NULL; /* most programs have the secrets of the one before */
    for (int i = 0; i < CLOSED_MAX; i++)
        if (protect->closed[i]) visit(arg, protect->closed[i]);
    for (uint32_t i = 0; (program = tfy__program_at(protect->loop, i)); i++) {
        const char *secrets = tfy__secrets_option(protect->loop, program);
        if (secrets && secrets != last) visit(arg, secrets);
        last = secrets;
    }
}

static void visit_real(const char *path, void (*visit)(void *arg, const char *path), void *arg)
{
    char real[PATH_MAX];
    if (realpath(path, real)) visit(arg, real);
}

typedef struct Visit {
    void (*visit)(void *arg, const char *path);
    void *arg;
} Visit;

static void visit_closed(void *arg, const char *path)
{
    const Visit *visit = arg;
    visit_real(path, visit->visit, visit->arg);
}

void tfy__protect_each_closed(const TfyProtect *protect, void (*visit)(void *arg, const char *path), void *arg)
{
    const size_t len = protect->db_name ? strlen(protect->db_name) : 0;
    DIR *dir = len ? opendir(protect->db_dir) : NULL;
    struct dirent *entry;
    char path[PATH_MAX];
    each_closed(protect, visit_closed, &(Visit){visit, arg});
    while (dir && (entry = readdir(dir))) {
        const char *name = entry->d_name;
        if (strncmp(name, protect->db_name, len) != 0 || (name[len] && name[len] != '-')) continue;
        if (snprintf(path, sizeof path, "%s/%s", protect->db_dir, name) < (int)sizeof path)
            visit_real(path, visit, arg);
    }
    if (dir) closedir(dir);
}

int tfy__protect_journal(const TfyProtect *protect, char **path)
{
    char real[PATH_MAX];
    *path = NULL;
    if (!protect->db_name || !realpath(protect->db_dir, real)) return 0;
    *path = tfy__sys_printf("%s/%s-journal", real, protect->db_name);
    return *path ? 0 : ENOMEM;
}

/* ---- what something outside of every sandbox obeys ---- */

typedef struct Obeyed {
    const char *root;
    void (*visit)(void *arg, const char *path);
    void *arg;
} Obeyed;

/* A word of a command that names a file: that is its program, or what its program reads. */
static void visit_word(const Obeyed *obeyed, const char *dir, const char *word, size_t len)
{
    static const char root[] = "{root}/";
    char path[PATH_MAX];
    struct stat info;
    const bool in_root = strncmp(word, root, sizeof root - 1) == 0;
    const size_t skip = in_root ? sizeof root - 1 : 0;
    const char *above = in_root ? obeyed->root : *word == '/' ? "" : dir;
    if (!above || len < skip) return;
    snprintf(path, sizeof path, "%s/%.*s", above, (int)(len - skip), word + skip);
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode)) visit_real(path, obeyed->visit, obeyed->arg);
}

static void visit_command(const Obeyed *obeyed, const char *words)
{
    for (size_t len; words && *words; words += len) {
        words += strspn(words, " ");
        len = strcspn(words, " ");
        visit_word(obeyed, ".", words, len);
    }
}

static void visit_runner(const Obeyed *obeyed, const TfySandbox *sandbox)
{
    for (const char *const *word = sandbox ? sandbox->runner : NULL; word && *word; word++)
        visit_word(obeyed, obeyed->root, *word, strlen(*word));
}

static void each_obeyed(const TfyProtect *protect, const Obeyed *obeyed)
{
    const char *models = tfy__models_option(protect->loop);
    const TfyProgram *program;
    if (!models) models = getenv("TFY_MODELS");
    if (models) visit_word(obeyed, ".", models, strlen(models));
    visit_command(obeyed, tfy__secrets_command(protect->loop));
    for (uint32_t i = 0; (program = tfy__program_at(protect->loop, i)); i++) {
        visit_runner(obeyed, program->sandbox);
        for (uint32_t k = 0; k < program->tool_count; k++) visit_runner(obeyed, program->tools[k]->sandbox);
    }
}

void tfy__protect_each_source(const TfyProtect *protect, const char *root, void (*visit)(void *arg, const char *path),
                              void *arg)
{
    const char *const dirs[] = {getenv(TFY_SOURCE_DIR), root, "."};
    const char *file;
    char path[PATH_MAX];
    for (uint32_t i = 0; (file = tfy__source_name(protect->loop, i)); i++)
        for (size_t k = 0; k < sizeof dirs / sizeof *dirs; k++)
            if (dirs[k] && snprintf(path, sizeof path, "%s%s%s", *file == '/' ? "" : dirs[k], *file == '/' ? "" : "/",
                                    file) < (int)sizeof path)
                visit_real(path, visit, arg);
    visit_real(OWN_PROGRAM, visit, arg);
    each_obeyed(protect, &(Obeyed){root, visit, arg});
}

/* ---- one entry ---- */

static bool is_program(const struct stat *entry)
{
    struct stat own;
    return stat(OWN_PROGRAM, &own) == 0 && same_file(&own, entry);
}

/* One of the log's names in its own directory. */
static bool is_log_name(const TfyProtect *protect, const struct stat *dir, const char *name)
{
    struct stat home;
    size_t len = protect->db_name ? strlen(protect->db_name) : 0;
    if (!len || strncmp(name, protect->db_name, len) != 0 || (name[len] && name[len] != '-')) return false;
    return stat(protect->db_dir, &home) == 0 && same_file(&home, dir);
}

/* One of the log's files under another name: a hard link. */
static bool is_log_file(const TfyProtect *protect, const struct stat *entry)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-tfy"};
    if (!protect->db_name || entry->st_nlink < 2) return false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char path[PATH_MAX];
        struct stat info;
        int len = snprintf(path, sizeof path, "%s/%s%s", protect->db_dir, protect->db_name, endings[i]);
        if (len < (int)sizeof path && stat(path, &info) == 0 && same_file(&info, entry)) return true;
    }
    return false;
}

typedef struct Wanted {
    const struct stat *entry;
    bool found;
} Wanted;

static void look_at(void *arg, const char *path)
{
    Wanted *wanted = arg;
    struct stat info;
    wanted->found |= stat(path, &info) == 0 && same_file(&info, wanted->entry);
}

static bool is_closed(const TfyProtect *protect, const struct stat *entry)
{
    Wanted wanted = {entry, false};
    each_closed(protect, look_at, &wanted);
    return wanted.found;
}

static bool is_obeyed(const TfyProtect *protect, const struct stat *entry)
{
    Wanted wanted = {entry, false};
    char link[48], root[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", protect->root_fd);
    const ssize_t len = readlink(link, root, sizeof root - 1);
    root[len > 0 ? len : 0] = 0;
    each_obeyed(protect, &(Obeyed){len > 0 ? root : NULL, look_at, &wanted});
    return wanted.found;
}

static bool takes_commands(const char *name)
{
    for (const char *const *one = tfy__protect_names; *one; one++)
        if (strcasecmp(name, *one) == 0) return true;
    return false;
}

/* Would git take this directory for a repository's own? Then a config in it names commands that git runs, whatever
 * the directory's name and wherever the `.git` file is that refers to it. */
static bool is_git_dir(int dir)
{
    struct stat info;
    if (fstatat(dir, "HEAD", &info, AT_SYMLINK_NOFOLLOW) < 0) return false;
    bool whole = fstatat(dir, "objects", &info, 0) == 0 && fstatat(dir, "refs", &info, 0) == 0;
    return whole || fstatat(dir, "commondir", &info, 0) == 0 || fstatat(dir, "gitdir", &info, 0) == 0;
}

static int check_entry(const TfyProtect *protect, int dir, const char *name, bool write)
{
    struct stat above, entry;
    if (fstat(dir, &above) < 0) return -errno;
    bool exists = fstatat(dir, name, &entry, AT_SYMLINK_NOFOLLOW) == 0;
    if (strcasecmp(name, ".tfy") == 0 || is_log_name(protect, &above, name)) return -TFY_PROTECT_LOG;
    if (exists && (is_closed(protect, &entry) || is_log_file(protect, &entry))) return -TFY_PROTECT_LOG;
    if (exists && write && is_program(&entry)) return -TFY_PROTECT_PROGRAM;
    if (exists && write && is_obeyed(protect, &entry)) return -TFY_PROTECT_COMMANDS;
    return write && (takes_commands(name) || is_git_dir(dir)) ? -TFY_PROTECT_COMMANDS : 0;
}

/* ---- the walk up to the root ---- */

/* Does the path end with one of the program's own files? Only their names below the main file's directory are
 * known. */
static bool is_source(const TfyProtect *protect, const char *path)
{
    size_t len = strlen(path);
    const char *file;
    for (uint32_t i = 0; (file = tfy__source_name(protect->loop, i)); i++) {
        while (strncmp(file, "../", 3) == 0) file += 3;
        file += strspn(file, "/");
        size_t want = strlen(file);
        if (want && len > want && path[len - want - 1] == '/' && strcmp(path + len - want, file) == 0) return true;
    }
    return false;
}

static bool is_root(const TfyProtect *protect, int dir)
{
    struct stat root, info;
    return fstat(protect->root_fd, &root) < 0 || fstat(dir, &info) < 0 || same_file(&root, &info);
}

/* Walks from an open directory to the root; path is the directory's own and is shortened on the way. Closes the
 * descriptor. */
static int check_above(const TfyProtect *protect, int dir, char *path, bool write)
{
    int error = 0;
    while (!error && !is_root(protect, dir)) {
        char *slash = strrchr(path, '/');
        int above = slash && slash[1] ? openat(dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        if (above < 0) break; /* the system's root: it was outside */
        error = check_entry(protect, above, slash + 1, write);
        *slash = 0;
        close(dir);
        dir = above;
    }
    close(dir);
    return error;
}

/* Below a missing entry only names can be checked. */
static int check_missing(const char *rest, bool write)
{
    char name[NAME_MAX + 1];
    for (; *rest; rest += strcspn(rest, "/")) {
        rest += strspn(rest, "/");
        snprintf(name, sizeof name, "%.*s", (int)strcspn(rest, "/"), rest);
        if (strcasecmp(name, ".tfy") == 0) return -TFY_PROTECT_LOG;
        if (write && takes_commands(name)) return -TFY_PROTECT_COMMANDS;
    }
    return 0;
}

int tfy__protect_check(const TfyProtect *protect, int dir, const char *path_below, bool write)
{
    char name[NAME_MAX + 1], link[48], path[2 * PATH_MAX];
    size_t first = strcspn(path_below, "/");
    if (first > NAME_MAX || strlen(path_below) >= PATH_MAX) return -ENAMETOOLONG;
    snprintf(name, sizeof name, "%.*s", (int)first, path_below);
    snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    ssize_t len = readlink(link, path, PATH_MAX - 1);
    if (len < 0) return errno == ENOENT ? -TFY_PROTECT_BLIND : -errno;
    snprintf(path + len, sizeof path - (size_t)len, "/%s", path_below);
    if (write && is_source(protect, path)) return -TFY_PROTECT_SOURCE;
    path[len] = 0;
    int error = check_entry(protect, dir, name, write);
    if (!error) error = check_missing(path_below + first, write);
    int copy = error ? -1 : fcntl(dir, F_DUPFD_CLOEXEC, 0);
    if (error) return error;
    return copy < 0 ? -errno : check_above(protect, copy, path, write);
}

/* The open directory of a path's last component, which *name becomes; or -errno. */
static int open_above(char *path, char **name)
{
    char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    if (!slash) return open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char kept = slash[1];
    slash[1] = 0;
    int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    slash[1] = kept;
    return dir < 0 ? -errno : dir;
}

int tfy__protect_found(const TfyProtect *protect, int found)
{
    char link[48], path[PATH_MAX], *name;
    struct stat info, entry;
    snprintf(link, sizeof link, "/proc/self/fd/%d", found);
    ssize_t len = readlink(link, path, sizeof path - 1);
    if (len < 0) return errno == ENOENT ? -TFY_PROTECT_BLIND : -errno;
    path[len] = 0;
    int dir = open_above(path, &name);
    if (dir < 0) return dir;
    /* Something may have been renamed meanwhile: the entry must still be the one that was found. */
    bool same =
        fstat(found, &info) == 0 && fstatat(dir, name, &entry, AT_SYMLINK_NOFOLLOW) == 0 && same_file(&info, &entry);
    int error = same ? tfy__protect_check(protect, dir, name, false) : -ENOENT;
    close(dir);
    return error;
}

int tfy__protect_path(const TfyProtect *protect, const char *path, bool write)
{
    char real[PATH_MAX], *name;
    if (!realpath(path, real) && snprintf(real, sizeof real, "%s", path) >= (int)sizeof real) return -ENAMETOOLONG;
    int dir = open_above(real, &name);
    if (dir < 0) return dir;
    int error = tfy__protect_check(protect, dir, name, write);
    close(dir);
    return error;
}
