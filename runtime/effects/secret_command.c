/* secret_command.c: asks a command of the person's for a secret (secret_source.h).
 *
 * It gets the environment of this process, from which the secrets were taken, and stderr, so that it can say what is
 * wrong; no terminal and no input. It is ended after 10 s with its group. What it leaves running, such as an agent that
 * keeps a key, stays: unlike a tool, it was started by the person. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/world.h"
#include "effects/secret_source.h"

#define PATIENCE_NS INT64_C(10000000000) /* for one answer */
#define KEPT_NS     INT64_C(2000000000)  /* an answer that its call does not fetch */
#define WORDS_MAX   64

extern char **environ;

/* A command that runs, or its answer. */
typedef struct Asked {
    TfyLoop *loop;
    char *key, *name; /* of the step and of the secret; owned */
    pid_t pid;
    int out, end; /* its output, and the process itself; -1: none */
    int64_t out_watch, end_watch;
    uint64_t timer;
    bool running, late;
    int64_t ended_ns;
    TfyBuffer said;
    char error[TFY_ERROR_TEXT]; /* "": `said` has the value */
    struct Asked *next;
} Asked;

/* What the loop keeps. */
typedef struct Asking {
    TfyLoop *loop;
    Asked *first;
    uint64_t sweep; /* the timer that removes what nobody fetched */
} Asking;

static Asking *asking_of(TfyLoop *loop)
{
    Asking **slot = (Asking **)tfy__effect_slot(loop, TFY_M_SECRET);
    if (!*slot && (*slot = tfy__sys_calloc(1, sizeof **slot))) (*slot)->loop = loop;
    return *slot;
}

/* ---- the end ---- */

static void stop_watching(Asked *asked)
{
    if (asked->out_watch > 0) tfy__watch_del(asked->loop, asked->out_watch);
    if (asked->end_watch > 0) tfy__watch_del(asked->loop, asked->end_watch);
    if (asked->timer) tfy__timer_del(asked->loop, asked->timer);
    if (asked->out >= 0) close(asked->out);
    if (asked->end >= 0) close(asked->end);
    asked->out_watch = asked->end_watch = 0;
    asked->timer = 0;
    asked->out = asked->end = -1;
}

static void free_asked(Asked *asked)
{
    stop_watching(asked);
    if (asked->running) {
        kill(-asked->pid, SIGKILL);
        waitpid(asked->pid, NULL, 0);
    }
    if (asked->said.data) explicit_bzero(asked->said.data, asked->said.len);
    tfy__buffer_free(&asked->said);
    free(asked->key);
    free(asked->name);
    free(asked);
}

static void sweep(void *arg);

static void sweep_later(Asking *asking)
{
    if (!asking->sweep && asking->first)
        asking->sweep = tfy__timer_add(asking->loop, tfy__now_ns(asking->loop) + KEPT_NS, sweep, asking);
}

static bool is_awaited(const Asking *asking, const char *key)
{
    for (const Asked *asked = asking->first; asked; asked = asked->next)
        if (asked->running && strcmp(asked->key, key) == 0) return true;
    return false;
}

/* A call that was cancelled, or ran out of time, does not fetch its answers. One that waits for another secret keeps
 * those that it has. */
static void sweep(void *arg)
{
    Asking *asking = arg;
    const int64_t before = tfy__now_ns(asking->loop) - KEPT_NS;
    asking->sweep = 0;
    for (Asked **link = &asking->first; *link;) {
        Asked *asked = *link;
        if (asked->running || asked->ended_ns > before || is_awaited(asking, asked->key)) {
            link = &asked->next;
            continue;
        }
        *link = asked->next;
        free_asked(asked);
    }
    sweep_later(asking);
}

static void settle(Asked *asked, int status)
{
    const char *command = tfy__secrets_command(asked->loop);
    const char *line_end = asked->said.len ? memchr(asked->said.data, '\n', asked->said.len) : NULL;
    size_t len = line_end ? (size_t)(line_end - asked->said.data) : asked->said.len;
    asked->running = false;
    stop_watching(asked);
    asked->ended_ns = tfy__now_ns(asked->loop);
    if (len && asked->said.data[len - 1] == '\r') len--;
    if (asked->late)
        snprintf(asked->error, sizeof asked->error, "'%s %s' did not end within 10 s", command, asked->name);
    else if (WIFSIGNALED(status))
        snprintf(asked->error, sizeof asked->error, "'%s %s' was ended by signal %d", command, asked->name,
                 WTERMSIG(status));
    else if (WEXITSTATUS(status))
        snprintf(asked->error, sizeof asked->error, "'%s %s' exited with status %d", command, asked->name,
                 WEXITSTATUS(status));
    else if (len > TFY_SECRET_MAX)
        snprintf(asked->error, sizeof asked->error, "'%s %s' printed a line of more than 64 KiB", command, asked->name);
    else if (!len)
        snprintf(asked->error, sizeof asked->error, "'%s %s' printed nothing", command, asked->name);
    if (asked->said.data) explicit_bzero(asked->said.data + len, asked->said.len - len);
    asked->said.len = len;
    tfy__call_room_again(asked->loop);
    sweep_later(asking_of(asked->loop));
}

/* The first line is kept; the rest is thrown away, so that nothing waits for a reader. */
static void read_output(Asked *asked)
{
    char some[4096];
    ssize_t len = -1;
    while (asked->out >= 0 && (len = read(asked->out, some, sizeof some)) > 0)
        if (asked->said.len <= TFY_SECRET_MAX && !(asked->said.len && memchr(asked->said.data, '\n', asked->said.len)))
            tfy__buffer_add(&asked->said, some, (size_t)len);
    explicit_bzero(some, sizeof some);
    if (len != 0) return;
    tfy__watch_del(asked->loop, asked->out_watch);
    close(asked->out);
    asked->out_watch = 0;
    asked->out = -1;
}

