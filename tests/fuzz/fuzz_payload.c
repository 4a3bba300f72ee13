/* fuzz_payload.c: payloads as anybody may have written them. What is asked of the text and of the tree must say the same, where there is a tree;
 * the tree is what jansson reads; what breaks the rules must be explained; what was read and written again must read as it did. */
#include <stdlib.h>
#include <string.h>

#include "value/json.h"
#include "wal/rows/payload.h"

/* The text's walk takes the first of two equal names, the tree the last; then they may differ. */
static bool same_int(const TfyLogRecord *record, const TfyPayload *payload, TfyMember member)
{
    const json_t *json = tfy__payload_get(payload, member);
    return !json_is_integer(json) || tfy__record_int(record, member) == json_integer_value(json);
}

static void compare(const TfyLogRecord *record, const TfyPayload *payload)
{
    for (int i = 0; i < TFY_P_COUNT; i++) {
        const TfyMember member = (TfyMember)i;
        const char *text = tfy__payload_text(payload, member);
        char *own = tfy__record_text(record, member);
        if (tfy__payload_get(payload, member) && !tfy__record_has(record, member)) abort();
        if (text && own && !strchr(own, '\\') && !tfy__record_is(record, member, own)) abort();
        if (!same_int(record, payload, member)) abort();
        free(own);
    }
}

static bool is_same(const json_t *one, const json_t *other)
{
    const size_t form = JSON_COMPACT | JSON_ENCODE_ANY; /* in the order of reading */
    char *a = json_dumps(one, form), *b = json_dumps(other, form);
    const bool same = json_equal(one, other) && a && b && strcmp(a, b) == 0;
    free(a);
    free(b);
    return same;
}

/* Whether our reader, which sees nothing behind the text, accepts and reads what jansson does. */
static bool is_as_jansson_reads(const char *text, size_t len, size_t flags)
{
    char *own = malloc(len ? len : 1);
    memcpy(own, text, len);
    json_t *json = json_loadb(own, len, flags, NULL), *ours = tfy__json_read(own, len, flags, NULL);
    const bool same = json ? ours && is_same(json, ours) : !ours;
    json_decref(json);
    json_decref(ours);
    free(own);
    return same;
}

/* As it is written by us: compact, each name once. */
static char *written_again(const TfyPayload *payload)
{
    return json_dumps(payload->json, JSON_COMPACT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[160], digest[16] = "0123456789abcdef";
    size_t len;
    if (size < 1) return 0;
    char *payload_text = malloc(size);
    memcpy(payload_text, data + 1, size - 1);
    payload_text[size - 1] = '\0';
    const TfyLogRecord record = {
        .type = (uint8_t)(data[0] % TFY_R_COUNT), .payload = payload_text, .payload_len = (uint32_t)(size - 1)};
    tfy__payload_fault(&record, text, sizeof text);
    tfy__record_end(&record);
    tfy__record_plain_value(&record, "tool", digest, size % 2 ? "c" : NULL, &len);
    TfyPayload payload;
    tfy__payload_open(&payload, &record);
    for (size_t i = 0; i < 8; i++) {
        const size_t flags =
            (i & 1 ? JSON_ALLOW_NUL : 0) | (i & 2 ? JSON_REJECT_DUPLICATES : 0) | (i & 4 ? JSON_DECODE_ANY : 0);
        if (!is_as_jansson_reads(record.payload, record.payload_len, flags)) abort();
    }
    char *again = payload.json ? written_again(&payload) : NULL;
    if (again) {
        const TfyLogRecord other = {.type = record.type, .payload = again, .payload_len = (uint32_t)strlen(again)};
        compare(&other, &payload);
    }
    free(again);
    tfy__payload_close(&payload);
    free(payload_text);
    return 0;
}
