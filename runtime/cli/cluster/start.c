/* start.c: tfy start on PostgreSQL: the program says what the run's first record is, as if it ran here, and the run is put into
 * its queue, where a worker finds it.
 *
 * A start that is repeated with its --id is the same run, since the name makes the run's uuid, and the database has one run of a
 * uuid. Whether that one has the same arguments is compared behind the start, so there is no time between the two.
 *
 * With --many, each line of a file is the parameters of a run. So many lines at a time start together or not at all. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cluster/cluster.h"
#include "cli/cluster/program.h"
#include "cli/program/params.h"
#include "cli/program/result.h"
#include "core/served.h"
#include "tfy.h"
#include "wal/store/pg_submit.h"
#include "wal/history/history.h"
#include "wal/log/run_id.h"
#include "wal/rows/payload.h"

enum {
    WORD_BYTES = 256,
    TRIES = 5,
    TRY_MS = 200,
    POLL_MS = 300,
    TOGETHER = 1000,
    PRIORITY_MOST = 1000000,
    AFTER_MOST = 1000
};

/* A start on its way. */
typedef struct Start {
    const TfyArgs *args;
    char program_name[WORD_BYTES]; /* "shop" of shop.order */
    json_t *labels;                /* owned; an object */
    TfyCluster *cluster;           /* owned */
    TfyShared *shared;             /* owned */
    int64_t program;               /* its row */
    const TfyWorkflow *workflow;
    TfyPgSubmitter *submitter; /* owned */
    TfyLoop *loop;             /* owned; without a log: it says what it would record */
    TfyPgBegin begin;
    int64_t after[AFTER_MOST]; /* of begin */
    TfyBirth birth;            /* the payload is owned */
    char run[37];              /* its uuid */
    bool known;                /* it was there before */
} Start;

/* ---- what is to start ---- */

static int add_label(json_t *labels, const char *given)
{
    const char *equal = strchr(given, '=');
    char name[TFY_LABEL_NAME_MOST + 1] = "";
    if (equal && equal - given < (int)sizeof name) snprintf(name, sizeof name, "%.*s", (int)(equal - given), given);
    if (!tfy__label_name_fits(name))
        return tfy__fail(EXIT_USAGE, "--label takes NAME=VALUE, with 1 to %d of a-z, 0-9, '_', '.' and '-', not '%s'",
                         TFY_LABEL_NAME_MOST, given);
    if (strncmp(name, "tfy.", 4) == 0)
        return tfy__fail(EXIT_USAGE, "labels that start with 'tfy.' are Tiffany's own, so not '%s'", given);
    json_t *value = strlen(equal + 1) <= TFY_LABEL_MOST ? json_string(equal + 1) : NULL;
    if (!value)
        return tfy__fail(EXIT_USAGE, "the label '%s' is not a text of at most %d bytes in UTF-8", name, TFY_LABEL_MOST);
    return json_object_set_new(labels, name, value) == 0 ? EXIT_DONE : tfy__fail(EXIT_BUG, "memory ran out");
}

static int read_labels(Start *start)
{
    const TfyArgs *args = start->args;
    int status = (start->labels = json_object()) ? EXIT_DONE : tfy__fail(EXIT_BUG, "memory ran out");
    for (int i = 0; i < args->given_count && status == EXIT_DONE; i++)
        if (args->given[i].option == OPT_LABEL) status = add_label(start->labels, args->given[i].value);
    if (status == EXIT_DONE && json_object_size(start->labels) > TFY_LABELS_MOST)
        return tfy__fail(EXIT_USAGE, "a run has %d labels at most", TFY_LABELS_MOST);
    return status;
}

/* PROGRAM, or PROGRAM.WORKFLOW; *workflow: NULL: none is named. */
static int read_words(Start *start, const char **workflow)
{
    const char *word = start->args->words[0], *dot = strchr(word, '.');
    const int len = dot ? (int)(dot - word) : (int)strlen(word);
    *workflow = dot ? dot + 1 : NULL;
    const bool fits = snprintf(start->program_name, WORD_BYTES, "%.*s", len, word) < WORD_BYTES;
    if (dot && strcmp(dot, ".tfy") == 0)
        return tfy__fail(EXIT_USAGE, "start takes the name of a deployed program, not its file: tfy start %.*s", len,
                         word);
    if (fits && tfy__program_name_fits(start->program_name) && (!dot || dot[1])) return EXIT_DONE;
    return tfy__fail(EXIT_USAGE,
                     "start takes the name of a deployed program, and of its workflow if it has several, such as shop "
                     "or shop.order, not '%s'",
                     word);
}

