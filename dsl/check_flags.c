/* check_flags.c: warns where a parameter of the workflow that a command line starts is called like an option.
 *
 * `--db FILE` is the database, whatever the workflow calls its parameters, so such a parameter would be out of reach
 * for people who do not know the other ways to write it. A test compares the names with those of `tfy run --help`. */
#include "check_internal.h"

static const char *const options[] = {
    "budget",        "db",
    "deny-warnings", "details",
    "escalate",      "events",
    "grace",         "grant",
    "help",          "id",
    "llm",           "log-format",
    "log-level",     "max-file",
    "max-memory",    "max-output",
    "max-queue",     "max-tasks",
    "models",        "network",
    "policy",        "record-prompts",
    "result-only",   "root",
    "runners",       "sandbox",
    "sandbox-level", "secrets",
    "secrets-from",  "wait",
    "workflow",      "yes",
    "yolo",
};

/* On the command line a parameter may be written with dashes. */
static bool same_flag(const char *option, const char *param)
{
    for (; *option && *param; option++, param++)
        if (*option != *param && !(*option == '-' && *param == '_')) return false;
    return *option == *param;
}

static void check_name(Check *c, Name name)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (!name.text || !same_flag(options[i], name.text)) continue;
        Diag *diag = diag_warning(c->diags, name.span, "the parameter '%s' is called like the option --%s of 'tfy run'",
                                  name.text, options[i]);
        diag_hint(c->diags, diag, "give it as --param.%s, or after --", name.text);
    }
}

/* The workflow that runs when none is named: main, or the only one of the main file, which comes first. */
static const Decl *default_workflow(const Check *c)
{
    const Decl *only = NULL;
    uint32_t count = 0;
    for (const Decl *decl = c->program->modules->decls; decl; decl = decl->next) {
        if (decl->kind != DECL_WORKFLOW || !decl->name.text) continue;
        if (strcmp(decl->name.text, "main") == 0) return decl;
        only = decl;
        count++;
    }
    return count == 1 ? only : NULL;
}

void check_flags(Check *c)
{
    const Decl *decl = default_workflow(c);
    for (const Field *param = decl ? decl->params : NULL; param; param = param->next) check_name(c, param->name);
}
