/* commands.h: the one table of commands. The help, the argument parser, the completions and the dispatch of `tfy` and
 * of every compiled program are generated from it. */
#ifndef CLI_FRAME_COMMANDS_H
#define CLI_FRAME_COMMANDS_H

#include "cli/frame/cli.h"

#define OPT(NAME)  ((TfyOptionSet)1 << OPT_##NAME)
#define MORE(NAME) ((TfyOptionSet)1 << (OPT_##NAME - TFY_OPTION_BITS)) /* for .more */
#define TFY__RUNNING                                                                                                   \
    (OPT(DB) | OPT(YES) | OPT(YOLO) | OPT(ESCALATE) | OPT(DETAILS) | OPT(EVENTS) | OPT(LLM) | OPT(MODELS) |            \
     OPT(SECRETS) | OPT(SECRETS_FROM) | OPT(ROOT) | OPT(WAIT) | OPT(LOG_FORMAT) | OPT(CEILING) |                       \
     OPT(CEILING_NETWORK) | OPT(GRANT) | OPT(BUDGET) | OPT(RUNNERS) | OPT(CELL_LEVEL) | OPT(RECORD_PROMPTS) |          \
     OPT(LOG_LEVEL) | OPT(MAX_TASKS) | OPT(MAX_MEMORY) | OPT(MAX_QUEUE) | OPT(MAX_OUTPUT) | OPT(MAX_FILE) |            \
     OPT(POLICY) | OPT(GRACE) | OPT(RESULT_ONLY))
#define TFY__REQUESTING (OPT(DB) | OPT(TIMEOUT))
#define TFY__SENDING    (TFY__REQUESTING | OPT(SERVER))
#define TFY__ANSWERING  (TFY__SENDING | OPT(TASK) | OPT(STEP))
#define TFY__OFFERING                                                                                                  \
    (MORE(MCP_HOLD) | MORE(MCP_PROMPT) | MORE(MCP_RESOURCE) | MORE(MCP_TASK) | MORE(MCP_ASK_FIRST))

/* ROW(function, members of TfyCommand from its name on), in the order of the help. A compiled program has the OWN
 * rows too. */
