/* check_json.c: json literals. Their braces, brackets and null are JSON's own; every other part is a value of the
 * language. */
#include "check_internal.h"

static void check_json_part(Check *c, Expr *e);

/* The text of a key that is written out; NULL: it is known only when the program runs. */
static const char *plain_key(const Expr *key, uint32_t *len)
{
    *len = 0;
    if (key->kind != EX_STRING) return NULL;
    if (!key->parts) return "";
    if (key->parts->next || key->parts->kind != EX_TEXT) return NULL;
    *len = key->parts->text_len;
    return key->parts->text;
}

/* Each name of an object once: of two, a reader would lose one. */
static void check_json_key(Check *c, MapEntry *entry, Table *seen)
{
    if (entry->name.text) {
        Diag *diag = diag_error(c->diags, entry->name.span, "a name in JSON is written \"%s\"", entry->name.text);
        diag_hint(c->diags, diag, "quote it, or write [%s] for the value of a variable", entry->name.text);
        return;
    }
    if (!check_expr_to(c, entry->key, c->core->string, (Why){0})) return;
    uint32_t len;
    const char *key = plain_key(expr_strip(entry->key), &len);
    if (!key) return;
    TableItem *item = table_add(c->arena, seen, key, len);
    const MapEntry *first = item->value;
    if (!first) {
        item->value = entry;
        return;
    }
    Diag *diag = diag_error(c->diags, entry->key->span, "the name \"%.*s\" is in this object twice", (int)len, key);
    diag_other(c->diags, diag, first->key->span, "first here");
}

static void check_json_value(Check *c, Expr *e)
{
    const Type *type = check_expr(c, e, NULL), *inner = type_strip(type);
    if (type->kind == TYPE_BAD || (type_is_printable(inner) && !type_has_handle(c, inner))) return;
    Diag *diag = diag_error(c->diags, e->span, "%s has no JSON form", type->name);
    if (inner->kind == TYPE_ERROR) diag_hint(c->diags, diag, "write .message, or the fields that are wanted");
    e->type = e->to = c->core->bad;
}

/* Braces, brackets and null are JSON's own here; everything else is a value of the language. */
static void check_json_part(Check *c, Expr *e)
{
    Table seen = {0};
    switch (e->kind) {
    case EX_MAP:
        for (MapEntry *entry = e->entries; entry; entry = entry->next) {
            check_json_key(c, entry, &seen);
            check_json_part(c, entry->value);
        }
        break;
    case EX_LIST:
        for (Arg *arg = e->args; arg; arg = arg->next) check_json_part(c, arg->value);
        break;
    case EX_NULL: break;
    default: check_json_value(c, e); return;
    }
    e->type = e->to = c->core->json;
}

/* Lowering makes objects as maps and arrays as lists of json, and null as a json?: those types must exist. */
const Type *check_json(Check *c, Expr *e)
{
    type_list(c, c->core->json);
    type_map(c, c->core->string, c->core->json);
    type_optional(c, c->core->json);
    check_json_part(c, e->left);
    return c->core->json;
}

/* { … } or [ … ] where json is wanted: the word before it is missing. What is in it is checked as if it were there. */
const Type *check_refuse_bare_json(Check *c, Expr *e)
{
    Diag *diag = diag_error(c->diags, e->span, "JSON is written with the word 'json' before it");
    diag_hint(c->diags, diag, "write json %s", e->kind == EX_LIST ? "[…]" : "{ … }");
    Expr literal = {.kind = EX_JSON, .left = e};
    check_json(c, &literal);
    return c->core->bad;
}
