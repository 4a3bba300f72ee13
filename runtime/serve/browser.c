/* browser.c: see browser.h. */
#include "serve/browser.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/desktop.h"

static bool write_page(const char *path, const char *address)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    const bool fine = dprintf(fd,
                              "<!doctype html><meta charset=\"utf-8\"><title>tfy</title>"
                              "<meta http-equiv=\"refresh\" content=\"0;url=%s\"><a href=\"%s\">tfy</a>\n",
                              address, address) > 0;
    return close(fd) == 0 && fine;
}

static void name_page(const char *db, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%.4000s-live/open.html", db);
}

bool tfy__browser_open(const char *db, const char *address)
{
    char path[PATH_MAX], whole[PATH_MAX];
    name_page(db, path);
    unlink(path);
    return write_page(path, address) && realpath(path, whole) && tfy__desktop_open(whole);
}

void tfy__browser_end(const char *db)
{
    char path[PATH_MAX];
    name_page(db, path);
    unlink(path);
}
