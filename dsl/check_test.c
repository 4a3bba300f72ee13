/* check_test.c: tests: their bodies, `mock`, and the two questions only tests can ask, calls(f) and output().
 *
 * A test's body is that of a workflow that gives nothing; what escapes it fails the test. A mock names what it
 * stands for, so its patterns and its answer are checked like arguments and results: a test that compiles answers
 * with values the program could really get. */
#include "agent.h"
#include "check_internal.h"

bool check_in_test(const Check *c)
{
    return c->body && c->body->decl->kind == DECL_TEST;
}

/* ---- bodies ---- */

static const char *name_of_test(Check *c, const Decl *decl)
{
    const Expr *part = decl->value ? decl->value->parts : NULL;
    return part ? arena_strndup(c->arena, part->text, part->text_len) : "";
}

static void refuse_same_name(Check *c, Decl *decl)
{
    const char *key = arena_printf(c->arena, "%u/%s", decl->module->number, decl->name.text);
    const Decl *before = name_table_get(&c->tests, key);
    if (before) {
        Diag *diag = diag_error(c->diags, decl->name.span, "two tests with the name \"%s\"", decl->name.text);
        diag_other(c->diags, diag, before->name.span, "the first one");
        return;
    }
    name_table_put(c, &c->tests, key, decl);
}

void check_test(Check *c, Decl *decl)
{
    decl->name = (Name){name_of_test(c, decl), decl->value ? decl->value->span : decl->span};
    decl->full_name = decl->name.text;
    if (!*decl->name.text) diag_error(c->diags, decl->name.span, "a test needs a name");
    refuse_same_name(c, decl);
    decl->type = c->core->nothing;
    decl->errors = errors_empty();
    check_body(c, decl);
}

/* ---- what is mocked or counted ---- */

/* The declaration or effect that a name in mock or calls() means; both are NULL after a report. */
typedef struct Callee {
    Decl *decl;
    const Builtin *builtin;
} Callee;

static Callee refuse_callee(Check *c, Span span, const char *name, const char *why)
{
    Diag *diag = diag_error(c->diags, span, "'%s' cannot be mocked or counted: %s", name, why);
    diag_hint(c->diags, diag, "a mock replaces a tool, a prompt, a workflow, or an effect such as exec or approve");
    return (Callee){0};
}

static Callee callee_of_decl(Check *c, Decl *decl, Name name)
{
    switch (decl->kind) {
    case DECL_TOOL:
    case DECL_PROMPT:
    case DECL_WORKFLOW: return (Callee){.decl = decl};
    case DECL_FN: return refuse_callee(c, name.span, name.text, "a fn takes no steps, so it simply runs");
    default: break;
    }
    return refuse_callee(c, name.span, name.text, arena_printf(c->arena, "it is %s", decl_kind_word(decl->kind)));
}

/* What needs nothing from outside runs in tests as it is: on a clock, a seed and an output of the test's own. */
static Callee callee_of_builtin(Check *c, const Builtin *builtin, Name name)
{
    switch (builtin->id) {
    case BI_SLEEP:
    case BI_SLEEP_UNTIL:
    case BI_NOW: return refuse_callee(c, name.span, name.text, "tests have a clock of their own, which never waits");
    case BI_RANDOM:
    case BI_RANDOM_INT:
    case BI_UUID: return refuse_callee(c, name.span, name.text, "tests have a seed of their own, always the same");
    case BI_LISTEN:
    case BI_ACCEPT:
    case BI_CONNECT:
    case BI_STDIN:
    case BI_READABLE:
    case BI_WRITABLE:
    case BI_READ:
    case BI_READ_LINE:
    case BI_WRITE:
        return refuse_callee(c, name.span, name.text, "tests have no listeners and no streams; test what is around it");
    case BI_SECRET: return refuse_callee(c, name.span, name.text, "a test sees its name and nothing else");
    case BI_PRINT:
    case BI_LOG:
    case BI_PROGRESS:
    case BI_EMIT: return refuse_callee(c, name.span, name.text, "it needs nothing from outside; see output()");
    case BI_SAVE:
        return refuse_callee(c, name.span, name.text, "it needs nothing from outside: a test's rows go nowhere");
    case BI_JOIN:
    case BI_LOCK:
    case BI_SEMAPHORE:
    case BI_DEADLINE:
    case BI_BUDGET:
    case BI_CHANNEL:
    case BI_CLOSE:
    case BI_KILL:
    case BI_SELF: return refuse_callee(c, name.span, name.text, "it needs nothing from outside");
    default: return (Callee){.builtin = builtin};
    }
}

