/* agent_trust.c: of three things an agent may have two. It may see what strangers write, see what is private, and act
 * outside. With all three, such a text could make it hand out what is private, so each of its tools that acts outside
 * needs the approval of a person.
 *
 * What an agent has, it has by what it offers: workflows and other agents hand on what they reach. This follows from
 * the calls that the pass of the labels notes (check_trust.c), among them those of the agents' own loops. A call with
 * `approve` does not act outside on its own. */
#include "agent.h"
#include "check_trust.h"
#include "sandbox.h"

#include <string.h>

typedef enum Part { PART_STRANGERS, PART_PRIVATE, PART_ACTS, PARTS } Part;

/* By part the call that has it; NULL: it does not have it. */
typedef struct Sight {
    const Expr *by[PARTS];
} Sight;

/* ---- one call ---- */

static void found_secret(void *state, const Expr *call)
{
    *(bool *)state = true;
}

static bool reaches_out(const Trust *t, const Decl *tool)
{
    return sandbox_reaches_out(tool && tool->sandbox ? tool->sandbox : t->program->sandbox);
}

static void see_tool(const Trust *t, const Decl *tool, bool has[PARTS])
{
    const bool asks = tool->provider == PROV_HTTP || tool->provider == PROV_MCP ||
                      (tool->provider == PROV_EXEC && reaches_out(t, tool));
    has[PART_STRANGERS] = asks && tool->result_label != LABEL_TRUSTED;
    has[PART_PRIVATE] = tool->is_private;
    has[PART_ACTS] = tool->repeat != REPEAT_PURE && !tool->is_local;
    trust_tool_secrets(tool, found_secret, &has[PART_PRIVATE]);
}

static void see_effect(const Trust *t, const Expr *call, const Builtin *builtin, bool has[PARTS])
{
    switch (builtin->id) {
    case BI_READ_FILE:
    case BI_CODE_MAP:
    case BI_CODE_SYMBOLS:
    case BI_CODE_OUTLINE:
    case BI_CODE_REFERENCES:
    case BI_READ_BYTES: has[PART_PRIVATE] = true; return;
    case BI_HTTP:
        has[PART_STRANGERS] = true;
        has[PART_ACTS] = !call || builtin_repeat(call) != REPEAT_PURE;
        return;
    case BI_EXEC: has[PART_STRANGERS] = has[PART_ACTS] = reaches_out(t, NULL); return;
    case BI_CONNECT:
    case BI_LISTEN: has[PART_ACTS] = true; /* fall through */
    case BI_SIGNAL:
    case BI_ACCEPT:
    case BI_READ:
    case BI_READ_LINE: has[PART_STRANGERS] = true; return;
    default: return;
    }
}

/* One part more: true if it is new. */
static bool take(Sight *to, Part part, const Expr *by)
{
    if (to->by[part]) return false;
    to->by[part] = by;
    return true;
}

static Sight *sight_of(Trust *t, const Decl *decl)
{
    Reach *reach = reach_of(t, decl);
    if (!reach->sight) reach->sight = arena_new(t->arena, Sight);
    return reach->sight;
}

static bool take_call(Trust *t, const TrustCall *at)
{
    const Expr *call = at->call;
    Sight *to = sight_of(t, at->in);
    bool has[PARTS] = {0}, changed = false;
    if (call->call == CALL_WORKFLOW) {
        const Sight *from = sight_of(t, call->decl);
        for (int part = 0; part < PARTS; part++) has[part] = from->by[part];
    } else if (call->call == CALL_TOOL) {
        see_tool(t, call->decl, has);
    } else if (call->call == CALL_PROMPT) {
        has[PART_PRIVATE] = call->decl->files;
    } else if (call->builtin) {
        see_effect(t, call, call->builtin, has);
    }
    for (uint32_t i = 0; i < call->argc; i++)
        if (call->argv[i]) trust_secrets(call->argv[i], found_secret, &has[PART_PRIVATE]);
    if (at->approved) has[PART_ACTS] = false;
    for (int part = 0; part < PARTS; part++) changed |= has[part] && take(to, part, call);
    return changed;
}

/* ---- one agent ---- */

/* The parameter through which strangers are heard, if any, and where a call of the prompt has their text from. */
static const Field *strange_param(Trust *t, const Decl *loop, const Origin **from)
{
    const Reach *reach = reach_of(t, loop);
    uint32_t index = 0;
    for (const Field *f = loop->params; f; f = f->next, index++) {
        *from = reach->given[index].from;
        if (f->label == LABEL_UNTRUSTED || *from) return f;
    }
    return NULL;
}

/* The same whether or not a person approves it. */
static void see_target(Trust *t, const Target *offer, bool has[PARTS])
{
    const Decl *decl = offer->decl;
    const Sight *from = NULL;
    memset(has, 0, PARTS * sizeof *has);
    if (offer->builtin)
        see_effect(t, NULL, offer->builtin, has);
    else if (decl->kind == DECL_TOOL)
        see_tool(t, decl, has);
    else if (decl->kind == DECL_PROMPT && !decl->agent)
        has[PART_PRIVATE] = decl->files;
    else if (decl->kind == DECL_WORKFLOW || decl->agent)
        from = sight_of(t, decl->agent ? decl->agent->loop : decl);
    for (int part = 0; from && part < PARTS; part++) has[part] = from->by[part];
}

static bool is_approved(const Target *offer)
{
    const Policy *p = offer->offer->policies;
    while (p && p->kind != POL_APPROVE) p = p->next;
    return p;
}

