/* people.c: who submits runs, sends mail, and answers what the database shows (cluster.h). */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "cluster.h"
#include "wal/history/history.h"

enum { TASKS_MAX = 512, SIGNALS_MAX = 40, SOON_MS = 6000 };

/* ---- sending ---- */

static void attempt(SimEvent *event);

static void try_again(Mail *mail)
{
    sim_plan_event(cluster_soon(400000), 0, attempt, mail, 0);
}

static void acknowledged(Mail *mail, int64_t n)
{
    const ClusterRun *run = &cluster.runs[mail->run];
    const TfySharedRun *row = tfy__shared_run(cluster.shared, run->id);
    if (n == TFY_E_STATE && row->row.state < TFY_TASK_COMPLETED)
        sim_broken("I4", "mail to %s is refused, and the run has not ended", run->workflow);
    if (n < 0 && n != TFY_E_STATE) sim_broken("I4", "mail to %s: %lld", run->workflow, (long long)n);
    mail->acked = true;
}

/* The request or its answer may get lost; then it is sent again, if it has an id. */
static void attempt(SimEvent *event)
{
    Mail *mail = event->arg;
    const ClusterRun *run = &cluster.runs[mail->run];
    if (cluster.away_ns > sim.now_ns || (mail->id[0] && cluster_chance(5))) {
        try_again(mail);
        return;
    }
    const TfyMail sent = {.run = run->id, .body = mail->body, .id = mail->id[0] ? mail->id : NULL, .sender = "sim"};
    const int64_t n = tfy__shared_send(cluster.shared, &sent);
    sim_trace("mail to %s: %s: %lld", run->workflow, mail->body, (long long)n);
    if (mail->n && mail->n != n)
        sim_broken("I8", "mail %lld to %s is sent again as %lld", (long long)mail->n, run->workflow, (long long)n);
    if (n > 0 && !mail->n) mail->sent_ns = sim.now_ns;
    if (n > 0) mail->n = n;
    if (mail->id[0] && cluster_chance(5))
        try_again(mail);
    else
        acknowledged(mail, n);
    if (mail->id[0] && cluster_chance(5)) sim_plan_event(cluster_soon(3000000), 0, attempt, mail, 0); /* once more */
}

static Mail *send(uint32_t run, const char *id, json_t *body)
{
    if (cluster.mail_count == CLUSTER_MAILS) {
        json_decref(body);
        return NULL;
    }
    Mail *mail = &cluster.mails[cluster.mail_count++];
    *mail = (Mail){.run = run, .body = json_dumps(body, JSON_COMPACT)};
    if (!mail->body) abort();
    snprintf(mail->id, sizeof mail->id, "%s", id);
    json_decref(body);
    sim_plan_event(cluster_soon(5000), 0, attempt, mail, 0);
    return mail;
}

bool people_done(void)
{
    for (uint32_t i = 0; i < cluster.mail_count; i++)
        if (!cluster.mails[i].acked) return false;
    return true;
}

static bool all_acknowledged(uint32_t run)
{
    for (uint32_t i = 0; i < cluster.mail_count; i++)
        if (cluster.mails[i].run == run && !cluster.mails[i].acked) return false;
    return true;
}

/* They are numbered, and the next one is sent when all before it are there: a run receives them in this order. */
static void send_signal(uint32_t index, const char *name, bool named)
{
    ClusterRun *run = &cluster.runs[index];
    char id[16] = "";
    if (run->signals == SIGNALS_MAX || !all_acknowledged(index)) return;
    run->signals++;
    if (named) snprintf(id, sizeof id, "s%u", run->signals);
    Mail *mail = send(index, id, json_pack("{s:s,s:s,s:i}", "do", "signal", "name", name, "value", (int)run->signals));
    if (mail) mail->signal = run->signals;
}

/* ---- what the database shows ---- */

