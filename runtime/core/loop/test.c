/* test.c: mocks, counts of calls, and the course of one test from its first to its last turn.
 *
 * Mocks with an equal pattern form a queue: each answers once, the last one stays. Among patterns that fit a call,
 * the one with the fewest `_` answers; among equals, the one that was written first. A workflow with mocks is
 * called through a stand-in descriptor, so that calls, spawns and bodies of groups reach the mocks without special
 * code. */
#include "core/loop/test.h"

#include <stdlib.h>
#include <string.h>

#include "core/step/step.h"

#define TURN_MAX 100000 /* of one test */
/* a slice without a stop counts as so many turns: an endless loop is stopped after some 10^8 rounds, as in a fn */
#define SPENT_TURNS 10
#define TRAIL_MAX   20 /* answers shown */
#define SAID_MAX    (1u << 20)

typedef struct Answer {
    const TfyType *type; /* of value */
    TfyValue value;      /* owned */
    bool fails;          /* value is an error to raise */
    int64_t after_ms;    /* how long it takes; TFY_NEVER: it never comes, and type and value say nothing */
    struct Answer *next;
} Answer;

typedef struct Mock {
    const TfyTool *tool; /* or workflow */
    const TfyWorkflow *workflow;
    const TfyField *params;
    uint32_t count; /* parameters */
    char *pattern;  /* a letter for each: '_' or '=' */
    TfyValue *args; /* owned where '=' */
    uint32_t line;  /* of its first `mock` */
    Answer *first, *last;
    Answer *now; /* the answer that is given next, or again */
    bool used;   /* it has answered */
    struct Mock *next;
} Mock;

/* A tool or workflow that was called, and how often. */
typedef struct Counter {
    const void *what; /* TfyTool or TfyWorkflow */
    int64_t count;
    struct Counter *next;
} Counter;

/* An answer on its way. For a workflow the step is a pause of its stand-in. */
typedef struct Late {
    Step *step;
    const Answer *answer;
    uint64_t timer; /* 0: it never comes */
    struct Late *next;
} Late;

/* A stand-in's frame that waits for its answer, or has it: pc is 1 then. */
typedef struct Waiting {
    const TfyTask *task;
    uint32_t top; /* where the frame is */
    const Answer *answer;
    struct Waiting *next;
} Waiting;

/* Replaces a workflow that has mocks. While an answer takes time, its frame is at a point of its own, where a step
 * with a tool of its own waits. */
typedef struct StandIn {
    TfyWorkflow workflow; /* the real one with another `run`; first, so that a frame leads here */
    const TfyWorkflow *real;
    TfyPoint point;
    const TfyPoint *points[1];
    TfyTool pause;
    TfySite site;
    TfyTest *test;
    struct StandIn *next;
} StandIn;

struct TfyTest {
    TfyLoop *loop;
    uint32_t turns; /* so far; see TURN_MAX */
    LIST(Mock) mocks;
    Counter *counters;
    StandIn *stand_ins;
    Late *lates;
    Waiting *waiting;
    TfyBuffer printed; /* for output(): lines, with newlines between them */
    bool printed_any;
    TfyBuffer said;         /* JSON texts, with commas between them */
    char *trail[TRAIL_MAX]; /* a ring */
    uint64_t trail_count;   /* ever */
    char *unanswered;       /* the first call that no mock fits, as a sentence */
    char *missing;          /* the mock that would answer it */
    uint32_t unanswered_line;
    char *assertion; /* the panic of the last assert that failed, and its two values */
    char *left, *right;
};

/* Returns the text of a buffer and empties it; NULL: no memory. */
static char *take_text(TfyBuffer *buffer)
{
    char *text = buffer->failed ? NULL : strdup(buffer->data ? buffer->data : "");
    tfy__buffer_free(buffer);
    return text;
}

/* ---- counting ---- */

/* The effect http is one tool for a test, whatever class its method gives it; and so is approve, whether or not a call
 * is behind it. */
static const TfyTool *called(const TfyCall *call)
{
    return call->tool->effect ? call->tool->effect : call->tool;
}

static Counter *counter_of(TfyTest *test, const void *what)
{
    Counter *counter = test->counters;
    while (counter && counter->what != what) counter = counter->next;
    if (counter) return counter;
    if (!(counter = calloc(1, sizeof *counter))) {
        tfy__loop_fail(test->loop, TFY_E_NOMEM, "no memory for a test");
        return NULL;
    }
    counter->what = what;
    counter->next = test->counters;
    return test->counters = counter;
}

