/* code_rank.c: see code_rank.h. */
#include "effects/code_rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/sys_memory.h"

/* Of the weight that a file has, this share flows on; with a focus less, so that it stays near. */
#define DAMPING 0.85
#define FOCUSED 0.5
#define ROUNDS  40  /* what is left to flow then is 0.85^40 */
#define OWN     0.1 /* of a file's weight, what its definitions share, however often they are used */

enum {
    DEFINERS = 50,  /* files that define one name: of more, it says nothing */
    NAME_LEAST = 3, /* bytes of a name that says anything */
};

/* A way from one file to another. */
typedef struct Way {
    uint32_t to;
    double weight;
} Way;

typedef struct Ranking {
    const TfyCodeIndex *index;
    uint32_t *named;      /* symbols by name: their numbers */
    uint32_t *named_at;   /* by string: where they begin in named; one more at the end */
    uint32_t *of;         /* by symbol: its file */
    Way *ways;            /* by file */
    uint32_t *ways_at;    /* by file; one more at the end */
    double *flow, *total; /* by file: of the ways that are being gathered; of all its ways */
    double *next, *start; /* by file */
    uint32_t *met;        /* files with a flow */
    uint32_t way_count, way_cap;
} Ranking;

bool tfy__code_is_part(const TfyCodeIndex *index, const TfyCodeSymbol *symbol)
{
    static const char *const kinds[] = {"member",       "field",    "property",   "enumerator",    "chapter",
                                        "section",      "title",    "subsection", "subsubsection", "l4subsection",
                                        "l5subsection", "key",      "id",         "anchor",        "hashtag",
                                        "heading1",     "heading2", "heading3"};
    const char *kind = tfy__code_text(index, symbol->kind);
    for (size_t i = 0; !symbol->signature && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i]) == 0) return true;
    return false;
}

/* ---- who defines what ---- */

static bool leads(const TfyCodeIndex *index, const TfyCodeSymbol *symbol)
{
    return strlen(tfy__code_text(index, symbol->name)) >= NAME_LEAST && !tfy__code_is_part(index, symbol);
}

/* Sorts the symbols by name: counts, adds up, and puts each in its place. */
static void sort_names(Ranking *r)
{
    const TfyCodeIndex *index = r->index;
    for (uint32_t f = 0; f < index->file_count; f++)
        for (uint32_t i = 0; i < index->files[f].symbol_count; i++) r->of[index->files[f].symbol_at + i] = f;
    for (uint32_t i = 0; i < index->symbol_count; i++)
        if (leads(index, &index->symbols[i])) r->named_at[index->symbols[i].name]++;
    for (uint32_t s = 1; s <= index->string_count + 1; s++) r->named_at[s] += r->named_at[s - 1];
    for (uint32_t i = index->symbol_count; i--;)
        if (leads(index, &index->symbols[i])) r->named[--r->named_at[index->symbols[i].name]] = i;
}

/* What a use gives each definition of its name; 0: it leads nowhere. A name that the file defines itself is its own. */
static double given_by(const Ranking *r, uint32_t file, const TfyCodeUse *use)
{
    const uint32_t from = r->named_at[use->name], to = r->named_at[use->name + 1];
    if (from == to || to - from > DEFINERS) return 0;
    for (uint32_t i = from; i < to; i++)
        if (r->of[r->named[i]] == file) return 0;
    return sqrt(use->count) / (to - from);
}

/* ---- ways ---- */

static bool add_ways(Ranking *r, uint32_t file)
{
    const TfyCodeFile *of = &r->index->files[file];
    uint32_t met = 0;
    for (uint32_t u = 0; u < of->use_count; u++) {
        const TfyCodeUse *use = &r->index->uses[of->use_at + u];
        const double weight = given_by(r, file, use);
        for (uint32_t i = r->named_at[use->name]; weight > 0 && i < r->named_at[use->name + 1]; i++) {
            const uint32_t to = r->of[r->named[i]];
            if (r->flow[to] == 0) r->met[met++] = to;
            r->flow[to] += weight;
            r->total[file] += weight;
        }
    }
    if (!GROW(r->ways, r->way_cap, r->way_count + met, 256)) return false;
    for (uint32_t i = 0; i < met; i++) {
        r->ways[r->way_count++] = (Way){r->met[i], r->flow[r->met[i]]};
        r->flow[r->met[i]] = 0;
    }
    return true;
}