static Callee find_callee(Check *c, Name module, Name name)
{
    Decl *decl = module.text ? check_find_qualified(c, module, name, NAME_CALL) : check_find_decl(c, name.text);
    if (decl) return callee_of_decl(c, decl->agent ? decl->agent->loop : decl, name);
    const Builtin *builtin = module.text ? NULL : builtin_effect(name.text);
    if (builtin) return callee_of_builtin(c, builtin, name);
    if (module.text) return (Callee){0}; /* reported */
    const char *near = check_nearest_name(c, name.text, NAME_CALL);
    if (near)
        diag_replace(diag_error(c->diags, name.span, "unknown name '%s'; did you mean '%s'?", name.text, near), near);
    else
        diag_error(c->diags, name.span, "unknown name '%s'", name.text);
    return (Callee){0};
}

/* ---- patterns ---- */

/* One parameter of the mocked function. */
typedef struct Place {
    const char *name;
    const Type *type;
    bool optional; /* may be left out of a call, and then of a pattern */
    Span span;     /* where it is declared; len 0 for built-ins */
} Place;

typedef struct Places {
    const char *owner;
    Place *items;
    uint32_t count;
} Places;

static Places places_of(Check *c, const Callee *callee)
{
    const Decl *decl = callee->decl;
    const Builtin *builtin = callee->builtin;
    Places places = {decl ? decl->name.text : builtin->name, NULL, decl ? decl->param_count : builtin->param_count};
    places.items = arena_alloc(c->arena, (places.count + 1) * sizeof *places.items);
    uint32_t i = 0;
    for (const Field *f = decl ? decl->params : NULL; f; f = f->next)
        places.items[i++] = (Place){f->name.text, f->type ? f->type : c->core->bad, f->value != NULL, f->name.span};
    for (; builtin && i < builtin->param_count; i++) {
        const BuiltinParam *p = &builtin->params[i];
        places.items[i] = (Place){.name = p->name, .optional = p->optional};
        places.items[i].type = type_of_notation(c, p->type, NULL);
    }
    return places;
}

static bool takes_any(const Expr *e)
{
    return e->kind == EX_NAME && strcmp(e->name.text, "_") == 0;
}

static int find_place(Check *c, const Places *places, const Arg *arg)
{
    const char **names = arena_alloc(c->arena, (places->count + 1) * sizeof *names);
    for (uint32_t i = 0; i < places->count; i++) {
        names[i] = places->items[i].name;
        if (check_same_name(names[i], arg->name.text)) return (int)i;
    }
    const char *near = diag_nearest(arg->name.text, strlen(arg->name.text), names, places->count);
    if (near)
        diag_replace(diag_error(c->diags, arg->name.span, "no parameter '%s' in %s; did you mean '%s'?", arg->name.text,
                                places->owner, near),
                     near);
    else
        diag_error(c->diags, arg->name.span, "no parameter '%s' in %s", arg->name.text, places->owner);
    return -1;
}

static int place_pattern(Check *c, const Places *places, const Arg *arg, uint32_t *next)
{
    if (arg->name.text) return find_place(c, places, arg);
    if (*next < places->count) return (int)(*next)++;
    diag_error(c->diags, arg->value->span, "too many arguments: %s takes %u", places->owner, places->count);
    return -1;
}

