/* tfy.h: the interface for programs that embed the runtime: open a database, submit runs, answer questions, and
 * give workflows tools, effects and scheduling policies written in C. C files behind extern tools include it, too.
 * Generated C includes tfy_program.h, which has the rest that compiled workflows need.
 *
 * Values. Every value is one 8-byte word: a scalar, or a reference to an immutable, counted object. A function
 * that makes an object returns it borrowed: the reference is valid until the call of your function returns.
 * Arguments are borrowed, too. Objects belong to the thread of their loop; a program with several loops must use
 * each of them from that loop's own thread.
 *
 * Errors. Functions of a loop return 0 or a negative TFY_E_… code. Functions that take a task return false or NULL
 * after a panic. The panic is then pending in the task: your function must return false at once. */
#ifndef TFY_H
#define TFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- error codes of the C API: 0 is success, all others negative ---- */
enum {
    TFY_OK = 0,
    TFY_E_NOMEM = -1, /* memory ran out */
    /* a wrong argument, or a value that does not fit its type */
    TFY_E_INVALID = -2,
    /* the log could not be written or read: the process should exit with status 74 */
    TFY_E_IO = -3,
    TFY_E_HELD = -4, /* another process owns the database: exit status 75 */
    /* the file is not a tickflowy database, or it is damaged or of a newer version: exit status 65 */
    TFY_E_DATA = -5,
    TFY_E_ABSENT = -6,   /* no such run, task, workflow, tool: exit status 69 */
    TFY_E_DIVERGED = -7, /* the program does not do what its log says it did */
    TFY_E_STATE = -8,    /* not possible in the present state */
    /* tasks are left, and no event can ever wake one of them: exit status 75 */
    TFY_E_DEADLOCK = -9,
    TFY_E_FULL = -10, /* a limit of TfyOptions is reached */
    /* the process that supervises tools was killed, which counts as if this process had been: exit status 70 */
    TFY_E_LOST = -11,
};

/* ---- types ---- */

typedef struct TfyType TfyType;
typedef struct TfyTask TfyTask; /* the task that a tool or effect is called for; opaque */
/* a compiled program: tfyg_program in the C that tfyc wrote */
typedef struct TfyProgram TfyProgram;
typedef struct TfyObj TfyObj;
typedef struct TfyLoop TfyLoop;

typedef union TfyValue {
    int64_t i; /* int; duration and time in milliseconds; task handles */
    double f;
    bool b;
    /* everything else; NULL is null where the type is optional */
    TfyObj *o;
} TfyValue;

typedef enum TfyKind {
    TFY_NOTHING,
    TFY_BOOL,
    TFY_INT,
    TFY_FLOAT,
    TFY_DURATION, /* milliseconds */
    TFY_TIME,     /* milliseconds since 1970-01-01T00:00:00Z */
    TFY_TASK,     /* a task's number, unique in its database */
    /* a channel's number, unique in its run; elem: what it carries */
    TFY_CHANNEL,
    /* a listener's or stream's number; it includes which opening of the database made it */
    TFY_HANDLE,
    TFY_STRING,
    TFY_BYTES,
    TFY_JSON, /* canonical JSON text in a string object */
    TFY_LIST,
    TFY_MAP,
    TFY_OPTIONAL, /* NULL, the object itself, or a box around a scalar */
    TFY_RECORD,
    TFY_ENUM,
    /* a record whose field 0 is the message; aux is the source line that raised it */
    TFY_ERROR,
    /* the static type of `catch e`; each object carries its own error type */
    TFY_ANY_ERROR,
    TFY_BOX, /* the heap type of an optional scalar */
} TfyKind;

/* A parameter, or a field of a record, error or enum case. */
typedef struct TfyField {
    const char *name;
    const TfyType *type;
    bool (*make)(TfyTask *task, TfyValue *out); /* computes the default, borrowed; NULL: none */
    const char *doc;                            /* its doc comment, or NULL */
} TfyField;

typedef struct TfyCase {
    const char *name;
    const TfyField *fields;
    uint32_t field_count;
    /* the immortal value of a case without fields; NULL if it has fields */
    TfyObj *bare;
    const char *doc; /* its doc comment, or NULL */
} TfyCase;

/* Describes one type. Static data in the runtime or in generated code. Encoding, decoding, printing, comparing,
 * releasing and JSON Schema all walk it. */
struct TfyType {
    uint8_t kind;           /* TfyKind */
    bool scalar;            /* the word is the value; there is nothing to release */
    const char *name;       /* as it is written in source text */
    const TfyType *elem;    /* list, map, optional, task, box */
    const TfyType *key;     /* map */
    const TfyField *fields; /* record, error */
    uint32_t field_count;
    const TfyCase *cases; /* enum */
    uint32_t case_count;
    const char
        *doc; /* its doc comment, or NULL; models read these in the JSON Schema, and nothing else depends on them */
};

