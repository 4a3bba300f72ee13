/* watch.c: tfy watch: shows what the live process of a database does: on a terminal a line for each live task,
 * elsewhere a line for each event.
 *
 * It only reads the owner's socket: it cannot make the process wait, and the process knows it only as a client of
 * that socket. */
#include "base/terminal.h"
#include "cli/frame/commands.h"
#include "cli/look/db.h"
#include "cli/program/owner.h"
#include "observe/screen.h"
#include "wal/store/lock.h"
#include "wal/history/history.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define FRAME_MS 100

typedef struct Watching {
    const TfyArgs *args;
    const char *db_path;
    const char *run;         /* NULL: all */
    json_int_t since, epoch; /* 0: from the first event that is kept; 0: unknown */
    int fd;
    TfyBuffer in;      /* received but not yet processed */
    TfyScreen *screen; /* NULL: print lines */
    bool colour, utf8;
    bool keys;             /* standard input is the terminal: keys work */
    struct termios cooked; /* how it was before */
    bool drawn;            /* the screen shows our drawing */
    bool answered;         /* the first line has arrived */
    bool run_ended;        /* the named run has ended */
    bool in_order;         /* the process announced its end */
    bool gap;              /* events are missing: the screen requests all state again */
    int status;            /* >= 0: the exit status */
} Watching;

enum { SIGNALLED = 1, QUIT };
static volatile sig_atomic_t interrupted; /* by a signal, or by the key q */

static void on_signal(int number)
{
    (void)number;
    interrupted = SIGNALLED;
}

static int64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the terminal ---- */

static bool wants_screen(const TfyArgs *args)
{
    return !args->option[OPT_JSON] && tfy__screen_obeys(STDOUT_FILENO);
}

static TfyScreenLook look_of(const Watching *watching)
{
    struct winsize size = {0};
    TfyScreenLook look = {.colour = watching->colour, .utf8 = watching->utf8, .keys = watching->keys};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        look.columns = size.ws_col;
        look.rows = size.ws_row;
    }
    return look;
}

/* Only the process in front may change the terminal. Ctrl-Z would leave it without echo. */
static void take_keys(Watching *watching)
{
    if (tcgetpgrp(STDIN_FILENO) != getpgrp() || tcgetattr(STDIN_FILENO, &watching->cooked) != 0) return;
    struct termios mode = watching->cooked;
    mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    mode.c_cc[VMIN] = 1;
    mode.c_cc[VTIME] = 0;
    mode.c_cc[VSUSP] = _POSIX_VDISABLE;
    watching->keys = tcsetattr(STDIN_FILENO, TCSANOW, &mode) == 0;
}

/* Reads what was typed. Arrows come as "ESC [ A" in one piece. */
static void read_keys(Watching *watching)
{
    char typed[64];
    const ssize_t len = read(STDIN_FILENO, typed, sizeof typed);
    if (len <= 0) watching->keys = len < 0 && errno == EINTR;
    for (ssize_t i = 0; i < len; i++) {
        const bool arrow = typed[i] == '\033' && i + 2 < len && (typed[i + 1] == '[' || typed[i + 1] == 'O');
        const char key = arrow ? typed[i + 2] : typed[i];
        if (arrow) i += 2;
        if (!arrow && key == 'q') interrupted = QUIT;
        if (arrow ? key == 'A' : key == 'k') tfy__screen_key(watching->screen, TFY_KEY_UP);
        if (arrow ? key == 'B' : key == 'j') tfy__screen_key(watching->screen, TFY_KEY_DOWN);
        if (!arrow && (key == '\r' || key == '\n')) tfy__screen_key(watching->screen, TFY_KEY_OPEN);
        if (!arrow && key == '\033') tfy__screen_key(watching->screen, TFY_KEY_CLOSE);
    }
}

static void draw(Watching *watching, bool last)
{
    TfyBuffer out = {0};
    TfyScreenLook look = look_of(watching);
    if (!watching->drawn) tfy__buffer_text(&out, "\033[?25l"); /* hide the cursor */
    watching->drawn = true;
    tfy__screen_draw(watching->screen, &look, wall_ms(), last, &out);
    if (last) tfy__buffer_text(&out, "\033[?25h");
    if (out.data && !out.failed) tfy__terminal_codes(stdout, out.data);
    tfy__buffer_free(&out);
}

