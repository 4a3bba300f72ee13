/* check_agent.c: a prompt with a row `tools`, or with a conversation that it continues, is a workflow that is written
 * here. It is checked, labelled, compiled, recorded and killed like any other workflow.
 *
 * For `prompt coder(…) -> Report { tools { read_file, edit } }` there are made:
 *
 *   enum coder.Call         a case for each offer, with the offer's parameters, and answer(value: Report)
 *   prompt coder.next       asks the model once: from a conversation to a turn {said, calls, ids, reads, unfit, tokens,
 *                           window, long}, which follows from the recorded answer alone
 *   prompt coder.compact    asks it for a summary of the older part of a conversation
 *   workflow coder          the loop, of which this is the text:
 *
 *     let model = …, system = …, compact = …          the rows, once; and files = [FILE, …]
 *     var chat = thread().say(USER)                   or the prompt's own conversation
 *     var first = chat.len() - 1                      where the work began
 *     var size = 0, window = 0, long = false          of the newest question; it was too long for its model
 *     var rounds = 0, unfit = 0, uses.grep = 0        the last for each offer with `times`
 *     while true {
 *         if long || (window > 0 && size > window * 75 %) {
 *             …clear old results; if that is not enough, yield coder.compact(chat, first, compact, model, system)…
 *         }
 *         rounds += 1
 *         let asked = chat.len()
 *         let turn = yield coder.next(chat, rounds >= ROUNDS, model, system, files)
 *         if turn.long { …once: long = true, and ask again… }
 *         chat = chat.join(turn.said)
 *         if turn.unfit != null { unfit += 1 … }
 *         var over = []                               by call: its offer was used so often as it may be
 *         for call in turn.calls { … }
 *         var at = 0
 *         while at < turn.calls.len() {
 *             let side = turn.reads[at]               so many neighbours from here only read
 *             if side > 0 {
 *                 let ids = turn.ids.slice(at, at + side)
 *                 let texts = parallel for i, call in turn.calls.slice(at, at + side) limit 8 { …perform it… }
 *                 chat = chat.join(thread().told(ids, texts))
 *                 at += side
 *             } else {
 *                 …perform turn.calls[at]; answer(value) returns it…
 *                 chat = chat.join(thread().told([turn.ids[at]], [text]))
 *                 at += 1
 *             }
 *         }
 *         window = turn.window, size = chat.size(asked, turn.tokens)
 *     }
 *
 * What fails is told and not raised, but for the errors that the prompt declares. Names of the loop's variables hold a
 * dot, so that no program can name them; the parameters of an offer may be called like those of the prompt. */
#include "check_agent.h"
#include "made.h"

enum {
    MOST_MAX = 10000000, /* tokens of an answer */
    MOST_USUAL = 8192,
};

/* ---- rows ---- */

const PromptRow *agent_row(const Decl *prompt, const char *name)
{
    for (const PromptRow *row = prompt->rows; row; row = row->next)
        if (row->name.text && strcmp(row->name.text, name) == 0) return row;
    return NULL;
}

int64_t agent_number(const Make *m, const char *name, int64_t usual, int64_t least, int64_t most)
{
    const PromptRow *row = agent_row(m->prompt, name);
    if (!row || !row->value) return usual;
    if (row->value->kind == EX_INT && row->value->int_value >= least && row->value->int_value <= most)
        return row->value->int_value;
    diag_error(m->c->diags, row->value->span, "'%s' is a number from %lld to %lld", name, (long long)least,
               (long long)most);
    return usual;
}

static const char *const names[] = {"model", "system", "user", "file",    "retry",
                                    "tools", "rounds", "most", "compact", NULL};

const char *const *agent_row_names(void)
{
    return names;
}

static void take_rows(const Make *m)
{
    enum { COUNT = sizeof names / sizeof *names - 1 };
    Check *c = m->c;
    Table seen = {0};
    for (PromptRow *row = m->prompt->rows; row; row = row->next) {
        const char *name = row->name.text;
        if (!name) continue;
        if (name_table_get(&seen, name) && strcmp(name, "file") != 0)
            diag_error(c->diags, row->name.span, "'%s' is given twice", name);
        name_table_put(c, &seen, name, row);
        int i = 0;
        while (i < COUNT && strcmp(names[i], name) != 0) i++;
        if (i < COUNT) continue;
        const char *near = diag_nearest(name, strlen(name), names, COUNT);
        if (near)
            diag_replace(diag_error(c->diags, row->name.span, "unknown row '%s'; did you mean '%s'?", name, near),
                         near);
        else
            diag_error(c->diags, row->name.span,
                       "unknown row '%s'; an agent has model, system, user, file, tools, rounds, "
                       "most, compact and retry",
                       name);
    }
    if (!name_table_get(&seen, "user"))
        diag_error(c->diags, m->prompt->name.span, "the prompt '%s' needs a row 'user'", m->prompt->name.text);
}

/* ---- declarations ---- */