/* The id of what is sent about a record: one that was refused is sent again under another. False: it is on its way. */
static bool next_id(const ClusterRun *run, const char *what, const TfyLogRecord *record, char id[100])
{
    const TfySharedRun *row = tfy__shared_run(cluster.shared, run->id);
    const uint32_t index = (uint32_t)(run - cluster.runs);
    for (int count = 0;; count++) {
        const TfyMail *known = NULL;
        snprintf(id, 100, "%s/%lld/%d", what, (long long)record->lsn, count);
        for (uint32_t i = 0; i < cluster.mail_count; i++)
            if (cluster.mails[i].run == index && strcmp(cluster.mails[i].id, id) == 0 && !cluster.mails[i].acked)
                return false;
        for (size_t i = 0; i < row->mails.count && !known; i++) {
            const TfyMail *mail = tfy__rows_at(&row->mails, i);
            if (mail->id && strcmp(mail->id, id) == 0) known = mail;
        }
        if (!known) return true;
        if (!known->verdict) return false;
        if (strcmp(known->verdict, TFY_VERDICT_TAKEN) == 0)
            sim_broken("I8", "%s: mail %lld was taken, and nothing of it is in the log", run->workflow,
                       (long long)known->n);
    }
}

/* It follows from the question, as in seed.c. */
static void answer_of(json_t *question, char answer[32])
{
    const char *text = json_string_value(json_object_get(question, "question"));
    json_t *type = json_object_get(question, "type");
    const char *word = json_string_value(type);
    if (json_is_array(type))
        snprintf(answer, 32, "%s", json_string_value(json_array_get(type, 0)));
    else if (word && strcmp(word, "bool") == 0)
        snprintf(answer, 32, "%s", XXH3_64bits(text, strlen(text)) & 1 ? "yes" : "no");
    else
        snprintf(answer, 32, "somebody");
}

static void answer(uint32_t run, const char *path, const TfyLogRecord *record, json_t *question)
{
    char id[100], text[32];
    if (!next_id(&cluster.runs[run], "answer", record, id)) return;
    answer_of(question, text);
    send(run, id,
         json_pack("{s:s,s:s,s:I,s:s}", "do", "approve", "task", path, "step", (json_int_t)record->step, "answer",
                   text));
}

/* By what the ledger knows. */
static void resolve(uint32_t run, const char *path, const TfyLogRecord *record)
{
    char id[100];
    SimEntry *entry = sim_entry_of_step(cluster.runs[run].uuid, path, record->step);
    const char *how = "retry";
    if (!next_id(&cluster.runs[run], "resolve", record, id)) return;
    json_t *body = json_pack("{s:s,s:s,s:I}", "do", "resolve", "task", path, "step", (json_int_t)record->step);
    if (entry && entry->happened) {
        how = entry->failed ? "fail" : "done";
        if (entry->value && !entry->failed)
            json_object_set_new(body, "value", json_loads(entry->value, JSON_DECODE_ANY, NULL));
    } else if (entry) {
        entry->allowed = entry->begun + 1;
    }
    json_object_set_new(body, "how", json_string(how));
    send(run, id, body);
}

static void look_at_task(uint32_t run, const char *path, const TfyLogRecord *newest)
{
    if (newest->type == TFY_R_IN_DOUBT) resolve(run, path, newest);
    if (newest->type != TFY_R_STEP_START) return;
    json_t *json = sim_record_json(newest);
    const char *tool = json_string_value(json_object_get(json, "tool"));
    if (json_object_get(json, "question"))
        answer(run, path, newest, json);
    else if (tool && strcmp(tool, "signal") == 0)
        send_signal(run, json_string_value(json_object_get(json, "name")), true);
    json_decref(json);
}

/* The newest record of each task says what it waits for. */
static void look_at(uint32_t index)
{
    const TfySharedRun *row = tfy__shared_run(cluster.shared, cluster.runs[index].id);
    const TfyLogRecord *newest[TASKS_MAX] = {NULL};
    for (size_t i = 0; i < row->records.count; i++) {
        const TfyLogRecord *record = tfy__rows_at(&row->records, i);
        if (record->tid < TASKS_MAX && !tfy__record_is_apart(record)) newest[record->tid] = record;
    }
    for (size_t i = 0; i < row->tasks.count; i++) {
        const TfyStoreTask *task = tfy__rows_at(&row->tasks, i);
        if (task->tid < TASKS_MAX && newest[task->tid]) look_at_task(index, task->path, newest[task->tid]);
    }
}

