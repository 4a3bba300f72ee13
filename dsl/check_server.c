/* check_server.c: where an MCP server is: how it is started or reached, with which environment or headers, and in which
 * sandbox. Its tools are declarations of their own (mcp_file.h), and those that a program declares by hand. */
#include "check_internal.h"
#include "sandbox.h"

void check_server_attrs(Check *c, Decl *decl)
{
    const Attr *sandbox = NULL;
    for (const Attr *attr = decl->attrs; attr; attr = attr->next) {
        if (attr->kind != ATTR_SANDBOX) {
            Diag *diag = diag_error(c->diags, attr->span, "a server has no attribute but 'sandbox'");
            diag_hint(c->diags, diag, "its tools have them: mcp %s = … { TOOL: pure }", decl->name.text);
        } else if (sandbox) {
            Diag *diag = diag_error(c->diags, attr->span, "'sandbox' is given twice");
            diag_other(c->diags, diag, sandbox->span, "it is given here already");
        } else {
            sandbox = attr;
        }
    }
    if (sandbox) check_sandbox_attr(c, decl, sandbox);
}

/* ---- how it is reached ---- */

static void check_address(Check *c, const Decl *decl)
{
    Expr *url = decl->provider_value;
    const Expr *part = url->kind == EX_STRING ? url->parts : NULL;
    const bool is_text = part && part->kind == EX_TEXT;
    if (!check_expr_to(c, url, c->core->string, (Why){0})) return;
    if (is_text && part->text_len > 7 && memcmp(part->text, "http://", 7) == 0) return;
    if (is_text && part->text_len > 8 && memcmp(part->text, "https://", 8) == 0) return;
    Diag *diag = diag_error(c->diags, url->span, "a server is reached at an address");
    diag_hint(c->diags, diag, "write: mcp %s = http \"https://…\"", decl->name.text);
}

static void check_provider(Check *c, const Decl *decl)
{
    if (!decl->provider_value) return;
    if (decl->provider == PROV_HTTP) {
        check_address(c, decl);
    } else if (decl->provider == PROV_EXEC) {
        check_expr_to(c, decl->provider_value, type_list(c, c->core->string), (Why){0});
        check_argv(c, decl->provider_value);
    } else {
        Diag *diag = diag_error(c->diags, decl->provider_value->span, "an MCP server cannot be reached like this");
        diag_hint(c->diags, diag, "start it: mcp %s = exec [\"…\"]; or name its address: http \"https://…\"",
                  decl->name.text);
    }
}

/* ---- options ---- */

static void check_option(Check *c, const Decl *decl, const ProviderOption *option)
{
    static const char *const started[] = {"env", "cwd"}, *const reached[] = {"headers"};
    const bool starts = decl->provider == PROV_EXEC;
    const char *name = option->name.text;
    if (strcmp(name, starts ? "env" : "headers") == 0) {
        check_expr_to(c, option->value, type_of_notation(c, "map<string,string>?", NULL), (Why){0});
        return;
    }
    if (starts && strcmp(name, "cwd") == 0) {
        check_expr_to(c, option->value, type_of_notation(c, "string?", NULL), (Why){0});
        return;
    }
    const char *near = starts ? diag_nearest(name, strlen(name), started, sizeof started / sizeof *started)
                              : diag_nearest(name, strlen(name), reached, sizeof reached / sizeof *reached);
    if (near)
        diag_replace(diag_error(c->diags, option->name.span, "unknown option '%s'; did you mean '%s'?", name, near),
                     near);
    else
        diag_error(c->diags, option->name.span, "unknown option '%s'; %s", name,
                   starts ? "a server that is started has env and cwd" : "a server at an address has headers");
}

static void check_options(Check *c, const Decl *decl)
{
    Table seen = {0};
    for (ProviderOption *option = decl->options; option; option = option->next) {
        if (!option->name.text) continue;
        if (name_table_get(&seen, option->name.text))
            diag_error(c->diags, option->name.span, "'%s' is given twice", option->name.text);
        name_table_put(c, &seen, option->name.text, option);
        check_option(c, decl, option);
    }
    for (const ServerRow *row = decl->served; row; row = row->next)
        if (row->value && row->name.text)
            diag_error(c->diags, row->name.span, "unknown option '%s' of a server; a tool is written with a colon, "
                                                 "'%s: pure'", row->name.text, row->name.text);
}

void check_server(Check *c, Decl *decl)
{
    Body body = {.kind = BODY_TOOL, .decl = decl};
    const uint32_t scope = check_scope_enter(c);
    c->body = &body;
    c->facts = NULL;
    c->secret_ok = true;
    check_provider(c, decl);
    if (decl->provider == PROV_EXEC || decl->provider == PROV_HTTP) check_options(c, decl);
    c->secret_ok = false;
    check_scope_leave(c, scope);
    c->body = NULL;
}

/* ---- tools by hand ---- */

static const char *text_of(Check *c, const Expr *string)
{
    const Expr *text = string->kind == EX_STRING ? string->parts : NULL;
    return text ? arena_strndup(c->arena, text->text, text->text_len) : "";
}

static const char *server_name(const Decl *decl)
{
    return decl->is_server ? decl->name.text : NULL;
}

static const char *remote_name(const Decl *decl)
{
    return decl->kind == DECL_TOOL && decl->remote ? decl->remote->name : NULL;
}

