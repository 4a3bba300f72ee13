/* child.c: see child.h. A thread waits for each child. */
#include "serve/child.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "serve/clock.h"
#include "serve/of_run.h"

enum {
    WORKING = 2,
    WORDS = 12,
    DEADLINE_MS = 10000,
};

struct TfyChildren {
    int64_t most_ms;       /* a child works so long */
    pthread_mutex_t mutex; /* held for: */
    pthread_cond_t idle;
    pid_t pids[WORKING]; /* 0: free; -1: it is about to start */
    int count;
    bool ends;
};

typedef struct TfyChild {
    char *words[WORDS]; /* owned; NULL ends them */
    int place;          /* of its process in TfyChildren */
    void (*work)(TfyRequest *request);
    void (*finish)(TfyRequest *request, json_t *answer, json_t *facts); /* NULL: the answer is as it is */
    json_t *facts;                                                      /* owned */
} Child;

void tfy__child_free(Child *child)
{
    if (!child) return;
    for (int i = 0; child->words[i]; i++) free(child->words[i]);
    json_decref(child->facts);
    free(child);
}

/* ---- its answer ---- */

void tfy__child_says(TfyProcess *process, char *words, size_t size)
{
    TfyBuffer *err = &process->err;
    while (err->len && err->data[err->len - 1] == '\n') err->len--;
    tfy__buffer_char(err, '\0');
    const char *line = err->failed ? NULL : strrchr(err->data, '\n');
    line = line ? line + 1 : err->failed ? "" : err->data;
    if (strncmp(line, "tfy: ", 5) == 0) line += 5;
    snprintf(words, size, "%s", strchr(line, '/') ? "" : line);
}

static void complete(TfyRequest *request)
{
    Child *child = request->child;
    json_t *answer = json_loadb(request->answer.data, request->answer.len, JSON_ALLOW_NUL, NULL);
    tfy__buffer_reset(&request->answer);
    if (answer) child->finish(request, answer, child->facts);
    tfy__request_json(request, 200, answer);
}

static void judge(TfyRequest *request, TfyProcess *process, TfyProcessEnd end, int status)
{
    char words[TFY_ERROR_TEXT];
    const bool whole = process->out.len && !tfy__process_is_cut(process) && process->out.data[0] == '{';
    if (end == TFY_PROCESS_ENDED && (status == 0 || status == 1) && whole) {
        tfy__buffer_add(&request->answer, process->out.data, process->out.len);
        if (request->child->finish) complete(request);
        return;
    }
    tfy__child_says(process, words, sizeof words);
    if (end == TFY_PROCESS_NONE)
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "tfy cannot be started");
    else if (end == TFY_PROCESS_LATE)
        tfy__problem(&request->problem, TFY_PROBLEM_TOO_LONG, "it was not done within %lld s",
                     (long long)request->server->children->most_ms / 1000);
    else if (status > 1)
        tfy__problem(&request->problem, TFY_PROBLEM_NOT_POSSIBLE, "%.400s", words);
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

bool tfy__child_born(void *arg, pid_t pid)
{
    const TfyRequest *request = arg;
    return note_pid(request->server->children, request->child->place, pid);
}

TfyProcessEnd tfy__child_run(TfyRequest *request, TfyProcess *process, int *status)
{
    process->born = tfy__child_born;
    process->arg = request;
    return tfy__process_run(process, status);
}

/* What the words say; what it prints is the answer. */
static void work_words(TfyRequest *request)
{
    TfyProcess process = {.words = (const char *const *)request->child->words,
                          .deadline_ms = request->server->children->most_ms};
    int status;
    const TfyProcessEnd end = tfy__child_run(request, &process, &status);
    judge(request, &process, end, status);
    tfy__process_free(&process);
    tfy__request_done(request);
}

static void *run_thread(void *arg)
{
    TfyRequest *request = arg;
    struct TfyChildren *children = request->server->children;
    const int place = request->child->place;
    request->child->work(request); /* and whoever gets it may have freed it */
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
    if (place >= 0 && pthread_create(&thread, NULL, run_thread, request) == 0) {
        pthread_detach(thread);
        return;
    }
    if (place >= 0) leave(children, place);
    request->retry_after_s = 1;
    tfy__problem(&request->problem, TFY_PROBLEM_TOO_MANY_REPLAYS, "%d are under way", WORKING);
    tfy__request_done(request);
}

void tfy__child_work(TfyRequest *request, void (*work)(TfyRequest *request))
{
    tfy__child_free(request->child);
    request->child = calloc(1, sizeof *request->child);
    if (request->child) {
        request->child->work = work;
        request->pass = pass_on;
    } else {
        tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    }
}

void tfy__child_ask(TfyRequest *request, const char *const *words)
{
    const char *const more[] = {"--db", request->server->db, "--json", NULL};
    tfy__child_work(request, work_words);
    Child *child = request->child;
    bool fine = child;
    int count = 0;
    if (fine) fine = (child->words[count++] = strdup("tfy"));
    for (; fine && *words && count < WORDS - 4; words++) fine = (child->words[count++] = strdup(*words));
    for (int i = 0; fine && more[i]; i++) fine = (child->words[count++] = strdup(more[i]));
    if (fine) return;
    request->pass = tfy__request_done;
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
    children->most_ms = tfy__bound("TFY_TEST_CHILD_MS", DEADLINE_MS);
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
