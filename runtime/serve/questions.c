/* questions.c: see questions.h. */
#include "serve/questions.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/look/event.h"
#include "serve/changes.h"
#include "serve/of_run.h"
#include "serve/reader.h"
#include "serve/runs.h"
#include "wal/history/history.h"
#include "wal/rows/payload.h"

enum { LIMIT_USUAL = 50, LIMIT_MOST = 200, READY_MS = 5000, READY_LOOK_NS = 5000000 };

const char *const tfy__questions_parameters[] = {"run", "limit", "cursor", NULL};

/* A question as its record has it, with its run. */
typedef struct Question {
    char run[37], program[128], workflow[128], by[64];
    int64_t lsn;
    json_t *json; /* owned; NULL: not read */
} Question;

/* ---- as JSON ---- */

/* What may be answered; null: any text, or what the form says. */
static json_t *answers_of(const json_t *type)
{
    if (json_is_array(type)) return json_deep_copy(type);
    if (json_is_object(type)) return json_null();
    const char *name = json_string_value(type);
    return name && strcmp(name, "string") == 0 ? json_null() : json_pack("[s, s]", "yes", "no");
}

static void copy(json_t *to, const TfyPayload *payload, TfyMember member)
{
    json_t *value = tfy__payload_get(payload, member);
    json_object_set(to, tfy__member_name(member), value ? value : json_null());
}

/* The task's path, of an id "1.2/4". */
static json_t *path_of(const TfyPayload *payload)
{
    const char *id = tfy__payload_text(payload, TFY_P_ID), *slash = id ? strrchr(id, '/') : NULL;
    return slash ? json_stringn(id, (size_t)(slash - id)) : json_null();
}

static json_t *question_json(const Question *question, const TfyLogRecord *record)
{
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    json_t *json =
        json_pack("{s:s, s:o, s:I, s:s, s:s, s:s, s:o, s:I, s:o}", "run", question->run, "task", path_of(&payload),
                  "step", (json_int_t)record->step, "program", question->program, "workflow", question->workflow, "by",
                  question->by, "asked", tfy__json_time(record->ts_ms), "lsn", (json_int_t)record->lsn, "answers",
                  answers_of(tfy__payload_get(&payload, TFY_P_TYPE)));
    json_t *type = tfy__payload_get(&payload, TFY_P_TYPE);
    json_object_set(json, "form", json_is_object(type) ? type : json_null());
    copy(json, &payload, TFY_P_QUESTION);
    copy(json, &payload, TFY_P_DETAILS);
    copy(json, &payload, TFY_P_CALL);
    copy(json, &payload, TFY_P_ORIGINS);
    copy(json, &payload, TFY_P_DIGEST);
    tfy__payload_close(&payload);
    return json;
}

/* How many questions the run had asked at that point, with this one. */
static uint32_t ordinal_of(TfyRequest *request, const char *run, const TfyLogRecord *record)
{
    TfyHistory *history = NULL;
    char error[TFY_ERROR_TEXT];
    uint32_t count = 0;
    if (tfy__history_read(request->reader->log, run, &history, error) != TFY_OK) return 0;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *other = &history->records[i];
        count += other->type == TFY_R_STEP_START && other->point == record->point && other->lsn <= record->lsn;
    }
    tfy__history_free(history);
    return count;
}

/* What clients call the question: the label of its place, with a number from the second time on; else TASK/STEP. No run uses
 * one twice. */
static json_t *key_of(TfyRequest *request, const TfyEvent *event)
{
    const char *label = tfy__event_point(event);
    const uint32_t ordinal = label && !strpbrk(label, "/#") ? ordinal_of(request, event->run->uuid, event->record) : 0;
    if (ordinal == 1) return json_string(label);
    if (ordinal) return json_sprintf("%s#%u", label, ordinal);
    return json_sprintf("%s/%lld", event->task, (long long)event->record->step);
}

typedef struct Asked {
    TfyRequest *request;
    Question *question;
} Asked;

static int take_asked(void *arg, const TfyEvent *event)
{
    const Asked *asked = arg;
    Question *question = asked->question;
    if (event->record->lsn != question->lsn || !event->run || !tfy__record_has(event->record, TFY_P_QUESTION)) return 1;
    question->json = question_json(question, event->record);
    json_object_set_new(question->json, "key", key_of(asked->request, event));
    return 1;
}

