/* sandbox.c: tfy sandbox: runs one command in the sandbox of tools, or in one that a program declares.
 *
 *   tfy ── tfy-cell ── … the command        its status is ours, and what it leaves running is ended
 *    ├──── caretaker                         partial: removes the private directory, however tfy ends
 *    └──── proxy (sandbox_hosts.h)           with a list of hosts: in tfy itself, while the command runs
 *
 * A terminal's signals reach the command by themselves, because all are of one group; tfy waits for its end. */
#include "cli/frame/commands.h"
#include "effects/caretaker.h"
#include "cli/make/sandbox_hosts.h"
#include "cli/make/sandbox_named.h"
#include "effects/cell.h"
#include "effects/family.h"
#include "effects/file.h"
#include "effects/git_dirs.h"
#include "effects/proc.h"
#include "effects/process.h"
#include "base/sys_memory.h"
#include "value/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define CELL_FD        3
#define NOT_FOUND      127
#define NOT_EXECUTABLE 126

/* What --sandbox lists, in its order. */
enum { WRITES_NOTHING, WRITES_ROOT, IS_OPEN, NOT_GIVEN };

typedef struct Sandbox {
    const TfyArgs *args;
    const char **words; /* the command */
    int word_count;
    json_t *named;     /* what the program says of it (sandbox_named.h); owned */
    int writing;       /* WRITES_… or IS_OPEN */
    const char *needs; /* only a full sandbox has this; NULL: nothing */
    TfyGitNames git;   /* of `writes [".git"]` */
    TfyCellPlan plan;
    int program; /* tfy-cell */
    char root[PATH_MAX];
    char home[PATH_MAX];      /* the variable in the cell */
    TfyCaretaker caretaker;   /* partial: of the private directory */
    TfySandboxHosts hosts;    /* of --network; without rules: there is no list */
    TfyCellNames names;       /* protected ones that no mount holds, before */
    const char *variables[2]; /* HOME, TMPDIR; owned; NULL: as they are */
    TfyCellAnswer answer;
    pid_t pid;
    TfyLimits limits; /* of the command and all that it starts */
    TfyLimit passed;
    int64_t look_ms; /* when to look at the limits again, by the clock */
} Sandbox;

/* ---- the plan ---- */

static void plan_home(Sandbox *sandbox)
{
    if (tfy__cell_home(sandbox->root, sandbox->home))
        tfy__cell_add(&sandbox->plan, TFY_CELL_HOME, sandbox->home);
    else
        snprintf(sandbox->home, sizeof sandbox->home, "/tmp");
}

static int plan_root(Sandbox *sandbox)
{
    char home[PATH_MAX];
    const char *given = getenv("HOME");
    if (!realpath(".", sandbox->root))
        return tfy__fail(EXIT_MISSING, "the current directory cannot be found: %s", strerror(errno));
    const bool is_home = given && realpath(given, home) && strcmp(home, sandbox->root) == 0;
    if (is_home || tfy__cell_is_system(sandbox->root))
        return tfy__fail(EXIT_USAGE, "'%s' is %s; a sandbox is for a directory with a project in it", sandbox->root,
                         is_home ? "your home directory" : "a part of the system");
    tfy__cell_look(sandbox->root, &sandbox->names);
    tfy__cell_add_root(&sandbox->plan, sandbox->root);
    tfy__cell_add(&sandbox->plan, TFY_CELL_CWD, sandbox->root);
    return EXIT_DONE;
}

/* A directory that is to be written below the root is made, as tools expect it. */
static int plan_given(Sandbox *sandbox, const TfyGiven *given)
{
    char real[PATH_MAX];
    const bool writes = given->option == OPT_CELL_WRITES;
    if (writes && given->value[0] != '/' && !strstr(given->value, "..")) mkdir(given->value, 0777);
    if (!realpath(given->value, real))
        return tfy__fail(EXIT_MISSING, "--%s %s: %s", tfy__option_at(given->option)->name, given->value,
                         strerror(errno));
    const char *what = writes ? tfy__cell_unwritable(real, sandbox->root) : NULL;
    if (what) return tfy__fail(EXIT_USAGE, "'%s' is %s; a sandbox may not write there", real, what);
    if (strcmp(real, sandbox->root) != 0)
        tfy__cell_add(&sandbox->plan, writes ? TFY_CELL_WRITES : TFY_CELL_READS, real);
    return EXIT_DONE;
}

