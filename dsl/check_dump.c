/* check_dump.c: the checked program as text, for `tfyc --dump program` and for people who look for a mistake in the
 * checker. */
#include "check_internal.h"

static void dump_errors(const ErrorSet *set, FILE *out)
{
    for (uint32_t i = 0; set && i < set->count; i++) fprintf(out, "%s%s", i ? ", " : " fails ", set->types[i]->name);
}

static void dump_fields(const TypeField *fields, uint32_t count, FILE *out)
{
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "    %s: %s%s\n", fields[i].name, fields[i].type->name, fields[i].value ? " = …" : "");
    }
}

static void dump_case(const TypeCase *k, FILE *out)
{
    fprintf(out, "    %s", k->name);
    for (uint32_t i = 0; i < k->field_count; i++) {
        fprintf(out, "%s%s: %s", i ? ", " : "(", k->fields[i].name, k->fields[i].type->name);
    }
    fprintf(out, "%s\n", k->field_count ? ")" : "");
}

static void dump_params(const Decl *decl, FILE *out)
{
    fputc('(', out);
    for (const Field *f = decl->params; f; f = f->next) {
        fprintf(out, "%s: %s%s", f->name.text ? f->name.text : "_", f->type ? f->type->name : "bad",
                f->next ? ", " : "");
    }
    fprintf(out, ") -> %s", decl->type ? decl->type->name : "bad");
}

static void dump_variables(const Decl *decl, FILE *out)
{
    for (const Variable *v = decl->variables; v; v = v->next) {
        const char *word = v->param ? "param" : v->mutable ? "var" : "let";
        fprintf(out, "    %u %s %s: %s\n", v->id, word, v->name, v->type->name);
    }
}

static const char *repeat_word(RepeatClass repeat)
{
    return repeat == REPEAT_PURE ? "pure" : repeat == REPEAT_IDEMPOTENT ? "idempotent" : "once";
}

static void dump_signature(const Decl *decl, const char *word, FILE *out)
{
    fprintf(out, "%s %s", word, decl->name.text);
    dump_params(decl, out);
    dump_errors(decl->errors, out);
    if (decl->kind == DECL_TOOL) fprintf(out, " %s", repeat_word(decl->repeat));
    if (decl->probe) fprintf(out, " probe %s", decl->probe->name.text);
    fputc('\n', out);
    if (decl->kind == DECL_FN || decl->kind == DECL_WORKFLOW) dump_variables(decl, out);
}

static void dump_decl(const Decl *decl, FILE *out)
{
    const Type *type = decl->type;
    const char *name = decl->name.text ? decl->name.text : "_";
    switch (decl->kind) {
    case DECL_CONST: fprintf(out, "const %s: %s\n", name, type ? type->name : "bad"); break;
    case DECL_TYPE:
    case DECL_ERROR:
        fprintf(out, "%s %s\n", decl->kind == DECL_TYPE ? "type" : "error", name);
        if (type) dump_fields(type->fields, type->field_count, out);
        break;
    case DECL_ENUM:
        fprintf(out, "enum %s\n", name);
        for (uint32_t i = 0; type && i < type->case_count; i++) dump_case(&type->cases[i], out);
        break;
    case DECL_TOOL: dump_signature(decl, "tool", out); break;
    case DECL_PROMPT: dump_signature(decl, "prompt", out); break;
    case DECL_FN: dump_signature(decl, "fn", out); break;
    case DECL_WORKFLOW: dump_signature(decl, "workflow", out); break;
    case DECL_TEST:
        fprintf(out, "test \"%s\"\n", name);
        dump_variables(decl, out);
        break;
    case DECL_BAD:
    case DECL_SANDBOX:
    case DECL_IMPORT: break;
    }
}

void program_dump(const Program *program, FILE *out)
{
    for (uint32_t i = 0; i < program->decl_count; i++) dump_decl(program->decls[i], out);
}
