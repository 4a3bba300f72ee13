/* mcp_issuer.h: what a login asks of a server and of its issuer, one exchange after the other, in the order of
 * mcp/login/metadata.h. Each returns an exit status, after a message if it is not EXIT_DONE. */
#ifndef CLI_MAKE_MCP_ISSUER_H
#define CLI_MAKE_MCP_ISSUER_H

#include "mcp/login/metadata.h"

/* A login under way. A zeroed struct is one that has not begun. */
typedef struct TfyEntering {
    const char *name; /* of the server, for messages */
    char *url;        /* of the server, canonical; owned */
    bool local;       /* it is on this machine, and so may its issuer be */
    TfyChallenge challenge;
    json_t *server_document, *issuer_document; /* owned */
    TfyResource resource;
    const char *issuer; /* its name: in the server's document */
    TfyIssuer at;
} TfyEntering;

void tfy__entering_free(TfyEntering *entering);

/* Finds out who lets people in. *found: false if nobody says so, which is a failure if the server asks for a login. */
int tfy__entering_server(TfyEntering *entering, bool *found);
/* Asks an issuer what it can: the one that is wanted, else the first that the server names. */
int tfy__entering_issuer(TfyEntering *entering, const char *wanted);
/* Registers this client with that redirect address: its entry for the file of logins (logins.h), owned. */
int tfy__entering_register(const TfyEntering *entering, const char *redirect, json_t **client);
/* Changes a code for tokens: the server's entry for the file of logins, owned. *forget: the issuer does not know the
 * client any more. */
int tfy__entering_exchange(const TfyEntering *entering, const json_t *client, const char *code, const char *verifier,
                           const char *redirect, const char *scope, json_t **entry, bool *forget);

/* How a client with a secret, or without one, shows itself to the issuer; NULL: in no way that is known here. */
const char *tfy__entering_method(const TfyIssuer *at, bool secret);

#endif
