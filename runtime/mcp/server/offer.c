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
    return workflow->result != &tfy_type_thread &&
           (gives(workflow->result) == TFY_MCP_GIVES_NOTHING || is_json(workflow->result, NULL)) &&
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
    json_t *output = tool ? schema_of_result(workflow, what) : NULL;
    if (output) json_object_set_new(tool, "outputSchema", output);
    return tool;
}

/* ---- the offers ---- */

static bool add(TfyMcpOffers *offers, const TfyWorkflow *workflow)
{
    TfyMcpOffer *offer = &offers->items[offers->count++];
    *offer = (TfyMcpOffer){.workflow = workflow, .gives = gives(workflow->result)};
    offer->tool = tool_of(workflow, offer->gives);
    return offer->tool;
}

static const TfyWorkflow *named(const TfyProgram *program, const char *name)
{
    for (uint32_t i = 0; i < program->workflow_count; i++)
        if (strcmp(program->workflows[i]->name, name) == 0) return program->workflows[i];
    return NULL;
}

static bool add_named(TfyMcpOffers *offers, const TfyProgram *program, const char *const *names, char *error)
{
    for (; *names; names++) {
        const TfyWorkflow *workflow = named(program, *names);
        if (tfy__mcp_offer_named(offers, *names)) continue;
        if (!workflow)
            snprintf(error, TFY_ERROR_TEXT, "%.100s has no workflow '%.100s'", program->name, *names);
        else if (!can_offer(workflow))
            snprintf(error, TFY_ERROR_TEXT, "'%.100s' cannot be offered: not all that it takes and gives is JSON",
                     *names);
        if (!workflow || !can_offer(workflow) || !add(offers, workflow)) return false;
    }
    return true;
}

/* A workflow of an imported file has a dot in its name. */
static bool add_documented(TfyMcpOffers *offers, const TfyProgram *program)
{
    for (uint32_t i = 0; i < program->workflow_count; i++) {
        const TfyWorkflow *workflow = program->workflows[i];
        if (workflow->doc && !strchr(workflow->name, '.') && can_offer(workflow) && !add(offers, workflow))
            return false;
    }
    return true;
}

TfyMcpOffers *tfy__mcp_offers_new(const TfyProgram *program, const char *const *names, char *error)
{
    TfyMcpOffers *offers = calloc(1, sizeof *offers + program->workflow_count * sizeof *offers->items);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (offers && (names ? add_named(offers, program, names, error) : add_documented(offers, program))) return offers;
    tfy__mcp_offers_free(offers);
    return NULL;
}

void tfy__mcp_offers_free(TfyMcpOffers *offers)
{
    if (!offers) return;
    for (size_t i = 0; i < offers->count; i++) json_decref(offers->items[i].tool);
    free(offers);
}

const TfyMcpOffer *tfy__mcp_offer_named(const TfyMcpOffers *offers, const char *name)
{
    for (size_t i = 0; i < offers->count; i++)
        if (strcmp(offers->items[i].workflow->name, name) == 0) return &offers->items[i];
    return NULL;
}
