/* rehearse.c: the calls of an observed run, and their answers from an earlier one. */
#include "cli/program/rehearse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/grow.h"
#include "core/effect.h"
#include "core/loop.h"
#include "core/world.h"
#include "value/json.h"
#include "wal/rows/payload.h"
#include "wal/store/store.h"

typedef struct Answer {
    json_t *line; /* the line of the file; owned */
    const char *path;
    json_int_t step;
    int type;           /* of its record */
    const char *tool;   /* what was requested, NULL: not a tool … */
    const char *digest; /* … and with which arguments */
} Answer;

typedef struct Rehearsal {
    TfyRehearsal hooks; /* what the loop calls; its state is this struct */
    int calls_fd;
    Answer *answers; /* by path and step, attempts in order */
    size_t *asked;   /* those with a digest, by digest; equal ones in the order of answers */
    size_t count, room, asked_count;
    int64_t ahead_ns; /* how far time has jumped */
    uint64_t drawn;   /* random bytes */
} Rehearsal;

/* ---- time: the real one, plus the jumps ---- */

static int64_t mono_ns(void *state)
{
    return tfy__world_real.mono_ns(NULL) + ((Rehearsal *)state)->ahead_ns;
}

static int64_t wall_ms(void *state)
{
    return tfy__world_real.wall_ms(NULL) + ((Rehearsal *)state)->ahead_ns / 1000000;
}

static void jump(void *state, int64_t deadline_ns)
{
    const int64_t left_ns = deadline_ns - mono_ns(state);
    if (left_ns > 0) ((Rehearsal *)state)->ahead_ns += left_ns;
}

