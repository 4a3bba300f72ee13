/* The reader of arguments: what goes where, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "unit/cli_commands.h"

#define WORDS(...) ((char *[]){__VA_ARGS__}), (int)(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *))

static int parse(TfyArgs *args, char **words, int count)
{
    return tfy__args_parse(command_named(words[0]), count, words, args);
}

static void options_stand_anywhere(void **state)
{
    (void)state;
    TfyArgs args;
    assert_int_equal(parse(&args, WORDS("approve", "--db", "x.db", "last", "--task=1.2", "--yes")), -1);
    assert_string_equal(args.option[OPT_DB], "x.db");
    assert_string_equal(args.option[OPT_TASK], "1.2");
    assert_string_equal(args.option[OPT_YES], "");
    assert_null(args.option[OPT_NO]);
    assert_int_equal(args.word_count, 1);
    assert_string_equal(args.words[0], "last");
    tfy__args_free(&args);
}

static void parameters_are_pairs(void **state)
{
    (void)state;
    TfyArgs args;
    assert_int_equal(parse(&args, WORDS("run", "--a", "-1", "--flag", "--db", "x", "--c=--3", "--", "--db=y")), -1);
    assert_string_equal(args.argv[6], "--c=--3"); /* the words stay as they were typed */
    assert_int_equal(args.param_count, 4);
    assert_string_equal(args.params[0], "a");
    assert_string_equal(args.params[1], "-1");
    assert_string_equal(args.params[2], "flag");
    assert_null(args.params[3]);
    assert_string_equal(args.params[4], "c");
    assert_string_equal(args.params[5], "--3");
    assert_string_equal(args.params[6], "db"); /* behind "--" it is a parameter */
    assert_string_equal(args.params[7], "y");
    assert_string_equal(args.option[OPT_DB], "x");
    tfy__args_free(&args);
}

static void wrong_words_are_usage(void **state)
{
    (void)state;
    TfyArgs args;
    assert_int_equal(parse(&args, WORDS("kill")), EXIT_USAGE);
    tfy__args_free(&args);
    assert_int_equal(parse(&args, WORDS("kill", "a", "b")), EXIT_USAGE);
    tfy__args_free(&args);
    assert_int_equal(parse(&args, WORDS("kill", "a", "--farce")), EXIT_USAGE);
    tfy__args_free(&args);
    assert_int_equal(parse(&args, WORDS("kill", "a", "--db")), EXIT_USAGE);
    tfy__args_free(&args);
    assert_int_equal(parse(&args, WORDS("kill", "a", "--force=yes")), EXIT_USAGE);
    tfy__args_free(&args);
    assert_int_equal(parse(&args, WORDS("run", "-x")), EXIT_USAGE);
    tfy__args_free(&args);
}

static const char *animal(const void *state, int index)
{
    static const char *const ANIMALS[] = {"horse", "house-cat", "hen", NULL};
    (void)state;
    return ANIMALS[index];
}

static void the_nearest_is_near(void **state)
{
    (void)state;
    assert_string_equal(tfy__nearest("hrose", animal, NULL), "horse");
    assert_string_equal(tfy__nearest("housecat", animal, NULL), "house-cat");
    assert_null(tfy__nearest("elephant", animal, NULL));
    assert_null(tfy__nearest("", animal, NULL));
}

static void every_option_counts_its_words(void **state)
{
    (void)state;
    const TfyCommand *run = command_named("run");
    assert_int_equal(tfy__option_words(run, "--db"), 2);
    assert_int_equal(tfy__option_words(run, "--db=x"), 1);
    assert_int_equal(tfy__option_words(run, "--yes"), 1);
    assert_int_equal(tfy__option_words(run, "--done"), 0);
    assert_int_equal(tfy__option_words(run, "-o"), 0);
    assert_int_equal(tfy__option_words(command_named("build"), "-o"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_stand_anywhere),        cmocka_unit_test(parameters_are_pairs),
        cmocka_unit_test(wrong_words_are_usage),         cmocka_unit_test(the_nearest_is_near),
        cmocka_unit_test(every_option_counts_its_words),
    };
    return cmocka_run_group_tests_name("cli_options", tests, NULL, NULL);
}