/* ---- the stream ---- */

static void print_line(const Watching *watching, const json_t *line, const char *text)
{
    TfyBuffer out = {0};
    if (watching->args->option[OPT_JSON]) {
        puts(text);
        return;
    }
    tfy__screen_plain(line, watching->run != NULL, &out);
    if (out.data && !out.failed) fputs(out.data, stdout);
    tfy__buffer_free(&out);
}

static void take_answer(Watching *watching, const json_t *line)
{
    int code = (int)json_integer_value(json_object_get(line, "code"));
    const char *error = json_string_value(json_object_get(line, "error"));
    watching->answered = true;
    watching->epoch = json_integer_value(json_object_get(line, "epoch"));
    if (code == TFY_E_ABSENT)
        watching->status = EXIT_MISSING; /* the log may have the run */
    else if (code)
        watching->status = tfy__fail(tfy__exit_status(code), "%s", error ? error : "the process refused");
}

static void take_line(Watching *watching, const char *text)
{
    json_t *line = json_loads(text, 0, NULL);
    if (!json_is_object(line)) {
        json_decref(line);
        return;
    }
    bool first = !watching->answered, gap = json_object_get(line, "gap") != NULL;
    if (first) take_answer(watching, line);
    if (watching->screen && !first)
        tfy__screen_take(watching->screen, line);
    else if (watching->status < 0 && !watching->screen)
        print_line(watching, line, text);
    if (json_object_get(line, "seq")) watching->since = json_integer_value(json_object_get(line, "seq")) + 1;
    if (gap) watching->since = json_integer_value(json_object_get(line, "to")) + 1;
    watching->gap |= gap;
    watching->in_order |= json_object_get(line, "end") != NULL;
    watching->run_ended |= watching->run && !watching->args->option[OPT_TASK] && json_object_get(line, "run");
    json_decref(line);
}

static void take_lines(Watching *watching)
{
    char *at = watching->in.data, *end;
    while (at && (end = strchr(at, '\n')) && watching->status < 0 && !watching->run_ended) {
        *end = '\0';
        take_line(watching, at);
        at = end + 1;
    }
    size_t left = at ? strlen(at) : 0;
    if (left) memmove(watching->in.data, at, left);
    if (watching->in.data) watching->in.data[left] = '\0';
    watching->in.len = left;
}

