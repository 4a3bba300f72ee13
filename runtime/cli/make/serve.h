/* serve.h: what commands of tfy leave to tfy-serve: asking a server elsewhere (--server URL). */
#ifndef CLI_MAKE_SERVE_H
#define CLI_MAKE_SERVE_H

#include <jansson.h>

#include "cli/frame/cli.h"

/* Becomes tfy-serve, which does what the verb says at the server of --server, with the words and options of args. Returns an
 * exit status if it cannot. */
int tfy__ask_server(const TfyArgs *args, const char *verb);
/* The same with a request of a person to a run, as cli/answer/request.h has it. done: what is said when it is taken. */
int tfy__send_server(const TfyArgs *args, const json_t *request, const char *done);

#endif
