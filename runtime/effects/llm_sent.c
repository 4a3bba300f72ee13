/* llm_sent.c: see llm_sent.h. */
#include "effects/llm_sent.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/grow.h"
#include "base/list.h"
#include "base/table.h"
#include "effects/known.h"
#include "wal/rows/payload.h"

#define KNOWN_MOST  4096               /* texts of all runs of the loop */
#define ASKED_MOST  256                /* askings … */
#define ASKED_BYTES ((size_t)16 << 20) /* … and their texts */
#define TEXT_MOST   ((size_t)64 << 20) /* bytes of a text that is kept; of a longer one the digest is */
#define SHARE_LEAST 256                /* bytes: a shorter common start is written again */

typedef struct Known {
    struct Known *prev, *next; /* that was named longest ago first */
    TfyLink link;              /* by run and digest */
    uint64_t run, digest;
} Known;

typedef struct Part {
    uint64_t digest; /* of the text */
    uint64_t role;   /* a hash of it */
} Part;

/* One asking: the messages that were sent. */
typedef struct Asked {
    struct Asked *prev, *next; /* oldest first */
    uint64_t run, task;        /* hashes: of the run's uuid; of that and the task's path */
    const TfySite *site;
    int64_t step;
    Part *parts;
    uint32_t count, cap;
    json_t *texts;       /* as they were recorded; null: the history had it */
    size_t bytes;        /* of the parts and texts */
    size_t begin_len;    /* bytes of the talk that it was; 0: the history had it */
    XXH128_hash_t begin; /* of these */
} Asked;

typedef struct Sent {
    LIST(Known) known;
    TfyTable by_text;
    LIST(Asked) asked;
    uint32_t asked_count;
    size_t asked_bytes;
} Sent;

static void starve(TfyLoop *loop)
{
    tfy__loop_fail(loop, TFY_E_NOMEM, "memory ran out while it was recorded what a model was sent");
}

static Sent *find_sent(TfyLoop *loop)
{
    void **place = tfy__effect_slot(loop, TFY_M_SENT);
    if (!*place && !(*place = tfy__sys_calloc(1, sizeof(Sent)))) starve(loop);
    return *place;
}

static uint64_t run_key(const char *uuid)
{
    return XXH3_64bits(uuid, 36);
}

static uint64_t task_key(TfyTask *task, uint64_t run)
{
    const char *path = tfy__task_path(task);
    return XXH3_64bits_withSeed(path, strlen(path), run);
}

/* ---- known texts ---- */

static uint64_t text_key(uint64_t run, uint64_t digest)
{
    return tfy__mix(run) ^ digest;
}

static Known *find_known(const Sent *sent, uint64_t run, uint64_t digest)
{
    const TfyLink *link = tfy__table_find(&sent->by_text, text_key(run, digest));
    for (; link; link = tfy__table_next(link)) {
        Known *known = TABLE_ITEM(link, Known, link);
        if (known->run == run && known->digest == digest) return known;
    }
    return NULL;
}

static void forget_known(Sent *sent, Known *known)
{
    tfy__table_remove(&sent->by_text, &known->link);
    LIST2_REMOVE(&sent->known, known, prev, next);
    free(known);
}

/* The text is recorded, and was named now. */
static void note_known(TfyLoop *loop, Sent *sent, uint64_t run, uint64_t digest)
{
    Known *known = find_known(sent, run, digest);
    if (known) {
        LIST2_REMOVE(&sent->known, known, prev, next);
        LIST2_APPEND(&sent->known, known, prev, next);
        return;
    }
    if (sent->by_text.count == KNOWN_MOST) forget_known(sent, sent->known.first);
    if (!tfy__table_reserve(&sent->by_text) || !(known = tfy__sys_calloc(1, sizeof *known))) {
        starve(loop);
        return;
    }
    known->run = run;
    known->digest = digest;
    tfy__table_add(&sent->by_text, &known->link, text_key(run, digest));
    LIST2_APPEND(&sent->known, known, prev, next);
}

/* ---- askings ---- */

