/* followers.c: see followers.h. */
#include "serve/followers.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own_path.h"
#include "cli/frame/cli.h"
#include "publish/address.h"
#include "publish/cursor.h"
#include "serve/config_followers.h"

enum {
    LOOK_MS = 500,
    PAUSE_LEAST_MS = 1000, /* before it starts again after a fault; it doubles … */
    PAUSE_MOST_MS = 60000,
    WELL_MS = 60000, /* … until it has worked so long */
    END_MS = 2000,   /* to end in order */
    WORDS = 8,
};

/* One process, or the lack of one. The thread's own but for what the mutex protects. */
typedef struct Kept {
    struct Kept *next;
    const TfyFollowerRow *row; /* of a configuration, which stays in memory; NULL: it is not wanted any more */
    const char *name;          /* of the row that it was started for; configurations stay */
    pid_t pid;                 /* 0: it does not run */
    int64_t since_ms;          /* when it started, or when it starts again; monotonic */
    int64_t pause_ms;
    int ended;   /* under the mutex: the exit status of the newest process that ended; 0: none has */
    int64_t lsn; /* under the mutex: its place, when that was looked at last */
} Kept;

struct TfyFollowers {
    TfyServer *server;
    char path[PATH_MAX]; /* of tfy-publish */
    pthread_t thread;
    pthread_mutex_t mutex; /* held for changes of: */
    pthread_cond_t more;
    LIST(Kept) kept;
    bool ends, ended;
};

/* ---- a process ---- */

/* After fork, with the memory of a process of many threads: system calls alone. */
static void become(const char *path, char *const *words)
{
    const int nothing = open("/dev/null", O_RDWR);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    execv(path, words);
    _exit(EXIT_MISSING);
}

static char *word(const char *name, const char *value)
{
    char *text = NULL;
    return value && asprintf(&text, "--%s=%s", name, value) >= 0 ? text : NULL;
}

static void start(struct TfyFollowers *followers, Kept *kept)
{
    const TfyFollowerRow *row = kept->row;
    char *own[] = {word("db", followers->server->db), word("name", row->name), word("to", row->to),
                   word("type", row->types), word("secret-file", row->secret_file)};
    char *words[WORDS + 1] = {(char[]){"tfy-publish"}};
    int count = 1;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i]) words[count++] = own[i];
    if (row->content) words[count] = (char[]){"--content"};
    kept->since_ms = tfy__monotonic_ms();
    const pid_t pid = own[0] && own[1] && own[2] ? fork() : -1;
    if (pid == 0) become(followers->path, words);
    if (pid > 0) kept->pid = pid;
    if (pid < 0) kept->since_ms += kept->pause_ms;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) free(own[i]);
}

/* Notes its end, if it has ended, and when it starts again. A mistake of the configuration does not mend itself soon. */
static void look_after(struct TfyFollowers *followers, Kept *kept)
{
    int status;
    const int64_t now = tfy__monotonic_ms();
    if (!kept->pid || waitpid(kept->pid, &status, WNOHANG) != kept->pid) return;
    const bool was_well = now - kept->since_ms >= WELL_MS;
    kept->pid = 0;
    kept->pause_ms = was_well ? PAUSE_LEAST_MS : kept->pause_ms;
    pthread_mutex_lock(&followers->mutex);
    kept->ended = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    pthread_mutex_unlock(&followers->mutex);
    if (kept->ended == EXIT_USAGE || kept->ended == EXIT_DATA || kept->ended == EXIT_MISSING)
        kept->pause_ms = PAUSE_MOST_MS;
    kept->since_ms = now + kept->pause_ms;
    if (kept->row)
        tfy__say("follower %s ended with status %d; it starts again in %lld s", kept->row->name, kept->ended,
                 (long long)kept->pause_ms / 1000);
    kept->pause_ms = kept->pause_ms * 2 < PAUSE_MOST_MS ? kept->pause_ms * 2 : PAUSE_MOST_MS;
}

/* ---- the configuration ---- */

static Kept *find(struct TfyFollowers *followers, const char *name)
{
    Kept *kept = followers->kept.first;
    while (kept && !(kept->row && strcmp(kept->row->name, name) == 0)) kept = kept->next;
    return kept;
}

