/* source_map.h: where the points of a program stand in its source, from the layout that the log keeps of it. */
#ifndef CLI_LOOK_SOURCE_MAP_H
#define CLI_LOOK_SOURCE_MAP_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "wal/history/history.h"

/* Points and lines of a run's program. All zero means empty. */
typedef struct TfySourceMap {
    json_t *layout;     /* the program's layout, or NULL */
    const char *source; /* its text, owned by the history */
} TfySourceMap;

void tfy__source_map(TfySourceMap *map, const TfyHistory *history);
void tfy__source_map_free(TfySourceMap *map);
/* Returns the files of a program of several files in the form of tfyc --bundle (malloc'ed); NULL: it is one file. */
char *tfy__source_bundle(const TfySourceMap *map);
/* Returns the main file's name, without a directory. */
const char *tfy__source_file(const TfySourceMap *map);
/* Copies the main file's name without ".tfy", which a program has where nobody named it; "": unknown. */
void tfy__source_program(const TfySourceMap *map, char *name, size_t size);
/* Returns a point's line within its file; 0: unknown. *file: the file if it is not the main one, else NULL. */
int64_t tfy__source_line(const TfySourceMap *map, uint32_t point, const char **file);
const char *tfy__source_point(const TfySourceMap *map, uint32_t point); /* returns its id; NULL: unknown */
/* Finds the tool or effect that a point requests; "" when it requests none, or its label hides it. */
void tfy__source_callee(const TfySourceMap *map, uint32_t point, char name[64]);
/* Returns the text of a point's line without the blanks around it; *len its bytes; "" when there is none. */
const char *tfy__source_text(const TfySourceMap *map, uint32_t point, size_t *len);

#endif
