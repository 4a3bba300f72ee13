/* check_tool.c: tools and prompts: attributes, providers with their options, probes, rows. */
#include "check_internal.h"
#include "sandbox.h"

/* ---- attributes ---- */

static const char *const class_words[] = {[ATTR_PURE] = "pure", [ATTR_IDEMPOTENT] = "idempotent", [ATTR_ONCE] = "once"};

static void check_class_attr(Check *c, Decl *decl, const Attr *attr, const Attr **seen)
{
    if (decl->kind == DECL_PROMPT) {
        diag_error(c->diags, attr->span, "a prompt is always idempotent; remove '%s'", class_words[attr->kind]);
        return;
    }
    if (*seen) {
        Diag *diag = diag_error(c->diags, attr->span, "a tool has one repeat class");
        diag_other(c->diags, diag, (*seen)->span, "it is '%s' already", class_words[(*seen)->kind]);
        return;
    }
    *seen = attr;
    decl->repeat = attr->kind == ATTR_PURE         ? REPEAT_PURE
                   : attr->kind == ATTR_IDEMPOTENT ? REPEAT_IDEMPOTENT
                                                   : REPEAT_ONCE;
}

/* The text a request line starts with; *len 0: it starts with a value, or was not written. */
static const char *http_line(const Decl *decl, size_t *len)
{
    const Expr *value = decl->provider_value;
    const Expr *part = value && value->kind == EX_STRING ? value->parts : NULL;
    *len = part && part->kind == EX_TEXT ? part->text_len : 0;
    return *len ? part->text : "";
}

static size_t method_len(const char *line, size_t len)
{
    const char *space = memchr(line, ' ', len);
    return space ? (size_t)(space - line) : len;
}

/* What a tool is that does not say. */
static RepeatClass default_class(const Decl *decl)
{
    size_t len;
    const char *line = http_line(decl, &len);
    if (decl->kind == DECL_PROMPT) return REPEAT_IDEMPOTENT;
    return decl->provider == PROV_HTTP ? builtin_http_class(line, method_len(line, len)) : REPEAT_ONCE;
}

/* of limit and of a rate's count: the runtime remembers that many starts */
#define LIMIT_MAX 1000000

static void report_twice(Check *c, const char *word, Span span, Span before)
{
    Diag *diag = diag_error(c->diags, span, "'%s' is given twice", word);
    diag_other(c->diags, diag, before, "it is given here already");
}

static void check_limit_attr(Check *c, const Attr *attr, const Attr **place)
{
    const char *word = attr->kind == ATTR_LIMIT ? "limit" : "rate";
    if (*place) {
        report_twice(c, word, attr->span, (*place)->span);
        return;
    }
    *place = attr;
    if (attr->value < 1 || attr->value > LIMIT_MAX)
        diag_error(c->diags, attr->span, "'%s' is a number from 1 to %d", word, LIMIT_MAX);
    else if (attr->kind == ATTR_RATE && attr->per_ms < 1)
        diag_error(c->diags, attr->span, "the time of a 'rate' is at least 1ms");
}

void check_attrs(Check *c, Decl *decl)
{
    const Attr *class = NULL, *sandbox = NULL;
    decl->repeat = default_class(decl);
    for (const Attr *attr = decl->attrs; attr; attr = attr->next) {
        switch (attr->kind) {
        case ATTR_PURE:
        case ATTR_IDEMPOTENT:
        case ATTR_ONCE: check_class_attr(c, decl, attr, &class); break;
        case ATTR_DANGEROUS:
            decl->dangerous = true;
            if (decl->kind == DECL_PROMPT) diag_error(c->diags, attr->span, "only a tool can be dangerous");
            break;
        case ATTR_LOCAL:
            decl->is_local = true;
            if (decl->kind == DECL_PROMPT) diag_error(c->diags, attr->span, "only a tool can be local");
            break;
        case ATTR_PRIVATE:
            decl->is_private = true;
            if (decl->kind == DECL_PROMPT) diag_error(c->diags, attr->span, "only a tool can be private");
            break;
        case ATTR_LIMIT: check_limit_attr(c, attr, &decl->limit); break;
        case ATTR_RATE: check_limit_attr(c, attr, &decl->rate); break;
        case ATTR_SANDBOX:
            if (sandbox) report_twice(c, "sandbox", attr->span, sandbox->span);
            sandbox = attr;
            break;
        }
    }
    if (sandbox) check_sandbox_attr(c, decl, sandbox);
}

