/* effects_code.c: the parts of the code map: identifiers, what ctags answers (and may answer), ranks, answers, and the derived file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "effects/code_answer.h"
#include "effects/code_cell.h"

/* A project of a few files, which are only in memory. */
typedef struct Project {
    TfyCodeIndex index;
    TfyTags tags;
} Project;

static uint32_t add_text(Project *p, const char *path, const char *text)
{
    const uint32_t file = tfy__code_add_file(&p->index, path, &(TfyCodeStamp){.inode = 1, .size = 2});
    tfy__code_add_uses(&p->index, text, strlen(text));
    assert_true(tfy__tags_ask(&p->tags, file, path, text, strlen(text)));
    return file;
}

#define HELLO "{\"_type\": \"program\", \"name\": \"Universal Ctags\", \"version\": \"5.9.0\"}\n"
#define END   "{\"_type\": \"completed\", \"command\": \"generate-tags\"}\n"
#define TAG(name, kind, line)                                                                                          \
    "{\"_type\": \"tag\", \"name\": \"" name "\", \"path\": \"x\", \"language\": \"C\", \"line\": " #line              \
    ", \"kind\": \"" kind "\"}\n"

static bool take(Project *p, const char *answer)
{
    return tfy__tags_take(&p->tags, &p->index, answer, strlen(answer));
}

static void end_project(Project *p)
{
    tfy__code_index_free(&p->index);
    tfy__tags_free(&p->tags);
}

static const char *name_of(const Project *p, uint32_t symbol)
{
    return tfy__code_text(&p->index, p->index.symbols[symbol].name);
}

/* ---- identifiers ---- */

static void words_are_identifiers(void **state)
{
    static const char text[] = "int x1 = 0x1F + größe*__init(\"a-b\"); 12ab";
    static const char *const wanted[] = {"int", "x1", "größe", "__init", "a", "b"};
    const char *word, *end = text + sizeof text - 1;
    size_t count = 0;
    for (const char *at = text; (at = tfy__code_word(at, end, &word)); count++) {
        assert_true(count < sizeof wanted / sizeof *wanted);
        assert_int_equal(at - word, strlen(wanted[count]));
        assert_memory_equal(word, wanted[count], strlen(wanted[count]));
    }
    assert_int_equal(count, sizeof wanted / sizeof *wanted);
}

static void uses_are_counted_by_file(void **state)
{
    Project p = {0};
    add_text(&p, "a.c", "foo bar foo");
    add_text(&p, "b.c", "foo z");
    assert_int_equal(p.index.files[0].use_count, 2);
    assert_int_equal(p.index.uses[0].count, 2);
    assert_int_equal(p.index.files[1].use_count, 1); /* z is too short to say anything */
    assert_int_equal(p.index.uses[2].name, p.index.uses[0].name);
    assert_int_equal(p.index.uses[2].count, 1);
    end_project(&p);
}

static void code_is_text(void **state)
{
    char *line = malloc(TFY_CODE_LINE + 2);
    memset(line, 'x', TFY_CODE_LINE + 2);
    assert_true(tfy__scan_is_code("int x;\n", 7));
    assert_false(tfy__scan_is_code("a\0b", 3));
    assert_false(tfy__scan_is_code("a\xff", 2));
    assert_true(tfy__scan_is_code(line, TFY_CODE_LINE));
    assert_false(tfy__scan_is_code(line, TFY_CODE_LINE + 1));
    free(line);
}

/* ---- what ctags answers ---- */

static void tags_belong_to_the_request_under_way(void **state)
{
    Project p = {0};
    add_text(&p, "a.c", "int one;\n\tint two;  \n");
    add_text(&p, "b.c", "int three;\n");
    assert_true(
        take(&p, HELLO TAG("two", "variable", 2) TAG("one", "variable", 1) END TAG("three", "variable", 1) END));
    assert_int_equal(p.tags.done, 2);
    assert_int_equal(p.index.files[0].symbol_count, 2);
    assert_string_equal(name_of(&p, 0), "one"); /* by line */
    assert_string_equal(name_of(&p, 1), "two");
    assert_string_equal(tfy__code_text(&p.index, p.index.symbols[1].text), "int two;");
    assert_string_equal(name_of(&p, p.index.files[1].symbol_at), "three");
    end_project(&p);
}

static void a_cut_answer_costs_one_file(void **state)
{
    Project p = {0};
    add_text(&p, "a.c", "int one;\n");
    add_text(&p, "b.c", "int two;\n");
    add_text(&p, "c.c", "int three;\n");
    assert_true(take(&p, HELLO TAG("one", "variable", 1) END TAG("two", "variable", 1) "{\"_type\": \"ta"));
    assert_int_equal(p.tags.done, 2);
    assert_int_equal(p.index.symbol_count, 1);
    assert_int_equal(p.index.files[1].symbol_count, 0);
    assert_true(take(&p, HELLO TAG("three", "variable", 1) END)); /* the next process has the rest */
    assert_int_equal(p.tags.done, 3);
    assert_int_equal(p.index.files[2].symbol_count, 1);
    end_project(&p);
}

