/* person.c: decisions of people: approvals, steps in doubt, kills from outside. Every answer is recorded in the
 * chain of its task before it has any effect. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/step/round.h"
#include "value/form.h"
#include "value/type_book.h"

/* ---- answers ---- */

static bool is_yes(const char *answer)
{
    return strcmp(answer, "yes") == 0 || strcmp(answer, "true") == 0 || strcmp(answer, "y") == 0;
}

static bool is_no(const char *answer)
{
    return strcmp(answer, "no") == 0 || strcmp(answer, "false") == 0 || strcmp(answer, "n") == 0;
}

static bool answer_value(const TfyCall *call, const char *answer, TfyValue *out)
{
    char why[TFY_ERROR_TEXT];
    TfyTask *task = call->task;
    const TfyType *type = question_type(call);
    if (type->kind == TFY_STRING) return (out->o = tfy_string_of(task, answer, strlen(answer))) != NULL;
    if (call->tool->forms) return call->tool->forms->read(task, type, answer, out, why);
    if (type->kind == TFY_BOOL) {
        *out = tfy_of_bool(is_yes(answer));
        return is_yes(answer) || is_no(answer);
    }
    for (uint32_t i = 0; type->kind == TFY_ENUM && i < type->case_count; i++) {
        if (strcmp(type->cases[i].name, answer) != 0 || !type->cases[i].bare) continue;
        *out = tfy_of_obj(type->cases[i].bare);
        return true;
    }
    return false;
}

/* The answer is what a person types. */
static bool is_free_text(const TfyType *type)
{
    return type->kind == TFY_STRING || type->kind == TFY_RECORD;
}

/* Names in records that are not a person's. "terminal" was recorded by versions that did not look who sat there. */
static bool is_person(const char *by)
{
    static const char *const others[] = {"", "--yes", "--yolo", "embedding", "fork", "terminal"};
    for (size_t i = 0; by && i < sizeof others / sizeof *others; i++)
        if (strcmp(by, others[i]) == 0) return false;
    return by;
}

bool tfy__person_answered(const Step *step, const char *answer, const char *by, int64_t at_ms, TfyValue *out)
{
    TfyTask *task = step->call.task;
    const TfyType *type = step->call.result, *value_type = question_type(&step->call);
    TfyValue fields[3] = {[2] = tfy_of_int(at_ms)};
    if (!answer_value(&step->call, answer, &fields[0])) return false;
    if (type == value_type) {
        *out = fields[0];
        return true;
    }
    if (is_person(by) && !(fields[1].o = tfy_string_of(task, by, strlen(by)))) return false;
    return (out->o = tfy_record_of(task, type, fields)) != NULL;
}

/* Without memory the reason is left out. */
void tfy__person_reason(TaskRest *rest, const char *why)
{
    free(rest->why);
    rest->why = why ? tfy__sys_strdup(why) : NULL;
}

void tfy_denied(TfyTask *task, uint32_t line, TfyObj *callee)
{
    TaskRest *rest = rest_of(task);
    TfyBuffer text = {0};
    tfy__buffer_printf(&text, "%s was not approved%s%s", ((const TfyString *)callee)->bytes, rest->why ? ": " : "",
                       rest->why ? rest->why : "");
    TfyObj *message = text.failed ? NULL : tfy_string_of(task, text.data, text.len);
    if (message)
        tfy_fail(task, &tfy_type_denied, line, (TfyValue[]){tfy_of_obj(message)});
    else
        tfy__starved(task);
    tfy__buffer_free(&text);
    tfy__person_reason(rest, NULL);
}

static bool record_approval(Step *step, const char *answer, const char *by, const char *why)
{
    TfyCall *call = &step->call;
    TfyBuffer out = {0};
    char id[TFY_KEY_SIZE + 520];
    snprintf(id, sizeof id, "%s/%lld", step->rest->log.path, (long long)call->step);
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_ID, id);
    tfy__put_hex(&out, TFY_P_DIGEST, call->digest);
    tfy__put_text(&out, TFY_P_ANSWER, answer);
    tfy__put_text(&out, TFY_P_BY, by);
    tfy__put_via(&out, call->loop);
    if (why) tfy__put_text(&out, TFY_P_WHY, why);
    tfy__put_end(&out);
    TfyTicket ticket = tfy__step_append(step, TFY_R_APPROVAL, &out);
    tfy__buffer_free(&out);
    return ticket > 0;
}

