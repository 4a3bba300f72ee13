/* emit_asked.c: the call behind the question of an `approve` policy, as static data. */
#include "../dsl/check_origin.h"
#include "emit.h"

/* The name of an argument. */
static const char *asked_param(const Expr *call, uint32_t index)
{
    const bool has_receiver = call->builtin && call->builtin->receiver != TYPE_BAD;
    if (call->builtin)
        return !has_receiver ? call->builtin->params[index].name : index ? call->builtin->params[index - 1].name : "of";
    const Field *f = call->decl->params;
    while (index--) f = f->next;
    return f->name.text;
}

static void emit_asked_params(Emit *e, const Point *point, const Expr *call)
{
    Text list = {.arena = e->arena};
    for (uint32_t i = 0; i < call->argc; i++) {
        text_format(&list, "%s{\"%s\", ", i ? ", " : "", asked_param(call, i));
        if (call->argv[i])
            emit_type(e, &list, call->argv[i]->to);
        else
            text_put(&list, "&tfy_type_optional_string"); /* it is null */
        text_put(&list, ", NULL, NULL}");
    }
    ctext_pieces(&e->c, point->line, "static const TfyField tfyg_asked_params%u[] = {%s};", point->number, list.data);
}

/* [["name", "from the prompt 'plan', line 10"]] */
static void put_origins(Emit *e, Text *p, const Point *point, const Expr *call)
{
    Text json = {.arena = e->arena};
    for (uint32_t i = 0; i < call->argc; i++) {
        if (!point->origins[i]) continue;
        text_format(&json, "%s[\"%s\",", json.len ? "," : "[", asked_param(call, i));
        text_quote_json(&json, check_origin_words(e->arena, e->machine->program->sources, point->origins[i]));
        text_put(&json, "]");
    }
    text_put(&json, "]");
    text_put(p, ", .origins = ");
    text_quote_c(p, json.data, json.len);
}

void emit_asked(Emit *e, const Point *point)
{
    const Expr *call = point->asked;
    const bool is_tool = call->call == CALL_TOOL;
    const bool runs = is_tool ? call->decl->provider == PROV_EXEC : call->builtin && call->builtin->id == BI_EXEC;
    const bool sends = is_tool ? call->decl->provider == PROV_HTTP : call->builtin && call->builtin->id == BI_HTTP;
    if (call->argc) emit_asked_params(e, point, call);
    Text p = {.arena = e->arena};
    text_format(&p, "static const TfyAsked tfyg_asked%u = {.name = \"%s\", .by = &tfy__asking, .show = tfy__show_%s",
                point->number, call->builtin ? call->builtin->name : call->decl->full_name,
                runs    ? "exec"
                : sends ? "http"
                        : "call");
    if (is_tool && (runs || sends)) text_format(&p, ", .tool = &tfyg_tool_%s", call->decl->c_name);
    if (call->argc) text_format(&p, ", .params = tfyg_asked_params%u, .param_count = %u", point->number, call->argc);
    if (point->origins) put_origins(e, &p, point, call);
    ctext_pieces(&e->c, point->line, "%s};", p.data);
}