static void count_call(TfyTest *test, const void *what)
{
    Counter *counter = counter_of(test, what);
    if (counter) counter->count++;
}

bool tfy_calls(TfyTask *task, uint32_t line, const TfyTool *tool, const TfyWorkflow *workflow, int64_t *out)
{
    TfyTest *test = task->loop->test;
    if (!test) return tfy_panic(task, line, "calls() is allowed only in a test");
    const Counter *counter = counter_of(test, tool ? (const void *)tool : workflow);
    *out = counter ? counter->count : 0;
    return true;
}

/* ---- the trail ---- */

/* One answer: "call → result". */
static void note_answer(TfyTest *test, TfyBuffer *call, const Answer *answer)
{
    if (answer->after_ms == TFY_NEVER) {
        tfy__buffer_text(call, " never answers");
    } else if (answer->fails) {
        tfy__buffer_text(call, " fails: ");
        tfy__write_text(call, &tfy_type_any_error, answer->value);
    } else if (answer->type->kind != TFY_NOTHING) {
        tfy__buffer_text(call, " → ");
        tfy__test_write_shown(call, answer->type, answer->value);
    }
    char **place = &test->trail[test->trail_count++ % TRAIL_MAX];
    free(*place);
    *place = take_text(call);
}

/* ---- finding an answer ---- */

static bool pattern_fits(const Mock *mock, const TfyValue *args)
{
    for (uint32_t i = 0; i < mock->count; i++)
        if (mock->pattern[i] == '=' && !tfy_equal(mock->params[i].type, mock->args[i], args[i])) return false;
    return true;
}

static uint32_t wildcards(const Mock *mock)
{
    uint32_t count = 0;
    for (const char *p = mock->pattern; *p; p++) count += *p == '_';
    return count;
}

static bool is_for(const Mock *mock, const TfyTool *tool, const TfyWorkflow *workflow)
{
    return mock->tool == tool && mock->workflow == workflow;
}

/* What a person is asked for, whether or not the place wants to know who answers. */
static const TfyType *asked_type(const TfyTool *tool, const TfyType *wanted)
{
    return tool && is_question(tool) ? answered_type(wanted) : wanted;
}

/* An answer of another type does not fit: one place may request a bool, another a case of an enum. A T fits a T?,
 * null does too, and a place without a type (a signal as a statement of its own) takes any answer. */
static bool type_fits(const Mock *mock, const TfyType *type, const TfyType *wanted)
{
    if (type == wanted || wanted->kind == TFY_NOTHING || type == asked_type(mock->tool, wanted)) return true;
    return wanted->kind == TFY_OPTIONAL && (type == wanted->elem || type->kind == TFY_NOTHING);
}

/* An error fits every place, and so does what never comes. */
static bool has_type(const Answer *answer)
{
    return !answer->fails && answer->after_ms != TFY_NEVER;
}

static bool answer_fits(const Mock *mock, const TfyType *wanted)
{
    for (const Answer *a = mock->now; a; a = a->next)
        if (has_type(a) && !type_fits(mock, a->type, wanted)) return false;
    return true;
}

static const Answer *next_answer(Mock *mock)
{
    if (mock->used && mock->now->next) mock->now = mock->now->next;
    mock->used = true;
    return mock->now;
}

/* *other: a mock that fits except for the type of its answer. */
static const Answer *find_answer(TfyTest *test, const TfyTool *tool, const TfyWorkflow *workflow, const TfyValue *args,
                                 const TfyType *wanted, const Mock **other)
{
    Mock *best = NULL;
    for (Mock *mock = test->mocks.first; mock; mock = mock->next) {
        if (!is_for(mock, tool, workflow) || !pattern_fits(mock, args)) continue;
        if (!answer_fits(mock, wanted))
            *other = mock;
        else if (!best || wildcards(mock) < wildcards(best))
            best = mock;
    }
    return best ? next_answer(best) : NULL;
}

/* ---- effects ---- */

/* Effects that need nothing but the loop itself run in a test as they do anywhere. */
static bool runs_here(const TfyTool *tool)
{
    switch (tool->family) {
    case TFY_F_SLEEP:
    case TFY_F_SLEEP_UNTIL:
    case TFY_F_JOIN:
    case TFY_F_SEND:
    case TFY_F_RECV:
    case TFY_F_LOCK:
    case TFY_F_PARALLEL:
    case TFY_F_RACE:
    case TFY_F_ROOM:
    case TFY_F_ABANDON: return true;
    default: return false;
    }
}

