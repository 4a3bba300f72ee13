/* postgres.h: a real PostgreSQL for tests: a server of their own with a temporary directory, reached by its socket only.
 *
 * It runs as a user that is not root, as PostgreSQL demands; and it ends with the process that started it, however that ends.
 * Servers crash here, and machines do not, so it leaves syncing to the kernel: a disk that stalls for seconds would cost leases. Where the server is not installed, tests that need it are skipped. */
#ifndef CLUSTER_POSTGRES_H
#define CLUSTER_POSTGRES_H

#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wal/store/pg.h"
#include "wal/store/pg_link.h"
#include "wal/store/pg_schema.h"

typedef struct Postgres {
    char directory[64]; /* "": it is not installed */
    char bin[128];
    uid_t user;
    gid_t group;
    pid_t pid;           /* of the server; 0: it does not run */
    bool syncs;          /* it waits for its disk */
    char address[256];   /* of database tfy, without tables at first */
    TfyPgAddress parsed; /* the same for link */
    TfyPgLink link;      /* of the test itself */
} Postgres;

/* ---- the server ---- */

static inline bool postgres_find(Postgres *server)
{
    static const char *const places[] = {"/usr/lib/postgresql/17/bin",
                                         "/usr/lib/postgresql/16/bin",
                                         "/usr/lib/postgresql/15/bin",
                                         "/usr/local/pgsql/bin",
                                         "/usr/local/bin",
                                         "/usr/bin"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char name[160];
        snprintf(name, sizeof name, "%s/initdb", places[i]);
        if (access(name, X_OK) != 0) continue;
        snprintf(server->bin, sizeof server->bin, "%s", places[i]);
        return true;
    }
    return false;
}

/* In a child: another user, whose processes end with the parent. */
static inline void postgres_become(const Postgres *server, pid_t parent)
{
    if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(server->group) != 0 || setuid(server->user) != 0))
        _exit(71);
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (getppid() != parent) _exit(71);
    char log[96];
    snprintf(log, sizeof log, "%s/log", server->directory);
    const int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 || chdir(server->directory) != 0) _exit(71);
}

static inline pid_t postgres_run(const Postgres *server, const char *program, char *const *words)
{
    char path[200];
    const pid_t parent = getpid(), pid = fork();
    snprintf(path, sizeof path, "%s/%s", server->bin, program);
    if (pid) return pid;
    postgres_become(server, parent);
    execv(path, words);
    _exit(72);
}

static inline bool postgres_answers(const Postgres *server)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "%s/.s.PGSQL.5432", server->directory);
    const int on = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool found = on >= 0 && connect(on, (struct sockaddr *)&name, sizeof name) == 0;
    if (on >= 0) close(on);
    return found;
}

static inline bool postgres_link(Postgres *server, const char *name)
{
    snprintf(server->address, sizeof server->address, "postgresql:///%s?host=%s&user=tfy", name, server->directory);
    tfy__pg_link_free(&server->link);
    tfy__pg_address_free(&server->parsed);
    server->link = (TfyPgLink){.address = &server->parsed, .patience_ms = 20000, .bare = true};
    if (tfy__pg_api(&server->link.api, NULL) != 0) return false;
    if (tfy__pg_address_read(&server->parsed, server->link.api, server->address, "test", NULL) != 0) return false;
    for (int i = 0; i < 600; i++) {
        if (tfy__pg_link_open(&server->link) == 0) return true;
        server->link.again_ms = 0;
        poll(NULL, 0, 50);
    }
    fprintf(stderr, "%s\n", server->link.error);
    return false;
}

static inline bool postgres_start(Postgres *server)
{
    char data[80], sockets[120];
    snprintf(data, sizeof data, "%s/data", server->directory);
    snprintf(sockets, sizeof sockets, "unix_socket_directories=%s", server->directory);
    char *const words[] = {"postgres",
                           "-D",
                           data,
                           "-c",
                           "listen_addresses=",
                           "-c",
                           sockets,
                           "-c",
                           "max_connections=40",
                           "-c",
                           "max_wal_size=4GB",
                           "-c",
                           server->syncs ? "fsync=on" : "fsync=off",
                           NULL};
    server->pid = postgres_run(server, "postgres", words);
    for (int i = 0; i < 600 && !postgres_answers(server); i++) poll(NULL, 0, 20);
    return postgres_answers(server);
}

/* SIGQUIT: as if it crashed; SIGINT: connections are closed first. */
static inline void postgres_stop(Postgres *server, int signal)
{
    if (!server->pid) return;
    kill(server->pid, signal);
    waitpid(server->pid, NULL, 0);
    server->pid = 0;
}

/* ---- statements of the test ---- */

/* Runs a statement; its answer's first value as text is in `said` (NULL: nobody asks). False: it failed. */
static inline bool postgres_try(Postgres *server, char *said, size_t size, const char *format, ...)
{
    char text[2000];
    va_list arguments;
    TfyPgResult *result;
    TfyPgAsk ask;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tfy__pg_ask_text(&ask, text, "do what the test says");
    server->link.again_ms = 0;
    int code = tfy__pg_link_open(&server->link);
    if (!code) code = tfy__pg_one(&server->link, &ask, &result);
    if (code) return false;
    const TfyPgApi *api = server->link.api;
    if (said) *said = '\0';
    if (said && api->ntuples(result)) snprintf(said, size, "%s", api->getvalue(result, 0, 0));
    api->clear(result);
    return true;
}

