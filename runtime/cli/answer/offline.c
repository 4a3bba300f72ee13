#include "cli/answer/offline.h"
#include "cli/frame/cli.h"
#include "cli/look/signal_type.h"
#include "cli/program/fork.h"
#include "cli/program/sent.h"
#include "cli/program/step_type.h"
#include "core/loop.h"
#include "tfy.h"
#include "base/buffer.h"
#include "value/form.h"
#include "wal/history/history.h"
#include "wal/rows/payload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "value/form.h"

/* A program that asks for no forms does not carry what reads them. */
#pragma weak tfy__form_fits

/* The place to which an answer is appended. */
typedef struct Target {
    TfyLogTask *task;
    const TfyLogRecord *record; /* the question, or the InDoubt; NULL for a kill */
    uint32_t count;             /* number of candidates */
} Target;

static const char *text_member(const json_t *json, const char *name)
{
    return json_string_value(json_object_get(json, name));
}

static bool is_question(const TfyLogRecord *record)
{
    return record->type == TFY_R_STEP_START && tfy__record_has(record, TFY_P_QUESTION);
}

/* Returns the record for which a task still waits for a person: its question or its InDoubt, unless a later record of
 * the same step answers it. */
static const TfyLogRecord *open_record(const TfyHistory *history, uint32_t task, bool doubt)
{
    const TfyLogRecord *open = NULL;
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (history->record_tasks[i] != task || tfy__record_is_apart(record)) continue;
        bool opens = doubt ? record->type == TFY_R_IN_DOUBT : is_question(record);
        open = opens ? record : NULL;
    }
    return open;
}

static int fail(char *error_text, int code, const char *format, const char *a, const char *b)
{
    snprintf(error_text, TFY_ERROR_TEXT, format, a, b);
    return code;
}

static int find_open(const TfyHistory *history, const json_t *request, bool doubt, const char *run, Target *target,
                     char *error_text)
{
    const char *path = text_member(request, "task");
    int64_t step = json_integer_value(json_object_get(request, "step"));
    const TfyLogRecord *other = NULL;
    const char *other_path = NULL;
    for (uint32_t i = 0; i < history->task_count; i++) {
        const TfyLogRecord *record = open_record(history, i, doubt);
        if (!record) continue;
        if ((path && strcmp(history->tasks[i].path, path) != 0) || (step && record->step != step)) {
            other = record;
            other_path = history->tasks[i].path;
            continue;
        }
        target->task = &history->tasks[i];
        target->record = record;
        target->count++;
    }
    if (target->count == 1) return TFY_OK;
    if (target->count > 1) {
        return fail(error_text, TFY_E_INVALID, "several tasks of run %s wait for a person: name one with --task PATH%s",
                    run, "");
    }
    if (other) return tfy__waits_elsewhere(run, doubt, other_path, other->step, error_text);
    return fail(error_text, TFY_E_STATE,
                doubt ? "run %s has no step in doubt that this could mean%s"
                      : "run %s has no open question that this could answer%s",
                run, doubt ? "; 'tfy resume' finds out which steps are" : ", or it was already answered");
}

/* ---- the three answers ---- */

/* Accepts "yes" and "no", one of the cases that the question names, the content of a form, or any text, depending on the
 * type. False: `wrong` says why, or else `choices` has what is accepted. */
static bool fits_question(const json_t *type, const char *answer, TfyBuffer *choices, char *wrong)
{
    size_t i;
    const json_t *one;
    bool fits = false;
    if (json_is_string(type) && strcmp(json_string_value(type), "string") == 0) return true;
    if (json_is_object(type)) {
        if (tfy__form_fits) return tfy__form_fits(type, answer, wrong);
        snprintf(wrong, TFY_ERROR_TEXT, "this program asks for no forms and cannot read one; use tfy approve");
        return false;
    }
    if (!json_is_array(type)) {
        tfy__buffer_text(choices, "yes, no");
        return strcmp(answer, "yes") == 0 || strcmp(answer, "no") == 0;
    }
    json_array_foreach(type, i, one)
    {
        tfy__buffer_printf(choices, "%s%s", i ? ", " : "", json_string_value(one));
        fits |= strcmp(json_string_value(one) ? json_string_value(one) : "", answer) == 0;
    }
    return fits;
}

