/* llm_cassette.c: recorded sessions: a file of JSON lines, one per answer.
 *
 *   {"digest": "0123456789abcdef", "occurrence": 1,
 *    "request": {"messages": [...], "model": "default", "schema": {...}?},
 *    "answer": "raw text", "model": "gpt-x", "prompt_tokens": 10, "completion_tokens": 5, "finish_reason": "stop",
 *    "refusal": "why there is no answer"?, "too_long": "what the endpoint said of the request"?, "window": 200000?}
 *
 * digest is XXH3-64 of the canonical request; occurrence counts equal requests within a run, from 1. Both may be
 * omitted from a line written by hand: the digest then follows from the request, and the occurrence is 1. A digest
 * that contradicts its request is refused, so an edited request is noticed at once. Only request and answer are
 * needed; unknown members are ignored. Empty lines are skipped. A later line replaces an earlier one with the same
 * digest and occurrence: recording again improves a session.
 *
 * A process that dies while it records leaves at most one torn last line; recording continues after cutting it
 * off. Playing refuses it. */
#include "base/table.h"
#include "effects/llm.h"

#include "value/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define FILE_MAX ((size_t)256 << 20) /* bytes; far above a session of thousands of requests */

typedef struct Entry {
    TfyLink link;
    uint64_t digest;
    uint32_t occurrence;
    TfyLlmReply reply;
} Entry;

struct TfyCassette {
    TfyTable entries; /* by digest and occurrence; a later line of the file is found first */
    int fd;           /* for appending; -1: the cassette only answers */
    size_t good;      /* bytes up to the end of the last line that was read whole */
};

void tfy__llm_reply_clear(TfyLlmReply *reply)
{
    free(reply->answer);
    free(reply->model);
    free(reply->finish_reason);
    free(reply->refusal);
    free(reply->too_long);
    free(reply->calls);
    json_decref(reply->call_list);
    free(reply->opaque);
    *reply = (TfyLlmReply){0};
}

TfyCassette *tfy__cassette_new(void)
{
    TfyCassette *cassette = tfy__sys_calloc(1, sizeof *cassette);
    if (cassette) cassette->fd = -1;
    return cassette;
}

void tfy__cassette_free(TfyCassette *cassette)
{
    if (!cassette) return;
    for (TfyLink *link = tfy__table_walk(&cassette->entries, NULL), *next; link; link = next) {
        Entry *entry = TABLE_ITEM(link, Entry, link);
        next = tfy__table_walk(&cassette->entries, link);
        tfy__llm_reply_clear(&entry->reply);
        free(entry);
    }
    tfy__table_free(&cassette->entries);
    if (cassette->fd >= 0) close(cassette->fd);
    free(cassette);
}

static uint64_t hash_of(uint64_t digest, uint32_t occurrence)
{
    return digest ^ tfy__mix(occurrence);
}

/* Takes the reply. */
static bool add_entry(TfyCassette *cassette, uint64_t digest, uint32_t occurrence, const TfyLlmReply *reply)
{
    Entry *entry = tfy__table_reserve(&cassette->entries) ? tfy__sys_malloc(sizeof *entry) : NULL;
    if (!entry) return false;
    *entry = (Entry){.digest = digest, .occurrence = occurrence, .reply = *reply};
    tfy__table_add(&cassette->entries, &entry->link, hash_of(digest, occurrence));
    return true;
}

const TfyLlmReply *tfy__cassette_find(const TfyCassette *cassette, uint64_t digest, uint32_t occurrence)
{
    const TfyLink *link = tfy__table_find(&cassette->entries, hash_of(digest, occurrence));
    for (; link; link = tfy__table_next(link)) {
        const Entry *entry = TABLE_ITEM(link, const Entry, link);
        if (entry->digest == digest && entry->occurrence == occurrence) return &entry->reply;
    }
    return NULL;
}

/* ---- reading ---- */

static bool parse_digest(const char *text, uint64_t *digest)
{
    if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) return false;
    *digest = strtoull(text, NULL, 16);
    return true;
}

/* Reads the members by which an answer is found. NULL, or what is wrong with them. */
static const char *read_place(const json_t *line, uint64_t *digest, uint32_t *occurrence)
{
    const json_t *request = json_object_get(line, "request"), *named = json_object_get(line, "digest");
    const json_t *nth = json_object_get(line, "occurrence");
    if (!json_is_object(request)) return "'request' must be an object";
    *digest = tfy__llm_digest(request);
    uint64_t said = *digest;
    if (named && (!json_is_string(named) || !parse_digest(json_string_value(named), &said)))
        return "'digest' must be 16 hexadecimal digits";
    if (said != *digest) return "'digest' does not match 'request'; leave it out of a line written by hand";
    json_int_t n = nth ? json_integer_value(nth) : 1;
    if (n < 1 || n > UINT32_MAX) return "'occurrence' must be a number from 1";
    *occurrence = (uint32_t)n;
    return NULL;
}

static bool fits(const json_t *line, const char *name, json_type type)
{
    const json_t *member = json_object_get(line, name);
    return !member || json_typeof(member) == type;
}

