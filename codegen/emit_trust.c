/* emit_trust.c: what a program is trusted with, for `tfy check --trust`: a text for people, JSON for programs.
 *
 * Places are those of the source: a line alone is one of the file that was given, others have their file before it. */
#include <inttypes.h>
#include <string.h>

#include "ctext.h"
#include "emit_sandbox.h"
#include "emit_trust.h"

enum { SHOWN_MAX = 60, NAME_MAX = 40 };

typedef struct Show {
    const Program *program;
    const TrustReport *report;
    Text out;
} Show;

/* ---- words ---- */

static const char *const repeats[] = {
    [REPEAT_ONCE] = "once", [REPEAT_IDEMPOTENT] = "idempotent", [REPEAT_PURE] = "pure"};

static const char *const kinds[] = {
    [TRUST_REACHES] = "dangerous", [TRUST_CHOSEN] = "choosing", [TRUST_VETTED] = "vetted",
    [TRUST_WITHIN] = "within",     [TRUST_STATED] = "trust",    [TRUST_DECLARED] = "declared",
};

static const Module *module_of(const Show *s, Span span)
{
    const Source *source = source_of(s->program->sources, span.off);
    const Module *module = s->program->modules;
    while (module->next && module->source != source) module = module->next;
    return module;
}

static const char *line_of(const Show *s, Span span)
{
    const Module *module = module_of(s, span);
    const uint32_t line = source_line_col(s->program->sources, span.off).line;
    return module->number ? arena_printf(s->out.arena, "%s:%u", module->file, line)
                          : arena_printf(s->out.arena, "%u", line);
}

/* One line, cut where a character ends. */
static const char *excerpt(const Show *s, Span span)
{
    const char *text = source_text(s->program->sources, span), *line = memchr(text, '\n', span.len);
    size_t len = line ? (size_t)(line - text) : span.len;
    const bool is_cut = line || len > SHOWN_MAX;
    if (len > SHOWN_MAX) len = SHOWN_MAX;
    while (is_cut && len && (text[len] & 0xc0) == 0x80) len--;
    return arena_printf(s->out.arena, "%.*s%s", (int)len, text, is_cut ? "…" : "");
}

/* "the prompt 'plan'" of "it comes from the prompt 'plan'". */
static const char *source_words(const Show *s, const Origin *source)
{
    static const char comes[] = "it comes from ";
    const char *text = check_origin_text(s->out.arena, source);
    if (strncmp(text, comes, sizeof comes - 1) == 0) return text + sizeof comes - 1;
    return arena_printf(s->out.arena, "the parameter '%s', which is declared untrusted", excerpt(s, source->span));
}

static const Origin *source_of_way(const Origin *from)
{
    while (from->before) from = from->before;
    return from;
}

/* The way from the source on: the step behind `before`. */
static const Origin *step_behind(const Origin *from, const Origin *before)
{
    if (from == before) return NULL;
    while (from->before != before) from = from->before;
    return from;
}

static const char *body_name(const Decl *decl)
{
    while (decl->origin || decl->around) decl = decl->origin ? decl->origin : decl->around;
    return decl->full_name;
}

static const char *class_words(const Show *s, const TrustTool *tool)
{
    return arena_printf(s->out.arena, "%s%s", repeats[tool->repeat], tool->dangerous ? ", dangerous" : "");
}

static const char *sandbox_words(const TrustTool *tool)
{
    if (tool->keeper == KEPT_BY_CELL) return tool->sandbox->name;
    return tool->keeper == KEPT_BY_NOBODY && tool->decl ? "none: C code" : "-";
}

/* NULL: the tool is not made of one. */
static const char *c_function(const Show *s, const TrustTool *tool)
{
    if (!tool->decl || tool->decl->provider != PROV_EXTERN) return NULL;
    const Expr *name = tool->decl->provider_value->parts;
    return arena_strndup(s->out.arena, name->text, name->text_len);
}

static const char *joined(const Show *s, const SandboxTexts *texts)
{
    Text list = {.arena = s->out.arena};
    for (uint32_t i = 0; i < texts->count; i++) text_format(&list, "%s%s", i ? ", " : "", texts->items[i]);
    return list.len ? list.data : "-";
}

static const char *network_words(const Show *s, const TrustTool *tool)
{
    return tool->network == NETWORK_NONE ? "none" : tool->network == NETWORK_ANY ? "any" : joined(s, &tool->hosts);
}

/* ---- for people ---- */

enum { COLUMNS = 6 };

