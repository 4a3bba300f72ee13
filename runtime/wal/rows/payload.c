/* payload.c: see payload.h. */
#include "wal/rows/payload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "value/json.h"

typedef enum Kind { ANY, TEXT, INT, FLAG, OBJECT, LIST } Kind;

enum { NAME_ROOM = 28 }; /* bytes that hold any member's name and a NUL */

/* The texts stand in it: a pointer would need a relocation, which is larger than most names, and a page to write it to. */
typedef struct Member {
    char name[NAME_ROOM];
    uint8_t name_len;
    uint8_t kind;
} Member;

#define ROW(At, Text, Kind) [At] = {.name = NAME(Text), .name_len = sizeof NAME(Text) - 1, .kind = Kind},
#ifndef NAME /* a test gives every member another name: whatever went by a name of its own finds nothing then */
#define NAME(Text) Text
#endif
static const Member members[TFY_MEMBER_COUNT] = {
#define MEMBER(Name, Text, Kind) ROW(TFY_P_##Name, Text, Kind)
    TFY_PAYLOAD_MEMBERS(MEMBER)
#undef MEMBER
#define MEMBER(Name, Text, Kind) ROW(TFY_S_##Name, Text, Kind)
        TFY_SNAPSHOT_MEMBERS(MEMBER)
#undef MEMBER
};

const char *tfy__member_name(TfyMember member)
{
    return members[member].name;
}

/* ---- walks over the text ---- */

/* Returns the place behind the text that starts with a quote at `at`; NULL: it has no end. */
static const char *skip_text(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\') at++;
    return at < end ? at + 1 : NULL;
}

/* Returns the place behind the value at `at`: the first comma or bracket outside it. NULL: it has no end. */
static const char *skip_value(const char *at, const char *end)
{
    for (uint32_t depth = 0; at && at < end;) {
        switch (*at) {
        case '"': at = skip_text(at, end); continue;
        case '{':
        case '[': depth++; break;
        case '}':
        case ']':
            if (!depth) return at;
            depth--;
            break;
        case ',':
            if (!depth) return at;
            break;
        default: break;
        }
        at++;
    }
    return NULL;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
    return at;
}

/* The next member of an object: its name without quotes, and its value. */
typedef struct Walk {
    const char *at, *end; /* before the member's quote; behind the payload */
    const char *name, *value;
    size_t name_len, value_len;
} Walk;

static Walk walk_over(const TfyLogRecord *record)
{
    const char *end = record->payload + record->payload_len, *at = skip_blanks(record->payload, end);
    return (Walk){.at = at < end && *at == '{' ? at + 1 : end, .end = end};
}

static bool walk_on(Walk *walk)
{
    const char *at = skip_blanks(walk->at, walk->end), *end = walk->end;
    if (at < end && *at == ',') at = skip_blanks(at + 1, end);
    if (at >= end || *at != '"') return false;
    walk->name = at + 1;
    if (!(at = skip_text(at, end))) return false;
    walk->name_len = (size_t)(at - 1 - walk->name);
    at = skip_blanks(at, end);
    if (at >= end || *at != ':') return false;
    walk->value = skip_blanks(at + 1, end);
    if (!(walk->at = skip_value(walk->value, end))) return false;
    walk->value_len = (size_t)(walk->at - walk->value);
    return walk->value_len > 0;
}

const char *tfy__record_raw(const TfyLogRecord *record, TfyMember member, size_t *len)
{
    const Member *wanted = &members[member];
    for (Walk walk = walk_over(record); walk_on(&walk);) {
        if (walk.name_len != wanted->name_len || memcmp(walk.name, wanted->name, walk.name_len) != 0) continue;
        *len = walk.value_len;
        return walk.value;
    }
    return NULL;
}

const char *tfy__record_tail(const TfyLogRecord *record, TfyMember member)
{
    size_t len;
    const char *raw = tfy__record_raw(record, member, &len);
    /* Only our own output is compared: it has no blanks. */
    return raw ? raw - (members[member].name_len + sizeof "\"\":" - 1) : NULL;
}

bool tfy__record_has(const TfyLogRecord *record, TfyMember member)
{
    size_t len;
    return tfy__record_raw(record, member, &len) != NULL;
}