static int read_priority(Start *start)
{
    const char *text = start->args->option[OPT_PRIORITY];
    char *end = NULL;
    if (!text) return EXIT_DONE;
    start->begin.priority = strtoll(text, &end, 10);
    if (end != text && !*end && llabs(start->begin.priority) <= PRIORITY_MOST) return EXIT_DONE;
    return tfy__fail(EXIT_USAGE, "--priority takes a whole number from -%d to %d, not '%s'", PRIORITY_MOST,
                     PRIORITY_MOST, text);
}

static int check_many(const TfyArgs *args)
{
    if (!args->option[OPT_MANY]) return EXIT_DONE;
    if (args->option[OPT_START_WAIT]) return tfy__fail(EXIT_USAGE, "--wait waits for one run, so not with --many");
    if (args->param_count) return tfy__fail(EXIT_USAGE, "with --many, the file has the parameters of each run");
    return EXIT_DONE;
}

static int check_options(const TfyArgs *args)
{
    const char *id = args->option[OPT_RUN_ID], *pool = args->option[OPT_POOL];
    if (id && !tfy__run_name_fits(id))
        return tfy__fail(EXIT_USAGE, "--id takes 1 to %d visible ASCII characters", TFY_RUN_NAME_MAX);
    if (pool && !tfy__program_name_fits(pool))
        return tfy__fail(EXIT_USAGE, "%s, so '%.80s' cannot be one", TFY_POOL_NAME_RULE, pool);
    const char *tenant = args->option[OPT_TENANT];
    if (tenant && !tfy__program_name_fits(tenant))
        return tfy__fail(EXIT_USAGE, "%s, so '%.80s' cannot be one", TFY_TENANT_NAME_RULE, tenant);
    return check_many(args);
}

static int find_workflow(Start *start, const char *name)
{
    char how[WORD_BYTES + 40];
    int status = tfy__program_deployed(start->cluster, start->program_name, &start->shared, &start->program);
    if (status != EXIT_DONE) return status;
    snprintf(how, sizeof how, "name one as in %s.WORKFLOW", start->program_name);
    start->workflow = tfy__choose_workflow(tfy_shared_program(start->shared), name, how);
    return start->workflow ? EXIT_DONE : EXIT_USAGE;
}

/* ---- its first record ---- */

static void put_facts(void *arg, TfyBuffer *members)
{
    const Start *start = arg;
    char user[256];
    tfy__user_name(getuid(), user, sizeof user);
    tfy__put_text(members, TFY_P_BY, user);
    if (json_object_size(start->labels)) tfy__put_tree(members, TFY_P_LABELS, start->labels);
    tfy__put_text(members, TFY_P_PROGRAM_NAME, start->program_name);
}

static int refuse_params(const Start *start)
{
    char words[2 * WORD_BYTES];
    snprintf(words, sizeof words, "tfy start %s.%s", start->program_name, start->workflow->name);
    tfy__params_usage(start->args->command, words, tfy_shared_program(start->shared), start->workflow, stderr);
    return EXIT_USAGE;
}

/* The loop says what it would record of a run with these parameters, an object of JSON, and this name. A code with a message. */
static int make_birth(Start *start, const char *params, const char *id, TfyBirth *birth, char *error)
{
    const TfyProgram *program = tfy_shared_program(start->shared);
    const TfyStart how = {.id = id, .facts = put_facts, .arg = start, .run = start->run, .birth = birth};
    int code = start->loop ? TFY_OK : tfy_open(&start->loop, program, &(TfyOptions){.quiet = true}, error);
    if (code == TFY_OK)
        code = tfy__submit_start(start->loop, program, start->workflow->name, params, &how, NULL, error);
    birth->row.program = start->program;
    birth->row.root = 1; /* the loop counts tasks over all runs, the database in each run */
    return code;
}

