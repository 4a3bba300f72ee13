/* own_path.c: see own_path.h. */
#include "base/own_path.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

bool tfy__own_path(char path[PATH_MAX])
{
    const ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);
    if (len == PATH_MAX) errno = ENAMETOOLONG; /* it may have been cut */
    if (len < 0 || len == PATH_MAX) return false;
    path[len] = '\0';
    return true;
}

bool tfy__path_beside(const char *name, char path[PATH_MAX])
{
    if (!tfy__own_path(path)) return false;
    char *end = strrchr(path, '/') + 1;
    if (strlen(name) < (size_t)(path + PATH_MAX - end)) {
        strcpy(end, name);
        return true;
    }
    errno = ENAMETOOLONG;
    return false;
}