static void take_run(Question *question, const TfyRunShown *run)
{
    snprintf(question->run, sizeof question->run, "%s", run->id);
    snprintf(question->program, sizeof question->program, "%s", run->program);
    snprintf(question->workflow, sizeof question->workflow, "%s", run->workflow);
    snprintf(question->by, sizeof question->by, "%s", run->by);
}

/* ---- the list ---- */

typedef struct Page {
    TfyRequest *request;
    json_t *list;
    const char *task; /* only the question of this step … */
    int64_t step;     /* … 0: all */
} Page;

static void show(void *arg, int64_t lsn, const TfyRunShown *run)
{
    Page *page = arg;
    Question question = {.lsn = lsn};
    take_run(&question, run);
    TfyRequest *request = page->request;
    if (tfy__reader_events(request))
        (void)request->reader->lists->record(request->reader, run->id, lsn, take_asked, &(Asked){request, &question});
    const char *task = json_string_value(json_object_get(question.json, "task"));
    const bool wanted = !page->step || (task && strcmp(task, page->task) == 0 &&
                                        json_integer_value(json_object_get(question.json, "step")) == page->step);
    if (question.json && wanted)
        json_array_append_new(page->list, question.json);
    else
        json_decref(question.json);
}

static void write_list(TfyRequest *request, const json_t *list, int64_t next)
{
    const json_t *one;
    size_t i;
    tfy__buffer_text(&request->answer, "{\"questions\":[");
    json_array_foreach(list, i, one)
    {
        char *text = json_dumps(one, JSON_COMPACT);
        tfy__buffer_printf(&request->answer, "%s%s", i ? "," : "", text ? text : "null");
        free(text);
    }
    tfy__cursor_write(request, 'q', (TfyPlace){.at = next});
}

void tfy__serve_questions(TfyRequest *request)
{
    TfyQuestionsWanted wanted = {.run = tfy__request_parameter(request, "run"), .only = request->caller.only};
    TfyPlace behind;
    int64_t limit, next = 0;
    if (!tfy__request_known(request, tfy__questions_parameters) ||
        !tfy__request_number(request, "limit", LIMIT_USUAL, 1, LIMIT_MOST, &limit) || !tfy__index_awaited(request) ||
        !tfy__cursor_read(request, 'q', &behind))
        return;
    wanted.above = behind.at;
    Page page = {.request = request, .list = json_array()};
    wanted.limit = (uint32_t)limit;
    const int code = request->reader->lists->questions(request->reader, &wanted, show, &page, &next);
    if (code == TFY_OK)
        write_list(request, page.list, next);
    else
        tfy__lists_failed(request, code, "the index cannot be read");
    json_decref(page.list);
}

/* ---- one question ---- */

/* The open question of the step that the path names; the caller owns it. NULL: there is none. */
static json_t *open_question(TfyRequest *request)
{
    enum { TASKS_MOST = 1 << 20 };
    const TfyQuestionsWanted wanted = {.run = request->run->id, .limit = TASKS_MOST};
    Page page = {.request = request,
                 .list = json_array(),
                 .task = request->names.text[1],
                 .step = strtoll(request->names.text[2], NULL, 10)};
    int64_t next;
    if (page.step > 0) (void)request->reader->lists->questions(request->reader, &wanted, show, &page, &next);
    json_t *found = json_incref(json_array_get(page.list, 0));
    json_decref(page.list);
    return found;
}

/* The newest question of the step in the history, and its answer; both NULL: it never asked. */
static void find_answered(const TfyRequest *request, const TfyHistory *history, const TfyLogRecord **asked,
                          const TfyLogRecord **answered)
{
    const int64_t step = strtoll(request->names.text[2], NULL, 10);
    *asked = *answered = NULL;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        const char *path = history->tasks[history->record_tasks[i]].path;
        if (record->step != step || strcmp(path, request->names.text[1]) != 0) continue;
        if (record->type == TFY_R_STEP_START && tfy__record_has(record, TFY_P_QUESTION)) *asked = record;
        if (record->type == TFY_R_APPROVAL && !tfy__record_is_grant(record)) *answered = record;
    }
}

