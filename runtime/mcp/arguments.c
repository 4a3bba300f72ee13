/* arguments.c: see arguments.h. */
#include "mcp/arguments.h"

#include "base/buffer.h"
#include "value/json.h"

static void leave_out(const TfyType *type, json_t *value);

static void leave_out_fields(const TfyType *type, json_t *object)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const TfyField *field = &type->fields[i];
        json_t *member = json_object_get(object, field->name);
        if (field->make && json_is_null(member))
            json_object_del(object, field->name);
        else if (member)
            leave_out(field->type, member);
    }
}

/* Takes fields out that are null and need not be there. Types nest as deeply as a file of tools may. */
static void leave_out(const TfyType *type, json_t *value)
{
    size_t i;
    json_t *item;
    if (type->kind == TFY_OPTIONAL) type = type->elem;
    if (type->kind == TFY_RECORD) leave_out_fields(type, value);
    if (type->kind != TFY_LIST) return;
    json_array_foreach(value, i, item) leave_out(type->elem, item);
}

static json_t *as_json(const TfyType *type, TfyValue value)
{
    TfyBuffer text = {0};
    json_t *json = NULL;
    if (tfy__encode(&text, type, value))
        json = tfy__json_read(text.data, text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    tfy__buffer_free(&text);
    if (json) leave_out(type, json);
    return json;
}

json_t *tfy__mcp_arguments(const TfyTool *tool, const TfyValue *args)
{
    json_t *object = json_object();
    for (uint32_t i = 0; object && i < tool->param_count; i++) {
        const TfyField *param = &tool->params[i];
        if (param->make && param->type->kind == TFY_OPTIONAL && !args[i].o) continue;
        if (json_object_set_new(object, tool->mcp->names[i], as_json(param->type, args[i])) == 0) continue;
        json_decref(object);
        object = NULL;
    }
    return object;
}