static void see_offer(Trust *t, const Target *offer, bool has[PARTS])
{
    see_target(t, offer, has);
    if (is_approved(offer)) has[PART_ACTS] = false;
}

/* "grep, mail": the offers that have a part; *first is the first of them. */
static const char *names_with(Trust *t, const Agent *agent, Part part, const Target **first)
{
    const char *names = NULL;
    *first = NULL;
    for (uint32_t i = 0; i < agent->target_count; i++) {
        bool has[PARTS];
        see_offer(t, &agent->targets[i], has);
        if (!has[part]) continue;
        if (!*first) *first = &agent->targets[i];
        const char *name = agent->targets[i].offer->name->module.text
                               ? arena_printf(t->arena, "%s.%s", agent->targets[i].offer->name->module.text,
                                              agent->targets[i].offer->name->name.text)
                               : agent->targets[i].as;
        names = names ? arena_printf(t->arena, "%s, %s", names, name) : name;
    }
    return names;
}

static void note_way(Trust *t, Diag *diag, const Target *offer, Part part)
{
    static const char *const says[PARTS] = {"strangers are read here", "what is private is seen here",
                                            "this acts outside"};
    const Decl *decl = offer->decl;
    for (int depth = 0; decl && (decl->kind == DECL_WORKFLOW || decl->agent) && depth < 8; depth++) {
        const Expr *by = sight_of(t, decl->agent ? decl->agent->loop : decl)->by[part];
        if (!by || !by->span.len) return;
        if (by->call != CALL_WORKFLOW) {
            diag_other(t->c->diags, diag, by->span, "%s", says[part]);
            return;
        }
        decl = by->decl;
    }
}

/* " (read_file)", " (look, read_file)": what a workflow or an agent reaches it through; "": it is a tool or an
 * effect. */
static const char *way_of(Trust *t, const Target *offer, Part part)
{
    const Decl *decl = offer->decl;
    const char *way = "";
    for (int depth = 0; decl && (decl->kind == DECL_WORKFLOW || decl->agent) && depth < 8; depth++) {
        const Expr *by = sight_of(t, decl->agent ? decl->agent->loop : decl)->by[part];
        if (!by) break;
        way = arena_printf(t->arena, "%s%s%s", way, *way ? ", " : " (",
                           by->builtin ? by->builtin->name : by->decl->full_name);
        decl = by->call == CALL_WORKFLOW ? by->decl : NULL;
    }
    return *way ? arena_printf(t->arena, "%s)", way) : "";
}

static const char *reach_text(Trust *t, const Target *offer)
{
    static const char *const says[PARTS] = {"sees what strangers write", "sees what is private", "acts outside"};
    const char *text = NULL;
    bool has[PARTS];
    see_target(t, offer, has);
    for (int part = 0; part < PARTS; part++) {
        if (!has[part]) continue;
        const char *asks = part == PART_ACTS && is_approved(offer) ? ", if a person approves" : "";
        text = arena_printf(t->arena, "%s%s%s%s%s", text ? text : "", text ? "\n" : "", says[part],
                            way_of(t, offer, part), asks);
    }
    return text;
}

static void judge(Trust *t, const Decl *prompt)
{
    const Agent *agent = prompt->agent;
    const Target *offers[PARTS];
    const char *names[PARTS];
    for (int part = 0; part < PARTS; part++) names[part] = names_with(t, agent, part, &offers[part]);
    const Origin *from = NULL;
    const Field *param = offers[PART_STRANGERS] ? NULL : strange_param(t, agent->loop, &from);
    if (param) names[PART_STRANGERS] = param->name.text;
    if (!names[PART_PRIVATE] && agent->next->files) names[PART_PRIVATE] = "file";
    if (!names[PART_STRANGERS] || !names[PART_PRIVATE] || !names[PART_ACTS]) return;
    const Target *acts = offers[PART_ACTS];
    Diag *diag = diag_error(t->c->diags, acts->offer->span,
                            "'%s' reads what strangers write (%s), sees what is private (%s) and acts outside (%s)",
                            prompt->name.text, names[PART_STRANGERS], names[PART_PRIVATE], names[PART_ACTS]);
    while (from && from->before) from = from->before;
    if (param) diag_other(t->c->diags, diag, param->name.span, "strangers are read here");
    if (from && param->label != LABEL_UNTRUSTED)
        diag_other(t->c->diags, diag, from->span, "%s", check_origin_text(t->arena, from));
    for (int part = 0; part < PARTS; part++)
        if (offers[part]) note_way(t, diag, offers[part], part);
    const bool can_be_local =
        acts->decl && acts->decl->kind == DECL_TOOL && acts->decl->provider == PROV_EXEC && !reaches_out(t, acts->decl);
    diag_hint(t->c->diags, diag, "let a person decide: %s approve \"…\"; or take one of them away%s", acts->as,
              can_be_local ? "; or declare it local, if it changes nothing outside" : "");
}

/* ---- the program ---- */

bool agents_offer(const Program *program)
{
    for (uint32_t i = 0; i < program->decl_count; i++)
        if (program->decls[i]->agent && program->decls[i]->agent->target_count) return true;
    return false;
}

void agents_trust(Trust *t)
{
    const Program *program = t->program;
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < t->calls->call_count; i++) changed |= take_call(t, &t->calls->calls[i]);
    }
    for (uint32_t i = 0; i < program->decl_count; i++) {
        const Agent *agent = program->decls[i]->agent;
        if (!agent) continue;
        judge(t, program->decls[i]);
        Target *targets = (Target *)agent->targets;
        for (uint32_t k = 0; k < agent->target_count; k++) targets[k].reaches = reach_text(t, &targets[k]);
    }
}
