/* route.h: the paths of the interface: which there are, who may use them, and what stands for the parts in braces. One table
 * is the whole of it, and the OpenAPI document is made from the same. */
#ifndef SERVE_ROUTE_H
#define SERVE_ROUTE_H

#include "serve/gate.h"

struct TfyRequest;

/* What somebody may do. A caller may have several of them. */
typedef enum TfyRole {
    TFY_ROLE_NONE = 0, /* everybody, also who is not known */
    TFY_ROLE_VIEWER = 1,
    TFY_ROLE_APPROVER = 2,
    TFY_ROLE_OPERATOR = 4,
    TFY_ROLE_ADMIN = 8,
    TFY_ROLE_ALL = 15,
} TfyRole;

/* Where a request is worked on. */
typedef enum TfyWhere {
    TFY_AT_ONCE,   /* in the thread of HTTP: it waits for nothing */
    TFY_BY_READER, /* in a thread that reads the log and the index */
    TFY_OF_RUN,  /* in the loop, once a reader has found the run of its path, and the caller may change it (of_run.h) */
    TFY_BY_MCP,  /* by the host of MCP, which reads the body as it came (mcp/mcp.h) */
    TFY_BY_LOOP, /* in the loop: it changes something, and is answered when that is durable */
} TfyWhere;

typedef struct TfyRoute {
    TfyMethod method;
    const char *pattern; /* "/v1/runs/{id}" */
    TfyRole role;        /* one that is needed; admins may do all */
    TfyWhere where;
    void (*serve)(struct TfyRequest *request); /* writes the answer or the problem; NULL: a file has none of this */
    const char *id, *summary;                  /* in the OpenAPI document; NULL: it is no part of the interface */
    size_t body;                               /* bytes of a body, at most; 0: as usual (TFY_BODY_MAX) */
    /* The same over a shared database, by a reader, or at once if `where` says so; NULL: there is none of this. */
    void (*shared)(struct TfyRequest *request);
} TfyRoute;

enum { TFY_ROUTE_NAMES = 4 }; /* parts in braces, at most */

/* The parts in braces of a path that was found, decoded; borrowed from `path`. */
typedef struct TfyRouteNames {
    const char *text[TFY_ROUTE_NAMES];
    size_t count;
} TfyRouteNames;

extern const TfyRoute tfy__routes[]; /* ends with one without a pattern */

/* The route of a path, which is decoded in place and passed the gate. NULL: problem says why there is none. */
const TfyRoute *tfy__route_find(const TfyRoute *routes, TfyMethod method, char *path, TfyRouteNames *names,
                                TfyProblem *problem);

#endif