/* An example for the right side of `=>`. */
static void write_example(TfyBuffer *out, const TfyType *type)
{
    switch (type->kind) {
    case TFY_NOTHING:
    case TFY_OPTIONAL: tfy__buffer_text(out, "null"); break;
    case TFY_BOOL: tfy__buffer_text(out, "true"); break;
    case TFY_INT: tfy__buffer_text(out, "0"); break;
    case TFY_FLOAT: tfy__buffer_text(out, "0.0"); break;
    case TFY_STRING: tfy__buffer_text(out, "\"…\""); break;
    case TFY_LIST: tfy__buffer_text(out, "[]"); break;
    case TFY_MAP: tfy__buffer_text(out, "{}"); break;
    case TFY_ENUM: tfy__buffer_printf(out, "%s.%s", type->name, type->cases[0].name); break;
    case TFY_RECORD:
        tfy__buffer_text(out, type == &tfy_type_exec_result ? "ExecResult(code: 0, out: \"…\")" : type->name);
        if (type != &tfy_type_exec_result) tfy__buffer_text(out, "(…)");
        break;
    default: tfy__buffer_text(out, "…"); break;
    }
}

/* The first call without an answer fails the test, even if the program handles the error. */
static void note_unanswered(TfyTest *test, const TfyCall *call, const TfyTool *tool, const Mock *other)
{
    TfyBuffer out = {0};
    if (test->unanswered) return;
    tfy__buffer_text(&out, "no mock answers ");
    tfy__test_write_call(&out, tool->name, tool->params, tool->param_count, call->args, tfy__test_write_shown);
    if (other)
        tfy__buffer_printf(&out, "; the one in line %u gives %s, but %s is needed here", other->line,
                           other->now->type->name, call->result->name);
    test->unanswered = take_text(&out);
    tfy__buffer_text(&out, "mock ");
    tfy__test_write_call(&out, tool->name, tool->params, tool->param_count, call->args, tfy__test_write_pattern);
    tfy__buffer_text(&out, " => ");
    write_example(&out, asked_type(call->tool, call->result));
    test->missing = take_text(&out);
    test->unanswered_line = call->site->point->line;
}

static TfyValue value_for(TfyTask *task, const Answer *answer, const TfyType *wanted)
{
    if (wanted->kind == TFY_NOTHING) return tfy_of_int(0);
    if (answer->type->kind == TFY_NOTHING) return tfy_of_obj(NULL);
    if (wanted->kind == TFY_RECORD && answer->type != wanted) { /* who answered is not said */
        const TfyValue fields[] = {answer->value, tfy_of_obj(NULL), tfy_of_int(task->loop->now_ms)};
        return tfy_of_obj(tfy_record_of(task, wanted, fields));
    }
    if (answer->type == wanted || !answer->type->scalar) return answer->value;
    return tfy_of_obj(tfy_box(task, wanted, answer->value));
}

static void note_call(const Step *step, const Answer *answer)
{
    const TfyCall *call = &step->call;
    const TfyTool *tool = called(call);
    TfyBuffer text = {0};
    tfy__test_write_call(&text, tool->name, tool->params, tool->param_count, call->args, tfy__test_write_shown);
    note_answer(call->loop->test, &text, answer);
}

/* answer NULL: there is none. */
static void give_answer(Step *step, const Answer *answer, const Mock *other)
{
    TfyCall *call = &step->call;
    TfyTest *test = call->loop->test;
    const TfyTool *tool = called(call);
    step->in_call = CALL_BEGUN;
    call->loop->in_flight++;
    bool done = answer && !answer->fails;
    TfyValue value = done ? value_for(call->task, answer, call->result) : tfy_of_int(0);
    if (answer && answer->fails) tfy_fail_with(call->task, answer->value.o);
    if (answer) {
        note_call(step, answer);
    } else {
        note_unanswered(test, call, tool, other);
        tfy_panic(call->task, call->site->point->line, "no mock answers %s", tool->name);
    }
    call->outcome = TFY_NOT_DONE; /* a mock that fails reports this; a missing one ends the test */
    if (call->task->error)
        tfy__call_panicked(call);
    else
        tfy__call_done(call, value);
}

