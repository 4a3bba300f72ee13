/* sandbox_named.c: see sandbox_named.h. */
#include "cli/make/sandbox_named.h"
#include "base/buffer.h"
#include "cli/make/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the layout of a program ---- */

static int layout_of_source(const TfyArgs *args, const char *file, json_t **layout)
{
    FILE *printed;
    const int status = tfy__read_layout(file, args->dirs, args->dir_count, &printed);
    if (status != EXIT_DONE) return status;
    *layout = json_loadf(printed, 0, NULL);
    fclose(printed);
    return *layout ? EXIT_DONE : tfy__fail(EXIT_BUG, "the layout of %s cannot be read", file);
}

/* A layout is one text in the program, with a NUL behind it. What only begins like one, such as a part of its source, is no
 * JSON up to there. NULL: there is none. */
static json_t *layout_in(const char *bytes, size_t size)
{
    static const char begin[] = "{\"version\":1,\"file\":\"";
    const char *at = bytes, *const end = bytes + size;
    while ((at = memmem(at, (size_t)(end - at), begin, sizeof begin - 1))) {
        const char *nul = memchr(at, 0, (size_t)(end - at));
        json_t *layout = nul ? json_loadb(at, (size_t)(nul - at), 0, NULL) : NULL;
        if (json_is_array(json_object_get(layout, "points"))) return layout;
        json_decref(layout);
        at += sizeof begin - 1;
    }
    return NULL;
}

static int layout_of_built(const char *file, json_t **layout)
{
    struct stat info;
    const int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) < 0) {
        const int status = tfy__fail(EXIT_MISSING, "cannot read %s: %s", file, strerror(errno));
        if (fd >= 0) close(fd);
        return status;
    }
    const size_t size = S_ISREG(info.st_mode) ? (size_t)info.st_size : 0;
    char *bytes = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    *layout = bytes == MAP_FAILED ? NULL : layout_in(bytes, size);
    if (bytes != MAP_FAILED) munmap(bytes, size);
    return *layout ? EXIT_DONE : tfy__fail(EXIT_DATA, "%s is neither FILE.tfy nor a program that tfy built", file);
}

/* ---- names ---- */

static const char *const given[] = {"workspace", "readonly", "open"};
enum { GIVEN_COUNT = sizeof given / sizeof *given };

/* state: the list of the program's own. */
static const char *candidate(const void *state, int index)
{
    if (index < GIVEN_COUNT) return given[index];
    return json_string_value(json_object_get(json_array_get(state, (size_t)index - GIVEN_COUNT), "name"));
}

static int refuse_name(const json_t *own, const char *name, const char *file)
{
    const char *meant = tfy__nearest(name, candidate, own), *other;
    TfyBuffer list = {0};
    for (int i = 0; (other = candidate(own, i)); i++) tfy__buffer_printf(&list, "%s%s", i ? ", " : "", other);
    tfy__say("there is no sandbox '%s'%s%s%s%s%s", name, file ? " in " : "", file ? file : "",
             meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
    tfy__say_text("there are: %s%s\n", list.failed ? "" : list.data,
                  file ? "" : "; --program FILE adds those that a program declares");
    tfy__buffer_free(&list);
    return EXIT_USAGE;
}

static json_t *own_named(const json_t *own, const char *name)
{
    size_t i;
    json_t *sandbox;
    json_array_foreach(own, i, sandbox)
    {
        if (strcmp(json_string_value(json_object_get(sandbox, "name")), name) == 0) return json_incref(sandbox);
    }
    return NULL;
}

static json_t *given_named(const char *name)
{
    for (int i = 0; i < GIVEN_COUNT; i++)
        if (strcmp(given[i], name) == 0)
            return json_pack("{s:s,s:s,s:s}", "name", name, "root", name, "network",
                             strcmp(name, "open") == 0 ? "any" : "none");
    return NULL;
}

int tfy__sandbox_named(const TfyArgs *args, const char *name, json_t **sandbox)
{
    const char *file = args->option[OPT_CELL_PROGRAM];
    json_t *layout = NULL;
    int status = !file                          ? EXIT_DONE
                 : tfy__ends_with(file, ".tfy") ? layout_of_source(args, file, &layout)
                                                : layout_of_built(file, &layout);
    if (status != EXIT_DONE) return status;
    const json_t *own = json_object_get(layout, "sandboxes");
    *sandbox = name ? given_named(name) : own_named(own, "default");
    if (!*sandbox) *sandbox = name ? own_named(own, name) : given_named("workspace");
    if (!*sandbox) status = refuse_name(own, name, file);
    json_decref(layout);
    return status;
}
