/* test.c: assert, and what stands only in tests: mocks, calls(f), output(). */
#include "interp.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 400 /* bytes of a value in the sentence about an assert */

/* ---- assert ---- */

static bool is_path(const Expr *e)
{
    e = strip(e);
    while (e->kind == EX_FIELD && e->call == CALL_NONE && !e->optional) e = strip(e->left);
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

/* ---- mocks ---- */

typedef struct Answer {
    const Type *type; /* NULL: value is an error to raise */
    const Value *value;
    struct Answer *next;
} Answer;

typedef struct Mock {
    const Decl *decl; /* or: */
    const Builtin *builtin;
    const Value **args; /* NULL takes any value */
    uint32_t count;
    Answer *first, *now;
    bool used; /* now has answered */
    struct Mock *next;
} Mock;

typedef struct Count {
    const void *what; /* Decl or Builtin */
    int64_t count;
    struct Count *next;
} Count;

struct Testing {
    Mock *mocks;
    Count *counts;
    const char *unanswered; /* the first that no mock answered */
};

struct Testing *testing_new(void)
{
    return must_alloc(sizeof(struct Testing));
}

const char *testing_unanswered(const Interp *in)
{
    return in->testing->unanswered;
}

static Count *count_of(struct Testing *t, const void *what)
{
    Count *count = t->counts;
    while (count && count->what != what) count = count->next;
    if (count) return count;
    count = must_alloc(sizeof *count);
    *count = (Count){.what = what, .next = t->counts};
    return t->counts = count;
}

static bool same_args(const Mock *a, const Mock *b)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (!a->args[i] != !b->args[i] || (a->args[i] && !value_equal(a->args[i], b->args[i]))) return false;
    return true;
}

static bool one_type(const Mock *mock, const Type *type)
{
    for (const Answer *a = mock->first; a && type; a = a->next)
        if (a->type && a->type != type) return false;
    return true;
}

bool run_mock(Frame *f, const Stmt *s)
{
    struct Testing *t = f->task->interp->testing;
    Mock like = {.decl = s->mock_decl, .builtin = s->mock_builtin, .count = s->mock_argc}, **link = &t->mocks;
    like.args = must_alloc((s->mock_argc + 1) * sizeof *like.args);
    for (uint32_t i = 0; i < s->mock_argc; i++)
        if (s->mock_argv[i] && !(like.args[i] = eval(f, s->mock_argv[i]))) return false;
    Answer *answer = must_alloc(sizeof *answer), **end;
    if (!s->value || s->mock_after) panic(f, "the interpreter has no mocks that take time");
    if (!s->value || s->mock_after) return false;
    *answer = (Answer){.type = s->mock_fails ? NULL : s->value->to, .value = eval(f, s->value)};
    if (!answer->value) return false;
    while (*link && ((*link)->decl != like.decl || (*link)->builtin != like.builtin || !same_args(*link, &like) ||
                     !one_type(*link, answer->type)))
        link = &(*link)->next;
    if (!*link) {
        *link = must_alloc(sizeof **link);
        **link = like;
        (*link)->now = answer;
    }
    for (end = &(*link)->first; *end;) end = &(*end)->next;
    *end = answer;
    return true;
}

/* How many `_` a mock has that fits the call; -1: it does not. */
static int fit(const Mock *mock, const Value **args, const Type *wanted)
{
    int any = 0;
    for (uint32_t i = 0; i < mock->count; i++) {
        if (mock->args[i] && !value_equal(mock->args[i], args[i])) return -1;
        any += !mock->args[i];
    }
    for (const Answer *a = mock->now; a; a = a->next) {
        bool optional =
            wanted->kind == TYPE_OPTIONAL && (a->type == wanted->elem || (a->type && a->type->kind == TYPE_NULL));
        if (a->type && a->type != wanted && wanted->kind != TYPE_NOTHING && !optional) return -1;
    }
    return any;
}

/* The answer for a call; NULL: none. */
static const Answer *find_answer(const Interp *in, const void *what, const Value **args, const Type *wanted)
{
    Mock *best = NULL;
    for (Mock *mock = in->testing->mocks; mock; mock = mock->next) {
        if ((mock->decl ? (const void *)mock->decl : mock->builtin) != what) continue;
        int any = fit(mock, args, wanted);
        if (any >= 0 && (!best || any < fit(best, args, wanted))) best = mock;
    }
    if (!best) return NULL;
    if (best->used && best->now->next) best->now = best->now->next;
    best->used = true;
    return best->now;
}

static bool give_answer(Task *task, const Answer *answer, const Value **out)
{
    *out = answer->type ? answer->value : NULL;
    if (!answer->type) task->raised = (Raised){.kind = RAISED_ERROR, .error = answer->value};
    return true;
}

/* What a test answers instead of the world. False: this is no test, or the effect needs nothing from outside. */
bool test_answers(Frame *f, const void *what, const char *name, const Value **args, const Type *wanted,
                  const Value **out)
{
    Interp *in = f->task->interp;
    if (!in->testing) return false;
    count_of(in->testing, what)->count++;
    const Answer *answer = find_answer(in, what, args, wanted);
    if (answer) return give_answer(f->task, answer, out);
    if (!in->testing->unanswered) in->testing->unanswered = name;
    panic(f, "no mock answers %s", name);
    *out = NULL;
    return true;
}

/* The same for a workflow, which runs when no mock fits. */
bool test_answers_workflow(Task *task, const Decl *decl, const Value **args, const Value **out)
{
    Interp *in = task->interp;
    if (!in->testing) return false;
    count_of(in->testing, decl)->count++;
    const Answer *answer = find_answer(in, decl, args, decl->type);
    return answer && give_answer(task, answer, out);
}

const Value *eval_test_call(Frame *f, const Expr *e)
{
    Interp *in = f->task->interp;
    if (e->call == CALL_OUTPUT) return value_text(in->out.len ? in->out.data : "", in->out.len ? in->out.len - 1 : 0);
    return value_int(count_of(in->testing, e->decl ? (const void *)e->decl : e->builtin)->count);
}
