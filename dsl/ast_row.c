/* ast_row.c: what stands in the braces of prompts, sandboxes and servers, and what performs a tool. */
#include "ast_build.h"

#include "literal.h"

ServerRow *ast_server_row(Build *b, Name name, AttrList attrs, Expr *value)
{
    ServerRow *row = arena_new(b->arena, ServerRow);
    row->name = name;
    row->attrs = attrs.first;
    row->value = value;
    return row;
}

PromptRow *ast_prompt_row(Build *b, Name name, Expr *value)
{
    PromptRow *row = arena_new(b->arena, PromptRow);
    row->name = name;
    row->value = value;
    return row;
}

PromptRow *ast_tools_row(Build *b, Token keyword, OfferList offers)
{
    PromptRow *row = ast_prompt_row(b, ast_word(b, keyword), NULL);
    row->offers = offers.first;
    return row;
}

Offer *ast_offer(Build *b, CatchName *name, PolicyList policies)
{
    Offer *offer = arena_new(b->arena, Offer);
    offer->span = span_from(b, name->module.text ? name->module.span : name->name.span);
    offer->name = name;
    offer->policies = policies.first;
    return offer;
}

Provider *ast_provider(Build *b, ProviderKind kind, Expr *value, Expr *value2)
{
    Provider *provider = arena_new(b->arena, Provider);
    provider->kind = kind;
    provider->value = value;
    provider->value2 = value2;
    if (kind == PROV_MCP) provider->value = literal_plain(b, value, "the name of an mcp server");
    if (kind == PROV_MCP) provider->value2 = literal_plain(b, value2, "the name of an mcp tool");
    if (kind == PROV_EXTERN) provider->value = literal_plain(b, value, "the name of a C function");
    return provider;
}

Provider *ast_provider_option(Build *b, Provider *provider, Token name, Expr *value)
{
    ProviderOption *option = arena_new(b->arena, ProviderOption);
    option->name = ast_word(b, name);
    option->value = value;
    provider->options = provider_option_push(provider->options, option);
    return provider;
}
