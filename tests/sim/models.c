/* models.c: see models.h. What endpoints answer, what they remember, and what must hold of it. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "models.h"
#include "effects/llm.h"
#include "wal/rows/payload.h"

enum {
    MS = 1000000,
    NAME_MOST = 80,
    TALKS = 4096,
    CALLS_MOST = 40,
    FAULTS_PERCENT = 22,
    LIES_PERCENT = 22,
    STREAMS_PERCENT = 65
};

typedef struct Purse {
    char name[NAME_MOST];
    int64_t calls, tokens;           /* that were answered for, by the endpoint's own count */
    int64_t calls_most, tokens_most; /* as the program says */
} Purse;

/* A step that was asked under a budget, and how often. */
typedef struct Bound {
    char run[37], path[64];
    int64_t step;
    uint32_t begun;
} Bound;

/* A tool was performed because an answer held this word. */
typedef struct Done {
    char run[37];
    uint32_t word;
} Done;

static struct {
    Purse purses[TALKS];
    Bound bounds[TALKS];
    Done done[TALKS];
    uint32_t purse_count, bound_count, done_count;
    uint32_t words;       /* given out so far */
    uint32_t remarks;     /* … */
    const TfyCall *begun; /* the call that begins now; NULL: a request is repeated by the client */
    char run[37];         /* whose request it is */
} known;

/* ---- who is asked ---- */

static const char models_text[] =
    "{\"models\": {"
    "\"chat\": {\"api\": \"chat\", \"url\": \"http://chat.sim/v1\", \"model\": \"c\", \"then\": \"messages\"},"
    "\"messages\": {\"api\": \"messages\", \"url\": \"http://messages.sim/v1\", \"model\": \"m\"},"
    "\"responses\": {\"api\": \"responses\", \"url\": \"http://responses.sim/v1\", \"model\": \"r\"},"
    "\"slow\": {\"api\": \"chat\", \"url\": \"http://slow.sim/v1\", \"model\": \"s\", \"then\": \"responses\"},"
    "\"narrow\": {\"api\": \"chat\", \"url\": \"http://narrow.sim/v1\", \"model\": \"n\", \"window\": 6000},"
    "\"tight\": {\"api\": \"messages\", \"url\": \"http://tight.sim/v1\", \"model\": \"t\", \"window\": 4000}}}";

int sim_models_file(void)
{
    const int fd = memfd_create("models", MFD_CLOEXEC);
    if (fd < 0 || write(fd, models_text, strlen(models_text)) < 0 || lseek(fd, 0, SEEK_SET) != 0) abort();
    return fd;
}

/* The real performer begins: nothing may be asked before what is behind it is durable, nor when the process was asked to stop. */
static void start(TfyCall *call)
{
    if (!sim.expecting) {
        sim_check_behind(rest_of(call->task), call->tool->name);
        if (sim.drained_at) sim_broken("w9", "%s is asked, and the process was asked to stop", call->tool->name);
    }
    known.begun = call;
    snprintf(known.run, sizeof known.run, "%s", tfy__run_uuid(call->task));
    tfy__perform_llm.start(call);
    known.begun = NULL;
}

void sim_models_begin(void)
{
    static TfyPerformer performer;
    performer = tfy__perform_llm;
    performer.start = start;
    sim.world.performers[TFY_F_LLM] = sim.world.performers[TFY_F_PROMPT] = &performer;
}

void sim_models_die(void)
{
    sim_curl_die();
    known.begun = NULL;
}

/* ---- what was asked ---- */

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static void take_word(const char *text, const char *name, char out[NAME_MOST])
{
    const char *at = strstr(text, name);
    const size_t len = at ? strcspn(at + strlen(name), " \"\\") : 0;
    snprintf(out, NAME_MOST, "%.*s", (int)(len < NAME_MOST ? len : NAME_MOST - 1), at ? at + strlen(name) : "");
}

