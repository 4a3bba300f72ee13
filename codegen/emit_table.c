/* emit_table.c: the static data around the functions: strings, types, points, tools, workflows, the program. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "../dsl/agent.h"
#include "emit.h"
#include "interface.h"

/* ---- strings and bare cases ---- */

static uint32_t count_points(const char *bytes, uint32_t len)
{
    uint32_t points = 0;
    for (uint32_t i = 0; i < len; i++) points += ((unsigned char)bytes[i] & 0xc0) != 0x80;
    return points;
}

/* They come from no line of the source. */
void emit_strings(Emit *e)
{
    e->c.files = NULL;
    for (uint32_t i = 0; i < e->machine->string_count; i++) {
        const StringLiteral *s = &e->machine->strings[i];
        Text text = {.arena = e->arena};
        text_quote_c(&text, s->bytes, s->len);
        ctext_pieces(&e->c, 1, "TFY__LITERAL(tfyg_s%u, %u, %u, %s);", i, s->len, count_points(s->bytes, s->len),
                     text.data);
    }
}

/* ---- types ---- */

static const char *type_name(Emit *e, const Type *type)
{
    Text text = {.arena = e->arena};
    emit_type(e, &text, type);
    return text.data + 1; /* without the & */
}

static bool is_ours(Emit *e, const Type *type)
{
    return strncmp(type_name(e, type), "tfyg_", 5) == 0;
}

static void need(Emit *e, const Type *type);

static void need_fields(Emit *e, const TypeField *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) need(e, fields[i].type);
}

/* Marks what a needed type refers to. The mark itself stops the recursion; its depth is that of types inside types. */
static void need_inside(Emit *e, const Type *type)
{
    if (type->elem) need(e, type->elem);
    if (type->key) need(e, type->key);
    need_fields(e, type->fields, type->field_count);
    for (uint32_t i = 0; i < type->case_count; i++) need_fields(e, type->cases[i].fields, type->cases[i].field_count);
}

static void need(Emit *e, const Type *type)
{
    if (e->needed[type->id]) return;
    if (is_ours(e, type)) need_inside(e, type);
}

static const char *kind_name(TypeKind kind)
{
    switch (kind) {
    case TYPE_LIST: return "TFY_LIST";
    case TYPE_MAP: return "TFY_MAP";
    case TYPE_OPTIONAL: return "TFY_OPTIONAL";
    case TYPE_RECORD: return "TFY_RECORD";
    case TYPE_ENUM: return "TFY_ENUM";
    case TYPE_ERROR: return "TFY_ERROR";
    case TYPE_TASK: return "TFY_TASK";
    case TYPE_CHANNEL: return "TFY_CHANNEL";
    default: UNREACHED("every type that is needed has a descriptor");
    }
}

static void put_doc(Text *p, const char *doc)
{
    if (!doc) return;
    text_put(p, ", .doc = ");
    text_quote_c(p, doc, strlen(doc));
}

static void put_doc_value(Text *p, const char *doc)
{
    if (doc)
        text_quote_c(p, doc, strlen(doc));
    else
        text_put(p, "NULL");
}

/* {"name", &type, make, doc}, … as one array; "NULL" when there are none. */
static const char *emit_fields(Emit *e, const char *array, const TypeField *fields, uint32_t count, uint32_t line)
{
    Text p = {.arena = e->arena};
    if (!count) return "NULL";
    text_format(&p, "static const TfyField %s[] = {", array);
    for (uint32_t i = 0; i < count; i++) {
        const Routine *make = fields[i].value ? machine_hook(e->machine, fields[i].value, "default") : NULL;
        CHECK(fields[i].type);
        text_put(&p, i ? ", {" : "{");
        text_quote_c(&p, fields[i].name, strlen(fields[i].name));
        text_put(&p, ", ");
        emit_type(e, &p, fields[i].type);
        text_format(&p, ", %s, ", make ? emit_routine_name(e, make) : "NULL");
        put_doc_value(&p, fields[i].doc);
        text_put(&p, "}");
    }
    ctext_pieces(&e->c, line, "%s};", p.data);
    return array;
}

static void emit_cases(Emit *e, const Type *type, uint32_t line)
{
    Text p = {.arena = e->arena};
    text_format(&p, "static const TfyCase tfyg_cases_%u[] = {", type->id);
    for (uint32_t i = 0; i < type->case_count; i++) {
        const TypeCase *c = &type->cases[i];
        const char *fields =
            emit_fields(e, arena_printf(e->arena, "tfyg_fields_%u_%u", type->id, i), c->fields, c->field_count, line);
        text_format(&p, "%s{\"%s\", %s, %u, ", i ? ", " : "", c->name, fields, c->field_count);
        if (c->field_count) {
            text_put(&p, "NULL, ");
        } else {
            ctext_pieces(&e->c, line, "static const TfyObj tfyg_case_%u_%s = {TFY_IMMORTAL, %u, &%s};", type->id,
                         c->name, i, type_name(e, type));
            text_format(&p, "CASE(%u, %s), ", type->id, c->name);
        }
        put_doc_value(&p, c->doc);
        text_put(&p, "}");
    }
    ctext_pieces(&e->c, line, "%s};", p.data);
}