static void other_programs_are_not_ctags(void **state)
{
    Project p = {0};
    add_text(&p, "a.c", "int one;\n");
    assert_false(take(&p, ""));
    assert_false(take(&p, "ctags: unrecognized option '--_interactive=sandbox'\n"));
    assert_int_equal(p.tags.done, 0);
    end_project(&p);
}

static void hostile_tags_are_left_out(void **state)
{
    Project p = {0};
    add_text(&p, "a.c", "int one;\nint two;\n");
    char *answer;
    char name[TFY_CODE_NAME + 2];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    assert_true(
        asprintf(
            &answer,
            "%s[1, 2]\nnull\n{\"_type\": 7}\n{\"_type\": \"tag\"}\n"
            "{\"_type\": \"tag\", \"name\": \"%s\", \"line\": 1, \"kind\": \"function\"}\n"
            "%s%s%s%s"
            "{\"_type\": \"tag\", \"name\": \"e\\u001b[2J\", \"line\": 1, \"kind\": \"function\"}\n"
            "{\"_type\": \"tag\", \"name\": \"a\\nb\", \"line\": 1, \"kind\": \"function\"}\n"
            "{\"_type\": \"tag\", \"name\": \"two\", \"line\": 2, \"end\": -5, \"kind\": \"function\", \"scope\": 5}\n"
            "%s%s",
            HELLO, name, TAG("zero", "function", 0), TAG("far", "function", 99), TAG("huge", "function", 99999999999),
            TAG("doc", "heredoc", 1), END, END END) > 0);
    assert_true(take(&p, answer));
    free(answer);
    assert_int_equal(p.tags.done, 1);
    assert_int_equal(p.index.symbol_count, 1);
    assert_string_equal(name_of(&p, 0), "two");
    assert_int_equal(p.index.symbols[0].end, 2);
    assert_int_equal(p.index.symbols[0].scope, 0);
    end_project(&p);
}

static void a_file_has_so_many_symbols(void **state)
{
    Project p = {0};
    TfyBuffer answer = {0};
    add_text(&p, "a.c", "int x;\n");
    tfy__buffer_text(&answer, HELLO);
    for (int i = 0; i < TFY_CODE_SYMBOLS + 10; i++) tfy__buffer_text(&answer, TAG("x", "variable", 1));
    tfy__buffer_text(&answer, END);
    assert_true(take(&p, answer.data));
    assert_int_equal(p.index.symbol_count, TFY_CODE_SYMBOLS);
    tfy__buffer_free(&answer);
    end_project(&p);
}

/* ---- ranks ---- */

/* hub.c defines what all others use; leaf.c defines what nobody does. */
static void make_star(Project *p)
{
    add_text(p, "hub.c", "void shared(void) {}\n");
    add_text(p, "leaf.c", "void leaf(void) { shared(); }\n");
    add_text(p, "other.c", "void other(void) { shared(); shared(); }\n");
    assert_true(
        take(p, HELLO TAG("shared", "function", 1) END TAG("leaf", "function", 1) END TAG("other", "function", 1) END));
}

static void what_others_use_ranks_first(void **state)
{
    Project p = {0};
    TfyCodeRank rank;
    make_star(&p);
    assert_true(tfy__code_rank(&p.index, NULL, &rank));
    /* By hand: each has b = (0.15 + 0.85 * what is kept) / 3. A use of `shared`, which 3 of 3 files have, weighs
     * log(1 + 3/4), two of them the root of 2 times that, and 2 is kept. */
    const double one = log(1.75), two = sqrt(2) * one, flow = 0.85 * (one / (2 + one) + two / (2 + two));
    const double r = 1 / (3 + flow), h = r * (1 + flow);
    assert_true(fabs(rank.files[0] - h) < 1e-3 && fabs(rank.files[1] - r) < 1e-3 && fabs(rank.files[2] - r) < 1e-3);
    assert_true(rank.symbols[0] > rank.symbols[1] && fabs(rank.symbols[1] - rank.symbols[2]) < 1e-9);
    tfy__code_rank_free(&rank);
    end_project(&p);
}

