/* code_rank.h: which files and definitions matter most.
 *
 * A file that uses a name which another one defines leads there. PageRank (Brin and Page, "The anatomy of a large-scale
 * hypertextual Web search engine", 1998) over these ways gives each file its weight, and each definition gets what
 * flows through its name. Names are matched, not resolved. */
#ifndef TFY_EFFECTS_CODE_RANK_H
#define TFY_EFFECTS_CODE_RANK_H

#include "effects/code_index.h"

typedef struct TfyCodeRank {
    double *files;   /* by number; their sum is 1 */
    double *symbols; /* the same */
} TfyCodeRank;

/* focus: by number of file, whether it is one from which the ranking starts; NULL: all are. False: no memory. */
bool tfy__code_rank(const TfyCodeIndex *index, const bool *focus, TfyCodeRank *rank);
void tfy__code_rank_free(TfyCodeRank *rank);

/* A part of something, such as a field, or a heading of a text: nothing is led to it, and a map does not show it. What
 * has a signature is a function, whatever its kind. */
bool tfy__code_is_part(const TfyCodeIndex *index, const TfyCodeSymbol *symbol);

#endif
