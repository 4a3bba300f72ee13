/* llm_memory.c: what is kept of a run's answers and misfits is its own, goes through a snapshot, and goes when the run leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "effects/llm_memory.h"
#include "wal/rows/payload.h"

#include "../llm/fake_loop.h"
#include "../llm/sites.h"

#define RUN    "01234567-0000-7000-8000-000000000001"
#define OTHER  "01234567-0000-7000-8000-000000000002"
#define DIGEST 77

/* Two runs that have each been answered and have a misfit. */
typedef struct World {
    TfyLoop loop;
    FakeCall fake;
    TfyLlmMemory memory;
} World;

static void in_run(World *world, const char *run)
{
    strcpy(world->loop.uuid, run);
}

static uint32_t answered(World *world)
{
    return *tfy__llm_answered(&world->memory, &world->fake.task, DIGEST);
}

static const TfyLlmMisfit *recalled(World *world)
{
    world->fake.call.attempt = 2;
    return tfy__llm_recall(&world->memory, &world->fake.call);
}

static void world_open(World *world)
{
    fake_open(&world->loop, NULL);
    fake_init(&world->fake, &world->loop, &site_plan, (const char *const[]){"", NULL});
    world->memory = (TfyLlmMemory){.runs = {0}};
    for (int i = 0; i < 2; i++) {
        in_run(world, i ? OTHER : RUN);
        *tfy__llm_answered(&world->memory, &world->fake.task, DIGEST) = (uint32_t)i + 3;
        tfy__llm_remember(&world->memory, &world->fake.task, &site_plan, "nonsense", 8, "$: it is not JSON");
        assert_non_null(recalled(world));
    }
}

static void world_close(World *world)
{
    tfy__llm_memory_close(&world->memory);
    assert_int_equal(world->memory.runs.count + world->memory.counts.count, 0);
    fake_free(&world->fake);
    fake_close(&world->loop);
}

static void a_run_leaves_alone(void **state)
{
    World world;
    world_open(&world);
    tfy__llm_memory_leave(&world.memory, RUN);
    assert_int_equal(world.memory.runs.count, 1);
    assert_int_equal(world.memory.counts.count, 1);
    in_run(&world, OTHER);
    assert_int_equal(answered(&world), 4);
    assert_string_equal(recalled(&world)->answer, "nonsense");
    in_run(&world, RUN);
    assert_int_equal(answered(&world), 0);
    assert_null(recalled(&world));
    tfy__llm_memory_leave(&world.memory, "01234567-0000-7000-8000-000000000003"); /* it never asked */
    world_close(&world);
}

static void a_snapshot_brings_it_back(void **state)
{
    World world;
    TfyBuffer out = {0};
    world_open(&world);
    tfy__put_begin(&out);
    tfy__llm_memory_save(&world.memory, RUN, &out);
    tfy__put_end(&out);
    tfy__llm_memory_leave(&world.memory, RUN);
    json_t *json = json_loadb(out.data, out.len, 0, NULL);
    assert_true(tfy__llm_memory_is_saved(json));
    tfy__llm_memory_restore(&world.memory, &world.loop, RUN, json);
    in_run(&world, RUN);
    assert_int_equal(answered(&world), 3);
    json_decref(json);
    tfy__buffer_free(&out);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_leaves_alone),
        cmocka_unit_test(a_snapshot_brings_it_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
