/* llm_talk.c: see llm_talk.h. */
#include "effects/llm_talk.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/list.h"
#include "value/json.h"

#define KEPT_BYTES ((size_t)16 << 20) /* of all talks of a loop that no question is using */

static uint64_t task_key(TfyTask *task)
{
    const char *path = tfy__task_path(task);
    return XXH3_64bits_withSeed(path, strlen(path), XXH3_64bits(tfy__run_uuid(task), 36));
}

static uint64_t place_key(uint64_t task, const TfySite *site)
{
    return task ^ tfy__mix((uintptr_t)site);
}

static void free_talk(TfyLlmTalk *talk)
{
    tfy__buffer_free(&talk->text);
    tfy__llm_wire_free(&talk->wire);
    json_decref(talk->fresh);
    free(talk);
}

static void leave(TfyLlmTalks *talks, TfyLlmTalk *talk)
{
    tfy__table_remove(&talks->by_place, &talk->link);
    LIST2_REMOVE(talks, talk, prev, next);
    talks->bytes -= talk->bytes;
}

static TfyLlmTalk *find(const TfyLlmTalks *talks, uint64_t task, const TfySite *site)
{
    const TfyLink *link = tfy__table_find(&talks->by_place, place_key(task, site));
    for (; link; link = tfy__table_next(link)) {
        TfyLlmTalk *talk = TABLE_ITEM(link, TfyLlmTalk, link);
        if (talk->task == task && talk->site == site) return talk;
    }
    return NULL;
}

TfyLlmTalk *tfy__talk_take(TfyLlmTalks *talks, TfyTask *task, const TfySite *site)
{
    const uint64_t key = talks ? task_key(task) : 0;
    TfyLlmTalk *talk = talks ? find(talks, key, site) : NULL;
    if (talk) {
        leave(talks, talk);
    } else if ((talk = tfy__sys_calloc(1, sizeof *talk))) {
        talk->task = key;
        talk->site = talks ? site : NULL;
    }
    if (!talk) return NULL;
    talk->met = 0;
    talk->at = 0;
    talk->adding = false;
    return talk;
}

/* ---- the text ---- */

static void drop_fresh(TfyLlmTalk *talk)
{
    json_decref(talk->fresh);
    talk->fresh = NULL;
}

/* The question goes another way from here. A wire form cannot be cut. */
static void cut(TfyLlmTalk *talk)
{
    if (talk->met == talk->count) return;
    talk->count = talk->met;
    talk->text.len = talk->at;
    if (talk->text.data) talk->text.data[talk->at] = '\0';
    drop_fresh(talk);
    tfy__llm_wire_free(&talk->wire);
}

/* A message is an object, so equal bytes are the whole of it. */
static bool has_next(const TfyLlmTalk *talk, const char *message, size_t len, size_t *from)
{
    *from = talk->at + (talk->met > 0);
    return talk->met < talk->count && *from + len <= talk->text.len &&
           memcmp(talk->text.data + *from, message, len) == 0;
}

static bool add_fresh(TfyLlmTalk *talk, json_t *message)
{
    if (!talk->adding) {
        drop_fresh(talk);
        talk->fresh = json_array();
        talk->fresh_from = talk->count;
        talk->adding = true;
    }
    return json_array_append_new(talk->fresh, message) == 0;
}

bool tfy__talk_add(TfyLlmTalk *talk, const char *message, size_t len)
{
    size_t from;
    if (has_next(talk, message, len, &from)) {
        talk->at = from + len;
        talk->met++;
        return true;
    }
    json_error_t error;
    json_t *json = tfy__json_read(message, len, JSON_ALLOW_NUL, &error);
    talk->text.failed |= !json && json_error_code(&error) == json_error_out_of_memory;
    if (!json_is_string(json_object_get(json, "role"))) {
        json_decref(json);
        return false;
    }
    cut(talk);
    if (talk->count) tfy__buffer_char(&talk->text, ',');
    tfy__buffer_add(&talk->text, message, len);
    if (!add_fresh(talk, json)) talk->text.failed = true;
    talk->at = talk->text.len;
    talk->met = ++talk->count;
    return !talk->text.failed;
}

