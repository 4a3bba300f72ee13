/* stdio.h: an MCP server that is a child of the loop's watcher: one line is one message.
 *
 * Its stdin is a socket, since writing to a pipe whose reader has gone raises a signal; its stdout and stderr are
 * pipes. What the server does not read waits here, up to a limit. The pipe ends once, by a call of `ended`, and is gone
 * then: the process has exited, has closed one of the two, or has written a line that is too long. */
#ifndef MCP_STDIO_H
#define MCP_STDIO_H

#include "mcp/client.h"

#define TFY_MCP_STDERR_MOST ((size_t)8 << 10)  /* bytes of a line of stderr; longer ones come in parts */
#define TFY_MCP_UNREAD_MOST ((size_t)32 << 20) /* bytes that wait for the server to read them */

typedef struct TfyMcpPipe TfyMcpPipe;

typedef struct TfyMcpPipeEnd {
    const char *why; /* what the server did: "exited with status 1"; or a sentence, if it was not started */
    bool started;
    bool no_room; /* it was not started for lack of room */
} TfyMcpPipeEnd;

/* From the loop. All but `ended` may stop the pipe. */
typedef struct TfyMcpPipeTakes {
    void (*line)(void *arg, const char *text, size_t len); /* of stdout, without its end */
    void (*said)(void *arg, const char *text, size_t len); /* the same of stderr */
    void (*ended)(void *arg, const TfyMcpPipeEnd *end);
    void *arg;
} TfyMcpPipeTakes;

/* Starts the process of a spec. NULL: errno says why. */
TfyMcpPipe *tfy__mcp_pipe_start(TfyLoop *loop, const TfyMcpSpec *spec, const TfyMcpPipeTakes *takes);
/* `ended` is not called any more; the process is ended. */
void tfy__mcp_pipe_stop(TfyMcpPipe *pipe);

/* Nothing will be sent any more: waits a moment, without serving the loop, for a server that ends by itself. */
void tfy__mcp_pipe_finish(TfyMcpPipe *pipe);

/* Sends a line without its end. False: no memory, or too much waits. */
bool tfy__mcp_pipe_send(TfyMcpPipe *pipe, const char *text, size_t len);
/* Bytes that were to be sent until now; and those of them that have left. */
uint64_t tfy__mcp_pipe_given(const TfyMcpPipe *pipe), tfy__mcp_pipe_written(const TfyMcpPipe *pipe);

#endif
