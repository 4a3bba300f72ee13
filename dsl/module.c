/* module.c: finding, loading and naming the files of a program, and the circles among them. */
#include "module.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "../runtime/base/list.h"
#include "mcp_file.h"
#include "name.h"
#include "parse.h"

typedef struct Loader {
    SourceSet *sources;
    const ModulePaths *paths; /* NULL: nothing is searched, the program is a bundle */
    Arena *arena;
    DiagList *diags;
    LIST(Module) list;              /* as the program links them */
    Module *modules[MODULES_MAX];   /* by number */
    const char *reals[MODULES_MAX]; /* their real paths; NULL for standard input */
    uint32_t count;
} Loader;

/* ---- names ---- */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The length of a path's directory, slash included. */
static size_t dir_len(const char *path)
{
    return (size_t)(base_of(path) - path);
}

static size_t stem_len(const char *base)
{
    size_t len = strlen(base);
    if (mcp_file_is(base)) return len - strlen(".mcp.json");
    return len > 4 && strcmp(base + len - 4, ".tfy") == 0 ? len - 4 : len;
}

/* The base name as a name of the language. */
static const char *name_from_path(Arena *arena, const char *path)
{
    const char *base = base_of(path);
    char *name = arena_strndup(arena, base, stem_len(base));
    for (char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at)) *at = '_';
    return *name && !isdigit((unsigned char)*name) ? name : arena_printf(arena, "_%s", name);
}

static bool is_taken(const Loader *l, const char *name)
{
    for (uint32_t i = 1; i < l->count; i++)
        if (strcmp(l->modules[i]->name, name) == 0) return true;
    return false;
}

static const char *unique_name(const Loader *l, const char *path)
{
    const char *first = name_from_path(l->arena, path), *name = first;
    for (uint32_t i = 2; is_taken(l, name); i++) name = arena_printf(l->arena, "%s_%u", first, i);
    return name;
}

/* Takes "." and "x/.." out of a path, in place, by its text alone: what is shown need not exist any more. */
static const char *tidy_path(char *path)
{
    char *to = path, *start = path + (*path == '/');
    for (char *from = start, *next; *from; from = next) {
        size_t len = strcspn(from, "/");
        next = from + len + (from[len] == '/');
        if (len == 0 || (len == 1 && *from == '.')) continue;
        bool up = len == 2 && memcmp(from, "..", 2) == 0;
        char *last = to;
        while (last > start && last[-1] != '/') last--;
        if (to == path) to = start;
        if (up && to > start && !(to - last == 2 && memcmp(last, "..", 2) == 0)) {
            to = last > start ? last - 1 : start;
            continue;
        }
        if (to > start) *to++ = '/';
        memmove(to, from, len);
        to += len;
    }
    *to = 0;
    return path;
}

/* ---- one file ---- */

static Module *add_module(Loader *l, Source *source, const char *file, const char *real)
{
    CHECK(l->count < MODULES_MAX);
    Module *module = mcp_file_is(file) && l->count ? mcp_file_read(l->sources, source, l->arena, l->diags)
                                                   : parse_module(l->sources, source, l->arena, l->diags);
    module->file = file;
    module->name = l->count ? unique_name(l, file) : "";
    module->number = l->count;
    LIST_APPEND(&l->list, module, next);
    l->reals[l->count] = real;
    l->modules[l->count++] = module;
    return module;
}

static const char *real_path(Loader *l, const char *path)
{
    char real[PATH_MAX];
    return realpath(path, real) ? arena_strndup(l->arena, real, strlen(real)) : NULL;
}

static Module *find_loaded(const Loader *l, const char *real)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (l->reals[i] && strcmp(l->reals[i], real) == 0) return l->modules[i];
    return NULL;
}

static const char *text_of(Loader *l, const Decl *import)
{
    const Expr *part = import->value ? import->value->parts : NULL;
    return part ? arena_strndup(l->arena, part->text, part->text_len) : "";
}

/* ---- the search ---- */

/* Where a path that somebody imports was found. */
typedef struct Found {
    const char *path; /* to open it */
    const char *file; /* what records and messages of a run call it */
    const char *real;
} Found;

static bool try_path(Loader *l, Found *found, const char *path, const char *file)
{
    found->real = real_path(l, path);
    found->path = path;
    found->file = tidy_path(arena_strndup(l->arena, file, strlen(file)));
    return found->real != NULL;
}

static bool search(Loader *l, Found *found, const Module *from, const char *path)
{
    const char *name = from->source->name;
    if (*path == '/') return try_path(l, found, path, path);
    bool standard_input = from->number == 0 && !l->reals[0];
    int dir = standard_input ? 0 : (int)dir_len(name);
    if (try_path(l, found, arena_printf(l->arena, "%.*s%s", dir, name, path),
                 arena_printf(l->arena, "%.*s%s", (int)dir_len(from->file), from->file, path)))
        return true;
    for (uint32_t i = 0; i < l->paths->count; i++)
        if (try_path(l, found, arena_printf(l->arena, "%s/%s", l->paths->dirs[i], path), path)) return true;
    return false;
}

