/* programs.c: the programs that are served. */
#include "serve/serve.h"

const TfyServed *tfy__served_named(const TfyServer *server, const char *program)
{
    const TfyServed *served = server->programs.first;
    while (served && strcmp(served->name, program) != 0) served = served->next;
    return served;
}

const TfyWorkflow *tfy__served_workflow(const TfyServed *served, const char *name)
{
    for (uint32_t i = 0; i < served->program->workflow_count; i++)
        if (strcmp(served->program->workflows[i]->name, name) == 0) return served->program->workflows[i];
    return NULL;
}

/* Those that the caller sees. */
static json_t *workflows_of(const TfyServed *served, const TfyCaller *caller)
{
    const TfyProgram *program = served->program;
    json_t *names = json_array();
    for (uint32_t i = 0; i < program->workflow_count; i++)
        if (tfy__may_see(caller, served->name, program->workflows[i]->name))
            json_array_append_new(names, json_string(program->workflows[i]->name));
    return names;
}

bool tfy__served_seen(const TfyServed *served, const TfyCaller *caller)
{
    const TfyProgram *program = served->program;
    for (uint32_t i = 0; *caller->only && i < program->workflow_count; i++)
        if (tfy__may_see(caller, served->name, program->workflows[i]->name)) return true;
    return !*caller->only;
}

void tfy__serve_programs(TfyRequest *request)
{
    json_t *list = json_array();
    if (!tfy__request_known(request, (const char *const[]){NULL})) return;
    for (const TfyServed *served = request->server->programs.first; served; served = served->next) {
        if (!tfy__served_seen(served, &request->caller)) continue;
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", served->name, "version", served->version,
                                              "workflows", workflows_of(served, &request->caller)));
    }
    tfy__request_json(request, 200, json_pack("{s:o, s:n}", "programs", list, "next"));
}
