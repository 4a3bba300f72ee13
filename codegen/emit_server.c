/* emit_server.c: MCP servers and their tools, as static data. */
#include <inttypes.h>

#include "../dsl/check_internal.h"
#include "emit.h"

static uint32_t line_of(const Emit *e, const Decl *decl)
{
    return source_global_line(e->machine->program->sources, decl->span.off);
}

static void put_server_hook(Emit *e, Text *p, const Decl *decl, const char *what)
{
    const Routine *routine = machine_hook(e->machine, decl, what);
    if (routine) text_format(p, ", .%s = %s", what, emit_routine_name(e, routine));
}

static void emit_server(Emit *e, const Decl *decl)
{
    Text p = {.arena = e->arena};
    text_format(&p, "static const TfyMcpServer tfyg_server_%s = {.name = \"%s\", .file = ", decl->c_name,
                decl->full_name);
    text_quote_c(&p, decl->module->file, strlen(decl->module->file));
    put_server_hook(e, &p, decl, "argv");
    put_server_hook(e, &p, decl, "url");
    put_server_hook(e, &p, decl, "env");
    put_server_hook(e, &p, decl, "cwd");
    if (machine_hook(e->machine, decl, "url")) text_put(&p, ", .logins = &tfy__mcp_logins");
    ctext_pieces(&e->c, line_of(e, decl), "%s};", p.data);
}

void emit_servers(Emit *e)
{
    const Program *program = e->machine->program;
    for (uint32_t i = 0; i < program->decl_count; i++)
        if (program->decls[i]->is_server) emit_server(e, program->decls[i]);
}

void emit_remote(Emit *e, const Decl *tool)
{
    const ServerTool *remote = tool->remote;
    Text names = {.arena = e->arena}, p = {.arena = e->arena};
    for (uint32_t i = 0; i < tool->param_count; i++) {
        text_quote_c(&names, remote->names[i], strlen(remote->names[i]));
        text_put(&names, ", ");
    }
    ctext_pieces(&e->c, line_of(e, tool), "static const char *const tfyg_wire_%s[] = {%sNULL};", tool->c_name,
                 names.len ? names.data : "");
    text_format(&p, "static const TfyMcpTool tfyg_mcp_%s = {.server = &tfyg_server_%s, .name = ", tool->c_name,
                tool->server->c_name);
    text_quote_c(&p, remote->name, strlen(remote->name));
    text_format(&p, ", .names = tfyg_wire_%s, .schema = UINT64_C(%" PRIu64 "), .doc = UINT64_C(%" PRIu64 ")",
                tool->c_name, remote->schema, remote->doc);
    if (remote->whole) text_put(&p, ", .whole = true");
    ctext_pieces(&e->c, line_of(e, tool), "%s};", p.data);
}