static void hear_text(SimQuestion *q, const char *role, const char *text)
{
    static const char ask[] = "Summarise this conversation";
    if (strcmp(role, "user") == 0 && strstr(text, "talk=")) q->said = text;
    q->compacts = strcmp(role, "user") == 0 && strncmp(text, ask, sizeof ask - 1) == 0;
}

/* A message, or its parts, without the marks of how far an endpoint may keep it. */
static void hear(SimQuestion *q, const json_t *message)
{
    const char *role = text_of(message, "role");
    json_t *content = json_object_get(message, "content"), *part;
    size_t i;
    if (strcmp(role, "assistant") == 0 || strcmp(text_of(message, "type"), "function_call") == 0) q->rounds++;
    hear_text(q, role, json_is_string(content) ? json_string_value(content) : "");
    if (!json_is_array(content)) json_array_append(q->heard, (json_t *)message);
    json_array_foreach(content, i, part)
    {
        json_t *plain = json_copy(part);
        json_object_del(plain, "cache_control");
        hear_text(q, role, text_of(part, "text"));
        json_array_append_new(q->heard, json_pack("{s:s, s:o}", "role", role, "part", plain));
    }
}

static void read_question(SimQuestion *q, const char *url, const char *body)
{
    *q = (SimQuestion){.form = strstr(url, "/messages")    ? "messages"
                               : strstr(url, "/responses") ? "responses"
                                                           : "chat",
                       .body = json_loads(body, JSON_ALLOW_NUL, NULL),
                       .heard = json_array(),
                       .said = "",
                       .len = strlen(body)};
    json_t *messages = json_object_get(q->body, *q->form == 'r' ? "input" : "messages"), *message;
    size_t i;
    if (!json_array_size(messages)) sim_broken("w10", "a request has no messages: %s", body);
    json_array_foreach(messages, i, message) hear(q, message);
    q->offers = json_array_size(json_object_get(q->body, "tools")) && !json_object_get(q->body, "tool_choice");
    q->streams = json_is_true(json_object_get(q->body, "stream"));
    q->window = strstr(url, "//narrow") ? 6000 : strstr(url, "//tight") ? 4000 : 0;
    take_word(q->said, "goal=", q->goal);
    take_word(q->said, "talk=", q->talk);
    take_word(q->said, "budget=", q->budget);
    if (!q->talk[0]) sim_broken("w10", "a request does not say what it is for: %s", body);
}

static void forget_question(SimQuestion *q)
{
    json_decref(q->heard);
    json_decref(q->body);
}

static bool offers(const SimQuestion *q, const char *name)
{
    json_t *tools = json_object_get(q->body, "tools"), *tool;
    size_t i;
    json_array_foreach(tools, i, tool)
    {
        const json_t *function = json_object_get(tool, "function");
        if (strcmp(text_of(function ? function : tool, "name"), name) == 0) return true;
    }
    return false;
}

static void note_bound(const TfyCall *call)
{
    const TaskRest *rest = rest_of(call->task);
    if (!rest->budget) return;
    for (uint32_t i = 0; i < known.bound_count; i++) {
        Bound *bound = &known.bounds[i];
        if (bound->step != call->step || strcmp(bound->run, known.run) != 0 || strcmp(bound->path, rest->log.path) != 0)
            continue;
        bound->begun++;
        return;
    }
    if (known.bound_count == TALKS) return;
    Bound *bound = &known.bounds[known.bound_count++];
    *bound = (Bound){.step = call->step, .begun = 1};
    snprintf(bound->run, sizeof bound->run, "%s", known.run);
    snprintf(bound->path, sizeof bound->path, "%s", rest->log.path);
}

