/* token.c: the words of the language and how tokens are named and printed. */
#include "token.h"

#include <string.h>

#include "grammar.h"

typedef struct KindInfo {
    int kind;
    /* a word or mark as it is written, or what stands for a class in messages */
    const char *name;
    char type; /* 'w' word, 'm' mark, 'c' class */
} KindInfo;

static const KindInfo kinds[] = {
    {TOK_AFTER, "after", 'w'},
    {TOK_AND, "&&", 'm'},
    {TOK_APPROVE, "approve", 'w'},
    {TOK_ARROW, "->", 'm'},
    {TOK_AS, "as", 'w'},
    {TOK_ASSERT, "assert", 'w'},
    {TOK_ASSIGN, "=", 'm'},
    {TOK_BACKOFF, "backoff", 'w'},
    {TOK_BAD, "unreadable text", 'c'},
    {TOK_BAR, "|", 'm'},
    {TOK_BREAK, "break", 'w'},
    {TOK_CATCH, "catch", 'w'},
    {TOK_COALESCE, "?\?", 'm'},
    {TOK_COLON, ":", 'm'},
    {TOK_COMMA, ",", 'm'},
    {TOK_CONST, "const", 'w'},
    {TOK_CONTINUE, "continue", 'w'},
    {TOK_DANGEROUS, "dangerous", 'w'},
    {TOK_DETACHED, "detached", 'w'},
    {TOK_DOT, ".", 'm'},
    {TOK_DOTDOT, "..", 'm'},
    {TOK_DUR, "a duration", 'c'},
    {TOK_ELSE, "else", 'w'},
    {TOK_ENUM, "enum", 'w'},
    {TOK_EQ, "==", 'm'},
    {TOK_ERROR, "error", 'w'},
    {TOK_EXEC, "exec", 'w'},
    {TOK_EXTERN, "extern", 'w'},
    {TOK_FAIL, "fail", 'w'},
    {TOK_FAILS, "fails", 'w'},
    {TOK_FALSE, "false", 'w'},
    {TOK_FATARROW, "=>", 'm'},
    {TOK_FINALLY, "finally", 'w'},
    {TOK_FLOAT, "a float", 'c'},
    {TOK_FN, "fn", 'w'},
    {TOK_FOR, "for", 'w'},
    {TOK_GE, ">=", 'm'},
    {TOK_GIVE, "give", 'w'},
    {TOK_GT, ">", 'm'},
    {TOK_HTTP, "http", 'w'},
    {TOK_ID, "a name", 'c'},
    {TOK_IDEMPOTENT, "idempotent", 'w'},
    {TOK_IF, "if", 'w'},
    {TOK_IMPORT, "import", 'w'},
    {TOK_IN, "in", 'w'},
    {TOK_INT, "a whole number", 'c'},
    {TOK_INTERP_BEG, "${", 'm'},
    {TOK_INTERP_END, "}", 'm'},
    {TOK_JSON, "json", 'w'},
    {TOK_KEY, "key", 'w'},
    {TOK_LBRACE, "{", 'm'},
    {TOK_LE, "<=", 'm'},
    {TOK_LET, "let", 'w'},
    {TOK_LIMIT, "limit", 'w'},
    {TOK_LOCAL, "local", 'w'},
    {TOK_LP, "(", 'm'},
    {TOK_LSQ, "[", 'm'},
    {TOK_LT, "<", 'm'},
    {TOK_MATCH, "match", 'w'},
    {TOK_MCP, "mcp", 'w'},
    {TOK_MINUS, "-", 'm'},
    {TOK_MINUSEQ, "-=", 'm'},
    {TOK_MOCK, "mock", 'w'},
    {TOK_NE, "!=", 'm'},
    {TOK_NEVER, "never", 'w'},
    {TOK_NL, "end of line", 'c'},
    {TOK_NOT, "!", 'm'},
    {TOK_NULL, "null", 'w'},
    {TOK_ONCE, "once", 'w'},
    {TOK_ON, "on", 'w'},
    {TOK_OR, "||", 'm'},
    {TOK_PARALLEL, "parallel", 'w'},
    {TOK_PERCENT, "%", 'm'},
    {TOK_PLUS, "+", 'm'},
    {TOK_PLUSEQ, "+=", 'm'},
    {TOK_PRIVATE, "private", 'w'},
    {TOK_PROMPT, "prompt", 'w'},
    {TOK_PURE, "pure", 'w'},
    {TOK_QDOT, "?.", 'm'},
    {TOK_QUEST, "?", 'm'},
    {TOK_RACE, "race", 'w'},
    {TOK_RATE, "rate", 'w'},
    {TOK_RBRACE, "}", 'm'},
    {TOK_RETRY, "retry", 'w'},
    {TOK_RETURN, "return", 'w'},
    {TOK_RP, ")", 'm'},
    {TOK_RSQ, "]", 'm'},
    {TOK_SANDBOX, "sandbox", 'w'},
    {TOK_SLASH, "/", 'm'},
    {TOK_SLASHEQ, "/=", 'm'},
    {TOK_SPAWN, "spawn", 'w'},
    {TOK_STAR, "*", 'm'},
    {TOK_STAREQ, "*=", 'm'},
    {TOK_STR_BEG, "a string", 'c'},
    {TOK_STR_END, "end of string", 'c'},
    {TOK_STR_PART, "text", 'c'},
    {TOK_TASK, "task", 'w'},
    {TOK_TEST, "test", 'w'},
    {TOK_TIMEOUT, "timeout", 'w'},
    {TOK_TIMES, "times", 'w'},
    {TOK_TOOL, "tool", 'w'},
    {TOK_TOOLS, "tools", 'w'},
    {TOK_TRUE, "true", 'w'},
    {TOK_TRUSTED, "trusted", 'w'},
    {TOK_TRY, "try", 'w'},
    {TOK_TYPE, "type", 'w'},
    {TOK_UNDO, "undo", 'w'},
    {TOK_UNTRUSTED, "untrusted", 'w'},
    {TOK_VAR, "var", 'w'},
    {TOK_WHILE, "while", 'w'},
    {TOK_WITH, "with", 'w'},
    {TOK_WORKFLOW, "workflow", 'w'},
    {TOK_YIELD, "yield", 'w'},
    {0, "end of file", 'c'},
};

enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

/* Length and first letter distinguish words; few share both. */
int token_word_kind(const char *text, size_t len)
{
    static struct {
        const KindInfo *first[128];
        uint8_t next[KIND_COUNT]; /* index + 1 of the next word with the same first letter */
    } index;
    if (!index.first['w']) {
        for (int i = KIND_COUNT - 1; i >= 0; i--) {
            if (kinds[i].type != 'w') continue;
            const KindInfo **slot = &index.first[(unsigned char)kinds[i].name[0]];
            index.next[i] = *slot ? (uint8_t)(*slot - kinds + 1) : 0;
            *slot = &kinds[i];
        }
    }
    for (const KindInfo *info = index.first[(unsigned char)text[0] & 127]; info;) {
        if (strncmp(info->name, text, len) == 0 && info->name[len] == 0) return info->kind;
        uint8_t next = index.next[info - kinds];
        info = next ? &kinds[next - 1] : NULL;
    }
    return TOK_ID;
}

static const KindInfo *find_kind(int kind)
{
    for (int i = 0; i < KIND_COUNT; i++)
        if (kinds[i].kind == kind) return &kinds[i];
    return &kinds[KIND_COUNT - 1];
}

const char *token_kind_name(int kind)
{
    return find_kind(kind)->name;
}

bool token_kind_is_class(int kind)
{
    return find_kind(kind)->type == 'c';
}

bool token_kind_is_word(int kind)
{
    return find_kind(kind)->type == 'w';
}

bool token_kind_continues(int kind)
{
    switch (kind) {
    case TOK_ELSE:
    case TOK_CATCH:
    case TOK_FINALLY:
    case TOK_RETRY:
    case TOK_BACKOFF:
    case TOK_TIMEOUT:
    case TOK_UNDO:
    case TOK_KEY:
    case TOK_APPROVE:
    case TOK_AS: return true;
    default: return false;
    }
}

const char *token_word_at(int index)
{
    for (int i = 0; i < KIND_COUNT; i++)
        if (kinds[i].type == 'w' && index-- == 0) return kinds[i].name;
    return NULL;
}

static void print_text(FILE *out, const char *text, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        if (text[i] == '\n') {
            fputs("\\n", out);
        } else if (text[i] == '\\') {
            fputs("\\\\", out);
        } else {
            fputc(text[i], out);
        }
    }
}

void token_dump(SourceSet *set, Source *source, DiagList *diags, FILE *out)
{
    TokenList tokens;
    lexer_run(set, source, diags, &tokens);
    for (uint32_t i = 0; i < tokens.count; i++) {
        Token token = tokens.items[i];
        LineCol where = source_line_col(set, token.off);
        fprintf(out, "%u:%u\t%s%s", where.line, where.col, token.flags & TOKEN_FIRST ? "line " : "",
                token_kind_name(token.kind));
        if (token.len && token_kind_is_class(token.kind)) {
            fputc('\t', out);
            print_text(out, source_text(set, token_span(token)), token.len);
        }
        fputc('\n', out);
    }
    lexer_deinit(&tokens);
}