static void check_pattern_of(Check *c, Stmt *s, const Places *places, const Arg *arg, int at, bool *seen)
{
    const Place *place = at < 0 ? NULL : &places->items[at];
    if (!place) {
        if (!takes_any(arg->value)) check_expr(c, arg->value, NULL);
        return;
    }
    if (seen[at]) diag_error(c->diags, arg->value->span, "'%s' is given twice", place->name);
    seen[at] = true;
    if (takes_any(arg->value)) {
        arg->value->type = arg->value->to = place->type; /* for the editor */
        return;
    }
    check_expr_to(c, arg->value, place->type, (Why){place->span.len ? "declared here" : NULL, place->span});
    s->mock_argv[at] = arg->value;
}

/* A single `_` matches all arguments, however many there are. A pattern may omit what a call may omit. */
static void check_patterns(Check *c, Stmt *s, const Places *places)
{
    bool *seen = arena_alloc(c->arena, places->count + 1), reported = false;
    uint32_t next = 0;
    s->mock_argc = places->count;
    s->mock_argv = arena_alloc(c->arena, (places->count + 1) * sizeof *s->mock_argv);
    if (s->args && !s->args->next && !s->args->name.text && takes_any(s->args->value)) return;
    for (const Arg *arg = s->args; arg; arg = arg->next) {
        int at = place_pattern(c, places, arg, &next);
        reported |= at < 0;
        check_pattern_of(c, s, places, arg, at, seen);
    }
    for (uint32_t i = 0; i < places->count && !reported; i++) {
        const Place *place = &places->items[i];
        if (seen[i] || place->optional) continue;
        Diag *diag =
            diag_error(c->diags, s->mock_name.span, "parameter '%s' of %s is missing", place->name, places->owner);
        diag_hint(c->diags, diag, "write _ for any value");
        if (place->span.len) diag_other(c->diags, diag, place->span, "declared here");
        return;
    }
}

/* ---- answers ---- */

static void check_error_answer(Check *c, Stmt *s)
{
    const Type *type = check_expr(c, s->value, NULL);
    if (type->kind == TYPE_ERROR || type->kind == TYPE_BAD) return;
    Diag *diag = diag_error(c->diags, s->value->span, "'fail' needs an error, got %s", type->name);
    diag_hint(c->diags, diag, "write fail ToolError(\"…\"), or an error of the program");
}

static void check_no_answer(Check *c, Stmt *s, const char *name)
{
    const Type *type = check_expr_or_nothing(c, s->value, NULL);
    if (type->kind == TYPE_NULL || type->kind == TYPE_BAD) return;
    Diag *diag = diag_error(c->diags, s->value->span, "'%s' gives no value", name);
    diag_hint(c->diags, diag, "write => null: it succeeds");
}

/* A person's answer to approve is a bool, or a case of the enum the place asks for, and a text to ask. Where the place
 * asks who answered, nobody is known, unless the mock gives an Answer. */
static void check_person_answer(Check *c, Stmt *s, const Builtin *builtin)
{
    const Type *string = builtin->id == BI_ASK ? c->core->string : NULL, *type = check_expr(c, s->value, string);
    const Type *value = type_is_answer(type) ? type->elem : type;
    if (value->kind == TYPE_BAD || (type != value && string && value == string)) return;
    if (string && check_is_form(value)) return;
    if (string) {
        if (!check_coerce(c, s->value, string)) check_mismatch(c, s->value, string, (Why){0});
        return;
    }
    if (value->kind == TYPE_BOOL || value->kind == TYPE_ENUM) return;
    diag_error(c->diags, s->value->span, "approve answers bool or a case of an enum, got %s", type->name);
}

/* What a signal brings is said where it is awaited; there the mock has to fit. */
static void check_signal(Check *c, Stmt *s)
{
    const Type *type = check_expr(c, s->value, NULL);
    if (type->kind != TYPE_BAD && type->kind != TYPE_NULL && type_has_handle(c, type))
        diag_error(c->diags, s->value->span, "a signal cannot bring %s", type->name);
}

