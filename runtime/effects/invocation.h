/* invocation.h: a process that a program wants started, from the values that the program computed: its words, its
 * environment, its directory and its cell, with secrets filled in. Of exec tools, and of MCP servers that are started. */
#ifndef EFFECTS_INVOCATION_H
#define EFFECTS_INVOCATION_H

#include "effects/sandbox.h"
#include "effects/secret.h"

/* All zero but for cwd_fd, which is -1, before it is built. */
typedef struct TfyInvocation {
    const char **argv; /* NULL-terminated; the words are in `secrets`, or in the values; owned */
    char **env;        /* "NAME=value", NULL-terminated; owned, and wiped */
    int cwd_fd;
    TfySecrets secrets; /* inserted into them */
    TfyConfined confined;
} TfyInvocation;

/* argv: list<string>; env: map<string, string>, or NULL; cwd: string, or NULL: the root. The cell is that of the call's
 * tool; granted: what it may have besides, or NULL. False after the call, or the loop, has failed. The values must outlive
 * the invocation, or its start. */
bool tfy__invocation_build(TfyInvocation *invocation, TfyCall *call, const TfyObj *argv, const TfyObj *env,
                           const TfyObj *cwd, const char *granted);

/* Releases what only the start needs: all but the secrets and the cell. */
void tfy__invocation_started(TfyInvocation *invocation);
void tfy__invocation_free(TfyInvocation *invocation);

#endif
