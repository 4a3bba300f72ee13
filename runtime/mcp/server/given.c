/* given.c: what clients give to prompts and resources: addresses, arguments that are texts, the start of one
 * (offer.h). */
#include <string.h>

#include "mcp/server/offer.h"

/* ---- addresses ---- */

bool tfy__mcp_address_varies(const char *address)
{
    return strchr(address, '{');
}

/* A variable stands for one or more letters up to what follows it, without a '/'. The first one that fits is taken. */
bool tfy__mcp_address_fits(const char *address, const char *given, json_t **args)
{
    *args = json_object();
    while (*address) {
        const char *end = *address == '{' ? strchr(address, '}') : NULL;
        if (!end) {
            if (*address != *given) break;
            address++;
            given++;
            continue;
        }
        const size_t len = end[1] ? strcspn(given, (const char[]){end[1], '/', '\0'}) : strcspn(given, "/");
        json_object_setn_new(*args, address + 1, (size_t)(end - address - 1), json_stringn(given, len));
        if (!len) break;
        address = end + 1;
        given += len;
    }
    if (!*address && !*given) return true;
    json_decref(*args);
    *args = NULL;
    return false;
}

/* ---- arguments ---- */

static const TfyField *param_named(const TfyWorkflow *workflow, const char *name)
{
    for (uint32_t i = 0; i < workflow->param_count; i++)
        if (strcmp(workflow->params[i].name, name) == 0) return &workflow->params[i];
    return NULL;
}

static bool takes_text(const TfyType *type)
{
    if (type->kind == TFY_OPTIONAL) type = type->elem;
    return type->kind == TFY_STRING || type->kind == TFY_ENUM || type->kind == TFY_TIME || type->kind == TFY_DURATION ||
           type->kind == TFY_BYTES;
}

json_t *tfy__mcp_prompt_args(const TfyWorkflow *workflow, const json_t *given)
{
    json_t *args = json_object(), *value;
    const char *name;
    json_object_foreach((json_t *)given, name, value)
    {
        const TfyField *param = param_named(workflow, name);
        const char *text = json_string_value(value);
        json_t *read = text && param && !takes_text(param->type)
                           ? json_loadb(text, json_string_length(value), JSON_DECODE_ANY, NULL)
                           : NULL;
        if (read)
            json_object_set_new(args, name, read);
        else
            json_object_set(args, name, value);
    }
    return args;
}

static void offer_word(json_t *words, const char *word, const char *start)
{
    if (strncmp(word, start, strlen(start)) == 0) json_array_append_new(words, json_string(word));
}

json_t *tfy__mcp_completions(const TfyWorkflow *workflow, const char *param, const char *start)
{
    json_t *words = json_array();
    const TfyField *field = param_named(workflow, param);
    const TfyType *type = field ? field->type : &tfy_type_nothing;
    if (type->kind == TFY_OPTIONAL) type = type->elem;
    if (type->kind == TFY_BOOL) offer_word(words, "true", start);
    if (type->kind == TFY_BOOL) offer_word(words, "false", start);
    for (uint32_t i = 0; type->kind == TFY_ENUM && i < type->case_count; i++)
        if (!type->cases[i].field_count) offer_word(words, type->cases[i].name, start);
    return words;
}
