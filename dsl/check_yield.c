/* check_yield.c: yield with its policies, and spawn: what makes a call a step or a task of its own. */
#include "agent.h"
#include "check_internal.h"

/* ---- labels ---- */

void check_label(Check *c, Name label)
{
    if (!label.text || !c->body) return;
    const Span *before = name_table_get(&c->body->labels, label.text);
    if (before) {
        Diag *diag = diag_error(c->diags, label.span, "two points with the label \"%s\"", label.text);
        diag_other(c->diags, diag, *before, "the first one");
        return;
    }
    Span *span = arena_new(c->arena, Span);
    *span = label.span;
    name_table_put(c, &c->body->labels, label.text, span);
}

static void check_label_policy(Check *c, const Policy *policy)
{
    const Expr *part = policy->value->parts;
    const char *text = part ? arena_strndup(c->arena, part->text, part->text_len) : "";
    check_label(c, (Name){text, policy->value->span});
}

static const char *policy_word(PolicyKind kind)
{
    static const char *const words[] = {[POL_RETRY] = "retry", [POL_BACKOFF] = "backoff", [POL_TIMEOUT] = "timeout",
                                        [POL_ELSE] = "else",   [POL_UNDO] = "undo",       [POL_AS] = "as",
                                        [POL_KEY] = "key",     [POL_APPROVE] = "approve", [POL_TIMES] = "times",
                                        [POL_CALL] = ""};
    return words[kind];
}

/* The conversation that a prompt was called with; NULL: the call is not one of a prompt with a thread and a value. */
static Expr *thread_given(const Check *c, const Expr *call, const Type *type)
{
    const Decl *prompt = call->decl ? call->decl->made_for : NULL;
    if (!prompt || !prompt->agent || prompt->agent->loop != call->decl || type->field_count != 2) return NULL;
    for (uint32_t i = 0; i < call->argc; i++)
        if (call->argv[i] && call->argv[i]->to == c->core->thread) return call->argv[i];
    return NULL;
}

/* `else V` of a prompt with a thread stands for {value: V, thread: the one that it was called with}. What is evaluated
 * for an argument comes to the same once more. False after a report. */
static bool add_thread(Check *c, const Expr *call, Policy *policy, const Type *type)
{
    Expr *given = thread_given(c, call, type), *value = policy->value;
    if (!given || value->kind == EX_MAP || value->kind == EX_NULL) return true;
    const Type *wanted = type->fields[0].type, *found = check_expr(c, value, wanted);
    if (found == type) return true;
    if (!check_coerce(c, value, wanted)) {
        check_mismatch(c, value, wanted, (Why){"to replace the value of this", call->span});
        return false;
    }
    const Span nowhere = {value->span.off, 0};
    MapEntry *entries = arena_alloc(c->arena, 2 * sizeof *entries);
    entries[0] = (MapEntry){.name = {type->fields[0].name, nowhere}, .value = value, .next = &entries[1]};
    entries[1] = (MapEntry){.name = {type->fields[1].name, nowhere}, .value = given};
    policy->value = arena_new(c->arena, Expr);
    *policy->value = (Expr){.kind = EX_MAP, .span = value->span, .height = value->height, .entries = entries};
    return true;
}

/* Checked after the call: an else value must have its type. Answers the type of the whole yield. */
static const Type *check_else_policy(Check *c, Expr *call, Policy *policy, const Type *type)
{
    if (type->kind == TYPE_BAD) {
        check_expr(c, policy->value, NULL);
        return type;
    }
    if (type->kind == TYPE_NOTHING) {
        Diag *diag = diag_error(c->diags, policy->span, "this call gives no value, so 'else' has none to replace");
        diag_hint(c->diags, diag, "use try { … } catch e { … }");
        return c->core->bad;
    }
    if (!add_thread(c, call, policy, type)) return type;
    check_expr(c, policy->value, type);
    if (policy->value->type->kind == TYPE_NULL) type = type_optional(c, type);
    if (!check_coerce(c, policy->value, type))
        check_mismatch(c, policy->value, type, (Why){"to replace the value of this", call->span});
    return type;
}

static void check_retry_count(Check *c, Expr *e)
{
    check_expr_to(c, e, c->core->integer, (Why){0});
    const Expr *bare = expr_strip(e);
    if (bare->kind == EX_UNARY && bare->op == OP_NEG && bare->left->kind == EX_INT)
        diag_error(c->diags, e->span, "'retry' counts further attempts: 0 or more");
}

static bool is_final(const CoreTypes *core, const Type *type)
{
    return type == core->denied || type == core->task_failed || type == core->channel_closed || type == core->lost;
}

