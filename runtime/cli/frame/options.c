/* options.c: the one argument parser, and the help of a command. */
#include "cli/frame/cli.h"
#include "cli/frame/databases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool tfy__command_takes(const TfyCommand *command, int option)
{
    return option == OPT_HELP || tfy__command_names(command, option);
}

void tfy__command_usage(const TfyCommand *command, void *file)
{
    fprintf(file, "usage: %s %s%s%s [options]\n%s\n", tfy__program_name(), command->name, *command->operands ? " " : "",
            command->operands, command->summary);
    tfy__command_options(command, file);
}

void tfy__command_options(const TfyCommand *command, void *file)
{
    for (int i = 0; i < OPT_COUNT; i++) {
        const TfyOptionInfo *info = &tfy__options[i];
        char left[96];
        if (!tfy__command_takes(command, i)) continue;
        snprintf(left, sizeof left, "%s%s%s%s", info->name[1] ? "--" : "-", info->name, info->argument ? " " : "",
                 info->argument ? info->argument : "");
        fprintf(file, "  %-20s  %s\n", left, info->meaning);
    }
}

/* ---- did you mean ---- */

#define WORD_MAX 64

/* Returns the number of edits (insert, delete, replace, swap of neighbours) between two words of at most WORD_MAX
 * bytes. */
