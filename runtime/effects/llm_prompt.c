/* llm_prompt.c: converts a call to the request that is sent, and the answer's text to a value. */
#include "effects/llm.h"
#include "effects/llm_turn.h"
#include "effects/told.h"

#include "value/json.h"
#include "value/thread.h"

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

static bool add_message(TfyLlmTalk *talk, const char *role, const char *content, size_t len)
{
    TfyBuffer message = {0};
    tfy__thread_message(&message, role, content, len);
    const bool ok = !message.failed && tfy__talk_add(talk, message.data, message.len);
    tfy__buffer_free(&message);
    return ok;
}

/* The schema is in the system text too: many endpoints ignore response_format, and models follow what they read. */
static bool add_system(TfyLlmTalk *talk, const TfyString *system, const TfyBuffer *schema)
{
    TfyBuffer text = {0};
    if (system) tfy__buffer_add(&text, system->bytes, system->byte_len);
    if (schema->len > 0) {
        if (text.len > 0) tfy__buffer_text(&text, "\n\n");
        tfy__buffer_text(&text, "Answer with one JSON value and nothing else: no explanation, no code fences. It must "
                                "fit this JSON Schema: ");
        tfy__buffer_add(&text, schema->data, schema->len);
    }
    const bool ok = !text.failed && add_message(talk, "system", text.len ? text.data : "", text.len);
    tfy__buffer_free(&text);
    return ok;
}

static bool add_misfit(TfyLlmTalk *talk, const TfyLlmMisfit *misfit)
{
    TfyBuffer text = {0};
    tfy__buffer_printf(&text, "That answer does not fit: %s\nAnswer again with the whole JSON value and nothing else.",
                       misfit->error);
    const bool ok = !text.failed && add_message(talk, "assistant", misfit->answer, misfit->answer_len) &&
                    add_message(talk, "user", text.data, text.len);
    tfy__buffer_free(&text);
    return ok;
}

/* The digests stand for the bytes; the paths are also read by the model. */
static bool add_files(TfyLlmTalk *talk, const TfyLlmFiles *files)
{
    TfyBuffer paths = {0}, message = {0};
    if (!files) return true;
    for (uint32_t i = 0; i < files->count; i++) tfy__buffer_printf(&paths, "%s%s", i ? "\n" : "", files->items[i].path);
    tfy__buffer_text(&message, "{\"content\":");
    tfy__buffer_json_string(&message, paths.failed ? "" : paths.data, paths.len);
    tfy__buffer_text(&message, ",\"files\":[");
    for (uint32_t i = 0; i < files->count; i++)
        tfy__buffer_printf(&message, "%s{\"hash\":\"%s\",\"kind\":\"%s\"}", i ? "," : "", files->items[i].hash,
                           files->items[i].kind);
    tfy__buffer_text(&message, "],\"role\":\"user\"}");
    const bool ok = !paths.failed && !message.failed && tfy__talk_add(talk, message.data, message.len);
    tfy__buffer_free(&paths);
    tfy__buffer_free(&message);
    return ok;
}

static bool add_messages(const TfyLlmRequest *out, const Texts *texts, const TfyBuffer *schema,
                         const TfyLlmMisfit *misfit)
{
    TfyLlmTalk *talk = out->talk;
    if ((texts->system || schema->len > 0) && !add_system(talk, texts->system, schema)) return false;
    if (!add_files(talk, out->files)) return false;
    return add_message(talk, "user", texts->user->bytes, texts->user->byte_len) &&
           (!misfit || add_misfit(talk, misfit));
}

/* A conversation ends before what is not a message, and before the message of this number. */
static bool add_thread(const TfyLlmRequest *out, const TfyString *system, const TfyList *chat, int64_t end)
{
    TfyLlmTalk *talk = out->talk;
    bool ok = !system || add_message(talk, "system", system->bytes, system->byte_len);
    ok = ok && add_files(talk, out->files);
    for (int64_t i = 0; ok && i < end; i++) {
        const TfyString *message = (const TfyString *)chat->items[i].o;
        ok = tfy__talk_add(talk, message->bytes, message->byte_len);
    }
    return !talk->text.failed;
}

static bool build(const Texts *texts, const TfyBuffer *schema, const TfyLlmMisfit *misfit, TfyLlmRequest *out)
{
    if (schema->failed || !add_messages(out, texts, schema, misfit)) return false;
    if (schema->len > 0) out->schema = json_loadb(schema->data, schema->len, JSON_ALLOW_NUL, NULL);
    return out->schema || !schema->len;
}

/* An agent's question. */
static bool build_turn(TfyLlmKept *kept, TfyCall *call, const Texts *texts, TfyLlmRequest *out)
{
    const TfyList *chat = (const TfyList *)call->args[0].o;
    out->most = call->tool->agent->most;
    return add_thread(out, texts->system, chat, chat->len) && tfy__llm_tools(kept, call, &out->tools);
}

/* The older part of its conversation, and the request for a summary. */
static bool build_compact(TfyCall *call, const Texts *texts, TfyLlmRequest *out)
{
    const TfyObj *chat = call->args[0].o;
    out->most = call->tool->agent->most;
    return add_thread(out, texts->system, (const TfyList *)chat, tfy__thread_cut(call->task, chat, call->args[1].i)) &&
           add_message(out->talk, "user", texts->user->bytes, texts->user->byte_len);
}