static void free_asked(Asked *asked)
{
    json_decref(asked->texts);
    free(asked->parts);
    free(asked);
}

/* Takes the asking out of the list, also while it grows. */
static void leave(Sent *sent, Asked *asked)
{
    LIST2_REMOVE(&sent->asked, asked, prev, next);
    sent->asked_count--;
    sent->asked_bytes -= asked->bytes;
}

static void forget_asked(Sent *sent, Asked *asked)
{
    leave(sent, asked);
    free_asked(asked);
}

static Asked *find_asked(const Sent *sent, uint64_t task, const TfySite *site)
{
    Asked *asked = sent->asked.last;
    while (asked && (asked->task != task || asked->site != site)) asked = asked->prev;
    return asked;
}

static Asked *new_asked(const TfyCall *call, uint64_t run)
{
    Asked *asked = tfy__sys_calloc(1, sizeof *asked);
    if (asked && (asked->texts = json_array())) {
        asked->run = run;
        asked->task = task_key(call->task, run);
        asked->site = call->site;
        return asked;
    }
    free(asked);
    starve(call->loop);
    return NULL;
}

/* As the newest; the oldest ones give way. */
static void keep_asked(Sent *sent, Asked *asked)
{
    LIST2_APPEND(&sent->asked, asked, prev, next);
    sent->asked_count++;
    sent->asked_bytes += asked->bytes;
    while (sent->asked.first != asked && (sent->asked_count > ASKED_MOST || sent->asked_bytes > ASKED_BYTES))
        forget_asked(sent, sent->asked.first);
}

static Part part_of(uint64_t digest, const char *role)
{
    return (Part){digest, XXH3_64bits(role, strlen(role))};
}

/* text NULL: the history had it. False: no memory. */
static bool add_part(Asked *asked, Part part, json_t *text)
{
    if (!GROW(asked->parts, asked->cap, asked->count + 1, 8) ||
        json_array_append(asked->texts, text ? text : json_null()) != 0)
        return false;
    asked->parts[asked->count++] = part;
    asked->bytes += json_string_length(text) + sizeof part;
    return true;
}

/* ---- recording ---- */

/* A new reference to the text without secrets; NULL: no memory. */
static json_t *masked(json_t *content)
{
    TfyBuffer out = {0};
    const char *text = json_string_value(content);
    if (!text) return json_string("");
    if (!tfy__known_mask(text, json_string_length(content), false, &out)) return json_incref(content);
    json_t *made = out.failed ? NULL : json_stringn(out.data, out.len);
    if (!made && !out.failed) made = json_string("[secret]"); /* the secret ended inside a character */
    tfy__buffer_free(&out);
    return made;
}

/* Takes the talk's messages behind those that the asking has. False: no memory. */
static bool take_messages(Asked *asked, TfyLlmTalk *talk)
{
    json_t *messages = tfy__talk_since(talk, asked->count);
    const json_t *message;
    bool ok = messages;
    size_t i;
    json_array_foreach(messages, i, message)
    {
        json_t *text = masked(json_object_get(message, "content"));
        const char *role = json_string_value(json_object_get(message, "role"));
        ok = ok && text &&
             add_part(asked, part_of(XXH3_64bits(json_string_value(text), json_string_length(text)), role), text);
        json_decref(text);
    }
    json_decref(messages);
    return ok;
}

/* Whether the talk begins with all messages of the asking, as its own bytes say. */
static bool is_begin(const Asked *asked, const TfyLlmTalk *talk)
{
    return asked->begin_len && asked->begin_len <= talk->text.len &&
           XXH128_isEqual(asked->begin, XXH3_128bits(talk->text.data, asked->begin_len));
}

/* The same of an asking that the history had, as the texts of both say. */
static bool continues(const Asked *asked, const Asked *former)
{
    return former && former->count <= asked->count &&
           memcmp(former->parts, asked->parts, former->count * sizeof(Part)) == 0;
}