/* w11: the endpoint's own count. */
static void charge(const SimQuestion *q, int64_t tokens)
{
    char name[NAME_MOST] = "";
    int64_t calls_most = 0, tokens_most = 0;
    if (sscanf(q->budget, "%79[^:]:%lld:%lld", name, (long long *)&calls_most, (long long *)&tokens_most) != 3) return;
    Purse *purse = known.purses;
    while (purse < known.purses + known.purse_count && strcmp(purse->name, name) != 0) purse++;
    if (purse == known.purses + TALKS) return;
    if (purse == known.purses + known.purse_count) {
        known.purse_count++;
        *purse = (Purse){.calls_most = calls_most, .tokens_most = tokens_most};
        snprintf(purse->name, sizeof purse->name, "%s", name);
    }
    purse->calls++;
    purse->tokens += tokens;
    if (purse->calls > purse->calls_most || purse->tokens > purse->tokens_most)
        sim_broken("w11", "a budget of %lld calls and %lld tokens was spent with %lld calls and %lld tokens",
                   (long long)purse->calls_most, (long long)purse->tokens_most, (long long)purse->calls,
                   (long long)purse->tokens);
}

/* ---- what the model says ---- */

typedef struct Said {
    const char *text;
    json_t *calls; /* [[id, name, arguments as a text], …] */
    const char *reason, *refusal;
    bool no_count;
    int64_t tokens;             /* that it came to */
    int64_t prompt, completion; /* … as it says */
    int64_t claims;             /* in their place; 0: it does not lie */
} Said;

static bool chance(uint32_t percent)
{
    return !sim.expecting && sim_percent(&sim.chance, percent);
}

static void add_call(Said *said, const char *name, const char *args)
{
    char id[24];
    snprintf(id, sizeof id, "c%zu", json_array_size(said->calls));
    json_array_append_new(said->calls, json_pack("[s,s,s]", id, name, args));
}

/* Arguments that fit a tool of agents.tfy. */
static void args_of(const SimQuestion *q, const char *name, uint32_t number, char *out, size_t cap)
{
    const uint32_t n = sim.expecting ? 1 : 1 + sim_below(&sim.chance, 6);
    if (strcmp(name, "see") == 0 || strcmp(name, "double") == 0 || strcmp(name, "test_it") == 0 ||
        strcmp(name, "page") == 0)
        snprintf(out, cap, "{\"n\": %u}", n);
    else if (strcmp(name, "jot") == 0)
        snprintf(out, cap, "{\"text\": \"word%u.\"}", sim.expecting ? 0 : ++known.words);
    else if (strcmp(name, "helper") == 0)
        snprintf(out, cap, "{\"task\": \"goal=%.20s-h talk=%.60s.%u%u budget=%s\"}", q->goal, q->talk, q->rounds,
                 number, q->budget);
    else if (strcmp(name, "ask") == 0)
        snprintf(out, cap, "{\"question\": \"who is %s?\"}", q->goal);
    else if (strcmp(name, "give_up") == 0)
        snprintf(out, cap, "{\"why\": \"no way\"}");
    else
        snprintf(out, cap, "{\"who\": \"%s\", \"amount\": %u}", q->goal, n);
}

static void call_some(const SimQuestion *q, Said *said)
{
    static const char *const names[] = {"see",  "jot",     "double", "test_it", "buy",    "enter",
                                        "page", "careful", "helper", "ask",     "give_up"};
    const uint32_t count = sim.expecting ? 1 : 1 + sim_below(&sim.chance, 4);
    for (uint32_t tries = 0; tries < 20 && json_array_size(said->calls) < count; tries++) {
        const uint32_t which = sim.expecting ? tries : sim_below(&sim.chance, sizeof names / sizeof *names);
        char args[400];
        if (which >= sizeof names / sizeof *names || !offers(q, names[which])) continue;
        if (strcmp(names[which], "give_up") == 0 && !chance(10)) continue;
        args_of(q, names[which], tries, args, sizeof args);
        add_call(said, names[which], args);
    }
}

/* The end of the work: what the program prints follows from the goal alone. */
static void finish(const SimQuestion *q, Said *said, char *text, size_t cap)
{
    const bool desk = strcmp(q->goal, "desk") == 0 && offers(q, "answer");
    char value[300];
    if (desk)
        snprintf(value, sizeof value,
                 chance(50) ? "{\"case\": \"hand_over\", \"to\": \"somebody\"}"
                            : "{\"case\": \"reply\", \"text\": \"hello\"}");
    else
        snprintf(value, sizeof value, "{\"text\": \"%s is done\", \"n\": 1}", q->goal);
    if (offers(q, "answer")) {
        snprintf(text, cap, "{\"value\": %s}", value);
        add_call(said, "answer", text);
        said->text = NULL;
        return;
    }
    if (q->offers || *q->form == 'r') snprintf(text, cap, "%s is done", q->goal);
    if (!q->offers && (strcmp(q->form, "chat") == 0 || strncmp(q->goal, "plain", 5) == 0))
        snprintf(text, cap, "%s", value);
    said->text = text;
}

