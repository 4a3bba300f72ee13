/* codegen_machine.c: what lowering and the frame pass promise, asked of small programs: which slots are live at which stop, where loops keep
 * their fuel, how points are called, and that the same text gives the same C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../codegen/machine.h"
#include "../../dsl/parse.h"

typedef struct Fixture {
    Arena arena;
    SourceSet sources;
    DiagList diags;
} Fixture;

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    if (!f) return -1;
    arena_init(&f->arena, 0);
    source_set_init(&f->sources, &f->arena);
    diag_init(&f->diags, &f->arena, &f->sources);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    arena_deinit(&f->arena);
    free(f);
    return 0;
}

static Machine *compile_for(Fixture *f, const char *text, bool debug)
{
    Source *source = source_add(&f->sources, "test.tfy", text, strlen(text));
    Module *module = parse_module(&f->sources, source, &f->arena, &f->diags);
    Program *program = check_program(module, &f->sources, &f->arena, &f->diags);
    if (f->diags.errors) diag_print(&f->diags, stderr, false);
    assert_int_equal(f->diags.errors, 0);
    Machine *machine = lower_program(program, &(LowerOptions){.debug = debug}, &f->arena);
    machine_finish(machine);
    frame_assign(machine);
    return machine;
}

static Machine *compile(Fixture *f, const char *text)
{
    return compile_for(f, text, false);
}

static const Routine *routine_named(const Machine *machine, const char *name)
{
    for (uint32_t i = 0; i < machine->routine_count; i++)
        if (strcmp(machine->routines[i]->name, name) == 0) return machine->routines[i];
    fail_msg("no routine %s", name);
    return NULL;
}

/* The names live at a point, in the order of their slots. */
static const char *live_names(Fixture *f, const Point *point)
{
    const char *text = "";
    for (uint32_t i = 0; i < point->live_count; i++)
        text = arena_printf(&f->arena, "%s%s%s", text, i ? " " : "", point->live[i]->name);
    return text;
}

static const char *live_at(Fixture *f, const Routine *routine, uint32_t pc)
{
    return live_names(f, routine->resume[pc - 1]);
}

static char *c_text(Machine *machine)
{
    size_t len;
    return emit_c(machine, &(EmitOptions){.main = true, .lines = true, .source_name = "dir/test.tfy"}, &len);
}

/* ---- live sets and slots ---- */

static void only_what_is_read_later_is_live(void **state)
{
    Fixture *f = *state;
    const Routine *r =
        routine_named(compile(f, "workflow main(a: string, b: string) -> int {\n"
                                 "  let n = a.len()\n  yield\n  let m = b.len() + n\n  yield\n  return m\n}\n"),
                      "main");
    assert_int_equal(r->resume_count, 2);
    assert_string_equal(live_at(f, r, 1), "b n");
    assert_string_equal(live_at(f, r, 2), "m");
}

static void parameters_keep_their_slots(void **state)
{
    Fixture *f = *state;
    const Routine *r =
        routine_named(compile(f, "workflow main(a: int, b: string, c: bool) { yield\n print(\"${c}\") }\n"), "main");
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(r->vars[i]->slot, i);
    assert_int_equal(r->entry_release_count, 1); /* b, which nobody reads */
    assert_string_equal(live_at(f, r, 1), "c");
}

static void objects_and_scalars_share_no_slot(void **state)
{
    Fixture *f = *state;
    const Routine *r = routine_named(compile(f, "workflow main(n: int) {\n"
                                                "  if n == 0 { let s = \"${n}\"\n yield\n print(s) }\n"
                                                "  if n == 1 { let k = n + 1\n yield\n print(\"${k}\") }\n"
                                                "  if n == 2 { let t = \"${n}!\"\n yield\n print(t) }\n}\n"),
                                     "main");
    const Var *s = r->resume[0]->live[r->resume[0]->live_count - 1],
              *k = r->resume[1]->live[r->resume[1]->live_count - 1];
    const Var *t = r->resume[2]->live[r->resume[2]->live_count - 1];
    assert_int_equal(s->slot, t->slot);
    assert_int_not_equal(s->slot, k->slot);
}