static bool find_ways(Ranking *r)
{
    bool found = true;
    for (uint32_t f = 0; found && f < r->index->file_count; f++) {
        r->ways_at[f] = r->way_count;
        found = add_ways(r, f);
    }
    r->ways_at[r->index->file_count] = r->way_count;
    return found;
}

/* ---- ranks ---- */

static void set_start(Ranking *r, const bool *focus)
{
    const uint32_t count = r->index->file_count;
    uint32_t chosen = 0;
    for (uint32_t f = 0; f < count; f++) chosen += !focus || focus[f];
    for (uint32_t f = 0; f < count; f++) r->start[f] = !chosen ? 1.0 / count : !focus || focus[f] ? 1.0 / chosen : 0;
}

/* One round: the weight of a file flows along its ways; that of a file without any begins anew. */
static void flow_once(Ranking *r, double share, double *rank)
{
    const uint32_t count = r->index->file_count;
    double resting = 0;
    for (uint32_t f = 0; f < count; f++) resting += r->ways_at[f] == r->ways_at[f + 1] ? rank[f] : 0;
    for (uint32_t f = 0; f < count; f++) r->next[f] = (1 - share + share * resting) * r->start[f];
    for (uint32_t f = 0; f < count; f++)
        for (uint32_t w = r->ways_at[f]; w < r->ways_at[f + 1]; w++)
            r->next[r->ways[w].to] += share * rank[f] * r->ways[w].weight / r->total[f];
    memcpy(rank, r->next, count * sizeof *rank);
}

static void rank_symbols(const Ranking *r, TfyCodeRank *rank)
{
    const TfyCodeIndex *index = r->index;
    for (uint32_t f = 0; f < index->file_count; f++) {
        const TfyCodeFile *file = &index->files[f];
        for (uint32_t i = 0; i < file->symbol_count; i++)
            rank->symbols[file->symbol_at + i] += OWN * rank->files[f] / file->symbol_count;
        for (uint32_t u = 0; u < file->use_count; u++) {
            const TfyCodeUse *use = &index->uses[file->use_at + u];
            const double weight = given_by(r, f, use);
            for (uint32_t i = r->named_at[use->name]; weight > 0 && i < r->named_at[use->name + 1]; i++)
                rank->symbols[r->named[i]] += rank->files[f] * weight / r->total[f];
        }
    }
}

/* ---- the whole ---- */

static bool make_room(Ranking *r, TfyCodeRank *rank)
{
    const size_t files = (size_t)r->index->file_count + 1, symbols = (size_t)r->index->symbol_count + 1;
    const size_t strings = (size_t)r->index->string_count + 2;
    return (r->named = tfy__sys_calloc(symbols, sizeof *r->named)) &&
           (r->named_at = tfy__sys_calloc(strings, sizeof *r->named_at)) &&
           (r->of = tfy__sys_calloc(symbols, sizeof *r->of)) &&
           (r->ways_at = tfy__sys_calloc(files, sizeof *r->ways_at)) &&
           (r->flow = tfy__sys_calloc(files, sizeof *r->flow)) &&
           (r->total = tfy__sys_calloc(files, sizeof *r->total)) &&
           (r->next = tfy__sys_calloc(files, sizeof *r->next)) &&
           (r->start = tfy__sys_calloc(files, sizeof *r->start)) && (r->met = tfy__sys_calloc(files, sizeof *r->met)) &&
           (rank->files = tfy__sys_calloc(files, sizeof *rank->files)) &&
           (rank->symbols = tfy__sys_calloc(symbols, sizeof *rank->symbols));
}

static void free_room(Ranking *r)
{
    void *const all[] = {r->named, r->named_at, r->of,   r->ways,  r->ways_at,
                         r->flow,  r->total,    r->next, r->start, r->met};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

bool tfy__code_rank(const TfyCodeIndex *index, const bool *focus, TfyCodeRank *rank)
{
    Ranking r = {.index = index};
    *rank = (TfyCodeRank){0};
    bool made = make_room(&r, rank);
    if (made) sort_names(&r);
    made = made && find_ways(&r);
    if (made) {
        set_start(&r, focus);
        memcpy(rank->files, r.start, index->file_count * sizeof *rank->files);
        for (int round = 0; round < ROUNDS; round++) flow_once(&r, focus ? FOCUSED : DAMPING, rank->files);
        rank_symbols(&r, rank);
    }
    free_room(&r);
    if (!made) tfy__code_rank_free(rank);
    return made;
}

void tfy__code_rank_free(TfyCodeRank *rank)
{
    free(rank->files);
    free(rank->symbols);
    *rank = (TfyCodeRank){0};
}
