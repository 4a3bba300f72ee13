/* fuzz_import.c: any files as an exported run, with sums that fit: refused with a sentence, or imported; and what was imported can be read as
 * a run again, with what its models were sent. The input is the files, one behind the other, each after a line "%% NAME"; the first is the .run file. */
#define FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION 1
#include "cli/keep/exported.c"
#include "wal/history/asked.h"
#include "wal/history/history.h"

#include <assert.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { FILES = 8 };

static char directory[] = "/tmp/tfy-import-XXXXXX";
static char names[FILES][128];
static int count;

static void clean_up(void)
{
    rmdir(directory);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    assert(mkdtemp(directory));
    return atexit(clean_up);
}

/* A name stays within the directory: letters, digits, '-' and '.'. */
static void write_part(const char *name, size_t name_len, const char *bytes, size_t len)
{
    static const char fine[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    if (count == FILES || !name_len || name_len > 60 || *name == '.') return;
    for (size_t i = 0; i < name_len; i++)
        if (!name[i] || !strchr(fine, name[i])) return;
    snprintf(names[count], sizeof names[count], "%s/%.*s", directory, (int)name_len, name);
    FILE *file = fopen(names[count], "w");
    if (!file) return;
    count++;
    fwrite(bytes, 1, len, file);
    fclose(file);
}

static void write_files(const char *bytes, size_t len)
{
    const char *end = bytes + len;
    while (bytes < end) {
        const char *line = memchr(bytes, '\n', (size_t)(end - bytes));
        if (!line || line - bytes < 3 || memcmp(bytes, "%% ", 3) != 0) return;
        const char *next = memmem(line, (size_t)(end - line), "\n%% ", 4);
        next = next ? next + 1 : end;
        write_part(bytes + 3, (size_t)(line - bytes - 3), line + 1, (size_t)(next - line - 1));
        bytes = next;
    }
}

static void import(TfyExported *exported)
{
    TfyLog *log;
    TfyHistory *again = NULL;
    char error[TFY_ERROR_TEXT] = "", run[37];
    int64_t doubts = 0;
    assert(tfy__log_open(&log, &(TfyLogOptions){.no_thread = true}, error) == 0);
    const int code = tfy__import_run(log, exported->history, &doubts, error);
    assert(code == 0 || *error);
    if (!code) {
        assert(tfy__log_sync(log) == 0);
        tfy__uuid_text(exported->history->run.uuid, run);
        const int read = tfy__history_read(log, run, &again, error);
        assert(read == 0 || *error);
        for (uint32_t i = 0; !read && i < again->record_count; i++) {
            bool whole;
            json_decref(tfy__asked_messages(again, i, &whole));
        }
        tfy__history_free(again);
    }
    tfy__log_close(log, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    count = 0;
    write_files((const char *)bytes, len);
    TfyExported exported = {.name = names[0]};
    const int code = count ? tfy__exported_read(&exported) : TFY_E_ABSENT;
    assert(!count || code == 0 || *exported.error);
    if (code == 0) import(&exported);
    tfy__exported_free(&exported);
    for (int i = 0; i < count; i++) unlink(names[i]);
    return 0;
}
