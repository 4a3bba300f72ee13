/* effects_secret.c: which bytes of a string stand for a secret, how they are filled, and how values are taken out again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "effects/known.h"
#include "effects/secret.h"
#include "value/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *secrets_file;

const TfyProgram *tfy__program_of(TfyTask *task)
{
    return NULL;
}

const char *tfy__secrets_option(TfyLoop *loop, const TfyProgram *program)
{
    return secrets_file;
}

/* What else a loop does for the performers; nothing here gets so far that it would matter. */
const char *tfy__secrets_command(TfyLoop *loop)
{
    return NULL;
}
static const char *const names[] = {"LATER", NULL};
static TfyProgram program = {.secrets = names};
void **tfy__effect_slot(TfyLoop *loop, int module)
{
    static void *slot;
    return &slot;
}
int64_t tfy__watch_add(TfyLoop *loop, int fd, uint32_t events, TfyFdHandler handler, void *arg)
{
    return TFY_E_STATE;
}
void tfy__watch_del(TfyLoop *loop, int64_t handle)
{
}
uint64_t tfy__timer_add(TfyLoop *loop, int64_t deadline_ns, TfyTimerHandler handler, void *arg)
{
    return 0;
}
void tfy__timer_del(TfyLoop *loop, uint64_t handle)
{
}
int64_t tfy__now_ns(TfyLoop *loop)
{
    return 0;
}
const char *tfy__task_path(TfyTask *task)
{
    return "1";
}
void tfy__activity(TfyTask *task, const char *stage, const char *format, ...)
{
}
bool tfy__call_note(TfyCall *call, uint8_t record_type, const TfyBuffer *payload)
{
    return true;
}
void tfy__call_no_room(TfyCall *call, int error)
{
}
void tfy__call_room_again(TfyLoop *loop)
{
}
void tfy__call_tool_error(TfyCall *call, int64_t code, const char *format, ...)
{
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
    const char *bytes = tfy__secrets_fill(&world->secrets, &(TfyCall){.key = "k"}, string, &len);
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

static char directory[] = "/tmp/tfy_secrets_XXXXXX";

static const char *in_directory(const char *name)
{
    static char path[sizeof directory + 64];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void put_file(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(in_directory(name), "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    chmod(in_directory(name), mode);
}

static void expect_refused(World *world, const char *name, const char *why)
{
    tfy__secrets_free(&world->secrets);
    assert_null(filled(world, secret(world, name)));
    assert_non_null(strstr(world->secrets.error, why));
}

static void a_directory_has_a_file_for_each(void **state)
{
    World world;
    char large[(64 << 10) + 2];
    world_open(&world);
    assert_non_null(mkdtemp(directory));
    put_file("A", "line 1\nline 2\n", 0400);
    put_file("PLAIN", "no line end", 0600);
    put_file("OPEN", "x", 0644);
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    put_file("LARGE", large, 0600);
    secrets_file = directory;
    assert_string_equal(filled(&world, secret(&world, "A")), "line 1\nline 2");
    assert_string_equal(filled(&world, secret(&world, "PLAIN")), "no line end");
    assert_string_equal(filled(&world, secret(&world, "B")), "bee");
    assert_int_equal(mkdir(in_directory("DIR"), 0700), 0);
    expect_refused(&world, "DIR", "/DIR is not a file");
    expect_refused(&world, "OPEN", "/OPEN can be read by others; chmod 600 it");
    expect_refused(&world, "LARGE", "has more than 64 KiB");
    put_file("A", "second", 0600);
    assert_string_equal(filled(&world, secret(&world, "A")), "second"); /* a new call reads anew */
    chmod(directory, 0711);
    expect_refused(&world, "A", "can be read by others; chmod 700 it");

    /* systemd's access lists look like permissions of the group */
    secrets_file = NULL;
    setenv("CREDENTIALS_DIRECTORY", directory, 1);
    expect_refused(&world, "A", "can be read by others");
    chmod(directory, 0550);
    put_file("A", "from systemd", 0440);
    tfy__secrets_free(&world.secrets);
    assert_string_equal(filled(&world, secret(&world, "A")), "from systemd");
    assert_string_equal(filled(&world, secret(&world, "B")), "bee");
    put_file("LATER", "learned-at-once", 0400);
    assert_int_equal(tfy__secrets_prepare(NULL, &program, world.secrets.error), 0);
    TfyBuffer masked = {0};
    assert_true(tfy__known_mask("learned-at-once", 15, false, &masked));
    assert_string_equal(masked.data, "[secret:LATER]");
    tfy__buffer_free(&masked);
    unsetenv("CREDENTIALS_DIRECTORY");
    chmod(directory, 0700);
    static const char *const made[] = {"A", "PLAIN", "OPEN", "LARGE", "LATER"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) unlink(in_directory(made[i]));
    rmdir(in_directory("DIR"));
    assert_int_equal(rmdir(directory), 0);
    world_close(&world);
}

/* The same of a text that comes in pieces of so many bytes: the rest of one comes again with the next. */
static void expect_pieces(const char *in, size_t most, const char *out)
{
    TfyBuffer masked = {0}, held = {0};
    const size_t len = strlen(in);
    for (size_t at = 0, n; at < len; at += n) {
        n = len - at < most ? len - at : most;
        tfy__buffer_add(&held, in + at, n);
        const size_t told = tfy__known_mask_piece(held.data, held.len, &masked);
        held.len -= told;
        memmove(held.data, held.data + told, held.len);
        assert_true(held.len < 100); /* no more than a value */
    }
    if (!tfy__known_mask(held.data, held.len, false, &masked)) tfy__buffer_add(&masked, held.data, held.len);
    assert_string_equal(masked.data ? masked.data : "", out);
    tfy__buffer_free(&masked);
    tfy__buffer_free(&held);
}

static void expect_mask(const char *in, bool cut, const char *out)
{
    for (size_t most = 1; !cut && most <= strlen(in); most++) expect_pieces(in, most, out);
    TfyBuffer masked = {0};
    bool found = tfy__known_mask(in, strlen(in), cut, &masked);
    assert_string_equal(found ? masked.data : in, out);
    tfy__buffer_free(&masked);
}

static void values_are_taken_out(void **state)
{
    World world;
    world_open(&world);
    filled(&world, secret(&world, "A"));
    filled(&world, secret(&world, "B"));
    expect_mask("nothing", false, "nothing");
    expect_mask("value-a, value-avalue-a and bee", false, "[secret:A], [secret:A][secret:A] and bee"); /* too short */
    expect_mask("value-", false, "value-");
    expect_mask("xx value-", true, "xx [secret:A]");
    expect_mask("xx val", true, "xx val");
    expect_mask("", true, "");
    world_close(&world);
}

/* What python3 makes of "p/s\"w d+é\U0001f600x": base64 behind 0 to 2 bytes, in both alphabets; hex; percent; JSON. */
static void every_spelling_is_taken_out(void **state)
{
    const char *value = "p/s\"w d+\303\251\360\237\230\200x", *spellings[] = {
                                                                  "p/s\"w d+\303\251\360\237\230\200x",
                                                                  "702f7322772064 2bc3a9f09f988078",
                                                              };
    assert_true(tfy__known_add("secret:ODD", value, strlen(value)));
    expect_mask(spellings[0], false, "[secret:ODD]");
    expect_mask("702f73227720642bc3a9f09f988078", false, "[secret:ODD]");
    expect_mask("702F73227720642BC3A9F09F988078", false, "[secret:ODD]");
    expect_mask("k=p%2Fs%22w%20d%2B%C3%A9%F0%9F%98%80x&", false, "k=[secret:ODD]&");
    expect_mask("k=p%2fs%22w+d%2b%c3%a9%f0%9f%98%80x&", false, "k=[secret:ODD]&");
    expect_mask("/p/s%22w%20d%2B%C3%A9%F0%9F%98%80x/", false, "/[secret:ODD]/"); /* in a path */
    expect_mask("/p/s%22w%20d+%c3%a9%f0%9f%98%80x?", false, "/[secret:ODD]?");   /* in a whole address */
    expect_mask("\"p/s\\\"w d+\303\251\360\237\230\200x\"", false, "\"[secret:ODD]\"");
    expect_mask("\"p\\/s\\\"w d+\\u00e9\\ud83d\\ude00x\"", false, "\"[secret:ODD]\"");
    expect_mask("cC9zIncgZCvDqfCfmIB4", false, "[secret:ODD]");
    expect_mask("YXAvcyJ3IGQrw6nwn5iAeGI=", false, "YX[secret:ODD]GI=");
    expect_mask("YWFwL3MidyBkK8Op8J-YgHhi", false, "YWF[secret:ODD]hi");
    expect_mask("x\ncC9zIncgZC\nvDqfCf\r\nmIB4\n", false, "x\n[secret:ODD]\n"); /* lines of base64 and of xxd */
    expect_mask("c\nC9zIncgZCvDqfCfmIB4", false, "[secret:ODD]");
    expect_mask("702f73227720642b\nc3a9f09f988078", false, "[secret:ODD]");
    expect_mask("xx cC9z\nIncg\n", true, "xx [secret:ODD]");
    expect_mask("p/s\"w\n d+\303\251\360\237\230\200x", false, "p/s\"w\n d+\303\251\360\237\230\200x");
    expect_mask("xx cC9zIncg", true, "xx [secret:ODD]");
    expect_mask("xx cC9z", true, "xx cC9z");
}

static void a_megabyte_is_searched_quickly(void **state)
{
    enum { LEN = 1 << 20, KNOWN = 16 };
    char *all = malloc(LEN), name[32], value[64];
    for (int i = 0; i < KNOWN; i++) {
        snprintf(name, sizeof name, "secret:S%d", i);
        snprintf(value, sizeof value, "%c%c-quick-%d-0123456789abcdef", 'a' + i, 'q' - i, i);
        assert_true(tfy__known_add(name, value, strlen(value)));
    }
    for (size_t i = 0; i < LEN; i++) all[i] = (char)(' ' + (i * 7919 + i / 13) % 95);
    memcpy(all + LEN - 30, "co-quick-2-0123456789abcdef", 27);
    TfyBuffer out = {0};
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    assert_true(tfy__known_mask(all, LEN, false, &out));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    double ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
    print_message("1 MiB, %d secrets: %.1f ms\n", KNOWN, ms);
    assert_true(ms < 500);
    assert_non_null(memmem(out.data, out.len, "[secret:S2]", 11));
    tfy__buffer_free(&out);
    memset(all, '\n', LEN); /* lines that are empty do not make it slow */
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    assert_false(tfy__known_mask(all, LEN, true, &out));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    assert_true(to.tv_sec - from.tv_sec < 2);
    tfy__buffer_free(&out);
    free(all);
}

static void nobody_looks_into_it(void **state)
{
    tfy_hide_secrets(true);
    assert_int_equal(prctl(PR_GET_DUMPABLE), 1);
    tfy_hide_secrets(false);
    assert_int_equal(prctl(PR_GET_DUMPABLE), 0);
    prctl(PR_SET_DUMPABLE, 1L);
}

extern char **environ;

static void the_environment_is_wiped(void **state)
{
    static char key[] = "TFY_SECRET_HIDDEN=deep-down-below", other[] = "OTHER=x";
    char *own[] = {key, other, NULL}, **before = environ;
    environ = own;
    tfy__known_take();
    assert_ptr_equal(environ[0], other);
    assert_null(environ[1]);
    for (size_t i = 0; i < sizeof key; i++) assert_int_equal(key[i], 0);
    assert_string_equal(tfy__known_variable("TFY_SECRET_HIDDEN"), "deep-down-below");
    assert_string_equal(tfy__known_variable("OTHER"), "x");
    assert_null(tfy__known_variable("TFY_SECRET_HIDDE"));
    environ = before;
    expect_mask("ZGVlcC1kb3duLWJlbG93", false, "[secret:HIDDEN]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_reads_like_its_name),
        cmocka_unit_test(a_text_that_only_looks_like_one_is_left),
        cmocka_unit_test(what_changes_the_text_forgets_it),
        cmocka_unit_test(one_that_is_missing_is_named),
        cmocka_unit_test(a_file_comes_first),
        cmocka_unit_test(a_directory_has_a_file_for_each),
        cmocka_unit_test(values_are_taken_out),
        cmocka_unit_test(every_spelling_is_taken_out),
        cmocka_unit_test(a_megabyte_is_searched_quickly),
        cmocka_unit_test(nobody_looks_into_it),
        cmocka_unit_test(the_environment_is_wiped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
