/* tfy_program.h: the interface between compiled workflows and the runtime: fuel, effects, undo, tests, and the compiled
 * program itself. Generated C includes it, and so does the runtime; programs that embed the runtime need only tfy.h.
 * Tasks, frames and values are in tfy_task.h. */
#ifndef TFY_PROGRAM_H
#define TFY_PROGRAM_H

#include "tfy_task.h"

/* ---- fuel ---- */

#define TFY_FUEL_SLICE 10000
/* At a loop head: charges one unit; true if the slice is spent (a workflow then stops with TFY_SPENT, a fn calls
 * tfy_fn_fuel). */
static inline bool tfy_spend(TfyTask *task)
{
    return --task->fuel < 0;
}
/* built-ins charge one unit per 64 bytes or items moved */
static inline void tfy_charge(TfyTask *task, uint64_t size)
{
    task->fuel -= size > 64 ? (size > (1u << 24) ? 1 << 18 : (int32_t)(size >> 6)) : 0;
}
/* refills the slice from the fn's budget; false: panic, the fn ran too long */
bool tfy_fn_fuel(TfyTask *task, uint32_t line);
bool tfy_fn_enter(TfyTask *task, uint32_t line); /* false: panic, nested too deep */
/* One turn of an inlined function; false: panic, it ran too long. */
static inline bool tfy_inline_turn(TfyTask *task, uint32_t line)
{
    return !tfy_spend(task) || tfy_fn_fuel(task, line);
}
static inline void tfy_fn_leave(TfyTask *task)
{
    TfyHeap *heap = task->heap;
    if (--heap->fn_depth == 0 && heap->fn_spent) {
        heap->fn_spent = false;
        task->fuel = 0;
    }
}

/* ---- effects, as generated code requests them ---- */

typedef enum TfyRepeat { TFY_ONCE, TFY_IDEMPOTENT, TFY_PURE } TfyRepeat;

/* The performer that does the work. They close in this order: MCP's servers before the processes of tools. */
/* clang-format off */
typedef enum TfyFamily {
    TFY_F_SLEEP, TFY_F_SLEEP_UNTIL, TFY_F_JOIN, TFY_F_APPROVE, TFY_F_MCP, TFY_F_EXEC, TFY_F_EXTERN, TFY_F_READ_FILE,
    TFY_F_WRITE_FILE, TFY_F_PREVIEW, TFY_F_APPLY, TFY_F_COMMIT, TFY_F_HTTP, TFY_F_LLM, TFY_F_PROMPT, TFY_F_ASK,
    TFY_F_SIGNAL, TFY_F_LISTEN, TFY_F_ACCEPT, TFY_F_CONNECT, TFY_F_STDIN, TFY_F_READABLE, TFY_F_WRITABLE, TFY_F_READ,
    TFY_F_READ_LINE, TFY_F_WRITE, TFY_F_ADDRESS, TFY_F_SEND, TFY_F_RECV, TFY_F_LOCK, TFY_F_PARALLEL, TFY_F_RACE,
    TFY_F_ROOM, TFY_F_ABANDON, TFY_F_READ_BYTES, TFY_F_WRITE_BYTES, TFY_F_LIST_FILES,
    TFY_F_EXISTS, TFY_F_REMOVE_FILE, TFY_F_MAKE_DIR, TFY_F_ENV, TFY_F_ZONE, TFY_F_PREVIEW_EDIT, TFY_F_PREVIEW_DIFF,
    TFY_F_CODE_MAP, TFY_F_CODE_SYMBOLS, TFY_F_CODE_OUTLINE, TFY_F_CODE_REFERENCES,
    TFY_F_LAND, TFY_F_COUNT
} TfyFamily;
/* clang-format on */

/* What the process of a tool may reach. Constant, as the program wrote it down; the command line can only narrow it,
 * and add what it names. */
typedef enum TfySandboxRoot { TFY_ROOT_WORKSPACE, TFY_ROOT_READONLY, TFY_ROOT_OPEN } TfySandboxRoot;
typedef enum TfySandboxNetwork { TFY_NETWORK_NONE, TFY_NETWORK_ANY, TFY_NETWORK_LIST } TfySandboxNetwork;

