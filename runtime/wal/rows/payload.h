/* payload.h: the members of payloads, each named once, and their only reader and writer.
 *
 * A payload is one JSON object (record.h lists what each type of record holds). All code that writes a payload adds
 * its members by the names defined here; all code that reads one uses the same names. No other code inspects a
 * payload's text, so a member can neither be misspelt nor be found in the wrong place, inside an argument or a text.
 *
 * There are two ways to read. A query for one member (`tfy__record_has`, `_flag`, `_int`) walks over the text and
 * builds nothing: recovery and replay make millions of them. Code that needs several members, or values, opens the
 * payload (`tfy__payload_open`), which parses it once.
 *
 * Payloads come from files that anybody may have written, so every reader here accepts any bytes: a member that is
 * missing or of another kind reads as absent. */
#ifndef WAL_ROWS_PAYLOAD_H
#define WAL_ROWS_PAYLOAD_H

#include <jansson.h>

#include "tfy.h"
#include "wal/rows/record.h"
#include "wal/rows/snapshot_members.h"
#include "base/buffer.h"

/* M(NAME, "name", KIND): every member of every payload, and of the objects in `root` and `fork_of`, except
 * Snapshot's, which has a table of its own (snapshot_members.h). ANY: a value of the program's types, or one that
 * differs from record to record: `after` is a list of tasks, or a step; `call` the id of a model's call, or, in a question,
 * rows that say what the call does. */
