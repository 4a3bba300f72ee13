/* fuzz_db.c: a database in which bytes were changed, that was cut off, or whose -wal file was: refused, or read as
 * it was written; never more. The input is a list of edits to a sound database, since nothing interesting is a few
 * random bytes away from nothing:
 *
 *   byte 0: what is cut (bit 0 the main file, bit 1 the -wal file, to the length in bytes 1 to 3); then 4 bytes
 *   per edit: 3 for the place, 1 that is put there. Places beyond the main file fall into the -wal file. */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tfy.h"
#include "wal/history/history.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* The sound database, read once. */
typedef struct Base {
    char directory[64];
    char path[96], wal_path[112]; /* where the edited copies go */
    uint8_t *bytes;               /* main file, then -wal file */
    size_t main_len, len;
    uint8_t *edited;     /* room for a copy */
    TfyHistory *history; /* what it says */
} Base;

static Base base;

static void clean_up(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", base.directory);
    if (system(command) != 0) fprintf(stderr, "%s is left\n", base.directory);
    tfy__history_free(base.history);
    free(base.bytes);
    free(base.edited);
}

static void add_file(const char *path)
{
    struct stat status;
    const int fd = open(path, O_RDONLY);
    assert(fd >= 0 && fstat(fd, &status) == 0);
    base.bytes = realloc(base.bytes, base.len + (size_t)status.st_size);
    assert(base.bytes && read(fd, base.bytes + base.len, (size_t)status.st_size) == status.st_size);
    base.len += (size_t)status.st_size;
    close(fd);
}

/* Two marks, a tail behind them, two tasks, and part of it all in the -wal file only. */
static void make_database(const char *path, bool second)
{
    TfyLog *log;
    char error[TFY_ERROR_TEXT] = "";
    int code = tfy__log_open(&log, &(TfyLogOptions){.path = path, .no_thread = true, .mark_every = 12}, error);
    assert(code == 0);
    TfyLogRun run = {.program =
                         tfy__log_program(log, (const uint8_t[16]){7}, "0", "workflow main() { }", "{\"points\":[]}"),
                     .uuid = {1, 2, 3}};
    TfyLogTask root = {.tid = tfy__log_next_tid(log, NULL), .run = &run, .path = "1"}, child = {.run = &run, .path = "1.1"};
    run.root = root.tid;
    if (second) run.uuid[0] = 9;
    tfy__log_begin_run(log, &run);
    tfy__log_add_task(log, &root);
    tfy__log_append(log, &root, TFY_R_INSTRUCTION_START, 0, 0, "{\"workflow\":\"main\"}", 19);
    child.tid = tfy__log_next_tid(log, NULL);
    tfy__log_append(log, &root, TFY_R_TASK_SPAWN, 1, 1, "{\"workflow\":\"other\"}", 20);
    child.born = root.head;
    tfy__log_add_task(log, &child);
    for (int i = 0; i < 30; i++) {
        tfy__log_append(log, i % 3 ? &root : &child, TFY_R_OUTPUT, i + 2, 1, "{\"to\":\"stdout\",\"text\":\"hello\"}",
                        30);
        code = tfy__log_sync(log);
        assert(code == 0);
    }
    tfy__log_forget_task(log, &root);
    tfy__log_forget_task(log, &child);
    tfy__log_close(log, !second);
}

static TfyHistory *read_last(const char *path)
{
    TfyLog *log;
    TfyHistory *history = NULL;
    char error[TFY_ERROR_TEXT] = "";
    if (tfy__log_open(&log, &(TfyLogOptions){.path = path, .read_only = true}, error) != 0) {
        assert(error[0]);
        return NULL;
    }
    TfyLogRun *runs;
    char **names;
    uint32_t count;
    if (tfy__log_runs(log, &runs, &names, &count) == 0) {
        for (uint32_t i = 0; i < count; i++) free(names[i]);
        free(names);
        free(runs);
    }
    assert(tfy__history_read(log, "2", &history, error) == 0 || error[0]);
    tfy__log_close(log, false);
    return history;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    /* In memory where there is such a place: the disk's syncs would be most of the time. */
    snprintf(base.directory, sizeof base.directory, "%s/tfy-fuzz-db-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(base.directory)) abort();
    atexit(clean_up);
    snprintf(base.path, sizeof base.path, "%s/runs.db", base.directory);
    snprintf(base.wal_path, sizeof base.wal_path, "%s-wal", base.path);
    make_database(base.path, false);
    make_database(base.path, true);
    add_file(base.path);
    base.main_len = base.len;
    add_file(base.wal_path);
    base.edited = malloc(base.len);
    base.history = read_last(base.path);
    assert(base.edited && base.history && base.history->record_count == 32);
    return 0;
}

static void write_file(const char *path, const uint8_t *bytes, size_t len)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    close(fd);
}

static void write_edited(const uint8_t *bytes, size_t len)
{
    memcpy(base.edited, base.bytes, base.len);
    for (size_t i = 4; i + 4 <= len; i += 4) {
        const size_t place = (size_t)bytes[i] << 16 | (size_t)bytes[i + 1] << 8 | bytes[i + 2];
        base.edited[place % base.len] = bytes[i + 3];
    }
    size_t main_len = base.main_len, wal_len = base.len - base.main_len;
    const size_t cut = len >= 4 ? (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3] : 0;
    if (len >= 4 && bytes[0] & 1) main_len = cut % (main_len + 1);
    if (len >= 4 && bytes[0] & 2) wal_len = cut % (wal_len + 1);
    char name[128];
    snprintf(name, sizeof name, "%s-shm", base.path);
    unlink(name);
    write_file(base.path, base.edited, main_len);
    write_file(base.wal_path, base.edited + base.main_len, wal_len);
}

/* Whatever was read must be what was written, up to where the -wal file was cut. */
static void check(const TfyHistory *history)
{
    assert(history->record_count <= base.history->record_count);
    for (uint32_t i = 0; i < history->record_count; i++) {
        assert(history->records[i].chain == base.history->records[i].chain);
        assert(strcmp(history->records[i].payload, base.history->records[i].payload) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    write_edited(bytes, len);
    TfyHistory *history = read_last(base.path);
    if (history) check(history);
    tfy__history_free(history);
    TfyLog *log;
    char error[TFY_ERROR_TEXT] = "";
    if (tfy__log_open(&log, &(TfyLogOptions){.path = base.path, .no_thread = true}, error) == 0) {
        tfy__log_append(log, tfy__log_self(log), TFY_R_OPENED, 0, 0, "{}", 2);
        tfy__log_sync(log);
        tfy__log_close(log, true);
    } else {
        assert(error[0]);
    }
    return 0;
}
