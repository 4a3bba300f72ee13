/* check_sandbox.c: sandboxes as programs write them: their rows, and which tool runs in which.
 *
 * A row holds what can be read where it stands: texts, numbers, and names of constants. What a row says wrong is
 * reported at the element that says it. */
#include "check_internal.h"
#include "sandbox.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CONST_DEPTH = 100, LIMIT_MAX = 1000000 };

static const Sandbox given[] = {
    {.name = "workspace", .c_name = "workspace", .root = SANDBOX_WORKSPACE},
    {.name = "readonly", .c_name = "readonly", .root = SANDBOX_READONLY},
    {.name = "open", .c_name = "open", .root = SANDBOX_OPEN, .network = NETWORK_ANY},
};
enum { GIVEN_COUNT = sizeof given / sizeof *given };

const char *const *sandbox_given_names(void)
{
    static const char *const names[] = {"workspace", "readonly", "open", NULL};
    return names;
}

const Sandbox *sandbox_given(const char *name)
{
    for (int i = 0; i < GIVEN_COUNT; i++)
        if (strcmp(given[i].name, name) == 0) return &given[i];
    return NULL;
}

/* ---- what is constant ---- */

/* A text that is read: constants may name each other, so both its length and the work are bounded. */
enum { TEXT_MAX = 4096, STEPS_MAX = 1000 };

typedef struct Reading {
    Check *c;
    char text[TEXT_MAX];
    size_t len;
    int steps;
} Reading;

/* The constant that a name means in a module, or NULL. */
static Decl *constant_named(Check *c, Expr *e, const Module *module)
{
    const Module *here = c->module;
    c->module = module;
    const Decl *import = e->kind == EX_FIELD ? check_import_of(c, e->left) : NULL;
    Decl *decl = e->kind == EX_NAME ? check_find_decl(c, e->name.text)
                 : import           ? check_peek_imported(c, import, e->name.text)
                                    : NULL;
    c->module = here;
    return decl && decl->kind == DECL_CONST ? decl : NULL;
}

/* The expression behind parentheses and names of constants, and the module it is in; NULL: it is known only when the
 * program runs. */
static const Expr *written_out(Check *c, Expr *e, const Module **module)
{
    for (int depth = 0; depth < CONST_DEPTH && e; depth++) {
        if (e->kind == EX_PAREN) {
            e = e->left;
            continue;
        }
        if (e->kind != EX_NAME && e->kind != EX_FIELD) return e;
        Decl *decl = constant_named(c, e, *module);
        if (!decl) return NULL;
        e->decl = decl;
        *module = decl->module;
        e = decl->value;
    }
    return NULL;
}

static void report_unknown(Check *c, const Expr *e)
{
    enum { SHOWN_MAX = 60 };
    if (e->kind == EX_BAD) return;
    const char *text = source_text(c->program->sources, e->span);
    const size_t len = e->span.len < SHOWN_MAX ? e->span.len : SHOWN_MAX;
    const char *line = memchr(text, '\n', len);
    diag_error(c->diags, e->span, "a sandbox is written out; '%.*s' is only known when the program runs",
               (int)(line ? (size_t)(line - text) : len), text);
}

static bool is_literal(ExprKind kind)
{
    return kind <= EX_DURATION || kind == EX_LIST || kind == EX_MAP || kind == EX_JSON || kind == EX_LAMBDA;
}

typedef enum Known { KNOWN, OTHER_KIND, UNKNOWN } Known;

static Known add_piece(Reading *r, const char *text, size_t len)
{
    if (memchr(text, 0, len) || len >= TEXT_MAX - r->len) return OTHER_KIND;
    memcpy(r->text + r->len, text, len);
    r->len += len;
    return KNOWN;
}

static Known read_pieces(Reading *r, Expr *e, const Module *module, bool inside);

static Known read_parts(Reading *r, const Expr *string, const Module *module)
{
    Known known = KNOWN;
    for (Expr *part = string->parts; part && known == KNOWN; part = part->next)
        known = part->kind == EX_TEXT ? add_piece(r, part->text, part->text_len) : read_pieces(r, part, module, true);
    return known;
}

