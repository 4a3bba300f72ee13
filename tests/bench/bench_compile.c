/* bench_compile.c: how fast tfyc is on a program of 50,000 lines, pass by pass, and against gcc -O0 on what it makes.
 *
 * The program is many small ones, each with the things people write: types, an enum with its match, an error with its catch, tools, a
 * prompt, functions over strings and lists, loops, policies, undo and parallel. */
#include "bench.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../../codegen/machine.h"
#include "../../dsl/module.h"
#include "../../dsl/check_internal.h"
#include "../../dsl/trust.h"
#include "../../dsl/type.h"

enum { LINES = 50000, UNIT_LINES = 64 };

/* One of the small programs; every @ is its number. UNIT_LINES lines. */
static const char unit[] =
    "type Step@ { name: string, argv: list<string>, risky: bool = false, cost: int }\n"
    "type Plan@ { goal: string, steps: list<Step@>, note: string? }\n"
    "enum Verdict@ { keep, drop, redo(reason: string, times: int) }\n"
    "error Failed@ { step: string, code: int }\n"
    "const LIMIT@: int = 3 + @ % 5\n"
    "\n"
    "/// Run the tests of part @.\n"
    "tool tests@(dir: string) -> ExecResult idempotent = exec [\"make\", \"-C\", \"${dir}\", \"test@\"]\n"
    "tool git@(args: list<string>) -> string once = exec [\"git\"].concat(args)\n"
    "prompt plan@(goal: string) -> Plan@ {\n"
    "    system \"\"\"You plan small, safe steps.\"\"\"\n"
    "    user \"\"\"Goal @: ${goal}\"\"\"\n"
    "    retry 2\n"
    "}\n"
    "\n"
    "fn label@(s: Step@, at: int) -> string {\n"
    "    let tag = if s.risky { \"!\" } else { \"\" }\n"
    "    return \"step ${at}: ${s.name.trim()}${tag} of ${LIMIT@}\"\n"
    "}\n"
    "\n"
    "fn cost@(steps: list<Step@>, factor: int) -> int {\n"
    "    var total = 0\n"
    "    for i, s in steps {\n"
    "        if s.risky && i > 0 || s.argv.len() > 4 {\n"
    "            total += s.cost * factor\n"
    "        } else {\n"
    "            total += s.cost - (i + 1) / 2\n"
    "        }\n"
    "    }\n"
    "    return total\n"
    "}\n"
    "\n"
    "workflow ask@(question: string, tries: int) -> Verdict@ {\n"
    "    var left = tries\n"
    "    while left > 0 {\n"
    "        let text = yield llm(\"${question} (${left})\") retry 2 backoff 1s timeout 30s else \"\"\n"
    "        if text.contains(\"keep\") { return Verdict@.keep }\n"
    "        if text.len() > 10 { return Verdict@.redo(reason: text.slice(0, 10), times: left) }\n"
    "        left -= 1\n"
    "        yield\n"
    "    }\n"
    "    return Verdict@.drop\n"
    "}\n"
    "\n"
    "workflow part@(goal: string) -> string fails Failed@ {\n"
    "    let plan = yield plan@(goal)\n"
    "    var done: list<string> = []\n"
    "    for i, step in plan.steps {\n"
    "        let out = yield tests@(step.name) timeout 5m undo { yield git@([\"checkout\", \".\"]) } as \"step @\"\n"
    "        if out.code != 0 { fail Failed@(\"step ${i}\", step: step.name, code: out.code) }\n"
    "        done = done.push(label@(step, i))\n"
    "    }\n"
    "    let both = parallel { first: yield ask@(\"first\", 2), second: yield ask@(\"second\", LIMIT@) }\n"
    "    match both.first {\n"
    "        keep => print(\"kept ${done.len()}\")\n"
    "        drop => return \"dropped\"\n"
    "        redo(why, times) => { print(\"${why} ${times}\") }\n"
    "    }\n"
    "    try {\n"
    "        yield git@([\"commit\", \"-m\", plan.note ?? goal])\n"
    "    } catch e: ToolError { log(e.message) } finally { print(\"${cost@(plan.steps, 2)}\") }\n"
    "    return done.join(\", \")\n"
    "}\n"
    "\n";

static char *make_source(size_t *len)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, len);
    for (int i = 0; i < LINES / UNIT_LINES; i++) {
        for (const char *at = unit; *at; at++) {
            if (*at == '@')
                fprintf(out, "%d", i);
            else
                fputc(*at, out);
        }
    }
    fprintf(out, "workflow main() { yield ask0(\"?\", 1) }\n");
    fclose(out);
    return text;
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++) lines++;
    return lines;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) bench_die("cannot write %s", path);
}

/* ---- pass by pass ---- */

void __wrap_check_trust(Check *c, TrustReport *report);
void __real_check_trust(Check *c, TrustReport *report);

static double labels_took; /* CPU seconds of the pass of the labels, a part of the check */

void __wrap_check_trust(Check *c, TrustReport *report)
{
    const double begun = bench_cpu_seconds();
    __real_check_trust(c, report);
    labels_took = bench_cpu_seconds() - begun;
}

