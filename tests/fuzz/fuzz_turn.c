/* fuzz_turn.c: what a model answers, from the bytes of a response in each wire form to the turn of an agent. The first byte chooses the form, and
 * whether the answer was cut off. A turn has at most 32 calls with ids of their own; written out it reads back the same; and the record of the
 * same answer, as a replay reads it, makes the same turn. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "effects/llm_form.h"
#include "effects/llm_turn.h"
#include "value/heap.h"
#include "value/json.h"

enum { CALLS_MOST = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* ---- an agent ---- */

extern const TfyType node_type;
static const TfyType thread_type = {.kind = TFY_LIST, .name = "thread", .elem = &tfy_type_json},
                     nodes_type = {.kind = TFY_LIST, .name = "list<Node>", .elem = &node_type},
                     map_type = {.kind = TFY_MAP,
                                 .name = "map<string, Node>",
                                 .elem = &node_type,
                                 .key = &tfy_type_string},
                     maybe_type = {.kind = TFY_OPTIONAL, .name = "string?", .elem = &tfy_type_string},
                     strings_type = {.kind = TFY_LIST, .name = "list<string>", .elem = &tfy_type_string},
                     ints_type = {.kind = TFY_LIST, .name = "list<int>", .elem = &tfy_type_int};

static bool no_nodes(TfyTask *task, TfyValue *out)
{
    return (out->o = tfy_list_of(task, &nodes_type, 0, NULL));
}

static const TfyField node_fields[] = {{"n", &tfy_type_int, NULL, NULL}, {"below", &nodes_type, no_nodes, NULL}};
const TfyType node_type = {.kind = TFY_RECORD, .name = "Node", .fields = node_fields, .field_count = 2};

static const TfyField see_fields[] = {{"n", &tfy_type_int, NULL, NULL}, {"why", &maybe_type, NULL, NULL}},
                      tree_fields[] = {{"top", &node_type, NULL, NULL}, {"named", &map_type, NULL, NULL}},
                      any_fields[] = {{"any", &tfy_type_json, NULL, NULL}, {"x", &tfy_type_float, NULL, NULL}},
                      text_fields[] = {{"value", &tfy_type_string, NULL, NULL}},
                      node_answer_fields[] = {{"value", &node_type, NULL, NULL}};
static const TfyType text_calls, node_calls;
static TfyObj text_stop = {TFY_IMMORTAL, 0, &text_calls}, node_stop = {TFY_IMMORTAL, 0, &node_calls};
static const TfyCase text_cases[] = {{"stop", NULL, 0, &text_stop, NULL},
                                     {"see", see_fields, 2, NULL, NULL},
                                     {"tree", tree_fields, 2, NULL, NULL},
                                     {"any", any_fields, 2, NULL, NULL},
                                     {"answer", text_fields, 1, NULL, NULL}},
                     node_cases[] = {{"stop", NULL, 0, &node_stop, NULL},
                                     {"see", see_fields, 2, NULL, NULL},
                                     {"tree", tree_fields, 2, NULL, NULL},
                                     {"any", any_fields, 2, NULL, NULL},
                                     {"answer", node_answer_fields, 1, NULL, NULL}};
static const TfyType text_calls = {.kind = TFY_ENUM, .name = "a.Call", .cases = text_cases, .case_count = 5},
                     node_calls = {.kind = TFY_ENUM, .name = "b.Call", .cases = node_cases, .case_count = 5},
                     text_list = {.kind = TFY_LIST, .name = "list<a.Call>", .elem = &text_calls},
                     node_list = {.kind = TFY_LIST, .name = "list<b.Call>", .elem = &node_calls};
static const bool reads[] = {false, true, true, false, false};
static const TfyAgent text_agent = {.calls = &text_calls, .reads = reads, .most = 8192},
                      node_agent = {.calls = &node_calls, .reads = reads, .most = 8192};
#define TURN(list)                                                                                                     \
    {                                                                                                                  \
        {"said", &thread_type, NULL, NULL}, {"calls", list, NULL, NULL}, {"ids", &strings_type, NULL, NULL},           \
            {"reads", &ints_type, NULL, NULL},                                                                         \
        {                                                                                                              \
            "unfit", &maybe_type, NULL, NULL                                                                           \
        }                                                                                                              \
    }
static const TfyField text_turn_fields[] = TURN(&text_list), node_turn_fields[] = TURN(&node_list);
static const TfyType text_turn = {.kind = TFY_RECORD, .name = "turn", .fields = text_turn_fields, .field_count = 5},
                     node_turn = {.kind = TFY_RECORD, .name = "turn", .fields = node_turn_fields, .field_count = 5};
