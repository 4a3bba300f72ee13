/* record.c: names of record types and the chain over a task's records. */
#include "wal/rows/record.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include <jansson.h>

#include "wal/rows/payload.h"

static const char *const names[TFY_R_COUNT] = {
    [TFY_R_INSTRUCTION_START] = "InstructionStart",
    [TFY_R_LLM_PLAN] = "LLMPlan",
    [TFY_R_STEP_START] = "StepStart",
    [TFY_R_TOOL_RESULT] = "ToolResult",
    [TFY_R_PATCH_PREVIEW] = "PatchPreview",
    [TFY_R_COMMIT] = "Commit",
    [TFY_R_TASK_COMPLETE] = "TaskComplete",
    [TFY_R_SHUTDOWN_MARKER] = "ShutdownMarker",
    [TFY_R_OPENED] = "Opened",
    [TFY_R_TASK_SPAWN] = "TaskSpawn",
    [TFY_R_TASK_EXIT] = "TaskExit",
    [TFY_R_TASK_ABORT] = "TaskAbort",
    [TFY_R_TASK_CANCEL] = "TaskCancel",
    [TFY_R_TASK_YIELD] = "TaskYield",
    [TFY_R_TIMER_FIRED] = "TimerFired",
    [TFY_R_JOIN_RESULT] = "JoinResult",
    [TFY_R_VALUE] = "Value",
    [TFY_R_CHANNEL_SEND] = "ChannelSend",
    [TFY_R_CHANNEL_RECV] = "ChannelRecv",
    [TFY_R_CHANNEL_CLOSE] = "ChannelClose",
    [TFY_R_LOCK_GRANTED] = "LockGranted",
    [TFY_R_LOCK_RELEASED] = "LockReleased",
    [TFY_R_APPROVAL] = "Approval",
    [TFY_R_SIGNAL] = "Signal",
    [TFY_R_WOKE] = "Woke",
    [TFY_R_TASK_WAIT_IO] = "TaskWaitIO",
    [TFY_R_IO_READY] = "IOReady",
    [TFY_R_OUTPUT] = "Output",
    [TFY_R_RETRY] = "Retry",
    [TFY_R_IN_DOUBT] = "InDoubt",
    [TFY_R_RESOLVED] = "Resolved",
    [TFY_R_UNDO] = "Undo",
    [TFY_R_SNAPSHOT] = "Snapshot",
    [TFY_R_COMPACTED] = "Compacted",
    [TFY_R_MOVED] = "Moved",
    [TFY_R_LLM_REQUEST] = "LLMRequest",
    [TFY_R_MCP_ROUND] = "McpRound",
    [TFY_R_MCP_TASK] = "McpTask",
    [TFY_R_ADMIN] = "Admin",
    [TFY_R_CLAIMED] = "Claimed",
    [TFY_R_TEXT] = "Text",
    [TFY_R_SECRET] = "Secret",
};

char *tfy__record_workflow(const TfyLogRecord *birth)
{
    char *name = tfy__record_text(birth, TFY_P_WORKFLOW);
    return name ? name : strdup("?");
}

bool tfy__record_type_known(int type)
{
    return type > 0 && type < TFY_R_COUNT && names[type];
}

const char *tfy__record_type_name(int type)
{
    return tfy__record_type_known(type) ? names[type] : "?";
}

int tfy__record_type_of(const char *name)
{
    for (int type = 1; type < TFY_R_COUNT; type++) {
        if (names[type] && strcmp(names[type], name) == 0) return type;
    }
    return 0;
}

bool tfy__record_is_grant(const TfyLogRecord *record)
{
    return record->type == TFY_R_APPROVAL && tfy__record_has(record, TFY_P_GRANT);
}

bool tfy__record_is_options(const TfyLogRecord *record)
{
    return record->type == TFY_R_MOVED &&
           (tfy__record_has(record, TFY_P_CEILING) || tfy__record_has(record, TFY_P_YOLO));
}

bool tfy__record_is_nobodys(const TfyLogRecord *record)
{
    return record->type == TFY_R_SNAPSHOT || record->type == TFY_R_MOVED || record->type == TFY_R_COMPACTED ||
           record->type == TFY_R_SHUTDOWN_MARKER || record->type == TFY_R_TEXT || record->type == TFY_R_SECRET ||
           record->type == TFY_R_CLAIMED || tfy__record_is_grant(record);
}

