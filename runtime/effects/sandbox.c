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

/* What the loop keeps. */
typedef struct Place {
    uint32_t level;            /* 0: not known yet */
    TfyCellAnswer lacks;       /* partial: why it is not full */
    int program;               /* tfy-cell; -1: not opened yet */
    TfyCellLayer layer;        /* of partial cells */
    TfyCaretaker caretaker;    /* of the directory in which partial cells have theirs */
    uint64_t directories;      /* made so far */
    const TfyProtect *protect; /* owned */
    TfyBuffer said;            /* the last sentence of tfy__sandbox_is_news */
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
    tfy__cell_layer_free(&place->layer);
    tfy__caretaker_end(&place->caretaker);
    tfy__protect_free((TfyProtect *)(uintptr_t)place->protect);
    tfy__buffer_free(&place->said);
    free(place);
    *slot = NULL;
}

bool tfy__sandbox_is_news(TfyLoop *loop, const TfyBuffer *sentence)
{
    Place *place = place_of(loop);
    if (!place || (place->said.len == sentence->len && memcmp(place->said.data, sentence->data, sentence->len) == 0))
        return false;
    tfy__buffer_free(&place->said);
    tfy__buffer_add(&place->said, sentence->data, sentence->len);
    return true;
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

int tfy__sandbox_layer(TfyLoop *loop)
{
    Place *place = place_of(loop);
    if (!place || place->level != TFY_CELL_PARTIAL || place->program < 0) return -1;
    return tfy__cell_layer(&place->layer, place->program);
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

int tfy__sandbox_level(TfyLoop *loop, uint32_t *level, char *error_text)
{
    Place *place = place_of(loop);
    const int code = place ? make_ready(loop, place, error_text) : TFY_E_NOMEM;
    if (code == TFY_OK) *level = place->level;
    return code;
}

const TfyProtect *tfy__sandbox_protect(TfyLoop *loop)
{
    Place *place = place_of(loop);
    if (place && !place->protect) place->protect = tfy__protect_new(loop, -1);
    return place ? place->protect : NULL;
}

/* ---- one cell ---- */

/* What is being described. */
typedef struct Making {
    TfyCall *call;
    const char *granted; /* to this call alone; NULL: nothing */
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

/* What tools can write can hold a link that one of them made. Such a link must not widen what the next one reaches: a
 * path below what can be written leads to a place below it. */
static bool leads_out(const Making *making, const char *path, const char *real)
{
    const char *const *writes = making->sandbox->writes;
    char above[PATH_MAX], real_above[PATH_MAX];
    if (tfy__cell_within(path, making->out->root) && !tfy__cell_within(real, making->out->root)) return true;
    for (; writes && *writes; writes++)
        if (tfy__cell_absolute(making->out->root, *writes, above) && strcmp(above, path) != 0 && tfy__cell_within(path, above) &&
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
    if (!tfy__cell_absolute(making->out->root, written, path) || !realpath(path, real)) return 0; /* what does not exist is not read */
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
        tfy__file_make_parents(NULL, tfy__root_fd(making->call->task), path);
}

/* The root's own `.git`, which is opened in part. */
static int open_repository(Making *making)
{
    const TfyConfined *out = making->out;
    TfyGitDirs dirs;
    if (out->plan.head.level != TFY_CELL_FULL)
        return refuse(making, ENOTSUP, "'.git' can be written only in a full sandbox; tfy doctor --sandbox");
    if (!tfy__git_dirs_at(out->root, &dirs))
        return refuse(making, ENOENT, "'.git', which the tool may write, is not a repository's; git init makes one");
    return tfy__git_dirs_open(&dirs, out->root, &making->out->plan, &making->out->git);
}

static bool is_repository(const Making *making, const char *written)
{
    char path[PATH_MAX];
    const char *root = making->out->root;
    const size_t len = strlen(root);
    return tfy__cell_absolute(making->out->root, written, path) && strncmp(path, root, len) == 0 && strcmp(path + len, "/.git") == 0;
}

static int add_writes(Making *making, const char *written)
{
    char path[PATH_MAX], real[PATH_MAX];
    const char *root = making->out->root;
    if (is_repository(making, written)) return open_repository(making);
    if (*written != '/' && *written != '~') make_directory(making, written);
    if (!tfy__cell_absolute(making->out->root, written, path) || !realpath(path, real))
        return refuse(making, ENOENT, "'%s', which the tool may write, cannot be found: %s", written, strerror(errno));
    if (leads_out(making, path, real))
        return refuse(making, EXDEV, "'%s' leads out of what it is in, to '%s'", written, real);
    const char *what = tfy__cell_unwritable(real, root);
    if (strcmp(real, root) == 0) return 0;
    if (is_in_plan(&making->out->plan, real, protected_kinds))
        return refuse(making, EPERM, "'%s' is protected, and no sandbox opens it", written);
    if (what) return refuse(making, EINVAL, "'%s' is %s; a sandbox may not write there", written, what);
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

/* ---- what the command line and people grant, and where it ends ---- */

typedef int Granted(Making *making, const char *value);

/* Calls granted for each line that is a grant of this kind to this tool, "TOOL:reads=VALUE". */
static int each_line(Making *making, const char *line, const char *kind, Granted *granted)
{
    const char *tool = making->call->tool->name;
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

static int each_grant(Making *making, const char *kind, Granted *granted)
{
    const char *const all[] = {making->ceiling.grants, making->ceiling.granted, making->granted};
    int error = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all && !error; i++)
        if (all[i]) error = each_line(making, all[i], kind, granted);
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
    if ((is_in_plan(plan, path, reached) || tfy__cell_reads_system(path)) && !is_in_plan(plan, path, closed) &&
        !tfy__cell_within(making->out->root, path))
        tfy__cell_add(plan, TFY_CELL_CLOSED, path);
}

/* SQLite would take a rollback journal beside the log for its own. One that was there before is not the tool's. */
static int look_for_journal(Making *making)
{
    static const char reached[] = {TFY_CELL_ROOT, TFY_CELL_WRITES, 0};
    struct stat info;
    char *path;
    const int error = tfy__protect_journal(making->place->protect, &path);
    if (path && is_in_plan(&making->out->plan, path, reached) && lstat(path, &info) != 0)
        making->out->journal = path;
    else
        free(path);
    return error;
}

/* The program, or a file of it; where no tool can write, nothing has to be protected. */
static void add_source(void *arg, const char *path)
{
    Making *making = arg;
    static const char shut[] = {TFY_CELL_CLOSED, TFY_CELL_PROTECTED, 0}, open[] = {TFY_CELL_ROOT, TFY_CELL_WRITES, 0};
    char above[PATH_MAX];
    snprintf(above, sizeof above, "%.*s", (int)(strrchr(path, '/') - path), path);
    if (is_in_plan(&making->out->plan, above, open) && !is_in_plan(&making->out->plan, path, shut))
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
    head->processes = sandbox->processes ? sandbox->processes : TFY_CELL_PROCESSES;
    head->file_bytes = sandbox->files ? sandbox->files : TFY_CELL_FILE;
    head->cpu_s = (uint64_t)(sandbox->cpu_ms + 999) / 1000;
    making->out->limits = (TfyLimits){.memory = sandbox->memory ? sandbox->memory : TFY_CELL_MEMORY,
                                      .processes = head->processes,
                                      .cpu_s = head->cpu_s,
                                      .file_bytes = head->file_bytes};
    making->out->output = sandbox->output;
}

static int make_plan(Making *making, int cwd_fd)
{
    TfyConfined *out = making->out;
    char cwd[PATH_MAX];
    if (!path_behind(tfy__root_fd(making->call->task), out->root) || !path_behind(cwd_fd, cwd))
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

/* ---- runners ---- */

/* The word with {root} and {cwd} filled in; NULL: no memory. */
static char *fill_in(const char *word, const char *root, const char *cwd)
{
    TfyBuffer out = {0};
    while (*word) {
        const bool is_root = strncmp(word, "{root}", 6) == 0, is_cwd = strncmp(word, "{cwd}", 5) == 0;
        if (is_root || is_cwd)
            tfy__buffer_text(&out, is_root ? root : cwd);
        else
            tfy__buffer_char(&out, *word);
        word += is_root ? 6 : is_cwd ? 5 : 1;
    }
    if (!out.failed) return out.data;
    tfy__buffer_free(&out);
    return NULL;
}

static int make_runner(Making *making, int cwd_fd)
{
    const char *const *words = making->sandbox->runner, *ceiling = making->ceiling.sandbox;
    TfyConfined *out = making->out;
    char cwd[PATH_MAX];
    size_t count = 0;
    if (!making->ceiling.runners)
        return refuse(making, TFY_E_ABSENT, TFY_RUNNER_REFUSED, making->call->tool->name, words[0]);
    if (ceiling && strcmp(ceiling, "open") != 0)
        return refuse(making, EPERM, "no sandbox holds its runner, so '--sandbox %s' cannot hold it", ceiling);
    if (!path_behind(tfy__root_fd(making->call->task), out->root) || !path_behind(cwd_fd, cwd))
        return refuse(making, ENOENT, "without /proc the working root cannot be found");
    while (words[count]) count++;
    out->runner = tfy__sys_calloc(count + 1, sizeof *out->runner);
    for (size_t i = 0; out->runner && i < count; i++)
        if (!(out->runner[i] = fill_in(words[i], out->root, cwd))) return ENOMEM;
    out->open = true;
    out->output = making->sandbox->output;
    return out->runner ? 0 : ENOMEM;
}

int tfy__sandbox_confine(TfyCall *call, const char *granted, int cwd_fd, TfyConfined *out, char why[TFY_CONFINED_WHY])
{
    Making making = {.call = call,
                     .granted = granted,
                     .out = out,
                     .why = why,
                     .place = place_of(call->loop),
                     .ceiling = tfy__ceiling(call->task)};
    const char *network = making.ceiling.network;
    *why = 0;
    if (!making.place) return ENOMEM;
    making.sandbox = sandbox_of(tfy__program_of(call->task), call->tool);
    out->name = making.sandbox->name;
    const TfySandboxRoot root = root_of(making.sandbox, !call->tool->sandbox, &making.ceiling);
    const bool has_runner = root != TFY_ROOT_OPEN && making.sandbox->runner;
    out->open = root == TFY_ROOT_OPEN;
    making.readonly = root == TFY_ROOT_READONLY;
    if ((out->open || has_runner) && network && strcmp(network, "any") != 0)
        return refuse(&making, EPERM, "it has none, so '--network %s' cannot hold it", network);
    if (out->open) return 0;
    if (has_runner) return make_runner(&making, cwd_fd);
    const int code = make_ready(call->loop, making.place, why);
    if (code != TFY_OK) return code;
    if (!tfy__sandbox_protect(call->loop)) return ENOMEM;
    const int error = make_plan(&making, cwd_fd);
    return error ? error : out->plan.paths.failed ? ENOMEM : 0;
}

const char *tfy__sandbox_told(TfyTask *task, const TfyTool *tool, bool *readonly)
{
    const TfySandbox *sandbox = sandbox_of(tfy__program_of(task), tool);
    const TfyCeiling ceiling = tfy__ceiling(task);
    const TfySandboxRoot root = root_of(sandbox, !tool->sandbox, &ceiling);
    *readonly = root == TFY_ROOT_READONLY && sandbox->root != root;
    return root == TFY_ROOT_OPEN ? NULL : sandbox->name;
}

/* What tools of the program need. */
typedef struct Needs {
    bool held, cell; /* one is held by a cell or a runner; one by a cell */
} Needs;

static void add_need(Needs *needs, const TfyProgram *program, const TfyTool *tool, const TfyCeiling *ceiling)
{
    const TfySandbox *sandbox = sandbox_of(program, tool);
    if (root_of(sandbox, !tool->sandbox, ceiling) == TFY_ROOT_OPEN) return;
    needs->held = true;
    needs->cell |= !sandbox->runner;
}

static bool starts_one(const TfyTool *tool)
{
    return tool->family == TFY_F_EXEC || (tool->mcp && tool->mcp->server->argv);
}

static void add_needs(Needs *needs, const TfyProgram *program, const TfyCeiling *ceiling)
{
    for (uint32_t i = 0; i < program->tool_count; i++)
        if (starts_one(program->tools[i])) add_need(needs, program, program->tools[i], ceiling);
    for (uint32_t i = 0; program->sites && i < program->point_count; i++)
        if (program->sites[i] && program->sites[i]->tool == &tfy_effect_exec)
            add_need(needs, program, &tfy_effect_exec, ceiling);
}

int tfy__sandbox_prepare(TfyLoop *loop, const TfyProgram *program, char *error_text)
{
    const TfyCeiling ceiling = tfy__ceiling_option(loop);
    Place *place = place_of(loop);
    if (!place) return TFY_E_NOMEM;
    Needs needs = {0};
    add_needs(&needs, program, &ceiling);
    const int code = needs.held ? tfy__protect_root(loop, program, error_text) : TFY_OK;
    return code == TFY_OK && needs.cell ? make_ready(loop, place, error_text) : code;
}

const char *tfy__sandbox_made(const TfyConfined *confined)
{
    struct stat info;
    if (confined->open || !*confined->root) return NULL;
    if (confined->journal && lstat(confined->journal, &info) == 0) return confined->journal;
    const char *made = tfy__git_names_made(&confined->git);
    if (!made) return tfy__cell_made(confined->root, &confined->names);
    const size_t len = strlen(confined->root);
    return tfy__cell_within(made, confined->root) ? made + len + 1 : made;
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
    free_list(confined->runner);
    free(confined->journal);
    tfy__git_names_free(&confined->git);
    if (confined->directory) tfy__remove_tree(AT_FDCWD, confined->directory);
    free(confined->directory);
    *confined = (TfyConfined){.open = false};
}