/* ---- probes ---- */

static Diag *report_probe(Check *c, const Expr *e, const Decl *tool, const Decl *probe)
{
    Diag *diag = diag_error(c->diags, e->span, "the probe of '%s' takes the same parameters and then key: string",
                            tool->name.text);
    diag_other(c->diags, diag, probe->name.span, "'%s' is declared here", probe->name.text);
    return diag;
}

static bool check_probe_params(Check *c, const Expr *e, const Decl *tool, const Decl *probe)
{
    const Field *want = tool->params, *got = probe->params;
    for (; want && got; want = want->next, got = got->next) {
        if (want->type == got->type && check_same_name(want->name.text, got->name.text)) continue;
        report_probe(c, e, tool, probe);
        return false;
    }
    bool has_key = !want && got && !got->next && got->type == c->core->string && check_same_name(got->name.text, "key");
    if (!has_key) report_probe(c, e, tool, probe);
    return has_key;
}

/* The probe answers null (not done) or the result (done); a tool without a result is told by any optional one. */
static bool check_probe_result(Check *c, const Expr *e, const Decl *tool, const Decl *probe)
{
    const Type *got = probe->type, *want = tool->type;
    if (got->kind == TYPE_BAD || want->kind == TYPE_BAD) return true;
    if (got->kind == TYPE_OPTIONAL && (want->kind == TYPE_NOTHING || got == type_optional(c, want))) return true;
    Diag *diag =
        diag_error(c->diags, e->span, "the probe of '%s' gives %s%s", tool->name.text,
                   want->kind == TYPE_NOTHING ? "a T?" : type_strip(want)->name, want->kind == TYPE_NOTHING ? "" : "?");
    diag_hint(c->diags, diag, "null says the step was not done");
    diag_other(c->diags, diag, probe->result ? probe->result->span : probe->name.span, "this gives %s", got->name);
    return false;
}

static void check_probe(Check *c, Decl *decl, const ProviderOption *option)
{
    const Expr *e = option->value;
    const Decl *import = e->kind == EX_FIELD ? check_import_of(c, e->left) : NULL;
    if (e->kind != EX_NAME && !import) {
        if (e->kind != EX_BAD) diag_error(c->diags, e->span, "'probe' names a tool");
        return;
    }
    Decl *probe = import ? check_find_imported(c, import, e->name, NAME_CALL) : check_find_decl(c, e->name.text);
    if (import && !probe) return;
    if (!probe || probe->kind != DECL_TOOL) {
        Diag *diag = diag_error(c->diags, e->span, probe ? "'%s' is %s, not a tool" : "unknown tool '%s'", e->name.text,
                                probe ? decl_kind_word(probe->kind) : "");
        const char *near = probe ? NULL : check_nearest_name(c, e->name.text, NAME_CALL);
        if (near) {
            diag_hint(c->diags, diag, "did you mean '%s'?", near);
            diag_replace(diag, near);
        }
        return;
    }
    if (decl->repeat != REPEAT_ONCE) {
        diag_error(c->diags, option->name.span, "only a 'once' tool needs a probe: this one can be repeated");
        return;
    }
    if (probe->dangerous) {
        Diag *diag = diag_error(c->diags, e->span, "a probe asks for no approval, so it cannot be dangerous");
        diag_other(c->diags, diag, probe->name.span, "declared here");
        return;
    }
    if (check_probe_params(c, e, decl, probe) && check_probe_result(c, e, decl, probe)) decl->probe = probe;
}

/* ---- providers ---- */

