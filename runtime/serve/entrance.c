/* entrance.c: see entrance.h. */
#include "serve/entrance.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "serve/admin.h"
#include "serve/bounds.h"
#include "serve/browser.h"
#include "serve/hooks.h"
#include "serve/listen.h"
#include "serve/notify.h"
#include "serve/queue.h"
#include "serve/tls.h"
#include "wal/history/fork.h"
#include "wal/history/history.h"
#include "wal/rows/payload.h"

enum { LOGIN_SIZE = sizeof((TfyServer *)0)->base + TFY_SECRET_SIZE + 16 };

static _Atomic bool again; /* SIGHUP came */
static TfyServer *the_server;
static TfyServeFlags the_flags;

static const TfyTls *newest_tls(void)
{
    const TfyConfig *config = the_server->config;
    return config->tls;
}

bool tfy__entrance_read(TfyServer *server, const TfyServeFlags *flags, char *error)
{
    the_server = server;
    the_flags = *flags;
    server->config = tfy__config_read(flags, error);
    return server->config;
}

/* ---- reading it again ---- */

static void record_config(TfyLoop *loop, void *arg)
{
    TfyCaller caller = {.how = "signal", .name = "SIGHUP"};
    if (loop) (void)tfy__admin_append(tfy__loop_log(loop), &caller, "config", NULL, NULL);
}

/* Ports that the system chose keep their names. */
static void take_names(TfyConfig *config, const TfyConfig *old)
{
    for (size_t i = 0; i < config->listen_count; i++)
        if (old->listen[i].actual[0]) {
            memcpy(config->listen[i].actual, old->listen[i].actual, sizeof config->listen[i].actual);
            tfy__config_name(config, &config->listen[i], config->listen[i].actual);
        }
}

static void read_again(TfyServer *server)
{
    char error[TFY_ERROR_TEXT];
    TfyConfig *old = server->config, *config = tfy__config_read(&the_flags, error);
    if (config && !tfy__config_listens_alike(config, old)) {
        tfy__config_free(config);
        config = NULL;
        snprintf(error, sizeof error, "it listens elsewhere, which takes a new start");
    }
    if (config && !tfy__hooks_fit(server, config, error)) {
        tfy__config_free(config);
        config = NULL;
    }
    if (!config) {
        tfy__say("the configuration stays as it was: %s", error);
        return;
    }
    take_names(config, old);
    config->older = old;
    server->config = config;
    if (server->loop) (void)tfy__command_post(server, record_config, server);
    tfy__say("the configuration was read again");
}

void tfy__entrance_again(void)
{
    again = true;
}

/* Whoever watches the process starts it again when it has not heard for a while that the loop turns. */
static void tell_it_turns(TfyServer *server)
{
    static int64_t told_ms;
    const int64_t every_ms = tfy__notify_every_ms(), now_ms = tfy__monotonic_ms();
    if (!every_ms || now_ms - told_ms < every_ms || !tfy__health_turns(server)) return;
    told_ms = now_ms;
    tfy__notify("WATCHDOG=1");
}

static void tick(void *arg)
{
    TfyServer *server = arg;
    if (again) {
        again = false;
        read_again(server);
    }
    if (server->queue) tfy__queue_tick(server->queue);
    tell_it_turns(server);
}

/* ---- opening ---- */

static void name_base(TfyServer *server, const TfyConfig *config, const TfyListen *listen)
{
    if (*server->base || listen->proxy) return;
    if (config->hosts[0] && config->tls)
        snprintf(server->base, sizeof server->base, "https://%.100s%s", config->hosts[0], strrchr(listen->actual, ':'));
    else
        snprintf(server->base, sizeof server->base, "%s://%s", config->tls ? "https" : "http", listen->actual);
}

static bool listen_at(TfyServer *server, int number, char *error)
{
    TfyConfig *config = server->config;
    TfyListen *listen = &config->listen[number];
    const int fd = listen->address ? tfy__listen_tcp(listen->address, listen->actual, error)
                                   : tfy__listen_unix(listen->path, 0660, error);
    if (fd < 0 && listen->usual) {
        tfy__say("%s; it can be reached through its socket alone (--listen ADDRESS:PORT names another port)", error);
        return true;
    }
    if (fd < 0) return false;
    if (listen->address) {
        tfy__config_name(config, listen, listen->actual);
        name_base(server, config, listen);
    }
    return tfy__http_listen(server->http, fd, number, error);
}

