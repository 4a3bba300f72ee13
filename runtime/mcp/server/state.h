/* state.h: requestState: what a client that was asked something brings back with its answer, by which the run of its
 * call is found again.
 *
 *   0   1    version, 1
 *   1   16   the run's uuid
 *   17  16   the start of the SHA-256 of the request
 *   33  8    until when it is good, in milliseconds since 1970, the highest byte first
 *   41  32   HMAC-SHA-256 of all that
 *
 * as base64. A client keeps it and can bring it back much later, also to another process of the same database; it can
 * neither make one nor change one. The key of the signature is in "<db>-key", which nobody else can read. */
#ifndef MCP_SERVER_STATE_H
#define MCP_SERVER_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TFY_MCP_KEY = 32,         /* bytes of the key */
    TFY_MCP_DIGEST = 16,      /* of a request */
    TFY_MCP_STATE_TEXT = 104, /* of the text, with its NUL */
};

typedef struct TfyMcpKey {
    unsigned char bytes[TFY_MCP_KEY];
} TfyMcpKey;

typedef struct TfyMcpState {
    uint8_t run[16];
    uint8_t request[TFY_MCP_DIGEST];
    int64_t until_ms;
} TfyMcpState;

/* Reads "<db>-key", or makes it. False: error (TFY_ERROR_TEXT bytes) says why not. */
bool tfy__mcp_key_open(TfyMcpKey *key, const char *db_path, char *error);

/* False: there is no memory. */
bool tfy__mcp_state_write(const TfyMcpKey *key, const TfyMcpState *state, char text[TFY_MCP_STATE_TEXT]);
/* Whether a text is one that was written with this key for this request, and is still good. Its run is in *run then. */
bool tfy__mcp_state_read(const TfyMcpKey *key, const char *text, size_t len, const uint8_t request[TFY_MCP_DIGEST],
                         int64_t now_ms, uint8_t run[16]);

#endif
