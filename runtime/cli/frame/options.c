/* options.c: the tables of commands and options, and the one reader of arguments. */
#include "cli/frame/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const TfyOptionInfo OPTIONS[OPT_COUNT] = {
    [OPT_HELP] = {"help", NULL, "print this and exit"},
    [OPT_VERSION] = {"version", NULL, "print the version and exit"},
    [OPT_DB] = {"db", "FILE", "the database (else $TFY_DB, else ./.tfy/runs.db)"},
    [OPT_JSON] = {"json", NULL, "print JSON"},
    [OPT_WORKFLOW] = {"workflow", "NAME", "the workflow to run (else main, or the only one)"},
    [OPT_YES] = {"yes", NULL, "answer yes (run, resume: to every approval)"},
    [OPT_NO] = {"no", NULL, "answer no"},
    [OPT_ANSWER] = {"answer", "CASE", "answer with this case of the enum that was asked for"},
    [OPT_TASK] = {"task", "PATH", "the task, such as 1.2 (else the only one it can mean)"},
    [OPT_STEP] = {"step", "N", "the step (else the only one it can mean)"},
    [OPT_FORCE] = {"force", NULL, "kill: end the task without running its cleanup; adopt: even if it is no copy"},
    [OPT_DONE] = {"done", "JSON", "the step was done, with this result"},
    [OPT_RETRY] = {"retry", NULL, "the step was not done: do it"},
    [OPT_FAIL] = {"fail", NULL, "let the step fail"},
    [OPT_EVENTS] = {"events", NULL,
                    "print live activity as JSON lines on stderr (replay: what was live then, marked as ghosts)"},
    [OPT_LLM] = {"llm", "SOURCE", "cassette:FILE answers models from a recorded session, record:FILE records one"},
    [OPT_SECRETS] = {"secrets", "FILE",
                     "lines NAME=value for secret(\"NAME\") (else TFY_SECRET_NAME in the environment)"},
    [OPT_ROOT] = {"root", "DIR", "the working root of files, commits and tools (else the current directory)"},
    [OPT_GRACE] = {"grace", "DURATION",
                   "how long tools under way may take to finish after a signal (else 10s; 0s: not at all)"},
    [OPT_WAIT] = {"wait", NULL, "stay until people have answered, instead of ending with status 75"},
    [OPT_POLICY] = {"policy", "fifo|priority|deps", "who of the tasks that are ready runs next"},
    [OPT_MAX_TASKS] = {"max-tasks", "N", "tasks alive at once in this process; a further one fails"},
    [OPT_MAX_MEMORY] = {"max-memory", "SIZE", "memory of one task, such as 64M; one that needs more fails"},
    [OPT_MAX_QUEUE] = {"max-queue", "N", "room of a channel, and signals kept until they are taken"},
    [OPT_ALL] = {"all", NULL, "every unfinished run (a built program: its own)"},
    [OPT_PROGRAM] = {"program", "FILE.tfy", "replay against this program instead of the recorded one"},
    [OPT_OUTPUT] = {"output", NULL, "everything the run ever printed"},
    [OPT_ID] = {"id", "ID", "your own name for this signal: sent again under it, it changes nothing"},
    [OPT_OUT] = {"o", "FILE", "where to write"},
    [OPT_DIR] = {"I", "DIR", "search DIR for imported files, too; may be given several times"},
    [OPT_FILTER] = {"filter", "TEXT", "only tests with this text in their names"},
    [OPT_TAP] = {"tap", NULL, "print TAP version 14"},
    [OPT_VERBOSE] = {"v", NULL, "say of every test what was answered and printed"},
    [OPT_CHECK] = {"check", NULL, "list the files that are not formatted, end with 1 if there are any, change nothing"},
    [OPT_DIFF] = {"diff", NULL, "show what would change, change nothing"},
    [OPT_FORMAT] = {"format", "mermaid|dot|svg",
                    "for Mermaid (the default), for Graphviz (graph, tasks), or a picture (timeline)"},
    [OPT_SINCE] = {"since", "SEQ", "from this event on, as far as they are kept"},
    [OPT_LOG_FORMAT] = {"log-format", "json|text", "log lines as JSON objects, or as text (the default)"},
    [OPT_LOG_LEVEL] = {"log-level", "LEVEL",
                       "error, warn, info, debug, trace; or a list: warn,effect=debug (else $TFY_LOG)"},
    [OPT_TOOLS] = {"tools", NULL, "calls, failures, retries and time of each tool"},
    [OPT_PROMETHEUS] = {"prometheus", NULL, "print all figures in Prometheus' text format"},
    [OPT_STEPPING] = {"step", NULL,
                      "go through the run record by record, forward and back; commands come from standard input"},
    [OPT_DEBUG] = {"debug", NULL, "keep every variable to the end of its scope, for gdb and for stepping"},
    [OPT_UNTIL] = {"until", "PLACE",
                   "stop there: 12 (a record), 1.2/7 (task 1.2, step 7), lsn:57, line:40, failure, end, a point"},
    [OPT_PRINT_LOCALS] = {"print-locals", NULL, "print the variables there, or at every record"},
    [OPT_AT] = {"at", "STEP",
                "the last step that the new run takes over; 0: none, it begins anew with the same arguments"},
    [OPT_WITH] = {"with", "FILE.tfy", "take the run over to this program, and go on with it"},
    [OPT_SET_RESULT] = {"set-result", "JSON", "let that step have come to this"},
    [OPT_KILL_AT] = {"at", "every|N|PLACE",
                     "kill at every place (the default), at each N-th, or at one place only, such as after:12"},
    [OPT_REAL] = {"real", NULL, "let the tools do their work in every trial, instead of answering from the first run"},
    [OPT_COPY] = {"copy", "DIR", "every trial works in its own copy of this directory (else in an empty one)"},
    [OPT_JOBS] = {"jobs", "N", "so many trials at a time (else as many as there are processors)"},
    [OPT_LOOSE] = {"loose", NULL, "its tasks race: compare results and effects, not histories and what was printed"},
    [OPT_OLDER_THAN] = {"older-than", "TIME", "runs that ended longer ago than this, such as 30d or 12h"},
    [OPT_KEEP] = {"keep", "N", "all runs that have ended but the newest N"},
    [OPT_MAX_SIZE] = {"max-size", "SIZE", "oldest first, until the database needs no more than this, such as 1G"},
    [OPT_ARCHIVE] = {"archive", "FILE", "put the runs into this database before they go"},
    [OPT_COMPACT] = {"compact", NULL, "runs that stay lose what came before their newest snapshot"},
    [OPT_FROM_SNAPSHOT] = {"from-snapshot", NULL, "begin at the newest snapshot, as a resume does"},
    [OPT_DRY_RUN] = {"dry-run", NULL, "only say what would go"},
    [OPT_TIMEOUT] = {"timeout", "TIME", "wait this long while another command holds the database (else 10s)"},
    [OPT_DIAGNOSTICS] = {"diagnostics", "json|text", "print mistakes for people, or as one JSON object a line"},
};

