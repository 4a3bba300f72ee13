/* tfyc.c: the compiler's command line and its pass list.
 *
 *   source_load      file                → text
 *   module_load      text, its imports   → trees                mistakes of form, files that are missing
 *   check_program    trees               → checked program      mistakes of meaning; from here on every node has its type
 *   lower_program    checked program     → machines             blocks, instructions, points
 *   machine_finish   machines            → the same, smaller    no unreachable blocks, no idle fuel; points have numbers
 *   frame_assign     machines            → the same, placed     releases, frame slots, live sets
 *   emit_c           machines            → C                    with emit_layout inside
 *
 * The output appears under its name only when it is complete: it is written beside it and renamed. The same input gives the same bytes. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../dsl/lsp.h"
#include "../dsl/module.h"
#include "../dsl/parse.h"
#include "../dsl/token.h"
#include "machine.h"

enum { EXIT_OK = 0, EXIT_USAGE = 64, EXIT_BAD_PROGRAM = 65, EXIT_NO_INPUT = 69, EXIT_INTERNAL = 70, EXIT_IO = 74 };

typedef enum DumpKind { DUMP_NONE, DUMP_TOKENS, DUMP_AST, DUMP_PROGRAM, DUMP_MACHINE } DumpKind;

typedef struct Options {
    const char *input, *output, *depfile;
    DumpKind dump;
    bool check, json, tests;
    bool bundle; /* the input is a stored program: module.h */
    bool list_files;
    ModulePaths paths; /* -I */
    EmitOptions emit;
} Options;

static const char usage[] = "usage: tfyc FILE.tfy -o OUT.c [options]\n"
                            "       tfyc --check FILE.tfy\n"
                            "       tfyc --dump tokens|ast|program|machine FILE.tfy\n"
                            "\n"
                            "Compiles workflows to C. FILE may be - for standard input.\n"
                            "\n"
                            "  -o, --output FILE     where the C goes; - is standard output\n"
                            "  -I DIR                look for imported files there too; may be given several times\n"
                            "      --check           report mistakes and write nothing\n"
                            "      --dump WHAT       print what a pass made, to standard output\n"
                            "      --depfile FILE    write a make rule that names what the output depends on\n"
                            "      --list-files      print the files the program is made of, and write nothing\n"
                            "      --bundle          FILE is a program as the log stores it: JSON with all its files\n"
                            "      --tests           compile the tests too, for 'tfy test'\n"
                            "      --no-main         leave out main(), for programs that embed the runtime\n"
                            "      --no-line         leave out #line, to read the C\n"
                            "      --diagnostics=json  mistakes as a JSON array on standard error\n"
                            "      --lsp             serve an editor on standard input and output\n"
                            "      --help, --version\n"
                            "\n"
                            "Exit status: 0 done; 64 wrong usage; 65 mistakes in the program; 69 no such file; 70 "
                            "internal error; 74 reading or writing failed.\n";

/* ---- options ---- */

enum {
    OPT_CHECK = 256,
    OPT_DUMP,
    OPT_DEPFILE,
    OPT_TESTS,
    OPT_NO_MAIN,
    OPT_NO_LINE,
    OPT_DIAGNOSTICS,
    OPT_LIST_FILES,
    OPT_BUNDLE,
    OPT_LSP,
    OPT_HELP,
    OPT_VERSION
};

