/* all_options.c: the options of all commands, for tfy. */
#include "cli/frame/options.h"

#include <stddef.h>

#define INFO(NAME, ...) [OPT_##NAME] = {__VA_ARGS__},
const TfyOptionInfo tfy__options[OPT_COUNT] = {TFY_OPTIONS(INFO)};
#undef INFO
