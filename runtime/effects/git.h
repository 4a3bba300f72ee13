/* git.h: how git is called when the runtime calls it: nothing that a repository names is run.
 *
 * A repository may be a model's work, its settings too. What follows switches off what has one name each; filters and
 * drivers, of which there may be any number, are kept away by not reading the repository's settings at all
 * (canvas_repository.c, and --git-dir=/dev/null). */
#ifndef TFY_EFFECTS_GIT_H
#define TFY_EFFECTS_GIT_H

/* Each goes behind a -c. */
#define TFY_GIT_SETTINGS                                                                                               \
    "core.autocrlf=false", "gc.auto=0", "maintenance.auto=false", "core.hooksPath=/dev/null", "core.fsmonitor=false",  \
        "core.pager=cat", "core.editor=true", "core.sshCommand=false", "core.askPass=true", "gpg.program=false",       \
        "commit.gpgSign=false", "log.showSignature=false"

/* In the environment. Missing objects are not fetched: a remote may name a command, and settings of the repository
 * outweigh our protocol.allow. */
#define TFY_GIT_ENVIRONMENT                                                                                            \
    "LC_ALL=C", "LANGUAGE=C", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "GIT_PAGER=cat", "GIT_ASKPASS=true",         \
        "SSH_ASKPASS=true", "GIT_SEQUENCE_EDITOR=true", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",              \
        "GIT_SSH_COMMAND=false"

#endif
