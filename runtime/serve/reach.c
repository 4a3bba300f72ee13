/* reach.c: see reach.h. */
#include "serve/reach.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cli/program/ceiling.h"
#include "serve/body.h"
#include "tfy.h"

void tfy__reach_free(TfyReach *reach)
{
    char *texts[] = {reach->program, reach->sandbox, reach->network, reach->grants,
                     reach->budget,  reach->root,    reach->secrets};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free(texts[i]);
    free(reach);
}

/* ---- the configuration ---- */

static const char *const sandboxes[] = {"readonly", "workspace", "open"}; /* from the strictest one on */
enum { SANDBOXES = sizeof sandboxes / sizeof *sandboxes };

/* Its place; SANDBOXES: it is none. */
static int strictness(const char *sandbox)
{
    int place = 0;
    while (place < SANDBOXES && strcmp(sandboxes[place], sandbox) != 0) place++;
    return place;
}

bool tfy__reach_sandbox(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfyReach *reach = arg;
    if (strictness(json_string_value(value)) == SANDBOXES)
        return tfy__config_refuse(reading, path, "it is readonly, workspace or open");
    return tfy__config_text(reading, &reach->sandbox, value);
}

bool tfy__reach_network(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfyReach *reach = arg;
    char error[TFY_ERROR_TEXT];
    return tfy__network_fits(json_string_value(value), error)
               ? tfy__config_text(reading, &reach->network, value)
               : tfy__config_refuse(reading, path,
                                    "%s; it is none, any, or hosts such as a.example:443,*.b.example:443", error);
}

bool tfy__reach_grant(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfyReach *reach = arg;
    TfyBuffer lines = {0};
    json_t *item;
    size_t i;
    json_array_foreach(value, i, item)
    {
        char below[TFY_CONFIG_PATH], error[TFY_ERROR_TEXT] = "it is not a text";
        snprintf(below, sizeof below, "%.480s[%zu]", path, i);
        if (json_is_string(item) && tfy__grant_fits(NULL, json_string_value(item), error)) {
            tfy__grant_add(&lines, json_string_value(item));
            continue;
        }
        tfy__buffer_free(&lines);
        return tfy__config_refuse(reading, below, "%s", error);
    }
    free(reach->grants);
    reach->grants = lines.failed ? NULL : lines.data;
    return !lines.failed || tfy__config_refuse(reading, path, "memory ran out");
}

bool tfy__reach_runners(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfyReach *reach = arg;
    (void)reading;
    (void)path;
    reach->runners = json_is_true(value);
    return true;
}

bool tfy__reach_budget(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfyReach *reach = arg;
    char error[TFY_ERROR_TEXT];
    TfyAmount limit;
    return tfy__budget_read(json_string_value(value), &limit, error) ? tfy__config_text(reading, &reach->budget, value)
                                                                     : tfy__config_refuse(reading, path, "%s", error);
}

bool tfy__reach_root(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfyReach *reach = arg;
    struct stat st;
    if (stat(json_string_value(value), &st) != 0 || !S_ISDIR(st.st_mode))
        return tfy__config_refuse(reading, path, "there is no such directory");
    return tfy__config_text(reading, &reach->root, value);
}

bool tfy__reach_secrets(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfyReach *reach = arg;
    if (access(json_string_value(value), R_OK) != 0)
        return tfy__config_refuse(reading, path, "it cannot be read: %s", strerror(errno));
    return tfy__config_text(reading, &reach->secrets, value);
}

const TfyReach *tfy__reach_of(const TfyConfig *config, const char *program)
{
    const TfyReach *reach = config->reaches.first;
    while (reach && strcmp(reach->program, program) != 0) reach = reach->next;
    return reach;
}

bool tfy__reach_fits(const TfyReach *reach, const TfyProgram *program, char *error)
{
    for (const char *at = reach->grants; at && *at; at += strcspn(at, "\n"), at += *at == '\n') {
        char grant[PATH_MAX + 256], why[TFY_ERROR_TEXT];
        snprintf(grant, sizeof grant, "%.*s", (int)strcspn(at, "\n"), at);
        if (tfy__grant_fits(program, grant, why)) continue;
        snprintf(error, TFY_ERROR_TEXT, "$.programs.%.64s.grant: %.400s", reach->program, why);
        return false;
    }
    return true;
}

