/* lsp_signature.c: declarations, effects and methods as one line of text each, the way people write them. */
#include <stdarg.h>
#include <string.h>

#include "lsp_internal.h"
#include "sandbox.h"

LspText lsp_text_new(Arena *arena)
{
    LspText to = {.arena = arena};
    lsp_add(&to, "%s", "");
    return to;
}

void lsp_add(LspText *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *more = arena_vprintf(to->arena, format, args);
    va_end(args);
    uint32_t len = (uint32_t)strlen(more);
    to->text = arena_regrow(to->arena, to->text, &to->cap, to->len + len + 1, 1);
    memcpy(to->text + to->len, more, len + 1);
    to->len += len;
}

/* What is added from here to lsp_end_param is a parameter. */
static void begin_param(LspText *to, const char *name)
{
    to->params = arena_grow(to->arena, to->params, &to->param_cap, to->param_count + 1, sizeof *to->params);
    to->params[to->param_count++] = (LspParam){name, {to->len, 0}};
}

static void end_param(LspText *to)
{
    Span *place = &to->params[to->param_count - 1].place;
    place->len = to->len - place->off;
}

static const char *repeat_word(RepeatClass repeat)
{
    static const char *const words[] = {
        [REPEAT_ONCE] = "once", [REPEAT_IDEMPOTENT] = "idempotent", [REPEAT_PURE] = "pure"};
    return words[repeat];
}

const char *lsp_type_name(const Type *type)
{
    const bool unknown = !type || (type->kind == TYPE_BAD && strcmp(type->name, "bad") == 0);
    return unknown ? "?" : type->name;
}

static const char *label_word(TrustLabel label)
{
    return label == LABEL_TRUSTED ? "trusted " : label == LABEL_UNTRUSTED ? "untrusted " : "";
}

static void add_params(LspText *to, const Field *params)
{
    lsp_add(to, "(");
    for (const Field *f = params; f; f = f->next) {
        begin_param(to, f->name.text ? f->name.text : "_");
        lsp_add(to, "%s: %s%s", f->name.text ? f->name.text : "_", label_word(f->label), lsp_type_name(f->type));
        if (f->value) lsp_add(to, " = …");
        end_param(to);
        if (f->next) lsp_add(to, ", ");
    }
    lsp_add(to, ")");
}

static void add_result(LspText *to, TrustLabel label, const Type *type)
{
    if (type && type->kind != TYPE_NOTHING) lsp_add(to, " -> %s%s", label_word(label), lsp_type_name(type));
}

static void add_errors(LspText *to, const ErrorSet *errors)
{
    for (uint32_t i = 0; errors && i < errors->count; i++)
        lsp_add(to, "%s%s", i ? ", " : " fails ", errors->types[i]->name);
}

static void add_callable(LspText *to, const Decl *decl, const char *word)
{
    lsp_add(to, "%s %s", word, decl->name.text);
    for (const Binding *p = decl->type_params; p; p = p->next)
        lsp_add(to, "%s%s%s", p == decl->type_params ? "<" : ", ", p->name.text, p->next ? "" : ">");
    add_params(to, decl->params);
    add_result(to, decl->result_label, decl->type);
    if (decl->kind == DECL_TOOL) lsp_add(to, " %s", repeat_word(decl->repeat));
    if (decl->sandbox) lsp_add(to, " sandbox %s", decl->sandbox->name);
    if (decl->kind == DECL_WORKFLOW) add_errors(to, decl->errors);
}

static void add_fields(LspText *to, const TypeField *fields, uint32_t count, const char *open, const char *close)
{
    lsp_add(to, "%s", open);
    for (uint32_t i = 0; i < count; i++) {
        if (i) lsp_add(to, ", ");
        begin_param(to, fields[i].name);
        lsp_add(to, "%s: %s", fields[i].name, lsp_type_name(fields[i].type));
        end_param(to);
    }
    lsp_add(to, "%s", close);
}