static const TfyTool text_next = {.name = "a.next", .result = &text_turn, .agent = &text_agent},
                     node_next = {.name = "b.next", .result = &node_turn, .agent = &node_agent};

/* ---- what holds ---- */

static void check_ids(const TfyList *ids, const TfyList *calls)
{
    CHECK(ids->len == calls->len && ids->len <= CALLS_MOST);
    for (uint32_t i = 0; i < ids->len; i++)
        for (uint32_t k = 0; k < i; k++)
            CHECK(strcmp(((TfyString *)ids->items[i].o)->bytes, ((TfyString *)ids->items[k].o)->bytes) != 0);
}

/* As it is written. */
static char *check_turn(TfyTask *task, const TfyTool *tool, TfyValue turn)
{
    char error[TFY_ERROR_TEXT];
    const TfyValue *fields = ((const TfyRecord *)turn.o)->fields;
    TfyBuffer text = {0};
    TfyValue again;
    check_ids((const TfyList *)fields[2].o, (const TfyList *)fields[1].o);
    CHECK(((const TfyList *)fields[0].o)->len >= 1);
    CHECK(tfy__encode(&text, tool->result, turn));
    CHECK(tfy__decode_text(task, tool->result, text.data, text.len, &again, error));
    CHECK(tfy_equal(tool->result, turn, again));
    return text.data;
}

/* The next request takes what was said in every form. */
static void check_next(TfyValue turn)
{
    static const TfyLlmForm *const forms[] = {&tfy__llm_chat, &tfy__llm_messages, &tfy__llm_responses};
    const TfyList *said = (const TfyList *)((const TfyRecord *)turn.o)->fields[0].o;
    for (int form = 0; form < 3; form++) {
        TfyLlmWire wire = {.form = forms[form]};
        TfyBuffer body = {0};
        for (uint32_t i = 0; i < said->len; i++) {
            const TfyString *text = (const TfyString *)said->items[i].o;
            json_t *message = json_loadb(text->bytes, text->byte_len, JSON_ALLOW_NUL, NULL);
            CHECK(message && json_is_string(json_object_get(message, "role")));
            forms[form]->add(&wire, message);
            json_decref(message);
        }
        forms[form]->body(&body, &wire, &(TfyLlmAsked){.model = "m", .name = "n"});
        json_t *sent = body.failed ? NULL : json_loadb(body.data, body.len, JSON_ALLOW_NUL, NULL);
        CHECK(sent);
        json_decref(sent);
        tfy__buffer_free(&body);
        tfy__llm_wire_free(&wire);
    }
}

static char *decode(TfyTask *task, const TfyTool *tool, const TfyLlmParts *parts, const json_t *calls, bool cut)
{
    const char *text = json_string_value(parts->text);
    const TfyAnswer answer = {
        .text = text ? text : "", .len = json_string_length(parts->text), .calls = calls, .cut = cut};
    TfyValue turn;
    CHECK(tfy__turn_decode(task, tool, &answer, &turn));
    check_next(turn);
    char *written = check_turn(task, tool, turn);
    tfy_cut(task, 0);
    return written;
}

static void check_answer(TfyTask *task, const TfyTool *tool, const TfyLlmParts *parts, bool cut)
{
    char *recorded = parts->calls ? json_dumps(parts->calls, JSON_COMPACT) : NULL;
    json_t *read = recorded ? json_loads(recorded, JSON_ALLOW_NUL, NULL) : NULL;
    CHECK(!parts->calls || read);
    char *first = decode(task, tool, parts, parts->calls, cut), *second = decode(task, tool, parts, read, cut);
    CHECK(strcmp(first, second) == 0);
    free(first);
    free(second);
    free(recorded);
    json_decref(read);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const apis[] = {"chat", "messages", "responses"};
    if (!len) return 0;
    TfyHeap heap;
    TfyTask task = {.heap = &heap, .fuel = TFY_FUEL_SLICE};
    TfyLlmParts parts = {.finish_reason = ""};
    json_t *response = json_loadb((const char *)data + 1, len - 1, JSON_ALLOW_NUL, NULL);
    CHECK(tfy__heap_init(&heap, NULL, NULL) == TFY_OK);
    if (response && tfy__llm_form_named(apis[data[0] % 3])->read(response, &parts))
        check_answer(&task, data[0] & 64 ? &node_next : &text_next, &parts, data[0] & 128);
    json_decref(parts.text);
    json_decref(parts.calls);
    json_decref(parts.opaque);
    json_decref(response);
    CHECK(heap.objects == 0);
    tfy__heap_deinit(&heap);
    CHECK(heap.in_use == 0);
    return 0;
}