void tfy__talk_end(TfyLlmTalk *talk)
{
    cut(talk);
}

/* ---- what is made of it ---- */

static json_t *parse_all(const TfyLlmTalk *talk)
{
    TfyBuffer list = {0};
    tfy__buffer_char(&list, '[');
    tfy__buffer_add(&list, talk->text.data, talk->text.len);
    tfy__buffer_char(&list, ']');
    json_t *all = list.failed ? NULL : tfy__json_read(list.data, list.len, JSON_ALLOW_NUL, NULL);
    tfy__buffer_free(&list);
    return all;
}

json_t *tfy__talk_since(TfyLlmTalk *talk, uint32_t from)
{
    json_t *list = json_array();
    const bool known = from == talk->count || (talk->fresh && from >= talk->fresh_from);
    json_t *all = known ? NULL : parse_all(talk);
    const json_t *of = all ? all : talk->fresh;
    bool ok = list && (known || all);
    for (size_t i = from - (all || !of ? 0 : talk->fresh_from); ok && from < talk->count && i < json_array_size(of);
         i++)
        ok = json_array_append(list, json_array_get(of, i)) == 0;
    json_decref(all);
    if (ok) return list;
    json_decref(list);
    return NULL;
}

const TfyLlmWire *tfy__talk_wire(TfyLlmTalk *talk, const TfyLlmForm *form, const char *from, const TfyLlmFiles *files)
{
    TfyLlmWire *wire = &talk->wire;
    if (wire->form != form || wire->from != from || wire->count > talk->count) tfy__llm_wire_free(wire);
    wire->form = form;
    wire->from = from;
    wire->files = files;
    json_t *list = tfy__talk_since(talk, wire->count);
    const json_t *message;
    size_t i;
    json_array_foreach(list, i, message) form->add(wire, message);
    wire->count = talk->count;
    wire->files = NULL;
    const bool ok = list && !wire->text.failed && !wire->system.failed;
    json_decref(list);
    if (ok) return wire;
    tfy__llm_wire_free(wire);
    return NULL;
}

void tfy__talk_begins(TfyLlmTalk *talk, char *out, size_t cap)
{
    json_t *messages = tfy__talk_since(talk, 0);
    const json_t *message;
    const char *text = "";
    size_t i, n = 0;
    json_array_foreach(messages, i, message)
    {
        const char *role = json_string_value(json_object_get(message, "role"));
        if (strcmp(role, "user") != 0) continue;
        text = json_string_value(json_object_get(message, "content"));
        break;
    }
    for (; text[n] && n + 1 < cap; n++) out[n] = text[n] == '\n' || text[n] == '\r' || text[n] == '\t' ? ' ' : text[n];
    while (text[n] && n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) n--; /* not in the middle of a character */
    out[n] = '\0';
    json_decref(messages);
}

/* ---- keeping ---- */

/* What was added last is there a third time, as JSON. */
static size_t bytes_of(const TfyLlmTalk *talk)
{
    return sizeof *talk + 2 * talk->text.cap + talk->wire.text.cap;
}

void tfy__talk_return(TfyLlmTalks *talks, TfyLlmTalk *talk)
{
    if (!talk) return;
    if (!talk->site || talk->text.failed || !tfy__table_reserve(&talks->by_place)) {
        free_talk(talk);
        return;
    }
    TfyLlmTalk *other = find(talks, talk->task, talk->site);
    if (other) {
        leave(talks, other);
        free_talk(other);
    }
    talk->bytes = bytes_of(talk);
    talks->bytes += talk->bytes;
    tfy__table_add(&talks->by_place, &talk->link, place_key(talk->task, talk->site));
    LIST2_APPEND(talks, talk, prev, next);
    while (talks->first && talks->bytes > KEPT_BYTES) {
        TfyLlmTalk *oldest = talks->first;
        leave(talks, oldest);
        free_talk(oldest);
    }
}

void tfy__talks_close(TfyLlmTalks *talks)
{
    while (talks->first) {
        TfyLlmTalk *talk = talks->first;
        leave(talks, talk);
        free_talk(talk);
    }
    tfy__table_free(&talks->by_place);
}
