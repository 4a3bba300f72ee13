/* check_shell.c: warns where a value becomes a part of what a shell reads as a program.
 *
 * exec starts no shell, so an argument stays one argument whatever is in it. `exec ["sh", "-c", "rm ${name}"]` gives
 * that away: a name with a space, a quote or `$(…)` in it is read as more than a name. The same value behind the
 * script, as "$1", is only a value. */
#include "check_internal.h"

static bool is_word(const char *text, size_t len, const char *word)
{
    return strlen(word) == len && memcmp(text, word, len) == 0;
}

/* The text of a string without values, or NULL. */
static const char *literal(const Expr *e, size_t *len)
{
    const Expr *part = e->kind == EX_STRING ? e->parts : NULL;
    if (!part || part->kind != EX_TEXT || part->next) return NULL;
    *len = part->text_len;
    return part->text;
}

static bool is_shell(const char *path, size_t len)
{
    static const char *const shells[] = {"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh"};
    const char *slash = memrchr(path, '/', len);
    if (slash) len -= (size_t)(slash + 1 - path), path = slash + 1;
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (is_word(path, len, shells[i])) return true;
    return false;
}

static bool is_env(const char *path, size_t len)
{
    return is_word(path, len, "env") || (len > 4 && memcmp(path + len - 4, "/env", 4) == 0);
}

/* Behind `env`, its options and its NAME=value: the command it starts. */
static const Arg *skip_env(const Arg *arg)
{
    for (size_t len; arg; arg = arg->next) {
        const char *text = literal(arg->value, &len);
        bool with_word = text && (is_word(text, len, "-u") || is_word(text, len, "-C"));
        bool option = text && len && (*text == '-' || memchr(text, '=', len));
        const Expr *first = arg->value->kind == EX_STRING ? arg->value->parts : NULL;
        bool filled = first && first->kind == EX_TEXT && memchr(first->text, '=', first->text_len);
        if (!option && !filled) return arg;
        if (with_word && arg->next) arg = arg->next;
    }
    return NULL;
}

const Expr *check_shell_script(const Arg *arg)
{
    size_t len;
    const char *text = arg ? literal(arg->value, &len) : NULL;
    if (text && is_env(text, len)) {
        arg = skip_env(arg->next);
        text = arg ? literal(arg->value, &len) : NULL;
    }
    if (!text || !is_shell(text, len)) return NULL;
    bool takes_script = false;
    for (arg = arg->next; arg; arg = arg->next) {
        text = literal(arg->value, &len);
        if (!text || !len || *text != '-') return takes_script ? arg->value : NULL;
        takes_script |= len > 1 && text[1] != '-' && memchr(text, 'c', len);
    }
    return NULL;
}

/* Could its text be anything? */
static bool is_free_text(const Expr *part)
{
    if (part->kind == EX_TEXT || (part->decl && part->decl->kind == DECL_CONST)) return false;
    switch (part->type ? part->type->kind : TYPE_BAD) {
    case TYPE_BAD:
    case TYPE_BOOL:
    case TYPE_INT:
    case TYPE_FLOAT:
    case TYPE_DURATION:
    case TYPE_TIME:
    case TYPE_ENUM: return false;
    default: return true;
    }
}

void check_shell(Check *c, const Expr *argv)
{
    const Expr *script = argv && argv->kind == EX_LIST ? check_shell_script(argv->args) : NULL;
    if (!script || script->kind != EX_STRING || !script->parts || !script->parts->next) return; /* all of it is given */
    for (const Expr *part = script->parts; part; part = part->next) {
        if (!is_free_text(part)) continue;
        const char *name = part->kind == EX_NAME ? part->name.text : NULL;
        Diag *diag = name ? diag_warning(c->diags, part->span, "the shell reads '%s' as a part of its program", name)
                          : diag_warning(c->diags, part->span, "the shell reads this value as a part of its program");
        diag_hint(c->diags, diag,
                  "pass it as a further argument and use \"$1\": [\"sh\", \"-c\", \"… \\\"$1\\\"\", \"sh\", %s]",
                  name ? name : "…");
        return;
    }
}
