/* lsp_complete.c: what can be written here: behind a '.' the fields, methods or cases of what is before it,
 * elsewhere every name in scope. The editor filters by what is typed already.
 *
 * A half-written line seldom parses, so a name is put where the cursor is before the text is analysed. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "lsp_internal.h"
#include "sandbox.h"

/* Behind `yield` only a call is possible; elsewhere it may have to be a field. */
static const char name_placeholder[] = "completed_here", call_placeholder[] = "completed_here()";

/* The protocol's kinds of completions. */
enum {
    ITEM_METHOD = 2,
    ITEM_FUNCTION = 3,
    ITEM_FIELD = 5,
    ITEM_VARIABLE = 6,
    ITEM_CLASS = 7,
    ITEM_INTERFACE = 8,
    ITEM_MODULE = 9,
    ITEM_ENUM = 13,
    ITEM_KEYWORD = 14,
    ITEM_ENUM_MEMBER = 20,
    ITEM_CONSTANT = 21,
    ITEM_STRUCT = 22,
    ITEM_EVENT = 23,
};

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

typedef struct Items {
    json_t *list;
    Arena *arena;
} Items;

static void add_item(Items *items, const char *label, int kind, const char *detail, const char *doc)
{
    json_t *item = json_pack("{s:o, s:i}", "label", lsp_text(label), "kind", kind);
    if (detail && *detail) json_object_set_new(item, "detail", lsp_text(detail));
    if (doc) json_object_set_new(item, "documentation", lsp_text(doc));
    json_array_append_new(items->list, item);
}

/* ---- declarations ---- */

static int kind_of(DeclKind kind)
{
    switch (kind) {
    case DECL_IMPORT: return ITEM_MODULE;
    case DECL_CONST: return ITEM_CONSTANT;
    case DECL_TYPE: return ITEM_STRUCT;
    case DECL_ERROR: return ITEM_CLASS;
    case DECL_ENUM: return ITEM_ENUM;
    case DECL_TOOL: return ITEM_INTERFACE;
    case DECL_PROMPT: return ITEM_EVENT;
    case DECL_SANDBOX: return ITEM_STRUCT;
    default: return ITEM_FUNCTION;
    }
}

/* A module shows what it declares, not what it imports. */
static void add_decls(Items *items, const Module *module, bool imported)
{
    for (const Decl *decl = module->decls; decl; decl = decl->next) {
        if (!decl->name.text || decl->kind == DECL_BAD || decl->kind == DECL_TEST) continue;
        if (imported && decl->kind == DECL_IMPORT) continue;
        add_item(items, decl->name.text, kind_of(decl->kind), lsp_decl_signature(items->arena, decl), decl->doc);
    }
}

/* ---- behind a dot ---- */

static void add_fields(Items *items, const Type *type)
{
    for (uint32_t i = 0; i < type->field_count; i++)
        add_item(items, type->fields[i].name, ITEM_FIELD, type->fields[i].type ? type->fields[i].type->name : NULL,
                 NULL);
}

static void add_methods(Items *items, const Type *type)
{
    for (int id = 0; id < BI_COUNT; id++) {
        const Builtin *builtin = builtin_by_id((BuiltinId)id);
        if (builtin_method(type->kind, builtin->name) != builtin || builtin_is_hidden(builtin)) continue;
        add_item(items, builtin->name, ITEM_METHOD, lsp_builtin_signature(items->arena, builtin, type), NULL);
    }
}

static void add_cases(Items *items, const Decl *decl)
{
    for (const EnumCase *k = decl->cases; k; k = k->next)
        if (k->name.text) add_item(items, k->name.text, ITEM_ENUM_MEMBER, decl->name.text, NULL);
}

/* What the compiler makes of an agent; a mock answers for its model. */
static void add_agent(Items *items, const Agent *agent, bool mocks)
{
    if (!mocks)
        add_item(items, "Call", ITEM_ENUM, lsp_decl_signature(items->arena, agent->calls),
                 "what the agent's model can call");
    add_item(items, "next", ITEM_EVENT, NULL, "the model, asked once: what a test mocks and counts");
}

