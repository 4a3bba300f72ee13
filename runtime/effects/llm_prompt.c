/* llm_prompt.c: converts a call to the request that is sent, and the answer's text to a value. */
#include "effects/llm.h"
#include "effects/llm_turn.h"

#include "value/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* The texts of one request, borrowed from the release stack; model and system may be NULL. */
typedef struct Texts {
    const TfyString *model;
    const TfyString *system;
    const TfyString *user;
} Texts;

typedef bool (*TextOf)(TfyTask *task, const TfyValue *args, TfyValue *out);

static bool evaluate(TextOf text_of, const TfyCall *call, const TfyString **out)
{
    TfyValue text = {.o = NULL};
    if (text_of && !text_of(call->task, call->args, &text)) return false;
    *out = (const TfyString *)text.o;
    return true;
}

static bool find_texts(const TfyCall *call, Texts *texts)
{
    const TfyTool *tool = call->tool;
    if (tool->family == TFY_F_LLM) { /* llm(prompt, model?, system?) */
        texts->user = (const TfyString *)call->args[0].o;
        texts->model = (const TfyString *)call->args[1].o;
        texts->system = (const TfyString *)call->args[2].o;
        return true;
    }
    return evaluate(tool->model, call, &texts->model) && evaluate(tool->system, call, &texts->system) &&
           evaluate(tool->user, call, &texts->user);
}

/* Models answer plain text by default; every other type needs the schema. */
static bool wants_json(const TfyType *type)
{
    return type->kind != TFY_STRING && type->kind != TFY_NOTHING;
}

/* Takes ownership of content (which may be NULL: then nothing is added and memory ran out). */
static bool add_message(json_t *messages, const char *role, json_t *content)
{
    json_t *message = json_object();
    bool ok = content && message && json_object_set(message, "content", content) == 0 &&
              json_object_set_new(message, "role", json_string(role)) == 0 && json_array_append(messages, message) == 0;
    json_decref(content);
    json_decref(message);
    return ok;
}

/* The schema is in the system text too: many endpoints ignore response_format, and models follow what they read. */
static json_t *system_text(const TfyString *system, const TfyBuffer *schema)
{
    TfyBuffer text = {0};
    if (system) tfy__buffer_add(&text, system->bytes, system->byte_len);
    if (schema->len > 0) {
        if (text.len > 0) tfy__buffer_text(&text, "\n\n");
        tfy__buffer_text(&text, "Answer with one JSON value and nothing else: no explanation, no code fences. It must "
                                "fit this JSON Schema: ");
        tfy__buffer_add(&text, schema->data, schema->len);
    }
    json_t *json = text.failed ? NULL : json_stringn(text.len > 0 ? text.data : "", text.len);
    tfy__buffer_free(&text);
    return json;
}

static bool add_misfit(json_t *messages, const TfyLlmMisfit *misfit)
{
    TfyBuffer text = {0};
    tfy__buffer_printf(&text, "That answer does not fit: %s\nAnswer again with the whole JSON value and nothing else.",
                       misfit->error);
    bool ok = !text.failed && add_message(messages, "assistant", json_stringn(misfit->answer, misfit->answer_len)) &&
              add_message(messages, "user", json_string(text.data));
    tfy__buffer_free(&text);
    return ok;
}

static bool add_messages(json_t *messages, const Texts *texts, const TfyBuffer *schema, const TfyLlmMisfit *misfit)
{
    if ((texts->system || schema->len > 0) && !add_message(messages, "system", system_text(texts->system, schema)))
        return false;
    if (!add_message(messages, "user", json_stringn(texts->user->bytes, texts->user->byte_len))) return false;
    return !misfit || add_misfit(messages, misfit);
}

static json_t *build(const Texts *texts, const TfyBuffer *schema, const TfyLlmMisfit *misfit)
{
    json_t *request = json_object(), *messages = json_array();
    bool named = texts->model && texts->model->byte_len > 0;
    json_t *model = named ? json_stringn(texts->model->bytes, texts->model->byte_len) : json_string("default");
    bool ok = messages && !schema->failed && add_messages(messages, texts, schema, misfit);
    ok = ok && json_object_set(request, "messages", messages) == 0;
    ok = json_object_set_new(request, "model", model) == 0 && ok;
    if (ok && schema->len > 0)
        ok = json_object_set_new(request, "schema", json_loadb(schema->data, schema->len, JSON_ALLOW_NUL, NULL)) == 0;
    json_decref(messages);
    if (ok) return request;
    json_decref(request);
    return NULL;
}

