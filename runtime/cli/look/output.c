/* output.c: tfy output: prints everything that a run ever printed, in the order of the log: its prints on stdout, its
 * log lines on stderr, unchanged. With --json it prints one line per record, activity (`emit`) included. */
#include "cli/frame/commands.h"
#include "cli/look/db.h"
#include "cli/look/output.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "value/json.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

static const char *member_of(const TfyPayload *payload, TfyMember member)
{
    const char *text = tfy__payload_text(payload, member);
    return text ? text : "";
}

static void add_number(TfyBuffer *out, const TfyPayload *payload, TfyMember member)
{
    if (tfy__payload_get(payload, member)) tfy__put_int(out, member, tfy__payload_int(payload, member));
}

static void add_member(TfyBuffer *out, const TfyPayload *payload, TfyMember member)
{
    const json_t *value = tfy__payload_get(payload, member);
    if (value) tfy__put_bytes(out, member, json_string_value(value), json_string_length(value));
}

static void say_line(const TfyHistory *history, uint32_t index, const TfyPayload *payload)
{
    TfyBuffer out = {0};
    tfy__buffer_text(&out, "{\"ts\":\"");
    tfy__write_time(&out, history->records[index].ts_ms);
    tfy__buffer_printf(&out, "\",\"task\":\"%s\"", history->tasks[history->record_tasks[index]].path);
    add_member(&out, payload, TFY_P_TO);
    add_member(&out, payload, TFY_P_LEVEL);
    add_member(&out, payload, TFY_P_STAGE);
    add_member(&out, payload, TFY_P_TEXT);
    add_number(&out, payload, TFY_P_DONE);
    add_number(&out, payload, TFY_P_TOTAL);
    tfy__buffer_text(&out, "}\n");
    if (!out.failed) fwrite(out.data, 1, out.len, stdout);
    tfy__buffer_free(&out);
}

static void say_text(const TfyPayload *payload)
{
    const json_t *text = tfy__payload_get(payload, TFY_P_TEXT);
    const char *to = member_of(payload, TFY_P_TO);
    if (strcmp(to, "pal") == 0 || !text) return;
    FILE *file = stdout;
    if (strcmp(to, "log") == 0) {
        fflush(stdout);
        file = stderr;
        fprintf(file, "%s: ", *member_of(payload, TFY_P_LEVEL) ? member_of(payload, TFY_P_LEVEL) : "info");
    }
    fwrite(json_string_value(text), 1, json_string_length(text), file);
    fputc('\n', file);
}

void tfy__output_print(const TfyHistory *history, bool json)
{
    for (uint32_t i = 0; i < history->record_count; i++) {
        if (history->records[i].type != TFY_R_OUTPUT) continue;
        TfyPayload payload;
        tfy__payload_open(&payload, &history->records[i]);
        if (json)
            say_line(history, i, &payload);
        else
            say_text(&payload);
        tfy__payload_close(&payload);
    }
}

static int output(const TfyArgs *args, const TfyHistory *history, bool held)
{
    (void)held;
    tfy__db_say_base(history);
    tfy__output_print(history, args->option[OPT_JSON]);
    return EXIT_DONE;
}

int tfy__cmd_output(const TfyArgs *args)
{
    return tfy__db_with_history(args, output);
}
