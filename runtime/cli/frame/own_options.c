/* own_options.c: the options of the commands that every compiled program has. A program carries no text of others. */
#include "cli/frame/commands.h"

#include <stddef.h>

#define OTHER(...)
#define OWN(function, name, operands, summary, options, ...) | (options)
#define OWN_OPTIONS                                          (OPT(HELP) TFY_COMMANDS(OTHER, OWN))
#define IS_OWN(NAME)                                                                                                   \
    ((int)OPT_##NAME < TFY_OPTION_BITS && (OWN_OPTIONS >> OPT_##NAME % TFY_OPTION_BITS & 1) != 0)
#define KEEP(NAME, text) (IS_OWN(NAME) ? (text) : NULL)
#define INFO(NAME, name, argument, meaning)                                                                            \
    [OPT_##NAME] = {KEEP(NAME, name), KEEP(NAME, argument), KEEP(NAME, meaning)},

/* Weak: tfy contains all of libtfy, and has a table with more in it. */
__attribute__((weak)) const TfyOptionInfo tfy__options[OPT_COUNT] = {TFY_OPTIONS(INFO)};