extern const TfyType tfy_type_nothing, tfy_type_bool, tfy_type_int, tfy_type_float, tfy_type_duration, tfy_type_time,
    tfy_type_string, tfy_type_bytes, tfy_type_json, tfy_type_thread, tfy_type_listener, tfy_type_stream,
    tfy_type_any_error, tfy_type_list_string, tfy_type_optional_string, tfy_type_map_string_string;
/* ExecResult {code: int, out: string, err: string, truncated: bool, lossy: bool}, HttpResponse {status: int,
 * headers: map<string, string>, body: string, truncated: bool, lossy: bool}, Patch {path: string, diff: string},
 * Edit {find: string, replace: string}, Match {text: string, start: int, end: int, groups: list<string?>}, TimeZone
 * {name: string, rules: string}, Symbol {name: string, kind: string, path: string, line: int, end: int,
 * signature: string?, scope: string?} and Place {path: string, line: int, text: string} */
extern const TfyType tfy_type_exec_result, tfy_type_http_response, tfy_type_patch, tfy_type_edit, tfy_type_match,
    tfy_type_time_zone, tfy_type_symbol, tfy_type_place;
/* Built-in errors; field 0 is message. Timeout {in_doubt: bool}, ToolError {tool: string, code: int}, TaskFailed
 * {task: string, kind: string}, BadValue {path: string}, BudgetExceeded {what: string, limit: float, spent: float},
 * Conflict {paths: list<string>}. Panic and Cancelled are never caught. */
extern const TfyType tfy_type_timeout, tfy_type_tool_error, tfy_type_task_failed, tfy_type_channel_closed,
    tfy_type_bad_value, tfy_type_lost, tfy_type_denied, tfy_type_budget_exceeded, tfy_type_conflict, tfy_type_panic,
    tfy_type_cancelled;

/* ---- objects ---- */

/* The head of every heap object: 16 bytes, then the body of its kind. */
struct TfyObj {
    uint32_t refs; /* TFY_IMMORTAL: static data, never counted, never freed */
    /* enum: the case's index; error: the source line; otherwise free for the kind's own use */
    uint32_t aux;
    const TfyType *type;
};
#define TFY_IMMORTAL UINT32_MAX

/* A string, bytes or JSON text. Static literals have the same layout with a sized array. */
typedef struct TfyString {
    TfyObj head;
    uint32_t byte_len;
    uint32_t len; /* in code points; of bytes: = byte_len */
    /* bytes that fit in the block, without the closing NUL; literals: = byte_len */
    uint32_t cap;
    /* the number of stretches that represent a secret; their positions are stored after the text (value/string.c) */
    uint32_t secrets;
    char bytes[]; /* valid UTF-8 for strings, then a NUL */
} TfyString;

typedef struct TfyList {
    TfyObj head;
    uint32_t len, cap;
    TfyValue items[];
} TfyList;

/* A record, an enum case with fields, an error (field 0: message), or a box (field 0: the scalar). */
typedef struct TfyRecord {
    TfyObj head;
    TfyValue fields[];
} TfyRecord;

/* ---- values: reading and making them ---- */

static inline TfyValue tfy_of_int(int64_t i)
{
    return (TfyValue){.i = i};
}
static inline TfyValue tfy_of_float(double f)
{
    return (TfyValue){.f = f};
}
static inline TfyValue tfy_of_bool(bool b)
{
    TfyValue v = {.i = 0};
    v.b = b;
    return v;
}
static inline TfyValue tfy_of_obj(TfyObj *o)
{
    return (TfyValue){.o = o};
}
static inline TfyValue tfy_field(const TfyObj *record, uint32_t index)
{
    return ((const TfyRecord *)record)->fields[index];
}
static inline uint32_t tfy_tag(const TfyObj *enum_value)
{
    return enum_value->aux;
}
/* The scalar in an optional that is not NULL. */
static inline TfyValue tfy_unbox(const TfyObj *box)
{
    return ((const TfyRecord *)box)->fields[0];
}

