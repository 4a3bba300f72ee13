/* wal_lines.c: records as lines of JSON and back. */
#include "cli/keep/wal_lines.h"
#include "wal/history/history.h"

#include <string.h>
#include <xxhash.h>

/* A member of an object, as text. */
typedef struct Member {
    const char *name; /* after its opening quote */
    size_t name_len;
    const char *value;
    size_t value_len;
} Member;

/* Returns the place after the string whose opening quote is at `at`; NULL: it has no end. */
static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\') at++;
    return at < end ? at + 1 : NULL;
}

/* Returns the place after the value at `at`: the comma or brace that ends it on its own level. */
static const char *value_end(const char *at, const char *end)
{
    int depth = 0;
    while (at && at < end) {
        if (*at == '"') {
            at = string_end(at, end);
            continue;
        }
        if (depth == 0 && (*at == ',' || *at == '}')) return at;
        if (*at == '{' || *at == '[') depth++;
        if (*at == '}' || *at == ']') depth--;
        at++;
    }
    return NULL;
}

/* Reads the next member and moves *at past it. Returns false if there is none, or the text is not an object. */
static bool next_member(const char **at, const char *end, Member *member)
{
    if (*at >= end || **at != '"') return false;
    const char *behind = string_end(*at, end);
    if (!behind || behind >= end || *behind != ':') return false;
    *member = (Member){.name = *at + 1, .name_len = (size_t)(behind - *at) - 2, .value = behind + 1};
    const char *stop = value_end(member->value, end);
    if (!stop) return false;
    member->value_len = (size_t)(stop - member->value);
    *at = *stop == ',' ? stop + 1 : stop;
    return true;
}

/* Returns how many underscores follow one of our names; -1: it is not one of our names. */
static int ours(const Member *member)
{
    static const char *const names[] = {"v", "ts", "type", "task_id", "lsn", "step", "point"};
    size_t len = member->name_len;
    while (len && member->name[len - 1] == '_') len--;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == len && memcmp(names[i], member->name, len) == 0) return (int)(member->name_len - len);
    return -1;
}

static void splice_member(TfyBuffer *out, const Member *member, size_t name_len, bool underscore)
{
    tfy__buffer_char(out, '"');
    tfy__buffer_add(out, member->name, name_len);
    tfy__buffer_text(out, underscore ? "_\":" : "\":");
    tfy__buffer_add(out, member->value, member->value_len);
}

void tfy__line_add_payload(TfyBuffer *line, const char *payload, size_t len)
{
    Member member;
    const char *at = payload + 1, *end = payload + len;
    while (len && next_member(&at, end, &member)) {
        tfy__buffer_char(line, ',');
        splice_member(line, &member, member.name_len, ours(&member) >= 0);
    }
}

bool tfy__line_take_payload(TfyBuffer *payload, const char *line, size_t len)
{
    Member member;
    const char *at = line + 1, *end = line + len;
    bool first = true;
    if (!len || *line != '{') return false;
    tfy__buffer_char(payload, '{');
    while (next_member(&at, end, &member)) {
        const int underscores = ours(&member);
        if (underscores == 0) continue;
        if (!first) tfy__buffer_char(payload, ',');
        splice_member(payload, &member, member.name_len - (underscores > 0), false);
        first = false;
    }
    tfy__buffer_char(payload, '}');
    return at < end && *at == '}' && !payload->failed;
}

/* A UUID of version 8 (custom rules): XXH3-128 of the path, seeded by the run's UUID. */
void tfy__line_task_id(const TfyHistory *history, const TfyLogTask *task, char text[37])
{
    uint8_t uuid[16];
    if (task->tid == history->run.root) {
        tfy__uuid_text(history->run.uuid, text);
        return;
    }
    const XXH128_hash_t hash =
        XXH3_128bits_withSeed(task->path, strlen(task->path), XXH3_64bits(history->run.uuid, 16));
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, hash);
    memcpy(uuid, bytes.digest, 16);
    uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x80);
    uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
    tfy__uuid_text(uuid, text);
}