static Known read_sum(Reading *r, const Expr *sum, const Module *module)
{
    const Known known = read_pieces(r, sum->left, module, false);
    return known == KNOWN ? read_pieces(r, sum->right, module, false) : known;
}

/* inside: in a string, where a number stands too. */
static Known read_pieces(Reading *r, Expr *e, const Module *module, bool inside)
{
    char number[24];
    if (!e || ++r->steps > STEPS_MAX) return UNKNOWN;
    const Expr *value = written_out(r->c, e, &module);
    if (!value) return UNKNOWN;
    if (value->kind == EX_STRING) return read_parts(r, value, module);
    if (value->kind == EX_BINARY && value->op == OP_ADD) return read_sum(r, value, module);
    if (value->kind != EX_INT || !inside) return is_literal(value->kind) ? OTHER_KIND : UNKNOWN;
    return add_piece(r, number, (size_t)snprintf(number, sizeof number, "%" PRId64, value->int_value));
}

/* A constant text, its parts joined; NULL after a message, or silently when it is of another kind. */
static const char *read_text(Check *c, Expr *e, const Module *module)
{
    Reading reading;
    reading.c = c;
    reading.len = 0;
    reading.steps = 0;
    const Known known = read_pieces(&reading, e, module, false);
    if (known == UNKNOWN) report_unknown(c, e);
    return known == KNOWN ? arena_strndup(c->arena, reading.text, reading.len) : NULL;
}

/* ---- elements ---- */

/* Says whether a text may be in a row; a wrong one is reported. *text may be replaced by its shortest spelling. */
typedef bool Judge(Check *c, const Expr *e, const char **text);

static void report_no_list(Check *c, const Expr *e, const PromptRow *row, const char *what)
{
    if (e->kind != EX_BAD)
        diag_error(c->diags, e->span, "'%s' takes a list of %s, as in [\"…\"]", row->name.text, what);
}

static void read_texts(Check *c, const PromptRow *row, const char *what, Judge *judge, SandboxTexts *texts)
{
    const Module *module = c->module;
    const Expr *list = written_out(c, row->value, &module);
    if (!list || (list->kind != EX_LIST && !is_literal(list->kind) && list->kind != EX_STRING)) {
        report_unknown(c, row->value);
        return;
    }
    if (list->kind != EX_LIST) {
        report_no_list(c, row->value, row, what);
        return;
    }
    for (const Arg *arg = list->args; arg; arg = arg->next) {
        const uint32_t errors = c->diags->errors;
        const char *text = read_text(c, arg->value, module);
        if (!text && c->diags->errors == errors) report_no_list(c, arg->value, row, what);
        if (!text || !judge(c, arg->value, &text)) continue;
        texts->items = arena_grow(c->arena, texts->items, &texts->cap, texts->count + 1, sizeof *texts->items);
        texts->items[texts->count++] = text;
    }
}

/* ---- paths ---- */

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127) return false;
    return true;
}

/* Without doubled slashes, "." and a slash at the end; NULL: it has "..". */
static const char *normal_path(Check *c, const char *text)
{
    const bool absolute = *text == '/';
    const char *out = "";
    for (const char *at = text; *at;) {
        at += strspn(at, "/");
        const size_t len = strcspn(at, "/");
        if (len == 2 && memcmp(at, "..", 2) == 0) return NULL;
        if (len && !(len == 1 && *at == '.'))
            out = arena_printf(c->arena, "%s%s%.*s", out, *out || absolute ? "/" : "", (int)len, at);
        at += len;
    }
    return *out ? out : absolute ? "/" : ".";
}

/* Is `path` the same as `dir` or below it? */
static bool is_within(const char *path, const char *dir)
{
    const size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && (!path[len] || path[len] == '/');
}

static bool judge_path(Check *c, const Expr *e, const char **text)
{
    const char *path = normal_path(c, *text);
    const bool other_home = **text == '~' && (*text)[1] && (*text)[1] != '/';
    if (!**text || !path || other_home || !is_printable(*text)) {
        Diag *diag = diag_error(c->diags, e->span, "this is not a path that a sandbox can name");
        diag_hint(c->diags, diag, "write an absolute path, one that begins with ~/, or one below the root; without ..");
        return false;
    }
    *text = path;
    return true;
}

