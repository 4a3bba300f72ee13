/* sources.c: finds the programs in directories. */
#include "cli/make/sources.h"
#include "base/grow.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 64 };

static int add(TfySources *sources, char *path, bool found)
{
    if (!path || !GROW(sources->items, sources->cap, (size_t)sources->count + 1, 16)) {
        free(path);
        return tfy__fail(EXIT_BUG, "memory ran out");
    }
    sources->items[sources->count++] = (TfySource){path, found};
    return EXIT_DONE;
}

static bool is_program(const char *name)
{
    const size_t len = strlen(name);
    return len > 4 && strcmp(name + len - 4, ".tfy") == 0;
}

/* Hidden directories hold what tools keep, node_modules what others wrote. */
static int is_wanted(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "node_modules") != 0;
}

static char *path_in(const char *directory, const char *name)
{
    char *path = NULL;
    const size_t len = strlen(directory);
    const bool here = strcmp(directory, ".") == 0, slash = len > 0 && directory[len - 1] == '/';
    if (asprintf(&path, "%s%s%s", here ? "" : directory, here || slash ? "" : "/", name) < 0) return NULL;
    return path;
}

static int add_directory(TfySources *sources, const char *directory, int depth);

/* A path that was found is owned by this function. */
static int add_entry(TfySources *sources, char *path, int depth)
{
    struct stat info;
    int status = EXIT_DONE;
    if (!path) return tfy__fail(EXIT_BUG, "memory ran out");
    if (lstat(path, &info) == 0 && S_ISREG(info.st_mode) && is_program(path)) return add(sources, path, true);
    if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode)) status = add_directory(sources, path, depth + 1);
    free(path);
    return status;
}

static int add_directory(TfySources *sources, const char *directory, int depth)
{
    struct dirent **entries;
    int status = EXIT_DONE, count = depth < DEPTH_MAX ? scandir(directory, &entries, is_wanted, alphasort) : 0;
    if (count < 0) return tfy__fail(EXIT_MISSING, "cannot read the directory %s: %s", directory, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (status == EXIT_DONE) status = add_entry(sources, path_in(directory, entries[i]->d_name), depth);
        free(entries[i]);
    }
    if (depth < DEPTH_MAX) free(entries);
    return status;
}

static int add_word(TfySources *sources, const char *word)
{
    struct stat info;
    if (stat(word, &info) < 0 || !S_ISDIR(info.st_mode)) return add(sources, strdup(word), false);
    const int before = sources->count, status = add_directory(sources, word, 0);
    if (status != EXIT_DONE || sources->count > before) return status;
    return tfy__fail(EXIT_MISSING, "there is no .tfy file in %s", strcmp(word, ".") == 0 ? "this directory" : word);
}

int tfy__sources_find(const TfyArgs *args, TfySources *sources)
{
    *sources = (TfySources){0};
    int status = args->word_count ? EXIT_DONE : add_word(sources, ".");
    for (int i = 0; i < args->word_count && status == EXIT_DONE; i++) status = add_word(sources, args->words[i]);
    return status;
}

void tfy__sources_free(TfySources *sources)
{
    for (int i = 0; i < sources->count; i++) free(sources->items[i].path);
    free(sources->items);
    *sources = (TfySources){0};
}
