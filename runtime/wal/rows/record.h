/* record.h: the rows of the log: their types, their payloads, and the chain that reveals a changed byte.
 *
 * A record is one row of table wal: (lsn, tid, prev, v, ts, type, step, point, payload, chain). lsn is dense and
 * ascending over the whole file; prev is the lsn of the same task's previous record (a child's first prev is the
 * TaskSpawn in its parent's chain; 0: none). tid 0 is the database itself (Opened, ShutdownMarker). The payload is
 * one JSON object, on one line, because exports are lines:
 *
 *   Opened            {"epoch", "pid", "version"}
 *   InstructionStart  {"run", "tid", "path": "1", "workflow", "args": {…}, "seed": "hex16", "fuel": N, "max_memory"?,
 *                     "max_queue"?, "fork_of"?: […], "root"?: {"path", "dev", "ino", "born"?},
 *                     "id"?, "prompts"?: "digest", "ceiling"?: {"sandbox"?, "network"?, "grants"?, "runners"?: true, "level"?},
 *                     "yolo"?: true, "by"?, "via"?: {"how"}, "labels"?: {name: text}, "program_name"?,
 *                     "priority"?, "concurrency"?, "per_key"?, "queued"?: true}
 *                       the first record of a root task; fork_of: wal/history/fork.h; root: wal/log/root.h; id:
 *                       wal/log/run_id.h; prompts: the run keeps no Texts; ceiling: how far its tools may go; yolo:
 *                       every approval is answered with yes; by, via: who started it at a server, and how
 *   TaskSpawn         {"tid", "path", "workflow", "args": {…}, "body"?, "detached"?}
 *                       in the parent's chain; body: of parallel or race
 *                     {"full": N, "workflow", "args": {…}}   refused: N tasks were alive
 *   StepStart         {"tool", "args": {…}, "attempt", "key", "call"?}   once tools
 *                     {"tool": "approve" | "ask", "question", "details"?, "id", "type", "digest", "call"?}
 *                       for a person; type: "bool", "string", [cases] or a form (value/form.h)
 *                     {…, "call": [["runs", WORD, …], …], "origins"?: [[NAME, TEXT], …]}   of the policy `approve`: what
 *                       is asked about, and where the untrusted values in it come from
 *                     {"tool": "signal", "name"}   waits for a signal
 *                       call: the id of the model's call that the step carries out; a step without StepStart has it in
 *                       its result, behind `digest`
 *   ToolResult        {"tool", "digest": "hex16", "value": …}
 *                     or {…, "outcome"?: "unknown" | "not done", "error": {…}}
 *   LLMPlan           {"tool", "digest", "model", "prompt_tokens", "completion_tokens", "finish_reason", "ms",
 *                      "answer"}
 *                     or {…, "error": {…}}. "calls"?: [{"id", "tool", "args"}, …], of an agent;
 *                     "opaque"?: {"from": entry, "items": […]}, its provider's own;
 *                     "files"?: [[path, kind, "hex32", bytes], …]; "tries": HTTP requests sent, if not 1;
 *                     "refusal": why there is no answer
 *                     "after"?: step, "texts"?: [[role, "hex16"], …]
 *                       what was sent, by the digests of Texts: the messages of this task's newest earlier LLMPlan of
 *                       step `after`, then these; neither: only `request`, the digest of the whole, is known
 *   PatchPreview      {"tool": "preview", "digest", "value": {"path", "diff"}}
 *   Commit            {"tool": "commit", "digest", "value": "SHA", "message", "key", "paths"?: […]}
 *                       paths: what the run had written, below its root, and the commit settles
 *   TaskYield         {"due": ms, "why": "sleep" | "timeout" | "deadline"}
 *                     {"due", "why": "busy", "tries", "lost"?}   an endpoint asks to wait, or the connection to it broke
 *                       (lost): the attempt starts again then
 *   TimerFired        {}, or {"scope": N, "passages"} when the call or deadline with number N of its task has timed out
 *   Woke              {"name", "seq"}: received the run's signal of this number
 *   JoinResult        {"path", "value": …} or {"path", "error": {…}}
 *                     Of groups; the TaskExit records of their bodies hold the values:
 *                     {"group": "parallel", "path"?, "error"?: {…}}   path: of the body that failed
 *                     {"group": "race", "path", "index", "error"?: {…}}
 *                     {"group": "room", "value": bool}, {"group": "abandon"}
 *   ChannelSend       {"obj", "seq", "value": …} when there is room; {"obj", "error": {…}}
 *                       obj: "MAKER/N", the maker's path and the number of the channel among its channels
 *   ChannelRecv       {"obj", "seq"}, {"obj", "closed": true} or {"obj", "error": {…}}
 *   ChannelClose      {"obj"}
 *   LockGranted       {"name", "permits"} or {"name", "permits", "error": {…}}
 *   LockReleased      {"name"}
 *   Value             {"now": ms}; {"save": table, "row": {…}}: a row added to that table in the same commit (saved.h)
 *   Approval          {"id", "digest", "answer": …, "by", "via"?, "grant"?}; grant: for the sandbox of a tool under way, and the
 *                       record is of no step
 *   Output            {"to": "stdout" | "log" | "pal", "text", "level"?, "stage"?, "done"?, "total"?}
 *   Retry             {"attempt", "error": {…}, "due": ms}
 *   InDoubt           {"tool", "key", "why", "error"?: {…}}
 *   Resolved          {"how": "done" | "retry" | "fail", "value"?: …, "by", "via"?}
 *   Signal            {"name", "value", "id"?, "by", "via"?, "passages"?} in the root's chain: it was sent to the run
 *                     {"name": "kill", "force": bool, "why", "by", "via"?, "passages"?, "in_slice"?}
 *                       in_slice: a task killed itself. via, of these and the two above: as in InstructionStart
 *   TaskCancel        {"passages", "why", "force"?}
 *   Undo              {"of": point} before the block runs; {"error": {…}} if it failed
 *   Snapshot          the run's whole state, in the root's chain; docs/log-format.md
 *   TaskExit          {"value": …}
 *   TaskAbort         {"error": {…}, "line"} or {"cancelled": true}
 *   TaskComplete      {"ok": bool, "value"?, "error"?}   a run's end, in its root task's chain
 *   ShutdownMarker    {"why": "interrupted"}
 *                     {"why": "deadlock", "graph": text}   in the root's chain of a run in which nothing can proceed
 *   Compacted         {"why": "dropped" | "archived" | "compacted", "runs": [uuid, …]}
 *                       an action of retention, in the database's own chain (gc.h)
 *   Moved             {"from": "hex32", "to"}   hashes of programs, in the root's chain (move.h)
 *                     {"root": {…}}             the directory in which the run continues (root.h)
 *                     {"ceiling"?, "yolo"?}     as in InstructionStart, since a resume was given something else; both are
 *                       whole, and yolo says so of all the run's processes up to here
 *
 *   Text              {"digest": "hex16", "text"}
 *                     {"digest": "hex16", "text", "of": "hex16", "at": N}   the first N bytes of Text `of`, then `text`
 *                       a text that was sent to a model, in the root's chain: before the first LLMPlan that names it,
 *                       in the same commit; digest: XXH3-64 of the whole text, as it is recorded
 *
 *   LLMRequest        {"tool", "request", "entry"?, "reserve": {"tokens", "cost"}}   under a budget, before the request
 *                     {"tool", "day": "2026-11-25", "spent": {"tokens", "cost", "calls"}}   in the database's own chain
 *                       what that day (UTC) has come to, with this
 *
 *   McpRound          {"tool", "digest", "server", "requests": {NAME: {…}}, "state"?}
 *                       an MCP server wants to know more before it goes on with a call; the questions, StepStarts of the
 *                       effect ask, and their Approvals follow. state: the server's own, sent back with the answers
 *   McpTask           {"tool", "digest", "server", "task", "ttl_ms"?, "poll_ms"?}
 *                       it has made a task of the call, which is asked for its end
 *
 *   Admin             {"what": "token" | "revoke" | "config", "name"?, "value"?: …, "by", "via"}
 *                       what was done to a server, in the database's own chain; name: of the token
 *
 *   Claimed           {"session", "worker"?, "claims"}
 *                       in a shared database, in the root's chain: a session owns the run from here on, as the claims-th one
 *
 *   Secret            {"name", "tool", "task", "step"}
 *                       the value of secret(name) was given to a tool, in the root's chain; task: its path
 *
 * An error is {"error": "StepFailed", "message": "…", fields…, "line": N}, N counted over all files of the program.
 * "passages" counts the points passed since the task's previous record, so that an arrival from outside is delivered
 * at the same place again. */