/* What a person said. */
typedef struct Reply {
    const char *answer, *by, *why; /* answer NULL: yes; why NULL: no reason */
} Reply;

static int append(TfyLog *log, const Target *target, TfyRecordType type, TfyBuffer *payload)
{
    const TfyLogRecord *record = target->record;
    tfy__put_end(payload);
    const TfyTicket ticket = tfy__log_append_payload(
        log, target->task, type, record ? record->step : target->task->step, record ? record->point : 0, payload);
    return ticket < 0 ? (int)ticket : tfy__log_sync(log);
}

static int append_answer(TfyLog *log, const Target *target, const TfyPayload *asked, const Reply *reply)
{
    TfyBuffer out = {0};
    const char *id = tfy__payload_text(asked, TFY_P_ID), *digest = tfy__payload_text(asked, TFY_P_DIGEST);
    tfy__put_begin(&out);
    if (id) tfy__put_text(&out, TFY_P_ID, id);
    if (digest) tfy__put_text(&out, TFY_P_DIGEST, digest);
    tfy__put_text(&out, TFY_P_ANSWER, reply->answer);
    tfy__put_text(&out, TFY_P_BY, reply->by);
    if (reply->why) tfy__put_text(&out, TFY_P_WHY, reply->why);
    return append(log, target, TFY_R_APPROVAL, &out);
}

static int answer_question(TfyLog *log, const Target *target, Reply reply, char *error_text)
{
    char wrong[TFY_ERROR_TEXT] = "";
    TfyBuffer choices = {0};
    TfyPayload asked;
    int code = TFY_E_INVALID;
    if (!tfy__payload_open(&asked, target->record)) return TFY_E_NOMEM;
    const json_t *type = tfy__payload_get(&asked, TFY_P_TYPE);
    const bool text = json_is_string(type) && strcmp(json_string_value(type), "string") == 0;
    const bool missing = !reply.answer && text;
    if (!reply.answer) reply.answer = "yes";
    if (missing)
        fail(error_text, code, "this question needs a text as its answer; write it after the run%s%s", "", "");
    else if (!fits_question(type, reply.answer, &choices, wrong))
        fail(error_text, code, *wrong ? "%s%s" : "'%.60s' is not an answer to this question; it takes one of: %.400s",
             *wrong ? wrong : reply.answer, choices.data ? choices.data : "");
    else if (reply.why && !json_is_array(tfy__payload_get(&asked, TFY_P_CALL)))
        fail(error_text, code, "a reason is given with a no to a question of 'approve'%s%s", "", "");
    else
        code = append_answer(log, target, &asked, &reply);
    tfy__buffer_free(&choices);
    tfy__payload_close(&asked);
    return code;
}

static int resolve_step(TfyLog *log, const TfyHistory *history, const Target *target, const json_t *request,
                        const char *by, char *error_text)
{
    json_t *value = json_object_get(request, "value");
    const char *how = text_member(request, "how");
    const uint32_t index = (uint32_t)(target->record - history->records);
    TfyBuffer out = {0};
    if (strcmp(how, "done") == 0 && tfy__step_type_check(history, index, value, error_text) != TFY_OK)
        return TFY_E_DATA;
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_HOW, how);
    if (value) tfy__put_tree(&out, TFY_P_VALUE, value);
    tfy__put_text(&out, TFY_P_BY, by);
    return append(log, target, TFY_R_RESOLVED, &out);
}

static bool has_ended(const TfyHistory *history, uint32_t task)
{
    bool ended = false;
    for (uint32_t i = 0; i < history->record_count; i++) {
        int type = history->records[i].type;
        ended |= history->record_tasks[i] == task && (type == TFY_R_TASK_EXIT || type == TFY_R_TASK_ABORT);
    }
    return ended;
}

/* The record has no "passages", because no live process counts them. The kill is delivered as soon as the task has
 * consumed the records before it. */
