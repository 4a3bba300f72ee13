/* http.h: an MCP server at an address: each message is a POST, and its answer one message or a stream of them.
 *
 * What arrives is handed out from the loop and never from inside libcurl, so a receiver may start and stop posts.
 * Redirects are not followed: headers with keys would go with them. In a session of the older kind a stream that breaks
 * continues at its newest event (GET with Last-Event-ID), and one stream stands for what the server says unasked.
 *
 * Where a person has logged in, the token goes with each exchange. One that meets HTTP 401 waits while the token is
 * renewed, and is made once more: such an answer says that nothing was done. */
#ifndef MCP_HTTP_H
#define MCP_HTTP_H

#include "mcp/client.h"

typedef struct TfyMcpHttp TfyMcpHttp; /* one server */
typedef struct TfyMcpPost TfyMcpPost; /* one exchange with it */

/* How an exchange ended that was not stopped; borrowed for the call. */
typedef struct TfyMcpPostEnd {
    long status;              /* of HTTP; 0: there is none */
    bool sent;                /* the request may have left */
    bool no_room;             /* it failed for lack of descriptors or memory */
    bool no_session;          /* its session is not known there any more */
    bool login;               /* a person has to log in: why is "needs a login: tfy mcp login …" */
    const char *challenge;    /* what WWW-Authenticate says; NULL: nothing */
    char why[TFY_ERROR_TEXT]; /* a sentence about what went wrong, without its subject; "": nothing */
} TfyMcpPostEnd;

/* From the loop; both may stop this post or others. call: as given to tfy__mcp_post; NULL: of nobody. */
typedef struct TfyMcpHttpTakes {
    void (*message)(void *arg, void *call, const char *text, size_t len);
    void (*ended)(void *arg, void *call, const TfyMcpPostEnd *end);
    void *arg;
} TfyMcpHttpTakes;

/* NULL: no memory. */
TfyMcpHttp *tfy__mcp_http_new(TfyLoop *loop, const TfyMcpSpec *spec, const TfyMcpHttpTakes *takes);
void tfy__mcp_http_free(TfyMcpHttp *http); /* stops every post; NULL is allowed */

/* What follows is sent with it; NULL: nothing. */
void tfy__mcp_http_revision(TfyMcpHttp *http, const char *revision);
bool tfy__mcp_http_has_session(const TfyMcpHttp *http);
void tfy__mcp_http_forget_session(TfyMcpHttp *http); /* also ends the standing stream */
/* Opens the standing stream of a session, if the server has one. */
void tfy__mcp_http_listen(TfyMcpHttp *http);

/* Borrowed for the call. */
typedef struct TfyMcpPosted {
    const char *text;
    size_t len;
    bool modern;          /* it has the headers of 2026-07-28 */
    const char *method;   /* of the message; NULL: it is an answer */
    const json_t *params; /* of the message; or NULL */
    const json_t *schema; /* of a tool's arguments; or NULL */
    bool once;            /* it may not be done twice */
    void *call;           /* NULL: nobody waits for an answer, and failures are passed over */
} TfyMcpPosted;

/* NULL: no memory. */
TfyMcpPost *tfy__mcp_post(TfyMcpHttp *http, const TfyMcpPosted *posted);
void tfy__mcp_post_stop(TfyMcpPost *post);
/* It was answered: nothing more is wanted of it. */
void tfy__mcp_post_leave(TfyMcpPost *post);

#endif
