/* agent_loop.c: the loop of an agent, whose text is in check_agent.c. */
#include "check_agent.h"
#include "made.h"

enum { SIDE_BY_SIDE = 8 };

/* Rows that are computed once and given to each question. */
static const char *const given[] = {"model", "system", "compact"};

/* text. = TEXT */
static void put_text(const Make *m, Stmts *to, Expr *text)
{
    put_assign(m, to, "text.", OP_NONE, text);
}

static Expr *text_of(const Make *m, const Type *type, Expr *value)
{
    if (type->kind == TYPE_STRING) return value;
    return made_call(m, made_field(m, made_call(m, made_field(m, value, "to_json"), NULL, NULL), "to_string"), NULL,
                     NULL);
}

/* The item of a list that belongs to the call that is performed: of the whole turn, or of those side by side. */
static Expr *item_of_call(const Make *m, Expr *all, const char *side, bool reads)
{
    return reads ? made_item(m, made_id(m, side), made_id(m, "i.")) : made_item(m, all, made_id(m, "at."));
}

/* The record of a step says which call of the model it carries out; what it calls has steps of its own. */
static Policy *call_policy(const Make *m, const Target *t)
{
    if (t->decl && (t->decl->kind == DECL_WORKFLOW || t->decl->agent)) return NULL;
    Policy *policy = arena_new(m->c->arena, Policy);
    *policy = (Policy){
        .kind = POL_CALL, .span = m->at, .value = item_of_call(m, made_member(m, "turn.", "ids"), "ids.", t->reads)};
    return policy;
}

static Policy *policies_of(const Make *m, const Target *t)
{
    LIST(Policy) list = {0};
    for (const Policy *p = t->offer->policies; p; p = p->next) {
        if (p->kind == POL_TIMES) continue;
        Policy *copy = arena_new(m->c->arena, Policy);
        *copy = *p;
        LIST_APPEND(&list, copy, next);
    }
    Policy *call = call_policy(m, t);
    if (call) LIST_APPEND(&list, call, next);
    return list.first;
}

typedef LIST(Catch) Catches;

static void put_catch(const Make *m, Catches *to, CatchName *name, Stmts stmts)
{
    Catch *k = arena_new(m->c->arena, Catch);
    k->span = m->at;
    k->var = made_name(m, "error.");
    k->names = name;
    k->block = made_block(m, stmts);
    LIST_APPEND(to, k, next);
}

static void put_raised(const Make *m, Catches *to, const CatchName *error)
{
    CatchName *name = arena_new(m->c->arena, CatchName);
    *name = *error;
    name->next = NULL;
    Stmts stmts = {0};
    put(m, &stmts, ST_FAIL, made_id(m, "error."));
    put_catch(m, to, name, stmts);
}

/* What the prompt declares ends it, and so does a budget; all else is told. */
static Catch *catches_of(const Make *m)
{
    static const char budget[] = "BudgetExceeded"; /* unless the program has an error of this name */
    Catches list = {0};
    for (const CatchName *e = m->prompt->fails; e; e = e->next) put_raised(m, &list, e);
    if (!check_find_decl(m->c, budget)) put_raised(m, &list, &(CatchName){.name = made_name(m, budget)});
    Stmts stmts = {0};
    put_text(m, &stmts, made_string(m, "error: ", made_member(m, "error.", "message")));
    put_catch(m, &list, NULL, stmts);
    return list.first;
}

