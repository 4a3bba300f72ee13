/* lsp_hover.c: what the name under the cursor is, and where it is declared. */
#include <stdarg.h>
#include <string.h>

#include "lsp_internal.h"

/* A signature that grows at its end. */
typedef struct Text {
    Arena *arena;
    const char *text;
} Text;

static void add(Text *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(Text *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    to->text = arena_printf(to->arena, "%s%s", to->text, arena_vprintf(to->arena, format, args));
    va_end(args);
}

/* ---- signatures ---- */

static const char *repeat_word(RepeatClass repeat)
{
    static const char *const words[] = {
        [REPEAT_ONCE] = "once", [REPEAT_IDEMPOTENT] = "idempotent", [REPEAT_PURE] = "pure"};
    return words[repeat];
}

static const char *repeat_meaning(RepeatClass repeat)
{
    static const char *const meanings[] = {
        [REPEAT_ONCE] = "once: never silently repeated; after a crash in the middle of it a person or a probe decides",
        [REPEAT_IDEMPOTENT] = "idempotent: may be repeated with the same key",
        [REPEAT_PURE] = "pure: may be repeated freely",
    };
    return meanings[repeat];
}

static const char *type_name(const Type *type)
{
    return !type || type->kind == TYPE_BAD ? "?" : type->name;
}

static void add_params(Text *to, const Field *params)
{
    add(to, "(");
    for (const Field *f = params; f; f = f->next) {
        add(to, "%s: %s", f->name.text ? f->name.text : "_", type_name(f->type));
        if (f->value) add(to, " = …");
        if (f->next) add(to, ", ");
    }
    add(to, ")");
}

static void add_result(Text *to, const Type *type)
{
    if (type && type->kind != TYPE_NOTHING) add(to, " -> %s", type_name(type));
}

static void add_errors(Text *to, const ErrorSet *errors)
{
    for (uint32_t i = 0; errors && i < errors->count; i++)
        add(to, "%s%s", i ? ", " : " fails ", errors->types[i]->name);
}

static void add_callable(Text *to, const Decl *decl, const char *word)
{
    add(to, "%s %s", word, decl->name.text);
    add_params(to, decl->params);
    add_result(to, decl->type);
    if (decl->kind == DECL_TOOL) add(to, " %s", repeat_word(decl->repeat));
    if (decl->kind == DECL_WORKFLOW) add_errors(to, decl->errors);
}

static void add_fields(Text *to, const TypeField *fields, uint32_t count, const char *open, const char *close)
{
    add(to, "%s", open);
    for (uint32_t i = 0; i < count; i++) add(to, "%s%s: %s", i ? ", " : "", fields[i].name, type_name(fields[i].type));
    add(to, "%s", close);
}

static void add_case(Text *to, const TypeCase *type_case)
{
    add(to, "%s", type_case->name);
    if (type_case->has_fields) add_fields(to, type_case->fields, type_case->field_count, "(", ")");
}

static void add_record(Text *to, const Type *type)
{
    uint32_t first = type->kind == TYPE_ERROR; /* every error has its message */
    add(to, "%s %s", type->kind == TYPE_ERROR ? "error" : "type", type->name);
    if (type->field_count > first)
        add_fields(to, type->fields + first, type->field_count - first, " { ", " }");
    else
        add(to, " { }");
}

static void add_enum(Text *to, const Decl *decl)
{
    add(to, "enum %s { ", decl->name.text);
    for (uint32_t i = 0; decl->type && i < decl->type->case_count; i++) {
        if (i) add(to, ", ");
        add_case(to, &decl->type->cases[i]);
    }
    add(to, " }");
}

static void add_decl(Text *to, const Decl *decl)
{
    switch (decl->kind) {
    case DECL_TOOL: add_callable(to, decl, "tool"); break;
    case DECL_PROMPT: add_callable(to, decl, "prompt"); break;
    case DECL_FN: add_callable(to, decl, "fn"); break;
    case DECL_WORKFLOW: add_callable(to, decl, "workflow"); break;
    case DECL_ENUM: add_enum(to, decl); break;
    case DECL_CONST: add(to, "const %s: %s", decl->name.text, type_name(decl->type)); break;
    case DECL_TYPE:
    case DECL_ERROR:
        if (decl->type) add_record(to, decl->type);
        break;
    case DECL_IMPORT:
        add(to, "import \"%s\" as %s", decl->imported ? decl->imported->file : "…", decl->name.text);
        break;
    default: break;
    }
}

const char *lsp_decl_signature(Arena *arena, const Decl *decl)
{
    Text text = {arena, ""};
    add_decl(&text, decl);
    return text.text;
}

/* A type in the notation of the built-in tables; T and K become the receiver's own where it is known. */
static void add_notation(Text *to, const char *notation, const Type *receiver)
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
            add(to, "%s", own->name);
        else
            add(to, "%.*s", (int)len, at);
        at += len;
    }
}

