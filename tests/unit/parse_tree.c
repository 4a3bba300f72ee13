/* parse_tree.c: what golden files cannot show well: spans, limits, time, and one mistake giving one error wherever it is made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "parse.h"
#include "token.h"

typedef struct World {
    Arena arena;
    SourceSet sources;
    DiagList diags;
    Source *source;
    Module *module;
} World;

static void parse_text(World *w, const char *text, size_t len)
{
    arena_init(&w->arena, 0);
    source_set_init(&w->sources, &w->arena);
    diag_init(&w->diags, &w->arena, &w->sources);
    w->source = source_add(&w->sources, "t.tfy", text, len);
    w->module = parse_module(&w->sources, w->source, &w->arena, &w->diags);
}

static void close_world(World *w)
{
    arena_deinit(&w->arena);
}

static const char program[] =
    "import \"a.tfy\" as a\n"
    "const N: list<int> = [1, 2 + 3 * -4]\n"
    "type T { a: int = 1, b: map<string, a.U?> }\n"
    "enum E { one, two(x: int) }\n"
    "tool t(a: string) -> ExecResult once = exec [\"x\", \"-${a}\"] probe p\n"
    "workflow main(x: T?) -> int fails a.B, C {\n"
    "    let y = yield f(x.b[\"k\"].c, z: 3) retry 2 undo { yield g() } as \"label\"\n"
    "    if x == null { return 0 } else if !y { give 3 }\n"
    "    for i in 0..10 {\n"
    "        y.z[i] += xs.map(v => v.name)\n"
    "    }\n"
    "    match y { one | E.two(q) if q > 1 => print(\"${q}\"), -1 => { }, else => fail C(\"no\") }\n"
    "    try { g() } catch e: a.B | C { h() } finally { yield }\n"
    "    let p = parallel { l: yield f(1), m: { give 2 } }\n"
    "    let s = spawn f({ a: 1, [k]: 2 })\n"
    "    while if y { true } else { false } { break }\n"
    "}\n";

static bool inside(Span inner, Span outer)
{
    return inner.off >= outer.off && inner.off + inner.len <= outer.off + outer.len;
}

static void check_expr(const Expr *expr, Span outer);

static void check_block(const Block *block, Span outer);

static void check_args(const Arg *args, Span outer)
{
    for (; args; args = args->next) {
        if (args->name.text) assert_true(inside(args->name.span, outer));
        check_expr(args->value, outer);
    }
}

static void check_expr(const Expr *expr, Span outer)
{
    if (!expr) return;
    assert_true(expr->span.len > 0 && inside(expr->span, outer));
    assert_true(expr->height >= 1 && expr->height <= AST_HEIGHT_MAX);
    const Expr *children[] = {expr->left, expr->right, expr->cond, expr->range, expr->range_end, expr->limit};
    for (size_t i = 0; i < sizeof children / sizeof children[0]; i++) {
        check_expr(children[i], expr->span);
        if (children[i]) assert_true(children[i]->height < expr->height);
    }
    for (const Expr *part = expr->parts; part; part = part->next) check_expr(part, expr->span);
    check_args(expr->args, expr->span);
    for (const MapEntry *entry = expr->entries; entry; entry = entry->next) check_expr(entry->value, expr->span);
    for (const Policy *policy = expr->policies; policy; policy = policy->next) {
        assert_true(inside(policy->span, expr->span));
        check_expr(policy->value, policy->span);
        check_block(policy->block, policy->span);
    }
    for (const ParallelBody *body = expr->bodies; body; body = body->next) {
        check_expr(body->yield, expr->span);
        check_block(body->block, expr->span);
    }
    check_block(expr->block, expr->span);
}

static void check_stmt(const Stmt *stmt, Span outer)
{
    assert_true(stmt->span.len > 0 && inside(stmt->span, outer));
    check_expr(stmt->target, stmt->span);
    check_expr(stmt->value, stmt->span);
    check_expr(stmt->range_end, stmt->span);
    check_block(stmt->block, stmt->span);
    check_block(stmt->else_block, stmt->span);
    check_block(stmt->finally, stmt->span);
    for (const Arm *arm = stmt->arms; arm; arm = arm->next) {
        assert_true(inside(arm->span, stmt->span));
        for (const Pattern *pattern = arm->patterns; pattern; pattern = pattern->next)
            assert_true(inside(pattern->span, arm->span));
        check_expr(arm->guard, arm->span);
        check_block(arm->block, arm->span);
    }
    for (const Catch *clause = stmt->catches; clause; clause = clause->next) check_block(clause->block, clause->span);
}

static void check_block(const Block *block, Span outer)
{
    if (!block) return;
    assert_true(inside(block->span, outer));
    uint32_t end = block->span.off;
    for (const Stmt *stmt = block->stmts; stmt; stmt = stmt->next) {
        assert_true(stmt->span.off >= end);
        end = stmt->span.off + stmt->span.len;
        check_stmt(stmt, block->span);
    }
}

static void spans_nest(void **state)
{
    (void)state;
    World w;
    parse_text(&w, program, strlen(program));
    assert_int_equal(w.diags.errors, 0);
    Span all = {w.source->base, w.source->len};
    for (const Decl *decl = w.module->decls; decl; decl = decl->next) {
        assert_true(decl->span.len > 0 && inside(decl->span, all));
        check_expr(decl->value, decl->span);
        check_expr(decl->provider_value, decl->span);
        for (const Field *field = decl->params; field; field = field->next)
            assert_true(inside(field->span, decl->span));
        check_block(decl->block, decl->span);
    }
    close_world(&w);
}

/* One foreign token anywhere in a line of its own is one error: the rest of the program is read as if nothing were. */
static void one_mistake_is_one_error(void **state)
{
    (void)state;
    static const char before[] = "workflow main() {\n    let a = 1\n",
                      after[] = "\n    let b = [f(1), 2]\n    if b { print(\"${a}\") }\n}\nfn f() { }\n";
    static const char *const lines[] = {
        "let = 3",
        "f(1, , 2)",
        "f(1 2)",
        "x = [1, 2",
        "x = (1 + 2",
        "if { }",
        "if x { } else { } else { }",
        "match x { => 1 }",
        "let x: list< = 3",
        "let x = \"a",
        "yield",
        "whlie x { }",
        "try { } x",
        "for in x { }",
        "return )",
        "a.",
        "a[1",
        "f(a: )",
        "{ }",
        "catch e { }",
        "let x = { a: 1, b }",
        "let x = a b c d",
        "spawn",
        "print(\"${\")",
        "x = 1 +* 2 - 3 +* 4",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char text[512];
        World w;
        int len = snprintf(text, sizeof text, "%s    %s%s", before, lines[i], after);
        parse_text(&w, text, (size_t)len);
        uint32_t wanted = strcmp(lines[i], "yield") != 0;
        if (w.diags.errors != wanted) fail_msg("%s: %u errors", lines[i], w.diags.errors);
        uint32_t decls = 0;
        for (const Decl *decl = w.module->decls; decl; decl = decl->next) decls++;
        if (decls != 2) fail_msg("%s: %u declarations", lines[i], decls);
        close_world(&w);
    }
}