static void report_missing(Loader *l, const Module *from, const Decl *import, const char *path)
{
    Found near = {0};
    if (import->is_server) {
        Diag *diag = diag_error(l->diags, import->name.span, "%s is not there", path);
        diag_hint(l->diags, diag, "write it with: tfy mcp pull %s", from->file);
        return;
    }
    const char *name = from->source->name, *whole = arena_printf(l->arena, "%s.tfy", path);
    int dir = (int)dir_len(name);
    if (search(l, &near, from, whole)) {
        diag_error(l->diags, import->value->span, "cannot find '%s'; did you mean '%s'?", path, whole);
        return;
    }
    const char *places = dir ? arena_printf(l->arena, "'%.*s'", dir, name) : "the current directory";
    Diag *diag = diag_error(l->diags, import->value->span, "cannot find '%s'", path);
    for (uint32_t i = 0; i < l->paths->count && *path != '/'; i++)
        places = arena_printf(l->arena, "%s, '%s'", places, l->paths->dirs[i]);
    if (*path != '/') diag_hint(l->diags, diag, "searched %s; -I DIR adds a directory", places);
}

static Module *load_import(Loader *l, const Module *from, const Decl *import)
{
    Found found = {0};
    int error = 0;
    const char *path = text_of(l, import);
    Span span = import->value->span;
    if (memmem(source_text(l->sources, span), span.len, "${", 2)) return NULL; /* the parser has refused it */
    if (!*path) {
        diag_error(l->diags, import->value->span, "an import names a file, such as \"lib/text.tfy\"");
        return NULL;
    }
    if (mcp_file_is(path) && !import->is_server) {
        Diag *diag = diag_error(l->diags, span, "the tools of a server are declared, not imported");
        diag_hint(l->diags, diag, "write: mcp %.*s = exec [\"…\"]", (int)stem_len(base_of(path)), base_of(path));
        return NULL;
    }
    if (!search(l, &found, from, path)) {
        report_missing(l, from, import, path);
        return NULL;
    }
    Module *module = import->is_server ? NULL : find_loaded(l, found.real); /* each server has its own */
    if (module) return module;
    if (l->count == MODULES_MAX) {
        diag_error(l->diags, import->value->span, "a program has at most %d files", MODULES_MAX);
        return NULL;
    }
    Source *source = source_load(l->sources, found.path, &error);
    if (source) return add_module(l, source, found.file, found.real);
    diag_error(l->diags, import->value->span, "cannot read '%s': %s", found.path,
               error == EFBIG ? "it is too large" : strerror(error));
    return NULL;
}

/* ---- imports ---- */

/* Without `as` an import is called like its file. */
static void name_import(Loader *l, Decl *import)
{
    const char *base = base_of(text_of(l, import)), *name = name_from_path(l->arena, base);
    size_t len = stem_len(base);
    if (import->name.text || !import->value || !len) return;
    import->name = (Name){name_intern(l->sources, name, strlen(name)), import->value->span};
    bool reserved = parse_word_is_reserved(name, strlen(name)), same = strlen(name) == len && !memcmp(name, base, len);
    if (same && !reserved) return;
    Diag *diag = diag_error(l->diags, import->value->span, "'%.*s' %s", (int)len, base,
                            reserved ? "is a reserved word" : "cannot be a name");
    diag_hint(l->diags, diag, "give the module another: import \"…\" as %s%s", name, reserved ? "_" : "");
}

/* The file of a bundle that a path beside this one names. */
static Module *beside(Loader *l, const Module *from, const Decl *import)
{
    const char *path = text_of(l, import);
    const char *file =
        tidy_path(arena_printf(l->arena, "%.*s%s", *path == '/' ? 0 : (int)dir_len(from->file), from->file, path));
    for (uint32_t i = 0; i < l->count; i++)
        if (strcmp(l->modules[i]->file, file) == 0) return l->modules[i];
    Diag *diag = diag_error(l->diags, import->value->span, "cannot find '%s'", path);
    diag_hint(l->diags, diag, "a program that comes with all its files imports no others");
    return NULL;
}

/* A bundle says which of its files an import means. */
static Module *bundled_import(Loader *l, const Module *from, const json_t *imports, const Decl *import)
{
    if (!imports) return beside(l, from, import);
    const char *path = text_of(l, import);
    const json_t *number = json_object_get(imports, path);
    json_int_t at = json_is_integer(number) ? json_integer_value(number) : -1;
    if (at >= 0 && at < (json_int_t)l->count) return l->modules[at];
    diag_error(l->diags, import->value->span, "the stored program does not hold '%s'", path);
    return NULL;
}

