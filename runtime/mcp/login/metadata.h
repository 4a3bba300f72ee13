/* metadata.h: what a server and an issuer say about logins: where that is, and whether it can be used. Nobody is asked
 * here.
 *
 *   the server  ──RFC 9728──▶ its name as a resource, issuers, scopes
 *   one of them ──RFC 8414, or OpenID discovery──▶ its endpoints, and what it can
 *
 * Both are documents of strangers. Addresses in them are checked (place.h) before anything is sent there; members of
 * another type than they must have make the document unusable, and those that are optional are as if missing. */
#ifndef MCP_LOGIN_METADATA_H
#define MCP_LOGIN_METADATA_H

#include <jansson.h>

#include "mcp/login/challenge.h"
#include "tfy.h"

#define TFY_PLACES_MOST 3

/* Addresses to ask in this order, until one has the document. Owned. */
typedef struct TfyPlaces {
    char *url[TFY_PLACES_MOST];
    int count;
} TfyPlaces;

void tfy__places_free(TfyPlaces *places);

/* What a server says of itself; borrowed from the document. */
typedef struct TfyResource {
    const char *resource;       /* as it is sent: byte by byte as published */
    const json_t *issuers;      /* an array of texts, not empty */
    char scope[TFY_SCOPE_MOST]; /* all that it knows; "": it does not say */
} TfyResource;

/* named: the address in the challenge, the only one that is asked then; "": none. url: of the server, canonical. */
void tfy__resource_places(const char *url, const char *named, TfyPlaces *places);
/* False: why (TFY_ERROR_TEXT bytes) says what is wrong with it: such as that it is the document of another server. */
bool tfy__resource_read(const json_t *document, const char *url, TfyResource *resource, char *why);

/* What an issuer says of itself; borrowed from the document. */
typedef struct TfyIssuer {
    const char *authorization, *token;
    const char *registration; /* NULL: clients cannot register themselves */
    const json_t *methods;    /* how clients may show themselves at `token`; NULL: it does not say */
    const json_t *scopes;     /* NULL: it does not say */
    bool documents;           /* a client's id may be the address of a document about it */
    bool says_issuer;         /* its answers name it */
} TfyIssuer;

/* issuer: as the server names it. No place: it is not an address that may be used; why says so. */
bool tfy__issuer_places(const char *issuer, bool local, TfyPlaces *places, char *why);
/* False: why says what is wrong with it: such as that it is the document of another issuer. */
bool tfy__issuer_read(const json_t *document, const char *issuer, bool local, TfyIssuer *out, char *why);

/* Whether a list of texts, or NULL, has this one. */
bool tfy__list_has(const json_t *list, const char *text);

#endif