static uint32_t type_line(const Emit *e, const Type *type)
{
    return type->decl ? source_global_line(e->machine->program->sources, type->decl->span.off) : 1;
}

static void emit_descriptor(Emit *e, const Type *type)
{
    uint32_t line = type_line(e, type);
    Text p = {.arena = e->arena};
    const char *fields = NULL;
    if (type->kind == TYPE_ENUM) emit_cases(e, type, line);
    if (type->kind == TYPE_RECORD || type->kind == TYPE_ERROR)
        fields =
            emit_fields(e, arena_printf(e->arena, "tfyg_fields_%u", type->id), type->fields, type->field_count, line);
    text_format(&p, "static const TfyType %s = {.kind = %s, .name = ", type_name(e, type), kind_name(type->kind));
    text_quote_c(&p, type->name, strlen(type->name));
    if (type->scalar) text_put(&p, ", .scalar = true");
    if (type->elem && type->kind != TYPE_RECORD) {
        text_put(&p, ", .elem = ");
        emit_type(e, &p, type->elem);
    }
    if (type->key) {
        text_put(&p, ", .key = ");
        emit_type(e, &p, type->key);
    }
    if (fields) text_format(&p, ", .fields = %s, .field_count = %u", fields, type->field_count);
    if (type->kind == TYPE_ENUM)
        text_format(&p, ", .cases = tfyg_cases_%u, .case_count = %u", type->id, type->case_count);
    put_doc(&p, type->decl ? type->decl->doc : NULL);
    ctext_pieces(&e->c, line, "%s};", p.data);
}

/* What functions and tables refer to was marked while they were written; what those types refer to is marked here. */
void emit_types(Emit *e)
{
    bool *roots = arena_alloc(e->arena, e->machine->program->type_count + 1);
    memcpy(roots, e->needed, e->machine->program->type_count);
    for (const Type *type = e->machine->program->types; type; type = type->next)
        if (roots[type->id]) need_inside(e, type);
    for (const Type *type = e->machine->program->types; type; type = type->next)
        if (e->needed[type->id])
            ctext_pieces(&e->c, type_line(e, type), "static const TfyType %s;", type_name(e, type));
    for (uint32_t i = 0; i < e->machine->routine_count; i++) {
        const Routine *routine = e->machine->routines[i];
        if (routine->kind == ROUTINE_HOOK) emit_prototype(e, routine);
    }
    for (const Type *type = e->machine->program->types; type; type = type->next)
        if (e->needed[type->id]) emit_descriptor(e, type);
}

/* ---- what is live ---- */

/* Lists of live slots are shared: a list that is a stretch of a longer one of the same routine is written as that
 * stretch. In straight code, where variables come and stay, this keeps the output linear in the source. */
typedef struct LiveList {
    const Point *point; /* whose list was written; NULL: none */
    uint32_t from;      /* where the wanted one starts in it */
} LiveList;

