/* trust.c: see trust.h. Notes of the pass of the labels, and what follows from them: the table of tools, and which
 * workflows have three things that should not come together. */
#include "trust.h"

#include <stdlib.h>
#include <string.h>

#include "check_internal.h"

void trust_note(Arena *arena, TrustReport *report, TrustNote note)
{
    report->notes = arena_grow(arena, report->notes, &report->note_cap, report->note_count + 1, sizeof *report->notes);
    report->notes[report->note_count++] = note;
}

void trust_note_call(Arena *arena, TrustReport *report, TrustCall noted)
{
    const Expr *call = noted.call;
    const bool is_effect =
        (call->call == CALL_BUILTIN || call->call == CALL_METHOD) && (call->builtin->effect || call->builtin->suspends);
    const bool is_step = call->call == CALL_TOOL || call->call == CALL_PROMPT || call->call == CALL_WORKFLOW;
    if (!is_effect && !is_step) return;
    report->calls = arena_grow(arena, report->calls, &report->call_cap, report->call_count + 1, sizeof *report->calls);
    report->calls[report->call_count++] = noted;
}

/* ---- each once, in source order ---- */

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_notes(const void *left, const void *right)
{
    const TrustNote *a = left, *b = right;
    int order = compare(a->span.off, b->span.off);
    if (!order) order = compare(a->span.len, b->span.len);
    if (!order) order = compare(a->kind, b->kind);
    if (!order) order = compare(a->at.off, b->at.off);
    if (!order && a->param && b->param) order = strcmp(a->param, b->param);
    return order;
}

static int compare_calls(const void *left, const void *right)
{
    const TrustCall *a = left, *b = right;
    const int order = compare(a->call->span.off, b->call->span.off);
    return order ? order : compare(a->call->span.len, b->call->span.len);
}

/* Equal neighbours become one; returns how many are left. */
static uint32_t sort_once(void *items, uint32_t count, size_t size, int (*order)(const void *, const void *))
{
    char *at = items;
    uint32_t kept = 0;
    if (count) qsort(items, count, size, order);
    for (uint32_t i = 0; i < count; i++) {
        if (kept && order(at + (kept - 1) * size, at + i * size) == 0) continue;
        memmove(at + kept++ * size, at + i * size, size);
    }
    return kept;
}

/* ---- secrets ---- */

typedef struct Finding {
    const Program *program;
    TrustTool *tool;
} Finding;

static void add_secret(void *finding, const Expr *call)
{
    const Finding *f = finding;
    const Expr *name = call->argc ? expr_strip(call->argv[0]) : NULL;
    if (!name) return;
    const Expr *text = name->kind == EX_STRING ? name->parts : NULL;
    const bool is_written = text && text->kind == EX_TEXT && !text->next;
    SandboxTexts *secrets = &f->tool->secrets;
    const char *found =
        is_written ? arena_strndup(f->program->arena, text->text, text->text_len)
                   : arena_strndup(f->program->arena, source_text(f->program->sources, name->span), name->span.len);
    for (uint32_t i = 0; i < secrets->count; i++)
        if (strcmp(secrets->items[i], found) == 0) return;
    secrets->items =
        arena_grow(f->program->arena, secrets->items, &secrets->cap, secrets->count + 1, sizeof *secrets->items);
    secrets->items[secrets->count++] = found;
}

void trust_secrets(const Expr *e, void (*found)(void *state, const Expr *call), void *state)
{
    if (!e) return;
    if (e->kind == EX_CALL && e->call == CALL_BUILTIN && e->builtin->id == BI_SECRET) {
        found(state, e);
        return;
    }
    trust_secrets(e->left, found, state);
    trust_secrets(e->right, found, state);
    trust_secrets(e->cond, found, state);
    for (const Expr *part = e->parts; part; part = part->next) trust_secrets(part, found, state);
    for (const Arg *arg = e->args; arg; arg = arg->next) trust_secrets(arg->value, found, state);
    for (const MapEntry *entry = e->entries; entry; entry = entry->next) {
        trust_secrets(entry->key, found, state);
        trust_secrets(entry->value, found, state);
    }
}

