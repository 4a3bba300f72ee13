/* main.c: tfy-serve: opens the database, loads the programs, and turns the loop until a signal ends it.
 *
 * tfy-serve [--db FILE] [--config FILE] … [NAME=]FILE.so …   with programs that `tfy build --shared` made
 * tfy-serve mcp [--tool NAME] … [--hold TIME] …               the same with an MCP client at standard input and output
 * tfy-serve token …                                          what `tfy token` is (token_command.h)
 * tfy-serve start …, deploy …, drain …                       what these commands of tfy are (server_command.h)
 * tfy-serve ps …, inspect …, request …                       commands of tfy about runs elsewhere (remote.h) */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "cli/program/owner.h"
#include "effects/llm_client.h"
#include "serve/build.h"
#include "serve/child.h"
#include "serve/clock.h"
#include "serve/drain.h"
#include "serve/entrance.h"
#include "serve/followers.h"
#include "serve/hooks.h"
#include "serve/http_figures.h"
#include "serve/lists.h"
#include "serve/listen.h"
#include "serve/mcp/bridge.h"
#include "serve/mcp/mcp.h"
#include "serve/notify.h"
#include "serve/programs.h"
#include "serve/queue.h"
#include "serve/reach.h"
#include "serve/remote.h"
#include "serve/schedules.h"
#include "serve/serve.h"
#include "serve/stream.h"
#include "serve/server_command.h"
#include "serve/shared/server.h"
#include "serve/token_command.h"
#include "serve/versions.h"
#include "serve/watch.h"
#include "value/json.h"
#include "wal/store/pg_address.h"

enum { FILES = 4096, NAMES_MOST = 512 };

/* What an option names that may be given several times. */
typedef struct Names {
    const char *items[NAMES_MOST + 1]; /* ends with NULL */
    int count;
} Names;

typedef struct Words {
    TfyServeFlags flags;
    bool check, print; /* only the configuration */
    bool open;         /* a browser */
    const char *watch[TFY_WATCH_MOST];
    int watch_count;
    bool stdio; /* a client of the Model Context Protocol is at standard input and output */
    bool mcp;   /* what the command line names is offered to clients of it: */
    Names programs, tools, prompts, resources, tasks, asking;
    TfyMcpSettings settings;
} Words;

typedef struct Main {
    TfyServer server;
    TfyOwner *owner;
    struct TfyWatch *watch;
    struct TfyMcpStdio *stdio;
    const char *llm;     /* where models' answers come from; NULL: from endpoints */
    TfyLlmClient client; /* … from this */
    char error[TFY_ERROR_TEXT];
} Main;

static TfyServer *the_server; /* written before signals are caught */

static volatile int64_t signalled_ms; /* when one was last obeyed; 0: none was */

static void on_signal(int number)
{
    const int reason = errno;
    const int64_t now_ms = tfy__monotonic_ms();
    if (now_ms - signalled_ms >= TFY_SIGNALS_APART_MS) {
        signalled_ms = now_ms;
        tfy__drain_server(the_server);
    }
    errno = reason;
}

static void on_hangup(int number)
{
    tfy__entrance_again();
}

