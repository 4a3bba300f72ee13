/* run.c: tfy run, build and check: the commands that start from a .tfy file. */
#include "cli/frame/commands.h"
#include "cli/look/db.h"
#include "cli/make/compile.h"
#include "effects/protect.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the index of the first word in argv[1..] that is not an option; argc if there is none, -1 after a message.
 * Only options of tfy itself may come before it. */
static int find_file(const TfyCommand *command, int argc, char **argv)
{
    int i = 1;
    while (i < argc && argv[i][0] == '-' && argv[i][1]) {
        int words = tfy__option_words(command, argv[i]);
        if (!words) {
            tfy__say("'%s' is before FILE.tfy and is not an option of %s; parameters of a workflow come after its file",
                     argv[i], argv[0]);
            return -1;
        }
        i += words;
    }
    return i < argc ? i : argc;
}

static bool asks_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) return true;
    }
    return false;
}

/* Removes every `-I DIR` and --deny-warnings from argv: they concern the compilation, not the program. Returns how many
 * words remain, -1 after a message. */
static int take_compilation(int argc, char **argv, const char **dirs, TfyCompile *what)
{
    int kept = 0, *count = &what->dir_count;
    bool rest = false;
    what->dirs = dirs;
    for (int i = 0; i < argc; i++) {
        rest |= strcmp(argv[i], "--") == 0;
        if (!rest && strcmp(argv[i], "--deny-warnings") == 0)
            what->deny_warnings = true;
        else if (rest || strncmp(argv[i], "-I", 2) != 0 || (argv[i][2] && argv[i][2] != '=')) {
            argv[kept++] = argv[i];
        } else if (argv[i][2]) {
            dirs[(*count)++] = argv[i] + 3;
        } else if (++i < argc) {
            dirs[(*count)++] = argv[i];
        } else {
            tfy__say("option '-I' needs a value: DIR");
            return -1;
        }
    }
    argv[kept] = NULL;
    return kept;
}

/* Tells the program where its source lies, so that tools cannot change it. */
static bool name_directory(const char *file)
{
    char real[PATH_MAX];
    if (!realpath(file, real)) return true;
    *strrchr(real, '/') = 0;
    return setenv(TFY_SOURCE_DIR, *real ? real : "/", 1) == 0;
}

/* tfy run [options] FILE.tfy [FILE.c …] [options and parameters]: the program parses everything but the files, which
 * it passes over. */
static int run_file(const TfyCommand *command, int argc, char **argv, TfyCompile *what)
{
    int file = find_file(command, argc, argv);
    if (file < 0) return EXIT_USAGE;
    if (file == argc) {
        bool help = asks_help(argc, argv);
        if (!help) tfy__say("run needs FILE.tfy");
        tfy__command_usage(command, help ? stdout : stderr);
        return help ? tfy__flush_stdout(EXIT_DONE) : EXIT_USAGE;
    }
    int rest = file + 1;
    while (rest < argc && argv[rest][0] != '-' && tfy__ends_with(argv[rest], ".c")) rest++;
    what->name = what->path = argv[file];
    what->extras = (const char *const *)argv + file + 1;
    what->extra_count = rest - file - 1;
    char *program = NULL;
    int status = tfy__compile(what, &program);
    if (status != EXIT_DONE) return status;
    char count[16];
    snprintf(count, sizeof count, "%d", rest - file);
    if (setenv(TFY_RUN_FILES, count, 1) < 0 || !name_directory(what->path))
        return tfy__fail(EXIT_BUG, "memory ran out");
    status = tfy__exec_program(program, "run", argv + 1, argc - 1);
    free(program);
    return status;
}

int tfy__cmd_run(const TfyArgs *args)
{
    TfyCompile what = {0};
    const char **dirs = calloc((size_t)args->argc + 1, sizeof *dirs);
    if (!dirs) return tfy__fail(EXIT_BUG, "memory ran out");
    int left = take_compilation(args->argc, args->argv, dirs, &what);
    int status = left < 0 ? EXIT_USAGE : run_file(args->command, left, args->argv, &what);
    free(dirs);
    return status;
}

/* A program that a log stores: of a run, or the one of a hash. */
static int compile_stored(const TfyArgs *args, const TfyCompile *what, char **program)
{
    TfyLog *log;
    TfyCompile how = *what;
    char *source = NULL, *layout = NULL;
    int status = tfy__db_open(args, &log);
    if (status != EXIT_DONE) return status;
    status = tfy__db_program(log, what->path, &source, &layout, NULL);
    tfy__log_close(log, false);
    how.path = NULL;
    const TfyHistory stored = {.program_source = source, .program_layout = layout};
    if (status == EXIT_DONE) status = tfy__compile_recorded(&stored, &how, program);
    free(source);
    free(layout);
    return status;
}

/* A program with all its files, as `tfyc --bundle` reads it. */
static int compile_bundle(const TfyCompile *what, char **program)
{
    json_error_t error;
    json_t *bundle = json_load_file(what->path, JSON_ALLOW_NUL, &error);
    const char *main_file =
        json_string_value(json_object_get(json_array_get(json_object_get(bundle, "modules"), 0), "file"));
    char *text = main_file ? json_dumps(bundle, JSON_COMPACT) : NULL;
    TfyCompile how = *what;
    how.path = NULL;
    how.name = main_file;
    how.source = text;
    how.bundle = true;
    const int status =
        text ? tfy__compile(&how, program)
             : tfy__fail(EXIT_DATA, "%s is not a program: %s", what->path, bundle ? "it holds no modules" : error.text);
    free(text);
    json_decref(bundle);
    return status;
}

int tfy__cmd_build(const TfyArgs *args)
{
    char *program = NULL;
    if (!args->option[OPT_OUT])
        return tfy__fail(EXIT_USAGE, args->option[OPT_SHARED] ? "build --shared needs -o FILE.so, the object to write"
                                                              : "build needs -o PROGRAM, the executable to write");
    TfyCompile what = {.name = args->words[0],
                       .path = args->words[0],
                       .dirs = args->dirs,
                       .dir_count = args->dir_count,
                       .extras = args->words + 1,
                       .extra_count = args->word_count - 1,
                       .output = args->option[OPT_OUT],
                       .debug = args->option[OPT_DEBUG],
                       .shared = args->option[OPT_SHARED],
                       .offer = args->option[OPT_OFFER],
                       .deny_warnings = args->option[OPT_DENY_WARNINGS]};
    int status = tfy__is_source(what.path)            ? tfy__compile(&what, &program)
                 : tfy__ends_with(what.path, ".json") ? compile_bundle(&what, &program)
                                                      : compile_stored(args, &what, &program);
    free(program);
    return status;
}
