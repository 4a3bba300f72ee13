/* tfyc.c: the compiler's command line and its pass list.
 *
 *   source_load      file                → text
 *   module_load      text, its imports   → trees                mistakes of form, files that are missing
 *   check_program    trees               → checked program      mistakes of meaning; then every node has its type
 *   lower_program    checked program     → machines             blocks, instructions, points
 *   machine_finish   machines            → the same, smaller    no unreachable block, no idle fuel; points numbered
 *   frame_assign     machines            → the same, placed     releases, frame slots, live sets
 *   emit_c           machines            → C                    with emit_layout inside
 *
 * The output appears under its name only when it is complete: it is written beside it and renamed. The same input
 * gives the same bytes. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../dsl/lsp.h"
#include "../dsl/offered.h"
#include "../dsl/parse.h"
#include "../dsl/token.h"
#include "../runtime/base/terminal.h"
#include "emit_trust.h"
#include "list_servers.h"
#include "machine.h"
#include "tfyc.h"

/* In a make rule a space, a # and a $ need an escape. */
static size_t escape_path(char *to, size_t cap, const char *path)
{
    size_t len = 0;
    for (; *path && len + 3 < cap; path++) {
        if (*path == ' ' || *path == '#') to[len++] = '\\';
        if (*path == '$') to[len++] = '$';
        to[len++] = *path;
    }
    to[len] = 0;
    return len;
}

static int write_depfile(const Options *options, Arena *arena, const SourceSet *sources)
{
    char target[4096], path[4096];
    escape_path(target, sizeof target, options->output ? options->output : options->inputs[0]);
    const char *rule = arena_printf(arena, "%s:", target);
    for (const Source *source = sources->first; source; source = source->next) {
        escape_path(path, sizeof path, source->name);
        rule = arena_printf(arena, "%s %s", rule, path);
    }
    rule = arena_printf(arena, "%s\n", rule);
    return tfyc_write_file(options->depfile, rule, strlen(rule), 0);
}

/* ---- the passes ---- */

typedef struct Compilation {
    const Options *options;
    EmitOptions emit; /* a bundle has a name of its own */
    Arena arena;
    SourceSet sources;
    DiagList diags;
} Compilation;

static int finish_dump(void)
{
    return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_OK : tfyc_report_io("standard output", "cannot write");
}

/* *len is read after the text was made. */
static int print_text(const char *text, const size_t *len)
{
    return tfyc_write_file("-", text, *len, 0);
}

static int make_c(Compilation *c, const Program *program)
{
    size_t len;
    Machine *machine = lower_program(program, &c->options->lower, &c->arena);
    machine_finish(machine);
    frame_assign(machine);
    if (c->options->dump == DUMP_MACHINE) {
        machine_dump(machine, stdout);
        return finish_dump();
    }
    if (c->options->graph) return print_text(emit_graph(machine, c->options->graph_format, &len), &len);
    if (c->options->report) return print_text(emit_report(machine, c->options->as_json, &len), &len);
    if (c->options->layout) {
        const char *slash = strrchr(c->emit.source_name, '/');
        const char *layout = emit_layout(machine, slash ? slash + 1 : c->emit.source_name);
        len = strlen(layout);
        return print_text(layout, &len);
    }
    char *text = emit_c(machine, &c->emit, &len);
    return tfyc_write_file(c->options->output, text, len, 0);
}

/* The main file's header is called like it, those of others like their module. */
static const char *header_name(Compilation *c, const Module *module)
{
    const char *file = module->file, *end = strstr(file, ".tfy");
    size_t len = end && !end[4] ? (size_t)(end - file) : strlen(file);
    return module->number ? module->name : arena_strndup(&c->arena, file, len);
}

static int write_headers(Compilation *c, const Program *program)
{
    int status = EXIT_OK;
    for (const Module *module = program->modules; module && status == EXIT_OK; module = module->next) {
        size_t len;
        const char *name = header_name(c, module), *text = emit_header(program, module, &c->emit, name, &len);
        if (text) status = tfyc_write_file(arena_printf(&c->arena, "%s/%s.h", c->options->headers, name), text, len, 0);
    }
    return status;
}

