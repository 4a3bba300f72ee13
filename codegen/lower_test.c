/* lower_test.c: assert, and what is only in tests: mock, calls(f), output(). */
#include "lower.h"

static Val *c_text(Lower *l, const char *text)
{
    Val *val = val_new(l, VAL_CTEXT, REP_NONE);
    val->text = text;
    return val;
}

/* ---- assert ---- */

static bool is_comparison(const Expr *e)
{
    return e->kind == EX_BINARY && e->op >= OP_EQ && e->op <= OP_GE;
}

/* A type whose values can be shown. */
static const Type *shown_type(const Expr *e, const Expr *other)
{
    const Type *type = e->to->kind == TYPE_NULL ? other->to : e->to;
    return type->kind == TYPE_NULL || type->kind == TYPE_BAD ? NULL : type;
}

/* The value of a name or of a part of it costs nothing to read twice. */
static bool is_path(const Expr *e)
{
    e = lower_strip(e);
    while (e->kind == EX_FIELD && e->call == CALL_NONE && !e->optional) e = lower_strip(e->left);
    return e->kind == EX_NAME && e->variable;
}

/* x.contains(y): what x and y are says why it does not. */
static bool shows_receiver(const Expr *e)
{
    return e->kind == EX_CALL && e->call == CALL_METHOD && is_path(e->argv[0]) && e->argc > 1 && e->argv[1] &&
           (is_path(e->argv[1]) || lower_strip(e->argv[1])->kind == EX_STRING ||
            lower_strip(e->argv[1])->kind == EX_INT);
}

static void assert_values(Lower *l, Val *ok, Val *text, const Type *left, Val *a, const Type *right, Val *b)
{
    lower_call(l, RT_ASSERT_VALUES, NULL, 6, ok, text, val_type(l, left), val_word(l, a), val_type(l, right),
               val_word(l, b));
}

void lower_assert(Lower *l, const Stmt *s)
{
    const Expr *e = lower_strip(s->value);
    Val *text = c_text(
        l, arena_strndup(l->arena, source_text(l->machine->program->sources, s->value->span), s->value->span.len));
    const Type *left = NULL, *right = NULL;
    if (is_comparison(e)) {
        left = shown_type(e->left, e->right);
        right = shown_type(e->right, e->left);
    } else if (shows_receiver(e)) {
        left = shown_type(e->argv[0], e->argv[0]);
        right = shown_type(e->argv[1], e->argv[1]);
    }
    if (!left || !right) {
        lower_call(l, RT_ASSERT, NULL, 2, lower_expr(l, s->value), text);
    } else if (is_comparison(e)) {
        Val *a = lower_expr(l, e->left), *b = lower_expr(l, e->right);
        assert_values(l, lower_compare(l, e, a, b), text, left, a, right, b);
    } else {
        Val *ok = lower_expr(l, e);
        Val *a = lower_expr(l, e->argv[0]);
        assert_values(l, ok, text, left, a, right, lower_expr(l, e->argv[1]));
    }
    lower_end(l);
}

/* ---- what is mocked ---- */

static bool is_workflow(const Decl *decl)
{
    return decl && decl->kind == DECL_WORKFLOW;
}

static Val *tool_of(Lower *l, const Decl *decl, const Builtin *builtin)
{
    if (is_workflow(decl)) return val_null(l);
    Val *val = val_new(l, VAL_TOOL, REP_NONE);
    val->decl = decl;
    val->text = decl ? NULL : builtin->name;
    return val;
}

static Val *flow_of(Lower *l, const Decl *decl)
{
    if (!is_workflow(decl)) return val_null(l);
    Val *val = val_new(l, VAL_FLOW, REP_NONE);
    val->decl = decl;
    return val;
}

/* ---- mock ---- */

/* Of what a mocked call gives; an error carries its own. */
static const Type *answer_type(const Lower *l, const Stmt *s)
{
    const CoreTypes *core = &l->machine->program->core;
    if (s->mock_fails) return core->any_error;
    if (!s->value) return core->nothing;
    if (s->value->type->kind == TYPE_NULL && s->value->to->kind == TYPE_NULL) return core->nothing;
    return s->value->to;
}

/* What a model chose, as its question gives it. */
static Val *lower_turn(Lower *l, const Stmt *s)
{
    const Type *calls = s->mock_decl->type->fields[1].type;
    Val *chosen = lower_expr(l, s->value);
    if (s->value->to != calls) {
        Val **only = arena_alloc(l->arena, sizeof *only);
        only[0] = val_word(l, chosen);
        chosen = lower_call(l, RT_LIST_OF, NULL, 3, val_type(l, calls), val_int(l, 1), val_array(l, REP_WORD, only, 1));
    }
    return lower_call(l, RT_TURN_OF, NULL, 2, tool_of(l, s->mock_decl, NULL), chosen);
}

void lower_mock(Lower *l, const Stmt *s)
{
    char *pattern = arena_alloc(l->arena, s->mock_argc + 1);
    Val **args = arena_alloc(l->arena, (s->mock_argc + 1) * sizeof *args);
    for (uint32_t i = 0; i < s->mock_argc; i++) {
        pattern[i] = s->mock_argv[i] ? '=' : '_';
        args[i] = s->mock_argv[i] ? lower_expr(l, s->mock_argv[i]) : val_null(l);
    }
    pattern[s->mock_argc] = 0;
    const bool turn =
        s->value && !s->mock_fails && s->mock_decl && s->mock_decl->kind == DECL_PROMPT && s->mock_decl->made_for;
    const Type *type = turn ? s->mock_decl->type : answer_type(l, s);
    Val *answer = turn ? lower_turn(l, s) : s->value ? lower_expr(l, s->value) : val_null(l);
    Val *after = !s->value ? val_int(l, INT64_MAX) : s->mock_after ? lower_expr(l, s->mock_after) : val_int(l, 0);
    lower_call(l, RT_MOCK, NULL, 8, tool_of(l, s->mock_decl, s->mock_builtin), flow_of(l, s->mock_decl),
               c_text(l, pattern), val_array(l, REP_WORD, args, s->mock_argc), val_type(l, type), val_word(l, answer),
               val_bool(l, s->mock_fails), after);
    lower_end(l);
}

/* ---- calls(f), output() ---- */

Val *lower_test_call(Lower *l, const Expr *e)
{
    if (e->call == CALL_OUTPUT) return lower_call(l, RT_OUTPUT, NULL, 0);
    return lower_call(l, RT_CALLS, NULL, 2, tool_of(l, e->decl, e->builtin), flow_of(l, e->decl));
}
