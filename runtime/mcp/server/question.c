/* question.c: see question.h. */
#include "mcp/server/question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "value/form.h"

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

bool tfy__mcp_question_key(const json_t *question, char key[TFY_MCP_QUESTION_KEY])
{
    const char *named = json_string_value(json_object_get(question, "key"));
    if (named && *named && strlen(named) < TFY_MCP_QUESTION_KEY) return strcpy(key, named);
    const json_int_t step = json_integer_value(json_object_get(question, "step"));
    const int len = snprintf(key, TFY_MCP_QUESTION_KEY, "%s/%lld", text_of(question, "task"), (long long)step);
    return step > 0 && len < TFY_MCP_QUESTION_KEY;
}

/* ---- asking ---- */

/* The words that answer it. NULL: any text does. */
static const json_t *words_of(const json_t *question)
{
    const json_t *words = json_object_get(question, "answers");
    return json_is_array(words) ? words : NULL;
}

static bool has_word(const json_t *words, const char *word)
{
    const json_t *one;
    size_t i;
    json_array_foreach((json_t *)words, i, one)
    {
        const char *text = json_string_value(one);
        if (text && strcmp(text, word) == 0) return true;
    }
    return false;
}

static bool is_yes_or_no(const json_t *words)
{
    return json_array_size(words) == 2 && has_word(words, "yes") && has_word(words, "no");
}

static const char *field_name(const json_t *question)
{
    const json_t *words = words_of(question);
    return !words ? "answer" : is_yes_or_no(words) ? "confirm" : "choice";
}

static const json_t *form_of(const json_t *question)
{
    const json_t *form = json_object_get(question, "form");
    return json_is_object(form) ? form : NULL;
}

static json_t *field_of(const json_t *question)
{
    const json_t *words = words_of(question);
    if (!words) return json_pack("{s:s}", "type", "string");
    if (is_yes_or_no(words)) return json_pack("{s:s}", "type", "boolean");
    return json_pack("{s:s, s:O}", "type", "string", "enum", words);
}

static json_t *message_of(const json_t *question)
{
    TfyBuffer text = {0};
    const char *details = text_of(question, "details");
    tfy__buffer_printf(&text, "%s%s%s", text_of(question, "question"), *details ? "\n\n" : "", details);
    json_t *message = text.failed ? NULL : json_stringn(text.data, text.len);
    tfy__buffer_free(&text);
    return message;
}

json_t *tfy__mcp_question_params(const json_t *question, bool with_mode)
{
    const char *name = field_name(question);
    json_t *schema = form_of(question) ? json_incref((json_t *)form_of(question))
                                       : json_pack("{s:s, s:{s:o}, s:[s]}", "type", "object", "properties", name,
                                                   field_of(question), "required", name);
    json_t *params = json_pack("{s:o, s:o}", "message", message_of(question), "requestedSchema", schema);
    if (with_mode && params) json_object_set_new(params, "mode", json_string("form"));
    return params;
}

/* ---- answers ---- */

/* NULL: the value is not an answer. */
static const char *answer_of(const json_t *question, const json_t *value)
{
    const json_t *words = words_of(question);
    const char *text = json_string_value(value);
    if (text && strlen(text) != json_string_length(value)) return NULL;
    if (json_is_boolean(value) && is_yes_or_no(words)) return json_is_true(value) ? "yes" : "no";
    return text && (!words || has_word(words, text)) ? text : NULL;
}

/* Fields that the form does not have are left out: clients send more than they were asked for. */
static json_t *form_body(const json_t *form, const json_t *content)
{
    char error[TFY_ERROR_TEXT];
    json_t *kept = json_object(), *fields = json_object_get(form, "properties"), *field, *body = NULL;
    const char *name;
    json_object_foreach(fields, name, field)
    {
        json_t *value = json_object_get(content, name);
        if (value) json_object_set(kept, name, value);
    }
    char *text = json_is_object(content) ? json_dumps(kept, JSON_COMPACT) : NULL;
    if (text && tfy__form_fits(form, text, error)) body = json_pack("{s:s}", "answer", text);
    free(text);
    json_decref(kept);
    return body;
}

TfyMcpReply tfy__mcp_question_reply(const json_t *question, const json_t *response, json_t **body)
{
    const char *action = text_of(response, "action"), *answer = NULL;
    *body = NULL;
    if (strcmp(action, "accept") == 0) {
        const json_t *content = json_object_get(response, "content");
        answer = answer_of(question, json_object_get(content, field_name(question)));
        *body = form_of(question) ? form_body(form_of(question), content)
                : answer          ? json_pack("{s:s}", "answer", answer)
                                  : NULL;
        return *body ? TFY_MCP_REPLY_GIVEN : TFY_MCP_REPLY_NONE;
    }
    if (strcmp(action, "decline") != 0 && strcmp(action, "cancel") != 0) return TFY_MCP_REPLY_NONE;
    if (!has_word(words_of(question), "no")) return TFY_MCP_REPLY_DECLINED;
    *body = json_pack("{s:s, s:s}", "answer", "no", "why", "declined");
    return *body ? TFY_MCP_REPLY_GIVEN : TFY_MCP_REPLY_NONE;
}
