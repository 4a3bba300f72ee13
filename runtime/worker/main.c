/* main.c: tfy-worker: reads its words.
 *
 * tfy-worker --db=URL [--pool=POOL] … [NAME=]FILE.so …   with programs that `tfy build --shared` made */
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "tfy.h"
#include "value/json.h"
#include "wal/log/run_id.h"
#include "wal/store/pg_address.h"
#include "worker/worker.h"

enum { LINE_BYTES = 1024 }; /* fits into a pipe that has room */

void tfy__worker_say(const char *format, ...)
{
    struct pollfd out = {STDERR_FILENO, POLLOUT, 0};
    char line[LINE_BYTES];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    if (poll(&out, 1, 0) > 0) tfy__say("%s", line);
}

static const char DRAIN[] = "5m"; /* what tools under way have to finish, unless --drain says so */

const char *tfy__worker_file(const char *program)
{
    const char *equal = strchr(program, '=');
    return equal ? equal + 1 : program;
}

int tfy__worker_name_len(const char *program)
{
    return (int)strcspn(program, "=");
}

static bool take_option(TfyWorkerWords *words, int option)
{
    switch (option) {
    case 'd': words->db = optarg; return true;
    case 'p': words->pool = optarg; return true;
    case 'n': words->name = optarg; return true;
    case 'L': words->llm = optarg; return true;
    case 'm': words->models = optarg; return true;
    case 's': words->secrets = optarg; return true;
    case 'S': words->secrets_from = optarg; return true;
    case 'l': words->log_level = optarg; return true;
    case 'f': words->log_format = optarg; return true;
    case 'D': words->drain = optarg; return true;
    case 'c': words->report = atoi(optarg); return true;
    case 'P': words->page = atoi(optarg); return true;
    case 'o': words->solo = true; return true;
    case 't': words->threads = optarg; return true;
    default: return false;
    }
}

static bool take_words(TfyWorkerWords *words, int argc, char **argv)
{
    static const struct option options[] = {{"db", required_argument, NULL, 'd'},
                                            {"pool", required_argument, NULL, 'p'},
                                            {"name", required_argument, NULL, 'n'},
                                            {"llm", required_argument, NULL, 'L'},
                                            {"models", required_argument, NULL, 'm'},
                                            {"secrets", required_argument, NULL, 's'},
                                            {"secrets-from", required_argument, NULL, 'S'},
                                            {"log-level", required_argument, NULL, 'l'},
                                            {"log-format", required_argument, NULL, 'f'},
                                            {"drain", required_argument, NULL, 'D'},
                                            {"child", required_argument, NULL, 'c'},
                                            {"page", required_argument, NULL, 'P'},
                                            {"solo", no_argument, NULL, 'o'},
                                            {"threads", required_argument, NULL, 't'},
                                            {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (!take_option(words, option)) return false;
    for (int i = optind; i < argc && words->program_count < TFY_WORKER_PROGRAMS; i++)
        words->programs[words->program_count++] = argv[i];
    return argc - optind <= TFY_WORKER_PROGRAMS ||
           tfy__fail(false, "a worker has %d programs at most", TFY_WORKER_PROGRAMS);
}

static int check_names(TfyWorkerWords *words)
{
    if (words->pool && !tfy__program_name_fits(words->pool))
        return tfy__fail(EXIT_USAGE, "%s, so '%.80s' cannot be one", TFY_POOL_NAME_RULE, words->pool);
    if (words->name && !tfy__run_name_fits(words->name))
        return tfy__fail(EXIT_USAGE, "--name takes 1 to %d visible ASCII characters", TFY_RUN_NAME_MAX);
    if (!words->name && gethostname(words->host, sizeof words->host - 1) == 0) words->name = words->host;
    return EXIT_DONE;
}

static bool read_threads(TfyWorkerWords *words)
{
    char *end = NULL;
    const unsigned long count = words->threads ? strtoul(words->threads, &end, 10) : 1;
    const bool fine = !end || (*words->threads >= '1' && *words->threads <= '9' && !*end && count <= TFY_LOOPS_MOST);
    words->loops = (uint32_t)count;
    return fine || tfy__fail(false, "--threads takes a number from 1 to %d, not '%s'", TFY_LOOPS_MOST, words->threads);
}

/* EXIT_DONE, or a status after a message. */
static int check_words(TfyWorkerWords *words)
{
    if (!words->db || !tfy__pg_is_address(words->db))
        return tfy__fail(EXIT_USAGE,
                         "a worker takes runs out of a database of PostgreSQL: --db postgresql://USER@HOST/NAME");
    if (!words->program_count) return tfy__fail(EXIT_USAGE, "a worker needs a program: FILE.tfy or FILE.so");
    if (!words->drain) words->drain = DRAIN;
    if (!tfy__read_duration(words->drain, strlen(words->drain), &words->drain_ms) || words->drain_ms < 0)
        return tfy__fail(EXIT_USAGE, "--drain takes a time such as 30s or 5m, not '%s'", words->drain);
    if (!read_threads(words)) return EXIT_USAGE;
    words->log_json = words->log_format && strcmp(words->log_format, "json") == 0;
    if (words->log_format && !words->log_json && strcmp(words->log_format, "text") != 0)
        return tfy__fail(EXIT_USAGE, "log lines are written as json or text, not as '%s'", words->log_format);
    tfy__say_json(words->log_json);
    return check_names(words);
}

int main(int argc, char **argv)
{
    TfyWorkerWords words = {.self = argv[0], .db = getenv("TFY_DB"), .report = -1, .page = -1};
    tfy__set_program_name("tfy worker");
    tfy__standard_files();
    tfy_hide_secrets(false);
    if (!take_words(&words, argc, argv)) return EXIT_USAGE;
    const int status = check_words(&words);
    if (status != EXIT_DONE) return status;
    return words.report >= 0 ? tfy__worker_child(&words) : tfy__worker_supervise(&words);
}