/* False: the expression before the dot has no known type. */
static bool add_behind_dot(Items *items, const Program *program, uint32_t off, bool mocks)
{
    const Decl *name_decl;
    const Type *type = locate_receiver(program, off, &name_decl);
    if (name_decl && name_decl->kind == DECL_ENUM) {
        add_cases(items, name_decl);
    } else if (name_decl && name_decl->agent) {
        add_agent(items, name_decl->agent, mocks);
    } else if (name_decl && name_decl->kind == DECL_IMPORT) {
        if (name_decl->imported) add_decls(items, name_decl->imported, true);
    } else if (type && type->kind == TYPE_ANY_ERROR) {
        add_item(items, "message", ITEM_FIELD, "string", NULL);
    } else if (type && type->kind != TYPE_BAD) {
        add_fields(items, type);
        add_methods(items, type);
    } else {
        return false;
    }
    return true;
}

/* ---- names in scope ---- */

static void add_variable(void *state, const Variable *variable)
{
    add_item(state, variable->name, ITEM_VARIABLE, variable->type->name, NULL);
}

static void add_effects(Items *items)
{
    for (int id = 0; id < BI_COUNT; id++) {
        const Builtin *builtin = builtin_by_id((BuiltinId)id);
        if (builtin_effect(builtin->name) != builtin) continue;
        add_item(items, builtin->name, ITEM_FUNCTION, lsp_builtin_signature(items->arena, builtin, NULL), NULL);
    }
}

static void add_types(Items *items, const Program *program)
{
    for (const Type *type = program->types; type; type = type->next) {
        bool written = type->kind >= TYPE_BOOL && type->kind <= TYPE_THREAD;
        bool has_fields = (type->kind == TYPE_RECORD || type->kind == TYPE_ERROR) && !type->decl && !type->elem &&
                          type->name[0] != '{';
        if (written || has_fields || type == program->core.land) add_item(items, type->name, ITEM_STRUCT, NULL, NULL);
    }
}

static void add_keywords(Items *items)
{
    for (int i = 0; token_word_at(i); i++) add_item(items, token_word_at(i), ITEM_KEYWORD, NULL, NULL);
}

/* ---- sandboxes ---- */

/* The word that ends before the blanks at *at, which moves to its beginning; 0: none is there. */
static size_t word_before(const char *text, size_t *at)
{
    while (*at && (text[*at - 1] == ' ' || text[*at - 1] == '\t')) --*at;
    const size_t end = *at;
    while (*at && is_name_byte(text[*at - 1])) --*at;
    return end - *at;
}

static bool is_word(const char *text, size_t len, const char *word)
{
    return strlen(word) == len && memcmp(text, word, len) == 0;
}

static bool begins_line(const char *text, size_t at)
{
    while (at && (text[at - 1] == ' ' || text[at - 1] == '\t')) at--;
    return !at || text[at - 1] == '\n';
}

/* The open brace that the place is directly in; false: it is in none. */
static bool find_brace(const char *text, size_t at, size_t *brace)
{
    int depth = 1;
    while (at && depth) {
        at--;
        depth += text[at] == '}' ? 1 : text[at] == '{' ? -1 : 0;
    }
    *brace = at;
    return !depth;
}

/* Is the place between the braces of a sandbox? */
static bool is_in_sandbox(const char *text, size_t at)
{
    if (!find_brace(text, at, &at) || !word_before(text, &at)) return false;
    const size_t len = word_before(text, &at);
    return is_word(text + at, len, "sandbox") && begins_line(text, at);
}

static void add_words(Items *items, const char *const *words)
{
    for (; *words; words++) add_item(items, *words, ITEM_KEYWORD, NULL, NULL);
}

static void add_sandboxes(Items *items, const Module *module)
{
    for (const Decl *decl = module->decls; decl; decl = decl->next)
        if (decl->kind == DECL_SANDBOX && decl->name.text)
            add_item(items, decl->name.text, ITEM_STRUCT, lsp_decl_signature(items->arena, decl), decl->doc);
}

/* `sandbox |`, `sandbox module.|` behind what makes it an attribute; false: the place is elsewhere. */
static bool add_sandbox_names(Items *items, const Module *module, const char *text, size_t at)
{
    char alias[64] = "";
    if (at && text[at - 1] == '.') {
        at--;
        const size_t len = word_before(text, &at);
        if (len && len < sizeof alias) memcpy(alias, text + at, len);
    }
    const size_t len = word_before(text, &at);
    if (!is_word(text + at, len, "sandbox") || begins_line(text, at)) return false;
    for (const Decl *decl = module->decls; decl; decl = decl->next) {
        if (decl->kind != DECL_IMPORT || !decl->name.text) continue;
        if (!*alias)
            add_item(items, decl->name.text, ITEM_MODULE, lsp_decl_signature(items->arena, decl), NULL);
        else if (decl->imported && strcmp(decl->name.text, alias) == 0)
            add_sandboxes(items, decl->imported);
    }
    if (*alias) return true;
    add_words(items, sandbox_given_names());
    add_sandboxes(items, module);
    return true;
}

