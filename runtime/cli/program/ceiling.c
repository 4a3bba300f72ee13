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

/* One rule of a list; false after a message. */
static bool check_rule(const char *option, const char *text, size_t len)
{
    char rule[RULE_BYTES];
    const bool fits = snprintf(rule, sizeof rule, "%.*s", (int)len, text) < (int)sizeof rule;
    const char *wrong = fits ? tfy__proxy_rule_wrong(rule) : "it is too long";
    if (wrong) tfy__say("--%s: '%s' names no host: %s", option, rule, wrong);
    return !wrong;
}

static bool check_network(const char *text)
{
    if (!text || strcmp(text, "none") == 0 || strcmp(text, "any") == 0) return true;
    for (const char *at = text;; at++) {
        const size_t len = strcspn(at, ",");
        if (!check_rule("network", at, len)) return false;
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

static bool check_tool(const TfyProgram *program, const char *grant, size_t len)
{
    char name[RULE_BYTES];
    const char *tool;
    if (len == 4 && strncmp(grant, "exec", len) == 0) return true;
    for (int i = 0; (tool = exec_tool(program, i)); i++)
        if (strlen(tool) == len && strncmp(tool, grant, len) == 0) return true;
    snprintf(name, sizeof name, "%.*s", (int)len, grant);
    const char *meant = tfy__nearest(name, exec_tool, program);
    tfy__say("--grant %s: %s runs no tool '%s'%s%s%s", grant, program->name, name, meant ? "; did you mean '" : "",
             meant ? meant : "", meant ? "'?" : "");
    return false;
}

/* TOOL:reads=PATH, TOOL:writes=PATH, TOOL:network=RULE. */
static bool check_grant(const TfyProgram *program, const char *grant)
{
    static const char *const kinds[] = {"reads=", "writes=", "network="};
    const size_t len = strcspn(grant, ":");
    const char *kind = grant[len] ? grant + len + 1 : "";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t word = strlen(kinds[i]);
        if (strncmp(kind, kinds[i], word) != 0 || !kind[word] || strchr(kind, '\n')) continue;
        if (!check_tool(program, grant, len)) return false;
        return kinds[i][0] != 'n' || check_rule("grant", kind + word, strlen(kind + word));
    }
    tfy__say("--grant takes TOOL:reads=PATH, TOOL:writes=PATH or TOOL:network=HOST:PORT, not '%s'", grant);
    return false;
}

/* A path is kept as it is found now: it says the same when the run goes on elsewhere. */
static void add_grant(TfyBuffer *lines, const char *grant)
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
    if (!check_network(args->option[OPT_CEILING_NETWORK])) return false;
    for (int i = 0; i < args->given_count; i++) {
        if (args->given[i].option != OPT_GRANT) continue;
        if (!check_grant(program, args->given[i].value)) {
            tfy__buffer_free(&lines);
            return false;
        }
        add_grant(&lines, args->given[i].value);
    }
    options->sandbox = args->option[OPT_CEILING];
    options->sandbox_level = args->option[OPT_CELL_LEVEL];
    options->runners = args->option[OPT_RUNNERS] != NULL;
    options->network = args->option[OPT_CEILING_NETWORK];
    options->budget = args->option[OPT_BUDGET];
    options->grants = *grants = lines.data;
    return true;
}
