/* list_servers.c: see list_servers.h. */
#include "list_servers.h"

#include <string.h>

#include "ctext.h"

typedef struct Listing {
    const Module *module;
    Arena *arena;
    DiagList *diags;
    Text out;
} Listing;

enum { CONSTS_DEEP = 20 }; /* constants that stand for constants */

static void put_word(Listing *l, const Expr *e, int depth, const char **comma);

static void refuse(Listing *l, const Expr *e)
{
    Diag *diag = diag_error(l->diags, e->span, "tfy mcp pull cannot know this before the program compiles");
    diag_hint(l->diags, diag, "use texts, constants and secret(\"…\"); or name the command yourself: "
                              "tfy mcp pull NAME -- COMMAND");
}

static const Expr *bare(const Expr *e)
{
    while (e->kind == EX_PAREN) e = e->left;
    return e;
}

/* The value of a constant of the file; NULL: there is none. */
static const Expr *const_named(const Listing *l, const char *name)
{
    const Decl *decl = l->module->decls;
    while (decl && !(decl->kind == DECL_CONST && decl->name.text == name)) decl = decl->next;
    return decl ? decl->value : NULL;
}

static void put_text(Listing *l, const char *text, size_t len, const char **comma)
{
    text_put(&l->out, *comma);
    text_quote_json(&l->out, arena_strndup(l->arena, text, len));
    *comma = ", ";
}

/* secret("NAME") */
static const Expr *secret_name(const Expr *e)
{
    const bool is_call = e->kind == EX_CALL && e->left->kind == EX_NAME && e->left->name.text;
    if (!is_call || !e->args || e->args->next || strcmp(e->left->name.text, "secret") != 0) return NULL;
    const Expr *name = bare(e->args->value);
    const Expr *part = name->kind == EX_STRING ? name->parts : NULL;
    return part && part->kind == EX_TEXT && !part->next ? part : NULL;
}

static void put_parts(Listing *l, const Expr *e, int depth, const char **comma)
{
    for (const Expr *part = e->parts; part; part = part->next) {
        if (part->kind == EX_TEXT)
            put_text(l, part->text, part->text_len, comma);
        else
            put_word(l, part, depth, comma);
    }
}

/* The parts of a word, without its brackets. */
static void put_word(Listing *l, const Expr *written, int depth, const char **comma)
{
    const Expr *e = bare(written), *secret = secret_name(e);
    const Expr *constant = e->kind == EX_NAME && depth < CONSTS_DEEP ? const_named(l, e->name.text) : NULL;
    if (constant) {
        put_word(l, constant, depth + 1, comma);
    } else if (e->kind == EX_STRING) {
        put_parts(l, e, depth, comma);
    } else if (e->kind == EX_INT) {
        put_text(l, e->text, e->text_len, comma);
    } else if (secret) {
        text_format(&l->out, "%s{\"secret\": ", *comma);
        text_quote_json(&l->out, arena_strndup(l->arena, secret->text, secret->text_len));
        text_put(&l->out, "}");
        *comma = ", ";
    } else {
        refuse(l, written);
    }
}

static void put_whole_word(Listing *l, const Expr *e)
{
    const char *comma = "";
    text_put(&l->out, "[");
    put_word(l, e, 0, &comma);
    text_put(&l->out, "]");
}

static void put_list(Listing *l, const Expr *written)
{
    const Expr *e = bare(written);
    const Expr *constant = e->kind == EX_NAME ? const_named(l, e->name.text) : NULL;
    if (constant) e = bare(constant);
    if (e->kind != EX_LIST) {
        refuse(l, written);
        text_put(&l->out, "[]");
        return;
    }
    text_put(&l->out, "[");
    for (const Arg *arg = e->args; arg; arg = arg->next) {
        put_whole_word(l, arg->value);
        text_put(&l->out, arg->next ? ", " : "");
    }
    text_put(&l->out, "]");
}

/* The name of an entry: a plain text, or a bare name. */
static void put_key(Listing *l, const MapEntry *entry)
{
    const char *comma = "";
    const Expr *key = entry->key ? bare(entry->key) : NULL;
    const Expr *part = key && key->kind == EX_STRING ? key->parts : NULL;
    if (!entry->key && entry->name.text)
        put_text(l, entry->name.text, strlen(entry->name.text), &comma);
    else if (part && part->kind == EX_TEXT && !part->next)
        put_text(l, part->text, part->text_len, &comma);
    else
        refuse(l, entry->key ? entry->key : entry->value);
}

static void put_map(Listing *l, const Expr *written)
{
    const Expr *e = bare(written);
    if (e->kind != EX_MAP) {
        refuse(l, written);
        text_put(&l->out, "{}");
        return;
    }
    text_put(&l->out, "{");
    for (const MapEntry *entry = e->entries; entry; entry = entry->next) {
        put_key(l, entry);
        text_put(&l->out, ": ");
        put_whole_word(l, entry->value);
        text_put(&l->out, entry->next ? ", " : "");
    }
    text_put(&l->out, "}");
}

static void put_option(Listing *l, const ProviderOption *option)
{
    static const char *const maps[] = {"env", "headers"};
    const char *name = option->name.text ? option->name.text : "";
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        if (strcmp(name, maps[i]) != 0) continue;
        text_format(&l->out, ", \"%s\": ", name);
        put_map(l, option->value);
        return;
    }
    if (strcmp(name, "cwd") != 0) return;
    text_put(&l->out, ", \"cwd\": ");
    put_whole_word(l, option->value);
}

static void put_server(Listing *l, const Decl *decl)
{
    LineCol at = source_line_col(l->diags->sources, decl->span.off);
    text_format(&l->out, "{\"name\": \"%s\", \"line\": %u, ", decl->name.text, at.line);
    if (decl->provider == PROV_HTTP) {
        text_put(&l->out, "\"http\": ");
        put_whole_word(l, decl->provider_value);
    } else {
        text_put(&l->out, "\"exec\": ");
        put_list(l, decl->provider_value);
    }
    for (const ProviderOption *option = decl->options; option; option = option->next) put_option(l, option);
    text_put(&l->out, "}");
}

const char *list_servers(const Module *module, Arena *arena, DiagList *diags)
{
    Listing l = {.module = module, .arena = arena, .diags = diags, .out = {.arena = arena}};
    const char *comma = "";
    text_put(&l.out, "[");
    for (const Decl *decl = module->decls; decl && !diags->errors; decl = decl->next) {
        if (!decl->is_server || !decl->provider_value || !decl->name.text) continue;
        text_put(&l.out, comma);
        put_server(&l, decl);
        comma = ",\n ";
    }
    text_put(&l.out, "]\n");
    return l.out.data;
}