/* The question with its answer; the caller owns it. NULL: the step has asked nothing. */
static json_t *settled_question(TfyRequest *request)
{
    const TfyRunFound *run = request->run;
    TfyHistory *history = NULL;
    const TfyLogRecord *asked, *answered;
    TfyPayload payload;
    char error[TFY_ERROR_TEXT];
    Question question = {.lsn = 0};
    snprintf(question.run, sizeof question.run, "%s", run->id);
    snprintf(question.program, sizeof question.program, "%s", run->program);
    snprintf(question.workflow, sizeof question.workflow, "%s", run->workflow);
    snprintf(question.by, sizeof question.by, "%s", run->by);
    if (tfy__history_read(request->reader->log, run->id, &history, error) != TFY_OK) return NULL;
    find_answered(request, history, &asked, &answered);
    if (asked) question.json = question_json(&question, asked);
    if (question.json && answered) {
        tfy__payload_open(&payload, answered);
        json_object_set_new(question.json, "answer",
                            json_pack("{s:O?, s:O?, s:o}", "answer", tfy__payload_get(&payload, TFY_P_ANSWER), "by",
                                      tfy__payload_get(&payload, TFY_P_BY), "at", tfy__json_time(answered->ts_ms)));
        tfy__payload_close(&payload);
    }
    tfy__history_free(history);
    return question.json;
}

static void set_etag(TfyRequest *request, const json_t *question)
{
    const char *digest = json_string_value(json_object_get(question, "digest"));
    snprintf(request->etag, sizeof request->etag, "\"%.20s\"", digest ? digest : "");
}

void tfy__serve_question(TfyRequest *request)
{
    if (!tfy__request_known(request, (const char *const[]){NULL}) || !tfy__index_awaited(request) ||
        !tfy__run_find(request, request->names.text[0]))
        return;
    json_t *question = open_question(request);
    if (!question) question = settled_question(request);
    if (!question) {
        tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND, "task %.40s asks nothing at step %.20s",
                     request->names.text[1], request->names.text[2]);
        return;
    }
    set_etag(request, question);
    tfy__request_json(request, 200, question);
}

static const char *part(const json_t *answer, const char *name)
{
    const char *text = json_string_value(json_object_get(answer, name));
    return text ? text : "?";
}

/* Why an answer was not taken. */
static void tell_unanswered(TfyRequest *request, json_t *question)
{
    json_t *answer = json_object_get(question, "answer");
    if (answer) {
        tfy__problem(&request->problem, TFY_PROBLEM_ANSWERED, "%.80s answered '%.200s' at %s", part(answer, "by"),
                     part(answer, "answer"), part(answer, "at"));
        request->problem.more = json_pack("{s:O}", "answer", answer);
    } else if (question && !request->run->ended) {
        tfy__problem(&request->problem, TFY_PROBLEM_CHANGED, "something else is asked now");
        request->problem.more = json_pack("{s:O}", "question", question);
        set_etag(request, question);
    } else if (request->run->ended) {
        tfy__problem(&request->problem, TFY_PROBLEM_ENDED, "run %s has ended", request->run->id);
    } else {
        tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND, "task %.40s asks nothing at step %.20s",
                     request->names.text[1], request->names.text[2]);
    }
}

void tfy__serve_unanswered(TfyRequest *request)
{
    json_t *question = settled_question(request);
    tell_unanswered(request, question);
    json_decref(question);
}

static void answer_again(TfyRequest *request)
{
    request->then = tfy__serve_answer;
    tfy__command_ask(request->server, request);
}

void tfy__serve_unready(TfyRequest *request)
{
    json_t *question = settled_question(request);
    const bool open = question && !json_object_get(question, "answer") && !request->run->ended;
    const int64_t now = tfy__monotonic_ms();
    if (!request->until_ms) request->until_ms = now + READY_MS;
    if (!open) {
        tell_unanswered(request, question);
    } else if (now < request->until_ms) {
        nanosleep(&(struct timespec){.tv_nsec = READY_LOOK_NS}, NULL);
        request->pass = answer_again;
    } else {
        tfy__problem(&request->problem, TFY_PROBLEM_BUSY, "run %s is not where it asks yet", request->run->id);
        request->retry_after_s = 1;
    }
    json_decref(question);
}