#define TFY_COMMANDS(ROW, OWN)                                                                                         \
    OWN(run, "run", "FILE.tfy [FILE.c ...] [--PARAM VALUE ...]",                                                       \
        "compile a program, unless that was done before, and run it",                                                  \
        TFY__RUNNING | OPT(WORKFLOW) | OPT(RUN_ID) | OPT(DIR) | OPT(DENY_WARNINGS), 0, -1, .takes_params = true,       \
        .reads_words = true)                                                                                           \
    ROW(build, "build", "FILE.tfy|RUN [FILE.c ...] -o PROGRAM",                                                        \
        "compile a program to an executable; that of a run, or of a hash, as the database has it",                     \
        OPT(OUT) | OPT(SHARED) | OPT(DIR) | OPT(DEBUG) | OPT(DENY_WARNINGS) | OPT(DB), 1, -1, .more = MORE(OFFER),     \
        .shared = true)                                                                                                \
    ROW(check, "check", "[FILE.tfy|DIR ...]", "check programs without running them",                                   \
        OPT(TRUST) | OPT(JSON) | OPT(DIR) | OPT(DIAGNOSTICS) | OPT(DENY_WARNINGS), 0, -1)                              \
    ROW(graph, "graph", "FILE.tfy|RUN", "print the states of every workflow, and the edges between them",              \
        OPT(GRAPH_FORMAT) | OPT(JSON) | OPT(DIR) | OPT(DB) | OPT(DIAGNOSTICS), 1, 1, .shared = true)                   \
    ROW(fmt, "fmt", "[FILE.tfy|DIR ...]",                                                                              \
        "write programs in the canonical form; - formats standard input to standard output",                           \
        OPT(CHECK) | OPT(DIFF) | OPT(DIAGNOSTICS), 0, -1)                                                              \
    ROW(lsp, "lsp", "", "serve an editor: the Language Server Protocol on standard input and output", OPT(DIR), 0, 0)  \
    OWN(test, "test", "[FILE.tfy|DIR ...]", "run the tests in programs",                                               \
        OPT(FILTER) | OPT(JSON) | OPT(TAP) | OPT(VERBOSE) | OPT(DIR) | OPT(DENY_WARNINGS), 0, -1)                      \
    ROW(crashtest, "crashtest", "FILE.tfy [FILE.c ...] [--PARAM VALUE ...]",                                           \
        "kill a program at every commit and stop, resume it, and compare with an undisturbed run",                     \
        OPT(WORKFLOW) | OPT(DIR) | OPT(YES) | OPT(YOLO) | OPT(LLM) | OPT(SECRETS) | OPT(SECRETS_FROM) |                \
            OPT(MAX_TASKS) | OPT(MAX_MEMORY) | OPT(MAX_QUEUE) | OPT(MAX_OUTPUT) | OPT(MAX_FILE) | OPT(CEILING) |       \
            OPT(CEILING_NETWORK) | OPT(BUDGET) | OPT(RUNNERS) | OPT(CELL_LEVEL) | OPT(POLICY) | OPT(KILL_AT) |         \
            OPT(REAL) | OPT(COPY) | OPT(JOBS) | OPT(LOOSE) | OPT(JSON),                                                \
        1, -1, .takes_params = true)                                                                                   \
    ROW(sandbox, "sandbox", "[NAME] -- COMMAND [ARGUMENT ...]",                                                        \
        "run a command in a sandbox around the current directory",                                                     \
        OPT(CELL_PROGRAM) | OPT(DIR) | OPT(CELL) | OPT(CELL_NETWORK) | OPT(CELL_LEVEL) | OPT(CELL_READS) |             \
            OPT(CELL_WRITES) | OPT(CELL_MEMORY) | OPT(CELL_PROCESSES) | OPT(CELL_CPU) | OPT(CELL_FILES),               \
        1, -1)                                                                                                         \
    ROW(mcp_tools, "mcp tools", "URL | -- COMMAND [ARGUMENT ...]", "list the tools of an MCP server",                  \
        OPT(JSON) | OPT(TIMEOUT), 1, -1)                                                                               \
    ROW(mcp_call, "mcp call", "TOOL JSON URL | TOOL JSON -- COMMAND [ARGUMENT ...]",                                   \
        "call a tool of an MCP server, and print its result", OPT(JSON) | OPT(TIMEOUT), 3, -1)                         \
    ROW(mcp_pull, "mcp pull", "FILE.tfy [NAME] | NAME URL | NAME -- COMMAND [ARGUMENT ...]",                           \
        "write the tools of the MCP servers of a program, or of one server, to NAME.mcp.json",                         \
        OPT(MCP_CHECK) | OPT(SECRETS) | OPT(TIMEOUT), 1, -1)                                                           \
    ROW(mcp_login, "mcp login", "URL | NAME FILE.tfy",                                                                 \
        "log in at an MCP server over HTTP, in a browser, and keep the tokens", OPT(SECRETS) | OPT(TIMEOUT), 1, 2,     \
        .more = MORE(SCOPE) | MORE(CLIENT_ID) | MORE(CLIENT_SECRET) | MORE(ISSUER))                                    \
    ROW(mcp_serve, "mcp serve", "FILE.tfy",                                                                            \
        "offer the workflows of a program as tools, to an MCP client at standard input and output",                    \
        OPT(DB) | OPT(DIR) | OPT(DRAIN) | OPT(LLM) | OPT(MCP_TOOL), 1, 1, .more = TFY__OFFERING)                       \
    ROW(serve, "serve", "FILE.tfy|FILE.so ...",                                                                        \
        "run programs in one process that is always there, and take requests over HTTP",                               \
        OPT(DB) | OPT(DIR) | OPT(CONFIG) | OPT(LISTEN) | OPT(NO_TCP) | OPT(TLS_CERT) | OPT(TLS_KEY) | OPT(TLS_CA) |    \
            OPT(CHECK_ONLY) | OPT(PRINT_CONFIG) | OPT(OPEN) | OPT(DRAIN) | OPT(WATCH) | OPT(LLM) | OPT(MCP_TOOL),      \
        0, -1, .more = MORE(MCP) | MORE(MCP_APPROVE) | TFY__OFFERING, .shared = true)                                  \
    ROW(worker, "worker", "FILE.tfy|FILE.so ...",                                                                      \
        "execute runs of programs that are started in a database of PostgreSQL, until a signal ends it",               \
        OPT(DB) | OPT(DIR) | OPT(DRAIN) | OPT(LLM) | OPT(MODELS) | OPT(SECRETS) | OPT(SECRETS_FROM) | OPT(LOG_LEVEL) | \
            OPT(LOG_FORMAT),                                                                                           \
        1, -1, .more = MORE(WORKER_NAME) | MORE(WORKER_POOL) | MORE(THREADS), .shared = true)                                          \
    ROW(start, "start", "PROGRAM[.WORKFLOW] [--PARAM VALUE ...]", "start a run on a server or on PostgreSQL",          \
        OPT(DB) | OPT(SERVER) | OPT(RUN_ID) | OPT(LABEL) | OPT(START_WAIT), 1, 1, .takes_params = true,                \
        .more = MORE(POOL) | MORE(MANY) | MORE(PRIORITY) | MORE(START_AFTER) | MORE(TENANT), .shared = true)                          \
    ROW(deploy, "deploy", "FILE.tfy|NAME@VERSION",                                                                     \
        "let new runs on a server or on PostgreSQL have this version of a program",                                    \
        OPT(DB) | OPT(SERVER) | OPT(PROGRAM_NAME) | OPT(MOVE), 1, 1, .more = MORE(SHARE), .shared = true)              \
    ROW(drain, "drain", "", "end a server once the tools under way have finished", OPT(DB) | OPT(SERVER), 0, 0)        \
    ROW(token, "token", "create|list|revoke|login [NAME]",                                                             \
        "say who may come to a server, and with which roles; login prints an address for a browser",                   \
        OPT(DB) | OPT(ROLES) | OPT(ONLY) | OPT(EXPIRES) | OPT(RATE) | OPT(JSON), 1, 2)                                 \
    ROW(completions, "completions", "bash|zsh|fish", "print what a shell needs to complete tfy and tfyc", 0, 1, 1)     \
    ROW(cluster, "cluster", "", "show the workers, queues and programs of a database of PostgreSQL",                   \
        OPT(DB) | OPT(JSON), 0, 0, .shared = true)                                                                     \
    ROW(pause, "pause", "[PROGRAM]", "let workers claim no more runs of a program, or of any",                         \
        OPT(DB), 0, 1, .more = MORE(PAUSE_POOL), .shared = true)                                                       \
    ROW(unpause, "unpause", "[PROGRAM]", "let workers claim runs again that were paused",                              \
        OPT(DB), 0, 1, .more = MORE(PAUSE_POOL), .shared = true)                                                       \
    ROW(ps, "ps", "", "list runs, newest first", OPT(DB) | OPT(SERVER) | OPT(STATE) | OPT(OF_WORKFLOW) | OPT(LIMIT) |  \
        OPT(JSON), 0, 0, .shared = true)                                                                               \
    ROW(inspect, "inspect", "RUN", "show where a run is, what it waits for, and what to type next",                    \
        OPT(DB) | OPT(SERVER) | OPT(JSON) | OPT(OUTPUT) | OPT(DETAILS), 0, 1, .shared = true)                          \
    OWN(resume, "resume", "[RUN] [FILE.c ...]", "continue an unfinished run where it stopped",                         \
        TFY__RUNNING | OPT(ALL) | OPT(WITH) | OPT(DRY_RUN) | OPT(DIR), 0, -1, .shared = true)                          \
    OWN(replay, "replay", "RUN [FILE.c ...]", "run a history again without performing effects, and compare",           \
        OPT(DB) | OPT(PROGRAM) | OPT(JSON) | OPT(DIR) | OPT(STEPPING) | OPT(UNTIL) | OPT(EVENTS) | OPT(PRINT_LOCALS) | \
            OPT(FROM_SNAPSHOT),                                                                                        \
        0, -1, .shared = true)                                                                                         \
    ROW(diff, "diff", "RUN RUN", "compare two runs step by step; exits with 1 if they differ", OPT(DB) | OPT(JSON), 2, \
        2, .shared = true)                                                                                             \
    ROW(watch, "watch", "[RUN]", "show what the process of a run does now",                                            \
        OPT(DB) | OPT(TASK) | OPT(SINCE) | OPT(JSON), 0, 1, .shared = true)                                            \
    ROW(events, "events", "[RUN]",                                                                                     \
        "print the records of a database, or of a run, as events, one JSON object on each line",                       \
        OPT(DB) | OPT(AFTER) | OPT(FOLLOW) | OPT(TYPE), 0, 1, .shared = true)                                          \
    ROW(publish, "publish", "", "give the records of a database to another system, each when it is durable",           \
        OPT(DB) | OPT(TO) | OPT(FOLLOWER) | OPT(TYPE) | OPT(SECRET_FILE) | OPT(CONTENT), 0, 0)                         \
    ROW(stats, "stats", "[RUN]", "print figures of a run, of all runs, or of the process that runs them",              \
        OPT(DB) | OPT(TOOLS) | OPT(PROMETHEUS) | OPT(FORMAT) | OPT(JSON), 0, 1, .shared = true)                        \
    ROW(costs, "costs", "[RUN]", "print what was asked of models, and what it cost",                                   \
        OPT(DB) | OPT(COST_SINCE) | OPT(COST_BY) | OPT(JSON), 0, 1, .shared = true)                                    \
    ROW(timeline, "timeline", "RUN", "draw what each task of a run did, and when", OPT(DB) | OPT(FORMAT) | OPT(JSON),  \
        0, 1, .shared = true)                                                                                          \
    ROW(tasks, "tasks", "RUN", "draw the tasks of a run: which task joined which, and where failures went",            \
        OPT(DB) | OPT(FORMAT) | OPT(JSON), 0, 1, .shared = true)                                                       \
    ROW(output, "output", "RUN", "print everything that a run ever printed", OPT(DB) | OPT(JSON), 0, 1, .shared = true)\
    ROW(result, "result", "RUN", "print the result of a run, or what it waits for", OPT(DB), 0, 1, .shared = true)     \
    ROW(history, "history", "RUN", "print the records of a run, a line for each",                                      \
        OPT(DB) | OPT(TASK) | OPT(TYPE) | OPT(STEPS) | OPT(FROM) | OPT(LIMIT) | OPT(JSON), 0, 1, .shared = true)       \
    ROW(why, "why", "RUN STEP", "say which answer of a model chose a step, and what the model was asked",              \
        OPT(DB) | OPT(TASK) | OPT(JSON), 2, 2, .shared = true)                                                         \
    ROW(approve, "approve", "RUN [TEXT]", "answer a question that a run asks; yes unless told otherwise",              \
        TFY__ANSWERING | OPT(YES) | OPT(NO) | OPT(ANSWER), 1, 2, .shared = true)                                       \
    ROW(deny, "deny", "RUN", "answer a question that a run asks with no", TFY__ANSWERING | OPT(WHY), 1, 1, .shared = true) \
    ROW(signal, "signal", "RUN NAME [JSON]", "send a run a signal, with a value or with null",                         \
        TFY__SENDING | OPT(ID), 2, 3, .shared = true)                                                                  \
    ROW(kill, "kill", "RUN", "cancel a run, or one task of it", TFY__SENDING | OPT(TASK) | OPT(FORCE), 1, 1, .shared = true) \
    ROW(resolve, "resolve", "RUN STEP", "say what happened to a step that is in doubt",                                \
        TFY__SENDING | OPT(TASK) | OPT(DONE) | OPT(RETRY) | OPT(FAIL), 2, 2, .shared = true)                           \
    ROW(hold, "hold", "RUN ...", "keep workers from taking a run of a database of PostgreSQL", OPT(DB), 1, -1,         \
        .shared = true)                                                                                                \
    ROW(release, "release", "RUN ...", "let workers take a run again that is held", OPT(DB), 1, -1, .shared = true)    \
    ROW(fork, "fork", "RUN --at STEP", "start a new run with what another run had done up to a step",                  \
        TFY__REQUESTING | OPT(TASK) | OPT(AT) | OPT(SET_RESULT) | OPT(JSON), 1, 1, .shared = true)                     \
    ROW(compat, "compat", "OLD NEW [FILE.c ...]",                                                                      \
        "check whether runs of one program can continue with another; each is FILE.tfy, RUN, or a hash",               \
        OPT(DB) | OPT(DIR) | OPT(JSON), 2, -1, .shared = true)                                                         \
    ROW(move, "move", "RUN|OLD NEW [FILE.c ...]",                                                                      \
        "let a run of PostgreSQL continue with another program, or with --all those of a program",                     \
        OPT(DB) | OPT(DIR) | OPT(ALL), 2, -1, .shared = true)                                                          \
    ROW(wal_export, "wal export", "RUN", "write a run's records as JSON lines, one file per task", OPT(DB) | OPT(OUT), \
        1, 1, .shared = true)                                                                                          \
    ROW(wal_import, "wal import", "FILE.run ...", "import runs that 'wal export' wrote", OPT(DB) | OPT(JSON), 1, -1,   \
        .shared = true)                                                                                                \
    ROW(db_create, "db create", "postgresql://...", "make the tables of Tiffany in a database of PostgreSQL", 0, 1, 1, \
        .more = MORE(LEASE) | MORE(ALLOW_LOSSY) | MORE(ROLE_PREFIX))                                                                       \
    ROW(db_check, "db check", "[postgresql://...]",                                                                    \
        "say whether a database of PostgreSQL can be used, and how it is set up; it is $TFY_DB unless it is named",    \
        OPT(JSON), 0, 1)                                                                                               \
    ROW(db_upgrade, "db upgrade", "postgresql://...", "give a database of PostgreSQL the tables and roles of this version", \
        0, 1, 1, .more = MORE(ROLE_PREFIX))                                                                            \
    ROW(db_tenant, "db tenant", "[NAME]", "make or change a tenant of a database of PostgreSQL; or list them",         \
        OPT(DB) | OPT(JSON), 0, 1, .more = MORE(WEIGHT) | MORE(MAX_READY), .shared = true)                             \
    ROW(db_adopt, "db adopt", "postgresql://...",                                                                      \
        "use a database of PostgreSQL that was restored from a backup; only its owner may", OPT(JSON), 1, 1)           \
    ROW(backup, "backup", "FILE", "copy a database while it is in use, and check the copy", OPT(DB) | OPT(JSON), 1, 1) \
    ROW(adopt, "adopt", "", "make a copy a database of its own; steps under way in it are then in doubt",              \
        OPT(DB) | OPT(FORCE) | OPT(JSON), 0, 0)                                                                        \
    ROW(doctor, "doctor", "", "explain why each unfinished run waits, what to type, and the state of the files",       \
        OPT(DB) | OPT(CELL_WALLS) | OPT(JSON), 0, 0, .shared = true)                                                   \
    ROW(gc, "gc", "[FILE.c ...]",                                                                                      \
        "remove runs that have ended, by age, number or size, and the beginnings of long ones",                        \
        OPT(DB) | OPT(OLDER_THAN) | OPT(KEEP) | OPT(MAX_SIZE) | OPT(ARCHIVE) | OPT(COMPACT) | OPT(DRY_RUN) |           \
            OPT(JSON),                                                                                                 \
        0, -1, .shared = true)                                                                                         \
    ROW(salvage, "salvage", "FROM TO", "copy what can be read of a damaged database into a new one", OPT(JSON), 2, 2)  \
    ROW(verify, "verify", "", "check a whole database: pages, records, marks, rows", OPT(DB) | OPT(JSON), 0, 0,         \
        .shared = true)

/* The commands of tfy, for TfyCommand.run: tfy__cmd_ps and its like. */
#define TFY_COMMAND_PROTOTYPE(function, ...) int tfy__cmd_##function(const TfyArgs *args);
TFY_COMMANDS(TFY_COMMAND_PROTOTYPE, TFY_COMMAND_PROTOTYPE)
#undef TFY_COMMAND_PROTOTYPE

/* The table of tfy; a row without a name ends it. */
extern const TfyCommand tfy__commands[];

/* Prints the general help. */
void tfy__commands_usage(void *file); /* a FILE * */
/* Runs the command that argv[0], or argv[0] and argv[1], name. Returns the exit status. */
int tfy__commands_dispatch(int argc, char **argv);
/* Prints the help of the command that the words name. */
int tfy__commands_help(int argc, char **argv);
/* Returns how many of the words name a command; 0: they do not name one. */
int tfy__commands_words(int argc, char **argv);

#endif
