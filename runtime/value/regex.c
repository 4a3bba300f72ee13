/* regex.c: regular expressions, by PCRE2.
 *
 * A pattern can take extremely long on a hostile text. So every pattern is compiled with callouts, one before each of
 * its items, and each callout counts a step, and more if the match has moved far. A call that exceeds its steps
 * panics. Steps are counted instead of timed, so that a run behaves the same everywhere; for the same reason there is
 * no JIT.
 *
 * A small cache beside the heap holds compiled patterns; the least recently used one is dropped first. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/buffer.h"
#include "value/heap.h"
#include "base/utf8.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX     10000000 /* about half a second */
#define STEP_BYTES    32       /* a match that moves this far takes one more step */
#define HEAP_MAX_KIB  65536    /* PCRE2's limit for one match */
#define PATTERNS_KEPT 32

/* One pattern, ready for use. */
typedef struct Regex {
    char *pattern; /* its text, pattern_len bytes */
    uint32_t pattern_len;
    pcre2_code *code;
    pcre2_match_data *match; /* the groups of the last match */
    uint64_t used;           /* the cache's clock at its last use */
} Regex;

struct TfyRegexCache {
    pcre2_compile_context *compile;
    pcre2_match_context *limits;
    Regex kept[PATTERNS_KEPT];
    uint32_t count;
    uint64_t clock;
};

/* One call, which may search a text many times. */
typedef struct Search {
    TfyTask *task;
    uint32_t line;
    const TfyString *text, *pattern;
    Regex *regex;
    uint64_t steps; /* counted so far */
    size_t last;    /* position of the match at the last callout */
    uint32_t at;    /* start of the next search */
    bool whole;     /* only all of the text counts */
    /* Start and end of the whole match, then of each group; PCRE2_UNSET: the group took no part. */
    size_t *found;
    uint32_t groups; /* pairs in found */
} Search;

/* ---- compiled patterns ---- */

static int count_step(pcre2_callout_block *block, void *state)
{
    Search *search = state;
    size_t at = block->current_position, moved = at > search->last ? at - search->last : 0;
    search->last = at;
    search->steps += 1 + moved / STEP_BYTES;
    return search->steps > STEPS_MAX ? PCRE2_ERROR_MATCHLIMIT : 0;
}

static void forget(Regex *regex)
{
    free(regex->pattern);
    pcre2_code_free(regex->code);
    pcre2_match_data_free(regex->match);
    *regex = (Regex){0};
}

static void free_cache(TfyHeap *heap)
{
    struct TfyRegexCache *cache = heap->regexes;
    for (uint32_t i = 0; i < cache->count; i++) forget(&cache->kept[i]);
    pcre2_compile_context_free(cache->compile);
    pcre2_match_context_free(cache->limits);
    free(cache);
    heap->regexes = NULL;
}

static struct TfyRegexCache *cache_of(TfyHeap *heap)
{
    struct TfyRegexCache *cache = heap->regexes;
    if (cache) return cache;
    if (!(cache = calloc(1, sizeof *cache))) return NULL;
    cache->compile = pcre2_compile_context_create(NULL);
    cache->limits = pcre2_match_context_create(NULL);
    heap->regexes = cache;
    heap->free_regexes = free_cache;
    if (!cache->compile || !cache->limits) {
        free_cache(heap);
        return NULL;
    }
    pcre2_set_newline(cache->compile, PCRE2_NEWLINE_LF);
    pcre2_set_bsr(cache->compile, PCRE2_BSR_UNICODE);
    pcre2_set_heap_limit(cache->limits, HEAP_MAX_KIB);
    pcre2_set_match_limit(cache->limits, UINT32_MAX); /* the callouts count instead */
    pcre2_set_depth_limit(cache->limits, UINT32_MAX); /* the heap limit bounds it */
    return cache;
}