void tfy__person_gave(Step *step, TfyValue value)
{
    if (asks_more(step))
        step->round->ops->answered(step, value.o);
    else
        tfy__step_answer(step, value);
}

/* The answer is recorded, and takes effect. Its time is that of its record, as in a replay, which may be later than the
 * turn's; a log that forgets has no times. */
static bool give_answer(Step *step, const char *answer, const char *by, const char *why)
{
    TfyValue value;
    const TfyLoop *loop = step->call.loop;
    if (!record_approval(step, answer, by, why)) return false;
    const int64_t recorded_ms = tfy__log_last_ms(loop->log), at_ms = recorded_ms ? recorded_ms : loop->now_ms;
    if (!tfy__person_answered(step, answer, by, at_ms, &value)) return false;
    tfy__person_reason(step->rest, why);
    const bool more = asks_more(step);
    if (more) {
        tfy__timers_del(&step->call.loop->timers, step->timer);
        step->timer = 0;
        tfy__step_queue(step);
    }
    tfy__person_gave(step, value);
    return true;
}

/* Cases that carry values are not answers: a person could not type the values. The compiler ensures that one case
 * is left. */
static const char *first_answer(const TfyType *type)
{
    for (uint32_t i = 0; type->kind == TFY_ENUM && i < type->case_count; i++)
        if (type->cases[i].bare) return type->cases[i].name;
    return "yes";
}

static void answers_text(const TfyType *type, char *text, size_t cap)
{
    size_t len = 0;
    text[0] = '\0';
    if (type->kind == TFY_STRING) snprintf(text, cap, "any text");
    if (type->kind == TFY_RECORD) snprintf(text, cap, "a JSON object with the fields of %s", type->name);
    if (type->kind == TFY_BOOL) snprintf(text, cap, "yes, no");
    for (uint32_t i = 0; type->kind == TFY_ENUM && i < type->case_count && len < cap; i++)
        if (type->cases[i].bare)
            len += (size_t)snprintf(text + len, cap - len, "%s%s", len ? ", " : "", type->cases[i].name);
}

/* Whether more than some words answers it. */
static bool takes_text(const Step *step)
{
    return is_free_text(question_type(&step->call)) && !(asks_more(step) && !step->round->ops->is_form(step));
}

static void say_answers(const Step *step, char *text, size_t cap)
{
    if (asks_more(step))
        snprintf(text, cap, "%s", takes_text(step) ? "a JSON object, yes, no" : "yes, no");
    else
        answers_text(question_type(&step->call), text, cap);
}

/* The option that answers the question, as records name it; NULL: a person does. */
static const char *answers_itself(const TfyCall *call)
{
    const TfyOptions *options = &call->loop->options;
    const TfyAsked *asked = call->site->asked;
    if (call->tool->family != TFY_F_APPROVE) return NULL;
    if (options->approve_all) return "--yolo";
    return options->approve_trusted && !(asked && asked->origins) ? "--yes" : NULL;
}