static const struct option long_options[] = {
    {"output", required_argument, NULL, 'o'},
    {"check", no_argument, NULL, OPT_CHECK},
    {"dump", required_argument, NULL, OPT_DUMP},
    {"depfile", required_argument, NULL, OPT_DEPFILE},
    {"list-files", no_argument, NULL, OPT_LIST_FILES},
    {"bundle", no_argument, NULL, OPT_BUNDLE},
    {"tests", no_argument, NULL, OPT_TESTS},
    {"no-main", no_argument, NULL, OPT_NO_MAIN},
    {"no-line", no_argument, NULL, OPT_NO_LINE},
    {"diagnostics", required_argument, NULL, OPT_DIAGNOSTICS},
    {"lsp", no_argument, NULL, OPT_LSP},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static _Noreturn void refuse_usage(const char *what)
{
    fprintf(stderr, "tfyc: %s; 'tfyc --help' shows the options\n", what);
    exit(EXIT_USAGE);
}

static DumpKind dump_kind(const char *name)
{
    static const char *const names[] = {
        [DUMP_TOKENS] = "tokens", [DUMP_AST] = "ast", [DUMP_PROGRAM] = "program", [DUMP_MACHINE] = "machine"};
    for (DumpKind kind = DUMP_TOKENS; kind <= DUMP_MACHINE; kind++)
        if (strcmp(names[kind], name) == 0) return kind;
    refuse_usage("--dump takes tokens, ast, program or machine");
}

static void read_option(Options *options, int option)
{
    switch (option) {
    case 'o': options->output = optarg; return;
    case 'I': options->paths.dirs[options->paths.count++] = optarg; return;
    case OPT_LIST_FILES: options->list_files = true; return;
    case OPT_BUNDLE: options->bundle = true; return;
    case OPT_CHECK: options->check = true; return;
    case OPT_DUMP: options->dump = dump_kind(optarg); return;
    case OPT_DEPFILE: options->depfile = optarg; return;
    case OPT_TESTS: options->tests = true; return;
    case OPT_NO_MAIN: options->emit.main = false; return;
    case OPT_NO_LINE: options->emit.lines = false; return;
    case OPT_DIAGNOSTICS:
        if (strcmp(optarg, "json") != 0 && strcmp(optarg, "text") != 0)
            refuse_usage("--diagnostics takes json or text");
        options->json = strcmp(optarg, "json") == 0;
        return;
    case OPT_LSP: exit(lsp_serve(STDIN_FILENO, stdout));
    case OPT_HELP: fputs(usage, stdout); exit(EXIT_OK);
    case OPT_VERSION: puts("tfyc " TFY_VERSION); exit(EXIT_OK);
    default: exit(EXIT_USAGE); /* getopt has said what is wrong */
    }
}

static Options read_options(int argc, char **argv)
{
    Options options = {.emit = {.main = true, .lines = true}};
    int option;
    options.paths.dirs = calloc((size_t)argc, sizeof *options.paths.dirs); /* kept to the end of the process */
    if (!options.paths.dirs) exit(EXIT_INTERNAL);
    while ((option = getopt_long(argc, argv, "o:I:", long_options, NULL)) != -1) read_option(&options, option);
    if (optind == argc) refuse_usage("no FILE.tfy was given");
    if (optind + 1 < argc) refuse_usage("one FILE.tfy at a time");
    options.input = argv[optind];
    options.emit.source_name = options.input;
    bool writes = !options.check && !options.list_files && options.dump == DUMP_NONE;
    if (!options.output && writes) refuse_usage("-o OUT.c is missing");
    return options;
}

/* ---- output ---- */

static int report_io(const char *path, const char *what)
{
    fprintf(stderr, "tfyc: %s '%s': %s\n", what, path, strerror(errno));
    return EXIT_IO;
}

static bool write_whole(FILE *file, const char *data, size_t len)
{
    bool ok = fwrite(data, 1, len, file) == len;
    return fflush(file) == 0 && ok;
}

/* A device, a pipe or a link to something: it is written to, never replaced. */
static bool is_special(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static int write_special(const char *path, const char *data, size_t len)
{
    FILE *file = fopen(path, "w");
    bool ok = file && write_whole(file, data, len);
    if (file) ok = fclose(file) == 0 && ok;
    return ok ? EXIT_OK : report_io(path, "cannot write");
}

/* Writes beside the name and renames, so that nobody ever sees half a file. */
static int write_file(const char *path, const char *data, size_t len)
{
    char temporary[4096];
    if (is_special(path)) return write_special(path, data, len);
    if (strcmp(path, "-") == 0)
        return write_whole(stdout, data, len) ? EXIT_OK : report_io("standard output", "cannot write");
    if (snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid()) >= (int)sizeof temporary) {
        errno = ENAMETOOLONG;
        return report_io(path, "cannot write");
    }
    FILE *file = fopen(temporary, "w");
    if (!file) return report_io(path, "cannot write");
    bool ok = write_whole(file, data, len);
    ok = fclose(file) == 0 && ok;
    if (ok && rename(temporary, path) == 0) return EXIT_OK;
    int status = report_io(path, "cannot write");
    remove(temporary);
    return status;
}

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
    escape_path(target, sizeof target, options->output ? options->output : options->input);
    const char *rule = arena_printf(arena, "%s:", target);
    for (const Source *source = sources->first; source; source = source->next) {
        escape_path(path, sizeof path, source->name);
        rule = arena_printf(arena, "%s %s", rule, path);
    }
    rule = arena_printf(arena, "%s\n", rule);
    return write_file(options->depfile, rule, strlen(rule));
}

