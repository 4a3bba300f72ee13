/* tools.c: the commands that the compiler performs: each replaces this process by tfyc with the right option. */
#include "cli/frame/commands.h"
#include "cli/make/compile.h"
#include "cli/look/db.h"
#include "cli/make/sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Options of tfy that tfyc has too, under the same name. */
static const int PASSED[] = {OPT_CHECK, OPT_DIFF, OPT_TRUST, OPT_JSON, OPT_DIAGNOSTICS, OPT_DENY_WARNINGS};
#define PASSED_COUNT ((int)(sizeof PASSED / sizeof *PASSED))

/* Becomes `tfyc --MODE OPTIONS -- OPERANDS`, with the files of sources as operands, if given. Returns only on
 * failure. */
static int become_tfyc(const TfyArgs *args, const char *mode, const TfySources *sources)
{
    const int operands = sources ? sources->count : args->word_count;
    const char **words = calloc((size_t)(2 * (PASSED_COUNT + args->dir_count) + operands + 2), sizeof *words);
    char names[PASSED_COUNT][24];
    int count = 0;
    if (!words) return tfy__fail(EXIT_BUG, "memory ran out");
    words[count++] = mode;
    for (int i = 0; i < PASSED_COUNT; i++) {
        const char *value = args->option[PASSED[i]];
        if (!value) continue;
        names[i][0] = names[i][1] = '-';
        names[i][2] = '\0';
        strncat(names[i], tfy__option_at(PASSED[i])->name, sizeof names[i] - 3);
        words[count++] = names[i];
        if (*value) words[count++] = value;
    }
    for (int i = 0; i < args->dir_count; i++) {
        words[count++] = "-I";
        words[count++] = args->dirs[i];
    }
    words[count++] = "--";
    for (int i = 0; i < operands; i++) words[count++] = sources ? sources->items[i].path : args->words[i];
    int status = tfy__become_tfyc(words, count);
    free(words);
    return status;
}

static int on_sources(const TfyArgs *args, const char *mode)
{
    TfySources sources;
    int status = tfy__sources_find(args, &sources);
    if (status == EXIT_DONE) status = become_tfyc(args, mode, &sources);
    tfy__sources_free(&sources);
    return status;
}

int tfy__cmd_check(const TfyArgs *args)
{
    if (args->option[OPT_JSON] && !args->option[OPT_TRUST]) return tfy__fail(EXIT_USAGE, "--json goes with --trust");
    return on_sources(args, "--check");
}

int tfy__cmd_fmt(const TfyArgs *args)
{
    return on_sources(args, "--format");
}

/* The compiler is the language server, because it understands programs. */
int tfy__cmd_lsp(const TfyArgs *args)
{
    return become_tfyc(args, "--lsp", NULL);
}

/* Has standard input be this text. */
static bool become_input(const char *text)
{
    FILE *file = tmpfile();
    const bool written = file && fputs(text, file) >= 0 && fflush(file) == 0;
    const bool fine = written && lseek(fileno(file), 0, SEEK_SET) == 0 && dup2(fileno(file), STDIN_FILENO) >= 0;
    if (file) fclose(file);
    return fine;
}

/* Of a program that a log stores. */
static int graph_stored(const TfyArgs *args, const char *mode)
{
    TfyLog *log;
    char *source = NULL, *layout = NULL;
    int status = tfy__db_open(args, &log);
    if (status != EXIT_DONE) return status;
    status = tfy__db_program(log, args->words[0], &source, &layout, NULL);
    tfy__log_close(log, false);
    if (status == EXIT_DONE) {
        TfySourceMap map = {.layout = json_loads(layout, 0, NULL), .source = source};
        char *bundle = tfy__source_bundle(&map);
        const char *const alone[] = {mode, "--", "-"}, *const several[] = {mode, "--bundle", "--", "-"};
        tfy__source_map_free(&map);
        if (!become_input(bundle ? bundle : source))
            status = tfy__fail(EXIT_LOG, "a temporary file cannot be written: %s", strerror(errno));
        else
            status = bundle ? tfy__become_tfyc(several, 4) : tfy__become_tfyc(alone, 3);
        free(bundle);
    }
    free(source);
    free(layout);
    return status;
}

int tfy__cmd_graph(const TfyArgs *args)
{
    const char *format = args->option[OPT_GRAPH_FORMAT];
    char mode[32];
    TfyArgs own = *args;
    if (format && args->option[OPT_JSON]) return tfy__fail(EXIT_USAGE, "--json is --format json; give one of them");
    own.option[OPT_JSON] = NULL;
    snprintf(mode, sizeof mode, "--graph=%s", args->option[OPT_JSON] ? "json" : format ? format : "mermaid");
    const bool given = tfy__is_source(args->words[0]) || strcmp(args->words[0], "-") == 0;
    return given ? become_tfyc(&own, mode, NULL) : graph_stored(args, mode);
}