static bool refuse_pattern(TfyTask *task, uint32_t line, const TfyString *pattern, int error, size_t at)
{
    char text[160] = "it cannot be read";
    pcre2_get_error_message(error, (PCRE2_UCHAR *)text, sizeof text);
    return tfy_panic(task, line, "the pattern \"%.80s\" is wrong at character %u: %s", pattern->bytes,
                     tfy__count_points(pattern->bytes, (uint32_t)at), text);
}

static bool compile(TfyTask *task, uint32_t line, const struct TfyRegexCache *cache, const TfyString *pattern,
                    Regex *out)
{
    int error;
    size_t at;
    *out = (Regex){.pattern_len = pattern->byte_len};
    out->code = pcre2_compile((PCRE2_SPTR)pattern->bytes, pattern->byte_len,
                              PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT, &error, &at,
                              cache->compile);
    if (!out->code && error == PCRE2_ERROR_HEAP_FAILED) return tfy__starved(task);
    if (!out->code) return refuse_pattern(task, line, pattern, error, at);
    out->match = pcre2_match_data_create_from_pattern(out->code, NULL);
    out->pattern = malloc(pattern->byte_len + 1);
    if (!out->match || !out->pattern) {
        forget(out);
        return tfy__starved(task);
    }
    memcpy(out->pattern, pattern->bytes, pattern->byte_len);
    return true;
}

/* The compiled pattern; valid until the next call. */
static Regex *find_regex(TfyTask *task, uint32_t line, const TfyString *pattern)
{
    struct TfyRegexCache *cache = cache_of(task->heap);
    Regex *oldest, made;
    if (!cache) {
        tfy__starved(task);
        return NULL;
    }
    oldest = cache->kept;
    for (uint32_t i = 0; i < cache->count; i++) {
        Regex *regex = &cache->kept[i];
        if (regex->used < oldest->used) oldest = regex;
        if (regex->pattern_len != pattern->byte_len) continue;
        if (memcmp(regex->pattern, pattern->bytes, pattern->byte_len) != 0) continue;
        regex->used = ++cache->clock;
        return regex;
    }
    tfy_charge(task, 1024 + 64 * (uint64_t)pattern->byte_len);
    if (!compile(task, line, cache, pattern, &made)) return NULL;
    Regex *place = cache->count < PATTERNS_KEPT ? &cache->kept[cache->count++] : oldest;
    forget(place);
    *place = made;
    place->used = ++cache->clock;
    return place;
}

/* ---- searching ---- */

static bool open_search(Search *search, TfyTask *task, uint32_t line, const TfyObj *s, const TfyObj *pattern)
{
    *search = (Search){.task = task, .line = line, .text = (const TfyString *)s, .pattern = (const TfyString *)pattern};
    search->regex = find_regex(task, line, search->pattern);
    return search->regex != NULL;
}

static bool stop_search(const Search *search, int code)
{
    char text[160] = "";
    if (code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_HEAPLIMIT || code == PCRE2_ERROR_DEPTHLIMIT) {
        return tfy_panic(search->task, search->line,
                         "the pattern \"%.80s\" takes too many steps on this text of %u bytes; make it more exact",
                         search->pattern->bytes, search->text->byte_len);
    }
    if (code == PCRE2_ERROR_NOMEMORY) return tfy__starved(search->task);
    pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof text);
    return tfy_panic(search->task, search->line, "the pattern \"%.80s\" cannot be used: %s", search->pattern->bytes,
                     text);
}

