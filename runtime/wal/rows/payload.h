/* payload.h: the members of payloads, each named once, and the one reader and writer of them.
 *
 * A payload is one JSON object (record.h lists what each type of record holds). Everything that writes one adds its
 * members by their names here; everything that reads one asks for them by the same names. Nobody else looks at the
 * letters of a payload, so a member can neither be misspelt nor be found in the wrong place, inside an argument or a
 * text.
 *
 * There are two ways to read. A question about one member (`tfy__record_has`, `_flag`, `_int`) walks over the text
 * and builds nothing: recovery and replay ask millions of them. Whoever wants several members, or values, opens the
 * payload (`tfy__payload_open`), which parses it once.
 *
 * Payloads come from files that anybody may have written, so every reader here takes any bytes: what is absent or of
 * another kind reads as absent. */
#ifndef WAL_ROWS_PAYLOAD_H
#define WAL_ROWS_PAYLOAD_H

#include <jansson.h>

#include "tfy.h"
#include "wal/rows/record.h"
#include "base/buffer.h"

/* M(NAME, "name", KIND): every member of every payload but those of Snapshot, which has a table of its own
 * (snapshot_members.h). ANY: a value of the program's types, or one that differs from record to record. */
#define TFY_PAYLOAD_MEMBERS(M)                                                                                         \
    M(AFTER, "after", LIST)                                                                                            \
    M(ANSWER, "answer", ANY)                                                                                           \
    M(ARGS, "args", OBJECT)                                                                                            \
    M(ATTEMPT, "attempt", INT)                                                                                         \
    M(BODY, "body", FLAG)                                                                                              \
    M(BY, "by", TEXT)                                                                                                  \
    M(CANCELLED, "cancelled", FLAG)                                                                                    \
    M(CLOSED, "closed", FLAG)                                                                                          \
    M(COMPLETION_TOKENS, "completion_tokens", INT)                                                                     \
    M(DETACHED, "detached", FLAG)                                                                                      \
    M(DETAILS, "details", TEXT)                                                                                        \
    M(DIGEST, "digest", TEXT)                                                                                          \
    M(DUE, "due", INT)                                                                                                 \
    M(EPOCH, "epoch", INT)                                                                                             \
    M(ERROR, "error", OBJECT)                                                                                          \
    M(FINISH_REASON, "finish_reason", TEXT)                                                                            \
    M(FORCE, "force", FLAG)                                                                                            \
    M(FORK_OF, "fork_of", LIST)                                                                                        \
    M(FROM, "from", TEXT)                                                                                              \
    M(FUEL, "fuel", INT)                                                                                               \
    M(FULL, "full", INT)                                                                                               \
    M(GRAPH, "graph", TEXT)                                                                                            \
    M(GROUP, "group", TEXT)                                                                                            \
    M(HOW, "how", TEXT)                                                                                                \
    M(ID, "id", TEXT)                                                                                                  \
    M(INDEX, "index", INT)                                                                                             \
    M(IN_SLICE, "in_slice", FLAG)                                                                                      \
    M(KEY, "key", TEXT)                                                                                                \
    M(KILL, "kill", TEXT)                                                                                              \
    M(LEVEL, "level", TEXT)                                                                                            \
    M(LINE, "line", INT)                                                                                               \
    M(MAX_MEMORY, "max_memory", INT)                                                                                   \
    M(MAX_QUEUE, "max_queue", INT)                                                                                     \
    M(MESSAGE, "message", TEXT)                                                                                        \
    M(MODEL, "model", TEXT)                                                                                            \
    M(MS, "ms", INT)                                                                                                   \
    M(NAME, "name", TEXT)                                                                                              \
    M(NOW, "now", INT)                                                                                                 \
    M(OBJ, "obj", TEXT)                                                                                                \
    M(OCCURRENCE, "occurrence", INT)                                                                                   \
    M(OF, "of", TEXT)                                                                                                  \
    M(OK, "ok", FLAG)                                                                                                  \
    M(OUTCOME, "outcome", TEXT)                                                                                        \
    M(PASSAGES, "passages", INT)                                                                                       \
    M(PATH, "path", TEXT)                                                                                              \
    M(PERMITS, "permits", INT)                                                                                         \
    M(PID, "pid", INT)                                                                                                 \
    M(PRIORITY, "priority", INT)                                                                                       \
    M(PROMPT_TOKENS, "prompt_tokens", INT)                                                                             \
    M(QUESTION, "question", TEXT)                                                                                      \
    M(REQUEST, "request", TEXT)                                                                                        \
    M(ROOT, "root", OBJECT)                                                                                            \
    M(ROW, "row", OBJECT)                                                                                              \
    M(RUN, "run", TEXT)                                                                                                \
    M(RUNS, "runs", LIST)                                                                                              \
    M(SAVE, "save", TEXT)                                                                                              \
    M(SCOPE, "scope", INT)                                                                                             \
    M(SEED, "seed", TEXT)                                                                                              \
    M(SEQ, "seq", INT)                                                                                                 \
    M(STAGE, "stage", TEXT)                                                                                            \
    M(TEXT, "text", TEXT)                                                                                              \
    M(TID, "tid", INT)                                                                                                 \
    M(TO, "to", TEXT)                                                                                                  \
    M(TOOL, "tool", TEXT)                                                                                              \
    M(TYPE, "type", ANY)                                                                                               \
    M(VALUE, "value", ANY)                                                                                             \
    M(VERSION, "version", TEXT)                                                                                        \
    M(WHY, "why", TEXT)                                                                                                \
    M(WORKFLOW, "workflow", TEXT)