#ifndef WAL_ROWS_RECORD_H
#define WAL_ROWS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum TfyRecordType {
    /* The first eight are ADR-0006's. Numbers are stored: never change or reuse one. */
    TFY_R_INSTRUCTION_START = 1,
    TFY_R_LLM_PLAN,
    TFY_R_STEP_START,
    TFY_R_TOOL_RESULT,
    TFY_R_PATCH_PREVIEW,
    TFY_R_COMMIT,
    TFY_R_TASK_COMPLETE,
    TFY_R_SHUTDOWN_MARKER,
    TFY_R_OPENED,
    TFY_R_TASK_SPAWN,
    TFY_R_TASK_EXIT,
    TFY_R_TASK_ABORT,
    TFY_R_TASK_CANCEL,
    TFY_R_TASK_YIELD,
    TFY_R_TIMER_FIRED,
    TFY_R_JOIN_RESULT,
    TFY_R_VALUE,
    TFY_R_CHANNEL_SEND,
    TFY_R_CHANNEL_RECV,
    TFY_R_CHANNEL_CLOSE,
    TFY_R_LOCK_GRANTED,
    TFY_R_LOCK_RELEASED,
    TFY_R_APPROVAL,
    TFY_R_SIGNAL,
    TFY_R_WOKE,
    TFY_R_TASK_WAIT_IO,
    TFY_R_IO_READY,
    TFY_R_OUTPUT,
    TFY_R_RETRY,
    TFY_R_IN_DOUBT,
    TFY_R_RESOLVED,
    TFY_R_UNDO,
    TFY_R_SNAPSHOT,
    TFY_R_COMPACTED,
    TFY_R_MOVED,
    TFY_R_LLM_REQUEST,
    TFY_R_MCP_ROUND,
    TFY_R_MCP_TASK,
    TFY_R_ADMIN,
    TFY_R_CLAIMED,
    TFY_R_TEXT,
    TFY_R_SECRET,
    TFY_R_COUNT
} TfyRecordType;

