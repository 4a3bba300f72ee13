/* roles.c: see door.h: roles and names, as people write them. */
#include <string.h>

#include "serve/door.h"

static const struct {
    const char *name;
    TfyRole role;
} roles[] = {{"viewer", TFY_ROLE_VIEWER},
             {"approver", TFY_ROLE_APPROVER},
             {"operator", TFY_ROLE_OPERATOR},
             {"admin", TFY_ROLE_ADMIN}};
enum { ROLES = sizeof roles / sizeof *roles };

const char *tfy__role_name(TfyRole role)
{
    for (int i = 0; i < ROLES; i++)
        if (roles[i].role == role) return roles[i].name;
    return NULL;
}

static unsigned role_of(const char *name)
{
    for (int i = 0; name && i < ROLES; i++)
        if (strcmp(roles[i].name, name) == 0) return roles[i].role;
    return 0;
}

bool tfy__roles_read(const json_t *list, unsigned *of)
{
    const json_t *item;
    size_t i;
    *of = 0;
    json_array_foreach(list, i, item)
    {
        const unsigned role = role_of(json_string_value(item));
        if (!role) return false;
        *of |= role;
    }
    return true;
}

json_t *tfy__roles_json(unsigned of)
{
    json_t *list = json_array();
    for (int i = 0; i < ROLES; i++)
        if (of & roles[i].role) json_array_append_new(list, json_string(roles[i].name));
    return list;
}

bool tfy__token_name_fits(const char *name)
{
    const size_t len = strlen(name);
    return len > 0 && len <= TFY_TOKEN_NAME && *name != '-' &&
           len == strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
}

bool tfy__only_fits(const char *only)
{
    size_t globs = *only != '\0';
    for (const char *at = only; *at; at++) {
        if (*at < ' ' || *at > '~') return false;
        globs += *at == ' ';
    }
    return globs <= TFY_ONLY_MOST && strlen(only) < TFY_ONLY_SIZE;
}
