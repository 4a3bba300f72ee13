/* watch.c: what must hold of a shared database (cluster.h): after each event, as far as its rows show it, and of all histories at the end. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "wal/history/history.h"

enum { CLOCKS_MS = 3100 /* between two wall clocks */, CLAIM_MS = 4000 };

/* ---- what changes ---- */

int64_t cluster_fence(const ClusterRun *run, int64_t session)
{
    for (int64_t claims = run->claims; claims > 0; claims--)
        if (run->sessions[claims] == session) return claims;
    sim_broken("I2", "session %lld works on a run that it never claimed", (long long)session);
}

ClusterRun *cluster_run_of(const char *uuid)
{
    for (uint32_t i = 0; i < cluster.run_count; i++)
        if (strcmp(cluster.runs[i].uuid, uuid) == 0) return &cluster.runs[i];
    sim_broken("I4", "run %s was never submitted", uuid);
}

static bool works_for_former(const ClusterRun *run)
{
    for (const Life *life = cluster.lives; life; life = life->next)
        if (life->works && &cluster.runs[life->run] == run && life->fence < run->claims) return true;
    return false;
}

/* A new owner. */
static void look_claim(ClusterRun *run, const TfySharedRun *row)
{
    if (row->claims == run->claims) {
        if (row->owner && row->owner != run->owner)
            sim_broken("I1", "%s goes to session %lld unclaimed", run->workflow, (long long)row->owner);
        run->owner = row->owner;
        return;
    }
    if (row->claims != run->claims + 1 || row->claims >= CLUSTER_CLAIMS)
        sim_broken("I1", "%s had %lld owners, and now %lld", run->workflow, (long long)run->claims,
                   (long long)row->claims);
    if (tfy__shared_session(cluster.shared, row->owner)->state != TFY_SESSION_LIVES)
        sim_broken("I6", "session %lld has ended, and claims %s", (long long)row->owner, run->workflow);
    run->claims = row->claims;
    run->owner = row->owner;
    run->sessions[run->claims] = row->owner;
    sim.deaths_done += run->claims > 1;
    if (works_for_former(run))
        sim_broken("I2", "%s is claimed by session %lld while a tool of its former owner works", run->workflow,
                   (long long)row->owner);
}

static void look_claimed(ClusterRun *run, const TfyLogRecord *record)
{
    if (tfy__record_int(record, TFY_P_SESSION) != run->owner || tfy__record_int(record, TFY_P_CLAIMS) != run->claims)
        sim_broken("I1", "record %lld of %s, by session %lld, says %s", (long long)record->lsn, run->workflow,
                   (long long)run->owner, record->payload);
    if (run->stretch == run->claims) sim_broken("I1", "%s has a second Claimed of its owner", run->workflow);
    run->stretch = run->claims;
}

/* New records are of the session that owned the run before they came. */
static void look_records(ClusterRun *run, const TfySharedRun *row)
{
    for (; run->records < row->records.count; run->records++) {
        const TfyLogRecord *record = tfy__rows_at(&row->records, run->records);
        sim_trace("run %lld, record %lld: task %lld, step %lld, %s %.120s", (long long)run->id, (long long)record->lsn,
                  (long long)record->tid, (long long)record->step, tfy__record_type_name(record->type),
                  record->payload);
        if (run->records == 0) continue; /* the sender's */
        if (!run->owner)
            sim_broken("I1", "%s of %s is written by nobody", tfy__record_type_name(record->type), run->workflow);
        if (record->lsn != (int64_t)run->records + 1 || record->run != run->id)
            sim_broken("I1", "record %zu of %s has number %lld", run->records + 1, run->workflow,
                       (long long)record->lsn);
        if (record->type == TFY_R_CLAIMED)
            look_claimed(run, record);
        else if (run->stretch != run->claims)
            sim_broken("I1", "%s of %s comes before the Claimed of its owner", tfy__record_type_name(record->type),
                       run->workflow);
    }
}

/* I7 */
static void look_mail(const ClusterRun *run, const TfySharedRun *row)
{
    const bool ended = row->row.state >= TFY_TASK_COMPLETED;
    if (row->owner) return;
    for (size_t i = 0; i < row->mails.count; i++) {
        const TfyMail *mail = tfy__rows_at(&row->mails, i);
        if (!mail->verdict && (ended || row->due_ms))
            sim_broken("I7", "%s: mail %lld lies with a run that is nobody's, and due at %lld", run->workflow,
                       (long long)mail->n, (long long)row->due_ms);
    }
}

