/* secret_source.h: where the values of secrets are found.
 *
 * In this order, and anew for each use, so that a value can be changed while a program runs:
 *
 *   --secrets FILE|DIR       lines NAME=value; or a directory with one file for each secret
 *   $CREDENTIALS_DIRECTORY   such a directory, made by systemd
 *   TFY_SECRET_NAME          as it was when the process started
 *   --secrets-from CMD       a command of the person's, run as CMD NAME: the first line that it prints
 *
 * A file that other users can read is refused. The file of a directory is the value, without one line end behind it.
 *
 * The command is no tool: it needs the person's keys and agents, so no cell holds it. It may take seconds, and meanwhile
 * the loop serves everything else: the call that needs the secret waits as if there were no room for it, and starts
 * again when the command has ended. */
#ifndef EFFECTS_SECRET_SOURCE_H
#define EFFECTS_SECRET_SOURCE_H

#include "core/effect.h"

/* One secret that is looked for. */
typedef struct TfySought {
    const char *name;
    const char *given; /* the file or directory that the person names; NULL: none */
    char *value; /* owned by the caller, NUL-terminated; NULL: it was not found */
    size_t len;  /* bytes of value */
    char *error; /* TFY_ERROR_TEXT bytes: why it cannot be had; "": nothing is wrong */
    int no_room; /* 0, or the error for which a file could not be opened, or a command not be started, now */
} TfySought;

enum { TFY_SECRET_MAX = 64 << 10 }; /* bytes of a value that is read from a file of its own or from a command */

/* Looks in the files and the variable. True: it is found, or an error says why it cannot be had. */
bool tfy__secret_look(TfySought *sought);

/* Asks the command. False: it has not answered yet, and the call waits (tfy__call_no_room with error 0). There is a
 * command (tfy__secrets_command). */
bool tfy__secret_ask(const TfyCall *call, TfySought *sought);
/* The work of the call has started: wipes what the command answered for it. */
void tfy__secret_asked(const TfyCall *call);
/* Ends the commands that still run. Closing twice is allowed. */
void tfy__secret_close(TfyLoop *loop);

#endif