static const TfyFollowerRow *row_of(const TfyConfig *config, const char *name)
{
    const TfyFollowerRow *row = config->followers.first;
    while (row && strcmp(row->name, name) != 0) row = row->next;
    return row;
}

/* A follower that is asked for in another way, or not any more, ends; a new one of its name starts when it has. */
static void follow_config(struct TfyFollowers *followers, const TfyConfig *config)
{
    for (Kept *kept = followers->kept.first; kept; kept = kept->next) {
        const TfyFollowerRow *row = kept->row ? row_of(config, kept->row->name) : NULL;
        const bool stays = row && tfy__follower_rows_alike(row, kept->row);
        if (kept->row && !stays && kept->pid) kill(kept->pid, SIGTERM);
        kept->row = stays ? row : NULL;
    }
    for (const TfyFollowerRow *row = config->followers.first; row; row = row->next) {
        Kept *kept = find(followers, row->name) ? NULL : calloc(1, sizeof *kept);
        if (!kept) continue;
        *kept = (Kept){.row = row, .name = row->name, .pause_ms = PAUSE_LEAST_MS};
        LIST_APPEND(&followers->kept, kept, next);
    }
}

/* Those that nobody wants, and that have ended. */
static void forget_ended(struct TfyFollowers *followers)
{
    LIST(Kept) left = {NULL, NULL};
    for (Kept *kept; (kept = LIST_TAKE(&followers->kept, next));) {
        if (kept->row || kept->pid)
            LIST_APPEND(&left, kept, next);
        else
            free(kept);
    }
    followers->kept.first = left.first;
    followers->kept.last = left.last;
}

/* ---- the thread ---- */

static void look_at_place(struct TfyFollowers *followers, Kept *kept)
{
    TfyCursorState state;
    bool works;
    if (!kept->row || !tfy__follow_cursor_look(followers->server->db, kept->row->name, &state, &works)) return;
    pthread_mutex_lock(&followers->mutex);
    kept->lsn = state.lsn;
    pthread_mutex_unlock(&followers->mutex);
}

/* Another one of its name has not ended yet, and has the place. */
static bool is_taken(const struct TfyFollowers *followers, const Kept *kept)
{
    for (const Kept *other = followers->kept.first; other; other = other->next)
        if (other != kept && other->pid && strcmp(other->name, kept->name) == 0) return true;
    return false;
}

static void turn(struct TfyFollowers *followers)
{
    pthread_mutex_lock(&followers->mutex);
    follow_config(followers, followers->server->config);
    forget_ended(followers);
    pthread_mutex_unlock(&followers->mutex);
    for (Kept *kept = followers->kept.first; kept; kept = kept->next) {
        look_after(followers, kept);
        look_at_place(followers, kept);
        if (kept->row && !kept->pid && tfy__monotonic_ms() >= kept->since_ms && !is_taken(followers, kept))
            start(followers, kept);
    }
}

static void end_all(struct TfyFollowers *followers)
{
    const int64_t until = tfy__monotonic_ms() + END_MS;
    for (Kept *kept = followers->kept.first; kept; kept = kept->next)
        if (kept->pid) kill(kept->pid, SIGTERM);
    for (Kept *kept = followers->kept.first; kept; kept = kept->next) {
        while (kept->pid && waitpid(kept->pid, NULL, WNOHANG) != kept->pid) {
            if (tfy__monotonic_ms() >= until) kill(kept->pid, SIGKILL);
            usleep(10000);
        }
        kept->pid = 0;
    }
}

static void *work(void *arg)
{
    struct TfyFollowers *followers = arg;
    pthread_setname_np(pthread_self(), "tfy followers");
    pthread_mutex_lock(&followers->mutex);
    while (!followers->ends) {
        pthread_mutex_unlock(&followers->mutex);
        turn(followers);
        const struct timespec until = tfy__deadline(LOOK_MS);
        pthread_mutex_lock(&followers->mutex);
        if (!followers->ends) pthread_cond_timedwait(&followers->more, &followers->mutex, &until);
    }
    pthread_mutex_unlock(&followers->mutex);
    end_all(followers);
    return NULL;
}

