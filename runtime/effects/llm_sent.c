/* llm_sent.c: see llm_sent.h. */
#include "effects/llm_sent.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

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
    uint32_t count;
    json_t *texts; /* as they were recorded; NULL: the history had them */
    size_t bytes;  /* of the texts */
    Part parts[];
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

static void forget_asked(Sent *sent, Asked *asked)
{
    LIST2_REMOVE(&sent->asked, asked, prev, next);
    sent->asked_count--;
    sent->asked_bytes -= asked->bytes;
    json_decref(asked->texts);
    free(asked);
}

static Asked *find_asked(const Sent *sent, uint64_t task, const TfySite *site)
{
    Asked *asked = sent->asked.last;
    while (asked && (asked->task != task || asked->site != site)) asked = asked->prev;
    return asked;
}

static Asked *new_asked(const TfyCall *call, uint64_t run, size_t count)
{
    Asked *asked = tfy__sys_calloc(1, sizeof *asked + count * sizeof(Part));
    if (!asked) {
        starve(call->loop);
        return NULL;
    }
    asked->run = run;
    asked->task = task_key(call->task, run);
    asked->site = call->site;
    asked->step = call->step;
    asked->count = (uint32_t)count;
    return asked;
}

/* Takes the place of the former asking; the oldest ones give way. */
static void keep_asked(Sent *sent, Asked *asked, Asked *former)
{
    if (former) forget_asked(sent, former);
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

/* Whether all messages of the former asking are the first ones of this one. */
static bool continues(const Asked *asked, const Asked *former)
{
    return former && former->count <= asked->count &&
           memcmp(former->parts, asked->parts, former->count * sizeof(Part)) == 0;
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

static bool take_messages(Asked *asked, const json_t *messages)
{
    const json_t *message;
    size_t i;
    asked->texts = json_array();
    json_array_foreach(messages, i, message)
    {
        json_t *text = masked(json_object_get(message, "content"));
        if (json_array_append_new(asked->texts, text) != 0) return false;
        const size_t len = json_string_length(text);
        asked->parts[i] =
            part_of(XXH3_64bits(json_string_value(text), len), json_string_value(json_object_get(message, "role")));
        asked->bytes += len;
    }
    return asked->texts;
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

static void write_names(const Asked *asked, const json_t *messages, uint32_t first, TfyBuffer *extra)
{
    tfy__put(extra, TFY_P_TEXTS);
    tfy__buffer_char(extra, '[');
    for (uint32_t i = first; i < asked->count; i++) {
        const char *role = json_string_value(json_object_get(json_array_get(messages, i), "role"));
        tfy__buffer_printf(extra, "%s[\"%s\",\"%016llx\"]", i > first ? "," : "", role,
                           (unsigned long long)asked->parts[i].digest);
    }
    tfy__buffer_char(extra, ']');
}

void tfy__sent_record(TfyCall *call, const json_t *request)
{
    const json_t *messages = json_object_get(request, "messages");
    Sent *sent = tfy__keeps_prompts(call->task) ? find_sent(call->loop) : NULL;
    Asked *asked = sent ? new_asked(call, run_key(tfy__run_uuid(call->task)), json_array_size(messages)) : NULL;
    if (!asked) return;
    if (!take_messages(asked, messages)) {
        json_decref(asked->texts);
        free(asked);
        starve(call->loop);
        return;
    }
    Asked *former = find_asked(sent, asked->task, asked->site);
    const bool follows = continues(asked, former);
    const uint32_t first = follows ? former->count : 0;
    write_texts(asked, former, first, sent, call);
    if (follows) tfy__put_int(&call->extra, TFY_P_AFTER, former->step);
    write_names(asked, messages, first, &call->extra);
    keep_asked(sent, asked, former);
}

/* ---- replay ---- */

static void take_names(TfyLoop *loop, Sent *sent, Asked *asked, const Asked *former, const json_t *texts)
{
    const uint32_t first = former ? former->count : 0;
    const json_t *name;
    size_t i;
    if (first) memcpy(asked->parts, former->parts, first * sizeof(Part));
    json_array_foreach(texts, i, name)
    {
        const char *role = json_string_value(json_array_get(name, 0)),
                   *digest = json_string_value(json_array_get(name, 1));
        const uint64_t number = digest ? strtoull(digest, NULL, 16) : 0;
        asked->parts[first + i] = part_of(number, role ? role : "");
        note_known(loop, sent, asked->run, number);
    }
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
    Asked *asked = new_asked(call, run, (follows ? former->count : 0) + json_array_size(texts));
    if (!asked) return;
    take_names(call->loop, sent, asked, follows ? former : NULL, texts);
    keep_asked(sent, asked, former);
    if (after && !follows) forget_asked(sent, asked);
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
