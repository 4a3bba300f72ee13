/* programs.h: the programs that are served: their names, their versions, and which version new runs get.
 *
 *   - A version never changes, and stays while the server runs: requests and runs point to it.
 *   - The catalog says which version of each program new runs get. It never changes, either: a deploy makes a new one.
 *     Whoever looks at it, on any thread, takes the newest, and keeps to that one.
 *   - Versions and catalogs are made on the loop's thread, or by main before there is another. */
#ifndef SERVE_PROGRAMS_H
#define SERVE_PROGRAMS_H

#include "serve/serve.h"
#include "wal/log/run_id.h"

/* A version of a program. */
typedef struct TfyServed {
    struct TfyServed *next;
    char *name; /* "shop"; owned */
    const TfyProgram *program;
    TfyShared *shared; /* where it is from; owned */
    char hash[33];     /* of the program, in hexadecimal digits … */
    char version[13];  /* … and the first of them */
} TfyServed;

typedef struct TfyCatalog {
    struct TfyCatalog *older; /* it stays, too; owned */
    size_t count;
    const TfyServed *served[]; /* one for each name, in the order of their coming */
} TfyCatalog;

typedef struct TfyPrograms {
    LIST(TfyServed) versions; /* all, oldest first */
    _Atomic(TfyCatalog *) newest;
} TfyPrograms;

TfyPrograms *tfy__programs_new(void); /* NULL: no memory */
void tfy__programs_close(TfyPrograms *programs);

/* The version takes the object, and is among the versions. NULL: no memory; the object is closed then. */
TfyServed *tfy__served_new(TfyPrograms *programs, const char *name, TfyShared *shared);
/* Has the loop run it, in the directory that the configuration gives its name. tfy_load's code. */
int tfy__served_load(TfyServer *server, const TfyServed *served, char *error);
/* New runs get this version. False: no memory. */
bool tfy__served_activate(TfyPrograms *programs, const TfyServed *served);
/* New runs get no version of this program any more. False: no memory. */
bool tfy__served_retire(TfyPrograms *programs, const TfyServed *served);
/* The version with this source, whatever its name; NULL: there is none. */
const TfyServed *tfy__served_from(const TfyPrograms *programs, const char *source);

const TfyCatalog *tfy__catalog(const TfyServer *server);
/* The version that new runs get. NULL: there is no program of that name. */
const TfyServed *tfy__served_named(const TfyServer *server, const char *program);
/* NULL: it has none of this name. */
const TfyWorkflow *tfy__served_workflow(const TfyServed *served, const char *name);
/* Whether the caller sees any of its workflows, or may see all programs. */
bool tfy__served_seen(const TfyServed *served, const TfyCaller *caller);

void tfy__serve_programs(TfyRequest *request); /* GET /v1/programs */
void tfy__serve_program(TfyRequest *request);  /* GET /v1/programs/{p} */

#endif
