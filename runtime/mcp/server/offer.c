/* offer.c: see offer.h. */
#include "mcp/server/offer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "value/json.h"

enum { NESTED_MOST = 64 };

/* ---- which types are JSON ---- */

/* The records and enums that a walk is inside of: a type may contain itself. */
typedef struct Inside {
    const struct Inside *up;
    const TfyType *type;
    int depth;
} Inside;

static bool is_json(const TfyType *type, const Inside *in);

static bool fields_are_json(const TfyField *fields, uint32_t count, const Inside *in)
{
    for (uint32_t i = 0; i < count; i++)
        if (!is_json(fields[i].type, in)) return false;
    return true;
}

static bool cases_are_json(const TfyType *type, const Inside *in)
{
    for (uint32_t i = 0; i < type->case_count; i++)
        if (!fields_are_json(type->cases[i].fields, type->cases[i].field_count, in)) return false;
    return true;
}

static bool is_json(const TfyType *type, const Inside *in)
{
    const Inside here = {in, type, in ? in->depth + 1 : 0};
    for (const Inside *at = in; at; at = at->up)
        if (at->type == type) return true;
    if (here.depth > NESTED_MOST || type == &tfy_type_thread) return false;
    switch (type->kind) {
    case TFY_BOOL:
    case TFY_INT:
    case TFY_FLOAT:
    case TFY_DURATION:
    case TFY_TIME:
    case TFY_STRING:
    case TFY_BYTES:
    case TFY_JSON: return true;
    case TFY_LIST:
    case TFY_OPTIONAL: return is_json(type->elem, &here);
    case TFY_MAP: return is_json(type->key, &here) && is_json(type->elem, &here);
    case TFY_RECORD: return fields_are_json(type->fields, type->field_count, &here);
    case TFY_ENUM: return cases_are_json(type, &here);
    default: return false;
    }
}

static TfyMcpGives gives(const TfyType *type)
{
    if (!type || type->kind == TFY_NOTHING) return TFY_MCP_GIVES_NOTHING;
    if (type == &tfy_type_thread) return TFY_MCP_GIVES_THREAD;
    if (type->kind == TFY_LIST && type->elem->kind == TFY_ENUM && strcmp(type->elem->name, "Part") == 0)
        return TFY_MCP_GIVES_PARTS;
    switch (type->kind) {
    case TFY_STRING: return TFY_MCP_GIVES_TEXT;
    case TFY_JSON: return TFY_MCP_GIVES_ANY;
    case TFY_RECORD:
    case TFY_MAP: return TFY_MCP_GIVES_OBJECT;
    default: return TFY_MCP_GIVES_OTHER;
    }
}

static bool can_offer(const TfyWorkflow *workflow)
{
    const TfyMcpGives what = gives(workflow->result);
    return (what == TFY_MCP_GIVES_NOTHING || what == TFY_MCP_GIVES_THREAD || is_json(workflow->result, NULL)) &&
           fields_are_json(workflow->params, workflow->param_count, NULL);
}

/* ---- as a tool ---- */

static json_t *schema_of(const TfyType *type)
{
    TfyBuffer text = {0};
    json_t *schema = tfy__schema(&text, type) ? json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL) : NULL;
    tfy__buffer_free(&text);
    return schema;
}

static json_t *schema_of_fields(const char *name, const TfyField *fields, uint32_t count)
{
    return schema_of(&(TfyType){.kind = TFY_RECORD, .name = name, .fields = fields, .field_count = count});
}

/* NULL: the result has no schema. A record is written in place, for what clients take has to be an object. */
static json_t *schema_of_result(const TfyWorkflow *workflow, TfyMcpGives what)
{
    const TfyType *type = workflow->result;
    if (what == TFY_MCP_GIVES_OBJECT && type->kind == TFY_RECORD)
        return schema_of_fields(type->name, type->fields, type->field_count);
    if (what == TFY_MCP_GIVES_OBJECT) return schema_of(type);
    const TfyField result = {.name = "result", .type = type};
    return what == TFY_MCP_GIVES_OTHER ? schema_of_fields(workflow->name, &result, 1) : NULL;
}

static json_t *tool_of(const TfyWorkflow *workflow, TfyMcpGives what)
{
    json_t *input = schema_of_fields(workflow->name, workflow->params, workflow->param_count);
    json_t *tool = json_pack("{s:s, s:s, s:o}", "name", workflow->name, "description",
                             workflow->doc ? workflow->doc : "", "inputSchema", input);
    if (tool) json_object_set_new(tool, "annotations", json_pack("{s:b}", "readOnlyHint", workflow->reads));
    json_t *output = tool ? schema_of_result(workflow, what) : NULL;
    if (output) json_object_set_new(tool, "outputSchema", output);
    return tool;
}