/* The same numbers in every run, so that a program's random values are the same too. */
static void draw(void *state, void *bytes, size_t len)
{
    Rehearsal *rehearsal = state;
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

static bool add_answer(Rehearsal *rehearsal, json_t *line)
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
static bool read_answers(Rehearsal *rehearsal, FILE *file)
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

static bool index_asked(Rehearsal *rehearsal)
{
    rehearsal->asked = malloc((rehearsal->count + 1) * sizeof *rehearsal->asked);
    if (!rehearsal->asked) return false;
    for (size_t i = 0; i < rehearsal->count; i++)
        if (rehearsal->answers[i].digest) rehearsal->asked[rehearsal->asked_count++] = i;
    qsort_r(rehearsal->asked, rehearsal->asked_count, sizeof *rehearsal->asked, compare_asked, rehearsal->answers);
    return true;
}

/* One write, so that a line is there whole or not at all. A call that cannot be noted must not be made. */
static void write_line(const Rehearsal *rehearsal, TfyLoop *loop, json_t *line)
{
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    TfyBuffer out = {0};
    tfy__buffer_printf(&out, "%s\n", text ? text : "");
    if (!text || out.failed || write(rehearsal->calls_fd, out.data, out.len) != (ssize_t)out.len)
        tfy__loop_fail(loop, TFY_E_IO, "the calls of the run cannot be written to its file");
    tfy__buffer_free(&out);
    free(text);
    json_decref(line);
}

static void call_ended(void *state, const TfyCall *call, bool ok, const TfyBuffer *payload)
{
    if (payload->failed) return;
    json_t *json = json_loadb(payload->data, payload->len, JSON_ALLOW_NUL, NULL);
    write_line(state, call->loop, json_pack("{s:s,s:o}", ok ? "done" : "failed", call->key, "payload", json));
}

/* ---- calls ---- */

static void note_start(const Rehearsal *rehearsal, const TfyCall *call)
{
    write_line(rehearsal, call->loop,
               json_pack("{s:s,s:i,s:b,s:s}", "start", call->key, "attempt", (int)call->attempt, "once",
                         call->tool->repeat == TFY_ONCE && !call->tool->keyed, "tool", call->tool->name));
}

/* The first answer of a step; count: it has none. */
static size_t find_step(const Rehearsal *rehearsal, const char *path, json_int_t step)
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
static const Answer *find_attempt(const Rehearsal *rehearsal, size_t from, const TfyCall *call, const char *digest)
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
static size_t find_question(const Rehearsal *rehearsal, const TfyCall *call, const char *digest)
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

static const Answer *find_answer(const Rehearsal *rehearsal, const TfyCall *call)
{
    char digest[17];
    tfy__digest_text(call->digest, digest);
    const size_t at = find_step(rehearsal, tfy__task_path(call->task), call->step);
    const Answer *answer = find_attempt(rehearsal, at, call, digest);
    if (answer && answer->type == TFY_R_TIMER_FIRED && !tfy__call_deadline_ns(call))
        answer = NULL; /* another step's limit */
    return answer ? answer : find_attempt(rehearsal, find_question(rehearsal, call, digest), call, digest);
}

/* Members that every outcome may have, and those that name texts: a model that is not asked is sent none. */
static bool is_plain(const char *name)
{
    static const TfyMember plain[] = {TFY_P_TOOL,  TFY_P_DIGEST,  TFY_P_CALL,  TFY_P_VALUE,
                                      TFY_P_ERROR, TFY_P_OUTCOME, TFY_P_AFTER, TFY_P_TEXTS};
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

static void give(TfyCall *call, const Answer *answer)
{
    json_t *payload = json_object_get(answer->line, "payload"), *error = tfy__member_get(payload, TFY_P_ERROR),
           *plain = tfy__member_get(payload, TFY_P_VALUE);
    char text[TFY_ERROR_TEXT];
    TfyValue value = {.i = 0};
    call->record_type = (uint8_t)answer->type;
    add_extra(call, payload);
    if (error) {
        const char *outcome = tfy__member_text(payload, TFY_P_OUTCOME);
        call->outcome = outcome && strcmp(outcome, "unknown") == 0 ? TFY_UNKNOWN : TFY_NOT_DONE;
        tfy__call_fail_recorded(call, error);
    } else if (answer->type == TFY_R_LLM_PLAN && !plain) {
        call->value_in_extra = true;
        if (tfy__call_read(call, &(TfyPayload){.json = payload}, &value))
            tfy__call_done(call, value);
        else
            tfy__call_panicked(call);
    } else if (call->result->kind == TFY_NOTHING || tfy__decode_json(call->task, call->result, plain, &value, text)) {
        tfy__call_done(call, value);
    } else {
        tfy__call_bad_value(call, "$", text);
    }
}

static bool call_starts(void *state, TfyCall *call)
{
    Rehearsal *rehearsal = state;
    if (call->tool != call->site->tool) { /* the tool itself is absent, so its probe knows nothing */
        if (rehearsal->hooks.answers)
            tfy__call_tool_error(call, -1, "%s is not performed in a rehearsal", call->tool->name);
        return rehearsal->hooks.answers;
    }
    note_start(rehearsal, call);
    if (!rehearsal->hooks.answers) return false;
    const Answer *answer = find_answer(rehearsal, call);
    if (!answer)
        tfy__call_unanswered(call);
    else if (answer->type == TFY_R_TIMER_FIRED)
        jump(rehearsal, tfy__call_deadline_ns(call));
    else
        give(call, answer);
    return true;
}

static void stuck(void *state, const TfyCall *call)
{
    (void)state;
    const TfyPoint *point = call->site->point;
    tfy__loop_fail(call->loop, TFY_E_DIVERGED,
                   "task %s waits for %s (line %u), for which the first run has no answer: its tasks race; with "
                   "--real the tools do their work in every trial",
                   tfy__task_path(call->task), call->tool->name, point ? point->line : 0);
}

/* ---- the clock of the program ---- */

static bool recorded_now(void *state, TfyTask *task, int64_t step, int64_t *out)
{
    const Rehearsal *rehearsal = state;
    const size_t at = find_step(rehearsal, tfy__task_path(task), step);
    if (at == rehearsal->count) return false;
    const json_t *now = tfy__member_get(json_object_get(rehearsal->answers[at].line, "payload"), TFY_P_NOW);
    if (now) *out = json_integer_value(now);
    return now != NULL;
}

/* ---- beginning and end ---- */

static void free_rehearsal(void *state)
{
    Rehearsal *rehearsal = state;
    for (size_t i = 0; i < rehearsal->count; i++) json_decref(rehearsal->answers[i].line);
    free(rehearsal->answers);
    free(rehearsal->asked);
    if (rehearsal->calls_fd >= 0) close(rehearsal->calls_fd);
    free(rehearsal);
}

static int open_files(Rehearsal *rehearsal, const char *dir, char *error_text)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/calls", dir);
    rehearsal->calls_fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (rehearsal->calls_fd < 0)
        return tfy__log_refuse(error_text, TFY_E_IO, "%s cannot be written: %s", name, strerror(errno));
    snprintf(name, sizeof name, "%s/answers", dir);
    FILE *file = fopen(name, "re");
    if (!file && errno == ENOENT) return 0;
    const bool good = file && read_answers(rehearsal, file) && index_asked(rehearsal);
    if (file) fclose(file);
    if (!good) return tfy__log_refuse(error_text, TFY_E_DATA, "%s does not contain the answers of a run", name);
    rehearsal->hooks.answers = true;
    return 0;
}

int tfy__rehearse_begin(TfyLoop *loop, const char *dir, char *error_text)
{
    Rehearsal *rehearsal = calloc(1, sizeof *rehearsal);
    if (!rehearsal) return tfy__log_refuse(error_text, TFY_E_NOMEM, "memory ran out");
    rehearsal->hooks = (TfyRehearsal){
        .state = rehearsal,
        .call_starts = call_starts,
        .call_ended = call_ended,
        .now = recorded_now,
        .stuck = stuck,
        .free = free_rehearsal,
        .mono_ns = mono_ns,
        .wall_ms = wall_ms,
        .jump = jump,
        .random = draw,
    };
    const int code = open_files(rehearsal, dir, error_text);
    if (code == 0)
        tfy__rehearse(loop, &rehearsal->hooks);
    else
        free_rehearsal(rehearsal);
    return code;
}
