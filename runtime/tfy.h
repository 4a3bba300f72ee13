/* tfy.h: the runtime as a program of your own sees it: open a database, submit runs, answer questions, and give
 * workflows tools, effects and scheduling policies that are C functions. C files behind extern tools include it, too.
 * What compiled workflows are made of is in tfy_program.h, which generated C includes.
 *
 * Values. Every value is one 8-byte word: a scalar, or a reference to an immutable, counted object. Functions that make
 * an object return it borrowed: it is valid until the call of your function has returned. Arguments are borrowed, too.
 * Objects belong to the thread of their loop; a program with several loops uses each of them from its own thread.
 *
 * Errors. Functions of a loop answer 0 or a negative TFY_E_… code. Functions that take a task answer false or NULL
 * after a panic, which is then pending in the task: return false at once. */
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
    /* the log could not be written or read: the process should end with exit status 74 */
    TFY_E_IO = -3,
    TFY_E_HELD = -4, /* another process owns the database: exit status 75 */
    /* the database is not ours, damaged or of a newer version: exit status 65 */
    TFY_E_DATA = -5,
    TFY_E_ABSENT = -6,   /* no such run, task, workflow, tool: exit status 69 */
    TFY_E_DIVERGED = -7, /* the program does not do what the log says it did */
    TFY_E_STATE = -8,    /* not possible now */
    /* tasks are left, and nothing can ever move one of them: exit status 75 */
    TFY_E_DEADLOCK = -9,
    TFY_E_FULL = -10, /* a limit of TfyOptions is reached */
    /* the process that watches over tools was killed, which is as if this one had been: exit status 70 */
    TFY_E_LOST = -11,
};

/* ---- types ---- */

typedef struct TfyType TfyType;
typedef struct TfyTask TfyTask; /* what a tool or effect is called for; opaque here */
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
    /* a listener's or stream's number; it says in which opening of the database it was made */
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
    /* static type of `catch e`; objects carry their own error type */
    TFY_ANY_ERROR,
    TFY_BOX, /* the heap type of an optional scalar */
} TfyKind;

/* A parameter, or a field of a record, error or enum case. */
typedef struct TfyField {
    const char *name;
    const TfyType *type;
    bool (*make)(TfyTask *task, TfyValue *out); /* computes the default, borrowed; NULL: none */
} TfyField;

typedef struct TfyCase {
    const char *name;
    const TfyField *fields;
    uint32_t field_count;
    /* the immortal value of a case without fields; NULL when it has some */
    TfyObj *bare;
} TfyCase;

/* Describes one type. Static data in the runtime or in generated code; encode, decode, print, compare, release and
 * JSON Schema walk it. */
struct TfyType {
    uint8_t kind;           /* TfyKind */
    bool scalar;            /* the word is the value; nothing to release */
    const char *name;       /* as people write it */
    const TfyType *elem;    /* list, map, optional, task, box */
    const TfyType *key;     /* map */
    const TfyField *fields; /* record, error */
    uint32_t field_count;
    const TfyCase *cases; /* enum */
    uint32_t case_count;
};

extern const TfyType tfy_type_nothing, tfy_type_bool, tfy_type_int, tfy_type_float, tfy_type_duration, tfy_type_time,
    tfy_type_string, tfy_type_bytes, tfy_type_json, tfy_type_listener, tfy_type_stream, tfy_type_any_error,
    tfy_type_list_string, tfy_type_optional_string, tfy_type_map_string_string;
/* ExecResult {code: int, out: string, err: string, truncated: bool, lossy: bool}, HttpResponse {status: int,
 * headers: map<string, string>, body: string, truncated: bool, lossy: bool}, Patch {path: string, diff: string} and
 * Match {text: string, start: int, end: int, groups: list<string?>} */
extern const TfyType tfy_type_exec_result, tfy_type_http_response, tfy_type_patch, tfy_type_match;
/* Built-in errors; field 0 is message. Timeout {in_doubt: bool}, ToolError {tool: string, code: int}, TaskFailed
 * {task: string, kind: string}, BadValue {path: string}. Panic and Cancelled are never caught. */
extern const TfyType tfy_type_timeout, tfy_type_tool_error, tfy_type_task_failed, tfy_type_channel_closed,
    tfy_type_bad_value, tfy_type_lost, tfy_type_denied, tfy_type_panic, tfy_type_cancelled;

