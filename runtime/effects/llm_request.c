/* llm_request.c: see llm_request.h. */
#include "effects/llm_request.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "effects/llm_turn.h"
#include "value/json.h"
#include "wal/rows/payload.h"

static const char HEAD[] = "{\"messages\":[";

enum { HEAD_LEN = sizeof HEAD - 1 };

static bool take_digest(TfyLlmRequest *request)
{
    XXH3_state_t *state = XXH3_createState();
    if (!state) return false;
    const TfyBuffer *text = &request->talk->text, *tail = &request->tail;
    XXH3_64bits_reset(state);
    XXH3_64bits_update(state, HEAD, HEAD_LEN);
    if (text->len) XXH3_64bits_update(state, text->data, text->len);
    XXH3_64bits_update(state, tail->data, tail->len);
    request->digest = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return true;
}

bool tfy__llm_request_finish(TfyLlmRequest *request)
{
    TfyBuffer *tail = &request->tail;
    tfy__talk_end(request->talk);
    tfy__buffer_text(tail, "],\"model\":");
    tfy__buffer_json_string(tail, request->model, strlen(request->model));
    if (request->most) tfy__buffer_text(tail, ",\"most\":");
    if (request->most) tfy__buffer_int(tail, request->most);
    if (request->schema) {
        tfy__buffer_text(tail, ",\"schema\":");
        tfy__encode_json(tail, request->schema);
    }
    if (request->tools) {
        tfy__buffer_text(tail, ",\"tools\":");
        tfy__buffer_add(tail, request->tools->text.data, request->tools->text.len);
    }
    tfy__buffer_char(tail, '}');
    return !tail->failed && !request->talk->text.failed && take_digest(request);
}

size_t tfy__llm_request_size(const TfyLlmRequest *request)
{
    return HEAD_LEN + request->talk->text.len + request->tail.len;
}

void tfy__llm_request_text(const TfyLlmRequest *request, TfyBuffer *out)
{
    tfy__buffer_add(out, HEAD, HEAD_LEN);
    tfy__buffer_add(out, request->talk->text.data, request->talk->text.len);
    tfy__buffer_add(out, request->tail.data, request->tail.len);
}

void tfy__llm_request_record(const TfyLlmRequest *request, TfyBuffer *members)
{
    const TfyLlmFiles *files = request->files;
    tfy__put_hex(members, TFY_P_REQUEST, request->digest);
    if (!files) return;
    tfy__put(members, TFY_P_FILES);
    for (uint32_t i = 0; i < files->count; i++) {
        const TfyLlmFile *file = &files->items[i];
        tfy__buffer_text(members, i ? ",[" : "[[");
        tfy__buffer_json_string(members, file->path, strlen(file->path));
        tfy__buffer_printf(members, ",\"%s\",\"%s\",%lld]", file->kind, file->hash, (long long)file->size);
    }
    tfy__buffer_char(members, ']');
}

void tfy__llm_request_clear(TfyLlmKept *kept, TfyLlmRequest *request)
{
    tfy__talk_return(&kept->talks, request->talk);
    tfy__buffer_free(&request->tail);
    free((char *)request->model);
    json_decref(request->schema);
    tfy__llm_files_free(request->files);
    *request = (TfyLlmRequest){.talk = NULL};
}

/* ---- tools ---- */

/* The tools as the form writes them; false: no memory. */
static bool write_items(TfyLlmTools *tools, const TfyLlmForm *form)
{
    if (tools->form == form) return true;
    json_t *list = json_loadb(tools->text.data, tools->text.len, JSON_ALLOW_NUL, NULL);
    const json_t *tool;
    size_t i;
    tfy__buffer_reset(&tools->items);
    json_array_foreach(list, i, tool) tfy__llm_add_item(&tools->items, form->tool(tool));
    tools->form = list && !tools->items.failed ? form : NULL;
    json_decref(list);
    return tools->form;
}

bool tfy__llm_request_body(TfyLlmRequest *request, const TfyLlmForm *form, const char *from, const TfyLlmAsked *asked,
                           TfyBuffer *out)
{
    enum { ROOM = 512 }; /* for all else */
    const TfyLlmWire *wire = tfy__talk_wire(request->talk, form, from, request->files);
    TfyLlmTools *tools = request->tools;
    if (!wire || (tools && !write_items(tools, form))) return false;
    TfyLlmAsked all = *asked;
    all.most = request->most ? request->most : request->bound;
    all.schema = request->schema;
    all.tools = tools ? &tools->items : NULL;
    tfy__buffer_reserve(out, wire->text.len + wire->system.len + (tools ? tools->items.len : 0) + ROOM);
    form->body(out, wire, &all);
    return !out->failed;
}

static TfyLlmTools *make_tools(const TfyCall *call, bool last)
{
    json_t *list = tfy__turn_tools(call);
    TfyLlmTools *tools = list ? tfy__sys_calloc(1, sizeof *tools) : NULL;
    bool ok = tools;
    if (ok) {
        tools->tool = call->tool;
        tools->last = last;
        ok = !json_array_size(list) || tfy__encode_json(&tools->text, list);
    }
    json_decref(list);
    if (ok) return tools;
    if (tools) tfy__buffer_free(&tools->text);
    free(tools);
    return NULL;
}

bool tfy__llm_tools(TfyLlmKept *kept, const TfyCall *call, TfyLlmTools **out)
{
    const bool last = call->args[1].b;
    TfyLlmTools *tools = kept->tools;
    while (tools && (tools->tool != call->tool || tools->last != last)) tools = tools->next;
    if (!tools && (tools = make_tools(call, last))) {
        tools->next = kept->tools;
        kept->tools = tools;
    }
    *out = tools && tools->text.len ? tools : NULL;
    return tools;
}

void tfy__llm_kept_close(TfyLlmKept *kept)
{
    tfy__talks_close(&kept->talks);
    for (TfyLlmTools *tools = kept->tools, *next; tools; tools = next) {
        next = tools->next;
        tfy__buffer_free(&tools->text);
        tfy__buffer_free(&tools->items);
        free(tools);
    }
    kept->tools = NULL;
}
