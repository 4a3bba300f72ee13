/* gate.h: what no request may have, whatever it asks for. It is looked at before a request is routed and before its body is
 * read, and one that does not pass ends its connection.
 *
 * Servers and proxies disagree about such requests: where one ends and the next starts, which host they are for, which
 * path they name. What two readers could read in two ways is refused here, so no proxy can be led past a rule of its own,
 * and no page in a browser can speak for the person in front of it. */
#ifndef SERVE_GATE_H
#define SERVE_GATE_H

#include "serve/problem.h"

typedef enum TfyMethod {
    TFY_GET,
    TFY_HEAD,
    TFY_POST,
    TFY_PUT,
    TFY_DELETE,
    TFY_METHOD_COUNT,
} TfyMethod;

typedef struct TfyHeader {
    const char *name, *value; /* NUL-terminated; a value may be "" */
} TfyHeader;

/* A request as it came. All is borrowed. */
typedef struct TfyRequestHead {
    const char *method, *target; /* "POST", "/v1/runs?limit=5" */
    const TfyHeader *headers;    /* in their order, a repeated one several times */
    size_t header_count;
} TfyRequestHead;

/* The names that this server has for its callers. */
typedef struct TfyGate {
    const char *const *hosts; /* "tfy.example.org", "127.0.0.1:8433"; ends with NULL. NULL: any, for a Unix socket */
    bool tls;                 /* an Origin is https:// … */
    bool proxy;               /* … or either, as a proxy has it */
} TfyGate;

enum { TFY_TARGET_MAX = 8192 }; /* bytes of a target */

/* Whether the request may be read on. *method is set then; otherwise problem says why not. */
bool tfy__gate(const TfyGate *gate, const TfyRequestHead *asked, TfyMethod *method, TfyProblem *problem);

/* A header's value; NULL: it has none of this name, whose letters may be large or small. */
const char *tfy__header(const TfyRequestHead *asked, const char *name);
/* Whether requests of this method change something. */
bool tfy__method_changes(TfyMethod method);

/* Decodes %XX in place, and adds a NUL. Returns the length; SIZE_MAX: it is not well formed. plus: + is a blank. */
size_t tfy__decode_percent(char *text, size_t len, bool plus);

#endif