static void lie(const SimQuestion *q, Said *said)
{
    json_t *first = json_array_get(said->calls, 0);
    switch (sim_below(&sim.chance, 14)) {
    case 0: add_call(said, "bogus", "{}"); break;
    case 1: add_call(said, "see", "{\"n\": "); break;
    case 2: add_call(said, "see", "{\"m\": \"x\"}"); break;
    case 3: add_call(said, "jot", "[[[[1]]]]"); break;
    case 4:
        add_call(said, "see", "{\"n\": 1}");
        add_call(said, "see", "{\"n\": 2}");
        json_array_set_new(json_array_get(said->calls, json_array_size(said->calls) - 1), 0, json_string("c0"));
        break;
    case 5:
        if (first) json_array_set_new(first, 0, json_string(""));
        break;
    case 6: said->reason = "length"; break;
    case 7: said->refusal = "I cannot help with that."; break;
    case 8: said->reason = "content_filter"; break;
    case 9:
        for (int i = 0; i < CALLS_MOST; i++) add_call(said, "double", "{\"n\": 1}");
        break;
    case 10: json_array_clear(said->calls), said->text = ""; break;
    case 11: json_array_clear(said->calls), said->text = "hm"; break;
    case 12: said->claims = INT64_MAX; break;
    default: said->no_count = true; break;
    }
}

/* Something beside its calls, or a summary. */
static void remark(const SimQuestion *q, Said *said, char *text, size_t cap)
{
    TfyBuffer made = {0};
    sim_remark(++known.remarks, &made);
    snprintf(text, cap, "%s", made.data);
    tfy__buffer_free(&made);
    said->text = text;
    if (q->compacts) sim_talk_sums_up(sim_talk_of(q), known.remarks);
}

static void sum_up(const SimQuestion *q, Said *said, char *text, size_t cap)
{
    remark(q, said, text, cap);
    if (chance(10)) said->reason = "length";
    said->no_count = chance(10);
}

/* A conversation with a window goes on until it has to be shortened. */
static uint32_t enough_rounds(const SimQuestion *q)
{
    if (sim.expecting) return 1;
    return q->window ? 3 + sim_below(&sim.chance, 16) : 1 + sim_below(&sim.chance, 5);
}

static void work(const SimQuestion *q, Said *said, char *text, size_t cap)
{
    if (!q->offers || q->rounds >= enough_rounds(q))
        finish(q, said, text, cap);
    else
        call_some(q, said);
    if (!json_array_size(said->calls) && !said->text) finish(q, said, text, cap);
    if (json_array_size(said->calls) && !said->text && chance(40)) remark(q, said, text, cap);
    if (chance(q->window ? LIES_PERCENT / 4 : LIES_PERCENT)) lie(q, said);
}

static void think(const SimQuestion *q, Said *said, char *text, size_t cap)
{
    *said = (Said){.calls = json_array(), .reason = "stop"};
    if (q->compacts)
        sum_up(q, said, text, cap);
    else
        work(q, said, text, cap);
    said->prompt = (int64_t)q->len / (q->window ? 3 : 6);
    const json_t *most = json_object_get(q->body, "max_tokens");
    said->completion = (most ? json_integer_value(most) : 400) - (sim.expecting ? 0 : sim_below(&sim.chance, 50));
    said->tokens = said->prompt + said->completion;
    if (said->claims) said->prompt = said->completion = said->claims;
}

/* ---- the wire forms ---- */

static json_t *arguments(const json_t *call)
{
    json_t *args = json_loads(json_string_value(json_array_get(call, 2)), 0, NULL);
    return args ? args : json_incref(json_array_get(call, 2));
}

