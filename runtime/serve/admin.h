/* admin.h: the record Admin, in the chain of the database: what was done to the server itself, by whom, and how. */
#ifndef SERVE_ADMIN_H
#define SERVE_ADMIN_H

#include "serve/serve.h"
#include "wal/log/log.h"

/* Appends it. what: "token", "revoke", "config", …; name: of the token, …; value: what else there is to say, JSON; both may
 * be NULL. Returns its ticket, or a negative code. */
TfyTicket tfy__admin_append(TfyLog *log, const TfyCaller *caller, const char *what, const char *name,
                            const json_t *value);
/* In the loop: the same for a request, which goes on with `then` (tfy__command_await). */
void tfy__admin_audit(TfyRequest *request, const char *what, const char *name, const json_t *value, TfyPosted then);

#endif