static int ask_loop(Start *start, const char *params)
{
    char error[TFY_ERROR_TEXT] = "";
    const int code = make_birth(start, params, start->args->option[OPT_RUN_ID], &start->birth, error);
    if (code == TFY_OK) return EXIT_DONE;
    const bool param = code == TFY_E_INVALID && strncmp(error, "$.", 2) == 0; /* the decoder names it by its path */
    tfy__say("%s%s", param ? "--" : "", param ? error + 2 : error);
    return code == TFY_E_INVALID ? refuse_params(start) : tfy__exit_status(code);
}

static int prepare(Start *start)
{
    TfyBuffer params = {0};
    int status;
    if (!tfy__params_json(start->workflow, start->args, &params))
        status = refuse_params(start);
    else if (params.failed)
        status = tfy__fail(EXIT_BUG, "memory ran out");
    else
        status = ask_loop(start, params.data);
    tfy__buffer_free(&params);
    return status;
}

/* ---- submitting ---- */

/* Runs are known by their uuids, so it does no harm to do it again. What the answer to an earlier try would have said is known then,
 * too. */
static int64_t submit(Start *start, TfyPgSubmit *runs, uint32_t count)
{
    TfyCluster *cluster = start->cluster;
    const char *pool = start->args->option[OPT_POOL] ? start->args->option[OPT_POOL] : "default";
    int64_t code = TFY_STORE_UNKNOWN;
    bool unknown = false;
    start->begin.tenant = start->args->option[OPT_TENANT];
    for (int i = 0; i < TRIES && (code == TFY_STORE_UNKNOWN || code == TFY_STORE_AWAY); i++) {
        if (i) poll(NULL, 0, TRY_MS);
        code = cluster->ops->queue(cluster, pool, start->program);
        const bool queue = code > 0;
        start->begin.queue = code;
        if (queue) code = tfy__pg_submit(start->submitter, &start->begin, runs, count);
        if (queue && code)
            snprintf(cluster->error, sizeof cluster->error, "%s", tfy__pg_submitter_error(start->submitter));
        unknown |= code == TFY_STORE_UNKNOWN;
    }
    if (code == 0) cluster->ops->notify(cluster, runs[0].row.id); /* all of them are in one queue */
    return unknown && code < 0 ? TFY_STORE_UNKNOWN : code;
}

static int open_submitter(Start *start)
{
    char error[TFY_ERROR_TEXT] = "";
    const int code = tfy__pg_submitter_open(&start->submitter, tfy__db_path(start->args), error);
    return code == 0 ? EXIT_DONE : tfy__fail(tfy__exit_status(code), "%s", error);
}

/* A tenant that has too many ready runs has room later. */
static int submit_failed(const Start *start, int64_t code)
{
    return code == TFY_E_FULL ? tfy__fail(EXIT_WAITING, "%s", start->cluster->error)
                              : tfy__cluster_failed(start->cluster, code);
}

static int put(Start *start)
{
    TfyPgSubmit run = {.row = start->birth.row, .birth = start->birth.payload.data};
    const int64_t code = submit(start, &run, 1);
    start->known = run.known;
    if (code == 0) return EXIT_DONE;
    if (code == TFY_STORE_UNKNOWN)
        tfy__say("the answer got lost, and run %s may have started; with --id NAME a start can be repeated",
                 start->run);
    return submit_failed(start, code);
}

/* ---- what becomes of it ---- */

static int open_log(const Start *start, TfyLog **log)
{
    char error[TFY_ERROR_TEXT] = "";
    const int code = tfy__shared_log_open(tfy__db_path(start->args), log, error);
    return code == 0 ? EXIT_DONE : tfy__fail(tfy__exit_status(code), "%s", error);
}

