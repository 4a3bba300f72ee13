/* emit_header.c: the C functions behind a module's extern tools, as a header for the C files that have them: when a
 * signature is wrong there, the C compiler says so, and points to the tool's line. */
#include <ctype.h>
#include <string.h>

#include "emit.h"

void emit_extern_prototype(Text *out, const Decl *decl)
{
    Rep result = machine_rep(decl->type);
    const Expr *name = decl->provider_value->parts;
    text_put(out, "bool ");
    if (name) text_add(out, name->text, name->text_len);
    text_put(out, "(TfyTask *task");
    for (const Field *f = decl->params; f; f = f->next)
        text_format(out, ", %s%s_", emit_ctype(machine_rep(f->type)), f->name.text);
    if (result != REP_NONE) text_format(out, ", %s*out", emit_ctype(result));
    text_put(out, ");");
}

static bool is_extern(const Decl *decl)
{
    return decl->kind == DECL_TOOL && decl->provider == PROV_EXTERN;
}

static void put_tool(Text *out, const Program *program, const Decl *decl, const char *file)
{
    if (file) {
        text_format(out, "#line %u ", source_line_col(program->sources, decl->span.off).line);
        text_quote_c(out, file, strlen(file));
        text_put(out, "\n");
    }
    emit_extern_prototype(out, decl);
    text_put(out, "\n");
}

static void put_guard(Text *out, const char *name)
{
    text_put(out, "TFYG_");
    for (; *name; name++) text_format(out, "%c", isalnum((unsigned char)*name) ? toupper((unsigned char)*name) : '_');
    text_put(out, "_H\n");
}

char *emit_header(const Program *program, const Module *module, const EmitOptions *options, const char *name,
                  size_t *len)
{
    Text out = {.arena = program->arena}, tools = {.arena = program->arena};
    const char *file = module->number ? module->source->name : options->source_name;
    for (const Decl *decl = module->decls; decl; decl = decl->next)
        if (is_extern(decl)) put_tool(&tools, program, decl, options->lines ? file : NULL);
    if (!tools.len) return NULL;
    text_format(&out, "/* Made by tfyc %s from %s: the C functions behind its extern tools. */\n#ifndef ", TFY_VERSION,
                file);
    put_guard(&out, name);
    text_put(&out, "#define ");
    put_guard(&out, name);
    text_put(&out, "#include \"tfy.h\"\n");
    text_add(&out, tools.data, tools.len);
    text_put(&out, "#endif\n");
    *len = out.len;
    return out.data;
}