#define TFY_PAYLOAD_MEMBERS(M)                                                                                         \
    M(AFTER, "after", ANY)                                                                                             \
    M(ANSWER, "answer", ANY)                                                                                           \
    M(ARGS, "args", OBJECT)                                                                                            \
    M(AT, "at", INT)                                                                                                   \
    M(ATTEMPT, "attempt", INT)                                                                                         \
    M(BASE, "base", TEXT)                                                                                              \
    M(BODY, "body", FLAG)                                                                                              \
    M(BORN, "born", INT)                                                                                               \
    M(BRANCH, "branch", TEXT)                                                                                          \
    M(BY, "by", TEXT)                                                                                                  \
    M(BUDGET, "budget", TEXT)                                                                                          \
    M(BYTES, "bytes", TEXT)                                                                                            \
    M(CALL, "call", ANY)                                                                                               \
    M(CANCELLED, "cancelled", FLAG)                                                                                    \
    M(CEILING, "ceiling", OBJECT)                                                                                      \
    M(CLAIMS, "claims", INT)                                                                                           \
    M(CLOSED, "closed", FLAG)                                                                                          \
    M(CACHED_TOKENS, "cached_tokens", INT)                                                                             \
    M(COMPLETION_TOKENS, "completion_tokens", INT)                                                                     \
    M(CONCURRENCY, "concurrency", TEXT)                                                                                \
    M(COST, "cost", INT)                                                                                               \
    M(DAY, "day", TEXT)                                                                                                \
    M(DETACHED, "detached", FLAG)                                                                                      \
    M(DETAILS, "details", TEXT)                                                                                        \
    M(DEV, "dev", INT)                                                                                                 \
    M(DIGEST, "digest", TEXT)                                                                                          \
    M(DONE, "done", INT)                                                                                               \
    M(DUE, "due", INT)                                                                                                 \
    M(ENTRY, "entry", TEXT)                                                                                            \
    M(EPOCH, "epoch", INT)                                                                                             \
    M(ERROR, "error", OBJECT)                                                                                          \
    M(FAILED, "failed", LIST)                                                                                          \
    M(FILES, "files", LIST)                                                                                            \
    M(FINISH_REASON, "finish_reason", TEXT)                                                                            \
    M(FORCE, "force", FLAG)                                                                                            \
    M(FORK_OF, "fork_of", LIST)                                                                                        \
    M(FROM, "from", TEXT)                                                                                              \
    M(FUEL, "fuel", INT)                                                                                               \
    M(FULL, "full", INT)                                                                                               \
    M(GRANT, "grant", TEXT)                                                                                            \
    M(GRANTED, "granted", TEXT)                                                                                        \
    M(GRANTS, "grants", TEXT)                                                                                          \
    M(GRAPH, "graph", TEXT)                                                                                            \
    M(GROUP, "group", TEXT)                                                                                            \
    M(HOW, "how", TEXT)                                                                                                \
    M(ID, "id", TEXT)                                                                                                  \
    M(INDEX, "index", INT)                                                                                             \
    M(INO, "ino", INT)                                                                                                 \
    M(IN_SLICE, "in_slice", FLAG)                                                                                      \
    M(KEY, "key", TEXT)                                                                                                \
    M(KILL, "kill", TEXT)                                                                                              \
    M(LABELS, "labels", OBJECT)                                                                                        \
    M(LEVEL, "level", TEXT)                                                                                            \
    M(LINE, "line", INT)                                                                                               \
    M(LSN, "lsn", INT)                                                                                                 \
    M(MAX_MEMORY, "max_memory", INT)                                                                                   \
    M(MAX_QUEUE, "max_queue", INT)                                                                                     \
    M(MESSAGE, "message", TEXT)                                                                                        \
    M(MODEL, "model", TEXT)                                                                                            \
    M(MS, "ms", INT)                                                                                                   \
    M(NAME, "name", TEXT)                                                                                              \
    M(NETWORK, "network", TEXT)                                                                                        \
    M(NOW, "now", INT)                                                                                                 \
    M(OBJ, "obj", TEXT)                                                                                                \
    M(OCCURRENCE, "occurrence", INT)                                                                                   \
    M(OF, "of", TEXT)                                                                                                  \
    M(OK, "ok", FLAG)                                                                                                  \
    M(OPAQUE, "opaque", OBJECT)                                                                                        \
    M(ORIGINS, "origins", LIST)                                                                                        \
    M(OUTCOME, "outcome", TEXT)                                                                                        \
    M(PASSAGES, "passages", INT)                                                                                       \
    M(PATH, "path", TEXT)                                                                                              \
    M(PATHS, "paths", LIST)                                                                                            \
    M(PER_KEY, "per_key", INT)                                                                                         \
    M(PERMITS, "permits", INT)                                                                                         \
    M(PID, "pid", INT)                                                                                                 \
    M(PRIORITY, "priority", INT)                                                                                       \
    M(PROGRAM_NAME, "program_name", TEXT)                                                                              \
    M(PROMPT_TOKENS, "prompt_tokens", INT)                                                                             \
    M(PROMPTS, "prompts", TEXT)                                                                                        \
    M(QUEUED, "queued", FLAG)                                                                                          \
    M(QUESTION, "question", TEXT)                                                                                      \
    M(RECORDS, "records", INT)                                                                                         \
    M(REFUSAL, "refusal", TEXT)                                                                                        \
    M(CALLS, "calls", LIST)                                                                                            \
    M(REQUEST, "request", TEXT)                                                                                        \
    M(REQUESTS, "requests", OBJECT)                                                                                    \
    M(REQUEST_STATE, "state", TEXT)                                                                                    \
    M(RESERVE, "reserve", OBJECT)                                                                                      \
    M(ROOT, "root", OBJECT)                                                                                            \
    M(ROW, "row", OBJECT)                                                                                              \
    M(RUN, "run", TEXT)                                                                                                \
    M(RUNNERS, "runners", FLAG)                                                                                        \
    M(RUNS, "runs", LIST)                                                                                              \
    M(SANDBOX, "sandbox", TEXT)                                                                                        \
    M(SAVE, "save", TEXT)                                                                                              \
    M(SCOPE, "scope", INT)                                                                                             \
    M(SEED, "seed", TEXT)                                                                                              \
    M(SEQ, "seq", INT)                                                                                                 \
    M(SERVER, "server", TEXT)                                                                                          \
    M(SESSION, "session", INT)                                                                                         \
    M(SET, "set", FLAG)                                                                                                \
    M(SPENT, "spent", OBJECT)                                                                                          \
    M(STAGE, "stage", TEXT)                                                                                            \
    M(STEP, "step", INT)                                                                                               \
    M(TASK, "task", TEXT)                                                                                              \
    M(TEXT, "text", TEXT)                                                                                              \
    M(TEXTS, "texts", LIST)                                                                                            \
    M(TID, "tid", INT)                                                                                                 \
    M(TO, "to", TEXT)                                                                                                  \
    M(TOOL, "tool", TEXT)                                                                                              \
    M(TOTAL, "total", INT)                                                                                             \
    M(TTL_MS, "ttl_ms", INT)                                                                                           \
    M(POLL_MS, "poll_ms", INT)                                                                                         \
    M(TRIES, "tries", INT)                                                                                             \
    M(LOST, "lost", FLAG)                                                                                              \
    M(TYPE, "type", ANY)                                                                                               \
    M(VALUE, "value", ANY)                                                                                             \
    M(VIA, "via", OBJECT)                                                                                              \
    M(VERSION, "version", TEXT)                                                                                        \
    M(TOO_LONG, "too_long", TEXT)                                                                                      \
    M(KEPT, "kept", INT)                                                                                               \
    M(WINDOW, "window", INT)                                                                                           \
    M(WHAT, "what", TEXT)                                                                                              \
    M(WHY, "why", TEXT)                                                                                                \
    M(WORKER, "worker", TEXT)                                                                                          \
    M(WORKFLOW, "workflow", TEXT)                                                                                      \
    M(YOLO, "yolo", FLAG)

