/* told.c: see told.h. */
#include "effects/told.h"

#include "effects/known.h"

void tfy__told_string(TfyBuffer *out, const char *bytes, size_t len)
{
    TfyBuffer masked = {0};
    if (tfy__known_mask(bytes, len, false, &masked)) {
        out->failed |= masked.failed;
        bytes = masked.failed ? "" : masked.data;
        len = masked.failed ? 0 : masked.len;
    }
    tfy__buffer_json_string(out, bytes, len);
    tfy__buffer_free(&masked);
}

static void add(TfyBuffer *out, const TfyObj *string)
{
    const TfyString *text = (const TfyString *)string;
    tfy__told_string(out, text->bytes, text->byte_len);
}

static void begin(TfyBuffer *out, const char *name)
{
    tfy__buffer_printf(out, "%s\"%s\":", out->len ? "," : "", name);
}

void tfy__told_text(TfyBuffer *out, const char *name, const TfyObj *text)
{
    if (!text) return;
    begin(out, name);
    add(out, text);
}

static void add_all(TfyBuffer *out, const char *name, const TfyObj *of, int64_t count,
                    TfyValue (*at)(const TfyObj *of, int64_t i))
{
    begin(out, name);
    tfy__buffer_char(out, '[');
    for (int64_t i = 0; i < count; i++) {
        if (i) tfy__buffer_char(out, ',');
        add(out, at(of, i).o);
    }
    tfy__buffer_char(out, ']');
}

void tfy__told_texts(TfyBuffer *out, const char *name, const TfyObj *list)
{
    if (list) add_all(out, name, list, tfy_list_len(list), tfy_list_item);
}

void tfy__told_names(TfyBuffer *out, const char *name, const TfyObj *map)
{
    if (map) add_all(out, name, map, tfy_map_len(map), tfy_map_key_at);
}
