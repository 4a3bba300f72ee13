/* main.c: tfy, the one command people type. One file per command; this one only chooses. */
#include "cli/frame/cli.h"
#include "tfy.h"
#include "base/sys_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Entry {
    const char *name;
    int (*run)(int argc, char **argv);
} Entry;

static const Entry ENTRIES[] = {
    {"run", tfy__cmd_run},
    {"build", tfy__cmd_build},
    {"check", tfy__cmd_check},
    {"lsp", tfy__cmd_lsp},
    {"test", tfy__cmd_test},
    {"crashtest", tfy__cmd_crashtest},
    {"fmt", tfy__cmd_fmt},
    {"graph", tfy__cmd_graph},
    {"completions", tfy__cmd_completions},
    {"ps", tfy__cmd_ps},
    {"inspect", tfy__cmd_inspect},
    {"resume", tfy__cmd_resume},
    {"replay", tfy__cmd_replay},
    {"diff", tfy__cmd_diff},
    {"output", tfy__cmd_output},
    {"result", tfy__cmd_result},
    {"watch", tfy__cmd_watch},
    {"stats", tfy__cmd_stats},
    {"timeline", tfy__cmd_timeline},
    {"tasks", tfy__cmd_tasks},
    {"approve", tfy__cmd_approve},
    {"deny", tfy__cmd_deny},
    {"kill", tfy__cmd_kill},
    {"signal", tfy__cmd_signal},
    {"resolve", tfy__cmd_resolve},
    {"fork", tfy__cmd_fork},
    {"compat", tfy__cmd_compat},
    {"wal export", tfy__cmd_wal_export},
    {"wal import", tfy__cmd_wal_import},
    {"gc", tfy__cmd_gc},
    {"salvage", tfy__cmd_salvage},
    {"verify", tfy__cmd_verify},
    {"backup", tfy__cmd_backup},
    {"adopt", tfy__cmd_adopt},
    {"doctor", tfy__cmd_doctor},
};
#define ENTRY_COUNT (sizeof ENTRIES / sizeof *ENTRIES)

static void usage(FILE *file)
{
    fprintf(file, "usage: tfy COMMAND ...\n");
    for (int i = 0; tfy__command_at(i); i++)
        fprintf(file, "  %-12s %s\n", tfy__command_at(i)->name, tfy__command_at(i)->summary);
    fprintf(file, "RUN is a run's id, the beginning of one, or 'last'. 'tfy COMMAND --help' says more.\n"
                  "exit status: 0 done, 1 the run failed, 64 usage, 65 bad program or data, 69 something is missing, "
                  "70 internal,\n"
                  "74 the log cannot be written, 75 held by another process or waiting for people, 130 interrupted\n");
}

static const char *command_candidate(const void *state, int index)
{
    (void)state;
    return tfy__command_at(index) ? tfy__command_at(index)->name : NULL;
}

static int unknown(const char *word)
{
    const char *meant = tfy__nearest(word, command_candidate, NULL);
    if (strcmp(word, "wal") == 0)
        return tfy__fail(EXIT_USAGE, "wal needs 'export' or 'import'; 'tfy --help' says more");
    if (meant) return tfy__fail(EXIT_USAGE, "there is no command '%s'; did you mean '%s'?", word, meant);
    return tfy__fail(EXIT_USAGE, "there is no command '%s'; 'tfy --help' lists them", word);
}

static int dispatch(int argc, char **argv)
{
    static char wal_export[] = "wal export", wal_import[] = "wal import";
    if (argc > 1 && strcmp(argv[0], "wal") == 0) {
        const bool exports = strcmp(argv[1], "export") == 0, imports = strcmp(argv[1], "import") == 0;
        if (exports || imports) argv[1] = exports ? wal_export : wal_import;
        if (exports || imports) return dispatch(argc - 1, argv + 1);
    }
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        if (strcmp(argv[0], ENTRIES[i].name) == 0) return ENTRIES[i].run(argc, argv);
    }
    return unknown(argv[0]);
}

/* `tfy --db FILE COMMAND …`, as our own messages write it: the words of the command come first, so that it reads the
 * option as its own. */
static void command_first(int argc, char **argv)
{
    int option = argc > 1 && strcmp(argv[1], "--db") == 0 ? 2 : argc > 1 && strncmp(argv[1], "--db=", 5) == 0 ? 1 : 0;
    if (!option || argc < option + 2) return;
    int command = argc > option + 2 && strcmp(argv[option + 1], "wal") == 0 ? 2 : 1;
    char *words[2] = {argv[1], argv[2]};
    memmove(argv + 1, argv + 1 + option, (size_t)command * sizeof *argv);
    memcpy(argv + 1 + command, words, (size_t)option * sizeof *argv);
}

int main(int argc, char **argv)
{
    tfy__standard_files();
    if (argc < 2) {
        usage(stderr);
        return EXIT_USAGE;
    }
    const int files = tfy__enough_files();
    if (files) return files;
    command_first(argc, argv);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return tfy__flush_stdout(EXIT_DONE);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tfy %s\n", tfy_version());
        return tfy__flush_stdout(EXIT_DONE);
    }
    tfy__sys_watch_json();
    const int status = dispatch(argc - 1, argv + 1);
    if (status != EXIT_DONE || !tfy__sys_starved()) return status;
    return tfy__fail(EXIT_BUG, "memory ran out; what was printed may not be all there is");
}
