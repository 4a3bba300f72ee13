/* wal_compact.c: a run without the records before its snapshot: what stays, that it is checked, and that a change of what is left is seen. */
#include "wal_fixture.h"
#include "wal/history/fork.h"
#include "wal/keep/gc.h"
#include "wal/keep/import.h"
#include "wal/keep/thin.h"
#include "wal/keep/verify.h"
#include "wal/log/log_state.h"
#include "wal/store/store_sqlite.h"
#include "wal/history/history.h"

/* A root that spawned three children: 1.1 lives, 1.2 and 1.3 have ended, and only 1.2 is named in the snapshot. */
typedef struct Family {
    Work work;
    TfyLogTask children[3];
} Family;

static void append(TfyLog *log, TfyLogTask *task, TfyRecordType type, int64_t step, const char *payload)
{
    assert_true(tfy__log_append(log, task, type, step, 1, payload, strlen(payload)) > 0);
}

static void spawn(TfyLog *log, Family *family, int index)
{
    static char *const paths[] = {"1.1", "1.2", "1.3"};
    TfyLogTask *child = &family->children[index];
    char text[128];
    *child = (TfyLogTask){.tid = tfy__log_next_tid(log, NULL), .run = &family->work.run, .path = paths[index]};
    snprintf(text, sizeof text, "{\"tid\":%lld,\"path\":\"%s\",\"workflow\":\"child\"}", (long long)child->tid,
             child->path);
    assert_true(tfy__log_append(log, &family->work.root, TFY_R_TASK_SPAWN, 1, 1, text, strlen(text)) > 0);
    child->born = family->work.root.head;
    tfy__log_add_task(log, child);
}

static void append_snapshot(TfyLog *log, Family *family, int64_t step)
{
    char text[512];
    const TfyLogTask *live = &family->children[0], *named = &family->children[1];
    const long long root = (long long)family->work.root.tid;
    snprintf(
        text, sizeof text,
        "{\"v\":1,\"tasks\":[{\"task\":0,\"chain\":\"%016llx\",\"step\":%lld,\"frames\":[{\"slots\":{\"t\":[%lld]}}]},"
        "{\"task\":%lld,\"chain\":\"%016llx\",\"step\":5,\"pending\":{\"step\":5}}]}",
        (unsigned long long)family->work.root.chain, (long long)step, (long long)named->tid - root,
        (long long)live->tid - root, (unsigned long long)live->chain);
    append(log, &family->work.root, TFY_R_SNAPSHOT, step, text);
}

static void make_family(TfyLog *log, Family *family)
{
    begin_work(log, &family->work);
    TfyLogTask *root = &family->work.root, *children = family->children;
    for (int i = 0; i < 3; i++) spawn(log, family, i);
    append(log, &children[0], TFY_R_VALUE, 1, "{\"now\":1}");
    append(log, &children[0], TFY_R_STEP_START, 5, "{\"tool\":\"approve\",\"question\":\"on?\"}");
    append(log, &children[0], TFY_R_SIGNAL, 5, "{\"name\":\"word\",\"value\":1}");
    for (int i = 1; i < 3; i++) append(log, &children[i], TFY_R_VALUE, 1, "{\"now\":2}");
    for (int i = 1; i < 3; i++) append(log, &children[i], TFY_R_TASK_EXIT, 1, "{\"value\":7}");
    for (int i = 0; i < 30; i++) append(log, root, TFY_R_VALUE, 2 + i, "{\"now\":3}");
    append(log, root, TFY_R_LLM_PLAN, 40, "{\"tool\":\"plan\",\"answer\":\"{\\\"steps\\\":3}\"}");
    for (int i = 0; i < 30; i++) append(log, root, TFY_R_VALUE, 41 + i, "{\"now\":4}");
    append_snapshot(log, family, 71);
    append(log, root, TFY_R_VALUE, 72, "{\"now\":5}");
}