/* A limit of its own; otherwise what every sandbox has. */
static uint64_t named_limit(const Sandbox *sandbox, const char *row, uint64_t usual)
{
    const json_int_t own = json_integer_value(json_object_get(sandbox->named, row));
    return own > 0 ? (uint64_t)own : usual;
}

static bool plan_limits(const Sandbox *sandbox, TfyCellHead *head)
{
    const TfyArgs *args = sandbox->args;
    const char *cpu = args->option[OPT_CELL_CPU];
    int64_t ms = (int64_t)named_limit(sandbox, "cpu_ms", 0);
    head->memory = named_limit(sandbox, "memory", TFY_CELL_MEMORY);
    head->processes = named_limit(sandbox, "processes", TFY_CELL_PROCESSES);
    head->file_bytes = named_limit(sandbox, "files", TFY_CELL_FILE);
    if (!tfy__args_limit(args, OPT_CELL_MEMORY, UINT64_C(1) << 46, true, &head->memory) ||
        !tfy__args_limit(args, OPT_CELL_PROCESSES, UINT32_MAX, false, &head->processes) ||
        !tfy__args_limit(args, OPT_CELL_FILES, UINT64_C(1) << 46, true, &head->file_bytes))
        return false;
    if (cpu && !(tfy__read_duration(cpu, strlen(cpu), &ms) && ms > 0)) {
        tfy__say("'%s' is not a value of --cpu; it takes a duration such as 10s or 5m", cpu);
        return false;
    }
    head->cpu_s = (uint64_t)(ms + 999) / 1000;
    return true;
}

/* The list of hosts of --network; NULL: there is none. */
static const char *given_hosts(const TfyArgs *args)
{
    const char *network = args->option[OPT_CELL_NETWORK];
    return network && strcmp(network, "none") != 0 && strcmp(network, "any") != 0 ? network : NULL;
}

/* "none", "any" or a list of hosts, for which a buffer is used: what the option says, else the sandbox. */
static const char *network_of(const Sandbox *sandbox, TfyBuffer *list)
{
    const json_t *own = json_object_get(sandbox->named, "network"), *host;
    size_t i;
    if (sandbox->args->option[OPT_CELL_NETWORK]) return sandbox->args->option[OPT_CELL_NETWORK];
    json_array_foreach(own, i, host) tfy__buffer_printf(list, "%s%s", i ? "," : "", json_string_value(host));
    return json_is_string(own) ? json_string_value(own) : list->failed ? NULL : list->data;
}

static int plan_network(Sandbox *sandbox, int level)
{
    TfyBuffer list = {0};
    TfyCellHead *head = &sandbox->plan.head;
    const char *network = network_of(sandbox, &list);
    int status = EXIT_DONE;
    if (!network) {
        status = tfy__fail(EXIT_BUG, "memory ran out");
    } else if (strcmp(network, "any") == 0) {
        head->flags |= TFY_CELL_HOST_NETWORK;
    } else if (strcmp(network, "none") != 0 && level == 1) {
        status = tfy__fail(EXIT_USAGE, "a partial sandbox has no list of hosts; leave --sandbox-level out");
    } else if (strcmp(network, "none") != 0) {
        head->flags |= TFY_CELL_LISTENER;
        sandbox->needs = "a list of hosts";
        status = tfy__sandbox_hosts_open(&sandbox->hosts, network);
    }
    tfy__buffer_free(&list);
    return status;
}

/* ---- the rows of a sandbox that a program declares (as effects/sandbox.c does it for tools) ---- */

/* What can be written can hold a link that a tool made. It must not widen what the next one reaches. */
static bool leads_out(const Sandbox *sandbox, const char *path, const char *real)
{
    char above[PATH_MAX], real_above[PATH_MAX];
    size_t i;
    const json_t *written;
    if (tfy__cell_within(path, sandbox->root) && !tfy__cell_within(real, sandbox->root)) return true;
    json_array_foreach(json_object_get(sandbox->named, "writes"), i, written)
    {
        if (tfy__cell_absolute(sandbox->root, json_string_value(written), above) && strcmp(above, path) != 0 &&
            tfy__cell_within(path, above) && realpath(above, real_above) && !tfy__cell_within(real, real_above))
            return true;
    }
    return false;
}