/* ---- answers that take time ---- */

/* Takes it off the list; NULL: the step awaits none. */
static Late *take_late(TfyTest *test, const Step *step)
{
    Late **link = &test->lates;
    while (*link && (*link)->step != step) link = &(*link)->next;
    Late *late = *link;
    if (late) *link = late->next;
    return late;
}

void tfy__test_forget(TfyTest *test, const Step *step)
{
    Late *late = take_late(test, step);
    if (late) tfy__timers_del(&test->loop->timers, late->timer);
    free(late);
}

static TfyStatus run_stand_in(TfyTask *task, void *place);

/* It is the step of a stand-in, which waits for the answer of a workflow. */
static bool is_pause(const Step *step)
{
    const TfyTask *task = step->call.task;
    return frame_at(task, task->top)->workflow->run == run_stand_in;
}

static void answer_arrives(void *state)
{
    Step *step = ((Late *)state)->step;
    const Answer *answer = ((Late *)state)->answer;
    free(take_late(step->call.loop->test, step));
    if (is_pause(step))
        tfy__step_answer(step, tfy_of_int(0));
    else
        give_answer(step, answer, NULL);
}

static Waiting *find_waiting(const TfyTest *test, const TfyTask *task)
{
    Waiting *waiting = test->waiting;
    while (waiting && (waiting->task != task || waiting->top != task->top)) waiting = waiting->next;
    return waiting;
}

static void drop_waiting(TfyTest *test, const TfyTask *task)
{
    const Waiting *waiting = find_waiting(test, task);
    Waiting **link = &test->waiting;
    while (*link && *link != waiting) link = &(*link)->next;
    if (!*link) return;
    Waiting *gone = *link;
    *link = gone->next;
    free(gone);
}

/* The step's own time limit runs meanwhile. */
static void await_answer(Step *step, const Answer *answer)
{
    TfyLoop *loop = step->call.loop;
    Late *late = calloc(1, sizeof *late);
    if (late) {
        *late = (Late){.step = step, .answer = answer, .next = loop->test->lates};
        loop->test->lates = late;
        if (answer->after_ms != TFY_NEVER)
            late->timer = tfy__timers_add(&loop->timers, tfy__due_ns(loop, loop->now_ms + answer->after_ms),
                                          answer_arrives, late);
    }
    if (late && answer->after_ms == TFY_NEVER && !is_pause(step)) note_call(step, answer);
    if (!late || (!late->timer && answer->after_ms != TFY_NEVER))
        tfy__loop_fail(loop, TFY_E_NOMEM, "no memory for a test");
    else
        tfy__step_arm(step);
}

bool tfy__test_answers(Step *step)
{
    const TfyCall *call = &step->call;
    TfyTest *test = call->loop->test;
    const Mock *other = NULL;
    if (!test) return false;
    if (is_pause(step)) {
        const StandIn *stand_in = (const StandIn *)frame_at(call->task, call->task->top)->workflow;
        step->stage = STAGE_RUN;
        await_answer(step, find_waiting(stand_in->test, call->task)->answer);
        return true;
    }
    const TfyTool *tool = called(call);
    count_call(test, tool);
    if (runs_here(tool)) return false;
    const Answer *answer = find_answer(test, tool, NULL, call->args, call->result, &other);
    step->stage = STAGE_RUN;
    if (answer && answer->after_ms > 0)
        await_answer(step, answer);
    else
        give_answer(step, answer, other);
    return true;
}

/* ---- workflows ---- */

/* The frame gives up its arguments: while it waits it is at a point where nothing is live. */
static TfyStatus wait_for_answer(TfyTask *task, TfyFrame *frame, const StandIn *stand_in, const Answer *answer)
{
    Waiting *waiting = calloc(1, sizeof *waiting);
    tfy__frame_release(task, frame);
    if (!waiting) {
        tfy__loop_fail(task->loop, TFY_E_NOMEM, "no memory for a test");
        return TFY_WAIT;
    }
    drop_waiting(stand_in->test, task); /* of a task that was killed, whose memory this one has */
    *waiting = (Waiting){.task = task, .top = task->top, .answer = answer, .next = stand_in->test->waiting};
    stand_in->test->waiting = waiting;
    frame->pc = 1;
    return tfy_perform(task, &stand_in->site, NULL, NULL);
}