bool tfy__record_flag(const TfyLogRecord *record, TfyMember member)
{
    size_t len;
    const char *raw = tfy__record_raw(record, member, &len);
    return raw && len >= 4 && memcmp(raw, "true", 4) == 0;
}

int64_t tfy__record_int(const TfyLogRecord *record, TfyMember member)
{
    size_t len;
    const char *raw = tfy__record_raw(record, member, &len);
    return raw && (*raw == '-' || (*raw >= '0' && *raw <= '9')) ? strtoll(raw, NULL, 10) : 0;
}

/* Whether a text stands for itself in JSON, and needs no look at its encoding: ASCII without escapes. */
static bool is_plain(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c < ' ' || c >= 0x80 || c == '\\' || c == '"') return false;
    }
    return true;
}

static bool is_plain_text(const char *raw, size_t len)
{
    return len >= 2 && *raw == '"' && raw[len - 1] == '"' && is_plain(raw + 1, len - 2);
}

char *tfy__record_text(const TfyLogRecord *record, TfyMember member)
{
    size_t len;
    const char *raw = tfy__record_raw(record, member, &len);
    if (raw && is_plain_text(raw, len)) return strndup(raw + 1, len - 2);
    json_t *json = raw ? json_loadb(raw, len, JSON_DECODE_ANY, NULL) : NULL;
    const char *text = json_string_value(json);
    char *copy = text ? strdup(text) : NULL;
    json_decref(json);
    return copy;
}

bool tfy__record_is(const TfyLogRecord *record, TfyMember member, const char *text)
{
    size_t len;
    const char *raw = tfy__record_raw(record, member, &len);
    if (!raw || len < 2 || *raw != '"') return false;
    if (!memchr(raw, '\\', len)) return len - 2 == strlen(text) && memcmp(raw + 1, text, len - 2) == 0;
    char *own = tfy__record_text(record, member);
    const bool same = own && strcmp(own, text) == 0;
    free(own);
    return same;
}

/* Where to add a member: before the bracket that ends the object. NULL: there is none. */
static const char *end_of_object(const TfyLogRecord *record)
{
    const char *begin = record->payload, *end = begin + record->payload_len;
    while (end > begin && end[-1] != '}') end--;
    return end > begin && skip_blanks(begin, end)[0] == '{' ? end - 1 : NULL;
}

char *tfy__record_with(const TfyLogRecord *record, TfyMember member, const char *json, size_t *len)
{
    TfyBuffer out = {0};
    size_t old_len = 0;
    const char *old = tfy__record_raw(record, member, &old_len), *at = old ? old : end_of_object(record);
    if (!at) return NULL;
    tfy__buffer_add(&out, record->payload, (size_t)(at - record->payload));
    if (!old) tfy__put(&out, member);
    tfy__buffer_text(&out, json);
    tfy__buffer_add(&out, at + old_len, (size_t)(record->payload + record->payload_len - at) - old_len);
    *len = out.len;
    if (!out.failed) return out.data;
    tfy__buffer_free(&out);
    return NULL;
}

/* ---- the whole payload ---- */

bool tfy__payload_open(TfyPayload *payload, const TfyLogRecord *record)
{
    CHECK(record->payload);
    payload->json = tfy__json_read(record->payload, record->payload_len, JSON_ALLOW_NUL, NULL);
    return payload->json != NULL;
}

void tfy__payload_close(TfyPayload *payload)
{
    json_decref(payload->json);
    payload->json = NULL;
}

static bool is_of_kind(const json_t *json, uint8_t kind)
{
    switch (kind) {
    case TEXT: return json_is_string(json);
    case INT: return json_is_integer(json);
    case FLAG: return json_is_boolean(json);
    case OBJECT: return json_is_object(json);
    case LIST: return json_is_array(json);
    default: return json != NULL;
    }
}

json_t *tfy__member_get(const json_t *object, TfyMember member)
{
    json_t *json = json_object_get(object, members[member].name);
    return is_of_kind(json, members[member].kind) ? json : NULL;
}

const char *tfy__member_text(const json_t *object, TfyMember member)
{
    return json_string_value(tfy__member_get(object, member));
}

int64_t tfy__member_int(const json_t *object, TfyMember member)
{
    return json_integer_value(tfy__member_get(object, member));
}

