/* lower_origin.c: how the source reads where a task can stop.
 *
 * The ids of points are ordinals: a step that is added before another of its kind takes that one's id. A replay
 * notices; somebody who has only a frame and no history does not. So each point carries a hash of what it is in:
 * the statement, without the blocks that belong to it, the `with` and `finally` around it, and what it asks for.
 * Variables that lowering makes carry the hash of their statement likewise: they have no names to go by. Comments
 * and blanks do not count. */
#include <ctype.h>
#include <string.h>

#include <xxhash.h>

#include "ctext.h"
#include "lower.h"

/* ---- text ---- */

static const char *string_end(const char *at, const char *end);

/* Behind the '}' of an interpolation. */
static const char *nest_end(const char *at, const char *end)
{
    for (uint32_t braces = 1; at < end && braces;) {
        if (*at == '"') {
            at = string_end(at, end);
            continue;
        }
        braces += *at == '{';
        braces -= *at == '}';
        at++;
    }
    return at;
}

/* Behind the closing quotes of the string that starts here. */
static const char *string_end(const char *at, const char *end)
{
    const bool block = end - at >= 3 && memcmp(at, "\"\"\"", 3) == 0;
    const size_t quotes = block ? 3 : 1;
    for (at += quotes; at < end;) {
        if (*at == '\\')
            at += 2;
        else if (end - at >= 2 && memcmp(at, "${", 2) == 0)
            at = nest_end(at + 2, end);
        else if ((size_t)(end - at) >= quotes && memcmp(at, "\"\"\"", quotes) == 0)
            return at + quotes;
        else
            at++;
    }
    return end;
}

static bool in_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

/* Blanks stay where they keep two words apart, and in strings. */
static void say(const Lower *l, Text *out, Span span)
{
    const char *at = source_text(l->machine->program->sources, span), *end = at + span.len;
    for (bool apart = false; at < end;) {
        const char *from = at;
        if (isspace((unsigned char)*at)) {
            apart = true;
            at++;
            continue;
        }
        if (end - at >= 2 && memcmp(at, "//", 2) == 0) {
            while (at < end && *at != '\n') at++;
            continue;
        }
        at = *at == '"' ? string_end(at, end) : at + 1;
        if (apart && out->len && in_word(out->data[out->len - 1]) && in_word(*from)) text_put(out, " ");
        text_add(out, from, (size_t)(at - from));
        apart = false;
    }
}

/* ---- statements ---- */

static void cut_at(Span *span, uint32_t off)
{
    if (off >= span->off && off < span->off + span->len) span->len = off - span->off;
}

static const Block *undo_block(const Expr *e)
{
    const Policy *policy = e->kind == EX_YIELD ? e->policies : NULL;
    while (policy && policy->kind != POL_UNDO) policy = policy->next;
    return policy ? policy->block : NULL;
}

/* Up to the first block that belongs to it, and behind that of an undo. */
static void say_head(const Lower *l, Text *out, Span span, const Expr *value)
{
    const uint32_t end = span.off + span.len;
    const Block *undo = value ? undo_block(value) : NULL;
    if (value && value->block) cut_at(&span, value->block->span.off);
    if (value && value->bodies) cut_at(&span, value->bodies->name.span.off);
    if (undo) cut_at(&span, undo->span.off);
    say(l, out, span);
    if (!undo) return;
    const uint32_t behind = undo->span.off + undo->span.len;
    if (behind < end) say(l, out, (Span){behind, end - behind});
}

static void say_statement(const Lower *l, Text *out)
{
    const Stmt *s = l->stmt;
    Span span = s ? s->span : (Span){0};
    if (s && s->block) cut_at(&span, s->block->span.off);
    if (s && s->arms) cut_at(&span, s->arms->span.off);
    if (s)
        say_head(l, out, span, s->value ? lower_strip(s->value) : NULL);
    else if (l->root)
        say_head(l, out, l->root->span, l->root);
}

static uint64_t hash_of(const Text *text)
{
    return XXH3_64bits(text->data ? text->data : "", text->len);
}

/* ---- what others ask for ---- */

uint64_t lower_origin(const Lower *l)
{
    Text text = {.arena = l->arena};
    say_statement(l, &text);
    return hash_of(&text);
}

uint64_t lower_whole_origin(const Lower *l)
{
    Text text = {.arena = l->arena};
    Span span = l->stmt ? l->stmt->span : (Span){0};
    if (l->stmt && l->stmt->finally) cut_at(&span, l->stmt->finally->span.off);
    if (l->stmt) say(l, &text, span);
    return hash_of(&text);
}

uint64_t lower_enter(Lower *l, const char *what)
{
    const uint64_t outside = l->around;
    Text text = {.arena = l->arena};
    text_format(&text, "%016llx %s ", (unsigned long long)outside, what);
    if (l->stmt && l->stmt->kind == ST_WITH) say_statement(l, &text);
    l->around = hash_of(&text);
    return outside;
}

uint64_t lower_asks(const Lower *l, const char *kind, const char *what)
{
    Text text = {.arena = l->arena};
    text_format(&text, "%016llx %s %s ", (unsigned long long)l->around, kind, what ? what : "");
    say_statement(l, &text);
    return hash_of(&text);
}

Point *lower_point(Lower *l, AskKind ask, const char *label, const char *kind, const char *callee)
{
    Point *point = machine_point(l->routine, ask, label, kind, callee, l->line);
    if (ask != ASK_MARK && l->routine->kind == ROUTINE_WORKFLOW) point->asks = lower_asks(l, kind, callee);
    return point;
}
