/* serve.c: tfy serve: compiles what has to be compiled, and becomes tfy-serve, the program beside this one that serves. */
#include "cli/frame/commands.h"
#include "cli/make/compile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sys_memory.h"

/* "shop=/path/of/shop.so": the name is that of the file, without what follows the first dot. */
static char *named(const char *file, const char *object)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    return tfy__sys_printf("%.*s=%s", (int)strcspn(name, "."), name, object);
}

/* Returns an exit status; *word is owned by the caller. */
static int prepare(const TfyArgs *args, const char *file, char **word)
{
    char *object = NULL;
    const TfyCompile what = {
        .name = file, .path = file, .dirs = args->dirs, .dir_count = args->dir_count, .shared = true};
    int status = EXIT_DONE;
    if (tfy__ends_with(file, ".tfy"))
        status = tfy__compile(&what, &object);
    else if (!tfy__ends_with(file, ".so"))
        return tfy__fail(EXIT_USAGE, "serve takes FILE.tfy, or FILE.so that `tfy build --shared` made, not '%s'", file);
    if (status == EXIT_DONE && !(*word = named(file, object ? object : file)))
        status = tfy__fail(EXIT_BUG, "memory ran out");
    free(object);
    return status;
}

static int become(char **words)
{
    char path[PATH_MAX + 16];
    const ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);
    if (len > 0) {
        path[len] = '\0';
        strcpy(strrchr(path, '/'), "/tfy-serve");
        execv(path, words);
    }
    return tfy__fail(EXIT_MISSING, "tfy-serve, which belongs beside tfy, cannot be started: %s", strerror(errno));
}

int tfy__cmd_serve(const TfyArgs *args)
{
    char **words = tfy__sys_calloc((size_t)args->word_count + 4, sizeof *words);
    int status = words ? EXIT_DONE : tfy__fail(EXIT_BUG, "memory ran out"), count = 3;
    if (words) {
        words[0] = "tfy-serve";
        words[1] = "--db";
        words[2] = (char *)(uintptr_t)tfy__db_path(args);
    }
    for (int i = 0; i < args->word_count && status == EXIT_DONE; i++)
        status = prepare(args, args->words[i], &words[count++]);
    if (status == EXIT_DONE) status = become(words);
    while (words && count > 3) free(words[--count]);
    free(words);
    return status;
}
