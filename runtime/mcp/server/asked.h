/* asked.h: a request of a client: which revision of the protocol it speaks, and what it can do.
 *
 * Each request of revision 2026-07-28 says so itself, in "_meta". In the older ones initialize does, once for a
 * connection. */
#ifndef MCP_SERVER_ASKED_H
#define MCP_SERVER_ASKED_H

#include "mcp/message.h"

#define TFY_MCP_NEWEST "2026-07-28"
#define TFY_MCP_TASKS  "io.modelcontextprotocol/tasks"

/* The client of a request. */
typedef struct TfyMcpClient {
    bool modern;          /* 2026-07-28 */
    const char *revision; /* one of ours; static */
    bool tasks;           /* understands a task as the result of a call */
    bool elicits;         /* asks its user, by a form */
    bool samples;         /* lets its model answer … */
    bool samples_tools;   /* … requests that offer tools, too */
    bool levels;          /* wants what runs log, from this level on: */
    int level;
} TfyMcpClient;

/* Why a request is refused. code 0: it is not. */
typedef struct TfyMcpRefusal {
    int code;
    int status;   /* of HTTP */
    json_t *data; /* owned; NULL: none */
    char why[256];
} TfyMcpRefusal;

/* Fills in the client of a request whose "_meta" names a revision, and returns false where it does not hold. */
bool tfy__mcp_client_of(const json_t *params, TfyMcpClient *client, TfyMcpRefusal *refusal);
/* Whether a request says of itself which revision it is of. */
bool tfy__mcp_is_modern(const json_t *params);

/* The client that greets with initialize. A revision that is not known gets the newest of the older ones. */
void tfy__mcp_client_greets(const json_t *params, TfyMcpClient *client);

/* Refuses, and returns false, so that a check can end with it. */
bool tfy__refusal_set(TfyMcpRefusal *refusal, int status, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The place of a level of logging, "debug" … "emergency", from 0; -1: it is none. */
int tfy__mcp_level(const char *name);

/* Appends an answer that refuses; id NULL: of a message that has none. Takes the refusal's data. */
void tfy__refusal_write(TfyBuffer *out, const json_t *id, TfyMcpRefusal *refusal);

#endif
