/* client.h: a client of one MCP server, on the loop's thread, without blocking it.
 *
 * The server is a process that this one starts and talks to over its standard files (stdio.h), or an address (http.h).
 * It is opened with the first request. What it speaks is found out then:
 *
 *   stdio: server/discover ──result──▶ 2026-07-28: each request says all about itself
 *                          ──else, or 5 s──▶ initialize: 2025-11-25 or 2025-06-18, with a session
 *   http:  the same, where a refusal of the address (401, 403, 5xx) is the end, and any other 4xx means the older kind
 *
 * Requests wait until that is known, and are then under way at once, as many as there are; answers come in any order. A
 * server that dies takes the requests under way with it, and is started again for the next one: after a second, after
 * two when it dies again before it has answered anything, and so on up to a minute. Of messages that are none, answers
 * that nobody waits for, and what the process says on stderr, the log is told.
 *
 * Each request ends exactly once, by a call of its handler or by tfy__mcp_cancel; a handler is never called inside
 * tfy__mcp_request. Of a request that failed on its way `outcome` says whether the server may have had it. A request
 * over HTTP that may not be done twice says so: then it gets a connection of its own, since libcurl sends again what an
 * old connection swallowed.
 *
 * A server of the older kind asks, too. Elicitation, and what the capabilities of the spec offer besides, is handed to
 * the caller; a ping is answered; all else is refused. What 2026-07-28 has instead ("input_required") is a result like
 * any other: the caller sends the request again with the answers. */
#ifndef MCP_CLIENT_H
#define MCP_CLIENT_H

#include <jansson.h>

#include "core/effect.h"

#define TFY_MCP_MODERN "2026-07-28"

struct TfyConfined;
struct TfyMcpLogins;

typedef struct TfyMcp TfyMcp;           /* a client */
typedef struct TfyMcpCall TfyMcpCall;   /* a request under way */
typedef struct TfyMcpAsked TfyMcpAsked; /* a question of an older server that waits for its answer */

/* What a client tells. Each may be NULL; all are called with the spec's arg, from the loop. */
typedef struct TfyMcpEvents {
    /* for the log: a line of the server's stderr (own false), or a sentence about the server (own true) */
    void (*log)(void *arg, bool own, const char *text, size_t len);
    /* a notification other than of progress: notifications/message, notifications/tools/list_changed, … */
    void (*notified)(void *arg, const char *method, const json_t *params);
    /* An older server asks: elicitation/create, or what the capabilities offer. It is answered with tfy__mcp_answer or
     * tfy__mcp_refuse, now or later. call: what it asks for; NULL: that is not known. NULL as a function: elicitation
     * is declined, all else is refused. */
    void (*asked)(void *arg, TfyMcpAsked *asked, const TfyMcpCall *call, const char *method, const json_t *params);
    /* that question is void: its server has died, or has taken it back. The handle becomes invalid. */
    void (*asked_no_more)(void *arg, TfyMcpAsked *asked);
} TfyMcpEvents;

/* A server. All of it is borrowed until tfy__mcp_close. */
typedef struct TfyMcpSpec {
    const char *name; /* for messages */
    /* a process: as in TfyProcessSpec; argv NULL: it is an address */
    const char *const *argv;
    const char *const *env;
    int cwd_fd;
    const struct TfyConfined *confined;
    const char *url;
    const char *const *headers; /* "Name: value", sent with each request, NULL-terminated; NULL: none */
    /* What people's logins are to it (login/login.h); NULL, or with an Authorization in the headers: it uses none. */
    const struct TfyMcpLogins *logins;
    const char
        *login_words; /* what stands behind "tfy mcp login" to log in at this server; not NULL if logins is not */
    /* What the client declares that it can do, as the protocol has it: {"elicitation": {"form": {}}}; NULL: nothing. */
    const json_t *capabilities;
    const char *log_level; /* from which level on the server sends notifications/message; NULL: it sends none */
    TfyMcpEvents events;
    void *arg;
} TfyMcpSpec;

typedef enum TfyMcpHow {
    TFY_MCP_ANSWERED, /* with `result` */
    TFY_MCP_REFUSED,  /* with a JSON-RPC error */
    TFY_MCP_FAILED,   /* on its way, or the server answers with what is not an answer */
} TfyMcpHow;

/* How a request ended; borrowed for the call of the handler. */
typedef struct TfyMcpEnd {
    TfyMcpHow how;
    const json_t *result;  /* an object; NULL unless answered */
    int64_t code;          /* of the error, if refused */
    const json_t *data;    /* of the error; NULL: none */
    const char *message;   /* of the error; or, if failed, a sentence; may hold anything that the server wrote */
    long status;           /* of HTTP, if it failed by that; 0: none */
    const char *login;     /* a person has to log in: "needs a login: tfy mcp login …"; NULL: that would not help */
    const char *challenge; /* what WWW-Authenticate says, if it failed by its status; NULL: nothing */
    TfyOutcome outcome;    /* of a request that was refused or failed */
    bool no_room;          /* it failed for lack of descriptors, processes or memory: it can be tried again later */
} TfyMcpEnd;

typedef void TfyMcpHandler(void *arg, const TfyMcpEnd *end);

/* Borrowed for the call of tfy__mcp_request; trees are kept by reference, and must not change while it is under way. */
typedef struct TfyMcpRequest {
    const char *method;
    json_t *params;       /* an object without "_meta"; NULL: none */
    json_t *meta;         /* entries of "_meta", such as "tfy/key"; NULL: none */
    const json_t *schema; /* of a tool's arguments, for the headers that it asks for (schema.h); NULL: none */
    bool once;            /* it may not be done twice */
    TfyMcpHandler *ended;
    /* the params of notifications/progress; NULL: none are asked for */
    void (*progress)(void *arg, const json_t *params);
    void *arg; /* of both */
} TfyMcpRequest;

/* A client, which starts nothing yet. NULL: no memory. */
TfyMcp *tfy__mcp_open(TfyLoop *loop, const TfyMcpSpec *spec);
/* No handler is called any more, nor is it allowed inside one; the process is ended. NULL is allowed. */
void tfy__mcp_close(TfyMcp *client);

/* NULL: no memory. */
TfyMcpCall *tfy__mcp_request(TfyMcp *client, const TfyMcpRequest *request);
/* The handler is not called any more, and the server is told. The handle becomes invalid. reason may be NULL. */
void tfy__mcp_cancel(TfyMcpCall *call, const char *reason);

/* Each makes the handle invalid. result is borrowed. */
void tfy__mcp_answer(TfyMcpAsked *asked, const json_t *result);
void tfy__mcp_refuse(TfyMcpAsked *asked, int64_t code, const char *message);

const TfyMcpSpec *tfy__mcp_spec(const TfyMcp *client);
/* What is known of the server since a request was answered; NULL before. */
const char *tfy__mcp_revision(const TfyMcp *client);
const json_t *tfy__mcp_server(const TfyMcp *client);       /* {"name", "version", …}; {}: it does not say */
const json_t *tfy__mcp_capabilities(const TfyMcp *client); /* an object */
/* Whether the server takes calls with the same "tfy/key" for one: it says so by an extension of that name. */
bool tfy__mcp_is_keyed(const TfyMcp *client);

#endif