/* Without one of its tasks it may wait for ever. */
static void end_run(uint32_t index)
{
    for (uint32_t i = 0; i < cluster.mail_count; i++)
        if (cluster.mails[i].run == index && strcmp(cluster.mails[i].id, "end") == 0) return;
    if (all_acknowledged(index)) send(index, "end", json_pack("{s:s,s:b}", "do", "kill", "force", 1));
}

/* e6 */
static void check_soon(uint32_t index, const TfySharedRun *row)
{
    for (uint32_t i = 0; i < cluster.mail_count; i++) {
        const Mail *mail = &cluster.mails[i];
        if (mail->run != index || mail->n <= 0 || sim.now_ns - mail->sent_ns < SOON_MS * CLUSTER_MS) continue;
        if (!((TfyMail *)tfy__rows_at(&row->mails, (size_t)mail->n - 1))->verdict)
            sim_broken("e6", "%s: mail %lld has no verdict yet: %s", cluster.runs[index].workflow, (long long)mail->n,
                       mail->body);
    }
}

static void look(SimEvent *event)
{
    const uint32_t index = (uint32_t)event->number;
    const TfySharedRun *row = tfy__shared_run(cluster.shared, cluster.runs[index].id);
    if (row->row.state >= TFY_TASK_COMPLETED) return;
    if (cluster.calm) check_soon(index, row);
    if (cluster.away_ns <= sim.now_ns) look_at(index);
    if (cluster.runs[index].killed && !cluster_faulty()) end_run(index);
    sim_plan_event(cluster_soon(1500000), 0, look, NULL, index);
}

/* ---- uninvited ---- */

static void kill_task(uint32_t index)
{
    ClusterRun *run = &cluster.runs[index];
    const TfySharedRun *row = tfy__shared_run(cluster.shared, run->id);
    const TfyStoreTask *task = tfy__rows_at(&row->tasks, sim_below(&sim.chance, (uint32_t)row->tasks.count));
    run->killed = true;
    send(index, "",
         json_pack("{s:s,s:s,s:b}", "do", "kill", "task", task->path, "force", sim_percent(&sim.chance, 20)));
}

static void meddle(SimEvent *event)
{
    const uint32_t index = (uint32_t)event->number;
    if (!cluster.runs[index].id) return;
    switch (sim_below(&sim.chance, 8)) {
    case 0: kill_task(index); break;
    case 1: send(index, "", json_pack("{s:s}", "do", "dance")); break;
    case 2: send(index, "", json_pack("{s:s,s:s}", "do", "approve", "task", "1.99")); break;
    default: send_signal(index, "go", sim_percent(&sim.chance, 50)); break;
    }
}

/* ---- submitting ---- */

static int64_t submit_to(ClusterRun *run, uint8_t number)
{
    char birth[300];
    TfyLogRun row = {.uuid = {0x01, 0x9a, 0, 0, 0, 0, 0x70, 0, 0x80, [15] = number}, .root = 1, .program = 1};
    row.started_ms = SIM_WALL_MS + sim.now_ns / CLUSTER_MS;
    tfy__uuid_text(row.uuid, run->uuid);
    snprintf(birth, sizeof birth,
             "{\"run\":\"%s\",\"tid\":1,\"path\":\"1\",\"workflow\":\"%s\",\"args\":{},\"seed\":\"%016llx\","
             "\"fuel\":%d}",
             run->uuid, run->workflow, (unsigned long long)sim.plan.seed * 1000 + number, (int)TFY_FUEL_SLICE);
    return tfy__shared_submit(cluster.shared, &row, birth);
}