static int distance(const char *a, const char *b)
{
    int a_len = (int)strlen(a), b_len = (int)strlen(b);
    int rows[3][WORD_MAX + 1];
    if (a_len > WORD_MAX || b_len > WORD_MAX) return WORD_MAX;
    for (int j = 0; j <= b_len; j++) rows[0][j] = j;
    for (int i = 1; i <= a_len; i++) {
        int *now = rows[i % 3], *before = rows[(i + 2) % 3], *before_that = rows[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= b_len; j++) {
            int best = before[j - 1] + (a[i - 1] != b[j - 1]);
            if (before[j] + 1 < best) best = before[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before_that[j - 2] + 1 < best)
                best = before_that[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[a_len % 3][b_len];
}

const char *tfy__nearest(const char *word, TfyCandidate candidate, const void *state)
{
    const char *best = NULL;
    int best_distance = (int)strlen(word) / 3 + 2;
    for (int i = 0;; i++) {
        const char *name = candidate(state, i);
        if (!name) return best;
        int d = distance(word, name);
        if (d < best_distance && d < (int)strlen(name)) {
            best = name;
            best_distance = d;
        }
    }
}

/* Enumerates the options that a command takes. */
static const char *option_candidate(const void *state, int index)
{
    for (int i = 0; i < OPT_COUNT; i++) {
        if (tfy__command_takes(state, i) && index-- == 0) return tfy__options[i].name;
    }
    return NULL;
}

/* ---- reading ---- */

/* The state of the parser. Its functions return false after a message; status is then the exit status. */
typedef struct Reader {
    TfyArgs *args;
    int argc;
    char **argv;
    int at; /* index of the word being parsed; stays at the last one used */
    int status;
} Reader;

static bool refuse(Reader *reader, int status)
{
    reader->status = status;
    return false;
}

/* Two commands may give one name different meanings. */
static int find_option(const TfyCommand *command, const char *name, size_t len)
{
    for (int i = 0; i < OPT_COUNT; i++) {
        if (!tfy__command_takes(command, i)) continue;
        if (strlen(tfy__options[i].name) == len && memcmp(tfy__options[i].name, name, len) == 0) return i;
    }
    return -1;
}

const TfyOptionInfo *tfy__option_at(int option)
{
    return &tfy__options[option];
}

int tfy__option_words(const TfyCommand *command, const char *text)
{
    bool long_form = text[1] == '-';
    const char *name = text + (long_form ? 2 : 1);
    size_t len = strcspn(name, "=");
    int option = find_option(command, name, len);
    if (option < 0 || long_form == (len == 1)) return 0;
    return tfy__options[option].argument && name[len] != '=' ? 2 : 1;
}

static int refuse_option(const TfyCommand *command, const char *text, const char *name)
{
    const char *meant = tfy__nearest(name, option_candidate, command);
    if (meant) {
        return tfy__fail(EXIT_USAGE, "%s takes no option '%s'; did you mean '%s%s'?", command->name, text,
                         meant[1] ? "--" : "-", meant);
    }
    return tfy__fail(EXIT_USAGE, "%s takes no option '%s'; see '%s %s --help'", command->name, text,
                     tfy__program_name(), command->name);
}

/* What is before the name of a parameter that an option has, too: --param.db FILE. */
#define PARAM_PREFIX "--param."

/* The name of a parameter as the program has it: dashes in it stand for underscores. */
static char *param_name(const char *text, size_t len)
{
    char *name = strndup(text, len);
    for (char *at = name; at && *at; at++)
        if (*at == '-') *at = '_';
    return name;
}

/* Parses a parameter of the workflow: --name value, --name=value, or --name alone, each also with PARAM_PREFIX. The
 * program, which knows its type, checks it later. A following "--x" is always the next parameter, never a value: a value that starts with two dashes
 * must be written with '='. */
static bool take_param(Reader *reader)
{
    const char *text = reader->argv[reader->at];
    if (strncmp(text, "--", 2) != 0 || !text[2]) {
        return refuse(reader, tfy__fail(EXIT_USAGE, "unexpected '%s'; parameters are written --NAME VALUE", text));
    }
    const char **pair = &reader->args->params[2 * reader->args->param_count];
    const char *equals = strchr(text, '='),
               *name = text + (strncmp(text, PARAM_PREFIX, sizeof PARAM_PREFIX - 1) == 0 ? sizeof PARAM_PREFIX - 1 : 2);
    pair[0] = param_name(name, strcspn(name, "="));
    if (!pair[0]) return refuse(reader, tfy__fail(EXIT_BUG, "memory ran out"));
    reader->args->param_count++;
    if (equals) {
        pair[1] = equals + 1;
    } else if (reader->at + 1 < reader->argc && strncmp(reader->argv[reader->at + 1], "--", 2) != 0) {
        pair[1] = reader->argv[++reader->at];
    }
    return true;
}

/* Keeps the last value, and all of those that may be given several times. */
static void keep_value(TfyArgs *args, int option, const char *value)
{
    args->option[option] = value;
    if (option == OPT_DIR) args->dirs[args->dir_count++] = value;
    if (option == OPT_CELL_READS || option == OPT_CELL_WRITES || option == OPT_GRANT || option == OPT_LISTEN ||
        option == OPT_LABEL || option == OPT_START_AFTER || option == OPT_MCP_TOOL || option == OPT_MCP_PROMPT ||
        option == OPT_MCP_RESOURCE || option == OPT_MCP_TASK || option == OPT_MCP_ASK_FIRST)
        args->given[args->given_count++] = (TfyGiven){.option = option, .value = value};
}

static bool take_option(Reader *reader)
{
    TfyArgs *args = reader->args;
    const char *text = reader->argv[reader->at];
    bool long_form = text[1] == '-';
    const char *name = text + (long_form ? 2 : 1);
    size_t len = strcspn(name, "=");
    int option = tfy__option_words(args->command, text) ? find_option(args->command, name, len) : -1;
    if (option < 0) {
        if (args->command->takes_params && long_form) return take_param(reader);
        return refuse(reader, refuse_option(args->command, text, name));
    }
    bool has_value = name[len] == '=';
    if (!tfy__options[option].argument) {
        args->option[option] = "";
        return !has_value ||
               refuse(reader, tfy__fail(EXIT_USAGE, "option '--%s' takes no value", tfy__options[option].name));
    }
    if (has_value) {
        keep_value(args, option, name + len + 1);
        return true;
    }
    if (reader->at + 1 >= reader->argc) {
        return refuse(reader,
                      tfy__fail(EXIT_USAGE, "option '%s' needs a value: %s", text, tfy__options[option].argument));
    }
    keep_value(args, option, reader->argv[++reader->at]);
    return true;
}

static int check_words(const TfyArgs *args)
{
    const TfyCommand *command = args->command;
    if (args->word_count < command->min_words) {
        tfy__say("%s needs %s", command->name, command->operands);
    } else if (command->max_words >= 0 && args->word_count > command->max_words) {
        tfy__say("%s does not take '%s'", command->name, args->words[command->max_words]);
    } else {
        return -1;
    }
    tfy__command_usage(command, stderr);
    return EXIT_USAGE;
}

static bool read_words(Reader *reader)
{
    TfyArgs *args = reader->args;
    bool rest = false; /* after "--": parameters of `run`, operands of the other commands */
    for (; reader->at < reader->argc; reader->at++) {
        char *text = reader->argv[reader->at];
        if (rest && args->command->takes_params) {
            if (!take_param(reader)) return false;
        } else if (!rest && strcmp(text, "--") == 0) {
            rest = true;
        } else if (!rest && text[0] == '-' && text[1]) {
            if (!take_option(reader)) return false;
        } else {
            args->words[args->word_count++] = text;
        }
    }
    return true;
}

int tfy__args_parse(const TfyCommand *command, int argc, char **argv, TfyArgs *args)
{
    *args = (TfyArgs){.command = command, .argc = argc, .argv = argv};
    args->words = calloc((size_t)argc + 1, sizeof *args->words);
    args->params = calloc(2 * ((size_t)argc + 1), sizeof *args->params);
    args->dirs = calloc((size_t)argc + 1, sizeof *args->dirs);
    args->given = calloc((size_t)argc + 1, sizeof *args->given);
    if (!args->words || !args->params || !args->dirs || !args->given) return tfy__fail(EXIT_BUG, "memory ran out");
    Reader reader = {.args = args, .argc = argc, .argv = argv, .at = 1};
    if (!read_words(&reader)) return reader.status;
    if (!args->option[OPT_HELP]) {
        const int status = check_words(args);
        if (status >= 0 || !tfy__command_takes(args->command, OPT_DB)) return status;
        const int resolved = tfy__db_resolve(args);
        return resolved < 0 ? tfy__db_choose(args) : resolved;
    }
    if (command->reads_words) return -1; /* the program prints its workflow's own usage */
    tfy__command_usage(args->command, stdout);
    return tfy__flush_stdout(EXIT_DONE);
}

int tfy__args_choice(const TfyArgs *args, TfyOption option, int absent)
{
    const char *text = args->option[option], *list = tfy__option_at(option)->argument, *word = list;
    if (!text) return absent;
    for (int i = 0; word; i++, word = strchr(word, '|'), word = word ? word + 1 : NULL)
        if (strlen(text) == strcspn(word, "|") && strncmp(text, word, strlen(text)) == 0) return i;
    tfy__say("--%s takes %s, not '%s'", tfy__option_at(option)->name, list, text);
    return -1;
}

bool tfy__args_limit(const TfyArgs *args, TfyOption option, uint64_t max, bool units, uint64_t *out)
{
    static const char letters[] = "KMGT";
    const char *text = args->option[option];
    if (!text) return true;
    char *end = NULL;
    errno = 0;
    unsigned long long number = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    const char *letter = units && end && *end ? strchr(letters, *end) : NULL;
    int shift = letter ? (int)(letter - letters + 1) * 10 : 0;
    bool whole = end && !errno && *(end + (letter != NULL)) == '\0';
    if (!whole || !number || number > max >> shift) {
        tfy__say("'%s' is not a value of --%s; it takes a number from 1 to %llu%s", text, tfy__option_at(option)->name,
                 (unsigned long long)max, units ? ", also with K, M, G or T after it" : "");
        return false;
    }
    *out = (uint64_t)number << shift;
    return true;
}

void tfy__args_free(TfyArgs *args)
{
    for (int i = 0; i < args->param_count; i++) free((char *)(uintptr_t)args->params[2 * i]);
    free(args->words);
    free(args->params);
    free(args->dirs);
    free(args->given);
    free(args->db);
    args->words = args->params = args->dirs = NULL;
    args->given = NULL;
    args->db = NULL;
}

static int run_one(const TfyArgs *args, void *state)
{
    (void)state;
    return args->command->run(args);
}

int tfy__command_run(const TfyCommand *command, int argc, char **argv)
{
    TfyArgs args = {.command = command, .argc = argc, .argv = argv};
    int status = command->reads_words ? -1 : tfy__args_parse(command, argc, argv, &args);
    if (status < 0) status = tfy__db_run(&args, run_one, NULL);
    tfy__args_free(&args);
    return status;
}