/* Performs a call, and leaves what the model is told in text. */
static Stmts perform(const Make *outer, const Target *t)
{
    Make here = *outer;
    const Make *m = &here;
    here.at = t->offer->span;
    const CatchName *name = t->offer->name;
    Expr *callee = made_id(m, name->name.text);
    if (name->module.text) callee = made_member(m, name->module.text, name->name.text);
    Args args = {0};
    for (uint32_t i = 0; i < t->param_count; i++) made_arg(m, &args, t->params[i].name, made_id(m, t->params[i].name));
    Expr *step = made_call_with(m, callee, args);
    const bool is_step = !t->decl || t->decl->kind != DECL_FN;
    if (is_step) step = made_yield(m, step, policies_of(m, t));
    Stmts stmts = {0}, outer_stmts = {0};
    if (t->result->kind == TYPE_NOTHING) {
        put(m, &stmts, ST_EXPR, step);
        put_text(m, &stmts, made_string(m, "done", NULL));
    } else {
        put_named(m, &stmts, ST_LET, "result.", step);
        put_text(m, &stmts, text_of(m, t->result, made_id(m, "result.")));
    }
    if (!is_step) return stmts;
    Stmt *try = put(m, &outer_stmts, ST_TRY, NULL);
    try->block = made_block(m, stmts);
    try->catches = catches_of(m);
    return outer_stmts;
}

static void put_target(const Make *m, Arms *to, const Target *t)
{
    const char **names = arena_alloc(m->c->arena, (t->param_count + 1) * sizeof *names);
    for (uint32_t i = 0; i < t->param_count; i++) names[i] = t->params[i].name;
    made_bind(m, put_arm(m, to, t->as, perform(m, t)), names, t->param_count);
}

static Expr *result_of(const Make *m, Expr *value)
{
    if (!m->thread) return value;
    Expr *both = made(m, EX_MAP);
    MapEntry *first = arena_new(m->c->arena, MapEntry), *second = arena_new(m->c->arena, MapEntry);
    *first = (MapEntry){.name = made_name(m, "value"), .value = value, .next = second};
    *second = (MapEntry){.name = made_name(m, "thread"), .value = made_id(m, "chat.")};
    both->entries = value ? first : second;
    return both;
}

static void put_answer(const Make *m, Arms *to)
{
    static const char *const value[] = {"value."};
    const bool has_value = m->prompt->type->kind != TYPE_NOTHING;
    Stmts stmts = {0};
    put(m, &stmts, ST_RETURN, result_of(m, has_value ? made_id(m, *value) : NULL));
    made_bind(m, put_arm(m, to, "answer", stmts), value, has_value);
}

static const char *uses_of(const Make *m, const Target *t)
{
    return arena_printf(m->c->arena, "uses.%s", t->as);
}

static bool has_times(const Make *m)
{
    const Agent *agent = m->prompt->agent;
    for (uint32_t i = 0; i < agent->target_count; i++)
        if (agent->targets[i].times) return true;
    return false;
}

/* match CALL { … } over what only reads, or over all else; but not of what was used too often. */
static void put_match(const Make *m, Stmts *to, bool reads)
{
    const Agent *agent = m->prompt->agent;
    bool rest = reads;
    Stmts stmts = {0};
    Arms arms = {0};
    Stmt *either = has_times(m) ? put(m, to, ST_IF, item_of_call(m, made_id(m, "over."), "overs.", reads)) : NULL;
    if (either) {
        Stmts told = {0};
        put_text(m, &told, made_string(m, "error: this tool was used as often as it may be; go on without it", NULL));
        either->block = made_block(m, told);
        to = &stmts;
    }
    Expr *call = reads ? made_id(m, "call.") : made_item(m, made_member(m, "turn.", "calls"), made_id(m, "at."));
    Stmt *match = put(m, to, ST_MATCH, call);
    for (uint32_t i = 0; i < agent->target_count; i++) {
        if (agent->targets[i].reads == reads)
            put_target(m, &arms, &agent->targets[i]);
        else
            rest = true;
    }
    if (!reads) put_answer(m, &arms);
    if (rest) put_arm(m, &arms, NULL, (Stmts){0});
    match->arms = arms.first;
    if (either) either->else_block = made_block(m, stmts);
}

