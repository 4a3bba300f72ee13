/* remote.h: ps, inspect, approve, deny, signal, kill and resolve of tfy with --server URL: what they do to a database, asked of
 * a server elsewhere (client.h). */
#ifndef SERVE_REMOTE_H
#define SERVE_REMOTE_H

#include <stdbool.h>

/* argv[0]: "ps", "inspect" or "request". Returns the exit status. */
int tfy__remote_command(int argc, char **argv);
/* Whether there is such a command. */
bool tfy__is_remote_command(const char *word);

#endif