/* How many bytes the texts have in common at their start, up to the end of a character. */
static size_t shared(const json_t *one, const json_t *other)
{
    const char *a = json_string_value(one), *b = json_string_value(other);
    const size_t a_len = json_string_length(one), b_len = json_string_length(other);
    size_t at = 0;
    if (!a || !b) return 0;
    while (at < a_len && at < b_len && a[at] == b[at]) at++;
    while (at && at < b_len && (b[at] & 0xc0) == 0x80) at--;
    return at;
}

static void write_text(const Asked *asked, uint32_t i, const Asked *former, Sent *sent, TfyCall *call)
{
    const json_t *text = json_array_get(asked->texts, i);
    const bool same_place = former && i < former->count && former->parts[i].role == asked->parts[i].role;
    const uint64_t of = same_place ? former->parts[i].digest : 0;
    size_t at = same_place && find_known(sent, asked->run, of) ? shared(json_array_get(former->texts, i), text) : 0;
    TfyBuffer out = {0};
    if (at < SHARE_LEAST) at = 0;
    tfy__put_begin(&out);
    tfy__put_hex(&out, TFY_P_DIGEST, asked->parts[i].digest);
    tfy__put_bytes(&out, TFY_P_TEXT, json_string_value(text) + at, json_string_length(text) - at);
    if (at) tfy__put_hex(&out, TFY_P_OF, of);
    if (at) tfy__put_int(&out, TFY_P_AT, (int64_t)at);
    tfy__put_end(&out);
    if (tfy__call_note(call, TFY_R_TEXT, &out)) note_known(call->loop, sent, asked->run, asked->parts[i].digest);
    tfy__buffer_free(&out);
}

static void write_texts(const Asked *asked, const Asked *former, uint32_t first, Sent *sent, TfyCall *call)
{
    for (uint32_t i = first; i < asked->count; i++) {
        if (find_known(sent, asked->run, asked->parts[i].digest))
            note_known(call->loop, sent, asked->run, asked->parts[i].digest);
        else if (json_string_length(json_array_get(asked->texts, i)) <= TEXT_MOST)
            write_text(asked, i, former, sent, call);
    }
}

static void write_names(const Asked *asked, TfyLlmTalk *talk, uint32_t first, TfyBuffer *extra)
{
    json_t *messages = tfy__talk_since(talk, first);
    extra->failed |= !messages;
    tfy__put(extra, TFY_P_TEXTS);
    tfy__buffer_char(extra, '[');
    for (uint32_t i = first; i < asked->count; i++) {
        const char *role = json_string_value(json_object_get(json_array_get(messages, i - first), "role"));
        tfy__buffer_printf(extra, "%s[\"%s\",\"%016llx\"]", i > first ? "," : "", role ? role : "",
                           (unsigned long long)asked->parts[i].digest);
    }
    tfy__buffer_char(extra, ']');
    json_decref(messages);
}

static void keep_as(Sent *sent, Asked *asked, const TfyCall *call, const TfyLlmTalk *talk)
{
    asked->step = call->step;
    asked->begin_len = talk->text.len;
    asked->begin = XXH3_128bits(talk->text.data, talk->text.len);
    keep_asked(sent, asked);
}

/* The former asking grows by what is new, or another takes its place. */
void tfy__sent_record(TfyCall *call, TfyLlmTalk *talk)
{
    Sent *sent = tfy__keeps_prompts(call->task) ? find_sent(call->loop) : NULL;
    if (!sent) return;
    const uint64_t run = run_key(tfy__run_uuid(call->task));
    Asked *former = find_asked(sent, task_key(call->task, run), call->site);
    const bool grows = former && is_begin(former, talk);
    Asked *asked = grows ? former : new_asked(call, run);
    if (!asked) return;
    const uint32_t had = asked->count;
    if (grows) leave(sent, asked);
    if (!take_messages(asked, talk)) {
        free_asked(asked);
        starve(call->loop);
        return;
    }
    const bool follows = grows || continues(asked, former);
    const uint32_t first = grows ? had : follows ? former->count : 0;
    write_texts(asked, grows ? NULL : former, first, sent, call);
    if (follows) tfy__put_int(&call->extra, TFY_P_AFTER, former->step);
    write_names(asked, talk, first, &call->extra);
    if (former && !grows) forget_asked(sent, former);
    keep_as(sent, asked, call, talk);
}