/* What does not exist is not read. */
static int plan_reads(Sandbox *sandbox, const char *written)
{
    char path[PATH_MAX], real[PATH_MAX];
    if (!tfy__cell_absolute(sandbox->root, written, path) || !realpath(path, real)) return EXIT_DONE;
    if (leads_out(sandbox, path, real))
        return tfy__fail(EXIT_USAGE, "'%s' leads out of what it is in, to '%s'", written, real);
    if (tfy__cell_within(real, sandbox->root)) return EXIT_DONE; /* that is read anyway */
    if (tfy__cell_within(sandbox->root, real))
        return tfy__fail(EXIT_USAGE, "'%s' is above the current directory; a sandbox may not be given all of it",
                         written);
    tfy__cell_add(&sandbox->plan, TFY_CELL_READS, real);
    return EXIT_DONE;
}

static int plan_repository(Sandbox *sandbox, int level)
{
    TfyGitDirs dirs;
    if (level == 1)
        return tfy__fail(EXIT_USAGE, "a partial sandbox does not open '.git'; leave --sandbox-level out");
    if (!tfy__git_dirs_at(sandbox->root, &dirs))
        return tfy__fail(EXIT_MISSING,
                         "'.git', which the command may write, is not a repository's; git init makes one");
    sandbox->needs = "a '.git' that can be written";
    return tfy__git_dirs_open(&dirs, sandbox->root, &sandbox->plan, &sandbox->git)
               ? tfy__fail(EXIT_BUG, "memory ran out")
               : EXIT_DONE;
}

/* Makes a directory below the root, with those above it. */
static void make_directory(const Sandbox *sandbox, const char *written)
{
    char inside[PATH_MAX];
    const int root = open(sandbox->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root >= 0 && snprintf(inside, sizeof inside, "%s/x", written) < (int)sizeof inside)
        tfy__file_make_parents(NULL, root, inside);
    if (root >= 0) close(root);
}

static int plan_writes(Sandbox *sandbox, const char *written, int level)
{
    char path[PATH_MAX], real[PATH_MAX];
    if (!tfy__cell_absolute(sandbox->root, written, path))
        return tfy__fail(EXIT_MISSING, "'%s', which the command may write, cannot be found", written);
    if (tfy__cell_within(path, sandbox->root) && strcmp(path + strlen(sandbox->root), "/.git") == 0)
        return plan_repository(sandbox, level);
    if (*written != '/' && *written != '~') make_directory(sandbox, written);
    if (!realpath(path, real))
        return tfy__fail(EXIT_MISSING, "'%s', which the command may write, cannot be found: %s", written,
                         strerror(errno));
    if (leads_out(sandbox, path, real))
        return tfy__fail(EXIT_USAGE, "'%s' leads out of what it is in, to '%s'", written, real);
    const char *what = tfy__cell_unwritable(real, sandbox->root);
    if (strcmp(real, sandbox->root) == 0) return EXIT_DONE;
    if (what) return tfy__fail(EXIT_USAGE, "'%s' is %s; a sandbox may not write there", written, what);
    tfy__cell_add(&sandbox->plan, TFY_CELL_WRITES, real);
    return EXIT_DONE;
}

/* The file that declares the sandbox is a part of the program, which no tool can change. */
static void plan_program(Sandbox *sandbox)
{
    char real[PATH_MAX];
    const char *file = sandbox->args->option[OPT_CELL_PROGRAM];
    if (file && realpath(file, real) && tfy__cell_within(real, sandbox->root))
        tfy__cell_add(&sandbox->plan, TFY_CELL_PROTECTED, real);
}

/* Where nothing is written, what the sandbox writes is read. */
static int plan_rows(Sandbox *sandbox, int level)
{
    size_t i;
    const json_t *path;
    int status = EXIT_DONE;
    json_array_foreach(json_object_get(sandbox->named, "reads"), i, path)
    {
        if (status == EXIT_DONE) status = plan_reads(sandbox, json_string_value(path));
    }
    json_array_foreach(json_object_get(sandbox->named, "writes"), i, path)
    {
        if (status == EXIT_DONE)
            status = sandbox->writing == WRITES_NOTHING ? plan_reads(sandbox, json_string_value(path))
                                                        : plan_writes(sandbox, json_string_value(path), level);
    }
    plan_program(sandbox);
    return status;
}

