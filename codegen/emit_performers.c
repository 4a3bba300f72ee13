/* emit_performers.c: who does the work of a program's effects. A program names only the performers of what it can
 * ask for, so it is linked with nothing else: one that asks no model and sends no request carries no libcurl. */
#include <string.h>

#include "emit.h"

typedef struct Performer {
    const char *effect; /* as behind tfy_effect_ */
    const char *family; /* as behind TFY_F_ */
    const char *name;   /* as behind tfy__perform_ */
} Performer;

static const Performer performers[] = {
    {"exec", "EXEC", "exec"},
    {"http", "HTTP", "http"},
    {"http_idempotent", "HTTP", "http"},
    {"http_pure", "HTTP", "http"},
    {"read_file", "READ_FILE", "read_file"},
    {"write_file", "WRITE_FILE", "write_file"},
    {"preview", "PREVIEW", "preview"},
    {"apply", "APPLY", "apply"},
    {"commit", "COMMIT", "commit"},
    {"llm", "LLM", "llm"},
    {"listen", "LISTEN", "net"},
    {"accept", "ACCEPT", "net"},
    {"connect", "CONNECT", "net"},
    {"stdin", "STDIN", "net"},
    {"readable", "READABLE", "net"},
    {"writable", "WRITABLE", "net"},
    {"read", "READ", "net"},
    {"read_line", "READ_LINE", "net"},
    {"write", "WRITE", "net"},
    {"address", "ADDRESS", "net"},
    /* what tools of the program are performed by; their names have a blank */
    {"extern tool", "EXTERN", "extern"},
    {"prompt", "PROMPT", "llm"},
};
enum { PERFORMER_COUNT = sizeof performers / sizeof *performers };

static const char *effect_of_tool(const Decl *decl)
{
    if (decl->kind == DECL_PROMPT) return "prompt";
    if (decl->kind != DECL_TOOL) return "";
    if (decl->provider == PROV_EXTERN) return "extern tool";
    return decl->provider == PROV_HTTP ? "http" : "exec";
}

/* The name behind tfy_effect_; "" where the loop itself does the work, as of sleep and send. */
static const char *effect_of_point(const Point *point)
{
    if (point->effect) return point->effect;
    return point->builtin ? point->builtin->name : "";
}

static void mark(bool *used, const char *effect)
{
    for (int i = 0; i < PERFORMER_COUNT; i++)
        if (strcmp(performers[i].effect, effect) == 0) used[i] = true;
}

static bool same_family(int a, int b)
{
    return strcmp(performers[a].family, performers[b].family) == 0;
}

const char *emit_performers(Emit *e)
{
    const Machine *machine = e->machine;
    bool used[PERFORMER_COUNT] = {false};
    Text list = {.arena = e->arena};
    for (uint32_t i = 0; i < machine->program->decl_count; i++) mark(used, effect_of_tool(machine->program->decls[i]));
    for (uint32_t i = 0; i < machine->point_count; i++) mark(used, effect_of_point(machine->points[i]));
    for (int i = 0; i < PERFORMER_COUNT; i++) {
        if (!used[i] || (i && used[i - 1] && same_family(i, i - 1))) continue;
        text_format(&list, "[TFY_F_%s] = &tfy__perform_%s, ", performers[i].family, performers[i].name);
    }
    if (!list.len) return "NULL";
    ctext_pieces(&e->c, 1, "static const TfyPerformer *const tfyg_performers[TFY_F_COUNT] = {%s};", list.data);
    return "tfyg_performers";
}