bool tfy__member_flag(const json_t *object, TfyMember member)
{
    return json_is_true(tfy__member_get(object, member));
}

uint64_t tfy__member_hex(const json_t *object, TfyMember member)
{
    const char *text = tfy__member_text(object, member);
    return text ? strtoull(text, NULL, 16) : 0;
}

bool tfy__member_set(json_t *object, TfyMember member, json_t *value)
{
    return json_object_set_new(object, members[member].name, value) == 0;
}

json_t *tfy__payload_get(const TfyPayload *payload, TfyMember member)
{
    return tfy__member_get(payload->json, member);
}

const char *tfy__payload_text(const TfyPayload *payload, TfyMember member)
{
    return tfy__member_text(payload->json, member);
}

int64_t tfy__payload_int(const TfyPayload *payload, TfyMember member)
{
    return tfy__member_int(payload->json, member);
}

bool tfy__payload_flag(const TfyPayload *payload, TfyMember member)
{
    return tfy__member_flag(payload->json, member);
}

uint64_t tfy__payload_hex(const TfyPayload *payload, TfyMember member)
{
    return tfy__member_hex(payload->json, member);
}

/* Names of value/json_encode.c. */
const char *tfy__error_kind(const json_t *error)
{
    return json_string_value(json_object_get(error, "error"));
}

const char *tfy__error_message(const json_t *error)
{
    return json_string_value(json_object_get(error, "message"));
}

int64_t tfy__error_line(const json_t *error)
{
    return json_integer_value(json_object_get(error, "line"));
}

void tfy__error_forget_line(json_t *error)
{
    json_object_del(error, "line");
}

void tfy__error_write(TfyBuffer *out, const char *kind, const char *message, size_t len, int64_t line)
{
    tfy__buffer_printf(out, "{\"error\":\"%s\",\"message\":", kind);
    tfy__buffer_json_string(out, message, len);
    if (line >= 0) tfy__buffer_printf(out, ",\"line\":%lld", (long long)line);
    tfy__buffer_char(out, '}');
}

/* ---- common queries ---- */

int tfy__record_end(const TfyLogRecord *record)
{
    switch (record->type) {
    case TFY_R_TASK_EXIT: return TFY_TASK_COMPLETED;
    case TFY_R_TASK_ABORT: return tfy__record_flag(record, TFY_P_CANCELLED) ? TFY_TASK_CANCELLED : TFY_TASK_FAILED;
    case TFY_R_TASK_COMPLETE: return tfy__record_flag(record, TFY_P_OK) ? TFY_TASK_COMPLETED : TFY_TASK_FAILED;
    default: return 0;
    }
}

bool tfy__record_failed(const TfyLogRecord *record)
{
    return tfy__record_has(record, TFY_P_ERROR);
}

bool tfy__record_starts_once(const TfyLogRecord *record)
{
    return record->type == TFY_R_STEP_START && tfy__record_has(record, TFY_P_ARGS);
}

bool tfy__record_is_busy(const TfyLogRecord *record)
{
    return record->type == TFY_R_TASK_YIELD && tfy__record_is(record, TFY_P_WHY, "busy");
}

bool tfy__record_is_kill(const TfyLogRecord *record)
{
    return record->type == TFY_R_SIGNAL && !tfy__record_has(record, TFY_P_VALUE);
}

/* Skips a text at *at, if it is there. */
static bool pass(const char **at, const char *end, const char *text, size_t len)
{
    if ((size_t)(end - *at) < len || memcmp(*at, text, len) != 0) return false;
    *at += len;
    return true;
}

/* Skips its name with a quote before it, and the colon. */
static bool pass_name(const char **at, const char *end, TfyMember member)
{
    return pass(at, end, "\"", 1) && pass(at, end, members[member].name, members[member].name_len) &&
           pass(at, end, "\":", 2);
}

static bool pass_member(const char **at, const char *end, TfyMember member)
{
    return pass(at, end, ",", 1) && pass_name(at, end, member);
}

/* The id of a model's call, which the endpoint chose. */
static bool pass_call(const char **at, const char *end, const char *call)
{
    const size_t len = call ? strlen(call) : 0;
    return !call || (is_plain(call, len) && pass_member(at, end, TFY_P_CALL) && pass(at, end, "\"", 1) &&
                     pass(at, end, call, len) && pass(at, end, "\"", 1));
}

