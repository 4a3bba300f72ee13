/* child.c: see child.h. A thread waits for each child. */
#include "serve/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "serve/of_run.h"

enum {
    WORKING = 2,
    WORDS = 12,
    DEADLINE_MS = 10000,
    MEMORY_MOST = 1 << 30,
    OUTPUT_MOST = 16 << 20,
    ERROR_MOST = 4096,
};

struct TfyChildren {
    pthread_mutex_t mutex; /* held for: */
    pthread_cond_t idle;
    pid_t pids[WORKING]; /* 0: free; -1: it is about to start */
    int count;
    bool ends;
};

typedef struct TfyChild {
    char *words[WORDS]; /* owned; NULL ends them */
    int place;          /* of its process in TfyChildren */
    TfyBuffer error;
    void (*finish)(TfyRequest *request, json_t *answer, json_t *facts); /* NULL: the answer is as it is */
    json_t *facts;                                                      /* owned */
} Child;

void tfy__child_free(Child *child)
{
    if (!child) return;
    for (int i = 0; child->words[i]; i++) free(child->words[i]);
    tfy__buffer_free(&child->error);
    json_decref(child->facts);
    free(child);
}

/* ---- the process ---- */

static void limit(int resource, rlim_t most)
{
    const struct rlimit limit = {most, most};
    setrlimit(resource, &limit);
}

/* After fork, with the memory of a process of many threads: system calls alone. */
static void become(const Child *child, const char *path, const int out[2], const int err[2])
{
    const int nothing = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(nothing, STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    limit(RLIMIT_AS, MEMORY_MOST);
    limit(RLIMIT_CORE, 0);
    execv(path, child->words);
    _exit(127);
}

/* tfy stands beside this program. */
static bool find_tfy(char path[PATH_MAX + 8])
{
    const ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);
    if (len <= 0) return false;
    path[len] = '\0';
    strcpy(strrchr(path, '/'), "/tfy");
    return true;
}

static void close_both(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

/* Returns the process, or -1. */
static pid_t start(const Child *child, int *out_fd, int *err_fd)
{
    char path[PATH_MAX + 8];
    int out[2], err[2];
    if (!find_tfy(path) || pipe2(out, O_CLOEXEC) < 0) return -1;
    if (pipe2(err, O_CLOEXEC) < 0) {
        close_both(out);
        return -1;
    }
    const pid_t pid = fork();
    if (pid == 0) become(child, path, out, err);
    if (pid < 0) {
        close_both(out);
        close_both(err);
        return -1;
    }
    setpgid(pid, pid);
    close(out[1]);
    close(err[1]);
    *out_fd = out[0];
    *err_fd = err[0];
    return pid;
}

/* Takes what is there. False: the other end is closed. What is beyond `most` is read and forgotten. */
static bool drain(int fd, TfyBuffer *out, size_t most)
{
    char bytes[16384];
    const ssize_t got = read(fd, bytes, sizeof bytes);
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    const size_t room = most > out->len ? most - out->len : 0;
    tfy__buffer_add(out, bytes, (size_t)got < room ? (size_t)got : room);
    return got > 0;
}

/* Reads until both ends are closed. False: it took too long. */
static bool read_all(int out_fd, int err_fd, TfyRequest *request)
{
    struct pollfd fds[2] = {{out_fd, POLLIN, 0}, {err_fd, POLLIN, 0}};
    const int64_t until = tfy__monotonic_ms() + DEADLINE_MS;
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        const int64_t left = until - tfy__monotonic_ms();
        if (left <= 0) return false;
        if (poll(fds, 2, (int)left) < 0 && errno != EINTR) return false;
        if (fds[0].revents && !drain(out_fd, &request->answer, OUTPUT_MOST)) fds[0].fd = -1;
        if (fds[1].revents && !drain(err_fd, &request->child->error, ERROR_MOST)) fds[1].fd = -1;
        fds[0].revents = fds[1].revents = 0;
    }
    return true;
}