/* ---- the passes ---- */

typedef struct Compilation {
    Options options;
    Arena arena;
    SourceSet sources;
    DiagList diags;
} Compilation;

static int report_diags(Compilation *c)
{
    if (c->options.json)
        diag_print_json(&c->diags, stderr);
    else
        diag_print(&c->diags, stderr, isatty(STDERR_FILENO) && !getenv("NO_COLOR"));
    return c->diags.errors ? EXIT_BAD_PROGRAM : EXIT_OK;
}

static int finish_dump(void)
{
    return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_OK : report_io("standard output", "cannot write");
}

static int make_c(Compilation *c, const Program *program)
{
    size_t len;
    Machine *machine = lower_program(program, c->options.tests, &c->arena);
    machine_finish(machine);
    frame_assign(machine);
    if (c->options.dump == DUMP_MACHINE) {
        machine_dump(machine, stdout);
        return finish_dump();
    }
    char *text = emit_c(machine, &c->options.emit, &len);
    return write_file(c->options.output, text, len);
}

/* What looks at one file only. */
static int dump_file(Compilation *c, Source *source)
{
    if (c->options.dump == DUMP_TOKENS)
        token_dump(&c->sources, source, &c->diags, stdout);
    else
        ast_dump(parse_module(&c->sources, source, &c->arena, &c->diags), stdout);
    int status = report_diags(c);
    return status ? status : finish_dump();
}

static int list_files(const Module *modules)
{
    for (const Module *module = modules; module; module = module->next) printf("%s\n", module->source->name);
    return finish_dump();
}

static int compile(Compilation *c, Module *module)
{
    const Options *options = &c->options;
    if (c->diags.errors) return report_diags(c);
    if (options->list_files) return list_files(module);
    Program *program = check_program(module, &c->sources, &c->arena, &c->diags);
    int status = report_diags(c);
    if (status) return status;
    if (options->dump == DUMP_PROGRAM) {
        program_dump(program, stdout);
        return finish_dump();
    }
    status = options->check ? EXIT_OK : make_c(c, program);
    if (!status && options->depfile) status = write_depfile(options, &c->arena, &c->sources);
    return status;
}

static int compile_bundle(Compilation *c, const Source *source)
{
    const char *problem = NULL;
    Module *module = module_load_bundle(&c->sources, source->text, source->len, &c->arena, &c->diags, &problem);
    if (!module) {
        fprintf(stderr, "tfyc: '%s' is no stored program: %s\n", source->name, problem);
        return EXIT_BAD_PROGRAM;
    }
    c->options.emit.source_name = module->file;
    return compile(c, module);
}

static int compile_source(Compilation *c, Source *source)
{
    const DumpKind dump = c->options.dump;
    if (c->options.bundle) return compile_bundle(c, source);
    if (dump == DUMP_TOKENS || dump == DUMP_AST) return dump_file(c, source);
    return compile(c, module_load(&c->sources, source, &c->options.paths, &c->arena, &c->diags));
}

static int report_input(const char *path, int error)
{
    if (error == EFBIG) {
        fprintf(stderr, "tfyc: '%s' is larger than %u MiB, the most a program may have\n", path, SOURCE_MAX >> 20);
        return EXIT_BAD_PROGRAM;
    }
    fprintf(stderr, "tfyc: cannot read '%s': %s\n", path, strerror(error));
    return error == ENOENT ? EXIT_NO_INPUT : EXIT_IO;
}

int main(int argc, char **argv)
{
    Compilation c = {.options = read_options(argc, argv)};
    SourceSet bundle; /* its text is no file of the program */
    int error = 0;
    arena_init(&c.arena, (size_t)4 << 30);
    source_set_init(&c.sources, &c.arena);
    source_set_init(&bundle, &c.arena);
    diag_init(&c.diags, &c.arena, &c.sources);
    Source *source = source_load(c.options.bundle ? &bundle : &c.sources, c.options.input, &error);
    int status = source ? compile_source(&c, source) : report_input(c.options.input, error);
    arena_deinit(&c.arena);
    return status;
}
