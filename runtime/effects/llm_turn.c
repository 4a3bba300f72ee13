/* llm_turn.c: see llm_turn.h. */
#include "effects/llm_turn.h"

#include <stdio.h>
#include <string.h>

#include "effects/llm.h"
#include "value/heap.h"
#include "value/json.h"
#include "value/thread.h"

enum { CALLS_MOST = 32 };

static const TfyCase *answer_case(const TfyAgent *agent)
{
    return &agent->calls->cases[agent->calls->case_count - 1];
}

/* The agent's result; NULL: it has none. */
static const TfyType *answer_type(const TfyAgent *agent)
{
    const TfyCase *last = answer_case(agent);
    return last->field_count ? last->fields[0].type : NULL;
}

/* A text ends the work by itself. */
static bool answers_by_text(const TfyAgent *agent)
{
    const TfyType *type = answer_type(agent);
    return type && type->kind == TFY_STRING;
}

/* ---- the question ---- */

static json_t *schema_of(const TfyCase *offer)
{
    const TfyType params = {
        .kind = TFY_RECORD, .name = offer->name, .fields = offer->fields, .field_count = offer->field_count};
    TfyBuffer text = {0};
    json_t *schema = tfy__schema(&text, &params) ? json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL) : NULL;
    tfy__buffer_free(&text);
    return schema;
}

static bool add_tool(json_t *tools, const TfyCase *offer, const char *doc)
{
    json_t *schema = schema_of(offer);
    json_t *tool =
        schema ? json_pack("{s:s, s:s, s:O}", "name", offer->name, "description", doc ? doc : "", "schema", schema)
               : NULL;
    json_decref(schema);
    return json_array_append_new(tools, tool) == 0;
}

json_t *tfy__turn_tools(const TfyCall *call)
{
    const TfyAgent *agent = call->tool->agent;
    const TfyType *calls = agent->calls;
    const bool last = call->args[1].b;
    json_t *tools = json_array();
    bool ok = tools;
    for (uint32_t i = 0; ok && !last && i + 1 < calls->case_count; i++)
        ok = add_tool(tools, &calls->cases[i], calls->cases[i].doc);
    if (ok && !answers_by_text(agent))
        ok = add_tool(tools, answer_case(agent), "Ends the work. Call it when all is done, with the result.");
    if (ok) return tools;
    json_decref(tools);
    tfy__starved(call->task);
    return NULL;
}

/* ---- the answer ---- */

/* A turn while it is made. Its lists are filled as far as their counts say. */
typedef struct Turn {
    TfyTask *task;
    const TfyAgent *agent;
    json_t *calls; /* as they are told again: {args, id, tool} */
    const char *ids[CALLS_MOST];
    TfyValue values[CALLS_MOST];
    bool reads[CALLS_MOST];
    uint32_t count;
    TfyBuffer told[2 * CALLS_MOST]; /* messages about calls that are not performed */
    uint32_t told_count;
    const TfyAnswer *answer;
    char unfit[TFY_ERROR_TEXT];
} Turn;

static TfyBuffer *next_told(Turn *turn)
{
    TfyBuffer *told = &turn->told[turn->told_count++];
    *told = (TfyBuffer){.data = NULL};
    return told;
}

static void tell(Turn *turn, const char *id, const char *text)
{
    if (turn->told_count < sizeof turn->told / sizeof *turn->told)
        tfy__thread_tell(next_told(turn), id, text, strlen(text));
}

static bool is_new(const Turn *turn, const char *id, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(turn->calls, i), "id")), id) == 0) return false;
    return true;
}

/* ids are what the endpoint gave, or made anew when they are missing or equal. */
static const char *id_of(const Turn *turn, json_t *call, size_t at)
{
    const char *id = json_string_value(json_object_get(call, "id"));
    if (id && *id && is_new(turn, id, at)) return id;
    char made[32];
    size_t number = at;
    do snprintf(made, sizeof made, "call_%zu", ++number);
    while (!is_new(turn, made, at));
    json_object_set_new(call, "id", json_string(made));
    return json_string_value(json_object_get(call, "id"));
}

