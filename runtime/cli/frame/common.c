/* common.c: messages, exit statuses and standard files, shared by all commands. */
#include "base/buffer.h"
#include "base/terminal.h"
#include "cli/frame/cli.h"
#include "cli/frame/databases.h"
#include "core/loop.h"
#include "observe/line.h"
#include "tfy.h"
#include "wal/store/pg_address.h"
#include "wal/store/place.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define FILES_MIN 32 /* a database, the loop, the watcher, and what one tool takes while it starts */

static const char *program_name = "tfy";

void tfy__set_program_name(const char *name)
{
    program_name = name;
}

const char *tfy__program_name(void)
{
    return program_name;
}

static bool say_json;

void tfy__say_json(bool json)
{
    say_json = json;
}

static TfyLoop *through;

void tfy__say_through(TfyLoop *loop)
{
    through = loop;
}

/* Messages up to ROOM bytes need no memory, because "memory ran out" is one of them. A longer message that gets no
 * memory is cut, so that its place and JSON fit around it. */
#define ROOM 4096

typedef struct Message {
    const char *text;
    size_t len;
    char *owned;
    char room[ROOM];
} Message;

static size_t shorten(char *text, size_t len)
{
    static const char CUT[] = "…";
    while (len && ((unsigned char)text[len] & 0xc0) == 0x80) len--; /* cut between characters */
    memcpy(text + len, CUT, sizeof CUT);
    return len + sizeof CUT - 1;
}

static void compose(Message *message, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int len = vsnprintf(message->room, ROOM, format, args);
    message->text = message->room;
    message->len = len < 0 ? 0 : (size_t)len;
    message->owned = message->len < ROOM ? NULL : malloc(message->len + 1);
    if (message->owned) {
        vsnprintf(message->owned, message->len + 1, format, again);
        message->text = message->owned;
    } else if (message->len >= ROOM) {
        message->len = shorten(message->room, ROOM / 2);
    }
    va_end(again);
}

static void send(const char *text, size_t len)
{
    if (through)
        tfy__out_text(through, STDERR_FILENO, text, len);
    else
        fwrite(text, 1, len, stderr);
}

void tfy__say_text(const char *format, ...)
{
    Message message;
    va_list args;
    va_start(args, format);
    compose(&message, format, args);
    va_end(args);
    send(message.text, message.len);
    free(message.owned);
}

static void say_line(TfyLevel level, const Message *message)
{
    char room[ROOM];
    TfyBuffer whole = {0}, brief = {.data = room, .cap = sizeof room, .max = sizeof room - 1};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    TfyLine line = {.ts_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000,
                    .level = level,
                    .target = TFY_TARGET_RUN,
                    .message = message->text,
                    .message_len = message->len};
    tfy__line_json(&whole, &line);
    if (whole.failed && line.message_len > ROOM / 8) line.message_len = ROOM / 8; /* a byte is written as 6 at most */
    if (whole.failed) tfy__line_json(&brief, &line);
    send(whole.failed ? brief.data : whole.data, whole.failed ? brief.len : whole.len);
    tfy__buffer_free(&whole);
}

static void say(TfyLevel level, const char *format, va_list args)
{
    Message message;
    fflush(stdout); /* so that data and messages keep their order on a terminal */
    compose(&message, format, args);
    if (say_json)
        say_line(level, &message);
    else
        tfy__say_text("%s: %s\n", program_name, message.text);
    free(message.owned);
}

void tfy__say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(TFY_LEVEL_WARN, format, args);
    va_end(args);
}

bool tfy__says_json(void)
{
    return say_json;
}

/* Callers that run out of memory pass an empty message; the reason is added here. */
static bool is_empty(const char *format, va_list args)
{
    char first[2];
    return vsnprintf(first, sizeof first, format, args) == 0;
}

int tfy__fail(int status, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    if (is_empty(format, again))
        tfy__fail(status, "%s", status == EXIT_BUG ? "memory ran out" : "that failed, and nothing says why");
    else
        say(status == EXIT_DONE ? TFY_LEVEL_INFO : TFY_LEVEL_ERROR, format, args);
    va_end(again);
    va_end(args);
    return status;
}

void tfy__user_name(uint32_t uid, char *out, size_t size)
{
    char room[ROOM];
    struct passwd entry, *user = NULL;
    if (getpwuid_r(uid, &entry, room, sizeof room, &user) == 0 && user)
        snprintf(out, size, "%s", user->pw_name);
    else
        snprintf(out, size, "uid %u", (unsigned)uid);
}

