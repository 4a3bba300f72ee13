/* wal_fixture.h: for tests of the log's files: a place of its own for each test, and databases with something in them. */
#ifndef UNIT_WAL_FIXTURE_H
#define UNIT_WAL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "tfy.h"
#include "wal/log/log.h"
#include "wal/store/store.h"

typedef struct Place {
    char directory[64]; /* a fresh one */
    char db[112];       /* a database in it */
    char error[TFY_ERROR_TEXT];
} Place;

static inline int make_place(void **state)
{
    Place *place = calloc(1, sizeof *place);
    strcpy(place->directory, "/tmp/tfy-wal-XXXXXX");
    if (!mkdtemp(place->directory)) return -1;
    snprintf(place->db, sizeof place->db, "%s/runs.db", place->directory);
    *state = place;
    return 0;
}

static inline int remove_place(void **state)
{
    Place *place = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", place->directory);
    const int code = system(command);
    free(place);
    return code;
}

static inline void run_sql(const char *db, const char *text)
{
    /* Through our VFS: a change whose page sums are right, so that it is the log's own checks that find it. */
    sqlite3 *connection;
    assert_int_equal(sqlite3_open_v2(db, &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, tfy__page_vfs()),
                     SQLITE_OK);
    char *message = NULL;
    if (sqlite3_exec(connection, text, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", text, message);
    sqlite3_close(connection);
}

static inline void write_file(const char *name, const void *bytes, size_t len)
{
    const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), len);
    close(fd);
}

static inline char *read_file(const char *name, size_t *len)
{
    struct stat status;
    assert_int_equal(stat(name, &status), 0);
    char *bytes = malloc((size_t)status.st_size + 1);
    const int fd = open(name, O_RDONLY);
    assert_int_equal(read(fd, bytes, (size_t)status.st_size), status.st_size);
    close(fd);
    *len = (size_t)status.st_size;
    return bytes;
}

/* A task at work. */
typedef struct Work {
    TfyLogRun run;
    TfyLogTask root;
} Work;

static inline void begin_work(TfyLog *log, Work *work)
{
    static uint8_t runs;
    char text[200], uuid[37];
    *work = (Work){.run = {.program = tfy__log_program(log, (const uint8_t[16]){9}, "0.1.0", "source", "{}"),
                           .uuid = {1, 2, 3, 4, [15] = runs++}}};
    work->root = (TfyLogTask){.tid = tfy__log_next_tid(log, NULL), .run = &work->run, .path = "1"};
    work->run.root = work->root.tid;
    assert_int_equal(tfy__log_begin_run(log, &work->run), 0);
    tfy__log_add_task(log, &work->root);
    tfy__uuid_text(work->run.uuid, uuid);
    const int len = snprintf(text, sizeof text, "{\"run\":\"%s\",\"tid\":%lld,\"path\":\"1\",\"workflow\":\"main\"}",
                             uuid, (long long)work->root.tid);
    assert_true(tfy__log_append(log, &work->root, TFY_R_INSTRUCTION_START, 0, 0, text, (size_t)len) > 0);
}

static inline int append_some(TfyLog *log, Work *work, int count)
{
    for (int i = 0; i < count; i++) {
        const TfyTicket ticket = tfy__log_append(log, &work->root, TFY_R_VALUE, work->root.step + 1, 1, "{\"now\":1}", 9);
        if (ticket < 0) return (int)ticket;
    }
    return 0;
}

/* A database with `records` records in one run. */
static inline void make_database(const char *db, int records, uint32_t mark_every, bool clean)
{
    TfyLog *log;
    Work work;
    char error[TFY_ERROR_TEXT] = "";
    assert_int_equal(tfy__log_open(&log, &(TfyLogOptions){.path = db, .mark_every = mark_every}, error), 0);
    begin_work(log, &work);
    for (int i = 1; i < records; i++) {
        assert_int_equal(append_some(log, &work, 1), 0);
        if (i % 5 == 0) assert_int_equal(tfy__log_sync(log), 0);
    }
    assert_int_equal(tfy__log_close(log, clean), 0);
}

#endif