static int by_live_count(const void *a, const void *b)
{
    const Point *x = *(const Point *const *)a, *y = *(const Point *const *)b;
    if (x->live_count != y->live_count) return x->live_count > y->live_count ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void emit_live(Emit *e, const Point *point)
{
    Text p = {.arena = e->arena};
    text_format(&p, "static const TfyLive tfyg_live%u[] = {", point->number);
    for (uint32_t i = 0; i < point->live_count; i++) {
        const Var *var = point->live[i];
        text_format(&p, "%s{%d, ", i ? ", " : "", var->slot);
        emit_type(e, &p, var->type);
        if (var->label)
            text_format(&p, ", \"%s\"}", var->label);
        else
            text_put(&p, ", NULL}");
    }
    ctext_pieces(&e->c, point->line, "%s};", p.data);
}

/* Where each variable was in the list that was written last and holds it. */
typedef struct Written {
    LiveList *lists; /* by Var.id; point NULL: in none */
} Written;

static LiveList find_live(const Written *written, const Point *point)
{
    LiveList at = written->lists[point->live[0]->id];
    bool fits = at.point && at.from + point->live_count <= at.point->live_count;
    if (fits && memcmp(at.point->live + at.from, point->live, point->live_count * sizeof *point->live) == 0) return at;
    return (LiveList){0};
}

/* The longest first, so that the shorter ones find them. Answers by Point.pc - 1. */
static LiveList *emit_live_lists(Emit *e, const Routine *routine)
{
    LiveList *lists = arena_alloc(e->arena, (routine->resume_count + 1) * sizeof *lists);
    const Point **points = arena_alloc(e->arena, (routine->resume_count + 1) * sizeof *points);
    Written written = {arena_alloc(e->arena, (routine->var_count + 1) * sizeof *written.lists)};
    for (uint32_t i = 0; i < routine->resume_count; i++) points[i] = routine->resume[i];
    if (routine->resume_count) qsort(points, routine->resume_count, sizeof *points, by_live_count);
    for (uint32_t i = 0; i < routine->resume_count && points[i]->live_count; i++) {
        const Point *point = points[i];
        LiveList *list = &lists[point->pc - 1];
        *list = find_live(&written, point);
        if (list->point) continue;
        *list = (LiveList){point, 0};
        emit_live(e, point);
        for (uint32_t n = 0; n < point->live_count; n++) written.lists[point->live[n]->id] = (LiveList){point, n};
    }
    return lists;
}

/* ---- points ---- */

static const char *point_kind(AskKind ask)
{
    static const char *const kinds[] = {
        [ASK_YIELD] = "TFY_POINT_YIELD", [ASK_FUEL] = "TFY_POINT_FUEL",      [ASK_EFFECT] = "TFY_POINT_EFFECT",
        [ASK_CALL] = "TFY_POINT_CALL",   [ASK_BACKOFF] = "TFY_POINT_EFFECT", [ASK_UNDO] = "TFY_POINT_UNDO",
        [ASK_MARK] = "TFY_POINT_MARK"};
    return kinds[ask];
}

static void emit_words(Emit *e, const Point *point)
{
    Text p = {.arena = e->arena};
    text_format(&p, "static const TfyWord tfyg_words%u[] = {", point->number);
    for (const ArgvWord *word = point->words; word; word = word->next) {
        text_format(&p, "{%u, ", word->at);
        text_quote_c(&p, word->text, strlen(word->text));
        text_format(&p, ", %s}, ", word->behind ? "true" : "false");
    }
    ctext_pieces(&e->c, point->line, "%s{0, NULL, false}};", p.data);
}

static void emit_point(Emit *e, const Point *point, const LiveList *lists)
{
    Text p = {.arena = e->arena};
    bool mark = point->ask == ASK_MARK;
    if (mark && point->live_count) emit_live(e, point);
    if (point->words) emit_words(e, point);
    text_format(&p, "static const TfyPoint tfyg_p%u = {.id = ", point->number);
    text_quote_c(&p, point->id, strlen(point->id));
    text_format(&p, ", .number = %u, .line = %u, .kind = %s", point->number, point->line, point_kind(point->ask));
    if (point->live_count) {
        const LiveList at = mark ? (LiveList){point, 0} : lists[point->pc - 1];
        CHECK(at.point && at.from + point->live_count <= at.point->live_count);
        text_format(&p, ", .live = tfyg_live%u", at.point->number);
        if (at.from) text_format(&p, " + %u", at.from);
        text_format(&p, ", .live_count = %u", point->live_count);
    }
    if (point->words) text_format(&p, ", .words = tfyg_words%u", point->number);
    ctext_pieces(&e->c, point->line, "%s};", p.data);
}

void emit_points(Emit *e)
{
    for (uint32_t i = 0; i < e->machine->routine_count; i++) {
        const Routine *routine = e->machine->routines[i];
        if (routine->kind != ROUTINE_WORKFLOW) continue;
        const LiveList *lists = emit_live_lists(e, routine);
        for (uint32_t n = 0; n < routine->point_count; n++)
            if (routine->points[n]->kept) emit_point(e, routine->points[n], lists);
    }
}

/* ---- tools ---- */

static uint32_t decl_line(const Emit *e, const Decl *decl)
{
    return source_global_line(e->machine->program->sources, decl->span.off);
}

static const char *emit_params(Emit *e, const Decl *decl)
{
    TypeField *fields = arena_alloc(e->arena, (decl->param_count + 1) * sizeof *fields);
    uint32_t count = 0;
    for (const Field *f = decl->params; f; f = f->next)
        fields[count++] = (TypeField){.name = f->name.text, .type = f->type, .value = f->value, .doc = f->doc};
    CHECK(count == decl->param_count);
    return emit_fields(e, arena_printf(e->arena, "tfyg_params_%s", decl->c_name), fields, count, decl_line(e, decl));
}

/* The prototype that the user's C must have, and the function that unpacks the arguments for it. */
static void emit_extern(Emit *e, const Decl *decl)
{
    const Expr *name = decl->provider_value->parts;
    uint32_t line = decl_line(e, decl), index = 0;
    Text proto = {.arena = e->arena}, call = {.arena = e->arena};
    if (e->options->shared) text_put(&proto, "TFY__WITHIN ");
    emit_extern_prototype(&proto, decl);
    text_format(&call, "return %.*s(tfy__t", name ? (int)name->text_len : 0, name ? name->text : "");
    for (const Field *f = decl->params; f; f = f->next, index++)
        text_format(&call, ", tfy__a[%u].%s", index, emit_member(machine_rep(f->type)));
    if (decl->type->kind != TYPE_NOTHING) text_format(&call, ", &tfy__out->%s", emit_member(machine_rep(decl->type)));
    ctext_piece(&e->c, line, proto.data);
    ctext_line(&e->c, line,
               "static bool tfyg_extern_%s(TfyTask *tfy__t, TFY__UNUSED const TfyValue *tfy__a, TFY__UNUSED TfyValue "
               "*tfy__out) { %s); }",
               decl->c_name, call.data);
}

static void put_signature(Emit *e, Text *p, const char *params, uint32_t count, const Type *result)
{
    if (count) text_format(p, ", .params = %s, .param_count = %u", params, count);
    text_put(p, ", .result = ");
    emit_type(e, p, result);
}

static void put_hook(Emit *e, Text *p, const Decl *decl, const char *what)
{
    const Routine *routine = machine_hook(e->machine, decl, what);
    if (routine) text_format(p, ", .%s = %s", what, emit_routine_name(e, routine));
}

static int64_t prompt_asks(const Decl *decl)
{
    for (const PromptRow *row = decl->rows; row; row = row->next)
        if (strcmp(row->name.text, "retry") == 0) return row->value->int_value;
    return 0;
}

static void emit_agent(Emit *e, const Agent *agent)
{
    Text p = {.arena = e->arena};
    const char *name = agent->prompt->c_name;
    text_format(&p, "static const bool tfyg_reads_%s[] = {", name);
    for (uint32_t i = 0; i < agent->target_count; i++) text_format(&p, "%d, ", agent->targets[i].reads);
    text_format(&p, "0}; static const TfyAgent tfyg_agent_%s = {.calls = ", name);
    emit_type(e, &p, agent->calls->type);
    text_format(&p, ", .reads = tfyg_reads_%s, .most = %" PRId64, name, agent->most);
    ctext_pieces(&e->c, decl_line(e, agent->prompt), "%s};", p.data);
}

static void emit_tool(Emit *e, const Decl *decl)
{
    const Agent *agent = decl->kind == DECL_PROMPT && decl->made_for ? decl->made_for->agent : NULL;
    if (agent && decl == agent->next) emit_agent(e, agent);
    static const char *const repeats[] = {
        [REPEAT_ONCE] = "TFY_ONCE", [REPEAT_IDEMPOTENT] = "TFY_IDEMPOTENT", [REPEAT_PURE] = "TFY_PURE"};
    bool prompt = decl->kind == DECL_PROMPT, is_extern = !prompt && decl->provider == PROV_EXTERN;
    bool is_http = !prompt && decl->provider == PROV_HTTP;
    /* in tests every tool is mocked: no C file is needed for it */
    bool calls = is_extern && !e->machine->tests;
    const char *params = emit_params(e, decl);
    if (calls) emit_extern(e, decl);
    if (decl->remote) emit_remote(e, decl);
    Text p = {.arena = e->arena};
    text_format(&p, "static const TfyTool tfyg_tool_%s = {.name = \"%s\", .family = %s, .repeat = %s", decl->c_name,
                decl->full_name,
                prompt         ? "TFY_F_PROMPT"
                : is_extern    ? "TFY_F_EXTERN"
                : is_http      ? "TFY_F_HTTP"
                : decl->remote ? "TFY_F_MCP"
                               : "TFY_F_EXEC",
                prompt ? "TFY_IDEMPOTENT" : repeats[decl->repeat]);
    put_signature(e, &p, params, decl->param_count, decl->type);
    put_doc(&p, decl->doc);
    put_hook(e, &p, decl, "argv");
    put_hook(e, &p, decl, "input");
    put_hook(e, &p, decl, "cwd");
    put_hook(e, &p, decl, "env");
    put_hook(e, &p, decl, "model");
    put_hook(e, &p, decl, "system");
    put_hook(e, &p, decl, "user");
    put_hook(e, &p, decl, "files");
    if (decl->files && !e->machine->tests) text_format(&p, ", .sends = &tfy__sending");
    if (prompt) text_format(&p, ", .asks = %" PRId64, prompt_asks(decl));
    if (agent) text_format(&p, ", .agent = &tfyg_agent_%s", agent->prompt->c_name);
    if (agent && decl == agent->compact) text_format(&p, ", .compacts = true");
    if (decl->limit) text_format(&p, ", .limit = %" PRId64, decl->limit->value);
    if (decl->rate)
        text_format(&p, ", .rate = %" PRId64 ", .rate_ms = %" PRId64, decl->rate->value, decl->rate->per_ms);
    if (calls) text_format(&p, ", .call = tfyg_extern_%s", decl->c_name);
    if (decl->probe) text_format(&p, ", .probe = &tfyg_tool_%s", decl->probe->c_name);
    if (decl->remote) text_format(&p, ", .mcp = &tfyg_mcp_%s", decl->c_name);
    if (decl->remote && decl->remote->keyed) text_put(&p, ", .keyed = true");
    put_sandbox(&p, ", ", decl->server ? decl->server->sandbox : decl->sandbox, "");
    ctext_pieces(&e->c, decl_line(e, decl), "%s};", p.data);
}

/* send and recv take or give what their channel carries, so each type of channel has its own. */
static void emit_channel_tool(Emit *e, const Point *point)
{
    const Type *channel = point->channel;
    bool send = point->builtin->id == BI_SEND;
    const char *name = arena_printf(e->arena, "tfyg_%s_%u", point->builtin->name, channel->id);
    TypeField fields[] = {{.name = "channel", .type = channel}, {.name = "value", .type = channel->elem}};
    const char *params = emit_fields(e, arena_printf(e->arena, "%s_params", name), fields, send ? 2 : 1, point->line);
    Text p = {.arena = e->arena};
    text_format(&p, "static const TfyTool %s = {.name = \"%s\", .family = %s, .repeat = TFY_PURE", name,
                point->builtin->name, send ? "TFY_F_SEND" : "TFY_F_RECV");
    put_signature(e, &p, params, send ? 2 : 1, point->result);
    ctext_pieces(&e->c, point->line, "%s};", p.data);
}

static void emit_channel_tools(Emit *e)
{
    bool *made = arena_alloc(e->arena, 2 * (e->machine->program->type_count + 1));
    for (uint32_t i = 0; i < e->machine->point_count; i++) {
        const Point *point = e->machine->points[i];
        if (!point->channel || point->ask == ASK_MARK) continue;
        bool *mark = &made[2 * point->channel->id + (point->builtin->id == BI_SEND)];
        if (!*mark) emit_channel_tool(e, point);
        *mark = true;
    }
}

static void emit_retry_on(Emit *e, const Point *point)
{
    Text p = {.arena = e->arena};
    text_format(&p, "static const TfyType *const tfyg_retry_on%u[] = {", point->number);
    for (const CatchName *name = point->retry_on; name; name = name->next) {
        emit_type(e, &p, name->type);
        text_put(&p, ", ");
    }
    ctext_pieces(&e->c, point->line, "%sNULL};", p.data);
}

/* The effect http with the limits of one place. */
static void emit_limited(Emit *e, const Point *point)
{
    const char *class = strchr(point->effect, '_');
    ctext_pieces(&e->c, point->line,
                 "static const TfyTool tfyg_http%u = {.name = \"http\", .family = TFY_F_HTTP, .repeat = TFY_%s, "
                 ".params = tfy_http_params, .param_count = 4, .result = &tfy_type_http_response, "
                 ".effect = &tfy_effect_http, .limit = %" PRId64 ", .rate = %" PRId64 ", .rate_ms = %" PRId64 "};",
                 point->number,
                 !class            ? "ONCE"
                 : class[1] == 'p' ? "PURE"
                                   : "IDEMPOTENT",
                 point->limit, point->rate, point->rate_ms);
}

static void emit_site(Emit *e, const Point *point)
{
    Text p = {.arena = e->arena};
    const bool limited = point->limit || point->rate;
    if (point->retry_on) emit_retry_on(e, point);
    if (limited) emit_limited(e, point);
    if (point->asked) emit_asked(e, point);
    text_format(&p, "static const TfySite tfyg_site%u = {.point = &tfyg_p%u, ", point->number, point->number);
    if (limited)
        text_format(&p, ".tool = &tfyg_http%u, ", point->number);
    else if (point->effect)
        text_format(&p, ".tool = &tfy_effect_%s, ", point->effect);
    else if (point->channel)
        text_format(&p, ".tool = &tfyg_%s_%u, ", point->builtin->name, point->channel->id);
    else if (point->builtin)
        text_format(&p, ".tool = &tfy_effect_%s, ", point->builtin->name);
    else if (point->callee)
        text_format(&p, ".tool = &tfyg_tool_%s, ", point->callee->c_name);
    text_put(&p, ".result = ");
    emit_type(e, &p, point->result);
    if (point->retry_on) text_format(&p, ", .retry_on = tfyg_retry_on%u", point->number);
    if (point->asked) text_format(&p, ", .asked = &tfyg_asked%u", point->number);
    ctext_pieces(&e->c, point->line, "%s};", p.data);
}

static bool has_site(const Point *point)
{
    return point->ask == ASK_EFFECT || point->ask == ASK_BACKOFF;
}

static bool is_tool(const Decl *decl)
{
    return decl->kind == DECL_TOOL || (decl->kind == DECL_PROMPT && !decl->agent); /* whose loop is a workflow */
}

void emit_tools(Emit *e)
{
    const Program *program = e->machine->program;
    emit_sandboxes(e);
    emit_servers(e);
    for (uint32_t i = 0; i < program->decl_count; i++)
        if (is_tool(program->decls[i]) && program->decls[i]->probe)
            ctext_pieces(&e->c, decl_line(e, program->decls[i]), "static const TfyTool tfyg_tool_%s;",
                         program->decls[i]->probe->c_name);
    for (uint32_t i = 0; i < program->decl_count; i++)
        if (is_tool(program->decls[i])) emit_tool(e, program->decls[i]);
    emit_channel_tools(e);
    for (uint32_t i = 0; i < e->machine->point_count; i++) {
        if (has_site(e->machine->points[i])) emit_site(e, e->machine->points[i]);
    }
}

/* ---- workflows ---- */

void emit_forwards(Emit *e)
{
    for (uint32_t i = 0; i < e->machine->routine_count; i++) {
        const Routine *routine = e->machine->routines[i];
        if (routine->kind == ROUTINE_WORKFLOW)
            ctext_pieces(&e->c, routine->line, "static const TfyWorkflow tfyg_wf_%s;", routine->name);
        else if (routine->kind != ROUTINE_HOOK)
            emit_prototype(e, routine);
    }
}

/* What a closure captures are its parameters. */
static const char *emit_captures(Emit *e, const Routine *routine)
{
    TypeField *fields = arena_alloc(e->arena, (routine->param_count + 1) * sizeof *fields);
    for (uint32_t i = 0; i < routine->param_count; i++)
        fields[i] = (TypeField){.name = routine->vars[i]->label, .type = routine->vars[i]->type};
    const char *name = arena_printf(e->arena, "tfyg_params_%s", routine->name);
    return emit_fields(e, name, fields, routine->param_count, routine->line);
}

/* A bit for each parameter that a server may fill from outside. */
static uint64_t untrusted_params(const Decl *decl)
{
    uint64_t bits = 0, bit = 1;
    for (const Field *f = decl->params; f && bit; f = f->next, bit <<= 1)
        if (f->label == LABEL_UNTRUSTED) bits |= bit;
    return bits;
}

static void emit_workflow(Emit *e, const Routine *routine, uint32_t number)
{
    const Decl *decl = routine->decl;
    const char *params = routine->closure ? emit_captures(e, routine) : emit_params(e, decl);
    Text p = {.arena = e->arena};
    if (routine->resume_count) {
        Text list = {.arena = e->arena};
        for (uint32_t i = 0; i < routine->resume_count; i++)
            text_format(&list, "%s&tfyg_p%u", i ? ", " : "", routine->resume[i]->number);
        ctext_pieces(&e->c, routine->line, "static const TfyPoint *const tfyg_resume_%s[] = {%s};", routine->name,
                     list.data);
    }
    text_format(&p, "static const TfyWorkflow tfyg_wf_%s = {.name = ", routine->name);
    text_quote_c(&p, routine->label, strlen(routine->label));
    text_format(&p, ", .number = %u, .line = %u, .run = %s, .frame_size = sizeof(struct tfyg_frame_%s)", number,
                routine->line, emit_routine_name(e, routine), routine->name);
    put_signature(e, &p, params, routine->param_count, routine->result);
    if (routine->resume_count)
        text_format(&p, ", .resume = tfyg_resume_%s, .resume_count = %u", routine->name, routine->resume_count);
    if (!routine->closure) put_doc(&p, decl->doc);
    const uint64_t untrusted = routine->closure ? 0 : untrusted_params(decl);
    if (untrusted) text_format(&p, ", .untrusted = UINT64_C(0x%llx)", (unsigned long long)untrusted);
    if (!routine->closure && decl->reads) text_format(&p, ", .reads = true");
    ctext_pieces(&e->c, routine->line, "%s};", p.data);
}

void emit_workflows(Emit *e)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < e->machine->routine_count; i++)
        if (e->machine->routines[i]->kind == ROUTINE_WORKFLOW) emit_workflow(e, e->machine->routines[i], number++);
}