enum { PARSE, CHECK, LOWER, EMIT, PASS_COUNT };
static const char *const pass_names[] = {"parse", "check", "lower", "emit"};

/* CPU seconds of each pass. Answers how many lines the C has, blank ones and #line left out. */
static size_t run_passes(const char *text, size_t len, double took[PASS_COUNT], bool tell)
{
    Arena arena;
    SourceSet sources;
    DiagList diags;
    size_t c_len, c_lines = 0;
    EmitOptions options = {.main = true, .source_name = "bench.tfy"};
    arena_init(&arena, 0);
    source_set_init(&sources, &arena);
    diag_init(&diags, &arena, &sources);
    Source *source = source_add(&sources, "bench.tfy", text, len);
    size_t used[PASS_COUNT];
    double at[PASS_COUNT + 1] = {bench_cpu_seconds()};
    Module *module = module_load(&sources, source, NULL, &arena, &diags);
    at[1] = bench_cpu_seconds();
    used[0] = arena.used;
    Program *program = check_program(module, &sources, &arena, &diags);
    at[2] = bench_cpu_seconds();
    used[1] = arena.used;
    if (diags.errors) {
        diag_print(&diags, stderr, false);
        bench_die("the program has mistakes");
    }
    Machine *machine = lower_program(program, &(LowerOptions){0}, &arena);
    machine_finish(machine);
    frame_assign(machine);
    at[3] = bench_cpu_seconds();
    used[2] = arena.used;
    const char *c = emit_c(machine, &options, &c_len);
    at[4] = bench_cpu_seconds();
    used[3] = arena.used;
    for (int i = 0; i < PASS_COUNT; i++) took[i] = at[i + 1] - at[i];
    for (const char *line = c; *line;) {
        size_t width = strcspn(line, "\n");
        c_lines += width > 0;
        line += width + (line[width] == '\n');
    }
    if (tell)
        fprintf(stderr,
                "bench: MiB of memory: %zu after parsing, %zu after checking, %zu after lowering, %zu after emitting\n",
                used[PARSE] >> 20, used[CHECK] >> 20, used[LOWER] >> 20, used[EMIT] >> 20);
    arena_deinit(&arena);
    return c_lines;
}

static void report_passes(const char *text, size_t len)
{
    double took[BENCH_ROUNDS][PASS_COUNT], labels[BENCH_ROUNDS], all = 0;
    size_t lines = count_lines(text), c_lines = 0;
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        double round = 0;
        c_lines = run_passes(text, len, took[i], i == 0);
        for (int pass = 0; pass < PASS_COUNT; pass++) round += took[i][pass];
        labels[i] = labels_took / round; /* of the same moment, so that a noisy machine slows both */
    }
    for (int pass = 0; pass < PASS_COUNT; pass++) {
        double rounds[BENCH_ROUNDS];
        for (int i = 0; i < BENCH_ROUNDS; i++) rounds[i] = took[i][pass];
        double median = bench_median(rounds);
        fprintf(stderr, "bench: %s: %.0f lines a second\n", pass_names[pass], (double)lines / median);
        all += median;
    }
    fprintf(stderr, "bench: all passes: %.0f lines a second, %.2f s for %zu lines\n", (double)lines / all, all, lines);
    bench_report("C lines for a line of source, 50,000 lines", (double)c_lines / (double)lines, "<=", 6);
    bench_report("labels on 50,000 lines, of the time of all passes (%)", 100 * bench_median(labels), "<=", 3);
}

/* ---- the two compilers as people run them ---- */

/* CPU seconds of a command and its children. */
static double cpu_of(const char *const *words)
{
    struct rusage usage;
    int status;
    pid_t child = fork();
    if (child == 0) {
        execvp(words[0], (char *const *)words);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status != 0) bench_die("%s failed", words[0]);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void report_ratio(const char *text)
{
    BenchPlace place;
    char source[96], c[96], object[96];
    double ours[BENCH_ROUNDS];
    bench_place(&place);
    snprintf(source, sizeof source, "%s/bench.tfy", place.directory);
    snprintf(c, sizeof c, "%s/bench.c", place.directory);
    snprintf(object, sizeof object, "%s/bench.o", place.directory);
    write_file(source, text);
    const char *const our_words[] = {"./tfyc", source, "-o", c, NULL};
    const char *const their_words[] = {"gcc", "-std=gnu11", "-O0", "-I", ".", "-c", c, "-o", object, NULL};
    for (int i = 0; i < BENCH_ROUNDS; i++) ours[i] = cpu_of(our_words);
    double our_time = bench_median(ours), their_time = cpu_of(their_words); /* half a minute: once is enough */
    fprintf(stderr, "bench: tfyc %.2f s, gcc -O0 -c %.2f s\n", our_time, their_time);
    bench_report("tfyc on 50,000 lines, against gcc -O0 -c of its output (times as fast)", their_time / our_time,
                 ">=", 5);
    bench_clear(&place);
}

int main(void)
{
    size_t len;
    char *text = make_source(&len);
    report_passes(text, len);
    report_ratio(text);
    free(text);
    return 0;
}