/* ---- objects ---- */

/* The head of every heap object: 16 bytes, then the body of its kind. */
struct TfyObj {
    uint32_t refs; /* TFY_IMMORTAL: static data, never counted, never freed */
    /* enum: case index; error: source line; otherwise the kind's own use */
    uint32_t aux;
    const TfyType *type;
};
#define TFY_IMMORTAL UINT32_MAX

/* A string, bytes or JSON text. Static literals have the same layout with a sized array. */
typedef struct TfyString {
    TfyObj head;
    uint32_t byte_len;
    uint32_t len; /* code points; bytes: = byte_len */
    /* bytes that fit behind, the closing NUL not counted; literals: = byte_len */
    uint32_t cap;
    /* stretches that stand for a secret; where they are is after the text (value/string.c) */
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

/* ---- values, read and made ---- */

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
/* list<string>; a last empty line is left out; "\r\n" too */
TfyObj *tfy_string_lines(TfyTask *task, TfyObj *s);
bool tfy_string_contains(TfyTask *task, const TfyObj *s, const TfyObj *part);
bool tfy_string_starts_with(const TfyObj *s, const TfyObj *part);
bool tfy_string_ends_with(const TfyObj *s, const TfyObj *part);
bool tfy_string_index_of(TfyTask *task, const TfyType *optional, TfyObj *s, TfyObj *part, TfyObj **out); /* int? */
TfyObj *tfy_string_chars(TfyTask *task, TfyObj *s); /* a string for each code point */
TfyObj *tfy_string_split(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *separator,
                         int64_t parts); /* at most so many; the last one holds the rest */
TfyObj *tfy_string_replace(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *old, TfyObj *with); /* everywhere */
TfyObj *tfy_string_repeat(TfyTask *task, uint32_t line, TfyObj *s, int64_t times);
TfyObj *tfy_string_pad(TfyTask *task, uint32_t line, TfyObj *s, int64_t len, TfyObj *with,
                       bool at_start);                         /* with NULL: blanks */
TfyObj *tfy_string_case(TfyTask *task, TfyObj *s, bool upper); /* by code point, no locale */
/* Regular expressions. A wrong pattern and one that takes too many steps panic. */
bool tfy_string_matches(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *pattern, bool *out);       /* anywhere in s */
bool tfy_string_find_match(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *pattern, TfyObj **out); /* Match? */
TfyObj *tfy_string_find_matches(TfyTask *task, uint32_t line, const TfyType *type, TfyObj *s,
                                TfyObj *pattern); /* list<Match> */
TfyObj *tfy_string_replace_matches(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *pattern,
                                   TfyObj *with); /* all; $0 to $99 are groups, $$ is a $ */
TfyObj *tfy_string_split_matches(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *pattern);
/* A text as int?, float?, time?, duration? or json?; null when it cannot be read as one. */
bool tfy_parse(TfyTask *task, const TfyType *optional, TfyObj *s, TfyObj **out);

TfyObj *tfy_list_of(TfyTask *task, const TfyType *type, uint32_t count, const TfyValue *items);
static inline int64_t tfy_list_len(const TfyObj *list)
{
    return ((const TfyList *)list)->len;
}
static inline TfyValue tfy_list_item(const TfyObj *list, int64_t index) /* the caller knows it is inside */
{
    return ((const TfyList *)list)->items[index];
}
bool tfy_list_get(TfyTask *task, const TfyType *optional, TfyObj *list, int64_t index, TfyObj **out); /* T? */
bool tfy_list_at(TfyTask *task, uint32_t line, TfyObj *list, int64_t index, TfyValue *out); /* panics outside */
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
bool tfy_list_extreme(TfyTask *task, const TfyType *optional, TfyObj *list, int sign,
                      TfyObj **out);                                          /* min -1, max 1: T? */
bool tfy_list_sum(TfyTask *task, uint32_t line, TfyObj *list, TfyValue *out); /* int, float, duration */
TfyObj *tfy_list_reversed(TfyTask *task, TfyObj *list);
TfyObj *tfy_list_sorted(TfyTask *task, TfyObj *list, TfyObj *keys); /* by a list of keys, one for each item; stable */
TfyObj *tfy_list_unique(TfyTask *task, TfyObj *list); /* string, int, bare enum; the first of each stays */

TfyObj *tfy_map_of(TfyTask *task, const TfyType *type, uint32_t count, const TfyValue *keys, const TfyValue *values);
int64_t tfy_map_len(const TfyObj *map);
TfyValue tfy_map_key_at(const TfyObj *map, int64_t position); /* by insertion order; the caller knows it is inside */
TfyValue tfy_map_value_at(const TfyObj *map, int64_t position);
bool tfy_map_get(TfyTask *task, const TfyType *optional, TfyObj *map, TfyValue key, TfyObj **out); /* V? */
bool tfy_map_at(TfyTask *task, uint32_t line, TfyObj *map, TfyValue key, TfyValue *out); /* panics when absent */
TfyObj *tfy_map_with(TfyTask *task, uint32_t line, TfyObj *map, TfyValue key, TfyValue value);
bool tfy_map_contains(TfyTask *task, const TfyObj *map, TfyValue key);
TfyObj *tfy_map_keys(TfyTask *task, const TfyType *list, TfyObj *map);
TfyObj *tfy_map_values(TfyTask *task, const TfyType *list, TfyObj *map);
TfyObj *tfy_map_without(TfyTask *task, TfyObj *map, TfyValue key);
TfyObj *tfy_map_merged(TfyTask *task, uint32_t line, TfyObj *map, TfyObj *other); /* the other's values win */

TfyObj *tfy_record_of(TfyTask *task, const TfyType *type,
                      const TfyValue *fields); /* record or error: type->field_count values */
TfyObj *tfy_enum_of(TfyTask *task, const TfyType *type, uint32_t case_index, const TfyValue *fields);
TfyObj *tfy_box(TfyTask *task, const TfyType *optional, TfyValue scalar); /* a scalar as T? */

bool tfy_equal(const TfyType *type, TfyValue a, TfyValue b);  /* structural; maps ignore order */
int tfy_compare(const TfyType *type, TfyValue a, TfyValue b); /* int, float, string, time, duration: <0, 0, >0 */
TfyObj *tfy_text(TfyTask *task, const TfyType *type, TfyValue value); /* as `${…}` and to_string print it */
TfyObj *tfy_to_json(TfyTask *task, uint32_t line, const TfyType *type, TfyValue value);
bool tfy_json_get(TfyTask *task, uint32_t line, TfyObj *json, TfyObj *path,
                  TfyObj **out); /* json?; JSON's null is null */
bool tfy_json_decode(TfyTask *task, uint32_t line, const TfyType *type, TfyObj *json, TfyObj *path,
                     TfyValue *out);       /* path may be NULL; fails with BadValue */
TfyObj *tfy_json_kind(const TfyObj *json); /* "object", "list", "string", "number", "bool", "null" */

/* ---- tools and effects written in C ---- */

/* For tools and effects written in C: the call fails with ToolError. Always false. tfy_tool_fail says that it was
 * certainly not done. What may have been done says tfy_tool_unknown: a `once` step is then asked about (its probe,
 * else a person) and never silently done again. */
bool tfy_tool_fail(TfyTask *task, int64_t code, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool tfy_tool_unknown(TfyTask *task, int64_t code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Answers the next call of a tool: result_json, or a ToolError when error_text is given. Repeated: answers are used
 * in order. A tool that has been given one answer this way is never performed for real on this loop. */
int tfy_inject(TfyLoop *loop, const char *tool, const char *result_json, const char *error_text);

/* Performs a tool, or a built-in effect such as "exec", by a C function of the embedding program instead: called on
 * the loop's thread with the arguments (borrowed, in declaration order); true: *out is the result, borrowed; false:
 * tfy_tool_fail or tfy_tool_unknown was called (after a panic, such as a result that could not be made, the call
 * counts as unknown). What is recorded, retried and timed stays the scheduler's affair. The last registration of a
 * name counts; call NULL takes it back. Answers given with tfy_inject come first. 0, or TFY_E_NOMEM. */
typedef bool (*TfyEffect)(void *state, TfyTask *task, const TfyValue *args, TfyValue *out);
int tfy_register_effect(TfyLoop *loop, const char *tool, TfyEffect call, void *state);

/* Inside an effect like that or an extern tool: the step waits until a descriptor can be read or written (or its
 * other side has ended), and everybody else continues meanwhile. Return what this answers. When the time has come,
 * `ready` is called on the loop's thread and ends the step as the tool itself would: true and *out, false after
 * tfy_tool_fail, or it waits again. When the step is cancelled or its time is up, stop(state) is called instead
 * (NULL: nothing is done). The descriptor stays the caller's. */
enum { TFY_WAIT_READ = 1, TFY_WAIT_WRITE = 2 };
typedef bool (*TfyReady)(void *state, TfyTask *task, TfyValue *out);
bool tfy_wait_fd(TfyTask *task, int fd, unsigned events, TfyReady ready, void (*stop)(void *state), void *state);

/* ---- who runs next ---- */

/* A task that has become ready, as a policy sees it. */
typedef struct TfyReadyTask {
    uint32_t slot;    /* names it until it has been popped */
    int32_t priority; /* of `spawn f() with (priority: N)`; 0 */
    /* tasks that wait for its end: by join, or `with (after: …)` */
    uint32_t awaited;
    int64_t tid;
    uint64_t seq; /* in the order of becoming ready, ascending */
} TfyReadyTask;

/* A policy: a queue of ready tasks. It decides only in which order live tasks continue; what a run does is recorded
 * and replayed the same under every policy. To let no task starve, let tasks age. */
typedef struct TfyScheduling {
    const char *name;
    void *(*open)(void);                                  /* NULL: no memory */
    bool (*push)(void *queue, const TfyReadyTask *ready); /* false: no memory; the loop stops */
    uint32_t (*pop)(void *queue);                         /* a slot; called only while there is one */
    void (*close)(void *queue);
} TfyScheduling;

/* From now on this policy decides; what is ready goes over to it. NULL: fifo. The table must outlive the loop. 0, or
 * TFY_E_NOMEM. */
int tfy_register_policy(TfyLoop *loop, const TfyScheduling *policy);

/* ---- embedding ---- */

/* core/world.h: clock, allocator, poller, files, processes; NULL: the real one */
typedef struct TfyWorld TfyWorld;

/* A world for tests: time starts at wall_ms and moves only by jumping to the next deadline, random numbers follow
 * from the seed, and effects are not performed but answered with tfy_inject (extern tools are called). NULL: no
 * memory. Free it after tfy_close. */
TfyWorld *tfy_world_virtual(int64_t wall_ms, uint64_t seed);
void tfy_world_free(TfyWorld *world);

typedef struct TfyOptions {
    /* links in it are followed; "" and ":memory:" name no file; NULL: a log in memory */
    const char *db_path;
    /* … that keeps nothing and cannot be read back: to measure what tasks alone cost */
    bool forget;
    const TfyWorld *world; /* NULL: the real world */
    /* working root for files, canvas and exec; NULL: the current directory */
    const char *root;
    /* tfy_resume: a run that worked in another directory goes on in root, and the log says so; else it is refused */
    bool move_root;
    /* NULL: from the environment; "cassette:FILE", "record:FILE" */
    const char *llm;
    /* a file of NAME=value lines; what is not in it comes from TFY_SECRET_NAME in the environment; NULL: none */
    const char *secrets;
    /* --yes: every approval is answered yes, and says so in the log */
    bool approve_all;
    /* tfy_run waits for people too, instead of returning when only they can move what is left */
    bool wait_people;
    /* log lines are JSON objects, and the runtime's own are among them, from info on */
    bool log_json;
    /* "info", or "warn,effect=debug": what is logged; NULL: what the program says, from info on */
    const char *log_level;
    /* who of the ready tasks runs next: "fifo" (also NULL), "priority", "deps" */
    const char *policy;
    /* Limits; 0: none. What would go beyond one fails alone: the spawn, the task that grew, the channel, the sender
     * of a signal. */
    uint32_t max_tasks; /* alive at once in this process */
    /* room of a channel; signals that a run keeps until a task takes them */
    uint32_t max_queue;
    /* a run whose tasks all wait longer than that leaves memory; 0: a minute */
    int64_t park_after_ms;
    /* records of a run from one snapshot to the next; 0: as many as is good */
    uint32_t snapshot_every;
    /* bytes of one task: its stack and all values it refers to */
    size_t max_memory;
    /* print effects write nothing to stdout (they are recorded all the same) */
    bool quiet;
    void (*on_event)(void *state, const char *json, size_t len);  /* PAL events, one JSON object each; NULL: none */
    void (*on_output)(void *state, const char *text, size_t len); /* instead of stdout; NULL: stdout */
    void *state;                                                  /* for the two above */
} TfyOptions;

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
    TFY_TASK_COMPLETED = 12, /* from here on: ended */
    TFY_TASK_FAILED,
    TFY_TASK_CANCELLED,
    TFY_TASK_UNKNOWN = 15,
} TfyTaskState;

/* Opens a database (creating it) for one program. On failure *loop is NULL and error_text (TFY_ERROR_TEXT bytes, may
 * be NULL) has one sentence for people. */
int tfy_open(TfyLoop **loop, const TfyProgram *program, const TfyOptions *options, char *error_text);
#define TFY_ERROR_TEXT 512

/* Starts a workflow with a JSON object of arguments (NUL-terminated). *tid gets its root task. Durable when the loop
 * next syncs. */
int tfy_submit(TfyLoop *loop, const char *workflow, const char *args_json, int64_t *tid, char *error_text);

/* Resumes an unfinished run of this program from its recorded answers; tfy_run then continues live. run: its uuid,
 * the beginning of one, or "last". *tid gets its root task. TFY_E_ABSENT: there is none; TFY_E_STATE: it has ended,
 * or started with another program. */
int tfy_resume(TfyLoop *loop, const char *run, int64_t *tid, char *error_text);
int tfy_resume_all(TfyLoop *loop, char *error_text); /* every unfinished run of this program */

/* Until every run ended, or only people and signals can move what is left: 0. TFY_E_DEADLOCK: not even they can,
 * tfy_deadlock says why. Else another TFY_E_…. */
int tfy_run(TfyLoop *loop);
/* Asks the loop to stop, from any thread's signal handler too. Nothing starts any more; tools under way have
 * grace_ms to finish, and their results are recorded; then tfy_run returns TFY_E_STATE, as tfy_step does, which
 * answers 1 until then. What is left is closed by tfy_close and can be resumed. Sleeps, questions and signals are
 * not waited for. Asked a second time, it stops at once. */
void tfy_drain(TfyLoop *loop, int64_t grace_ms);
/* Who waits for whom in the runs whose tasks can only wait for each other, one task a line with its workflow and
 * source line, and a circle if there is one; NULL: there is no such run. Owned by the loop until the next call or
 * tfy_close. */
const char *tfy_deadlock(TfyLoop *loop);
/* one turn, never blocks: 1 something happened, 0 idle, negative error */
int tfy_step(TfyLoop *loop);
/* turns until idle; a virtual clock jumps to the next deadline */
int tfy_step_until_idle(TfyLoop *loop);
TfyTaskState tfy_task_state(TfyLoop *loop, int64_t tid);
/* The root task's result as JSON (owned by the loop until close), or NULL; and the error text of a task that failed. */
const char *tfy_task_result(TfyLoop *loop, int64_t tid);
const char *tfy_task_error(TfyLoop *loop, int64_t tid);
const char *tfy_run_id(TfyLoop *loop, int64_t tid); /* uuid of a root task's run (36 characters), or NULL */

/* Answers a task's question: "yes", "no", an enum case, or the text. TFY_E_STATE: nothing is asked. */
int tfy_approve(TfyLoop *loop, int64_t tid, const char *answer);
int tfy_kill(TfyLoop *loop, int64_t tid, bool force);
/* Sends a signal to a run (tid: any of its tasks): the first task that waits for that name takes it, else it is
 * kept. value_json may be NULL: null. TFY_E_INVALID: not JSON; TFY_E_STATE: the run has ended. Durable when the loop
 * next syncs. */
int tfy_signal(TfyLoop *loop, int64_t tid, const char *name, const char *value_json);
int tfy_close(TfyLoop *loop);

/* The main function of a compiled program: run, resume, replay. Returns the exit status. */
int tfy_main(int argc, char **argv, const TfyProgram *program);

/* Hides what this process knows from those it starts: moves TFY_SECRET_* and TFY_LLM_KEY out of the environment,
 * wipes them there, and unless debuggers are wanted makes the process undumpable, so that others of the same user
 * cannot read its memory. tfy_main does this; a host calls it first of all in its own main, before there are threads,
 * or not at all. */
void tfy_hide_secrets(bool debuggers);

const char *tfy_version(void);

#endif