static void a_catch_keeps_the_old_value(void **state)
{
    Fixture *f = *state;
    const Routine *r = routine_named(compile(f, "workflow child() -> string { yield\n return \"\" }\n"
                                                "workflow main() {\n  var x = \"a\".trim()\n"
                                                "  try { x = yield child() } catch e { print(x) }\n}\n"),
                                     "main");
    assert_string_equal(live_at(f, r, 1), "x");
    r = routine_named(
        compile(f, "workflow child() -> string { yield\n return \"\" }\n"
                   "workflow main() {\n  var x = \"a\".trim()\n  print(x)\n  x = yield child()\n  print(x)\n}\n"),
        "main");
    assert_string_equal(live_at(f, r, 1), ""); /* nobody can see the old one */
}

static void arguments_of_a_retried_call_are_kept(void **state)
{
    Fixture *f = *state;
    const Routine *r = routine_named(compile(f, "workflow child(s: string) { yield\n print(s) }\n"
                                                "workflow main(n: int) { yield child(\"${n}\") retry 2 }\n"),
                                     "main");
    assert_int_equal(r->resume_count, 2); /* the call, and the pause between two attempts */
    assert_string_equal(live_at(f, r, 1), "attempt arg");
    assert_string_equal(live_at(f, r, 2), "attempt arg");
}

/* ---- fuel ---- */

static uint32_t fuel_points(const Routine *routine)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < routine->resume_count; i++) count += routine->resume[i]->ask == ASK_FUEL;
    return count;
}

static uint32_t fuel_in(Fixture *f, const char *body)
{
    const char *text =
        arena_printf(&f->arena, "workflow idle() {}\nworkflow main(n: int) {\n  var i = 0\n%s\n}\n", body);
    return fuel_points(routine_named(compile(f, text), "main"));
}

static void a_loop_keeps_fuel_unless_every_round_stops(void **state)
{
    Fixture *f = *state;
    assert_int_equal(fuel_in(f, "while i < n { i += 1 }"), 1);
    assert_int_equal(fuel_in(f, "while i < n { i += 1\n yield }"), 0);
    assert_int_equal(fuel_in(f, "while i < n { i += 1\n if i == 3 { continue }\n yield }"), 1);
    assert_int_equal(fuel_in(f, "while i < n { i += 1\n yield idle() }"), 1); /* a call need not stop */
    assert_int_equal(fuel_in(f, "while i < n { i += 1\n yield sleep(1s) }"), 0);
    assert_int_equal(fuel_in(f, "while i < n { for j in 0..n { i += j } }"), 1); /* the inner one's serves both */
    assert_int_equal(fuel_in(f, "while i < n { i += 1\n try { yield } catch e { print(e.message) } }"), 0);
    assert_int_equal(fuel_in(f, "while i < n { try { yield idle() } catch e { continue }\n yield }"), 1);
}

/* ---- points ---- */

static void points_are_called_by_their_place(void **state)
{
    Fixture *f = *state;
    Machine *machine = compile(f, "workflow child() { yield as \"there\" }\n"
                                  "workflow main() {\n  yield child()\n  print(\"a\")\n  yield child()\n  let t = "
                                  "spawn child()\n  yield join(t)\n}\n");
    static const char *const ids[] = {
        "there", "main/call/child/1", "main/print/1", "main/call/child/2", "main/spawn/child/1", "main/effect/join/1"};
    assert_int_equal(machine->point_count, sizeof ids / sizeof *ids);
    for (uint32_t i = 0; i < machine->point_count; i++) {
        assert_string_equal(machine->points[i]->id, ids[i]);
        assert_int_equal(machine->points[i]->number, i + 1);
    }
}

