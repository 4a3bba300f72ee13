/* ceiling.c: how far a run's tools may go (TfyCeiling). A run records with what it started. What a resume is given takes
 * the place of it, is recorded, too, and holds for the resumes that follow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/loop/state.h"
#include "core/step/budget.h"

const char *tfy__sandbox_level_option(TfyLoop *loop)
{
    return loop->options.sandbox_level;
}

TfyCeiling tfy__ceiling_option(TfyLoop *loop)
{
    const TfyOptions *options = &loop->options;
    return (TfyCeiling){.sandbox = options->sandbox,
                        .network = options->network,
                        .grants = options->grants,
                        .budget = options->budget,
                        .runners = options->runners};
}

/* The loop's options, and what they leave open. */
static TfyCeiling options_or(TfyLoop *loop, const TfyCeiling *other)
{
    TfyCeiling ceiling = tfy__ceiling_option(loop);
    if (!ceiling.sandbox) ceiling.sandbox = other->sandbox;
    if (!ceiling.network) ceiling.network = other->network;
    if (!ceiling.grants) ceiling.grants = other->grants;
    if (!ceiling.budget) ceiling.budget = other->budget;
    ceiling.runners |= other->runners;
    ceiling.granted = other->granted;
    return ceiling;
}

TfyCeiling tfy__ceiling(TfyTask *task)
{
    return options_or(task->loop, &rest_of(task)->run->ceiling);
}

void tfy__ceiling_free(Run *run)
{
    const char *const texts[] = {run->ceiling.sandbox, run->ceiling.network, run->ceiling.grants,
                                 run->ceiling.granted, run->ceiling.level,   run->ceiling.budget};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free((char *)(uintptr_t)texts[i]);
    run->ceiling = (TfyCeiling){.sandbox = NULL};
    tfy__budget_leave(&run->budget);
}

static bool copy_text(const char **place, const char *text)
{
    *place = text ? tfy__sys_strdup(text) : NULL;
    return *place || !text;
}

bool tfy__ceiling_begin(Run *run, const TfyCeiling *given)
{
    const TfyCeiling now = given ? options_or(run->loop, given) : tfy__ceiling_option(run->loop);
    run->ceiling.runners = now.runners;
    run->yolo = run->loop->options.approve_all;
    return copy_text(&run->ceiling.sandbox, now.sandbox) && copy_text(&run->ceiling.network, now.network) &&
           copy_text(&run->ceiling.grants, now.grants) && copy_text(&run->ceiling.budget, now.budget) &&
           copy_text(&run->ceiling.level, run->loop->cell_level);
}

bool tfy__ceiling_grant(Run *run, const char *grant)
{
    const char *before = run->ceiling.granted;
    char *all = tfy__sys_printf("%s%s%s", before ? before : "", before ? "\n" : "", grant);
    if (!all) return false;
    free((char *)(uintptr_t)before);
    run->ceiling.granted = all;
    return true;
}

static bool pass_options(Run *run, const TfyLogRecord *record)
{
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const bool fine = tfy__ceiling_read(run, tfy__payload_get(&payload, TFY_P_CEILING));
    run->yolo |= tfy__payload_flag(&payload, TFY_P_YOLO);
    tfy__payload_close(&payload);
    return fine;
}

bool tfy__ceiling_pass(Run *run, const TfyLogRecord *record)
{
    if (tfy__record_is_options(record)) return pass_options(run, record);
    if (!tfy__record_is_grant(record) || !tfy__record_is(record, TFY_P_ANSWER, "this run")) return true;
    char *grant = tfy__record_text(record, TFY_P_GRANT);
    const bool fine = grant && tfy__ceiling_grant(run, grant);
    free(grant);
    return fine;
}

void tfy__ceiling_write(const Run *run, TfyBuffer *out, TfyMember member)
{
    const TfyCeiling *began = &run->ceiling;
    if (!began->sandbox && !began->network && !began->grants && !began->granted && !began->level && !began->budget &&
        !began->runners)
        return;
    tfy__put(out, member);
    tfy__put_begin(out);
    if (began->sandbox) tfy__put_text(out, TFY_P_SANDBOX, began->sandbox);
    if (began->network) tfy__put_text(out, TFY_P_NETWORK, began->network);
    if (began->grants) tfy__put_text(out, TFY_P_GRANTS, began->grants);
    if (began->budget) tfy__put_text(out, TFY_P_BUDGET, began->budget);
    tfy__put_true(out, TFY_P_RUNNERS, began->runners);
    if (began->granted) tfy__put_text(out, TFY_P_GRANTED, began->granted);
    if (began->level) tfy__put_text(out, TFY_P_LEVEL, began->level);
    tfy__put_end(out);
}