int tfy__exit_status(int code)
{
    switch (code) {
    case TFY_OK: return EXIT_DONE;
    case TFY_E_IO: return EXIT_LOG;
    case TFY_E_HELD:
    case TFY_E_DEADLOCK: return EXIT_WAITING;
    case TFY_E_INVALID: return EXIT_USAGE;
    case TFY_E_DATA: return EXIT_DATA;
    case TFY_E_DIVERGED: return EXIT_DATA;
    case TFY_E_ABSENT: return EXIT_MISSING;
    case TFY_E_FULL:
    case TFY_E_STATE: return EXIT_RUN_FAILED;
    default: return EXIT_BUG;
    }
}

static const char *default_db(void)
{
    const char *from_environment = getenv("TFY_DB");
    return from_environment && *from_environment ? from_environment : ".tfy/runs.db";
}

int (*tfy__db_open_shared)(const char *address, struct TfyLog **log, char *error_text);

static int resolve_shared(TfyArgs *args, const char *address)
{
    if (tfy__db_open_shared && args->command->shared) return (args->db = strdup(address)) ? -1 : EXIT_BUG;
    return tfy__fail(EXIT_USAGE,
                     "%s works on a database file, and not on PostgreSQL; `tfy start --db` starts runs there, "
                     "which `tfy worker` executes",
                     args->command->name);
}

int tfy__db_resolve(TfyArgs *args)
{
    char path[TFY_PLACE_BYTES], error[TFY_ERROR_TEXT];
    const char *named = args->option[OPT_DB] ? args->option[OPT_DB] : default_db();
    if (tfy__pg_is_address(named)) return resolve_shared(args, named);
    const int code = tfy__place_resolve(named, path, error);
    if (code) return tfy__fail(tfy__exit_status(code), "%s; give the name of a file with --db", error);
    args->db = strdup(path);
    return args->db ? -1 : tfy__fail(EXIT_BUG, "memory ran out");
}

const char *tfy__db_path(const TfyArgs *args)
{
    return args->db ? args->db : default_db(); /* only --help is read */
}

bool tfy__db_is_shared(const TfyArgs *args)
{
    return tfy__pg_is_address(tfy__db_path(args));
}

const char *tfy__tfy_command(const char *db_path)
{
    static TfyBuffer text;
    char usual[TFY_PLACE_BYTES];
    if (strcmp(default_db(), db_path) == 0) return "tfy";
    if (tfy__place_resolve(default_db(), usual, NULL) == 0 && strcmp(db_path, usual) == 0) return "tfy";
    const char *from_environment = getenv("TFY_DB");
    if (!(from_environment && *from_environment) && tfy__db_is_usual(db_path)) return "tfy";
    tfy__buffer_reset(&text);
    tfy__buffer_printf(&text, "tfy --db ");
    tfy__buffer_shell_word(&text, db_path);
    return text.failed ? "tfy" : text.data;
}

static bool dies_of_pipe; /* SIGPIPE was not ignored when the process started */

bool tfy__standard_files(void)
{
    bool stdout_open = fcntl(STDOUT_FILENO, F_GETFD) >= 0;
    int fd;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC); /* a program that replaces this one does not inherit it */
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) close(fd);
    tfy__terminal_guard();
    dies_of_pipe = signal(SIGPIPE, SIG_IGN) != SIG_IGN;
    signal(SIGXFSZ, SIG_IGN); /* writes beyond `ulimit -f` fail instead; for the log, that is a full disk */
    return stdout_open;
}

int tfy__enough_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= FILES_MIN) return EXIT_DONE;
    const bool hard = files.rlim_max < FILES_MIN;
    return tfy__fail(EXIT_MISSING,
                     "RLIMIT_NOFILE allows this process %llu open files, and it needs %d: type 'ulimit -n 1024'%s, "
                     "then start it again",
                     (unsigned long long)files.rlim_cur, FILES_MIN, hard ? " in a shell that was not limited" : "");
}

bool tfy__ends_with(const char *word, const char *end)
{
    const size_t len = strlen(word), end_len = strlen(end);
    return len > end_len && strcmp(word + len - end_len, end) == 0;
}

bool tfy__is_source(const char *word)
{
    return tfy__ends_with(word, ".tfy");
}

/* A reader that has left, such as head, closed its end of the pipe. */
static bool reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) > 0 && (out.revents & POLLERR);
}

int tfy__flush_stdout(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    if (dies_of_pipe && reader_left()) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    return tfy__fail(EXIT_LOG, "cannot write to standard output: %s", strerror(errno));
}