/* The question is durable: shows it. The step waits without end, or until its timeout. */
void tfy__person_ask(Step *step)
{
    TfyCall *call = &step->call;
    TfyLoop *loop = call->loop;
    const char *question = ((TfyString *)call->args[0].o)->bytes;
    CHECK(step->stage == STAGE_SYNC && !step->queued);
    step->stage = STAGE_RUN;
    step->asking = true;
    if (step->due_ms) tfy__step_arm(step);
    loop->metrics.questions++;
    tfy__activity(call->task, "AwaitingUserApproval", "%s", question);
    const char *by = answers_itself(call);
    if (by) {
        give_answer(step, first_answer(question_type(call)), by, NULL);
        return;
    }
    if (!loop->on_question) return;
    char answers[512];
    say_answers(step, answers, sizeof answers);
    const TfyFrame *frame = frame_at(call->task, call->task->top);
    uint32_t line = call->site->point->line;
    const char *file = tfy__line_file(program_of(step->rest->run), &line);
    TfyQuestion asked = {.run = step->rest->run->uuid,
                         .task = step->rest->log.path,
                         .step = call->step,
                         .workflow = frame->workflow->name,
                         .file = file,
                         .line = line,
                         .question = question,
                         .details = call->args[1].o ? ((TfyString *)call->args[1].o)->bytes : NULL,
                         .call = tfy__call_behind(call),
                         .asked = call->site->asked,
                         .not_by_yes = call->site->asked && loop->options.approve_trusted,
                         .answers = answers,
                         .free_text = takes_text(step)};
    loop->on_question(loop->question_state, &asked);
}

/* ---- steps in doubt ---- */

bool tfy__probe_start(Step *step)
{
    TfyCall *call = &step->call;
    const TfyTool *tool = call->site->tool, *probe = tool->probe;
    TfyObj *key = tfy_string_of(call->task, call->key, strlen(call->key));
    if (!key) {
        step->stage = STAGE_SETTLE;
        tfy__step_queue(step);
        return false;
    }
    /* the same arguments, and the key, which step_drop_key releases */
    call->args[tool->param_count].o = tfy_keep(key);
    cut_temps(call->task);
    call->tool = probe;
    call->result = probe->result;
    return true;
}

static void probe_leave(Step *step)
{
    tfy__step_drop_key(step);
    step->doubt = DOUBT_NONE;
    step->call.tool = step->call.site->tool;
    step->call.result = step->call.site->result;
}

static bool record_resolved(Step *step, const char *how, const char *value_json, const char *by)
{
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_HOW, how);
    if (value_json) tfy__put_json(&out, TFY_P_VALUE, value_json, strlen(value_json));
    tfy__put_text(&out, TFY_P_BY, by);
    tfy__put_via(&out, step->call.loop);
    tfy__put_end(&out);
    TfyTicket ticket = tfy__step_append(step, TFY_R_RESOLVED, &out);
    tfy__buffer_free(&out);
    return ticket > 0;
}

/* null: it was not done, so it is done now, or fails with its attempt's error; a value: it was done, and this is
 * its result. */
void tfy__probe_done(Step *step, TfyValue answer)
{
    TfyObj *found = answer.o;
    probe_leave(step);
    const TfyType *type = step->call.result;
    if (!found && step->failure) {
        tfy__step_denied(step);
        return;
    }
    if (!found) {
        if (!record_resolved(step, "retry", NULL, "probe")) return;
        tfy__step_begin_again(step);
        tfy__step_queue(step);
        return;
    }
    TfyValue value = type->scalar ? tfy_unbox(found) : answer;
    TfyBuffer json = {0};
    if (type->kind == TFY_NOTHING)
        tfy__buffer_text(&json, "null");
    else
        tfy__encode(&json, type, value);
    bool ok = !json.failed && record_resolved(step, "done", json.data, "probe");
    tfy__buffer_free(&json);
    if (ok) tfy__step_answer(step, value);
}