#define BIT(option) (UINT64_C(1) << (option))
#define RUNNING                                                                                                        \
    (BIT(OPT_DB) | BIT(OPT_YES) | BIT(OPT_EVENTS) | BIT(OPT_LLM) | BIT(OPT_SECRETS) | BIT(OPT_ROOT) | BIT(OPT_WAIT) |  \
     BIT(OPT_LOG_FORMAT) | BIT(OPT_LOG_LEVEL) | BIT(OPT_MAX_TASKS) | BIT(OPT_MAX_MEMORY) | BIT(OPT_MAX_QUEUE) |        \
     BIT(OPT_POLICY) | BIT(OPT_GRACE))
#define REQUESTING (BIT(OPT_DB) | BIT(OPT_TIMEOUT))
#define ANSWERING  (REQUESTING | BIT(OPT_TASK) | BIT(OPT_STEP))

static const TfyCommandInfo COMMANDS[] = {
    {"run", "FILE.tfy [FILE.c ...] [--PARAM VALUE ...]", "compile a program, unless that was done before, and run it",
     RUNNING | BIT(OPT_WORKFLOW) | BIT(OPT_DIR), 0, -1},
    {"build", "FILE.tfy [FILE.c ...] -o PROGRAM", "compile a program to an executable",
     BIT(OPT_OUT) | BIT(OPT_DIR) | BIT(OPT_DEBUG), 1, -1},
    {"check", "FILE.tfy ...", "check programs without running them", BIT(OPT_DIR) | BIT(OPT_DIAGNOSTICS), 1, -1},
    {"graph", "FILE.tfy", "print the states of every workflow and the ways between them",
     BIT(OPT_FORMAT) | BIT(OPT_DIR) | BIT(OPT_DIAGNOSTICS), 1, 1},
    {"fmt", "FILE.tfy ...", "write programs in the canonical form; - formats standard input to standard output",
     BIT(OPT_CHECK) | BIT(OPT_DIFF) | BIT(OPT_DIAGNOSTICS), 1, -1},
    {"lsp", "", "serve an editor: the Language Server Protocol on standard input and output", BIT(OPT_DIR), 0, 0},
    {"test", "FILE.tfy ...", "run the tests in programs",
     BIT(OPT_FILTER) | BIT(OPT_JSON) | BIT(OPT_TAP) | BIT(OPT_VERBOSE) | BIT(OPT_DIR), 0, -1},
    {"crashtest", "FILE.tfy [FILE.c ...] [--PARAM VALUE ...]",
     "kill a program at every commit and stop, resume it, and compare with a run that nobody disturbed",
     BIT(OPT_WORKFLOW) | BIT(OPT_DIR) | BIT(OPT_YES) | BIT(OPT_LLM) | BIT(OPT_SECRETS) | BIT(OPT_MAX_TASKS) |
         BIT(OPT_MAX_MEMORY) | BIT(OPT_MAX_QUEUE) | BIT(OPT_POLICY) | BIT(OPT_KILL_AT) | BIT(OPT_REAL) | BIT(OPT_COPY) |
         BIT(OPT_JOBS) | BIT(OPT_LOOSE) | BIT(OPT_JSON),
     1, -1},
    {"completions", "bash|zsh|fish", "print what a shell needs to complete tfy and tfyc", 0, 1, 1},
    {"ps", "", "list the runs of a database, newest first", BIT(OPT_DB) | BIT(OPT_JSON), 0, 0},
    {"inspect", "RUN", "where a run stands, what it waits for, and what to type next",
     BIT(OPT_DB) | BIT(OPT_JSON) | BIT(OPT_OUTPUT), 0, 1},
    {"resume", "[RUN] [FILE.c ...]", "take up an unfinished run where it stopped",
     RUNNING | BIT(OPT_ALL) | BIT(OPT_WITH) | BIT(OPT_DIR), 0, -1},
    {"replay", "RUN [FILE.c ...]", "run a history again without performing anything, and compare",
     BIT(OPT_DB) | BIT(OPT_PROGRAM) | BIT(OPT_JSON) | BIT(OPT_DIR) | BIT(OPT_STEPPING) | BIT(OPT_UNTIL) |
         BIT(OPT_EVENTS) | BIT(OPT_PRINT_LOCALS) | BIT(OPT_FROM_SNAPSHOT),
     0, -1},
    {"diff", "RUN RUN", "compare two runs step by step; ends with 1 when they differ", BIT(OPT_DB) | BIT(OPT_JSON), 2,
     2},
    {"watch", "[RUN]", "what the process that runs it does now",
     BIT(OPT_DB) | BIT(OPT_TASK) | BIT(OPT_SINCE) | BIT(OPT_JSON), 0, 1},
    {"stats", "[RUN]", "figures of a run, of all runs, or of the process that runs them",
     BIT(OPT_DB) | BIT(OPT_TOOLS) | BIT(OPT_PROMETHEUS) | BIT(OPT_FORMAT) | BIT(OPT_JSON), 0, 1},
    {"timeline", "RUN", "what each task of a run did when", BIT(OPT_DB) | BIT(OPT_FORMAT) | BIT(OPT_JSON), 0, 1},
    {"tasks", "RUN", "the tasks of a run, who joined whom, and which failures went where",
     BIT(OPT_DB) | BIT(OPT_FORMAT) | BIT(OPT_JSON), 0, 1},
    {"output", "RUN", "everything a run ever printed", BIT(OPT_DB) | BIT(OPT_JSON), 0, 1},
    {"result", "RUN", "print what a run came to, or what it waits for", BIT(OPT_DB), 0, 1},
    {"approve", "RUN [TEXT]", "answer a question that a run asks, with yes unless told otherwise",
     ANSWERING | BIT(OPT_YES) | BIT(OPT_NO) | BIT(OPT_ANSWER), 1, 2},
    {"deny", "RUN", "answer a question that a run asks with no", ANSWERING, 1, 1},
    {"signal", "RUN NAME [JSON]", "send a run a signal, with a value or with null", REQUESTING | BIT(OPT_ID), 2, 3},
    {"kill", "RUN", "cancel a run, or one task of it", REQUESTING | BIT(OPT_TASK) | BIT(OPT_FORCE), 1, 1},
    {"resolve", "RUN STEP", "say what became of a step that is in doubt",
     REQUESTING | BIT(OPT_TASK) | BIT(OPT_DONE) | BIT(OPT_RETRY) | BIT(OPT_FAIL), 2, 2},
    {"fork", "RUN --at STEP", "begin a new run with what a run had done up to a step",
     REQUESTING | BIT(OPT_TASK) | BIT(OPT_AT) | BIT(OPT_SET_RESULT) | BIT(OPT_JSON), 1, 1},
    {"compat", "OLD NEW", "whether runs of one program can go on with another; both FILE.tfy, RUN, or a program's hash",
     BIT(OPT_DB) | BIT(OPT_DIR) | BIT(OPT_JSON), 2, 2},
    {"wal export", "RUN", "write a run's records as JSON lines, one file per task", BIT(OPT_DB) | BIT(OPT_OUT), 1, 1},
    {"wal import", "FILE.run ...", "take in runs that 'wal export' wrote", BIT(OPT_DB) | BIT(OPT_JSON), 1, -1},
    {"backup", "FILE", "copy a database as of now, beside whoever writes it, and check the copy",
     BIT(OPT_DB) | BIT(OPT_JSON), 1, 1},
    {"adopt", "", "make a copy a database of its own; its steps under way are then in doubt",
     BIT(OPT_DB) | BIT(OPT_FORCE) | BIT(OPT_JSON), 0, 0},
    {"doctor", "", "why each unfinished run waits, what to type, and how the files are", BIT(OPT_DB) | BIT(OPT_JSON), 0,
     0},
    {"gc", "[FILE.c ...]", "take out runs that have ended, by age, number or size, and the beginnings of long ones",
     BIT(OPT_DB) | BIT(OPT_OLDER_THAN) | BIT(OPT_KEEP) | BIT(OPT_MAX_SIZE) | BIT(OPT_ARCHIVE) | BIT(OPT_COMPACT) |
         BIT(OPT_DRY_RUN) | BIT(OPT_JSON),
     0, -1},
    {"salvage", "FROM TO", "take out of a damaged database what can be read, into a new one", BIT(OPT_JSON), 2, 2},
    {"verify", "", "check a whole database: pages, records, marks, rows", BIT(OPT_DB) | BIT(OPT_JSON), 0, 0},
};
#define COMMAND_COUNT ((int)(sizeof COMMANDS / sizeof *COMMANDS))