static void what_cannot_be_reached_has_no_points(void **state)
{
    Fixture *f = *state;
    Machine *machine = compile(f, "workflow main() {\n  while true { yield }\n}\n");
    assert_int_equal(machine->point_count, 1);
    assert_string_equal(machine->points[0]->id, "main/yield/1");
}

/* ---- output ---- */

static void the_same_text_gives_the_same_c(void **state)
{
    Fixture *f = *state;
    static const char text[] = "type P { a: int, b: list<string> = [\"x\"] }\nenum E { one, two(p: P) }\n"
                               "workflow main() {\n  for e in [E.one, E.two(P(a: 1))] { print(\"${e}\")\n yield }\n}\n";
    char *first = c_text(compile(f, text));
    Fixture other = {0};
    arena_init(&other.arena, 0);
    source_set_init(&other.sources, &other.arena);
    diag_init(&other.diags, &other.arena, &other.sources);
    assert_string_equal(c_text(compile(&other, text)), first);
    arena_deinit(&other.arena);
}

static void names_that_c_reserves_are_changed(void **state)
{
    Fixture *f = *state;
    const char *text = c_text(compile(
        f, "fn twice(int: int, o1: int) -> int { return int * o1 }\n"
           "workflow main() {\n  let bool = 1\n  let head = 2\n  yield\n  print(\"${twice(bool, head)}\")\n}\n"));
    assert_null(strstr(text, "int64_t int,"));
    assert_null(strstr(text, "int64_t o1)"));
    assert_null(strstr(text, "int64_t bool;"));
    assert_null(strstr(text, "int64_t head;"));
}

static void long_workflows_become_parts(void **state)
{
    Fixture *f = *state;
    const char *text = "workflow main() -> int {\n  var n = 0\n";
    for (int i = 0; i < 400; i++) text = arena_printf(&f->arena, "%s  yield\n  n += %d\n", text, i);
    const Routine *r = routine_named(compile(f, arena_printf(&f->arena, "%s  return n\n}\n", text)), "main");
    assert_true(r->part_count > 5);
    assert_int_equal(r->slot_count, 1);
}

/* For who steps through a replay. */
static void debug_keeps_variables_to_the_end_of_their_scope(void **state)
{
    Fixture *f = *state;
    const char *text = "workflow main(a: int, b: string) -> int {\n"
                       "  let n = a + 1\n  yield\n"
                       "  while true {\n    let k = n * 2\n    let s = \"${k}\"\n    print(s)\n    yield\n"
                       "    if k > 9 { return n }\n  }\n}\n";
    const Routine *r = routine_named(compile_for(f, text, true), "main");
    assert_string_equal(live_at(f, r, 1), "a b n"); /* nothing of what comes later */
    for (uint32_t i = 0; i < r->point_count; i++)
        if (r->points[i]->ask == ASK_MARK) assert_string_equal(live_names(f, r->points[i]), "a b n k s");
    assert_string_equal(live_at(f, r, r->resume_count), "a b n k s");
    const Routine *plain = routine_named(compile(f, text), "main");
    assert_string_equal(live_at(f, plain, 1), "n");
    assert_int_equal(plain->point_count, r->point_count);
    for (uint32_t i = 0; i < r->point_count; i++) {
        assert_int_equal(plain->points[i]->number, r->points[i]->number);
        assert_string_equal(plain->points[i]->id, r->points[i]->id);
        if (plain->points[i]->ask == ASK_MARK) assert_int_equal(plain->points[i]->live_count, 0);
    }
}

/* ---- machines that are broken on purpose ---- */

static const char steps[] = "workflow main(n: int) -> int {\n  yield\n  return n\n}\n";

static Machine *lower_only(Fixture *f)
{
    Source *source = source_add(&f->sources, "test.tfy", steps, strlen(steps));
    Module *module = parse_module(&f->sources, source, &f->arena, &f->diags);
    return lower_program(check_program(module, &f->sources, &f->arena, &f->diags), &(LowerOptions){0}, &f->arena);
}

