/* lsp.h: the language server: what editors talk to, over the Language Server Protocol, version 3.17, on standard input
 * and output.
 *
 * It is single-threaded. Whatever has arrived is read first and answered then, so a burst of keystrokes costs one
 * analysis and a request that was cancelled meanwhile costs none. Every analysis has an arena of its own, freed when
 * the text changes: the server does not grow with the hours. Nothing that a client sends ends it but `exit` and the
 * end of its input. */
#ifndef DSL_LSP_H
#define DSL_LSP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "module.h"

typedef struct LspServer LspServer;

/* Answers go to `out`; imported files are looked for in `paths` too (may be NULL). Both stay the caller's. */
LspServer *lsp_server_new(FILE *out, const ModulePaths *paths);
void lsp_server_free(LspServer *server);

/* Takes bytes as they arrive, in pieces of any size, and keeps the messages that are whole. */
void lsp_server_feed(LspServer *server, const char *bytes, size_t len);

/* Handles every message kept so far, then publishes the diagnostics of what changed. */
void lsp_server_work(LspServer *server);

/* The client has said `exit`. */
bool lsp_server_has_exited(const LspServer *server);

/* Serves until `exit` or the end of input; the exit status: 0 after an orderly shutdown, else 1. */
int lsp_serve(int in, FILE *out, const ModulePaths *paths);

#endif
