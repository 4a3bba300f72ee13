/* man.c: writes the manual pages. It is part of the build and not of tfy.
 *
 *   make_man tfy                                            the page of tfy, from the tables of its commands and options
 *   { tfyc --help; tfyc --options; } | make_man tfyc        the page of tfyc, from what it says of itself
 *
 * Only what no table says is written here: exit statuses, variables and files. The topic `man` of tests/e2e compares
 * these with docs/runtime.md. */
#include "cli/frame/commands.h"

#include <stdio.h>
#include <string.h>

#define ROW(function, ...) {.run = NULL, __VA_ARGS__},
static const TfyCommand COMMANDS[] = {TFY_COMMANDS(ROW, ROW){.name = NULL}};
#undef ROW
#define INFO(NAME, ...) [OPT_##NAME] = {__VA_ARGS__},
static const TfyOptionInfo OPTIONS[OPT_COUNT] = {TFY_OPTIONS(INFO)};
#undef INFO

/* ---- text ---- */

/* Prints a text so that roff changes nothing of it. A dash is one that can be typed. */
static void put(const char *text)
{
    if (*text == '.' || *text == '\'') fputs("\\&", stdout);
    for (; *text; text++) switch (*text) {
        case '\\': fputs("\\e", stdout); break;
        case '-': fputs("\\-", stdout); break;
        case '"': fputs("\\(dq", stdout); break;
        case '\'': fputs("\\(aq", stdout); break;
        case '`': fputs("\\(ga", stdout); break;
        case '~': fputs("\\(ti", stdout); break;
        case '^': fputs("\\(ha", stdout); break;
        default: putchar(*text);
        }
}

static void line(const char *text)
{
    put(text);
    putchar('\n');
}