/* What the kernel's limits leave to us: all processes together. */
static void keep_limits(Sandbox *sandbox)
{
    const TfyCellHead *head = &sandbox->plan.head;
    sandbox->limits = (TfyLimits){
        .memory = head->memory, .processes = head->processes, .cpu_s = head->cpu_s, .file_bytes = head->file_bytes};
}

/* The whole plan but for what the level adds. Returns an exit status. */
static int plan(Sandbox *sandbox, int level)
{
    TfyCellHead *head = &sandbox->plan.head;
    if (sandbox->writing == WRITES_ROOT) head->flags |= TFY_CELL_ROOT_WRITABLE;
    if (!plan_limits(sandbox, head)) return EXIT_USAGE;
    keep_limits(sandbox);
    int status = plan_network(sandbox, level);
    if (status == EXIT_DONE) status = plan_root(sandbox);
    if (status == EXIT_DONE) status = plan_rows(sandbox, level);
    for (int i = 0; i < sandbox->args->given_count && status == EXIT_DONE; i++)
        status = plan_given(sandbox, &sandbox->args->given[i]);
    return status;
}

/* ---- the private directory of a partial cell ---- */

/* Returns an exit status. */
static int make_private(Sandbox *sandbox)
{
    const int error = tfy__caretaker_start(&sandbox->caretaker);
    if (error) return tfy__fail(EXIT_MISSING, "a private directory cannot be made: %s", strerror(error));
    tfy__cell_add(&sandbox->plan, TFY_CELL_TEMP, sandbox->caretaker.path);
    return EXIT_DONE;
}

/* ---- starting ---- */

/* The environment that tools get, too. */
static char **environment(const Sandbox *sandbox)
{
    size_t count = 0;
    for (char **entry = environ; entry && *entry; entry++) count++;
    char **list = tfy__sys_calloc(count + 11, sizeof *list), **at = list;
    if (!list) return NULL;
    for (char **entry = environ; entry && *entry; entry++) {
        const bool own = strncmp(*entry, "HOME=", 5) == 0 || strncmp(*entry, "TMPDIR=", 7) == 0;
        if (tfy__process_passes_on(*entry) && !own) *at++ = *entry;
    }
    for (int i = 0; i < 2; i++)
        if (sandbox->variables[i]) *at++ = (char *)(uintptr_t)sandbox->variables[i];
    for (const char *const *way = tfy__cell_proxy_variables; sandbox->hosts.rules && *way; way++)
        *at++ = (char *)(uintptr_t)*way;
    return list;
}

__attribute__((noreturn)) static void become_cell(const Sandbox *sandbox, pid_t parent, int socket, char **words,
                                                  char **env)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(TFY_CELL_FAILED);
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    const int number = fcntl(socket, F_DUPFD_CLOEXEC, CELL_FD + 1); /* dup2 to itself would keep close-on-exec */
    const int program = fcntl(sandbox->program, F_DUPFD_CLOEXEC, CELL_FD + 1);
    if (dup2(number, CELL_FD) == CELL_FD) execveat(program, "", words, env, AT_EMPTY_PATH);
    _exit(TFY_CELL_FAILED);
}

/* With a list of hosts, the listener comes first. */
static int hear(Sandbox *sandbox, int socket)
{
    int listener;
    int result = 0;
    if (sandbox->hosts.rules) {
        result = tfy__cell_listener(socket, &listener, &sandbox->answer);
        if (!result) result = tfy__sandbox_hosts_listen(&sandbox->hosts, listener);
    }
    return result ? result : tfy__cell_answer(socket, &sandbox->answer);
}

/* Starts the cell and waits for its answer. 0: the command runs; 1: sandbox->answer says why not; or -errno. */
static int start(Sandbox *sandbox, uint32_t level)
{
    int ends[2], result = -ENOMEM;
    sandbox->plan.head.level = level;
    char **words = tfy__cell_words(CELL_FD, (const char *const *)sandbox->words, sandbox->word_count),
         **env = environment(sandbox);
    if (!words || !env || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) goto done;
    const pid_t parent = getpid();
    sandbox->pid = fork();
    if (sandbox->pid == 0) become_cell(sandbox, parent, ends[1], words, env);
    const int failed = sandbox->pid < 0 ? errno : 0;
    close(ends[1]);
    const int sent = failed ? failed : tfy__cell_send(&sandbox->plan, ends[0]);
    result = sent ? -sent : hear(sandbox, ends[0]);
    close(ends[0]);
    if (result < 0 && !failed) kill(sandbox->pid, SIGKILL);
    if (result && !failed) waitpid(sandbox->pid, NULL, 0);
done:
    free(env);
    tfy__cell_free_words(words);
    return result;
}