void tfy__person_in_doubt(Step *step)
{
    TfyCall *call = &step->call;
    TfyLoop *loop = call->loop;
    step->stage = STAGE_DOUBT;
    if (step->doubt != DOUBT_RECORDED) {
        TfyBuffer out = {0};
        char why[160];
        snprintf(why, sizeof why,
                 step->failure ? "%.100s failed, and may have been done" : "the process ended while %.100s ran",
                 call->tool->name);
        tfy__put_begin(&out);
        tfy__put_text(&out, TFY_P_TOOL, call->tool->name);
        tfy__put_text(&out, TFY_P_KEY, call->key);
        tfy__put_text(&out, TFY_P_WHY, why);
        if (step->failure) tfy__put_json(&out, TFY_P_ERROR, step->failure, strlen(step->failure));
        tfy__put_end(&out);
        TfyTicket ticket = tfy__step_append(step, TFY_R_IN_DOUBT, &out);
        tfy__buffer_free(&out);
        if (ticket < 0) return;
        step->doubt = DOUBT_RECORDED;
    }
    set_state(call->task, TFY_TASK_WAITING_APPROVAL);
    step->asking = true;
    tfy__activity(call->task, "AwaitingUserApproval", "step %lld (%s) may have happened: tfy resolve %s %lld --task %s",
                  (long long)call->step, call->tool->name, step->rest->run->uuid, (long long)call->step,
                  step->rest->log.path);
    tfy__out_push(loop, OUT_DOUBT, tfy__out_ticket(loop), "", 0);
    if (loop->out.last) loop->out.last->arg = step->rest->log.tid;
}

void tfy__person_tell_doubt(TfyLoop *loop, int64_t tid)
{
    const TaskRest *rest = tfy__task_by_tid(loop, tid);
    const Step *step = rest ? rest->step : NULL;
    if (!loop->on_question || !step || step->stage != STAGE_DOUBT || !step->asking) return;
    const TfyCall *call = &step->call;
    uint32_t line = call->site->point->line;
    const char *file = tfy__line_file(program_of(rest->run), &line);
    const TfyQuestion asked = {.run = rest->run->uuid,
                               .task = rest->log.path,
                               .step = call->step,
                               .workflow = frame_at(call->task, call->task->top)->workflow->name,
                               .file = file,
                               .line = line,
                               .question = call->tool->name,
                               .details = step->failure ? "though it failed" : "before the process ended",
                               .answers = "--done JSON|--retry|--fail",
                               .doubt = true};
    loop->on_question(loop->question_state, &asked);
}

void tfy__person_raise_failed(Step *step)
{
    TfyCall *call = &step->call;
    step->unknown = false;
    if (tfy__step_raise_failure(step)) return;
    TfyTask *task = call->task;
    static const char words[] = "a person said that the step failed";
    TfyObj *text = tfy_string_of(task, words, sizeof words - 1);
    TfyObj *name = tfy_string_of(task, call->tool->name, strlen(call->tool->name));
    if (text && name)
        tfy_fail(task, &tfy_type_tool_error, call->site->point->line,
                 (TfyValue[]){tfy_of_obj(text), tfy_of_obj(name), tfy_of_int(-1)});
    cut_temps(task);
}

/* ---- arrivals ---- */

void tfy__arrive_from(TfyLoop *loop, const TfySender *sender)
{
    loop->sender = sender;
}

void tfy__put_via(TfyBuffer *out, const TfyLoop *loop)
{
    const char *via = loop->sender ? loop->sender->via : NULL;
    if (via) tfy__put_json(out, TFY_P_VIA, via, strlen(via));
}

int tfy__arrived(TfyLoop *loop)
{
    return loop->sender && loop->sender->unsynced ? TFY_OK : tfy__log_sync(loop->log);
}

static Run *run_at_hand(TfyLoop *loop, const char *name)
{
    Run *found = NULL;
    uint8_t uuid[16];
    bool last = strcmp(name, "last") == 0;
    size_t len = strlen(name);
    if (tfy__uuid_read(name, uuid)) return tfy__run_by_uuid(loop, uuid);
    for (Run *run = loop->runs.first; run; run = run->next) {
        if (last || (len >= 4 && strncmp(run->uuid, name, len) == 0)) found = run;
    }
    return found;
}

static Run *reach(TfyLoop *loop, const char *name, bool queued)
{
    Run *run = run_at_hand(loop, name);
    if (!run && loop->parked && tfy__park_reach(loop, name, queued)) run = run_at_hand(loop, name);
    return run;
}

Run *tfy__run_named(TfyLoop *loop, const char *name)
{
    return reach(loop, name, false);
}