/* I6 */
static void look_sessions(void)
{
    for (size_t i = 0; i < cluster.shared->sessions.filled; i++) {
        const TfySharedSession *session = tfy__rows_at(&cluster.shared->sessions, i);
        int64_t *beat = &cluster.beats[i];
        if (i >= sizeof cluster.beats / sizeof *cluster.beats) sim_broken("e1", "there are too many sessions");
        if (*beat && (session->state == TFY_SESSION_LIVES || session->beat != *beat - 1))
            sim_broken("I6", "session %lld had ended with %lld commits, and has %lld", (long long)session->id,
                       (long long)*beat - 1, (long long)session->beat);
        if (session->state != TFY_SESSION_LIVES) *beat = session->beat + 1;
    }
}

void cluster_look(void)
{
    for (uint32_t i = 0; i < cluster.run_count; i++) {
        ClusterRun *run = &cluster.runs[i];
        const TfySharedRun *row = run->id ? tfy__shared_run(cluster.shared, run->id) : NULL;
        if (!row) continue;
        look_records(run, row);
        look_claim(run, row);
        look_mail(run, row);
        if (row->owner && row->row.state >= TFY_TASK_COMPLETED)
            sim_broken("I1", "%s has ended and has an owner", run->workflow);
    }
    look_sessions();
}

/* ---- at the end ---- */

static int64_t reader_ms(void *state)
{
    (void)state;
    return SIM_WALL_MS + sim.now_ns / CLUSTER_MS;
}

static TfyLog *open_reader(void)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyLogOptions options = {.lease_ms = cluster.lease_ms, .wall_ms = reader_ms, .by_hand_ms = reader_ms};
    TfyLog *log;
    options.session = tfy__shared_open_session(cluster.shared, cluster.lease_ms);
    if (tfy__shared_join(cluster.shared, &options.store) < 0 || tfy__log_open(&log, &options, error) < 0)
        sim_broken("I4", "the database does not open in the end: %s", error);
    return log;
}

/* I4: the ledger gave what is recorded. */
static void check_results(const ClusterRun *run, const TfyHistory *history)
{
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->type != TFY_R_TOOL_RESULT) continue;
        const char *path = history->tasks[history->record_tasks[i]].path;
        const SimEntry *entry = sim_entry_of_step(run->uuid, path, record->step);
        if (!entry || entry->own_key) continue;
        json_t *json = sim_record_json(record), *value = json_object_get(json, "value");
        json_t *given = entry->value ? json_loads(entry->value, JSON_DECODE_ANY, NULL) : NULL;
        if (value && given && !json_equal(value, given))
            sim_broken("I4", "%s has a result that it never gave: %s", entry->key, record->payload);
        if (value && given && !entry->happened) sim_broken("I4", "%s has a result, and never happened", entry->key);
        json_decref(given);
        json_decref(json);
    }
}

/* d2: strikes out what this history has printed. */
static void strike_lines(const TfyHistory *history)
{
    for (uint32_t i = 0; i < history->record_count; i++) {
        const TfyLogRecord *record = &history->records[i];
        if (record->type != TFY_R_OUTPUT) continue;
        json_t *json = sim_record_json(record);
        const char *text = json_string_value(json_object_get(json, "text"));
        uint32_t at = 0;
        while (at < sim.line_count && !(sim.lines[at].text && strncmp(sim.lines[at].text, text, strlen(text)) == 0 &&
                                        sim.lines[at].len == strlen(text) + 1))
            at++;
        if (at < sim.line_count) sim.lines[at].text = NULL;
        json_decref(json);
    }
}

static void check_run(uint32_t index, TfyLog *log)
{
    ClusterRun *run = &cluster.runs[index];
    char error[TFY_ERROR_TEXT] = "";
    TfyHistory *history;
    if (!sim_history(log, run->uuid, &history, error)) sim_broken("I4", "%s is lost: %s", run->workflow, error);
    const int state = history->run.state;
    sim_check_history(history, run->uuid);
    check_results(run, history);
    strike_lines(history);
    people_check(index);
    if (cluster.calm) sim_check_timers(run->workflow, history, &(SimLate){CLOCKS_MS, CLOCKS_MS + CLAIM_MS});
    sim_check_ends(run->workflow, history);
    char *told = sim_told(history, state);
    sim_trace("%s: %s", run->workflow, told);
    if (run->expect && !run->killed && strcmp(run->expect, told) != 0)
        sim_broken("e2", "%s came to something else: undisturbed\n%sdisturbed\n%s", run->workflow, run->expect, told);
    free(told);
    tfy__history_free(history);
}

void cluster_check_end(void)
{
    TfyLog *log = open_reader();
    cluster_look();
    for (uint32_t i = 0; i < cluster.run_count; i++) check_run(i, log);
    for (uint32_t i = 0; i < sim.line_count; i++)
        if (sim.lines[i].text) sim_broken("d2", "a line was shown, and is in no log: %s", sim.lines[i].text);
    tfy__log_close(log, false);
}
