/* own_path.h: where the executable of this process is, and what belongs beside it. */
#ifndef BASE_OWN_PATH_H
#define BASE_OWN_PATH_H

#include <limits.h>
#include <stdbool.h>

/* False: errno says why not. */
bool tfy__own_path(char path[PATH_MAX]);
/* NAME in the directory of the executable, whether it is there or not; "../include" may be one. */
bool tfy__path_beside(const char *name, char path[PATH_MAX]);

#endif
