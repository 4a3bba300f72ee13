/* talk.c: what endpoints remember of the conversations that agents have with them, and what must hold of each next request.
 *
 * A request goes on where the one before it ended, unless the conversation was shortened. Then it is
 *
 *   system, question, summary, the newest rounds     or     all of it, with older long results cleared
 *
 * and all that it has of the one before stands in it as it was. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models.h"

enum { MS = 1000000, NAME_MOST = 82, TALKS = 4096, ROUNDS_KEPT = 3, RESULT_LONG = 2048 };

static const char SUMMARY[] = "[A summary of ", CLEARED[] = "[cleared: ";

struct SimTalk {
    char name[NAME_MOST];
    json_t *heard;         /* the messages of its newest request */
    int64_t not_before_ns; /* the endpoint has said so */
    uint32_t life;         /* … in this life */
    uint32_t summary;      /* the remark that the newest summary is */
};

static SimTalk talks[TALKS];
static uint32_t talk_count;

/* Another model that goes on with a conversation speaks another form: what it hears is kept apart. */
SimTalk *sim_talk_of(const SimQuestion *q)
{
    char name[NAME_MOST];
    snprintf(name, sizeof name, "%c %.79s", *q->form, q->talk);
    for (uint32_t i = 0; i < talk_count; i++)
        if (strcmp(talks[i].name, name) == 0) return &talks[i];
    if (talk_count == TALKS) sim_broken("e1", "there are too many conversations");
    SimTalk *talk = &talks[talk_count++];
    snprintf(talk->name, sizeof talk->name, "%s", name);
    return talk;
}

void sim_talk_waits(SimTalk *talk, int64_t until_ns)
{
    talk->not_before_ns = until_ns;
    talk->life = sim.life;
}

void sim_talk_sums_up(SimTalk *talk, uint32_t remark)
{
    talk->summary = remark;
}

/* ---- remarks ---- */

void sim_remark(uint32_t number, TfyBuffer *out)
{
    static const char *const words[] = {"so", "äöü",   "\"then\"",         "a\nb",   "€",
                                        "\\", "data:", "\xf0\x9f\x8c\x8d", "[DONE]", "{}"};
    tfy__buffer_printf(out, "Remark %u.", number);
    for (uint32_t i = 0; i < number * 7919 % 40; i++)
        tfy__buffer_printf(out, " %s", words[(number + i * i) % (sizeof words / sizeof *words)]);
    tfy__buffer_text(out, " That was it.");
}

int sim_remark_in(const char *text, uint32_t *number)
{
    TfyBuffer whole = {0};
    if (sscanf(text, "Remark %u.", number) != 1) return 0;
    sim_remark(*number, &whole);
    const bool same = strcmp(whole.data, text) == 0;
    tfy__buffer_free(&whole);
    return same ? 1 : -1;
}

/* ---- messages, flat ---- */

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* A message, or a part of one: the object that has the text, and the text's name. */
static const json_t *body_of(const json_t *item)
{
    const json_t *part = json_object_get(item, "part");
    return part ? part : item;
}

static const char *name_of_text(const json_t *body)
{
    static const char *const names[] = {"content", "text", "output"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_is_string(json_object_get(body, names[i]))) return names[i];
    return "";
}

static const char *text_in(const json_t *item)
{
    const json_t *body = body_of(item);
    return text_of(body, name_of_text(body));
}

static bool is_result(const json_t *item)
{
    return strcmp(text_of(item, "role"), "tool") == 0 || strcmp(text_of(body_of(item), "type"), "tool_result") == 0 ||
           strcmp(text_of(item, "type"), "function_call_output") == 0;
}

