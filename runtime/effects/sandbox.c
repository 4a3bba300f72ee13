/* sandbox.c: see sandbox.h. */
#include "effects/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "effects/caretaker.h"
#include "effects/file.h"
#include "effects/process.h"
#include "effects/protect.h"

/* Where a sandbox says nothing. */
#define MEMORY_ELSE    (UINT64_C(4) << 30)
#define PROCESSES_ELSE UINT64_C(512)
#define FILE_ELSE      (UINT64_C(1) << 30)

/* What the loop keeps. */
typedef struct Place {
    uint32_t level;            /* 0: not known yet */
    TfyCellAnswer lacks;       /* partial: why it is not full */
    int program;               /* tfy-cell; -1: not opened yet */
    TfyCaretaker caretaker;    /* of the directory in which partial cells have theirs */
    uint64_t directories;      /* made so far */
    const TfyProtect *protect; /* owned */
} Place;

static const TfySandbox workspace = {.name = "workspace", .root = TFY_ROOT_WORKSPACE};

static Place *place_of(TfyLoop *loop)
{
    Place **slot = (Place **)tfy__effect_slot(loop, TFY_M_SANDBOX);
    if (*slot || !(*slot = tfy__sys_calloc(1, sizeof **slot))) return *slot;
    (*slot)->program = -1;
    return *slot;
}

void tfy__sandbox_close(TfyLoop *loop)
{
    Place **slot = (Place **)tfy__effect_slot(loop, TFY_M_SANDBOX), *place = *slot;
    if (!place) return;
    if (place->program >= 0) close(place->program);
    tfy__caretaker_end(&place->caretaker);
    tfy__protect_free((TfyProtect *)(uintptr_t)place->protect);
    free(place);
    *slot = NULL;
}

int tfy__sandbox_program(TfyLoop *loop)
{
    Place *place = place_of(loop);
    if (!place) return -ENOMEM;
    if (place->program < 0) place->program = tfy__cell_open();
    if (place->program >= 0) return place->program;
    const int error = place->program;
    place->program = -1;
    return error;
}

/* ---- the level ---- */

static int tell_none(const TfyCellAnswer *answer, char *error_text)
{
    char what[160];
    if (answer->stage == TFY_CELL_LANDLOCK)
        snprintf(what, sizeof what,
                 "this kernel has no Landlock (Linux 5.13 or later, 'landlock' among its security modules)");
    else
        snprintf(what, sizeof what, "%s: %s", tfy__cell_stage_lacks(answer->stage), strerror(answer->error));
    snprintf(error_text, TFY_ERROR_TEXT,
             "tools cannot be confined here: %s\n"
             "  tfy doctor --sandbox   says what is missing\n"
             "  tfy run … --sandbox open   runs tools with your rights",
             what);
    return TFY_E_ABSENT;
}

static int tell_untried(int error, char *error_text)
{
    snprintf(error_text, TFY_ERROR_TEXT, "the sandbox of tools cannot be tried: %s", strerror(error));
    return error == ENOMEM ? TFY_E_NOMEM : TFY_E_ABSENT;
}

/* Full, unless only partial was asked for; partial, unless only full was. */
static int find_level(Place *place, const char *wanted, char *error_text)
{
    TfyCellAnswer none;
    const bool full_only = wanted && strcmp(wanted, "full") == 0, partial_only = wanted && !full_only;
    int result = partial_only ? 1 : tfy__cell_probe(TFY_CELL_FULL, &place->lacks);
    if (result < 0) return tell_untried(-result, error_text);
    if (result == 0) {
        place->level = TFY_CELL_FULL;
        return TFY_OK;
    }
    if (full_only) {
        snprintf(error_text, TFY_ERROR_TEXT, "the sandbox would only be partial here (%s: %s); tfy doctor --sandbox",
                 tfy__cell_stage_lacks(place->lacks.stage), strerror(place->lacks.error));
        return TFY_E_ABSENT;
    }
    result = tfy__cell_probe(TFY_CELL_PARTIAL, &none);
    if (result < 0) return tell_untried(-result, error_text);
    if (result) return tell_none(&none, error_text);
    place->level = TFY_CELL_PARTIAL;
    return TFY_OK;
}