/* ---- what there is ---- */

void tfy__followers_figures(struct TfyFollowers *followers, int64_t head, TfyBuffer *out)
{
    tfy__buffer_text(out, "# HELP tfy_follower_lag_records Records that a follower has not delivered yet.\n"
                          "# TYPE tfy_follower_lag_records gauge\n");
    pthread_mutex_lock(&followers->mutex);
    for (const Kept *kept = followers->kept.first; kept; kept = kept->next)
        if (kept->row)
            tfy__buffer_printf(out, "tfy_follower_lag_records{name=\"%s\"} %lld\n", kept->row->name,
                               (long long)(head > kept->lsn ? head - kept->lsn : 0));
    pthread_mutex_unlock(&followers->mutex);
}

static json_t *text_or_null(const char *text)
{
    return *text ? json_string(text) : json_null();
}

/* How the process of a follower ended; 0: it has not. */
static int ended_with(struct TfyFollowers *followers, const char *name)
{
    pthread_mutex_lock(&followers->mutex);
    const Kept *kept = find(followers, name);
    const int ended = kept ? kept->ended : 0;
    pthread_mutex_unlock(&followers->mutex);
    return ended;
}

static json_t *shown(TfyServer *server, const TfyFollowerRow *row)
{
    TfyCursorState state = {.lsn = 0};
    TfyAddress address = {.whole = NULL};
    char error[TFY_ERROR_TEXT] = "";
    bool works = false;
    const int64_t head = tfy__tail_cursor(server->tail);
    (void)tfy__follow_cursor_look(server->db, row->name, &state, &works);
    (void)tfy__address_read(&address, row->to, error);
    snprintf(error, sizeof error, "%s", state.error);
    const int ended = works ? 0 : ended_with(server->followers, row->name);
    if (ended && !*error)
        snprintf(error, sizeof error, "its process ended with status %d; the server's lines say why", ended);
    json_t *one =
        json_pack("{s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:o, s:o}", "name", row->name, "to", address.shown, "works",
                  works, "cursor", (json_int_t)state.lsn, "lag", (json_int_t)(head > state.lsn ? head - state.lsn : 0),
                  "missed", (json_int_t)state.missed, "dropped", (json_int_t)state.dropped, "error",
                  text_or_null(error), "error_time", state.error_ms ? tfy__json_time(state.error_ms) : json_null());
    tfy__address_free(&address);
    return one;
}

void tfy__serve_followers(TfyRequest *request)
{
    TfyServer *server = request->server;
    const TfyConfig *config = server->config;
    if (!tfy__request_known(request, (const char *const[]){NULL})) return;
    json_t *list = json_array();
    for (const TfyFollowerRow *row = config->followers.first; row; row = row->next)
        json_array_append_new(list, shown(server, row));
    tfy__request_json(request, 200, json_pack("{s:o, s:n}", "followers", list, "next"));
}

/* ---- opening and closing ---- */

struct TfyFollowers *tfy__followers_open(TfyServer *server, char *error)
{
    struct TfyFollowers *followers = calloc(1, sizeof *followers);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!followers) return NULL;
    followers->server = server;
    pthread_mutex_init(&followers->mutex, NULL);
    tfy__cond_init(&followers->more);
    if (tfy__path_beside("tfy-publish", followers->path) &&
        pthread_create(&followers->thread, NULL, work, followers) == 0)
        return followers;
    followers->ended = true;
    tfy__followers_close(followers);
    return NULL;
}

void tfy__followers_quit(struct TfyFollowers *followers)
{
    if (!followers || followers->ended) return;
    pthread_mutex_lock(&followers->mutex);
    followers->ends = true;
    pthread_cond_signal(&followers->more);
    pthread_mutex_unlock(&followers->mutex);
    pthread_join(followers->thread, NULL);
    followers->ended = true;
}

void tfy__followers_close(struct TfyFollowers *followers)
{
    if (!followers) return;
    tfy__followers_quit(followers);
    for (Kept *kept; (kept = LIST_TAKE(&followers->kept, next));) free(kept);
    pthread_mutex_destroy(&followers->mutex);
    pthread_cond_destroy(&followers->more);
    free(followers);
}