bool tfy__record_is_run_signal(const TfyLogRecord *record)
{
    return record->type == TFY_R_SIGNAL && tfy__record_has(record, TFY_P_VALUE);
}

bool tfy__record_is_apart(const TfyLogRecord *record)
{
    return tfy__record_is_nobodys(record) || tfy__record_is_run_signal(record);
}

bool tfy__record_is_of_step(const TfyLogRecord *record)
{
    if (tfy__record_is_nobodys(record)) return false;
    switch (record->type) {
    case TFY_R_SIGNAL:
    case TFY_R_TASK_CANCEL:
    case TFY_R_TASK_EXIT:
    case TFY_R_TASK_ABORT:
    case TFY_R_TASK_COMPLETE: return false;
    case TFY_R_TIMER_FIRED:
        return !tfy__record_has(record, TFY_P_SCOPE); /* otherwise a call or deadline has timed out */
    default: return true;
    }
}

bool tfy__record_spawns(const TfyLogRecord *record)
{
    return record->type == TFY_R_TASK_SPAWN && !tfy__record_has(record, TFY_P_FULL);
}

uint64_t tfy__chain_seed(const uint8_t uuid[16], const char *path)
{
    return XXH3_64bits_withSeed(path, strlen(path), XXH3_64bits(uuid, 16));
}

void tfy__record_key_fit(const char *text, size_t len, char key[TFY_KEY_SIZE])
{
    const size_t kept = len < TFY_KEY_SIZE ? len : TFY_KEY_SIZE - 18;
    memcpy(key, text, kept);
    key[kept] = '\0';
    if (kept < len) snprintf(key + kept, 18, "~%016llx", (unsigned long long)XXH3_64bits(text, len));
}

void tfy__record_key(const char *uuid, const char *path, int64_t step, char key[TFY_KEY_SIZE])
{
    char text[1024]; /* a path has fewer than 512 bytes */
    const int len = snprintf(text, sizeof text, "%s/%s/%lld", uuid, path, (long long)step);
    tfy__record_key_fit(text, len < (int)sizeof text ? (size_t)len : sizeof text - 1, key);
}

static uint8_t *put_le(uint8_t *at, uint64_t word, size_t size)
{
    const uint64_t little = htole64(word);
    memcpy(at, &little, size); /* the first bytes are the least significant */
    return at + size;
}

/* The columns in little endian, so that a file is valid on every machine; their hash seeds the payload's. */
uint64_t tfy__chain_next(uint64_t previous, const TfyLogRecord *record)
{
    uint8_t columns[38], *at = columns;
    at = put_le(at, previous, 8);
    at = put_le(at, (uint64_t)record->step, 8);
    at = put_le(at, (uint64_t)record->ts_ms, 8);
    at = put_le(at, record->payload_len, 8);
    at = put_le(at, record->point, 4);
    at = put_le(at, record->v, 1);
    at = put_le(at, record->type, 1);
    return XXH3_64bits_withSeed(record->payload, record->payload_len, XXH3_64bits(columns, sizeof columns));
}

TfyLogRecord tfy__record_of_payload(const char *payload)
{
    if (!payload) payload = "{}";
    return (TfyLogRecord){.payload = payload, .payload_len = (uint32_t)strlen(payload)};
}

void tfy__uuid_text(const uint8_t uuid[16], char out[37])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *out++ = '-';
        *out++ = digits[uuid[i] >> 4];
        *out++ = digits[uuid[i] & 15];
    }
    *out = '\0';
}

bool tfy__uuid_read(const char *text, uint8_t uuid[16])
{
    static const char hex[] = "0123456789abcdef";
    int digits = 0;
    for (; text && *text && digits < 32; text++) {
        const char *digit = strchr(hex, *text);
        if (*text == '-' && digits) continue;
        if (!digit) return false;
        uuid[digits / 2] = (uint8_t)(digits % 2 ? uuid[digits / 2] | (digit - hex) : (digit - hex) << 4);
        digits++;
    }
    return text && !*text && digits == 32;
}