/* Searches for the next match. *found: there is one, and `at` is behind it. False: a panic. */
static bool search_next(Search *search, bool *found)
{
    const TfyString *text = search->text;
    pcre2_match_context *limits = search->task->heap->regexes->limits;
    const uint32_t options = PCRE2_NO_UTF_CHECK | (search->whole ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0);
    uint64_t before = search->steps;
    *found = false;
    if (search->at > text->byte_len) return true;
    search->last = search->at;
    pcre2_set_callout(limits, count_step, search);
    int code = pcre2_match(search->regex->code, (PCRE2_SPTR)text->bytes, text->byte_len, search->at, options,
                           search->regex->match, limits);
    tfy_charge(search->task, 64 + (search->steps - before) + text->byte_len / 16);
    if (code == PCRE2_ERROR_NOMATCH) return true;
    if (code < 0) return stop_search(search, code);
    search->found = pcre2_get_ovector_pointer(search->regex->match);
    search->groups = pcre2_get_ovector_count(search->regex->match);
    if (search->found[0] > search->found[1]) search->found[0] = search->found[1]; /* \K can reverse them */
    *found = true;
    search->at = (uint32_t)search->found[1];
    /* an empty match: continue behind the next character */
    if (search->found[0] == search->found[1])
        search->at += search->at < text->byte_len ? tfy__utf8_len(text->bytes[search->at]) : 1;
    return true;
}

bool tfy_string_matches(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *pattern, bool *out)
{
    Search search;
    *out = false;
    return open_search(&search, task, line, s, pattern) && search_next(&search, out);
}

bool tfy_string_vetted(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *pattern, TfyObj **out)
{
    Search search;
    bool found;
    *out = NULL;
    if (!open_search(&search, task, line, s, pattern)) return false;
    search.whole = true;
    if (!search_next(&search, &found)) return false;
    if (found) *out = tfy_temp(task, tfy_keep(s));
    return *out || !found;
}

/* ---- matches as values ---- */

static TfyObj *groups_of(const Search *search)
{
    static const TfyType list = {.kind = TFY_LIST, .name = "list<string?>", .elem = &tfy_type_optional_string};
    TfyObj *groups = tfy__list_new(search->task, &list, search->groups);
    bool ok = groups != NULL;
    for (uint32_t i = 0; ok && i < search->groups; i++) {
        size_t from = search->found[2 * i], to = search->found[2 * i + 1];
        if (from == PCRE2_UNSET)
            ok = tfy_list_push(search->task, 0, &groups, tfy_of_obj(NULL));
        else
            ok = tfy__add_piece(search->task, &groups, search->text->bytes + from, (uint32_t)(to - from));
    }
    if (ok) return groups;
    tfy_drop(search->task, groups);
    return NULL;
}

/* An owned Match {text, start, end, groups}. bytes and points are a position before the match, in bytes and in code
 * points; they move to its end. */
static TfyObj *match_of(const Search *search, uint32_t *bytes, int64_t *points)
{
    uint32_t from = (uint32_t)search->found[0], to = (uint32_t)search->found[1];
    const char *text = search->text->bytes;
    TfyObj *match = tfy__record_new(search->task, &tfy_type_match);
    if (!match) return NULL;
    TfyValue *fields = ((TfyRecord *)match)->fields;
    int64_t start = *points + tfy__count_points(text + *bytes, from - *bytes);
    uint32_t len = tfy__count_points(text + from, to - from);
    fields[0].o = tfy__string_piece(search->task, text + from, to - from, len);
    fields[1].i = start;
    fields[2].i = *points = start + len;
    *bytes = to;
    fields[3].o = fields[0].o ? groups_of(search) : NULL;
    if (fields[3].o) return match;
    tfy_drop(search->task, match);
    return NULL;
}

bool tfy_string_find_match(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *pattern, TfyObj **out)
{
    Search search;
    bool found;
    uint32_t bytes = 0;
    int64_t points = 0;
    *out = NULL;
    if (!open_search(&search, task, line, s, pattern) || !search_next(&search, &found)) return false;
    if (found) *out = tfy_temp(task, match_of(&search, &bytes, &points));
    return *out || !found;
}