static int print_schema(const Program *program, const char *name)
{
    size_t len;
    const char *nearest = NULL, *text = emit_schema(program, name, &len, &nearest);
    if (text) return print_text(text, &len);
    fprintf(stderr, "tfyc: there is no tool, prompt, workflow, fn or type '%s'%s%s%s\n", name,
            nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return EXIT_USAGE;
}

static int print_trust(Compilation *c, const Program *program, const TrustReport *report)
{
    size_t len;
    const char *text = emit_trust(program, report, c->options->as_json, &len);
    return print_text(text, &len);
}

/* What inspects one file only. */
static int dump_file(Compilation *c, Source *source)
{
    if (c->options->dump == DUMP_TOKENS)
        token_dump(&c->sources, source, &c->diags, stdout);
    else
        ast_dump(parse_module(&c->sources, source, &c->arena, &c->diags), stdout);
    int status = tfyc_report_diags(c->options, &c->diags);
    return status ? status : finish_dump();
}

static int print_servers(Compilation *c, Source *source)
{
    const Module *module = parse_module(&c->sources, source, &c->arena, &c->diags);
    const char *text = c->diags.errors ? "" : list_servers(module, &c->arena, &c->diags);
    const int status = tfyc_report_diags(c->options, &c->diags);
    const size_t len = strlen(text);
    return status ? status : print_text(text, &len);
}

static int list_files(const Module *modules)
{
    for (const Module *module = modules; module; module = module->next) printf("%s\n", module->source->name);
    return finish_dump();
}

static int compile(Compilation *c, Module *module)
{
    const Options *options = c->options;
    if (c->diags.errors) return tfyc_report_diags(options, &c->diags);
    if (options->list_files) return list_files(module);
    TrustReport trust = {0};
    if (options->offer) offered_take(module, options->offer);
    Program *program = trust_check_program(module, &c->sources, &c->arena, &c->diags, options->trust ? &trust : NULL);
    if (options->deny_warnings) diag_deny_warnings(&c->diags);
    /* Warnings are printed once, to the person who checks or builds the program. */
    bool told = c->diags.errors || ((options->check || options->output) && !options->no_warnings);
    int status = told ? tfyc_report_diags(options, &c->diags) : EXIT_OK;
    if (status) return status;
    if (options->dump == DUMP_PROGRAM) {
        program_dump(program, stdout);
        return finish_dump();
    }
    if (options->schema) return print_schema(program, options->schema);
    if (options->trust) return print_trust(c, program, &trust);
    bool makes = !options->check && (options->output || !options->headers);
    status = makes ? make_c(c, program) : EXIT_OK;
    if (!status && options->headers) status = write_headers(c, program);
    if (!status && options->depfile) status = write_depfile(options, &c->arena, &c->sources);
    return status;
}

static int compile_bundle(Compilation *c, const Source *source)
{
    const char *problem = NULL;
    Module *module = module_load_bundle(&c->sources, source->text, source->len, &c->arena, &c->diags, &problem);
    if (!module) {
        fprintf(stderr, "tfyc: '%s' is not a stored program: %s\n", source->name, problem);
        return EXIT_BAD_PROGRAM;
    }
    c->emit.source_name = module->file;
    return compile(c, module);
}

static int compile_source(Compilation *c, Source *source)
{
    const DumpKind dump = c->options->dump;
    if (c->options->bundle) return compile_bundle(c, source);
    if (dump == DUMP_TOKENS || dump == DUMP_AST) return dump_file(c, source);
    if (c->options->servers) return print_servers(c, source);
    return compile(c, module_load(&c->sources, source, &c->options->paths, &c->arena, &c->diags));
}

static int compile_file(const Options *options, const char *input)
{
    Compilation c = {.options = options, .emit = options->emit};
    SourceSet bundle; /* its text is not a file of the program */
    int error = 0;
    arena_init(&c.arena, (size_t)4 << 30);
    source_set_init(&c.sources, &c.arena);
    source_set_init(&bundle, &c.arena);
    diag_init(&c.diags, &c.arena, &c.sources);
    Source *source = source_load(options->bundle ? &bundle : &c.sources, input, &error);
    int status = source ? compile_source(&c, source) : tfyc_report_input(input, error);
    bug_compiles(NULL);
    arena_deinit(&c.arena);
    return status;
}

/* --check alone takes more than one file; then a last line says how many have mistakes. */
static int compile_files(const Options *options)
{
    int worst = EXIT_OK, bad = 0;
    for (int i = 0; i < options->input_count; i++) {
        int status = compile_file(options, options->inputs[i]);
        if (status > worst) worst = status;
        bad += status != EXIT_OK;
    }
    if (bad && options->input_count > 1 && !options->json)
        fprintf(stderr, "tfyc: %d of %d files %s mistakes or cannot be read\n", bad, options->input_count,
                bad == 1 ? "has" : "have");
    return worst;
}

int main(int argc, char **argv)
{
    tfy__terminal_guard();
    Options options = tfyc_read_options(argc, argv);
    int status = options.lsp      ? lsp_serve(STDIN_FILENO, stdout, &options.paths)
                 : options.format ? tfyc_format_files(&options)
                                  : compile_files(&options);
    free(options.paths.dirs);
    return status;
}