/* The runs of --after. */
static int find_after(Start *start)
{
    const TfyArgs *args = start->args;
    char error[TFY_ERROR_TEXT] = "";
    TfyLog *log = NULL;
    TfyLogRun row;
    int status = EXIT_DONE, code = 0;
    start->begin.after = start->after;
    for (int i = 0; i < args->given_count && status == EXIT_DONE; i++) {
        if (args->given[i].option != OPT_START_AFTER) continue;
        if (start->begin.after_count == AFTER_MOST)
            return tfy__fail(EXIT_USAGE, "a run begins after %d others at most", AFTER_MOST);
        if (!log) status = open_log(start, &log);
        if (status == EXIT_DONE) code = tfy__history_find(log, args->given[i].value, &row, error);
        if (code) status = tfy__fail(tfy__exit_status(code), "%s", error);
        if (status == EXIT_DONE) start->after[start->begin.after_count++] = row.id;
    }
    if (log) tfy__log_close(log, false);
    return status;
}

static bool same_args(const char *a, const char *b)
{
    size_t a_len = 0, b_len = 0;
    const TfyLogRecord records[] = {tfy__record_of_payload(a), tfy__record_of_payload(b)};
    const char *a_raw = tfy__record_raw(&records[0], TFY_P_ARGS, &a_len),
               *b_raw = tfy__record_raw(&records[1], TFY_P_ARGS, &b_len);
    return a_raw && b_raw && a_len == b_len && memcmp(a_raw, b_raw, a_len) == 0;
}

/* The run of that name may be there since before. */
static int check_same(const Start *start, const TfyBirth *birth, const char *run)
{
    TfyLog *log;
    TfyLogRun row;
    TfyLogOutline outline = {0};
    int status = open_log(start, &log);
    if (status != EXIT_DONE) return status;
    int code = tfy__log_find_run(log, birth->row.uuid, &row);
    if (!code) code = tfy__log_outline(log, &row, &outline);
    if (code)
        status = tfy__fail(EXIT_LOG, "run %s cannot be read, so whether it has these arguments is not known", run);
    else if (!same_args(outline.birth, birth->payload.data))
        status =
            tfy__fail(EXIT_DATA, "run %s has that name and other arguments; 'tfy inspect %s' shows them", run, run);
    tfy__log_outline_free(&outline);
    tfy__log_close(log, false);
    return status;
}

/* Waits while the database is away, too. */
static int await_end(const Start *start)
{
    TfyLog *log;
    TfyLogRun row = {.state = TFY_TASK_READY};
    int code = 0, status = open_log(start, &log);
    if (status != EXIT_DONE) return status;
    tfy__say("run %s", start->run);
    do {
        code = tfy__log_find_run(log, start->birth.row.uuid, &row);
        if (code == 0 && row.state >= TFY_TASK_COMPLETED) break;
        poll(NULL, 0, POLL_MS);
    } while (code == 0 || code == TFY_STORE_AWAY);
    status = code == 0 ? tfy__result_of(log, start->run) : tfy__fail(EXIT_LOG, "run %s cannot be read", start->run);
    tfy__log_close(log, false);
    return status;
}

static int report(const Start *start)
{
    if (start->args->option[OPT_RUN_ID] && start->known) {
        const int status = check_same(start, &start->birth, start->run);
        if (status != EXIT_DONE) return status;
    }
    if (start->args->option[OPT_START_WAIT]) return await_end(start);
    puts(start->run);
    return tfy__flush_stdout(EXIT_DONE);
}

/* ---- many ---- */

/* Lines that start together. */
typedef struct Batch {
    TfyBirth births[TOGETHER]; /* payloads are owned */
    char ids[TOGETHER][37];
    uint32_t count;
    uint64_t first, line; /* line numbers: of the first one, and of the one that was read last */
    uint64_t started;     /* runs of the lines before these */
} Batch;

static int refuse_line(const Batch *batch, int status, const char *error)
{
    if (batch->started)
        return tfy__fail(status, "line %llu: %s; the %llu runs of the lines before line %llu have started",
                         (unsigned long long)batch->line, error, (unsigned long long)batch->started,
                         (unsigned long long)batch->first);
    return tfy__fail(status, "line %llu: %s; no run has started", (unsigned long long)batch->line, error);
}