/* `retry N on A | B`: names that can never be met there are mistakes. */
static void check_retry_errors(Check *c, const Expr *call, const Policy *policy)
{
    for (CatchName *name = policy->errors; name; name = name->next) {
        const Type *type = name->type = check_error_name(c, name);
        if (type->kind == TYPE_BAD) continue;
        for (const CatchName *n = policy->errors; n != name; n = n->next) {
            if (n->type != type) continue;
            Diag *diag = diag_error(c->diags, name->name.span, "'%s' is given twice", name->name.text);
            diag_other(c->diags, diag, n->name.span, "first given here");
        }
        if (is_final(c->core, type)) {
            diag_error(c->diags, name->name.span, "%s is never tried again", type->name);
        } else if (type->decl && call->call != CALL_WORKFLOW && call->call != CALL_NONE) {
            Diag *diag = diag_error(c->diags, name->name.span, "'%s' never fails with %s",
                                    call->decl ? call->decl->name.text : call->builtin->name, type->name);
            diag_hint(c->diags, diag,
                      "a step fails with ToolError, Timeout or BadValue; a workflow with its own errors");
        }
    }
}

static void check_policy(Check *c, const Expr *call, const Policy *policy)
{
    const CoreTypes *core = c->core;
    switch (policy->kind) {
    case POL_RETRY:
        check_retry_count(c, policy->value);
        check_retry_errors(c, call, policy);
        break;
    case POL_BACKOFF:
    case POL_TIMEOUT: check_expr_to(c, policy->value, core->duration, (Why){0}); break;
    case POL_CALL:
    case POL_KEY: check_expr_to(c, policy->value, core->string, (Why){0}); break;
    case POL_AS: check_label_policy(c, policy); break;
    case POL_APPROVE: check_expr_to(c, policy->value, core->string, (Why){0}); break;
    case POL_ELSE:         /* check_else_policy */
    case POL_UNDO: break;  /* once the type is known */
    case POL_TIMES: break; /* check_agent.c */
    }
}

static RepeatClass repeat_class_of(const Expr *call)
{
    switch (call->call) {
    case CALL_TOOL: return call->decl->repeat;
    case CALL_BUILTIN: return builtin_repeat(call);
    case CALL_METHOD: return call->builtin->repeat;
    default: return REPEAT_IDEMPOTENT; /* prompts; a workflow's steps look after themselves */
    }
}

static bool is_dangerous(const Expr *call)
{
    if (call->call == CALL_BUILTIN) return builtin_is_dangerous(call->builtin);
    return call->call == CALL_TOOL && call->decl->dangerous;
}

/* Mistake 26, and policies that say nothing. seen: by PolicyKind. */
static void check_policy_set(Check *c, const Expr *e, const Policy *const *seen)
{
    const Expr *call = e->left;
    if (seen[POL_RETRY] && !seen[POL_KEY] && repeat_class_of(call) == REPEAT_ONCE) {
        const char *name = call->decl ? call->decl->name.text : call->builtin->name;
        Diag *diag = diag_error(c->diags, seen[POL_RETRY]->span, "'retry' on a 'once' step without 'key'");
        diag_hint(c->diags, diag, "'%s' is never repeated silently; give the step a key%s", name,
                  call->decl ? ", or declare it idempotent" : "");
        if (call->decl) diag_other(c->diags, diag, call->decl->name.span, "declared here");
    }
    if (!seen[POL_APPROVE] && is_dangerous(call)) {
        Diag *diag = diag_error(c->diags, call->span, "'%s' is dangerous, and nobody is asked to approve it",
                                call->decl ? call->decl->name.text : call->builtin->name);
        diag_hint(c->diags, diag, "add: approve \"…?\"");
        if (call->decl) diag_other(c->diags, diag, call->decl->name.span, "declared here");
    }
    if (seen[POL_BACKOFF] && !seen[POL_RETRY])
        diag_error(c->diags, seen[POL_BACKOFF]->span,
                   "'backoff' is the pause before a 'retry', and there is no 'retry'");
}

/* A label is fine anywhere; the rest is about steps that can wait or fail. */
static void refuse_policies(Check *c, const Expr *e)
{
    for (const Policy *policy = e->policies; policy; policy = policy->next) {
        if (policy->kind == POL_AS) continue;
        diag_error(c->diags, policy->span, "'%s' answers at once, so it takes no '%s'", e->left->builtin->name,
                   policy_word(policy->kind));
        return;
    }
}

static const Type *check_policies(Check *c, Expr *e, const Type *type, Name let_name)
{
    const Policy *seen[POL_CALL + 1] = {0};
    for (const Policy *policy = e->policies; policy; policy = policy->next) {
        if (seen[policy->kind]) {
            Diag *diag = diag_error(c->diags, policy->span, "'%s' is given twice", policy_word(policy->kind));
            diag_other(c->diags, diag, seen[policy->kind]->span, "first given here");
            continue;
        }
        seen[policy->kind] = policy;
        check_policy(c, e->left, policy);
        if (policy->kind == POL_ELSE) type = check_else_policy(c, e->left, (Policy *)policy, type);
    }
    if (seen[POL_UNDO]) check_undo(c, (Policy *)seen[POL_UNDO], e->left->type, let_name);
    if (e->left->builtin && !e->left->builtin->suspends) {
        refuse_policies(c, e);
    } else if (e->left->call != CALL_NONE && type->kind != TYPE_BAD) {
        check_policy_set(c, e, seen);
    }
    return type;
}