/* Runs again when the answer's time has come, or when an error ends the wait. */
static TfyStatus go_on(TfyTask *task, const StandIn *stand_in)
{
    const Waiting *waiting = find_waiting(stand_in->test, task);
    const Answer *answer = waiting->answer;
    drop_waiting(stand_in->test, task);
    if (task->error) return TFY_RETURN;
    if (answer->fails)
        tfy_fail_with(task, answer->value.o);
    else
        task->result = tfy__keep_value(answer->type, answer->value);
    return TFY_RETURN;
}

/* The first run of a frame whose workflow has mocks: an answer instead of it, or the real workflow. */
static TfyStatus run_stand_in(TfyTask *task, void *place)
{
    TfyFrame *frame = place;
    const StandIn *stand_in = (const StandIn *)frame->workflow;
    const TfyWorkflow *real = stand_in->real;
    const TfyValue *args = (const TfyValue *)(frame + 1);
    const Mock *other = NULL;
    if (frame->pc) return go_on(task, stand_in);
    const Answer *answer = find_answer(stand_in->test, NULL, real, args, real->result, &other);
    if (!answer) {
        frame->workflow = real;
        return real->run(task, frame);
    }
    TfyBuffer text = {0};
    tfy__test_write_call(&text, real->name, real->params, real->param_count, args, tfy__test_write_shown);
    note_answer(stand_in->test, &text, answer);
    if (answer->after_ms > 0) return wait_for_answer(task, frame, stand_in, answer);
    tfy__frame_release(task, frame);
    if (answer->fails)
        tfy_fail_with(task, answer->value.o);
    else
        task->result = tfy__keep_value(answer->type, answer->value);
    return TFY_RETURN;
}

static StandIn *stand_in_of(TfyTest *test, const TfyWorkflow *workflow)
{
    StandIn *stand_in = test->stand_ins;
    while (stand_in && stand_in->real != workflow) stand_in = stand_in->next;
    return stand_in;
}

static bool add_stand_in(TfyTest *test, const TfyWorkflow *workflow)
{
    if (stand_in_of(test, workflow)) return true;
    StandIn *stand_in = calloc(1, sizeof *stand_in);
    if (!stand_in) return false;
    *stand_in = (StandIn){.workflow = *workflow, .real = workflow, .test = test, .next = test->stand_ins};
    stand_in->workflow.run = run_stand_in;
    stand_in->point = (TfyPoint){.id = "", .line = workflow->line, .kind = TFY_POINT_EFFECT};
    stand_in->points[0] = &stand_in->point;
    stand_in->workflow.resume = stand_in->points;
    stand_in->workflow.resume_count = 1;
    stand_in->pause =
        (TfyTool){.name = workflow->name, .family = TFY_F_EXTERN, .repeat = TFY_PURE, .result = &tfy_type_nothing};
    stand_in->site = (TfySite){.point = &stand_in->point, .tool = &stand_in->pause, .result = &tfy_type_nothing};
    test->stand_ins = stand_in;
    return true;
}

const TfyWorkflow *tfy__test_stand_in(TfyTest *test, const TfyWorkflow *workflow)
{
    count_call(test, workflow);
    const StandIn *stand_in = stand_in_of(test, workflow);
    return stand_in ? &stand_in->workflow : workflow;
}

/* ---- mock ---- */

static bool same_pattern(const Mock *mock, const char *pattern, const TfyValue *args)
{
    if (strcmp(mock->pattern, pattern) != 0) return false;
    for (uint32_t i = 0; i < mock->count; i++)
        if (pattern[i] == '=' && !tfy_equal(mock->params[i].type, mock->args[i], args[i])) return false;
    return true;
}

static bool joins(const Mock *mock, const TfyType *type, bool fails)
{
    for (const Answer *a = mock->first; a && !fails; a = a->next)
        if (has_type(a) && a->type != type) return false;
    return true;
}

static Mock *add_mock(TfyTest *test, const Mock *like, const TfyValue *args)
{
    Mock *mock = calloc(1, sizeof *mock);
    if (!mock) return NULL;
    *mock = *like;
    mock->pattern = strdup(like->pattern);
    mock->args = calloc(like->count + 1, sizeof *mock->args);
    if (!mock->pattern || !mock->args) {
        free(mock->pattern);
        free(mock->args);
        free(mock);
        return NULL;
    }
    for (uint32_t i = 0; i < mock->count; i++)
        if (mock->pattern[i] == '=') mock->args[i] = tfy__keep_value(mock->params[i].type, args[i]);
    LIST_APPEND(&test->mocks, mock, next);
    return mock;
}