bool agent_is(const Decl *prompt)
{
    if (prompt->kind != DECL_PROMPT) return false;
    if (agent_row(prompt, "tools")) return true;
    for (const Field *f = prompt->params; f; f = f->next)
        if (f->type_expr && f->type_expr->kind == TYX_NAME && !f->type_expr->qualifier.text &&
            f->type_expr->name.text && strcmp(f->type_expr->name.text, "thread") == 0)
            return true;
    return false;
}

static Decl *declare(Check *c, Decl *prompt, DeclKind kind, const char *name, const char *c_name)
{
    Decl *decl = arena_new(c->arena, Decl);
    decl->kind = kind;
    decl->span = prompt->span;
    decl->module = prompt->module;
    decl->made_for = prompt;
    decl->name =
        (Name){*name ? arena_printf(c->arena, "%s.%s", prompt->name.text, name) : prompt->name.text, prompt->name.span};
    decl->full_name = *name ? arena_printf(c->arena, "%s.%s", prompt->full_name, name) : prompt->full_name;
    decl->c_name = arena_printf(c->arena, "%s%s", c_name, prompt->c_name);
    return decl;
}

void agent_declare(Check *c, Decl *prompt)
{
    Agent *agent = prompt->agent = arena_new(c->arena, Agent);
    agent->prompt = prompt;
    agent->calls = declare(c, prompt, DECL_ENUM, "Call", "1c_");
    agent->calls->type = type_declare(c, TYPE_ENUM, agent->calls->full_name, agent->calls);
    agent->next = declare(c, prompt, DECL_PROMPT, "next", "1n_");
    agent->compact = declare(c, prompt, DECL_PROMPT, "compact", "1s_");
    agent->loop = declare(c, prompt, DECL_WORKFLOW, "", "");
    check_add_decl(c, agent->calls);
}

Decl *agent_member(const Decl *prompt, const char *name)
{
    if (!prompt->agent) return NULL;
    if (strcmp(name, "Call") == 0) return prompt->agent->calls;
    return strcmp(name, "next") == 0 ? prompt->agent->next : NULL;
}

typedef LIST(EnumCase) Cases;
typedef LIST(Field) Fields;

static void add_field(const Make *m, Fields *to, const TypeField *like)
{
    Field *f = arena_new(m->c->arena, Field);
    *f = (Field){
        .name = {like->name, m->at}, .span = m->at, .doc = like->doc, .type = like->type, .value = (Expr *)like->value};
    LIST_APPEND(to, f, next);
}

/* Its place is where its name is declared: people follow the case to the tool. */
static void add_case(const Make *m, Cases *to, const Target *t)
{
    Type *type = (Type *)m->prompt->agent->calls->type;
    const Span at = t->decl ? t->decl->name.span : t->offer ? t->offer->name->name.span : m->at;
    const bool has_fields = t->param_count > 0;
    EnumCase *k = arena_new(m->c->arena, EnumCase);
    Fields list = {0};
    for (uint32_t i = 0; i < t->param_count; i++) add_field(m, &list, &t->params[i]);
    *k = (EnumCase){
        .name = made_name(m, t->as), .span = m->at, .fields = list.first, .doc = t->doc, .has_fields = has_fields};
    LIST_APPEND(to, k, next);
    type->cases[type->case_count++] = (TypeCase){.name = t->as,
                                                 .fields = t->params,
                                                 .field_count = t->param_count,
                                                 .has_fields = has_fields,
                                                 .span = at,
                                                 .doc = t->doc};
}

static void fill_calls(const Make *m)
{
    const Agent *agent = m->prompt->agent;
    Type *type = (Type *)agent->calls->type;
    Cases cases = {0};
    type->cases = arena_alloc(m->c->arena, (agent->target_count + 1) * sizeof *type->cases);
    for (uint32_t i = 0; i < agent->target_count; i++) {
        const Target *t = &agent->targets[i];
        add_case(m, &cases, t);
    }
    TypeField *value = arena_new(m->c->arena, TypeField);
    *value = (TypeField){.name = "value", .type = m->prompt->type};
    const uint32_t has_value = m->prompt->type->kind != TYPE_NOTHING;
    add_case(m, &cases, &(Target){.as = "answer", .params = value, .param_count = has_value});
    agent->calls->cases = cases.first;
}

static const Type *turn_type(const Make *m)
{
    Check *c = m->c;
    const TypeField fields[] = {{.name = "said", .type = c->core->thread},
                                {.name = "calls", .type = type_list(c, m->prompt->agent->calls->type)},
                                {.name = "ids", .type = type_list(c, c->core->string)},
                                {.name = "reads", .type = type_list(c, c->core->integer)},
                                {.name = "unfit", .type = type_optional(c, c->core->string)},
                                {.name = "tokens", .type = c->core->integer},
                                {.name = "window", .type = c->core->integer},
                                {.name = "long", .type = c->core->boolean}};
    return type_of_bodies(c, TYPE_RECORD, fields, sizeof fields / sizeof *fields);
}

typedef LIST(PromptRow) Rows;

static void add_row(const Make *m, Rows *to, const char *name, Expr *value)
{
    PromptRow *row = arena_new(m->c->arena, PromptRow);
    *row = (PromptRow){.name = made_name(m, name), .value = value};
    LIST_APPEND(to, row, next);
}