/* ---- messages ---- */

/* The stage at which a cell cannot be built here, whatever it holds; 0: it can. */
static uint32_t lacking(uint32_t level, TfyCellAnswer *answer)
{
    return tfy__cell_probe(level, answer) == 1 ? answer->stage : 0;
}

static int tell_failure(const Sandbox *sandbox, int result)
{
    const TfyCellAnswer *answer = &sandbox->answer;
    const char *name = sandbox->words[0], *path;
    if (result < 0)
        return tfy__fail(EXIT_MISSING,
                         result == -EMSGSIZE ? "the sandbox cannot be described: %s"
                                             : "the sandbox cannot be built: %s",
                         strerror(-result));
    if (answer->stage == TFY_CELL_START && answer->error == ENOENT)
        return tfy__fail(NOT_FOUND, "'%s' was not found, or what runs it cannot be read in the sandbox", name);
    if (answer->stage == TFY_CELL_START)
        return tfy__fail(NOT_EXECUTABLE, "'%s' cannot be started in the sandbox: %s", name, strerror(answer->error));
    path = tfy__cell_path_of(&sandbox->plan, answer->path);
    return tfy__fail(EXIT_MISSING, "the sandbox cannot be built, so nothing was started: %s%s%s: %s",
                     tfy__cell_stage_name(answer->stage), path ? ": " : "", path ? path : "", strerror(answer->error));
}

static int tell_none(const TfyCellAnswer *answer)
{
    if (answer->stage == TFY_CELL_LANDLOCK)
        tfy__say(
            "tools cannot be confined here: this kernel has no Landlock (Linux 5.13 or later, 'landlock' among its "
            "security modules)");
    else
        tfy__say("tools cannot be confined here: %s: %s", tfy__cell_stage_lacks(answer->stage),
                 strerror(answer->error));
    tfy__say_text("  tfy doctor --sandbox   says what is missing\n"
                  "  tfy sandbox --sandbox open -- …   runs the command with your rights\n");
    return EXIT_MISSING;
}

static void tell_partial(const TfyCellAnswer *answer)
{
    tfy__say("sandbox is partial here (%s: %s): nothing new directly in the root, no list of hosts, no servers on "
             "127.0.0.1 inside; permissions of files outside can be changed; tfy doctor --sandbox",
             tfy__cell_stage_lacks(answer->stage), strerror(answer->error));
}

/* ---- both levels ---- */

static bool set_variables(Sandbox *sandbox, const char *home, const char *temp)
{
    sandbox->variables[0] = tfy__sys_printf("HOME=%s", home);
    sandbox->variables[1] = tfy__sys_printf("TMPDIR=%s", temp);
    return sandbox->variables[0] && sandbox->variables[1];
}

static int start_partial(Sandbox *sandbox)
{
    int status = make_private(sandbox);
    if (status != EXIT_DONE) return status;
    if (!set_variables(sandbox, sandbox->caretaker.path, sandbox->caretaker.path))
        return tfy__fail(EXIT_BUG, "memory ran out");
    const int result = start(sandbox, TFY_CELL_PARTIAL);
    if (!result) return EXIT_DONE;
    TfyCellAnswer lacks;
    if (result == 1 && sandbox->answer.stage < TFY_CELL_START && lacking(TFY_CELL_PARTIAL, &lacks))
        return tell_none(&lacks);
    return tell_failure(sandbox, result);
}

