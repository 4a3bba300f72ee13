/* cookie.c: see cookie.h. */
#include "serve/cookie.h"

#include <stdio.h>
#include <string.h>

bool tfy__cookie_find(const char *cookies, const char *name, char *value, size_t size, bool *twice)
{
    const size_t len = strlen(name);
    bool named = false, found = false;
    while (*cookies) {
        cookies += strspn(cookies, " \t;");
        const size_t whole = strcspn(cookies, ";");
        if (whole > len && cookies[len] == '=' && strncmp(cookies, name, len) == 0) {
            *twice |= named;
            named = true;
            found = whole - len - 1 < size;
            if (found) snprintf(value, size, "%.*s", (int)(whole - len - 1), cookies + len + 1);
        }
        cookies += whole;
    }
    return found;
}