static void make_family_in(const char *db)
{
    TfyLog *log;
    Family family;
    char error[TFY_ERROR_TEXT] = "";
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = db, .mark_every = 16}, error), 0);
    make_family(log, &family);
    assert_int_equal(tfy__log_close(log, true), 0);
}

static bool agree(void *state, const TfyHistory *tail, int64_t *from, char *why)
{
    assert_non_null(tail->snapshot);
    strcpy(why, "told so");
    *from = tail->snapshot_lsn;
    return *(bool *)state;
}

/* How many records went. */
static int64_t compact(Place *place, bool allowed)
{
    TfyGcResult result;
    const TfyGcOptions options = {.older_than_ms = -1,
                                  .keep = -1,
                                  .max_bytes = -1,
                                  .compact = true,
                                  .check = agree,
                                  .check_state = &allowed,
                                  .version = "test"};
    assert_int_equal(tfy__gc(place->db, &options, NULL, NULL, &result, place->error), 0);
    int64_t records = 0;
    for (uint32_t i = 0; i < result.compacted_count; i++) {
        records += result.compacted[i].records;
        assert_string_equal(result.compacted[i].refused, allowed ? "" : "told so");
    }
    tfy__gc_free(&result);
    return records;
}

static void check_sound(Place *place)
{
    TfyVerified verified;
    if (tfy__verify(place->db, NULL, NULL, &verified, place->error) != 0) fail_msg("%s", place->error);
}

static TfyHistory *read_run(Place *place)
{
    TfyLog *log;
    TfyHistory *history;
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db, .read_only = true}, place->error), 0);
    if (tfy__history_read(log, "last", &history, place->error) != 0) fail_msg("%s", place->error);
    tfy__log_close(log, false);
    return history;
}

static int count_type(const TfyHistory *history, TfyRecordType type)
{
    int count = 0;
    for (uint32_t i = 0; i < history->record_count; i++) count += history->records[i].type == type;
    return count;
}

static void test_what_stays(void **state)
{
    Place *place = *state;
    make_family_in(place->db);
    assert_int_equal(compact(place, false), 0);
    check_sound(place);
    TfyHistory *whole = read_run(place);
    assert_null(whole->snapshot);
    const int64_t went = compact(place, true);
    check_sound(place);
    TfyHistory *rest = read_run(place);
    assert_int_equal(went, whole->record_count - rest->record_count);
    assert_true(rest->record_count < 16);
    assert_non_null(rest->snapshot);
    assert_int_equal(rest->run.base_lsn, rest->snapshot_lsn);
    assert_int_equal(rest->task_count, 3); /* nobody can ask for 1.3 */
    assert_string_equal(rest->tasks[2].path, "1.2");
    assert_int_equal(rest->tasks[2].state, TFY_TASK_COMPLETED);
    assert_string_equal(rest->task_workflows[2], "child");
    assert_int_equal(count_type(rest, TFY_R_INSTRUCTION_START), 1);
    assert_int_equal(count_type(rest, TFY_R_TASK_SPAWN), 2);
    assert_int_equal(count_type(rest, TFY_R_TASK_EXIT), 1);
    assert_int_equal(count_type(rest, TFY_R_STEP_START), 1); /* the open question */
    assert_int_equal(count_type(rest, TFY_R_LLM_PLAN), 1);
    assert_int_equal(count_type(rest, TFY_R_VALUE), 2); /* where the root stood, and what came then */
    assert_int_equal(compact(place, true), 0);
    tfy__history_free(whole);
    tfy__history_free(rest);
}