typedef struct TfySandbox {
    const char *name; /* as the program calls it: "builds" */
    uint8_t root;     /* TfySandboxRoot: written, only read, or no sandbox at all */
    uint8_t network;  /* TfySandboxNetwork */
    /* Lists that NULL ends; a NULL list is empty. Paths are absolute, "~/…", or below the root, without ".", ".." and a
     * slash at the end. */
    const char *const *reads, *const *writes;
    const char *const *hosts;  /* TFY_NETWORK_LIST: "host:port", "*.host:port" */
    const char *const *runner; /* words before the tool's argv; {root} and {cwd} are filled in */
    /* bytes: of all its processes, of one file, kept of each output; 0: the runtime's own */
    uint64_t memory, files, output;
    uint64_t processes; /* at a time; 0: the runtime's own */
    int64_t cpu_ms;     /* of one process; 0: unlimited */
} TfySandbox;

struct TfyMcpLogins;
extern const struct TfyMcpLogins tfy__mcp_logins;

/* An MCP server, as a program declares it. The functions are as those of TfyTool, without arguments. */
typedef struct TfyMcpServer {
    const char *name; /* "docs" */
    const char *file; /* the program's file that declares it */
    bool (*argv)(TfyTask *task, const TfyValue *args, TfyValue *out); /* list<string>; NULL: it is at an address: */
    bool (*url)(TfyTask *task, const TfyValue *args, TfyValue *out);  /* string */
    /* map<string, string>?: of its process, or the headers of each request; NULL: none */
    bool (*env)(TfyTask *task, const TfyValue *args, TfyValue *out);
    bool (*cwd)(TfyTask *task, const TfyValue *args, TfyValue *out); /* string?; NULL: the root */
    const struct TfyMcpLogins *logins; /* what people's logins are to one at an address; NULL: it is a process */
} TfyMcpServer;

/* A tool of such a server. */
typedef struct TfyMcpTool {
    const TfyMcpServer *server;
    const char *name;         /* as the server calls it */
    const char *const *names; /* … and the parameters, in their order; NULL ends the list */
    uint64_t schema, doc;     /* digests of its schemas and its description (base/tool_digest.h) */
    bool whole;               /* it gives all of its result, a McpResult */
} TfyMcpTool;

/* A target of `yield`: a built-in effect, a tool or a prompt. Static data. */
/* What a prompt that is an agent offers to its model: the cases of its enum NAME.Call, the last of which, `answer`,
 * ends the work. */
typedef struct TfyAgent {
    const TfyType *calls;
    const bool *reads; /* by case: changes nothing, so it may run beside its neighbours */
    int64_t most;      /* tokens of an answer */
} TfyAgent;

typedef struct TfyTool {
    const char *name; /* "run_tests", "exec" */
    uint8_t family;   /* TfyFamily */
    uint8_t repeat;   /* TfyRepeat */
    const TfyField *params;
    uint32_t param_count;
    /* parameters at the end that logs of older runtimes do not know: encoded only from the first that is given */
    uint32_t added;
    const TfyType *result;        /* tfy_type_nothing if it gives no value */
    const struct TfyTool *effect; /* for tests: the built-in effect that this is a form of; NULL: none */
    const struct TfyForms *forms; /* of an `ask` that is answered with a record (value/form.h); else NULL */
    const char *doc;
    /* exec tools: computes the argv (list<string>) from the arguments. http tools: the request line in pieces,
     * text and values in turn. prompts: the texts. Results are borrowed; false after a panic. */
    bool (*argv)(TfyTask *task, const TfyValue *args, TfyValue *out);
    /* exec tools: the parts after the argv: stdin and cwd (string?), env (map<string, string>?). http tools: input
     * is the body, env the headers. A NULL function: not given. */
    bool (*input)(TfyTask *task, const TfyValue *args, TfyValue *out);
    bool (*cwd)(TfyTask *task, const TfyValue *args, TfyValue *out);
    bool (*env)(TfyTask *task, const TfyValue *args, TfyValue *out);
    bool (*model)(TfyTask *task, const TfyValue *args, TfyValue *out);  /* string; NULL function: "default" */
    bool (*system)(TfyTask *task, const TfyValue *args, TfyValue *out); /* string; may be NULL */
    bool (*user)(TfyTask *task, const TfyValue *args, TfyValue *out);   /* string */
    bool (*files)(TfyTask *task, const TfyValue *args, TfyValue *out);  /* list<string>: paths; may be NULL */
    const struct TfySending *sends; /* &tfy__sending, of prompts with files (effects/llm_files.h); else NULL */
    const TfyAgent *agent; /* NAME.next of an agent: args are {chat, last, …}, the result a turn (effects/llm_turn.c) */
    bool compacts; /* NAME.compact of that agent: args are {chat, first, …}, the result a summary of what is older */
    int64_t asks;  /* prompts: attempts after an answer that cannot be decoded */
    uint32_t limit, rate; /* uses at a time, and uses within rate_ms; 0: unlimited */
    int64_t rate_ms;
    /* extern tools: the C function behind an adapter. It returns true with the result in *out (borrowed), or false
     * after tfy_tool_fail. */
    bool (*call)(TfyTask *task, const TfyValue *args, TfyValue *out);
    const struct TfyTool *probe; /* once tools: the tool that reports whether a step was done */
    const TfySandbox *sandbox;   /* exec tools, and those of servers: the one that is named; NULL: the program's */
    const TfyMcpTool *mcp;       /* tools of MCP servers; else NULL */
    /* of such tools: the server takes a call that is made again under its key for the same one, so that a once step whose
     * end is not known is begun again */
    bool keyed;
} TfyTool;

