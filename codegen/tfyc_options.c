/* tfyc_options.c: the table of options and its reader. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tfyc.h"

enum {
    OPT_OUTPUT = 'o',
    OPT_DIR = 'I',
    OPT_CHECK = 256,
    OPT_FORMAT,
    OPT_DIFF,
    OPT_DUMP,
    OPT_DEPFILE,
    OPT_HEADERS,
    OPT_LIST_FILES,
    OPT_BUNDLE,
    OPT_LSP,
    OPT_GRAPH,
    OPT_REPORT,
    OPT_TRUST,
    OPT_JSON,
    OPT_SCHEMA,
    OPT_LAYOUT,
    OPT_SERVERS,
    OPT_TESTS,
    OPT_DEBUG,
    OPT_STEPS,
    OPT_NO_MAIN,
    OPT_SHARED,
    OPT_NO_LINE,
    OPT_OFFER,
    OPT_DIAGNOSTICS,
    OPT_DENY_WARNINGS,
    OPT_NO_WARNINGS,
    OPT_OPTIONS,
    OPT_HELP,
    OPT_VERSION
};

/* What an option is called, what it takes, what it means. */
typedef struct OptionInfo {
    int code;         /* OPT_…; a letter: also written with one dash */
    const char *name; /* without the dashes; NULL: there is only the letter */
    /* NULL: a flag; words with '|' between them: one of these; else what it stands for */
    const char *argument;
    const char *meaning;
} OptionInfo;

static const OptionInfo table[] = {
    {OPT_OUTPUT, "output", "FILE", "write the C to FILE; - is standard output"},
    {OPT_DIR, NULL, "DIR", "search DIR for imported files, too; may be given several times"},
    {OPT_CHECK, "check", NULL, "report mistakes of any number of files and write nothing"},
    {OPT_FORMAT, "format", NULL, "write files in the canonical form; with --check, list those that are not"},
    {OPT_DIFF, "diff", NULL, "with --format: show what would change and write nothing"},
    {OPT_GRAPH, "graph", "mermaid|dot|json", "print every workflow's states and the edges between them"},
    {OPT_REPORT, "report", NULL, "print the size of tasks: frames, what is live at each point, bytes per task"},
    {OPT_TRUST, "trust", NULL,
     "with --check: print what each tool may do, and where untrusted values reach what matters"},
    {OPT_JSON, "json", NULL, "with --report or --trust: print JSON"},
    {OPT_SCHEMA, "schema", "NAME", "print the JSON Schema of a tool, prompt, workflow, fn or type"},
    {OPT_LAYOUT, "layout", NULL, "print points, frames and types as JSON, as the log stores them"},
    {OPT_SERVERS, "servers", NULL, "print where the MCP servers of a file are, as JSON; its imports are not read"},
    {OPT_DUMP, "dump", "tokens|ast|program|machine", "print what a pass made, to standard output"},
    {OPT_DEPFILE, "depfile", "FILE", "write a make rule that names the files the output depends on"},
    {OPT_HEADERS, "headers", "DIR",
     "write NAME.h in DIR for each file with extern tools: the prototypes of their C functions"},
    {OPT_LIST_FILES, "list-files", NULL, "print the files the program is made of, and write nothing"},
    {OPT_BUNDLE, "bundle", NULL, "read FILE as a program that the log stores: JSON with all its files"},
    {OPT_LSP, "lsp", NULL, "serve an editor on standard input and output"},
    {OPT_TESTS, "tests", NULL, "compile the tests too, for 'tfy test'"},
    {OPT_DEBUG, "debug", NULL, "keep every variable to the end of its scope, for 'tfy replay --step' and gdb"},
    {OPT_STEPS, "steps", NULL, "carry the debugger of 'tfy replay --step', but keep no variables for it"},
    {OPT_NO_MAIN, "no-main", NULL, "leave out main(), for programs that embed the runtime"},
    {OPT_SHARED, "shared", NULL, "leave out main(), and name what tfy_shared_open looks for in a shared object"},
    {OPT_NO_LINE, "no-line", NULL, "leave out #line, to read the C"},
    {OPT_OFFER, "offer", "LIST",
     "take the parameters of these workflows as untrusted: names with commas between them; -: all with a doc comment"},
    {OPT_DIAGNOSTICS, "diagnostics", "json|text", "print mistakes for people, or as one JSON object a line"},
    {OPT_DENY_WARNINGS, "deny-warnings", NULL, "treat warnings as errors"},
    {OPT_NO_WARNINGS, "no-warnings", NULL, "print errors only"},
    {OPT_OPTIONS, "options", NULL, "print this table for programs: letter, name, argument, meaning, tabs between them"},
    {OPT_HELP, "help", NULL, "print this and exit"},
    {OPT_VERSION, "version", NULL, "print the version and exit"},
};

