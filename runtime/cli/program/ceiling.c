/* ceiling.c: see ceiling.h. */
#include "cli/program/ceiling.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "core/effect.h"
#include "effects/proxy_rules.h"
#include "effects/sandbox.h"

enum { RULE_BYTES = 300 };

/* One rule of a list. */
static bool rule_fits(const char *text, size_t len, char *error)
{
    char rule[RULE_BYTES];
    const bool fits = snprintf(rule, sizeof rule, "%.*s", (int)len, text) < (int)sizeof rule;
    const char *wrong = fits ? tfy__proxy_rule_wrong(rule) : "it is too long";
    if (wrong) snprintf(error, TFY_ERROR_TEXT, "'%s' names no host: %s", rule, wrong);
    return !wrong;
}

bool tfy__network_fits(const char *text, char *error)
{
    if (strcmp(text, "none") == 0 || strcmp(text, "any") == 0) return true;
    for (const char *at = text;; at++) {
        const size_t len = strcspn(at, ",");
        if (!rule_fits(at, len, error)) return false;
        at += len;
        if (!*at) return true;
    }
}

static const char *exec_tool(const void *state, int index)
{
    const TfyProgram *program = state;
    for (uint32_t i = 0; i < program->tool_count; i++)
        if (program->tools[i]->family == TFY_F_EXEC && index-- == 0) return program->tools[i]->name;
    return NULL;
}

static bool has_tool(const TfyProgram *program, const char *grant, size_t len, char *error)
{
    char name[RULE_BYTES];
    const char *tool;
    if (len == 4 && strncmp(grant, "exec", len) == 0) return true;
    for (int i = 0; (tool = exec_tool(program, i)); i++)
        if (strlen(tool) == len && strncmp(tool, grant, len) == 0) return true;
    snprintf(name, sizeof name, "%.*s", (int)len, grant);
    const char *meant = tfy__nearest(name, exec_tool, program);
    snprintf(error, TFY_ERROR_TEXT, "%.100s runs no tool '%.100s'%s%.100s%s", program->name, name,
             meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
    return false;
}

bool tfy__grant_fits(const TfyProgram *program, const char *grant, char *error)
{
    static const char *const kinds[] = {"reads=", "writes=", "network="};
    const size_t len = strcspn(grant, ":");
    const char *kind = grant[len] ? grant + len + 1 : "";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t word = strlen(kinds[i]);
        if (strncmp(kind, kinds[i], word) != 0 || !kind[word] || strchr(kind, '\n')) continue;
        if (program && !has_tool(program, grant, len, error)) return false;
        return kinds[i][0] != 'n' || rule_fits(kind + word, strlen(kind + word), error);
    }
    snprintf(error, TFY_ERROR_TEXT, "it is not TOOL:reads=PATH, TOOL:writes=PATH or TOOL:network=HOST:PORT");
    return false;
}

void tfy__grant_add(TfyBuffer *lines, const char *grant)
{
    const char *value = strchr(grant, '=') + 1;
    char real[PATH_MAX];
    const bool is_path = !strstr(grant, ":network=");
    tfy__buffer_printf(lines, "%s%.*s%s", lines->len ? "\n" : "", (int)(value - grant), grant,
                       is_path && realpath(value, real) ? real : value);
}

static const char *runner_of(const TfySandbox *sandbox)
{
    return sandbox && sandbox->runner ? *sandbox->runner : NULL;
}

int tfy__check_runners(const TfyProgram *program, const TfyArgs *args)
{
    const char *most = args->option[OPT_CEILING];
    const bool lifted = most && strcmp(most, "open") == 0;
    const char *tool = "exec", *runner = lifted ? NULL : runner_of(program->sandbox);
    for (uint32_t i = 0; i < program->tool_count && !runner; i++) {
        tool = program->tools[i]->name;
        runner = runner_of(program->tools[i]->sandbox);
    }
    return runner && !args->option[OPT_RUNNERS] ? tfy__fail(EXIT_MISSING, TFY_RUNNER_REFUSED, tool, runner) : EXIT_DONE;
}

bool tfy__read_ceiling(const TfyProgram *program, const TfyArgs *args, TfyOptions *options, char **grants)
{
    TfyBuffer lines = {0};
    TfyAmount limit;
    char error[TFY_ERROR_TEXT];
    if (args->option[OPT_BUDGET] && !tfy__budget_read(args->option[OPT_BUDGET], &limit, error)) {
        tfy__say("%s", error);
        return false;
    }
    if (tfy__args_choice(args, OPT_CEILING, 0) < 0 || tfy__args_choice(args, OPT_CELL_LEVEL, 0) < 0) return false;
    const char *network = args->option[OPT_CEILING_NETWORK];
    if (network && !tfy__network_fits(network, error)) {
        tfy__say("--network: %s", error);
        return false;
    }
    for (int i = 0; i < args->given_count; i++) {
        if (args->given[i].option != OPT_GRANT) continue;
        if (!tfy__grant_fits(program, args->given[i].value, error)) {
            tfy__say("--grant %s: %s", args->given[i].value, error);
            tfy__buffer_free(&lines);
            return false;
        }
        tfy__grant_add(&lines, args->given[i].value);
    }
    options->sandbox = args->option[OPT_CEILING];
    options->sandbox_level = args->option[OPT_CELL_LEVEL];
    options->runners = args->option[OPT_RUNNERS] != NULL;
    options->network = network;
    options->budget = args->option[OPT_BUDGET];
    options->grants = *grants = lines.data;
    return true;
}
