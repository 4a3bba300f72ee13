#include "value/type_book.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "value/heap.h"
#include "value/json.h"

/* One descriptor and everything that it owns. */
typedef struct Entry {
    TfyType type; /* .name is owned */
    TfyField *fields;
    TfyCase *cases;
    struct Entry *next;
} Entry;

struct TfyTypeBook {
    Entry *entries;
    const json_t *declared; /* the layout's types */
};

static const TfyType *parse(TfyTypeBook *book, const char *text, size_t len);

static const char *text_of(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text ? text : "";
}

/* ---- entries ---- */

static Entry *add_entry(TfyTypeBook *book, uint8_t kind, const char *name, size_t len)
{
    Entry *entry = calloc(1, sizeof *entry);
    char *own = strndup(name, len);
    if (!entry || !own) {
        free(entry);
        free(own);
        return NULL;
    }
    entry->type = (TfyType){.kind = kind, .name = own};
    entry->next = book->entries;
    return book->entries = entry;
}

static const TfyType *known(const TfyTypeBook *book, const char *name, size_t len)
{
    static const TfyType *const built_in[] = {
        &tfy_type_nothing,  &tfy_type_bool,   &tfy_type_int,         &tfy_type_float,
        &tfy_type_duration, &tfy_type_time,   &tfy_type_string,      &tfy_type_bytes,
        &tfy_type_json,     &tfy_type_thread, &tfy_type_exec_result, &tfy_type_http_response,
        &tfy_type_patch,    &tfy_type_edit,   &tfy_type_match,       &tfy_type_time_zone};
    for (const Entry *entry = book->entries; entry; entry = entry->next)
        if (strncmp(entry->type.name, name, len) == 0 && !entry->type.name[len]) return &entry->type;
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
        if (strncmp(built_in[i]->name, name, len) == 0 && !built_in[i]->name[len]) return built_in[i];
    return NULL;
}

/* ---- declared types ---- */

/* Replaces a default: its value is not needed to decide whether a value fits. */
static bool make_nothing(TfyTask *task, TfyValue *out)
{
    (void)task;
    *out = tfy_of_int(0);
    return true;
}

/* *fields is owned by the caller. False: the type of a field is unknown. */
static bool fill_fields(TfyTypeBook *book, const json_t *described, TfyField **fields, uint32_t *count)
{
    const json_t *field;
    size_t i;
    *count = (uint32_t)json_array_size(described);
    if (!*count) return true;
    if (!(*fields = calloc(*count, sizeof **fields))) return false;
    json_array_foreach(described, i, field)
    {
        const char *type = text_of(field, "type");
        (*fields)[i] = (TfyField){.name = text_of(field, "name"),
                                  .type = parse(book, type, strlen(type)),
                                  .make = json_is_true(json_object_get(field, "default")) ? make_nothing : NULL};
        if (!(*fields)[i].type) return false;
    }
    return true;
}

static bool fill_cases(TfyTypeBook *book, Entry *entry, const json_t *described)
{
    static TfyObj bare = {.refs = TFY_IMMORTAL, .type = &tfy_type_nothing};
    const json_t *one;
    size_t i;
    entry->type.case_count = (uint32_t)json_array_size(described);
    entry->cases = calloc(entry->type.case_count + 1, sizeof *entry->cases);
    if (!entry->cases) return false;
    entry->type.cases = entry->cases;
    json_array_foreach(described, i, one)
    {
        TfyCase *place = &entry->cases[i];
        TfyField *fields = NULL;
        place->name = text_of(one, "name");
        bool ok = fill_fields(book, json_object_get(one, "fields"), &fields, &place->field_count);
        place->fields = fields;
        place->bare = place->field_count ? NULL : &bare;
        if (!ok) return false;
    }
    return true;
}

/* Adds the entry to the book before filling it: types may refer to themselves. */
static const TfyType *declare(TfyTypeBook *book, const json_t *described, const char *name, size_t len)
{
    const char *kind = text_of(described, "kind");
    const bool is_enum = strcmp(kind, "enum") == 0;
    Entry *entry = add_entry(book, is_enum ? TFY_ENUM : TFY_RECORD, name, len);
    if (!entry) return NULL;
    bool ok = is_enum
                  ? fill_cases(book, entry, json_object_get(described, "cases"))
                  : fill_fields(book, json_object_get(described, "fields"), &entry->fields, &entry->type.field_count);
    entry->type.fields = entry->fields;
    return ok ? &entry->type : NULL;
}

static const TfyType *find_declared(TfyTypeBook *book, const char *name, size_t len)
{
    const json_t *described;
    size_t i;
    json_array_foreach(book->declared, i, described)
    {
        const char *its = text_of(described, "name");
        if (strlen(its) == len && memcmp(its, name, len) == 0) return declare(book, described, name, len);
    }
    return NULL;
}

/* ---- names of types ---- */

static bool begins(const char *text, size_t len, const char *with)
{
    return len > strlen(with) && strncmp(text, with, strlen(with)) == 0 && text[len - 1] == '>';
}