static json_t *chat_answer(const Said *said)
{
    json_t *calls = json_array(), *call;
    size_t i;
    json_array_foreach(said->calls, i, call) json_array_append_new(
        calls, json_pack("{s:O, s:s, s:{s:O, s:O}}", "id", json_array_get(call, 0), "type", "function", "function",
                         "name", json_array_get(call, 1), "arguments", json_array_get(call, 2)));
    json_t *message = json_pack("{s:s, s:s?, s:s?, s:o}", "role", "assistant", "content", said->text, "refusal",
                                said->refusal, "tool_calls", calls);
    json_t *answer =
        json_pack("{s:s, s:[{s:o, s:s}]}", "model", "c", "choices", "message", message, "finish_reason", said->reason);
    if (!said->no_count)
        json_object_set_new(
            answer, "usage",
            json_pack("{s:I, s:I}", "prompt_tokens", said->prompt, "completion_tokens", said->completion));
    return answer;
}

static json_t *messages_answer(const Said *said)
{
    json_t *content = json_array(), *call;
    const char *reason = said->refusal                         ? "refusal"
                         : strcmp(said->reason, "length") == 0 ? "max_tokens"
                         : strcmp(said->reason, "stop") == 0   ? "end_turn"
                                                               : said->reason;
    size_t i;
    if (said->text) json_array_append_new(content, json_pack("{s:s, s:s}", "type", "text", "text", said->text));
    json_array_foreach(said->calls, i, call) json_array_append_new(
        content, json_pack("{s:s, s:O, s:O, s:o}", "type", "tool_use", "id", json_array_get(call, 0), "name",
                           json_array_get(call, 1), "input", arguments(call)));
    json_t *answer = json_pack("{s:s, s:o, s:s}", "model", "m", "content", content, "stop_reason", reason);
    if (!said->no_count)
        json_object_set_new(answer, "usage",
                            json_pack("{s:I, s:I}", "input_tokens", said->prompt, "output_tokens", said->completion));
    return answer;
}

static json_t *responses_answer(const Said *said)
{
    json_t *output = json_array(), *call;
    const bool whole = strcmp(said->reason, "stop") == 0;
    size_t i;
    if (said->text)
        json_array_append_new(output, json_pack("{s:s, s:[{s:s, s:s}]}", "type", "message", "content", "type",
                                                "output_text", "text", said->text));
    if (said->refusal)
        json_array_append_new(output, json_pack("{s:s, s:[{s:s, s:s}]}", "type", "message", "content", "type",
                                                "refusal", "refusal", said->refusal));
    json_array_foreach(said->calls, i, call) json_array_append_new(
        output, json_pack("{s:s, s:O, s:O, s:O}", "type", "function_call", "call_id", json_array_get(call, 0), "name",
                          json_array_get(call, 1), "arguments", json_array_get(call, 2)));
    json_t *answer =
        json_pack("{s:s, s:s, s:o}", "model", "r", "status", whole ? "completed" : "incomplete", "output", output);
    if (!whole)
        json_object_set_new(
            answer, "incomplete_details",
            json_pack("{s:s}", "reason", strcmp(said->reason, "length") == 0 ? "max_output_tokens" : said->reason));
    if (!said->no_count)
        json_object_set_new(answer, "usage",
                            json_pack("{s:I, s:I}", "input_tokens", said->prompt, "output_tokens", said->completion));
    return answer;
}

static void write_answer(const SimQuestion *q, SimAnswer *answer)
{
    char text[1000];
    Said said;
    think(q, &said, text, sizeof text);
    json_t *whole = *q->form == 'm'   ? messages_answer(&said)
                    : *q->form == 'r' ? responses_answer(&said)
                                      : chat_answer(&said);
    char *bytes = json_dumps(whole, JSON_COMPACT);
    answer->streams = q->streams && chance(STREAMS_PERCENT);
    if (answer->streams)
        sim_stream_write(q, whole, &answer->body);
    else
        tfy__buffer_text(&answer->body, bytes);
    sim_trace("%s answers %s: %.200s", q->form, q->talk, bytes);
    answer->status = 200;
    if (!sim.expecting) charge(q, said.tokens);
    free(bytes);
    json_decref(whole);
    json_decref(said.calls);
}

