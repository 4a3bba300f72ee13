/* check_server.c: where an MCP server is: how it is started or reached, with which environment or headers, and in which
 * sandbox. Its tools are declarations of their own (mcp_file.h). */
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
