/* config.h: what the file of --config says: where the server listens, which names it has, its certificates, rules of
 * workflows, and what starts at times. The file is JSON; a member that nobody knows, and a value that does not fit, is refused with its line and its
 * path.
 *
 * SIGHUP reads it again, whole or not at all. A configuration stays in memory until the server ends, since requests may
 * still use it; who asks for one takes the newest. */
#ifndef SERVE_CONFIG_H
#define SERVE_CONFIG_H

#include <jansson.h>
#include <stdio.h>

#include "base/list.h"
#include "serve/gate.h"
#include "serve/hook.h"
#include "serve/schedule.h"

enum { TFY_LISTEN_MOST = 8, TFY_HOSTS_MOST = 32 };

/* One place to listen at. All texts are the configuration's. */
typedef struct TfyListen {
    char *address;                     /* "127.0.0.1:8433"; NULL: it is a Unix socket, … */
    char *path;                        /* … at this path */
    char actual[64];                   /* the address once it is open, with the port that the system chose for 0 */
    bool proxy;                        /* only a proxy of ours reaches it */
    bool usual;                        /* nobody asked for it: it is left out where another process has it */
    char *user_header, *groups_header; /* of a proxy: the headers that say who asks; NULL: none does */
    json_t *groups;                    /* {"ops": ["operator"]}; NULL: none */
    const char *hosts[TFY_HOSTS_MOST * 2 + 8]; /* names that callers may use for it; ends with NULL */
} TfyListen;

enum { TFY_DRAIN_MS = 30000, TFY_COMPILE_MS = 60000 }; /* where nobody says otherwise */

typedef struct TfyConfig {
    struct TfyConfig *older; /* the one that it replaced */
    TfyListen listen[TFY_LISTEN_MOST];
    size_t listen_count;
    char *hosts[TFY_HOSTS_MOST + 1]; /* other names of the server; ends with NULL */
    LIST(TfySchedule) schedules;
    LIST(struct TfyFollowerRow) followers;
    LIST(TfyHook) hooks;
    LIST(struct TfyReach) reaches; /* of programs */
    json_t *given;         /* the file, whole; owned; NULL: there is none */
    json_t *programs;      /* {"shop": {"limits": {"order": {"not_by_starter": true}}}}; NULL: none */
    char *models;          /* the file of models; NULL: as `tfy run` finds it */
    bool no_search;        /* words are not kept for `q` */
    int compile_ms;        /* how long a program may take to be compiled */
    int64_t drain_ms;      /* how long tools under way may take to finish at the end */
    char *cert, *key, *ca; /* files in PEM; ca: of those who may sign certificates of clients; NULL: none */
    struct TfyTls *tls;    /* tls.h: … read; NULL: no TLS */
    char *own[TFY_LISTEN_MOST * (TFY_HOSTS_MOST + 4)]; /* names that were made of the addresses; owned */
    size_t own_count;
} TfyConfig;

/* What the command line says, which goes before the file. */
typedef struct TfyServeFlags {
    const char *config; /* the file; NULL: none */
    const char *listen[TFY_LISTEN_MOST];
    size_t listen_count;
    bool no_tcp;
    const char *cert, *key, *ca;
    const char *drain; /* "30s"; NULL: what the file says */
} TfyServeFlags;

/* NULL: error (TFY_ERROR_TEXT bytes) says why, "serve.json:3: $.hosts: …". */
TfyConfig *tfy__config_read(const TfyServeFlags *flags, char *error);
void tfy__config_free(TfyConfig *config); /* and the older ones */

/* Prints what holds, the file and the command line and what nobody said, as a file that says it. There are no secrets in it:
 * they are in files of their own. False: it cannot be written. */
bool tfy__config_print(const TfyConfig *config, const TfyServeFlags *flags, FILE *out);

/* The same from the text of a file, without its certificates and secrets: for tests. name: of the file, for messages. */
TfyConfig *tfy__config_parse(const char *name, const char *text, size_t len, char *error);

/* Whether a configuration listens where another one does: what is open stays as it is. */
bool tfy__config_listens_alike(const TfyConfig *a, const TfyConfig *b);
/* The names of a listener, once its port is known. */
void tfy__config_name(TfyConfig *config, TfyListen *listen, const char *address);
/* What "limits" says of a workflow; NULL: nothing. */
const json_t *tfy__config_limits(const TfyConfig *config, const char *program, const char *workflow);
/* Whether who starts a run of this workflow may not answer its questions. */
bool tfy__config_not_by_starter(const TfyConfig *config, const char *program, const char *workflow);

#endif