static bool is_models(const json_t *item)
{
    return strcmp(text_of(item, "role"), "assistant") == 0 || strcmp(text_of(item, "type"), "function_call") == 0;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_summary(const json_t *item)
{
    return strcmp(text_of(item, "role"), "user") == 0 && begins(text_in(item), SUMMARY);
}

static json_t *without_text(const json_t *item)
{
    json_t *copy = json_deep_copy(item), *body = (json_t *)body_of(copy);
    json_object_set_new(body, name_of_text(body), json_string(""));
    return copy;
}

/* What was told before; a long result may be cleared. */
static bool is_same(const json_t *now, const json_t *then)
{
    if (json_equal(now, then)) return true;
    if (!is_result(now) || strlen(text_in(then)) <= RESULT_LONG || !begins(text_in(now), CLEARED)) return false;
    json_t *a = without_text(now), *b = without_text(then);
    const bool same = json_equal(a, b);
    json_decref(a);
    json_decref(b);
    return same;
}

/* Answers of the model from an item on, or more: an empty one cannot be told in every form, and what is told of it then counts in its place. */
static uint32_t rounds_from(const json_t *heard, size_t from)
{
    uint32_t rounds = 0;
    for (size_t i = from; i < json_array_size(heard); i++) {
        const json_t *item = json_array_get(heard, i);
        const char *text = text_in(item);
        rounds += is_models(item) && (i == from || !is_models(json_array_get(heard, i - 1)));
        rounds += begins(text, "Your answer ") || begins(text, "Go on: ");
    }
    return rounds;
}

static char *shown(const json_t *item)
{
    return item ? json_dumps(item, JSON_COMPACT) : strdup("nothing");
}

/* 0: there is none; nothing stands before the question. */
static size_t summary_in(const json_t *heard)
{
    for (size_t i = json_array_size(heard); i-- > 1;)
        if (is_summary(json_array_get(heard, i))) return i;
    return 0;
}

static size_t place_of(const json_t *heard, const json_t *item)
{
    size_t at = 0;
    while (at < json_array_size(heard) && !json_equal(json_array_get(heard, at), item)) at++;
    return at;
}

/* Where the question of the present call is. */
static size_t question_in(const json_t *heard)
{
    size_t at = json_array_size(heard);
    while (at > 0 && !strstr(text_in(json_array_get(heard, at - 1)), "talk=")) at--;
    return at ? at - 1 : 0;
}

/* ---- what must hold ---- */

/* w10: the first `count` messages that were told once are told again; w13: what is cleared is older than the newest rounds
 * since the question. */
static void check_goes_on(const SimTalk *talk, const SimQuestion *q, size_t count)
{
    const size_t asked = question_in(q->heard);
    for (size_t i = 0; i < count; i++) {
        const json_t *now = json_array_get(q->heard, i), *then = json_array_get(talk->heard, i);
        if (!now || !is_same(now, then))
            sim_broken("w10", "message %zu of talk %s was %.300s and is now %.300s", i, talk->name, shown(then),
                       shown(now));
        if (!q->compacts && !json_equal(now, then) && i > asked && rounds_from(q->heard, i) < ROUNDS_KEPT)
            sim_broken("w13", "message %zu of talk %s is cleared, and belongs to the newest rounds", i, talk->name);
    }
}

/* Where the kept rounds begin in the request before; its length: all of them are new. */
static size_t kept_from(const json_t *old, const json_t *now, size_t tail)
{
    const size_t count = json_array_size(old);
    for (size_t from = 1; from < count; from++) {
        size_t i = from;
        while (i < count && json_array_get(now, tail + i - from) &&
               is_same(json_array_get(now, tail + i - from), json_array_get(old, i)))
            i++;
        if (i == count) return from;
    }
    return count;
}

/* w13: a summary says how many messages it stands for. In the form chat an item is a message. */
static void check_count(const SimTalk *talk, const char *text, size_t kept, size_t question)
{
    const json_t *old = talk->heard;
    const size_t before = summary_in(old);
    long long says = 0, left = 0;
    sscanf(text + sizeof SUMMARY - 1, "%lld", &says);
    for (size_t i = 0; i < kept; i++)
        left += i != question && i != before && strcmp(text_of(json_array_get(old, i), "role"), "system") != 0;
    if (before && before < kept) {
        long long earlier = 0;
        sscanf(text_in(json_array_get(old, before)) + sizeof SUMMARY - 1, "%lld", &earlier);
        left += earlier;
    }
    if (says != left) sim_broken("w13", "%lld messages of talk %s are left out: %.200s", left, talk->name, text);
}

/* w13: a summary has taken the place of all that is older, and of nothing else. */
static void check_shortened(const SimTalk *talk, const SimQuestion *q, size_t at)
{
    const json_t *old = talk->heard, *question = json_array_get(q->heard, at - 1);
    const char *text = text_in(json_array_get(q->heard, at));
    const size_t asked = place_of(old, question), kept = kept_from(old, q->heard, at + 1);
    TfyBuffer remark = {0};
    sim_remark(talk->summary, &remark);
    if (!talk->summary || !strstr(text, remark.data))
        sim_broken("w13", "the summary of talk %s is not remark %u: %.300s", talk->name, talk->summary, text);
    tfy__buffer_free(&remark);
    if (asked == json_array_size(old) || !strstr(text_in(question), "talk="))
        sim_broken("w13", "the question of talk %s is not kept: %.300s", talk->name, shown(question));
    if (rounds_from(q->heard, at + 1) < ROUNDS_KEPT && kept > asked + 1)
        sim_broken("w13", "%u rounds of talk %s are kept", rounds_from(q->heard, at + 1), talk->name);
    if (*q->form == 'c') check_count(talk, text, kept, asked);
}

/* w13: what the model said stands in the conversation once, and whole. */
static void check_remarks(const SimTalk *talk, const SimQuestion *q)
{
    const json_t *item;
    size_t i;
    json_array_foreach(q->heard, i, item)
    {
        uint32_t number, other;
        const int whole = is_models(item) ? sim_remark_in(text_in(item), &number) : 0;
        if (whole < 0) sim_broken("w13", "talk %s has a part of a remark: %.300s", talk->name, text_in(item));
        for (size_t k = 0; whole && k < i; k++)
            if (is_models(json_array_get(q->heard, k)) && sim_remark_in(text_in(json_array_get(q->heard, k)), &other) &&
                other == number)
                sim_broken("w13", "talk %s has remark %u twice", talk->name, number);
    }
}

/* w14: what is longer than the window has nothing older left. The endpoint's own count is a third of the bytes. What the first question of a call
 * will come to is not known, but for the messages themselves. */
static void check_window(const SimTalk *talk, const SimQuestion *q)
{
    enum { FRAME = 2400 }; /* bytes of tools and the like, at most */
    const uint32_t rounds = rounds_from(q->heard, summary_in(q->heard));
    const bool first = question_in(q->heard) + 1 == json_array_size(q->heard);
    if (q->window && q->offers && ((int64_t)q->len - (first ? FRAME : 0)) / 3 > q->window &&
        rounds > (first ? 0 : ROUNDS_KEPT))
        sim_broken("w14", "%zu bytes are asked in talk %s, with %u rounds, of a model that reads %lld tokens", q->len,
                   talk->name, rounds, (long long)q->window);
}

void sim_talk_heard(SimTalk *talk, const SimQuestion *q)
{
    const size_t before = json_array_size(talk->heard), summary = summary_in(q->heard), known = summary_in(talk->heard);
    const bool anew = summary && !json_equal(json_array_get(q->heard, summary), json_array_get(talk->heard, known));
    if (talk->life == sim.life && sim.now_ns < talk->not_before_ns)
        sim_broken("w12", "talk %s is asked again %lld ms before the time that its endpoint named", talk->name,
                   (long long)((talk->not_before_ns - sim.now_ns) / MS));
    check_remarks(talk, q);
    check_window(talk, q);
    if (q->compacts)
        check_goes_on(talk, q, before ? json_array_size(q->heard) - 1 : 0);
    else if (q->offers && before && anew)
        check_shortened(talk, q, summary);
    else if (q->offers)
        check_goes_on(talk, q, before);
    if (q->compacts) return;
    json_decref(talk->heard);
    talk->heard = json_incref(q->heard);
}