/* {"messages", "model", "tools"} of an agent. */
static json_t *build_turn(TfyCall *call, const Texts *texts)
{
    json_t *messages = tfy__turn_messages(call, texts->system), *tools = messages ? tfy__turn_tools(call) : NULL;
    const bool named = texts->model && texts->model->byte_len > 0;
    json_t *request =
        tools ? json_pack("{s:O, s:s, s:I}", "messages", messages, "model", named ? texts->model->bytes : "default",
                          "most", (json_int_t)call->tool->agent->most)
              : NULL;
    if (request && json_array_size(tools)) json_object_set(request, "tools", tools);
    json_decref(messages);
    json_decref(tools);
    return request;
}

json_t *tfy__llm_request(TfyCall *call, const TfyLlmMisfit *misfit)
{
    TfyTask *task = call->task;
    Texts texts = {NULL, NULL, NULL};
    TfyBuffer schema = {0};
    json_t *request = NULL;
    uint32_t mark = tfy_mark(task);
    if (find_texts(call, &texts)) {
        const bool turn = call->tool->agent;
        if (!turn && wants_json(call->result)) tfy__schema(&schema, call->result);
        request = turn ? build_turn(call, &texts) : build(&texts, &schema, misfit);
        if (!request) tfy__starved(task);
    }
    tfy__buffer_free(&schema);
    tfy_cut(task, mark);
    return request;
}

uint64_t tfy__llm_digest(const json_t *request)
{
    TfyBuffer text = {0};
    uint64_t digest = tfy__encode_json(&text, request) ? XXH3_64bits(text.data, text.len) : 0;
    tfy__buffer_free(&text);
    return digest;
}

/* ---- answers ---- */

bool tfy__llm_is_long(const char *finish_reason)
{
    return strcmp(finish_reason, "length") == 0 || strcmp(finish_reason, "max_tokens") == 0 ||
           strcmp(finish_reason, "max_output_tokens") == 0;
}

bool tfy__llm_is_cut(const char *finish_reason)
{
    return tfy__llm_is_long(finish_reason) || strcmp(finish_reason, "content_filter") == 0;
}

bool tfy__llm_is_refused(const TfyLlmReply *reply, int64_t *code, char *error)
{
    if (reply->refusal) {
        *code = EPERM;
        snprintf(error, TFY_ERROR_TEXT, "the model refused: %.400s; ask in another way, or another model",
                 reply->refusal);
    } else if (tfy__llm_is_long(reply->finish_reason)) {
        *code = EMSGSIZE;
        snprintf(error, TFY_ERROR_TEXT,
                 "the model's answer was cut off after %lld tokens (finish_reason %s); ask for a shorter one, or let "
                 "the endpoint give longer ones",
                 (long long)(reply->completion_tokens < 0 ? 0 : reply->completion_tokens), reply->finish_reason);
    } else if (tfy__llm_is_cut(reply->finish_reason)) {
        *code = EACCES;
        snprintf(
            error, TFY_ERROR_TEXT,
            "a content filter of the endpoint stopped the model's answer (finish_reason %s); change what is asked, "
            "or ask another endpoint",
            reply->finish_reason);
    } else {
        return false;
    }
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void trim(const char **text, size_t *len)
{
    while (*len > 0 && is_space(**text)) {
        ++*text;
        --*len;
    }
    while (*len > 0 && is_space((*text)[*len - 1])) --*len;
}

const char *tfy__llm_without_thoughts(const char *text, size_t *len)
{
    static const char open[] = "<think>", close[] = "</think>";
    const char *rest = text, *end = text + *len;
    while (rest < end && is_space(*rest)) rest++;
    if ((size_t)(end - rest) < sizeof open - 1 || memcmp(rest, open, sizeof open - 1) != 0) return text;
    const char *stop = memmem(rest, (size_t)(end - rest), close, sizeof close - 1);
    if (!stop) return text;
    for (rest = stop + sizeof close - 1; rest < end && is_space(*rest);) rest++;
    *len = (size_t)(end - rest);
    return rest;
}

/* ```json … ``` around the whole answer is accepted: models trained on chats often add it. */
static void unfence(const char **text, size_t *len)
{
    trim(text, len);
    if (*len < 6 || memcmp(*text, "```", 3) != 0 || memcmp(*text + *len - 3, "```", 3) != 0) return;
    const char *line = memchr(*text, '\n', *len - 3);
    if (!line) return;
    *len -= (size_t)(line + 1 - *text) + 3;
    *text = line + 1;
    trim(text, len);
}

bool tfy__llm_decode(TfyTask *task, const TfyType *type, const char *answer, size_t len, TfyValue *out, char *error)
{
    if (wants_json(type)) {
        unfence(&answer, &len);
        return tfy__decode_text(task, type, answer, len, out, error);
    }
    out->o = type->kind == TFY_STRING ? tfy_string_of(task, answer, len) : NULL;
    if (type->kind == TFY_NOTHING || out->o) return true;
    strcpy(error, "memory ran out");
    return false;
}
