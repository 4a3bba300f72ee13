/* mcp.h: the MCP server: the workflows of the programs here as tools for other agents.
 *
 *   transport (stdio.c)     takes messages of a client, and gives it those for it
 *   host thread (host.c)    hears the messages, and has what they ask for done by requests that the server makes of
 *                           itself (serve/inside.h): a call starts a run, which is durable before anything is answered
 *
 * A task is a run: its id is the run's, so it answers after a restart, and whoever may see runs sees it. The host keeps
 * nothing that a client could miss: a request that waits for a run, and with it all that is in memory, ends with the
 * process; the run goes on when the database is served again. */
#ifndef SERVE_MCP_MCP_H
#define SERVE_MCP_MCP_H

#include "mcp/server/offer.h"
#include "serve/serve.h"

enum { TFY_MCP_HOLD_MS = 2000 };

typedef struct TfyMcpHost TfyMcpHost;

/* Where the messages for one request go; of a transport, which frees it when it has ended. Called on the host's
 * thread. */
typedef struct TfyMcpAnswer {
    /* a message before the end; text NULL: nothing, so that the connection is seen to be alive */
    void (*say)(struct TfyMcpAnswer *answer, const char *text, size_t len);
    /* the last one, with the status that HTTP has for it; text NULL: there is none */
    void (*end)(struct TfyMcpAnswer *answer, int status, const char *text, size_t len);
} TfyMcpAnswer;

typedef struct TfyMcpSettings {
    int64_t hold_ms; /* a call waits so long for its run */
    TfyMcpWanted wanted;
    bool clients_approve;        /* questions are put to the client's user */
    const char *const *programs; /* the names of those that are offered, besides those whose configuration says so; ends
                                  * with NULL; NULL: none */
} TfyMcpSettings;

/* Which workflows of a program are offered, as `tfy build --offer` has them: the parameters of these are untrusted. NULL: none
 * is. list: room for it, which the caller frees. */
const char *tfy__mcp_offer_of(const TfyServer *server, const char *program, TfyBuffer *list);

/* The loop, readers and programs of the server must be there. settings stay the caller's. NULL: error (TFY_ERROR_TEXT
 * bytes) says why. */
TfyMcpHost *tfy__mcp_host_open(TfyServer *server, const TfyMcpSettings *settings, char *error);
void tfy__mcp_host_wake(TfyMcpHost *host); /* from any thread: more is durable */
/* Requests under way are refused, and nothing is asked any more. The loop has finished. */
void tfy__mcp_host_quit(TfyMcpHost *host);
void tfy__mcp_host_close(TfyMcpHost *host);

/* Has clients answer for the models of the loop, which has not turned yet; *client outlives it. False: no memory. */
struct TfyLlmClient;
bool tfy__mcp_samples_open(TfyServer *server, struct TfyLlmClient *client);

/* One who speaks with the host. Belongs to the host's thread from the first message on. */
typedef struct TfyMcpPeer TfyMcpPeer;
TfyMcpPeer *tfy__mcp_peer_new(const TfyCaller *caller); /* NULL: no memory */
/* Whoever made it has no use for it any more: on the host's thread, or once that has quit. */
void tfy__mcp_peer_free(TfyMcpPeer *peer);

/* From any thread: a message of the peer, which is taken. False: there is no memory, and the answer is still the
 * caller's. */
bool tfy__mcp_hear(TfyMcpHost *host, TfyMcpPeer *peer, TfyBuffer *text, TfyMcpAnswer *answer);
/* From any thread: calls the function on the host's thread. False: no memory. */
bool tfy__mcp_host_post(TfyMcpHost *host, void (*call)(TfyMcpHost *host, void *arg), void *arg);
/* On the host's thread: calls it once no request of the peer is under way, or after so long. */
void tfy__mcp_host_when_idle(TfyMcpHost *host, int64_t most_ms, void (*call)(void *arg), void *arg);

/* On the host's thread: what is not part of the answer to a request goes there, until the host has quit. False: no
 * memory. */
bool tfy__mcp_stand(TfyMcpHost *host, TfyMcpPeer *peer, TfyMcpAnswer *answer);

/* ---- over standard input and output (stdio.c) ---- */

/* Takes the two files for the protocol alone: what else reads or writes them reads nothing, or writes to stderr.
 * Before anything is printed. */
bool tfy__mcp_stdio_take(void);
void tfy__mcp_stdio_taken(int *in, int *out); /* … which are these now */
/* Serves the client there until it closes its end; then the server drains. NULL: error says why. */
struct TfyMcpStdio *tfy__mcp_stdio_open(TfyServer *server, TfyMcpHost *host, char *error);
void tfy__mcp_stdio_quit(struct TfyMcpStdio *stdio);  /* hears no more; before the host quits */
void tfy__mcp_stdio_close(struct TfyMcpStdio *stdio); /* after that */

#endif