/* ---- replay ---- */

static bool take_names(TfyLoop *loop, Sent *sent, Asked *asked, const json_t *texts)
{
    const json_t *name;
    bool ok = true;
    size_t i;
    json_array_foreach(texts, i, name)
    {
        const char *role = json_string_value(json_array_get(name, 0)),
                   *digest = json_string_value(json_array_get(name, 1));
        const uint64_t number = digest ? strtoull(digest, NULL, 16) : 0;
        ok = ok && add_part(asked, part_of(number, role ? role : ""), NULL);
        note_known(loop, sent, asked->run, number);
    }
    return ok;
}

/* Without the asking that it continues it can still be continued itself, but nobody knows how it began. */
void tfy__sent_recorded(TfyCall *call, const struct TfyPayload *payload)
{
    const json_t *texts = tfy__payload_get(payload, TFY_P_TEXTS), *after = tfy__payload_get(payload, TFY_P_AFTER);
    Sent *sent = texts ? find_sent(call->loop) : NULL;
    if (!sent) return;
    const uint64_t run = run_key(tfy__run_uuid(call->task));
    Asked *former = find_asked(sent, task_key(call->task, run), call->site);
    const bool follows = after && former && former->step == json_integer_value(after);
    if (follows) leave(sent, former);
    if (former && !follows) forget_asked(sent, former);
    Asked *asked = follows ? former : new_asked(call, run);
    if (!asked) return;
    asked->step = call->step;
    asked->begin_len = 0;
    const bool ok = take_names(call->loop, sent, asked, texts);
    if (!ok) starve(call->loop);
    if (ok && (follows || !after))
        keep_asked(sent, asked);
    else
        free_asked(asked);
}

/* ---- snapshots ---- */

static void forget_askings(Sent *sent, uint64_t run)
{
    for (Asked *asked = sent->asked.first, *next; asked; asked = next) {
        next = asked->next;
        if (asked->run == run) forget_asked(sent, asked);
    }
}

void tfy__sent_save(TfyLoop *loop, const char *run_uuid, TfyBuffer *out)
{
    Sent *sent = *tfy__effect_slot(loop, TFY_M_SENT);
    const uint64_t run = run_key(run_uuid);
    bool any = false;
    for (const Known *known = sent ? sent->known.first : NULL; known; known = known->next) {
        if (known->run != run) continue;
        if (!any) tfy__put(out, TFY_S_TEXTS);
        tfy__buffer_printf(out, "%s\"%016llx\"", any ? "," : "[", (unsigned long long)known->digest);
        any = true;
    }
    if (any) tfy__buffer_char(out, ']');
    if (sent) forget_askings(sent, run);
}

void tfy__sent_restore(TfyLoop *loop, const char *run_uuid, const json_t *json)
{
    const json_t *texts = tfy__member_get(json, TFY_S_TEXTS);
    Sent *sent = json_array_size(texts) ? find_sent(loop) : NULL;
    for (size_t i = 0; sent && i < json_array_size(texts); i++) {
        const char *digest = json_string_value(json_array_get(texts, i));
        if (digest) note_known(loop, sent, run_key(run_uuid), strtoull(digest, NULL, 16));
    }
}

void tfy__sent_leave(TfyLoop *loop, const char *run_uuid)
{
    Sent *sent = *tfy__effect_slot(loop, TFY_M_SENT);
    const uint64_t run = run_key(run_uuid);
    for (Known *known = sent ? sent->known.first : NULL, *next; known; known = next) {
        next = known->next;
        if (known->run == run) forget_known(sent, known);
    }
    if (sent) forget_askings(sent, run);
}

void tfy__sent_close(TfyLoop *loop)
{
    Sent **place = (Sent **)tfy__effect_slot(loop, TFY_M_SENT), *sent = *place;
    *place = NULL;
    if (!sent) return;
    while (sent->known.first) forget_known(sent, sent->known.first);
    while (sent->asked.first) forget_asked(sent, sent->asked.first);
    tfy__table_free(&sent->by_text);
    free(sent);
}