bool tfy__llm_request(TfyLlmKept *kept, TfyCall *call, const TfyLlmMisfit *misfit, TfyLlmFiles *files,
                      TfyLlmRequest *out)
{
    TfyTask *task = call->task;
    Texts texts = {NULL, NULL, NULL};
    TfyBuffer schema = {0};
    const bool turn = tfy__is_turn(call->tool), compacts = call->tool->compacts;
    bool ok = false;
    uint32_t mark = tfy_mark(task);
    *out = (TfyLlmRequest){.files = files};
    if (find_texts(call, &texts)) {
        const bool named = texts.model && texts.model->byte_len > 0;
        if (!turn && wants_json(call->result)) tfy__schema(&schema, call->result);
        out->talk = tfy__talk_take(turn ? &kept->talks : NULL, task, call->site);
        out->model = tfy__sys_strdup(named ? texts.model->bytes : "default");
        ok = out->talk && out->model &&
             (turn       ? build_turn(kept, call, &texts, out)
              : compacts ? build_compact(call, &texts, out)
                         : build(&texts, &schema, misfit, out)) &&
             tfy__llm_request_finish(out);
        if (!ok) tfy__starved(task);
    }
    tfy__buffer_free(&schema);
    tfy_cut(task, mark);
    if (!ok) tfy__llm_request_clear(kept, out);
    return ok;
}

/* ---- for people who look back ---- */

/* The messages of a first request; the caller owns the list. Files cannot be read again. NULL: no memory, or task->error
 * is set. */
static json_t *first_messages(TfyCall *call, const Texts *texts)
{
    const TfyObj *chat = call->tool->agent ? call->args[0].o : NULL;
    TfyLlmRequest request = {.talk = tfy__talk_take(NULL, call->task, call->site)};
    TfyBuffer schema = {0};
    bool ok = request.talk;
    if (!chat && wants_json(call->result)) tfy__schema(&schema, call->result);
    if (ok && call->tool->compacts)
        ok = build_compact(call, texts, &request);
    else if (ok && chat)
        ok = add_thread(&request, texts->system, (const TfyList *)chat, ((const TfyList *)chat)->len);
    else if (ok)
        ok = build(texts, &schema, NULL, &request);
    if (ok) tfy__talk_end(request.talk);
    json_t *messages = ok ? tfy__talk_since(request.talk, 0) : NULL;
    tfy__talk_return(NULL, request.talk);
    json_decref(request.schema);
    tfy__buffer_free(&schema);
    return messages;
}

static bool is_role(const json_t *message, const char *role)
{
    const char *its = json_string_value(json_object_get(message, "role"));
    return its && strcmp(its, role) == 0;
}

/* The content of a message is text, also where the answer is calls. */
static void tell_content(const json_t *message, TfyBuffer *out)
{
    const json_t *text = json_object_get(message, "content");
    tfy__told_string(out, json_string_value(text) ? json_string_value(text) : "", json_string_length(text));
}

static void tell_message(const json_t *message, TfyBuffer *out)
{
    const char *name, *comma = "{";
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)message, name, value)
    {
        tfy__buffer_printf(out, "%s\"%s\":", comma, name);
        if (strcmp(name, "content") == 0)
            tell_content(message, out);
        else if (!tfy__encode_json(out, value))
            out->failed = true;
        comma = ",";
    }
    tfy__buffer_char(out, '}');
}

/* One question in two texts, else a conversation. */
static void tell_messages(const json_t *messages, TfyBuffer *out)
{
    const size_t count = json_array_size(messages);
    const size_t first = is_role(json_array_get(messages, 0), "system") ? 1 : 0;
    const json_t *user = count == first + 1 ? json_array_get(messages, first) : NULL;
    if (first) tfy__buffer_text(out, ",\"system\":");
    if (first) tell_content(json_array_get(messages, 0), out);
    if (user && is_role(user, "user")) {
        tfy__buffer_text(out, ",\"user\":");
        tell_content(user, out);
        return;
    }
    tfy__buffer_text(out, ",\"messages\":[");
    for (size_t i = first; i < count; i++) {
        if (i > first) tfy__buffer_char(out, ',');
        tell_message(json_array_get(messages, i), out);
    }
    tfy__buffer_char(out, ']');
}

/* The log has texts and who said them; a conversation that the program holds has calls and their results, too. */
bool tfy__llm_tell(TfyCall *call, const json_t *messages, TfyBuffer *out)
{
    Texts texts = {NULL, NULL, NULL};
    TfyValue files = {.o = NULL};
    if (!find_texts(call, &texts) || (call->tool->files && !call->tool->files(call->task, call->args, &files)))
        return false;
    if (call->tool->agent) messages = NULL;
    json_t *made = messages ? NULL : first_messages(call, &texts);
    const bool named = texts.model && texts.model->byte_len > 0;
    tfy__buffer_text(out, named ? "" : "\"model\":\"default\"");
    if (named) tfy__told_text(out, "model", &texts.model->head);
    if (messages || made) tell_messages(messages ? messages : made, out);
    if (files.o) tfy__told_texts(out, "files", files.o);
    json_decref(made);
    return messages || made;
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
           strcmp(finish_reason, "max_output_tokens") == 0 ||
           strcmp(finish_reason, "model_context_window_exceeded") == 0 || strcmp(finish_reason, "incomplete") == 0;
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
