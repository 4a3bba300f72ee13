/* effects_secret.c: which bytes of a string stand for a secret, how they are filled, and how values are taken out again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "effects/secret.h"
#include "value/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *secrets_file;

const char *tfy__secrets_option(TfyLoop *loop)
{
    return secrets_file;
}

typedef struct World {
    TfyHeap heap;
    TfyTask task;
    TfySecrets secrets;
} World;

static void world_open(World *world)
{
    *world = (World){0};
    tfy__heap_init(&world->heap, NULL, NULL);
    world->task = (TfyTask){.fuel = 10000, .heap = &world->heap};
    secrets_file = NULL;
    setenv("TFY_SECRET_A", "value-a", 1);
    setenv("TFY_SECRET_B", "bee", 1);
    unsetenv("TFY_SECRET_NONE");
}

static void world_close(World *world)
{
    tfy__secrets_free(&world->secrets);
    tfy_cut(&world->task, 0);
    assert_int_equal(world->heap.objects, 0);
    tfy__heap_deinit(&world->heap);
}

static TfyObj *text(World *world, const char *bytes)
{
    return tfy_string_of(&world->task, bytes, strlen(bytes));
}

static TfyObj *secret(World *world, const char *name)
{
    return tfy_secret(&world->task, text(world, name));
}

static const char *filled(World *world, const TfyObj *string)
{
    size_t len;
    const char *bytes = tfy__secrets_fill(&world->secrets, NULL, string, &len);
    if (bytes) assert_int_equal(strlen(bytes), len);
    return bytes;
}

static const char *bytes_of(const TfyObj *string)
{
    return ((const TfyString *)string)->bytes;
}

static void a_secret_reads_like_its_name(void **state)
{
    World world;
    world_open(&world);
    TfyObj *a = secret(&world, "A");
    assert_string_equal(bytes_of(a), "secret:A");
    assert_string_equal(filled(&world, a), "value-a");
    world_close(&world);
}

static void a_text_that_only_looks_like_one_is_left(void **state)
{
    World world;
    world_open(&world);
    TfyObj *fake = text(&world, "secret:A");
    TfyObj *parts[] = {fake, secret(&world, "B"), text(&world, "|"), secret(&world, "A"), fake};
    TfyObj *whole = tfy_concat(&world.task, 0, 5, parts);
    assert_string_equal(bytes_of(whole), "secret:Asecret:B|secret:Asecret:A");
    assert_string_equal(filled(&world, whole), "secret:Abee|value-asecret:A");
    TfyObj *again[] = {whole, text(&world, "."), whole};
    assert_string_equal(filled(&world, tfy_concat(&world.task, 0, 3, again)),
                        "secret:Abee|value-asecret:A.secret:Abee|value-asecret:A");
    world_close(&world);
}

static void what_changes_the_text_forgets_it(void **state)
{
    World world;
    world_open(&world);
    TfyObj *own = tfy_keep(secret(&world, "A"));
    tfy_cut(&world.task, 0); /* one owner is left, so it grows in place */
    assert_true(tfy_string_append(&world.task, 0, &own, text(&world, "!")));
    assert_string_equal(bytes_of(own), "secret:A!");
    assert_string_equal(filled(&world, own), "secret:A!");
    tfy_drop(&world.task, own);
    world_close(&world);
}

static void one_that_is_missing_is_named(void **state)
{
    World world;
    world_open(&world);
    assert_null(filled(&world, secret(&world, "NONE")));
    assert_string_equal(world.secrets.error, "the secret NONE is missing; set TFY_SECRET_NONE");
    world_close(&world);
}

static void a_file_comes_first(void **state)
{
    World world;
    char path[] = "/tmp/tfy_secrets_XXXXXX";
    world_open(&world);
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "AB=no\nA=from a=file\r\n", 21), 21);
    close(fd);
    secrets_file = path;
    assert_string_equal(filled(&world, secret(&world, "A")), "from a=file");
    assert_string_equal(filled(&world, secret(&world, "B")), "bee");
    assert_null(filled(&world, secret(&world, "NONE")));
    assert_non_null(strstr(world.secrets.error, ", or write it into /tmp/tfy_secrets_"));
    chmod(path, 0640);
    tfy__secrets_free(&world.secrets);
    assert_null(filled(&world, secret(&world, "A")));
    assert_non_null(strstr(world.secrets.error, "can be read by others"));
    unlink(path);
    assert_null(filled(&world, secret(&world, "A")));
    assert_non_null(strstr(world.secrets.error, "cannot read the file of secrets"));
    world_close(&world);
}

static void expect_mask(World *world, const char *in, bool cut, const char *out)
{
    TfyBuffer masked = {0};
    bool found = tfy__secrets_mask(&world->secrets, in, strlen(in), cut, &masked);
    assert_string_equal(found ? masked.data : in, out);
    tfy__buffer_free(&masked);
}

static void values_are_taken_out(void **state)
{
    World world;
    world_open(&world);
    filled(&world, secret(&world, "A"));
    filled(&world, secret(&world, "B"));
    expect_mask(&world, "nothing", false, "nothing");
    expect_mask(&world, "value-a, value-avalue-a and bee", false,
                "[secret:A], [secret:A][secret:A] and bee"); /* too short */
    expect_mask(&world, "value-", false, "value-");
    expect_mask(&world, "xx value-", true, "xx [secret:A]");
    expect_mask(&world, "xx val", true, "xx val");
    expect_mask(&world, "", true, "");
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_reads_like_its_name),
        cmocka_unit_test(a_text_that_only_looks_like_one_is_left),
        cmocka_unit_test(what_changes_the_text_forgets_it),
        cmocka_unit_test(one_that_is_missing_is_named),
        cmocka_unit_test(a_file_comes_first),
        cmocka_unit_test(values_are_taken_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
