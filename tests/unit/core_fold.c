/* Folded tasks: what is kept of one that sleeps or has ended is all there was. A run leaves the same log whether its tasks are folded or not,
 * whatever is done to it meanwhile. */
#include "core_script.h"
#include "wal/history/history.h"

SCRIPT(naps, DO(SLEEP, .n = 500), SAY("slept"), DO(NOW, 0));
SCRIPT(twice, DO(SLEEP, .n = 100), DO(YIELD, 0), SPAWN(naps), DO(JOIN, 0), DO(SLEEP, .n = 200), SAY("twice"),
       DO(FINALLY, 0), DO(SLEEP, .n = 30), DO(DONE, 0));
SCRIPT(holds, DO(LOCK, .text = "l"), DO(SLEEP, .n = 40), DO(UNLOCK, 0));
SCRIPT(tries, DO(SLEEP, .n = 90, .timeout_ms = 40, .retry = 2, .backoff_ms = 10), DO(CATCH, 0));
SCRIPT(family, SPAWN(naps), SPAWN(twice), DETACH(naps), SPAWN(holds), SPAWN(tries), BODY(naps), BODY(twice), DO(ALL, 0),
       SPAWN(naps), DO(SLEEP, .n = 50), DO(JOIN, .timeout_ms = 100), DO(CATCH, 0), DO(JOIN, 0), SAY("joined"));
SCRIPT(deserter, SPAWN(naps), SPAWN(twice), SPAWN(naps), DO(SLEEP, .n = 20), DO(FAIL, 0));
SCRIPT(killer, SPAWN(naps), SPAWN(naps), DO(SLEEP, .n = 20), DO(KILL, 0), DO(JOIN, 0), DO(CATCH, 0), SAY("killed"));
SCRIPT(bunch, SPAWN(naps), SPAWN(naps), DETACH(naps), SPAWN(holds), SPAWN(tries), DO(WORK, .n = 5));

/* One slot, and a value in the end: nothing is allocated for it. */
typedef struct Number {
    TfyFrame head;
    int64_t number;
} Number;

static TfyStatus number_run(TfyTask *task, void *top)
{
    static const TfySite site = {&point_sleep, &tfy_effect_sleep, &tfy_type_nothing, NULL, NULL};
    Number *frame = top;
    if (!frame->head.pc) {
        frame->head.pc = 1;
        return tfy_perform(task, &site, &(TfyValue){.i = 100}, NULL);
    }
    task->result = tfy_of_int(frame->number * 10);
    return TFY_RETURN;
}

static const TfyLive number_live[] = {{0, &tfy_type_int, "number"}};
static const TfyPoint number_point = {.id = "number", .number = 5, .line = 5, .live = number_live, .live_count = 1},
                      *const number_points[] = {&number_point};
static const TfyField number_params[] = {{"number", &tfy_type_int, NULL, NULL}};
static const TfyWorkflow number = {.name = "number",
                                   .run = number_run,
                                   .frame_size = sizeof(Number),
                                   .params = number_params,
                                   .param_count = 1,
                                   .result = &tfy_type_int,
                                   .resume = number_points,
                                   .resume_count = 1};

/* Spawns some, sleeps until all have ended, joins one of them twice; answers the sum. */
static TfyStatus crowd_run(TfyTask *task, void *top)
{
    static const TfySite sleep = {&number_point, &tfy_effect_sleep, &tfy_type_nothing, NULL, NULL};
    static const TfySite join = {&number_point, &tfy_effect_join, &tfy_type_int, NULL, NULL};
    Number *frame = top;
    switch (frame->head.pc++) {
    case 0:
        for (int64_t i = 1; i <= 5; i++) {
            int64_t handle;
            if (!tfy_spawn(task, &point_spawn, &number, &(TfyValue){.i = i}, &handle)) return TFY_STOP;
            if (i == 3) frame->number = handle;
        }
        return tfy_perform(task, &sleep, &(TfyValue){.i = 300}, NULL);
    case 1: return tfy_perform(task, &join, &(TfyValue){.i = frame->number}, NULL);
    case 2: {
        const TfyValue handle = {.i = frame->number};
        frame->number = tfy_take(task).i;
        return tfy_perform(task, &join, &handle, NULL);
    }
    default: task->result = tfy_of_int(frame->number + tfy_take(task).i); return TFY_RETURN;
    }
}