static int add_line(Start *start, Batch *batch, const char *text)
{
    char error[TFY_ERROR_TEXT] = "", name[TFY_RUN_NAME_MAX + 32];
    const char *prefix = start->args->option[OPT_RUN_ID];
    TfyBirth *birth = &batch->births[batch->count];
    if (!batch->count) batch->first = batch->line;
    snprintf(name, sizeof name, "%s.%llu", prefix ? prefix : "", (unsigned long long)batch->line);
    if (prefix && !tfy__run_name_fits(name))
        return refuse_line(batch, EXIT_USAGE, "its name, --id and its number, is too long");
    tfy__buffer_free(&birth->payload);
    const int code = make_birth(start, text, prefix ? name : NULL, birth, error);
    if (code) return refuse_line(batch, code == TFY_E_INVALID ? EXIT_DATA : tfy__exit_status(code), error);
    memcpy(batch->ids[batch->count++], start->run, sizeof start->run);
    return EXIT_DONE;
}

static int put_batch(Start *start, Batch *batch)
{
    static TfyPgSubmit runs[TOGETHER];
    for (uint32_t i = 0; i < batch->count; i++)
        runs[i] = (TfyPgSubmit){.row = batch->births[i].row, .birth = batch->births[i].payload.data};
    const int64_t code = batch->count ? submit(start, runs, batch->count) : 0;
    if (code == TFY_STORE_UNKNOWN)
        tfy__say(
            "the answer got lost, and the runs of lines %llu to %llu may have started; with --id NAME a start can be "
            "repeated",
            (unsigned long long)batch->first, (unsigned long long)batch->line);
    int status = code == 0 ? EXIT_DONE : submit_failed(start, code);
    for (uint32_t i = 0; i < batch->count && status == EXIT_DONE; i++) {
        if (runs[i].known && start->args->option[OPT_RUN_ID])
            status = check_same(start, &batch->births[i], batch->ids[i]);
        if (status == EXIT_DONE) puts(batch->ids[i]);
    }
    batch->started += batch->count;
    batch->count = 0;
    return tfy__flush_stdout(status);
}

static int put_lines(Start *start, Batch *batch, FILE *file)
{
    char *text = NULL;
    size_t room = 0;
    int status = EXIT_DONE;
    while (status == EXIT_DONE && getline(&text, &room, file) >= 0) {
        batch->line++;
        if (text[strspn(text, " \t\r\n")]) status = add_line(start, batch, text);
        if (status == EXIT_DONE && batch->count == TOGETHER) status = put_batch(start, batch);
    }
    free(text);
    if (status == EXIT_DONE && ferror(file)) status = refuse_line(batch, EXIT_DATA, strerror(errno));
    return status == EXIT_DONE ? put_batch(start, batch) : status;
}

static int start_many(Start *start)
{
    const char *path = start->args->option[OPT_MANY];
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (!file) return tfy__fail(EXIT_MISSING, "%s: %s", path, strerror(errno));
    Batch *batch = calloc(1, sizeof *batch);
    const int status = batch ? put_lines(start, batch, file) : tfy__fail(EXIT_BUG, "memory ran out");
    for (int i = 0; batch && i < TOGETHER; i++) tfy__buffer_free(&batch->births[i].payload);
    free(batch);
    if (file != stdin) fclose(file);
    return status;
}

static int start_one(Start *start)
{
    int status = prepare(start);
    if (status == EXIT_DONE) status = put(start);
    return status == EXIT_DONE ? report(start) : status;
}

int tfy__cluster_start(const TfyArgs *args)
{
    Start start = {.args = args};
    const char *workflow;
    int status = check_options(args);
    if (status == EXIT_DONE) status = read_words(&start, &workflow);
    if (status == EXIT_DONE) status = read_priority(&start);
    if (status == EXIT_DONE) status = read_labels(&start);
    if (status == EXIT_DONE) status = tfy__db_cluster(args, &start.cluster);
    if (status == EXIT_DONE) status = find_workflow(&start, workflow);
    if (status == EXIT_DONE) status = find_after(&start);
    if (status == EXIT_DONE) status = open_submitter(&start);
    if (status == EXIT_DONE) status = args->option[OPT_MANY] ? start_many(&start) : start_one(&start);
    if (start.loop) tfy_close(start.loop);
    tfy__pg_submitter_close(start.submitter);
    tfy__buffer_free(&start.birth.payload);
    tfy_shared_close(start.shared);
    if (start.cluster) start.cluster->ops->close(start.cluster);
    json_decref(start.labels);
    return status;
}