/* Whatever a stored program says: a server's file is that of one server. */
static void use_server(Loader *l, Decl *server)
{
    const Decl *first = server->imported->decls;
    if (server->imported->of_server && !(first && first->server)) {
        mcp_file_use(server->imported, server, l->arena, l->diags);
        return;
    }
    diag_error(l->diags, server->name.span, "the stored program does not hold the tools of '%s'", server->name.text);
    server->imported = NULL;
}

static void follow_imports(Loader *l, Module *module, const json_t *imports)
{
    for (Decl *decl = module->decls; decl; decl = decl->next) {
        if (decl->kind != DECL_IMPORT || !decl->value) continue;
        name_import(l, decl);
        decl->imported = l->paths ? load_import(l, module, decl) : bundled_import(l, module, imports, decl);
        if (decl->is_server && decl->imported) use_server(l, decl);
    }
}

/* ---- circles ---- */

/* The way from the main file to the one being inspected. */
typedef struct Way {
    Decl *at[MODULES_MAX]; /* the declaration each file is at */
    const Module *files[MODULES_MAX];
    bool done[MODULES_MAX]; /* by number: nothing behind it leads back */
    bool open[MODULES_MAX]; /* by number: it is on the way */
    uint32_t depth;
} Way;

static void report_circle(Loader *l, const Way *way, const Decl *import)
{
    const char *text = import->imported->file;
    for (uint32_t i = way->depth; i-- > 0;) {
        text = arena_printf(l->arena, "%s → %s", way->files[i]->file, text);
        if (way->files[i] == import->imported) break;
    }
    Diag *diag = diag_error(l->diags, import->value->span, "files import each other in a circle: %s", text);
    diag_hint(l->diags, diag, "move what they share into a file of its own");
}

static void enter_file(Way *way, const Module *module)
{
    CHECK(!way->open[module->number]); /* a circle was reported where it closes */
    way->files[way->depth] = module;
    way->at[way->depth++] = module->decls;
    way->open[module->number] = true;
}

static void step_way(Loader *l, Way *way)
{
    Decl *decl = way->at[way->depth - 1];
    if (!decl) {
        const Module *module = way->files[--way->depth];
        way->open[module->number] = false;
        way->done[module->number] = true;
        return;
    }
    way->at[way->depth - 1] = decl->next;
    if (decl->kind != DECL_IMPORT || !decl->imported || way->done[decl->imported->number]) return;
    if (way->open[decl->imported->number]) {
        report_circle(l, way, decl);
        decl->imported = NULL;
        return;
    }
    enter_file(way, decl->imported);
}

static void find_circles(Loader *l)
{
    Way *way = arena_new(l->arena, Way);
    enter_file(way, l->modules[0]);
    while (way->depth) step_way(l, way);
}

/* ---- the verbs ---- */

Module *module_load(SourceSet *sources, Source *main, const ModulePaths *paths, Arena *arena, DiagList *diags)
{
    static const ModulePaths none;
    Loader *l = arena_new(arena, Loader);
    *l = (Loader){.sources = sources, .paths = paths ? paths : &none, .arena = arena, .diags = diags};
    add_module(l, main, base_of(main->name), real_path(l, main->name));
    for (uint32_t i = 0; i < l->count; i++) follow_imports(l, l->modules[i], NULL);
    find_circles(l);
    return l->modules[0];
}

static bool load_texts(Loader *l, const json_t *modules)
{
    size_t i;
    const json_t *module;
    json_array_foreach(modules, i, module)
    {
        const char *file = json_string_value(json_object_get(module, "file"));
        const json_t *text = json_object_get(module, "text");
        if (!file || !json_is_string(text) || l->count == MODULES_MAX) return false;
        Source *source = source_add(l->sources, file, json_string_value(text), json_string_length(text));
        add_module(l, source, arena_strndup(l->arena, file, strlen(file)), NULL);
    }
    return l->count > 0;
}

Module *module_load_bundle(SourceSet *sources, const char *text, size_t len, Arena *arena, DiagList *diags,
                           const char **problem)
{
    json_error_t error;
    json_t *bundle = json_loadb(text, len, JSON_ALLOW_NUL, &error);
    Loader *l = arena_new(arena, Loader);
    *l = (Loader){.sources = sources, .arena = arena, .diags = diags};
    const json_t *modules = json_object_get(bundle, "modules");
    bool ok = load_texts(l, modules);
    *problem = bundle ? "it holds no modules" : arena_strndup(arena, error.text, strlen(error.text));
    for (uint32_t i = 0; ok && i < l->count; i++)
        follow_imports(l, l->modules[i], json_object_get(json_array_get(modules, i), "imports"));
    json_decref(bundle);
    if (ok) find_circles(l);
    return ok ? l->modules[0] : NULL;
}