/* Every beginning of a program is read without a crash, and but for the last token it was right so far: at most one error. */
static void beginnings_give_at_most_one_error(void **state)
{
    (void)state;
    for (size_t len = 0; len <= strlen(program); len++) {
        World w;
        parse_text(&w, program, len);
        if (w.diags.errors > 1) fail_msg("the first %zu bytes give %u errors", len, w.diags.errors);
        close_world(&w);
    }
}

/* Leaving out any one token of a dense program is a mistake or two, three at the worst, and never a cascade. */
static void missing_tokens_do_not_cascade(void **state)
{
    (void)state;
    World w;
    parse_text(&w, program, strlen(program));
    TokenList tokens;
    lexer_run(&w.sources, w.source, &w.diags, &tokens);
    for (uint32_t i = 0; i + 1 < tokens.count; i++) {
        Token token = tokens.items[i];
        if (token.kind == 0 || token.len == 0) continue;
        char text[sizeof program];
        memcpy(text, program, sizeof program);
        memset(text + token.off - w.source->base, ' ', token.len);
        World v;
        parse_text(&v, text, strlen(text));
        if (v.diags.errors > 3) {
            diag_print(&v.diags, stderr, false);
            fail_msg("without token %u there are %u errors", i, v.diags.errors);
        }
        close_world(&v);
    }
    lexer_deinit(&tokens);
    close_world(&w);
}

static char *repeat(const char *before, const char *piece, size_t count, const char *after)
{
    size_t piece_len = strlen(piece), at = strlen(before);
    char *text = malloc(at + piece_len * count + strlen(after) + 1);
    memcpy(text, before, at);
    for (size_t i = 0; i < count; i++, at += piece_len) memcpy(text + at, piece, piece_len);
    memcpy(text + at, after, strlen(after) + 1);
    return text;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void depth_is_one_error_at_once(void **state)
{
    (void)state;
    static const char *const shapes[][3] = {
        {"const x = ", "(", ""},
        {"const x = ", "[", ""},
        {"const x = ", "!", "a"},
        {"const x = ", "a + ", "a"},
        {"const x = ", "a.b", ""},
        {"workflow m() ", "{ if a ", ""},
        {"type T { a: int", "?", "}"},
        {"type T { a: ", "list<", ""},
        {"const x = ", "a(", ""},
        {"const x = \"", "${\"", ""},
        {"workflow m() { ", "if a { } else ", "{ } }"},
        {"const x = ", "a ?? ", "a"},
        {"const x = ", "if a { b } else ", "{ c }"},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char *text = repeat(shapes[i][0], shapes[i][1], 200000, shapes[i][2]);
        double start = seconds();
        World w;
        parse_text(&w, text, strlen(text));
        if (w.diags.errors != 1) fail_msg("%s: %u errors", shapes[i][1], w.diags.errors);
        if (seconds() - start > 1) fail_msg("%s: %.1f s", shapes[i][1], seconds() - start);
        close_world(&w);
        free(text);
    }
}

static void large_programs_are_read_quickly(void **state)
{
    (void)state;
    char *text = repeat("workflow main() {\n", "    let name = first + second * f(third, 1)\n", 50000, "}\n");
    World w;
    double start = seconds();
    parse_text(&w, text, strlen(text));
    double took = seconds() - start;
    assert_int_equal(w.diags.errors, 0);
    if (took > 2) fail_msg("50,000 lines took %.2f s", took);
    close_world(&w);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_nest),
        cmocka_unit_test(one_mistake_is_one_error),
        cmocka_unit_test(beginnings_give_at_most_one_error),
        cmocka_unit_test(missing_tokens_do_not_cascade),
        cmocka_unit_test(depth_is_one_error_at_once),
        cmocka_unit_test(large_programs_are_read_quickly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