static void on_output(void *arg, uint32_t events)
{
    (void)events;
    read_output(arg);
}

static void on_ended(void *arg, uint32_t events)
{
    Asked *asked = arg;
    int status = 0;
    (void)events;
    if (waitpid(asked->pid, &status, WNOHANG) == 0) return;
    read_output(asked);
    settle(asked, status);
}

static void on_late(void *arg)
{
    Asked *asked = arg;
    asked->timer = 0;
    asked->late = true;
    kill(-asked->pid, SIGKILL); /* on_ended follows */
}

/* ---- the start ---- */

/* The words of the command, at blanks, then the name; in `text`, a copy. */
static void split(char *text, char *name, char *words[WORDS_MAX + 2])
{
    int count = 0;
    char *rest = text;
    for (char *word; count < WORDS_MAX && (word = strtok_r(rest, " \t", &rest));) words[count++] = word;
    words[count++] = name;
    words[count] = NULL;
}

/* 0, or an errno value. */
static int spawn(Asked *asked, char *const words[], int out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    if ((error = posix_spawnattr_init(&attributes))) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!error) error = posix_spawnp(&asked->pid, words[0], &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    asked->running = !error;
    return error;
}

/* 0, or an errno value. */
static int watch(Asked *asked)
{
    TfyLoop *loop = asked->loop;
    asked->end = (int)syscall(SYS_pidfd_open, asked->pid, 0);
    if (asked->end < 0) return errno;
    asked->out_watch = tfy__watch_add(loop, asked->out, TFY_FD_READ, on_output, asked);
    if (asked->out_watch <= 0) return asked->out_watch == TFY_E_NOMEM ? ENOMEM : errno;
    asked->end_watch = tfy__watch_add(loop, asked->end, TFY_FD_READ, on_ended, asked);
    if (asked->end_watch <= 0) return asked->end_watch == TFY_E_NOMEM ? ENOMEM : errno;
    asked->timer = tfy__timer_add(loop, tfy__now_ns(loop) + PATIENCE_NS, on_late, asked);
    return asked->timer ? 0 : ENOMEM;
}

/* 0, or an errno value. */
static int start(Asked *asked)
{
    char *text = tfy__sys_strdup(tfy__secrets_command(asked->loop)), *words[WORDS_MAX + 2];
    int pipe_fds[2], error;
    if (!text) return ENOMEM;
    split(text, asked->name, words);
    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        error = errno;
        free(text);
        return error;
    }
    asked->out = pipe_fds[0];
    fcntl(asked->out, F_SETFL, O_NONBLOCK);
    error = spawn(asked, words, pipe_fds[1]);
    close(pipe_fds[1]);
    free(text);
    return error ? error : watch(asked);
}

static Asked *make(const TfyCall *call, const char *name)
{
    Asked *asked = tfy__sys_calloc(1, sizeof *asked);
    if (!asked) return NULL;
    asked->loop = call->loop;
    asked->out = asked->end = -1;
    asked->key = tfy__sys_strdup(call->key);
    asked->name = tfy__sys_strdup(name);
    if (asked->key && asked->name) return asked;
    free_asked(asked);
    return NULL;
}

/* ---- for calls ---- */

static Asked *find(const Asking *asking, const char *key, const char *name)
{
    Asked *asked = asking->first;
    while (asked && !(strcmp(asked->key, key) == 0 && strcmp(asked->name, name) == 0)) asked = asked->next;
    return asked;
}

static void take_answer(const Asked *asked, TfySought *sought)
{
    if (*asked->error) {
        snprintf(sought->error, TFY_ERROR_TEXT, "the secret %s is missing: %.400s", sought->name, asked->error);
        return;
    }
    sought->value = asked->said.failed ? NULL : tfy__sys_malloc(asked->said.len + 1);
    if (!sought->value) return;
    memcpy(sought->value, asked->said.data, asked->said.len);
    sought->value[asked->said.len] = '\0';
    sought->len = asked->said.len;
}

bool tfy__secret_ask(const TfyCall *call, TfySought *sought)
{
    Asking *asking = asking_of(call->loop);
    Asked *asked = asking ? find(asking, call->key, sought->name) : NULL;
    if (asked && asked->running) return false;
    if (asked) {
        take_answer(asked, sought);
        return true;
    }
    asked = asking ? make(call, sought->name) : NULL;
    const int error = asked ? start(asked) : ENOMEM;
    if (!error) {
        asked->next = asking->first;
        asking->first = asked;
        return false;
    }
    sought->no_room = tfy__is_no_room(error) ? error : 0;
    snprintf(sought->error, TFY_ERROR_TEXT, "the secret %s is missing: cannot start '%.300s': %s", sought->name,
             tfy__secrets_command(call->loop), strerror(error));
    if (asked) free_asked(asked);
    return true;
}

void tfy__secret_asked(const TfyCall *call)
{
    Asking *asking = *tfy__effect_slot(call->loop, TFY_M_SECRET);
    for (Asked **link = asking ? &asking->first : NULL; link && *link;) {
        Asked *asked = *link;
        if (strcmp(asked->key, call->key) != 0) {
            link = &asked->next;
            continue;
        }
        *link = asked->next;
        free_asked(asked);
    }
}

void tfy__secret_close(TfyLoop *loop)
{
    Asking **slot = (Asking **)tfy__effect_slot(loop, TFY_M_SECRET), *asking = *slot;
    if (!asking) return;
    if (asking->sweep) tfy__timer_del(loop, asking->sweep);
    for (Asked *asked = asking->first, *next; asked; asked = next) {
        next = asked->next;
        free_asked(asked);
    }
    free(asking);
    *slot = NULL;
}