const TfyCommandInfo *tfy__command_at(int index)
{
    return index < COMMAND_COUNT ? &COMMANDS[index] : NULL;
}

const TfyCommandInfo *tfy__command_find(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(COMMANDS[i].name, name) == 0) return &COMMANDS[i];
    }
    return NULL;
}

bool tfy__command_takes(const TfyCommandInfo *command, int option)
{
    return option == OPT_HELP || (command->options & BIT(option)) != 0;
}

void tfy__command_usage(const TfyCommandInfo *command, void *file)
{
    fprintf(file, "usage: %s %s%s%s [options]\n%s\n", tfy__program_name(), command->name, *command->operands ? " " : "",
            command->operands, command->summary);
    tfy__command_options(command, file);
}

void tfy__command_options(const TfyCommandInfo *command, void *file)
{
    for (int i = 0; i < OPT_COUNT; i++) {
        const TfyOptionInfo *info = &OPTIONS[i];
        char left[64];
        if (!tfy__command_takes(command, i)) continue;
        snprintf(left, sizeof left, "%s%s%s%s", info->name[1] ? "--" : "-", info->name, info->argument ? " " : "",
                 info->argument ? info->argument : "");
        fprintf(file, "  %-20s  %s\n", left, info->meaning);
    }
}

/* ---- did you mean ---- */