const char *tfy__record_plain_value(const TfyLogRecord *record, const char *tool, const char digest[16],
                                    const char *call, size_t *len)
{
    const char *at = record->payload, *const end = at + record->payload_len;
    if (!pass(&at, end, "{", 1) || !pass_name(&at, end, TFY_P_TOOL)) return NULL;
    if (!pass(&at, end, "\"", 1) || !pass(&at, end, tool, strlen(tool)) || !pass(&at, end, "\"", 1)) return NULL;
    if (!pass_member(&at, end, TFY_P_DIGEST) || !pass(&at, end, "\"", 1)) return NULL;
    if (!pass(&at, end, digest, 16) || !pass(&at, end, "\"", 1) || !pass_call(&at, end, call)) return NULL;
    if (!pass_member(&at, end, TFY_P_VALUE) || at == end || end[-1] != '}') return NULL;
    *len = (size_t)(end - 1 - at);
    return at;
}

/* ---- writing ---- */

void tfy__put(TfyBuffer *out, TfyMember member)
{
    const Member *named = &members[member];
    if (!tfy__buffer_reserve(out, NAME_ROOM + sizeof ",\"\":")) return;
    CHECK(named->name_len < NAME_ROOM);
    char *at = out->data + out->len;
    if (!out->len || at[-1] != '{') *at++ = ','; /* the first member has none */
    *at++ = '"';
    memcpy(at, named->name, NAME_ROOM); /* a fixed number of bytes is copied without a call */
    at += named->name_len;
    memcpy(at, "\":", sizeof "\":");
    out->len = (size_t)(at + 2 - out->data);
}

void tfy__put_bytes(TfyBuffer *out, TfyMember member, const char *text, size_t len)
{
    tfy__put(out, member);
    tfy__buffer_json_string(out, text, len);
}

void tfy__put_text(TfyBuffer *out, TfyMember member, const char *text)
{
    tfy__put_bytes(out, member, text, strlen(text));
}

void tfy__put_name(TfyBuffer *out, TfyMember member, const char *name)
{
    tfy__put(out, member);
    tfy__buffer_char(out, '"');
    tfy__buffer_text(out, name);
    tfy__buffer_char(out, '"');
}

void tfy__put_string(TfyBuffer *out, TfyMember member, const TfyObj *string)
{
    const TfyString *text = (const TfyString *)string;
    tfy__put_bytes(out, member, text->bytes, text->byte_len);
}

void tfy__put_value(TfyBuffer *out, TfyMember member, const TfyType *type, TfyValue value)
{
    tfy__put(out, member);
    if (type->kind == TFY_NOTHING)
        tfy__buffer_text(out, "null");
    else
        tfy__encode(out, type, value);
}

void tfy__put_int(TfyBuffer *out, TfyMember member, int64_t value)
{
    tfy__put(out, member);
    tfy__buffer_int(out, value);
}

void tfy__put_flag(TfyBuffer *out, TfyMember member, bool value)
{
    tfy__put(out, member);
    tfy__buffer_text(out, value ? "true" : "false");
}

void tfy__put_true(TfyBuffer *out, TfyMember member, bool value)
{
    if (value) tfy__put_flag(out, member, true);
}

void tfy__put_hex(TfyBuffer *out, TfyMember member, uint64_t value)
{
    static const char digits[] = "0123456789abcdef";
    char text[18] = {[0] = '"', [17] = '"'};
    for (int i = 16; i > 0; i--, value >>= 4) text[i] = digits[value & 15];
    tfy__put(out, member);
    tfy__buffer_add(out, text, sizeof text);
}

void tfy__put_json(TfyBuffer *out, TfyMember member, const char *json, size_t len)
{
    tfy__put(out, member);
    tfy__buffer_add(out, json, len);
}

void tfy__put_tree(TfyBuffer *out, TfyMember member, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    if (text)
        tfy__put_json(out, member, text, strlen(text));
    else
        out->failed = true;
    free(text);
}

/* ---- the rules ---- */

/* The members that each type may have. Every payload of the type must have the first one, unless that is 0. Numbers
 * are members + 1. */