/* ---- the program ---- */

/* Long texts as adjacent literals, one for each line of the text, so that no line of C grows without bound. */
static void emit_text(Emit *e, const char *name, const char *text, size_t len)
{
    size_t from = 0;
    ctext_flush(&e->c);
    ctext_pieces(&e->c, 1, "static const char %s[] =", name);
    do {
        const char *end = memchr(text + from, '\n', len - from);
        size_t to = end ? (size_t)(end - text) + 1 : len;
        Text line = {.arena = e->arena};
        text_quote_c(&line, text + from, to - from);
        ctext_pieces(&e->c, 1, "%s%s", line.data, to == len ? ";" : "");
        from = to;
    } while (from < len);
    ctext_flush(&e->c);
}

static Text all_sources(const Emit *e)
{
    Text text = {.arena = e->arena};
    text_put(&text, "");
    for (const Module *module = e->machine->program->modules; module; module = module->next) {
        if (module->number) text_put(&text, "\n"); /* source_global_line counts on it */
        text_add(&text, module->source->text, module->source->len);
    }
    return text;
}

/* The files of a program of several, for messages. Answers how many there are; 0: it is one file. */
static uint32_t emit_modules(Emit *e)
{
    Text list = {.arena = e->arena};
    uint32_t count = 0;
    if (!e->machine->program->modules->next) return 0;
    for (const Module *module = e->machine->program->modules; module; module = module->next, count++) {
        text_put(&list, count ? ", {.file = " : "{.file = ");
        text_quote_c(&list, module->file, strlen(module->file));
        text_format(&list, ", .first_line = %u}", module->source->line_base + 1);
    }
    ctext_pieces(&e->c, 1, "static const TfyModule tfyg_modules[] = {%s};", list.data);
    return count;
}