/* chat. = chat..join(thread().told(ids, texts)): in place, since nothing else holds the conversation */
static void put_told(const Make *m, Stmts *to, Expr *ids, Expr *texts)
{
    Expr *none = made_call(m, made_id(m, "thread"), NULL, NULL), *told = made_field(m, none, "told.");
    put_assign(m, to, "chat.", OP_NONE,
               made_call(m, made_member(m, "chat.", "join."), made_call(m, told, ids, texts), NULL));
}

/* Of a list of the turn, what belongs to the calls side by side. */
static Expr *side_of(const Make *m, Expr *all)
{
    return made_call(m, made_field(m, all, "slice"), made_id(m, "at."),
                     made_binary(m, OP_ADD, made_id(m, "at."), made_id(m, "side.")));
}

/* The record of each body has what it needs: its call, and not the whole turn. */
static Block *side_by_side(const Make *m)
{
    Stmts body = {0}, stmts = {0};
    put_named(m, &stmts, ST_LET, "ids.", side_of(m, made_member(m, "turn.", "ids")));
    if (has_times(m)) put_named(m, &stmts, ST_LET, "overs.", side_of(m, made_id(m, "over.")));
    put_named(m, &body, ST_VAR, "text.", made_string(m, "", NULL));
    put_match(m, &body, true);
    put(m, &body, ST_GIVE, made_id(m, "text."));
    Expr *each = made(m, EX_PARALLEL_FOR);
    each->var = made_name(m, "i.");
    each->var2 = made_name(m, "call.");
    each->range = side_of(m, made_member(m, "turn.", "calls"));
    each->limit = made_number(m, SIDE_BY_SIDE);
    each->block = made_block(m, body);
    put_named(m, &stmts, ST_LET, "texts.", each);
    put_told(m, &stmts, made_id(m, "ids."), made_id(m, "texts."));
    put_assign(m, &stmts, "at.", OP_ADD, made_id(m, "side."));
    return made_block(m, stmts);
}

static Stmts one_by_one(const Make *m)
{
    Stmts stmts = {0};
    put_named(m, &stmts, ST_VAR, "text.", made_string(m, "", NULL));
    put_match(m, &stmts, false);
    if (!m->prompt->agent->target_count) return stmts; /* every call is the answer */
    put_told(m, &stmts, made_list(m, made_item(m, made_member(m, "turn.", "ids"), made_id(m, "at."))),
             made_list(m, made_id(m, "text.")));
    put_assign(m, &stmts, "at.", OP_ADD, made_number(m, 1));
    return stmts;
}

static Block *perform_calls(const Make *m)
{
    const Agent *agent = m->prompt->agent;
    Stmts stmts = {0}, alone = one_by_one(m);
    bool reads = false;
    for (uint32_t i = 0; i < agent->target_count; i++) reads |= agent->targets[i].reads;
    if (!reads) return made_block(m, alone);
    put_named(m, &stmts, ST_LET, "side.", made_item(m, made_member(m, "turn.", "reads"), made_id(m, "at.")));
    Stmt *either = put(m, &stmts, ST_IF, made_binary(m, OP_GT, made_id(m, "side."), made_number(m, 0)));
    either->block = side_by_side(m);
    either->else_block = made_block(m, alone);
    return made_block(m, stmts);
}

/* fail NAME("TEXT" VALUE) */
static Block *fails(const Make *m, const char *error, Expr *message, const char *tool)
{
    Stmts stmts = {0};
    Args args = {0};
    made_arg(m, &args, NULL, message);
    if (tool) made_arg(m, &args, "tool", made_string(m, tool, NULL));
    put(m, &stmts, ST_FAIL, made_call_with(m, made_id(m, error), args));
    return made_block(m, stmts);
}

static void put_unfit(const Make *m, Stmts *to)
{
    Stmts stmts = {0};
    Expr *none = made(m, EX_NULL);
    put_assign(m, &stmts, "unfit.", OP_ADD, made_number(m, 1));
    Stmt *end = put(
        m, &stmts, ST_IF,
        made_binary(m, OP_GT, made_id(m, "unfit."), made_number(m, agent_number(m, "retry", 0, 0, AGENT_ROUNDS_MAX))));
    end->block = fails(m, "BadValue", made_member(m, "turn.", "unfit"), NULL);
    put(m, to, ST_IF, made_binary(m, OP_NE, made_member(m, "turn.", "unfit"), none))->block = made_block(m, stmts);
}