extern const struct TfySending tfy__sending;

/* What an agent's loop does with a conversation that becomes too long for its model (value/thread_short.c); first: the
 * number of the message that started the work. */
/* In tokens: those that the model counted in all messages before `from`, and a third of the bytes of the others; tokens
 * -1: they were not counted. */
int64_t tfy_thread_size(const TfyObj *thread, int64_t from, int64_t tokens);
/* How many messages a summary would take the place of. */
bool tfy_thread_older(TfyTask *task, uint32_t line, const TfyObj *thread, int64_t first, int64_t *out);
/* Without the long results of older rounds; and with a summary in the place of all that is older: then the message that
 * started the work is the first. Borrowed; NULL: a panic. */
TfyObj *tfy_thread_cleared(TfyTask *task, uint32_t line, TfyObj *thread, int64_t first);
TfyObj *tfy_thread_summarised(TfyTask *task, uint32_t line, TfyObj *thread, int64_t first, TfyObj *text);
/* What the model did last: its text, and the calls that it made. */
TfyObj *tfy_thread_last(TfyTask *task, TfyObj *thread);

/* In tests: the turn in which a model makes these calls, a list of the agent's enum. Borrowed; NULL: a panic. */
TfyObj *tfy_turn_of(TfyTask *task, const TfyTool *next, TfyObj *calls);

/* The built-in effects. The language guide lists their arguments; an optional argument that is absent is a NULL
 * object.
 *   sleep(ms), sleep_until(time), join(task), approve(question, details?), exec(argv, stdin?, cwd?, env?),
 *   http(method, url, headers?, body?), read_file(path, lossy?), write_file(path, text),
 *   read_bytes(path), write_bytes(path, data), list_files(glob), exists(path), remove_file(path),
 *   make_dir(path), code_map(focus?, tokens?), code_symbols(query, limit?), code_outline(path),
 *   code_references(name, limit?), env(name), zone(name), preview(path, new_text),
 *   preview_edit(path, changes), preview_diff(diff), apply(patch), commit(message), land(message, how?),
 *   llm(prompt, model?, system?), ask(question), signal(name), listen(address), accept(listener),
 *   connect(address), stdin(), readable(handle), writable(stream), read(stream, most?),
 *   read_line(stream, longest?), write(stream, text),
 *   address(handle).
 * lock(name, permits) also serves semaphore(name, n); tfy_unlock releases what it grants. send and recv have no
 * tool here: generated code makes one per type of message, {channel, value} and {channel}. */