static bool has_policy(const Expr *e, PolicyKind kind)
{
    for (const Policy *policy = e->policies; policy; policy = policy->next) {
        if (policy->kind == kind) return true;
    }
    return false;
}

static bool is_effect_call(const Expr *call)
{
    return call->call == CALL_WORKFLOW || call->call == CALL_TOOL || call->call == CALL_PROMPT || call->builtin;
}

/* Mistake 16: said once per yield, whatever it calls. */
static bool refuse_yield_in_fn(Check *c, Expr *e)
{
    const Decl *decl = c->body->decl;
    if (c->body->kind == BODY_WORKFLOW) return false;
    Diag *diag;
    if (c->body->kind == BODY_FN)
        diag = diag_error(c->diags, e->span, "'yield' in a fn; make it a workflow");
    else
        diag = diag_error(c->diags, e->span, "'yield' is allowed only in a workflow");
    diag_other(c->diags, diag, decl->name.span, "'%s' is %s", decl->name.text, decl_kind_word(decl->kind));
    return true;
}

const Type *check_yield(Check *c, Expr *e, const Type *want)
{
    Expr *call = e->left;
    Name let_name = c->let_name;
    c->let_name = (Name){0};
    e->errors = errors_empty();
    if (refuse_yield_in_fn(c, e) || call->kind != EX_CALL) return c->core->bad;
    c->yield_word = (Span){e->span.off, sizeof "yield" - 1};
    const Type *type = check_call_in_mode(c, call, MODE_YIELD, want);
    call->type = call->to = type;
    type = check_policies(c, e, type, let_name);
    if (has_policy(e, POL_APPROVE)) {
        errors_note(c, e->span)->type = c->core->denied;
        e->errors = errors_add(c, e->errors, c->core->denied);
    }
    if (call->call == CALL_WORKFLOW) {
        ErrorSource *source = errors_note(c, e->span);
        source->callee = call->decl;
        source->yield = e;
        source->only_denied = has_policy(e, POL_ELSE);
    }
    if (is_effect_call(call) && type->kind != call->type->kind && call->type->kind != TYPE_BAD) call->to = type;
    return type;
}

/* `after: [a, b]`: tasks of any type, written out. */
static void check_after(Check *c, Expr *e)
{
    if (e->kind != EX_LIST) {
        if (e->kind != EX_BAD) diag_not_yet(c->diags, e->span, "'after' with anything but tasks written out, [a, b],");
        return;
    }
    for (Arg *arg = e->args; arg; arg = arg->next) {
        const Type *type = check_expr(c, arg->value, NULL);
        if (type->kind != TYPE_TASK && type->kind != TYPE_BAD)
            diag_error(c->diags, arg->value->span, "'after' takes tasks, values of spawn, not %s", type->name);
    }
}

static void check_spawn_with(Check *c, const Expr *spawn)
{
    bool priority = false, after = false;
    for (Arg *arg = spawn->args; arg; arg = arg->next) {
        const char *name = arg->name.text ? arg->name.text : "";
        bool is_priority = strcmp(name, "priority") == 0, is_after = strcmp(name, "after") == 0;
        if ((is_priority && priority) || (is_after && after))
            diag_error(c->diags, arg->name.span, "'%s' is given twice", name);
        else if (is_priority)
            check_expr_to(c, arg->value, c->core->integer, (Why){0});
        else if (is_after)
            check_after(c, arg->value);
        else
            diag_error(c->diags, arg->name.text ? arg->name.span : arg->value->span,
                       "spawn's 'with' takes priority: and after:");
        priority |= is_priority;
        after |= is_after;
    }
}

const Type *check_spawn(Check *c, Expr *e)
{
    Expr *call = e->left;
    if (c->body->kind != BODY_WORKFLOW) {
        Diag *diag = diag_error(c->diags, e->span, "'spawn' is allowed only in a workflow");
        diag_other(c->diags, diag, c->body->decl->name.span, "'%s' is %s", c->body->decl->name.text,
                   decl_kind_word(c->body->decl->kind));
        return c->core->bad;
    }
    if (call->kind != EX_CALL) return c->core->bad;
    const Type *type = check_call_in_mode(c, call, MODE_SPAWN, NULL);
    if (e->has_with) check_spawn_with(c, e);
    call->type = call->to = type;
    return type->kind == TYPE_BAD ? type : type_task(c, type);
}
