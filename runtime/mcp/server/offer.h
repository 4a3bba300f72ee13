/* offer.h: the workflows of a program that clients may use: as tools, with their schemas; as prompts; as resources.
 *
 * Offered is a workflow with a doc comment, in the program's main file, whose parameters and result can be written as
 * JSON; or those that are named, which have to be of that kind, too. One that gives a thread is a prompt; others are
 * tools, unless they are named as prompts or as resources. A resource is read at the address that it is bound to, whose
 * variables, "docs://{id}", are parameters of the workflow. */
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
    TFY_MCP_GIVES_THREAD, /* a conversation */
} TfyMcpGives;

typedef enum TfyMcpOffered { TFY_MCP_TOOL, TFY_MCP_PROMPT, TFY_MCP_RESOURCE } TfyMcpOffered;

/* How calls of a tool are answered, besides what holds for all: bits. */
enum {
    TFY_MCP_ALWAYS_TASK = 1, /* by a task, however soon the run ends: only clients with tasks can call it */
    TFY_MCP_ASKS_FIRST = 2,  /* what the run asks before the call is a task is asked with the call */
};

typedef struct TfyMcpOffer {
    const TfyWorkflow *workflow;
    TfyMcpOffered as;
    TfyMcpGives gives;
    unsigned how;  /* of a tool */
    json_t *shown; /* as a list of these has it; owned: of a tool its schemas, and whether it only reads */
    char *address; /* of a resource; owned; NULL: it is none */
} TfyMcpOffer;

typedef struct TfyMcpOffers {
    size_t count;
    TfyMcpOffer items[];
} TfyMcpOffers;

/* What is to be offered. Each list ends with NULL; a list that is NULL is not given. */
typedef struct TfyMcpWanted {
    const char *const *tools;     /* names of workflows; NULL: those that are documented */
    const char *const *prompts;   /* names of workflows */
    const char *const *resources; /* "ADDRESS=WORKFLOW" */
    const char *const *tasks;     /* names of tools: TFY_MCP_ALWAYS_TASK */
    const char *const *asking;    /* names of tools: TFY_MCP_ASKS_FIRST */
} TfyMcpWanted;

/* NULL: error (TFY_ERROR_TEXT bytes) says which cannot be offered, or that memory ran out. */
TfyMcpOffers *tfy__mcp_offers_new(const TfyProgram *program, const TfyMcpWanted *wanted, char *error);
void tfy__mcp_offers_free(TfyMcpOffers *offers);
const TfyMcpOffer *tfy__mcp_offer_named(const TfyMcpOffers *offers, const char *name); /* by the workflow's name */

/* Whether an address is one of a resource's: then *args has its variables, {NAME: text}, which the caller owns. */
bool tfy__mcp_address_fits(const char *address, const char *given, json_t **args);
bool tfy__mcp_address_varies(const char *address); /* it has variables */

/* The arguments of a prompt, which are texts for clients, as the workflow takes them. The caller owns them. */
json_t *tfy__mcp_prompt_args(const TfyWorkflow *workflow, const json_t *given);
/* What can be typed for an argument that starts like this: cases of an enum, true and false. A list. */
json_t *tfy__mcp_completions(const TfyWorkflow *workflow, const char *param, const char *start);

#endif
