/* code_answer.c: see code_answer.h. What is equally good comes by path and line, so that equal projects give equal
 * answers. */
#include "effects/code_answer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/grow.h"
#include "base/sys_memory.h"
#include "effects/file.h"

enum {
    WORDS = 16,      /* of a query */
    TAIL_BYTES = 64, /* for the last line of a map that does not show everything */
};

void tfy__code_answer_free(TfyCodeAnswer *answer)
{
    tfy__buffer_free(&answer->text);
    free(answer->hits);
    free(answer->places);
    *answer = (TfyCodeAnswer){0};
}

static void add_hit(TfyCodeAnswer *answer, uint32_t file, uint32_t symbol)
{
    if (GROW(answer->hits, answer->hit_cap, answer->hit_count + 1, 64))
        answer->hits[answer->hit_count++] = (TfyCodeHit){file, symbol};
    else
        answer->failed = true;
}

/* ---- focus ---- */

static bool is_at(const char *path, const char *name, size_t len)
{
    return strncmp(path, name, len) == 0 && (!path[len] || path[len] == '/');
}

static bool defines(const TfyCodeIndex *index, const TfyCodeFile *file, const char *name)
{
    for (uint32_t i = 0; i < file->symbol_count; i++)
        if (strcmp(tfy__code_text(index, index->symbols[file->symbol_at + i].name), name) == 0) return true;
    return false;
}

bool tfy__code_focus(const TfyCodeIndex *index, const char *name, bool *focus)
{
    bool found = false, defined = false;
    while (strncmp(name, "./", 2) == 0) name += 2;
    size_t len = strlen(name);
    while (len && name[len - 1] == '/') len--;
    for (uint32_t f = 0; f < index->file_count; f++)
        if (is_at(tfy__code_text(index, index->files[f].path), name, len)) found = focus[f] = true;
    for (uint32_t f = 0; !found && f < index->file_count; f++)
        if (defines(index, &index->files[f], name)) defined = focus[f] = true;
    return found || defined;
}

/* ---- the map ---- */

typedef struct Ranked {
    double rank;
    TfyCodeHit hit;
} Ranked;

/* The files of an index are sorted by path, and their symbols by line: numbers decide. */
static int by_rank(const void *a, const void *b)
{
    const Ranked *one = a, *other = b;
    if (one->rank != other->rank) return one->rank > other->rank ? -1 : 1;
    if (one->hit.file != other->hit.file) return one->hit.file < other->hit.file ? -1 : 1;
    return one->hit.symbol < other->hit.symbol ? -1 : one->hit.symbol > other->hit.symbol;
}

/* A line with several definitions is shown once. */
static bool is_shown_line(const TfyCodeIndex *index, uint32_t file, uint32_t i)
{
    const TfyCodeSymbol *first = index->symbols + index->files[file].symbol_at, *own = first + i;
    if (tfy__code_is_part(index, own)) return false;
    for (const TfyCodeSymbol *before = own; before-- > first && before->line == own->line;)
        if (!tfy__code_is_part(index, before)) return false;
    return true;
}

/* All that a map can show, the best first. NULL: no memory. */
static Ranked *rank_all(const TfyCodeIndex *index, const TfyCodeRank *rank, uint32_t *count)
{
    Ranked *all = tfy__sys_malloc(((size_t)index->symbol_count + 1) * sizeof *all);
    *count = 0;
    for (uint32_t f = 0; all && f < index->file_count; f++) {
        const TfyCodeFile *file = &index->files[f];
        for (uint32_t i = 0; i < file->symbol_count && *count < index->symbol_count; i++)
            if (is_shown_line(index, f, i))
                all[(*count)++] = (Ranked){rank->symbols[file->symbol_at + i], {f, file->symbol_at + i}};
    }
    if (all) qsort(all, *count, sizeof *all, by_rank);
    return all;
}

static void put_line(const TfyCodeIndex *index, const TfyCodeSymbol *symbol, TfyBuffer *out)
{
    const char *text = tfy__code_text(index, symbol->text);
    tfy__buffer_printf(out, "  %u: %s\n", symbol->line, *text ? text : tfy__code_text(index, symbol->name));
}

/* What is shown of a map. */
typedef struct Map {
    const TfyCodeIndex *index;
    bool *shown;     /* by symbol */
    bool *met;       /* by file */
    uint32_t *files; /* shown, in the order of their best definition */
    uint32_t file_count;
} Map;