void trust_tool_secrets(const Decl *tool, void (*found)(void *state, const Expr *call), void *state)
{
    trust_secrets(tool->provider_value, found, state);
    for (const ProviderOption *option = tool->options; option; option = option->next)
        trust_secrets(option->value, found, state);
    if (tool->server) trust_tool_secrets(tool->server, found, state);
}

/* ---- tools ---- */

static TrustTool *add_tool(const Program *program, TrustReport *report, TrustTool tool)
{
    report->tools =
        arena_grow(program->arena, report->tools, &report->tool_cap, report->tool_count + 1, sizeof *report->tools);
    report->tools[report->tool_count] = tool;
    return &report->tools[report->tool_count++];
}

static void put_in_cell(const Program *program, TrustTool *tool, const Sandbox *named)
{
    const Sandbox *sandbox = named ? named : program->sandbox ? program->sandbox : sandbox_given("workspace");
    tool->keeper = KEPT_BY_CELL;
    tool->sandbox = sandbox;
    tool->network = sandbox->network;
    tool->hosts = sandbox->hosts;
}

/* "a.b:443" of "GET https://a.b/x"; what is computed stays as it is written. */
static const char *address_of(const Program *program, const Expr *line)
{
    enum { SLASHES = 3 }; /* the third begins the path */
    const char *host = "", *port = "";
    int slashes = 0;
    for (const Expr *part = line ? line->parts : NULL; part && slashes < SLASHES; part = part->next) {
        if (part->kind != EX_TEXT) {
            host = arena_printf(program->arena, "%s${%.*s}", host, (int)part->span.len,
                                source_text(program->sources, part->span));
            continue;
        }
        const char *at = part->text, *end = at + part->text_len;
        if (part == line->parts) port = memmem(at, part->text_len, "http://", 7) ? ":80" : ":443";
        for (; at < end && slashes < SLASHES; at++) {
            slashes += *at == '/';
            if (slashes == SLASHES - 1 && *at != '/') host = arena_printf(program->arena, "%s%c", host, *at);
        }
    }
    const char *colon = strrchr(host, ':');
    const bool has_port = (colon && !strchr(colon, ']')) || strstr(host, "${");
    return has_port ? host : arena_printf(program->arena, "%s%s", host, port);
}

static void keep_to_address(const Program *program, TrustTool *tool, const Expr *line)
{
    tool->keeper = KEPT_BY_ADDRESS;
    tool->network = NETWORK_LIST;
    tool->hosts.items = arena_alloc(program->arena, sizeof *tool->hosts.items);
    tool->hosts.items[0] = address_of(program, line);
    tool->hosts.count = tool->hosts.cap = 1;
}

static void list_tool(const Program *program, TrustReport *report, const Decl *decl)
{
    TrustTool *tool = add_tool(program, report,
                               (TrustTool){.name = decl->full_name,
                                           .span = decl->name.span,
                                           .decl = decl,
                                           .repeat = decl->repeat,
                                           .dangerous = decl->dangerous,
                                           .keeper = KEPT_BY_NOBODY,
                                           .network = NETWORK_ANY});
    Finding finding = {program, tool};
    const Decl *by = decl->server ? decl->server : decl;
    if (by->provider == PROV_EXEC) put_in_cell(program, tool, by->sandbox);
    if (by->provider == PROV_HTTP) keep_to_address(program, tool, by->provider_value);
    trust_tool_secrets(decl, add_secret, &finding);
}

static bool is_listed(const Builtin *builtin)
{
    return builtin->id == BI_EXEC || builtin->id == BI_HTTP || builtin->id == BI_CONNECT || builtin->id == BI_LISTEN ||
           builtin_is_dangerous(builtin);
}

static TrustTool *tool_called(TrustReport *report, const Expr *call)
{
    const Builtin *builtin = call->call == CALL_BUILTIN ? call->builtin : NULL;
    for (uint32_t i = 0; i < report->tool_count; i++)
        if (builtin ? report->tools[i].builtin == builtin : report->tools[i].decl == call->decl)
            return &report->tools[i];
    return NULL;
}