TfyObj *tfy_string_of(TfyTask *task, const char *bytes, size_t len); /* invalid UTF-8 becomes U+FFFD */
static inline int64_t tfy_string_len(const TfyObj *s)
{
    return ((const TfyString *)s)->len;
}
static inline int64_t tfy_string_byte_len(const TfyObj *s)
{
    return ((const TfyString *)s)->byte_len;
}
TfyObj *tfy_string_at(TfyTask *task, uint32_t line, TfyObj *s, int64_t index); /* one code point */
TfyObj *tfy_string_slice(TfyTask *task, TfyObj *s, int64_t from, int64_t to);  /* clamps; to < 0 is not special */
TfyObj *tfy_string_trim(TfyTask *task, TfyObj *s);
TfyObj *tfy_string_trim_start(TfyTask *task, TfyObj *s);
TfyObj *tfy_string_trim_end(TfyTask *task, TfyObj *s);
/* list<string>, split at LF or CR LF; an empty last line is omitted */
TfyObj *tfy_string_lines(TfyTask *task, TfyObj *s);
bool tfy_string_contains(TfyTask *task, const TfyObj *s, const TfyObj *part);
bool tfy_string_starts_with(const TfyObj *s, const TfyObj *part);
bool tfy_string_ends_with(const TfyObj *s, const TfyObj *part);
bool tfy_string_index_of(TfyTask *task, const TfyType *optional, TfyObj *s, TfyObj *part, TfyObj **out); /* int? */
TfyObj *tfy_string_chars(TfyTask *task, TfyObj *s); /* a string per code point */
/* at most `parts` parts; the last one holds the rest */
TfyObj *tfy_string_split(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *separator, int64_t parts);
TfyObj *tfy_string_replace(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *old, TfyObj *with); /* all occurrences */
TfyObj *tfy_string_repeat(TfyTask *task, uint32_t line, TfyObj *s, int64_t times);
/* Pads to len code points; `with` NULL: with blanks. */
TfyObj *tfy_string_pad(TfyTask *task, uint32_t line, TfyObj *s, int64_t len, TfyObj *with, bool at_start);
TfyObj *tfy_string_case(TfyTask *task, TfyObj *s, bool upper); /* by code point, no locale */
/* Regular expressions. An invalid pattern panics, and so does a match that takes too many steps. */
bool tfy_string_matches(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *pattern, bool *out);       /* anywhere in s */
bool tfy_string_find_match(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *pattern, TfyObj **out); /* Match? */
/* list<Match> */
TfyObj *tfy_string_find_matches(TfyTask *task, uint32_t line, const TfyType *type, TfyObj *s, TfyObj *pattern);
/* int?: the number when from <= it <= to */
bool tfy_int_within(TfyTask *task, const TfyType *optional, int64_t number, int64_t from, int64_t to, TfyObj **out);
/* string?: s when the pattern matches all of it */
bool tfy_string_vetted(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *pattern, TfyObj **out);
/* replaces all matches; in `with`, $0 to $99 are groups and $$ is a $ */
TfyObj *tfy_string_replace_matches(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *pattern, TfyObj *with);
TfyObj *tfy_string_split_matches(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *pattern);
/* A text as int?, float?, time?, duration? or json?; null if the text cannot be read as one. */
bool tfy_parse(TfyTask *task, const TfyType *optional, TfyObj *s, TfyObj **out);

TfyObj *tfy_list_of(TfyTask *task, const TfyType *type, uint32_t count, const TfyValue *items);
static inline int64_t tfy_list_len(const TfyObj *list)
{
    return ((const TfyList *)list)->len;
}
static inline TfyValue tfy_list_item(const TfyObj *list, int64_t index) /* no bounds check */
{
    return ((const TfyList *)list)->items[index];
}
bool tfy_list_get(TfyTask *task, const TfyType *optional, TfyObj *list, int64_t index, TfyObj **out); /* T? */
bool tfy_list_at(TfyTask *task, uint32_t line, TfyObj *list, int64_t index, TfyValue *out); /* panics out of bounds */
TfyObj *tfy_list_pushed(TfyTask *task, uint32_t line, TfyObj *list, TfyValue item);         /* xs.push(x) as a value */
TfyObj *tfy_list_concat(TfyTask *task, uint32_t line, TfyObj *list, TfyObj *other);
TfyObj *tfy_list_with(TfyTask *task, uint32_t line, TfyObj *list, int64_t index, TfyValue item);
TfyObj *tfy_list_slice(TfyTask *task, TfyObj *list, int64_t from, int64_t to);        /* clamps */
TfyObj *tfy_list_join(TfyTask *task, uint32_t line, TfyObj *list, TfyObj *separator); /* list<string> */
bool tfy_list_contains(TfyTask *task, const TfyObj *list, TfyValue item);
TfyObj *tfy_list_inserted(TfyTask *task, uint32_t line, TfyObj *list, int64_t index, TfyValue item); /* before index */
TfyObj *tfy_list_without(TfyTask *task, uint32_t line, TfyObj *list, int64_t index);
bool tfy_list_last(TfyTask *task, const TfyType *optional, TfyObj *list, TfyObj **out);                    /* T? */
bool tfy_list_index_of(TfyTask *task, const TfyType *optional, TfyObj *list, TfyValue item, TfyObj **out); /* int? */
/* the minimum (sign -1) or maximum (sign 1), as T? */
bool tfy_list_extreme(TfyTask *task, const TfyType *optional, TfyObj *list, int sign, TfyObj **out);
bool tfy_list_sum(TfyTask *task, uint32_t line, TfyObj *list, TfyValue *out); /* int, float, duration */
TfyObj *tfy_list_reversed(TfyTask *task, TfyObj *list);
TfyObj *tfy_list_sorted(TfyTask *task, TfyObj *list, TfyObj *keys); /* by a list of keys, one for each item; stable */
TfyObj *tfy_list_unique(TfyTask *task, TfyObj *list); /* string, int, bare enum; keeps the first of each */