/* What a second compaction takes lies between what the first one left. */
static void test_again(void **state)
{
    Place *place = *state;
    TfyLog *log;
    make_family_in(place->db);
    compact(place, true);
    TfyHistory *first = read_run(place);
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db, .mark_every = 16}, place->error), 0);
    TfyLogTask *root = &first->tasks[0];
    for (int i = 0; i < 40; i++) append(log, root, TFY_R_VALUE, 80 + i, "{\"now\":7}");
    Family family = {.work = {.root = *root}, .children = {first->tasks[1], first->tasks[2]}};
    char text[256];
    snprintf(text, sizeof text,
             "{\"v\":1,\"tasks\":[{\"task\":0,\"chain\":\"%016llx\",\"step\":120},{\"task\":%lld,\"chain\":\"%016llx\","
             "\"step\":5}]}",
             (unsigned long long)root->chain, (long long)(family.children[0].tid - root->tid),
             (unsigned long long)family.children[0].chain);
    append(log, root, TFY_R_SNAPSHOT, 120, text);
    for (uint32_t i = 0; i < first->task_count; i++) tfy__log_forget_task(log, &first->tasks[i]);
    assert_int_equal(tfy__log_close(log, true), 0);
    assert_int_equal(compact(place, true),
                     44); /* 41 of the root and its old snapshot; 1.2 with its spawn, for nobody names it now */
    check_sound(place);
    TfyHistory *second = read_run(place);
    assert_int_equal(second->task_count, 2);
    assert_true(second->run.base_lsn > first->run.base_lsn);
    tfy__history_free(first);
    tfy__history_free(second);
}

/* ---- beside the process that has the log ---- */

typedef struct Owner {
    TfyLog *log;
    Place *place;
    int parts;
    int fails; /* the call that fails next, once; -1: none */
    bool away; /* it ends after three parts */
} Owner;

static int fail_once(void *state, int call)
{
    Owner *owner = state;
    if (call != owner->fails) return 0;
    owner->fails = -1;
    return TFY_STORE_FULL;
}

static int thin(Owner *owner, const json_t *part, int code)
{
    int64_t base;
    char error[TFY_ERROR_TEXT] = "";
    assert_int_equal(tfy__thin(owner->log, part, &base, error), code);
    /* an open read would keep all pages in the -wal file */
    assert_int_equal(sqlite3_txn_state(((SqliteStore *)owner->log->store)->db, NULL), SQLITE_TXN_NONE);
    check_sound(owner->place);
    return code;
}

/* The same part with another member is refused, and changes nothing. */
static void refuse_with(Owner *owner, const json_t *part, const char *name, json_t *value, int code)
{
    json_t *other = json_copy((json_t *)part);
    assert_int_equal(json_object_set_new(other, name, value), 0);
    thin(owner, other, code);
    json_decref(other);
}

static void refuse_others(Owner *owner, const json_t *part)
{
    const int64_t base = json_integer_value(json_object_get(part, "base"));
    refuse_with(owner, part, "base", json_integer(base - 1), TFY_E_INVALID); /* not a snapshot */
    refuse_with(owner, part, "from", json_integer(base - 1), TFY_E_STATE);
    refuse_with(owner, part, "run", json_string("nobody"), TFY_E_STATE);
    refuse_with(owner, part, "drop", json_pack("[[II]]", (json_int_t)1, (json_int_t)base), TFY_E_INVALID);
    refuse_with(owner, part, "drop", json_pack("[[II]]", (json_int_t)1 << 40, (json_int_t)base), TFY_E_INVALID);
    refuse_with(owner, part, "tasks", json_pack("[I]", (json_int_t)1 << 40), TFY_E_STATE);
}

/* A full disk undoes a part, and the process goes on. */
static int take_part(void *state, const json_t *part, char *error_text)
{
    Owner *owner = state;
    if (owner->away && owner->parts == 3) return tfy__log_refuse(error_text, TFY_E_HELD, "gone");
    if (owner->away && owner->parts == 0) refuse_others(owner, part);
    for (int call = TFY_CALL_BEGIN; owner->parts > 0 && call <= TFY_CALL_COMMIT; call++) {
        owner->fails = call;
        thin(owner, part, TFY_E_STATE);
        assert_int_equal(owner->fails, -1);
    }
    thin(owner, part, 0);
    if (json_array_size(json_object_get(part, "drop"))) thin(owner, part, TFY_E_STATE); /* nothing is dropped twice */
    owner->parts++;
    return 0;
}