#define WORD_MAX 64

/* Edits (insert, delete, replace, swap of neighbours) between two words of at most WORD_MAX bytes. */
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

/* The options a command takes, one after the other. */
static const char *option_candidate(const void *state, int index)
{
    for (int i = 0; i < OPT_COUNT; i++) {
        if (tfy__command_takes(state, i) && index-- == 0) return OPTIONS[i].name;
    }
    return NULL;
}

/* ---- reading ---- */

/* Where the reader stands. Its functions answer false after a message; status is then what to exit with. */
typedef struct Reader {
    TfyArgs *args;
    int argc;
    char **argv;
    int at; /* the word being read; left at the last one that was used */
    int status;
} Reader;

static bool refuse(Reader *reader, int status)
{
    reader->status = status;
    return false;
}

/* Two commands may mean different things by one name. */
static int find_option(const TfyCommandInfo *command, const char *name, size_t len)
{
    for (int i = 0; i < OPT_COUNT; i++) {
        if (!tfy__command_takes(command, i)) continue;
        if (strlen(OPTIONS[i].name) == len && memcmp(OPTIONS[i].name, name, len) == 0) return i;
    }
    return -1;
}

const TfyOptionInfo *tfy__option_at(int option)
{
    return &OPTIONS[option];
}

int tfy__option_words(const TfyCommandInfo *command, const char *text)
{
    bool long_form = text[1] == '-';
    const char *name = text + (long_form ? 2 : 1);
    size_t len = strcspn(name, "=");
    int option = find_option(command, name, len);
    if (option < 0 || long_form == (len == 1)) return 0;
    return OPTIONS[option].argument && name[len] != '=' ? 2 : 1;
}

