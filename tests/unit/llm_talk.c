/* llm_talk.c: what is kept of a conversation between its questions gives the same bytes as making it anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "effects/llm.h"
#include "value/json.h"

#include "../llm/fake_loop.h"
#include "../llm/sites.h"

static const char *const conversation[] = {
    "{\"content\":\"Be short.\",\"role\":\"system\"}",
    "{\"content\":\"Say \\\"yes\\\".\",\"role\":\"user\"}",
    "{\"calls\":[{\"args\":{\"n\":1.5,\"word\":\"ü\"},\"id\":\"a\",\"tool\":\"grep\"},{\"args\":\"half\",\"id\":\"b\","
    "\"tool\":"
    "\"grep\"}],\"content\":\"\",\"role\":\"assistant\"}",
    "{\"content\":\"1:x\",\"id\":\"a\",\"role\":\"tool\"}",
    "{\"content\":\"error: no\",\"id\":\"b\",\"role\":\"tool\"}",
    "{\"content\":\"yes\",\"role\":\"assistant\"}",
    "{\"content\":\"\",\"role\":\"assistant\"}",
    "{\"content\":\"Again.\",\"role\":\"user\"}",
    "{\"content\":\"And again.\",\"role\":\"user\"}",
};
enum { COUNT = sizeof conversation / sizeof *conversation };

typedef struct World {
    TfyLoop loop;
    FakeCall fake;
    TfyLlmTalks talks;
} World;

static void world_open(World *world)
{
    fake_open(&world->loop, NULL);
    fake_init(&world->fake, &world->loop, &site_llm, (const char *const[]){"", NULL});
    world->talks = (TfyLlmTalks){.first = NULL};
}

static void world_close(World *world)
{
    tfy__talks_close(&world->talks);
    assert_int_equal(fake_free(&world->fake), 0);
    fake_close(&world->loop);
}

/* The body for the first messages, as a talk that is kept (or is not) gives it; malloc'ed. */
static char *body_of(World *world, TfyLlmTalks *talks, const TfyLlmForm *form, const char *const *messages, int count,
                     bool wired)
{
    TfyLlmTalk *talk = tfy__talk_take(talks, &world->fake.task, &site_llm);
    TfyBuffer body = {0};
    for (int i = 0; i < count; i++) assert_true(tfy__talk_add(talk, messages[i], strlen(messages[i])));
    tfy__talk_end(talk);
    assert_int_equal(talk->count, count);
    if (wired) form->body(&body, tfy__talk_wire(talk, form, NULL, NULL), &(TfyLlmAsked){.model = "m", .name = "n"});
    assert_false(body.failed);
    json_t *since = tfy__talk_since(talk, (uint32_t)count / 2);
    assert_int_equal(json_array_size(since), count - count / 2);
    json_decref(since);
    tfy__talk_return(talks, talk);
    return body.data;
}

static void assert_same(World *world, const TfyLlmForm *form, const char *const *messages, int count)
{
    char *kept = body_of(world, &world->talks, form, messages, count, true),
         *fresh = body_of(world, NULL, form, messages, count, true);
    json_t *json = json_loads(kept, 0, NULL);
    assert_non_null(json);
    assert_string_equal(kept, fresh);
    json_decref(json);
    free(kept);
    free(fresh);
}

static void a_kept_talk_gives_the_bytes_of_a_fresh_one(void **state)
{
    static const TfyLlmForm *const forms[] = {&tfy__llm_chat, &tfy__llm_messages, &tfy__llm_responses};
    World world;
    world_open(&world);
    for (int f = 0; f < 3; f++)
        for (int count = 1; count <= COUNT; count++) assert_same(&world, forms[f], conversation, count);
    /* another endpoint answers in between, and a question that is only put down for a budget */
    for (int count = 1; count <= COUNT; count++) {
        assert_null(body_of(&world, &world.talks, forms[0], conversation, count, false));
        assert_same(&world, forms[count % 3], conversation, count);
    }
    world_close(&world);
}

