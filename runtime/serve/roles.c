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

static unsigned role_of(const char *name, size_t len)
{
    for (int i = 0; i < ROLES; i++)
        if (strlen(roles[i].name) == len && memcmp(roles[i].name, name, len) == 0) return roles[i].role;
    return 0;
}

unsigned tfy__roles_of(const char *text)
{
    unsigned all = 0;
    for (;;) {
        const size_t len = strcspn(text, ",");
        const unsigned role = role_of(text, len);
        if (!role) return 0;
        all |= role;
        if (!text[len]) return all;
        text += len + 1;
    }
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