/* over. = over..push(VALUE) */
static void put_push(const Make *m, Stmts *to, Expr *value)
{
    put_assign(m, to, "over.", OP_NONE, made_call(m, made_member(m, "over.", "push"), value, NULL));
}

static TypeExpr *type_named(const Make *m, const char *name)
{
    TypeExpr *type = arena_new(m->c->arena, TypeExpr);
    *type = (TypeExpr){.kind = TYX_NAME, .height = 1, .span = m->at, .name = made_name(m, name)};
    return type;
}

static TypeExpr *list_of(const Make *m, const char *name)
{
    TypeExpr *list = arena_new(m->c->arena, TypeExpr);
    *list = (TypeExpr){
        .kind = TYX_GENERIC, .height = 2, .span = m->at, .name = made_name(m, "list"), .args = type_named(m, name)};
    return list;
}

/* Counts the calls of a turn, in their order. */
static void put_over(const Make *m, Stmts *to)
{
    if (!has_times(m)) return;
    const Agent *agent = m->prompt->agent;
    Stmts body = {0}, rest = {0};
    Arms arms = {0};
    Stmt *over = put(m, to, ST_VAR, made_list(m, NULL));
    over->name = made_name(m, "over.");
    over->type_expr = list_of(m, "bool");
    Stmt *each = put(m, to, ST_FOR, made_member(m, "turn.", "calls"));
    each->var = made_name(m, "call.");
    Stmt *match = put(m, &body, ST_MATCH, made_id(m, "call."));
    for (uint32_t i = 0; i < agent->target_count; i++) {
        const Target *t = &agent->targets[i];
        Stmts stmts = {0};
        if (!t->times) continue;
        put_assign(m, &stmts, uses_of(m, t), OP_ADD, made_number(m, 1));
        put_push(m, &stmts, made_binary(m, OP_GT, made_id(m, uses_of(m, t)), made_number(m, t->times)));
        put_arm(m, &arms, t->as, stmts);
    }
    put_push(m, &rest, made_bool(m, false));
    put_arm(m, &arms, NULL, rest);
    match->arms = arms.first;
    each->block = made_block(m, body);
}

/* The rows that were computed once, but `except`. */
static void give_rows(const Make *m, Args *args, const char *except)
{
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (agent_row(m->prompt, given[i]) && (!except || strcmp(given[i], except) != 0))
            made_arg(m, args, NULL, made_id(m, arena_printf(m->c->arena, "%s.", given[i])));
}

static Expr *ask_model(const Make *m, int64_t rounds)
{
    Args args = {0};
    made_arg(m, &args, NULL, made_id(m, "chat."));
    made_arg(m, &args, NULL, made_binary(m, OP_GE, made_id(m, "rounds."), made_number(m, rounds)));
    give_rows(m, &args, "compact");
    if (agent_row(m->prompt, "file")) made_arg(m, &args, NULL, made_id(m, "files."));
    return made_yield(m, made_call_with(m, made_id(m, m->prompt->agent->next->name.text), args), NULL);
}

/* ---- the window ---- */

/* chat..NAME(first, second) */
static Expr *of_chat(const Make *m, const char *name, Expr *first, Expr *second)
{
    return made_call(m, made_member(m, "chat.", name), first, second);
}

/* size. * TIMES > window. * PARTS && window. > 0 */
static Expr *is_over(const Make *m, int64_t times, int64_t parts)
{
    Expr *over = made_binary(m, OP_GT, made_binary(m, OP_MUL, made_id(m, "size."), made_number(m, times)),
                             made_binary(m, OP_MUL, made_id(m, "window."), made_number(m, parts)));
    return made_binary(m, OP_AND, over, made_binary(m, OP_GT, made_id(m, "window."), made_number(m, 0)));
}

