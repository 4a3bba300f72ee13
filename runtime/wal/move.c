#include "move.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tfy.h"
#include "compat.h"

static int adapt_part(TfyHistory *history, uint32_t from, uint32_t to, const char *old, const char *new)
{
    TfyCompat *compat;
    if (from == to || strcmp(old, new) == 0) return 0;
    const int code = tfy__compat_new(old, new, &compat);
    for (uint32_t i = from; !code && i < to; i++)
        history->records[i].point = tfy__compat_number(compat, history->records[i].point);
    tfy__compat_free(compat);
    return code;
}

static void forget_moves(TfyHistory *history)
{
    while (history->move_count) free(history->moves[--history->move_count].layout);
    free(history->moves);
    history->moves = NULL;
}

int tfy__history_adapt(TfyHistory *history, const char *layout)
{
    uint32_t from = 0;
    if (!history->move_count && strcmp(history->program_layout, layout) == 0) return 0;
    char *own = strdup(layout);
    int code = own ? 0 : TFY_E_NOMEM;
    for (uint32_t i = 0; !code && i < history->move_count; i++) {
        code = adapt_part(history, from, history->moves[i].index, history->moves[i].layout, layout);
        from = history->moves[i].index;
    }
    if (!code) code = adapt_part(history, from, history->record_count, history->program_layout, layout);
    if (code) {
        free(own);
        return code;
    }
    forget_moves(history);
    free(history->program_layout);
    history->program_layout = own;
    return 0;
}

const char *tfy__history_layout(const TfyHistory *history, uint32_t index)
{
    for (uint32_t i = 0; i < history->move_count; i++)
        if (index < history->moves[i].index) return history->moves[i].layout;
    return history->program_layout;
}

int64_t tfy__history_program(const TfyHistory *history, uint32_t index)
{
    for (uint32_t i = 0; i < history->move_count; i++)
        if (index < history->moves[i].index) return history->moves[i].program;
    return history->run.program;
}

static void hash_text(const uint8_t hash[16], char out[33])
{
    for (int i = 0; i < 16; i++) sprintf(out + 2 * i, "%02x", hash[i]);
}

int tfy__move_write(TfyLog *log, TfyHistory *history, const TfyMoveTarget *to)
{
    char from_hash[33], to_hash[33], text[128];
    TfyLogTask *root = history->tasks;
    while (root->tid != history->run.root) root++;
    const int64_t program = tfy__log_program(log, to->hash, to->tfyc, to->source, to->layout);
    if (program < 0) return (int)program;
    hash_text(history->program_hash, from_hash);
    hash_text(to->hash, to_hash);
    const int len = snprintf(text, sizeof text, "{\"from\":\"%s\",\"to\":\"%s\"}", from_hash, to_hash);
    const int64_t lsn = tfy__log_append(log, root, TFY_R_MOVED, root->step, 0, text, (size_t)len);
    if (lsn < 0) return (int)lsn;
    history->run.program = program;
    history->run.moved_lsn = lsn;
    const int code = tfy__log_end_run(log, &history->run); /* its row is written anew; it has not ended */
    tfy__log_forget_task(log, root);
    return code ? code : tfy__log_sync(log);
}