enum { OPTION_COUNT = sizeof table / sizeof table[0] };

/* ---- help ---- */

static void print_option(const OptionInfo *info)
{
    char left[96] = "      ", *at = left + 2;
    bool choice = info->argument && strchr(info->argument, '|');
    if (info->code < 256)
        at += sprintf(at, "-%c%s", info->code, info->name ? ", " : "");
    else
        at += 4;
    if (info->name) at += snprintf(at, 40, "--%s", info->name);
    if (info->argument) snprintf(at, 40, "%s%s", choice ? "=" : " ", info->argument);
    if (strlen(left) > 24)
        printf("%s\n%25s %s\n", left, "", info->meaning);
    else
        printf("%-25s %s\n", left, info->meaning);
}

static void print_help(void)
{
    fputs("usage: tfyc FILE.tfy -o OUT.c [options]\n"
          "       tfyc --check FILE.tfy ...\n"
          "       tfyc --check --trust [--json] FILE.tfy\n"
          "       tfyc --format [--check] [--diff] FILE.tfy ...\n"
          "       tfyc --graph=mermaid|dot|json FILE.tfy\n"
          "       tfyc --report [--json] FILE.tfy\n"
          "       tfyc --schema NAME FILE.tfy\n"
          "       tfyc --layout FILE.tfy\n"
          "       tfyc --servers FILE.tfy\n"
          "       tfyc --dump=WHAT FILE.tfy\n"
          "\n"
          "Compiles workflows to C. FILE may be - for standard input.\n"
          "\n",
          stdout);
    for (int i = 0; i < OPTION_COUNT; i++) print_option(&table[i]);
    fputs(
        "\n"
        "Exit status: 0 done; 1 a file is not formatted; 64 wrong usage; 65 mistakes in the program; 69 no such file; "
        "70 internal error; 74 reading or writing failed.\n",
        stdout);
}

static void print_options(void)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        char letter[2] = {table[i].code < 256 ? (char)table[i].code : '\0', '\0'};
        printf("%s\t%s\t%s\t%s\n", letter, table[i].name ? table[i].name : "",
               table[i].argument ? table[i].argument : "", table[i].meaning);
    }
}

/* ---- reading ---- */

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

static GraphFormat graph_format(const char *name)
{
    if (strcmp(name, "mermaid") == 0) return GRAPH_MERMAID;
    if (strcmp(name, "dot") == 0) return GRAPH_DOT;
    if (strcmp(name, "json") == 0) return GRAPH_JSON;
    refuse_usage("--graph takes mermaid, dot or json");
}