void lsp_add_case(LspText *to, const TypeCase *type_case)
{
    lsp_add(to, "%s", type_case->name);
    if (type_case->has_fields) add_fields(to, type_case->fields, type_case->field_count, "(", ")");
}

void lsp_add_call(LspText *to, const Type *type)
{
    lsp_add(to, "%s", type->name);
    add_fields(to, type->fields, type->field_count, "(", ")");
}

static void add_enum(LspText *to, const char *name, const Type *type)
{
    lsp_add(to, "enum %s { ", name);
    for (uint32_t i = 0; type && i < type->case_count; i++) {
        if (i) lsp_add(to, ", ");
        lsp_add_case(to, &type->cases[i]);
    }
    lsp_add(to, " }");
}

void lsp_add_record(LspText *to, const Type *type)
{
    if (type->kind == TYPE_ENUM) {
        add_enum(to, type->name, type);
        return;
    }
    uint32_t first = type->kind == TYPE_ERROR; /* every error has its message */
    lsp_add(to, "%s %s", type->kind == TYPE_ERROR ? "error" : "type", type->name);
    if (type->field_count > first)
        add_fields(to, type->fields + first, type->field_count - first, " { ", " }");
    else
        lsp_add(to, " { }");
}

void lsp_add_decl(LspText *to, const Decl *decl)
{
    switch (decl->kind) {
    case DECL_TOOL: add_callable(to, decl, "tool"); break;
    case DECL_PROMPT: add_callable(to, decl, "prompt"); break;
    case DECL_FN: add_callable(to, decl, "fn"); break;
    case DECL_WORKFLOW: add_callable(to, decl, "workflow"); break;
    case DECL_ENUM: add_enum(to, decl->name.text, decl->type); break;
    case DECL_SANDBOX: lsp_add(to, "sandbox %s", decl->name.text); break;
    case DECL_CONST: lsp_add(to, "const %s: %s", decl->name.text, lsp_type_name(decl->type)); break;
    case DECL_TYPE:
    case DECL_ERROR:
        if (decl->type) lsp_add_record(to, decl->type);
        break;
    case DECL_IMPORT:
        lsp_add(to, "import \"%s\" as %s", decl->imported ? decl->imported->file : "…", decl->name.text);
        break;
    default: break;
    }
}

const char *lsp_decl_signature(Arena *arena, const Decl *decl)
{
    LspText text = lsp_text_new(arena);
    lsp_add_decl(&text, decl);
    return text.text;
}

/* A type in the notation of the built-in tables; T and K become the receiver's own where it is known. */
static void add_notation(LspText *to, const char *notation, const Type *receiver)
{
    for (const char *at = notation; *at;) {
        size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
        const Type *own = !receiver || len != 1 ? NULL
                          : *at == 'T'          ? receiver->elem
                          : *at == 'K'          ? receiver->key
                          : *at == 'E'          ? receiver->elem->elem
                                                : NULL;
        if (!len) len = 1;
        if (own)
            lsp_add(to, "%s", own->name);
        else
            lsp_add(to, "%.*s", (int)len, at);
        at += len;
    }
}

void lsp_add_builtin(LspText *to, const Builtin *builtin, const Type *receiver)
{
    lsp_add(to, "%s(", builtin->name);
    for (uint32_t i = 0; i < builtin->param_count; i++) {
        const BuiltinParam *param = &builtin->params[i];
        bool marked = param->optional && !strchr(param->type, '?'); /* a T? says already that it may be left out */
        if (i) lsp_add(to, ", ");
        begin_param(to, param->name);
        lsp_add(to, "%s%s: ", param->name, marked ? "?" : "");
        add_notation(to, param->type, receiver);
        end_param(to);
    }
    lsp_add(to, ")");
    if (strcmp(builtin->result, "nothing") == 0) return;
    lsp_add(to, " -> ");
    add_notation(to, builtin->result, receiver);
}

const char *lsp_builtin_signature(Arena *arena, const Builtin *builtin, const Type *receiver)
{
    LspText text = lsp_text_new(arena);
    lsp_add_builtin(&text, builtin, receiver);
    return text.text;
}