TfyObj *tfy_map_of(TfyTask *task, const TfyType *type, uint32_t count, const TfyValue *keys, const TfyValue *values);
int64_t tfy_map_len(const TfyObj *map);
TfyValue tfy_map_key_at(const TfyObj *map, int64_t position); /* in insertion order; no bounds check */
TfyValue tfy_map_value_at(const TfyObj *map, int64_t position);
bool tfy_map_get(TfyTask *task, const TfyType *optional, TfyObj *map, TfyValue key, TfyObj **out); /* V? */
bool tfy_map_at(TfyTask *task, uint32_t line, TfyObj *map, TfyValue key, TfyValue *out); /* panics when absent */
TfyObj *tfy_map_with(TfyTask *task, uint32_t line, TfyObj *map, TfyValue key, TfyValue value);
bool tfy_map_contains(TfyTask *task, const TfyObj *map, TfyValue key);
TfyObj *tfy_map_keys(TfyTask *task, const TfyType *list, TfyObj *map);
TfyObj *tfy_map_values(TfyTask *task, const TfyType *list, TfyObj *map);
TfyObj *tfy_map_without(TfyTask *task, TfyObj *map, TfyValue key);
TfyObj *tfy_map_merged(TfyTask *task, uint32_t line, TfyObj *map, TfyObj *other); /* the other's values win */

/* a record or an error; fields: type->field_count values */
TfyObj *tfy_record_of(TfyTask *task, const TfyType *type, const TfyValue *fields);
TfyObj *tfy_enum_of(TfyTask *task, const TfyType *type, uint32_t case_index, const TfyValue *fields);
TfyObj *tfy_box(TfyTask *task, const TfyType *optional, TfyValue scalar); /* a scalar as T? */

bool tfy_equal(const TfyType *type, TfyValue a, TfyValue b);  /* structural; maps ignore order */
int tfy_compare(const TfyType *type, TfyValue a, TfyValue b); /* int, float, string, time, duration: <0, 0, >0 */
TfyObj *tfy_text(TfyTask *task, const TfyType *type, TfyValue value); /* as `${…}` and to_string print it */
TfyObj *tfy_to_json(TfyTask *task, uint32_t line, const TfyType *type, TfyValue value);
/* json?; null for JSON's null */
/* Conversations with a model: immutable lists of messages. What say and told give is one message, or several, longer.
 * Borrowed; NULL: a panic. */
TfyObj *tfy_thread_say(TfyTask *task, uint32_t line, TfyObj *thread, TfyObj *text);
TfyObj *tfy_thread_text(TfyTask *task, TfyObj *thread); /* what the model said last, or "" */
TfyObj *tfy_thread_messages(TfyTask *task, const TfyType *type, TfyObj *thread);
TfyObj *tfy_thread_told(TfyTask *task, uint32_t line, TfyObj *thread, TfyObj *ids, TfyObj *texts);
bool tfy_json_get(TfyTask *task, uint32_t line, TfyObj *json, TfyObj *path, TfyObj **out);
/* path may be NULL; fails with BadValue */
bool tfy_json_decode(TfyTask *task, uint32_t line, const TfyType *type, TfyObj *json, TfyObj *path, TfyValue *out);
TfyObj *tfy_json_kind(const TfyObj *json); /* "object", "list", "string", "number", "bool", "null" */

/* ---- tools and effects written in C ---- */

/* For tools and effects written in C: the call fails with ToolError. Always false. tfy_tool_fail reports that the
 * work was certainly not done. tfy_tool_unknown reports that it may have been done: a `once` step is then never
 * silently repeated; its probe, or else a person, is asked instead. */