/* ---- its answer ---- */

/* The last line that tfy said, without its name. Lines that name a file of the machine stay here. */
static const char *last_words(Child *child)
{
    char *text = child->error.data;
    if (!text || !child->error.len) return "";
    while (child->error.len && text[child->error.len - 1] == '\n') text[--child->error.len] = '\0';
    const char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    if (strncmp(line, "tfy: ", 5) == 0) line += 5;
    return strchr(line, '/') ? "" : line;
}

static void complete(TfyRequest *request)
{
    Child *child = request->child;
    json_t *answer = json_loadb(request->answer.data, request->answer.len, JSON_ALLOW_NUL, NULL);
    tfy__buffer_reset(&request->answer);
    if (answer) child->finish(request, answer, child->facts);
    tfy__request_json(request, 200, answer);
}

static void judge(TfyRequest *request, int status, bool in_time)
{
    const bool whole = request->answer.len && request->answer.len < OUTPUT_MOST && request->answer.data[0] == '{';
    if (in_time && WIFEXITED(status) && WEXITSTATUS(status) <= 1 && whole) {
        if (request->child->finish) complete(request);
        return;
    }
    tfy__buffer_reset(&request->answer);
    if (!in_time)
        tfy__problem(&request->problem, TFY_PROBLEM_TOO_LONG, "it was not done within %d s", DEADLINE_MS / 1000);
    else if (WIFEXITED(status) && WEXITSTATUS(status) > 1)
        tfy__problem(&request->problem, TFY_PROBLEM_NOT_POSSIBLE, "%.400s", last_words(request->child));
    else
        tfy__problem(&request->problem, TFY_PROBLEM_NOT_POSSIBLE, "it ended without an answer");
}

/* ---- threads ---- */

/* Returns whether it may work on. */
static bool note_pid(struct TfyChildren *children, int place, pid_t pid)
{
    pthread_mutex_lock(&children->mutex);
    children->pids[place] = pid;
    const bool ends = children->ends;
    pthread_mutex_unlock(&children->mutex);
    return !ends;
}

static void leave(struct TfyChildren *children, int place)
{
    pthread_mutex_lock(&children->mutex);
    children->pids[place] = 0;
    children->count--;
    pthread_cond_signal(&children->idle);
    pthread_mutex_unlock(&children->mutex);
}

static void *work(void *arg)
{
    TfyRequest *request = arg;
    struct TfyChildren *children = request->server->children;
    const int place = request->child->place;
    int out_fd, err_fd, status = 0;
    const pid_t pid = start(request->child, &out_fd, &err_fd);
    if (pid > 0) {
        const bool in_time = note_pid(children, place, pid) && read_all(out_fd, err_fd, request);
        note_pid(children, place, -1); /* nobody else may signal a number that is free soon */
        kill(-pid, SIGKILL);
        waitpid(pid, &status, 0);
        judge(request, status, in_time);
        close(out_fd);
        close(err_fd);
    } else {
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "tfy cannot be started");
    }
    tfy__request_done(request);
    leave(children, place);
    return NULL;
}

/* The place of a new child; -1: all are taken. */
static int take_place(struct TfyChildren *children)
{
    int place = -1;
    pthread_mutex_lock(&children->mutex);
    for (int i = 0; i < WORKING && !children->ends; i++)
        if (!children->pids[i]) place = i;
    if (place >= 0) {
        children->pids[place] = -1;
        children->count++;
    }
    pthread_mutex_unlock(&children->mutex);
    return place;
}

static void pass_on(TfyRequest *request)
{
    struct TfyChildren *children = request->server->children;
    pthread_t thread;
    const int place = request->child->place = take_place(children);
    if (place >= 0 && pthread_create(&thread, NULL, work, request) == 0) {
        pthread_detach(thread);
        return;
    }
    if (place >= 0) leave(children, place);
    request->retry_after_s = 1;
    tfy__problem(&request->problem, TFY_PROBLEM_TOO_MANY_REPLAYS, "%d are under way", WORKING);
    tfy__request_done(request);
}