static int64_t compact_beside(Owner *owner, int code)
{
    bool allowed = true;
    TfyGcResult result;
    const TfyGcOptions options = {.older_than_ms = -1,
                                  .keep = -1,
                                  .max_bytes = -1,
                                  .compact = true,
                                  .check = agree,
                                  .check_state = &allowed,
                                  .send = take_part,
                                  .send_state = owner,
                                  .version = "test"};
    owner->parts = 0;
    assert_int_equal(tfy__gc(owner->place->db, &options, NULL, NULL, &result, owner->place->error), code);
    const int64_t records = result.compacted_count ? result.compacted[0].records : 0;
    tfy__gc_free(&result);
    return records;
}

static void test_by_parts(void **state)
{
    Place *place = *state, other = *place;
    Family family;
    Owner owner = {.place = place, .fails = -1};
    snprintf(other.db, sizeof other.db, "%s/other.db", place->directory);
    make_family_in(other.db);
    const int64_t alone = compact(&other, true);
    setenv("TFY_TEST_GC_PART", "7", 1);
    const TfyLogOptions options = {
        .path = place->db, .mark_every = 16, .no_thread = true, .fault = fail_once, .fault_state = &owner};
    assert_int_equal(tfy__log_open(&owner.log, &options, place->error), 0);
    make_family(owner.log, &family);
    assert_int_equal(tfy__log_sync(owner.log), 0);
    owner.away = true; /* what is left then, the next compaction drops */
    compact_beside(&owner, TFY_E_HELD);
    assert_int_equal(owner.parts, 3);
    owner.away = false;
    assert_true(compact_beside(&owner, 0) < alone);
    assert_true(owner.parts > 3);
    assert_int_equal(compact_beside(&owner, 0), 0);
    unsetenv("TFY_TEST_GC_PART");
    append(owner.log, &family.work.root, TFY_R_VALUE, 73, "{\"now\":6}");
    assert_int_equal(tfy__log_close(owner.log, true), 0);
    check_sound(place);
    TfyHistory *parts = read_run(place), *whole = read_run(&other);
    assert_int_equal(parts->record_count, whole->record_count + 1);
    assert_int_equal(parts->task_count, whole->task_count);
    assert_int_equal(parts->gap_count, whole->gap_count);
    tfy__history_free(parts);
    tfy__history_free(whole);
}

/* A change behind the log's back, to a copy. */
static void check_seen(Place *place, const char *sql, const char *says)
{
    Place copy = *place;
    char command[256];
    TfyVerified verified;
    snprintf(copy.db, sizeof copy.db, "%s/copy.db", place->directory);
    snprintf(command, sizeof command, "cp %s %s", place->db, copy.db);
    assert_int_equal(system(command), 0);
    run_sql(copy.db, sql);
    if (tfy__verify(copy.db, NULL, NULL, &verified, copy.error) == 0) fail_msg("not seen: %s", sql);
    if (!strstr(copy.error, says)) fail_msg("%s: %s", sql, copy.error);
}

static void test_changes(void **state)
{
    Place *place = *state;
    make_family_in(place->db);
    compact(place, true);
    check_seen(place, "UPDATE gap SET chain=chain+1 WHERE lsn=(SELECT max(lsn) FROM gap)", "was changed since");
    check_seen(place, "UPDATE gap SET below=below-1 WHERE lsn=(SELECT max(lsn) FROM gap)", "does not follow");
    check_seen(place, "DELETE FROM gap WHERE lsn=(SELECT min(lsn) FROM gap)", "does not follow");
    check_seen(place, "INSERT INTO gap VALUES(100000,0,0)", "1 gaps of the log have no record");
    check_seen(place, "UPDATE run SET base=base-1", "was changed");
    check_seen(place, "UPDATE run SET base=0", "was changed");
    check_seen(place, "UPDATE meta SET gc=1; DELETE FROM wal WHERE type=33; UPDATE meta SET gc=0", "");
    check_seen(place, "UPDATE meta SET gc=1; DELETE FROM wal WHERE type=3; UPDATE meta SET gc=0", "");
    check_seen(place, "DELETE FROM task WHERE path='1.2'", "");
    check_seen(place, "DROP TRIGGER wal_never_updates; UPDATE wal SET payload='{}' WHERE type=1", "");
    check_seen(place,
               "DROP TRIGGER wal_never_updates; UPDATE wal SET payload=replace(payload,'1.2','1.4') WHERE type=10", "");
}

