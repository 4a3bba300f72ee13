/* emit_performers.c: who does the work of a program's effects. A program names only the performers of what it can
 * ask for, so it is linked with nothing else: one that asks no model and sends no request carries no libcurl. */
#include <ctype.h>
#include <string.h>

#include "emit.h"

typedef struct Used {
    bool builtins[BI_COUNT];
    bool extern_tool, prompt, mcp;
} Used;

static void mark_tool(Used *used, const Decl *decl)
{
    used->prompt |= decl->kind == DECL_PROMPT;
    if (decl->kind != DECL_TOOL) return;
    if (decl->provider == PROV_EXTERN)
        used->extern_tool = true;
    else if (decl->provider == PROV_MCP)
        used->mcp = true;
    else
        used->builtins[decl->provider == PROV_HTTP ? BI_HTTP : BI_EXEC] = true;
}

static void put_performer(Text *list, const char *effect, const char *performer)
{
    text_put(list, "[TFY_F_");
    for (; *effect; effect++) text_format(list, "%c", toupper((unsigned char)*effect));
    text_format(list, "] = &tfy__perform_%s, ", performer);
}

const char *emit_performers(Emit *e)
{
    const Machine *machine = e->machine;
    const char *last = "";
    Used used = {0};
    Text list = {.arena = e->arena};
    for (uint32_t i = 0; i < machine->program->decl_count; i++) mark_tool(&used, machine->program->decls[i]);
    for (uint32_t i = 0; i < machine->point_count; i++)
        if (machine->points[i]->builtin) used.builtins[machine->points[i]->builtin->id] = true;
    for (int id = 0; id < BI_COUNT; id++) {
        const Builtin *builtin = builtin_by_id((BuiltinId)id);
        if (!used.builtins[id] || !builtin->performer || strcmp(builtin->name, last) == 0) continue;
        put_performer(&list, builtin->name, builtin->performer);
        last = builtin->name;
    }
    if (used.extern_tool) put_performer(&list, "extern", "extern");
    if (used.mcp) put_performer(&list, "mcp", "mcp");
    if (used.prompt) put_performer(&list, "prompt", "llm");
    if (!list.len) return NULL;
    ctext_pieces(&e->c, 1, "static const TfyPerformer *const tfyg_performers[TFY_F_COUNT] = {%s};", list.data);
    return "tfyg_performers";
}