/* let summary. = yield NAME.compact(chat., first., …); chat. = chat..summarised(first., summary.); first. = 0 */
static Block *summarise(const Make *m)
{
    Stmts stmts = {0};
    Args args = {0};
    made_arg(m, &args, NULL, made_id(m, "chat."));
    made_arg(m, &args, NULL, made_id(m, "first."));
    give_rows(m, &args, NULL);
    put_named(m, &stmts, ST_LET, "summary.",
              made_yield(m, made_call_with(m, made_id(m, m->prompt->agent->compact->name.text), args), NULL));
    put_assign(m, &stmts, "chat.", OP_NONE, of_chat(m, "summarised.", made_id(m, "first."), made_id(m, "summary.")));
    put_assign(m, &stmts, "first.", OP_NONE, made_number(m, 0));
    return made_block(m, stmts);
}

static Expr *whole_size(const Make *m)
{
    return of_chat(m, "size.", made_number(m, 0), made_number(m, 0));
}

/* The conversation is too long: long results first, and if that is not enough, everything that is older. */
static Block *shorten(const Make *m)
{
    Stmts stmts = {0};
    put_named(m, &stmts, ST_LET, "whole.", whole_size(m));
    put_assign(m, &stmts, "chat.", OP_NONE, of_chat(m, "cleared.", made_id(m, "first."), NULL));
    put_assign(m, &stmts, "size.", OP_ADD, made_binary(m, OP_SUB, whole_size(m), made_id(m, "whole.")));
    Expr *still = made_binary(m, OP_OR, made_id(m, "long."), is_over(m, 10, 6));
    Expr *older = made_binary(m, OP_GT, of_chat(m, "older.", made_id(m, "first."), NULL), made_number(m, 0));
    put(m, &stmts, ST_IF, made_binary(m, OP_AND, still, older))->block = summarise(m);
    Expr *same = made_binary(m, OP_GE, whole_size(m), made_id(m, "whole."));
    put(m, &stmts, ST_IF, made_binary(m, OP_AND, made_id(m, "long."), same))->block =
        fails(m, "ToolError", made_id(m, "why."), m->prompt->full_name);
    return made_block(m, stmts);
}

/* The question was too long for the model, which did not answer it: once more with less. */
static Block *ask_again(const Make *m)
{
    Stmts stmts = {0};
    Expr *none = made_string(m, "", NULL);
    put_assign(m, &stmts, "why.", OP_NONE, made_binary(m, OP_COALESCE, made_member(m, "turn.", "unfit"), none));
    put(m, &stmts, ST_IF, made_id(m, "long."))->block = fails(m, "ToolError", made_id(m, "why."), m->prompt->full_name);
    put_assign(m, &stmts, "long.", OP_NONE, made_bool(m, true));
    put_assign(m, &stmts, "rounds.", OP_SUB, made_number(m, 1));
    put(m, &stmts, ST_CONTINUE, NULL);
    return made_block(m, stmts);
}

/* window. = turn.window; size. = chat..size(asked., turn.tokens) */
static void put_size(const Make *m, Stmts *to)
{
    put_assign(m, to, "window.", OP_NONE, made_member(m, "turn.", "window"));
    put_assign(m, to, "size.", OP_NONE, of_chat(m, "size.", made_id(m, "asked."), made_member(m, "turn.", "tokens")));
}

/* ---- the loop ---- */