/* ---- as a prompt, as a resource ---- */

static bool is_needed(const TfyField *param)
{
    return !param->make && param->type->kind != TFY_OPTIONAL;
}

static json_t *prompt_of(const TfyWorkflow *workflow)
{
    json_t *arguments = json_array();
    for (uint32_t i = 0; i < workflow->param_count; i++) {
        const TfyField *param = &workflow->params[i];
        json_array_append_new(arguments, json_pack("{s:s, s:s*, s:b}", "name", param->name, "description", param->doc,
                                                   "required", is_needed(param)));
    }
    return json_pack("{s:s, s:s, s:o}", "name", workflow->name, "description", workflow->doc ? workflow->doc : "",
                     "arguments", arguments);
}

static const char *media_of(TfyMcpGives what)
{
    return what == TFY_MCP_GIVES_TEXT ? "text/plain" : what == TFY_MCP_GIVES_PARTS ? NULL : "application/json";
}

static json_t *resource_of(const TfyWorkflow *workflow, TfyMcpGives what, const char *address)
{
    return json_pack("{s:s, s:s, s:s, s:s*}", tfy__mcp_address_varies(address) ? "uriTemplate" : "uri", address, "name",
                     workflow->name, "description", workflow->doc ? workflow->doc : "", "mimeType", media_of(what));
}

/* ---- the offers ---- */

/* What strangers say is untrusted, and the compiler was told so. */
static bool is_for_strangers(const TfyWorkflow *workflow)
{
    const uint64_t all = workflow->param_count < 64 ? (UINT64_C(1) << workflow->param_count) - 1 : UINT64_MAX;
    return workflow->param_count <= 64 && (workflow->untrusted & all) == all;
}

static bool add(TfyMcpOffers *offers, const TfyWorkflow *workflow, TfyMcpOffered as, const char *address)
{
    TfyMcpOffer *offer = &offers->items[offers->count++];
    *offer = (TfyMcpOffer){.workflow = workflow, .as = as, .gives = gives(workflow->result)};
    if (address && !(offer->address = strdup(address))) return false;
    offer->shown = as == TFY_MCP_TOOL     ? tool_of(workflow, offer->gives)
                   : as == TFY_MCP_PROMPT ? prompt_of(workflow)
                                          : resource_of(workflow, offer->gives, address);
    return offer->shown;
}

static const TfyWorkflow *named(const TfyProgram *program, const char *name)
{
    for (uint32_t i = 0; i < program->workflow_count; i++)
        if (strcmp(program->workflows[i]->name, name) == 0) return program->workflows[i];
    return NULL;
}

static bool refuse(char *error, const char *name, const char *why)
{
    snprintf(error, TFY_ERROR_TEXT, "'%.100s' cannot be offered: %s", name, why);
    return false;
}

/* Whether the address has all that the workflow needs, and nothing else. */
static bool address_is_for(const char *address, const TfyWorkflow *workflow, char *error)
{
    json_t *args = NULL;
    const char *name;
    json_t *text;
    bool fits = tfy__mcp_address_fits(address, address, &args);
    size_t needed = 0, given = 0;
    for (uint32_t i = 0; i < workflow->param_count; i++) {
        needed += is_needed(&workflow->params[i]);
        given += is_needed(&workflow->params[i]) && json_object_get(args, workflow->params[i].name);
    }
    json_object_foreach(args, name, text)
    {
        uint32_t i = 0;
        while (i < workflow->param_count && strcmp(workflow->params[i].name, name) != 0) i++;
        fits = fits && i < workflow->param_count && workflow->params[i].type->kind == TFY_STRING;
    }
    json_decref(args);
    return (fits && needed == given) ||
           refuse(error, workflow->name, "the variables of its address are not its parameters of type string");
}