/* A run that has been behind all walls does not go on behind fewer because it woke up on another machine. */
static int check_level(const Run *run, char *error_text)
{
    const char *began = run->ceiling.level, *now = run->loop->cell_level;
    if (!began || !now || strcmp(began, "full") != 0 || strcmp(now, "full") == 0 || run->loop->options.sandbox_level)
        return TFY_OK;
    snprintf(error_text, TFY_ERROR_TEXT,
             "run %s began with a full sandbox, and here it is only partial; tfy doctor --sandbox says why, "
             "--sandbox-level partial continues with it",
             run->uuid);
    return TFY_E_ABSENT;
}

/* The option is refused beside --yolo, and so is a run that began with it. */
static int check_open(const Run *run, char *error_text)
{
    const TfyLoop *loop = run->loop;
    const char *began = run->ceiling.sandbox;
    if (!loop->keep_sandboxes || loop->options.sandbox || !began || strcmp(began, "open") != 0) return TFY_OK;
    snprintf(error_text, TFY_ERROR_TEXT,
             "run %s began with --sandbox open, where --yolo is refused; --sandbox workspace "
             "continues it in sandboxes",
             run->uuid);
    return TFY_E_INVALID;
}

bool tfy__ceiling_read(Run *run, const json_t *json)
{
    TfyCeiling *held = &run->ceiling;
    tfy__ceiling_free(run);
    held->runners = tfy__member_flag(json, TFY_P_RUNNERS);
    return copy_text(&held->sandbox, tfy__member_text(json, TFY_P_SANDBOX)) &&
           copy_text(&held->network, tfy__member_text(json, TFY_P_NETWORK)) &&
           copy_text(&held->grants, tfy__member_text(json, TFY_P_GRANTS)) &&
           copy_text(&held->budget, tfy__member_text(json, TFY_P_BUDGET)) &&
           copy_text(&held->granted, tfy__member_text(json, TFY_P_GRANTED)) &&
           copy_text(&held->level, tfy__member_text(json, TFY_P_LEVEL));
}

int tfy__ceiling_check(const Run *run, char *error_text)
{
    if (run->loop->replay_only) return TFY_OK;
    const int code = check_open(run, error_text);
    return code == TFY_OK ? check_level(run, error_text) : code;
}

/* ---- what a resume is given ---- */

/* False: no memory. */
static bool replace(const char **held, const char *given, bool *news)
{
    if (!given || (*held && strcmp(*held, given) == 0)) return true;
    free((char *)(uintptr_t)*held);
    *news = true;
    return copy_text(held, given);
}

/* The level is what this machine can build: it is news only if a person said which one is wanted. */
static bool take_options(Run *run, bool *news)
{
    const TfyOptions *options = &run->loop->options;
    const TfyCeiling now = tfy__ceiling_option(run->loop);
    TfyCeiling *held = &run->ceiling;
    *news = (now.runners && !held->runners) || (options->approve_all && !run->yolo);
    held->runners |= now.runners;
    run->yolo |= options->approve_all;
    return replace(&held->sandbox, now.sandbox, news) && replace(&held->network, now.network, news) &&
           replace(&held->grants, now.grants, news) && replace(&held->budget, now.budget, news) &&
           replace(&held->level, options->sandbox_level ? run->loop->cell_level : NULL, news);
}

int tfy__ceiling_resume(Run *run)
{
    bool news;
    TfyBuffer out = {0};
    if (!take_options(run, &news)) return TFY_E_NOMEM;
    if (!news) return TFY_OK;
    tfy__put_begin(&out);
    tfy__ceiling_write(run, &out, TFY_P_CEILING);
    tfy__put_true(&out, TFY_P_YOLO, run->yolo);
    tfy__put_end(&out);
    const TfyTicket ticket = tfy__run_note(run, TFY_R_MOVED, &out);
    tfy__buffer_free(&out);
    if (ticket < 0) return (int)ticket;
    run->log.options_lsn = run->root->log.head;
    return tfy__log_change_run(run->loop->log, &run->log);
}

void tfy__keep_sandboxes(TfyLoop *loop)
{
    loop->keep_sandboxes = true;
}

void tfy__set_cell_level(TfyLoop *loop, const char *level)
{
    loop->cell_level = level;
}
