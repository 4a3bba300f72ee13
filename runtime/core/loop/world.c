/* world.c: the real world, and a virtual one for tests. */
#include "core/world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "wal/log/root.h"

static int64_t clock_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t real_mono(void *state)
{
    (void)state;
    return clock_ns(CLOCK_MONOTONIC);
}

static int64_t real_wall(void *state)
{
    (void)state;
    return clock_ns(CLOCK_REALTIME) / 1000000;
}

static int64_t real_wall_late(void *state)
{
    (void)state;
    return clock_ns(CLOCK_REALTIME_COARSE) / 1000000;
}

static void real_random(void *state, void *bytes, size_t len)
{
    (void)state;
    char *at = bytes;
    while (len) {
        ssize_t n = getrandom(at, len > 256 ? 256 : len, 0);
        if (n <= 0) continue;
        at += n;
        len -= (size_t)n;
    }
}

const TfyWorld tfy__world_real = {
    .mono_ns = real_mono,
    .wall_ms = real_wall,
    .wall_late_ms = real_wall_late,
    .random = real_random,
    .poller = &tfy__poller_epoll,
    .look_root = tfy__root_look,
#ifdef TFY_POISON
    .folds = true,
#endif
    .performs = TFY_PERFORMS_ALL,
};

int tfy__env_number(const char *name, int64_t max, int64_t *value, char *error_text)
{
    const char *text = getenv(name);
    char *end = NULL;
    if (!text || !*text) return 0;
    errno = 0;
    const long long number = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : -1;
    if (number < 0 || *end || errno || number > max) {
        snprintf(error_text, TFY_ERROR_TEXT, "%s must be a whole number up to %lld, not '%.60s'", name, (long long)max,
                 text);
        return TFY_E_INVALID;
    }
    *value = number;
    return 1;
}

int tfy__poller_check(char *error_text)
{
    const char *choice = getenv("TFY_POLLER");
    if (!choice || !*choice || strcmp(choice, "poll") == 0 || strcmp(choice, "epoll") == 0) return 0;
    snprintf(error_text, TFY_ERROR_TEXT, "TFY_POLLER must be epoll or poll, not '%.60s'", choice);
    return TFY_E_INVALID;
}

const TfyPoller *tfy__poller_of_choice(void)
{
    const char *choice = getenv("TFY_POLLER");
    return choice && strcmp(choice, "poll") == 0 ? &tfy__poller_poll : &tfy__poller_epoll;
}

/* ---- the virtual world ---- */

typedef struct Virtual {
    TfyWorld world;
    int64_t now_ns;  /* since the start */
    int64_t wall_ms; /* at the start */
    uint64_t seed;
} Virtual;

static int64_t virtual_mono(void *state)
{
    return ((Virtual *)state)->now_ns;
}

static int64_t virtual_wall(void *state)
{
    const Virtual *virtual = state;
    return virtual->wall_ms + virtual->now_ns / 1000000;
}

/* splitmix64: small, and the same everywhere. */
static void virtual_random(void *state, void *bytes, size_t len)
{
    Virtual *virtual = state;
    for (char *at = bytes; len;) {
        uint64_t word = virtual->seed += 0x9e3779b97f4a7c15u;
        word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
        word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
        word ^= word >> 31;
        size_t n = len < sizeof word ? len : sizeof word;
        memcpy(at, &word, n);
        at += n;
        len -= n;
    }
}

static void virtual_jump(void *state, int64_t deadline_ns)
{
    Virtual *virtual = state;
    if (deadline_ns > virtual->now_ns) virtual->now_ns = deadline_ns;
}

TfyWorld *tfy__world_virtual(int64_t wall_ms, uint64_t seed)
{
    Virtual *virtual = calloc(1, sizeof *virtual);
    if (!virtual) return NULL;
    virtual->wall_ms = wall_ms;
    virtual->seed = seed;
    virtual->world = (TfyWorld){.state = virtual,
                                .mono_ns = virtual_mono,
                                .wall_ms = virtual_wall,
                                .random = virtual_random,
                                .jump = virtual_jump,
                                .performs = TFY_PERFORMS_EXTERN,
                                .folds = true,
                                .poller = &tfy__poller_epoll};
    return &virtual->world;
}

void tfy__world_free(TfyWorld *world)
{
    if (world) free(world->state);
}

TfyWorld *tfy_world_virtual(int64_t wall_ms, uint64_t seed)
{
    return tfy__world_virtual(wall_ms, seed);
}

void tfy_world_free(TfyWorld *world)
{
    tfy__world_free(world);
}