/* A prompt that the loop asks. Its parameters: its own, and the rows of the agent that are computed once. */
static void write_asked(const Make *m, Decl *asked, const TypeField *own, uint32_t count, const char *const *given,
                        const Type *type, Rows rows)
{
    Check *c = m->c;
    Fields params = {0};
    for (uint32_t i = 0; i < count; i++) add_field(m, &params, &own[i]);
    asked->param_count = count;
    for (; *given; given++) {
        const TypeField like = {.name = *given, .type = c->core->string};
        if (!agent_row(m->prompt, *given)) continue;
        if (strcmp(*given, "compact") != 0) add_row(m, &rows, *given, made_id(m, *given));
        add_field(m, &params, &like);
        asked->param_count++;
    }
    if (asked == m->prompt->agent->next && agent_row(m->prompt, "file")) {
        const TypeField like = {.name = "files", .type = type_list(c, c->core->string)};
        asked->files = made_id(m, like.name);
        add_field(m, &params, &like);
        asked->param_count++;
    }
    asked->params = params.first;
    asked->rows = rows.first;
    asked->type = type;
    asked->limit = m->prompt->limit;
    asked->rate = m->prompt->rate;
    asked->repeat = REPEAT_IDEMPOTENT;
    name_table_put(c, &c->scopes[asked->module->number], asked->name.text, asked);
    check_add_decl(c, asked);
}

static void write_next(const Make *m)
{
    static const char *const given[] = {"model", "system", NULL};
    const TypeField own[] = {{.name = "chat", .type = m->c->core->thread},
                             {.name = "last", .type = m->c->core->boolean}};
    write_asked(m, m->prompt->agent->next, own, 2, given, turn_type(m), (Rows){0});
}

static void write_compact(const Make *m)
{
    static const char *const given[] = {"model", "system", "compact", NULL};
    static const char ask[] =
        "Summarise this conversation for yourself: the summary takes the place of everything but the first question "
        "and "
        "the newest rounds. Keep what was decided and why, what was found (names, paths and numbers as they are), what "
        "was tried and failed, and what remains to be done. Answer with the summary alone.";
    const TypeField own[] = {{.name = "chat", .type = m->c->core->thread},
                             {.name = "first", .type = m->c->core->integer}};
    const bool keeps = agent_row(m->prompt, "compact");
    Rows rows = {0};
    add_row(m, &rows, "user",
            keeps ? made_string(m, arena_printf(m->c->arena, "%s Keep above all: ", ask), made_id(m, "compact"))
                  : made_string(m, ask, NULL));
    write_asked(m, m->prompt->agent->compact, own, 2, given, m->c->core->string, rows);
}

static const Type *result_type(const Make *m)
{
    const TypeField fields[] = {{.name = "value", .type = m->prompt->type},
                                {.name = "thread", .type = m->c->core->thread}};
    if (!m->thread) return m->prompt->type;
    const uint32_t without = m->prompt->type->kind == TYPE_NOTHING;
    return type_of_bodies(m->c, TYPE_RECORD, fields + without, 2 - without);
}

/* Its signature, which calls are checked against whatever is wrong with its rows. */
static void declare_loop(const Make *m)
{
    Decl *loop = m->prompt->agent->loop;
    Fields params = {0};
    for (const Field *f = m->prompt->params; f; f = f->next) {
        Field *copy = arena_new(m->c->arena, Field);
        *copy = *f;
        LIST_APPEND(&params, copy, next);
    }
    loop->params = params.first;
    loop->param_count = m->prompt->param_count;
    loop->result = m->prompt->result;
    loop->type = m->prompt->type->kind == TYPE_BAD ? m->prompt->type : result_type(m);
    loop->doc = m->prompt->doc;
    loop->has_fails = true;
    loop->fails = m->prompt->fails;
    loop->errors = m->prompt->errors;
}

static void take_thread(Make *m)
{
    Check *c = m->c;
    for (const Field *f = m->prompt->params; f; f = f->next) {
        if (f->type != c->core->thread) continue;
        if (m->thread) {
            Diag *diag = diag_error(c->diags, f->name.span,
                                    "a prompt continues one conversation, and '%s' is a second one", f->name.text);
            diag_hint(c->diags, diag, "give it as a text: \"${%s}\"", f->name.text);
        } else {
            m->thread = f;
        }
    }
}

void agent_write(Check *c, Decl *prompt)
{
    Make m = {.c = c, .prompt = prompt, .at = prompt->name.span};
    const uint32_t errors = c->diags->errors;
    take_thread(&m);
    declare_loop(&m);
    take_rows(&m);
    agent_offers(&m);
    prompt->agent->most = agent_number(&m, "most", MOST_USUAL, 1, MOST_MAX);
    fill_calls(&m);
    write_next(&m);
    write_compact(&m);
    if (prompt->type->kind == TYPE_BAD || c->diags->errors != errors) return;
    prompt->agent->loop->block = agent_loop(&m);
    check_add_decl(c, prompt->agent->loop);
}