/* The position of the comma between a map's two types. */
static size_t comma_in(const char *text, size_t len)
{
    int depth = 0;
    for (size_t i = 0; i < len; i++) {
        depth += (text[i] == '<') - (text[i] == '>');
        if (text[i] == ',' && depth == 0) return i;
    }
    return len;
}

static const TfyType *wrap(TfyTypeBook *book, uint8_t kind, const char *name, size_t len, const TfyType *key,
                           const TfyType *elem)
{
    Entry *entry = elem ? add_entry(book, kind, name, len) : NULL;
    if (!entry) return NULL;
    entry->type.key = key;
    entry->type.elem = elem;
    return &entry->type;
}

static const TfyType *parse_map(TfyTypeBook *book, const char *text, size_t len)
{
    const char *inner = text + strlen("map<");
    const size_t inner_len = len - strlen("map<>"), comma = comma_in(inner, inner_len);
    if (comma + 2 >= inner_len) return NULL;
    const TfyType *key = parse(book, inner, comma);
    return key ? wrap(book, TFY_MAP, text, len, key, parse(book, inner + comma + 2, inner_len - comma - 2)) : NULL;
}

/* Answer<T> {value: T, by: string?, at: time} */
static const TfyType *parse_answer(TfyTypeBook *book, const char *text, size_t len)
{
    const char *const inner = text + strlen("Answer<");
    const TfyType *value = parse(book, inner, len - strlen("Answer<>"));
    Entry *entry = value ? add_entry(book, TFY_RECORD, text, len) : NULL;
    if (!entry || !(entry->fields = calloc(3, sizeof *entry->fields))) return NULL;
    entry->fields[0] = (TfyField){.name = "value", .type = value};
    entry->fields[1] = (TfyField){.name = "by", .type = &tfy_type_optional_string};
    entry->fields[2] = (TfyField){.name = "at", .type = &tfy_type_time};
    entry->type.fields = entry->fields;
    entry->type.field_count = 3;
    return &entry->type;
}

/* The compiler writes names of types, so a line of the source bounds their depth. */
static const TfyType *parse(TfyTypeBook *book, const char *text, size_t len)
{
    const TfyType *type = len ? known(book, text, len) : NULL;
    if (type || !len) return type;
    if (text[len - 1] == '?') return wrap(book, TFY_OPTIONAL, text, len, NULL, parse(book, text, len - 1));
    if (begins(text, len, "list<"))
        return wrap(book, TFY_LIST, text, len, NULL, parse(book, text + 5, len - strlen("list<>")));
    if (begins(text, len, "map<")) return parse_map(book, text, len);
    if (begins(text, len, "Answer<")) return parse_answer(book, text, len);
    return find_declared(book, text, len);
}

/* ---- the book ---- */

TfyTypeBook *tfy__type_book_new(const json_t *layout)
{
    TfyTypeBook *book = calloc(1, sizeof *book);
    if (book) book->declared = json_object_get(layout, "types");
    return book;
}

void tfy__type_book_free(TfyTypeBook *book)
{
    while (book && book->entries) {
        Entry *entry = book->entries;
        book->entries = entry->next;
        for (uint32_t i = 0; entry->cases && i < entry->type.case_count; i++) free((TfyField *)entry->cases[i].fields);
        free(entry->cases);
        free(entry->fields);
        free((char *)entry->type.name);
        free(entry);
    }
    free(book);
}

const TfyType *tfy__type_book_find(TfyTypeBook *book, const char *name)
{
    return parse(book, name, strlen(name));
}

bool tfy__type_book_fits(const TfyType *type, const json_t *json, char *error_text)
{
    TfyHeap heap;
    TfyValue value;
    if (tfy__heap_init(&heap, NULL, NULL) != TFY_OK) {
        snprintf(error_text, TFY_ERROR_TEXT, "memory has run out");
        return false;
    }
    TfyTask task = {.heap = &heap};
    bool fits = tfy__decode_json(&task, type, json, &value, error_text);
    if (task.error) tfy_drop(&task, tfy_take_error(&task));
    tfy__cut(&heap, 0);
    tfy__heap_deinit(&heap);
    return fits;
}

void tfy__misfit_text(int64_t step, const char *type, const char *why, char *error_text)
{
    /* The decoder's message about the value itself starts with the value's type. */
    static const char whole[] = "$: expected ";
    const size_t skipped = sizeof whole - 1;
    if (strncmp(why, whole, skipped) == 0)
        snprintf(error_text, TFY_ERROR_TEXT, "step %lld returns %.450s", (long long)step, why + skipped);
    else
        snprintf(error_text, TFY_ERROR_TEXT, "step %lld returns %.100s: %.350s", (long long)step, type, why);
}

void tfy__misfit_nothing(int64_t step, char *error_text)
{
    snprintf(error_text, TFY_ERROR_TEXT, "step %lld returns nothing; give null to say that it was done",
             (long long)step);
}

void tfy__misfit_signal(const char *file, uint32_t line, const char *type, const char *why, char *error_text)
{
    snprintf(error_text, TFY_ERROR_TEXT, "%.100s:%u waits for %.100s: %.250s", file, line, type, why);
}
