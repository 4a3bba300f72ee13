/* serve.h: tfy-serve, the process that is always there: it owns a database, runs many programs, and is asked and steered
 * over HTTP.
 *
 *   HTTP thread (http.c)      reads requests; gate, route, body; writes answers. It never touches SQLite.
 *   readers (reader.c)        two threads with read-only handles of the log and of the index; they answer GET.
 *   loop thread (command.c)   takes commands that others post into the loop; a command is answered when what it
 *                             recorded is durable.
 *   tail thread (tail.c)      reads every record once, in order, and keeps the derived file "<db>-index".
 *   hub thread (stream.c)     follows the log for those who listen to GET /v1/events.
 *   follower thread (followers.c)  starts tfy-publish for each follower of the configuration.
 *   timer thread (schedules.c)  asks the loop to start what is due.
 *
 * A request has one owner at a time: the HTTP thread until it is handed over, then a reader or the loop, then, once
 * tfy__request_done has resumed its connection, the HTTP thread again. So nothing in it needs a lock. */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/table.h"
#include "core/loop.h"
#include "core/served.h"
#include "serve/clock.h"
#include "serve/config.h"
#include "serve/door.h"
#include "serve/gate.h"
#include "serve/problem.h"
#include "serve/route.h"
#include "serve/times.h"
#include "serve/who.h"

enum {
    TFY_BODY_MAX = 1 << 20,  /* bytes of a body */
    TFY_HEADERS_MAX = 64,    /* of a request */
    TFY_PARAMETERS_MAX = 32, /* of a query */
};

typedef struct TfyServer TfyServer;
struct TfyRequest;
typedef void TfyServe(struct TfyRequest *request); /* writes the answer or the problem of a request, or hands it on */

/* One "name=value" of a query, decoded. */
typedef struct TfyParameter {
    const char *name, *value;
} TfyParameter;

typedef struct TfyRequest {
    struct TfyRequest *next; /* in the queue of whoever has it */
    TfyServer *server;
    struct MHD_Connection *connection; /* suspended while others have the request */
    char number[12];                   /* "r-8f21", in problems and lines */
    int64_t begun_us;                  /* when its first line came; monotonic */
    char *target;                      /* owned; decoded in place once it is routed */
    TfyMethod method;
    const TfyRoute *route; /* NULL: none was found */
    TfyRouteNames names;
    TfyParameter parameters[TFY_PARAMETERS_MAX];
    uint32_t parameter_count;
    char *key;        /* Idempotency-Key; owned, or NULL */
    char *match;      /* If-None-Match; owned, or NULL */
    char *as_seen;    /* If-Match; owned, or NULL */
    int64_t wait_s;   /* Prefer: wait=N: for the end of the run; 0: it is not waited for */
    int64_t until_ms; /* … monotonic */
    int64_t after;    /* Tfy-After: the index has to have this record; 0: none */
    char *last_event; /* Last-Event-ID; owned, or NULL */
    json_t *headers;  /* of a hook: all, by small names; owned */
    TfyBuffer body;   /* as it came */
    json_t *json;     /* … read; owned; NULL: it has none */
    TfyCaller caller;
    char session[TFY_SECRET_SIZE]; /* of the cookie that named the caller; "": none did */
    bool tls;
    bool checked, done; /* the gate was passed; the answer is there */
    /* the answer */
    TfyProblem problem;
    int status; /* without a problem */
    TfyBuffer answer;
    const char *type; /* of the answer; static; NULL: application/json */
    char etag[32], location[128], cookie[192];
    char mcp_session[40]; /* Mcp-Session-Id; "": none */
    int64_t lsn;          /* Tfy-Lsn; 0: none … */
    char lsn_of[37];      /* … and the run whose number it is; "": of the database */
    int retry_after_s;    /* 0: none */
    bool replayed;        /* Idempotency-Replayed: true */
    bool ours;            /* the server chose the labels of the start, which may be "tfy.…" */
    bool packed;          /* the answer is a file of the page, by gzip */
    /* while others have it */
    struct TfyStarting *starting;             /* start.h; owned; NULL: nothing starts */
    struct TfyStream *stream;                 /* stream.h; owned; NULL: the answer is whole */
    struct TfyFollow *follow; /* shared/events.h; owned; NULL: its answer is not a stream of that kind */
    struct TfyMcpStream *mcp;                 /* mcp/http.h: its answer is a stream of that kind; NULL: it is not */
    struct TfyRunFound *run;                  /* of_run.h; owned; NULL: none was looked for */
    struct TfyChild *child;                   /* child.h; owned; NULL: none answers it */
    struct TfyDeploy *deploy;                 /* deploy.h; owned; NULL: none is under way */
    struct TfyMove *move;                     /* move.h; owned; NULL: none is under way */
    struct TfyBulk *bulk;                     /* bulk.h; owned; NULL: none is under way */
    struct TfyReader *reader;                 /* reader.h: who answers it */
    void (*then)(struct TfyRequest *request); /* what a reader or the loop does; NULL: what the route says */
    bool ended;                               /* the run that was found has */
    char queued[37];                          /* … or has not begun; "": it has */
    void (*pass)(struct TfyRequest *request); /* whom a reader gives it to when it is done with it */
    /* inside.h: who gets the answer, and the request; NULL: a connection */
    void (*inside)(void *arg, struct TfyRequest *request);
    void *inside_arg;
} TfyRequest;