static void list_call(const Program *program, TrustReport *report, const Expr *call)
{
    const bool is_effect = call->call == CALL_BUILTIN && is_listed(call->builtin);
    if (!is_effect && call->call != CALL_TOOL) return;
    TrustTool *tool = tool_called(report, call);
    if (!tool) {
        tool = add_tool(program, report,
                        (TrustTool){.name = call->builtin->name,
                                    .span = call->left ? call->left->span : call->span,
                                    .builtin = call->builtin,
                                    .repeat = builtin_repeat(call),
                                    .dangerous = builtin_is_dangerous(call->builtin),
                                    .keeper = KEPT_BY_NOBODY,
                                    .network = call->builtin->id == BI_LAND ? NETWORK_NONE : NETWORK_ANY});
        if (call->builtin->id == BI_EXEC) put_in_cell(program, tool, NULL);
    }
    if (is_effect && builtin_repeat(call) < tool->repeat) tool->repeat = builtin_repeat(call);
    for (uint32_t i = 0; i < call->argc; i++) trust_secrets(call->argv[i], add_secret, &(Finding){program, tool});
}

static void list_tools(const Program *program, TrustReport *report)
{
    for (uint32_t i = 0; i < program->decl_count; i++) {
        const Decl *decl = program->decls[i];
        if (decl->kind == DECL_TOOL) list_tool(program, report, decl);
        if (decl->kind == DECL_TOOL && decl->result_label == LABEL_TRUSTED)
            trust_note(program->arena, report,
                       (TrustNote){.kind = TRUST_DECLARED, .span = decl->name.span, .tool = decl->full_name});
    }
    for (uint32_t i = 0; i < report->call_count; i++) list_call(program, report, report->calls[i].call);
}

/* ---- three things that should not come together ---- */

/* What a workflow has, its callees' too. */
typedef struct Having {
    TrustLeg legs[PART_COUNT];
    const struct Having *told; /* the workflow that is told in its place: one that it calls has all three already */
} Having;

static bool take_leg(TrustLeg *kept, TrustLeg leg)
{
    if (!leg.text || (kept->text && kept->rank >= leg.rank)) return false;
    *kept = leg;
    return true;
}

static void tool_legs(const Program *program, TrustReport *report, const Expr *call, TrustLeg legs[PART_COUNT])
{
    const TrustTool *tool = tool_called(report, call);
    const bool sends = tool->keeper != KEPT_BY_NOBODY && tool->network != NETWORK_NONE;
    const TrustLeg leg = {arena_printf(program->arena, "the tool '%s'", tool->name), call->span, 1};
    if (tool->keeper == KEPT_BY_CELL) legs[PART_FILES] = leg;
    if (sends) legs[PART_NETWORK] = leg;
    if (tool->decl->result_label != LABEL_TRUSTED) legs[PART_OUTSIDE] = leg;
    if (sends) legs[PART_OUTSIDE].rank = 2;
}

static void effect_legs(const Program *program, const Expr *call, TrustLeg legs[PART_COUNT])
{
    const Builtin *builtin = call->builtin;
    const TrustLeg leg = {arena_printf(program->arena, "'%s'", builtin->name), call->span, 1};
    if (builtin->label == RULE_SOURCE) legs[PART_OUTSIDE] = leg;
    switch (builtin->id) {
    case BI_LLM: legs[PART_OUTSIDE].rank = 4; return;
    case BI_EXEC:
        legs[PART_FILES] = leg;
        if (program->sandbox && program->sandbox->network != NETWORK_NONE) legs[PART_NETWORK] = leg;
        return;
    case BI_READ_FILE:
    case BI_CODE_MAP:
    case BI_CODE_SYMBOLS:
    case BI_CODE_OUTLINE:
    case BI_CODE_REFERENCES:
    case BI_READ_BYTES: legs[PART_FILES] = (TrustLeg){leg.text, leg.span, 2}; return;
    case BI_LIST_FILES: legs[PART_FILES] = leg; return;
    case BI_HTTP:
    case BI_CONNECT:
    case BI_LISTEN: legs[PART_NETWORK] = leg; /* fall through */
    case BI_SIGNAL:
    case BI_ACCEPT:
    case BI_STDIN:
    case BI_READ:
    case BI_READ_LINE: legs[PART_OUTSIDE].rank = 3; return;
    default: return;
    }
}