static void focus_draws_weight(void **state)
{
    Project p = {0};
    TfyCodeRank rank;
    bool focus[3] = {0};
    make_star(&p);
    assert_false(tfy__code_focus(&p.index, "nowhere", focus));
    assert_false(tfy__code_focus(&p.index, "lea", focus));
    assert_true(tfy__code_focus(&p.index, "./leaf.c", focus) && focus[1] && !focus[0] && !focus[2]);
    assert_true(tfy__code_rank(&p.index, focus, &rank));
    assert_true(rank.files[1] > 2 * rank.files[2] && rank.files[2] == 0);
    tfy__code_rank_free(&rank);
    assert_true(tfy__code_focus(&p.index, "other", focus) && focus[2]); /* a definition names its file */
    end_project(&p);
}

static void a_name_of_ones_own_leads_nowhere(void **state)
{
    Project p = {0};
    TfyCodeRank rank;
    add_text(&p, "a.c", "static void help(void) {} void a(void) { help(); }\n");
    add_text(&p, "b.c", "static void help(void) {} void b(void) { help(); }\n");
    assert_true(take(&p, HELLO TAG("help", "function", 1) END TAG("help", "function", 1) END));
    assert_true(tfy__code_rank(&p.index, NULL, &rank));
    assert_true(rank.files[0] == 0.5 && rank.files[1] == 0.5);
    tfy__code_rank_free(&rank);
    end_project(&p);
}

static void an_empty_project_has_a_rank(void **state)
{
    Project p = {0};
    TfyCodeRank rank;
    TfyCodeAnswer answer = {0};
    assert_true(tfy__code_rank(&p.index, NULL, &rank));
    tfy__code_answer_map(&p.index, &rank, 1000, &answer);
    assert_false(answer.failed);
    assert_int_equal(answer.text.len, 0);
    tfy__code_answer_free(&answer);
    tfy__code_rank_free(&rank);
}

/* ---- answers ---- */

static void a_map_keeps_to_its_tokens(void **state)
{
    Project p = {0};
    TfyCodeRank rank;
    make_star(&p);
    assert_true(tfy__code_rank(&p.index, NULL, &rank));
    TfyCodeAnswer answer = {0};
    tfy__code_answer_map(&p.index, &rank, 1000, &answer);
    assert_string_equal(answer.text.data,
                        "hub.c\n  1: void shared(void) {}\nleaf.c\n  1: void leaf(void) { shared(); }\n"
                        "other.c\n  1: void other(void) { shared(); shared(); }");
    for (size_t tokens = 1; tokens < 100; tokens++) {
        tfy__buffer_reset(&answer.text);
        tfy__code_answer_map(&p.index, &rank, tokens, &answer);
        assert_true(answer.text.len <= tokens * TFY_CODE_TOKEN || answer.text.len <= 64);
    }
    tfy__buffer_reset(&answer.text);
    tfy__code_answer_map(&p.index, &rank, 35, &answer);
    assert_string_equal(answer.text.data, "hub.c\n  1: void shared(void) {}\n… 2 more definitions");
    tfy__code_answer_free(&answer);
    tfy__code_rank_free(&rank);
    end_project(&p);
}

static void ask_symbols(Project *p, const char *query, const char *wanted)
{
    TfyCodeRank rank;
    TfyCodeAnswer answer = {0};
    TfyBuffer names = {0};
    assert_true(tfy__code_rank(&p->index, NULL, &rank));
    tfy__code_answer_symbols(&p->index, &rank, query, 10, &answer);
    assert_false(answer.failed);
    for (uint32_t i = 0; i < answer.hit_count; i++)
        tfy__buffer_printf(&names, "%s ", name_of(p, answer.hits[i].symbol));
    assert_string_equal(names.data ? names.data : "", wanted);
    tfy__buffer_free(&names);
    tfy__code_answer_free(&answer);
    tfy__code_rank_free(&rank);
}

static void queries_find_names(void **state)
{
    Project p = {0};
    add_text(&p, "a.c", "1\n2\n3\n4\n");
    assert_true(take(&p, HELLO TAG("parse_type", "function", 1) TAG("Parse", "struct", 2) TAG("do_parse", "function", 3)
                             TAG("parse", "function", 4) END));
    ask_symbols(&p, "parse", "parse Parse parse_type do_parse ");
    ask_symbols(&p, "type parse", "parse_type ");
    ask_symbols(&p, "Parse", "Parse parse parse_type do_parse ");
    ask_symbols(&p, "", "");
    ask_symbols(&p, "nothing", "");
    end_project(&p);
}

/* ---- the derived file ---- */