static void add_builtin(Text *to, const Builtin *builtin, const Type *receiver)
{
    add(to, "%s(", builtin->name);
    for (uint32_t i = 0; i < builtin->param_count; i++) {
        const BuiltinParam *param = &builtin->params[i];
        bool marked = param->optional && !strchr(param->type, '?'); /* a T? says already that it may be left out */
        add(to, "%s%s%s: ", i ? ", " : "", param->name, marked ? "?" : "");
        add_notation(to, param->type, receiver);
    }
    add(to, ")");
    if (strcmp(builtin->result, "nothing") == 0) return;
    add(to, " -> ");
    add_notation(to, builtin->result, receiver);
}

const char *lsp_builtin_signature(Arena *arena, const Builtin *builtin, const Type *receiver)
{
    Text text = {arena, ""};
    add_builtin(&text, builtin, receiver);
    return text.text;
}

/* ---- hover ---- */

static void explain_variable(Text *to, const Located *at)
{
    const Variable *v = at->variable;
    const Type *type = at->type && at->type->kind != TYPE_BAD ? at->type : v->type;
    add(to, "%s%s: %s", v->param ? "" : v->mutable ? "var " : "let ", v->name, type_name(type));
}

static bool needs_yield(const Builtin *builtin)
{
    bool held = builtin->id == BI_LOCK || builtin->id == BI_SEMAPHORE || builtin->id == BI_DEADLINE; /* behind `with` */
    bool made = builtin->id == BI_CHANNEL;
    return builtin->effect && !held && !made && (builtin->suspends || strcmp(builtin->result, "nothing") != 0);
}

static void explain_code(Text *to, const Located *at)
{
    switch (at->kind) {
    case LOC_VARIABLE: explain_variable(to, at); break;
    case LOC_DECL: add_decl(to, at->decl); break;
    case LOC_FIELD: add(to, "%s.%s: %s", at->owner, at->field->name, type_name(at->type)); break;
    case LOC_PARAM: add(to, "%s(%s: %s)", at->decl->name.text, at->param->name.text, type_name(at->type)); break;
    case LOC_CASE:
        add(to, "%s.", at->type->name);
        add_case(to, &at->type->cases[at->case_index]);
        break;
    case LOC_BUILTIN:
        if (needs_yield(at->builtin)) add(to, "yield ");
        if (at->type) add(to, "%s.", type_name(at->type));
        add_builtin(to, at->builtin, at->type);
        break;
    case LOC_BUILTIN_PARAM:
        add(to, "%s(%s: %s)", at->builtin->name, at->builtin_param->name, at->builtin_param->type);
        break;
    case LOC_TYPE: add_record(to, at->type); break;
    case LOC_NONE: break;
    }
}

/* What is below the signature. */
static void explain_words(Text *to, const Located *at)
{
    const Decl *decl = at->kind == LOC_DECL ? at->decl : NULL;
    const Type *declared = at->variable ? at->variable->type : at->field ? at->field->type : NULL;
    if (decl && decl->doc) add(to, "\n\n%s", decl->doc);
    if (decl && decl->kind == DECL_TOOL) add(to, "\n\n%s", repeat_meaning(decl->repeat));
    bool repeats = at->kind == LOC_BUILTIN && at->builtin->suspends && needs_yield(at->builtin);
    if (repeats) add(to, "\n\n%s", repeat_meaning(at->builtin->repeat));
    if (declared && at->type && at->type != declared && declared->kind == TYPE_OPTIONAL)
        add(to, "\n\ndeclared as %s; known not to be null here", declared->name);
}

json_t *lsp_hover(LspServer *server, const json_t *params)
{
    const LspAnalysis *analysis;
    uint32_t off;
    if (!lsp_analysis_at(server, params, &analysis, &off)) return NULL;
    Located at = analysis ? locate_at(analysis->program, off) : (Located){0};
    if (at.kind == LOC_NONE) return json_null();
    Text text = {analysis->sources.arena, "```tfy\n"};
    explain_code(&text, &at);
    add(&text, "\n```");
    explain_words(&text, &at);
    return json_pack("{s:{s:s, s:o}, s:o}", "contents", "kind", "markdown", "value", lsp_text(text.text), "range",
                     lsp_range(analysis, at.span));
}

json_t *lsp_definition(LspServer *server, const json_t *params)
{
    const LspAnalysis *analysis;
    uint32_t off;
    if (!lsp_analysis_at(server, params, &analysis, &off)) return NULL;
    Located at = analysis ? locate_at(analysis->program, off) : (Located){0};
    return at.kind == LOC_NONE || !at.target.len ? json_null() : lsp_location(analysis, at.target);
}