/* The one of these declarations with that name. name_of: NULL: it does not count. *near: if none has it, the nearest
 * name. */
static Decl *find_named(Check *c, Decl *decls, const char *name, const char *(*name_of)(const Decl *decl),
                        const char **near)
{
    const char **names = NULL;
    uint32_t count = 0, cap = 0;
    for (Decl *decl = decls; decl; decl = decl->next) {
        const char *one = name_of(decl);
        if (!one) continue;
        if (strcmp(one, name) == 0) return decl;
        names = arena_grow(c->arena, names, &cap, count + 1, sizeof *names);
        names[count++] = one;
    }
    *near = diag_nearest(name, strlen(name), names, count);
    return NULL;
}

static Decl *find_server(Check *c, const Expr *named)
{
    const char *name = text_of(c, named), *near = NULL;
    Decl *server = find_named(c, c->module->decls, name, server_name, &near);
    if (server) return server;
    if (near) {
        diag_error(c->diags, named->span, "no MCP server '%s' in this file; did you mean '%s'?", name, near);
        return NULL;
    }
    Diag *diag = diag_error(c->diags, named->span, "no MCP server '%s' in this file", name);
    diag_hint(c->diags, diag, "declare it: mcp NAME = exec [\"…\"]; or http \"https://…\"");
    return NULL;
}

/* The tool of the server's file that has this name there. */
static const Decl *find_remote(Check *c, const Decl *server, const Expr *named)
{
    const char *name = text_of(c, named), *near = NULL, *file = server->imported->file;
    const Decl *tool = find_named(c, server->imported->decls, name, remote_name, &near);
    if (!tool && near)
        diag_error(c->diags, named->span, "no tool '%s' in %s; did you mean '%s'?", name, file, near);
    else if (!tool)
        diag_error(c->diags, named->span, "no tool '%s' in %s", name, file);
    return tool;
}

/* Can values of the one type be sent where the server's schema has the other? */
static bool fits_schema(const Check *c, const Type *ours, const Type *theirs)
{
    return ours == theirs || ours->kind == TYPE_BAD || theirs->kind == TYPE_BAD || theirs == c->core->json ||
           (theirs->kind == TYPE_OPTIONAL && (ours == theirs->elem || theirs->elem == c->core->json));
}

/* NULL after a message. *wire: what the server calls it. */
static const Field *find_param(Check *c, const Decl *theirs, const Field *ours, const char **wire)
{
    const Field *param = theirs->params;
    for (uint32_t i = 0; param; param = param->next, i++) {
        *wire = theirs->remote->names[i];
        if (strcmp(*wire, ours->name.text) == 0 || strcmp(param->name.text, ours->name.text) == 0) return param;
    }
    Diag *diag =
        diag_error(c->diags, ours->name.span, "'%s' has no parameter '%s'", theirs->remote->name, ours->name.text);
    diag_other(c->diags, diag, theirs->name.span, "this is what the server says of it");
    return NULL;
}

static void check_param(Check *c, const Field *theirs, const Field *ours)
{
    if (fits_schema(c, ours->type, theirs->type)) return;
    Diag *diag = diag_error(c->diags, ours->span, "'%s' is %s for the server, and %s here", ours->name.text,
                            theirs->type->name, ours->type->name);
    diag_other(c->diags, diag, theirs->name.span, "the server says so here");
}

/* What the server cannot do without has to be given. */
static void check_required(Check *c, const Decl *tool, const Decl *theirs, const char *const *names)
{
    const Field *param = theirs->params;
    for (uint32_t i = 0; param; param = param->next, i++) {
        bool given = param->value != NULL;
        for (uint32_t j = 0; j < tool->param_count; j++)
            given |= names[j] && strcmp(names[j], theirs->remote->names[i]) == 0;
        if (given) continue;
        Diag *diag = diag_error(c->diags, tool->name.span, "'%s' needs the parameter '%s', a %s", theirs->remote->name,
                                param->name.text, param->type->name);
        diag_other(c->diags, diag, param->name.span, "the server says so here");
    }
}

void check_remote(Check *c, Decl *tool)
{
    if (!tool->provider_value || !tool->provider_value2) return;
    Decl *server = find_server(c, tool->provider_value);
    if (server) server->used = true;
    if (!server || !server->imported) return;
    const Decl *theirs = find_remote(c, server, tool->provider_value2);
    if (!theirs) return;
    const char **names = arena_alloc(c->arena, (tool->param_count + 1) * sizeof *names);
    uint32_t i = 0;
    for (const Field *ours = tool->params; ours && i < tool->param_count; ours = ours->next, i++) {
        const Field *param = ours->name.text ? find_param(c, theirs, ours, &names[i]) : NULL;
        if (param)
            check_param(c, param, ours);
        else
            names[i] = NULL;
    }
    check_required(c, tool, theirs, names);
    for (const ProviderOption *option = tool->options; option; option = option->next)
        diag_error(c->diags, option->name.span, "a server's tool has no options; its server has them");
    ServerTool *remote = arena_new(c->arena, ServerTool);
    *remote = *theirs->remote;
    remote->names = names;
    remote->whole = tool->type == c->core->mcp_result;
    tool->remote = remote;
    tool->server = server;
}