static void read_back(const Project *p, TfyBuffer *bytes)
{
    char dir[] = "/tmp/tfy-code-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    const int root = open(dir, O_RDONLY | O_DIRECTORY);
    tfy__code_save(root, &p->index);
    TfyCodeIndex read;
    assert_true(tfy__code_load(root, &read));
    assert_int_equal(read.file_count, p->index.file_count);
    assert_int_equal(read.symbol_count, p->index.symbol_count);
    assert_memory_equal(read.symbols, p->index.symbols, read.symbol_count * sizeof *read.symbols);
    assert_string_equal(tfy__code_text(&read, read.files[1].path), "leaf.c");
    tfy__code_index_free(&read);
    snprintf(path, sizeof path, "%s/.tfy/code-map", dir);
    FILE *file = fopen(path, "re");
    char chunk[1 << 16];
    tfy__buffer_add(bytes, chunk, fread(chunk, 1, sizeof chunk, file));
    fclose(file);
    close(root);
    unlink(path);
    snprintf(path, sizeof path, "%s/.tfy", dir);
    rmdir(path);
    rmdir(dir);
}

static void damage_is_found(void **state)
{
    Project p = {0};
    TfyBuffer bytes = {0};
    TfyCodeIndex index;
    make_star(&p);
    read_back(&p, &bytes);
    assert_true(tfy__code_read(bytes.data, bytes.len, &index));
    tfy__code_index_free(&index);
    for (size_t i = 0; i < bytes.len; i++) {
        bytes.data[i] ^= 0x41;
        assert_false(tfy__code_read(bytes.data, bytes.len, &index));
        bytes.data[i] ^= 0x41;
        assert_false(tfy__code_read(bytes.data, i, &index));
    }
    tfy__buffer_free(&bytes);
    end_project(&p);
}

/* ---- the cell ---- */

enum { CELL_FD = 9 };

/* Runs a shell in the cell of ctags; its exit status, or -1 where there are no such cells. */
static int run_in_cell(uint32_t level, const char *script)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    TfyConfined confined = {0};
    TfyCellAnswer answer;
    int ends[2], status = -1;
    const int program = tfy__cell_open();
    char **words = tfy__cell_words(CELL_FD, argv, 3);
    assert_true(program >= 0 && words);
    assert_int_equal(tfy__code_cell_tags(level, &confined), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        if (dup2(ends[1], CELL_FD) == CELL_FD) execveat(program, "", words, environ, AT_EMPTY_PATH);
        _exit(127);
    }
    close(ends[1]);
    assert_int_equal(tfy__cell_send(&confined.plan, ends[0]), 0);
    const int started = tfy__cell_answer(ends[0], &answer);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(ends[0]);
    close(program);
    tfy__cell_free_words(words);
    tfy__confined_free(&confined);
    return started == 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Whatever a source makes of ctags: it sees nothing of the project, and leaves nothing behind. */
static void ctags_reads_and_writes_nothing(void **state)
{
    char dir[] = "./code-cell-XXXXXX", real[PATH_MAX], script[8 * PATH_MAX], path[PATH_MAX + 16];
    assert_non_null(mkdtemp(dir));
    assert_non_null(realpath(dir, real));
    snprintf(path, sizeof path, "%s/secret", real);
    FILE *file = fopen(path, "we");
    fputs("secret\n", file);
    fclose(file);
    snprintf(script, sizeof script,
             "cat '%s/secret' 2>/dev/null && exit 1; (: >'%s/made') 2>/dev/null && exit 2; (: >/usr/made) 2>/dev/null "
             "&& exit 3; "
             "(: >>'%s/secret') 2>/dev/null && exit 4; rm '%s/secret' </dev/null 2>/dev/null && exit 5; (: "
             ">/tmp/code-cell-made) 2>/dev/null; "
             "exit 42",
             real, real, real, real);
    unlink("/tmp/code-cell-made");
    int cells = 0;
    for (uint32_t level = TFY_CELL_FULL; level <= TFY_CELL_PARTIAL; level++) {
        const int status = run_in_cell(level, script);
        if (status < 0) continue;
        cells++;
        assert_int_equal(status, 42);
        assert_int_not_equal(access("/tmp/code-cell-made", F_OK), 0);
    }
    snprintf(script, sizeof script, "%s/made", real);
    assert_int_not_equal(access(script, F_OK), 0);
    assert_int_equal(access(path, R_OK), 0);
    unlink(path);
    rmdir(dir);
    if (!cells) skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_identifiers),
        cmocka_unit_test(uses_are_counted_by_file),
        cmocka_unit_test(code_is_text),
        cmocka_unit_test(tags_belong_to_the_request_under_way),
        cmocka_unit_test(a_cut_answer_costs_one_file),
        cmocka_unit_test(other_programs_are_not_ctags),
        cmocka_unit_test(hostile_tags_are_left_out),
        cmocka_unit_test(a_file_has_so_many_symbols),
        cmocka_unit_test(what_others_use_ranks_first),
        cmocka_unit_test(focus_draws_weight),
        cmocka_unit_test(a_name_of_ones_own_leads_nowhere),
        cmocka_unit_test(an_empty_project_has_a_rank),
        cmocka_unit_test(a_map_keeps_to_its_tokens),
        cmocka_unit_test(queries_find_names),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(ctags_reads_and_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
