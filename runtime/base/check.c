/* check.c: see check.h. */
#include "check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STATUS = 70, SENTENCE = 1000 };

static _Thread_local TfyCheckPlace *place_of;
static _Thread_local const void *place_arg;

void tfy__check_place(TfyCheckPlace *place, const void *arg)
{
    place_of = place;
    place_arg = arg;
}

void tfy__stop(const char *format, ...)
{
    char text[SENTENCE];
    va_list args;
    int len = snprintf(text, sizeof text, "%s: ", program_invocation_short_name);
    va_start(args, format);
    vsnprintf(text + len, sizeof text - 1 - (size_t)len, format, args);
    va_end(args);
    strcat(text, "\n");
    const ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written; /* there is nobody to report a failure to */
    _exit(STATUS);
}

void tfy__check_failed(const char *fact, const char *file, int line)
{
    char place[128] = "";
    TfyCheckPlace *ask = place_of;
    place_of = NULL; /* guards against a check that fails inside the callback */
    if (ask) ask(place_arg, place, sizeof place);
    while (strncmp(file, "../", 3) == 0) file += 3;
    tfy__stop(
        "a bug in the runtime: %s does not hold (%s:%d)%s%s; every recorded step is kept, and `tfy resume` continues "
        "from there",
        fact, file, line, *place ? ", " : "", place);
}