TfyObj *tfy_string_find_matches(TfyTask *task, uint32_t line, const TfyType *type, TfyObj *s, TfyObj *pattern)
{
    Search search;
    bool found = true;
    uint32_t bytes = 0;
    int64_t points = 0;
    TfyObj *list = tfy__list_new(task, type, 0);
    bool ok = list && open_search(&search, task, line, s, pattern);
    while (ok && (ok = search_next(&search, &found)) && found) {
        TfyObj *match = match_of(&search, &bytes, &points);
        ok = match && tfy_list_push(task, line, &list, tfy_of_obj(match));
        tfy_drop(task, match);
    }
    if (ok) return tfy_temp(task, list);
    tfy_drop(task, list);
    return NULL;
}

/* ---- replacing and splitting ---- */

static bool add_group(const Search *search, TfyBuffer *out, uint32_t number)
{
    if (number >= search->groups) {
        return tfy_panic(search->task, search->line, "the replacement names group $%u, but \"%.80s\" has %u", number,
                         search->pattern->bytes, search->groups - 1);
    }
    size_t from = search->found[2 * number];
    if (from != PCRE2_UNSET) tfy__buffer_add(out, search->text->bytes + from, search->found[2 * number + 1] - from);
    return true;
}

/* Expands $0 to $99 to groups, and $$ to a $. */
static bool expand(const Search *search, TfyBuffer *out, const TfyString *with)
{
    const char *at = with->bytes, *end = at + with->byte_len;
    for (const char *sign; (sign = memchr(at, '$', (size_t)(end - at))); at = sign) {
        tfy__buffer_add(out, at, (size_t)(sign - at));
        sign++;
        if (*sign < '0' || *sign > '9') {
            sign += *sign == '$';
            tfy__buffer_char(out, '$');
            continue;
        }
        uint32_t number = (uint32_t)(*sign++ - '0');
        if (*sign >= '0' && *sign <= '9') number = 10 * number + (uint32_t)(*sign++ - '0');
        if (!add_group(search, out, number)) return false;
    }
    tfy__buffer_add(out, at, (size_t)(end - at));
    return true;
}

static TfyObj *string_from(TfyTask *task, uint32_t line, const TfyBuffer *text)
{
    if (text->failed || text->len > TFY_STRING_MAX) {
        tfy_panic(task, line, "a string would be longer than %u bytes", TFY_STRING_MAX);
        return NULL;
    }
    tfy_charge(task, text->len);
    return tfy_string_of(task, text->data, text->len);
}

TfyObj *tfy_string_replace_matches(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *pattern, TfyObj *with)
{
    Search search;
    TfyBuffer text = {0};
    TfyObj *made = NULL;
    bool found = true, ok = open_search(&search, task, line, s, pattern);
    size_t copied = 0;
    while (ok && (ok = search_next(&search, &found)) && found) {
        tfy__buffer_add(&text, search.text->bytes + copied, search.found[0] - copied);
        copied = search.found[1];
        ok = expand(&search, &text, (const TfyString *)with);
    }
    if (ok) {
        tfy__buffer_add(&text, search.text->bytes + copied, search.text->byte_len - copied);
        made = string_from(task, line, &text);
    }
    tfy__buffer_free(&text);
    return made;
}

/* Empty matches do not separate. */
TfyObj *tfy_string_split_matches(TfyTask *task, uint32_t line, TfyObj *s, TfyObj *pattern)
{
    Search search;
    bool found = true;
    size_t start = 0;
    TfyObj *list = tfy__list_new(task, &tfy_type_list_string, 0);
    bool ok = list && open_search(&search, task, line, s, pattern);
    while (ok && (ok = search_next(&search, &found)) && found) {
        if (search.found[0] == search.found[1]) continue;
        ok = tfy__add_piece(task, &list, search.text->bytes + start, (uint32_t)(search.found[0] - start));
        start = search.found[1];
    }
    ok = ok && tfy__add_piece(task, &list, search.text->bytes + start, search.text->byte_len - (uint32_t)start);
    if (ok) return tfy_temp(task, list);
    tfy_drop(task, list);
    return NULL;
}