/* What a model chose: a call, or a list of calls. */
static void check_turn(Check *c, Stmt *s, const Type *calls)
{
    const Type *list = type_list(c, calls);
    check_expr_to(c, s->value, expr_strip(s->value)->kind == EX_LIST ? list : calls, (Why){0});
}

static void check_answer(Check *c, Stmt *s, const Callee *callee)
{
    const Decl *decl = callee->decl;
    if (s->mock_after) check_expr_to(c, s->mock_after, c->core->duration, (Why){0});
    if (!s->value) return; /* it never comes */
    if (s->mock_fails) {
        check_error_answer(c, s);
    } else if (decl && decl->kind == DECL_PROMPT && decl->made_for) {
        check_turn(c, s, decl->made_for->agent->calls->type);
    } else if (callee->builtin && (callee->builtin->id == BI_APPROVE || callee->builtin->id == BI_ASK)) {
        check_person_answer(c, s, callee->builtin);
    } else if (callee->builtin && callee->builtin->id == BI_SIGNAL) {
        check_signal(c, s);
    } else {
        const Type *type = decl ? decl->type : type_of_notation(c, callee->builtin->result, NULL);
        Why why = {0};
        if (decl && decl->result) why = (Why){"the result is declared here", decl->result->span};
        if (type->kind == TYPE_NOTHING)
            check_no_answer(c, s, decl ? decl->name.text : callee->builtin->name);
        else
            check_expr_to(c, s->value, type, why);
    }
}

/* ---- the public verbs ---- */

void check_mock(Check *c, Stmt *s)
{
    if (!check_in_test(c)) {
        Diag *diag = diag_error(c->diags, s->keyword, "'mock' is allowed only in a test");
        diag_hint(c->diags, diag, "write test \"…\" { mock … }");
        return;
    }
    Callee callee = find_callee(c, s->mock_module, s->mock_name);
    if (!callee.decl && !callee.builtin) return;
    s->mock_decl = callee.decl;
    s->mock_builtin = callee.builtin;
    Places places = places_of(c, &callee);
    check_patterns(c, s, &places);
    check_answer(c, s, &callee);
}

static const Type *check_calls(Check *c, Expr *e)
{
    Expr *name = e->args && !e->args->next && !e->args->name.text ? e->args->value : NULL;
    Callee callee = {0};
    if (name && name->kind == EX_NAME)
        callee = find_callee(c, (Name){0}, name->name);
    else if (name && name->kind == EX_FIELD && name->left->kind == EX_NAME)
        callee = find_callee(c, name->left->name, name->name);
    else if (!name || name->kind != EX_BAD)
        diag_error(c->diags, e->span, "calls takes the name of a tool, a prompt, an effect or a workflow: calls(exec)");
    if (name) name->decl = callee.decl; /* for the editor; it has no value of its own */
    if (name) name->type = name->to = c->core->bad;
    e->call = CALL_CALLS;
    e->decl = callee.decl;
    e->builtin = callee.builtin;
    return callee.decl || callee.builtin ? c->core->integer : c->core->bad;
}

bool check_test_call(Check *c, Expr *e, const Type **type)
{
    const char *name = e->left->name.text;
    bool calls = strcmp(name, "calls") == 0;
    if (!calls && strcmp(name, "output") != 0) return false;
    if (!check_in_test(c)) {
        diag_error(c->diags, e->left->span, "'%s' is allowed only in a test", name);
        *type = c->core->bad;
        return true;
    }
    if (calls) {
        *type = check_calls(c, e);
        return true;
    }
    if (e->args) diag_error(c->diags, e->span, "output takes no arguments: it is what was printed so far");
    e->call = CALL_OUTPUT;
    *type = c->core->string;
    return true;
}
