/* files.c: see files.h. */
#include "wal/store/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A new file with a reused inode number could not be distinguished from the old one. But an open file keeps its
 * number until it is closed, even after it is deleted, and the main file is open here. */
static bool is_same(const TfyFile *file, const struct stat *status)
{
    return file->dev == (uint64_t)status->st_dev && file->ino == (uint64_t)status->st_ino;
}

static int open_directory(const char *path, const char *slash)
{
    char *directory = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    const int fd = directory ? open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    free(directory);
    return fd;
}

/* A missing file is not remembered, except for the main one. */
static bool remember(TfyFiles *files, int which, const char *base, const char *ending)
{
    struct stat status;
    TfyFile *file = &files->files[which];
    file->ending = ending;
    if (asprintf(&file->name, "%s%s", base, ending) < 0) {
        file->name = NULL;
        return false;
    }
    if (fstatat(files->directory, file->name, &status, 0) == 0) {
        file->dev = (uint64_t)status.st_dev;
        file->ino = (uint64_t)status.st_ino;
        return true;
    }
    free(file->name);
    file->name = NULL;
    return which != 0 && errno == ENOENT;
}

bool tfy__files_remember(TfyFiles *files, const char *path)
{
    static const char *const endings[TFY_FILES] = {"", "-wal", "-shm"};
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    files->directory = open_directory(path, slash);
    bool fine = files->directory >= 0;
    for (int i = 0; fine && i < TFY_FILES; i++) fine = remember(files, i, base, endings[i]);
    return fine;
}

void tfy__files_forget(TfyFiles *files)
{
    if (files->directory >= 0) close(files->directory);
    files->directory = -1;
    for (int i = 0; i < TFY_FILES; i++) free(files->files[i].name);
    memset(files->files, 0, sizeof files->files);
}

/* A file that cannot be inspected for another reason (a directory without permissions) counts as present. */
const TfyFile *tfy__files_lost(const TfyFiles *files, bool *replaced)
{
    struct stat status;
    for (int i = 0; files->directory >= 0 && i < TFY_FILES; i++) {
        const TfyFile *file = &files->files[i];
        if (!file->name) continue;
        const int code = fstatat(files->directory, file->name, &status, AT_SYMLINK_NOFOLLOW);
        if (code == 0 ? is_same(file, &status) : errno != ENOENT && errno != ENOTDIR) continue;
        *replaced = code == 0;
        return file;
    }
    return NULL;
}