static const Type *option_type(Check *c, const Decl *decl, const char *name)
{
    if (decl->provider == PROV_HTTP && strcmp(name, "headers") == 0)
        return type_of_notation(c, "map<string,string>?", NULL);
    if (decl->provider == PROV_HTTP && strcmp(name, "body") == 0) return type_of_notation(c, "string?", NULL);
    if (decl->provider != PROV_EXEC) return NULL;
    if (strcmp(name, "stdin") == 0 || strcmp(name, "cwd") == 0) return type_of_notation(c, "string?", NULL);
    if (strcmp(name, "env") == 0) return type_of_notation(c, "map<string,string>?", NULL);
    return NULL;
}

static void report_unknown_option(Check *c, const Decl *decl, const ProviderOption *option)
{
    static const char *const names[] = {"probe", "stdin", "cwd", "env"}, *const http[] = {"probe", "headers", "body"};
    const char *name = option->name.text;
    const char *near = decl->provider == PROV_HTTP
                           ? diag_nearest(name, strlen(name), http, 3)
                           : diag_nearest(name, strlen(name), names, decl->provider == PROV_EXEC ? 4 : 1);
    if (near)
        diag_replace(diag_error(c->diags, option->name.span, "unknown option '%s'; did you mean '%s'?", name, near),
                     near);
    else
        diag_error(c->diags, option->name.span, "unknown option '%s'", name);
}

static void check_options(Check *c, Decl *decl)
{
    Table seen = {0};
    for (ProviderOption *option = decl->options; option; option = option->next) {
        const char *name = option->name.text;
        if (!name) continue;
        if (name_table_get(&seen, name)) diag_error(c->diags, option->name.span, "'%s' is given twice", name);
        name_table_put(c, &seen, name, option);
        if (strcmp(name, "probe") == 0) {
            check_probe(c, decl, option);
            continue;
        }
        const Type *type = option_type(c, decl, name);
        if (type)
            check_expr_to(c, option->value, type, (Why){0});
        else
            report_unknown_option(c, decl, option);
    }
}

static bool is_c_name(const char *text, uint32_t len)
{
    if (*text >= '0' && *text <= '9') return false;
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") >= len;
}

/* Whether two types look the same to C: a number, a double, a bool, or an object. */
static bool same_in_c(const Type *a, const Type *b)
{
    bool nothing = (a->kind == TYPE_NOTHING) == (b->kind == TYPE_NOTHING);
    bool real = (a->kind == TYPE_FLOAT) == (b->kind == TYPE_FLOAT),
         truth = (a->kind == TYPE_BOOL) == (b->kind == TYPE_BOOL);
    return nothing && real && truth && a->scalar == b->scalar;
}

/* A C function has one prototype; tools may share it. */
static void check_same_prototype(Check *c, const Decl *decl, const char *name)
{
    const Decl *before = name_table_get(&c->externs, name);
    if (!before) {
        name_table_put(c, &c->externs, name, (Decl *)decl);
        return;
    }
    const Field *a = before->params, *b = decl->params;
    for (; a && b && same_in_c(a->type, b->type); a = a->next) b = b->next;
    if (!a && !b && same_in_c(before->type, decl->type)) return;
    Diag *diag =
        diag_error(c->diags, decl->provider_value->span, "the C function '%s' has another signature already", name);
    diag_other(c->diags, diag, before->provider_value->span, "here, for '%s'", before->full_name);
}

static void check_extern_name(Check *c, const Decl *decl)
{
    Expr *e = decl->provider_value;
    const Expr *part = e->parts;
    e->type = e->to = c->core->string;
    if (!part || !is_c_name(part->text, part->text_len))
        diag_error(c->diags, e->span, "extern needs the name of a C function");
    else
        check_same_prototype(c, decl, arena_strndup(c->arena, part->text, part->text_len));
}

/* ---- http ---- */

void check_reserved(Check *c, const Expr *string, const Expr *part)
{
    if (!part->reserved || string->takes_reserved) return;
    Diag *diag = diag_error(c->diags, part->span, "${+…} has a meaning in the address of an http tool only");
    diag_hint(c->diags, diag, "write ${…}");
}