static const TfyPoint *const crowd_points[] = {&number_point, &number_point, &number_point, NULL};
static const TfyWorkflow crowd = {.name = "crowd",
                                  .run = crowd_run,
                                  .frame_size = sizeof(Number),
                                  .result = &tfy_type_int,
                                  .resume = crowd_points,
                                  .resume_count = 3};

PROGRAM(&naps.workflow, &twice.workflow, &holds.workflow, &tries.workflow, &family.workflow, &deserter.workflow,
        &killer.workflow, &bunch.workflow, &number, &crowd);

/* ---- the same log ---- */

static char *story_of(TfyLog *log)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyHistory *history;
    TfyBuffer out = {0};
    if (tfy__history_read(log, "last", &history, error) < 0) fail_msg("%s", error);
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        tfy__buffer_printf(&out, "%lld %lld<%lld at %lld: %s step %lld point %u %s %llx\n", (long long)record->lsn,
                           (long long)record->tid, (long long)record->prev, (long long)record->ts_ms,
                           tfy__record_type_name(record->type), (long long)record->step, record->point, record->payload,
                           (unsigned long long)record->chain);
    }
    tfy__history_free(history);
    return out.data;
}

static char *story(const Trouble *trouble, bool folds)
{
    Bench bench = {0};
    open_bench(&bench, NULL, 1700000000000);
    bench.loop->world.folds = folds;
    start(&bench, trouble->workflow);
    run_turns(&bench, trouble);
    assert_false(bench.loop->runs_live);
    char *text = story_of(bench.loop->log);
    close_bench(&bench);
    return text;
}

static void same_story(const Trouble *trouble)
{
    char *folded = story(trouble, true), *plain = story(trouble, false);
    if (strcmp(folded, plain) != 0)
        fail_msg("%s, kill %s at %d, force at %d:\n%s\nnot folded:\n%s", trouble->workflow, trouble->path,
                 trouble->kill_turn, trouble->force_turn, folded, plain);
    free(folded);
    free(plain);
}

static void test_same_log(void **state)
{
    static const char *const names[] = {"family", "deserter", "killer", "crowd"}, *const paths[] = {"1", "1.1", "1.2"};
    (void)state;
    for (int name = 0; name < 4; name++) {
        same_story(&(Trouble){.workflow = names[name]});
        for (int turn = 1; turn < 24; turn += 2) {
            for (int path = 0; path < 3; path++)
                same_story(&(Trouble){.workflow = names[name], .kill_turn = turn, .path = paths[path]});
            same_story(&(Trouble){.workflow = names[name], .force_turn = turn, .path = "1"});
        }
    }
}

/* ---- what is folded ---- */

/* Until everything waits. */
static void settle(Bench *bench)
{
    for (int turn = 0; turn < 20; turn++) {
        assert_true(tfy_step(bench->loop) >= 0);
        assert_int_equal(tfy__log_sync(bench->loop->log), 0);
    }
}

static void finish(Bench *bench)
{
    for (int turn = 0; turn < 2000 && bench->loop->runs_live; turn++) one_turn(bench->loop);
    assert_false(bench->loop->runs_live);
    close_bench(bench);
}

