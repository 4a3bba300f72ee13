/* hook.h: what another service may start or signal by a request that it has signed: a hook of the configuration.
 *
 *   {"github": {"scheme": "github", "secret_file": "github.key", "dedupe": "X-GitHub-Delivery",
 *               "start": "ci.main", "args": {"event": "$body", "kind": "$header.X-GitHub-Event"}}}
 *
 * A text that is "$body", "$body.a.b" or "$header.NAME" stands for what the request has there; "$$" at the start of a text is
 * one dollar. What comes from outside may fill only parameters that their workflow declares untrusted. */
#ifndef SERVE_HOOK_H
#define SERVE_HOOK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum TfyHookScheme {
    TFY_HOOK_GITHUB,   /* X-Hub-Signature-256: sha256=HEX, over the body */
    TFY_HOOK_STANDARD, /* webhook-signature: v1,BASE64 …, over webhook-id.webhook-timestamp.body */
    TFY_HOOK_HMAC,     /* a header of its own: HEX or BASE64 of HMAC-SHA256 of the body */
} TfyHookScheme;

enum {
    TFY_HOOK_SECRET = 512, /* bytes of a secret, at most */
    TFY_HOOK_OLD_S = 300,  /* a signed time may differ by so much */
};

typedef struct TfyHook {
    struct TfyHook *next;
    char *name; /* all texts are owned */
    TfyHookScheme scheme;
    char *header;      /* HMAC: which one */
    char *secret_file; /* the first line of which is: */
    unsigned char secret[TFY_HOOK_SECRET];
    size_t secret_len;
    char *dedupe; /* the header that says which delivery it is; NULL: none does */
    char *start;  /* "ci.main"; NULL: it signals */
    char *program;
    const char *workflow;       /* in `start` */
    char *signal;               /* the signal's name; NULL: it starts */
    json_t *args, *run, *value; /* templates; value NULL: the body */
} TfyHook;

/* Reads the secret of a scheme from the text of its file; standard-webhooks writes "whsec_BASE64". False: there is none, or it
 * is too long. */
bool tfy__hook_secret(TfyHook *hook, const char *text);

/* A header of the request: the caller's headers are an object with small names. "": it has none. */
const char *tfy__hook_header(const json_t *headers, const char *name);
/* Whether the signature holds. now_s: the clock's. why: a sentence, static. */
bool tfy__hook_signed(const TfyHook *hook, const json_t *headers, const char *body, size_t len, int64_t now_s,
                      const char **why);

/* Whether every text of a template that begins with a dollar is one of the three; *bad: the first that is none. */
bool tfy__hook_template_fits(const json_t *template, const char **bad);
/* Whether any of it comes from the request. */
bool tfy__hook_is_outside(const json_t *template);
/* The template with what the request has. The caller owns it; NULL: what it names is not there, or no memory. Members of
 * an object that are not there are left out. */
json_t *tfy__hook_fill(const json_t *template, const json_t *headers, const json_t *body);

void tfy__hook_free(TfyHook *hook);

#endif