/* A run's uuid is its id: one that was not acknowledged is submitted again. */
static void submit(SimEvent *event)
{
    const uint32_t index = (uint32_t)event->number;
    ClusterRun *run = &cluster.runs[index];
    const bool arrives = cluster.away_ns <= sim.now_ns && !cluster_chance(5);
    const int64_t id = arrives ? submit_to(run, (uint8_t)(index + 1)) : 0;
    if (id < 0 || (run->id && id && id != run->id))
        sim_broken("I4", "%s is submitted as %lld, and was %lld", run->workflow, (long long)id, (long long)run->id);
    if (id && !run->id) sim_plan_event(cluster_soon(1500000), 0, look, NULL, index);
    if (id) run->id = id;
    sim_trace("submit %s as run %lld", run->workflow, (long long)id);
    if (!id || cluster_chance(5)) sim_plan_event(cluster_soon(400000), 0, submit, NULL, index);
}

void people_begin(void)
{
    const uint32_t quiet_us = (uint32_t)(cluster.quiet_ns / 1000);
    for (uint32_t i = 0; i < cluster.run_count; i++) {
        sim_plan_event(cluster_soon(quiet_us / 2), 0, submit, NULL, i);
        uint32_t meddlings = sim_percent(&sim.chance, 40) ? sim_below(&sim.chance, 5) : 0;
        while (meddlings--) sim_plan_event(cluster_soon(quiet_us), 0, meddle, NULL, i);
    }
}

/* ---- at the end ---- */

/* The value of a signal in the log; 0: it is none. */
static int64_t signal_of(const TfyLogRecord *record)
{
    if (!tfy__record_is_run_signal(record)) return 0;
    json_t *json = sim_record_json(record);
    const int64_t value = json_integer_value(json_object_get(json, "value"));
    json_decref(json);
    return value;
}

static const Mail *mail_of_signal(uint32_t run, int64_t value)
{
    for (uint32_t i = 0; i < cluster.mail_count; i++)
        if (cluster.mails[i].run == run && cluster.mails[i].signal == value) return &cluster.mails[i];
    return NULL;
}

/* I8: those that were taken are there, once each and in the order in which they were sent. */
static void check_signals(uint32_t index, const TfySharedRun *row)
{
    const ClusterRun *run = &cluster.runs[index];
    int64_t before = 0, there = 0, taken = 0;
    for (size_t i = 0; i < row->records.count; i++) {
        const int64_t value = signal_of(tfy__rows_at(&row->records, i));
        if (!value) continue;
        const Mail *mail = mail_of_signal(index, value);
        if (!mail || mail->n <= before)
            sim_broken("I8", "signal %lld of %s is twice in the log, or behind a later one", (long long)value,
                       run->workflow);
        before = mail->n;
        there++;
    }
    for (uint32_t i = 0; i < cluster.mail_count; i++) {
        const Mail *mail = &cluster.mails[i];
        if (mail->run != index || !mail->signal || mail->n <= 0) continue;
        const TfyMail *sent = tfy__rows_at(&row->mails, (size_t)mail->n - 1);
        taken += strcmp(sent->verdict, TFY_VERDICT_TAKEN) == 0;
    }
    if (there != taken)
        sim_broken("I8", "%s took %lld signals, and %lld are in the log", run->workflow, (long long)taken,
                   (long long)there);
}

void people_check(uint32_t index)
{
    const ClusterRun *run = &cluster.runs[index];
    const TfySharedRun *row = tfy__shared_run(cluster.shared, run->id);
    for (size_t i = 0; i < row->mails.count; i++)
        if (!((TfyMail *)tfy__rows_at(&row->mails, i))->verdict)
            sim_broken("I4", "%s: mail %zu has no verdict", run->workflow, i + 1);
    for (uint32_t i = 0; i < cluster.mail_count; i++) {
        const Mail *mail = &cluster.mails[i];
        if (mail->run != index || mail->n <= 0) continue;
        if ((size_t)mail->n > row->mails.count ||
            strcmp(((TfyMail *)tfy__rows_at(&row->mails, (size_t)mail->n - 1))->body, mail->body) != 0)
            sim_broken("I4", "%s: mail %lld was acknowledged and is another", run->workflow, (long long)mail->n);
    }
    check_signals(index, row);
}