typedef enum TfyMember {
#define TFY__MEMBER(Name, Text, Kind) TFY_P_##Name,
    TFY_PAYLOAD_MEMBERS(TFY__MEMBER)
#undef TFY__MEMBER
        TFY_P_COUNT
} TfyMember;

const char *tfy__member_name(TfyMember member);

/* ---- one question ---- */

bool tfy__record_has(const TfyLogRecord *record, TfyMember member);
bool tfy__record_flag(const TfyLogRecord *record, TfyMember member);   /* true only where it is there and true */
int64_t tfy__record_int(const TfyLogRecord *record, TfyMember member); /* 0 where it is absent */
/* The member's value as it is written in the payload, *len bytes of JSON; NULL: absent. */
const char *tfy__record_raw(const TfyLogRecord *record, TfyMember member, size_t *len);
/* What stands in the payload from the member's name on, to its end; NULL: absent. */
const char *tfy__record_tail(const TfyLogRecord *record, TfyMember member);
/* Is the member this text? Texts with escapes are compared by what they stand for. */
bool tfy__record_is(const TfyLogRecord *record, TfyMember member, const char *text);
/* A copy of a text, malloc'ed; NULL: absent, or no memory. */
char *tfy__record_text(const TfyLogRecord *record, TfyMember member);

/* ---- the whole ---- */

typedef struct TfyPayload {
    json_t *
        json; /* the object, owned; NULL where the payload is not one, or there was no memory: then everything is absent */
} TfyPayload;

/* Close it again, also after false. */
bool tfy__payload_open(TfyPayload *payload, const TfyLogRecord *record);
void tfy__payload_close(TfyPayload *payload);

/* All borrowed from the payload. */
json_t *tfy__payload_get(const TfyPayload *payload, TfyMember member);      /* NULL: absent, or not of its kind */
const char *tfy__payload_text(const TfyPayload *payload, TfyMember member); /* NULL: absent */
int64_t tfy__payload_int(const TfyPayload *payload, TfyMember member);      /* 0: absent */
bool tfy__payload_flag(const TfyPayload *payload, TfyMember member);        /* false: absent */
uint64_t tfy__payload_hex(const TfyPayload *payload, TfyMember member); /* a text of hexadecimal digits; 0: absent */

/* What stands in an "error" member: {"error": kind, "message", fields…, "line"}. NULL or 0 where it has none. */
const char *tfy__error_kind(const json_t *error);
const char *tfy__error_message(const json_t *error);
int64_t tfy__error_line(const json_t *error);

/* A copy of the payload, malloc'ed, *len bytes and a NUL, in which the member has another value (JSON text); where it
 * is absent it is added at the end. All else keeps its letters. NULL: no memory, or the payload is not an object. */
char *tfy__record_with(const TfyLogRecord *record, TfyMember member, const char *json, size_t *len);

/* ---- what everybody asks ---- */

/* How a task or run ended by this record: TFY_TASK_COMPLETED, _FAILED or _CANCELLED; 0: it is not an end. */
int tfy__record_end(const TfyLogRecord *record);
/* The record is of a step that failed. */
bool tfy__record_failed(const TfyLogRecord *record);
/* A StepStart of a once step; others are questions and waits. */
bool tfy__record_starts_once(const TfyLogRecord *record);
/* A cancellation of a task from outside it. */
bool tfy__record_is_kill(const TfyLogRecord *record);

/* The result of a step, where nothing but its tool, its digest and its value stands in the payload, in this order:
 * *len bytes of JSON. NULL: it is not as simple as that, or tool or digest are others. So a replay need not build a
 * tree for a number. */
const char *tfy__record_plain_value(const TfyLogRecord *record, const char *tool, const char digest[16], size_t *len);

/* ---- writing ---- */

/* Appends the member's name with its colon, and a comma before it where something stands before. The value follows. */
void tfy__put(TfyBuffer *out, TfyMember member);

static inline void tfy__put_begin(TfyBuffer *out)
{
    tfy__buffer_char(out, '{');
}
static inline void tfy__put_end(TfyBuffer *out)
{
    tfy__buffer_char(out, '}');
}
void tfy__put_text(TfyBuffer *out, TfyMember member, const char *text);
void tfy__put_bytes(TfyBuffer *out, TfyMember member, const char *text, size_t len); /* a text that may hold NUL */
void tfy__put_string(TfyBuffer *out, TfyMember member, const TfyObj *string);        /* a TfyString */
void tfy__put_value(TfyBuffer *out, TfyMember member, const TfyType *type, TfyValue value); /* null of TFY_NOTHING */
void tfy__put_int(TfyBuffer *out, TfyMember member, int64_t value);
void tfy__put_flag(TfyBuffer *out, TfyMember member, bool value);
void tfy__put_true(TfyBuffer *out, TfyMember member, bool value);    /* nothing where it is false */
void tfy__put_hex(TfyBuffer *out, TfyMember member, uint64_t value); /* 16 digits, quoted */
void tfy__put_json(TfyBuffer *out, TfyMember member, const char *json, size_t len);
void tfy__put_tree(TfyBuffer *out, TfyMember member, const json_t *value); /* no memory: the buffer has failed */

/* ---- the rules ---- */

/* Does the payload hold only members that its type may have, each of its kind, and those that it must? NULL: yes;
 * else a sentence, static or in text (of size bytes). Snapshots are not looked into. */
const char *tfy__payload_fault(const TfyLogRecord *record, char *text, size_t size);

#endif