static void catch_signals(TfyServer *server)
{
    const struct sigaction action = {.sa_handler = on_signal},
                           reread = {.sa_handler = on_hangup, .sa_flags = SA_RESTART};
    the_server = server;
    tfy__drain_by(server->loop, &server->running);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &reread, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* It ends already, and a handler would look at what is no longer there. */
static void ignore_signals(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
}

/* ---- programs ---- */

/* "shop=/path/of/it.so", or "build/shop.so", which is the program shop, too. *path: the object's. */
static char *name_of(const char *word, const char **path)
{
    const char *equal = strchr(word, '='), *slash = strrchr(word, '/'), *start = slash ? slash + 1 : word;
    *path = equal ? equal + 1 : word;
    return equal ? strndup(word, (size_t)(equal - word)) : strndup(start, strcspn(start, "."));
}

static bool refuse(Main *it, const char *word, const char *why)
{
    snprintf(it->error, sizeof it->error, "%.200s: %s", word, why);
    return false;
}

/* The object takes its place among the programs, or is closed. */
static bool add_object(Main *it, const char *name, TfyShared *shared)
{
    const TfyServed *served = shared ? tfy__served_new(it->server.programs, name, shared) : NULL;
    return served && tfy__served_activate(it->server.programs, served);
}

static bool add_program(Main *it, const char *word)
{
    const char *path;
    char *name = name_of(word, &path);
    TfyShared *shared = NULL;
    bool fine = name;
    if (fine && !tfy__program_name_fits(name)) fine = refuse(it, name, TFY_PROGRAM_NAME_RULE);
    if (fine && tfy__served_named(&it->server, name)) fine = refuse(it, name, "another program has this name");
    if (fine) fine = tfy_shared_open(&shared, path, it->error) == TFY_OK;
    fine = fine && add_object(it, name, shared);
    free(name);
    return fine;
}

/* A program of the configuration: an object, or source that is compiled first. */
static bool add_file(Main *it, const char *name, const char *file)
{
    TfyShared *shared = NULL;
    TfyBuffer offer = {0};
    TfyBuild build = {.what = file, .db = it->server.db, .most_ms = it->server.config->compile_ms};
    build.offer = tfy__mcp_offer_of(&it->server, name, &offer);
    if (!tfy__program_name_fits(name)) return refuse(it, name, "a program cannot have this name");
    if (tfy__ends_with(file, ".so")) {
        tfy__buffer_free(&offer);
        if (tfy_shared_open(&shared, file, it->error) != TFY_OK) return false;
    } else if (!(shared = tfy__build(&build, it->error))) {
        if (build.messages) tfy__say_text("%s", build.messages);
        free(build.messages);
        tfy__buffer_free(&offer);
        return refuse(it, file, strdupa(it->error));
    }
    tfy__buffer_free(&offer);
    free(build.messages);
    return add_object(it, name, shared);
}

/* What the command line names goes before the configuration. */
static bool add_configured(Main *it)
{
    const TfyConfig *config = it->server.config;
    const char *name;
    json_t *program;
    json_object_foreach(config->programs, name, program)
    {
        const char *file = json_string_value(json_object_get(program, "file"));
        if (file && !tfy__served_named(&it->server, name) && !add_file(it, name, file)) return false;
    }
    const TfyCatalog *catalog = tfy__catalog(&it->server);
    for (size_t i = 0; i < catalog->count; i++) {
        const TfyReach *reach = tfy__reach_of(config, catalog->served[i]->name);
        if (reach && !tfy__reach_fits(reach, catalog->served[i]->program, it->error)) return false;
    }
    return catalog->count || refuse(it, "there is no program",
                                    "name FILE.tfy or FILE.so, or a \"file\" of \"programs\" in the configuration");
}

static bool add_programs(Main *it, char **paths, int count)
{
    it->server.programs = tfy__programs_new();
    for (int i = 0; i < count; i++)
        if (!it->server.programs || !add_program(it, paths[i])) return false;
    return it->server.programs;
}

static void on_event(void *arg, const char *json, size_t len)
{
    const TfyServer *server = arg;
    tfy__hub_tell(server->hub, json, len);
}

/* A run differs from its log (core/served.h): people are told, lists show it, and it keeps nobody waiting. */
static void on_diverged(void *arg, const char *run, const char *why)
{
    const TfyServer *server = arg;
    if (why) tfy__say("set aside: %s", why);
    if (server->queue) tfy__queue_diverged(server->queue, run, why);
    if (server->tail) tfy__tail_diverged(server->tail, run, why);
}

static void show_diverged(void *arg, const char *run, const char *why)
{
    tfy__tail_diverged(arg, run, why);
}

/* 0, or a negative code with a sentence. */
static int open_loop(Main *it)
{
    const TfyCatalog *catalog = tfy__catalog(&it->server);
    const TfyReach *first = tfy__reach_of(it->server.config, catalog->served[0]->name);
    const TfyOptions options = {.db_path = it->server.db,
                                .root = first ? first->root : NULL,
                                .models = it->server.config->models,
                                .llm = it->llm,
                                .stay = true,
                                .served = true,
                                .on_event = on_event,
                                .state = &it->server};
    int code = tfy_open(&it->server.loop, catalog->served[0]->program, &options, it->error);
    if (!code && it->llm && !tfy__mcp_samples_open(&it->server, &it->client)) code = TFY_E_NOMEM;
    for (size_t i = 0; i < catalog->count && !code; i++)
        code = tfy__served_load(&it->server, catalog->served[i], it->error);
    if (code) return code;
    if (!tfy__versions_open(&it->server, it->error)) return TFY_E_IO;
    tfy__leave_rootless(it->server.loop);
    tfy__set_aside(it->server.loop, on_diverged, &it->server);
    return tfy__resume_all(it->server.loop, it->error);
}

/* ---- the server ---- */

static void wake_readers(TfyLoop *loop, void *arg)
{
    const TfyServer *server = arg;
    if (!loop) return;
    tfy__tail_wake(server->tail);
    tfy__hub_wake(server->hub, tfy__log_durable_lsn(tfy__loop_log(loop)));
    tfy__mcp_host_wake(server->mcp);
}

static void count_turn(void *state, int64_t took_ns)
{
    TfyServer *server = state;
    tfy__times_add(&server->turns, took_ns / 1000);
}

/* Whether any program is offered to clients of the Model Context Protocol. */
static bool offers(const TfyServer *server, const TfyMcpSettings *settings)
{
    const TfyConfig *config = server->config;
    const char *name;
    json_t *program;
    bool any = settings->programs;
    json_object_foreach(config->programs, name, program) any |= json_is_true(json_object_get(program, "mcp"));
    return any;
}

/* Last of all, since a client may call at once. */
static bool open_mcp(Main *it, const Words *words)
{
    TfyServer *server = &it->server;
    if (!words->stdio) return true;
    return (it->stdio = tfy__mcp_stdio_open(server, server->mcp, it->error));
}

static bool open_server(Main *it, const Words *words)
{
    TfyServer *server = &it->server;
    it->owner = tfy__owner_start(server->loop, server->db);
    tfy__owner_guard(it->owner, tfy__entrance_guard, server);
    if (!tfy__hooks_fit(server, server->config, it->error)) return false;
    if (!(server->figures = tfy__http_figures_new())) return false;
    if (!(server->tail = tfy__tail_open(server, it->error))) return false;
    tfy__see_diverged(server->loop, show_diverged, server->tail); /* found when the runs were resumed */
    if (!(server->queue = tfy__queue_open(server, it->error))) return false;
    if (!(server->hub = tfy__hub_open(server, it->error))) return false;
    server->lists = &tfy__index_lists;
    memcpy(server->uuid, tfy__log_uuid(tfy__loop_log(server->loop)), sizeof server->uuid);
    if (!(server->children = tfy__children_open())) return false;
    if (!(server->readers = tfy__readers_open(server, it->error))) return false;
    if (!(server->schedules = tfy__schedules_open(server, it->error))) return false;
    if (!(server->followers = tfy__followers_open(server, it->error))) return false;
    if (offers(server, &words->settings) && !(server->mcp = tfy__mcp_host_open(server, &words->settings, it->error)))
        return false;
    tfy__on_durable(server->loop, wake_readers, server);
    tfy__on_turns(server->loop, count_turn, server);
    return tfy__entrance_open(server, it->error);
}

/* ---- the end ---- */

/* Requests that the loop has are answered when it finishes, so HTTP ends after that; HTTP and readers look at its log, so
 * it is closed after them. */
static int close_all(Main *it, int status)
{
    TfyServer *server = &it->server;
    ignore_signals();
    server->draining = true;
    tfy__owner_stop(it->owner);
    tfy__watch_quit(it->watch);
    tfy__schedules_quit(server->schedules);
    tfy__command_finish(server);
    tfy__followers_quit(server->followers);
    tfy__tail_quit(server->tail);
    tfy__hub_quit(server->hub);
    tfy__children_quit(server->children);
    tfy__mcp_stdio_quit(it->stdio);
    tfy__mcp_host_quit(server->mcp);
    tfy__mcp_stdio_close(it->stdio);
    tfy__entrance_quit(server);
    tfy__mcp_host_close(server->mcp);
    tfy__readers_close(server->readers);
    (void)tfy_close(server->loop);
    tfy__tail_close(server->tail);
    tfy__hub_close(server->hub);
    tfy__children_close(server->children);
    tfy__followers_close(server->followers);
    tfy__schedules_close(server->schedules);
    tfy__watch_close(it->watch);
    tfy__queue_close(server->queue);
    tfy__entrance_close(server);
    free(server->openapi);
    tfy__http_figures_free(server->figures);
    tfy__table_free(&server->starting);
    tfy__programs_close(server->programs);
    return status;
}

static int serve(Main *it, const Words *words)
{
    int code = open_loop(it);
    if (code || !open_server(it, words) ||
        !(it->watch = tfy__watch_open(&it->server, words->watch, words->watch_count, it->error)) ||
        !open_mcp(it, words)) {
        tfy__say("%s", it->error);
        return close_all(it, code ? tfy__exit_status(code) : EXIT_MISSING);
    }
    catch_signals(&it->server);
    tfy__entrance_tell(&it->server, words->open);
    code = tfy_run(it->server.loop);
    if (code != TFY_E_STATE && code != 0) {
        tfy__say("%s", tfy__failure(it->server.loop));
        return close_all(it, tfy__exit_status(code));
    }
    char *calls = tfy__under_way(it->server.loop);
    if (calls) tfy__say("%s did not finish in time and is ended", calls);
    free(calls);
    return close_all(it, calls ? EXIT_WAITING : EXIT_DONE);
}

/* Over a shared database, whose workers execute what is deployed there. */
static int serve_shared(Main *it, const Words *words, int files)
{
    if (files || words->watch_count)
        return tfy__fail(EXIT_USAGE,
                         "a shared database has the programs that were deployed there: tfy deploy FILE.tfy, "
                         "then tfy serve without a file");
    if (words->stdio || words->mcp)
        return tfy__fail(EXIT_USAGE, "programs of a shared database are not offered to MCP clients");
    return tfy__shared_serve(&it->server, words->open);
}

static bool add_name(Names *names, const char *name)
{
    if (names->count == NAMES_MOST) return false;
    names->items[names->count++] = name;
    return true;
}

/* A database has more programs than those that are named, since it keeps what was deployed. */
static void offer_named(const TfyServer *server, Words *words)
{
    const TfyCatalog *named = tfy__catalog(server);
    for (size_t i = 0; words->mcp && i < named->count; i++) (void)add_name(&words->programs, named->served[i]->name);
    if (words->programs.count) words->settings.programs = words->programs.items;
}

static bool take_option(Main *it, Words *words, int option)
{
    TfyServeFlags *flags = &words->flags;
    switch (option) {
    case 'd': it->server.db = optarg; return true;
    case 'c': flags->config = optarg; return true;
    case 'n': flags->no_tcp = true; return true;
    case 'C': flags->cert = optarg; return true;
    case 'K': flags->key = optarg; return true;
    case 'A': flags->ca = optarg; return true;
    case 'D': flags->drain = optarg; return true;
    case 'x': words->check = true; return true;
    case 'p': words->print = true; return true;
    case 'o': words->open = true; return true;
    case 'w':
        if (words->watch_count == TFY_WATCH_MOST) return false;
        words->watch[words->watch_count++] = optarg;
        return true;
    case 'm': words->mcp = true; return true;
    case 'a': words->settings.clients_approve = strcmp(optarg, "client") == 0; return true;
    case 'L': it->llm = optarg; return true;
    case 't': words->settings.wanted.tools = words->tools.items; return add_name(&words->tools, optarg);
    case 'P': words->settings.wanted.prompts = words->prompts.items; return add_name(&words->prompts, optarg);
    case 'r': words->settings.wanted.resources = words->resources.items; return add_name(&words->resources, optarg);
    case 'T': words->settings.wanted.tasks = words->tasks.items; return add_name(&words->tasks, optarg);
    case 'q': words->settings.wanted.asking = words->asking.items; return add_name(&words->asking, optarg);
    case 'h':
        return tfy__read_duration(optarg, strlen(optarg), &words->settings.hold_ms) && words->settings.hold_ms >= 0;
    case 'l':
        if (flags->listen_count == TFY_LISTEN_MOST) return false;
        flags->listen[flags->listen_count++] = optarg;
        return true;
    default: return false;
    }
}

static bool take_words(Main *it, Words *words, int argc, char **argv)
{
    static const struct option options[] = {{"db", required_argument, NULL, 'd'},
                                            {"config", required_argument, NULL, 'c'},
                                            {"listen", required_argument, NULL, 'l'},
                                            {"no-tcp", no_argument, NULL, 'n'},
                                            {"tls-cert", required_argument, NULL, 'C'},
                                            {"tls-key", required_argument, NULL, 'K'},
                                            {"tls-ca", required_argument, NULL, 'A'},
                                            {"drain", required_argument, NULL, 'D'},
                                            {"check", no_argument, NULL, 'x'},
                                            {"print-config", no_argument, NULL, 'p'},
                                            {"open", no_argument, NULL, 'o'},
                                            {"watch", required_argument, NULL, 'w'},
                                            {"mcp", no_argument, NULL, 'm'},
                                            {"approve", required_argument, NULL, 'a'},
                                            {"llm", required_argument, NULL, 'L'},
                                            {"tool", required_argument, NULL, 't'},
                                            {"task", required_argument, NULL, 'T'},
                                            {"ask-first", required_argument, NULL, 'q'},
                                            {"prompt", required_argument, NULL, 'P'},
                                            {"resource", required_argument, NULL, 'r'},
                                            {"hold", required_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (!take_option(it, words, option)) return false;
    return true;
}

/* Connections are descriptors, and many systems give a process 1,024 unless it asks. */
static void raise_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= FILES) return;
    limit.rlim_cur = limit.rlim_max < FILES ? limit.rlim_max : FILES;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
    Main it = {.server = {.posting = PTHREAD_MUTEX_INITIALIZER, .documents = PTHREAD_MUTEX_INITIALIZER}};
    Words words = {.settings = {.hold_ms = TFY_MCP_HOLD_MS}};
    it.server.offering = &words.settings;
    tfy__set_program_name("tfy serve");
    tfy_hide_secrets(false);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* counts, behind a mutex of all threads, that nobody asks for */
    tfy__notify_open();
    tfy__listen_take();
    raise_files();
    it.server.db = getenv("TFY_DB") ? getenv("TFY_DB") : ".tfy/runs.db";
    if (argc > 1 && strcmp(argv[1], "token") == 0) return tfy__token_command(argc - 1, argv + 1);
    if (argc > 1 && tfy__is_server_command(argv[1])) return tfy__server_command(argc - 1, argv + 1);
    if (argc > 1 && tfy__is_remote_command(argv[1])) return tfy__remote_command(argc - 1, argv + 1);
    words.stdio = argc > 1 && strcmp(argv[1], "mcp") == 0;
    words.flags.no_tcp = words.mcp = words.settings.clients_approve = words.stdio;
    if (words.stdio) tfy__set_program_name("tfy mcp serve");
    if (words.stdio && !tfy__mcp_stdio_take()) return tfy__fail(EXIT_MISSING, "standard files cannot be taken");
    if (!take_words(&it, &words, argc - words.stdio, argv + words.stdio)) return EXIT_USAGE;
    it.server.place = it.server.db;
    if (words.stdio && tfy__mcp_bridge_has(it.server.db)) {
        int in, out;
        tfy__mcp_stdio_taken(&in, &out);
        return tfy__mcp_bridge_run(it.server.db, in, out);
    }
    if (!tfy__entrance_read(&it.server, &words.flags, it.error)) return tfy__fail(EXIT_USAGE, "%s", it.error);
    if (words.print && !tfy__config_print(it.server.config, &words.flags, stdout))
        return close_all(&it, tfy__fail(EXIT_MISSING, "the configuration cannot be printed"));
    if (words.check || words.print) return close_all(&it, EXIT_DONE);
    if (tfy__pg_is_address(it.server.db)) return serve_shared(&it, &words, argc - optind);
    const bool named = add_programs(&it, argv + words.stdio + optind, argc - words.stdio - optind);
    if (named) offer_named(&it.server, &words);
    if (!named || !add_configured(&it)) {
        tfy__say("%s", *it.error ? it.error : "memory ran out");
        return close_all(&it, EXIT_MISSING);
    }
    return serve(&it, &words);
}