extern const TfyTool tfy_effect_sleep, tfy_effect_sleep_until, tfy_effect_join, tfy_effect_approve, tfy_effect_exec,
    tfy_effect_http, tfy_effect_http_idempotent, tfy_effect_http_pure, tfy_effect_read_file, tfy_effect_write_file,
    tfy_effect_read_bytes, tfy_effect_write_bytes, tfy_effect_list_files, tfy_effect_exists, tfy_effect_remove_file,
    tfy_effect_make_dir, tfy_effect_code_map, tfy_effect_code_symbols, tfy_effect_code_outline,
    tfy_effect_code_references, tfy_effect_env, tfy_effect_zone, tfy_effect_preview, tfy_effect_preview_edit,
    tfy_effect_preview_diff, tfy_effect_apply, tfy_effect_commit, tfy_effect_land, tfy_effect_llm, tfy_effect_ask,
    tfy_effect_signal, tfy_effect_lock, tfy_effect_listen, tfy_effect_accept, tfy_effect_connect, tfy_effect_stdin, tfy_effect_readable,
    tfy_effect_writable, tfy_effect_read, tfy_effect_read_line, tfy_effect_write, tfy_effect_address;
/* The policy `approve`: approve(question, details?) with the call behind them, whose arguments follow the two. */
extern const TfyTool tfy_effect_approve_call, tfy_effect_ask_form;
/* Of http: a place with limits has a tool of its own. */
extern const TfyField tfy_http_params[4];

/* The effects that wait for the bodies of parallel and race. Their first argument is the list of handles that
 * tfy_branch made (NULL: none). Each leaves one JoinResult.
 * - parallel(handles): all bodies have finished well: a record or list of their values in order, without those of
 *   bodies that have no value (TFY_NOTHING: none has one). As soon as one has failed, in the order of the log: its
 *   error.
 * - race(handles): the first body to finish: case i of the enum with its value, or its error.
 * - room(handles, limit): true once fewer than limit of them run; false as soon as one has failed.
 * - abandon(handles): cancels those that still run, and finishes when all have. Generated code defers cancellation
 *   meanwhile. */
extern const TfyTool tfy_effect_parallel, tfy_effect_race, tfy_effect_room, tfy_effect_abandon;

/* Performs a family's effects in the real world (core/effect.h). A program names the performers that it uses, so
 * that it is linked with nothing else: without http and models there is no libcurl in it. */
typedef struct TfyPerformer TfyPerformer;
extern const TfyPerformer tfy__perform_exec, tfy__perform_http, tfy__perform_extern, tfy__perform_read_file,
    tfy__perform_write_file, tfy__perform_read_bytes, tfy__perform_write_bytes, tfy__perform_list_files,
    tfy__perform_exists, tfy__perform_remove_file, tfy__perform_make_dir, tfy__perform_code_map, tfy__perform_code_symbols,
    tfy__perform_code_outline, tfy__perform_code_references, tfy__perform_env, tfy__perform_zone,
    tfy__perform_preview, tfy__perform_preview_edit, tfy__perform_preview_diff, tfy__perform_apply, tfy__perform_commit,
    tfy__perform_land, tfy__perform_mcp, tfy__perform_llm, /* llm also performs prompts */
    tfy__perform_net;                    /* all effects on descriptors */
extern const TfyType tfy_type_handles;   /* list of tasks */

/* One place in the source that requests an effect. Static data. */
typedef struct TfySite {
    const TfyPoint *point;
    const TfyTool *tool;
    const TfyType *result; /* what the place needs: the tool's result, join's T, an enum */
    /* `retry N on A | B`: the errors after which it is tried again, then NULL. NULL: those of tfy_retriable */
    const TfyType *const *retry_on;
    const struct TfyAsked *asked; /* of the policy `approve`; else NULL */
} TfySite;

/* The call that the policy `approve` asks about. Static data. */
struct TfyBuffer;
typedef struct TfyAsked {
    const char *name;    /* of what is called */
    const TfyTool *tool; /* exec and http tools; else NULL */
    const TfyField *params;
    uint32_t param_count;
    /* where the untrusted values come from that reach the call, as JSON: [["name", "from the prompt 'plan', line 10"]].
     * NULL: only trusted ones do */
    const char *origins;
    /* Writes what the call would do, as rows (core/effect.h), from the arguments and the sandbox that would hold. A replay
     * takes what was recorded. False: task->error is set. */
    bool (*show)(TfyTask *task, const struct TfyAsked *asked, const TfyValue *args, struct TfyBuffer *out);
    const struct TfyAsking *by; /* &tfy__asking: the rest, for programs that ask (observe/asked.h) */
} TfyAsked;
extern const struct TfyAsking tfy__asking;
const char *tfy__yolo_refused(const char *root, const char *sandbox);
bool tfy__show_call(TfyTask *task, const TfyAsked *asked, const TfyValue *args, struct TfyBuffer *out);
bool tfy__show_exec(TfyTask *task, const TfyAsked *asked, const TfyValue *args, struct TfyBuffer *out);
bool tfy__show_http(TfyTask *task, const TfyAsked *asked, const TfyValue *args, struct TfyBuffer *out);