/* wanted: 0 full, 1 partial, -1: as far as the kernel goes. */
static int start_level(Sandbox *sandbox, int wanted)
{
    TfyCellAnswer lacks;
    if (wanted == 1) return start_partial(sandbox);
    const uint32_t before = sandbox->plan.head.paths;
    const size_t len = sandbox->plan.paths.len;
    plan_home(sandbox);
    if (!set_variables(sandbox, sandbox->home, "/tmp")) return tfy__fail(EXIT_BUG, "memory ran out");
    const int result = start(sandbox, TFY_CELL_FULL);
    if (!result) return EXIT_DONE;
    const bool built = result != 1 || sandbox->answer.stage == TFY_CELL_START;
    const uint32_t lacks_stage = built ? 0 : lacking(TFY_CELL_FULL, &lacks);
    if (!lacks_stage) return tell_failure(sandbox, result);
    if (lacks_stage > TFY_CELL_MOUNTS) return tell_none(&lacks); /* a partial cell needs it, too */
    if (wanted == 0 || sandbox->needs)
        return tfy__fail(EXIT_MISSING, "the sandbox would only be partial here%s%s (%s: %s); tfy doctor --sandbox",
                         wanted == 0 ? "" : ", without ", wanted == 0 ? "" : sandbox->needs,
                         tfy__cell_stage_lacks(lacks.stage), strerror(lacks.error));
    TfyCellAnswer none;
    if (lacking(TFY_CELL_PARTIAL, &none)) return tell_none(&none);
    tell_partial(&lacks);
    for (int i = 0; i < 2; i++) free((char *)(uintptr_t)sandbox->variables[i]);
    sandbox->plan.head.paths = before; /* a partial cell has no home of its own */
    sandbox->plan.paths.len = len;
    return start_partial(sandbox);
}

/* ---- the end ---- */

static bool is_left(pid_t pid, void *arg)
{
    const Sandbox *sandbox = arg;
    pid_t self = getpid();
    return pid != self && pid != sandbox->caretaker.pid && tfy__proc_descends(pid, &self);
}

/* How many there were. */
static uint32_t kill_left(Sandbox *sandbox)
{
    static const int last[] = {SIGKILL, 0};
    return tfy__proc_signal(last, is_left, sandbox);
}

/* Ends what the command left running: it became ours, or went with the namespaces. */
static void end_left(Sandbox *sandbox)
{
    while (kill_left(sandbox) > 0)
        while (waitpid(-1, NULL, WNOHANG) > 0) continue;
}

/* Ends the command and all that it started if they have passed a limit together. */
static void look(void *arg)
{
    Sandbox *sandbox = arg;
    TfyLimits limits = sandbox->limits;
    const int64_t begun_ms = tfy__family_clock_ms();
    if (sandbox->passed || begun_ms < sandbox->look_ms) return;
    if (sandbox->caretaker.pid > 0 && limits.processes) limits.processes++; /* it is ours, and no part of the command */
    sandbox->passed = tfy__family_passed(getpid(), &limits);
    const int64_t now_ms = tfy__family_clock_ms();
    sandbox->look_ms = now_ms + tfy__family_rest_ms(now_ms - begun_ms);
    if (!sandbox->passed) return;
    kill(sandbox->pid, SIGKILL); /* a full cell ends as a whole with it */
    kill_left(sandbox);
}

static void await_exit(Sandbox *sandbox)
{
    const int process = (int)syscall(SYS_pidfd_open, sandbox->pid, 0);
    struct pollfd at = {.fd = process, .events = POLLIN};
    if (sandbox->hosts.rules)
        tfy__sandbox_hosts_serve(&sandbox->hosts, process, look, sandbox);
    else
        while (process >= 0 && poll(&at, 1, TFY_FAMILY_LOOK_MS) <= 0) look(sandbox);
    if (process >= 0) close(process);
}

/* Says which limit ended the command, if one did. */
static void tell_limit(const Sandbox *sandbox, int status)
{
    char what[100];
    const TfyLimit passed = sandbox->passed       ? sandbox->passed
                            : WIFSIGNALED(status) ? tfy__family_signal(WTERMSIG(status), &sandbox->limits)
                                                  : TFY_LIMIT_NONE;
    tfy__family_say(passed, &sandbox->limits, what, sizeof what);
    if (passed) tfy__say("'%s' was ended: it %s", sandbox->words[0], what);
}