bool tfy_tool_fail(TfyTask *task, int64_t code, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool tfy_tool_unknown(TfyTask *task, int64_t code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Queues an answer to a tool's next call: result_json, or a ToolError if error_text is given. Several answers are
 * used in order. A tool that has been given an answer this way is never performed for real on this loop. */
int tfy_inject(TfyLoop *loop, const char *tool, const char *result_json, const char *error_text);

/* Performs a tool, or a built-in effect such as "exec", by a C function of the embedding program. The function is
 * called on the loop's thread with the arguments (borrowed, in declaration order). It returns true with the result
 * in *out (borrowed), or false after tfy_tool_fail or tfy_tool_unknown. After a panic, such as a result that could
 * not be made, the call counts as unknown. The scheduler still records, retries and times the step. The last
 * registration of a name counts; call NULL removes it. Answers given with tfy_inject come first. Returns 0 or
 * TFY_E_NOMEM. */
typedef bool (*TfyEffect)(void *state, TfyTask *task, const TfyValue *args, TfyValue *out);
int tfy_register_effect(TfyLoop *loop, const char *tool, TfyEffect call, void *state);

/* For the result of an effect of that kind or of an extern tool. tfy_result_type is the type that the tool returns at
 * this place: the type to give to tfy_record_of, tfy_enum_of and tfy_list_of; NULL: no step is under way.
 * tfy_result_json makes the whole result (borrowed) from JSON; return false if it does: the JSON does not fit, the step
 * fails as after tfy_tool_unknown, and the message says where. */
const TfyType *tfy_result_type(TfyTask *task);
bool tfy_result_json(TfyTask *task, const char *json, TfyValue *out);

/* For an effect of that kind or an extern tool: makes the step wait until a descriptor can be read or written (or
 * its other side has closed), while all other tasks continue. Return what this function returns. When the
 * descriptor is ready, `ready` is called on the loop's thread and finishes the step as the tool itself would: it
 * returns true and *out, or false after tfy_tool_fail, or waits again. If the step is cancelled or times out,
 * stop(state) is called instead (NULL: nothing is called). The caller keeps owning the descriptor. */
enum { TFY_WAIT_READ = 1, TFY_WAIT_WRITE = 2 };
typedef bool (*TfyReady)(void *state, TfyTask *task, TfyValue *out);
bool tfy_wait_fd(TfyTask *task, int fd, unsigned events, TfyReady ready, void (*stop)(void *state), void *state);

/* ---- scheduling policies ---- */

/* A task that has become ready, as a policy sees it. */
typedef struct TfyReadyTask {
    uint32_t slot;    /* identifies the task until it is popped */
    int32_t priority; /* of `spawn f() with (priority: N)`; 0 */
    /* how many tasks wait for it to finish: by join, or `with (after: …)` */
    uint32_t awaited;
    int64_t tid;
    uint64_t seq; /* ascending, in the order of becoming ready */
} TfyReadyTask;

/* A policy: a queue of ready tasks. It decides only the order in which live tasks continue; a run is recorded and
 * replayed the same under every policy. A policy that must not starve a task should let tasks age. */
typedef struct TfyScheduling {
    const char *name;
    void *(*open)(void);                                  /* NULL: out of memory */
    bool (*push)(void *queue, const TfyReadyTask *ready); /* false: out of memory; the loop stops */
    uint32_t (*pop)(void *queue);                         /* returns a slot; called only while the queue is not empty */
    void (*close)(void *queue);
} TfyScheduling;

/* Makes this policy the loop's policy from now on; tasks that are ready move to it. NULL: fifo. The table must
 * outlive the loop. Returns 0 or TFY_E_NOMEM. */
int tfy_register_policy(TfyLoop *loop, const TfyScheduling *policy);

/* ---- embedding ---- */

/* core/world.h: clock, allocator, poller, files, processes; NULL: the real one */
typedef struct TfyWorld TfyWorld;

/* A world for tests: time starts at wall_ms and moves only by jumping to the next deadline, random numbers follow
 * from the seed, and effects are not performed but answered with tfy_inject (extern tools are called). NULL: out
 * of memory. Free it after tfy_close. */
TfyWorld *tfy_world_virtual(int64_t wall_ms, uint64_t seed);
void tfy_world_free(TfyWorld *world);

typedef struct TfyOptions {
    /* symbolic links are followed; "" and ":memory:" name no file; NULL: a log in memory */
    const char *db_path;
    /* with a log in memory: keeps nothing and cannot be read back, to measure the cost of tasks alone */
    bool forget;
    const TfyWorld *world; /* NULL: the real world */
    /* hub/hub.h, instead of db_path: a session of a database that several processes write; borrowed */
    struct TfyHub *hub;
    /* the root directory of files, canvas and exec; NULL: the current directory. Other programs may have others
     * (tfy_load) */
    const char *root;
    /* tfy_resume: continues in its program's root a run that worked in another directory, and logs the move; otherwise such a
     * run is refused */
    bool move_root;
    /* NULL: from the environment; else "cassette:FILE" or "record:FILE" */
    const char *llm;
    /* the file of models; NULL: $TFY_MODELS, else .tfy/models.json, if there is one */
    const char *models;
    /* where the values of secrets are: a file of NAME=value lines, or a directory with a file for each; a name that is
     * not in it is looked for in the directory $CREDENTIALS_DIRECTORY, then in TFY_SECRET_NAME in the environment.
     * NULL: only there */
    const char *secrets;
    /* a command that is run with the name of a secret that is nowhere else; the first line that it prints is the value.
     * Its words are separated by blanks. NULL: none */
    const char *secrets_from;
    /* "full": what models are sent is kept in the log; "digest": only its digest. NULL: as each run started, and new
     * runs keep it */
    const char *record_prompts;
    /* The most that tools may do, whatever sandbox they name: "readonly", "workspace"; "open": those that name none run
     * with the rights of this process. NULL: as the program says. A run keeps this and the following, until a resume is
     * given others */
    const char *sandbox;
    /* The hosts that tools, http and connect may reach: "none", "any", or "host:port" and "*.host:port" with commas
     * between them. NULL: as the program says */
    const char *network;
    /* What single tools may do besides: "TOOL:reads=PATH", "TOOL:writes=PATH", "TOOL:network=RULE", with newlines between
     * them. NULL: nothing */
    const char *grants;
    /* What a run may ask of models: "cost=5,tokens=1M,calls=50", or some of the three. NULL: as much as it likes */
    const char *budget;
    /* lets the runners of sandboxes start, which no sandbox holds */
    bool runners;
    /* "full": nothing less will do; "partial": no more is tried; NULL: as far as the kernel goes */
    const char *sandbox_level;
    /* --yolo: answers every approval with yes, and the log says so */
    bool approve_all;
    /* --yes: the same, except for policies `approve` whose call receives an untrusted value */
    bool approve_trusted;
    /* --escalate: asks a person whether a pure or idempotent tool may have what its sandbox seems to have refused */
    bool escalate;
    /* tfy_run also waits for people, instead of returning when only they can wake the remaining tasks */
    bool wait_people;
    /* tfy_run does not return when nothing is left to do, but waits for other threads and for tfy_drain. A run that has
     * ended leaves memory at once: tfy_task_result and its like no longer know it, only the log does. A run whose tasks
     * wait for each other for longer than park_after_ms is recorded as deadlocked, and the others continue. */
    bool stay;
    /* Nobody sits at a terminal: the loop serves many people at once. print writes nothing to stdout, and only the log
     * has it; stdin() fails; a question waits for tfy_approve and its like. approve_all and approve_trusted are refused:
     * nobody can say yes for all runs. */
    bool served;
    /* writes log lines as JSON objects, including the runtime's own lines from level info on */
    bool log_json;
    /* which levels are logged: "info", or "warn,effect=debug"; NULL: all lines of the program from info on */
    const char *log_level;
    /* which ready task runs next: "fifo" (also NULL), "priority", "deps" */
    const char *policy;
    /* Limits; 0: none. Only the operation that would exceed a limit fails: the spawn, the task that grew, the
     * channel, the sender of a signal. */
    uint32_t max_tasks; /* alive at the same time in this process */
    /* the most that a channel holds, and the most signals that a run keeps until a task receives them */
    uint32_t max_queue;
    /* a run whose tasks all wait longer than this leaves memory; 0: a minute */
    int64_t park_after_ms;
    /* records of a run between two snapshots; 0: chosen by the runtime */
    uint32_t snapshot_every;
    /* bytes of one task: its stack and all values that it references */
    size_t max_memory;
    /* bytes kept of each output of a tool and of an HTTP response's body; 0: 1 MiB. At most TFY_MOST_BYTES */
    size_t max_output;
    /* bytes of a file that is read, written or patched; 0: 16 MiB. At most TFY_MOST_BYTES */
    size_t max_file;
    /* print effects write nothing to stdout; they are recorded all the same */
    bool quiet;
    /* PAL events, one JSON object per call; NULL: none */
    void (*on_event)(void *state, const char *json, size_t len);
    /* called instead of writing to stdout; NULL: stdout */
    void (*on_output)(void *state, const char *text, size_t len);
    void *state; /* passed to both functions */
} TfyOptions;

#define TFY_MOST_BYTES ((size_t)256 << 20) /* a record holds such a text whole */

typedef enum TfyTaskState {
    TFY_TASK_CREATED,
    TFY_TASK_READY,
    TFY_TASK_RUNNING,
    TFY_TASK_SLEEPING,
    TFY_TASK_WAITING_IO,
    TFY_TASK_JOINING,
    TFY_TASK_WAITING_EFFECT,
    TFY_TASK_WAITING_APPROVAL,
    TFY_TASK_WAITING_SIGNAL,
    TFY_TASK_WAITING_CHANNEL,
    TFY_TASK_WAITING_LOCK,
    TFY_TASK_COMPLETED = 12, /* finished, from here on */
    TFY_TASK_FAILED,
    TFY_TASK_CANCELLED,
    TFY_TASK_UNKNOWN = 15,
} TfyTaskState;

/* Opens a database for one program, and creates it if it is absent. On failure *loop is NULL and error_text
 * (TFY_ERROR_TEXT bytes; may be NULL) holds one sentence for people. */
int tfy_open(TfyLoop **loop, const TfyProgram *program, const TfyOptions *options, char *error_text);
#define TFY_ERROR_TEXT 512

/* Starts a workflow with a JSON object of arguments (NUL-terminated). *tid receives its root task. The run is
 * durable after the loop's next sync. */
int tfy_submit(TfyLoop *loop, const char *workflow, const char *args_json, int64_t *tid, char *error_text);

typedef struct TfyLoadOptions {
    /* the root directory of its files, canvas and exec; NULL: that of the program that the loop was opened for */
    const char *root;
    /* where the values of its secrets are, as TfyOptions.secrets, and in its place; the text stays valid as long as the loop
     * is open. NULL: as there */
    const char *secrets;
} TfyLoadOptions;

/* Another program whose runs this loop runs: it submits, resumes and wakes them like those of the program that it was
 * opened for. Several versions of a program may be loaded; a recorded run continues with the one whose source it was
 * started with. The program must outlive the loop. Performers and secrets that it uses are prepared at once. options:
 * NULL: all members 0. Returns 0 (also when it is loaded already); TFY_E_INVALID: another version of Tiffany compiled
 * it; TFY_E_STATE: another loaded program has its source, or it is loaded with another root; or another TFY_E_… code,
 * after which it is not loaded. */
int tfy_load(TfyLoop *loop, const TfyProgram *program, const TfyLoadOptions *options, char *error_text);
/* tfy_submit for a workflow of a loaded program. */
int tfy_submit_to(TfyLoop *loop, const TfyProgram *program, const char *workflow, const char *args_json, int64_t *tid,
                  char *error_text);

/* A program in a shared object, which `tfy build --shared` made. It has no runtime of its own: this process gives it the
 * runtime's functions, so it must contain all of libtfy and export its symbols (docs/embedding.md). */
typedef struct TfyShared TfyShared;
/* Opens the object at this path, for tfy_load. Each file is loaded once, a file that took the place of another one under
 * the same path anew. Returns 0; TFY_E_ABSENT: the file cannot be read; TFY_E_INVALID: it is not such an object, or a
 * tfyc of another version or other headers made it, and nothing in it was run; TFY_E_NOMEM. error_text as in tfy_open. */
int tfy_shared_open(TfyShared **shared, const char *path, char *error_text);
const TfyProgram *tfy_shared_program(const TfyShared *shared);
/* After tfy_close of the loops that the program was loaded into. */
void tfy_shared_close(TfyShared *shared);

/* Resumes an unfinished run of this program from its recorded answers; tfy_run then continues it live. run: its
 * uuid, a prefix of one, or "last". *tid receives its root task. TFY_E_ABSENT: there is no such run; TFY_E_STATE:
 * the run has finished, or was started with another program. */
int tfy_resume(TfyLoop *loop, const char *run, int64_t *tid, char *error_text);
int tfy_resume_all(TfyLoop *loop, char *error_text); /* resumes every unfinished run of this program */

/* Runs until every run has finished, or only people and signals can wake the remaining tasks, and returns 0.
 * TFY_E_DEADLOCK: not even they can; tfy_deadlock describes why. Otherwise another TFY_E_… code. */
int tfy_run(TfyLoop *loop);
/* Requests the loop to stop; may be called from a signal handler on any thread. From then on nothing new starts.
 * Running tools have grace_ms to finish, and their results are recorded; sleeps, questions and signals are not
 * waited for. Then tfy_run returns TFY_E_STATE; so does tfy_step, which returns 1 until then. tfy_close closes the
 * remaining runs, which can be resumed. A second request stops the loop at once. */
void tfy_drain(TfyLoop *loop, int64_t grace_ms);
/* Describes the runs whose tasks can only wait for each other: one waiting task per line with its workflow and
 * source line, and the cycle if there is one. NULL: there is no such run. The loop owns the text until the next
 * call or tfy_close. */
const char *tfy_deadlock(TfyLoop *loop);
/* One turn that never blocks: 1 something happened, 0 idle, negative: an error. */
int tfy_step(TfyLoop *loop);
/* Takes turns until idle; a virtual clock jumps to the next deadline. */
int tfy_step_until_idle(TfyLoop *loop);
/* For a host with an event loop of its own, instead of tfy_run. It calls tfy_step, asks for the time, waits until the
 * descriptor is readable or the time is over, and starts again.
 * - tfy_fd: the descriptor. The loop owns it, and it stays the same until tfy_close; the host only waits for it.
 *   TFY_E_STATE: there is none (TFY_POLLER=poll, or a world for tests).
 * - tfy_timeout_ms: how long the host may wait, in milliseconds; 0: not at all; -1: without limit. It is valid until
 *   the next call for this loop. */
int tfy_fd(TfyLoop *loop);
int tfy_timeout_ms(TfyLoop *loop);
TfyTaskState tfy_task_state(TfyLoop *loop, int64_t tid);
/* tfy_task_result: a root task's result as JSON, or NULL. tfy_task_error: the error text of a task that failed, or
 * NULL. The loop owns both until tfy_close. */
const char *tfy_task_result(TfyLoop *loop, int64_t tid);
const char *tfy_task_error(TfyLoop *loop, int64_t tid);
const char *tfy_run_id(TfyLoop *loop, int64_t tid); /* uuid of a root task's run (36 characters), or NULL */

/* Answers a task's question: "yes", "no", an enum case, or the text. TFY_E_STATE: the task has no question. */
int tfy_approve(TfyLoop *loop, int64_t tid, const char *answer);
int tfy_kill(TfyLoop *loop, int64_t tid, bool force);
/* Sends a signal to a run (tid: any of its tasks). The first task that waits for that name, and whose type it fits,
 * receives it; if none waits, the run keeps it. value_json may be NULL: null. TFY_E_INVALID: not JSON; TFY_E_DATA: no
 * wait can take that value, which is not recorded; TFY_E_STATE: the run has finished. The signal is durable after the
 * loop's next sync. */
int tfy_signal(TfyLoop *loop, int64_t tid, const char *name, const char *value_json);
int tfy_close(TfyLoop *loop);

/* ---- several loops, one in each thread, in a database of PostgreSQL (docs/cluster.md) ----
 *
 * A host executes the runs of its program that are in the database, as `tfy worker --threads` does, also those that others start.
 * It has a lease: a process that loses the database, or one of whose loops hangs, is killed by its kernel at the end of it. */
typedef struct TfyHost TfyHost;
typedef struct TfyHostOptions {
    const char *database; /* "postgresql://USER@HOST/NAME", made with `tfy db create` */
    uint32_t threads;     /* 1 to 64; 0: 1 */
    const char *pool;     /* of the runs that it submits and executes; NULL: "default" */
    const char *name;     /* what it is called in records and lists; NULL: "host" */
    /* Of each loop; NULL: all members 0. db_path, hub, stay and served are the host's own, and max_tasks is divided. */
    const TfyOptions *each;
    /* What people should know: runs that are held, a database that is away. From any of its threads. NULL: nobody listens. */
    void (*on_message)(void *state, const char *text);
    void *state;
} TfyHostOptions;

/* Opens a session and its loops, and keeps the program in the database. The program and the strings of `each` must outlive the
 * host. One host per process; it is opened before the process starts a tool otherwise. 0, or a negative code with a sentence, as
 * tfy_open; TFY_E_ABSENT: libpq is missing, or the database has no tables. */
int tfy_host_open(TfyHost **host, const TfyProgram *program, const TfyHostOptions *options, char *error_text);
/* Puts a run into the database, where it is durable when this returns; any host or worker with that program executes it. run:
 * gets its uuid. From any thread; it waits for the database. */
int tfy_host_submit(TfyHost *host, const char *workflow, const char *args_json, char run[37], char *error_text);
/* Executes runs in all threads, of which the caller's is one, until tfy_host_drain: TFY_E_STATE. Another code: the session is
 * lost, and its runs continue elsewhere. At most once, in the thread that opened the host. */
int tfy_host_run(TfyHost *host);
/* As tfy_drain, for all loops; from any thread or a signal handler, before tfy_host_close is called. */
void tfy_host_drain(TfyHost *host, int64_t grace_ms);
/* Waits until a run has ended, for so many milliseconds at most; below 0: without limit. From any thread while tfy_host_run runs
 * in another, or behind it. 0: it has ended: *result_json is its result, which the caller frees, or NULL if it did not complete,
 * and error_text says why. TFY_E_STATE: it has not ended; TFY_E_ABSENT: there is no such run. */
int tfy_host_await(TfyHost *host, const char *run, int64_t most_ms, char **result_json, char *error_text);
/* In the thread that opened it. NULL is ignored. 0, or the code with which tfy_host_run failed. */
int tfy_host_close(TfyHost *host);

/* The main function of a compiled program, with its commands run, resume and replay. Returns the exit status. */
int tfy_main(int argc, char **argv, const TfyProgram *program);

/* Hides the secrets of this process from the processes that it starts: moves TFY_SECRET_* and TFY_LLM_KEY out of
 * the environment, wipes them there, and unless debuggers are wanted makes the process undumpable, so that other
 * processes of the same user cannot read its memory. tfy_main does this. A host calls it first in its own main,
 * before it starts threads, or not at all. */
void tfy_hide_secrets(bool debuggers);

const char *tfy_version(void);

#endif