static void read_option(Options *options, int option)
{
    switch (option) {
    case OPT_OUTPUT: options->output = optarg; return;
    case OPT_DIR: options->paths.dirs[options->paths.count++] = optarg; return;
    case OPT_LIST_FILES: options->list_files = true; return;
    case OPT_TESTS: options->lower.tests = true; return;
    case OPT_DEBUG: options->lower.debug = true; return;
    case OPT_STEPS: options->emit.steps = true; return;
    case OPT_BUNDLE: options->bundle = true; return;
    case OPT_LSP: options->lsp = true; return;
    case OPT_CHECK: options->check = true; return;
    case OPT_FORMAT: options->format = true; return;
    case OPT_DIFF: options->diff = true; return;
    case OPT_DUMP: options->dump = dump_kind(optarg); return;
    case OPT_GRAPH:
        options->graph = true;
        options->graph_format = graph_format(optarg);
        return;
    case OPT_REPORT: options->report = true; return;
    case OPT_TRUST: options->trust = true; return;
    case OPT_JSON: options->as_json = true; return;
    case OPT_LAYOUT: options->layout = true; return;
    case OPT_SERVERS: options->servers = true; return;
    case OPT_SCHEMA: options->schema = optarg; return;
    case OPT_OFFER: options->offer = optarg; return;
    case OPT_DEPFILE: options->depfile = optarg; return;
    case OPT_HEADERS: options->headers = optarg; return;
    case OPT_NO_MAIN: options->emit.main = false; return;
    case OPT_SHARED: options->emit.shared = true; return;
    case OPT_NO_LINE: options->emit.lines = false; return;
    case OPT_DIAGNOSTICS:
        if (strcmp(optarg, "json") != 0 && strcmp(optarg, "text") != 0)
            refuse_usage("--diagnostics takes json or text");
        options->json = strcmp(optarg, "json") == 0;
        return;
    case OPT_DENY_WARNINGS: options->deny_warnings = true; return;
    case OPT_NO_WARNINGS: options->no_warnings = true; return;
    case OPT_OPTIONS: print_options(); exit(EXIT_OK);
    case OPT_HELP: print_help(); exit(EXIT_OK);
    case OPT_VERSION: puts("tfyc " TFY_VERSION); exit(EXIT_OK);
    default: exit(EXIT_USAGE); /* getopt has reported the mistake */
    }
}

static void fill_long_options(struct option *to)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        int argument = table[i].argument ? required_argument : no_argument;
        if (table[i].name) *to++ = (struct option){table[i].name, argument, NULL, table[i].code};
    }
    *to = (struct option){0};
}

static void refuse_nonsense(const Options *options)
{
    bool prints = options->list_files || options->layout || options->graph || options->report || options->schema ||
                  options->servers || options->dump != DUMP_NONE;
    bool compiles = !options->check && !options->format && !prints;
    if (!options->input_count) refuse_usage("no FILE.tfy was given");
    if (options->input_count > 1 && !options->check && !options->format) refuse_usage("one FILE.tfy at a time");
    if (options->input_count > 1 && options->depfile) refuse_usage("--depfile is for one FILE.tfy");
    if (options->trust && (!options->check || options->format)) refuse_usage("--trust goes with --check");
    if (options->trust && options->input_count > 1) refuse_usage("--trust is for one FILE.tfy");
    if (options->as_json && !options->report && !options->trust) refuse_usage("--json goes with --report or --trust");
    if (options->deny_warnings && options->no_warnings) refuse_usage("--deny-warnings prints what --no-warnings hides");
    if (options->diff && !options->format) refuse_usage("--diff goes with --format");
    if (options->output && !compiles) refuse_usage("-o goes with compiling");
    if (options->headers && !compiles) refuse_usage("--headers goes with compiling");
    if (compiles && !options->output && !options->headers) refuse_usage("-o OUT.c is missing");
}

Options tfyc_read_options(int argc, char **argv)
{
    Options options = {.emit = {.main = true, .lines = true}};
    struct option long_options[OPTION_COUNT + 1];
    int option;
    options.paths.dirs = calloc((size_t)argc, sizeof *options.paths.dirs);
    if (!options.paths.dirs) exit(EXIT_INTERNAL);
    fill_long_options(long_options);
    while ((option = getopt_long(argc, argv, "o:I:", long_options, NULL)) != -1) read_option(&options, option);
    options.inputs = (const char *const *)argv + optind;
    options.input_count = argc - optind;
    if (options.lsp) return options;
    refuse_nonsense(&options);
    options.emit.source_name = options.inputs[0];
    return options;
}
