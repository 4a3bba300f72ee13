/* who.h: who asks, and what they may do. One function decides for all ways to ask: HTTP on both kinds of sockets, and the
 * line protocol of the owner (cli/program/owner.h). It is asked before a command reaches the loop. */
#ifndef SERVE_WHO_H
#define SERVE_WHO_H

#include "base/buffer.h"
#include "serve/index.h"
#include "serve/problem.h"
#include "serve/route.h"

struct TfyServer;

/* Who asks. All zero: nobody who is known. */
typedef struct TfyCaller {
    char name[64];            /* for the log */
    unsigned roles;           /* of TfyRole */
    const char *how;          /* "unix", "http", "proxy"; static */
    char token[64];           /* its name; "": none was shown */
    char from[48];            /* the address; "": on a Unix socket */
    char only[TFY_ONLY_SIZE]; /* globs of PROGRAM.WORKFLOW that they see, with blanks between them; "": all */
} TfyCaller;

/* What a change is about. */
typedef struct TfyAbout {
    const char *program, *workflow;
    const char *by; /* who started the run; NULL: there is none yet */
} TfyAbout;

/* Whether the caller sees runs of that workflow. */
bool tfy__may_see(const TfyCaller *caller, const char *program, const char *workflow);
/* Whether the caller may do what needs that role; about: to what; NULL: to nothing in particular. Otherwise the problem says
 * why not. */
bool tfy__may(const struct TfyServer *server, const TfyCaller *caller, TfyRole role, const TfyAbout *about,
              TfyProblem *problem);

/* Appends how the caller came, as an object for the log: {"how":"http","token":"ops-1","from":"10.0.0.7"}. */
void tfy__via_text(const TfyCaller *caller, TfyBuffer *out);

#endif