static bool judge_read(Check *c, const Expr *e, const char **text)
{
    if (!judge_path(c, e, text)) return false;
    if (strcmp(*text, "/") == 0)
        diag_error(c->diags, e->span, "'/' is above every root; a sandbox may not be given all of it");
    else if (is_within(*text, ".tfy"))
        diag_error(c->diags, e->span, "'.tfy' holds the log and is never readable");
    else
        return true;
    return false;
}

static bool is_system(const char *path)
{
    static const char *const whole[] = {"/", "/home", "/var", "/opt", "/srv", "/mnt", "/run", "/media"};
    static const char *const all[] = {"/usr",    "/bin", "/sbin", "/lib", "/lib32", "/lib64",
                                      "/libx32", "/etc", "/boot", "/dev", "/proc",  "/sys"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strcmp(path, whole[i]) == 0) return true;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (is_within(path, all[i])) return true;
    return false;
}

static bool is_home(const char *path)
{
    const bool below_home = strncmp(path, "/home/", 6) == 0 && !strchr(path + 6, '/');
    return strcmp(path, "~") == 0 || strcmp(path, "/root") == 0 || below_home;
}

/* The name at which a path below the root begins, when programs outside the sandbox take commands from it. */
static const char *protected_name(const char *path)
{
    static const char *const names[] = {".envrc", ".vscode", ".idea", ".mcp.json", ".claude", ".codex", ".cursor"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_within(path, names[i])) return names[i];
    return NULL;
}

static bool judge_write(Check *c, const Expr *e, const char **text)
{
    if (!judge_path(c, e, text)) return false;
    const char *path = *text, *protected = protected_name(path);
    Diag *diag;
    if (is_within(path, ".tfy")) {
        diag_error(c->diags, e->span, "'.tfy' holds the log and is never writable");
    } else if (protected) {
        diag_error(c->diags, e->span, "'%s' is never writable: programs outside the sandbox take commands from it",
                   protected);
    } else if (is_within(path, ".git") && path[4]) {
        diag = diag_error(c->diags, e->span, "a sandbox opens '.git' as a whole");
        diag_hint(c->diags, diag, "write \".git\"; its config and hooks stay closed");
    } else if (strcmp(path, ".") == 0) {
        diag = diag_error(c->diags, e->span, "the root has a row of its own");
        diag_hint(c->diags, diag, "write: root workspace");
    } else if (is_home(path)) {
        diag_error(c->diags, e->span, "'%s' is a whole home directory; a sandbox may not write there", path);
    } else if (is_system(path)) {
        diag_error(c->diags, e->span, "'%s' is the system itself; a sandbox may not write there", path);
    } else {
        return true;
    }
    return false;
}

/* ---- hosts ---- */

static bool is_host_char(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || ch == '-' || ch == '.';
}

/* The length of a name of letters, digits and '-', in parts between single dots, or of [an address]; 0: neither. */
static size_t host_len(const char *text)
{
    size_t len = strncmp(text, "*.", 2) == 0 ? 2 : 0;
    const size_t begin = len;
    if (*text == '[') {
        len = strspn(text + 1, "0123456789abcdef:.") + 1;
        return len > 2 && text[len] == ']' ? len + 1 : 0;
    }
    for (; is_host_char(text[len]); len++)
        if (text[len] == '.' && (len == begin || text[len - 1] == '.')) return 0;
    return len > begin && text[len - 1] != '.' ? len : 0;
}

static const char *lower_case(Check *c, const char *text)
{
    char *copy = arena_strndup(c->arena, text, strlen(text));
    for (char *at = copy; *at; at++)
        if (*at >= 'A' && *at <= 'Z') *at += 'a' - 'A';
    return copy;
}