/* The workflow that runs by default: main, or the only one of the main file, which comes first. */
static uint32_t main_workflow(const Emit *e, uint32_t *count)
{
    uint32_t main = UINT32_MAX, own = 0;
    *count = 0;
    for (uint32_t i = 0; i < e->machine->routine_count; i++) {
        const Routine *routine = e->machine->routines[i];
        if (routine->kind != ROUTINE_WORKFLOW || routine->closure || routine->test) continue;
        if (strcmp(routine->name, "main") == 0) main = *count;
        own += routine->decl->module->number == 0;
        ++*count;
    }
    return main == UINT32_MAX && own == 1 ? 0 : main;
}

/* An array and its members in the program: .workflows = tfyg_workflows, .workflow_count = 2; nothing when it would be
 * empty. count 0: the program does not say how long it is. */
static void put_array(Emit *e, Text *p, const char *ctype, const char *member, const char *counter, const char *items,
                      uint32_t count)
{
    if (!*items) return;
    ctext_pieces(&e->c, 1, "static const %s *const tfyg_%s[] = {%s};", ctype, member, items);
    text_format(p, "    .%s = tfyg_%s,", member, member);
    if (counter) text_format(p, " .%s = %u,", counter, count);
    text_put(p, "\n");
}

/* Workflows, or tests. */
static const char *list_workflows(const Emit *e, bool tests, uint32_t *count)
{
    Text list = {.arena = e->arena};
    text_put(&list, "");
    *count = 0;
    for (uint32_t i = 0; i < e->machine->routine_count; i++) {
        const Routine *routine = e->machine->routines[i];
        if (routine->kind != ROUTINE_WORKFLOW || routine->closure || routine->test != tests) continue;
        text_format(&list, "%s&tfyg_wf_%s", list.len ? ", " : "", routine->name);
        ++*count;
    }
    return list.data;
}

