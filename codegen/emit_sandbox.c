/* emit_sandbox.c: what the processes of tools may reach: as static data, a TfySandbox for each sandbox that a tool or
 * the program names; and as JSON, for people and programs that ask. */
#include <inttypes.h>
#include <string.h>

#include "emit.h"
#include "emit_sandbox.h"

/* A list that NULL ends, and the member that refers to it; nothing for an empty one. */
static void put_list(Emit *e, Text *p, const Sandbox *sandbox, const char *member, const SandboxTexts *texts)
{
    Text list = {.arena = e->arena};
    if (!texts->count) return;
    for (uint32_t i = 0; i < texts->count; i++) {
        text_quote_c(&list, texts->items[i], strlen(texts->items[i]));
        text_put(&list, ", ");
    }
    ctext_pieces(&e->c, 1, "static const char *const tfyg_%s_%s[] = {%sNULL};", member, sandbox->c_name, list.data);
    text_format(p, ", .%s = tfyg_%s_%s", member, member, sandbox->c_name);
}

static void put_limit(Text *p, const char *member, int64_t limit)
{
    if (limit) text_format(p, ", .%s = %" PRId64, member, limit);
}

static void emit_sandbox(Emit *e, const Sandbox *sandbox)
{
    static const char *const roots[] = {[SANDBOX_WORKSPACE] = "TFY_ROOT_WORKSPACE",
                                        [SANDBOX_READONLY] = "TFY_ROOT_READONLY",
                                        [SANDBOX_OPEN] = "TFY_ROOT_OPEN"};
    static const char *const networks[] = {
        [NETWORK_NONE] = "TFY_NETWORK_NONE", [NETWORK_ANY] = "TFY_NETWORK_ANY", [NETWORK_LIST] = "TFY_NETWORK_LIST"};
    Text p = {.arena = e->arena};
    text_format(&p, "static const TfySandbox tfyg_sandbox_%s = {.name = \"%s\", .root = %s, .network = %s",
                sandbox->c_name, sandbox->name, roots[sandbox->root], networks[sandbox->network]);
    put_list(e, &p, sandbox, "reads", &sandbox->reads);
    put_list(e, &p, sandbox, "writes", &sandbox->writes);
    put_list(e, &p, sandbox, "hosts", &sandbox->hosts);
    put_list(e, &p, sandbox, "runner", &sandbox->runner);
    put_limit(&p, "memory", sandbox->limits.memory);
    put_limit(&p, "files", sandbox->limits.files);
    put_limit(&p, "output", sandbox->limits.output);
    put_limit(&p, "processes", sandbox->limits.processes);
    put_limit(&p, "cpu_ms", sandbox->limits.cpu_ms);
    ctext_pieces(&e->c, 1, "%s};", p.data);
}

static bool runs_in_one(const Decl *decl)
{
    return decl->kind == DECL_TOOL || decl->is_server;
}

/* Tools and servers share sandboxes; each is written where the first of them names it. */
static bool is_named_before(const Program *program, uint32_t count, const Sandbox *sandbox)
{
    for (uint32_t i = 0; i < count; i++)
        if (runs_in_one(program->decls[i]) && program->decls[i]->sandbox == sandbox) return true;
    return false;
}

void emit_sandboxes(Emit *e)
{
    const Program *program = e->machine->program;
    for (uint32_t i = 0; i < program->decl_count; i++) {
        const Decl *decl = program->decls[i];
        if (runs_in_one(decl) && decl->sandbox && !is_named_before(program, i, decl->sandbox))
            emit_sandbox(e, decl->sandbox);
    }
    if (program->sandbox && !is_named_before(program, program->decl_count, program->sandbox))
        emit_sandbox(e, program->sandbox);
}

void put_sandbox(Text *p, const char *before, const Sandbox *sandbox, const char *behind)
{
    if (sandbox) text_format(p, "%s.sandbox = &tfyg_sandbox_%s%s", before, sandbox->c_name, behind);
}

/* ---- as JSON ---- */

void put_json_texts(Text *out, const char *key, const SandboxTexts *texts)
{
    text_format(out, "\"%s\": [", key);
    for (uint32_t i = 0; i < texts->count; i++) {
        if (i) text_put(out, ", ");
        text_quote_json(out, texts->items[i]);
    }
    text_put(out, "]");
}

void put_json_network(Text *out, SandboxNetwork network, const SandboxTexts *hosts)
{
    if (network == NETWORK_LIST)
        put_json_texts(out, "network", hosts);
    else
        text_format(out, "\"network\": \"%s\"", network == NETWORK_ANY ? "any" : "none");
}

void put_json_sandbox(Text *out, const Sandbox *sandbox)
{
    static const char *const roots[] = {
        [SANDBOX_WORKSPACE] = "workspace", [SANDBOX_READONLY] = "readonly", [SANDBOX_OPEN] = "open"};
    const SandboxLimits *limits = &sandbox->limits;
    text_format(out, "{\"name\": \"%s\", \"root\": \"%s\", ", sandbox->name, roots[sandbox->root]);
    put_json_texts(out, "reads", &sandbox->reads);
    text_put(out, ", ");
    put_json_texts(out, "writes", &sandbox->writes);
    text_put(out, ", ");
    put_json_network(out, sandbox->network, &sandbox->hosts);
    text_put(out, ", ");
    put_json_texts(out, "runner", &sandbox->runner);
    text_format(out,
                ", \"memory\": %" PRId64 ", \"processes\": %" PRId64 ", \"cpu_ms\": %" PRId64 ", \"files\": %" PRId64
                ", \"output\": %" PRId64 "}",
                limits->memory, limits->processes, limits->cpu_ms, limits->files, limits->output);
}