static void test_who_is_folded(void **state)
{
    (void)state;
    Bench bench = {0};
    open_bench(&bench, NULL, 1700000000000);
    start(&bench, "bunch");
    settle(&bench);
    const FoldedTasks *folded = &bench.loop->folded;
    int64_t root = bench.loop->runs.first->root->log.tid;
    assert_int_equal(folded->asleep, 3); /* who holds a lock is not, and who has a timeout is not */
    assert_non_null(tfy__folded_by_tid(bench.loop, root + 3)); /* the detached one */
    assert_int_equal(tfy_task_state(bench.loop, root + 1), TFY_TASK_SLEEPING);
    assert_int_equal(folded->asleep, 3); /* looking changes nothing */
    assert_int_equal(bench.loop->runs.first->live, 6);
    assert_non_null(tfy__task_by_path(bench.loop->runs.first, "1.2"));
    assert_null(tfy__task_by_path(bench.loop->runs.first, "1.9"));
    assert_int_equal(folded->asleep, 2);
    assert_true(tfy__unfold_run(bench.loop->runs.first, UINT32_MAX));
    assert_int_equal(folded->asleep, 0);
    assert_int_equal(bench.loop->runs.first->live, 6);
    const TaskRest *child = tfy__task_by_tid(bench.loop, root + 2);
    assert_int_equal(child->task->passages, 1);
    assert_int_equal(child->step->due_ms, 1700000000500);
    assert_int_equal(child->log.step, 1);
    assert_string_equal(child->step->call.key + 36, "/1.2/1");
    finish(&bench);
}

/* In order of their making, the newest first, whether they are folded or not. */
static void test_siblings(void **state)
{
    (void)state;
    Bench bench = {0};
    open_bench(&bench, NULL, 1700000000000);
    start(&bench, "bunch");
    settle(&bench);
    TfyLoop *loop = bench.loop;
    const TfyTask *parent = loop->runs.first->root->task;
    assert_non_null(tfy__task_by_path(loop->runs.first, "1.1"));
    int64_t tids[8], count = 0;
    for (uint32_t child = frame_at(parent, parent->top)->children; child; child = tfy__siblings(loop, child)->next)
        tids[count++] = tfy__child(loop, child)->log.tid - loop->runs.first->root->log.tid;
    assert_int_equal(count, 4);
    assert_memory_equal(tids, ((int64_t[]){5, 4, 2, 1}), 4 * sizeof *tids);
    finish(&bench);
}

static void test_ended(void **state)
{
    (void)state;
    Bench bench = {0};
    open_bench(&bench, NULL, 1700000000000);
    start(&bench, "crowd");
    settle(&bench);
    int64_t root = bench.loop->runs.first->root->log.tid;
    assert_int_equal(bench.loop->folded.asleep, 5);
    uint32_t at = 0;
    for (const Folded *each; (each = tfy__folded_next(bench.loop, NULL, &at));) assert_false(each->has_extra);
    while (bench.loop->runs_live) one_turn(bench.loop);
    assert_string_equal(tfy_task_result(bench.loop, root), "60");
    assert_int_equal(bench.loop->folded.count, 5); /* joined, the one is folded again */
    assert_int_equal(tfy_task_state(bench.loop, root + 3), TFY_TASK_COMPLETED);
    assert_int_equal(tfy__task_by_tid(bench.loop, root + 4)->value.i, 40);
    assert_int_equal(bench.loop->folded.count, 4);
    assert_ptr_equal(bench.loop->runs.first->tasks->next_in_run, bench.loop->runs.first->root);
    tfy__run_discard(bench.loop, bench.loop->runs.first); /* the run leaves memory, and they go with it */
    assert_int_equal(bench.loop->folded.count, 0);
    assert_int_equal(tfy_task_state(bench.loop, root + 3), TFY_TASK_UNKNOWN);
    close_bench(&bench);
}

/* Closing gives back what folded tasks hold; those that sleep go on in the next process. */
static void test_close(void **state)
{
    (void)state;
    char db[64];
    temp_db(db);
    for (int life = 0; life < 2; life++) {
        Bench bench = {0};
        open_bench(&bench, db, 1700000000000 + life * 10);
        if (!life) start(&bench, "bunch");
        char error[TFY_ERROR_TEXT] = "";
        if (life && tfy__resume(bench.loop, "last", error) < 0) fail_msg("%s", error);
        settle(&bench);
        assert_int_equal(bench.loop->folded.asleep, 3);
        if (life) {
            finish(&bench);
            break;
        }
        assert_int_equal(tfy_close(bench.loop), 0);
        tfy__world_free(bench.world);
    }
    check_replay(db, "folded and closed");
    remove_db(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_log), cmocka_unit_test(test_who_is_folded),
                                       cmocka_unit_test(test_siblings), cmocka_unit_test(test_ended),
                                       cmocka_unit_test(test_close)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