static const char *list_tools(const Emit *e, uint32_t *count)
{
    const Program *program = e->machine->program;
    Text list = {.arena = e->arena};
    text_put(&list, "");
    *count = 0;
    for (uint32_t i = 0; i < program->decl_count; i++) {
        if (!is_tool(program->decls[i])) continue;
        text_format(&list, "%s&tfyg_tool_%s", list.len ? ", " : "", program->decls[i]->c_name);
        ++*count;
    }
    return list.data;
}

static const char *list_points(const Emit *e)
{
    Text list = {.arena = e->arena};
    text_put(&list, "");
    for (uint32_t i = 0; i < e->machine->point_count; i++) text_format(&list, "%s&tfyg_p%u", i ? ", " : "", i + 1);
    return list.data;
}

static const char *list_sites(const Emit *e)
{
    Text list = {.arena = e->arena};
    text_put(&list, "");
    for (uint32_t i = 0; i < e->machine->point_count; i++)
        text_format(&list, has_site(e->machine->points[i]) ? "%s&tfyg_site%u" : "%s0", i ? ", " : "", i + 1);
    return list.data;
}

static const char *list_routines(const Emit *e, uint32_t *count)
{
    Text list = {.arena = e->arena};
    text_put(&list, "");
    *count = 0;
    for (uint32_t i = 0; i < e->machine->routine_count; i++) {
        if (e->machine->routines[i]->kind != ROUTINE_WORKFLOW) continue;
        text_format(&list, "%s&tfyg_wf_%s", list.len ? ", " : "", e->machine->routines[i]->name);
        ++*count;
    }
    return list.data;
}

