/* main.c: tfy, the command that people type. Each command has a file; frame/commands.h has their table. */
#include "cli/cluster/cluster.h"
#include "cli/frame/commands.h"
#include "tfy.h"
#include "base/sys_memory.h"

#include <stdio.h>
#include <string.h>

/* `tfy --db FILE COMMAND …`, the form that our own messages use: moves the command's words to the front, so that the
 * command parses the option as its own. */
static void command_first(int argc, char **argv)
{
    const int option = argc > 1 && strcmp(argv[1], "--db") == 0        ? 2
                       : argc > 1 && strncmp(argv[1], "--db=", 5) == 0 ? 1
                                                                       : 0;
    if (!option || argc < option + 2) return;
    const int named = tfy__commands_words(argc - 1 - option, argv + 1 + option), command = named ? named : 1;
    char *words[2] = {argv[1], argv[2]};
    memmove(argv + 1, argv + 1 + option, (size_t)command * sizeof *argv);
    memcpy(argv + 1 + command, words, (size_t)option * sizeof *argv);
}

int main(int argc, char **argv)
{
    tfy__standard_files();
    if (argc < 2) {
        tfy__commands_usage(stderr);
        return EXIT_USAGE;
    }
    const int files = tfy__enough_files();
    if (files) return files;
    command_first(argc, argv);
    if (strcmp(argv[1], "help") == 0 && argc > 2) return tfy__commands_help(argc - 2, argv + 2);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        tfy__commands_usage(stdout);
        return tfy__flush_stdout(EXIT_DONE);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tfy %s\n", tfy_version());
        return tfy__flush_stdout(EXIT_DONE);
    }
    tfy__sys_watch_json();
    tfy__db_open_shared = tfy__shared_log_open;
    const int status = tfy__commands_dispatch(argc - 1, argv + 1);
    if (status != EXIT_DONE || !tfy__sys_starved()) return status;
    return tfy__fail(EXIT_BUG, "memory ran out; what was printed may not be all there is");
}