/* Takes the best definitions as long as there is room; returns how many. */
static uint32_t choose(Map *map, const Ranked *all, uint32_t count, size_t room, TfyBuffer *line)
{
    uint32_t taken = 0;
    for (; taken < count; taken++) {
        const TfyCodeHit *hit = &all[taken].hit;
        tfy__buffer_reset(line);
        put_line(map->index, &map->index->symbols[hit->symbol], line);
        const size_t head =
            map->met[hit->file] ? 0 : strlen(tfy__code_text(map->index, map->index->files[hit->file].path)) + 1;
        if (line->len + head > room) break;
        room -= line->len + head;
        map->shown[hit->symbol] = true;
        if (head) map->files[map->file_count++] = hit->file;
        map->met[hit->file] = true;
    }
    return taken;
}

static void put_map(const Map *map, TfyBuffer *out)
{
    for (uint32_t k = 0; k < map->file_count; k++) {
        const TfyCodeFile *file = &map->index->files[map->files[k]];
        tfy__buffer_printf(out, "%s\n", tfy__code_text(map->index, file->path));
        for (uint32_t i = 0; i < file->symbol_count; i++)
            if (map->shown[file->symbol_at + i]) put_line(map->index, &map->index->symbols[file->symbol_at + i], out);
    }
}

void tfy__code_answer_map(const TfyCodeIndex *index, const TfyCodeRank *rank, size_t tokens, TfyCodeAnswer *answer)
{
    uint32_t count;
    TfyBuffer line = {0};
    Map map = {.index = index,
               .shown = tfy__sys_calloc((size_t)index->symbol_count + 1, sizeof *map.shown),
               .met = tfy__sys_calloc((size_t)index->file_count + 1, sizeof *map.met),
               .files = tfy__sys_calloc((size_t)index->file_count + 1, sizeof *map.files)};
    Ranked *all = rank_all(index, rank, &count);
    const size_t bytes = tokens * TFY_CODE_TOKEN;
    if (map.shown && map.met && map.files && all) {
        const uint32_t taken = choose(&map, all, count, bytes > TAIL_BYTES ? bytes - TAIL_BYTES : 0, &line);
        put_map(&map, &answer->text);
        if (taken < count) tfy__buffer_printf(&answer->text, "… %u more definitions\n", count - taken);
        if (answer->text.len) answer->text.data[--answer->text.len] = '\0'; /* the last newline */
        answer->failed = answer->text.failed || line.failed;
    } else {
        answer->failed = true;
    }
    tfy__buffer_free(&line);
    free(all);
    free(map.shown);
    free(map.met);
    free(map.files);
}

/* ---- symbols ---- */

typedef struct Query {
    char *text; /* owned; its words, each with its NUL */
    const char *words[WORDS];
    int count;
} Query;

static bool read_query(Query *query, const char *text)
{
    char *save = NULL;
    *query = (Query){.text = tfy__sys_strdup(text)};
    if (!query->text) return false;
    for (char *word = strtok_r(query->text, " \t\r\n.:", &save); word && query->count < WORDS;
         word = strtok_r(NULL, " \t\r\n.:", &save))
        query->words[query->count++] = word;
    return true;
}

/* How well a symbol answers, from 4: it is the name itself; 0: not at all. Words before the last may be in its scope. */
static int grade(const Query *query, const char *name, const char *scope)
{
    if (!query->count) return 0;
    const char *last = query->words[query->count - 1];
    for (int i = 0; i < query->count; i++)
        if (!strcasestr(name, query->words[i]) && (i == query->count - 1 || !strcasestr(scope, query->words[i])))
            return 0;
    if (strcmp(name, last) == 0) return 4;
    if (strcasecmp(name, last) == 0) return 3;
    return strncasecmp(name, last, strlen(last)) == 0 ? 2 : 1;
}

static Ranked *grade_all(const TfyCodeIndex *index, const TfyCodeRank *rank, const Query *query, uint32_t *count)
{
    Ranked *all = tfy__sys_malloc(((size_t)index->symbol_count + 1) * sizeof *all);
    *count = 0;
    for (uint32_t f = 0; all && f < index->file_count; f++) {
        const TfyCodeFile *file = &index->files[f];
        for (uint32_t i = file->symbol_at; i < file->symbol_at + file->symbol_count && *count < index->symbol_count;
             i++) {
            const TfyCodeSymbol *symbol = &index->symbols[i];
            const int is = grade(query, tfy__code_text(index, symbol->name), tfy__code_text(index, symbol->scope));
            if (is) all[(*count)++] = (Ranked){is + rank->symbols[i] / 2, {f, i}}; /* a rank is at most 1 */
        }
    }
    if (all) qsort(all, *count, sizeof *all, by_rank);
    return all;
}

