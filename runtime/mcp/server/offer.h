/* offer.h: the workflows of a program that clients may call as tools, with their schemas.
 *
 * Offered is a workflow with a doc comment, in the program's main file, whose parameters and result can be written as
 * JSON; or those that are named, which have to be of that kind, too. */
#ifndef MCP_SERVER_OFFER_H
#define MCP_SERVER_OFFER_H

#include <jansson.h>

#include "tfy_program.h"

/* What a client gets of a result. */
typedef enum TfyMcpGives {
    TFY_MCP_GIVES_NOTHING,
    TFY_MCP_GIVES_TEXT,   /* a string */
    TFY_MCP_GIVES_OBJECT, /* a record or a map: structured content */
    TFY_MCP_GIVES_ANY,    /* json: structured where it is an object */
    TFY_MCP_GIVES_OTHER,  /* structured, as the member "result" of an object */
    TFY_MCP_GIVES_PARTS,  /* list<Part>, an enum of the program's that content.h of this folder describes */
} TfyMcpGives;

typedef struct TfyMcpOffer {
    const TfyWorkflow *workflow;
    json_t *tool; /* {"name", "description", "inputSchema", "outputSchema"?}; owned */
    TfyMcpGives gives;
} TfyMcpOffer;

typedef struct TfyMcpOffers {
    size_t count;
    TfyMcpOffer items[];
} TfyMcpOffers;

/* names: of workflows, ends with NULL; NULL: those that are documented. NULL: error (TFY_ERROR_TEXT bytes) says which
 * cannot be offered, or that memory ran out. */
TfyMcpOffers *tfy__mcp_offers_new(const TfyProgram *program, const char *const *names, char *error);
void tfy__mcp_offers_free(TfyMcpOffers *offers);
const TfyMcpOffer *tfy__mcp_offer_named(const TfyMcpOffers *offers, const char *name);

#endif