static int32_t case_named(const TfyType *calls, const char *name)
{
    for (uint32_t i = 0; i < calls->case_count; i++)
        if (strcmp(calls->cases[i].name, name) == 0) return (int32_t)i;
    return -1;
}

static void tell_unknown(Turn *turn, const char *id, const char *name)
{
    const TfyType *calls = turn->agent->calls;
    TfyBuffer text = {0};
    tfy__buffer_printf(&text, "error: there is no tool '%.100s'; there are", name);
    for (uint32_t i = 0; i < calls->case_count; i++)
        tfy__buffer_printf(&text, "%s %s", i ? "," : "", calls->cases[i].name);
    tell(turn, id, text.failed ? "error: there is no such tool" : text.data);
    tfy__buffer_free(&text);
}

/* The arguments as a value; false: error says what does not fit, or the task has one. */
static bool decode_case(Turn *turn, uint32_t index, const json_t *args, TfyValue *out, char *error)
{
    const TfyCase *offer = &turn->agent->calls->cases[index];
    TfyValue fields[64] = {{.i = 0}};
    bool ok = false;
    if (offer->field_count > sizeof fields / sizeof *fields) {
        snprintf(error, TFY_ERROR_TEXT, "more than %zu arguments", sizeof fields / sizeof *fields);
    } else if (!json_is_object(args)) {
        snprintf(error, TFY_ERROR_TEXT, "%s",
                 turn->answer->cut ? "the answer was cut off before they ended; give less in one answer"
                                   : "they are not a JSON object, or nest too deeply");
    } else if (tfy__decode_args_json(turn->task, offer->fields, offer->field_count, args, fields, error)) {
        out->o = offer->field_count ? tfy_enum_of(turn->task, turn->agent->calls, index, fields) : offer->bare;
        ok = out->o;
    }
    return ok;
}

static void add_call(Turn *turn, const char *id, uint32_t index, TfyValue value)
{
    turn->ids[turn->count] = id;
    turn->reads[turn->count] = turn->agent->reads[index];
    turn->values[turn->count++] = value;
}

static bool take_call(Turn *turn, json_t *call, const char *id)
{
    const char *name = json_string_value(json_object_get(call, "tool"));
    const TfyType *calls = turn->agent->calls;
    const int32_t index = case_named(calls, name ? name : "");
    const bool is_answer = index >= 0 && (uint32_t)index + 1 == calls->case_count;
    TfyValue value = {.o = NULL};
    char error[TFY_ERROR_TEXT] = "", text[TFY_ERROR_TEXT + 64];
    if (index < 0) {
        tell_unknown(turn, id, name ? name : "");
    } else if (turn->count == CALLS_MOST) {
        snprintf(text, sizeof text, "error: not performed: an answer has %d calls at most", CALLS_MOST);
        tell(turn, id, text);
    } else if (decode_case(turn, (uint32_t)index, json_object_get(call, "args"), &value, error)) {
        add_call(turn, id, (uint32_t)index, value);
        if (is_answer) tell(turn, id, "done");
    } else if (turn->task->error) {
        return false;
    } else {
        snprintf(text, sizeof text, "error: the arguments do not fit: %s", error);
        tell(turn, id, text);
        if (is_answer) snprintf(turn->unfit, sizeof turn->unfit, "%s", error);
    }
    return true;
}

static const char TOLD_CUT[] = "Your answer was cut off, since it was too long. Go on with less in one answer.";
static const char TOLD_ASK[] = "Go on: call a tool, or end the work with a call of the tool answer.";
static const char TOLD_SAY[] = "Your answer is empty. Go on: call a tool, or end the work with an answer.";