/* ---- into another database ---- */

static TfyHistory *read_whole(Place *place)
{
    TfyLog *log;
    TfyHistory *history;
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db, .read_only = true}, place->error), 0);
    if (tfy__history_read_whole(log, "last", &history, place->error) != 0) fail_msg("%s", place->error);
    tfy__log_close(log, false);
    return history;
}

/* The same, but for the numbers of records and tasks. */
static void check_same(const TfyHistory *a, const TfyHistory *b)
{
    assert_int_equal(a->record_count, b->record_count);
    assert_int_equal(a->task_count, b->task_count);
    assert_int_equal(a->gap_count, b->gap_count);
    for (uint32_t i = 0; i < a->record_count; i++) {
        const TfyStoreGap *gap = tfy__history_gap(a, a->records[i].lsn),
                          *other = tfy__history_gap(b, b->records[i].lsn);
        assert_int_equal(a->records[i].chain, b->records[i].chain);
        assert_string_equal(a->records[i].payload, b->records[i].payload);
        assert_int_equal(gap ? gap->chain : 0, other ? other->chain : 0);
        assert_true((a->records[i].lsn == a->run.base_lsn) == (b->records[i].lsn == b->run.base_lsn));
    }
}

/* Taken in by a log that is left as a killed process leaves it, the gaps stand behind its newest mark. */
static void test_import(void **state)
{
    Place *place = *state, there = *place;
    make_family_in(place->db);
    compact(place, true);
    TfyHistory *history = read_whole(place);
    if (tfy__import_check(history, place->error) != 0) fail_msg("%s", place->error);
    snprintf(there.db, sizeof there.db, "%s/there.db", place->directory);
    const char *const paths[] = {NULL, there.db}; /* in memory, too */
    for (int i = 0; i < 2; i++) {
        TfyLog *log;
        TfyHistory *imported;
        int64_t doubts = 0;
        assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = paths[i], .no_thread = true}, place->error), 0);
        assert_true(tfy__log_opened(log, "test", NULL) > 0);
        assert_int_equal(tfy__import_run(log, history, &doubts, place->error), 0);
        assert_int_equal(tfy__log_sync(log), 0);
        if (tfy__history_read_whole(log, "last", &imported, place->error) != 0) fail_msg("%s", place->error);
        check_same(history, imported);
        tfy__history_free(imported);
        tfy__log_close(log, false);
    }
    check_sound(&there);
    TfyHistory *again = read_whole(&there);
    check_same(history, again);
    assert_int_equal(compact(&there, true), 0);
    run_sql(there.db, "UPDATE gap SET chain=chain+1 WHERE lsn=(SELECT max(lsn) FROM gap)");
    TfyLog *log;
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = there.db, .read_only = true}, there.error), 0);
    TfyHistory *changed;
    assert_int_equal(tfy__history_read(log, "last", &changed, there.error), TFY_E_DATA);
    tfy__log_close(log, false);
    tfy__history_free(again);
    tfy__history_free(history);
}

/* A gap in the tail that was changed is seen by who opens the log. */
static void test_changed_tail(void **state)
{
    Place *place = *state, there = *place;
    TfyLog *log;
    int64_t doubts = 0;
    make_family_in(place->db);
    compact(place, true);
    TfyHistory *history = read_whole(place);
    snprintf(there.db, sizeof there.db, "%s/there.db", place->directory);
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = there.db, .no_thread = true}, place->error), 0);
    assert_int_equal(tfy__import_run(log, history, &doubts, place->error), 0);
    assert_int_equal(tfy__log_sync(log), 0);
    tfy__log_close(log, false);
    run_sql(there.db, "UPDATE gap SET chain=chain+1 WHERE lsn=(SELECT max(lsn) FROM gap)");
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = there.db, .read_only = true}, there.error),
                     TFY_E_DATA);
    assert_non_null(strstr(there.error, "was changed since it was written"));
    tfy__history_free(history);
}

