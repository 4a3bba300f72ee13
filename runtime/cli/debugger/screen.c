/* screen.c: stepping on a terminal: one page that is redrawn in place, and keys.
 *
 *   run 0193… main  record 12 of 40  ToolResult  task 1.2 step 3         the head, inverse
 *       11  …                                                            the source around the place
 *   >   12  let page = yield fetch(url)
 *   asked fetch(url: "…")                                                what the record says
 *   got …
 *   in main, line 12: …                                                  frames and variables, or the tasks; scrolls
 *   n next  b back  …                                                    keys, a message, or what is being typed
 *
 * Every line is cut to the width of the terminal and ends with "erase to the end of the line", to prevent flicker. */
#include "cli/debugger/debugger.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "observe/screen.h"

/* the terminal's original mode, which must be restored on every exit */
static struct termios cooked;
static volatile sig_atomic_t resized, raw;

/* ---- the terminal ---- */

static void say(const char *text)
{
    size_t len = strlen(text);
    while (len) {
        ssize_t n = write(STDOUT_FILENO, text, len);
        if (n < 0 && errno != EINTR) return;
        if (n > 0) text += n;
        if (n > 0) len -= (size_t)n;
    }
}

static void restore(void)
{
    if (!raw) return;
    raw = 0;
    say("\033[?7h\033[?25h\033[?1049l");
    tcsetattr(STDIN_FILENO, TCSANOW, &cooked);
}

static void on_end(int number)
{
    restore();
    signal(number, SIG_DFL);
    raise(number);
}

static void on_resize(int number)
{
    (void)number;
    resized = 1;
}

/* Ctrl-C stays a signal, so that the user can always leave. */
static void enter_raw(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct termios mode;
    if (tcgetattr(STDIN_FILENO, &cooked) != 0) return;
    mode = cooked;
    mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    mode.c_cc[VMIN] = 1;
    mode.c_cc[VTIME] = 0;
    mode.c_cc[VSUSP] = _POSIX_VDISABLE; /* no suspending: a shell would start on our page */
    raw = 1;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) signal(ends[i], on_end);
    struct sigaction action = {.sa_handler = on_resize}; /* no SA_RESTART: the signal must interrupt a read */
    sigaction(SIGWINCH, &action, NULL);
    tcsetattr(STDIN_FILENO, TCSANOW, &mode);
    say("\033[?1049h\033[?25l\033[?7l"); /* cut a line of wide characters at the edge instead of wrapping it */
}

void tfy__debug_screen_open(TfyDebugScreen *screen, const TfyProgram *program)
{
    const char *no_color = getenv("NO_COLOR");
    setlocale(LC_CTYPE, "");
    *screen = (TfyDebugScreen){
        .program = program, .colour = !no_color || !*no_color, .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0};
    fflush(stdout);
    enter_raw();
}

void tfy__debug_screen_close(TfyDebugScreen *screen)
{
    (void)screen;
    restore();
}

/* ---- drawing ---- */

typedef struct Page {
    const TfyDebugScreen *screen;
    TfyBuffer *out;
    int columns, rows;
    int drawn; /* number of lines */
} Page;

/* style: SGR codes, or "". An inverse line fills the width. */
static void put_line(Page *page, const char *text, size_t len, const char *style)
{
    TfyBuffer line = {0};
    const bool fill = strcmp(style, "7") == 0, styled = *style && (page->screen->colour || fill || *style == '1');
    if (page->drawn >= page->rows) return;
    if (page->drawn++) tfy__buffer_text(page->out, "\r\n");
    tfy__buffer_add(&line, text, len);
    if (styled) tfy__buffer_printf(page->out, "\033[%sm", style);
    if (fill)
        tfy__screen_column(page->out, line.data ? line.data : "", page->columns);
    else
        tfy__screen_cut(page->out, line.data ? line.data : "", page->columns);
    if (styled) tfy__buffer_text(page->out, "\033[0m");
    tfy__buffer_text(page->out, "\033[K");
    tfy__buffer_free(&line);
}

static int count_lines(const TfyBuffer *text)
{
    int lines = 0;
    for (size_t i = 0; i < text->len; i++) lines += text->data[i] == '\n';
    return lines;
}

/* Draws the lines of a text from the `skip`th on, at most `most`. */
static void put_lines(Page *page, const TfyBuffer *text, int skip, int most, const char *(*style)(const char *line))
{
    for (const char *at = text->data; at && *at && most > 0;) {
        const size_t len = strcspn(at, "\n");
        if (skip-- <= 0) {
            put_line(page, at, len, style ? style(at) : "");
            most--;
        }
        at += len + (at[len] == '\n');
    }
}

