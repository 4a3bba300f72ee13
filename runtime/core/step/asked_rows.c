/* asked_rows.c: what stands behind the question of an `approve` policy: rows of words, as the log has them. The first word
 * of a row says what the others are:
 *
 *   ["runs", "rm", "-r", "--", "old logs"]   an argv
 *   ["sandbox", "builds", "readonly"]        in which it runs, and that it cannot write there; ["sandbox"]: in none
 *                                            then "in", "env" and "stdin", if they are given
 *   ["sends", "POST", "https://…"]           then "header" and "body"
 *   ["calls", "notify", "text: \"hello\""]   anything else, with its arguments
 *
 * A secret is written as its name. Only the arguments and the command line decide what the rows say. */
#include <string.h>

#include "base/sha256.h"
#include "core/effect.h"
#include "value/json.h"

/* A longer word is recorded as [HEAD, bytes in all, "sha256 of all", TAIL]. */
enum { WORD_MOST = 64 * 1024, WORD_END = 24 * 1024 };

void tfy__show_word(TfyBuffer *out, const char *bytes, size_t len)
{
    unsigned char digest[TFY_SHA256_SIZE];
    size_t head = WORD_END, tail = len - WORD_END;
    tfy__buffer_char(out, ',');
    if (len <= WORD_MOST) {
        tfy__buffer_json_string(out, bytes, len);
        return;
    }
    while (head && ((unsigned char)bytes[head] & 0xc0) == 0x80) head--;
    while (tail < len && ((unsigned char)bytes[tail] & 0xc0) == 0x80) tail++;
    tfy__sha256(bytes, len, digest);
    tfy__buffer_char(out, '[');
    tfy__buffer_json_string(out, bytes, head);
    tfy__buffer_printf(out, ",%zu,\"", len);
    for (size_t i = 0; i < sizeof digest; i++) tfy__buffer_printf(out, "%02x", digest[i]);
    tfy__buffer_text(out, "\",");
    tfy__buffer_json_string(out, bytes + tail, len - tail);
    tfy__buffer_char(out, ']');
}

void tfy__show_text(TfyBuffer *out, const TfyObj *string)
{
    const TfyString *text = (const TfyString *)string;
    tfy__show_word(out, text->bytes, text->byte_len);
}

void tfy__show_row(TfyBuffer *out, const char *label)
{
    if (out->len && out->data[out->len - 1] == ']') tfy__buffer_char(out, ',');
    tfy__buffer_printf(out, "[\"%s\"", label);
}

void tfy__show_entries(TfyBuffer *out, const char *label, const char *between, const TfyObj *map)
{
    for (int64_t i = 0; map && i < tfy_map_len(map); i++) {
        const TfyString *name = (const TfyString *)tfy_map_key_at(map, i).o;
        const TfyString *value = (const TfyString *)tfy_map_value_at(map, i).o;
        TfyBuffer entry = {0};
        tfy__buffer_add(&entry, name->bytes, name->byte_len);
        tfy__buffer_text(&entry, between);
        tfy__buffer_add(&entry, value->bytes, value->byte_len);
        if (entry.failed) out->failed = out->starved = true;
        tfy__show_row(out, label);
        tfy__show_word(out, entry.failed ? "" : entry.data, entry.len);
        tfy__buffer_char(out, ']');
        tfy__buffer_free(&entry);
    }
}

bool tfy__show_call(TfyTask *task, const TfyAsked *asked, const TfyValue *args, TfyBuffer *out)
{
    (void)task;
    tfy__show_row(out, "calls");
    tfy__show_word(out, asked->name, strlen(asked->name));
    for (uint32_t i = 0; i < asked->param_count; i++) {
        const TfyField *param = &asked->params[i];
        TfyBuffer arg = {0};
        if (param->type->kind == TFY_OPTIONAL && !args[i].o) continue;
        tfy__buffer_printf(&arg, "%s: ", param->name);
        tfy__encode(&arg, param->type, args[i]);
        out->failed |= arg.failed;
        out->starved |= arg.starved;
        tfy__show_word(out, arg.failed ? "" : arg.data, arg.len);
        tfy__buffer_free(&arg);
    }
    tfy__buffer_char(out, ']');
    return true;
}