static Expr *new_piece(Check *c, const Expr *part)
{
    Expr *piece = arena_new(c->arena, Expr);
    piece->kind = EX_STRING;
    piece->type = piece->to = c->core->string;
    if (!part) return piece;
    piece->span = part->span;
    piece->parts = arena_new(c->arena, Expr);
    *piece->parts = *part;
    piece->parts->next = NULL;
    return piece;
}

typedef LIST(Arg) Pieces;

static void add_piece(Check *c, Pieces *pieces, Expr *piece)
{
    Arg *arg = arena_new(c->arena, Arg);
    arg->value = piece;
    LIST_APPEND(pieces, arg, next);
}

/* Text, a value that becomes one part of the address, and a value that may be several (${+…}) in turn, beginning with
 * text; an empty piece fills each gap. The performer encodes the second and the third of them differently. */
static Expr *make_pieces(Check *c, const Expr *line)
{
    Expr *list = arena_new(c->arena, Expr);
    Pieces pieces = {0};
    uint32_t next = 0;
    list->kind = EX_LIST;
    list->span = line->span;
    list->type = list->to = type_list(c, c->core->string);
    for (const Expr *part = line->parts; part; part = part->next) {
        const uint32_t kind = part->kind == EX_TEXT ? 0 : part->reserved ? 2 : 1;
        for (; next != kind; next = (next + 1) % 3) add_piece(c, &pieces, new_piece(c, NULL));
        add_piece(c, &pieces, new_piece(c, part));
        next = (next + 1) % 3;
    }
    list->args = pieces.first;
    return list;
}

static void check_line(Check *c, const Decl *decl)
{
    static const char *const schemes[] = {"http://", "https://"};
    size_t len, method;
    const char *line = http_line(decl, &len);
    const Expr *e = decl->provider_value;
    method = method_len(line, len);
    const char *url = line + method + (method < len);
    bool scheme = false;
    for (int i = 0; i < 2; i++)
        scheme |=
            (size_t)(line + len - url) > strlen(schemes[i]) - 1 && strncmp(url, schemes[i], strlen(schemes[i])) == 0;
    if (builtin_is_http_method(line, method) && scheme && !memchr(url, ' ', (size_t)(line + len - url))) return;
    Diag *diag = diag_error(c->diags, e->span, "an http tool starts with a method and an address");
    diag_hint(c->diags, diag,
              "write \"GET https://…\"; methods are GET, HEAD, OPTIONS, PUT, DELETE, POST and PATCH; "
              "an address that is only known at run time goes to the effect http(…)");
}

static void check_body_option(Check *c, const Decl *decl)
{
    size_t len;
    const char *line = http_line(decl, &len);
    size_t method = method_len(line, len);
    bool bare = (method == 3 && memcmp(line, "GET", 3) == 0) || (method == 4 && memcmp(line, "HEAD", 4) == 0);
    for (const ProviderOption *option = decl->options; bare && option; option = option->next)
        if (option->name.text && strcmp(option->name.text, "body") == 0)
            diag_error(c->diags, option->name.span, "a %.*s has no body", (int)method, line);
}

static void check_http(Check *c, Decl *decl)
{
    Expr *line = decl->provider_value;
    if (line) line->takes_reserved = true;
    if (!line || line->kind != EX_STRING || !check_expr_to(c, line, c->core->string, (Why){0})) return;
    check_line(c, decl);
    check_body_option(c, decl);
    decl->pieces = make_pieces(c, line);
}

/* What a `local` tool promises is kept by its sandbox. */
static void check_local(Check *c, const Decl *decl)
{
    const Sandbox *sandbox = decl->sandbox ? decl->sandbox : c->program->sandbox;
    const Attr *attr = decl->attrs;
    while (attr && attr->kind != ATTR_LOCAL) attr = attr->next;
    if (!attr || decl->provider == PROV_EXTERN) return;
    if (decl->provider != PROV_EXEC) {
        diag_error(c->diags, attr->span, "a tool that asks a server is not local");
    } else if (sandbox_reaches_out(sandbox)) {
        Diag *diag = diag_error(c->diags, attr->span, "a tool that reaches a network is not local");
        diag_hint(c->diags, diag, "give it a sandbox without one, or leave 'local' out");
    }
}