static void put_rule(Page *page, const char *title)
{
    TfyBuffer line = {0};
    const char *dash = page->screen->utf8 ? "─" : "-";
    tfy__buffer_printf(&line, "%s%s %s ", dash, dash, title);
    for (int i = (int)strlen(title) + 4; i < page->columns; i++) tfy__buffer_text(&line, dash);
    if (!line.failed) put_line(page, line.data, line.len, "2");
    tfy__buffer_free(&line);
}

static const char *source_style(const char *line)
{
    return *line == '>' ? "1" : "";
}

static const char *frame_style(const char *line)
{
    return *line == ' ' ? "" : "36";
}

static const char *record_style(const char *line)
{
    return strstr(line, "  error: ") == line || strncmp(line, "raising", 7) == 0 ? "31" : "";
}

static void put_head(Page *page, const json_t *stop)
{
    TfyBuffer head = {0};
    tfy__view_head(stop, &head);
    if (head.data) put_line(page, head.data, strcspn(head.data, "\n"), "7");
    tfy__buffer_free(&head);
}

/* The source gets a third of the page, the record up to a third, the variables the rest. */
static void put_parts(Page *page, const json_t *stop)
{
    const TfyDebugScreen *screen = page->screen;
    TfyBuffer source = {0}, record = {0}, rest = {0};
    const int third = page->rows / 3 > 3 ? page->rows / 3 : 3;
    tfy__view_source(stop, screen->program, third | 1, &source);
    put_lines(page, &source, 0, third | 1, source_style);
    put_rule(page, "record");
    tfy__view_record(stop, &record);
    put_lines(page, &record, 0, third, record_style);
    if (count_lines(&record) > third) put_line(page, "  …", 5, "2");
    put_rule(page, screen->tasks ? "tasks" : "variables");
    if (screen->tasks)
        tfy__view_tasks(stop, &rest);
    else
        tfy__view_frames(stop, &rest);
    put_lines(page, &rest, screen->scroll, page->rows - page->drawn - 1, screen->tasks ? NULL : frame_style);
    while (page->drawn < page->rows - 1) put_line(page, "", 0, "");
    tfy__buffer_free(&source);
    tfy__buffer_free(&record);
    tfy__buffer_free(&rest);
}

static void put_foot(Page *page)
{
    const TfyDebugScreen *screen = page->screen;
    char text[512];
    const char *keys = "n next  b back  f failure  g go to  t task  l whole  w tasks  a start  e end  q";
    if (screen->prompt)
        snprintf(text, sizeof text, "%s%s_", screen->prompt, screen->typed);
    else
        snprintf(text, sizeof text, "%s", *screen->message ? screen->message : keys);
    put_line(page, text, strlen(text), screen->prompt || *screen->message ? "1" : "2");
}

void tfy__debug_screen_draw(TfyDebugScreen *screen, const json_t *stop, int columns, int rows, TfyBuffer *out)
{
    Page page = {.screen = screen, .out = out, .columns = columns > 20 ? columns : 20, .rows = rows > 8 ? rows : 8};
    tfy__buffer_text(out, "\033[H");
    put_head(&page, stop);
    put_parts(&page, stop);
    put_foot(&page);
    tfy__buffer_text(out, "\033[J");
}

static void draw(TfyDebugScreen *screen, const json_t *stop)
{
    struct winsize size = {0};
    TfyBuffer out = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_col)
        size = (struct winsize){.ws_row = 24, .ws_col = 80};
    resized = 0;
    tfy__debug_screen_draw(screen, stop, size.ws_col, size.ws_row, &out);
    if (!out.failed) say(out.data);
    tfy__buffer_free(&out);
}

/* ---- keys ---- */

enum { KEY_UP = 256, KEY_DOWN, KEY_RIGHT, KEY_LEFT, KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_HOME, KEY_END, KEY_NONE, KEY_EOF };

static int read_byte(int wait_ms)
{
    unsigned char byte;
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&ready, 1, wait_ms) <= 0) return KEY_NONE;
    ssize_t n = read(STDIN_FILENO, &byte, 1);
    return n == 1 ? byte : n == 0 || errno != EINTR ? KEY_EOF : KEY_NONE;
}

