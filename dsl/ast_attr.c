/* ast_attr.c: what is written about a tool, a parameter and a result beside its type. */
#include "ast_build.h"

#include "grammar.h"
#include "literal.h"

static TrustLabel label_of(Token label)
{
    return label.kind == TOK_TRUSTED ? LABEL_TRUSTED : LABEL_UNTRUSTED;
}

Result ast_labelled_result(Build *b, Token label, TypeExpr *type)
{
    (void)b;
    return (Result){type, label_of(label), token_span(label)};
}

Field *ast_labelled(Build *b, Field *field, Token label)
{
    (void)b;
    field->label = label_of(label);
    field->label_span = token_span(label);
    return field;
}

Attr *ast_attr(Build *b, AttrKind kind, Token keyword)
{
    Attr *attr = arena_new(b->arena, Attr);
    attr->kind = kind;
    attr->span = span_from(b, token_span(keyword));
    return attr;
}

Attr *ast_attr_limit(Build *b, Token keyword, Token count)
{
    Attr *attr = ast_attr(b, ATTR_LIMIT, keyword);
    attr->value = literal_int(b, count);
    return attr;
}

Attr *ast_attr_rate(Build *b, Token keyword, Token count, Token per)
{
    Attr *attr = ast_attr(b, ATTR_RATE, keyword);
    attr->value = literal_int(b, count);
    attr->per_ms = literal_duration(b, per);
    return attr;
}

Attr *ast_attr_sandbox(Build *b, Token keyword, CatchName *name)
{
    Attr *attr = ast_attr(b, ATTR_SANDBOX, keyword);
    attr->name = name;
    return attr;
}
