/* compiler_probe.c: linked with one compiled program. Holds what tfyc says of it against what the runtime does.
 *
 * Usage: compiler_probe schema TOOL FILE    FILE is `tfyc --schema TOOL`: its result is the schema that models are sent
 *        compiler_probe frames FILE         FILE is `tfyc --report --json`: its frames are those that tasks have */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "value/json.h"

extern const TfyProgram tfyg_program;

static json_t *load(const char *path)
{
    json_error_t error;
    json_t *json = json_load_file(path, 0, &error);
    if (!json) {
        fprintf(stderr, "%s: %s\n", path, error.text);
        exit(1);
    }
    return json;
}

static const TfyTool *find_tool(const char *name)
{
    for (uint32_t i = 0; i < tfyg_program.tool_count; i++)
        if (strcmp(tfyg_program.tools[i]->name, name) == 0) return tfyg_program.tools[i];
    fprintf(stderr, "no tool %s\n", name);
    exit(1);
}

static bool same_schema(const char *name, const char *path)
{
    TfyBuffer text = {0};
    json_t *file = load(path), *told = json_object_get(file, "result");
    if (!tfy__schema(&text, find_tool(name)->result)) return false;
    json_t *sent = json_loadb(text.data, text.len, 0, NULL);
    bool same = json_equal(told, sent);
    if (!same) printf("sent %.*s\ntold ", (int)text.len, text.data);
    if (!same) json_dumpf(told, stdout, 0);
    json_decref(sent);
    json_decref(file);
    tfy__buffer_free(&text);
    return same;
}

static bool same_frames(const char *path)
{
    json_t *file = load(path);
    bool same = true;
    for (uint32_t i = 0; i < tfyg_program.workflow_count; i++) {
        const TfyWorkflow *workflow = tfyg_program.workflows[i];
        json_t *entry;
        size_t n, told = 0;
        json_array_foreach(
            file, n, entry) if (strcmp(json_string_value(json_object_get(entry, "workflow")), workflow->name) == 0)
            told = (size_t)json_integer_value(json_object_get(entry, "frame_bytes"));
        if (told != workflow->frame_size) {
            printf("%s: %u bytes, told %zu\n", workflow->name, workflow->frame_size, told);
            same = false;
        }
    }
    json_decref(file);
    return same;
}

int main(int argc, char **argv)
{
    bool same = argc == 4 ? same_schema(argv[2], argv[3]) : argc == 3 && same_frames(argv[2]);
    return same ? 0 : 1;
}