void check_tool(Check *c, Decl *decl)
{
    Body body = {.kind = BODY_TOOL, .decl = decl};
    uint32_t scope = check_scope_enter(c);
    c->body = &body;
    c->facts = NULL;
    check_params(c, decl);
    c->secret_ok = true;
    switch (decl->provider) {
    case PROV_EXEC:
        if (decl->provider_value) check_expr_to(c, decl->provider_value, type_list(c, c->core->string), (Why){0});
        check_argv(c, decl->provider_value);
        break;
    case PROV_EXTERN:
        if (decl->provider_value) check_extern_name(c, decl);
        break;
    case PROV_HTTP: check_http(c, decl); break;
    case PROV_MCP:
        if (!decl->remote) check_remote(c, decl);
        break;
    }
    if (decl->provider != PROV_MCP) check_options(c, decl);
    check_local(c, decl);
    c->secret_ok = false;
    check_scope_leave(c, scope);
    c->body = NULL;
}

/* ---- prompts ---- */

/* A row that only prompts with tools have, or a conversation that they continue. */
static bool is_agents_row(const char *name)
{
    static const char *const names[] = {"rounds", "most", "compact"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* The values of the rows `file`, which are checked as rows. */
static Expr *list_files(Check *c, const Decl *decl)
{
    LIST(Arg) args = {0};
    for (const PromptRow *row = decl->rows; row; row = row->next) {
        if (!row->name.text || strcmp(row->name.text, "file") != 0) continue;
        Arg *arg = arena_new(c->arena, Arg);
        arg->value = row->value;
        LIST_APPEND(&args, arg, next);
    }
    if (!args.first) return NULL;
    const Type *type = type_list(c, c->core->string);
    Expr *list = arena_new(c->arena, Expr);
    *list = (Expr){.kind = EX_LIST, .height = 1, .span = decl->name.span, .args = args.first, .type = type, .to = type};
    return list;
}

static void check_row(Check *c, PromptRow *row)
{
    static const char *const names[] = {"model", "system", "user", "file", "retry", "tools"};
    const char *name = row->name.text;
    if (strcmp(name, "retry") == 0) {
        check_expr_to(c, row->value, c->core->integer, (Why){0});
        return;
    }
    for (int i = 0; i < 4; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        check_expr_to(c, row->value, c->core->string, (Why){0});
        return;
    }
    const char *near = diag_nearest(name, strlen(name), names, sizeof names / sizeof *names);
    if (is_agents_row(name))
        diag_error(c->diags, row->name.span, "only a prompt with tools has a row '%s'", name);
    else if (near)
        diag_replace(diag_error(c->diags, row->name.span, "unknown row '%s'; did you mean '%s'?", name, near), near);
    else
        diag_error(c->diags, row->name.span,
                   "unknown row '%s'; a prompt has model, system, user, file, retry and tools", name);
}

void check_prompt(Check *c, Decl *decl)
{
    Body body = {.kind = BODY_PROMPT, .decl = decl};
    Table seen = {0};
    uint32_t scope = check_scope_enter(c);
    c->body = &body;
    c->facts = NULL;
    check_params(c, decl);
    for (PromptRow *row = decl->rows; row; row = row->next) {
        if (!row->name.text) continue;
        if (name_table_get(&seen, row->name.text) && strcmp(row->name.text, "file") != 0)
            diag_error(c->diags, row->name.span, "'%s' is given twice", row->name.text);
        name_table_put(c, &seen, row->name.text, row);
        check_row(c, row);
    }
    if (decl->files)
        check_expr_to(c, decl->files, type_list(c, c->core->string), (Why){0}); /* of an agent's question */
    else
        decl->files = list_files(c, decl);
    if (decl->has_fails && !decl->made_for)
        diag_error(c->diags, decl->fails->name.span,
                   "only a prompt with tools declares errors, those of the workflows it offers");
    if (!decl->made_for && !name_table_get(&seen, "user"))
        diag_error(c->diags, decl->name.span, "the prompt '%s' needs a row 'user'", decl->name.text);
    check_scope_leave(c, scope);
    c->body = NULL;
}
