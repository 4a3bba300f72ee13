/* rehearse.c: the calls of an observed run, and their answers from an earlier one. */
#include "core/replay/rehearse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/step/step.h"
#include "wal/store/store.h"

typedef struct Answer {
    json_t *line; /* the line of the file; owned */
    const char *path;
    json_int_t step;
    int type;           /* of its record */
    const char *tool;   /* what was requested, NULL: not a tool … */
    const char *digest; /* … and with which arguments */
} Answer;

struct TfyRehearsal {
    int calls_fd;
    bool answering;
    Answer *answers; /* by path and step, attempts in order */
    size_t *asked;   /* those with a digest, by digest; equal ones in the order of answers */
    size_t count, room, asked_count;
    int64_t ahead_ns; /* how far time has jumped */
    uint64_t drawn;   /* random bytes */
};

bool tfy__rehearse_answers(const TfyLoop *loop)
{
    return loop->rehearsal && loop->rehearsal->answering;
}

/* ---- time: the real one, plus the jumps ---- */

static int64_t mono_ns(void *state)
{
    return tfy__world_real.mono_ns(NULL) + ((TfyRehearsal *)state)->ahead_ns;
}

static int64_t wall_ms(void *state)
{
    return tfy__world_real.wall_ms(NULL) + ((TfyRehearsal *)state)->ahead_ns / 1000000;
}

static void jump(void *state, int64_t deadline_ns)
{
    const int64_t left_ns = deadline_ns - mono_ns(state);
    if (left_ns > 0) ((TfyRehearsal *)state)->ahead_ns += left_ns;
}

/* The same numbers in every run, so that a program's random values are the same too. */
static void draw(void *state, void *bytes, size_t len)
{
    TfyRehearsal *rehearsal = state;
    for (size_t i = 0; i < len; i++) {
        const uint64_t count = ++rehearsal->drawn;
        ((uint8_t *)bytes)[i] = (uint8_t)XXH3_64bits(&count, sizeof count);
    }
}

/* ---- the files ---- */

static int compare(const void *a, const void *b)
{
    const Answer *x = a, *y = b;
    const int paths = strcmp(x->path, y->path);
    return paths ? paths : (x->step > y->step) - (x->step < y->step);
}

static bool add_answer(TfyRehearsal *rehearsal, json_t *line)
{
    Answer answer = {.line = line,
                     .path = json_string_value(json_object_get(line, "path")),
                     .step = json_integer_value(json_object_get(line, "step")),
                     .type = (int)json_integer_value(json_object_get(line, "type"))};
    const json_t *payload = json_object_get(line, "payload");
    answer.tool = tfy__member_text(payload, TFY_P_TOOL);
    answer.digest = tfy__member_text(payload, TFY_P_DIGEST);
    if (!GROW(rehearsal->answers, rehearsal->room, rehearsal->count + 1, 64)) return false;
    const bool ordered =
        answer.path && (!rehearsal->count || compare(&rehearsal->answers[rehearsal->count - 1], &answer) <= 0);
    if (ordered) rehearsal->answers[rehearsal->count++] = answer;
    return ordered;
}

/* False: a line is malformed. */
static bool read_answers(TfyRehearsal *rehearsal, FILE *file)
{
    char *line = NULL;
    size_t cap = 0;
    bool good = true;
    while (good && getline(&line, &cap, file) > 0) {
        json_t *json = json_loads(line, JSON_ALLOW_NUL, NULL);
        good = json && add_answer(rehearsal, json);
        if (!good) json_decref(json);
    }
    free(line);
    return good;
}

static int compare_asked(const void *a, const void *b, void *state)
{
    const Answer *answers = state;
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const int digests = strcmp(answers[x].digest, answers[y].digest);
    return digests ? digests : (x > y) - (x < y);
}

static bool index_asked(TfyRehearsal *rehearsal)
{
    rehearsal->asked = malloc((rehearsal->count + 1) * sizeof *rehearsal->asked);
    if (!rehearsal->asked) return false;
    for (size_t i = 0; i < rehearsal->count; i++)
        if (rehearsal->answers[i].digest) rehearsal->asked[rehearsal->asked_count++] = i;
    qsort_r(rehearsal->asked, rehearsal->asked_count, sizeof *rehearsal->asked, compare_asked, rehearsal->answers);
    return true;
}