static const char *level_name(uint32_t level)
{
    return level == TFY_CELL_FULL ? "full" : "partial";
}

/* The level is known afterwards. */
static int make_ready(TfyLoop *loop, Place *place, char *error_text)
{
    const char *wanted = tfy__sandbox_level_option(loop);
    if (place->level) return TFY_OK;
    const int code = find_level(place, wanted, error_text);
    if (code == TFY_OK) tfy__set_cell_level(loop, level_name(place->level));
    if (code != TFY_OK || place->level == TFY_CELL_FULL || wanted) return code;
    tfy__report_text(loop,
                     "tfy: sandbox is partial here (%s: %s): nothing new directly in the root, no list of hosts, no "
                     "servers on 127.0.0.1 inside; permissions of files outside can be changed; tfy doctor --sandbox\n",
                     tfy__cell_stage_lacks(place->lacks.stage), strerror(place->lacks.error));
    return code;
}

/* ---- one cell ---- */

/* What is being described. */
typedef struct Making {
    TfyCall *call;
    Place *place;
    const TfySandbox *sandbox;
    TfyCeiling ceiling;
    bool readonly;
    TfySandboxNetwork network;
    TfyConfined *out;
    char *why;
} Making;

__attribute__((format(printf, 3, 4))) static int refuse(Making *making, int error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(making->why, TFY_CONFINED_WHY, format, args);
    va_end(args);
    return error;
}

/* The path behind a descriptor, without links. */
static bool path_behind(int fd, char path[PATH_MAX])
{
    char link[48];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t len = readlink(link, path, PATH_MAX - 1);
    if (len <= 0) return false;
    path[len] = 0;
    return *path == '/';
}

/* A path of a sandbox as it is written, absolute; false: it is too long, or there is no home. */
static bool absolute(const Making *making, const char *path, char out[PATH_MAX])
{
    const char *home = getenv("HOME");
    int len;
    if (*path == '/')
        len = snprintf(out, PATH_MAX, "%s", path);
    else if (*path != '~')
        len = snprintf(out, PATH_MAX, "%s/%s", making->out->root, path);
    else if (home && *home == '/')
        len = snprintf(out, PATH_MAX, "%s%s", home, path + 1);
    else
        return false;
    return len < PATH_MAX;
}

/* What tools can write can hold a link that one of them made. Such a link must not widen what the next one reaches: a
 * path below what can be written leads to a place below it. */
static bool leads_out(const Making *making, const char *path, const char *real)
{
    const char *const *writes = making->sandbox->writes;
    char above[PATH_MAX], real_above[PATH_MAX];
    if (tfy__cell_within(path, making->out->root) && !tfy__cell_within(real, making->out->root)) return true;
    for (; writes && *writes; writes++)
        if (absolute(making, *writes, above) && strcmp(above, path) != 0 && tfy__cell_within(path, above) &&
            realpath(above, real_above) && !tfy__cell_within(real, real_above))
            return true;
    return false;
}

static bool is_in_plan(const TfyCellPlan *plan, const char *path, const char *kinds)
{
    const char *item;
    for (uint32_t i = 1; (item = tfy__cell_path_of(plan, i)); i++)
        if (strchr(kinds, item[-1]) && tfy__cell_within(path, item)) return true;
    return false;
}

static const char protected_kinds[] = {TFY_CELL_PROTECTED, TFY_CELL_CLOSED, 0};