static void another_conversation_is_made_anew(void **state)
{
    const char *other[COUNT];
    World world;
    world_open(&world);
    for (int at = 0; at < COUNT; at++) {
        memcpy(other, conversation, sizeof other);
        other[at] = "{\"content\":\"[cleared]\",\"id\":\"a\",\"role\":\"tool\"}";
        assert_same(&world, &tfy__llm_messages, conversation, COUNT);
        assert_same(&world, &tfy__llm_messages, other, COUNT);
        assert_same(&world, &tfy__llm_messages, other, at + 1); /* shorter */
        assert_same(&world, &tfy__llm_messages, other, at + 1);
    }
    world_close(&world);
}

static void each_body_begins_with_the_one_before(void **state)
{
    char *last = NULL;
    World world;
    world_open(&world);
    for (int count = 1; count <= COUNT; count++) {
        char *body = body_of(&world, &world.talks, &tfy__llm_chat, conversation, count, true);
        if (last) *strstr(last, "],\"stream\"") = '\0';
        if (last) assert_memory_equal(body, last, strlen(last));
        free(last);
        last = body;
    }
    free(last);
    world_close(&world);
}

/* 40 tasks with a mebibyte each do not fit: those that were used longest ago go. */
static void what_is_kept_is_bounded(void **state)
{
    World world;
    char path[16], *words = malloc((1 << 20) + 64);
    const char *message = words;
    world_open(&world);
    sprintf(words, "{\"content\":\"%0*d\",\"role\":\"user\"}", 1 << 20, 7);
    for (int i = 0; i < 40; i++) {
        sprintf(path, "1.%d", i);
        world.fake.path = path;
        free(body_of(&world, &world.talks, &tfy__llm_chat, &message, 1, true));
        assert_true(world.talks.bytes <= (size_t)16 << 20);
    }
    assert_true(world.talks.by_place.count > 1 && world.talks.by_place.count < 20);
    free(words);
    world_close(&world);
}

static void what_is_not_a_message_ends_a_conversation(void **state)
{
    static const char *const bad[] = {"3", "{}", "{\"role\":7}", "not JSON"};
    World world;
    world_open(&world);
    TfyLlmTalk *talk = tfy__talk_take(NULL, &world.fake.task, &site_llm);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(tfy__talk_add(talk, bad[i], strlen(bad[i])));
    assert_int_equal(talk->count, 0);
    assert_false(talk->text.failed);
    tfy__talk_return(NULL, talk);
    world_close(&world);
}

/* ---- plain messages ---- */

static uint32_t seed;

