/* options.h: every option of every command: its name, its argument, its meaning. */
#ifndef CLI_FRAME_OPTIONS_H
#define CLI_FRAME_OPTIONS_H

/* O(NAME, "name", "ARGUMENT" or NULL for a flag, "meaning"). A name of one letter is typed with one dash. Completions
 * derive their offers from the argument: FILE, FILE.tfy, DIR, or words with '|' between them. Two options may share a
 * name if no command takes both. */
#define TFY_OPTIONS(O)                                                                                                 \
    O(HELP, "help", NULL, "print this and exit")                                                                       \
    O(DB, "db", "FILE", "the database (else $TFY_DB, else ./.tfy/runs.db)")                                            \
    O(JSON, "json", NULL, "print JSON")                                                                                \
    O(WORKFLOW, "workflow", "NAME", "the workflow to run (else main, or the only one)")                                \
    O(YES, "yes", NULL, "answer yes (run, resume: unless untrusted values reach the call that is asked about)")        \
    O(YOLO, "yolo", NULL, "answer yes to every approval; only where nothing can be lost, or with TFY_DISPOSABLE=1")    \
    O(ESCALATE, "escalate", NULL,                                                                                      \
      "ask on the terminal whether a pure or idempotent tool may have what its sandbox refused")                       \
    O(DETAILS, "details", NULL, "show long arguments of a call that is asked about whole")                             \
    O(NO, "no", NULL, "answer no")                                                                                     \
    O(ANSWER, "answer", "CASE", "answer with this case of the enum that was asked for")                                \
    O(TASK, "task", "PATH", "the task, such as 1.2 (else the only one it can mean)")                                   \
    O(STEP, "step", "N", "the step (else the only one it can mean)")                                                   \
    O(FORCE, "force", NULL, "kill: end the task without running its cleanup; adopt: even if it is not a copy")         \
    O(DONE, "done", "JSON", "the step was done, with this result")                                                     \
    O(RETRY, "retry", NULL, "the step was not done: do it")                                                            \
    O(FAIL, "fail", NULL, "let the step fail")                                                                         \
    O(EVENTS, "events", NULL,                                                                                          \
      "print live activity as JSON lines on stderr (replay: what was live then, marked as ghosts)")                    \
    O(MODELS, "models", "FILE", "what the models of the program stand for (else $TFY_MODELS, .tfy/models.json)")       \
    O(LLM, "llm", "SOURCE",                                                                                            \
      "cassette:FILE answers models from a recorded session, record:FILE records one; client, where runs are offered " \
      "to "                                                                                                            \
      "MCP clients, asks the client's model")                                                                          \
    O(SECRETS, "secrets", "FILE", "lines NAME=value for secret(\"NAME\"), or a directory with a file for each name")   \
    O(SECRETS_FROM, "secrets-from", "COMMAND",                                                                         \
      "run COMMAND NAME for secrets that are nowhere else, and take the first line that it prints")                    \
    O(RECORD_PROMPTS, "record-prompts", "full|digest",                                                                 \
      "keep what models are sent in the log, or only its digest (resume: else as the run began)")                      \
    O(ROOT, "root", "DIR", "the working root of files, commits and tools (else the current directory)")                \
    O(WAIT, "wait", NULL, "stay until people have answered, instead of exiting with 75")                               \
    O(GRACE, "grace", "DURATION",                                                                                      \
      "how long running tools may take to finish after a signal (else 10s; 0s: not at all)")                           \
    O(POLICY, "policy", "fifo|priority|deps", "which of the ready tasks runs next")                                    \
    O(MAX_TASKS, "max-tasks", "N", "most tasks alive at once in this process; a further one fails")                    \
    O(MAX_MEMORY, "max-memory", "SIZE", "most memory of one task, such as 64M; a task that needs more fails")          \
    O(MAX_QUEUE, "max-queue", "N", "most messages in a channel, and most signals that wait in a run")                  \
    O(MAX_OUTPUT, "max-output", "SIZE", "most bytes kept of a tool's output, and of a response's body (else 1M)")      \
    O(MAX_FILE, "max-file", "SIZE", "largest file that may be read, written or patched (else 16M)")                    \
    O(ALL, "all", NULL, "every unfinished run (a built program: its own)")                                             \
    O(PROGRAM, "program", "FILE.tfy", "replay against this program instead of the recorded one")                       \
    O(OUTPUT, "output", NULL, "everything the run ever printed")                                                       \
    O(ID, "id", "ID", "your own name for this signal; a second one under the same name changes nothing")               \
    O(RUN_ID, "id", "NAME", "your own name for this run; started again under the same name, it is the same run")       \
    O(RESULT_ONLY, "result-only", NULL, "print the result alone on stdout, and what the run prints on stderr")         \
    O(OUT, "o", "FILE", "where to write")                                                                              \
    O(DIR, "I", "DIR", "search DIR for imported files too; may be given several times")                                \
    O(FILTER, "filter", "TEXT", "only tests with this text in their names")                                            \
    O(TAP, "tap", NULL, "print TAP version 14")                                                                        \
    O(VERBOSE, "v", NULL, "show what was answered and printed in every test")                                          \
    O(CHECK, "check", NULL, "list the files that are not formatted and exit with 1 if there are any; change nothing")  \
    O(DIFF, "diff", NULL, "show what would change; change nothing")                                                    \
    O(DIAGNOSTICS, "diagnostics", "json|text", "print errors for people, or one JSON object per line")                 \
    O(FORMAT, "format", "mermaid|dot|svg|text",                                                                        \
      "for Mermaid (the default), for Graphviz (tasks), or a picture or a chart of characters (timeline)")             \
    O(GRAPH_FORMAT, "format", "mermaid|dot|json", "for Mermaid (the default), for Graphviz, or JSON for programs")     \
    O(TRUST, "trust", NULL, "print what each tool may do, and where untrusted values reach what matters")              \
    O(DENY_WARNINGS, "deny-warnings", NULL, "treat warnings as errors")                                                \
    O(SINCE, "since", "SEQ", "start at this event, as far as events are kept")                                         \
    O(LOG_FORMAT, "log-format", "json|text", "log lines as JSON objects, or as text (the default)")                    \
    O(LOG_LEVEL, "log-level", "LEVEL",                                                                                 \
      "error, warn, info, debug, trace; or a list: warn,effect=debug (else $TFY_LOG)")                                 \
    O(TOOLS, "tools", NULL, "calls, failures, retries and time of each tool")                                          \
    O(AT, "at", "STEP", "the last step that the new run keeps; 0: none, it starts afresh with the same arguments")     \
    O(SET_RESULT, "set-result", "JSON", "let that step have this result")                                              \
    O(WITH, "with", "FILE.tfy", "move the run to this program, and continue with it")                                  \
    O(PROMETHEUS, "prometheus", NULL, "print all figures in Prometheus' text format")                                  \
    O(STEPPING, "step", NULL,                                                                                          \
      "go through the run record by record, forward and back; commands come from standard input")                      \
    O(DEBUG, "debug", NULL, "keep every variable to the end of its scope, for gdb and for stepping")                   \
    O(SHARED, "shared", NULL, "write a shared object, for a server or another host that loads it")                     \
    O(UNTIL, "until", "PLACE",                                                                                         \
      "stop there: 12 (a record), 1.2/7 (task 1.2, step 7), lsn:57, line:40, failure, end, a point")                   \
    O(PRINT_LOCALS, "print-locals", NULL, "print the variables there, or at every record")                             \
    O(KILL_AT, "at", "every|N|PLACE",                                                                                  \
      "kill at every place (the default), at each N-th, or at one place only, such as after:12")                       \
    O(REAL, "real", NULL, "let the tools do their work in every trial, instead of answering from the first run")       \
    O(COPY, "copy", "DIR", "every trial works in its own copy of this directory (else in an empty one)")               \
    O(JOBS, "jobs", "N", "how many trials run at a time (else one per processor)")                                     \
    O(LOOSE, "loose", NULL, "its tasks race: compare results and effects, not histories and what was printed")         \
    O(WHY, "why", "TEXT", "the reason, which the program is told, and a model that asked for the call")                \
    O(COST_SINCE, "since", "TIME", "only what was asked in this time, such as 7d or 12h")                              \
    O(COST_BY, "by", "run|workflow|prompt|model|day", "a line for each of these (else model; of one run, prompt)")     \
    O(OLDER_THAN, "older-than", "TIME", "runs that ended longer ago than this, such as 30d or 12h")                    \
    O(KEEP, "keep", "N", "all runs that have ended, except the newest N")                                              \
    O(MAX_SIZE, "max-size", "SIZE", "oldest first, until the database needs no more than this, such as 1G")            \
    O(ARCHIVE, "archive", "FILE", "copy the runs into this database before they are removed")                          \
    O(COMPACT, "compact", NULL, "remove what the remaining runs have before their newest snapshot")                    \
    O(FROM_SNAPSHOT, "from-snapshot", NULL, "start at the newest snapshot, as a resume does")                          \
    O(STATE, "state", "queued|running|waiting|stopped|held|doubt|unfinished|completed|failed|cancelled",               \
      "only runs in this state")                                                                                       \
    O(OF_WORKFLOW, "workflow", "NAME", "only runs of this workflow")                                                   \
    O(LIMIT, "limit", "N", "at most this many")                                                                        \
    O(TYPE, "type", "TYPE", "only records of this type, such as ToolResult; several are separated by commas")          \
    O(STEPS, "steps", "A..B", "only these steps of each task, such as 7, 3..7 or 3..")                                 \
    O(FROM, "from", "N", "start at this record of the run")                                                            \
    O(AFTER, "after", "N", "start behind record N (else at the first)")                                                \
    O(FOLLOW, "follow", NULL, "then print what is recorded from now on, until interrupted")                            \
    O(DRY_RUN, "dry-run", NULL, "gc: show what would be removed; resume --with: whether the run can; change nothing")  \
    O(TIMEOUT, "timeout", "TIME",                                                                                      \
      "wait this long while another command holds the database, or for a worker (else 10s), or an MCP server is "      \
      "silent (else 1m)")                                                                                              \
    O(CELL, "sandbox", "readonly|workspace|open",                                                                      \
      "what the command may write: nothing, the current directory (the default), or all that you may")                 \
    O(CEILING, "sandbox", "readonly|workspace|open",                                                                   \
      "the most that tools may write: nothing, or the root; open: those that name no sandbox have your rights")        \
    O(CEILING_NETWORK, "network", "none|any|HOSTS",                                                                    \
      "the most that tools, http() and connect() may reach; HOSTS: host:port,*.host:port")                             \
    O(RUNNERS, "runners", NULL, "let the runners of sandboxes start; no sandbox holds them")                           \
    O(BUDGET, "budget", "cost=5,tokens=1M,calls=50", "the most that the run may ask of models")                        \
    O(GRANT, "grant", "TOOL:reads=PATH",                                                                               \
      "let a tool do this too, also writes=PATH, network=HOST:PORT; may be given several times")                       \
    O(CELL_PROGRAM, "program", "FILE", "the program that declares the sandbox: FILE.tfy, or one that was built")       \
    O(CELL_NETWORK, "network", "none|any|HOSTS",                                                                       \
      "no network (the default), that of this machine, or only these hosts: crates.io:443,*.crates.io:443")            \
    O(CELL_LEVEL, "sandbox-level", "full|partial",                                                                     \
      "full: refuse where the kernel cannot do all; partial: do without namespaces")                                   \
    O(CELL_READS, "reads", "PATH", "let the command read this too; may be given several times")                        \
    O(CELL_WRITES, "writes", "PATH", "let the command read and write this too; may be given several times")            \
    O(CELL_MEMORY, "memory", "SIZE", "all processes together (else 4G)")                                               \
    O(CELL_PROCESSES, "processes", "N", "processes at once (else 512)")                                                \
    O(CELL_CPU, "cpu", "DURATION", "processor time of one process (else without limit)")                               \
    O(CELL_FILES, "files", "SIZE", "size of one file (else 1G)")                                                       \
    O(CELL_WALLS, "sandbox", NULL,                                                                                     \
      "show which walls of a sandbox this machine has, and what to type for those that it lacks")                      \
    O(CONFIG, "config", "FILE", "where to listen, names, certificates and rules, as JSON; read again on SIGHUP")       \
    O(LISTEN, "listen", "ADDRESS:PORT", "listen there (else 127.0.0.1:8433); may be given several times")              \
    O(NO_TCP, "no-tcp", NULL, "listen on the socket beside the database alone")                                        \
    O(TLS_CERT, "tls-cert", "FILE", "the certificate, and those that signed it, in PEM")                               \
    O(TLS_KEY, "tls-key", "FILE", "the key of the certificate, in PEM")                                                \
    O(TLS_CA, "tls-ca", "FILE",                                                                                        \
      "who signs certificates of clients, in PEM; a client is the tfy:NAME of its certificate")                        \
    O(CHECK_ONLY, "check", NULL, "read the configuration, say what is wrong with it, and exit")                        \
    O(PRINT_CONFIG, "print-config", NULL, "print the configuration as it holds, without secrets, and exit")            \
    O(MCP_CHECK, "check", NULL,                                                                                        \
      "name each tool that differs from the file, and exit with 1 if any does; write nothing")                         \
    O(OPEN, "open", NULL, "open the page in a browser")                                                                \
    O(ROLES, "roles", "LIST", "what it may do: viewer, approver, operator, admin, with commas between them")           \
    O(ONLY, "only", "GLOBS", "the workflows that it sees, such as shop.*,ci.main (else all)")                          \
    O(EXPIRES, "expires", "TIME", "how long it is good, such as 30d (else until it is revoked)")                       \
    O(RATE, "rate", "N|none", "requests a second (else 100), and twice as many at once")                               \
    O(SERVER, "server", "URL", "ask the server there, with the token in the file that $TFY_TOKEN_FILE names")          \
    O(LABEL, "label", "NAME=VALUE", "a label to find the run by; may be given several times")                          \
    O(START_WAIT, "wait", NULL, "wait until the run has ended, and print its result")                                  \
    O(PROGRAM_NAME, "name", "NAME", "the program's name on the server (else that of the file)")                        \
    O(MOVE, "move", NULL, "let runs of older versions continue with the new one, where they can")                      \
    O(WATCH, "watch", NULL, "compile a program again when its file is saved, and let new runs have it")                \
    O(DRAIN, "drain", "TIME", "how long tools under way may take to finish at the end (else 30s)")                     \
    O(TO, "to", "URL", "where to: https://…, redis://…, nats://…, otlp+http://… or otlp+https://…")                    \
    O(FOLLOWER, "name", "NAME",                                                                                        \
      "the follower's name, under which its place in the log is kept (else webhook, redis, …)")                        \
    O(SECRET_FILE, "secret-file", "FILE", "what signs messages (https), or the password or token for the target")      \
    O(CONTENT, "content", NULL, "otlp: with the texts that models were sent, and their answers")                       \
    O(MCP_TOOL, "tool", "NAME",                                                                                        \
      "offer this workflow (else all that are documented and take and give JSON); may be given several times")         \
    O(MCP_HOLD, "hold", "TIME", "how long a call waits for its run before it is told a task (else 2s)")                \
    O(OFFER, "offer", "LIST",                                                                                          \
      "take the parameters of these workflows as untrusted: names with commas between them; -: all with a doc "        \
      "comment")                                                                                                       \
    O(MCP_PROMPT, "prompt", "NAME",                                                                                    \
      "offer this workflow as a prompt: its text, or its parts, are messages; may be given several times")             \
    O(MCP_RESOURCE, "resource", "ADDRESS=NAME",                                                                        \
      "offer this workflow as what is at an address such as docs://{id}; may be given several times")                  \
    O(MCP_TASK, "task", "NAME",                                                                                        \
      "answer calls of this tool by a task, and clients without tasks not at all; may be given several times")         \
    O(MCP_ASK_FIRST, "ask-first", "NAME",                                                                              \
      "ask what this tool asks within --hold with the call, not with its task; may be given several times")            \
    O(MCP, "mcp", NULL, "offer the programs to MCP clients, at /mcp")                                                  \
    O(MCP_APPROVE, "approve", "client|people",                                                                         \
      "who answers the questions of runs that an MCP client started: its user, or people here (the default)")          \
    O(SCOPE, "scope", "NAMES",                                                                                         \
      "ask for these rights too, with spaces between them (else for those that the server names)")                     \
    O(CLIENT_ID, "client-id", "ID",                                                                                    \
      "the client that was registered there for you, or the address of a document about it (else one is registered)")  \
    O(CLIENT_SECRET, "client-secret", "NAME", "the name of the secret that has the client's secret")                   \
    O(ISSUER, "issuer", "URL", "log in there alone, if the server names it (else at the first that it names)")              \
    O(POOL, "pool", "NAME", "the workers that may execute the run (else default)")                                     \
    O(MANY, "many", "FILE", "start a run for each line, which has its parameters as a JSON object; - reads standard input") \
    O(START_AFTER, "after", "RUN", "begin when this run has ended; may be given several times")                          \
    O(PRIORITY, "priority", "N", "go before 64 times N runs that were started before (else 0; below 0: behind them)")  \
    O(SHARE, "share", "PERCENT", "how many of 100 new runs get this version (else all)")                                 \
    O(PAUSE_POOL, "pool", "NAME", "only the queues of this pool (else of all pools)")                                    \
    O(WORKER_NAME, "name", "NAME", "what the worker is called in records and lists (else the machine's name)")         \
    O(WORKER_POOL, "pool", "NAME", "executes only runs that were started for this pool (else default)")                \
    O(ROLE_PREFIX, "roles", "NAME", "what the names of the database's roles begin with (else tfy, or as they are)")    \
    O(THREADS, "threads", "N", "execute runs in N threads of each program's process, from 1 to 64 (else 1)")           \
    O(LEASE, "lease", "TIME", "how long tools may work without news from the database, from 3s to 5m (else 30s)")      \
    O(ALLOW_LOSSY, "allow-lossy", NULL,                                                                                \
      "let standbys follow without being waited for: a failover then loses steps, and `once` steps may happen twice")

#define TFY_OPTION_ENUM(NAME, ...) OPT_##NAME,
typedef enum TfyOption { TFY_OPTIONS(TFY_OPTION_ENUM) OPT_COUNT } TfyOption;
#undef TFY_OPTION_ENUM

/* A set has a bit for each of so many options. A command has two sets: one of the first options of the table, and one of
 * those behind them. */
__extension__ typedef unsigned __int128 TfyOptionSet;
enum { TFY_OPTION_BITS = 128 };
_Static_assert((int)OPT_COUNT <= 2 * TFY_OPTION_BITS, "two sets of options have a bit for each");

typedef struct TfyOptionInfo {
    const char *name;     /* without the dashes */
    const char *argument; /* NULL: a flag */
    const char *meaning;
} TfyOptionInfo;

/* The table. A compiled program has only the options of its own commands (own_options.c), tfy has all
 * (all_options.c). */
extern const TfyOptionInfo tfy__options[OPT_COUNT];

const TfyOptionInfo *tfy__option_at(int option);

#endif