static int add_reads(Making *making, const char *written)
{
    char path[PATH_MAX], real[PATH_MAX];
    if (!absolute(making, written, path) || !realpath(path, real)) return 0; /* what does not exist is not read */
    if (leads_out(making, path, real))
        return refuse(making, EXDEV, "'%s' leads out of what it is in, to '%s'", written, real);
    if (tfy__cell_within(real, making->out->root)) return 0; /* that is read anyway */
    if (tfy__cell_within(making->out->root, real))
        return refuse(making, EINVAL, "'%s' is above the working root; a sandbox may not be given all of it", written);
    tfy__cell_add(&making->out->plan, TFY_CELL_READS, real);
    return 0;
}

/* Makes a directory in the root, with those above it. */
static void make_directory(Making *making, const char *written)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/x", written) < (int)sizeof path)
        tfy__file_make_parents(NULL, tfy__root_fd(making->call->loop), path);
}

static int add_writes(Making *making, const char *written)
{
    char path[PATH_MAX], real[PATH_MAX], home[PATH_MAX];
    const char *root = making->out->root, *given = getenv("HOME");
    if (*written != '/' && *written != '~') make_directory(making, written);
    if (!absolute(making, written, path) || !realpath(path, real))
        return refuse(making, ENOENT, "'%s', which the tool may write, cannot be found: %s", written, strerror(errno));
    if (leads_out(making, path, real))
        return refuse(making, EXDEV, "'%s' leads out of what it is in, to '%s'", written, real);
    const bool system = tfy__cell_is_system(real) || tfy__cell_within(real, "/usr") || tfy__cell_within(real, "/etc");
    const bool above = tfy__cell_within(root, real);
    const bool is_home = given && realpath(given, home) && tfy__cell_within(home, real);
    if (strcmp(real, root) == 0) return 0;
    if (is_in_plan(&making->out->plan, real, protected_kinds))
        return refuse(making, EPERM, "'%s' is protected, and this version opens it for no sandbox", written);
    if (system || above || is_home)
        return refuse(making, EINVAL, "'%s' is %s; a sandbox may not write there", written,
                      system  ? "the system itself"
                      : above ? "above the working root"
                              : "your home directory, or above it");
    tfy__cell_add(&making->out->plan, TFY_CELL_WRITES, real);
    return 0;
}

static int add_paths(Making *making)
{
    const TfySandbox *sandbox = making->sandbox;
    int error = 0;
    for (const char *const *path = sandbox->reads; path && *path && !error; path++) error = add_reads(making, *path);
    for (const char *const *path = sandbox->writes; path && *path && !error; path++)
        error = making->readonly ? add_reads(making, *path) : add_writes(making, *path);
    return error;
}

/* ---- what the command line grants, and where it ends ---- */

typedef int Granted(Making *making, const char *value);

/* Calls granted for each grant of this kind to this tool, "TOOL:reads=VALUE". */
static int each_grant(Making *making, const char *kind, Granted *granted)
{
    const char *line = making->ceiling.grants, *tool = making->call->tool->name;
    const size_t tool_len = strlen(tool), kind_len = strlen(kind);
    char value[PATH_MAX];
    int error = 0;
    for (; line && *line && !error; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *at = line + tool_len + 1;
        if (strncmp(line, tool, tool_len) != 0 || line[tool_len] != ':') continue;
        if (strncmp(at, kind, kind_len) != 0 || at[kind_len] != '=') continue;
        at += kind_len + 1;
        if (snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "\n"), at) < (int)sizeof value)
            error = granted(making, value);
    }
    return error;
}

static int add_granted(Making *making)
{
    const int error = each_grant(making, "reads", add_reads);
    return error ? error : each_grant(making, "writes", making->readonly ? add_reads : add_writes);
}

static bool add_rule(char ***list, const char *rule, size_t len)
{
    size_t count = 0;
    while (*list && (*list)[count]) count++;
    char **longer = tfy__sys_realloc(*list, (count + 2) * sizeof *longer);
    if (!longer) return false;
    *list = longer;
    longer[count] = tfy__sys_printf("%.*s", (int)len, rule);
    longer[count + 1] = NULL;
    return longer[count];
}