int tfy__rehearse_begin(TfyLoop *loop, const char *dir, char *error_text)
{
    char name[4096];
    TfyRehearsal *rehearsal = calloc(1, sizeof *rehearsal);
    if (!rehearsal) return tfy__log_refuse(error_text, TFY_E_NOMEM, "memory ran out");
    loop->rehearsal = rehearsal;
    snprintf(name, sizeof name, "%s/calls", dir);
    rehearsal->calls_fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (rehearsal->calls_fd < 0)
        return tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be written: %s", name, strerror(errno));
    loop->world.state = rehearsal;
    loop->world.mono_ns = mono_ns;
    loop->world.wall_ms = wall_ms;
    loop->world.wall_late_ms = NULL;
    loop->world.jump = jump;
    loop->world.random = draw;
    snprintf(name, sizeof name, "%s/answers", dir);
    FILE *file = fopen(name, "re");
    if (!file && errno == ENOENT) return 0;
    const bool good = file && read_answers(rehearsal, file) && index_asked(rehearsal);
    if (file) fclose(file);
    if (!good) return tfy__log_refuse(error_text, TFY_E_DATA, "%s does not contain the answers of a run", name);
    rehearsal->answering = true;
    return 0;
}

void tfy__rehearse_free(TfyLoop *loop)
{
    TfyRehearsal *rehearsal = loop->rehearsal;
    if (!rehearsal) return;
    for (size_t i = 0; i < rehearsal->count; i++) json_decref(rehearsal->answers[i].line);
    free(rehearsal->answers);
    free(rehearsal->asked);
    if (rehearsal->calls_fd >= 0) close(rehearsal->calls_fd);
    free(rehearsal);
    loop->rehearsal = NULL;
}

/* One write, so that a line is there whole or not at all. A call that cannot be noted must not be made. */
static void write_line(Step *step, json_t *line)
{
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    TfyBuffer out = {0};
    tfy__buffer_printf(&out, "%s\n", text ? text : "");
    const TfyRehearsal *rehearsal = step->call.loop->rehearsal;
    if (!text || out.failed || write(rehearsal->calls_fd, out.data, out.len) != (ssize_t)out.len)
        tfy__loop_fail(step->call.loop, TFY_E_IO, "the calls of the run cannot be written to its file");
    tfy__buffer_free(&out);
    free(text);
    json_decref(line);
}

void tfy__rehearse_ended(const Step *step, bool ok, const TfyBuffer *payload)
{
    if (payload->failed) return;
    json_t *json = json_loadb(payload->data, payload->len, JSON_ALLOW_NUL, NULL);
    write_line((Step *)step, json_pack("{s:s,s:o}", ok ? "done" : "failed", step->call.key, "payload", json));
}

/* ---- calls ---- */

static void note_start(Step *step)
{
    const TfyCall *call = &step->call;
    write_line(step, json_pack("{s:s,s:i,s:b,s:s}", "start", call->key, "attempt", (int)call->attempt, "once",
                               call->tool->repeat == TFY_ONCE, "tool", call->tool->name));
}