typedef enum TfyMember {
#define TFY__MEMBER(Name, Text, Kind) TFY_P_##Name,
    TFY_PAYLOAD_MEMBERS(TFY__MEMBER)
#undef TFY__MEMBER
        TFY_P_COUNT,
    TFY__P_LAST = TFY_P_COUNT - 1, /* those of snapshots follow */
#define TFY__MEMBER(Name, Text, Kind) TFY_S_##Name,
    TFY_SNAPSHOT_MEMBERS(TFY__MEMBER)
#undef TFY__MEMBER
        TFY_MEMBER_COUNT
} TfyMember;

const char *tfy__member_name(TfyMember member);

/* ---- an object of a payload: itself, or one inside it ---- */

json_t *tfy__member_get(const json_t *object, TfyMember member);      /* borrowed; NULL: absent, or not of its kind */
const char *tfy__member_text(const json_t *object, TfyMember member); /* borrowed; NULL: absent */
int64_t tfy__member_int(const json_t *object, TfyMember member);      /* 0: absent */
bool tfy__member_flag(const json_t *object, TfyMember member);        /* false: absent */
uint64_t tfy__member_hex(const json_t *object, TfyMember member);     /* a text of hexadecimal digits; 0: absent */
/* Takes the value. False: no memory, or the value is NULL. */
bool tfy__member_set(json_t *object, TfyMember member, json_t *value);

/* ---- queries for one member ---- */

bool tfy__record_has(const TfyLogRecord *record, TfyMember member);
bool tfy__record_flag(const TfyLogRecord *record, TfyMember member);   /* true only if it is present and true */
int64_t tfy__record_int(const TfyLogRecord *record, TfyMember member); /* 0: absent */
/* The member's value as written in the payload, *len bytes of JSON; NULL: absent. */
const char *tfy__record_raw(const TfyLogRecord *record, TfyMember member, size_t *len);
/* The rest of the payload from the member's name on; NULL: absent. */
const char *tfy__record_tail(const TfyLogRecord *record, TfyMember member);
/* Whether the member is this text. A text with escapes is decoded before the comparison. */
bool tfy__record_is(const TfyLogRecord *record, TfyMember member, const char *text);
/* A copy of a text, malloc'ed; NULL: absent, or out of memory. */
char *tfy__record_text(const TfyLogRecord *record, TfyMember member);

/* ---- the whole payload ---- */

typedef struct TfyPayload {
    /* The object, owned. NULL: the payload is not an object, or memory ran out; then every member reads as absent. */
    json_t *json;
} TfyPayload;

/* Call tfy__payload_close afterwards, also after false. */
bool tfy__payload_open(TfyPayload *payload, const TfyLogRecord *record);
void tfy__payload_close(TfyPayload *payload);

