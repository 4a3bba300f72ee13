/* llm_talk.c: see llm_talk.h. */
#include "effects/llm_talk.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/list.h"
#include "effects/llm_plain.h"
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
    talk->fresh_from = 0;
    talk->fresh_at = 0;
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

/* Whether it is a message. Without memory text.failed is set. */
static bool is_message(TfyLlmTalk *talk, const char *message, size_t len)
{
    const char *at = message;
    TfyLlmPlain plain;
    json_error_t error;
    if (tfy__llm_plain(&at, message + len, &plain) && at == message + len) return true;
    json_t *json = tfy__json_read(message, len, JSON_ALLOW_NUL, &error);
    const bool is = json_is_string(json_object_get(json, "role"));
    talk->text.failed |= !json && json_error_code(&error) == json_error_out_of_memory;
    json_decref(json);
    return is;
}

bool tfy__talk_add(TfyLlmTalk *talk, const char *message, size_t len)
{
    size_t from;
    if (has_next(talk, message, len, &from)) {
        talk->at = from + len;
        talk->met++;
        return true;
    }
    if (!is_message(talk, message, len)) return false;
    cut(talk);
    drop_fresh(talk);
    if (talk->count) tfy__buffer_char(&talk->text, ',');
    if (!talk->adding) {
        talk->fresh_from = talk->count;
        talk->fresh_at = talk->text.len;
        talk->adding = true;
    }
    tfy__buffer_add(&talk->text, message, len);
    talk->at = talk->text.len;
    talk->met = ++talk->count;
    return !talk->text.failed;
}

void tfy__talk_end(TfyLlmTalk *talk)
{
    cut(talk);
}

/* ---- what is made of it ---- */

/* The messages from this place in the text on. */
static json_t *parse_from(const TfyLlmTalk *talk, size_t at)
{
    TfyBuffer list = {0};
    tfy__buffer_char(&list, '[');
    tfy__buffer_add(&list, talk->text.data + at, talk->text.len - at);
    tfy__buffer_char(&list, ']');
    json_t *all = list.failed ? NULL : tfy__json_read(list.data, list.len, JSON_ALLOW_NUL, NULL);
    tfy__buffer_free(&list);
    return all;
}

json_t *tfy__talk_since(TfyLlmTalk *talk, uint32_t from)
{
    json_t *list = json_array(), *all = NULL;
    if (from == talk->count) return list;
    const bool known = from >= talk->fresh_from;
    if (known && !talk->fresh) talk->fresh = parse_from(talk, talk->fresh_at);
    if (!known) all = parse_from(talk, 0);
    const json_t *of = known ? talk->fresh : all;
    bool ok = list && of;
    for (size_t i = from - (known ? talk->fresh_from : 0); ok && i < json_array_size(of); i++)
        ok = json_array_append(list, json_array_get(of, i)) == 0;
    json_decref(all);
    if (ok) return list;
    json_decref(list);
    return NULL;
}

/* Adds messages as long as they are plain. */
static void wire_plain(const TfyLlmTalk *talk, TfyLlmWire *wire)
{
    const char *text = talk->text.data;
    while (wire->count < talk->count) {
        const char *at = text + wire->met + (wire->count > 0);
        TfyLlmPlain plain;
        if (!tfy__llm_plain(&at, text + talk->text.len, &plain)) return;
        wire->form->add_plain(wire, &plain);
        wire->met = (size_t)(at - text);
        wire->count++;
    }
}

/* Adds all that are left. False: no memory. */
static bool wire_rest(TfyLlmTalk *talk, TfyLlmWire *wire)
{
    json_t *list = tfy__talk_since(talk, wire->count);
    const json_t *message;
    size_t i;
    json_array_foreach(list, i, message) wire->form->add(wire, message);
    wire->count = talk->count;
    wire->met = talk->text.len;
    json_decref(list);
    return list;
}

const TfyLlmWire *tfy__talk_wire(TfyLlmTalk *talk, const TfyLlmForm *form, const char *from, const TfyLlmFiles *files)
{
    TfyLlmWire *wire = &talk->wire;
    if (wire->form != form || wire->from != from || wire->count > talk->count) tfy__llm_wire_free(wire);
    wire->form = form;
    wire->from = from;
    wire->files = files;
    if (form->add_plain) wire_plain(talk, wire);
    const bool whole = wire->count == talk->count || wire_rest(talk, wire);
    wire->files = NULL;
    if (whole && !wire->text.failed && !wire->system.failed) return wire;
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