static void leave_a_block_open(Fixture *f)
{
    Machine *machine = lower_only(f);
    machine->routines[0]->entry->term.kind = TERM_NONE;
    machine_finish(machine);
}

static void lead_to_no_place(Fixture *f)
{
    Machine *machine = lower_only(f);
    machine->routines[0]->entry->term.to = machine_block(machine->routines[0]);
    machine_finish(machine);
}

static void stop_at_no_line(Fixture *f)
{
    Machine *machine = lower_only(f);
    machine->routines[0]->points[0]->line = 0;
    machine_finish(machine);
}

static void read_what_was_never_set(Fixture *f)
{
    Machine *machine = lower_only(f);
    Routine *routine = machine->routines[0];
    const Type *integer = machine->program->core.integer;
    Var **uses = arena_alloc(&f->arena, sizeof *uses);
    machine_finish(machine);
    uses[0] = machine_var(routine, VAR_HIDDEN, integer, REP_INT, "never");
    Instr *end = machine_instr(routine, routine->entry, IN_END, 1);
    end->uses = uses;
    end->use_count = 1;
    frame_assign(machine);
}

static void read_what_is_elsewhere(Fixture *f)
{
    Machine *machine = lower_only(f);
    Routine *routine = machine->routines[0];
    machine_finish(machine);
    Var **uses = arena_alloc(&f->arena, sizeof *uses), *copy = arena_new(&f->arena, Var);
    *copy = *routine->vars[0];
    uses[0] = copy;
    Instr *end = machine_instr(routine, routine->entry, IN_END, 1);
    end->uses = uses;
    end->use_count = 1;
    frame_assign(machine);
}

static void finish_twice(Fixture *f)
{
    Machine *machine = lower_only(f);
    machine_finish(machine);
    machine_finish(machine);
}

/* In a child, which ends with 70 and names the fact and the workflow. */
static void assert_stops(void (*child)(Fixture *f), const char *fact)
{
    char said[1000];
    FILE *out = tmpfile();
    const pid_t pid = fork();
    int status;
    if (pid == 0) {
        void *f = NULL;
        dup2(fileno(out), STDERR_FILENO);
        setup(&f);
        child(f);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    rewind(out);
    said[fread(said, 1, sizeof said - 1, out)] = 0;
    fclose(out);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 70);
    assert_non_null(strstr(said, fact));
    assert_non_null(strstr(said, "tfyc: test.tfy:1:1: a bug in the compiler: "));
}

static void a_broken_machine_stops_the_compiler(void **state)
{
    assert_stops(leave_a_block_open, ": term->kind != TERM_NONE does not hold (codegen/machine.c:");
    assert_stops(lead_to_no_place, ": block->placed does not hold (codegen/machine.c:");
    assert_stops(stop_at_no_line, ": point->line > 0 does not hold (codegen/machine.c:");
    assert_stops(read_what_was_never_set, ": !set_has(routine->entry->live_in, i) does not hold (codegen/frame.c:");
    assert_stops(read_what_is_elsewhere, ": routine->vars[uses[i]->id] == uses[i] does not hold (codegen/frame.c:");
    assert_stops(finish_twice, ": !machine->points does not hold (codegen/machine.c:");
}

int main(void)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(only_what_is_read_later_is_live),      TEST(parameters_keep_their_slots),
        TEST(objects_and_scalars_share_no_slot),    TEST(a_catch_keeps_the_old_value),
        TEST(arguments_of_a_retried_call_are_kept), TEST(a_loop_keeps_fuel_unless_every_round_stops),
        TEST(points_are_called_by_their_place),     TEST(what_cannot_be_reached_has_no_points),
        TEST(the_same_text_gives_the_same_c),       TEST(names_that_c_reserves_are_changed),
        TEST(long_workflows_become_parts),          TEST(debug_keeps_variables_to_the_end_of_their_scope),
        TEST(a_broken_machine_stops_the_compiler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
