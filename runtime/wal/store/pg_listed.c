/* pg_listed.c: see pg_listed.h. */
#include "wal/store/pg_listed.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "wal/rows/payload.h"

void tfy__pg_listed_start(TfyPgListed *listed)
{
    *listed = (TfyPgListed){.cost = -1};
}

void tfy__pg_listed_free(TfyPgListed *listed)
{
    free(listed->program_name);
    free(listed->workflow);
    free(listed->by);
    free(listed->labels);
    free(listed->error);
    tfy__pg_listed_start(listed);
}

/* A text with an escaped half of a character is one that the database refuses. */
static void take_text(char **place, const TfyLogRecord *record, TfyMember member)
{
    char *text = tfy__record_text(record, member);
    if (text && tfy__utf8_broken(text, strlen(text)) < strlen(text)) {
        free(text);
        text = NULL;
    }
    if (!text) return;
    free(*place);
    *place = text;
}

/* Texts alone, which the reader of JSON has checked. */
static char *labels_of(const TfyLogRecord *record)
{
    size_t len = 0;
    const char *raw = tfy__record_raw(record, TFY_P_LABELS, &len), *name;
    json_t *labels = raw ? json_loadb(raw, len, 0, NULL) : NULL, *kept = json_object(), *value;
    json_object_foreach(labels, name, value)
    {
        if (json_is_string(value)) json_object_set(kept, name, value);
    }
    char *text = json_object_size(kept) ? json_dumps(kept, JSON_COMPACT) : NULL;
    json_decref(labels);
    json_decref(kept);
    return text;
}

void tfy__pg_listed_birth(TfyPgListed *listed, const TfyLogRecord *record)
{
    take_text(&listed->program_name, record, TFY_P_PROGRAM_NAME);
    take_text(&listed->workflow, record, TFY_P_WORKFLOW);
    take_text(&listed->by, record, TFY_P_BY);
    free(listed->labels);
    listed->labels = labels_of(record);
    listed->any = true;
}

static void add_spent(TfyPgListed *listed, const TfyLogRecord *record)
{
    const bool has_price = tfy__record_has(record, TFY_P_COST);
    listed->tokens_in += tfy__record_int(record, TFY_P_PROMPT_TOKENS);
    listed->tokens_out += tfy__record_int(record, TFY_P_COMPLETION_TOKENS);
    if (has_price && listed->cost < 0) listed->cost = 0;
    if (has_price) listed->cost += tfy__record_int(record, TFY_P_COST);
    listed->any = true;
}

static void add_end(TfyPgListed *listed, const TfyLogRecord *record)
{
    size_t len = 0;
    const char *error = tfy__record_raw(record, TFY_P_ERROR, &len);
    if (!error || len > TFY_PG_LISTED_MOST) return;
    free(listed->error);
    listed->error = strndup(error, len);
    listed->any = true;
}

void tfy__pg_listed_add(TfyPgListed *listed, const TfyLogRecord *record)
{
    switch (record->type) {
    case TFY_R_INSTRUCTION_START: tfy__pg_listed_birth(listed, record); break;
    case TFY_R_LLM_PLAN: add_spent(listed, record); break;
    case TFY_R_TASK_COMPLETE: add_end(listed, record); break;
    default: break;
    }
}

bool tfy__pg_asks(const TfyLogRecord *record)
{
    return record->type == TFY_R_STEP_START && tfy__record_has(record, TFY_P_QUESTION);
}

bool tfy__pg_answers(const TfyLogRecord *record)
{
    return (record->type == TFY_R_APPROVAL && !tfy__record_is_grant(record)) || record->type == TFY_R_RESOLVED;
}
