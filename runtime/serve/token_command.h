/* token_command.h: `tfy token create|list|revoke|login`. Beside a server that runs, it asks that, through the socket that
 * only its user may open; otherwise it changes the files itself, as the server would. */
#ifndef SERVE_TOKEN_COMMAND_H
#define SERVE_TOKEN_COMMAND_H

/* argv[0] is "token". Returns the exit status. */
int tfy__token_command(int argc, char **argv);

#endif