static char *copy_text(const json_t *text, size_t *len)
{
    const char *bytes = text ? json_string_value(text) : "";
    size_t size = text ? json_string_length(text) : 0;
    char *copy = tfy__sys_malloc(size + 1);
    if (!copy) return NULL;
    memcpy(copy, bytes, size + 1);
    if (len) *len = size;
    return copy;
}

static int64_t tokens(const json_t *line, const char *name)
{
    const json_t *member = json_object_get(line, name);
    return member ? json_integer_value(member) : -1;
}

static const char *read_reply(const json_t *line, TfyLlmReply *reply)
{
    if (!json_is_string(json_object_get(line, "answer"))) return "'answer' must be a string";
    if (!fits(line, "model", JSON_STRING) || !fits(line, "finish_reason", JSON_STRING) ||
        !fits(line, "refusal", JSON_STRING) || !fits(line, "too_long", JSON_STRING))
        return "'model', 'finish_reason', 'refusal' and 'too_long' must be strings";
    if (!fits(line, "prompt_tokens", JSON_INTEGER) || !fits(line, "completion_tokens", JSON_INTEGER) ||
        !fits(line, "window", JSON_INTEGER))
        return "token counts must be whole numbers";
    if (!fits(line, "calls", JSON_ARRAY)) return "'calls' must be a list";
    if (!tfy__json_is_shallow(json_object_get(line, "calls"), 0)) return "'calls' nests too deeply";
    if (!fits(line, "opaque", JSON_OBJECT)) return "'opaque' must be an object";
    if (!tfy__json_is_shallow(json_object_get(line, "opaque"), 0)) return "'opaque' nests too deeply";
    reply->answer = copy_text(json_object_get(line, "answer"), &reply->answer_len);
    reply->model = copy_text(json_object_get(line, "model"), NULL);
    reply->finish_reason = copy_text(json_object_get(line, "finish_reason"), NULL);
    reply->prompt_tokens = tokens(line, "prompt_tokens");
    reply->completion_tokens = tokens(line, "completion_tokens");
    reply->window = json_integer_value(json_object_get(line, "window"));
    const json_t *refusal = json_object_get(line, "refusal"), *too_long = json_object_get(line, "too_long");
    if (too_long && !(reply->too_long = copy_text(too_long, NULL))) return "memory ran out";
    if (refusal && !(reply->refusal = copy_text(refusal, NULL))) return "memory ran out";
    const json_t *calls = json_object_get(line, "calls"), *opaque = json_object_get(line, "opaque");
    if (opaque && !(reply->opaque = json_dumps(opaque, JSON_COMPACT | JSON_SORT_KEYS))) return "memory ran out";
    if (calls && !(reply->calls = json_dumps(calls, JSON_COMPACT))) return "memory ran out";
    reply->call_list = json_incref((json_t *)calls);
    return reply->answer && reply->model && reply->finish_reason ? NULL : "memory ran out";
}

static const char *read_line(TfyCassette *cassette, const json_t *line)
{
    uint64_t digest;
    uint32_t occurrence;
    TfyLlmReply reply = {0};
    if (!json_is_object(line)) return "expected a JSON object";
    const char *wrong = read_place(line, &digest, &occurrence);
    if (!wrong) wrong = read_reply(line, &reply);
    if (!wrong && !add_entry(cassette, digest, occurrence, &reply)) wrong = "memory ran out";
    if (wrong) tfy__llm_reply_clear(&reply);
    return wrong;
}

static bool is_blank(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != ' ' && bytes[i] != '\t' && bytes[i] != '\r') return false;
    return true;
}

static bool parse_line(TfyCassette *cassette, const char *bytes, size_t len, const char *name, size_t number,
                       char *error)
{
    json_error_t where;
    if (is_blank(bytes, len)) return true;
    json_t *line = json_loadb(bytes, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);
    const char *wrong = line ? read_line(cassette, line) : where.text;
    if (wrong) snprintf(error, TFY_ERROR_TEXT, "%s:%zu: not a line of a recorded session: %s", name, number, wrong);
    json_decref(line);
    return !wrong;
}

bool tfy__cassette_read(TfyCassette *cassette, const char *bytes, size_t len, const char *name, char *error)
{
    size_t number = 0;
    for (size_t at = 0; at < len;) {
        const char *end = memchr(bytes + at, '\n', len - at);
        size_t line_len = end ? (size_t)(end - bytes) - at : len - at;
        if (!parse_line(cassette, bytes + at, line_len, name, ++number, error)) return false;
        at += line_len + (end != NULL);
        cassette->good = at;
    }
    return true;
}

/* ---- files ---- */

static char *read_all(int fd, size_t size)
{
    char *bytes = tfy__sys_malloc(size + 1);
    size_t got = 0;
    while (bytes && got < size) {
        ssize_t n = read(fd, bytes + got, size - got);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) { /* it shrank meanwhile, or cannot be read */
            free(bytes);
            if (n == 0) errno = EIO;
            return NULL;
        }
        got += (size_t)n;
    }
    return bytes;
}