/* The policies written at a yield; a NULL pointer: none. */
typedef struct TfyPolicy {
    int64_t retry;      /* attempts after the first */
    int64_t backoff_ms; /* before the second attempt; doubles, at most 60 s */
    int64_t timeout_ms; /* of one attempt; TFY_NEVER: none */
    TfyObj *key;        /* string or NULL: the key given in the source */
} TfyPolicy;
#define TFY_NEVER INT64_MAX

/* Requests an effect. The frame's pc must already name the resume point. Returns TFY_WAIT, TFY_AGAIN or TFY_STOP;
 * at the resume point, task->error or task->result (owned) holds the answer. Arguments are borrowed and kept as
 * long as needed. */
TfyStatus tfy_perform(TfyTask *task, const TfySite *site, const TfyValue *args, const TfyPolicy *policy);
/* The same for a call that a model made: its record has the call's id, a string. */
TfyStatus tfy_perform_call(TfyTask *task, const TfySite *site, const TfyValue *args, const TfyPolicy *policy,
                           TfyObj *id);

/* Removes the answer; the caller owns it. */
static inline TfyValue tfy_take(TfyTask *task)
{
    TfyValue value = task->result;
    task->result.o = NULL;
    return value;
}
/* Releases an answer of an object type unread. */
void tfy_discard(TfyTask *task, const TfyType *type);

/* Pushes a frame for a nested workflow and returns its slots, zeroed. The caller stores the (kept) arguments in
 * the first of them and returns TFY_CALL at once. timeout_ms bounds the call (TFY_NEVER: no bound). Records name
 * the call by `point`. Returns NULL after a panic (too deep, no memory); the caller then still owns the arguments.
 * The caller's pc must be set before. */
TfyValue *tfy_push(TfyTask *task, const TfyWorkflow *workflow, const TfyPoint *point, int64_t timeout_ms);

/* The same for a call without a bound and with at most two arguments. They are owned and move to the callee (0: it
 * has fewer). The workflow returns what this function returns. After a panic that is TFY_AGAIN: the caller
 * continues at its point and finds task->error there. */
TfyStatus tfy_call(TfyTask *task, const void *frame, const TfyWorkflow *workflow, TfyValue first, TfyValue second);
enum { TFY_CALL_ARGS = 2 };

/* The running frame at its present address: even a push that failed may have moved the stack. */
static inline void *tfy_frame(const TfyTask *task)
{
    return task->stack + task->top;
}

/* Between two attempts of a nested workflow (`retry N backoff D`): records the attempt and waits for the backoff.
 * pc must be set. Consumes the pending error. attempt counts from 1. */
TfyStatus tfy_backoff(TfyTask *task, const TfySite *site, int64_t attempt, int64_t backoff_ms);

/* Effects that do not suspend. false: task->error is set or the task is halted. */
bool tfy_spawn(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args, int64_t *out);
/* Spawns a task that neither delays the end of its spawner's frame nor is cancelled with it. */
bool tfy_spawn_detached(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args,
                        int64_t *out);
/* Spawns a task whose handle is unused: nothing is kept of it once it has finished well. */
bool tfy_spawn_unheld(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args);
bool tfy_spawn_detached_unheld(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args);
/* `spawn f() with (priority: P, after: [a, b])`: the child starts when the tasks of the handles have finished,
 * whatever their outcome. */
bool tfy_spawn_with(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args,
                    int64_t priority, const TfyValue *after, int64_t after_count, bool detached, int64_t *out);
/* A body of parallel or race: a child whose failure is its group's to handle. Its handle is appended to the owned
 * list at *handles (NULL: starts a list). Undo entries that are left at its normal end move to the parent's frame. */
bool tfy_branch(TfyTask *task, const TfyPoint *point, const TfyWorkflow *workflow, const TfyValue *args,
                TfyObj **handles);
