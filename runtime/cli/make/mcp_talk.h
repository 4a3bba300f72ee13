/* mcp_talk.h: a command that talks with one MCP server, which is the rest of its words: an address, or -- and a
 * command. */
#ifndef CLI_MAKE_MCP_TALK_H
#define CLI_MAKE_MCP_TALK_H

#include "cli/frame/cli.h"
#include "mcp/client.h"

/* A zeroed struct is closed. */
typedef struct TfyMcpTalk {
    TfyLoop *loop;
    TfyMcp *client;
    TfyMcpSpec spec;
    char name[64];       /* of the server, for messages */
    int64_t patience_ms; /* how long the server may be silent */
    int64_t until_ms;    /* when it has been, by the monotonic clock */
    bool done;           /* the command is; `status` holds */
    int status;
    TfyBuffer said;        /* the end of what the server wrote on stderr */
    bool logs_in;          /* no login is used: the command makes one */
    TfyBuffer login_words; /* how a person logs in at the server */
} TfyMcpTalk;

/* Opens the server that the words from number `first` on are. Returns an exit status. */
int tfy__mcp_talk_open(TfyMcpTalk *talk, const TfyArgs *args, int first);
/* Opens this server in that directory: of the spec its name, how it is reached, and the words of its login, all of which
 * must outlive the talk. */
int tfy__mcp_talk_open_spec(TfyMcpTalk *talk, const TfyArgs *args, const TfyMcpSpec *server, const char *cwd);
/* Runs the loop until the command is done, or the server is silent for too long. Returns the exit status. */
int tfy__mcp_talk_run(TfyMcpTalk *talk);
void tfy__mcp_talk_close(TfyMcpTalk *talk);

/* The server lives: its patience begins anew. */
void tfy__mcp_talk_heard(TfyMcpTalk *talk);
/* The command is done. */
void tfy__mcp_talk_end(TfyMcpTalk *talk, int status);
/* … since a request failed, or was refused: says so. */
void tfy__mcp_talk_failed(TfyMcpTalk *talk, const char *what, const TfyMcpEnd *end);

/* The answer to a question of the server, as the protocol has it: read from standard input, a line of JSON for each
 * question. A line that is empty takes the defaults, and the end of the input declines. Owned. */
json_t *tfy__mcp_talk_ask(TfyMcpTalk *talk, const json_t *params);

#endif