/* A last line without its newline was torn by a crash while recording. Whole lines before it stay. */
static bool cut_torn_line(TfyCassette *cassette, const char *bytes, size_t len)
{
    if (len == 0 || bytes[len - 1] == '\n') return false;
    return cassette->good < len && !memchr(bytes + cassette->good, '\n', len - cassette->good) &&
           ftruncate(cassette->fd, (off_t)cassette->good) == 0;
}

static int load(TfyCassette *cassette, int fd, const char *path, bool record, char *error)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size > FILE_MAX) {
        snprintf(error, TFY_ERROR_TEXT, "%s is not a file of at most 256 MiB, so it cannot be a recorded session",
                 path);
        return TFY_E_DATA;
    }
    size_t len = (size_t)st.st_size;
    char *bytes = read_all(fd, len);
    if (!bytes) {
        snprintf(error, TFY_ERROR_TEXT, "cannot read the recorded session %s: %s", path, strerror(errno));
        return TFY_E_IO;
    }
    bool ok = tfy__cassette_read(cassette, bytes, len, path, error) || (record && cut_torn_line(cassette, bytes, len));
    if (ok && record && cassette->good == len && len > 0 && bytes[len - 1] != '\n') ok = write(fd, "\n", 1) == 1;
    free(bytes);
    return ok ? TFY_OK : TFY_E_DATA;
}

int tfy__cassette_open(TfyCassette **out, const char *path, bool record, char *error)
{
    *out = NULL;
    int fd = open(path, (record ? O_RDWR | O_CREAT | O_APPEND : O_RDONLY) | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0) {
        int why = errno;
        snprintf(error, TFY_ERROR_TEXT, "cannot open the recorded session %s: %s", path, strerror(why));
        return why == ENOENT ? TFY_E_ABSENT : TFY_E_IO;
    }
    TfyCassette *cassette = tfy__cassette_new();
    if (!cassette) {
        close(fd);
        strcpy(error, "memory ran out");
        return TFY_E_NOMEM;
    }
    cassette->fd = fd;
    int rc = load(cassette, fd, path, record, error);
    if (rc != TFY_OK) {
        tfy__cassette_free(cassette);
        return rc;
    }
    if (!record) {
        close(fd);
        cassette->fd = -1;
    }
    *out = cassette;
    return TFY_OK;
}

/* ---- recording ---- */

static void write_tokens(TfyBuffer *line, const char *name, int64_t count)
{
    if (count >= 0) tfy__buffer_printf(line, ",\"%s\":%lld", name, (long long)count);
}

static void write_line(TfyBuffer *line, const TfyLlmRequest *request, uint32_t occurrence, const TfyLlmReply *reply)
{
    tfy__buffer_printf(line,
                       "{\"digest\":\"%016llx\",\"occurrence\":%u,\"request\":", (unsigned long long)request->digest,
                       occurrence);
    tfy__llm_request_text(request, line);
    tfy__buffer_text(line, ",\"answer\":");
    tfy__buffer_json_string(line, reply->answer, reply->answer_len);
    tfy__buffer_text(line, ",\"model\":");
    tfy__buffer_json_string(line, reply->model, strlen(reply->model));
    write_tokens(line, "prompt_tokens", reply->prompt_tokens);
    write_tokens(line, "completion_tokens", reply->completion_tokens);
    tfy__buffer_text(line, ",\"finish_reason\":");
    tfy__buffer_json_string(line, reply->finish_reason, strlen(reply->finish_reason));
    if (reply->refusal) tfy__buffer_text(line, ",\"refusal\":");
    if (reply->refusal) tfy__buffer_json_string(line, reply->refusal, strlen(reply->refusal));
    if (reply->too_long) tfy__buffer_text(line, ",\"too_long\":");
    if (reply->too_long) tfy__buffer_json_string(line, reply->too_long, strlen(reply->too_long));
    if (reply->window) tfy__buffer_printf(line, ",\"window\":%lld", (long long)reply->window);
    if (reply->calls) tfy__buffer_printf(line, ",\"calls\":%s", reply->calls);
    if (reply->opaque) tfy__buffer_printf(line, ",\"opaque\":%s", reply->opaque);
    tfy__buffer_text(line, "}\n");
}

static int write_whole(int fd, const char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = write(fd, bytes + at, len - at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return TFY_E_IO;
        at += (size_t)n;
    }
    return TFY_OK;
}

/* The line is on disk before the answer reaches the program: every answer that a run has seen can be played again. */
int tfy__cassette_append(TfyCassette *cassette, const TfyLlmRequest *request, uint32_t occurrence,
                         const TfyLlmReply *reply)
{
    TfyBuffer line = {0};
    write_line(&line, request, occurrence, reply);
    errno = ENOMEM;
    int rc = line.failed ? TFY_E_IO : write_whole(cassette->fd, line.data, line.len);
    if (rc == TFY_OK && fsync(cassette->fd) != 0) rc = TFY_E_IO;
    tfy__buffer_free(&line);
    return rc;
}
