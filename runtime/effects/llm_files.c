/* llm_files.c: see llm_files.h.
 *
 * What a file is follows from its first bytes, whatever its name says. The request and the log have its digest; its bytes
 * are read anew for each attempt, so a resume sends the file as it is then. */
#include "effects/llm_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/utf8.h"
#include "effects/file.h"
#include "effects/pool.h"
#include "value/json.h"

#define ALL_MOST ((size_t)32 << 20) /* bytes of all files of a request */

enum {
    IMAGE_TOKENS = 8192, /* an image is scaled down by those who read it */
    HEAD = 12,           /* bytes that show what a file is */
};

struct TfyLlmReading {
    TfyJob job; /* first */
    TfyCall *call;
    int root_fd;
    TfyProtect *protect; /* owned */
    size_t most;         /* bytes of a file */
    TfyLlmFiles *files;  /* owned */
    uint32_t at;         /* the file that failed */
    int error;           /* 0, or a negative reason */
    char head[HEAD];     /* error EMEDIUMTYPE: how the file begins */
    size_t head_len;
    bool is_text;
    TfyLlmFilesRead done;
    void (*failed)(void *arg);
    void *arg;
};

/* ---- kinds ---- */

static const char *kind_of(const char *bytes, size_t len)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *kind;
    } kinds[] = {{"\x89PNG\r\n\x1a\n", 8, "image/png"},
                 {"\xff\xd8\xff", 3, "image/jpeg"},
                 {"GIF87a", 6, "image/gif"},
                 {"GIF89a", 6, "image/gif"},
                 {"%PDF-", 5, TFY_LLM_PDF}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (len >= kinds[i].len && memcmp(bytes, kinds[i].bytes, kinds[i].len) == 0) return kinds[i].kind;
    return len >= 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0 ? "image/webp" : NULL;
}

/* ---- paths ---- */

static const TfyList *paths_of(TfyCall *call)
{
    TfyValue paths = {.o = NULL};
    return call->tool->files(call->task, call->args, &paths) ? (const TfyList *)paths.o : NULL;
}

static TfyLlmFiles *new_files(TfyTask *task, const TfyList *paths, const TfyObj **outside)
{
    TfyLlmFiles *files = tfy__sys_calloc(1, sizeof *files + paths->len * sizeof files->items[0]);
    for (uint32_t i = 0; files && i < paths->len; i++) {
        const char *path = tfy__path_below(task, paths->items[i].o);
        if (!path) *outside = paths->items[i].o;
        if (path && (files->items[i].path = tfy__sys_strdup(path))) {
            files->count++;
            continue;
        }
        tfy__llm_files_free(files);
        return NULL;
    }
    return files;
}

/* ---- reading ---- */

/* Takes what was read. 0, or a negative reason. */
static int take_file(TfyLlmReading *reading, TfyLlmFile *file, const TfyBuffer *content)
{
    const XXH128_hash_t hash = XXH3_128bits(content->data ? content->data : "", content->len);
    file->kind = kind_of(content->data, content->len);
    file->size = (int64_t)content->len;
    snprintf(file->hash, sizeof file->hash, "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    if (file->kind) {
        tfy__write_base64(&file->data, content->data, content->len);
        return file->data.failed ? -ENOMEM : 0;
    }
    reading->head_len = content->len < HEAD ? content->len : HEAD;
    if (content->len) memcpy(reading->head, content->data, reading->head_len);
    reading->is_text = content->len && tfy__utf8_broken(content->data, content->len) == content->len &&
                       !memchr(content->data, 0, content->len);
    return -EMEDIUMTYPE;
}

static void work(TfyJob *job)
{
    TfyLlmReading *reading = (TfyLlmReading *)job;
    TfyBuffer content = {0};
    size_t all = 0;
    for (uint32_t i = 0; !reading->error && i < reading->files->count; i++) {
        TfyLlmFile *file = &reading->files->items[i];
        reading->at = i;
        reading->error = tfy__file_read(reading->protect, reading->root_fd, file->path, true, reading->most, &content);
        all += content.len;
        if (!reading->error) reading->error = all > ALL_MOST ? -E2BIG : take_file(reading, file, &content);
    }
    tfy__buffer_free(&content);
}

static void drop(TfyJob *job)
{
    TfyLlmReading *reading = (TfyLlmReading *)job;
    tfy__protect_free(reading->protect);
    tfy__llm_files_free(reading->files);
    free(reading);
}