static const char *list_errors(Emit *e, uint32_t *count)
{
    Text list = {.arena = e->arena};
    text_put(&list, "");
    *count = 0;
    for (const Type *type = e->machine->program->types; type; type = type->next) {
        if (type->kind != TYPE_ERROR || !type->decl || !e->needed[type->id]) continue; /* nobody can raise the others */
        if (list.len) text_put(&list, ", ");
        emit_type(e, &list, type);
        ++*count;
    }
    return list.data;
}

/* Distinguishes this program from every other: its text, the compiler's version, and the names that messages show. */
static XXH128_hash_t hash_program(const Emit *e, const Text *source, const char *file)
{
    Text hashed = {.arena = e->arena};
    text_add(&hashed, source->data, source->len);
    text_add(&hashed, TFY_VERSION, sizeof TFY_VERSION);
    text_put(&hashed, file);
    for (const Module *module = e->machine->program->modules->next; module; module = module->next)
        text_add(&hashed, module->file, strlen(module->file) + 1);
    return XXH3_128bits(hashed.data, hashed.len);
}

/* The names of the secrets that the program can use. */
static void put_secrets(Emit *e, Text *p)
{
    Text list = {.arena = e->arena};
    for (const MSecret *secret = e->machine->secrets; secret; secret = secret->next)
        text_format(&list, "\"%s\", ", secret->name);
    if (!list.len) return;
    ctext_pieces(&e->c, 1, "static const char *const tfyg_secrets[] = {%sNULL};", list.data);
    text_put(p, "    .secrets = tfyg_secrets,\n");
}