/* The first answer of a step; count: it has none. */
static size_t find_step(const TfyRehearsal *rehearsal, const char *path, json_int_t step)
{
    const Answer wanted = {.path = path, .step = step};
    size_t from = 0, to = rehearsal->count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (compare(&rehearsal->answers[middle], &wanted) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from < rehearsal->count && compare(&rehearsal->answers[from], &wanted) == 0 ? from : rehearsal->count;
}

/* Whether it answers this request. The end of a time limit and the clock are identified by their place alone. */
static bool answers_call(const Answer *answer, const TfyCall *call, const char *digest)
{
    return !answer->digest ||
           (answer->tool && strcmp(answer->tool, call->tool->name) == 0 && strcmp(answer->digest, digest) == 0);
}

/* The outcome of one attempt of the step whose answers start there; if there were fewer attempts, that of the last
 * one. NULL: none. */
static const Answer *find_attempt(const TfyRehearsal *rehearsal, size_t from, const TfyCall *call, const char *digest)
{
    const Answer *answer = NULL;
    for (size_t i = from; i < rehearsal->count && i - from < call->attempt; i++) {
        if (compare(&rehearsal->answers[i], &rehearsal->answers[from]) != 0) break;
        if (!answers_call(&rehearsal->answers[i], call, digest)) return NULL;
        answer = &rehearsal->answers[i];
    }
    return answer;
}

/* If tasks race, another step may have requested this: the first that did; count: none has. */
static size_t find_question(const TfyRehearsal *rehearsal, const TfyCall *call, const char *digest)
{
    size_t from = 0, to = rehearsal->asked_count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (strcmp(rehearsal->answers[rehearsal->asked[middle]].digest, digest) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    for (; from < rehearsal->asked_count; from++) {
        const Answer *answer = &rehearsal->answers[rehearsal->asked[from]];
        if (strcmp(answer->digest, digest) != 0) break;
        if (answers_call(answer, call, digest)) return find_step(rehearsal, answer->path, answer->step);
    }
    return rehearsal->count;
}

static const Answer *find_answer(const Step *step)
{
    char digest[17];
    const TfyCall *call = &step->call;
    const TfyRehearsal *rehearsal = call->loop->rehearsal;
    tfy__step_digest_text(call->digest, digest);
    const size_t at = find_step(rehearsal, step->rest->log.path, call->step);
    const Answer *answer = find_attempt(rehearsal, at, call, digest);
    if (answer && answer->type == TFY_R_TIMER_FIRED && !step->timer) answer = NULL; /* another step's limit */
    return answer ? answer : find_attempt(rehearsal, find_question(rehearsal, call, digest), call, digest);
}

/* Members that every outcome may have. */
static bool is_plain(const char *name)
{
    static const TfyMember plain[] = {TFY_P_TOOL, TFY_P_DIGEST, TFY_P_VALUE, TFY_P_ERROR, TFY_P_OUTCOME};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(name, tfy__member_name(plain[i])) == 0) return true;
    return false;
}

/* Members of the record that its performer added. */
static void add_extra(TfyCall *call, json_t *payload)
{
    const char *name;
    json_t *member;
    json_object_foreach(payload, name, member)
    {
        if (is_plain(name)) continue;
        char *text = json_dumps(member, JSON_COMPACT | JSON_ENCODE_ANY);
        tfy__buffer_printf(&call->extra, ",\"%s\":%s", name, text ? text : "null");
        free(text);
    }
}

/* The performer of such effects reads a result without a plain value. */
static bool read_by_performer(TfyCall *call, json_t *payload, TfyValue *value)
{
    const TfyPerformer *performer = call->loop->performers[call->tool->family];
    call->value_in_extra = true;
    return performer && performer->replay &&
           performer->replay(call->task, call->site, &(TfyPayload){.json = payload}, value);
}

static void give(Step *step, const Answer *answer)
{
    TfyCall *call = &step->call;
    json_t *payload = json_object_get(answer->line, "payload"), *error = tfy__member_get(payload, TFY_P_ERROR),
           *plain = tfy__member_get(payload, TFY_P_VALUE);
    char text[TFY_ERROR_TEXT];
    TfyValue value = {.i = 0};
    call->record_type = (uint8_t)answer->type;
    add_extra(call, payload);
    if (error) {
        const char *outcome = tfy__member_text(payload, TFY_P_OUTCOME);
        call->outcome = outcome && strcmp(outcome, "unknown") == 0 ? TFY_UNKNOWN : TFY_NOT_DONE;
        tfy__step_raise_recorded(step, error);
        tfy__call_panicked(call);
    } else if (answer->type == TFY_R_LLM_PLAN && !plain) {
        if (read_by_performer(call, payload, &value))
            tfy__call_done(call, value);
        else
            tfy__call_panicked(call);
    } else if (call->result->kind == TFY_NOTHING || tfy__decode_json(call->task, call->result, plain, &value, text)) {
        tfy__call_done(call, value);
    } else {
        tfy__call_bad_value(call, "$", text);
    }
}

bool tfy__rehearse_now(const TfyTask *task, int64_t *out)
{
    const TaskRest *rest = rest_of(task);
    const TfyRehearsal *rehearsal = task->loop->rehearsal;
    if (!tfy__rehearse_answers(task->loop)) return false;
    const size_t at = find_step(rehearsal, rest->log.path, rest->log.step);
    if (at == rehearsal->count) return false;
    const json_t *now = tfy__member_get(json_object_get(rehearsal->answers[at].line, "payload"), TFY_P_NOW);
    if (now) *out = json_integer_value(now);
    return now != NULL;
}

bool tfy__rehearse_call(Step *step)
{
    TfyCall *call = &step->call;
    if (step->doubt == DOUBT_PROBED) { /* the tool itself is absent, so its probe knows nothing */
        if (tfy__rehearse_answers(call->loop))
            tfy__call_tool_error(call, -1, "%s is not performed in a rehearsal", call->tool->name);
        return tfy__rehearse_answers(call->loop);
    }
    note_start(step);
    if (!tfy__rehearse_answers(call->loop)) return false;
    const Answer *answer = find_answer(step);
    if (!answer)
        tfy__step_unanswered(step);
    else if (answer->type == TFY_R_TIMER_FIRED)
        jump(call->loop->rehearsal, tfy__due_ns(call->loop, step->due_ms));
    else
        give(step, answer);
    return true;
}

bool tfy__rehearse_stuck(TfyLoop *loop)
{
    if (!tfy__rehearse_answers(loop)) return false;
    for (const Run *run = loop->runs.first; run; run = run->next)
        for (const TaskRest *rest = run->tasks; rest; rest = rest->next_in_run) {
            const Step *step = rest->end_state ? NULL : rest->step;
            if (!step || step->in_call != CALL_UNANSWERED) continue;
            const TfyPoint *point = step->call.site->point;
            tfy__loop_fail(loop, TFY_E_DIVERGED,
                           "task %s waits for %s (line %u), for which the first run has no answer: its tasks race; with "
                           "--real the tools do their work in every trial",
                           rest->log.path, step->call.tool->name, point ? point->line : 0);
            return true;
        }
    return false;
}
