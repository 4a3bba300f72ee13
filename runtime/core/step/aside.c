/* aside.c: a question to a person about a call that is under way: may it have what its sandbox refused?
 *
 * For the log the call is under way all the time. Nothing is recorded of the question: a call that is killed meanwhile
 * starts again, fails again and asks again. A grant is recorded before the call gets it, as an Approval of no step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/step/step.h"

#define ANSWERS "once, this run, no"

typedef struct Asking {
    struct Aside aside; /* first */
    char *grant;        /* "TOOL:reads=PATH"; owned */
    TfyGranted *answered;
} Asking;

static void end(Step *step)
{
    Asking *asking = (Asking *)step->aside;
    free(asking->grant);
    free(asking);
    step->aside = NULL;
}

static bool record_grant(const Step *step, const char *grant, const char *answer, const char *by)
{
    const TfyCall *call = &step->call;
    TfyBuffer out = {0};
    char id[TFY_KEY_SIZE + 520];
    snprintf(id, sizeof id, "%s/%lld", step->rest->log.path, (long long)call->step);
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_ID, id);
    tfy__put_hex(&out, TFY_P_DIGEST, call->digest);
    tfy__put_text(&out, TFY_P_ANSWER, answer);
    tfy__put_text(&out, TFY_P_BY, by);
    tfy__put_via(&out, call->loop);
    tfy__put_text(&out, TFY_P_GRANT, grant);
    tfy__put_end(&out);
    const bool recorded = tfy__call_note((TfyCall *)call, TFY_R_APPROVAL, &out);
    tfy__buffer_free(&out);
    return recorded;
}

static bool is_one_of(const char *answer, const char *word, const char *other)
{
    return answer && (strcmp(answer, word) == 0 || strcmp(answer, other) == 0);
}

static int take_answer(Step *step, const char *answer, const char *by, char *error_text)
{
    TfyCall *call = &step->call;
    TfyLoop *loop = call->loop;
    const bool for_run = is_one_of(answer, "this run", "run"), once = is_one_of(answer, "once", "once");
    const bool no = is_one_of(answer, "no", "n");
    if (!once && !for_run && !no) {
        snprintf(error_text, TFY_ERROR_TEXT, "'%.60s' is not an answer to this question; it takes one of: " ANSWERS,
                 answer ? answer : "");
        return TFY_E_INVALID;
    }
    Asking *asking = (Asking *)step->aside;
    TfyGranted *answered = asking->answered;
    char *grant = asking->grant;
    asking->grant = NULL;
    end(step);
    bool fine = no || (record_grant(step, grant, for_run ? "this run" : "once", by) && !tfy__log_sync(loop->log));
    if (fine && for_run) fine = tfy__ceiling_grant(step->rest->run, grant);
    if (!fine && !loop->failure) tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for a grant");
    if (fine) answered(call, no ? NULL : grant); /* which may end the call, and free it */
    free(grant);
    return loop->failure ? tfy__arrive_refused(loop, error_text) : TFY_OK;
}

bool tfy__call_ask(TfyCall *call, const char *question, const char *grant, TfyGranted *answered)
{
    Step *step = step_of_call(call);
    TfyLoop *loop = call->loop;
    if (!loop->options.escalate || !loop->on_question || loop->draining || step->in_call != CALL_BEGUN) return false;
    Asking *asking = tfy__sys_calloc(1, sizeof *asking);
    char *text = asking ? tfy__sys_strdup(grant) : NULL;
    if (!text) {
        free(asking);
        return false;
    }
    *asking = (Asking){.aside = {.answer = take_answer, .end = end}, .grant = text, .answered = answered};
    step->aside = &asking->aside;
    loop->metrics.questions++;
    tfy__activity(call->task, "AwaitingUserApproval", "%s", question);
    uint32_t line = call->site->point->line;
    const char *file = tfy__line_file(program_of(step->rest->run), &line);
    loop->on_question(loop->question_state,
                      &(TfyQuestion){.run = step->rest->run->uuid,
                                     .task = step->rest->log.path,
                                     .step = call->step,
                                     .workflow = frame_at(call->task, call->task->top)->workflow->name,
                                     .file = file,
                                     .line = line,
                                     .question = question,
                                     .answers = ANSWERS});
    return true;
}