static int kill_task(TfyLog *log, const TfyHistory *history, const json_t *request, const char *run, const char *by,
                     char *error_text)
{
    const char *path = text_member(request, "task") ? text_member(request, "task") : "1";
    for (uint32_t i = 0; i < history->task_count; i++) {
        if (strcmp(history->tasks[i].path, path) != 0) continue;
        if (has_ended(history, i))
            return fail(error_text, TFY_E_STATE, "task %s of run %s has already ended", path, run);
        TfyBuffer out = {0};
        tfy__put_begin(&out);
        tfy__put_text(&out, TFY_P_NAME, "kill");
        tfy__put_flag(&out, TFY_P_FORCE, json_is_true(json_object_get(request, "force")));
        tfy__put_text(&out, TFY_P_WHY, "killed");
        tfy__put_text(&out, TFY_P_BY, by);
        return append(log, &(Target){.task = &history->tasks[i]}, TFY_R_SIGNAL, &out);
    }
    return fail(error_text, TFY_E_ABSENT, "run %s has no task %s", run, path);
}

static int send_signal(TfyLog *log, const TfyHistory *history, const json_t *request, const char *by, char *error_text)
{
    const char *id = text_member(request, "id");
    json_t *value = json_object_get(request, "value");
    uint32_t root = 0;
    const int code = tfy__signal_check(history, text_member(request, "name"), value ? value : json_null(), error_text);
    if (code != TFY_OK) return code;
    while (history->tasks[root].tid != history->run.root) root++;
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_tree(&out, TFY_P_NAME, json_object_get(request, "name"));
    if (value)
        tfy__put_tree(&out, TFY_P_VALUE, value);
    else
        tfy__put_json(&out, TFY_P_VALUE, "null", 4);
    if (id) tfy__put_text(&out, TFY_P_ID, id);
    tfy__put_text(&out, TFY_P_BY, by);
    return append(log, &(Target){.task = &history->tasks[root]}, TFY_R_SIGNAL, &out);
}

static int obey(TfyLog *log, const TfyHistory *history, const json_t *request, char run[37], const char *by,
                char *error_text)
{
    Target target = {0};
    const char *what = text_member(request, "do");
    if (strcmp(what, "fork") == 0) return tfy__fork_request(log, history, request, NULL, run, error_text);
    const char *id = strcmp(what, "signal") == 0 ? text_member(request, "id") : NULL;
    if (id && tfy__sent_before(history, id, error_text)) return TFY_OK;
    if (history->run.state >= TFY_TASK_COMPLETED)
        return fail(error_text, TFY_E_STATE, "run %s has already ended%s", run, "");
    if (strcmp(what, "kill") == 0) return kill_task(log, history, request, run, by, error_text);
    if (strcmp(what, "signal") == 0) return send_signal(log, history, request, by, error_text);
    bool doubt = strcmp(what, "resolve") == 0;
    int code = find_open(history, request, doubt, run, &target, error_text);
    if (code != TFY_OK) return code;
    const Reply reply = {.answer = text_member(request, "answer"), .by = by, .why = text_member(request, "why")};
    return doubt ? resolve_step(log, history, &target, request, by, error_text)
                 : answer_question(log, &target, reply, error_text);
}

/* Every opening for writing records itself in the log. */
static int record_opening(TfyLog *log)
{
    const TfyTicket ticket = tfy__log_opened(log, tfy_version(), NULL);
    return ticket < 0 ? (int)ticket : tfy__log_sync(log);
}

int tfy__offline_request(const char *db_path, const json_t *request, const char *by, char run[37], char *error_text)
{
    TfyLog *log = NULL;
    TfyHistory *history = NULL;
    TfyLogOptions options = {.path = db_path, .existing = true, .no_thread = true};
    int code = tfy__log_open(&log, &options, error_text);
    if (code != TFY_OK) return code;
    const bool copies = strcmp(text_member(request, "do"), "fork") == 0;
    code =
        (copies ? tfy__history_read_stored : tfy__history_read)(log, text_member(request, "run"), &history, error_text);
    if (code == TFY_OK) {
        tfy__uuid_text(history->run.uuid, run);
        code = record_opening(log);
        if (code == TFY_OK) code = obey(log, history, request, run, by, error_text);
        if (code != TFY_OK && !*error_text) snprintf(error_text, TFY_ERROR_TEXT, "the log could not be written");
        for (uint32_t i = 0; i < history->task_count; i++) tfy__log_forget_task(log, &history->tasks[i]);
    }
    int closed = tfy__log_close_saying(log, true, error_text);
    tfy__history_free(history);
    /* the request may be in the log, so the caller must not send it again */
    if (code == TFY_OK && closed == TFY_E_HELD) closed = TFY_E_IO;
    return code == TFY_OK ? closed : code;
}
