/* llm_sent.c: what is kept of what models are sent: each text once, of a conversation what is new, never a secret. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "effects/known.h"
#include "effects/llm.h"
#include "effects/llm_sent.h"
#include "value/thread.h"
#include "wal/rows/payload.h"

#include <xxhash.h>

#include "../llm/fake_loop.h"
#include "../llm/sites.h"

#define RUN   "01234567-0000-7000-8000-000000000001"
#define OTHER "01234567-0000-7000-8000-000000000002"

typedef struct World {
    TfyLoop loop;
    FakeCall fake;
} World;

static void world_open(World *world)
{
    fake_open(&world->loop, NULL);
    world->loop.keeps = true;
    fake_init(&world->fake, &world->loop, &site_llm, (const char *const[]){"", NULL});
}

static void world_close(World *world)
{
    assert_int_equal(fake_free(&world->fake), 0);
    fake_close(&world->loop);
}

/* Sends messages, NULL-terminated: roles and texts. The names that the LLMPlan gets are in the call's extra. */
static const char *send(World *world, int64_t step, const char *const *words)
{
    TfyLlmTalk *talk = tfy__talk_take(NULL, &world->fake.task, world->fake.call.site);
    for (; *words; words += 2) {
        TfyBuffer message = {0};
        tfy__thread_message(&message, words[0], words[1], strlen(words[1]));
        assert_true(tfy__talk_add(talk, message.data, message.len));
        tfy__buffer_free(&message);
    }
    tfy__buffer_reset(&world->fake.call.extra);
    tfy__buffer_reset(&world->loop.notes);
    world->fake.call.step = step;
    tfy__sent_record(&world->fake.call, talk);
    tfy__talk_return(NULL, talk);
    return world->fake.call.extra.data ? world->fake.call.extra.data : "";
}
#define SEND(world, step, ...) send(world, step, (const char *const[]){__VA_ARGS__, NULL})

static int notes(const World *world)
{
    int count = 0;
    for (size_t i = 0; i < world->loop.notes.len; i++) count += world->loop.notes.data[i] == '\n';
    return count;
}

/* The payload of a Text, and its name in an LLMPlan. */
static const char *text_of(const char *text, char out[512])
{
    snprintf(out, 512, "{\"digest\":\"%016llx\",\"text\":\"%s\"}\n",
             (unsigned long long)XXH3_64bits(text, strlen(text)), text);
    return out;
}

static const char *name_of(const char *role, const char *text, char out[64])
{
    snprintf(out, 64, "[\"%s\",\"%016llx\"]", role, (unsigned long long)XXH3_64bits(text, strlen(text)));
    return out;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("'%s' has no '%s'", text, part);
}

static void each_text_once(void **state)
{
    World world;
    char text[512], name[64];
    world_open(&world);
    const char *names = SEND(&world, 1, "system", "Be short.", "user", "one");
    assert_memory_equal(names, ",\"texts\":[[", 11);
    assert_has(names, name_of("system", "Be short.", name));
    assert_has(names, name_of("user", "one", name));
    assert_int_equal(notes(&world), 2);
    assert_has(world.loop.notes.data, text_of("Be short.", text));
    assert_has(world.loop.notes.data, text_of("one", text));
    assert_has(SEND(&world, 2, "system", "Be short.", "user", "two"), name_of("system", "Be short.", name));
    assert_int_equal(notes(&world), 1);
    assert_string_equal(world.loop.notes.data, text_of("two", text));
    SEND(&world, 3, "user", "one");
    assert_int_equal(notes(&world), 0);
    strcpy(world.loop.uuid, OTHER); /* another run has its own */
    SEND(&world, 4, "user", "one");
    assert_int_equal(notes(&world), 1);
    world.loop.keeps = false;
    assert_string_equal(SEND(&world, 5, "user", "three"), "");
    assert_int_equal(notes(&world), 0);
    world_close(&world);
}

/* A run leaves memory: what it recorded is written again if it asks once more, and others keep theirs. */
static void a_run_that_leaves_is_forgotten(void **state)
{
    World world;
    world_open(&world);
    SEND(&world, 1, "user", "one");
    strcpy(world.loop.uuid, OTHER);
    SEND(&world, 1, "user", "one");
    tfy__sent_leave(&world.loop, RUN);
    SEND(&world, 2, "user", "one");
    assert_int_equal(notes(&world), 0);
    strcpy(world.loop.uuid, RUN);
    assert_null(strstr(SEND(&world, 2, "user", "one"), "after"));
    assert_int_equal(notes(&world), 1);
    world_close(&world);
}

static void a_conversation_names_what_is_new(void **state)
{
    World world;
    char name[64], expected[160];
    world_open(&world);
    SEND(&world, 1, "system", "s", "user", "u");
    snprintf(expected, sizeof expected, ",\"after\":1,\"texts\":[%s]", name_of("assistant", "a", name));
    assert_string_equal(SEND(&world, 2, "system", "s", "user", "u", "assistant", "a"), expected);
    assert_string_equal(SEND(&world, 2, "system", "s", "user", "u", "assistant", "a"), ",\"after\":2,\"texts\":[]");
    /* the same texts in other roles are another conversation */
    assert_null(strstr(SEND(&world, 3, "user", "s", "user", "u", "assistant", "a"), "after"));
    /* so are another place, and another task */
    SEND(&world, 4, "user", "x");
    world.fake.call.site = &site_plan;
    assert_null(strstr(SEND(&world, 5, "user", "x", "assistant", "y"), "after"));
    world.fake.call.site = &site_llm;
    world.fake.path = "1.1";
    assert_null(strstr(SEND(&world, 6, "user", "x", "assistant", "y"), "after"));
    world.fake.path = "1";
    assert_has(SEND(&world, 7, "user", "x", "assistant", "y"), ",\"after\":4,");
    assert_int_equal(notes(&world), 0);
    world_close(&world);
}

