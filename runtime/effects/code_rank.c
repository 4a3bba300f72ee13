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

/* How much a name says, by what it is made of. */
#define SEVERAL_WORDS  3
#define SHORT_WORD     0.3
#define OTHER_LANGUAGE 0.05 /* it may be the same word by chance */

/* What a file keeps to itself, as the weight of its uses: one that has next to none lends no weight to them. */
#define KEPT 2.0

enum {
    LONG_NAME = 8,
    SHORT_NAME = 5,
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
    uint32_t *own;        /* by string: the last file, from 1, that defines it and was looked at */
    uint32_t *users;      /* by string: how many files use it */
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
    return !symbol->local && strlen(tfy__code_text(index, symbol->name)) >= NAME_LEAST &&
           !tfy__code_is_part(index, symbol);
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

static void count_users(Ranking *r)
{
    for (uint32_t f = 0; f < r->index->file_count; f++)
        for (uint32_t u = 0; u < r->index->files[f].use_count; u++)
            r->users[r->index->uses[r->index->files[f].use_at + u].name]++;
}

/* A name of several words is hardly there by chance; one that is short or used everywhere may be any word. */
static double weight_of_name(const Ranking *r, uint32_t string)
{
    const char *name = tfy__code_text(r->index, string);
    const size_t len = strlen(name);
    bool lower = false, upper = false;
    for (size_t i = 0; i < len; i++) {
        lower |= name[i] >= 'a' && name[i] <= 'z';
        upper |= name[i] >= 'A' && name[i] <= 'Z';
    }
    const bool several = (lower && upper) || (len && strchr(name + 1, '_'));
    const double rare = log(1 + (double)r->index->file_count / (1 + r->users[string]));
    return rare * (several && len >= LONG_NAME ? SEVERAL_WORDS : len < SHORT_NAME ? SHORT_WORD : 1);
}

static void mark_own(Ranking *r, uint32_t file)
{
    const TfyCodeFile *of = &r->index->files[file];
    for (uint32_t i = 0; i < of->symbol_count; i++) r->own[r->index->symbols[of->symbol_at + i].name] = file + 1;
}

static bool is_c(const char *language)
{
    return strcmp(language, "C") == 0 || strcmp(language, "C++") == 0;
}

/* A header of C is taken for one of C++. */
static bool same_language(const TfyCodeIndex *index, uint32_t file, uint32_t other)
{
    const char *one = tfy__code_text(index, index->files[file].language);
    const char *two = tfy__code_text(index, index->files[other].language);
    return strcmp(one, two) == 0 || (is_c(one) && is_c(two));
}

/* How much a use of a name gives all its definitions together; 0: it leads nowhere. A name that the file defines itself
 * is its own, and text that is no code uses nothing. */
static double weight_of(const Ranking *r, uint32_t file, const TfyCodeUse *use)
{
    const uint32_t from = r->named_at[use->name], to = r->named_at[use->name + 1];
    if (from == to || to - from > DEFINERS) return 0;
    if (r->own[use->name] == file + 1 || !r->index->files[file].language) return 0;
    return sqrt(use->count) * weight_of_name(r, use->name);
}

/* What it gives one of them. */
static double part_of(const Ranking *r, double weight, uint32_t file, const TfyCodeUse *use, uint32_t symbol)
{
    const uint32_t count = r->named_at[use->name + 1] - r->named_at[use->name];
    return weight / count * (same_language(r->index, file, r->of[symbol]) ? 1 : OTHER_LANGUAGE);
}

/* ---- ways ---- */

static bool add_ways(Ranking *r, uint32_t file)
{
    const TfyCodeFile *of = &r->index->files[file];
    uint32_t met = 0;
    mark_own(r, file);
    r->total[file] = KEPT;
    for (uint32_t u = 0; u < of->use_count; u++) {
        const TfyCodeUse *use = &r->index->uses[of->use_at + u];
        const double weight = weight_of(r, file, use);
        for (uint32_t i = r->named_at[use->name]; weight > 0 && i < r->named_at[use->name + 1]; i++) {
            const uint32_t to = r->of[r->named[i]];
            const double part = part_of(r, weight, file, use, r->named[i]);
            if (r->flow[to] == 0) r->met[met++] = to;
            r->flow[to] += part;
            r->total[file] += part;
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

static bool is_start(const Ranking *r, const bool *focus, uint32_t file)
{
    return focus ? focus[file] : r->index->files[file].language != 0;
}

static void set_start(Ranking *r, const bool *focus)
{
    const uint32_t count = r->index->file_count;
    uint32_t chosen = 0;
    for (uint32_t f = 0; f < count; f++) chosen += is_start(r, focus, f);
    for (uint32_t f = 0; f < count; f++) r->start[f] = !chosen ? 1.0 / count : is_start(r, focus, f) ? 1.0 / chosen : 0;
}

/* One round: the weight of a file flows along its ways; what it keeps begins anew. */
static void flow_once(Ranking *r, double share, double *rank)
{
    const uint32_t count = r->index->file_count;
    double resting = 0;
    for (uint32_t f = 0; f < count; f++) resting += rank[f] * KEPT / r->total[f];
    for (uint32_t f = 0; f < count; f++) r->next[f] = (1 - share + share * resting) * r->start[f];
    for (uint32_t f = 0; f < count; f++)
        for (uint32_t w = r->ways_at[f]; w < r->ways_at[f + 1]; w++)
            r->next[r->ways[w].to] += share * rank[f] * r->ways[w].weight / r->total[f];
    memcpy(rank, r->next, count * sizeof *rank);
}

static void rank_symbols(Ranking *r, TfyCodeRank *rank)
{
    const TfyCodeIndex *index = r->index;
    for (uint32_t f = 0; f < index->file_count; f++) {
        const TfyCodeFile *file = &index->files[f];
        for (uint32_t i = 0; i < file->symbol_count; i++)
            rank->symbols[file->symbol_at + i] += OWN * rank->files[f] / file->symbol_count;
        mark_own(r, f);
        for (uint32_t u = 0; u < file->use_count; u++) {
            const TfyCodeUse *use = &index->uses[file->use_at + u];
            const double weight = weight_of(r, f, use);
            for (uint32_t i = r->named_at[use->name]; weight > 0 && i < r->named_at[use->name + 1]; i++) {
                const double part = part_of(r, weight, f, use, r->named[i]);
                rank->symbols[r->named[i]] += rank->files[f] * part / r->total[f];
            }
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
           (r->of = tfy__sys_calloc(symbols, sizeof *r->of)) && (r->own = tfy__sys_calloc(strings, sizeof *r->own)) &&
           (r->users = tfy__sys_calloc(strings, sizeof *r->users)) &&
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
    void *const all[] = {r->named,   r->named_at, r->of,    r->own,  r->users, r->ways,
                         r->ways_at, r->flow,     r->total, r->next, r->start, r->met};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

bool tfy__code_rank(const TfyCodeIndex *index, const bool *focus, TfyCodeRank *rank)
{
    Ranking r = {.index = index};
    *rank = (TfyCodeRank){0};
    bool made = make_room(&r, rank);
    if (made) sort_names(&r);
    if (made) count_users(&r);
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