int tfy__arrive_nowhere(const TfyLoop *loop, const char *name, char *error_text)
{
    const Diverged *diverged = tfy__diverged_named(loop, name);
    if (diverged) return tfy__diverged_refuse(diverged, error_text);
    snprintf(error_text, TFY_ERROR_TEXT, "no run '%s' is live here", name);
    return TFY_E_ABSENT;
}

int tfy__arrive_refused(TfyLoop *loop, char *error_text)
{
    if (!loop->failure) tfy__loop_fail(loop, TFY_E_NOMEM, "no memory to write a record");
    snprintf(error_text, TFY_ERROR_TEXT, "%.500s", loop->failure_text);
    return loop->failure;
}

static bool waits_for_person(const TaskRest *rest)
{
    const Step *step = rest->step;
    return step && step->asking && (step->stage == STAGE_RUN || step->stage == STAGE_DOUBT);
}

int tfy__waits_elsewhere(const char *run, bool doubt, const char *path, int64_t step, char *error_text)
{
    snprintf(error_text, TFY_ERROR_TEXT, "that step of run %s %s; step %lld of task %s %s: --task %s --step %lld", run,
             doubt ? "is not in doubt" : "asks nothing", (long long)step, path, doubt ? "is" : "does", path,
             (long long)step);
    return TFY_E_STATE;
}

/* The only step that an answer can mean. */
static Step *find_asking(TfyLoop *loop, const char *run_name, const char *path, int64_t step, bool doubt, int *code,
                         char *error_text)
{
    Run *run = tfy__run_named(loop, run_name);
    if (!run) {
        *code = tfy__arrive_nowhere(loop, run_name, error_text);
        return NULL;
    }
    Step *found = NULL, *other = NULL;
    for (TaskRest *rest = run->tasks; rest; rest = rest->next_in_run) {
        const bool aside = rest->step && rest->step->aside;
        if ((!aside && !waits_for_person(rest)) || (rest->step->stage == STAGE_DOUBT) != doubt) continue;
        if ((path && strcmp(rest->log.path, path) != 0) || (step && rest->step->call.step != step)) {
            other = rest->step;
            continue;
        }
        if (found) {
            snprintf(error_text, TFY_ERROR_TEXT, "several tasks of run %s wait for a person: name one with --task PATH",
                     run->uuid);
            *code = TFY_E_INVALID;
            return NULL;
        }
        found = rest->step;
    }
    if (!found && other) {
        *code = tfy__waits_elsewhere(run->uuid, doubt, other->rest->log.path, other->call.step, error_text);
    } else if (!found) {
        snprintf(error_text, TFY_ERROR_TEXT,
                 doubt ? "no step of run %s is in doubt"
                       : "run %s has no open question; it may have been answered already",
                 run->uuid);
        *code = TFY_E_STATE;
    }
    return found;
}

static bool is_another(const TfyLoop *loop, const TfyCall *call)
{
    char digest[17];
    snprintf(digest, sizeof digest, "%016llx", (unsigned long long)call->digest);
    return loop->sender && loop->sender->digest && strcmp(loop->sender->digest, digest) != 0;
}

/* Says what is wrong with the answer to a form. */
static int refuse_form(const TfyCall *call, const TfyType *type, const char *answer, char *error_text)
{
    TfyValue value;
    char why[TFY_ERROR_TEXT] = "";
    (void)call->tool->forms->read(call->task, type, answer, &value, why);
    snprintf(error_text, TFY_ERROR_TEXT, "this question takes a JSON object with the fields of %.60s; %.300s",
             type->name, why);
    return TFY_E_INVALID;
}

