/* test_source.c: values as a program writes them, in what a test says of its calls. */
#include "core/loop/test.h"

#include <string.h>

#include "core/loop/state.h"

#define SOURCE_DEPTH 4

static bool write_source(TfyBuffer *out, const TfyType *type, TfyValue value, int depth);

static void write_source_string(TfyBuffer *out, const TfyString *s)
{
    static const char special[] = "\n\t\r\"\\$", letters[] = "ntr\"\\$";
    tfy__buffer_char(out, '"');
    for (uint32_t i = 0; i < s->byte_len; i++) {
        unsigned char c = (unsigned char)s->bytes[i];
        const char *found = c ? strchr(special, c) : NULL;
        if (found) {
            tfy__buffer_char(out, '\\');
            tfy__buffer_char(out, letters[found - special]);
        } else if (c < 0x20 || c == 0x7f) {
            tfy__buffer_printf(out, "\\u{%x}", c);
        } else {
            tfy__buffer_char(out, (char)c);
        }
    }
    tfy__buffer_char(out, '"');
}

static bool write_source_fields(TfyBuffer *out, const TfyField *fields, uint32_t count, const TfyObj *object, int depth)
{
    tfy__buffer_char(out, '(');
    for (uint32_t i = 0; i < count; i++) {
        tfy__buffer_printf(out, "%s%s: ", i ? ", " : "", fields[i].name);
        if (!write_source(out, fields[i].type, tfy_field(object, i), depth)) return false;
    }
    tfy__buffer_char(out, ')');
    return true;
}

static bool write_source_enum(TfyBuffer *out, const TfyType *type, const TfyObj *object, int depth)
{
    const TfyCase *c = &type->cases[tfy_tag(object)];
    tfy__buffer_printf(out, "%s.%s", type->name, c->name);
    return !c->field_count || write_source_fields(out, c->fields, c->field_count, object, depth);
}

static bool write_source_list(TfyBuffer *out, const TfyType *type, const TfyObj *list, int depth)
{
    tfy__buffer_char(out, '[');
    for (int64_t i = 0; i < tfy_list_len(list) && out->len < TFY_TEST_SHOWN_MAX; i++) {
        if (i) tfy__buffer_text(out, ", ");
        if (!write_source(out, type->elem, tfy_list_item(list, i), depth)) return false;
    }
    tfy__buffer_char(out, ']');
    return true;
}

static bool write_source_map(TfyBuffer *out, const TfyType *type, const TfyObj *map, int depth)
{
    bool plain = type->key->kind == TFY_STRING;
    tfy__buffer_char(out, '{');
    for (int64_t i = 0; i < tfy_map_len(map) && out->len < TFY_TEST_SHOWN_MAX; i++) {
        tfy__buffer_text(out, i ? ", " : "");
        tfy__buffer_text(out, plain ? "" : "[");
        write_source(out, type->key, tfy_map_key_at(map, i), depth);
        tfy__buffer_text(out, plain ? ": " : "]: ");
        if (!write_source(out, type->elem, tfy_map_value_at(map, i), depth)) return false;
    }
    tfy__buffer_char(out, '}');
    return true;
}

/* False: the language cannot express it, or it is too long to be written by hand. */
static bool write_source(TfyBuffer *out, const TfyType *type, TfyValue value, int depth)
{
    if (depth > SOURCE_DEPTH || out->len > TFY_TEST_SHOWN_MAX) return false;
    switch (type->kind) {
    case TFY_BOOL:
    case TFY_INT:
    case TFY_FLOAT:
    case TFY_DURATION: return tfy__write_text(out, type, value);
    case TFY_STRING:
        if (((const TfyString *)value.o)->secrets) return false; /* no literal equals it */
        write_source_string(out, (const TfyString *)value.o);
        return true;
    case TFY_OPTIONAL:
        if (!value.o) tfy__buffer_text(out, "null");
        return !value.o || write_source(out, type->elem, type->elem->scalar ? tfy_unbox(value.o) : value, depth);
    case TFY_LIST: return write_source_list(out, type, value.o, depth + 1);
    case TFY_MAP: return write_source_map(out, type, value.o, depth + 1);
    case TFY_ENUM: return write_source_enum(out, type, value.o, depth + 1);
    case TFY_RECORD:
        tfy__buffer_text(out, type->name);
        return write_source_fields(out, type->fields, type->field_count, value.o, depth + 1);
    default: return false;
    }
}

void tfy__test_write_pattern(TfyBuffer *out, const TfyType *type, TfyValue value)
{
    TfyBuffer text = {0};
    bool ok = write_source(&text, type, value, 0) && !text.failed && text.len <= TFY_TEST_SHOWN_MAX;
    tfy__buffer_text(out, ok ? text.data : "_");
    tfy__buffer_free(&text);
}

void tfy__test_write_shown(TfyBuffer *out, const TfyType *type, TfyValue value)
{
    TfyBuffer text = {0};
    if (type->kind == TFY_NOTHING) return;
    if (!write_source(&text, type, value, 0)) {
        tfy__buffer_reset(&text);
        tfy__encode(&text, type, value);
    }
    size_t len = text.len;
    while (len > TFY_TEST_SHOWN_MAX && (len > TFY_TEST_SHOWN_MAX + 4 || ((unsigned char)text.data[len] & 0xc0) == 0x80))
        len--;
    tfy__buffer_add(out, text.data, len);
    if (len < text.len) tfy__buffer_text(out, "…");
    tfy__buffer_free(&text);
}

void tfy__test_write_call(TfyBuffer *out, const char *name, const TfyField *params, uint32_t count,
                          const TfyValue *args, void (*write)(TfyBuffer *, const TfyType *, TfyValue))
{
    while (count && params[count - 1].type->kind == TFY_OPTIONAL && !args[count - 1].o) count--;
    tfy__buffer_printf(out, "%s(", name);
    for (uint32_t i = 0; i < count; i++) {
        if (i) tfy__buffer_text(out, ", ");
        write(out, params[i].type, args[i]);
    }
    tfy__buffer_char(out, ')');
}