/* A row, or the words that `root` and `network` know. */
static bool add_sandbox_row(Items *items, const char *text, size_t at)
{
    static const char *const roots[] = {"readonly", "workspace", NULL}, *const networks[] = {"any", "none", NULL};
    if (!is_in_sandbox(text, at)) return false;
    if (begins_line(text, at)) {
        add_words(items, sandbox_rows());
        return true;
    }
    const size_t len = word_before(text, &at);
    const bool is_root = is_word(text + at, len, "root"), is_network = is_word(text + at, len, "network");
    if (!begins_line(text, at) || !(is_root || is_network)) return false;
    add_words(items, is_root ? roots : networks);
    return true;
}

/* False: what can be written here has nothing to do with sandboxes. `off` is behind the name that is being written. */
static bool add_of_sandbox(Items *items, const Module *module, const char *text, size_t off)
{
    while (off && is_name_byte(text[off - 1])) off--;
    return add_sandbox_names(items, module, text, off) || add_sandbox_row(items, text, off);
}

/* ---- prompts ---- */

/* The beginning of the line. */
static size_t line_start(const char *text, size_t at)
{
    while (at && text[at - 1] != '\n') at--;
    return at;
}

/* Whether the braces are those of a prompt: its head, which may have several lines, begins a line. */
static bool is_of_prompt(const char *text, size_t brace)
{
    static const char word[] = "prompt ";
    size_t at = line_start(text, brace);
    while (at && strncmp(text + at, word, sizeof word - 1) != 0 && (text[at] == ' ' || text[at] == ')'))
        at = line_start(text, at - 1);
    return strncmp(text + at, word, sizeof word - 1) == 0;
}

/* Whether the braces are those of the row `tools`. */
static bool is_of_tools(const char *text, size_t brace)
{
    const size_t len = word_before(text, &brace);
    return is_word(text + brace, len, "tools") && begins_line(text, brace);
}

static bool can_be_offered(const Decl *decl, const Decl *prompt)
{
    if (!decl->name.text || decl->generic || decl == prompt) return false;
    return decl->kind == DECL_TOOL || decl->kind == DECL_PROMPT || decl->kind == DECL_WORKFLOW || decl->kind == DECL_FN;
}

static void add_offered(Items *items, const Module *module, const Decl *prompt, bool imported)
{
    for (const Decl *decl = module->decls; decl; decl = decl->next)
        if (can_be_offered(decl, prompt) || (!imported && decl->kind == DECL_IMPORT && decl->name.text))
            add_item(items, decl->name.text, kind_of(decl->kind), lsp_decl_signature(items->arena, decl), decl->doc);
    for (size_t i = 0; !imported && agent_effect_at(i); i++) {
        const Builtin *effect = agent_effect_at(i);
        add_item(items, effect->name, ITEM_FUNCTION, lsp_builtin_signature(items->arena, effect, NULL), NULL);
    }
}

static const Decl *import_named(const Module *module, const char *name, size_t len)
{
    for (const Decl *decl = module->decls; decl; decl = decl->next)
        if (decl->kind == DECL_IMPORT && decl->name.text && is_word(name, len, decl->name.text)) return decl;
    return NULL;
}

static const Decl *prompt_at(const Module *module, uint32_t off)
{
    const Decl *found = NULL;
    for (const Decl *decl = module->decls; decl; decl = decl->next)
        if (decl->span.off <= off) found = decl;
    return found;
}

static const char *const policies[] = {"approve", "timeout", "retry", "backoff", "times", NULL};

static bool is_policy(const char *text, size_t len)
{
    for (size_t i = 0; policies[i]; i++)
        if (is_word(text, len, policies[i])) return true;
    return false;
}

/* Behind a row's name, or the value of a policy, a policy can follow; false: a value is expected, or a string is
 * open. */