/* A fork has no snapshots of the other run but the one it begins at: where another one stood before that, behind a gap, the gap is its own. */
static void test_fork(void **state)
{
    Place *place = *state;
    TfyLog *log;
    Family family;
    TfyLogRun made;
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db, .mark_every = 16}, place->error), 0);
    make_family(log, &family);
    append_snapshot(log, &family, 73);
    append_snapshot(log, &family, 73);
    append(log, &family.work.root, TFY_R_VALUE, 74, "{\"now\":6}");
    assert_int_equal(tfy__log_close(log, true), 0);
    compact(place, true);
    TfyHistory *history = read_whole(place), *forked;
    const TfyFork fork = {.from = history,
                          .records = history->record_count - 1, /* up to the snapshot */
                          .replaced = UINT32_MAX,
                          .resolved = UINT32_MAX,
                          .task = "1",
                          .step = 73};
    assert_int_equal(history->records[fork.records - 1].lsn, history->run.base_lsn);
    assert_non_null(tfy__history_gap(history, history->records[fork.records - 2].lsn));
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db, .no_thread = true}, place->error), 0);
    assert_int_equal(tfy__fork_write(log, &fork, &made, place->error), 0);
    assert_int_equal(tfy__log_sync(log), 0);
    if (tfy__history_read_tail(log, "last", &forked, place->error) != 0) fail_msg("%s", place->error);
    assert_memory_equal(forked->run.uuid, made.uuid, 16);
    assert_int_equal(forked->snapshot_lsn, made.base_lsn);
    assert_int_equal(forked->record_count, 0);
    assert_int_equal(forked->task_count, 2); /* the two that are alive in it */
    tfy__history_free(forked);
    tfy__log_close(log, true);
    forked = read_whole(place);
    assert_non_null(tfy__history_gap(forked, made.base_lsn));
    if (tfy__import_check(forked, place->error) != 0) fail_msg("%s", place->error);
    check_sound(place);
    tfy__history_free(forked);
    tfy__history_free(history);
}

/* A history that says something impossible is not taken. */
static void check_refused(TfyHistory *history, const char *says)
{
    char error[TFY_ERROR_TEXT] = "";
    assert_int_equal(tfy__import_check(history, error), TFY_E_DATA);
    if (!strstr(error, says)) fail_msg("%s", error);
}

static void test_impossible(void **state)
{
    Place *place = *state;
    make_family_in(place->db);
    compact(place, true);
    TfyHistory *history = read_whole(place);
    const TfyLogRun run = history->run;
    TfyStoreGap *gap = &history->gaps[history->gap_count - 1];
    const TfyStoreGap was = *gap;
    gap->chain++;
    check_refused(history, "it was changed since it was written");
    *gap = was;
    gap->below--;
    check_refused(history, "nothing can be missing before it");
    *gap = was;
    gap->lsn = history->run.base_lsn + 1;
    check_refused(history, "");
    *gap = was;
    history->gap_count--;
    check_refused(history, "it was changed since it was written");
    history->gap_count++;
    history->run.base_lsn = 0;
    check_refused(history, "nothing can be missing before it");
    history->run.base_lsn = history->records[history->record_count - 1].lsn;
    check_refused(history, "is not a snapshot at which the run can start");
    history->run = run;
    for (int i = 1; i < 3; i++) history->tasks[i].tid++; /* the snapshot names them by their numbers */
    check_refused(history, "the snapshot at which the run starts does not fit its tasks");
    for (int i = 1; i < 3; i++) history->tasks[i].tid--;
    assert_int_equal(tfy__import_check(history, place->error), 0);
    tfy__history_free(history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_stays, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_again, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_by_parts, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_changes, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_import, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_changed_tail, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_fork, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_impossible, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