/* ---- a start ---- */

static bool widens(TfyProblem *problem, const char *path, const char *held)
{
    return tfy__body_mistake(problem, path, "a start may narrow what its program has, and that is '%.200s'", held);
}

static bool narrow_sandbox(const TfyReach *reach, const char *asked, TfyNarrowed *out, TfyProblem *problem)
{
    const char *held = reach && reach->sandbox ? reach->sandbox : "workspace"; /* the default of every tool */
    if (strictness(asked) == SANDBOXES)
        return tfy__body_mistake(problem, "$.sandbox", "it is readonly, workspace or open");
    if (strictness(asked) > strictness(held)) return widens(problem, "$.sandbox", held);
    out->ceiling.sandbox = asked;
    return true;
}

/* Whether a rule stands in a list as it is. */
static bool has_rule(const char *list, const char *rule, size_t len)
{
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == len && strncmp(at, rule, len) == 0) return true;
    return false;
}

static bool is_narrower(const char *held, const char *asked)
{
    if (!held || strcmp(held, "any") == 0 || strcmp(asked, "none") == 0) return true;
    if (strcmp(asked, "any") == 0) return false;
    for (const char *at = asked; *at; at += strcspn(at, ","), at += *at == ',')
        if (!has_rule(held, at, strcspn(at, ","))) return false;
    return true;
}

static bool narrow_network(const TfyReach *reach, const char *asked, TfyNarrowed *out, TfyProblem *problem)
{
    char error[TFY_ERROR_TEXT];
    if (!tfy__network_fits(asked, error)) return tfy__body_mistake(problem, "$.network", "%s", error);
    if (!is_narrower(reach ? reach->network : NULL, asked)) return widens(problem, "$.network", reach->network);
    out->ceiling.network = asked;
    return true;
}

static void add_part(char budget[128], const char *name, int64_t amount, int64_t unit)
{
    const size_t len = strlen(budget);
    if (amount == TFY_UNBOUNDED) return;
    snprintf(budget + len, 128 - len, "%s%s=%.*f", len ? "," : "", name, unit > 1 ? 6 : 0,
             (double)amount / (double)unit);
}

/* *part: what the start has, or else what is held. False: it has more. */
static bool take_part(int64_t *part, int64_t held)
{
    if (*part == TFY_UNBOUNDED) *part = held;
    return *part <= held;
}

static bool narrow_budget(const TfyReach *reach, const char *asked, TfyNarrowed *out, TfyProblem *problem)
{
    char error[TFY_ERROR_TEXT];
    TfyAmount limit, held = {TFY_UNBOUNDED, TFY_UNBOUNDED, TFY_UNBOUNDED};
    if (!tfy__budget_read(asked, &limit, error)) return tfy__body_mistake(problem, "$.budget", "%s", error);
    if (reach && reach->budget) (void)tfy__budget_read(reach->budget, &held, error);
    const bool tokens = take_part(&limit.tokens, held.tokens), cost = take_part(&limit.cost, held.cost),
               calls = take_part(&limit.calls, held.calls);
    if (!tokens || !cost || !calls) return widens(problem, "$.budget", reach->budget);
    add_part(out->budget, "cost", limit.cost, 1000000);
    add_part(out->budget, "tokens", limit.tokens, 1);
    add_part(out->budget, "calls", limit.calls, 1);
    out->ceiling.budget = out->budget;
    return true;
}

bool tfy__reach_narrow(const TfyReach *reach, const json_t *start, TfyNarrowed *out, TfyProblem *problem)
{
    static const struct {
        const char *name;
        bool (*narrow)(const TfyReach *reach, const char *asked, TfyNarrowed *out, TfyProblem *problem);
    } members[] = {{"sandbox", narrow_sandbox}, {"network", narrow_network}, {"budget", narrow_budget}};
    bool fits = true;
    *out = (TfyNarrowed){.ceiling = {.sandbox = reach ? reach->sandbox : NULL,
                                     .network = reach ? reach->network : NULL,
                                     .grants = reach ? reach->grants : NULL,
                                     .budget = reach ? reach->budget : NULL,
                                     .runners = reach && reach->runners}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const char *asked = json_string_value(json_object_get(start, members[i].name));
        if (asked && !members[i].narrow(reach, asked, out, problem)) fits = false;
    }
    return fits;
}