struct TfyServer {
    TfyLoop *loop;                  /* NULL: it executes no runs, over a shared database */
    const char *db;                 /* the database's path, or its address */
    const char *place;              /* what its own files are beside: the path, or a name for a shared one */
    uint8_t uuid[16];               /* the database's id */
    struct TfySharedServer *shared; /* shared/server.h; NULL: the database is a file */
    struct TfyPrograms *programs;
    pthread_mutex_t documents;           /* held for: */
    char *openapi;                       /* the whole document; owned … */
    const struct TfyCatalog *openapi_of; /* … and what it was made of */
    struct TfyHttpFigures *figures;
    TfyTimes turns; /* of the loop */
    struct TfyHttp *http;
    struct TfyReaders *readers;
    struct TfyReaders *senders;   /* over a shared database: those that change something there */
    const struct TfyLists *lists; /* lists.h: what readers find lists in */
    struct TfyTail *tail;
    struct TfyHub *hub;
    struct TfyChildren *children;
    struct TfySchedules *schedules;
    struct TfyFollowers *followers;
    struct TfyQueue *queue;
    const struct TfyMcpSettings *offering; /* mcp/mcp.h: what is offered to its clients */
    struct TfyMcpHost *mcp;                /* … by this; NULL: nothing is */
    TfyDoor *door;
    struct TfyBounds *bounds;
    _Atomic(TfyConfig *) config; /* the newest */
    char user[64], root[64];     /* the names of those whom its own socket lets in; a look-up reads files */
    bool searches;               /* the index keeps words to search for */
    char base[128];              /* where a browser finds it, "http://127.0.0.1:8433"; "": nowhere */
    TfyTable starting;           /* of TfyStarting: on the way to the disk; the loop's own */
    _Atomic bool draining;
    _Atomic(TfyLoop *) running; /* the loop, for signal handlers, until it is closed */
    pthread_mutex_t posting;    /* held for: */
    bool closed;                /* the loop is, or is about to be */
    _Atomic int64_t asked_ms;   /* when the loop was asked whether it turns; 0: it has answered */
};

/* ---- request.c ---- */

/* The parameter of a query; NULL: it is not given. */
const char *tfy__request_parameter(TfyRequest *request, const char *name);
/* The same as a number from least to most; usual: when it is not given. False: the problem says why not. */
bool tfy__request_number(TfyRequest *request, const char *name, int64_t usual, int64_t least, int64_t most,
                         int64_t *out);
/* Whether the parameter is one of these, or not given. False: the problem says why not. */
bool tfy__request_choice(TfyRequest *request, const char *name, const char *const *values);
/* The same as a time, "2026-11-23T02:29:11Z", with milliseconds or without; 0: it is not given. */
bool tfy__request_time(TfyRequest *request, const char *name, int64_t *ms);
/* Refuses a parameter with another name than these; one that ends with a dot is the start of names. */
bool tfy__request_known(TfyRequest *request, const char *const *names);
/* The parameter "label.NAME"; NULL: there is none. */
void tfy__request_label(const TfyRequest *request, const char **name, const char **value);
void tfy__answer_text(TfyBuffer *out, const char *name, const char *text); /* ,"name":"text"; NULL: null */
json_t *tfy__json_time(int64_t ms);                                        /* as answers have times; NULL: no memory */
void tfy__request_json(TfyRequest *request, int status, json_t *json);     /* takes it; NULL: no memory */
void tfy__request_free(TfyRequest *request);
/* Finds the route of the target, which is decoded in place, and reads its query. False: the problem says why not. */
bool tfy__request_route(TfyRequest *request);
/* What serves its route here. NULL: nothing does. */
TfyServe *tfy__request_serve(const TfyRequest *request);
/* Gives a request that may be answered to a reader or to the loop, whichever its route says; none of TFY_AT_ONCE. */
void tfy__request_hand_over(TfyRequest *request);