static int grant_host(Making *making, const char *rule)
{
    if (making->network == TFY_NETWORK_ANY) return 0;
    making->network = TFY_NETWORK_LIST;
    return add_rule(&making->out->hosts, rule, strlen(rule)) ? 0 : ENOMEM;
}

/* The stricter of the tool's own network and the ceiling. */
static int plan_network(Making *making)
{
    const TfySandbox *sandbox = making->sandbox;
    const char *most = making->ceiling.network;
    TfyConfined *out = making->out;
    making->network = sandbox->network;
    for (const char *const *rule = sandbox->hosts; rule && *rule; rule++)
        if (!add_rule(&out->hosts, *rule, strlen(*rule))) return ENOMEM;
    const int error = each_grant(making, "network", grant_host);
    if (error) return error;
    if ((most && strcmp(most, "none") == 0) || (making->network == TFY_NETWORK_LIST && !out->hosts))
        making->network = TFY_NETWORK_NONE;
    if (!most || strcmp(most, "none") == 0 || strcmp(most, "any") == 0) return 0;
    char ***list = making->network == TFY_NETWORK_ANY ? &out->hosts : &out->most_hosts;
    if (making->network == TFY_NETWORK_ANY) making->network = TFY_NETWORK_LIST;
    for (const char *at = most; *at; at += strcspn(at, ","), at += *at == ',')
        if (!add_rule(list, at, strcspn(at, ","))) return ENOMEM;
    return 0;
}

/* ---- what belongs to the runtime and to the program ---- */

/* Of what a tool cannot reach nothing is said, nor of what lies in something closed. */
static void add_closed(void *arg, const char *path)
{
    Making *making = arg;
    TfyCellPlan *plan = &making->out->plan;
    static const char reached[] = {TFY_CELL_ROOT, TFY_CELL_READS, TFY_CELL_WRITES, 0}, closed[] = {TFY_CELL_CLOSED, 0};
    if (is_in_plan(plan, path, reached) && !is_in_plan(plan, path, closed) &&
        !tfy__cell_within(making->out->root, path))
        tfy__cell_add(plan, TFY_CELL_CLOSED, path);
}

/* SQLite would take a rollback journal beside the log for its own. */
static int look_for_journal(Making *making)
{
    static const char reached[] = {TFY_CELL_ROOT, TFY_CELL_WRITES, 0};
    const char *lock = tfy__lock_path(making->call->loop);
    const size_t len = lock ? strlen(lock) : 0, ending = strlen("-tfy");
    char dir[PATH_MAX], real[PATH_MAX];
    struct stat info;
    if (len <= ending || len >= sizeof dir) return 0;
    snprintf(dir, sizeof dir, "%.*s", (int)(len - ending), lock);
    const char *slash = strrchr(dir, '/'), *name = slash ? slash + 1 : dir;
    char *path = NULL, above[PATH_MAX];
    snprintf(above, sizeof above, "%.*s", slash ? (int)(slash - dir) + 1 : 1, slash ? dir : ".");
    if (!realpath(above, real) || !is_in_plan(&making->out->plan, real, reached)) return 0;
    path = tfy__sys_printf("%s/%s-journal", real, name);
    if (!path) return ENOMEM;
    if (lstat(path, &info) == 0)
        free(path); /* an older one is not the tool's */
    else
        making->out->journal = path;
    return 0;
}

static void add_source(void *arg, const char *path)
{
    Making *making = arg;
    static const char shut[] = {TFY_CELL_CLOSED, TFY_CELL_PROTECTED, 0};
    if (tfy__cell_within(path, making->out->root) && !is_in_plan(&making->out->plan, path, shut))
        tfy__cell_add(&making->out->plan, TFY_CELL_PROTECTED, path);
}

/* ---- private directories ---- */

