/* label.c: whether a value, or a part of it, was made outside the program: the bits that a compiled program does not have.
 *
 * A value is marked where it comes in. A text or number that is made of marked ones is marked; what is chosen from a list, a map or a record is
 * what it was. The compiler's labels must never be trusted where a marked value stands. */
#include "../../dsl/sandbox.h"
#include "interp.h"

#include <string.h>

bool is_outside(const Value *value)
{
    if (!value) return false;
    bool outside = value->outside;
    for (size_t i = 0; i < value->len && value->items && !outside; i++) outside = is_outside(value->items[i]);
    for (size_t i = 0; i < value->len && value->keys && !outside; i++) outside = is_outside(value->keys[i]);
    return outside;
}

/* Values are shared, so a mark is on a copy. */
static const Value *marked(const Value *value, bool outside)
{
    if (!value || value->kind == V_NULL) return value;
    Value *copy = must_alloc(sizeof *copy);
    *copy = *value;
    copy->outside = outside;
    if (value->items) {
        copy->items = must_alloc(value->len * sizeof *copy->items);
        for (size_t i = 0; i < value->len; i++) copy->items[i] = marked(value->items[i], outside);
    }
    if (value->keys) {
        copy->keys = must_alloc(value->len * sizeof *copy->keys);
        for (size_t i = 0; i < value->len; i++) copy->keys[i] = marked(value->keys[i], outside);
    }
    return copy;
}

const Value *from_outside(const Value *value)
{
    return marked(value, true);
}

const Value *from_inside(const Value *value)
{
    return marked(value, false);
}

const Value *made_of(const Value *made, const Value *a, const Value *b)
{
    return made && made->kind != V_BOOL && (is_outside(a) || is_outside(b)) ? from_outside(made) : made;
}

/* Methods that give a part of what they are called on, as it is, or a truth. */
static bool is_choice(BuiltinId id)
{
    switch (id) {
    case BI_LIST_GET:
    case BI_LIST_FIRST:
    case BI_LIST_LAST:
    case BI_LIST_MIN:
    case BI_LIST_MAX:
    case BI_LIST_FIND:
    case BI_LIST_FOLD:
    case BI_MAP_GET:
    case BI_OPTIONAL_OR: return true;
    default: return false;
    }
}

const Value *method_made(const Expr *e, const Value *made, const Value **args)
{
    const BuiltinId id = e->builtin->id;
    if (id == BI_STRING_VETTED) return from_inside(made);
    if (id == BI_INT_WITHIN)
        return made_of(from_inside(made), args[1], args[2]); /* a check is worth what its bounds are */
    if (!made || made->kind == V_BOOL || made->kind == V_NULL || is_choice(id)) return made;
    /* The items of a list that is made of others are marked already. */
    const bool holds = args[0] && (args[0]->kind == V_LIST || args[0]->kind == V_MAP);
    if (holds && (made->kind == V_LIST || made->kind == V_MAP)) return made;
    for (uint32_t i = 0; i < e->argc; i++)
        if (args[i] && is_outside(args[i])) return from_outside(made);
    return made;
}

void look_at_places(Frame *f, const Expr *call, const Value **args)
{
    const Field *field = call->decl && call->decl->kind != DECL_ENUM ? call->decl->params : NULL;
    for (uint32_t i = 0; field && i < call->argc; i++, field = field->next) {
        if (field->label != LABEL_TRUSTED) continue;
        f->task->interp->places++;
        f->task->interp->wrong += is_outside(args[i]);
    }
}

static void look_at_word(Frame *f, const Value *word)
{
    f->task->interp->places++;
    f->task->interp->wrong += is_outside(word);
}

/* The program of a tool; and every word of a command that can reach a network or has no sandbox, unless a person saw it. */
void look_at_command(Frame *f, const Expr *step, const Value **args)
{
    const Expr *call = step->left;
    const Decl *tool = call->call == CALL_TOOL && call->decl->provider == PROV_EXEC ? call->decl : NULL;
    const Sandbox *sandbox = tool && tool->sandbox ? tool->sandbox : f->task->interp->program->sandbox;
    bool reaches = sandbox && (sandbox->root == SANDBOX_OPEN || sandbox->network != NETWORK_NONE);
    if (!tool && !(call->call == CALL_BUILTIN && call->builtin->id == BI_EXEC)) return;
    for (const Policy *policy = step->policies; policy; policy = policy->next)
        if (policy->kind == POL_APPROVE) reaches = false;
    Frame inside = {.task = f->task, .decl = tool, .vars = tool ? vars_of(tool, args) : NULL, .is_fn = true};
    const Value *argv = tool ? eval(&inside, tool->provider_value) : args[0];
    for (size_t i = 0; i < argv->len; i++)
        if (reaches || (tool && i == 0)) look_at_word(f, argv->items[i]);
}