bool tfy_kill_task(TfyTask *task, const TfyPoint *point, int64_t handle);
/* A channel with room for `capacity` messages (below 1: panic); it lives as long as its run. Nothing is recorded:
 * its number follows from the program. */
bool tfy_channel(TfyTask *task, uint32_t line, int64_t capacity, int64_t *out);
bool tfy_channel_close(TfyTask *task, const TfyPoint *point, int64_t channel); /* closing twice is allowed */
/* Closes a listener or stream once everything recorded so far is durable; the program sees it closed at once. A
 * handle that is already closed or lost is allowed. Nothing is recorded. */
bool tfy_close_descriptor(TfyTask *task, int64_t handle);
/* Releases one permit of a lock or semaphore; the task must hold one. */
bool tfy_unlock(TfyTask *task, const TfyPoint *point, TfyObj *name);
/* `with deadline(d)`: from here to tfy_deadline_end the running frame has `ms` milliseconds; then a cancellation
 * with this scope as its target is delivered. *out: the scope's number. tfy_deadline_end is called on every way
 * out; if the pending error is that cancellation, it becomes Timeout. */
bool tfy_deadline_begin(TfyTask *task, const TfyPoint *point, int64_t ms, int64_t *out);
void tfy_deadline_end(TfyTask *task, uint32_t line, int64_t scope);
/* A person's no to the question of an `approve` policy: raises Denied, with the reason that came with it. */
void tfy_denied(TfyTask *task, uint32_t line, TfyObj *callee);
/* `with budget(tokens: …, cost: …, calls: …)`: from here to tfy_budget_end, called on every way out, the task and what
 * it starts ask no model for more than that. given: which of the three are. Panics unless each is above 0. */
enum { TFY_BUDGET_TOKENS = 1, TFY_BUDGET_COST = 2, TFY_BUDGET_CALLS = 4 };
bool tfy_budget_begin(TfyTask *task, uint32_t line, int64_t given, int64_t tokens, double cost, int64_t calls);
void tfy_budget_end(TfyTask *task);
bool tfy_self(TfyTask *task, TfyObj **out); /* borrowed */
bool tfy_now(TfyTask *task, const TfyPoint *point, int64_t *out);
bool tfy_random(TfyTask *task, double *out);
/* Both bounds are included; panics if from > to. */
bool tfy_random_int(TfyTask *task, uint32_t line, int64_t from, int64_t to, int64_t *out);
bool tfy_uuid(TfyTask *task, TfyObj **out);
bool tfy_print(TfyTask *task, const TfyPoint *point, TfyObj *text);
bool tfy_log(TfyTask *task, const TfyPoint *point, TfyObj *text, TfyObj *level); /* level: string or NULL */
bool tfy_emit(TfyTask *task, const TfyPoint *point, TfyObj *stage, TfyObj *text);
/* Says how far the task is. text: string or NULL. A total below 1 is unknown. */
bool tfy_progress(TfyTask *task, const TfyPoint *point, int64_t done, int64_t total, TfyObj *text);
/* Saves a row of the application's table, in the commit of its record. type: the record's type. */
bool tfy_save(TfyTask *task, const TfyPoint *point, TfyObj *table, const TfyType *type, TfyObj *record);

/* ---- undo ----
 *
 * A task keeps a list of undo entries; each belongs to a frame. An entry is a compiled workflow (the block after
 * `undo`) with its captures as arguments. If the block uses the step's own answer, that is its last parameter, an
 * optional that is null until tfy_undo_done.
 *   - tfy_undo_push: before the step's point, in the same slice. Arguments are kept.
 *   - tfy_undo_done: with the step's answer (borrowed; an object of the optional type, scalars boxed).
 *   - tfy_undo_failed: after the step raised an error. Drops the entry if the step certainly was not done: after
 *     any error but Timeout and cancellation, and after those too if a once step had no StepStart. Keeps it if an
 *     attempt before a retry is unknown.
 *   - tfy_undo_height: the number of entries of the running frame. Blocks read it when they start.
 *   - tfy_undo: removes the newest entry of the running frame, records Undo, pushes the block's frame and returns
 *     TFY_CALL (TFY_WAIT: halted; TFY_AGAIN: the block could not start, and task->error says why). The frame's pc
 *     must be set; the frame continues at that resume point. The caller must have removed the pending error, and
 *     deferred cancellation (frame->mask).
 *   - tfy_undo_lost: at that resume point if the block failed. Records the failure and clears the error; the
 *     remaining entries still run.
 * A frame that finishes normally drops its entries; a body of parallel or race hands them to its parent's frame. A
 * task killed with --force drops them all. */
