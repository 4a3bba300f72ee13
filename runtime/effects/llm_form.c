/* llm_form.c: what the wire forms share. */
#include "effects/llm_form.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "value/json.h"

enum { CALL_DEPTH = 2 }; /* levels of a list of calls around the arguments of one */
/* tokens; a larger count is not meant, and a sum of such ones is no overflow */
static const int64_t COUNT_MOST = INT64_C(1000000000000);

const TfyLlmForm *tfy__llm_form_named(const char *api)
{
    static const TfyLlmForm *const forms[] = {&tfy__llm_chat, &tfy__llm_messages, &tfy__llm_responses};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i]->api, api) == 0) return forms[i];
    return NULL;
}

static json_t *args_of(const json_t *given)
{
    if (!given || (json_is_string(given) && !json_string_length(given))) return json_object();
    json_t *args = json_is_string(given) ? tfy__json_read(json_string_value(given), json_string_length(given),
                                                          JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL)
                                         : json_incref((json_t *)given);
    if (args && tfy__json_is_shallow(args, CALL_DEPTH)) return args;
    json_decref(args);
    return json_incref((json_t *)(json_is_string(given) ? given : json_null()));
}

/* A text without what stands behind a NUL; what is no text is left out. */
static bool add_name(json_t *call, const char *member, const json_t *text)
{
    const char *name = json_string_value(text);
    return !name || json_object_set_new(call, member, json_string(name)) == 0;
}

json_t *tfy__llm_call(const json_t *id, const json_t *tool, const json_t *args)
{
    json_t *call = json_object(), *taken = args_of(args);
    const bool ok =
        taken && add_name(call, "id", id) && add_name(call, "tool", tool) && json_object_set(call, "args", taken) == 0;
    json_decref(taken);
    if (ok) return call;
    json_decref(call);
    return NULL;
}

static int add_bytes(const char *bytes, size_t len, void *out)
{
    tfy__buffer_add(out, bytes, len);
    return 0;
}

static void add_json(TfyBuffer *out, json_t *json)
{
    if (!json || json_dump_callback(json, add_bytes, out, JSON_COMPACT | JSON_ENCODE_ANY) != 0) out->failed = true;
    json_decref(json);
}

void tfy__llm_add_item(TfyBuffer *list, json_t *item)
{
    if (list->len) tfy__buffer_char(list, ',');
    add_json(list, item);
}

void tfy__llm_add_member(TfyBuffer *out, const char *name, json_t *value)
{
    tfy__buffer_printf(out, ",\"%s\":", name);
    add_json(out, value);
}

void tfy__llm_add_tools(TfyBuffer *out, const TfyBuffer *tools)
{
    if (!tools) return;
    tfy__buffer_text(out, ",\"tools\":[");
    tfy__buffer_add(out, tools->data, tools->len);
    tfy__buffer_char(out, ']');
}

void tfy__llm_wire_free(TfyLlmWire *wire)
{
    tfy__buffer_free(&wire->text);
    tfy__buffer_free(&wire->system);
    json_decref(wire->called);
    *wire = (TfyLlmWire){.form = NULL};
}

/* ---- files ---- */

void tfy__llm_files_free(TfyLlmFiles *files)
{
    for (uint32_t i = 0; files && i < files->count; i++) {
        free(files->items[i].path);
        tfy__buffer_free(&files->items[i].data);
    }
    free(files);
}

const TfyLlmFile *tfy__llm_file_at(const TfyLlmWire *wire, const json_t *message, size_t number)
{
    const json_t *file = json_array_get(json_object_get(message, "files"), number);
    const char *hash = json_string_value(json_object_get(file, "hash"));
    for (uint32_t i = 0; hash && wire->files && i < wire->files->count; i++)
        if (strcmp(wire->files->items[i].hash, hash) == 0) return &wire->files->items[i];
    return NULL;
}

json_t *tfy__llm_data_url(const TfyLlmFile *file)
{
    TfyBuffer url = {0};
    tfy__buffer_printf(&url, "data:%s;base64,", file->kind);
    tfy__buffer_add(&url, file->data.data, file->data.len);
    json_t *text = url.failed ? NULL : json_stringn_nocheck(url.data, url.len);
    tfy__buffer_free(&url);
    return text;
}

const char *tfy__llm_file_name(const TfyLlmFile *file)
{
    const char *slash = strrchr(file->path, '/');
    return slash ? slash + 1 : file->path;
}

/* ---- reasoning ---- */

const json_t *tfy__llm_opaque(const TfyLlmWire *wire, const json_t *message)
{
    const json_t *opaque = json_object_get(message, "opaque");
    const char *from = json_string_value(json_object_get(opaque, "from"));
    return from && wire->from && strcmp(from, wire->from) == 0 ? json_object_get(opaque, "items") : NULL;
}

void tfy__llm_add_effort(TfyBuffer *out, const char *object, const TfyLlmAsked *asked)
{
    if (asked->effort) tfy__llm_add_member(out, object, json_pack("{s:s}", "effort", asked->effort));
}

/* ---- calls ---- */

char *tfy__llm_args_text(const json_t *call)
{
    const json_t *args = json_object_get(call, "args");
    return json_dumps(args ? args : json_null(), JSON_COMPACT | JSON_ENCODE_ANY);
}

json_t *tfy__llm_joined(const json_t *parts, const char *type, const char *member)
{
    TfyBuffer text = {0};
    bool found = false;
    const json_t *part;
    size_t i;
    json_array_foreach(parts, i, part)
    {
        const json_t *one = json_object_get(part, member);
        const char *kind = json_string_value(json_object_get(part, "type"));
        if (!json_is_string(one) || (type && (!kind || strcmp(kind, type) != 0))) continue;
        found = true;
        tfy__buffer_add(&text, json_string_value(one), json_string_length(one));
    }
    json_t *joined = found && !text.failed ? json_stringn(text.data ? text.data : "", text.len) : NULL;
    tfy__buffer_free(&text);
    return joined;
}

int64_t tfy__llm_count(const json_t *usage, const char *name)
{
    const json_t *given = json_object_get(usage, name);
    const int64_t count = json_is_integer(given) ? json_integer_value(given) : -1;
    return count >= 0 && count <= COUNT_MOST ? count : -1;
}

/* Endpoints name their errors by a number, or by words in `type` or `code`. What nobody knows is the endpoint's own. */
int tfy__llm_error_status(const json_t *error)
{
    static const struct {
        const char *word;
        int status;
    } words[] = {{"rate_limit", 429}, {"overloaded", 529}, {"invalid", 400},   {"authentication", 401},
                 {"permission", 403}, {"not_found", 404},  {"too_large", 413}, {"unsupported", 400}};
    const json_t *code = json_object_get(error, "code");
    const char *names[] = {json_string_value(json_object_get(error, "type")), json_string_value(code)};
    const json_int_t number = json_integer_value(code);
    if (number >= 400 && number < 600) return (int)number;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (names[k] && strstr(names[k], words[i].word)) return words[i].status;
    return 500;
}