/* Columns are as wide as what is in them, the last one excepted. */
static void put_rows(Show *s, const char *(*rows)[COLUMNS], uint32_t count)
{
    int width[COLUMNS] = {0};
    for (uint32_t i = 0; i < count; i++)
        for (int column = 0; column < COLUMNS - 1; column++) {
            const int len = (int)strlen(rows[i][column]);
            if (len > width[column]) width[column] = len < NAME_MAX ? len : NAME_MAX;
        }
    for (uint32_t i = 0; i < count; i++) {
        for (int column = 0; column < COLUMNS - 1; column++)
            text_format(&s->out, "%-*s  ", width[column], rows[i][column]);
        text_format(&s->out, "%s\n", rows[i][COLUMNS - 1]);
    }
}

static void put_tools(Show *s)
{
    const TrustReport *report = s->report;
    const char *(*rows)[COLUMNS] = arena_alloc(s->out.arena, (report->tool_count + 1) * sizeof *rows);
    memcpy(rows[0], (const char *[]){"TOOL", "LINE", "CLASS", "SANDBOX", "NETWORK", "SECRETS"}, sizeof *rows);
    for (uint32_t i = 0; i < report->tool_count; i++) {
        const TrustTool *tool = &report->tools[i];
        memcpy(rows[i + 1],
               (const char *[]){tool->name, line_of(s, tool->span), class_words(s, tool), sandbox_words(tool),
                                network_words(s, tool), joined(s, &tool->secrets)},
               sizeof *rows);
    }
    if (report->tool_count)
        put_rows(s, rows, report->tool_count + 1);
    else
        text_put(&s->out, "no tools\n");
}

static bool is_shown_before(const TrustReport *report, uint32_t count, const Sandbox *sandbox)
{
    for (uint32_t i = 0; i < count; i++)
        if (report->tools[i].sandbox == sandbox) return true;
    return false;
}

static void put_size(Show *s, const char *name, int64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    int unit = 0;
    if (!bytes) return;
    for (bytes /= 1024; unit < 2 && bytes % 1024 == 0; unit++) bytes /= 1024;
    text_format(&s->out, ", %s %" PRId64 " %s", name, bytes, units[unit]);
}

/* A sandbox of the program's own, in a line. Those that are given are known. */
static void put_sandbox(Show *s, const Sandbox *sandbox)
{
    const SandboxLimits *limits = &sandbox->limits;
    const char *root = sandbox->root == SANDBOX_READONLY ? "readonly" : "workspace";
    const bool runs = sandbox->runner.count;
    text_format(&s->out, "%s: %s %s", sandbox->name, runs ? "runner" : "root",
                runs ? joined(s, &sandbox->runner) : root);
    if (sandbox->reads.count) text_format(&s->out, ", reads %s", joined(s, &sandbox->reads));
    if (sandbox->writes.count) text_format(&s->out, ", writes %s", joined(s, &sandbox->writes));
    put_size(s, "memory", limits->memory);
    if (limits->processes) text_format(&s->out, ", processes %" PRId64, limits->processes);
    if (limits->cpu_ms) text_format(&s->out, ", cpu %" PRId64 "ms", limits->cpu_ms);
    put_size(s, "files", limits->files);
    put_size(s, "output", limits->output);
    text_put(&s->out, "\n");
}

static void put_sandboxes(Show *s)
{
    const char *heading = "\nSANDBOXES\n";
    for (uint32_t i = 0; i < s->report->tool_count; i++) {
        const Sandbox *sandbox = s->report->tools[i].sandbox;
        if (!sandbox || sandbox == sandbox_given(sandbox->name) || is_shown_before(s->report, i, sandbox)) continue;
        text_put(&s->out, heading);
        put_sandbox(s, sandbox);
        heading = "";
    }
}

/* "from the prompt 'plan', line 10, through 'p', line 11"; a line is not said twice. */
static void put_way(Show *s, const Origin *from)
{
    const Origin *at = source_of_way(from);
    const char *before = line_of(s, at->span);
    text_put(&s->out, check_origin_words(s->out.arena, s->program->sources, at));
    while ((at = step_behind(from, at))) {
        const char *line = line_of(s, at->span);
        text_format(&s->out, ", through '%s'", at->name);
        if (strcmp(line, before) != 0) text_format(&s->out, ", line %s", line);
        before = line;
    }
}

/* "; it decides where a tool runs, line 4" */
static void put_place(Show *s, const TrustNote *note)
{
    const Place *place = note->place;
    if (place->what)
        text_format(&s->out, "; it %s, line %s", place->what, line_of(s, note->at));
    else
        text_format(&s->out, "; given for '%s', line %s", place->name, line_of(s, note->at));
}