/* ---- faults ---- */

/* No time, and perhaps until when. */
static void have_no_time(const SimQuestion *q, SimTalk *talk, SimAnswer *answer)
{
    static const int64_t wait_ms[] = {0, 300, 2000, 25000, 86400000};
    static const long statuses[] = {429, 429, 500, 503, 408};
    const int64_t ms = wait_ms[sim_below(&sim.chance, 5)];
    const bool other = strstr(q->form, "chat"); /* another one may be asked at once */
    answer->status = statuses[sim_below(&sim.chance, 5)];
    switch (sim_below(&sim.chance, 5)) {
    case 0: snprintf(answer->header[0], 80, "Retry-After"), snprintf(answer->header[1], 80, "soon, I hope"); return;
    case 1: return;
    case 2:
        snprintf(answer->header[0], 80, "retry-after-ms"), snprintf(answer->header[1], 80, "%lld", (long long)ms);
        break;
    default:
        snprintf(answer->header[0], 80, "Retry-After");
        snprintf(answer->header[1], 80, "%lld", (long long)ms / 1000);
        break;
    }
    if (other) return;
    sim_talk_waits(talk, sim.now_ns + answer->delay_ns + (strchr(answer->header[0], 'm') ? ms : ms / 1000 * 1000) * MS);
}

static void break_off(SimAnswer *answer)
{
    static const CURLcode ends[] = {CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_GOT_NOTHING};
    answer->result = ends[sim_below(&sim.chance, 3)];
    answer->body.len = answer->result == CURLE_GOT_NOTHING ? 0 : sim_below(&sim.chance, (uint32_t)answer->body.len);
    if (answer->streams && chance(30)) answer->result = CURLE_OK; /* it ends in order, but too early */
}

static void say_nonsense(SimAnswer *answer)
{
    static const char *const texts[] = {
        "", "null", "[]", "{}", "<html>busy</html>", "{\"choices\": [7]}", "{\"output\": [1, {}]}"};
    tfy__buffer_reset(&answer->body);
    tfy__buffer_text(&answer->body, texts[sim_below(&sim.chance, sizeof texts / sizeof *texts)]);
}

/* It gives up in the middle. */
static void end_in_error(SimAnswer *answer)
{
    static const char *const errors[] = {
        "\n\ndata: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", \"message\": \"busy\"}}\n\n",
        "\n\ndata: {\"error\": {\"code\": 500, \"message\": \"broken\"}}\n\n", "\n\ndata: {\"choices\": \n\n",
        "\n\ndata: 7\n\n"};
    answer->body.len = sim_below(&sim.chance, (uint32_t)answer->body.len);
    tfy__buffer_text(&answer->body, errors[sim_below(&sim.chance, 4)]);
}

static void refuse(SimAnswer *answer, long status, const char *why)
{
    answer->status = status;
    tfy__buffer_printf(&answer->body, "{\"error\": {\"message\": \"%s\"}}", why);
}

static void go_wrong(const SimQuestion *q, SimTalk *talk, SimAnswer *answer)
{
    switch (sim_below(&sim.chance, 14)) {
    case 0: answer->result = CURLE_COULDNT_CONNECT; return;
    case 1: answer->delay_ns = INT64_MAX; return;
    case 2: answer->status = chance(50) ? 404 : 400; return;
    case 3:
    case 4:
        write_answer(q, answer);
        break_off(answer);
        return;
    case 5:
        write_answer(q, answer);
        answer->body.len = sim_below(&sim.chance, (uint32_t)answer->body.len);
        return;
    case 6:
        write_answer(q, answer);
        say_nonsense(answer);
        return;
    case 7:
        write_answer(q, answer);
        if (answer->streams) end_in_error(answer);
        return;
    case 8:
    case 9: refuse(answer, chance(50) ? 413 : 400, "the context_length is exceeded"); return;
    case 10:
        if (!q->streams) break;
        refuse(answer, 400, "stream is not supported");
        return;
    default: break;
    }
    have_no_time(q, talk, answer);
}