/* The results are borrowed from the payload. */
json_t *tfy__payload_get(const TfyPayload *payload, TfyMember member);      /* NULL: absent, or of another kind */
const char *tfy__payload_text(const TfyPayload *payload, TfyMember member); /* NULL: absent */
int64_t tfy__payload_int(const TfyPayload *payload, TfyMember member);      /* 0: absent */
bool tfy__payload_flag(const TfyPayload *payload, TfyMember member);        /* false: absent */
/* A text of hexadecimal digits; 0: absent. */
uint64_t tfy__payload_hex(const TfyPayload *payload, TfyMember member);

/* Parts of the value of an "error" member: {"error": kind, "message", fields…, "line"}. NULL or 0: it has no such
 * part. */
const char *tfy__error_kind(const json_t *error);
const char *tfy__error_message(const json_t *error);
int64_t tfy__error_line(const json_t *error);
void tfy__error_forget_line(json_t *error);
/* Appends such an object without fields. line < 0: it has none. */
void tfy__error_write(TfyBuffer *out, const char *kind, const char *message, size_t len, int64_t line);

/* A copy of the payload, malloc'ed, *len bytes and a NUL, in which the member has another value (JSON text); an
 * absent member is added at the end. All other bytes stay. NULL: out of memory, or the payload is not an object. */
char *tfy__record_with(const TfyLogRecord *record, TfyMember member, const char *json, size_t *len);

/* ---- common queries ---- */

/* How a task or run ended by this record: TFY_TASK_COMPLETED, _FAILED or _CANCELLED; 0: it is not an end. */
int tfy__record_end(const TfyLogRecord *record);
/* Whether the record is of a step that failed. */
bool tfy__record_failed(const TfyLogRecord *record);
/* Whether the record is a StepStart of a once step; the others are questions and waits. */
bool tfy__record_starts_once(const TfyLogRecord *record);
/* Whether the record is a wait that the endpoint of a model asked for. */
bool tfy__record_is_busy(const TfyLogRecord *record);
/* Whether the record cancels a task from outside it. */
bool tfy__record_is_kill(const TfyLogRecord *record);

/* The result of a step whose payload consists only of its tool, digest, the id of the model's call (NULL: none) and
 * value, in this order: *len bytes of JSON. NULL: the payload has another form, the id is not plain ASCII, or one of the
 * three differs. With this, a replay need not build a tree for a number. */
const char *tfy__record_plain_value(const TfyLogRecord *record, const char *tool, const char digest[16],
                                    const char *call, size_t *len);

/* ---- writing ---- */

/* Appends the member's name with its colon, and a comma before it if needed. The value must follow. */
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
/* The same for a name of the program or a task's path: letters, digits and dots need no escapes. */
void tfy__put_name(TfyBuffer *out, TfyMember member, const char *name);
/* The text may contain NUL. */
void tfy__put_bytes(TfyBuffer *out, TfyMember member, const char *text, size_t len);
void tfy__put_string(TfyBuffer *out, TfyMember member, const TfyObj *string); /* a TfyString */
/* The value of TFY_NOTHING is null. */
void tfy__put_value(TfyBuffer *out, TfyMember member, const TfyType *type, TfyValue value);
void tfy__put_int(TfyBuffer *out, TfyMember member, int64_t value);
void tfy__put_flag(TfyBuffer *out, TfyMember member, bool value);
/* Adds nothing if the value is false. */
void tfy__put_true(TfyBuffer *out, TfyMember member, bool value);
void tfy__put_hex(TfyBuffer *out, TfyMember member, uint64_t value); /* 16 digits, quoted */
void tfy__put_json(TfyBuffer *out, TfyMember member, const char *json, size_t len);
/* If memory runs out, the buffer fails. */
void tfy__put_tree(TfyBuffer *out, TfyMember member, const json_t *value);

/* ---- the rules ---- */

/* Checks that the payload holds only members that its type allows, each of its kind, and all that its type requires.
 * NULL: it does; otherwise a message, static or in text (of size bytes). Snapshots are not checked. */
const char *tfy__payload_fault(const TfyLogRecord *record, char *text, size_t size);

#endif
