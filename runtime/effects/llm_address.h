/* llm_address.h: what the requests to one endpoint share, made once: its address, its headers with the key, and easy
 * handles that are set up for both. Making these anew for each request costs about as much as writing its body. */
#ifndef EFFECTS_LLM_ADDRESS_H
#define EFFECTS_LLM_ADDRESS_H

#include "effects/http_client.h"
#include "effects/llm_form.h"

enum { TFY_LLM_EASIES = 128 }; /* that an address keeps */

typedef struct TfyLlmAddress {
    struct TfyLlmAddress *next;
    const TfyLlmForm *form;
    char *from;                  /* the URL that all follows from */
    char *key;                   /* "": none */
    char *url;                   /* as it is asked */
    char *shown;                 /* as messages may show it: without user, password and query */
    struct curl_slist *headers;  /* of each request; wiped when they are freed */
    uint32_t users;              /* requests under way, and the list */
    CURL *spare[TFY_LLM_EASIES]; /* set up, and used by no request */
    uint32_t spare_count;
} TfyLlmAddress;

/* A few, that were used last. */
typedef struct TfyLlmAddresses {
    TfyHttp *http;        /* whose handles these are */
    TfyLlmAddress *first; /* the newest first */
} TfyLlmAddresses;

/* The address of a form's endpoint at a URL. The caller uses it until tfy__llm_address_leave. 0; EINVAL: the URL is not
 * one; ENOMEM. */
int tfy__llm_address(TfyLlmAddresses *addresses, const TfyLlmForm *form, const char *url, const char *key,
                     TfyLlmAddress **out);
/* NULL is allowed. */
void tfy__llm_address_leave(TfyLlmAddresses *addresses, TfyLlmAddress *address);
/* A handle for POST with all options but those of the single request; NULL: no memory. */
CURL *tfy__llm_address_easy(TfyLlmAddresses *addresses, TfyLlmAddress *address);
/* easy: NULL is allowed. */
void tfy__llm_address_easy_free(TfyLlmAddresses *addresses, TfyLlmAddress *address, CURL *easy);
void tfy__llm_addresses_close(TfyLlmAddresses *addresses); /* nobody uses one any more */

#endif
