/* yield.c: effects, nested workflows and their policies. */
#include "interp.h"

#include <stdlib.h>
#include <string.h>

#include "../diff/trace.h"

/* The policies of one yield, evaluated. */
typedef struct Policies {
    int64_t retry, backoff_ms, timeout_ms; /* timeout below 0: none */
    const CatchName *retry_on;             /* NULL: every error that can be tried again */
    const Expr *otherwise;
    const Policy *undo;
} Policies;

/* What is known of a step under way: whether it may have been done although it raised something. */
typedef struct Doubt {
    bool in_flight; /* an attempt has started and has no end */
    bool unknown;   /* the end of an attempt is */
} Doubt;

static bool read_policies(Frame *f, const Expr *e, Policies *p)
{
    *p = (Policies){.timeout_ms = -1};
    for (const Policy *policy = e->policies; policy; policy = policy->next) {
        if (policy->kind == POL_ELSE) p->otherwise = policy->value;
        if (policy->kind == POL_UNDO) p->undo = policy;
        if (policy->kind == POL_ELSE || policy->kind == POL_AS || policy->kind == POL_APPROVE ||
            policy->kind == POL_UNDO)
            continue;
        const Value *value = eval(f, policy->value);
        if (!value) return false;
        if (policy->kind == POL_RETRY) {
            p->retry = value->i;
            p->retry_on = policy->errors;
        }
        if (policy->kind == POL_BACKOFF) p->backoff_ms = value->i;
        if (policy->kind == POL_TIMEOUT) p->timeout_ms = value->i > 0 ? value->i : 0;
    }
    return true;
}

static bool is_retriable(const Frame *f, const Policies *p)
{
    const CoreTypes *core = &f->task->interp->program->core;
    const Raised *raised = &f->task->raised;
    if (raised->kind != RAISED_ERROR) return false;
    const Type *type = raised->error->type;
    const CatchName *name = p->retry_on;
    while (name && name->type != type) name = name->next;
    if (p->retry_on && !name) return false;
    return type != core->denied && type != core->task_failed && type != core->channel_closed && type != core->lost;
}

/* ---- people ---- */

/* Every question is answered yes, or with an enum's first case that carries nothing. */
static const Value *answer_question(const Type *type)
{
    uint32_t index = 0;
    if (type->kind != TYPE_ENUM) return value_bool(true);
    while (type->cases[index].has_fields) index++;
    Value *value = value_items(V_CASE, 0);
    value->type = type;
    value->case_index = index;
    return value;
}

/* A test's mock of approve may say no. */
static bool is_granted(Frame *f, const Value *question)
{
    const CoreTypes *core = &f->task->interp->program->core;
    const Value *args[] = {question, &value_null}, *answer;
    if (!test_answers(f, builtin_by_id(BI_APPROVE), "approve", args, core->boolean, &answer)) return true;
    if (!answer || answer->i) return answer;
    const Value *fields[] = {value_text("", 0)};
    raise_error(f, core->denied, fields);
    return false;
}

/* `approve "question"`: asked before the step is looked at. */
static bool ask_first(Frame *f, const Expr *e)
{
    for (const Policy *policy = e->policies; policy; policy = policy->next) {
        if (policy->kind != POL_APPROVE) continue;
        const Expr *call = e->left;
        for (uint32_t i = 0; i < call->argc; i++)
            if (call->argv[i] && !eval(f, call->argv[i])) return false; /* the call is shown with its arguments */
        const Value *question = eval(f, policy->value);
        if (!question || task_deliver(f->task) || !is_granted(f, question)) return false;
    }
    return true;
}

/* An attempt is over. */
static void note_end(const Frame *f, Doubt *doubt)
{
    const Raised *raised = &f->task->raised;
    if (raised->kind == RAISED_CANCEL) return;
    doubt->in_flight = false;
    if (raised->kind == RAISED_ERROR && raised->error->type == f->task->interp->program->core.timeout)
        doubt->unknown = true;
}

/* ---- effects ---- */

static const Value *performed(Frame *f, bool ok)
{
    return ok ? f->task->answer : NULL;
}

static bool needs_outside(const Expr *call)
{
    BuiltinId id = call->builtin ? call->builtin->id : BI_EXEC;
    return id != BI_SLEEP && id != BI_SLEEP_UNTIL && id != BI_JOIN && id != BI_SEND && id != BI_RECV;
}

static const char *name_of(const Expr *call)
{
    return call->decl ? call->decl->full_name : call->builtin->name;
}

/* A command that printed nothing. */
static const Value *exec_result(const Type *type)
{
    Value *result = value_items(V_RECORD, type->field_count);
    result->type = type;
    for (uint32_t i = 0; i < type->field_count; i++)
        result->items[i] = type->fields[i].type->kind == TYPE_STRING ? value_text("", 0)
                           : type->fields[i].type->kind == TYPE_INT  ? value_int(0)
                                                                     : value_bool(false);
    return result;
}