static bool add_answer(Mock *mock, const TfyType *type, TfyValue value, bool fails, int64_t after_ms)
{
    Answer *answer = calloc(1, sizeof *answer);
    if (!answer) return false;
    *answer = (Answer){.type = type, .fails = fails, .after_ms = after_ms};
    answer->value = tfy__keep_value(fails ? &tfy_type_any_error : type, value);
    if (!mock->first) mock->now = answer;
    LIST_APPEND(mock, answer, next);
    return true;
}

bool tfy_mock(TfyTask *task, uint32_t line, const TfyTool *tool, const TfyWorkflow *workflow, const char *pattern,
              const TfyValue *args, const TfyType *type, TfyValue answer, bool fails, int64_t after_ms)
{
    TfyTest *test = task->loop->test;
    if (!test) return tfy_panic(task, line, "mock is allowed only in a test");
    const Mock like = {.tool = tool,
                       .workflow = workflow,
                       .params = tool ? tool->params : workflow->params,
                       .count = (uint32_t)strlen(pattern),
                       .pattern = (char *)(uintptr_t)pattern, /* add_mock copies it */
                       .line = line};
    if (type->kind == TFY_NOTHING) answer = tfy_of_int(0);
    Mock *mock = test->mocks.first;
    while (mock && !(is_for(mock, tool, workflow) && same_pattern(mock, pattern, args) &&
                     joins(mock, type, fails || after_ms == TFY_NEVER)))
        mock = mock->next;
    if (!mock) mock = add_mock(test, &like, args);
    bool ok = mock && add_answer(mock, type, answer, fails, after_ms) && (!workflow || add_stand_in(test, workflow));
    return ok || tfy__out_of_memory(task);
}

/* ---- what was printed ---- */

void tfy__test_said(TfyTest *test, bool printed, const char *text, size_t len)
{
    if (printed) {
        if (test->printed_any) tfy__buffer_char(&test->printed, '\n');
        test->printed_any = true;
        tfy__buffer_add(&test->printed, text, len);
    }
    if (test->said.len > SAID_MAX) return;
    if (test->said.len) tfy__buffer_char(&test->said, ',');
    tfy__buffer_json_string(&test->said, text, len);
}

bool tfy_output(TfyTask *task, TfyObj **out)
{
    const TfyTest *test = task->loop->test;
    if (!test) return tfy_panic(task, 0, "output() is allowed only in a test");
    if (test->printed.failed) return tfy__out_of_memory(task);
    return (*out = tfy_string_of(task, test->printed.data ? test->printed.data : "", test->printed.len)) != NULL;
}

/* ---- assert ---- */

static void note_values(TfyTest *test, const TfyTask *task, TfyBuffer *left, TfyBuffer *right)
{
    const TfyString *text = (const TfyString *)tfy_field(task->error, 0).o;
    free(test->assertion);
    free(test->left);
    free(test->right);
    test->assertion = strdup(text->bytes);
    test->left = take_text(left);
    test->right = take_text(right);
}

bool tfy_assert_values(TfyTask *task, uint32_t line, bool ok, const char *text, const TfyType *left_type, TfyValue left,
                       const TfyType *right_type, TfyValue right)
{
    if (ok) return true;
    TfyBuffer a = {0}, b = {0}, shown = {0};
    tfy__encode(&a, left_type, left);
    tfy__encode(&b, right_type, right);
    tfy__buffer_printf(&shown, "assertion failed: %s", text);
    if (!a.failed && !b.failed && a.len <= TFY_TEST_SHOWN_MAX && b.len <= TFY_TEST_SHOWN_MAX)
        tfy__buffer_printf(&shown, " (left: %s, right: %s)", a.data, b.data);
    if (shown.failed)
        tfy__out_of_memory(task);
    else
        tfy_panic(task, line, "%s", shown.data);
    if (task->loop->test && task->error) note_values(task->loop->test, task, &a, &b);
    tfy__buffer_free(&a);
    tfy__buffer_free(&b);
    tfy__buffer_free(&shown);
    return false;
}

/* ---- the course of a test ---- */

