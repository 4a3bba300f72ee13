/* test.c: assert, and what stands only in tests: mocks, calls(f), output(). */
#include "interp.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 400 /* bytes of a value in the sentence about an assert */

/* ---- assert ---- */

static bool is_path(const Expr *e)
{
    e = strip(e);
    while (e->kind == EX_FIELD && e->call == CALL_NONE) e = strip(e->left);
    return e->kind == EX_NAME && e->variable;
}

static bool is_plain(const Expr *e)
{
    ExprKind kind = strip(e)->kind;
    return is_path(e) || kind == EX_STRING || kind == EX_INT;
}

/* The two expressions whose values a failed assert tells. */
static bool shown_sides(const Expr *e, const Expr **left, const Expr **right)
{
    bool compares = e->kind == EX_BINARY && e->op >= OP_EQ && e->op <= OP_GE;
    bool method = e->kind == EX_CALL && e->call == CALL_METHOD && e->argc > 1 && e->argv[1] && is_path(e->argv[0]) &&
                  is_plain(e->argv[1]);
    if (!compares && !method) return false;
    *left = compares ? e->left : e->argv[0];
    *right = compares ? e->right : e->argv[1];
    return compares || strip(*right)->kind != EX_NULL;
}

static void fail_assert(Frame *f, const Expr *e, const Buf *sides)
{
    const char *text = source_text(f->task->interp->program->sources, e->span);
    if (sides && sides[0].len <= SHOWN_MAX && sides[1].len <= SHOWN_MAX)
        panic(f, "assertion failed: %.*s (left: %s, right: %s)", (int)e->span.len, text, sides[0].data, sides[1].data);
    else
        panic(f, "assertion failed: %.*s", (int)e->span.len, text);
}

bool run_assert(Frame *f, const Expr *e)
{
    const Expr *bare = strip(e), *left, *right;
    const Value *a, *b, *ok;
    Buf sides[2] = {0};
    if (!shown_sides(bare, &left, &right)) {
        if (!(ok = eval(f, e))) return false;
        if (!ok->i) fail_assert(f, e, NULL);
        return ok->i;
    }
    if (bare->kind == EX_BINARY) {
        if (!(a = eval(f, left)) || !(b = eval(f, right))) return false;
        ok = value_bool(value_compare(bare->op, a, b));
    } else if (!(ok = eval(f, bare)) || !(a = eval(f, left)) || !(b = eval(f, right))) {
        return false;
    }
    if (ok->i) return true;
    value_json(&sides[0], left->to, a);
    value_json(&sides[1], right->to, b);
    fail_assert(f, e, sides);
    return false;
}