static Block *one_round(const Make *m)
{
    const int64_t rounds = agent_number(m, "rounds", AGENT_ROUNDS_USUAL, 1, AGENT_ROUNDS_MAX);
    Stmts stmts = {0};
    const char *message =
        arena_printf(m->c->arena, "%s gave no answer in %lld rounds; ", m->prompt->full_name, (long long)rounds);
    put(m, &stmts, ST_IF, made_binary(m, OP_GE, made_id(m, "rounds."), made_number(m, rounds)))->block =
        fails(m, "ToolError", made_string(m, message, made_call(m, made_member(m, "chat.", "last."), NULL, NULL)),
              m->prompt->full_name);
    put_assign(m, &stmts, "rounds.", OP_ADD, made_number(m, 1));
    put(m, &stmts, ST_IF, made_binary(m, OP_OR, made_id(m, "long."), is_over(m, 4, 3)))->block = shorten(m);
    put_named(m, &stmts, ST_LET, "asked.", of_chat(m, "len", NULL, NULL));
    put_named(m, &stmts, ST_LET, "turn.", ask_model(m, rounds));
    put(m, &stmts, ST_IF, made_member(m, "turn.", "long"))->block = ask_again(m);
    put_assign(m, &stmts, "long.", OP_NONE, made_bool(m, false));
    put_assign(m, &stmts, "chat.", OP_NONE,
               made_call(m, made_member(m, "chat.", "join."), made_member(m, "turn.", "said"), NULL));
    put_unfit(m, &stmts);
    put_over(m, &stmts);
    put_named(m, &stmts, ST_VAR, "at.", made_number(m, 0));
    Expr *len = made_call(m, made_field(m, made_member(m, "turn.", "calls"), "len"), NULL, NULL);
    put(m, &stmts, ST_WHILE, made_binary(m, OP_LT, made_id(m, "at."), len))->block = perform_calls(m);
    put_size(m, &stmts);
    return made_block(m, stmts);
}

/* var NAME = 0 */
static void put_numbers(const Make *m, Stmts *to, const char *const *names)
{
    for (; *names; names++) put_named(m, to, ST_VAR, *names, made_number(m, 0));
}

/* files. = [PATH, …] */
static void put_files(const Make *m, Stmts *to)
{
    Args args = {0};
    for (const PromptRow *row = m->prompt->rows; row; row = row->next)
        if (row->name.text && strcmp(row->name.text, "file") == 0) made_arg(m, &args, NULL, row->value);
    Expr *list = made_list(m, NULL);
    list->args = args.first;
    Stmt *files = put(m, to, ST_LET, list);
    files->name = made_name(m, "files.");
    files->type_expr = list_of(m, "string");
}

Block *agent_loop(const Make *m)
{
    Stmts stmts = {0};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        const PromptRow *row = agent_row(m->prompt, given[i]);
        if (!row) continue;
        Stmt *let = put(m, &stmts, ST_LET, row->value);
        let->name = made_name(m, arena_printf(m->c->arena, "%s.", given[i]));
        let->type_expr = type_named(m, "string");
    }
    if (agent_row(m->prompt, "file")) put_files(m, &stmts);
    const PromptRow *user = agent_row(m->prompt, "user");
    Expr *begin = m->thread ? made_id(m, m->thread->name.text) : made_call(m, made_id(m, "thread"), NULL, NULL);
    put_named(m, &stmts, ST_VAR, "chat.", made_call(m, made_field(m, begin, "say"), user->value, NULL));
    const Agent *agent = m->prompt->agent;
    for (uint32_t i = 0; i < agent->target_count; i++)
        if (agent->targets[i].times) put_named(m, &stmts, ST_VAR, uses_of(m, &agent->targets[i]), made_number(m, 0));
    static const char *const numbers[] = {"rounds.", "unfit.", "size.", "window.", NULL};
    put_named(m, &stmts, ST_VAR, "first.", made_binary(m, OP_SUB, of_chat(m, "len", NULL, NULL), made_number(m, 1)));
    put_numbers(m, &stmts, numbers);
    put_named(m, &stmts, ST_VAR, "long.", made_bool(m, false));
    put_named(m, &stmts, ST_VAR, "why.", made_string(m, "", NULL));
    put(m, &stmts, ST_WHILE, made_bool(m, true))->block = one_round(m);
    return made_block(m, stmts);
}