static bool add_named(TfyMcpOffers *offers, const TfyProgram *program, const char *name, const TfyMcpOffered *as,
                      const char *address, char *error)
{
    const TfyWorkflow *workflow = named(program, name);
    if (!workflow) {
        snprintf(error, TFY_ERROR_TEXT, "%.100s has no workflow '%.100s'", program->name, name);
        return false;
    }
    if (!address && tfy__mcp_offer_named(offers, name)) return true;
    if (!can_offer(workflow)) return refuse(error, name, "not all that it takes and gives is JSON");
    if (!is_for_strangers(workflow)) return refuse(error, name, "build the program with --offer, which names it");
    if (address && !address_is_for(address, workflow, error)) return false;
    const bool talks = workflow->result == &tfy_type_thread;
    if (address && talks) return refuse(error, name, "a conversation is a prompt");
    return add(offers, workflow, as ? *as : talks ? TFY_MCP_PROMPT : TFY_MCP_TOOL, address);
}

static bool add_resource(TfyMcpOffers *offers, const TfyProgram *program, const char *word, char *error)
{
    static const TfyMcpOffered as = TFY_MCP_RESOURCE;
    const char *equal = strrchr(word, '=');
    char *address = equal && equal != word ? strndup(word, (size_t)(equal - word)) : NULL;
    const bool fine = address ? add_named(offers, program, equal + 1, &as, address, error)
                              : refuse(error, word, "a resource is ADDRESS=WORKFLOW");
    free(address);
    return fine;
}

/* A workflow of an imported file has a dot in its name. */
static bool add_documented(TfyMcpOffers *offers, const TfyProgram *program)
{
    for (uint32_t i = 0; i < program->workflow_count; i++) {
        const TfyWorkflow *workflow = program->workflows[i];
        const TfyMcpOffered as = workflow->result == &tfy_type_thread ? TFY_MCP_PROMPT : TFY_MCP_TOOL;
        const bool offered =
            workflow->doc && !strchr(workflow->name, '.') && can_offer(workflow) && is_for_strangers(workflow);
        if (offered && !tfy__mcp_offer_named(offers, workflow->name) && !add(offers, workflow, as, NULL)) return false;
    }
    return true;
}

static bool mark(TfyMcpOffers *offers, const char *const *names, unsigned how, char *error)
{
    for (; names && *names; names++) {
        TfyMcpOffer *offer = NULL;
        for (size_t i = 0; i < offers->count && !offer; i++)
            if (strcmp(offers->items[i].workflow->name, *names) == 0) offer = &offers->items[i];
        if (!offer || offer->as != TFY_MCP_TOOL) {
            snprintf(error, TFY_ERROR_TEXT, "'%.100s' is not a tool that is offered", *names);
            return false;
        }
        offer->how |= how;
    }
    return true;
}

static size_t count_of(const char *const *list)
{
    size_t count = 0;
    while (list && list[count]) count++;
    return count;
}

/* What is named as something else is no tool. */
static bool add_all(TfyMcpOffers *offers, const TfyProgram *program, const TfyMcpWanted *wanted, char *error)
{
    static const TfyMcpOffered prompt = TFY_MCP_PROMPT;
    for (const char *const *at = wanted->resources; at && *at; at++)
        if (!add_resource(offers, program, *at, error)) return false;
    for (const char *const *at = wanted->prompts; at && *at; at++)
        if (!add_named(offers, program, *at, &prompt, NULL, error)) return false;
    for (const char *const *at = wanted->tools; at && *at; at++)
        if (!add_named(offers, program, *at, NULL, NULL, error)) return false;
    return (wanted->tools || add_documented(offers, program)) &&
           mark(offers, wanted->tasks, TFY_MCP_ALWAYS_TASK, error) &&
           mark(offers, wanted->asking, TFY_MCP_ASKS_FIRST, error);
}

TfyMcpOffers *tfy__mcp_offers_new(const TfyProgram *program, const TfyMcpWanted *wanted, char *error)
{
    const size_t most = program->workflow_count + count_of(wanted->resources);
    TfyMcpOffers *offers = calloc(1, sizeof *offers + most * sizeof *offers->items);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (offers && add_all(offers, program, wanted, error)) return offers;
    tfy__mcp_offers_free(offers);
    return NULL;
}

void tfy__mcp_offers_free(TfyMcpOffers *offers)
{
    if (!offers) return;
    for (size_t i = 0; i < offers->count; i++) {
        json_decref(offers->items[i].shown);
        free(offers->items[i].address);
    }
    free(offers);
}

const TfyMcpOffer *tfy__mcp_offer_named(const TfyMcpOffers *offers, const char *name)
{
    for (size_t i = 0; i < offers->count; i++)
        if (strcmp(offers->items[i].workflow->name, name) == 0) return &offers->items[i];
    return NULL;
}