#define MAX_MEMBERS 32
#define P(Name)     (TFY_P_##Name + 1)
static const uint8_t allowed[TFY_R_COUNT][MAX_MEMBERS] = {
    [TFY_R_INSTRUCTION_START] = {P(RUN),          P(TID),        P(PATH),        P(WORKFLOW), P(ARGS),  P(SEED),
                                 P(FUEL),         P(MAX_MEMORY), P(MAX_QUEUE),   P(FORK_OF),  P(ROOT),  P(ID),
                                 P(PROMPTS),      P(CEILING),    P(YOLO),        P(BY),       P(VIA),   P(LABELS),
                                 P(PROGRAM_NAME), P(PRIORITY),   P(CONCURRENCY), P(PER_KEY),  P(QUEUED)},
    [TFY_R_LLM_PLAN] = {P(TOOL),
                        P(DIGEST),
                        P(MODEL),
                        P(ENTRY),
                        P(FAILED),
                        P(PROMPT_TOKENS),
                        P(CACHED_TOKENS),
                        P(COMPLETION_TOKENS),
                        P(COST),
                        P(FINISH_REASON),
                        P(MS),
                        P(TRIES),
                        P(REFUSAL),
                        P(ATTEMPT),
                        P(REQUEST),
                        P(OCCURRENCE),
                        P(AFTER),
                        P(TEXTS),
                        P(FILES),
                        P(WINDOW),
                        P(WHY),
                        P(KEPT),
                        P(TOO_LONG),
                        P(ANSWER),
                        P(CALL),
                        P(CALLS),
                        P(OPAQUE),
                        P(VALUE),
                        P(ERROR),
                        P(OUTCOME),
                        P(BY)},
    [TFY_R_STEP_START] = {P(TOOL), P(ARGS), P(ATTEMPT), P(KEY), P(QUESTION), P(DETAILS), P(ID), P(DIGEST), P(TYPE),
                          P(NAME), P(CALL), P(ORIGINS)},
    [TFY_R_TOOL_RESULT] = {P(TOOL), P(DIGEST), P(CALL), P(VALUE), P(ERROR), P(OUTCOME), P(BY)},
    [TFY_R_PATCH_PREVIEW] = {P(TOOL), P(DIGEST), P(CALL), P(VALUE), P(ERROR), P(OUTCOME), P(BY)},
    [TFY_R_COMMIT] = {P(TOOL), P(DIGEST), P(CALL), P(MESSAGE), P(KEY), P(PATHS), P(BRANCH), P(BASE), P(VALUE), P(ERROR),
                      P(OUTCOME), P(BY)},
    [TFY_R_TASK_COMPLETE] = {P(OK), P(VALUE), P(ERROR), P(CANCELLED)},
    [TFY_R_SHUTDOWN_MARKER] = {P(WHY), P(GRAPH)},
    [TFY_R_OPENED] = {P(EPOCH), P(PID), P(VERSION), P(WHY)},
    [TFY_R_TASK_SPAWN] = {0, P(TID), P(PATH), P(WORKFLOW), P(ARGS), P(PRIORITY), P(AFTER), P(BODY), P(DETACHED),
                          P(FULL)},
    [TFY_R_TASK_EXIT] = {P(VALUE)},
    [TFY_R_TASK_ABORT] = {0, P(ERROR), P(LINE), P(CANCELLED)},
    [TFY_R_TASK_CANCEL] = {P(PASSAGES), P(WHY), P(FORCE)},
    [TFY_R_TASK_YIELD] = {P(DUE), P(WHY), P(TRIES), P(LOST)},
    [TFY_R_TIMER_FIRED] = {0, P(SCOPE), P(PASSAGES)},
    [TFY_R_JOIN_RESULT] = {0, P(PATH), P(VALUE), P(ERROR), P(GROUP), P(INDEX)},
    [TFY_R_VALUE] = {0, P(NOW), P(SAVE), P(ROW), P(KILL)},
    [TFY_R_CHANNEL_SEND] = {P(OBJ), P(SEQ), P(VALUE), P(ERROR)},
    [TFY_R_CHANNEL_RECV] = {P(OBJ), P(SEQ), P(CLOSED), P(ERROR)},
    [TFY_R_CHANNEL_CLOSE] = {P(OBJ)},
    [TFY_R_LOCK_GRANTED] = {P(NAME), P(PERMITS), P(ERROR)},
    [TFY_R_LOCK_RELEASED] = {P(NAME)},
    [TFY_R_APPROVAL] = {P(ID), P(DIGEST), P(ANSWER), P(BY), P(VIA), P(WHY), P(GRANT)},
    [TFY_R_SIGNAL] = {P(NAME), P(VALUE), P(ID), P(BY), P(VIA), P(PASSAGES), P(FORCE), P(WHY), P(IN_SLICE)},
    [TFY_R_WOKE] = {P(NAME), P(SEQ)},
    [TFY_R_TASK_WAIT_IO] = {P(TOOL), P(ARGS), P(ATTEMPT), P(KEY)},
    [TFY_R_IO_READY] = {P(TOOL), P(DIGEST), P(VALUE), P(ERROR), P(OUTCOME), P(BY)},
    [TFY_R_OUTPUT] = {P(TO), P(TEXT), P(LEVEL), P(STAGE)},
    [TFY_R_RETRY] = {P(ATTEMPT), P(ERROR), P(DUE)},
    [TFY_R_IN_DOUBT] = {P(TOOL), P(KEY), P(WHY), P(ERROR)},
    [TFY_R_RESOLVED] = {P(HOW), P(VALUE), P(BY), P(VIA)},
    [TFY_R_UNDO] = {0, P(OF), P(ERROR)},
    [TFY_R_COMPACTED] = {P(WHY), P(RUNS)},
    [TFY_R_MOVED] = {0, P(FROM), P(TO), P(ROOT), P(CEILING), P(YOLO)},
    [TFY_R_LLM_REQUEST] = {P(TOOL), P(REQUEST), P(ENTRY), P(RESERVE), P(DAY), P(SPENT)},
    [TFY_R_MCP_ROUND] = {P(TOOL), P(DIGEST), P(SERVER), P(REQUESTS), P(REQUEST_STATE)},
    [TFY_R_MCP_TASK] = {P(TOOL), P(DIGEST), P(SERVER), P(TASK), P(TTL_MS), P(POLL_MS)},
    [TFY_R_ADMIN] = {P(WHAT), P(NAME), P(VALUE), P(BY), P(VIA)},
    [TFY_R_CLAIMED] = {P(SESSION), P(WORKER), P(CLAIMS)},
    [TFY_R_TEXT] = {P(DIGEST), P(TEXT), P(OF), P(AT)},
    [TFY_R_SECRET] = {P(NAME), P(TOOL), P(TASK), P(STEP)},
};
#undef P

