/* tools.c: the commands that the compiler performs: each replaces this process by tfyc with the right option. */
#include "cli/frame/commands.h"
#include "cli/make/compile.h"
#include "cli/make/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int tfy__cmd_graph(const TfyArgs *args)
{
    char mode[32] = "--graph=mermaid";
    if (args->option[OPT_GRAPH_FORMAT]) snprintf(mode, sizeof mode, "--graph=%s", args->option[OPT_GRAPH_FORMAT]);
    return become_tfyc(args, mode, NULL);
}