/* A paragraph with a bold term. */
static void term(const char *dashes, const char *name, const char *argument, const char *meaning)
{
    fputs(".TP\n\\fB", stdout);
    put(dashes);
    put(name);
    fputs("\\fR", stdout);
    if (argument && *argument) {
        fputs(" \\fI", stdout);
        put(argument);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    line(meaning);
}

static void section(const char *name)
{
    printf(".SH %s\n", name);
}

static void head(const char *name, const char *summary)
{
    printf(".\\\" Made by make_man from the tables of the program; do not edit.\n");
    printf(".TH %s 1 \"\" \"Tiffany %s\" \"User Commands\"\n", name, TFY_VERSION);
    section("NAME");
    printf("%s \\- ", name);
    line(summary);
}

static void also(const char *other)
{
    section("SEE ALSO");
    printf(".BR %s (1),\n.BR sqlite3 (1)\n", other);
}

/* ---- tfy ---- */

typedef struct Row {
    const char *name, *meaning;
} Row;

static const Row STATUSES[] = {
    {"0", "done"},
    {"1", "the run failed or was cancelled, or the request is not possible any more"},
    {"64", "a wrong command, option or parameter"},
    {"65", "a bad program, a bad database, a replay that differs, or a run whose directory was replaced"},
    {"69", "something is missing: a run, a file, a run's directory, a compiler, a library"},
    {"70", "a bug in the runtime, no memory left, or the watcher of tools was killed; the run can be resumed"},
    {"74", "the log cannot be written or read"},
    {"75", "held by another process, waiting for people or signals, or in a deadlock"},
    {"130", "interrupted by Ctrl-C, SIGTERM or a hangup; the run can be resumed"},
};

static const Row VARIABLES[] = {
    {"TFY_DB", "the database, when --db is not given"},
    {"TFY_MODELS", "the file of models; without it .tfy/models.json, if there is one"},
    {"TFY_LLM_URL", "the endpoint of the model default: http://host:port, with or without /v1 or /v1/chat/completions"},
    {"TFY_LLM_MODEL", "the model's name there, for programs that say \"default\""},
    {"TFY_LLM_KEY_FILE, TFY_LLM_KEY", "the model's key, read when a request leaves"},
    {"TFY_SECRET_NAME", "the value of secret(\"NAME\")"},
    {"CREDENTIALS_DIRECTORY", "a directory with a file for each secret, as systemd makes it"},
    {"TFY_DEBUG", "lets debuggers and other processes of the same user inspect the process"},
    {"TFY_LOG", "what is logged, when --log-level is not given"},
    {"TFY_SNAPSHOT_EVERY", "for tests: a snapshot after exactly so many records"},
    {"TFY_PARK_AFTER", "for tests: parking after so many milliseconds"},
    {"TFY_POLLER", "epoll (the default) or poll"},
    {"NO_COLOR", "turns all colours off"},
    {"CC, CFLAGS", "the C compiler of tfy run and tfy build, and further flags"},
    {"XDG_CACHE_HOME", "compiled programs are stored in its tfy/"},
    {"TFY_LOGINS", "the file of logins at MCP servers"},
    {"XDG_CONFIG_HOME", "without TFY_LOGINS, they are in its tfy/logins.json; else in ~/.config/tfy/logins.json"},
};

static const Row FILES[] = {
    {".tfy/runs.db", "the log of all runs, unless --db or $TFY_DB names another file; a SQLite database"},
    {".tfy/runs.db-tfy", "the lock of that database, and how far its log went; it belongs to the database"},
    {".tfy/runs.db-live", "the socket of the process that runs the database's runs"},
    {"~/.cache/tfy", "compiled programs; they are made again when they are missing"},
    {"~/.config/tfy/logins.json", "tokens for MCP servers at which a person has logged in; only that person may read it"},
};

static void rows(const char *name, const Row *row, size_t count)
{
    section(name);
    for (size_t i = 0; i < count; i++) term("", row[i].name, NULL, row[i].meaning);
}
#define ROWS(Name, Table) rows(Name, Table, sizeof Table / sizeof *Table)

static void command(const TfyCommand *row)
{
    fputs(".SS \"tfy ", stdout);
    put(row->name);
    fputs(*row->operands ? " " : "", stdout);
    put(row->operands);
    fputs(" [options]\"\n", stdout);
    line(row->summary);
    for (int i = 0; i < OPT_COUNT; i++)
        if (i != OPT_HELP && tfy__command_names(row, i))
            term(OPTIONS[i].name[1] ? "--" : "-", OPTIONS[i].name, OPTIONS[i].argument, OPTIONS[i].meaning);
}

static void page_of_tfy(void)
{
    head("tfy", "run agent workflows that survive a crash");
    section("SYNOPSIS");
    puts(".B tfy\n.I COMMAND\n[\\fIoptions\\fR]");
    section("DESCRIPTION");
    line("A workflow is a small program in a .tfy file: it asks a model, runs commands, edits files, and waits for");
    line("people. tfy compiles it, runs it, and records every step in a SQLite database before its effect is visible");
    line("outside. After a crash, tfy resume continues where the run stopped.");
    puts(".PP");
    line("RUN is a run's id, the beginning of one, or 'last'. Every command takes");
    puts(".BR \\-\\-help .");
    section("COMMANDS");
    for (const TfyCommand *row = COMMANDS; row->name; row++) command(row);
    ROWS("EXIT STATUS", STATUSES);
    ROWS("ENVIRONMENT", VARIABLES);
    ROWS("FILES", FILES);
    also("tfyc");
}

/* ---- tfyc ---- */

/* "letter TAB name TAB argument TAB meaning": a row of `tfyc --options`. */
static void option_of_tfyc(char *text)
{
    char *part[4];
    for (int i = 0; i < 4; i++) {
        part[i] = text;
        text += strcspn(text, "\t");
        if (*text) *text++ = '\0';
    }
    char name[80];
    const bool both = *part[0] && *part[1];
    snprintf(name, sizeof name, "%s%s%s", part[0], both ? ", --" : "", part[1]);
    term(*part[0] ? "-" : "--", name, part[2], part[3]);
}

/* "Exit status: 0 done; 1 …; 74 reading or writing failed." */
static void statuses_of_tfyc(char *text)
{
    section("EXIT STATUS");
    for (char *at = strtok(text + strlen("Exit status:"), ";."); at; at = strtok(NULL, ";.")) {
        at += strspn(at, " ");
        char *meaning = at + strcspn(at, " ");
        if (*meaning) *meaning++ = '\0';
        term("", at, NULL, meaning);
    }
}

static void page_of_tfyc(void)
{
    char text[1024];
    bool usage = true, options = false;
    char status[1024] = "";
    head("tfyc", "compile agent workflows to C");
    section("SYNOPSIS");
    puts(".nf");
    while (fgets(text, sizeof text, stdin)) {
        text[strcspn(text, "\n")] = '\0';
        if (usage && *text) {
            line(text + strlen("usage: "));
        } else if (usage) {
            puts(".fi");
            section("DESCRIPTION");
            usage = false;
        } else if (strncmp(text, "Exit status:", 12) == 0) {
            snprintf(status, sizeof status, "%s", text);
        } else if (strchr(text, '\t')) {
            if (!options) section("OPTIONS");
            options = true;
            option_of_tfyc(text);
        } else if (*text && *text != ' ') {
            line(text);
        }
    }
    statuses_of_tfyc(status);
    also("tfy");
}

int main(int argc, char **argv)
{
    const char *page = argc == 2 ? argv[1] : "";
    if (strcmp(page, "tfy") == 0)
        page_of_tfy();
    else if (strcmp(page, "tfyc") == 0)
        page_of_tfyc();
    else
        return 64;
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 74;
}