static bool may_have(uint8_t type, int member)
{
    for (int i = 0; i < MAX_MEMBERS; i++)
        if (allowed[type][i] == member + 1) return true;
    return false;
}

static int member_of(const char *name)
{
    for (int i = 0; i < TFY_P_COUNT; i++)
        if (strcmp(members[i].name, name) == 0) return i;
    return -1;
}

static const char *fault_of(const json_t *json, uint8_t type, char *text, size_t size)
{
    const char *name;
    json_t *value;
    const uint8_t must = allowed[type][0];
    if (!json_is_object(json)) return "its payload is not a JSON object";
    json_object_foreach((json_t *)json, name, value)
    {
        const int member = member_of(name);
        const bool known = member >= 0 && may_have(type, member);
        if (known && is_of_kind(value, members[member].kind)) continue;
        snprintf(text, size, known ? "its member '%.60s' is of another kind" : "it has a member '%.60s'", name);
        return text;
    }
    if (!must || json_object_get(json, members[must - 1].name)) return NULL;
    snprintf(text, size, "its member '%s' is missing", members[must - 1].name);
    return text;
}

const char *tfy__payload_fault(const TfyLogRecord *record, char *text, size_t size)
{
    TfyPayload payload;
    if (record->type == TFY_R_SNAPSHOT) return NULL;
    if (!tfy__record_type_known(record->type)) return "its type is unknown";
    tfy__payload_open(&payload, record);
    const char *fault = fault_of(payload.json, record->type, text, size);
    tfy__payload_close(&payload);
    return fault;
}
