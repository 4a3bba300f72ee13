/* asked.c: the step with which an `approve` policy asks: its question, the call behind it (asked_rows.c), and how that
 * compares with what was asked before. Only programs with such a policy carry it. */
#include <stdlib.h>
#include <string.h>

#include "core/step/step.h"
#include "observe/asked.h"
#include "value/heap.h"

/* ---- the request ---- */

static bool take(TfyTask *task, const TfySite *site, const TfyValue *args, TfyValue kept[3])
{
    TfyBuffer out = {0};
    memcpy(kept, args, 2 * sizeof *kept);
    kept[2].o = NULL;
    tfy__buffer_char(&out, '[');
    const bool shown = site->asked->show(task, site->asked, args + 2, &out);
    tfy__buffer_char(&out, ']');
    if (shown && out.failed)
        tfy__buffer_refused(task, &out);
    else if (shown)
        kept[2].o = tfy_string_of(task, out.data, out.len);
    tfy__buffer_free(&out);
    return kept[2].o;
}

/* ---- the record of the question ---- */

/* Where the arguments come from is recorded for people. It is not compared, since the lines of a program move: what the
 * record says is taken over. */
static void add_call(const Step *step, const TfyLogRecord *record, TfyBuffer *out)
{
    const char *call = tfy__call_behind(&step->call), *origins = step->call.site->asked->origins;
    size_t len = origins ? strlen(origins) : 0;
    if (record) origins = tfy__record_raw(record, TFY_P_ORIGINS, &len);
    if (!call || out->failed) return;
    out->data[--out->len] = '\0';
    tfy__put_json(out, TFY_P_CALL, call, strlen(call));
    if (origins) tfy__put_json(out, TFY_P_ORIGINS, origins, len);
    tfy__put_end(out);
}

/* The step asks as the record says: about the call in it, or about none if an older runtime wrote it. */
static void ask_as_recorded(Step *step, const char *call, size_t len, TfyBuffer *out)
{
    TfyCall *now = &step->call;
    TfyObj *text = call ? tfy_string_of(now->task, call, len) : NULL;
    tfy_set(now->task, &now->args[2].o, text);
    tfy__buffer_reset(out);
    if ((!call || text) && tfy__step_digest(step))
        tfy__step_start_payload(out, step);
    else
        out->failed = true;
}

/* The program was changed, and nothing was done with the answer: it is no answer to this call. Else the call was made
 * as it was asked about. */
static bool is_outdated(const Step *step, const TfyLogRecord *record)
{
    const Run *run = step->rest->run;
    uint32_t next = run->next_of_task[step->rest->next_record];
    if (next != NO_INDEX && run->history->records[next].type == TFY_R_APPROVAL) next = run->next_of_task[next];
    if (next == NO_INDEX) return !run->loop->replay_only;
    const TfyLogRecord *after = &run->history->records[next];
    return after->type == record->type && after->step == record->step && after->point == record->point;
}

static void take_outdated(const Step *step)
{
    const TfyLogRecord *next;
    tfy__history_take(step->rest);
    next = tfy__history_peek(step->rest);
    if (next && next->type == TFY_R_APPROVAL) tfy__history_take(step->rest);
}

static bool complete(Step *step, const TfyLogRecord *record, TfyBuffer *out)
{
    size_t len = 0;
    const char *call = tfy__call_behind(&step->call),
               *asked = record ? tfy__record_raw(record, TFY_P_CALL, &len) : call;
    const bool same = !record || (asked && call && strlen(call) == len && memcmp(call, asked, len) == 0);
    if (!same && asked && is_outdated(step, record)) {
        take_outdated(step);
        return true;
    }
    if (!same) ask_as_recorded(step, asked, len, out);
    add_call(step, record, out);
    return false;
}

/* ---- for people ---- */

static char *tell(char *text, const TfyQuestion *question, bool details)
{
    TfyBuffer out = {0};
    const char *from = question->asked->origins;
    json_t *call = json_loads(question->call, 0, NULL), *origins = from ? json_loads(from, 0, NULL) : NULL;
    tfy__buffer_text(&out, text);
    tfy__buffer_char(&out, '\n');
    tfy__asked_lines(&out, "  ", call, origins, details);
    if (question->not_by_yes) tfy__asked_why(&out, "  ", origins);
    json_decref(call);
    json_decref(origins);
    free(text);
    if (out.failed) {
        tfy__buffer_free(&out);
        return NULL;
    }
    out.data[--out.len] = '\0'; /* the last line break */
    return out.data;
}

const TfyAsking tfy__asking = {.take = take, .complete = complete, .tell = tell};