static uint32_t any(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static void add_any_text(TfyBuffer *out)
{
    static const char *const parts[] = {"a",  "word ", "\"", "\\",   "/",    "\n", "\t",
                                        "\r", "\b",    "\f", "\x7f", "\x01", "ü",  "\U0001f600"};
    TfyBuffer text = {0};
    /* what no other escapes is the most frequent */
    for (uint32_t i = any(6); i > 0; i--)
        tfy__buffer_text(&text, parts[any(any(20) ? 11 : sizeof parts / sizeof *parts)]);
    tfy__buffer_json_string(out, text.len ? text.data : "", text.len);
    tfy__buffer_free(&text);
}

static void add_any_value(TfyBuffer *out, int depth)
{
    static const char *const others[] = {
        "0", "7", "-12", "true", "false", "null", "123456789012345678", "-1234567890123456789"};
    static const char *const rare[] = {"1.5", "-0.0", "1e300", "9.0"};
    const uint32_t kind = any(depth < 3 ? 6 : 4), count = any(3);
    if (kind < 2) {
        add_any_text(out);
    } else if (kind < 4) {
        tfy__buffer_text(out, any(12) ? others[any(sizeof others / sizeof *others)] : rare[any(4)]);
    } else if (kind == 4) {
        tfy__buffer_char(out, '[');
        for (uint32_t i = 0; i < count; i++) {
            tfy__buffer_text(out, i ? "," : "");
            add_any_value(out, depth + 1);
        }
        tfy__buffer_char(out, ']');
    } else {
        tfy__buffer_char(out, '{');
        for (uint32_t i = 0; i < count; i++) {
            tfy__buffer_printf(out, "%s\"m%u\":", i ? "," : "", i);
            add_any_value(out, depth + 1);
        }
        tfy__buffer_char(out, '}');
    }
}

/* A message as a conversation has it: canonical. malloc'ed. */
static char *any_message(void)
{
    static const char *const roles[] = {"assistant", "user", "tool", "system"};
    const uint32_t calls = any(3) ? 0 : 1 + any(3);
    TfyBuffer text = {0}, canonical = {0};
    tfy__buffer_char(&text, '{');
    for (uint32_t i = 0; i < calls; i++) {
        tfy__buffer_text(&text, i ? ",{\"args\":" : "\"calls\":[{\"args\":");
        add_any_value(&text, 0);
        tfy__buffer_text(&text, ",\"id\":");
        add_any_text(&text);
        tfy__buffer_text(&text, any(20) ? ",\"tool\":" : ",\"other\":");
        add_any_text(&text);
        tfy__buffer_text(&text, i + 1 < calls ? "}" : "}],");
    }
    tfy__buffer_text(&text, any(20) ? "\"content\":" : "\"left_out\":1,\"content\":");
    add_any_text(&text);
    const bool has_id = any(2);
    if (has_id) tfy__buffer_text(&text, ",\"id\":");
    if (has_id) add_any_text(&text);
    tfy__buffer_printf(&text, ",\"role\":\"%s\"}", roles[any(4)]);
    json_t *json = json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL);
    assert_true(json && tfy__encode_json(&canonical, json));
    json_decref(json);
    tfy__buffer_free(&text);
    return canonical.data;
}

static void a_plain_message_has_the_bytes_that_its_tree_gives(void **state)
{
    TfyLlmForm by_trees = tfy__llm_chat;
    World world;
    int plain = 0, all = 0;
    world_open(&world);
    by_trees.add_plain = NULL;
    for (seed = 1; all < 20000; all++) {
        char *message = any_message();
        const char *at = message, *const list[] = {conversation[0], message, message, conversation[3]};
        TfyLlmPlain slices;
        plain += tfy__llm_plain(&at, message + strlen(message), &slices);
        char *one = body_of(&world, NULL, &tfy__llm_chat, list, 4, true),
             *other = body_of(&world, NULL, &by_trees, list, 4, true);
        assert_string_equal(one, other);
        free(one);
        free(other);
        free(message);
    }
    assert_true(plain > all / 2 && plain < all);
    world_close(&world);
}

/* What is cut off, or has more than a message, is not read as one. */
static void a_part_of_a_plain_message_is_not_plain(void **state)
{
    seed = 7;
    for (int i = 0; i < 500; i++) {
        char *message = any_message();
        const size_t len = strlen(message);
        TfyLlmPlain slices;
        for (size_t cut = 0; cut < len; cut++) {
            const char *at = message;
            assert_false(tfy__llm_plain(&at, message + cut, &slices));
            assert_ptr_equal(at, message);
        }
        free(message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kept_talk_gives_the_bytes_of_a_fresh_one),
        cmocka_unit_test(another_conversation_is_made_anew),
        cmocka_unit_test(each_body_begins_with_the_one_before),
        cmocka_unit_test(what_is_kept_is_bounded),
        cmocka_unit_test(what_is_not_a_message_ends_a_conversation),
        cmocka_unit_test(a_plain_message_has_the_bytes_that_its_tree_gives),
        cmocka_unit_test(a_part_of_a_plain_message_is_not_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
