/* encoding.c: bytes and strings, and what both are in other notations: a digest, base64, a part of an address. */
#include <string.h>

#include "base/sha256.h"
#include "base/utf8.h"
#include "value/heap.h"
#include "value/json.h"

static const char hex[] = "0123456789abcdef";

static const TfyString *text_of(const TfyObj *object)
{
    return (const TfyString *)object;
}

/* The buffer as a string, and its end. */
static TfyObj *give_text(TfyTask *task, TfyBuffer *out)
{
    TfyObj *made = NULL;
    if (out->failed)
        tfy__buffer_refused(task, out);
    else
        made = tfy_string_of(task, out->data ? out->data : "", out->len);
    tfy__buffer_free(out);
    return made;
}

TfyObj *tfy_hash(TfyTask *task, const TfyObj *object)
{
    unsigned char digest[TFY_SHA256_SIZE];
    char out[2 * TFY_SHA256_SIZE];
    tfy_charge(task, text_of(object)->byte_len);
    tfy__sha256(text_of(object)->bytes, text_of(object)->byte_len, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        out[2 * i] = hex[digest[i] >> 4];
        out[2 * i + 1] = hex[digest[i] & 15];
    }
    return tfy_string_of(task, out, sizeof out);
}

TfyObj *tfy_base64(TfyTask *task, const TfyObj *object)
{
    TfyBuffer out = {0};
    tfy_charge(task, text_of(object)->byte_len);
    tfy__write_base64(&out, text_of(object)->bytes, text_of(object)->byte_len);
    return give_text(task, &out);
}

static void raise_not_base64(TfyTask *task, uint32_t line)
{
    static const char message[] = "$: expected base64: groups of four of A-Z a-z 0-9 + /, the last one filled with =";
    TfyObj *text = tfy_string_of(task, message, sizeof message - 1), *path = text ? tfy_string_of(task, "$", 1) : NULL;
    if (path) tfy_fail(task, &tfy_type_bad_value, line, (TfyValue[]){tfy_of_obj(text), tfy_of_obj(path)});
}

TfyObj *tfy_from_base64(TfyTask *task, uint32_t line, const TfyObj *object)
{
    const TfyString *text = text_of(object);
    const size_t room = text->byte_len / 4 * 3 + 1;
    char *raw = tfy__alloc(task->heap, room);
    tfy_charge(task, text->byte_len);
    if (!raw) {
        tfy__out_of_memory(task);
        return NULL;
    }
    const int64_t len = tfy__read_base64(raw, text->bytes, text->byte_len);
    TfyObj *made = len < 0 ? NULL : tfy_temp(task, tfy__string_new(task, &tfy_type_bytes, raw, (size_t)len));
    tfy__free(task->heap, raw, room);
    if (len < 0) raise_not_base64(task, line);
    return made;
}

TfyObj *tfy_url_encode(TfyTask *task, const TfyObj *object)
{
    TfyBuffer out = {0};
    const TfyString *text = text_of(object);
    tfy_charge(task, text->byte_len);
    tfy__buffer_url_part(&out, text->bytes, text->byte_len);
    return give_text(task, &out);
}

/* ---- bytes ---- */

TfyObj *tfy_to_bytes(TfyTask *task, const TfyObj *object)
{
    tfy_charge(task, text_of(object)->byte_len);
    return tfy_temp(task, tfy__string_new(task, &tfy_type_bytes, text_of(object)->bytes, text_of(object)->byte_len));
}

TfyObj *tfy_bytes_slice(TfyTask *task, const TfyObj *object, int64_t from, int64_t to)
{
    const TfyString *bytes = text_of(object);
    const int64_t len = bytes->byte_len;
    if (from < 0) from = 0;
    if (to > len) to = len;
    if (from > to) from = to = 0;
    tfy_charge(task, (uint64_t)(to - from));
    return tfy_temp(task, tfy__string_new(task, &tfy_type_bytes, bytes->bytes + from, (size_t)(to - from)));
}

bool tfy_bytes_text(TfyTask *task, const TfyObj *object, TfyObj **out)
{
    const TfyString *bytes = text_of(object);
    tfy_charge(task, bytes->byte_len);
    *out = NULL;
    if (tfy__utf8_broken(bytes->bytes, bytes->byte_len) < bytes->byte_len) return true;
    return (*out = tfy_string_of(task, bytes->bytes, bytes->byte_len)) != NULL;
}
