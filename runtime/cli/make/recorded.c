/* recorded.c: see compile.h: programs of databases, which hold their sources. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/look/source_map.h"
#include "cli/make/compile.h"
#include "wal/history/history.h"

/* A program that is built with --steps keeps more variables than snapshots of the other build contain. A run that
 * starts from such a snapshot is shown without these variables. */
int tfy__compile_recorded(const TfyHistory *history, const TfyCompile *how, char **program)
{
    char name[256];
    TfySourceMap map;
    TfyCompile what = *how;
    tfy__source_map(&map, history);
    snprintf(name, sizeof name, "%s", tfy__source_file(&map));
    char *bundle = tfy__source_bundle(&map);
    tfy__source_map_free(&map);
    what.name = name;
    what.source = bundle ? bundle : history->program_source;
    what.bundle = bundle != NULL;
    what.debug = how->debug || (how->steps && !history->snapshot);
    int status = tfy__compile(&what, program);
    free(bundle);
    return status;
}