void tfy__child_ask(TfyRequest *request, const char *const *words)
{
    const char *const more[] = {"--db", request->server->db, "--json", NULL};
    Child *child = calloc(1, sizeof *child);
    bool fine = child;
    int count = 0;
    request->child = child;
    if (fine) fine = (child->words[count++] = strdup("tfy"));
    for (; fine && *words && count < WORDS - 4; words++) fine = (child->words[count++] = strdup(*words));
    for (int i = 0; fine && more[i]; i++) fine = (child->words[count++] = strdup(more[i]));
    if (fine)
        request->pass = pass_on;
    else
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
}

void tfy__child_then(TfyRequest *request, void (*finish)(TfyRequest *request, json_t *answer, json_t *facts),
                     json_t *facts)
{
    if (request->child) {
        request->child->finish = finish;
        request->child->facts = facts;
    } else {
        json_decref(facts);
    }
}

/* ---- the routes ---- */

/* As `tfy replay --until` has it: the number of a record in the database, or record-N of the run, failure, end. */
static bool read_place(TfyRequest *request, char until[40])
{
    const char *text = request->names.text[1], *number = strncmp(text, "record-", 7) == 0 ? text + 7 : text;
    const size_t len = strlen(number);
    snprintf(until, 40, "%s%.19s", number == text ? "lsn:" : "", number);
    if (len > 0 && len < 19 && strspn(number, "0123456789") == len) return true;
    snprintf(until, 40, "%.19s", text);
    return strcmp(text, "failure") == 0 || strcmp(text, "end") == 0 ||
           tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST,
                        "the place is the number of a record, record-N of the run, failure or end");
}

void tfy__serve_at(TfyRequest *request)
{
    char until[40];
    if (!tfy__request_known(request, (const char *const[]){NULL}) || !read_place(request, until) ||
        !tfy__run_find(request, request->names.text[0]))
        return;
    tfy__child_ask(request,
                   (const char *const[]){"replay", request->run->id, "--until", until, "--print-locals", NULL});
}

const char *const tfy__compare_parameters[] = {"a", "b", NULL};

static bool find_one(TfyRequest *request, const char *name, char id[37])
{
    const char *given = tfy__request_parameter(request, name);
    if (!given) return tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, "a and b name the runs");
    if (!tfy__run_find(request, given)) return false;
    snprintf(id, 37, "%s", request->run->id);
    return true;
}

void tfy__serve_compare(TfyRequest *request)
{
    char a[37], b[37];
    if (!tfy__request_known(request, tfy__compare_parameters) || !find_one(request, "a", a) ||
        !find_one(request, "b", b))
        return;
    tfy__child_ask(request, (const char *const[]){"diff", a, b, NULL});
}

/* ---- opening and closing ---- */

struct TfyChildren *tfy__children_open(void)
{
    struct TfyChildren *children = calloc(1, sizeof *children);
    if (!children) return NULL;
    pthread_mutex_init(&children->mutex, NULL);
    pthread_cond_init(&children->idle, NULL);
    return children;
}

void tfy__children_quit(struct TfyChildren *children)
{
    if (!children) return;
    pthread_mutex_lock(&children->mutex);
    children->ends = true;
    for (int i = 0; i < WORKING; i++)
        if (children->pids[i] > 0) kill(-children->pids[i], SIGKILL);
    while (children->count) pthread_cond_wait(&children->idle, &children->mutex);
    pthread_mutex_unlock(&children->mutex);
}

void tfy__children_close(struct TfyChildren *children)
{
    if (!children) return;
    tfy__children_quit(children);
    pthread_mutex_destroy(&children->mutex);
    pthread_cond_destroy(&children->idle);
    free(children);
}