bool tfy_undo_push(TfyTask *task, const TfyPoint *point, const TfyWorkflow *block, const TfyValue *args);
void tfy_undo_done(TfyTask *task, TfyObj *answer);
void tfy_undo_failed(TfyTask *task);
int64_t tfy_undo_height(const TfyTask *task);
TfyStatus tfy_undo(TfyTask *task, const TfyPoint *point);
bool tfy_undo_lost(TfyTask *task, const TfyPoint *point);

/* ---- tests ----
 *
 * A mock replaces a tool or an effect, or a workflow (exactly one of the two is given). pattern has a letter per
 * parameter: '_' matches any value, '=' one that equals the argument. type and answer: its result; fails: answer
 * is an error, which is raised instead. The answer takes after_ms; TFY_NEVER: it never comes. */
bool tfy_mock(TfyTask *task, uint32_t line, const TfyTool *tool, const TfyWorkflow *workflow, const char *pattern,
              const TfyValue *args, const TfyType *type, TfyValue answer, bool fails, int64_t after_ms);
/* How often the tool or workflow has been called in this test. */
bool tfy_calls(TfyTask *task, uint32_t line, const TfyTool *tool, const TfyWorkflow *workflow, int64_t *out);
/* the lines printed so far, without a newline after the last */
bool tfy_output(TfyTask *task, TfyObj **out);

/* Test builds (-DTFY_POISON): the content of a dead slot. */
#define TFY_POISON_WORD 0xdededededededede

/* ---- building blocks of generated code ---- */

#define TFY__UNUSED __attribute__((unused))

/* A string literal: the layout of TfyString with a sized array. */
#define TFY__LITERAL(NAME, BYTES, POINTS, TEXT)                                                                        \
    static TFY__UNUSED const struct {                                                                                  \
        TfyObj head;                                                                                                   \
        uint32_t byte_len, len, cap, secrets;                                                                          \
        char bytes[(BYTES) + 1];                                                                                       \
    } NAME = {{TFY_IMMORTAL, 0, &tfy_type_string}, BYTES, POINTS, BYTES, 0, TEXT}

/* Did the effect or call that a frame waited for raise an error? Usually not. */
static inline bool tfy__raised(const TfyTask *task)
{
    return TFY__RARELY(task->error != NULL);
}

/* A frame's pc is always one of its points. */
#ifdef TFY_POISON
#define TFY__NO_POINT TFY__TRAP()
#else
#define TFY__NO_POINT TFY__NEVER()
#endif

/* Returned by a part of a long workflow when another part continues. */
#define TFY__GO ((TfyStatus)-1)

/* Releases the slots that a map of the frame marks with 'o'. */
static inline void tfy__release(TfyTask *task, void *frame, const char *map)
{
    TfyValue *slots = (TfyValue *)((TfyFrame *)frame + 1);
    for (uint32_t slot = 0; map[slot]; slot++)
        if (map[slot] == 'o') tfy_clear(task, &slots[slot].o);
}

/* Test builds: when a frame continues, every slot that is not live at its point is filled: with a pattern
 * (scalars), or with an object that breaks any code that reads it but may be released (map: 'o'). A dead object
 * slot must be empty before; if it is not, a reference leaked. */
#ifdef TFY_POISON
static inline void tfy__poison(void *place, const char *map)
{
    static const TfyObj dead = {TFY_IMMORTAL, 0, NULL};
    TfyFrame *frame = place;
    TfyValue *slots = (TfyValue *)(frame + 1);
    const TfyPoint *point = frame->pc ? frame->workflow->resume[frame->pc - 1] : NULL;
    for (uint32_t slot = 0, live = 0; point && map[slot]; slot++) {
        if (live < point->live_count && point->live[live].slot == slot) {
            live++;
            continue;
        }
        if (map[slot] == 'o' && slots[slot].o && slots[slot].o->type) TFY__TRAP();
        slots[slot] = map[slot] == 'o' ? tfy_of_obj((TfyObj *)&dead) : tfy_of_int((int64_t)TFY_POISON_WORD);
    }
}
#else
#define tfy__poison(PLACE, MAP) (void)0
#endif