/* "ü" is two bytes: the common start ends before it when only its first byte is common ("ü" and "ý"). */
static void a_text_that_grows_is_written_from_where_it_grew(void **state)
{
    World world;
    char start[400], first[420], second[420], expected[512];
    world_open(&world);
    memset(start, 'x', sizeof start);
    start[300] = '\0';
    snprintf(first, sizeof first, "%s\u00fc", start);
    snprintf(second, sizeof second, "%s\u00fd and more", start);
    SEND(&world, 1, "user", first);
    SEND(&world, 2, "user", second);
    snprintf(expected, sizeof expected,
             "{\"digest\":\"%016llx\",\"text\":\"\u00fd and more\",\"of\":\"%016llx\",\"at\":300}\n",
             (unsigned long long)XXH3_64bits(second, strlen(second)),
             (unsigned long long)XXH3_64bits(first, strlen(first)));
    assert_string_equal(world.loop.notes.data, expected);
    SEND(&world, 3, "assistant", first);
    assert_int_equal(notes(&world), 0);
    world_close(&world);
}

static void secrets_are_masked_first(void **state)
{
    static const char secret[] = "s3cr3t-0123456789";
    World world;
    char text[512], sent[64];
    assert_true(tfy__known_add("secret:PAY", secret, strlen(secret)));
    world_open(&world);
    snprintf(sent, sizeof sent, "the key is %s.", secret);
    assert_null(strstr(SEND(&world, 1, "user", sent), secret));
    assert_string_equal(world.loop.notes.data, text_of("the key is [secret:PAY].", text));
    world_close(&world);
}

/* Saves what a run knows, and gives it to another loop. */
static void carry(World *from, World *to)
{
    TfyBuffer out = {0};
    tfy__buffer_char(&out, '{');
    tfy__sent_save(&from->loop, RUN, &out);
    tfy__buffer_char(&out, '}');
    json_t *json = json_loadb(out.data, out.len, 0, NULL);
    assert_non_null(json);
    tfy__sent_restore(&to->loop, RUN, json);
    json_decref(json);
    tfy__buffer_free(&out);
}

static void a_snapshot_has_the_texts_and_no_asking(void **state)
{
    World before, after;
    world_open(&before);
    world_open(&after);
    SEND(&before, 1, "user", "one");
    carry(&before, &after);
    assert_null(strstr(SEND(&after, 2, "user", "one", "user", "two"), "after"));
    assert_int_equal(notes(&after), 1);
    assert_null(strstr(SEND(&before, 2, "user", "one", "user", "two"), "after"));
    assert_int_equal(notes(&before), 1);
    world_close(&before);
    world_close(&after);
}

static void replay(World *world, int64_t step, const char *names)
{
    TfyPayload payload;
    char text[1024];
    snprintf(text, sizeof text, "{\"tool\":\"llm\"%s}", names);
    tfy__payload_open(&payload, &(TfyLogRecord){.payload = text, .payload_len = (uint32_t)strlen(text)});
    world->fake.call.step = step;
    tfy__sent_recorded(&world->fake.call, &payload);
    tfy__payload_close(&payload);
}

static void a_replay_knows_what_was_sent(void **state)
{
    World before, after;
    world_open(&before);
    world_open(&after);
    replay(&after, 1, SEND(&before, 1, "user", "one"));
    replay(&after, 2, SEND(&before, 2, "user", "one", "user", "two"));
    assert_has(SEND(&after, 3, "user", "one", "user", "two", "user", "three"), ",\"after\":2,");
    assert_int_equal(notes(&after), 1);
    /* an asking whose start is unknown cannot be continued, and old records name nothing */
    replay(&after, 9, ",\"after\":8,\"texts\":[[\"user\",\"00000000000000aa\"]]");
    assert_null(strstr(SEND(&after, 10, "user", "one", "user", "two"), "after"));
    replay(&after, 11, ",\"request\":\"00\",\"answer\":\"x\"");
    replay(&after, 12, ",\"texts\":[1,[],[\"user\"],[\"user\",2]]");
    world_close(&before);
    world_close(&after);
}

/* The texts named longest ago are forgotten, and written again. */
static void what_is_known_has_a_limit(void **state)
{
    World world;
    char text[32];
    world_open(&world);
    for (int i = 0; i < 4200; i++) {
        snprintf(text, sizeof text, "text %d", i);
        SEND(&world, i, "system", "always", "user", text);
    }
    SEND(&world, 5000, "system", "always", "user", "text 4199");
    assert_int_equal(notes(&world), 0);
    SEND(&world, 5001, "system", "always", "user", "text 0");
    assert_int_equal(notes(&world), 1);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_text_once),
        cmocka_unit_test(a_run_that_leaves_is_forgotten),
        cmocka_unit_test(a_conversation_names_what_is_new),
        cmocka_unit_test(a_text_that_grows_is_written_from_where_it_grew),
        cmocka_unit_test(secrets_are_masked_first),
        cmocka_unit_test(a_snapshot_has_the_texts_and_no_asking),
        cmocka_unit_test(a_replay_knows_what_was_sent),
        cmocka_unit_test(what_is_known_has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
