/* sandbox_named.h: the sandboxes that tfy sandbox NAME knows: the given ones, and those that a program declares.
 *
 * A program's layout has them (codegen/emit_layout.c). That of FILE.tfy comes from tfyc; a built program carries it, and
 * it is read out of its file: nothing of a program is started to learn what its tools may do. */
#ifndef CLI_MAKE_SANDBOX_NAMED_H
#define CLI_MAKE_SANDBOX_NAMED_H

#include <jansson.h>

#include "cli/frame/cli.h"

/* name NULL: the program's default. *sandbox: an object as in the layout, the caller's; of a given sandbox it has only
 * `name`, `root` and `network`. Returns an exit status, after a message. */
int tfy__sandbox_named(const TfyArgs *args, const char *name, json_t **sandbox);

#endif