/* ---- in a shared object ----
 *
 * What tfy_shared_open looks for. The note is read before the object is loaded, so that nothing of a program is used
 * that another tfyc or other headers made; its form never changes. A function behind an extern tool is TFY__WITHIN the
 * object: the linker refuses an object without it, unless the object is made to be read alone. */
#ifndef TFY__WITHIN
#define TFY__WITHIN __attribute__((visibility("hidden")))
#endif
#define TFY__NOTE_OWNER "Tiffany"
#define TFY__NOTE_TYPE  1
#define TFY__SHARED(PROGRAM, VERSION, INTERFACE)                                                                       \
    __attribute__((section(".note.tfy"), used, aligned(4))) static const struct {                                      \
        uint32_t owner_size, size, type;                                                                               \
        char owner[sizeof TFY__NOTE_OWNER], says[sizeof VERSION + sizeof INTERFACE];                                   \
    } tfyg_note = {sizeof TFY__NOTE_OWNER, sizeof VERSION + sizeof INTERFACE, TFY__NOTE_TYPE, TFY__NOTE_OWNER,         \
                   VERSION "\0" INTERFACE};                                                                            \
    extern const TfyProgram *const tfy_program;                                                                        \
    __attribute__((visibility("default"))) const TfyProgram *const tfy_program = &PROGRAM;

/* ---- a compiled program ---- */

/* One file of a program. Lines are counted over all files in order, so that a line number also identifies its
 * file. */
typedef struct TfyModule {
    const char *file;    /* as messages name it */
    uint32_t first_line; /* the number of its first line */
} TfyModule;

/* What `tfy replay --step` needs in a program. */
typedef struct TfyDebugger TfyDebugger;
extern const TfyDebugger tfy__debugger;

/* What `tfy test` needs in a program. */
typedef struct TfyTester TfyTester;
extern const TfyTester tfy__tester;

struct TfyProgram {
    const char *name;   /* the main file's name */
    const char *source; /* text of all its modules, as stored in the log */
    const char *layout; /* JSON: points and frames, as stored in the log */
    uint64_t hash[2];   /* XXH3-128 of the source and the compiler's version */
    const char *tfyc;   /* the version of tfyc that compiled it */
    const TfyWorkflow *const *workflows;
    uint32_t workflow_count;
    const TfyTool *const *tools; /* the tools and prompts it declares */
    uint32_t tool_count;
    const TfyPoint *const *points; /* points[n - 1] has number n */
    uint32_t point_count;
    uint32_t main;                   /* the workflow that runs by default; UINT32_MAX: none */
    const TfyModule *modules;        /* the files of a program that has several, the main one first */
    uint32_t module_count;           /* 0: the program is one file */
    const TfyWorkflow *const *tests; /* compiled with --tests; a test has its workflow's name */
    uint32_t test_count;
    /* The tables that snapshots refer to; all NULL: the program cannot have snapshots. */
    const TfyWorkflow *const
        /* workflows, undo blocks, bodies of parallel and race, and tests, as in the layout */
        *routines;
    uint32_t routine_count;
    const TfySite *const *sites;  /* sites[n - 1]: what point n requests; NULL: nothing */
    const TfyType *const *errors; /* the errors it declares */
    uint32_t error_count;
    const TfyPerformer *const *performers; /* by family, TFY_F_COUNT places; NULL: not needed */
    /* where --yolo is refused, and what to do: "as root: …"; NULL: nowhere. A NULL function: the program asks for no
     * approval. sandbox: the ceiling, or NULL */
    const char *(*yolo_refused)(const char *root, const char *sandbox);
    /* compiled with --debug: marks know their variables, and variables live to the end of their scope */
    bool debug;
    bool saves;                  /* it writes rows of its own */
    const TfyDebugger *debugger; /* compiled with --debug or --steps; NULL: it cannot be stepped through */
    const TfyTester *tester;     /* compiled with --tests; NULL: it has no tests */
    const TfySandbox *sandbox;   /* of exec() and of tools that name none; NULL: `workspace` */
    const char *const *secrets;  /* the names of those that it can use; NULL ends the list; NULL: none */
};

#endif
