/* What text from outside looks like on a terminal: every kind of character that is obeyed, and texts that come in
 * pieces. */
#include "base/buffer.h"
#include "base/shown.h"
#include "base/terminal.h"

#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void shows(const char *text, size_t len, const char *wanted)
{
    TfyBuffer out = {0};
    tfy__buffer_shown(&out, text, len);
    assert_false(out.failed);
    assert_string_equal(out.data ? out.data : "", wanted);
    tfy__buffer_free(&out);
}

/* The character as UTF-8; answers its bytes. */
static size_t encode(uint32_t point, char out[4])
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    const int len = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (int i = len - 1; i; i--, point >>= 6) out[i] = (char)(0x80 | (point & 0x3f));
    out[0] = (char)((len == 2 ? 0xc0 : len == 3 ? 0xe0 : 0xf0) | point);
    return (size_t)len;
}

static bool is_surrogate(uint32_t point)
{
    return point >= 0xd800 && point <= 0xdfff;
}

/* The list of the specification, written down apart from the one that is tested. */
static bool is_hidden(uint32_t p)
{
    if (p == '\n' || p == '\t') return false;
    if (p < 0x20 || p == 0x7f || (p >= 0x80 && p <= 0x9f) || p == 0x61c || p == 0xfeff) return true;
    if (p >= 0x200b && p <= 0x200f) return true;
    return (p >= 0x202a && p <= 0x202e) || (p >= 0x2060 && p <= 0x206f) || (p >= 0xe0000 && p <= 0xe007f);
}

static void every_character_there_is(void **state)
{
    for (uint32_t point = 0; point <= 0x10ffff; point++) {
        char text[8], wanted[24] = "";
        if (is_surrogate(point)) continue;
        const size_t len = encode(point, text);
        if (point == '\r')
            strcpy(wanted, "\\r");
        else if (is_hidden(point))
            snprintf(wanted, sizeof wanted, "\\u{%x}", point);
        else
            memcpy(wanted, text, len);
        shows(text, len, wanted);
    }
}

static void texts_and_what_is_no_text(void **state)
{
    shows("", 0, "");
    shows("one\n\ttwo", 8, "one\n\ttwo");
    shows("\033]0;title\007\033[2J", 14, "\\u{1b}]0;title\\u{7}\\u{1b}[2J");
    shows("a\0b", 3, "a\\u{0}b");
    shows("gone\rhere", 9, "gone\\rhere");
    shows("\x9b"
          "2J",
          3, "\\u{9b}2J");                  /* a control of Latin-1, on a terminal that is not in UTF-8 */
    shows("\xe2\x80", 2, "\\u{e2}\\u{80}"); /* not whole */
    shows("\xc0\xaf", 2, "\\u{c0}\\u{af}"); /* longer than need be */
    shows("\xed\xa0\x80", 3, "\\u{ed}\\u{a0}\\u{80}");
    shows("\xff\xc3\xa4", 3, "\\u{ff}\xc3\xa4");
    shows("\\u{1b}", 6, "\\u{1b}");
}

/* ---- streams ---- */

static char got[1 << 16];

/* What a terminal receives from a process that does this after it was guarded. */
static void on_a_terminal(void (*print)(void))
{
    int terminal;
    size_t len = 0;
    const pid_t pid = forkpty(&terminal, NULL, NULL, NULL);
    assert_true(pid >= 0);
    if (pid == 0) {
        tfy__terminal_guard();
        print();
        exit(0);
    }
    for (ssize_t n; (n = read(terminal, got + len, sizeof got - 1 - len)) > 0;) len += (size_t)n;
    got[len] = '\0';
    close(terminal);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void print_in_pieces(void)
{
    static const char text[] = "\xc3\xa4\xe2\x80\xae\xf3\xa0\x81\x81\xf0\x9f\x98\x80\xc2\x9b!\n";
    for (size_t i = 0; text[i]; i++) fputc(text[i], stderr);
    fputs("\xe2\x80", stderr);
    fputs("x\xf0\x9f", stderr);
}

static void characters_may_come_byte_by_byte(void **state)
{
    on_a_terminal(print_in_pieces);
    assert_string_equal(got, "\xc3\xa4\\u{202e}\\u{e0041}\xf0\x9f\x98\x80\\u{9b}!\r\n\\u{e2}\\u{80}x\\u{f0}\\u{9f}");
}

static void print_much(void)
{
    for (int i = 0; i < 3000; i++) printf("\xe2\x80\xae%s", i % 100 == 99 ? "\n" : "");
    fputs("\xc3\xa4 end", stdout);
}

static void characters_may_be_cut_where_a_buffer_ends(void **state)
{
    on_a_terminal(print_much);
    const char *at = got;
    for (int i = 0; i < 3000; i++) {
        assert_memory_equal(at, "\\u{202e}", 8);
        at += 8;
        if (i % 100 == 99) assert_memory_equal(at, "\r\n", 2), at += 2;
    }
    assert_string_equal(at, "\xc3\xa4 end");
}

static void print_codes(void)
{
    printf("a\033b");
    tfy__terminal_codes(stdout, "\033[1m");
    printf("c\033d");
    tfy__terminal_codes(stdout, "");
    fflush(stdout);
    fprintf(stderr, "e\033f");
    tfy__terminal_codes(stderr, "\r");
}

static void own_codes_are_obeyed(void **state)
{
    on_a_terminal(print_codes);
    assert_string_equal(got, "a\\u{1b}b\033[1mc\\u{1b}de\\u{1b}f\r");
}

static void print_to_a_file(void)
{
    const int fd = open("/dev/null", O_WRONLY);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0) _exit(1);
    FILE *before = stdout;
    tfy__terminal_guard();
    fputs(stdout == before ? "untouched" : "replaced", stderr);
}

static void what_is_no_terminal_is_left_alone(void **state)
{
    int terminal;
    size_t len = 0;
    const pid_t pid = forkpty(&terminal, NULL, NULL, NULL);
    assert_true(pid >= 0);
    if (pid == 0) {
        print_to_a_file();
        exit(0);
    }
    for (ssize_t n; (n = read(terminal, got + len, sizeof got - 1 - len)) > 0;) len += (size_t)n;
    got[len] = '\0';
    close(terminal);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_string_equal(got, "untouched");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_there_is),
        cmocka_unit_test(texts_and_what_is_no_text),
        cmocka_unit_test(characters_may_come_byte_by_byte),
        cmocka_unit_test(characters_may_be_cut_where_a_buffer_ends),
        cmocka_unit_test(own_codes_are_obeyed),
        cmocka_unit_test(what_is_no_terminal_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