/* Without a call: a text is the answer where a text is wanted, and so is JSON that fits. */
static bool take_text(Turn *turn)
{
    const TfyAnswer *answer = turn->answer;
    const TfyType *type = answer_type(turn->agent);
    const uint32_t index = turn->agent->calls->case_count - 1;
    TfyValue value = {.o = NULL};
    char error[TFY_ERROR_TEXT] = "";
    const bool whole = answer->len && !answer->cut;
    if (type && whole && tfy__llm_decode(turn->task, type, answer->text, answer->len, &value, error)) {
        TfyObj *call = tfy_enum_of(turn->task, turn->agent->calls, index, &value);
        if (call) add_call(turn, "", index, tfy_of_obj(call));
        return call;
    }
    if (turn->task->error) return false;
    const bool empty = !answer->cut && answers_by_text(turn->agent);
    const char *told = answer->cut ? TOLD_CUT : empty ? TOLD_SAY : TOLD_ASK;
    strcpy(turn->unfit, answer->cut ? "the model's answer was cut off, since it was too long"
                        : empty     ? "the model's answer is empty"
                                    : "the model called no tool; its work ends with a call of the tool answer");
    tfy__thread_user(next_told(turn), told, strlen(told));
    return true;
}

/* A question is a user's message, and so is what take_text tells of an answer, and a summary. */
static bool is_question(const json_t *message)
{
    const char *role = json_string_value(json_object_get(message, "role")),
               *text = json_string_value(json_object_get(message, "content"));
    return role && text && strcmp(role, "user") == 0 && !json_object_get(message, "left_out") &&
           strcmp(text, TOLD_CUT) != 0 && strcmp(text, TOLD_ASK) != 0 && strcmp(text, TOLD_SAY) != 0;
}

bool tfy__turn_continues(TfyTask *task, const TfyObj *chat)
{
    const int64_t len = tfy_list_len(chat);
    const TfyString *newest = len > 1 ? (const TfyString *)((const TfyList *)chat)->items[len - 1].o : NULL;
    json_t *message = newest ? json_loadb(newest->bytes, newest->byte_len, JSON_ALLOW_NUL, NULL) : NULL;
    const bool asks = is_question(message);
    int64_t older = 0;
    json_decref(message);
    return asks && tfy_thread_older(task, 0, chat, len - 1, &older) && older > 0;
}

static TfyObj *said(Turn *turn, const TfyType *type)
{
    TfyBuffer message = {0};
    TfyObj *thread = tfy_list_of(turn->task, type, 0, NULL);
    if (turn->answer->too_long) return thread;
    tfy__buffer_char(&message, '{');
    if (json_array_size(turn->calls)) {
        tfy__buffer_text(&message, "\"calls\":");
        tfy__encode_json(&message, turn->calls);
        tfy__buffer_char(&message, ',');
    }
    tfy__buffer_text(&message, "\"content\":");
    tfy__buffer_json_string(&message, turn->answer->text, turn->answer->len);
    if (turn->answer->opaque) {
        tfy__buffer_text(&message, ",\"opaque\":");
        tfy__encode_json(&message, turn->answer->opaque);
    }
    tfy__buffer_text(&message, ",\"role\":\"assistant\"}");
    if (thread) thread = tfy__thread_add(turn->task, 0, thread, &message);
    for (uint32_t i = 0; thread && i < turn->told_count; i++)
        thread = tfy__thread_add(turn->task, 0, thread, &turn->told[i]);
    tfy__buffer_free(&message);
    return thread;
}

