/* sources.h: the programs that check, fmt and test work on: files as they were named, and every .tfy file in the
 * directories that were named; in the current directory if nothing was. */
#ifndef CLI_MAKE_SOURCES_H
#define CLI_MAKE_SOURCES_H

#include "cli/frame/cli.h"

#include <stddef.h>

typedef struct TfySource {
    char *path;
    bool found; /* in a directory, and not named itself */
} TfySource;

typedef struct TfySources {
    TfySource *items; /* files of one directory are in the order of their names */
    int count;
    size_t cap;
} TfySources;

/* Returns EXIT_DONE, or the exit status after a message: a directory cannot be read or has no programs. The caller must
 * always pass sources to tfy__sources_free. Hidden directories and node_modules are left out, as are symbolic links. */
int tfy__sources_find(const TfyArgs *args, TfySources *sources);
void tfy__sources_free(TfySources *sources);

#endif
