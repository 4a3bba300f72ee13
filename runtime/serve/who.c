/* who.c: see who.h. */
#include "serve/who.h"

#include <sqlite3.h>
#include <string.h>

#include "serve/serve.h"

bool tfy__may_see(const TfyCaller *caller, const char *program, const char *workflow)
{
    char only[TFY_ONLY_SIZE], name[256];
    if (!*caller->only) return true;
    memcpy(only, caller->only, sizeof only);
    snprintf(name, sizeof name, "%s.%s", program, workflow);
    for (char *rest = only, *glob; (glob = strtok_r(rest, " ", &rest));)
        if (sqlite3_strglob(glob, name) == 0) return true;
    return false;
}

/* Approvers, operators and admins see what they act on. */
static bool has_role(const TfyCaller *caller, TfyRole role)
{
    return caller->roles & (role | TFY_ROLE_ADMIN) || (role == TFY_ROLE_VIEWER && caller->roles);
}

bool tfy__may(const struct TfyServer *server, const TfyCaller *caller, TfyRole role, const TfyAbout *about,
              TfyProblem *problem)
{
    if (!role) return true;
    if (!caller->roles) return tfy__problem(problem, TFY_PROBLEM_UNAUTHENTICATED, "name yourself with a token");
    if (!has_role(caller, role))
        return tfy__problem(problem, TFY_PROBLEM_FORBIDDEN, "%s does not have the role %s", caller->name,
                            tfy__role_name(role));
    if (about && !tfy__may_see(caller, about->program, about->workflow))
        return tfy__problem(problem, TFY_PROBLEM_NOT_FOUND, "there is no such thing for %s", caller->name);
    const bool own = about && about->by && strcmp(about->by, caller->name) == 0;
    if (own && role == TFY_ROLE_APPROVER && tfy__config_not_by_starter(server->config, about->program, about->workflow))
        return tfy__problem(problem, TFY_PROBLEM_FORBIDDEN, "%s started the run, and somebody else has to answer",
                            caller->name);
    return true;
}

static void add(TfyBuffer *out, const char *name, const char *value)
{
    if (!*value) return;
    tfy__buffer_printf(out, ",\"%s\":", name);
    tfy__buffer_json_string(out, value, strlen(value));
}

void tfy__via_text(const TfyCaller *caller, TfyBuffer *out)
{
    tfy__buffer_printf(out, "{\"how\":\"%s\"", caller->how);
    add(out, "token", caller->token);
    add(out, "from", caller->from);
    tfy__buffer_char(out, '}');
}