static const Value *attempt_effect(Frame *f, const Expr *call, const Value **args, const Policies *p)
{
    Task *task = f->task;
    int64_t now_ms = task->interp->now_ms, bound_ms = p->timeout_ms < 0 ? INT64_MAX : now_ms + p->timeout_ms;
    const Value *mocked;
    if (needs_outside(call) && test_answers(f, call->decl ? (const void *)call->decl : call->builtin, name_of(call),
                                            args, call->type, &mocked))
        return mocked;
    if (call->call == CALL_TOOL) {
        const Value *made = perform_tool(f, call->decl, args);
        return call->decl->result_label == LABEL_TRUSTED ? made : from_outside(made);
    }
    switch (call->builtin->id) {
    case BI_EXEC: return from_outside(exec_result(task->interp->program->core.exec_result));
    case BI_SLEEP: return performed(f, task_sleep(task, now_ms + (args[0]->i > 0 ? args[0]->i : 0), bound_ms));
    case BI_SLEEP_UNTIL: return performed(f, task_sleep(task, args[0]->i, bound_ms));
    case BI_APPROVE: return answer_question(call->type);
    case BI_JOIN: return performed(f, task_join(task, args[0]->i, bound_ms));
    case BI_SEND: return performed(f, task_send(task, args[0]->i, args[1], bound_ms));
    case BI_RECV: return performed(f, task_recv(task, args[0]->i, bound_ms));
    case BI_SIGNAL: return from_outside(performed(f, task_signal(task, args[0], bound_ms)));
    case BI_ASK: return performed(f, task_ask(task, bound_ms));
    default: fprintf(stderr, "interp: no effect %s\n", call->builtin->name); exit(70);
    }
}

/* The pause before attempt `next`, which counts from 2. */
static bool pause_before(Frame *f, const Policies *p, int64_t next)
{
    int64_t delay_ms = p->backoff_ms;
    for (int64_t i = 2; i < next && delay_ms < 60000; i++) delay_ms *= 2;
    f->task->raised = (Raised){0};
    return task_pause(f->task, delay_ms > 60000 ? 60000 : delay_ms);
}

static const Value *run_effect(Frame *f, const Expr *call, const Policies *p, const Value **args, Doubt *doubt)
{
    if (task_deliver(f->task)) return NULL;
    for (int64_t attempt = 1;; attempt++) {
        doubt->in_flight = true;
        const Value *value = attempt_effect(f, call, args, p);
        note_end(f, doubt);
        if (value || attempt > p->retry || !is_retriable(f, p)) return value;
        if (!pause_before(f, p, attempt + 1)) return NULL;
    }
}

/* ---- nested workflows ---- */

static const Value *run_nested(Frame *f, const Expr *call, const Policies *p, const Value **args, Doubt *doubt)
{
    const Code code = {.decl = call->decl, .block = call->decl->block};
    for (int64_t attempt = 1;; attempt++) {
        const Value *value;
        doubt->in_flight = true;
        if (activate(f->task, f, code, vars_of(call->decl, args), p->timeout_ms, &value, NULL)) return value;
        note_end(f, doubt);
        if (attempt > p->retry || !is_retriable(f, p)) return NULL;
        if (task_deliver(f->task) || !pause_before(f, p, attempt + 1)) return NULL;
    }
}

/* ---- what answers at once ---- */

static const Value *say(Frame *f, const Value *text)
{
    Buf *out = &f->task->interp->out;
    buf_add(out, text->text, text->len);
    if (!f->task->interp->testing) trace_one_line(out->data + out->len - text->len, text->len);
    buf_text(out, "\n");
    return &value_null;
}

/* A program never sees more of a secret than its name. */
static const Value *secret_text(const Value *name)
{
    Buf text = {0};
    buf_text(&text, "secret:");
    buf_add(&text, name->text, name->len);
    return value_text(text.data, text.len);
}

const Value *effect_now(Frame *f, const Expr *call)
{
    Interp *in = f->task->interp;
    const Value **args = eval_args(f, call);
    if (!args) return NULL;
    switch (call->builtin->id) {
    case BI_PRINT: return say(f, args[0]);
    case BI_LOG:
    case BI_PROGRESS:
    case BI_EMIT:
    case BI_SAVE: return &value_null;
    case BI_SECRET: return secret_text(args[0]);
    case BI_SELF: return value_text(f->task->path, strlen(f->task->path));
    case BI_NOW: return value_int(in->now_ms);
    case BI_KILL: task_kill(in->tasks[args[0]->i]); return &value_null;
    case BI_CHANNEL:
        if (args[0]->i >= 1) return value_int(channel_make(in, args[0]->i));
        panic(f, "a channel needs room for at least 1 message, not %lld", (long long)args[0]->i);
        return NULL;
    default: fprintf(stderr, "interp: no effect %s\n", call->builtin->name); exit(70);
    }
}

/* ---- the public verbs ---- */

const Value *eval_yield(Frame *f, const Expr *e)
{
    const Expr *call = e->left;
    Policies p;
    if (call->call == CALL_BUILTIN && !call->builtin->suspends) return effect_now(f, call);
    if (!ask_first(f, e)) return NULL;
    const Value **args = eval_args(f, call);
    if (!args || !read_policies(f, e, &p)) return NULL;
    look_at_command(f, e, args);
    Doubt doubt = {0};
    Undo *undo = p.undo ? undo_push(f, p.undo) : NULL;
    const Value *value =
        call->call == CALL_WORKFLOW ? run_nested(f, call, &p, args, &doubt) : run_effect(f, call, &p, args, &doubt);
    const Raised *raised = &f->task->raised;
    if (undo && value) undo->answer = value;
    if (undo && !value && !doubt.in_flight && !doubt.unknown) undo_drop(f, undo);
    if (value || !p.otherwise || raised->kind != RAISED_ERROR) return value;
    if (raised->error->type == f->task->interp->program->core.denied) return NULL;
    f->task->raised = (Raised){0};
    return eval(f, p.otherwise);
}

const Value *eval_spawn(Frame *f, const Expr *e)
{
    const Value **args = eval_args(f, e->left);
    const Decl *decl = e->left->decl;
    if (!args) return NULL;
    Code code = {.decl = decl, .block = decl->block};
    return value_int(task_start(f->task->interp, f->task, code, vars_of(decl, args), e->detached)->number);
}