static int open_test(TfyLoop **loop, TfyWorld **world, const TfyProgram *program)
{
    *world = tfy__world_virtual(TFY_TEST_TIME_MS, TFY_TEST_SEED);
    if (!*world) return TFY_E_NOMEM;
    int code = tfy_open(loop, program, &(TfyOptions){.world = *world, .quiet = true}, NULL);
    if (code < 0) return code;
    (*loop)->test = calloc(1, sizeof(TfyTest));
    if (!(*loop)->test) return TFY_E_NOMEM;
    (*loop)->test->loop = *loop;
    return 0;
}

void tfy__test_spent(TfyTest *test)
{
    test->turns += SPENT_TURNS;
}

/* Until its run has finished, nothing more can happen, or it takes too long. */
static bool run_turns(TfyLoop *loop)
{
    for (; loop->runs_live && loop->test->turns < TURN_MAX; loop->test->turns++) {
        int happened = tfy_step(loop);
        if (happened < 0) return true;
        if (happened) continue;
        int64_t next_ns = tfy__timers_next(&loop->timers);
        if (next_ns == INT64_MAX) return true;
        loop->world.jump(loop->world.state, next_ns);
    }
    return !loop->runs_live;
}

static const TfyPoint *point_of_task(const TaskRest *rest)
{
    if (!rest->task || rest->task->top == TFY_NO_FRAME) return NULL;
    const TfyFrame *frame = frame_at(rest->task, rest->task->top);
    return frame->pc ? frame->workflow->resume[frame->pc - 1] : NULL;
}

static void say_task(TfyBuffer *out, const TaskRest *rest)
{
    const TfyPoint *point = point_of_task(rest);
    tfy__buffer_printf(out, "task %s (%s)", rest->log.path, rest->workflow->name);
    if (rest->step)
        tfy__buffer_printf(out, " waits for %s", rest->step->call.tool->name);
    else if (rest->task && rest->task->state & T_RETURNING)
        tfy__buffer_text(out, " waits for its children");
    else
        tfy__buffer_text(out, point ? " runs" : " has not started yet");
    if (!point) return;
    uint32_t line = point->line;
    const char *file = tfy__line_file(program_of(rest->run), &line);
    tfy__buffer_printf(out, " in line %u%s%s", line, file ? " of " : "", file ? file : "");
}

/* The tasks that are still alive, at most five. */
static uint32_t say_tasks(TfyBuffer *out, const TfyLoop *loop)
{
    uint32_t count = 0, line = 0;
    for (const Run *run = loop->runs.first; run; run = run->next) {
        for (const TaskRest *rest = run->tasks; rest; rest = rest->next_in_run) {
            if (rest->end_state || ++count > 5) continue;
            tfy__buffer_text(out, count > 1 ? "; " : "");
            say_task(out, rest);
            const TfyPoint *point = point_of_task(rest);
            if (point) line = point->line; /* of the oldest: tasks are listed newest first */
        }
    }
    if (count > 5) tfy__buffer_printf(out, "; and %u more", count - 5);
    return line;
}

static void set_message(TfyTestReport *report, TfyBuffer *text, uint32_t line)
{
    report->message = take_text(text);
    report->line = line;
}

static void report_stuck(TfyLoop *loop, bool still, TfyTestReport *report)
{
    TfyBuffer out = {0};
    if (loop->failure)
        tfy__buffer_text(&out, loop->failure_text);
    else if (still)
        tfy__buffer_text(&out, "the test hangs, since no task can continue: ");
    else
        tfy__buffer_text(&out, "the test does not end: ");
    uint32_t line = loop->failure ? 0 : say_tasks(&out, loop);
    set_message(report, &out, line);
}

static void report_failure(TfyLoop *loop, const TaskRest *root, TfyTestReport *report)
{
    TfyTest *test = loop->test;
    TfyBuffer out = {0};
    const TfyObj *error = root->failure;
    if (!error) {
        tfy__buffer_text(&out, "the test was cancelled");
        set_message(report, &out, 0);
        return;
    }
    const TfyString *message = (const TfyString *)tfy_field(error, 0).o;
    bool panic = error->type == &tfy_type_panic;
    if (panic && test->assertion && strcmp(test->assertion, message->bytes) == 0) {
        report->left = test->left;
        report->right = test->right;
        test->left = test->right = NULL;
        const char *values = strstr(message->bytes, " (left: ");
        tfy__buffer_add(&out, message->bytes, values ? (size_t)(values - message->bytes) : message->byte_len);
    } else {
        if (!panic) tfy__buffer_printf(&out, "%s: ", error->type->name);
        tfy__buffer_add(&out, message->bytes, message->byte_len);
    }
    set_message(report, &out, error->aux);
}

