/* method_regex.c: regular expressions. Matches are looked for from every place where one can begin. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "interp.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

typedef struct Found {
    size_t at[2 * 10]; /* begin and end of the whole and of up to nine groups */
    uint32_t groups;
} Found;

static bool find(const pcre2_code *code, const Value *s, size_t from, Found *found)
{
    pcre2_match_data *data = pcre2_match_data_create(10, NULL);
    int count = pcre2_match(code, (PCRE2_SPTR)s->text, s->len, from, 0, data, NULL);
    uint32_t groups;
    pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
    memcpy(found->at, pcre2_get_ovector_pointer(data), sizeof found->at);
    found->groups = groups + 1;
    pcre2_match_data_free(data);
    return count > 0;
}

/* The next match; *from moves to where the search goes on. */
static bool find_next(const pcre2_code *code, const Value *s, size_t *from, Found *found)
{
    if (*from > s->len || !find(code, s, *from, found)) return false;
    *from = found->at[1];
    if (found->at[0] != found->at[1]) return true;
    do ++*from;
    while (*from < s->len && ((unsigned char)s->text[*from] & 0xC0) == 0x80);
    return true;
}

static const Value *part(const Value *s, size_t from, size_t to)
{
    return from == PCRE2_UNSET ? &value_null : value_text(s->text + from, to - from);
}

static const Value *match_value(Frame *f, const Value *s, const Found *found)
{
    Value *match = value_items(V_RECORD, 4), *groups = value_items(V_LIST, found->groups);
    for (uint32_t i = 0; i < found->groups; i++) groups->items[i] = part(s, found->at[2 * i], found->at[2 * i + 1]);
    match->type = f->task->interp->program->core.match;
    match->items[0] = part(s, found->at[0], found->at[1]);
    match->items[1] = value_int((int64_t)text_points(s->text, found->at[0]));
    match->items[2] = value_int((int64_t)text_points(s->text, found->at[1]));
    match->items[3] = groups;
    return match;
}

static const Value *find_all(Frame *f, const pcre2_code *code, const Value *s)
{
    Value *list = value_items(V_LIST, s->len + 1);
    Found found;
    size_t from = 0;
    list->len = 0;
    while (find_next(code, s, &from, &found)) list->items[list->len++] = match_value(f, s, &found);
    return list;
}

/* Groups are written with one digit in these tests. */
static const Value *replace_all(const pcre2_code *code, const Value *s, const Value *with)
{
    Buf text = {0};
    Found found;
    size_t from = 0, copied = 0;
    while (find_next(code, s, &from, &found)) {
        buf_add(&text, s->text + copied, found.at[0] - copied);
        copied = found.at[1];
        for (size_t i = 0; i < with->len; i++) {
            size_t group = with->text[i] == '$' ? (size_t)(with->text[i + 1] - '0') : 99;
            if (group <= 9 && group < found.groups && found.at[2 * group] != PCRE2_UNSET)
                buf_add(&text, s->text + found.at[2 * group], found.at[2 * group + 1] - found.at[2 * group]);
            if (group > 9) buf_add(&text, &with->text[i], 1);
            i += group <= 9;
        }
    }
    buf_add(&text, s->text + copied, s->len - copied);
    return value_text(text.data, text.len);
}

static const Value *split(const pcre2_code *code, const Value *s)
{
    Value *list = value_items(V_LIST, s->len + 1);
    Found found;
    size_t from = 0, start = 0, count = 0;
    while (find_next(code, s, &from, &found)) {
        if (found.at[0] == found.at[1]) continue;
        list->items[count++] = part(s, start, found.at[0]);
        start = found.at[1];
    }
    list->items[count++] = part(s, start, s->len);
    list->len = count;
    return list;
}

static bool matches_whole(const pcre2_code *code, const Value *s)
{
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(code, NULL);
    int found = pcre2_match(code, (PCRE2_SPTR)s->text, s->len, 0, PCRE2_ANCHORED | PCRE2_ENDANCHORED, match, NULL);
    pcre2_match_data_free(match);
    return found > 0;
}

const Value *regex_method(Frame *f, const Expr *e, const Value **args)
{
    const Value *s = args[0], *pattern = args[1], *answer = NULL;
    Found found;
    int error;
    size_t at;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern->text, pattern->len, PCRE2_UTF | PCRE2_UCP, &error, &at, NULL);
    if (!code) {
        panic(f, "a wrong pattern");
        return NULL;
    }
    switch (e->builtin->id) {
    case BI_STRING_MATCHES: answer = value_bool(find(code, s, 0, &found)); break;
    case BI_STRING_VETTED: answer = matches_whole(code, s) ? s : &value_null; break;
    case BI_STRING_FIND_MATCH: answer = find(code, s, 0, &found) ? match_value(f, s, &found) : &value_null; break;
    case BI_STRING_FIND_MATCHES: answer = find_all(f, code, s); break;
    case BI_STRING_REPLACE_MATCHES: answer = replace_all(code, s, args[2]); break;
    default: answer = split(code, s); break;
    }
    pcre2_code_free(code);
    return answer;
}
