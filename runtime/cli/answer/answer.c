/* answer.c: tfy approve, deny, signal, kill and resolve: requests from people to a run. A request goes to the run's
 * live process if there is one, else into its log. */
#include "cli/frame/commands.h"
#include "cli/answer/request.h"
#include "cli/make/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Delivers a request and reports its effect: "done" names it, in the words that follow "run R". */
static int deliver(const TfyArgs *args, const json_t *request, const char *done)
{
    TfyDelivery delivery;
    if (args->option[OPT_SERVER]) return tfy__send_server(args, request, done);
    const int code = tfy__request_send(args, request, &delivery);
    if (code != TFY_OK) return tfy__fail(tfy__exit_status(code), "%s", delivery.text);
    if (*delivery.text)
        tfy__say("%s", delivery.text);
    else if (delivery.live)
        tfy__say("%s", done);
    else
        tfy__say("%s; no process runs it now, continue with: %s resume %s", done, tfy__tfy_command(tfy__db_path(args)),
                 delivery.run);
    return EXIT_DONE;
}

/* Delivers a request if `made`, and releases it. If not `made`, a message has already said what is wrong with it. */
static int deliver_made(const TfyArgs *args, json_t *request, bool made, const char *done)
{
    const int status = made ? deliver(args, request, done) : EXIT_USAGE;
    json_decref(request);
    return status;
}

/* Sets a step's number; false after a message. */
static bool set_step(json_t *request, const char *text)
{
    char *end;
    long long step = strtoll(text, &end, 10);
    if (*end || end == text || step <= 0) {
        tfy__say("a step is a number from 1, not '%s'", text);
        return false;
    }
    json_object_set_new(request, "step", json_integer(step));
    return true;
}

/* A model reads it, and the log keeps it. */
static bool set_reason(json_t *request, const char *why)
{
    enum { REASON_MOST = 4096 };
    if (!why || strlen(why) <= REASON_MOST) return !why || tfy__request_text(request, "why", why);
    tfy__say("--why takes %d bytes at most, not %zu", REASON_MOST, strlen(why));
    return false;
}

/* word NULL: yes, if the question accepts that answer. */
static int answer(const TfyArgs *args, const char *word)
{
    char done[128];
    json_t *request = tfy__request_new(args, "approve");
    const char *step = args->option[OPT_STEP];
    const bool made = request && tfy__request_text(request, "answer", word) && (!step || set_step(request, step)) &&
                      set_reason(request, args->option[OPT_WHY]);
    snprintf(done, sizeof done, "answered with %.60s", word ? word : "yes");
    return deliver_made(args, request, made, done);
}

int tfy__cmd_approve(const TfyArgs *args)
{
    const char *text = args->word_count > 1 ? args->words[1] : NULL;
    const char *words[] = {args->option[OPT_YES] ? "yes" : NULL, args->option[OPT_NO] ? "no" : NULL,
                           args->option[OPT_ANSWER], text};
    const char *word = NULL;
    int answers = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!words[i]) continue;
        word = words[i];
        answers++;
    }
    return answers > 1 ? tfy__fail(EXIT_USAGE, "give one of --yes, --no, --answer and a text") : answer(args, word);
}

int tfy__cmd_deny(const TfyArgs *args)
{
    return answer(args, "no");
}

int tfy__cmd_signal(const TfyArgs *args)
{
    json_t *request = tfy__request_new(args, "signal");
    const bool made =
        request && tfy__request_text(request, "name", args->words[1]) &&
        tfy__request_text(request, "id", args->option[OPT_ID]) &&
        tfy__request_json(request, "value", args->word_count > 2 ? args->words[2] : NULL, "a signal's value is JSON");
    return deliver_made(args, request, made, "sent");
}

int tfy__cmd_kill(const TfyArgs *args)
{
    json_t *request = tfy__request_new(args, "kill");
    json_object_set_new(request, "force", json_boolean(args->option[OPT_FORCE] != NULL));
    return deliver_made(args, request, request != NULL, "killed");
}

/* Reads --done JSON, --retry or --fail: exactly one. Returns false after a message. */
static bool set_outcome(json_t *request, const TfyArgs *args)
{
    const char *done = args->option[OPT_DONE];
    if (!!done + !!args->option[OPT_RETRY] + !!args->option[OPT_FAIL] != 1) {
        tfy__say("say what became of the step: --done JSON with its result, --retry if it was not done, or --fail");
        return false;
    }
    json_object_set_new(request, "how", json_string(done ? "done" : args->option[OPT_RETRY] ? "retry" : "fail"));
    return tfy__request_json(request, "value", done, "--done takes the step's result as JSON");
}

int tfy__cmd_resolve(const TfyArgs *args)
{
    json_t *request = tfy__request_new(args, "resolve");
    const bool made = request && set_step(request, args->words[1]) && set_outcome(request, args);
    return deliver_made(args, request, made, "resolved");
}