static bool add_policies(Items *items, const char *text, size_t row, size_t at)
{
    size_t quotes = 0, before = at;
    for (size_t i = row; i < at; i++) quotes += text[i] == '"';
    const size_t len = word_before(text, &before);
    if (quotes % 2 || is_policy(text + before, len)) return false;
    add_words(items, policies);
    return true;
}

/* `at` is before the name that is being written. */
static bool add_row_of_tools(Items *items, const Module *module, const char *text, size_t at, uint32_t off)
{
    size_t row = at;
    while (row && text[row - 1] != '\n' && text[row - 1] != ',' && text[row - 1] != '{') row--;
    while (row < at && (text[row] == ' ' || text[row] == '\t')) row++;
    const Decl *import = at > row && text[at - 1] == '.' ? import_named(module, text + row, at - 1 - row) : NULL;
    if (import && import->imported)
        add_offered(items, import->imported, NULL, true);
    else if (row == at)
        add_offered(items, module, prompt_at(module, off), false);
    else
        return add_policies(items, text, row, at);
    return true;
}

/* False: what can be written here has nothing to do with the rows of prompts. `off` is behind the name that is being
 * written, `place` the same in the program. */
static bool add_of_prompt(Items *items, const Module *module, const char *text, size_t off, uint32_t place)
{
    size_t brace;
    while (off && is_name_byte(text[off - 1])) off--;
    if (!find_brace(text, off, &brace)) return false;
    if (is_of_tools(text, brace)) return add_row_of_tools(items, module, text, off, place);
    if (!begins_line(text, off) || !is_of_prompt(text, brace)) return false;
    add_words(items, agent_row_names());
    return true;
}

/* ---- names ---- */

static void add_names(Items *items, const LspAnalysis *analysis, uint32_t off)
{
    locate_scope(analysis->program, off, add_variable, items);
    add_decls(items, analysis->module, false);
    add_effects(items);
    add_types(items, analysis->program);
    add_keywords(items);
}

/* ---- the request ---- */

/* The document's text with the placeholder at `off`; malloc'ed. */
static char *with_placeholder(const LspDocument *document, size_t off, const char *placeholder, size_t *len)
{
    size_t added = strlen(placeholder);
    CHECK(off <= document->len);
    char *text = malloc(document->len + added + 1);
    if (!text) abort();
    memcpy(text, document->text, off);
    memcpy(text + off, placeholder, added);
    memcpy(text + off + added, document->text + off, document->len - off + 1);
    *len = document->len + added;
    return text;
}

/* Is the name that ends at `off` that of a mock, behind a dot? */
static bool is_mock(const char *text, size_t off)
{
    while (off && (is_name_byte(text[off - 1]) || text[off - 1] == '.')) off--;
    const size_t len = word_before(text, &off);
    return is_word(text + off, len, "mock");
}

/* Is there a single dot before the name that ends at `off`? */
static bool is_dotted(const LspDocument *document, size_t off)
{
    const char *text = document->text;
    while (off && is_name_byte(text[off - 1])) off--;
    return off && text[off - 1] == '.' && !(off > 1 && text[off - 2] == '.');
}

/* False: nothing was understood of the place. */
static bool complete_with(LspServer *server, const LspDocument *document, size_t off, const char *placeholder,
                          json_t *list)
{
    size_t len;
    LspAnalysis analysis;
    char *text = with_placeholder(document, off, placeholder, &len);
    lsp_analysis_init(&analysis, server, document, text, len);
    Items items = {list, &analysis.arena};
    uint32_t at = analysis.source->base + (uint32_t)off + 1;
    bool understood = true;
    if (!add_of_sandbox(&items, analysis.module, document->text, off) &&
        !add_of_prompt(&items, analysis.module, document->text, off, at)) {
        if (is_dotted(document, off))
            understood = add_behind_dot(&items, analysis.program, at, is_mock(document->text, off));
        else
            add_names(&items, &analysis, at);
    }
    lsp_analysis_deinit(&analysis);
    free(text);
    return understood;
}

json_t *lsp_completion(LspServer *server, const json_t *params)
{
    const LspDocument *document = lsp_document_of(server, params);
    size_t off;
    if (!document || !lsp_offset_of(document->text, document->len, json_object_get(params, "position"), &off))
        return NULL;
    json_t *list = json_array();
    if (document->len > LSP_TEXT_MAX) return list;
    if (!complete_with(server, document, off, name_placeholder, list))
        complete_with(server, document, off, call_placeholder, list);
    return list;
}
