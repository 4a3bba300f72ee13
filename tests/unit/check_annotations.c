/* What the code generator relies on: types and their conversions, arguments in order, variables, error sets, where control falls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "parse.h"
#include "type.h"

typedef struct World {
    Arena arena;
    SourceSet sources;
    DiagList diags;
    Program *program;
} World;

static World world;

static void check_text(const char *text)
{
    arena_init(&world.arena, 0);
    source_set_init(&world.sources, &world.arena);
    diag_init(&world.diags, &world.arena, &world.sources);
    Source *source = source_add(&world.sources, "test.tfy", text, strlen(text));
    Module *module = parse_module(&world.sources, source, &world.arena, &world.diags);
    world.program = check_program(module, &world.sources, &world.arena, &world.diags);
    if (world.diags.errors) diag_print(&world.diags, stderr, false);
    assert_int_equal(world.diags.errors, 0);
}

static int forget_world(void **state)
{
    arena_deinit(&world.arena);
    return 0;
}

static Decl *decl_of(const char *name)
{
    for (uint32_t i = 0; i < world.program->decl_count; i++) {
        if (strcmp(world.program->decls[i]->name.text, name) == 0) return world.program->decls[i];
    }
    fail_msg("no declaration %s", name);
    return NULL;
}

static Stmt *stmt_of(const char *name, int at)
{
    Stmt *s = decl_of(name)->block->stmts;
    while (at-- > 0) s = s->next;
    return s;
}

static void expect_types(const Expr *e, const char *type, const char *to)
{
    assert_string_equal(e->type->name, type);
    assert_string_equal(e->to->name, to);
}

static void test_types_are_interned(void **state)
{
    check_text("fn f(a: list<map<string, int?>>, b: list<map<string, int?>>, c: list<int>) {}");
    const Field *a = decl_of("f")->params;
    assert_ptr_equal(a->type, a->next->type);
    assert_ptr_not_equal(a->type, a->next->next->type);
    assert_string_equal(a->type->name, "list<map<string, int?>>");
    for (const Type *t = world.program->types; t && t->next; t = t->next) assert_int_equal(t->next->id, t->id + 1);
}

static void test_conversions_sit_on_leaves(void **state)
{
    check_text("fn f(c: bool, n: int) {\n"
               "    let a: float = 3\n"
               "    let b: float? = -3\n"
               "    let d: int? = if c { n } else { null }\n"
               "    let e: float = (if c { 1 } else { 2.5 })\n"
               "    let g = 2 * 1.5\n"
               "    let h = [1, 2.5]\n"
               "    let i: int? = (n)\n"
               "}");
    expect_types(stmt_of("f", 0)->value, "int", "float");
    expect_types(stmt_of("f", 1)->value, "float", "float?");
    expect_types(stmt_of("f", 1)->value->left, "int", "float");
    expect_types(stmt_of("f", 2)->value, "int?", "int?");
    expect_types(stmt_of("f", 2)->value->left, "int", "int?");
    expect_types(stmt_of("f", 2)->value->right, "null", "int?");
    expect_types(stmt_of("f", 3)->value->left->left, "int", "float");
    expect_types(stmt_of("f", 4)->value->left, "int", "float");
    expect_types(stmt_of("f", 5)->value->args->value, "int", "float");
    assert_string_equal(stmt_of("f", 5)->value->type->name, "list<float>");
    expect_types(stmt_of("f", 6)->value, "int?", "int?");
    expect_types(stmt_of("f", 6)->value->left, "int", "int?");
}

static void test_arguments_stand_in_order(void **state)
{
    check_text("type P { a: int, b: string = \"x\", c: int? = null }\n"
               "error E { code: int }\n"
               "fn f(a: int, b: float = 1, c: int? = null) -> int { return a }\n"
               "workflow w() {\n"
               "    let x = f(c: 3, a: 1)\n"
               "    let p: P = { c: 2, a: 1 }\n"
               "    let e = E(\"text\", code: 3)\n"
               "    let o = yield exec([\"a\"], env: null)\n"
               "    let s = \"abc\".slice(1)\n"
               "}");
    const Expr *call = stmt_of("w", 0)->value;
    assert_int_equal(call->call, CALL_FN);
    assert_int_equal(call->argc, 3);
    assert_int_equal(call->argv[0]->int_value, 1);
    expect_types(call->argv[1], "int", "float");
    expect_types(call->argv[2], "int", "int?");
    const Expr *braces = stmt_of("w", 1)->value;
    assert_int_equal(braces->call, CALL_RECORD);
    assert_int_equal(braces->argv[0]->int_value, 1);
    assert_int_equal(braces->argv[1]->kind, EX_STRING);
    const Expr *error = stmt_of("w", 2)->value;
    assert_int_equal(error->argc, 2);
    assert_int_equal(error->argv[0]->kind, EX_STRING);
    const Expr *exec = stmt_of("w", 3)->value->left;
    assert_int_equal(exec->builtin->id, BI_EXEC);
    assert_int_equal(exec->argc, 4);
    assert_null(exec->argv[1]);
    assert_null(exec->argv[2]);
    assert_string_equal(exec->argv[3]->to->name, "map<string, string>?");
    const Expr *slice = stmt_of("w", 4)->value;
    assert_int_equal(slice->argc, 3);
    assert_string_equal(slice->argv[0]->type->name, "string");
    assert_null(slice->argv[2]);
}

static void test_variables_are_numbered(void **state)
{
    check_text("workflow w(a: int, b: string) {\n"
               "    for i, x in [1.5] { let y = x }\n"
               "    for i in 0..3 { print(b) }\n"
               "}");
    static const char *const names[] = {"a", "b", "i", "x", "y", "i"};
    uint32_t i = 0;
    for (const Variable *v = decl_of("w")->variables; v; v = v->next, i++) {
        assert_string_equal(v->name, names[i]);
        assert_int_equal(v->id, i);
        assert_int_equal(v->param, i < 2);
    }
    assert_int_equal(i, 6);
    assert_int_equal(decl_of("w")->variable_count, 6);
    assert_string_equal(stmt_of("w", 0)->variable2->type->name, "float");
}

static const ErrorSet *errors_of(const char *name)
{
    return decl_of(name)->errors;
}

static void test_error_sets_are_least(void **state)
{
    check_text("error A\nerror B\n"
               "workflow ping(n: int) { if n == 0 { fail A(\"a\") }\n yield pong(n - 1) }\n"
               "workflow pong(n: int) { if n == 0 { fail B(\"b\") }\n yield ping(n - 1) }\n"
               "workflow caught() { try { yield ping(1) } catch e: A { } }\n"
               "workflow again() { try { yield ping(1) } catch e: A { fail e } catch f { fail Denied(\"x\") } }\n"
               "workflow other() { let n = yield value() else 3 }\n"
               "workflow value() -> int { fail Denied(\"no\") }\n"
               "workflow wide() fails A, Denied { }\n"
               "workflow all() { yield wide() }\n"
               "workflow always() { fail Timeout(\"late\") }\n");
    assert_int_equal(errors_of("ping")->count, 2);
    assert_int_equal(errors_of("pong")->count, 2);
    assert_int_equal(errors_of("caught")->count, 1);
    assert_string_equal(errors_of("caught")->types[0]->name, "B");
    assert_int_equal(errors_of("again")->count, 2);
    assert_ptr_equal(errors_of("again")->types[0], world.program->core.denied);
    assert_int_equal(errors_of("other")->count, 1);
    assert_int_equal(errors_of("all")->count, 2);
    assert_int_equal(errors_of("always")->count, 0);
    assert_int_equal(stmt_of("other", 0)->value->errors->count, 1);
}

static void test_where_control_falls(void **state)
{
    check_text("enum V { a, b }\n"
               "fn f(v: V, n: int) -> int {\n"
               "    match v { a => { let x = 1 }, b => return 2 }\n"
               "    if n == 1 { return 1 } else { let y = 2 }\n"
               "    while n < 3 { return 3 }\n"
               "    while true { if n == 2 { break } }\n"
               "    match v { a => return 1, b => return 2 }\n"
               "}");
    static const bool falls[] = {true, true, true, true, false};
    for (int i = 0; i < 5; i++) assert_int_equal(stmt_of("f", i)->falls_through, falls[i]);
}

static void test_narrowing_shows_in_types(void **state)
{
    check_text("type P { why: string? }\n"
               "workflow f(p: P, n: int?) -> string {\n"
               "    let a = n\n"
               "    if n == null || p.why == null { return \"\" }\n"
               "    yield\n"
               "    let b = n\n"
               "    let c: int? = n\n"
               "    return p.why\n"
               "}");
    expect_types(stmt_of("f", 0)->value, "int?", "int?");
    expect_types(stmt_of("f", 3)->value, "int", "int");
    expect_types(stmt_of("f", 4)->value, "int", "int?");
    expect_types(stmt_of("f", 5)->value, "string", "string");
    assert_string_equal(stmt_of("f", 3)->value->variable->type->name, "int?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_types_are_interned, forget_world),
        cmocka_unit_test_teardown(test_conversions_sit_on_leaves, forget_world),
        cmocka_unit_test_teardown(test_arguments_stand_in_order, forget_world),
        cmocka_unit_test_teardown(test_variables_are_numbered, forget_world),
        cmocka_unit_test_teardown(test_error_sets_are_least, forget_world),
        cmocka_unit_test_teardown(test_where_control_falls, forget_world),
        cmocka_unit_test_teardown(test_narrowing_shows_in_types, forget_world),
    };
    return cmocka_run_group_tests_name("annotations", tests, NULL, NULL);
}