/* Receives input. Returns false if no more will come. */
static bool receive(Watching *watching)
{
    char bytes[65536];
    ssize_t got = recv(watching->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    tfy__buffer_add(&watching->in, bytes, (size_t)got);
    take_lines(watching);
    return !watching->in.failed;
}

static bool subscribe(Watching *watching)
{
    const char *task = watching->args->option[OPT_TASK];
    json_t *request = json_pack("{s:s,s:s*,s:s*}", "do", "watch", "run", watching->run, "task", task);
    if (watching->since) json_object_set_new(request, "since", json_integer(watching->since));
    if (watching->epoch) json_object_set_new(request, "epoch", json_integer(watching->epoch));
    if (watching->fd >= 0) close(watching->fd);
    watching->fd = tfy__owner_connect(watching->db_path, request);
    watching->answered = watching->gap = false;
    tfy__buffer_reset(&watching->in);
    json_decref(request);
    return watching->fd >= 0;
}

/* Runs until the run or the process ends, or the user types Ctrl-C. */
static void follow(Watching *watching)
{
    bool open = true;
    int64_t next_ms = 0;
    while (open && !interrupted && watching->status < 0 && !watching->run_ended) {
        struct pollfd ready[] = {{.fd = watching->fd, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
        if (!watching->screen) fflush(stdout);
        int found = poll(ready, watching->keys ? 2 : 1, watching->screen ? FRAME_MS : -1);
        if (found > 0 && watching->keys && ready[1].revents) {
            read_keys(watching);
            next_ms = 0;
        }
        if (found > 0 && ready[0].revents) open = receive(watching);
        if (!watching->screen && ferror(stdout)) return;
        if (open && watching->gap && watching->screen) {
            tfy__screen_forget(watching->screen);
            open = subscribe(watching);
        }
        if (!watching->screen || watching->status >= 0 || wall_ms() < next_ms) continue;
        draw(watching, false);
        next_ms = wall_ms() + FRAME_MS;
    }
}

/* ---- when no process runs it ---- */

static int tell_state(Watching *watching)
{
    TfyHistory *history = NULL;
    char run[37];
    if (!watching->run)
        return tfy__fail(EXIT_MISSING, "no process runs anything of %s now; see: %s ps", watching->db_path,
                         tfy__tfy_command(watching->db_path));
    int status = tfy__db_history(watching->args, &history);
    if (status != EXIT_DONE) return status;
    tfy__uuid_text(history->run.uuid, run);
    if (history->run.state >= TFY_TASK_COMPLETED) {
        tfy__say("run %s has ended: %s; see: %s inspect %s", run, tfy__db_run_state(&history->run, false),
                 tfy__tfy_command(watching->db_path), run);
    } else {
        status = tfy__fail(EXIT_MISSING, "no process runs %s now; continue with: %s resume %s", run,
                           tfy__tfy_command(watching->db_path), run);
    }
    tfy__history_free(history);
    return status;
}

/* "12", or "3:12": event 12 of the third opening of the database. */
static bool read_since(Watching *watching, const char *text)
{
    char *end;
    errno = 0;
    watching->since = strtoll(text, &end, 10);
    if (*end == ':' && end != text) {
        const char *number = end + 1;
        watching->epoch = watching->since;
        watching->since = strtoll(number, &end, 10);
        if (end == number) return false;
    }
    return end != text && !*end && !errno && watching->since > 0 && watching->epoch >= 0;
}

static int watch(Watching *watching)
{
    const TfyArgs *args = watching->args;
    struct sigaction action = {.sa_handler = on_signal};
    if (args->option[OPT_SINCE] && !read_since(watching, args->option[OPT_SINCE]))
        return tfy__fail(EXIT_USAGE, "'%s' is not an event; --since takes its number, such as 120 or 3:120",
                         args->option[OPT_SINCE]);
    if (args->option[OPT_TASK] && !watching->run)
        return tfy__fail(EXIT_USAGE, "--task needs the run: %s watch RUN --task %s",
                         tfy__tfy_command(watching->db_path), args->option[OPT_TASK]);
    if (!subscribe(watching)) return tell_state(watching);
    watching->utf8 = tfy__screen_utf8();
    watching->colour = tfy__screen_colour();
    if (wants_screen(args) && !(watching->screen = tfy__screen_new(watching->run != NULL)))
        return tfy__fail(EXIT_BUG, "memory ran out");
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) sigaction(ends[i], &action, NULL);
    if (watching->screen && isatty(STDIN_FILENO)) take_keys(watching);
    const bool restore = watching->keys;
    follow(watching);
    if (restore) tcsetattr(STDIN_FILENO, TCSANOW, &watching->cooked);
    if (watching->drawn) draw(watching, true);
    if (watching->status >= 0) return watching->status == EXIT_MISSING ? tell_state(watching) : watching->status;
    if (interrupted) return interrupted == QUIT ? EXIT_DONE : EXIT_INTERRUPTED;
    if (!watching->in_order && !watching->run_ended)
        return tfy__fail(EXIT_MISSING, "the process ended unexpectedly; see: %s ps",
                         tfy__tfy_command(watching->db_path));
    return EXIT_DONE;
}

int tfy__cmd_watch(const TfyArgs *args)
{
    if (tfy__db_is_shared(args))
        return tfy__fail(EXIT_USAGE,
                         "what a worker does now is not seen from elsewhere; what it records of a run is: "
                         "%s events RUN --follow",
                         tfy__tfy_command(tfy__db_path(args)));
    Watching watching = {.args = args,
                         .db_path = tfy__db_path(args),
                         .run = args->word_count ? args->words[0] : NULL,
                         .fd = -1,
                         .status = -1};
    const int status = tfy__flush_stdout(watch(&watching));
    if (watching.fd >= 0) close(watching.fd);
    tfy__screen_free(watching.screen);
    tfy__buffer_free(&watching.in);
    return status;
}
