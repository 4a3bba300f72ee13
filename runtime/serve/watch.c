/* watch.c: see watch.h. Times and sizes of files are compared: editors replace files, write them in parts, and write to
 * file systems of other machines, and of all that only the last shows here. */
#include "serve/mcp/mcp.h"
#include "serve/watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "serve/build.h"
#include "serve/versions.h"

enum { LOOK_MS = 300, PATH_MOST = 4096 };

typedef struct Watched {
    struct TfyWatch *watch;
    char *name, *file;  /* owned */
    uint64_t seen, was; /* what its files were when they were compiled, and at the last look */
} Watched;

struct TfyWatch {
    TfyServer *server;
    Watched items[TFY_WATCH_MOST];
    int count;
    pthread_t thread;
    bool runs;
    pthread_mutex_t mutex; /* held for: */
    pthread_cond_t more;
    bool ends;
    pid_t pid; /* of the compiler; 0: none works */
};

/* ---- whether something has changed ---- */

static uint64_t state_of_file(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return 1;
    return (uint64_t)st.st_mtim.tv_sec * 1000000007u + (uint64_t)st.st_mtim.tv_nsec * 31 + (uint64_t)st.st_size * 131 +
           (uint64_t)st.st_ino;
}

/* Of its file, and of those that its active version imports, whose paths are relative to it. */
static uint64_t state_of(const Watched *item)
{
    const TfyServed *served = tfy__served_named(item->watch->server, item->name);
    const char *slash = strrchr(item->file, '/');
    const int dir = slash ? (int)(slash - item->file) + 1 : 0;
    uint64_t state = state_of_file(item->file);
    for (uint32_t i = 1; served && i < served->program->module_count; i++) {
        char path[PATH_MOST];
        const char *file = served->program->modules[i].file;
        snprintf(path, sizeof path, "%.*s%s", *file == '/' ? 0 : dir, item->file, file);
        state = state * 1099511628211u + state_of_file(path);
    }
    return state;
}

/* ---- a new version ---- */

typedef struct Built {
    TfyServer *server;
    const char *name;
    TfyShared *shared;
} Built;

static void take(TfyLoop *loop, void *arg)
{
    Built *built = arg;
    TfyServer *server = built->server;
    TfyCaller caller = {.how = "file"};
    char error[TFY_ERROR_TEXT] = "memory ran out";
    if (loop) {
        tfy__user_name(geteuid(), caller.name, sizeof caller.name);
        const TfyServed *served = tfy__version_known(server->programs, built->name, &built->shared, error);
        const bool again = served && served == tfy__served_named(server, built->name);
        if (!served || (!again && tfy__version_take(server, served, &caller, error) < 0))
            tfy__say("%s stays as it was: %s", built->name, error);
        else if (!again)
            tfy__say("%s: version %s is active", built->name, served->version);
    }
    tfy_shared_close(built->shared);
    free(built);
}

static bool born(void *arg, pid_t pid)
{
    struct TfyWatch *watch = arg;
    pthread_mutex_lock(&watch->mutex);
    watch->pid = pid > 0 ? pid : 0;
    const bool ends = watch->ends;
    pthread_mutex_unlock(&watch->mutex);
    return !ends;
}

static void compile(Watched *item)
{
    TfyServer *server = item->watch->server;
    char error[TFY_ERROR_TEXT];
    TfyBuild build = {.what = item->file, .db = server->db, .most_ms = server->config->compile_ms, .born = born, .arg = item->watch};
    TfyBuffer offer = {0};
    build.offer = tfy__mcp_offer_of(server, item->name, &offer);
    TfyShared *shared = tfy__build(&build, error);
    tfy__buffer_free(&offer);
    Built *built = shared ? malloc(sizeof *built) : NULL;
    if (!shared) {
        if (build.messages) tfy__say_text("%s", build.messages);
        tfy__say("%s stays as it was: %s", item->name, error);
    }
    if (built) *built = (Built){server, item->name, shared};
    if (!built || tfy__command_post(server, take, built) != TFY_OK) {
        free(built);
        tfy_shared_close(shared);
    }
    free(build.messages);
}

/* A file that has just changed may be written further: it is compiled once it has stayed the same for one look. */
static void look(Watched *item)
{
    const uint64_t now = state_of(item);
    const bool rests = now == item->was;
    item->was = now;
    if (now == item->seen || !rests) return;
    item->seen = now;
    compile(item);
}

/* ---- the thread ---- */

static void *work(void *arg)
{
    struct TfyWatch *watch = arg;
    pthread_setname_np(pthread_self(), "tfy reload");
    pthread_mutex_lock(&watch->mutex);
    while (!watch->ends) {
        pthread_mutex_unlock(&watch->mutex);
        for (int i = 0; i < watch->count; i++) look(&watch->items[i]);
        const struct timespec until = tfy__deadline(LOOK_MS);
        pthread_mutex_lock(&watch->mutex);
        if (!watch->ends) pthread_cond_timedwait(&watch->more, &watch->mutex, &until);
    }
    pthread_mutex_unlock(&watch->mutex);
    return NULL;
}

static bool add(struct TfyWatch *watch, const char *word)
{
    const char *equal = strchr(word, '=');
    Watched *item = &watch->items[watch->count];
    if (!equal || watch->count == TFY_WATCH_MOST) return false;
    item->watch = watch;
    item->name = strndup(word, (size_t)(equal - word));
    item->file = strdup(equal + 1);
    watch->count++;
    if (!item->name || !item->file) return false;
    item->seen = item->was = state_of(item);
    return true;
}

struct TfyWatch *tfy__watch_open(TfyServer *server, const char *const *words, int count, char *error)
{
    struct TfyWatch *watch = calloc(1, sizeof *watch);
    bool fine = watch;
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!fine) return NULL;
    watch->server = server;
    pthread_mutex_init(&watch->mutex, NULL);
    tfy__cond_init(&watch->more);
    for (int i = 0; i < count && fine; i++) fine = add(watch, words[i]);
    if (fine && count) fine = watch->runs = pthread_create(&watch->thread, NULL, work, watch) == 0;
    if (fine) return watch;
    tfy__watch_close(watch);
    return NULL;
}

void tfy__watch_quit(struct TfyWatch *watch)
{
    if (!watch || !watch->runs) return;
    pthread_mutex_lock(&watch->mutex);
    watch->ends = true;
    if (watch->pid) kill(-watch->pid, SIGKILL);
    pthread_cond_signal(&watch->more);
    pthread_mutex_unlock(&watch->mutex);
    pthread_join(watch->thread, NULL);
    watch->runs = false;
}

void tfy__watch_close(struct TfyWatch *watch)
{
    if (!watch) return;
    tfy__watch_quit(watch);
    while (watch->count) {
        Watched *item = &watch->items[--watch->count];
        free(item->name);
        free(item->file);
    }
    pthread_mutex_destroy(&watch->mutex);
    pthread_cond_destroy(&watch->more);
    free(watch);
}