int tfy__arrive_approval(TfyLoop *loop, const char *run, const char *path, int64_t number, const char *answer,
                         const char *by, const char *why, char *error_text)
{
    int code = 0;
    Step *step = find_asking(loop, run, path, number, false, &code, error_text);
    if (!step) return code;
    if (step->aside) return step->aside->answer(step, answer, by ? by : "", error_text);
    TfyCall *call = &step->call;
    const TfyType *type = question_type(call);
    TfyValue value;
    if (is_another(loop, call)) {
        snprintf(error_text, TFY_ERROR_TEXT, "run %s asks something else now", step->rest->run->uuid);
        return TFY_E_DIVERGED;
    }
    if (!answer && type->kind == TFY_STRING && !asks_more(step)) {
        snprintf(error_text, TFY_ERROR_TEXT, "this question needs a text as its answer; write it after the run");
        return TFY_E_INVALID;
    }
    if (!answer) answer = "yes";
    if (asks_more(step) && !step->round->ops->fits(step, answer, error_text)) return TFY_E_INVALID;
    if (!answer_value(call, answer, &value)) {
        if (tfy__loop_starved(loop)) return tfy__arrive_refused(loop, error_text);
        char answers[400];
        if (call->tool->forms) return refuse_form(call, type, answer, error_text);
        answers_text(type, answers, sizeof answers);
        snprintf(error_text, TFY_ERROR_TEXT, "'%.60s' is not an answer to this question; it takes one of: %.390s",
                 answer, answers);
        return TFY_E_INVALID;
    }
    if (why && (!call->site->asked || strcmp(answer, "no") != 0)) {
        snprintf(error_text, TFY_ERROR_TEXT, "a reason is given with a no to a question of 'approve'");
        return TFY_E_INVALID;
    }
    if (!give_answer(step, answer, by ? by : "", why)) return tfy__arrive_refused(loop, error_text);
    return tfy__arrived(loop);
}

int tfy__arrive_kill(TfyLoop *loop, const char *run_name, const char *path, bool force, const char *by,
                     char *error_text)
{
    Run *run = reach(loop, run_name, true);
    const Diverged *diverged = run ? NULL : tfy__diverged_named(loop, run_name);
    if (diverged && (!path || strcmp(path, "1") == 0)) return tfy__diverged_kill(loop, diverged, force, by, error_text);
    if (!run) return tfy__arrive_nowhere(loop, run_name, error_text);
    TaskRest *target = path ? tfy__task_by_path(run, path) : run->root;
    if (!target) {
        snprintf(error_text, TFY_ERROR_TEXT, "run '%s' has no such task, or it has ended", run_name);
        return TFY_E_ABSENT;
    }
    if (target->end_state) {
        snprintf(error_text, TFY_ERROR_TEXT, "task %s has already ended", target->log.path);
        return TFY_E_STATE;
    }
    tfy__cancel_request(target, "killed", by, force);
    return loop->failure ? tfy__arrive_refused(loop, error_text) : tfy__arrived(loop);
}

/* The result that a person gives for a step, as the step's type. False: error_text says why it does not fit. */
static bool read_result(const TfyCall *call, const char *json, TfyValue *value, char *error_text)
{
    const TfyType *type = call->result;
    char why[TFY_ERROR_TEXT] = "$: expected a value, but none was given";
    if (type->kind == TFY_NOTHING) {
        const bool fits = !json || strcmp(json, "null") == 0;
        if (!fits) tfy__misfit_nothing(call->step, error_text);
        return fits;
    }
    if (json && tfy__decode_text(call->task, type, json, strlen(json), value, why)) return true;
    tfy__misfit_text(call->step, type->name, why, error_text);
    return false;
}

int tfy__arrive_resolve(TfyLoop *loop, const char *run, const char *path, int64_t number, const char *how,
                        const char *value_json, const char *by, char *error_text)
{
    int code = 0;
    Step *step = find_asking(loop, run, path, number, true, &code, error_text);
    if (!step) return code;
    TfyCall *call = &step->call;
    TfyValue value = {.i = 0};
    bool done = strcmp(how, "done") == 0;
    if (!done && strcmp(how, "retry") != 0 && strcmp(how, "fail") != 0) {
        snprintf(error_text, TFY_ERROR_TEXT, "a step can be resolved with done, retry or fail, not '%.40s'", how);
        return TFY_E_INVALID;
    }
    if (done && !read_result(call, value_json, &value, error_text))
        return tfy__loop_starved(loop) ? tfy__arrive_refused(loop, error_text) : TFY_E_DATA;
    TfyBuffer json = {0};
    if (done && call->result->kind != TFY_NOTHING) tfy__encode(&json, call->result, value);
    bool ok = !json.failed && record_resolved(step, how, json.len ? json.data : NULL, by ? by : "");
    tfy__buffer_free(&json);
    if (!ok) return tfy__arrive_refused(loop, error_text);
    if (done) {
        tfy__step_answer(step, value);
    } else if (strcmp(how, "retry") == 0) {
        tfy__step_begin_again(step);
        tfy__step_queue(step);
    } else {
        tfy__person_raise_failed(step);
        step->stage = STAGE_SETTLE;
        tfy__step_queue(step);
    }
    return tfy__arrived(loop);
}

