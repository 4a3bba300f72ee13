/* commands.c: the functions of tfy's command table: help and dispatch. */
#include "cli/frame/commands.h"

#include <stdio.h>
#include <string.h>

#define ROW(function, ...) {.run = tfy__cmd_##function, __VA_ARGS__},
const TfyCommand tfy__commands[] = {TFY_COMMANDS(ROW, ROW){.name = NULL}};
#undef ROW

void tfy__commands_usage(void *file)
{
    fprintf(file, "usage: tfy COMMAND ...\n");
    for (const TfyCommand *command = tfy__commands; command->name; command++)
        fprintf(file, "  %-12s %s\n", command->name, command->summary);
    fprintf(file, "RUN is a run's id, the beginning of one, or 'last'. 'tfy COMMAND --help' says more.\n"
                  "exit status: 0 done, 1 the run failed, 64 usage, 65 bad program or data, 69 something is missing, "
                  "70 internal,\n"
                  "74 the log cannot be written, 75 held by another process or waiting for people, 130 interrupted\n");
}

/* Finds the command that the words name, and how many words its name has. */
static const TfyCommand *find(int argc, char **argv, int *words)
{
    for (const TfyCommand *command = tfy__commands; argc > 0 && command->name; command++) {
        const char *second = strchr(command->name, ' ');
        const size_t first = strcspn(command->name, " ");
        *words = second ? 2 : 1;
        if (*words > argc || strlen(argv[0]) != first || memcmp(argv[0], command->name, first) != 0) continue;
        if (!second || strcmp(argv[1], second + 1) == 0) return command;
    }
    *words = 0;
    return NULL;
}

int tfy__commands_words(int argc, char **argv)
{
    int words;
    find(argc, argv, &words);
    return words;
}

static const char *candidate(const void *state, int index)
{
    (void)state;
    return tfy__commands[index].name;
}

/* Lists the possible second words after this first word: "'export' or 'import'". Returns false if no command starts
 * with it. */
static bool list_seconds(const char *first, char *text, size_t size)
{
    const size_t len = strlen(first);
    size_t used = 0;
    *text = '\0';
    for (const TfyCommand *command = tfy__commands; command->name && used < size; command++) {
        if (strncmp(command->name, first, len) != 0 || command->name[len] != ' ') continue;
        used += (size_t)snprintf(text + used, size - used, "%s'%s'", used ? " or " : "", command->name + len + 1);
    }
    return used > 0;
}

static int unknown(const char *word)
{
    char seconds[80];
    if (list_seconds(word, seconds, sizeof seconds))
        return tfy__fail(EXIT_USAGE, "%s needs %s; 'tfy --help' says more", word, seconds);
    const char *meant = tfy__nearest(word, candidate, NULL);
    if (meant) return tfy__fail(EXIT_USAGE, "there is no command '%s'; did you mean '%s'?", word, meant);
    return tfy__fail(EXIT_USAGE, "there is no command '%s'; 'tfy --help' lists them", word);
}

int tfy__commands_dispatch(int argc, char **argv)
{
    int words;
    const TfyCommand *command = find(argc, argv, &words);
    return command ? tfy__command_run(command, argc - words + 1, argv + words - 1) : unknown(argv[0]);
}

int tfy__commands_help(int argc, char **argv)
{
    int words;
    const TfyCommand *command = find(argc, argv, &words);
    if (!command) return unknown(argv[0]);
    tfy__command_usage(command, stdout);
    return tfy__flush_stdout(EXIT_DONE);
}