static void call_legs(const Program *program, TrustReport *report, const Expr *call, TrustLeg legs[PART_COUNT])
{
    memset(legs, 0, PART_COUNT * sizeof *legs);
    if (call->call == CALL_TOOL)
        tool_legs(program, report, call, legs);
    else if (call->call == CALL_PROMPT)
        legs[PART_OUTSIDE] =
            (TrustLeg){arena_printf(program->arena, "the prompt '%s'", call->decl->full_name), call->span, 4};
    else if (call->call != CALL_WORKFLOW)
        effect_legs(program, call, legs);
}

/* A stranger fills in a parameter. */
static void stranger_legs(const Program *program, const Decl *workflow, Having *having)
{
    for (const Field *f = workflow->params; f; f = f->next)
        if (f->label == LABEL_UNTRUSTED)
            take_leg(&having->legs[PART_OUTSIDE],
                     (TrustLeg){arena_printf(program->arena, "the parameter '%s'", f->name.text), f->name.span, 3});
}

static bool has_all(const Having *having)
{
    return having->legs[PART_FILES].text && having->legs[PART_OUTSIDE].text && having->legs[PART_NETWORK].text;
}

/* Workflows may call each other in a circle: one of them is told. */
static bool leave_to(Having *caller, const Having *callee)
{
    while (callee->told) callee = callee->told;
    if (caller->told || callee == caller || !has_all(callee)) return false;
    caller->told = callee;
    return true;
}

static Having *having_of(const Program *program, Having *all, const Decl *decl)
{
    for (uint32_t i = 0; i < program->decl_count; i++)
        if (program->decls[i] == decl) return &all[i];
    return NULL;
}

/* One round over all calls; true: something was new. */
static bool take_legs(const Program *program, TrustReport *report, Having *all)
{
    bool changed = false;
    for (uint32_t i = 0; i < report->call_count; i++) {
        const TrustCall *at = &report->calls[i];
        Having *to = having_of(program, all, at->in);
        TrustLeg legs[PART_COUNT];
        call_legs(program, report, at->call, legs);
        const Having *from = at->call->call == CALL_WORKFLOW ? having_of(program, all, at->call->decl) : NULL;
        if (from) memcpy(legs, from->legs, sizeof legs);
        for (int part = 0; part < PART_COUNT; part++) changed |= take_leg(&to->legs[part], legs[part]);
        if (from) changed |= leave_to(to, from);
    }
    return changed;
}

static void warn_mixed(DiagList *diags, const TrustMixed *mixed)
{
    static const char *const says[] = {[PART_FILES] = "reads files",
                                       [PART_OUTSIDE] = "gives text from outside",
                                       [PART_NETWORK] = "can send to a network"};
    Diag *diag =
        diag_warning(diags, mixed->workflow->name.span,
                     "'%s' reads files, sees text from outside, and can send to a network", mixed->workflow->full_name);
    for (int part = 0; part < PART_COUNT; part++)
        diag_other(diags, diag, mixed->legs[part].span, "%s %s", mixed->legs[part].text, says[part]);
    diag_hint(diags, diag,
              "such text may ask for what the files hold to be sent; leave one of the three to another program");
}

static void find_mixed(const Program *program, DiagList *diags, TrustReport *report)
{
    Having *all = arena_alloc(program->arena, (program->decl_count + 1) * sizeof *all);
    for (uint32_t i = 0; i < program->decl_count; i++)
        if (program->decls[i]->kind == DECL_WORKFLOW) stranger_legs(program, program->decls[i], &all[i]);
    while (take_legs(program, report, all)) {}
    for (uint32_t i = 0; i < program->decl_count; i++) {
        if (program->decls[i]->kind != DECL_WORKFLOW || !has_all(&all[i]) || all[i].told) continue;
        report->mixed = arena_grow(program->arena, report->mixed, &report->mixed_cap, report->mixed_count + 1,
                                   sizeof *report->mixed);
        TrustMixed *mixed = &report->mixed[report->mixed_count++];
        mixed->workflow = program->decls[i];
        memcpy(mixed->legs, all[i].legs, sizeof mixed->legs);
        warn_mixed(diags, mixed);
    }
}

void trust_finish(const Program *program, DiagList *diags, TrustReport *report)
{
    report->call_count = sort_once(report->calls, report->call_count, sizeof *report->calls, compare_calls);
    list_tools(program, report);
    report->note_count = sort_once(report->notes, report->note_count, sizeof *report->notes, compare_notes);
    find_mixed(program, diags, report);
}