/* ---- http.c ---- */

/* Opens it, and a socket to listen on. listen: its number in the configuration; -1: the server's own Unix socket. */
struct TfyHttp *tfy__http_open(TfyServer *server, char *error);
bool tfy__http_listen(struct TfyHttp *http, int socket, int listen, char *error);
/* The answer or the problem is there: whoever has the request gives it back. */
void tfy__request_done(TfyRequest *request);
/* On the thread of HTTP, in the middle of a stream: its connection waits until tfy__http_go_on; or a reader has the request
 * until it has done this. */
void tfy__http_pause(TfyRequest *request);
void tfy__http_go_on(TfyRequest *request);
void tfy__http_lend(TfyRequest *request, void (*what)(TfyRequest *request));
void tfy__http_quit(struct TfyHttp *http); /* takes no more; those under way are answered */
void tfy__http_close(struct TfyHttp *http);

/* ---- reader.c ---- */

struct TfyReaders *tfy__readers_open(TfyServer *server, char *error);
void tfy__readers_ask(struct TfyReaders *readers, TfyRequest *request);
void tfy__readers_close(struct TfyReaders *readers);

/* ---- tail.c ---- */

struct TfyTail *tfy__tail_open(TfyServer *server, char *error);
void tfy__tail_wake(struct TfyTail *tail); /* more may be durable */
/* Waits until the index has this record. False: it has not within five seconds. */
bool tfy__tail_await(struct TfyTail *tail, int64_t lsn);
/* The request waits for the end of the run that it started, or found, and for no longer than it wants; then a reader has it
 * (tfy__serve_waited). */
void tfy__tail_hold(struct TfyTail *tail, TfyRequest *request);
/* A run that was queued, with that record, has begun: lists say so. */
void tfy__tail_begun(struct TfyTail *tail, const char *run, int64_t lsn);
/* On the loop's thread: a run is set aside (core/served.h); why NULL: it is no longer. Lists say so. */
void tfy__tail_diverged(struct TfyTail *tail, const char *run, const char *why);
int64_t tfy__tail_cursor(struct TfyTail *tail); /* the newest record that the index has */
int64_t tfy__tail_behind(struct TfyTail *tail); /* durable records that it lacks */
void tfy__tail_quit(struct TfyTail *tail);      /* follows no more; nothing waits any longer */
void tfy__tail_close(struct TfyTail *tail);

/* ---- command.c ---- */

/* From any thread: tfy__post, until the loop is closed; then TFY_E_STATE. */
int tfy__command_post(TfyServer *server, TfyPosted call, void *arg);
void tfy__command_finish(TfyServer *server); /* finishes the loop; what is posted from here on is refused */
/* Hands the request to the loop, which calls request->then, or what its route says. */
void tfy__command_ask(TfyServer *server, TfyRequest *request);
/* In the loop: whether it may carry out a change now. False: it ends, or the disk is full (what was appended now would wait for
 * room, and its answer with it); the request is answered so. */
bool tfy__command_may(TfyLoop *loop, TfyRequest *request);
void tfy__command_refuse(TfyRequest *request); /* the loop has ended, and does nothing more */
/* Has the loop call one of these two when all that was appended so far is durable: the answer, which is there, leaves; or a
 * reader goes on with request->then. */
void tfy__command_await(TfyRequest *request, TfyPosted next);
void tfy__command_answer(TfyLoop *loop, void *request);
void tfy__command_read(TfyLoop *loop, void *request);

/* ---- the routes ---- */

bool tfy__health_turns(TfyServer *server);    /* health.c: whether the loop has turned within some seconds */
void tfy__serve_health(TfyRequest *request);  /* health.c */
void tfy__serve_ready(TfyRequest *request);   /* health.c */
void tfy__serve_metrics(TfyRequest *request); /* metrics.c */

#endif
