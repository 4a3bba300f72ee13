/* code_answer.h: what is asked of an index: the map, symbols by name, the places of an identifier. */
#ifndef TFY_EFFECTS_CODE_ANSWER_H
#define TFY_EFFECTS_CODE_ANSWER_H

#include "effects/code_rank.h"
#include "effects/code_scan.h"

enum { TFY_CODE_TOKEN = 3 }; /* bytes that count as one token, as for budgets */

/* A symbol and its file, by number. */
typedef struct TfyCodeHit {
    uint32_t file, symbol;
} TfyCodeHit;

/* A line that uses an identifier; its text is in the answer's text. */
typedef struct TfyCodePlace {
    uint32_t file, line;
    size_t at, len;
} TfyCodePlace;

typedef struct TfyCodeAnswer {
    TfyBuffer text;
    TfyCodeHit *hits;
    TfyCodePlace *places;
    uint32_t hit_count, hit_cap, place_count, place_cap;
    bool failed; /* no memory */
} TfyCodeAnswer;

void tfy__code_answer_free(TfyCodeAnswer *answer);

/* Marks the files that a name means: a file, all in a directory, or those that define it. False: none. */
bool tfy__code_focus(const TfyCodeIndex *index, const char *name, bool *focus);

/* The definitions that matter most, by file, a line each, in so many tokens. */
void tfy__code_answer_map(const TfyCodeIndex *index, const TfyCodeRank *rank, size_t tokens, TfyCodeAnswer *answer);
/* Symbols whose name has every word of the query in it; the best first. */
void tfy__code_answer_symbols(const TfyCodeIndex *index, const TfyCodeRank *rank, const char *query, uint32_t limit,
                              TfyCodeAnswer *answer);
/* The symbols of one file, by line. */
void tfy__code_answer_outline(const TfyCodeIndex *index, uint32_t file, TfyCodeAnswer *answer);
/* Lines where an identifier is, read again from the files that have it; the files that matter most first. */
void tfy__code_answer_places(TfyCodeScan *scan, const TfyCodeRank *rank, const char *name, uint32_t limit,
                             TfyCodeAnswer *answer);

#endif