static void report_trail(const TfyTest *test, TfyTestReport *report)
{
    uint64_t from = test->trail_count > TRAIL_MAX ? test->trail_count - TRAIL_MAX : 0;
    tfy__buffer_char(&report->trail, '[');
    if (from) tfy__buffer_printf(&report->trail, "\"(%llu before)\",", (unsigned long long)from);
    for (uint64_t i = from; i < test->trail_count; i++) {
        const char *text = test->trail[i % TRAIL_MAX];
        if (i > from) tfy__buffer_char(&report->trail, ',');
        tfy__buffer_json_string(&report->trail, text ? text : "", text ? strlen(text) : 0);
    }
    tfy__buffer_char(&report->trail, ']');
    tfy__buffer_printf(&report->output, "[%s]", test->said.data ? test->said.data : "");
}

static void report_test(TfyLoop *loop, bool still, TfyTestReport *report)
{
    TfyTest *test = loop->test;
    const Run *run = loop->runs.first;
    if (test->unanswered) {
        report->message = test->unanswered;
        report->missing = test->missing;
        test->missing = NULL;
        report->line = test->unanswered_line;
        test->unanswered = NULL;
    } else if (loop->failure || loop->runs_live) {
        report_stuck(loop, still, report);
    } else if (run->root->end_state != TFY_TASK_COMPLETED) {
        report_failure(loop, run->root, report);
    } else {
        report->ok = true;
    }
    if (report->line) report->file = tfy__line_file(loop->program, &report->line);
    report_trail(test, report);
}

int tfy__test_run(const TfyProgram *program, const TfyWorkflow *test, TfyTestReport *report)
{
    TfyLoop *loop = NULL;
    TfyWorld *world = NULL;
    int64_t tid;
    *report = (TfyTestReport){0};
    int code = open_test(&loop, &world, program);
    if (code >= 0) code = tfy__submit(loop, loop->programs.first, test, NULL, &(TfyStart){.id = NULL}, &tid);
    if (code >= 0) report_test(loop, run_turns(loop), report);
    tfy_close(loop);
    tfy__world_free(world);
    bool whole = report->ok || report->message;
    if (code >= 0 && (!whole || report->trail.failed || report->output.failed)) code = TFY_E_NOMEM;
    return code;
}

void tfy__test_report_free(TfyTestReport *report)
{
    free(report->message);
    free(report->missing);
    free(report->left);
    free(report->right);
    tfy__buffer_free(&report->trail);
    tfy__buffer_free(&report->output);
}

/* ---- the end ---- */

static void free_mock(TfyTask *task, Mock *mock)
{
    for (uint32_t i = 0; i < mock->count; i++)
        if (mock->pattern[i] == '=') tfy__drop_value(task, mock->params[i].type, mock->args[i]);
    while (mock->first) {
        Answer *answer = mock->first;
        mock->first = answer->next;
        tfy__drop_value(task, answer->fails ? &tfy_type_any_error : answer->type, answer->value);
        free(answer);
    }
    free(mock->pattern);
    free(mock->args);
    free(mock);
}

void tfy__test_free(TfyLoop *loop)
{
    TfyTest *test = loop->test;
    TfyTask task = {.heap = &loop->heap, .loop = loop};
    if (!test) return;
    for (Mock *mock; (mock = LIST_TAKE(&test->mocks, next));) {
        free_mock(&task, mock);
    }
    while (test->counters) {
        Counter *counter = test->counters;
        test->counters = counter->next;
        free(counter);
    }
    while (test->lates) {
        Late *late = test->lates;
        test->lates = late->next;
        free(late);
    }
    while (test->waiting) {
        Waiting *waiting = test->waiting;
        test->waiting = waiting->next;
        free(waiting);
    }
    while (test->stand_ins) {
        StandIn *stand_in = test->stand_ins;
        test->stand_ins = stand_in->next;
        free(stand_in);
    }
    for (int i = 0; i < TRAIL_MAX; i++) free(test->trail[i]);
    tfy__buffer_free(&test->printed);
    tfy__buffer_free(&test->said);
    free(test->unanswered);
    free(test->missing);
    free(test->assertion);
    free(test->left);
    free(test->right);
    free(test);
    loop->test = NULL;
}