bool tfy__entrance_open(TfyServer *server, char *error)
{
    const TfyConfig *config = server->config;
    tfy__tls_serve(newest_tls);
    if (!(server->door = tfy__door_open(server->place, error))) return false;
    if (!(server->bounds = tfy__bounds_open(tick, server))) return false;
    if (!(server->http = tfy__http_open(server, error))) return false;
    const int live = tfy__listen_live(server->place, error);
    if (live < 0 || !tfy__http_listen(server->http, live, -1, error)) return false;
    for (size_t i = 0; i < config->listen_count; i++)
        if (!listen_at(server, (int)i, error)) return false;
    return tfy__listen_all_asked(error);
}

/* The address that lets a browser in. Whoever starts this process may do what they want with it, so the code gives
 * everything. */
static bool login_address(TfyServer *server, char address[LOGIN_SIZE])
{
    TfyCaller caller = {.how = "terminal", .roles = TFY_ROLE_ALL};
    char code[TFY_SECRET_SIZE];
    tfy__user_name(geteuid(), caller.name, sizeof caller.name);
    if (!tfy__door_code(server->door, &caller, code)) return false;
    snprintf(address, LOGIN_SIZE, "%s/#login=%s", server->base, code);
    return true;
}

/* With a code of its own: that of the terminal is still good then. */
static void open_browser(TfyServer *server)
{
    char address[LOGIN_SIZE];
    if (!*server->base)
        tfy__say("--open: there is no address that a browser could open");
    else if (!login_address(server, address) || !tfy__browser_open(server->place, address))
        tfy__say("--open: xdg-open cannot be started; open %s yourself, with a code of `tfy token login`",
                 server->base);
}

void tfy__entrance_tell(TfyServer *server, bool opens)
{
    char address[LOGIN_SIZE];
    tfy__notify("READY=1");
    if (*server->base)
        tfy__say("serving %s at %s-live/http and %s", server->db, server->place, server->base);
    else
        tfy__say("serving %s at %s-live/http", server->db, server->place);
    if (*server->base && isatty(STDERR_FILENO) && login_address(server, address))
        tfy__say_text("open %s (once, within ten minutes; `tfy token login` prints another)\n", address);
    if (opens) open_browser(server);
}

void tfy__entrance_quit(TfyServer *server)
{
    if (server->http) tfy__listen_live_end(server->place);
    if (server->http) tfy__browser_end(server->place);
    if (server->http) tfy__http_quit(server->http);
    tfy__http_close(server->http);
    tfy__bounds_close(server->bounds);
}

void tfy__entrance_close(TfyServer *server)
{
    tfy__door_close(server->door);
    tfy__config_free(server->config);
}

/* ---- the line protocol ---- */

static TfyRole role_for(const char *what)
{
    return strcmp(what, "approve") == 0 ? TFY_ROLE_APPROVER : TFY_ROLE_OPERATOR;
}

/* On the loop's thread, as the request is. The caller is the process's own user, or root. */
bool tfy__entrance_guard(void *arg, const char *what, const char *run, const char *by, char *error)
{
    TfyServer *server = arg;
    TfyLog *log = tfy__loop_log(server->loop);
    TfyCaller caller = {.how = "unix", .roles = TFY_ROLE_ALL};
    TfyProblem problem = {.kind = TFY_NO_PROBLEM};
    TfyLogRun row;
    TfyLogOutline outline = {0};
    TfyPayload payload;
    char scratch[TFY_ERROR_TEXT];
    bool may = true;
    snprintf(caller.name, sizeof caller.name, "%s", by);
    if (tfy__history_find(log, run, &row, scratch) != TFY_OK || tfy__log_outline(log, &row, &outline) != TFY_OK)
        return true; /* there is no such run, which the request finds out, too */
    const TfyLogRecord birth = tfy__record_of_payload(outline.birth);
    tfy__payload_open(&payload, &birth);
    const char *program = tfy__payload_text(&payload, TFY_P_PROGRAM_NAME),
               *workflow = tfy__payload_text(&payload, TFY_P_WORKFLOW);
    const TfyAbout about = {program ? program : "", workflow ? workflow : "", tfy__fork_starter(&payload)};
    may = tfy__may(server, &caller, role_for(what), &about, &problem);
    if (!may) snprintf(error, TFY_ERROR_TEXT, "%s", problem.detail);
    tfy__payload_close(&payload);
    tfy__log_outline_free(&outline);
    tfy__problem_clear(&problem);
    return may;
}
