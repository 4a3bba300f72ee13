/* bench_timers.c: a million timers that are set and expire, or are set and taken back, against a bare timing wheel of the same layout. Ours go
 * through the loop, whose clock is a number here: it moves by a millisecond a turn. */
#include "bench.h"

#include "core/loop/state.h"
#include "wheel.h"

enum { TIMERS = 1000000, SPAN_MS = 10000 };
#define MS INT64_C(1000000)

static int64_t clock_ns;
static uint32_t delays_ms[TIMERS], order[TIMERS]; /* in which they are taken back */
static uint64_t handles[TIMERS], nodes[TIMERS];
static uint64_t fired;

static int64_t read_clock(void *state)
{
    (void)state;
    return clock_ns;
}

static void fire(void *arg)
{
    fired += (uint64_t)(uintptr_t)arg;
}

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void prepare(void)
{
    uint64_t random = 88172645463325252u;
    for (uint32_t i = 0; i < TIMERS; i++) {
        delays_ms[i] = 1 + (uint32_t)(draw(&random) % SPAN_MS);
        const uint32_t other = (uint32_t)(draw(&random) % (i + 1));
        order[i] = order[other];
        order[other] = i;
    }
}

/* ---- ours ---- */

static TfyLoop *open_clocked(TfyWorld *world)
{
    TfyLoop *loop;
    char error[TFY_ERROR_TEXT] = "";
    *world = tfy__world_real;
    world->mono_ns = read_clock;
    TfyOptions options = {.world = world, .forget = true, .quiet = true};
    if (tfy_open(&loop, &tfyg_program, &options, error) < 0) bench_die("%s", error);
    tfy_step(loop);
    return loop;
}

static void set_ours(TfyLoop *loop)
{
    for (uint32_t i = 0; i < TIMERS; i++)
        handles[i] = tfy__timer_add(loop, clock_ns + delays_ms[i] * MS, fire, (void *)(uintptr_t)1);
}

static void expire_ours(TfyLoop *loop)
{
    for (int ms = 0; ms < SPAN_MS; ms++) {
        clock_ns += MS;
        tfy_step(loop);
    }
}

static void cancel_ours(TfyLoop *loop)
{
    for (uint32_t i = 0; i < TIMERS; i++) tfy__timer_del(loop, handles[order[i]]);
}

/* ---- bare ---- */

static void set_bare(Wheel *wheel)
{
    for (uint32_t i = 0; i < TIMERS; i++)
        nodes[i] = wheel_set(wheel, wheel->now + delays_ms[i], fire, (void *)(uintptr_t)1);
}

static void expire_bare(Wheel *wheel)
{
    const uint64_t begin = wheel->now;
    for (uint64_t ms = 1; ms <= SPAN_MS; ms++) wheel_expire(wheel, begin + ms);
    wheel->now = begin + SPAN_MS;
}

static void cancel_bare(Wheel *wheel)
{
    for (uint32_t i = 0; i < TIMERS; i++) wheel_cancel(wheel, (uint32_t)nodes[order[i]]);
}

/* ---- both ---- */

static void measure(TfyLoop *loop, Wheel *wheel, const char *what, const char *name)
{
    const bool expire = strcmp(what, "expired") == 0;
    double ours[BENCH_ROUNDS], bare[BENCH_ROUNDS], ratios[BENCH_ROUNDS];
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        fired = 0;
        double begin = bench_cpu_seconds();
        set_bare(wheel);
        expire ? expire_bare(wheel) : cancel_bare(wheel);
        bare[i] = bench_cpu_seconds() - begin;
        begin = bench_cpu_seconds();
        set_ours(loop);
        expire ? expire_ours(loop) : cancel_ours(loop);
        ours[i] = bench_cpu_seconds() - begin;
        if (fired != (expire ? 2u * TIMERS : 0)) bench_die("timers were lost");
        ratios[i] = ours[i] / bare[i];
    }
    fprintf(stderr, "bench: timers set and %s: ours %.1f ns, a bare wheel %.1f ns\n", what,
            bench_median(ours) * 1e9 / TIMERS, bench_median(bare) * 1e9 / TIMERS);
    bench_report(name, bench_median(ratios), "<=", 1.2);
}

int main(void)
{
    TfyWorld world;
    static Wheel wheel;
    clock_ns = 1000 * MS;
    wheel_init(&wheel, TIMERS);
    wheel.now = 1000;
    prepare();
    TfyLoop *loop = open_clocked(&world);
    set_bare(&wheel); /* once for nothing: memory comes with the first touch */
    cancel_bare(&wheel);
    set_ours(loop);
    cancel_ours(loop);
    measure(loop, &wheel, "expired", "1,000,000 timers set and expired, against a bare timing wheel (times its time)");
    measure(loop, &wheel, "cancelled",
            "1,000,000 timers set and cancelled, against a bare timing wheel (times its time)");
    bench_close(loop);
    wheel_deinit(&wheel);
    return 0;
}