static bool judge_host(Check *c, const Expr *e, const char **text)
{
    enum { PORT_MAX = 65535, PORT_DIGITS = 5 };
    const char *host = lower_case(c, *text);
    const size_t len = host_len(host);
    if (strcmp(host, "*") == 0 || strncmp(host, "*:", 2) == 0) {
        diag_error(c->diags, e->span, "'*' is every host; write: network any");
        return false;
    }
    const char *port = host + len + 1;
    if (!len || host[len] != ':' || !*port || port[strspn(port, "0123456789")]) {
        diag_error(c->diags, e->span, "this is not a host and a port, such as \"a.b:443\" or \"*.a.b:443\"");
        return false;
    }
    const long number = strlen(port) > PORT_DIGITS ? 0 : strtol(port, NULL, 10);
    *text = host;
    if (number >= 1 && number <= PORT_MAX && *port != '0') return true;
    diag_error(c->diags, e->span, "ports go from 1 to %d", PORT_MAX);
    return false;
}

/* A word of a runner. {root} and {cwd} are filled in; any other word in braces is a mistake. */
static bool judge_word(Check *c, const Expr *e, const char **text)
{
    if (!**text) {
        diag_error(c->diags, e->span, "a word of a command is not empty");
        return false;
    }
    for (const char *at = strchr(*text, '{'); at; at = strchr(at + 1, '{')) {
        const size_t len = strspn(at + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        const bool known = strncmp(at, "{root}", 6) == 0 || strncmp(at, "{cwd}", 5) == 0;
        if (!len || at[1 + len] != '}' || known) continue;
        Diag *diag = diag_error(c->diags, e->span, "nothing fills in '%.*s'", (int)len + 2, at);
        diag_hint(c->diags, diag, "a runner gets {root}, the working root, and {cwd}, where the tool starts");
        return false;
    }
    return true;
}

/* ---- rows ---- */

typedef enum RowKind {
    ROW_ROOT,
    ROW_READS,
    ROW_WRITES,
    ROW_NETWORK,
    ROW_MEMORY,
    ROW_PROCESSES,
    ROW_CPU,
    ROW_FILES,
    ROW_OUTPUT,
    ROW_RUNNER,
    ROW_COUNT
} RowKind;

static const char *const row_names[ROW_COUNT + 1] = {
    [ROW_ROOT] = "root",           [ROW_READS] = "reads",  [ROW_WRITES] = "writes", [ROW_NETWORK] = "network",
    [ROW_MEMORY] = "memory",       [ROW_CPU] = "cpu",      [ROW_FILES] = "files",   [ROW_OUTPUT] = "output",
    [ROW_PROCESSES] = "processes", [ROW_RUNNER] = "runner"};

const char *const *sandbox_rows(void)
{
    return row_names;
}

/* "512 MiB" as bytes; 0: it is not a size. */
static int64_t size_of_text(const char *text)
{
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    char *end;
    if (*text < '1' || *text > '9') return 0;
    const unsigned long long number = strtoull(text, &end, 10);
    while (*end == ' ') end++;
    for (int i = 0; i < 3; i++) {
        if (strcmp(end, units[i]) != 0) continue;
        const int shift = 10 * (i + 1);
        return number <= (unsigned long long)INT64_MAX >> shift ? (int64_t)(number << shift) : 0;
    }
    return 0;
}

static int64_t read_size(Check *c, const PromptRow *row)
{
    const uint32_t errors = c->diags->errors;
    const char *text = read_text(c, row->value, c->module);
    const int64_t size = text ? size_of_text(text) : 0;
    if (!size && c->diags->errors == errors)
        diag_error(c->diags, row->value->span, "'%s' takes a size such as \"512 MiB\"", row->name.text);
    return size;
}

static int64_t read_number(Check *c, const PromptRow *row, ExprKind kind)
{
    const Module *module = c->module;
    const Expr *e = written_out(c, row->value, &module);
    const bool fits = e && e->kind == kind && e->int_value >= 1 && (kind == EX_DURATION || e->int_value <= LIMIT_MAX);
    if (!e)
        report_unknown(c, row->value);
    else if (!fits && kind == EX_DURATION)
        diag_error(c->diags, row->value->span, "'%s' takes a time such as 10m", row->name.text);
    else if (!fits)
        diag_error(c->diags, row->value->span, "'%s' takes a number from 1 to %d", row->name.text, LIMIT_MAX);
    return fits ? e->int_value : 0;
}

/* The word that a row holds in place of a value. */
static bool is_word(const Expr *e, const char *word)
{
    return e->kind == EX_NAME && strcmp(e->name.text, word) == 0;
}

static void read_root(Check *c, const PromptRow *row, Sandbox *sandbox)
{
    if (is_word(row->value, "readonly")) {
        sandbox->root = SANDBOX_READONLY;
    } else if (!is_word(row->value, "workspace")) {
        Diag *diag = diag_error(c->diags, row->value->span, "'root' is workspace or readonly");
        if (is_word(row->value, "open"))
            diag_hint(c->diags, diag, "a tool without a sandbox says: dangerous sandbox open");
    }
}

static void read_network(Check *c, const PromptRow *row, Sandbox *sandbox)
{
    const Module *module = c->module;
    if (is_word(row->value, "none")) return;
    if (is_word(row->value, "any")) {
        sandbox->network = NETWORK_ANY;
        return;
    }
    const Expr *list = written_out(c, row->value, &module);
    if (row->value->kind == EX_BAD) return;
    if (!list ? row->value->kind == EX_NAME : list->kind != EX_LIST) {
        diag_error(c->diags, row->value->span, "'network' is none, any, or a list such as [\"a.b:443\"]");
        return;
    }
    read_texts(c, row, "hosts", judge_host, &sandbox->hosts);
    if (sandbox->hosts.count) sandbox->network = NETWORK_LIST;
}

/* Nobody knows what a runner reaches, so for the labels (check_trust.c) it has a network. */
static void read_runner(Check *c, const PromptRow *row, Sandbox *sandbox)
{
    const uint32_t errors = c->diags->errors;
    read_texts(c, row, "words", judge_word, &sandbox->runner);
    if (!sandbox->runner.count && c->diags->errors == errors)
        diag_error(c->diags, row->value->span, "a runner is a program and its arguments");
    sandbox->network = NETWORK_ANY;
}

/* A row that nothing would keep to is worse than none. */
static void check_beside_runner(Check *c, const PromptRow *const seen[ROW_COUNT])
{
    for (int kind = 0; seen[ROW_RUNNER] && kind < ROW_COUNT; kind++) {
        if (!seen[kind] || kind == ROW_RUNNER || kind == ROW_OUTPUT) continue;
        Diag *diag = diag_error(c->diags, seen[kind]->name.span,
                                "the runner holds these tools; '%s' says nothing to it", seen[kind]->name.text);
        diag_other(c->diags, diag, seen[ROW_RUNNER]->name.span, "the runner is given here");
    }
}

static void read_row(Check *c, RowKind kind, const PromptRow *row, Sandbox *sandbox)
{
    SandboxLimits *limits = &sandbox->limits;
    switch (kind) {
    case ROW_ROOT: read_root(c, row, sandbox); break;
    case ROW_READS: read_texts(c, row, "paths", judge_read, &sandbox->reads); break;
    case ROW_WRITES: read_texts(c, row, "paths", judge_write, &sandbox->writes); break;
    case ROW_NETWORK: read_network(c, row, sandbox); break;
    case ROW_MEMORY: limits->memory = read_size(c, row); break;
    case ROW_FILES: limits->files = read_size(c, row); break;
    case ROW_OUTPUT: limits->output = read_size(c, row); break;
    case ROW_PROCESSES: limits->processes = read_number(c, row, EX_INT); break;
    case ROW_CPU: limits->cpu_ms = read_number(c, row, EX_DURATION); break;
    case ROW_RUNNER: read_runner(c, row, sandbox); break;
    case ROW_COUNT: break;
    }
}

static RowKind row_kind(Check *c, const PromptRow *row)
{
    const char *name = row->name.text;
    for (int kind = 0; kind < ROW_COUNT; kind++)
        if (strcmp(row_names[kind], name) == 0) return (RowKind)kind;
    const char *near = diag_nearest(name, strlen(name), row_names, ROW_COUNT);
    Diag *diag = diag_error(c->diags, row->name.span, "unknown row '%s'%s%s%s", name, near ? "; did you mean '" : "",
                            near ? near : "", near ? "'?" : "");
    if (near)
        diag_replace(diag, near);
    else
        diag_hint(c->diags, diag,
                  "a sandbox has root, reads, writes, network, memory, processes, cpu, files, output and runner");
    return ROW_COUNT;
}

void check_sandbox(Check *c, Decl *decl)
{
    const PromptRow *seen[ROW_COUNT] = {NULL};
    Sandbox *sandbox = arena_new(c->arena, Sandbox);
    sandbox->name = decl->full_name;
    sandbox->c_name = decl->c_name;
    decl->type = c->core->nothing;
    decl->sandbox = sandbox;
    for (const PromptRow *row = decl->rows; row; row = row->next) {
        const RowKind kind = row->name.text ? row_kind(c, row) : ROW_COUNT;
        if (kind == ROW_COUNT) continue;
        if (seen[kind]) {
            Diag *diag = diag_error(c->diags, row->name.span, "'%s' is given twice", row->name.text);
            diag_other(c->diags, diag, seen[kind]->name.span, "first given here");
            continue;
        }
        seen[kind] = row;
        read_row(c, kind, row, sandbox);
    }
    check_beside_runner(c, seen);
    if (!decl->name.text || strcmp(decl->name.text, "default") != 0) return;
    if (decl->module->number)
        diag_error(c->diags, decl->name.span, "only the file that a program starts with sets its default sandbox");
    else
        c->program->sandbox = sandbox;
}

/* ---- tools ---- */

static const Decl *find_sandbox(Check *c, const CatchName *name)
{
    const char *text = name->name.text;
    if (name->module.text) return check_find_qualified(c, name->module, name->name, NAME_SANDBOX);
    const Decl *decl = check_find_decl(c, text);
    if (decl) return decl;
    const char *near = check_nearest_name(c, text, NAME_SANDBOX);
    Diag *diag = diag_error(c->diags, name->name.span, "there is no sandbox '%s'%s%s%s", text,
                            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    if (near)
        diag_replace(diag, near);
    else
        diag_hint(c->diags, diag, "workspace, readonly and open are given; others are declared: sandbox %s { … }",
                  text);
    return NULL;
}

static const Sandbox *named_sandbox(Check *c, const CatchName *name)
{
    const Sandbox *sandbox = name->module.text ? NULL : sandbox_given(name->name.text);
    if (sandbox) return sandbox;
    const Decl *decl = find_sandbox(c, name);
    if (decl && decl->kind == DECL_SANDBOX) return decl->sandbox;
    if (decl)
        diag_error(c->diags, name->name.span, "'%s' is %s, not a sandbox", name->name.text, decl_kind_word(decl->kind));
    return NULL;
}

void check_sandbox_attr(Check *c, Decl *decl, const Attr *attr)
{
    if (!attr->name->name.text) return;
    if (decl->kind == DECL_PROMPT || decl->provider == PROV_HTTP) {
        diag_error(c->diags, attr->span, "%s starts no process, so it has no sandbox",
                   decl->kind == DECL_PROMPT ? "a prompt"
                   : decl->is_server         ? "a server at an address"
                                             : "an http tool");
        return;
    }
    if (decl->provider == PROV_MCP) {
        Diag *diag = diag_error(c->diags, attr->span, "a server's tool runs where its server does");
        diag_hint(c->diags, diag, "give the server the sandbox, before the braces");
        return;
    }
    if (decl->provider == PROV_EXTERN) {
        diag_error(c->diags, attr->span, "'extern' runs inside the process; no sandbox can hold it");
        return;
    }
    decl->sandbox = named_sandbox(c, attr->name);
    if (!decl->sandbox || decl->sandbox->root != SANDBOX_OPEN || decl->dangerous || decl->is_server) return;
    Diag *diag = diag_error(c->diags, attr->span, "a tool without a sandbox is dangerous");
    diag_hint(c->diags, diag, "add 'dangerous', or give it a sandbox");
}
