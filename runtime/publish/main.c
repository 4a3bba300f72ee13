/* main.c: tfy-publish: follows the log of a database, and gives its records to one target (target.h). `tfy publish` starts it,
 * and so does a server for each of its followers.
 *
 * tfy-publish --db=FILE --to=URL [--name=N] [--type=T,…] [--secret-file=FILE] [--content] */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "cli/frame/cli.h"
#include "publish/cursor.h"
#include "publish/follower.h"

static volatile sig_atomic_t ends;

/* A second signal ends the process at once, whatever it waits for. */
static void on_signal(int number)
{
    ends = 1;
    signal(number, SIG_DFL);
}

bool tfy__publish_ends(void)
{
    return ends;
}

static void catch_signals(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

typedef struct Words {
    const char *to, *name, *types, *secret_file;
} Words;

static bool take_option(TfyFollow *follow, Words *words, int option)
{
    switch (option) {
    case 'd': follow->db = optarg; return true;
    case 't': words->to = optarg; return true;
    case 'n': words->name = optarg; return true;
    case 'T': words->types = optarg; return true;
    case 's': words->secret_file = optarg; return true;
    case 'c': follow->content = true; return true;
    default: return false;
    }
}

static bool take_words(TfyFollow *follow, Words *words, int argc, char **argv)
{
    static const struct option options[] = {{"db", required_argument, NULL, 'd'},
                                            {"to", required_argument, NULL, 't'},
                                            {"name", required_argument, NULL, 'n'},
                                            {"type", required_argument, NULL, 'T'},
                                            {"secret-file", required_argument, NULL, 's'},
                                            {"content", no_argument, NULL, 'c'},
                                            {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (!take_option(follow, words, option)) return false;
    return optind == argc;
}

/* The first line of the file, malloc'ed. NULL: error says why. */
static char *read_secret(const char *path, char *error)
{
    FILE *file = fopen(path, "re");
    char *text = file ? calloc(1, TFY_SECRET_FILE_MAX) : NULL;
    const size_t got = text ? fread(text, 1, TFY_SECRET_FILE_MAX - 1, file) : 0;
    const int reason = errno;
    if (file) fclose(file);
    if (text) text[strcspn(text, "\r\n")] = '\0';
    if (got && *text) return text;
    snprintf(error, TFY_ERROR_TEXT, "%.300s has no secret: %s", path, file ? "it is empty" : strerror(reason));
    free(text);
    return NULL;
}

static bool read_words(TfyFollow *follow, const Words *words, char *error)
{
    snprintf(error, TFY_ERROR_TEXT, "say where to, as in --to redis://127.0.0.1:6379");
    if (!words->to || !tfy__address_read(&follow->address, words->to, error)) return false;
    if (words->types && !tfy__event_types(words->types, &follow->types, error)) return false;
    if (words->secret_file && !(follow->secret = read_secret(words->secret_file, error))) return false;
    if (!words->name || tfy__follower_name_fits(words->name)) return true;
    snprintf(error, TFY_ERROR_TEXT,
             "the name of a follower starts with a small letter, and has only a-z, 0-9, '_' and '-', %d at most",
             TFY_FOLLOWER_NAME_MOST);
    return false;
}

static int publish(TfyFollow *follow, const Words *words)
{
    char error[TFY_ERROR_TEXT];
    if (!read_words(follow, words, error)) return tfy__fail(EXIT_USAGE, "%s", error);
    const TfyTargetKind *kind = tfy__target_kind(&follow->address, error);
    if (!kind) return tfy__fail(EXIT_USAGE, "%s", error);
    if (kind->parameters && !tfy__address_parameters(&follow->address, kind->parameters, error))
        return tfy__fail(EXIT_USAGE, "%s", error);
    if (follow->content && !kind->events_whole)
        return tfy__fail(EXIT_USAGE,
                         "--content is for otlp+http:// and otlp+https://: other messages have what the log has");
    follow->name = words->name ? words->name : kind->name;
    return tfy__follow(follow, kind, words->name);
}

int main(int argc, char **argv)
{
    TfyFollow follow = {.db = getenv("TFY_DB") ? getenv("TFY_DB") : ".tfy/runs.db"};
    Words words = {.to = NULL};
    tfy__set_program_name("tfy publish");
    if (!take_words(&follow, &words, argc, argv)) return EXIT_USAGE;
    catch_signals();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    const int status = publish(&follow, &words);
    tfy__address_free(&follow.address);
    free((char *)follow.secret);
    curl_global_cleanup();
    return status;
}