static int make_private(Making *making)
{
    Place *place = making->place;
    int error = place->caretaker.pid ? 0 : tfy__caretaker_start(&place->caretaker);
    if (error) return refuse(making, error, "a private directory cannot be made: %s", strerror(error));
    char *path = tfy__sys_printf("%s/%llu", place->caretaker.path, (unsigned long long)++place->directories);
    if (!path) return ENOMEM;
    if (mkdir(path, 0700) < 0) {
        error = errno;
        refuse(making, error, "the private directory '%s' cannot be made: %s", path, strerror(error));
        free(path);
        return error;
    }
    making->out->directory = path;
    tfy__cell_add(&making->out->plan, TFY_CELL_TEMP, path);
    return 0;
}

static int set_variables(Making *making, const char *home, const char *temp)
{
    making->out->variables[0] = tfy__sys_printf("HOME=%s", home);
    making->out->variables[1] = tfy__sys_printf("TMPDIR=%s", temp);
    return making->out->variables[0] && making->out->variables[1] ? 0 : ENOMEM;
}

static int add_private(Making *making)
{
    char home[PATH_MAX];
    if (making->place->level == TFY_CELL_PARTIAL) {
        const int error = make_private(making);
        return error ? error : set_variables(making, making->out->directory, making->out->directory);
    }
    const bool covers = tfy__cell_home(making->out->root, home);
    if (covers) tfy__cell_add(&making->out->plan, TFY_CELL_HOME, home);
    return set_variables(making, covers ? home : "/tmp", "/tmp");
}

/* ---- the whole ---- */

static void set_head(Making *making)
{
    const TfySandbox *sandbox = making->sandbox;
    TfyCellHead *head = &making->out->plan.head;
    head->level = making->place->level;
    head->flags = TFY_CELL_KEEP_RUNNING | (making->readonly ? 0 : TFY_CELL_ROOT_WRITABLE) |
                  (making->network == TFY_NETWORK_ANY ? TFY_CELL_HOST_NETWORK : 0) |
                  (making->network == TFY_NETWORK_LIST ? TFY_CELL_LISTENER : 0);
    /* Sanitizers and some languages reserve far more than they use: only a sandbox that names its memory limits that. */
    head->memory = sandbox->memory;
    head->processes = sandbox->processes ? sandbox->processes : PROCESSES_ELSE;
    head->file_bytes = sandbox->files ? sandbox->files : FILE_ELSE;
    head->cpu_s = (uint64_t)(sandbox->cpu_ms + 999) / 1000;
    making->out->limits = (TfyLimits){.memory = sandbox->memory ? sandbox->memory : MEMORY_ELSE,
                                      .processes = head->processes,
                                      .cpu_s = head->cpu_s,
                                      .file_bytes = head->file_bytes};
    making->out->output = sandbox->output;
}

static int make_plan(Making *making, int cwd_fd)
{
    TfyConfined *out = making->out;
    TfyLoop *loop = making->call->loop;
    char cwd[PATH_MAX];
    if (!path_behind(tfy__root_fd(loop), out->root) || !path_behind(cwd_fd, cwd))
        return refuse(making, ENOENT, "without /proc the working root cannot be found");
    int error = plan_network(making);
    if (!error && making->network == TFY_NETWORK_LIST && making->place->level == TFY_CELL_PARTIAL)
        error = refuse(making, ENOTSUP, "a list of hosts needs a full sandbox; tfy doctor --sandbox");
    if (error) return error;
    set_head(making);
    tfy__cell_look(out->root, &out->names);
    tfy__cell_add_root(&out->plan, out->root);
    tfy__cell_add(&out->plan, TFY_CELL_CWD, cwd);
    error = add_paths(making);
    if (!error) error = add_granted(making);
    if (!error) error = look_for_journal(making);
    if (error) return error;
    tfy__protect_each_closed(making->place->protect, add_closed, making);
    tfy__protect_each_source(making->place->protect, out->root, add_source, making);
    return add_private(making);
}