#define TFY_RECORD_V 1 /* version of the payload formats above */

/* A record as read or appended. payload is NUL-terminated and owned by the holder of the record. */
typedef struct TfyRecord_ {
    int64_t run; /* row id of its run, 0 of nobody's; a file does not keep it, and reads 0 */
    int64_t lsn;
    int64_t tid;
    int64_t prev;
    int64_t ts_ms;  /* wall clock, milliseconds since 1970 */
    int64_t step;   /* the task's step counter; 0: none */
    uint32_t point; /* TfyPoint.number; 0: none */
    uint8_t v;
    uint8_t type; /* TfyRecordType */
    uint32_t payload_len;
    const char *payload;
    uint64_t chain; /* hash of this record and all earlier ones of its task */
} TfyLogRecord;

/* The key of a step, unless the program supplies one: "RUN/PATH/STEP", that is its run's uuid, its task's path and
 * its number. A text that is too long for a key keeps its start and gets a hash, so that keys stay distinct. */
#define TFY_KEY_SIZE 160 /* bytes, with the NUL */
void tfy__record_key(const char *uuid, const char *path, int64_t step, char key[TFY_KEY_SIZE]);
void tfy__record_key_fit(const char *text, size_t len, char key[TFY_KEY_SIZE]);

/* Whether the record concerns the whole run: it is in the root's chain and is not a task's step. */
bool tfy__record_is_nobodys(const TfyLogRecord *record);
/* A person let a tool have more than its sandbox allows. */
bool tfy__record_is_grant(const TfyLogRecord *record);
/* A resume was given other options: how far tools may go, or that approvals are answered. */
bool tfy__record_is_options(const TfyLogRecord *record);

/* Whether the record is a signal for the run. Other records of type Signal are kills. */
bool tfy__record_is_run_signal(const TfyLogRecord *record);

/* Whether it is one of these: it is in the root's chain and says nothing about the root's own progress. */
bool tfy__record_is_apart(const TfyLogRecord *record);

/* Whether a step made it. Other records come from outside, end their task, or concern the whole run. */
bool tfy__record_is_of_step(const TfyLogRecord *record);

/* Whether it spawned a task; a refused spawn did not. */
bool tfy__record_spawns(const TfyLogRecord *record);

/* The workflow of the task that this record started ("?" if the record does not name it); malloc'ed. NULL: out of
 * memory. */
char *tfy__record_workflow(const TfyLogRecord *birth);

bool tfy__record_type_known(int type);       /* false also for numbers that are only reserved */
const char *tfy__record_type_name(int type); /* "ToolResult"; "?" for an unknown number */
int tfy__record_type_of(const char *name);   /* 0: unknown */

/* The chain's first link: XXH3-64 over the run's uuid (16 bytes) and the task's path. tid 0: uuid all zero, path "". */
uint64_t tfy__chain_seed(const uint8_t uuid[16], const char *path);

/* The next link: XXH3-64 over previous, step, v, ts, type, point, payload; no lsn, so that import and fork keep it. */
uint64_t tfy__chain_next(uint64_t previous, const TfyLogRecord *record);

/* A record of which only the payload is known, for its readers; NULL: "{}". The text is borrowed. */
TfyLogRecord tfy__record_of_payload(const char *payload);

void tfy__uuid_text(const uint8_t uuid[16], char out[37]);
/* 32 hexadecimal digits, small ones, with or without the dashes of a UUID, and nothing else. False, for NULL too: text has
 * something else. */
bool tfy__uuid_read(const char *text, uint8_t uuid[16]);

#endif
