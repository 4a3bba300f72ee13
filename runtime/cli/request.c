/* request.c: see request.h. */
#include "cli/request.h"
#include "cli/offline.h"
#include "cli/owner.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

bool tfy__request_text(json_t *request, const char *name, const char *text)
{
    if (!text || json_object_set_new(request, name, json_string(text)) == 0) return true;
    tfy__say("'%s' is not UTF-8", text);
    return false;
}

json_t *tfy__request_new(const TfyArgs *args, const char *what)
{
    json_t *request = json_pack("{s:s}", "do", what);
    if (tfy__request_text(request, "run", args->words[0]) && tfy__request_text(request, "task", args->option[OPT_TASK]))
        return request;
    json_decref(request);
    return NULL;
}

/* Who answers, for the log. */
static void own_name(char *out, size_t size)
{
    struct passwd *user = getpwuid(geteuid());
    if (user) {
        snprintf(out, size, "%s", user->pw_name);
    } else {
        snprintf(out, size, "uid %u", (unsigned)geteuid());
    }
}

int tfy__request_send(const char *db_path, const json_t *request, bool *live, char run[37], char *error_text)
{
    char by[64];
    const int code = tfy__owner_request(db_path, request, live, run, error_text);
    if (*live) return code;
    own_name(by, sizeof by);
    return tfy__offline_request(db_path, request, by, run, error_text);
}