int tfy_approve(TfyLoop *loop, int64_t tid, const char *answer)
{
    char text[TFY_ERROR_TEXT];
    TaskRest *rest = tfy__task_by_tid(loop, tid);
    if (!rest && loop->parked && tfy__park_reach_tid(loop, tid)) rest = tfy__task_by_tid(loop, tid);
    if (!rest) return TFY_E_ABSENT;
    return tfy__arrive_approval(loop, rest->run->uuid, rest->log.path, 0, answer, "embedding", NULL, text);
}

int tfy_kill(TfyLoop *loop, int64_t tid, bool force)
{
    char text[TFY_ERROR_TEXT];
    TaskRest *rest = tfy__task_by_tid(loop, tid);
    if (!rest && loop->parked && tfy__park_reach_tid(loop, tid)) rest = tfy__task_by_tid(loop, tid);
    if (!rest) return TFY_E_ABSENT;
    return tfy__arrive_kill(loop, rest->run->uuid, rest->log.path, force, "embedding", text);
}

void tfy__on_question(TfyLoop *loop, void (*ask)(void *state, const TfyQuestion *question), void *state)
{
    loop->on_question = ask;
    loop->question_state = state;
}

static void say_waiting(TfyBuffer *out, const TaskRest *rest)
{
    const Step *step = rest->step;
    const char *run = rest->run->uuid, *path = rest->log.path;
    const long long number = (long long)step->call.step;
    bool root = strcmp(path, "1") == 0;
    if (step->stage == STAGE_DOUBT) {
        tfy__buffer_printf(out,
                           "step %lld (%s) may have happened%s; say which:\n  tfy resolve %s "
                           "%lld%s%s --done JSON|--retry|--fail\n",
                           number, step->call.tool->name,
                           step->failure ? " though it failed" : " before the process ended", run, number,
                           root ? "" : " --task ", root ? "" : path);
        return;
    }
    const char *text = ((TfyString *)step->call.args[0].o)->bytes;
    if (step->call.tool->family == TFY_F_SIGNAL) {
        tfy__buffer_printf(out, "task %s waits for signal %s\n  tfy signal %s %s [JSON]\n", path, text, run, text);
        return;
    }
    char answers[512];
    say_answers(step, answers, sizeof answers);
    bool free_text = takes_text(step);
    tfy__buffer_printf(out, "%s (%s)\n  tfy approve %s%s%s%s\n", text, answers, run, root ? "" : " --task ",
                       root ? "" : path, free_text ? " TEXT" : "");
}

static bool waits_for_signal(const TaskRest *rest)
{
    const Step *step = rest->step;
    return step && step->stage == STAGE_RUN && step->call.tool && step->call.tool->family == TFY_F_SIGNAL;
}

uint32_t tfy__waiting_for_people(TfyLoop *loop, uint32_t *signals, char **text)
{
    TfyBuffer out = {0};
    uint32_t count = 0, of_signals = 0;
    for (Run *run = loop->runs.first; run; run = run->next) {
        for (TaskRest *rest = run->tasks; rest; rest = rest->next_in_run) {
            if (!waits_for_person(rest) && !waits_for_signal(rest)) continue;
            count++;
            of_signals += waits_for_signal(rest);
            say_waiting(&out, rest);
        }
    }
    if (signals) *signals = of_signals;
    if (text)
        *text = out.data;
    else
        tfy__buffer_free(&out);
    return count;
}
