/* check_argv.c: the words of a command: none is a secret, and none that comes from elsewhere looks like an option.
 *
 * Every user of a machine sees the arguments of its processes, so a secret goes into env or stdin. A program takes a
 * word that begins with '-' as an option, wherever the word comes from, unless "--" is before it. */
#include "check_internal.h"

/* ---- expressions ---- */

typedef bool Wanted(const Expr *e, const void *state);

static const Expr *find(const Expr *e, Wanted *wanted, const void *state)
{
    const Expr *found = NULL;
    if (!e || wanted(e, state)) return e;
    const Expr *const branches[] = {e->left, e->right, e->cond};
    for (int i = 0; i < 3 && !found; i++) found = find(branches[i], wanted, state);
    for (const Expr *part = e->parts; part && !found; part = part->next) found = find(part, wanted, state);
    for (const Arg *arg = e->args; arg && !found; arg = arg->next) found = find(arg->value, wanted, state);
    for (const MapEntry *entry = e->entries; entry && !found; entry = entry->next) {
        found = find(entry->key, wanted, state);
        if (!found) found = find(entry->value, wanted, state);
    }
    return found;
}

/* Some expressions are looked at more than once. */
static bool is_told(const Check *c, Span span)
{
    const Diag *diag = c->diags->first;
    while (diag && diag->span.off != span.off) diag = diag->next;
    return diag != NULL;
}

/* ---- secrets ---- */

static bool is_secret(const Expr *e, const void *state)
{
    return e->kind == EX_CALL && e->call == CALL_BUILTIN && e->builtin->id == BI_SECRET;
}

static bool is_variable(const Expr *e, const void *variable)
{
    return e->kind == EX_NAME && e->variable == variable;
}

static Diag *report_secret(Check *c, Span span)
{
    Diag *diag = diag_error(c->diags, span, "an argument is seen by every user of the machine");
    diag_hint(c->diags, diag, "give it in env or stdin");
    return diag;
}

void check_argv(Check *c, const Expr *argv)
{
    const Expr *secret = find(argv, is_secret, NULL);
    if (secret) report_secret(c, secret->span);
    check_shell(c, argv);
}

void check_argv_call(Check *c, const Expr *call, const Decl *tool)
{
    const Field *param = tool->params;
    if (tool->kind != DECL_TOOL || tool->provider != PROV_EXEC) return;
    for (uint32_t i = 0; param && i < call->argc; i++, param = param->next) {
        const Expr *secret = find(call->argv[i], is_secret, NULL);
        const Expr *use = secret ? find(tool->provider_value, is_variable, param->variable) : NULL;
        if (!use || is_told(c, secret->span)) continue;
        diag_other(c->diags, report_secret(c, secret->span), use->span, "'%s' is an argument here", param->name.text);
    }
}

/* ---- options ---- */

/* A text that is written out, of a string or a constant; NULL: another, or none. */
static const char *literal(const Expr *e, size_t *len)
{
    for (int depth = 0; e->kind == EX_NAME && e->decl && e->decl->kind == DECL_CONST && depth < 100; depth++)
        e = expr_strip(e->decl->value);
    const Expr *part = e->kind == EX_STRING ? e->parts : NULL;
    *len = part && part->kind == EX_TEXT ? part->text_len : 0;
    if (e->kind == EX_STRING && !part) return "";
    return *len ? part->text : NULL;
}

const Expr *check_argv_begin(const Expr *word)
{
    word = expr_strip((Expr *)word);
    while (word->kind == EX_BINARY && word->op == OP_ADD) word = expr_strip(word->left);
    if (word->kind == EX_STRING) word = word->parts && word->parts->kind != EX_TEXT ? expr_strip(word->parts) : NULL;
    size_t len;
    const bool is_text = word && word->type && word->type->kind == TYPE_STRING;
    return is_text && !literal(word, &len) ? word : NULL;
}

void check_argv_warn(Check *c, const Expr *word, Span from, const char *text)
{
    enum { SHOWN_MAX = 40 };
    const char *written = source_text(c->program->sources, word->span);
    const bool is_short = word->span.len <= SHOWN_MAX && !memchr(written, '\n', word->span.len);
    if (is_told(c, word->span)) return;
    Diag *diag =
        is_short ? diag_warning(c->diags, word->span, "'%.*s' may be read as an option", (int)word->span.len, written)
                 : diag_warning(c->diags, word->span, "this value may be read as an option");
    diag_hint(c->diags, diag, "put \"--\" before it");
    if (from.len) diag_other(c->diags, diag, from, "%s", text);
}

/* The words that are written out at the beginning. */
static const Arg *first_words(const Expr *argv)
{
    while (argv && argv->kind == EX_CALL && argv->call == CALL_METHOD && argv->argc && argv->argv[0] &&
           (argv->builtin->id == BI_LIST_CONCAT || argv->builtin->id == BI_LIST_PUSH))
        argv = expr_strip(argv->argv[0]);
    return argv && argv->kind == EX_LIST ? argv->args : NULL;
}

/* Programs that only print what they are given. */
static bool only_prints(const Arg *program)
{
    size_t len;
    const char *text = program ? literal(expr_strip(program->value), &len) : NULL;
    return text && ((len == 4 && memcmp(text, "echo", 4) == 0) || (len == 6 && memcmp(text, "printf", 6) == 0));
}

/* Behind the script of a shell are parameters, which no program reads as options. */
void check_argv_options(const Expr *argv, OptionWord *found, void *state)
{
    const Arg *word = argv ? first_words(expr_strip((Expr *)argv)) : NULL;
    bool behind = false; /* an option */
    if (check_shell_script(word) || only_prints(word)) return;
    for (uint32_t at = 0; word; word = word->next, at++) {
        size_t len;
        const Expr *e = expr_strip(word->value), *begin = check_argv_begin(e);
        const char *text = literal(e, &len);
        if (text && len == 2 && memcmp(text, "--", 2) == 0) return;
        if (begin && at) found(state, begin, at, behind); /* the first is the program */
        behind = text && len && *text == '-';
    }
}