static void fail_kind(TfyCall *call, const char *path, const TfyLlmReading *reading)
{
    char is[64] = "it is empty";
    if (reading->is_text) strcpy(is, "it is text, which belongs in the text of the prompt");
    for (size_t i = 0; !reading->is_text && i < reading->head_len && i < 4; i++)
        snprintf(is + (i ? strlen(is) : 0), sizeof is - (i ? strlen(is) : 0), "%s%02x", i ? " " : "it begins with ",
                 (unsigned char)reading->head[i]);
    tfy__call_tool_error(call, EMEDIUMTYPE,
                         "cannot send '%s' to a model: %s; what can be sent is png, jpeg, webp, gif and pdf", path, is);
}

static void fail(TfyCall *call, const char *path, const TfyLlmReading *reading)
{
    if (reading->error == -EMEDIUMTYPE)
        fail_kind(call, path, reading);
    else if (reading->error == -E2BIG)
        tfy__call_tool_error(call, E2BIG,
                             "cannot send '%s' to a model: the files of one request have more than %zu MiB", path,
                             ALL_MOST >> 20);
    else
        tfy__file_error(call, "send", path, -reading->error);
}

static void ended(TfyJob *job)
{
    TfyLlmReading *reading = (TfyLlmReading *)job;
    if (!reading->error) {
        TfyLlmFiles *files = reading->files;
        reading->files = NULL;
        reading->done(reading->arg, files);
    } else {
        reading->failed(reading->arg);
        fail(reading->call, reading->files->items[reading->at].path, reading);
    }
    drop(job);
}

/* ---- public functions ---- */

static TfyLlmReading *begin(TfyCall *call, TfyLlmFilesRead done, void (*failed)(void *arg), void *arg)
{
    TfyTask *task = call->task;
    const uint32_t mark = tfy_mark(task);
    const TfyList *paths = paths_of(call);
    const TfyObj *outside = NULL;
    TfyLlmReading *reading = paths ? tfy__sys_calloc(1, sizeof *reading) : NULL;
    if (reading)
        *reading = (TfyLlmReading){.job = {.work = work, .done = ended, .drop = drop},
                                   .call = call,
                                   .root_fd = tfy__root_fd(task),
                                   .protect = tfy__protect_new(call->loop, tfy__root_fd(task)),
                                   .most = tfy__file_most(call->loop),
                                   .files = new_files(task, paths, &outside),
                                   .done = done,
                                   .failed = failed,
                                   .arg = arg};
    const bool made = reading && reading->protect && reading->files;
    const int code = made ? tfy__pool_add(call->loop, &reading->job) : TFY_E_NOMEM, error = errno;
    if (code != 0) {
        if (reading) drop(&reading->job);
        reading = NULL;
        failed(arg);
        if (task->error)
            tfy__call_panicked(call);
        else if (outside)
            tfy__file_error(call, "send", ((const TfyString *)outside)->bytes, EXDEV);
        else
            tfy__call_no_room(call, code == TFY_E_STATE ? error : ENOMEM);
    }
    tfy_cut(task, mark);
    return reading;
}

static void let_go(TfyLlmReading *reading)
{
    tfy__pool_let_go(reading->call->loop, &reading->job);
}

static int64_t tokens_of(int fd)
{
    char head[HEAD];
    const off_t size = lseek(fd, 0, SEEK_END);
    const ssize_t len = pread(fd, head, sizeof head, 0);
    const char *kind = len > 0 ? kind_of(head, (size_t)len) : NULL;
    const int64_t tokens = size > 0 ? (int64_t)size / 3 : 0;
    return kind && strcmp(kind, TFY_LLM_PDF) != 0 && tokens > IMAGE_TOKENS ? IMAGE_TOKENS : tokens;
}

static bool reserve(TfyCall *call, int64_t *tokens)
{
    const uint32_t mark = tfy_mark(call->task);
    const TfyList *paths = paths_of(call);
    const int root_fd = tfy__root_fd(call->task);
    TfyProtect *protect = tfy__protect_new(call->loop, root_fd);
    *tokens = 0;
    for (uint32_t i = 0; paths && protect && i < paths->len; i++) {
        const char *path = tfy__path_below(call->task, paths->items[i].o);
        const int fd = path ? tfy__file_open(protect, root_fd, path, true, tfy__file_most(call->loop)) : -1;
        if (fd < 0) continue;
        *tokens += tokens_of(fd);
        close(fd);
    }
    if (!protect) tfy__starved(call->task);
    tfy__protect_free(protect);
    tfy_cut(call->task, mark);
    return !call->task->error;
}

const TfySending tfy__sending = {.reserve = reserve, .read = begin, .let_go = let_go, .close = tfy__pool_close};