static bool finish(Turn *turn, const TfyType *type, TfyValue *out)
{
    TfyTask *task = turn->task;
    TfyValue ids[CALLS_MOST + 1], reads[CALLS_MOST + 1] = {{.i = 0}}, fields[8] = {{.o = NULL}};
    for (uint32_t i = 0; i < turn->count; i++)
        if (!(ids[i].o = tfy_string_of(task, turn->ids[i], strlen(turn->ids[i])))) return false;
    for (uint32_t i = turn->count; i-- > 0;) reads[i].i = turn->reads[i] ? reads[i + 1].i + 1 : 0;
    fields[0].o = said(turn, type->fields[0].type);
    fields[1].o = fields[0].o ? tfy_list_of(task, type->fields[1].type, turn->count, turn->values) : NULL;
    fields[2].o = fields[1].o ? tfy_list_of(task, type->fields[2].type, turn->count, ids) : NULL;
    fields[3].o = fields[2].o ? tfy_list_of(task, type->fields[3].type, turn->count, reads) : NULL;
    if (*turn->unfit && fields[3].o && !(fields[4].o = tfy_string_of(task, turn->unfit, strlen(turn->unfit))))
        return false;
    fields[5].i = turn->answer->tokens;
    fields[6].i = turn->answer->window;
    fields[7].b = turn->answer->too_long;
    out->o = fields[3].o ? tfy_record_of(task, type, fields) : NULL;
    return out->o;
}

/* Models give arguments as a text; what is no object stays as it is, and does not fit. */
static json_t *copy_call(const json_t *call)
{
    const char *tool = json_string_value(json_object_get(call, "tool"));
    const json_t *id = json_object_get(call, "id"), *args = json_object_get(call, "args");
    json_t *copy = json_object();
    if (copy && json_object_set_new(copy, "tool", json_string(tool ? tool : "")) == 0 &&
        json_object_set(copy, "args", args ? (json_t *)args : json_null()) == 0 &&
        (!json_is_string(id) || json_object_set(copy, "id", (json_t *)id) == 0))
        return copy;
    json_decref(copy);
    return NULL;
}

/* {"name": value, …} of a call that a test writes. */
static json_t *args_of(const TfyCase *offer, const TfyObj *call)
{
    TfyBuffer text = {0};
    const TfyValue *fields = offer->field_count ? ((const TfyRecord *)call)->fields : NULL;
    json_t *args = NULL;
    if (tfy__encode_args(&text, offer->fields, offer->field_count, fields))
        args = json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL);
    tfy__buffer_free(&text);
    return args;
}

TfyObj *tfy_turn_of(TfyTask *task, const TfyTool *next, TfyObj *calls)
{
    const TfyList *chosen = (const TfyList *)calls;
    json_t *list = json_array();
    TfyValue turn = {.o = NULL};
    bool ok = list;
    for (uint32_t i = 0; ok && i < chosen->len; i++) {
        const TfyCase *offer = &next->agent->calls->cases[tfy_tag(chosen->items[i].o)];
        json_t *args = args_of(offer, chosen->items[i].o);
        ok = args && json_array_append_new(list, json_pack("{s:s, s:O}", "tool", offer->name, "args", args)) == 0;
        json_decref(args);
    }
    if (ok)
        tfy__turn_decode(task, next, &(TfyAnswer){.text = "", .calls = list, .tokens = -1}, &turn);
    else
        tfy__starved(task);
    json_decref(list);
    return turn.o;
}

bool tfy__turn_decode(TfyTask *task, const TfyTool *tool, const TfyAnswer *answer, TfyValue *out)
{
    Turn turn;
    turn.task = task;
    turn.agent = tool->agent;
    turn.answer = answer;
    turn.calls = json_array();
    turn.count = turn.told_count = 0;
    turn.unfit[0] = '\0';
    const size_t count = json_array_size(answer->calls);
    bool ok = turn.calls;
    for (size_t i = 0; ok && i < count && i < 2 * CALLS_MOST; i++) {
        json_t *call = copy_call(json_array_get(answer->calls, i));
        const char *id = call ? id_of(&turn, call, i) : NULL;
        ok = id && json_array_append_new(turn.calls, call) == 0 && take_call(&turn, call, id);
    }
    if (ok && answer->too_long)
        snprintf(turn.unfit, sizeof turn.unfit, "%s", answer->too_long);
    else if (ok && !count)
        ok = take_text(&turn);
    if (ok) ok = finish(&turn, tool->result, out);
    if (!ok && !task->error) tfy__starved(task);
    for (uint32_t i = 0; i < turn.told_count; i++) tfy__buffer_free(&turn.told[i]);
    json_decref(turn.calls);
    return ok;
}
