/* llm_talk.c: what is kept of a conversation between its questions gives the same bytes as making it anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "effects/llm.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kept_talk_gives_the_bytes_of_a_fresh_one),
        cmocka_unit_test(another_conversation_is_made_anew),
        cmocka_unit_test(each_body_begins_with_the_one_before),
        cmocka_unit_test(what_is_kept_is_bounded),
        cmocka_unit_test(what_is_not_a_message_ends_a_conversation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
