/* build.c: see build.h. */
#include "serve/build.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTORS = 8 };

bool tfy__build_dir(char dir[48])
{
    snprintf(dir, 48, "/tmp/tfy-build.XXXXXX");
    return mkdtemp(dir) != NULL;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *place)
{
    return remove(path);
}

void tfy__build_dir_remove(const char *dir)
{
    nftw(dir, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}

/* What it said, without its own name before each line. */
static char *take_messages(const TfyProcess *process)
{
    TfyBuffer out = {0};
    if (!process->err.len) return NULL; /* it may have been ended before it said anything */
    const char *at = process->err.data, *end = at + process->err.len;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (!line_end) line_end = end;
        if (end - at > 5 && strncmp(at, "tfy: ", 5) == 0) at += 5;
        tfy__buffer_add(&out, at, (size_t)(line_end - at));
        tfy__buffer_char(&out, '\n');
        at = line_end + 1;
    }
    tfy__buffer_char(&out, '\0');
    return out.failed || out.len < 2 ? (tfy__buffer_free(&out), NULL) : out.data;
}

static bool refuse(char *error, const char *sentence)
{
    snprintf(error, TFY_ERROR_TEXT, "%s", sentence);
    return false;
}

static bool compile(TfyBuild *build, const char *object, char *error)
{
    const bool offers = build->offer;
    const char *const words[] = {
        "tfy",        "build", build->what, "--shared", "-o", object, "--db", build->db, offers ? "--offer" : NULL,
        build->offer, NULL};
    TfyProcess process = {.words = words, .deadline_ms = build->most_ms, .born = build->born, .arg = build->arg};
    int status;
    const TfyProcessEnd end = tfy__process_run(&process, &status);
    build->messages = take_messages(&process);
    tfy__process_free(&process);
    if (end == TFY_PROCESS_NONE) return refuse(error, "tfy cannot be started");
    if (end == TFY_PROCESS_LATE) {
        snprintf(error, TFY_ERROR_TEXT, "it was not compiled within %.1f s", (double)build->most_ms / 1000);
        return false;
    }
    return status == 0 || refuse(error, "it does not compile");
}

TfyShared *tfy__build(TfyBuild *build, char *error)
{
    char dir[48], object[64];
    TfyShared *shared = NULL;
    if (!tfy__build_dir(dir)) {
        snprintf(error, TFY_ERROR_TEXT, "a directory for compiling cannot be made: %s", strerror(errno));
        return NULL;
    }
    snprintf(object, sizeof object, "%s/program.so", dir);
    if (compile(build, object, error) && tfy_shared_open(&shared, object, error) != TFY_OK) {
        if (strstr(error, "tfyg_extern_"))
            refuse(error, "it has tools that are C functions; serve it as FILE.so, from the command line");
        shared = NULL;
    }
    tfy__build_dir_remove(dir);
    return shared;
}
