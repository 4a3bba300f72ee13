/* build.h: compiles a program into a shared object and loads it: `tfy build --shared` in a process of its own, with a bound
 * of time and a GiB of memory. */
#ifndef SERVE_BUILD_H
#define SERVE_BUILD_H

#include "serve/process.h"
#include "tfy.h"

typedef struct TfyBuild {
    const char *what; /* FILE.tfy; FILE.json with all files of a program; or the hash of one that the database has */
    const char *db;
    const char *offer; /* workflows that strangers call, as `tfy build --offer` has them; NULL: none */
    int most_ms;       /* how long it may take */
    /* as in TfyProcess */
    bool (*born)(void *arg, pid_t pid);
    void *arg;
    char *messages; /* what the compiler said, without the paths of this machine; owned by the caller; NULL: nothing */
} TfyBuild;

/* The object, which the caller closes. NULL: error (TFY_ERROR_TEXT bytes) has a sentence. */
TfyShared *tfy__build(TfyBuild *build, char *error);

/* Makes an empty directory for a while. False: it cannot be made. */
bool tfy__build_dir(char dir[48]);
/* Removes it with all that is in it. */
void tfy__build_dir_remove(const char *dir);

#endif
