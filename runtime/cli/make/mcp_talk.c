/* mcp_talk.c: see mcp_talk.h. */
#include "cli/make/mcp_talk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/steady.h"
#include "cli/make/bare_loop.h"
#include "effects/http_client.h"
#include "effects/known.h"
#include "effects/process.h"
#include "mcp/ask.h"
#include "mcp/content.h"
#include "mcp/login/login.h"
#include "value/json.h"

#define PATIENCE_MS 60000 /* the default that the help gives for --timeout */
#define TURN_MS     100
#define SAID_MOST   4096 /* bytes of stderr that are shown if it fails */
#define LINES_MOST  3    /* wrong answers to a question until it counts as declined */

/* ---- questions ---- */

/* What the question is, and what each field of a form is for. */
static void show_question(const TfyMcpTalk *talk, const json_t *params)
{
    TfyBuffer details = {0};
    json_t *shown = tfy__mcp_masked(params);
    const char *message = json_string_value(json_object_get(shown, "message"));
    tfy__mcp_ask_details(shown, &details);
    tfy__say("%s asks: %s", talk->name, message ? message : "");
    if (details.len) tfy__say_text("%s\n", details.data);
    tfy__buffer_free(&details);
    json_decref(shown);
}

json_t *tfy__mcp_talk_ask(TfyMcpTalk *talk, const json_t *params)
{
    char *line = NULL, error[TFY_ERROR_TEXT];
    size_t size = 0;
    json_t *answer = NULL;
    show_question(talk, params);
    for (int i = 0; i < LINES_MOST && !answer; i++) {
        const ssize_t len = getline(&line, &size, stdin);
        if (len < 0) break;
        if (len && line[len - 1] == '\n') line[len - 1] = '\0';
        answer = tfy__mcp_ask_answer(params, *line ? line : "yes", error);
        if (!answer) tfy__say("%s", error);
    }
    free(line);
    tfy__mcp_talk_heard(talk);
    return answer ? answer : json_pack("{s:s}", "action", "decline");
}

static void on_asked(void *arg, TfyMcpAsked *asked, const TfyMcpCall *call, const char *method, const json_t *params)
{
    (void)call, (void)method; /* nothing but elicitation is offered */
    json_t *answer = tfy__mcp_talk_ask(arg, params);
    tfy__mcp_answer(asked, answer);
    json_decref(answer);
}

/* ---- what the server says ---- */

static void on_log(void *arg, bool own, const char *text, size_t len)
{
    TfyMcpTalk *talk = arg;
    if (own) {
        tfy__say("%.*s", (int)len, text);
        return;
    }
    tfy__buffer_add(&talk->said, text, len);
    tfy__buffer_char(&talk->said, '\n');
    if (talk->said.len <= SAID_MOST) return;
    const size_t over = talk->said.len - SAID_MOST;
    memmove(talk->said.data, talk->said.data + over, SAID_MOST + 1);
    talk->said.len = SAID_MOST;
}

void tfy__mcp_talk_heard(TfyMcpTalk *talk)
{
    talk->until_ms = tfy__steady_ms() + talk->patience_ms;
}

void tfy__mcp_talk_end(TfyMcpTalk *talk, int status)
{
    talk->done = true;
    talk->status = status;
}

void tfy__mcp_talk_failed(TfyMcpTalk *talk, const char *what, const TfyMcpEnd *end)
{
    const bool refused = end->how == TFY_MCP_REFUSED;
    TfyBuffer text = {0};
    if (!refused && talk->said.len) tfy__say_text("%s", talk->said.data);
    tfy__buffer_text(&text, end->message);
    tfy__known_mask_in(&text, false);
    const char *message = text.failed ? "" : text.data;
    if (refused)
        tfy__say("%s was refused: %s (code %lld)", what, message, (long long)end->code);
    else
        tfy__say("%s", message);
    tfy__buffer_free(&text);
    tfy__mcp_talk_end(talk, refused ? EXIT_RUN_FAILED : EXIT_MISSING);
}

/* ---- opening ---- */

/* How many operands are before "--"; -1: there is none. */
static int words_before(const TfyArgs *args)
{
    int at = 1;
    while (at < args->argc && strcmp(args->argv[at], "--") != 0) at++;
    return at < args->argc ? args->word_count - (args->argc - at - 1) : -1;
}

static void name_address(TfyMcpTalk *talk, const char *url)
{
    char *host = NULL;
    CURLU *parts = tfy__http_parse_url(url);
    if (parts) curl_url_get(parts, CURLUPART_HOST, &host, 0);
    snprintf(talk->name, sizeof talk->name, "%s", host ? host : url);
    curl_free(host);
    curl_url_cleanup(parts);
}