static int wait_command(Sandbox *sandbox)
{
    int status;
    tfy__family_go_first();
    await_exit(sandbox);
    while (waitpid(sandbox->pid, &status, 0) < 0 && errno == EINTR) continue;
    end_left(sandbox);
    tell_limit(sandbox, status);
    tfy__sandbox_hosts_tell(&sandbox->hosts);
    const char *made = tfy__git_names_made(&sandbox->git);
    if (!made)
        made = tfy__cell_made(sandbox->root, &sandbox->names);
    else if (tfy__cell_within(made, sandbox->root))
        made += strlen(sandbox->root) + 1;
    if (made)
        return tfy__fail(
            EXIT_RUN_FAILED,
            "'%s' made '%s', from which programs outside take commands; look at it before you use them here",
            sandbox->words[0], made);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Without a cell. */
static int run_open(const Sandbox *sandbox)
{
    execvp(sandbox->words[0], (char **)(uintptr_t)sandbox->words);
    return tfy__fail(errno == ENOENT ? NOT_FOUND : NOT_EXECUTABLE, "'%s' cannot be started: %s", sandbox->words[0],
                     strerror(errno));
}

static int run_confined(Sandbox *sandbox, int level)
{
    sandbox->program = tfy__cell_open();
    if (sandbox->program < 0)
        return tfy__fail(EXIT_MISSING, "tfy-cell cannot be opened: %s", strerror(-sandbox->program));
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int status = start_level(sandbox, level);
    if (status == EXIT_DONE) status = wait_command(sandbox);
    close(sandbox->program);
    tfy__caretaker_end(&sandbox->caretaker);
    return status;
}

/* ---- which sandbox ---- */

/* Words before "--" name a sandbox. Without a "--" all words are the command. */
static int words_before(const TfyArgs *args)
{
    int count = 0;
    for (int i = 1; i < args->argc; i++) {
        if (strcmp(args->argv[i], "--") == 0) return count;
        if (count < args->word_count && args->words[count] == args->argv[i]) count++;
    }
    return 0;
}

/* The stricter of the sandbox and --sandbox; `open` only lifts the default. */
static int writing_of(const Sandbox *sandbox, int given, bool by_default)
{
    const char *root = json_string_value(json_object_get(sandbox->named, "root"));
    const int own = strcmp(root, "readonly") == 0 ? WRITES_NOTHING : strcmp(root, "open") == 0 ? IS_OPEN : WRITES_ROOT;
    return given == IS_OPEN ? (by_default ? IS_OPEN : own) : given < own ? given : own;
}

/* Nothing here starts a runner. */
static int check_runner(const Sandbox *sandbox)
{
    const json_t *runner = json_array_get(json_object_get(sandbox->named, "runner"), 0);
    if (!runner || sandbox->writing == IS_OPEN) return EXIT_DONE;
    return tfy__fail(EXIT_MISSING, "the tools of '%s' are run by '%s', which no sandbox holds; only 'tfy run' starts it",
                     json_string_value(json_object_get(sandbox->named, "name")), json_string_value(runner));
}

/* Finds the sandbox, and the command that runs in it. */
static int choose(Sandbox *sandbox)
{
    const TfyArgs *args = sandbox->args;
    const int before = words_before(args), given = tfy__args_choice(args, OPT_CELL, NOT_GIVEN);
    if (given < 0) return EXIT_USAGE;
    if (before > 1) return tfy__fail(EXIT_USAGE, "sandbox takes one NAME before --, not '%s' too", args->words[1]);
    sandbox->words = args->words + before;
    sandbox->word_count = args->word_count - before;
    if (!sandbox->word_count) return tfy__fail(EXIT_USAGE, "sandbox needs a command after --");
    const int status = tfy__sandbox_named(args, before ? args->words[0] : NULL, &sandbox->named);
    if (status != EXIT_DONE) return status;
    sandbox->writing = writing_of(sandbox, given, !before);
    if (sandbox->writing == IS_OPEN && given_hosts(args))
        return tfy__fail(EXIT_USAGE, "%s has no list of hosts", before ? "'open'" : "--sandbox open");
    return check_runner(sandbox);
}

static void free_all(Sandbox *sandbox)
{
    for (int i = 0; i < 2; i++) free((char *)(uintptr_t)sandbox->variables[i]);
    tfy__cell_plan_free(&sandbox->plan);
    tfy__sandbox_hosts_close(&sandbox->hosts);
    tfy__git_names_free(&sandbox->git);
    json_decref(sandbox->named);
}

int tfy__cmd_sandbox(const TfyArgs *args)
{
    const int level = args->option[OPT_CELL_LEVEL] ? tfy__args_choice(args, OPT_CELL_LEVEL, 0) : -1;
    if (args->option[OPT_CELL_LEVEL] && level < 0) return EXIT_USAGE;
    Sandbox sandbox = {.args = args};
    int status = choose(&sandbox);
    if (status == EXIT_DONE && sandbox.writing == IS_OPEN)
        status = run_open(&sandbox);
    else if (status == EXIT_DONE && (status = plan(&sandbox, level)) == EXIT_DONE)
        status = run_confined(&sandbox, level);
    free_all(&sandbox);
    return status;
}
