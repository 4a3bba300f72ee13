/* wal_flips.c: one bit changed in each byte of a database and of its -wal file, one at a time. What then reads the log is refused with a sentence
 * that names the place, or reads exactly what was written: every run, task, record and program.
 *
 *   FLIP_EVERY=N   only each N-th byte (211), but for a file's first hundred; 1: all of them (./dev soak) */
#include <xxhash.h>

#include "wal_fixture.h"
#include "wal/store/wal_file.h"
#include "wal/history/history.h"

static uint64_t add(uint64_t digest, const void *bytes, size_t len)
{
    return XXH3_64bits_withSeed(bytes, len, digest);
}

static uint64_t add_word(uint64_t digest, int64_t word)
{
    return add(digest, &word, sizeof word);
}

static uint64_t add_history(uint64_t digest, const TfyHistory *history)
{
    digest = add(digest, history->workflow, strlen(history->workflow) + 1);
    digest = add(digest, history->program_hash, 16);
    digest = add(digest, history->program_source, strlen(history->program_source) + 1);
    digest = add(digest, history->program_layout, strlen(history->program_layout) + 1);
    for (uint32_t i = 0; i < history->task_count; i++) {
        const TfyLogTask *task = &history->tasks[i];
        digest = add(digest, task->path, strlen(task->path) + 1);
        digest = add(digest, history->task_workflows[i], strlen(history->task_workflows[i]) + 1);
        digest = add_word(add_word(add_word(digest, task->tid), task->head), task->state);
    }
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        digest = add_word(add_word(digest, record->lsn), (int64_t)record->chain);
        digest = add_word(add_word(digest, record->ts_ms), history->record_tasks[i]);
        digest = add(digest, record->payload, record->payload_len);
    }
    return digest;
}

/* Everything that can be read; 0: refused, and place->error says why. */
static uint64_t read_all(Place *place)
{
    TfyLog *log;
    TfyLogRun *runs = NULL;
    char **names = NULL;
    uint32_t count = 0;
    uint64_t digest = 1;
    strcpy(place->error, "");
    if (tfy__log_open(&log, &(TfyLogOptions){.path = place->db, .read_only = true}, place->error) != 0) return 0;
    if (tfy__log_runs(log, &runs, &names, &count) != 0) {
        strcpy(place->error, "the list of runs");
        digest = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        TfyHistory *history;
        char id[24];
        snprintf(id, sizeof id, "%lld", (long long)runs[i].id);
        if (digest && tfy__history_read(log, id, &history, place->error) == 0) {
            digest = add(digest, names[i], strlen(names[i]) + 1);
            digest = add_word(add_word(add_history(digest, history), runs[i].state), runs[i].started_ms);
            tfy__history_free(history);
        } else {
            digest = 0;
        }
        free(names[i]);
    }
    free(names);
    free(runs);
    digest = digest ? add_word(digest, tfy__log_last_lsn(log)) : 0;
    tfy__log_close(log, false);
    return digest;
}

/* The sentence says where. */
static bool names_place(const char *error)
{
    static const char *const words[] = {"page ",    "frame ", "record ",   "task ",      "run ",
                                        "program ", "mark",   "meta",      "header of ", "tfy database",
                                        "format ",  "list",   "pages are", "malformed",  "database disk image"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(error, words[i])) return true;
    return false;
}

static int64_t flip_every(void)
{
    const char *every = getenv("FLIP_EVERY");
    return every && atoll(every) > 0 ? atoll(every) : 211;
}

static void flip_file(Place *place, const char *ending, int64_t from)
{
    char name[160];
    size_t len;
    snprintf(name, sizeof name, "%s%s", place->db, ending);
    char *bytes = read_file(name, &len);
    const uint64_t whole = read_all(place);
    int64_t refused = 0, same = 0;
    assert_true(whole);
    const int fd = open(name, O_RDWR);
    for (int64_t at = from; at < (int64_t)len; at += at < 100 ? 1 : flip_every()) {
        const char other = (char)(bytes[at] ^ 1 << at % 8);
        assert_int_equal(pwrite(fd, &other, 1, at), 1);
        const uint64_t read = read_all(place);
        assert_int_equal(pwrite(fd, &bytes[at], 1, at), 1);
        if (read && read != whole) fail_msg("byte %lld of %s changed, and something else is read", (long long)at, name);
        if (!read && !names_place(place->error)) fail_msg("byte %lld of %s: '%s'", (long long)at, name, place->error);
        same += read == whole;
        refused += read == 0;
    }
    close(fd);
    free(bytes);
    assert_int_equal(read_all(place), whole);
    print_message("%s: %lld refused, %lld read as written\n", *ending ? ending + 1 : "database", (long long)refused,
                  (long long)same);
    assert_true(refused > same); /* what nothing reads: pages that are newer in the -wal file, the list of free pages */
}

/* Most of it in the main file, as after a close, and a -wal file with what came later. */
static void test_flips(void **state)
{
    Place *place = *state;
    make_database(place->db, 500, 100, true);
    TfyLog *log;
    Work work;
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = place->db, .mark_every = 100}, place->error), 0);
    begin_work(log, &work);
    for (int i = 0; i < 4; i++) {
        append_some(log, &work, 40);
        assert_int_equal(tfy__log_sync(log), 0);
    }
    assert_int_equal(tfy__log_close(log, false), 0);
    flip_file(place, "-wal", 0);
}

static void test_flips_closed(void **state)
{
    Place *place = *state;
    make_database(place->db, 900, 300, true);
    flip_file(place, "", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_flips, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_flips_closed, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