static void put_note(Show *s, const TrustNote *note, int width)
{
    text_format(&s->out, "%-*s  ", width, line_of(s, note->span));
    if (note->kind == TRUST_REACHES)
        text_format(&s->out, "%s: '%s' of '%s' is %s", body_name(note->in), note->param, note->tool,
                    excerpt(s, note->span));
    else if (note->kind == TRUST_DECLARED)
        text_format(&s->out, "%-8s  the result of '%s'", kinds[note->kind], note->tool);
    else
        text_format(&s->out, "%-8s  %s", kinds[note->kind], excerpt(s, note->span));
    if (note->kind != TRUST_DECLARED) text_format(&s->out, "\n%*s", width + 2, "");
    if (note->kind == TRUST_CHOSEN) text_put(&s->out, "by a value ");
    if (note->from) put_way(s, note->from);
    if (note->kind == TRUST_STATED && !note->from) text_put(&s->out, "it was trusted already");
    if (note->place) put_place(s, note);
    text_put(&s->out, "\n");
}

static void put_notes(Show *s, const char *heading, bool reaches)
{
    int width = 0;
    bool is_empty = true;
    for (uint32_t i = 0; i < s->report->note_count; i++) {
        const TrustNote *note = &s->report->notes[i];
        const int len = (int)strlen(line_of(s, note->span));
        if ((note->kind == TRUST_REACHES) == reaches && len > width) width = len;
    }
    text_format(&s->out, "\n%s\n", heading);
    for (uint32_t i = 0; i < s->report->note_count; i++) {
        const TrustNote *note = &s->report->notes[i];
        if ((note->kind == TRUST_REACHES) != reaches) continue;
        put_note(s, note, width);
        is_empty = false;
    }
    if (is_empty) text_put(&s->out, "none\n");
}

static void put_text(Show *s)
{
    put_tools(s);
    put_sandboxes(s);
    put_notes(s, "UNTRUSTED VALUES THAT DANGEROUS TOOLS ARE GIVEN", true);
    put_notes(s, "WAYS OUT", false);
    text_put(&s->out, "\nTRUSTED CODE\n");
    for (const Module *module = s->program->modules; module; module = module->next)
        if (!module->of_server) text_format(&s->out, "%s\n", module->file);
    for (uint32_t i = 0; i < s->report->tool_count; i++) {
        const char *function = c_function(s, &s->report->tools[i]);
        if (function) text_format(&s->out, "%s, the C function of '%s'\n", function, s->report->tools[i].name);
    }
}

/* ---- for programs ---- */

static void put_string(Show *s, const char *key, const char *value)
{
    text_format(&s->out, "\"%s\": ", key);
    if (value)
        text_quote_json(&s->out, value);
    else
        text_put(&s->out, "null");
}

/* Without the braces around it. */
static void put_json_place(Show *s, Span span)
{
    const LineCol at = source_line_col(s->program->sources, span.off);
    put_string(s, "file", module_of(s, span)->file);
    text_format(&s->out, ", \"line\": %u, \"col\": %u", at.line, at.col);
}

static void put_json_tool(Show *s, const TrustTool *tool)
{
    static const char *const providers[] = {
        [PROV_EXEC] = "exec", [PROV_MCP] = "mcp", [PROV_EXTERN] = "extern", [PROV_HTTP] = "http"};
    text_put(&s->out, "{");
    put_string(s, "name", tool->name);
    text_put(&s->out, ", ");
    put_json_place(s, tool->span);
    text_put(&s->out, ", ");
    put_string(s, "kind", tool->decl ? providers[tool->decl->provider] : "effect");
    text_put(&s->out, ", ");
    put_string(s, "class", repeats[tool->repeat]);
    text_format(&s->out, ", \"dangerous\": %s, ", tool->dangerous ? "true" : "false");
    put_string(s, "sandbox", tool->keeper == KEPT_BY_CELL ? tool->sandbox->name : NULL);
    text_put(&s->out, ", ");
    put_json_network(&s->out, tool->network, &tool->hosts);
    text_put(&s->out, ", ");
    put_json_texts(&s->out, "secrets", &tool->secrets);
    text_put(&s->out, ", ");
    put_string(s, "function", c_function(s, tool));
    text_put(&s->out, "}");
}

/* null where the value was trusted already, else the source and what came behind it. */
static void put_json_way(Show *s, const Origin *from)
{
    const Origin *at = from ? source_of_way(from) : NULL;
    text_put(&s->out, "\"from\": ");
    if (!at) {
        text_put(&s->out, "null");
        return;
    }
    text_put(&s->out, "[{");
    put_string(s, "text", source_words(s, at));
    text_put(&s->out, ", ");
    put_json_place(s, at->span);
    while ((at = step_behind(from, at))) {
        text_put(&s->out, "}, {");
        put_string(s, "text", at->name);
        text_put(&s->out, ", ");
        put_json_place(s, at->span);
    }
    text_put(&s->out, "}]");
}