#define postgres_do(server_, ...)                                                                                      \
    do {                                                                                                               \
        if (!postgres_try(server_, NULL, 0, __VA_ARGS__)) fail_msg("%s", (server_)->link.error);                       \
    } while (0)

/* A whole number. */
#define postgres_number(server_, select_, ...)                                                                         \
    ({                                                                                                                 \
        char said_[64];                                                                                                \
        if (!postgres_try(server_, said_, sizeof said_, "SELECT (" select_ ")::text" __VA_OPT__(, ) __VA_ARGS__))      \
            fail_msg("%s", (server_)->link.error);                                                                     \
        (int64_t) strtoll(said_, NULL, 10);                                                                            \
    })

/* ---- databases ---- */

/* A new database with tables; its address is the server's from now on. */
static inline bool postgres_fresh(Postgres *server, const TfyPgMake *make)
{
    static int number;
    char name[40], error[512];
    if (!postgres_link(server, "postgres")) return false;
    snprintf(name, sizeof name, "tfy%d", ++number);
    if (!postgres_try(server, NULL, 0, "CREATE DATABASE %s TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'", name))
        return false;
    if (!postgres_link(server, name)) return false;
    if (!make) return true;
    const int code = tfy__pg_create(server->address, make, error);
    if (code) fprintf(stderr, "%s\n", error);
    return code == 0;
}

static inline void postgres_remove(Postgres *server)
{
    char command[128];
    if (server->link.api) tfy__pg_link_free(&server->link);
    tfy__pg_address_free(&server->parsed);
    postgres_stop(server, SIGQUIT);
    snprintf(command, sizeof command, "rm -rf '%s'", server->directory);
    /* Processes of the server may write to its end. */
    int code = server->directory[0];
    for (int i = 0; code && i < 20; i++, poll(NULL, 0, code ? 100 : 0)) code = system(command);
    if (code) fprintf(stderr, "%s is left\n", server->directory);
    server->directory[0] = '\0';
}

/* Starts a server, with what `syncs` says; false: there is none on this machine, or it does not start (then a message says so). */
static inline bool postgres_make(Postgres *server)
{
    *server = (Postgres){.syncs = server->syncs};
    if (!postgres_find(server)) return false;
    const struct passwd *user = getpwnam("postgres");
    if (!user) user = getpwnam("nobody");
    server->user = user ? user->pw_uid : 65534;
    server->group = user ? user->pw_gid : 65534;
    strcpy(server->directory, "/tmp/tfy-pg-XXXXXX");
    if (!mkdtemp(server->directory)) return server->directory[0] = '\0', false;
    if (geteuid() == 0 && chown(server->directory, server->user, server->group) != 0) return false;
    char data[80];
    int status = -1;
    snprintf(data, sizeof data, "%s/data", server->directory);
    char *const words[] = {"initdb", "-D",   data,         "-U", "tfy", "-A", "trust", "-N", "--no-instructions",
                           "-E",     "UTF8", "--locale=C", NULL};
    const pid_t pid = postgres_run(server, "initdb", words);
    if (waitpid(pid, &status, 0) == pid && status == 0 && postgres_start(server)) return true;
    fprintf(stderr, "initdb: status %d; or the server does not start\n", status);
    postgres_remove(server);
    return false;
}

/* A standby that follows the server, with a directory of its own; false: it does not start (then a message says so). */
static inline bool postgres_follow(Postgres *standby, const Postgres *server)
{
    char data[80];
    int status = -1;
    *standby = (Postgres){.user = server->user, .group = server->group};
    memcpy(standby->bin, server->bin, sizeof standby->bin);
    strcpy(standby->directory, "/tmp/tfy-pg-XXXXXX");
    if (!mkdtemp(standby->directory)) return standby->directory[0] = '\0', false;
    if (geteuid() == 0 && chown(standby->directory, standby->user, standby->group) != 0) return false;
    snprintf(data, sizeof data, "%s/data", standby->directory);
    char *const words[] = {"pg_basebackup",           "-D", data,  "-R", "-N", "-c", "fast", "-h",
                           (char *)server->directory, "-U", "tfy", NULL};
    const pid_t pid = postgres_run(standby, "pg_basebackup", words);
    if (waitpid(pid, &status, 0) == pid && status == 0 && postgres_start(standby)) return true;
    fprintf(stderr, "pg_basebackup: status %d; or the standby does not start\n", status);
    postgres_remove(standby);
    return false;
}

/* The standby takes over. */
static inline bool postgres_promote(Postgres *standby)
{
    char data[80];
    int status = -1;
    snprintf(data, sizeof data, "%s/data", standby->directory);
    char *const words[] = {"pg_ctl", "promote", "-D", data, NULL};
    const pid_t pid = postgres_run(standby, "pg_ctl", words);
    return waitpid(pid, &status, 0) == pid && status == 0;
}

#endif
