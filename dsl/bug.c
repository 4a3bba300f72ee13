/* bug.c: see bug.h. The compiler links this in place of the runtime's check.c: a compiler has no log, and nothing to
 * resume. */
#include "bug.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_SOFTWARE = 70 };

static const BugPlace *compiled;

void bug_compiles(const BugPlace *place)
{
    compiled = place;
}

void tfy__check_failed(const char *fact, const char *file, int line)
{
    const BugPlace *place = compiled;
    compiled = NULL; /* for a check that fails while the place is found */
    LineCol at = place ? source_line_col(place->sources, place->off) : (LineCol){0};
    while (strncmp(file, "../", 3) == 0) file += 3;
    fflush(stdout);
    fputs("tfyc: ", stderr);
    if (at.source) fprintf(stderr, "%s:%u:%u: ", at.source->name, at.line, at.col);
    fprintf(stderr, "a bug in the compiler: %s does not hold (%s:%d); please report it, with the program if you can\n",
            fact, file, line);
    exit(EXIT_SOFTWARE);
}