void tfy__code_answer_symbols(const TfyCodeIndex *index, const TfyCodeRank *rank, const char *text, uint32_t limit,
                              TfyCodeAnswer *answer)
{
    Query query;
    uint32_t count = 0;
    Ranked *all = read_query(&query, text) ? grade_all(index, rank, &query, &count) : NULL;
    answer->failed = !all;
    for (uint32_t i = 0; i < count && i < limit; i++) add_hit(answer, all[i].hit.file, all[i].hit.symbol);
    free(all);
    free(query.text);
}

void tfy__code_answer_outline(const TfyCodeIndex *index, uint32_t file, TfyCodeAnswer *answer)
{
    const TfyCodeFile *of = &index->files[file];
    for (uint32_t i = 0; i < of->symbol_count; i++) add_hit(answer, file, of->symbol_at + i);
}

/* ---- places ---- */

static bool uses(const TfyCodeIndex *index, const TfyCodeFile *file, uint32_t name)
{
    for (uint32_t i = 0; i < file->use_count; i++)
        if (index->uses[file->use_at + i].name == name) return true;
    return false;
}

/* The number of a string in an index to which nothing is added; 0: it has none. */
static uint32_t find_string(const TfyCodeIndex *index, const char *text)
{
    uint32_t string = index->string_count;
    while (string && strcmp(tfy__code_text(index, string), text) != 0) string--;
    return string;
}

static void add_place(TfyCodeAnswer *answer, uint32_t file, uint32_t line, const char *at, const char *end)
{
    char text[TFY_CODE_TEXT];
    const size_t len = tfy__code_line(at, end, text);
    if (!GROW(answer->places, answer->place_cap, answer->place_count + 1, 64)) {
        answer->failed = true;
        return;
    }
    answer->places[answer->place_count++] =
        (TfyCodePlace){.file = file, .line = line, .at = answer->text.len, .len = len};
    tfy__buffer_add(&answer->text, text, len);
    answer->failed |= answer->text.failed;
}

static bool has_word(const char *at, const char *end, const char *name, size_t len)
{
    for (const char *word; (at = tfy__code_word(at, end, &word));)
        if ((size_t)(at - word) == len && memcmp(word, name, len) == 0) return true;
    return false;
}

static void find_places(TfyCodeScan *scan, uint32_t file, const char *name, uint32_t limit, TfyCodeAnswer *answer)
{
    const char *path = tfy__code_text(&scan->now, scan->now.files[file].path);
    const size_t len = strlen(name);
    if (tfy__file_read(scan->protect, scan->root_fd, path, false, TFY_CODE_FILE, &scan->text) != 0) return;
    if (!scan->text.len || !tfy__scan_is_code(scan->text.data, scan->text.len)) return; /* it changed meanwhile */
    const char *at = scan->text.data, *end = at + scan->text.len, *stop;
    for (uint32_t line = 1; at < end && answer->place_count < limit; line++, at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        if (has_word(at, stop, name, len)) add_place(answer, file, line, at, stop);
    }
}

void tfy__code_answer_places(TfyCodeScan *scan, const TfyCodeRank *rank, const char *name, uint32_t limit,
                             TfyCodeAnswer *answer)
{
    const TfyCodeIndex *index = &scan->now;
    const uint32_t string = find_string(index, name);
    Ranked *all = tfy__sys_malloc(((size_t)index->file_count + 1) * sizeof *all);
    uint32_t count = 0;
    answer->failed = !all;
    for (uint32_t f = 0; all && string && f < index->file_count; f++)
        if (uses(index, &index->files[f], string)) all[count++] = (Ranked){rank->files[f], {f, 0}};
    if (all) qsort(all, count, sizeof *all, by_rank);
    for (uint32_t i = 0; i < count && answer->place_count < limit && !answer->failed; i++)
        find_places(scan, all[i].hit.file, name, limit, answer);
    free(all);
}