static int choose_server(TfyMcpTalk *talk, const TfyArgs *args, int first)
{
    const int before = words_before(args);
    const char *word = first < args->word_count ? args->words[first] : NULL;
    CURLU *parts = NULL;
    if (before > first || (before < 0 && args->word_count > first + 1))
        return tfy__fail(EXIT_USAGE, "'%s' is too much; the command of a server follows --",
                         args->words[before < 0 ? first + 1 : first]);
    if (!word || before >= 0) {
        if (before < first || !word)
            return tfy__fail(EXIT_USAGE, "%s needs a server: its address, or -- and its command", args->command->name);
        const char *slash = strrchr(word, '/');
        talk->spec.argv = args->words + first;
        snprintf(talk->name, sizeof talk->name, "%s", slash ? slash + 1 : word);
        return EXIT_DONE;
    }
    parts = tfy__http_parse_url(word);
    if (!parts)
        return tfy__fail(EXIT_USAGE, "'%s' is not an http or https address; the command of a server follows --", word);
    curl_url_cleanup(parts);
    talk->spec.url = word;
    tfy__buffer_shell_word(&talk->login_words, word);
    talk->spec.login_words = talk->login_words.data;
    name_address(talk, word);
    return EXIT_DONE;
}

static int choose_patience(TfyMcpTalk *talk, const TfyArgs *args)
{
    const char *given = args->option[OPT_TIMEOUT];
    talk->patience_ms = PATIENCE_MS;
    if (!given || (tfy__read_duration(given, strlen(given), &talk->patience_ms) && talk->patience_ms > 0))
        return EXIT_DONE;
    return tfy__fail(EXIT_USAGE, "--timeout takes a time such as 10s or 5m, not '%.60s'", given);
}

/* Opens the server of the spec. */
static int open_in(TfyMcpTalk *talk, const TfyArgs *args, const char *cwd)
{
    char error[TFY_ERROR_TEXT] = "";
    json_t *able = json_pack("{s:{s:{}, s:{}}}", "elicitation", "form", "url");
    talk->spec.name = talk->name;
    talk->spec.capabilities = able;
    talk->spec.events = (TfyMcpEvents){.log = on_log, .asked = on_asked};
    talk->spec.arg = talk;
    talk->spec.logins = talk->spec.login_words && !talk->logs_in ? &tfy__mcp_logins : NULL;
    talk->spec.cwd_fd = open(cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (talk->spec.cwd_fd < 0)
        return tfy__fail(EXIT_MISSING, "the directory %s cannot be opened: %s", cwd, strerror(errno));
    const int status = choose_patience(talk, args);
    if (status != EXIT_DONE) return status;
    if (tfy__bare_open(&talk->loop, error) < 0) return tfy__fail(EXIT_MISSING, "nothing can be started: %s", error);
    talk->client = tfy__mcp_open(talk->loop, &talk->spec);
    return talk->client ? EXIT_DONE : tfy__fail(EXIT_BUG, "memory ran out");
}

int tfy__mcp_talk_open(TfyMcpTalk *talk, const TfyArgs *args, int first)
{
    const int status = choose_server(talk, args, first);
    return status == EXIT_DONE ? open_in(talk, args, ".") : status;
}

int tfy__mcp_talk_open_spec(TfyMcpTalk *talk, const TfyArgs *args, const TfyMcpSpec *server, const char *cwd)
{
    talk->spec = *server;
    snprintf(talk->name, sizeof talk->name, "%s", server->name);
    return open_in(talk, args, cwd);
}

int tfy__mcp_talk_run(TfyMcpTalk *talk)
{
    tfy__mcp_talk_heard(talk);
    while (!talk->done && tfy__steady_ms() < talk->until_ms)
        if (!tfy__bare_turn(talk->loop, TURN_MS)) return tfy__fail(EXIT_BUG, "the loop cannot continue");
    if (talk->done) return talk->status;
    if (talk->said.len) tfy__say_text("%s", talk->said.data);
    return tfy__fail(EXIT_MISSING, "the MCP server '%s' did not answer within %lld ms; --timeout allows more",
                     talk->name, (long long)talk->patience_ms);
}

void tfy__mcp_talk_close(TfyMcpTalk *talk)
{
    tfy__mcp_close(talk->client);
    if (talk->loop) tfy__process_close(talk->loop);
    if (talk->loop) tfy_close(talk->loop);
    if (talk->spec.cwd_fd > 0) close(talk->spec.cwd_fd);
    json_decref((json_t *)(uintptr_t)talk->spec.capabilities);
    tfy__buffer_free(&talk->said);
    tfy__buffer_free(&talk->login_words);
}
