/* lsp_workspace.c: the files of a workspace, for questions about more than one of them. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lsp_internal.h"

static void keep_folder(LspServer *server, const json_t *uri)
{
    char *path = json_is_string(uri) ? lsp_path_of_uri(json_string_value(uri)) : NULL;
    if (path) json_array_append_new(server->folders, json_string(path));
    free(path);
}

/* Older clients know only one folder. */
void lsp_keep_folders(LspServer *server, const json_t *params)
{
    const json_t *folders = json_object_get(params, "workspaceFolders"), *folder;
    size_t i;
    json_array_foreach(folders, i, folder) keep_folder(server, json_object_get(folder, "uri"));
    if (!json_array_size(folders)) keep_folder(server, json_object_get(params, "rootUri"));
}

/* ---- collecting paths ---- */

typedef struct Paths {
    Arena arena;
    const char **items; /* real paths */
    uint32_t count, cap;
    uint32_t entries; /* names inspected */
} Paths;

static bool add_path(Paths *paths, const char *path)
{
    for (uint32_t i = 0; i < paths->count; i++)
        if (strcmp(paths->items[i], path) == 0) return false;
    paths->items = arena_grow(&paths->arena, paths->items, &paths->cap, paths->count + 1, sizeof *paths->items);
    paths->items[paths->count++] = arena_strndup(&paths->arena, path, strlen(path));
    return true;
}

static bool is_program(const char *name)
{
    size_t len = strlen(name);
    return len > 4 && strcmp(name + len - 4, ".tfy") == 0;
}

/* Hidden directories hold what tools keep, node_modules what others wrote. */
static int is_wanted(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "node_modules") != 0;
}

/* Symbolic links are not followed: they may lead out of the folder, or around in it. */
static void add_directory(Paths *paths, const char *directory, int depth)
{
    struct dirent **entries;
    int count = depth < LSP_DEPTH_MAX ? scandir(directory, &entries, is_wanted, alphasort) : -1;
    for (int i = 0; i < count; i++) {
        struct stat st;
        const char *path = arena_printf(&paths->arena, "%s/%s", directory, entries[i]->d_name);
        bool go_on = paths->count < LSP_FILES_MAX && paths->entries++ < LSP_ENTRIES_MAX && lstat(path, &st) == 0;
        if (go_on && S_ISDIR(st.st_mode))
            add_directory(paths, path, depth + 1);
        else if (go_on && S_ISREG(st.st_mode) && is_program(path))
            add_path(paths, path);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
}

/* ---- visiting ---- */

static void visit_file(const char *path, LspEachFile *each, void *state)
{
    struct stat st;
    int error;
    Arena arena;
    SourceSet set;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > LSP_TEXT_MAX) return;
    arena_init(&arena, 0);
    source_set_init(&set, &arena);
    const Source *source = source_load(&set, path, &error);
    json_t *uri = lsp_uri_of_path(path);
    if (source && source->len <= LSP_TEXT_MAX) {
        LspDocument file = {.uri = arena_strndup(&arena, json_string_value(uri), json_string_length(uri)),
                            .path = arena_strndup(&arena, path, strlen(path)),
                            .text = arena_strndup(&arena, source->text, source->len),
                            .len = source->len};
        each(state, &file);
    }
    json_decref(uri);
    arena_deinit(&arena);
}

static void add_documents(Paths *paths, const LspServer *server)
{
    for (const LspDocument *document = server->documents.first; document; document = document->next) {
        char *real = lsp_real_path(document->path);
        add_path(paths, real);
        free(real);
    }
}

static void add_imported(Paths *paths, const LspAnalysis *asked)
{
    for (const Source *source = asked ? asked->sources.first : NULL; source; source = source->next) {
        char *real = lsp_real_path(source->name);
        add_path(paths, real);
        free(real);
    }
}

void lsp_each_file(LspServer *server, const LspAnalysis *asked, LspEachFile *each, void *state)
{
    Paths paths = {0};
    const json_t *folder;
    size_t i;
    arena_init(&paths.arena, 0);
    add_documents(&paths, server);
    uint32_t first = paths.count; /* an open document counts as the editor has it */
    add_imported(&paths, asked);
    json_array_foreach(server->folders, i, folder)
    {
        char *real = lsp_real_path(json_string_value(folder));
        add_directory(&paths, real, 0);
        free(real);
    }
    for (const LspDocument *document = server->documents.first; document; document = document->next)
        if (document->len <= LSP_TEXT_MAX) each(state, document);
    for (uint32_t at = first; at < paths.count; at++) visit_file(paths.items[at], each, state);
    arena_deinit(&paths.arena);
}
