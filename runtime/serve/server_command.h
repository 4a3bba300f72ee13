/* server_command.h: tfy start, tfy deploy and tfy drain, which ask a server (client.h). */
#ifndef SERVE_SERVER_COMMAND_H
#define SERVE_SERVER_COMMAND_H

#include <stdbool.h>

/* argv[0]: "start", "deploy" or "drain". Returns the exit status. */
int tfy__server_command(int argc, char **argv);
/* Whether there is such a command. */
bool tfy__is_server_command(const char *word);

#endif
