/* output.c: tfy output: everything a run ever printed, in the order of the log: what it printed on stdout, what it
 * logged on stderr, as it was then. With --json one line per record, activity (`emit`) included. */
#include "cli/db.h"
#include "cli/output.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "value/json.h"

static const char *member_of(const json_t *payload, const char *name)
{
    const char *text = json_string_value(json_object_get(payload, name));
    return text ? text : "";
}

static void add_member(TfyBuffer *out, const json_t *payload, const char *name)
{
    const json_t *value = json_object_get(payload, name);
    if (!json_is_string(value)) return;
    tfy__buffer_printf(out, ",\"%s\":", name);
    tfy__buffer_json_string(out, json_string_value(value), json_string_length(value));
}

static void say_line(const TfyHistory *history, uint32_t index, const json_t *payload)
{
    TfyBuffer out = {0};
    tfy__buffer_text(&out, "{\"ts\":\"");
    tfy__write_time(&out, history->records[index].ts_ms);
    tfy__buffer_printf(&out, "\",\"task\":\"%s\"", history->tasks[history->record_tasks[index]].path);
    add_member(&out, payload, "to");
    add_member(&out, payload, "level");
    add_member(&out, payload, "stage");
    add_member(&out, payload, "text");
    tfy__buffer_text(&out, "}\n");
    if (!out.failed) fwrite(out.data, 1, out.len, stdout);
    tfy__buffer_free(&out);
}

static void say_text(const json_t *payload)
{
    const json_t *text = json_object_get(payload, "text");
    const char *to = member_of(payload, "to");
    if (strcmp(to, "pal") == 0 || !json_is_string(text)) return;
    FILE *file = stdout;
    if (strcmp(to, "log") == 0) {
        fflush(stdout);
        file = stderr;
        fprintf(file, "%s: ", *member_of(payload, "level") ? member_of(payload, "level") : "info");
    }
    fwrite(json_string_value(text), 1, json_string_length(text), file);
    fputc('\n', file);
}

void tfy__output_print(const TfyHistory *history, bool json)
{
    for (uint32_t i = 0; i < history->record_count; i++) {
        if (history->records[i].type != TFY_R_OUTPUT) continue;
        json_t *payload = tfy__db_payload(&history->records[i]);
        if (json)
            say_line(history, i, payload);
        else
            say_text(payload);
        json_decref(payload);
    }
}

int tfy__cmd_output(int argc, char **argv)
{
    TfyArgs args;
    TfyHistory *history = NULL;
    int status = tfy__args_parse(argc, argv, &args);
    if (status < 0) {
        status = tfy__db_history(&args, &history);
        if (status == EXIT_DONE) {
            tfy__db_say_base(history);
            tfy__output_print(history, args.option[OPT_JSON]);
            status = tfy__flush_stdout(EXIT_DONE);
        }
    }
    tfy__history_free(history);
    tfy__args_free(&args);
    return status;
}