/* Where a tool may write: the stricter of its own sandbox and the ceiling. `open` only lifts the default. */
static TfySandboxRoot root_of(const TfySandbox *sandbox, bool by_default, const TfyCeiling *ceiling)
{
    const char *most = ceiling->sandbox;
    if (most && strcmp(most, "readonly") == 0) return TFY_ROOT_READONLY;
    if (most && strcmp(most, "open") == 0 && by_default) return TFY_ROOT_OPEN;
    if (most && strcmp(most, "workspace") == 0 && sandbox->root == TFY_ROOT_OPEN) return TFY_ROOT_WORKSPACE;
    return sandbox->root;
}

static const TfySandbox *sandbox_of(const TfyProgram *program, const TfyTool *tool)
{
    return tool->sandbox ? tool->sandbox : program->sandbox ? program->sandbox : &workspace;
}

int tfy__sandbox_confine(TfyCall *call, int cwd_fd, TfyConfined *out, char why[TFY_CONFINED_WHY])
{
    Making making = {
        .call = call, .out = out, .why = why, .place = place_of(call->loop), .ceiling = tfy__ceiling(call->task)};
    const char *network = making.ceiling.network;
    *why = 0;
    if (!making.place) return ENOMEM;
    making.sandbox = sandbox_of(tfy__program_of(call->loop), call->tool);
    out->name = making.sandbox->name;
    const TfySandboxRoot root = root_of(making.sandbox, !call->tool->sandbox, &making.ceiling);
    out->open = root == TFY_ROOT_OPEN;
    making.readonly = root == TFY_ROOT_READONLY;
    if (out->open && network && strcmp(network, "any") != 0)
        return refuse(&making, EPERM, "it has none, so '--network %s' cannot hold it", network);
    if (out->open) return 0;
    const int code = make_ready(call->loop, making.place, why);
    if (code != TFY_OK) return code;
    if (!making.place->protect) making.place->protect = tfy__protect_new(call->loop);
    if (!making.place->protect) return ENOMEM;
    const int error = make_plan(&making, cwd_fd);
    return error ? error : out->plan.paths.failed ? ENOMEM : 0;
}

/* Does any tool of the program run in a cell? */
static bool needs_cell(TfyLoop *loop, const TfyCeiling *ceiling)
{
    const TfyProgram *program = tfy__program_of(loop);
    for (uint32_t i = 0; i < program->tool_count; i++) {
        const TfyTool *tool = program->tools[i];
        if (tool->family == TFY_F_EXEC && root_of(sandbox_of(program, tool), !tool->sandbox, ceiling) != TFY_ROOT_OPEN)
            return true;
    }
    for (uint32_t i = 0; program->sites && i < program->point_count; i++)
        if (program->sites[i] && program->sites[i]->tool == &tfy_effect_exec)
            return root_of(sandbox_of(program, &tfy_effect_exec), true, ceiling) != TFY_ROOT_OPEN;
    return false;
}

int tfy__sandbox_prepare(TfyLoop *loop, char *error_text)
{
    const TfyCeiling ceiling = tfy__ceiling_option(loop);
    Place *place = place_of(loop);
    if (!place) return TFY_E_NOMEM;
    if (!needs_cell(loop, &ceiling)) return TFY_OK;
    const int code = tfy__protect_root(loop, error_text);
    return code == TFY_OK ? make_ready(loop, place, error_text) : code;
}

const char *tfy__sandbox_made(const TfyConfined *confined)
{
    struct stat info;
    if (confined->open || !*confined->root) return NULL;
    if (confined->journal && lstat(confined->journal, &info) == 0) return confined->journal;
    return tfy__cell_made(confined->root, &confined->names);
}

static void free_list(char **list)
{
    for (char **item = list; item && *item; item++) free(*item);
    free(list);
}

void tfy__confined_free(TfyConfined *confined)
{
    tfy__cell_plan_free(&confined->plan);
    for (int i = 0; i < 2; i++) free(confined->variables[i]);
    free_list(confined->hosts);
    free_list(confined->most_hosts);
    free(confined->journal);
    if (confined->directory) tfy__remove_tree(AT_FDCWD, confined->directory);
    free(confined->directory);
    *confined = (TfyConfined){.open = false};
}