/* Reads the rest of a key after ESC [ or ESC O. */
static int read_escape(void)
{
    static const struct {
        char last;
        int number, key;
    } table[] = {{'A', 0, KEY_UP},      {'B', 0, KEY_DOWN},     {'C', 0, KEY_RIGHT}, {'D', 0, KEY_LEFT},
                 {'H', 0, KEY_HOME},    {'F', 0, KEY_END},      {'~', 1, KEY_HOME},  {'~', 4, KEY_END},
                 {'~', 5, KEY_PAGE_UP}, {'~', 6, KEY_PAGE_DOWN}};
    int number = 0, byte = read_byte(50);
    if (byte != '[' && byte != 'O') return byte == KEY_NONE ? '\033' : KEY_NONE;
    for (byte = read_byte(50); byte >= '0' && byte <= ';'; byte = read_byte(50))
        number = byte <= '9' && number < 100 ? number * 10 + byte - '0' : number;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (byte == table[i].last && (byte != '~' || number == table[i].number)) return table[i].key;
    return KEY_NONE;
}

static int read_key(void)
{
    const int byte = read_byte(-1);
    return byte == '\033' ? read_escape() : byte;
}

/* Reads a line under the page; NULL: cancelled. */
static const char *ask(TfyDebugScreen *screen, const json_t *stop, const char *prompt, const char *command)
{
    static char line[sizeof screen->typed + 32];
    screen->prompt = prompt;
    screen->typed[0] = '\0';
    for (;;) {
        size_t len = strlen(screen->typed);
        draw(screen, stop);
        const int key = read_key();
        if (key == '\r' || key == '\n') break;
        if (key == '\033' || key == KEY_EOF) {
            screen->prompt = NULL;
            return NULL;
        }
        if ((key == 127 || key == '\b') && len) {
            while (len && (screen->typed[len - 1] & 0xc0) == 0x80) len--;
            screen->typed[len ? len - 1 : 0] = '\0';
        } else if (key >= ' ' && key < 256 && key != 127 && len + 1 < sizeof screen->typed) {
            screen->typed[len] = (char)key;
            screen->typed[len + 1] = '\0';
        }
    }
    screen->prompt = NULL;
    snprintf(line, sizeof line, "%s %s", command, screen->typed);
    return line;
}

/* Shows one variable whole, or a message that it was not found. The last line is too short for it, so it fills the
 * page until a key. */
static void show_local(TfyDebugScreen *screen, const json_t *stop, const char *line)
{
    TfyBuffer out = {0};
    const char *name = line ? strchr(line, ' ') + 1 : "";
    if (!*name) return;
    if (!tfy__view_local(stop, name, &out)) {
        snprintf(screen->message, sizeof screen->message, "there is no variable '%.100s' here", name);
        return;
    }
    say("\033[H\033[J");
    if (!out.failed) say(out.data + 2);
    say("\r\n(any key)");
    while (read_key() == KEY_NONE) continue;
    tfy__buffer_free(&out);
}

static void scroll(TfyDebugScreen *screen, int lines)
{
    screen->scroll = screen->scroll + lines > 0 ? screen->scroll + lines : 0;
}

/* Translates a key to a command of the stepper; NULL: the key concerned the page only. */
static const char *command_of(TfyDebugScreen *screen, const json_t *stop, int key)
{
    switch (key) {
    case 'n':
    case ' ':
    case '\r':
    case '\n':
    case KEY_RIGHT: return "next";
    case 'b':
    case KEY_LEFT: return "back";
    case 'f': return "failure";
    case 'F': return "back failure";
    case 'a':
    case KEY_HOME: return "goto start";
    case 'e':
    case KEY_END: return "goto end";
    case 'q':
    case KEY_EOF: return "quit";
    case 'g': return ask(screen, stop, "go to (12, 1.2/7, line:40, lsn:57, a point): ", "goto");
    case 't': return ask(screen, stop, "follow task (nothing: all): ", "task");
    case 'l': show_local(screen, stop, ask(screen, stop, "show whole: ", "locals")); return NULL;
    case 'w':
        screen->tasks = !screen->tasks;
        screen->scroll = 0;
        return NULL;
    case KEY_UP: scroll(screen, -1); return NULL;
    case KEY_DOWN: scroll(screen, 1); return NULL;
    case KEY_PAGE_UP: scroll(screen, -8); return NULL;
    case KEY_PAGE_DOWN: scroll(screen, 8); return NULL;
    default: return NULL;
    }
}

const char *tfy__debug_screen_command(TfyDebugScreen *screen, const json_t *stop)
{
    const char *command = NULL;
    while (!command) {
        draw(screen, stop);
        const int key = read_key();
        if (key != KEY_NONE || !resized) screen->message[0] = '\0';
        command = command_of(screen, stop, key);
    }
    if (strncmp(command, "task", 4) != 0) screen->scroll = 0;
    return command;
}