static int refuse_option(const TfyCommandInfo *command, const char *text, const char *name)
{
    const char *meant = tfy__nearest(name, option_candidate, command);
    if (meant) {
        return tfy__fail(EXIT_USAGE, "%s takes no option '%s'; did you mean '%s%s'?", command->name, text,
                         meant[1] ? "--" : "-", meant);
    }
    return tfy__fail(EXIT_USAGE, "%s takes no option '%s'; see '%s %s --help'", command->name, text,
                     tfy__program_name(), command->name);
}

static bool is_run(const TfyCommandInfo *command)
{
    return strcmp(command->name, "run") == 0;
}

/* What it does not know is for the program. */
static bool takes_params(const TfyCommandInfo *command)
{
    return is_run(command) || strcmp(command->name, "crashtest") == 0;
}

/* A parameter of the workflow: --name value, --name=value, or --name alone. Whoever knows its type looks at it later.
 * A following "--x" is the next parameter, never a value: values that begin with two dashes are written with '='. */
static bool take_param(Reader *reader)
{
    char *text = reader->argv[reader->at];
    if (strncmp(text, "--", 2) != 0 || !text[2]) {
        return refuse(reader, tfy__fail(EXIT_USAGE, "unexpected '%s'; parameters are written --NAME VALUE", text));
    }
    const char **pair = &reader->args->params[2 * reader->args->param_count++];
    char *equals = strchr(text, '=');
    pair[0] = text + 2;
    if (equals) {
        *equals = '\0';
        pair[1] = equals + 1;
    } else if (reader->at + 1 < reader->argc && strncmp(reader->argv[reader->at + 1], "--", 2) != 0) {
        pair[1] = reader->argv[++reader->at];
    }
    return true;
}

/* Of all options only the directories may be given several times. */
static void keep_value(TfyArgs *args, int option, const char *value)
{
    args->option[option] = value;
    if (option == OPT_DIR) args->dirs[args->dir_count++] = value;
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
        if (takes_params(args->command) && long_form) return take_param(reader);
        return refuse(reader, refuse_option(args->command, text, name));
    }
    bool has_value = name[len] == '=';
    if (!OPTIONS[option].argument) {
        args->option[option] = "";
        return !has_value ||
               refuse(reader, tfy__fail(EXIT_USAGE, "option '--%s' takes no value", OPTIONS[option].name));
    }
    if (has_value) {
        keep_value(args, option, name + len + 1);
        return true;
    }
    if (reader->at + 1 >= reader->argc) {
        return refuse(reader, tfy__fail(EXIT_USAGE, "option '%s' needs a value: %s", text, OPTIONS[option].argument));
    }
    keep_value(args, option, reader->argv[++reader->at]);
    return true;
}

static int check_words(const TfyArgs *args)
{
    const TfyCommandInfo *command = args->command;
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
    bool rest = false; /* behind "--": parameters of `run`, operands of the others */
    for (; reader->at < reader->argc; reader->at++) {
        char *text = reader->argv[reader->at];
        if (rest && takes_params(args->command)) {
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

int tfy__args_parse(int argc, char **argv, TfyArgs *args)
{
    *args = (TfyArgs){.command = tfy__command_find(argv[0])};
    args->words = calloc((size_t)argc + 1, sizeof *args->words);
    args->params = calloc(2 * ((size_t)argc + 1), sizeof *args->params);
    args->dirs = calloc((size_t)argc + 1, sizeof *args->dirs);
    if (!args->words || !args->params || !args->dirs) return tfy__fail(EXIT_BUG, "memory ran out");
    Reader reader = {.args = args, .argc = argc, .argv = argv, .at = 1};
    if (!read_words(&reader)) return reader.status;
    if (!args->option[OPT_HELP]) {
        const int status = check_words(args);
        return status < 0 && tfy__command_takes(args->command, OPT_DB) ? tfy__db_resolve(args) : status;
    }
    if (is_run(args->command)) return -1; /* the program prints its workflow's own usage */
    tfy__command_usage(args->command, stdout);
    return tfy__flush_stdout(EXIT_DONE);
}

void tfy__args_free(TfyArgs *args)
{
    free(args->words);
    free(args->params);
    free(args->dirs);
    free(args->db);
    args->words = args->params = args->dirs = NULL;
    args->db = NULL;
}