/* Writes the arrays that the program refers to, and its members for them. */
static void put_arrays(Emit *e, Text *p)
{
    uint32_t count, main = main_workflow(e, &count);
    const uint32_t points = e->machine->point_count;
    const char *items = list_workflows(e, false, &count);
    put_array(e, p, "TfyWorkflow", "workflows", "workflow_count", items, count);
    text_format(p, main == UINT32_MAX ? "    .main = UINT32_MAX,\n" : "    .main = %u,\n", main);
    items = list_workflows(e, true, &count);
    put_array(e, p, "TfyWorkflow", "tests", "test_count", items, count);
    items = list_tools(e, &count);
    put_array(e, p, "TfyTool", "tools", "tool_count", items, count);
    put_array(e, p, "TfyPoint", "points", "point_count", list_points(e), points);
    items = list_routines(e, &count);
    put_array(e, p, "TfyWorkflow", "routines", "routine_count", items, count);
    put_array(e, p, "TfySite", "sites", NULL, list_sites(e), points);
    items = list_errors(e, &count);
    put_array(e, p, "TfyType", "errors", "error_count", items, count);
    put_secrets(e, p);
}

static bool asks_approval(const Machine *machine)
{
    for (uint32_t i = 0; i < machine->point_count; i++)
        if (machine->points[i]->builtin && machine->points[i]->builtin->id == BI_APPROVE) return true;
    return false;
}

void emit_program(Emit *e)
{
    Text source = all_sources(e), p = {.arena = e->arena};
    const char *slash = strrchr(e->options->source_name, '/'), *file = slash ? slash + 1 : e->options->source_name;
    const char *layout = emit_layout(e->machine, file);
    XXH128_hash_t hash = hash_program(e, &source, file);
    ctext_raw(&e->c, "\n");
    emit_text(e, "tfyg_source", source.data, source.len);
    emit_text(e, "tfyg_layout", layout, strlen(layout));
    text_put(&p, "const TfyProgram tfyg_program = {\n    .name = ");
    text_quote_c(&p, file, strlen(file));
    text_format(&p, ",\n    .source = tfyg_source,\n    .layout = tfyg_layout,\n    .hash = {0x%016" PRIx64 ", ",
                (uint64_t)hash.high64);
    text_format(&p, "0x%016" PRIx64 "},\n    .tfyc = \"%s\",\n", (uint64_t)hash.low64, TFY_VERSION);
    put_arrays(e, &p);
    const uint32_t modules = emit_modules(e);
    if (modules) text_format(&p, "    .modules = tfyg_modules, .module_count = %u,\n", modules);
    const char *performers = emit_performers(e);
    if (performers) text_format(&p, "    .performers = %s,\n", performers);
    put_sandbox(&p, "    ", e->machine->program->sandbox, ",\n");
    if (asks_approval(e->machine)) text_put(&p, "    .yolo_refused = tfy__yolo_refused,\n");
    if (e->machine->debug) text_put(&p, "    .debug = true,\n");
    if (e->machine->saves) text_put(&p, "    .saves = true,\n");
    if (e->machine->tests) text_put(&p, "    .tester = &tfy__tester,\n");
    if (e->machine->debug || e->options->steps) text_put(&p, "    .debugger = &tfy__debugger,\n");
    ctext_line(&e->c, 1, "extern const TfyProgram tfyg_program;");
    text_put(&p, "};\n");
    ctext_raw(&e->c, p.data);
    if (e->options->shared)
        ctext_line(&e->c, 1, "TFY__SHARED(tfyg_program, \"" TFY_VERSION "\", \"" TFY_INTERFACE "\")");
    else if (e->options->main)
        ctext_line(&e->c, 1, "int main(int argc, char **argv) { return tfy_main(argc, argv, &tfyg_program); }");
}
