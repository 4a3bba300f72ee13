/* cli_commands.h: the table of commands for unit tests, without the functions, which are part of `tfy`. */
#ifndef UNIT_CLI_COMMANDS_H
#define UNIT_CLI_COMMANDS_H

#include "cli/frame/commands.h"
#include "cli/frame/all_options.c"

#include <string.h>

static inline const TfyCommand *command_named(const char *name)
{
#define ROW(function, ...) {.run = NULL, __VA_ARGS__},
    static const TfyCommand COMMANDS[] = {TFY_COMMANDS(ROW, ROW)};
#undef ROW
    size_t i = 0;
    while (strcmp(COMMANDS[i].name, name) != 0) i++;
    return &COMMANDS[i];
}

#endif
