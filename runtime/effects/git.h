/* git.h: how the runtime calls git: git runs nothing that a repository names.
 *
 * A repository, and its settings too, may be a model's work. The settings below switch off every command that has
 * one name. Filters and drivers can have any name: git does not read the repository's settings at all where they
 * could matter (canvas_repository.c, and --git-dir=/dev/null). */
#ifndef TFY_EFFECTS_GIT_H
#define TFY_EFFECTS_GIT_H

#include <stdio.h>

/* Each is passed after a -c. */
#define TFY_GIT_SETTINGS                                                                                               \
    "core.autocrlf=false", "gc.auto=0", "maintenance.auto=false", "core.hooksPath=/dev/null", "core.fsmonitor=false",  \
        "core.pager=cat", "core.editor=true", "core.sshCommand=false", "core.askPass=true", "gpg.program=false",       \
        "commit.gpgSign=false", "log.showSignature=false"

/* For the environment. Missing objects are not fetched: a remote may name a command, and settings of the
 * repository override our protocol.allow. */
#define TFY_GIT_ENVIRONMENT                                                                                            \
    "LC_ALL=C", "LANGUAGE=C", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "GIT_PAGER=cat", "GIT_ASKPASS=true",         \
        "SSH_ASKPASS=true", "GIT_SEQUENCE_EDITOR=true", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",              \
        "GIT_SSH_COMMAND=false"

/* The run's branch, "tiffany/feature/…": from the first digits of its uuid, which are its whole millisecond. */
#define TFY_BRANCHES   "tiffany/feature"
#define TFY_RUN_BRANCH 32 /* bytes, with the NUL */
static inline void tfy__run_branch(const char *uuid, char branch[TFY_RUN_BRANCH])
{
    snprintf(branch, TFY_RUN_BRANCH, TFY_BRANCHES "/%.13s", uuid);
}

#endif
