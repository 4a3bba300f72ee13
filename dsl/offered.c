/* offered.c: see offered.h. */
#include "offered.h"

#include <string.h>

static bool is_listed(const char *list, const char *name)
{
    const size_t len = strlen(name);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == len && strncmp(at, name, len) == 0) return true;
    return false;
}

void offered_take(Module *main, const char *list)
{
    for (Decl *decl = main->decls; decl; decl = decl->next) {
        const bool offered = decl->kind == DECL_WORKFLOW && decl->name.text &&
                             (is_listed(list, decl->name.text) || (decl->doc && is_listed(list, "-")));
        for (Field *f = offered ? decl->params : NULL; f; f = f->next) f->label = LABEL_UNTRUSTED;
    }
}