static void put_json_note(Show *s, const TrustNote *note)
{
    const char *written = source_text(s->program->sources, note->span);
    text_put(&s->out, "{");
    if (note->kind != TRUST_REACHES) {
        put_string(s, "kind", kinds[note->kind]);
        text_put(&s->out, ", ");
    }
    put_json_place(s, note->span);
    text_put(&s->out, ", ");
    put_string(s, "in", note->in ? body_name(note->in) : NULL);
    text_put(&s->out, ", ");
    put_string(s, "text", arena_strndup(s->out.arena, written, note->span.len));
    text_put(&s->out, ", ");
    if (note->kind == TRUST_REACHES) {
        put_string(s, "tool", note->tool);
        text_put(&s->out, ", ");
        put_string(s, "parameter", note->param);
        text_put(&s->out, ", ");
    }
    if (note->why) {
        put_string(s, "why", arena_strndup(s->out.arena, note->why->text, note->why->text_len));
        text_put(&s->out, ", ");
    }
    if (note->place) {
        text_put(&s->out, "\"place\": {");
        put_json_place(s, note->at);
        text_put(&s->out, ", ");
        if (note->place->what)
            put_string(s, "what", note->place->what);
        else
            put_string(s, "parameter", note->place->name);
        text_put(&s->out, "}, ");
    }
    put_json_way(s, note->from);
    text_put(&s->out, "}");
}

static void put_json_mixed(Show *s, const TrustMixed *mixed)
{
    static const char *const names[] = {
        [PART_FILES] = "files", [PART_OUTSIDE] = "untrusted", [PART_NETWORK] = "network"};
    text_put(&s->out, "{");
    put_string(s, "workflow", mixed->workflow->full_name);
    text_put(&s->out, ", ");
    put_json_place(s, mixed->workflow->name.span);
    for (int part = 0; part < PART_COUNT; part++) {
        text_format(&s->out, ", \"%s\": {", names[part]);
        put_string(s, "text", mixed->legs[part].text);
        text_put(&s->out, ", ");
        put_json_place(s, mixed->legs[part].span);
        text_put(&s->out, "}");
    }
    text_put(&s->out, "}");
}

/* The start of a list's next item, a line of its own. */
static const char *between(bool *is_first)
{
    const char *text = *is_first ? "\n  " : ",\n  ";
    *is_first = false;
    return text;
}

static void put_json_notes(Show *s, const char *key, bool reaches)
{
    bool is_first = true;
    text_format(&s->out, "],\n \"%s\": [", key);
    for (uint32_t i = 0; i < s->report->note_count; i++) {
        if ((s->report->notes[i].kind == TRUST_REACHES) != reaches) continue;
        text_put(&s->out, between(&is_first));
        put_json_note(s, &s->report->notes[i]);
    }
}

static void put_json(Show *s)
{
    const TrustReport *report = s->report;
    bool is_first = true;
    text_put(&s->out, "{\"files\": [");
    for (const Module *module = s->program->modules; module; module = module->next) {
        if (module->number) text_put(&s->out, ", ");
        text_quote_json(&s->out, module->file);
    }
    text_put(&s->out, "],\n \"tools\": [");
    for (uint32_t i = 0; i < report->tool_count; i++) {
        text_put(&s->out, between(&is_first));
        put_json_tool(s, &report->tools[i]);
    }
    text_put(&s->out, "],\n \"sandboxes\": [");
    is_first = true;
    for (uint32_t i = 0; i < report->tool_count; i++) {
        const Sandbox *sandbox = report->tools[i].sandbox;
        if (!sandbox || is_shown_before(report, i, sandbox)) continue;
        text_put(&s->out, between(&is_first));
        put_json_sandbox(&s->out, sandbox);
    }
    put_json_notes(s, "dangerous", true);
    put_json_notes(s, "ways_out", false);
    text_put(&s->out, "],\n \"warnings\": [");
    is_first = true;
    for (uint32_t i = 0; i < report->mixed_count; i++) {
        text_put(&s->out, between(&is_first));
        put_json_mixed(s, &report->mixed[i]);
    }
    text_put(&s->out, "]}\n");
}

char *emit_trust(const Program *program, const TrustReport *report, bool json, size_t *len)
{
    Show s = {.program = program, .report = report, .out = {.arena = program->arena}};
    if (json)
        put_json(&s);
    else
        put_text(&s);
    *len = s.out.len;
    return s.out.data;
}
