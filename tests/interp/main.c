/* main.c: interp FILE.tfy [WORKFLOW…]: runs workflows without parameters, one after the other, and prints what each did. Without names all
 * that begin with root_. interp FILE.tfy --tests: its tests. The same lines come from tests/diff/runner.c for the compiled program. */
#include "interp.h"

#include <stdlib.h>
#include <string.h>

#include "../diff/trace.h"
#include "module.h"

static void report(const Interp *in, const Decl *root)
{
    static const char *const ends[] = {"waiting", "completed", "failed", "cancelled"};
    const Task *task = in->tasks[0];
    Buf result = {0};
    bool over = task->end == END_COMPLETED && !in->live; /* a run has its result when its last task has ended */
    if (over && root->type->kind != TYPE_NOTHING) value_json(&result, root->type, task->value);
    trace_print(stdout,
                &(Trace){.name = root->full_name,
                         .out = in->out.data,
                         .calls = in->calls.data,
                         .state = ends[task->end],
                         .result = result.data,
                         .error = task->end == END_FAILED || task->end == END_CANCELLED ? task->failure : NULL});
}

/* `ok NAME`, or `failed NAME: why`: without what tfy test adds for people. */
static void report_test(const Interp *in, const Decl *test)
{
    const Task *task = in->tasks[0];
    const Raised *raised = &task->raised;
    const char *unanswered = testing_unanswered(in);
    printf("%s %s", task->end == END_COMPLETED && !unanswered ? "ok" : "failed", test->name.text);
    if (unanswered)
        printf(": no mock answers %s", unanswered);
    else if (!task->end)
        printf(": it does not end");
    else if (task->end == END_CANCELLED)
        printf(": the test was cancelled");
    else if (raised->kind == RAISED_PANIC)
        printf(": %.*s",
               (int)(strstr(raised->panic, " (left: ") ? strstr(raised->panic, " (left: ") - raised->panic
                                                       : (ptrdiff_t)strlen(raised->panic)),
               raised->panic);
    else if (raised->kind == RAISED_ERROR)
        printf(": %s: %s", raised->error->type->name, raised->error->items[0]->text);
    putchar('\n');
}

/* ---- labels ---- */

/* The seed in the name of what the generator made: w12_0, f12_1, root_s12. */
static long seed_of(const char *name)
{
    const char *at = name ? name + strcspn(name, "0123456789") : "";
    return *at ? atol(at) : -1;
}

static long seed_at(const Program *program, uint32_t off)
{
    for (uint32_t i = 0; i < program->decl_count; i++) {
        const Decl *decl = program->decls[i];
        if (off >= decl->span.off && off < decl->span.off + decl->span.len) return seed_of(decl->name.text);
    }
    return -1;
}

static bool is_refused(const Program *program, const DiagList *diags, const Decl *root)
{
    const long seed = seed_of(root->name.text);
    for (const Diag *diag = diags->first; diag; diag = diag->next)
        if (diag->level == DIAG_ERROR && seed_at(program, diag->span.off) == seed) return true;
    return false;
}

/* interp --labels: every program of a file runs, and no value from outside may reach a trusted place in one that the compiler accepts. */
static int compare_labels(const Program *program, const DiagList *diags)
{
    uint32_t accepted = 0, refused = 0, reached = 0, needed = 0, wrong = 0;
    for (uint32_t i = 0; i < program->decl_count; i++) {
        const Decl *root = program->decls[i];
        if (root->kind != DECL_WORKFLOW || strncmp(root->full_name, "root_", 5) != 0) continue;
        Interp *in = must_alloc(sizeof *in);
        in->program = program;
        in->now_ms = 1700000000000;
        for (int64_t n = 1; n <= TRACE_SIGNALS; n++) signal_send(in, "go", value_int(n));
        interp_run(in, root);
        const bool bad = is_refused(program, diags, root);
        if (bad)
            refused++;
        else
            accepted++;
        reached += !bad && in->places;
        needed += bad && in->wrong;
        if (bad || !in->wrong) continue;
        wrong++;
        printf("not ok %s: a value from outside reached a trusted place\n", root->full_name);
    }
    printf("%u accepted, %u of them reach a trusted place; %u refused, %u of them rightly in this run; %u wrong\n",
           accepted, reached, refused, needed, wrong);
    return wrong != 0;
}

static bool wanted(const Decl *decl, char **names, int count)
{
    if (count && strcmp(names[0], "--tests") == 0) return decl->kind == DECL_TEST && !decl->module->number;
    if (decl->kind != DECL_WORKFLOW) return false;
    if (!count) return strncmp(decl->full_name, "root_", 5) == 0;
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], decl->full_name) == 0) return true;
    return false;
}

int main(int argc, char **argv)
{
    Arena arena;
    SourceSet sources;
    DiagList diags;
    int error = 0;
    bool labels_only = true; /* the only mistakes are values in trusted places */
    if (argc < 2) {
        fprintf(stderr, "usage: interp FILE.tfy [WORKFLOW...]\n");
        return 64;
    }
    arena_init(&arena, (size_t)4 << 30);
    source_set_init(&sources, &arena);
    diag_init(&diags, &arena, &sources);
    Source *source = source_load(&sources, argv[1], &error);
    if (!source) {
        fprintf(stderr, "interp: cannot read %s: %s\n", argv[1], strerror(error));
        return 66;
    }
    Module *module = module_load(&sources, source, NULL, &arena, &diags);
    const bool labels = argc > 2 && strcmp(argv[2], "--labels") == 0;
    diags.limit = labels ? UINT32_MAX : diags.limit;
    const bool parsed = !diags.errors;
    const Program *program = parsed ? check_program(module, &sources, &arena, &diags) : NULL;
    for (const Diag *diag = diags.first; labels && diag; diag = diag->next)
        if (diag->level == DIAG_ERROR && !strstr(diag->message, "and this ")) labels_only = false;
    if (labels && parsed && labels_only) return compare_labels(program, &diags);
    if (diags.errors) {
        diag_print(&diags, stderr, false);
        return 65;
    }
    for (uint32_t i = 0; i < program->decl_count; i++) {
        if (!wanted(program->decls[i], argv + 2, argc - 2)) continue;
        Interp *in = must_alloc(sizeof *in);
        in->program = program;
        in->now_ms = 1700000000000;
        bool test = program->decls[i]->kind == DECL_TEST;
        if (test) in->testing = testing_new();
        if (test) in->now_ms = 1767225600000; /* 2026 */
        for (int64_t n = 1; !test && n <= TRACE_SIGNALS; n++) signal_send(in, "go", value_int(n));
        interp_run(in, program->decls[i]);
        if (test)
            report_test(in, program->decls[i]);
        else
            report(in, program->decls[i]);
    }
    return fflush(stdout) == 0 ? 0 : 74;
}