static int64_t delay(void)
{
    if (sim.expecting || sim.plan.still || sim.plan.eager) return 0;
    return (int64_t)sim_below(&sim.chance, chance(10) ? 40000 : 800) * MS;
}

void sim_models_asked(const char *url, const char *body, SimAnswer *answer)
{
    SimQuestion q;
    read_question(&q, url, body);
    answer->delay_ns = delay();
    if (sim.expecting) {
        write_answer(&q, answer);
        forget_question(&q);
        return;
    }
    sim_trace("%s is asked: %s, %u rounds, %zu bytes", q.form, q.said, q.rounds, q.len);
    SimTalk *talk = sim_talk_of(&q);
    sim_talk_heard(talk, &q);
    if (known.begun) note_bound(known.begun);
    if (chance(q.window && !q.compacts ? FAULTS_PERCENT / 3 : FAULTS_PERCENT))
        go_wrong(&q, talk, answer);
    else
        write_answer(&q, answer);
    forget_question(&q);
    sim_left();
}

void sim_models_answered(void)
{
    if (!sim.expecting) sim_left();
}

/* ---- what was done ---- */

void sim_models_performed(const TfyCall *call)
{
    unsigned word;
    if (strcmp(call->tool->name, "jot") != 0 || known.done_count == TALKS) return;
    if (sscanf(((const TfyString *)call->args[0].o)->bytes, "word%u.", &word) != 1) return;
    Done *done = &known.done[known.done_count++];
    done->word = word;
    snprintf(done->run, sizeof done->run, "%s", tfy__run_uuid(call->task));
}

static uint32_t count(const TfyHistory *history, int type, const char *path, int64_t step, const char *word)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->type != type || (step && record->step != step)) continue;
        if (path && strcmp(history->tasks[history->record_tasks[i]].path, path) != 0) continue;
        found += !word || strstr((const char *)record->payload, word);
    }
    return found;
}

/* d11 */
static void check_remark(const TfyLogRecord *record, uint8_t *seen, size_t most)
{
    json_t *plan = sim_record_json(record);
    const char *answer = json_string_value(json_object_get(plan, tfy__member_name(TFY_P_ANSWER)));
    uint32_t number = 0;
    const int whole = answer ? sim_remark_in(answer, &number) : 0;
    if (whole < 0) sim_broken("d11", "the log has a part of what a model said: %.300s", answer);
    if (whole && number < most && seen[number]++)
        sim_broken("d11", "the log has what a model said twice: %.300s", answer);
    json_decref(plan);
}

static void check_remarks(const TfyHistory *history)
{
    static uint8_t seen[1 << 16];
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < history->record_count; i++)
        if (history->records[i].type == TFY_R_LLM_PLAN) check_remark(&history->records[i], seen, sizeof seen);
}

void sim_check_models(const TfyHistory *history, const char *uuid)
{
    check_remarks(history);
    for (uint32_t i = 0; i < known.done_count; i++) {
        const Done *done = &known.done[i];
        char word[32];
        snprintf(word, sizeof word, "word%u.", done->word);
        if (strcmp(done->run, uuid) == 0 && !count(history, TFY_R_LLM_PLAN, NULL, 0, word))
            sim_broken("d9", "a tool was performed for an answer with %s, which is not in the log", word);
    }
    for (uint32_t i = 0; i < known.bound_count; i++) {
        const Bound *bound = &known.bounds[i];
        if (strcmp(bound->run, uuid) != 0) continue;
        const uint32_t recorded = count(history, TFY_R_LLM_REQUEST, bound->path, bound->step, NULL);
        if (recorded < bound->begun)
            sim_broken("d10", "step %lld of task %s was asked %u times under a budget, and the log has %u requests",
                       (long long)bound->step, bound->path, bound->begun, recorded);
    }
}
