/* pg_link.c: see pg_link.h. */
#include "wal/store/pg_link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/grow.h"
#include "base/steady.h"
#include "wal/store/pg_roles.h"

enum { PAUSE_FIRST_MS = 50, PAUSE_MOST_MS = 2000, SERVER_LEAST = 150000 };

/* $1: for the transaction alone, where a connection does not hold it. A stronger synchronous_commit is left as it is.
 *
 * Every statement finds its rows by an index, for each row that it is given. A plan that reads a whole table instead can look
 * better while the tables are small or their statistics old, and a prepared statement may keep it for long. */
static const char settings[] =
    "SELECT set_config('lock_timeout', '5s', $1),"
    " set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') = 'remote_apply'"
    " THEN 'remote_apply' ELSE 'on' END, $1),"
    " set_config('enable_seqscan', 'off', $1), set_config('enable_hashjoin', 'off', $1),"
    " set_config('enable_mergejoin', 'off', $1), set_config('jit', 'off', $1)";
static const char get_meta[] =
    "SELECT format, reads_from, db, lease_ms, to_jsonb(m)->>'roles' FROM tfy.meta m WHERE id = 1";

/* libpq's messages are lines, some of them indented; here they are one. */
static int fail(TfyPgLink *link, int code, const char *what, const char *why)
{
    const size_t most = sizeof link->error - 1;
    size_t at = (size_t)snprintf(link->error, sizeof link->error, "%s", what);
    if (at > most) at = most;
    while (*why && at < most) {
        const size_t blanks = strspn(why, "\n\t ");
        if (!memchr(why, '\n', blanks)) {
            link->error[at++] = *why == '\t' ? ' ' : *why;
            why++;
            continue;
        }
        why += blanks;
        if (*why && at + 2 <= most) {
            link->error[at++] = ';';
            link->error[at++] = ' ';
        }
    }
    link->error[at] = '\0';
    return code;
}

void tfy__pg_link_drop(TfyPgLink *link)
{
    if (!link->conn) return;
    link->lost_pid = link->api->backendPID(link->conn);
    link->api->finish(link->conn);
    link->conn = NULL;
    link->queued = 0;
    link->listens = PG_LISTENS_NOT;
}

/* The connection cannot be used any more; `why`: NULL: libpq knows. */
static int lose(TfyPgLink *link, int code, const char *why)
{
    if (!link->conn) return code;
    fail(link, code, "", why ? why : link->api->errorMessage(link->conn));
    link->state[0] = '\0';
    tfy__pg_link_drop(link);
    return code;
}

void tfy__pg_link_free(TfyPgLink *link)
{
    tfy__pg_link_drop(link);
    free(link->sent);
    link->sent = NULL;
}

/* ---- what an error means ---- */

static bool is_class(const char *state, const char *class)
{
    return strncmp(state, class, 2) == 0;
}

static bool is_one_of(const char *state, const char *list)
{
    return strlen(state) == 5 && strstr(list, state);
}

static int meaning(const char *state)
{
    if (is_one_of(state, "40001 40P01 55P03")) return TFY_PG_AGAIN;
    if (is_class(state, "53")) return TFY_STORE_FULL;
    if (is_one_of(state, "25006 57014")) return TFY_STORE_AWAY;
    if (is_class(state, "22") || is_class(state, "23") || is_class(state, "54") || is_class(state, "21"))
        return TFY_E_DATA;
    if (is_one_of(state, "XX001 XX002 42501")) return TFY_E_DATA;
    if (is_class(state, "42") || is_class(state, "3F") || is_class(state, "0A")) return TFY_E_STATE;
    return TFY_E_IO;
}

/* The connection ends with this error, so nobody knows what the server has done. */
static bool is_end(const char *state, const char *severity)
{
    return is_class(state, "08") || strncmp(state, "57P", 3) == 0 || strcmp(severity, "FATAL") == 0 ||
           strcmp(severity, "PANIC") == 0;
}

static const char *field(const TfyPgLink *link, const TfyPgResult *result, int which)
{
    const char *text = link->api->resultErrorField(result, which);
    return text ? text : "";
}

static TfyPgRole needed(const TfyPgLink *link, int number)
{
    const TfyPgRole needs = link->sent[number].needs ? link->sent[number].needs : link->needs;
    return needs ? needs : TFY_PG_READER;
}

/* The message names what somebody has to be granted. */
static void deny(TfyPgLink *link, int number, const char *message)
{
    const char *who = link->api->parameterStatus(link->conn, "session_authorization");
    const char *prefix = link->prefix[0] ? link->prefix : "tfy";
    const char *role = tfy__pg_role_name(needed(link, number));
    char what[260];
    snprintf(what, sizeof what, "role %.60s may not %s; 'GRANT %s_%s TO \"%.60s\"' allows it: ", who ? who : "?",
             link->sent[number].what, prefix, role, who ? who : "?");
    fail(link, 0, what, message);
}

/* Reads an error; the connection may be gone afterwards. */
static int take_error(TfyPgLink *link, const TfyPgResult *result, int number)
{
    const char *table = field(link, result, TFY_PG_TABLE);
    const char *state = field(link, result, TFY_PG_STATE);
    char what[200];
    if (!*state) return lose(link, TFY_STORE_UNKNOWN, NULL);
    snprintf(what, sizeof what, "the database refuses to %s%s%s (%.5s): ", link->sent[number].what,
             *table ? ", table " : "", table, state);
    fail(link, 0, what, field(link, result, TFY_PG_MESSAGE));
    if (strcmp(state, "42501") == 0) deny(link, number, field(link, result, TFY_PG_MESSAGE));
    snprintf(link->state, sizeof link->state, "%s", state);
    link->failed_at = number;
    if (!is_end(state, field(link, result, TFY_PG_SEVERITY))) return meaning(state);
    tfy__pg_link_drop(link);
    return TFY_STORE_UNKNOWN;
}

static void take_notice(void *state, const TfyPgResult *notice)
{
    TfyPgLink *link = state;
    if (strcmp(field(link, notice, TFY_PG_SEVERITY), "WARNING") != 0) return;
    link->warned = true;
    fail(link, 0, "the database warns: ", field(link, notice, TFY_PG_MESSAGE));
}

/* ---- sending and reading ---- */

void tfy__pg_ask(const TfyPgLink *link, TfyPgAsk *ask, int statement)
{
    CHECK(statement >= 0 && statement < link->statement_count);
    tfy__pg_ask_text(ask, link->statements[statement].text, link->statements[statement].what);
    const bool prepared = !link->address->unprepared && !link->statements[statement].planned_anew;
    ask->prepared = prepared ? statement : -1;
    ask->needs = link->statements[statement].needs;
}

void tfy__pg_ask_text(TfyPgAsk *ask, const char *text, const char *what)
{
    ask->text = text;
    ask->what = what;
    ask->needs = TFY_PG_ANYBODY;
    ask->prepared = -1;
    ask->count = 0;
}

static void name_statement(int statement, char name[16])
{
    snprintf(name, 16, "tfy%d", statement);
}

/* Makes the connection ready for one more statement of the next sending. */
static int add_queued(TfyPgLink *link, const char *what, TfyPgRole needs)
{
    if (!link->conn) return TFY_STORE_AWAY;
    if (!GROW(link->sent, link->room, link->queued + 1, 32)) return lose(link, TFY_E_NOMEM, "memory ran out");
    if (!link->queued && !link->api->enterPipelineMode(link->conn)) return lose(link, TFY_STORE_AWAY, NULL);
    link->sent[link->queued++] = (TfyPgQueued){what, needs};
    return 0;
}

int tfy__pg_queue(TfyPgLink *link, const TfyPgAsk *ask)
{
    static const int binary[TFY_PG_PARAMETERS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                  1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                  1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    char name[16];
    int code = add_queued(link, ask->what, ask->needs), sent;
    if (code) return code;
    name_statement(ask->prepared, name);
    if (ask->prepared >= 0)
        sent = link->api->sendQueryPrepared(link->conn, name, ask->count, ask->values, ask->lengths, binary, 1);
    else
        sent = link->api->sendQueryParams(link->conn, ask->text, ask->count, ask->types, ask->values, ask->lengths,
                                          binary, 1);
    return sent ? 0 : lose(link, TFY_STORE_AWAY, NULL);
}

int tfy__pg_queue_text(TfyPgLink *link, const char *text, const char *what)
{
    TfyPgAsk ask;
    tfy__pg_ask_text(&ask, text, what);
    return tfy__pg_queue(link, &ask);
}

int tfy__pg_queue_commit(TfyPgLink *link)
{
    const int code = tfy__pg_queue_text(link, "COMMIT", "commit");
    return code == TFY_STORE_AWAY ? TFY_STORE_UNKNOWN : code;
}

static int queue_settings(TfyPgLink *link, bool local)
{
    TfyPgAsk ask;
    tfy__pg_ask_text(&ask, settings, "set up a transaction");
    tfy__pg_ask_bytes(&ask, local ? "\1" : "\0", 1, 0);
    return tfy__pg_queue(link, &ask);
}

int tfy__pg_queue_begin(TfyPgLink *link, const char *begin)
{
    const int code = tfy__pg_queue_text(link, begin, "begin a transaction");
    return code || !link->address->unprepared ? code : queue_settings(link, true);
}

/* Waits until an answer is there. While the server still takes what is sent to it, the patience begins anew. False: the
 * connection is lost, or the patience has ended (*late). */
static bool wait_answer(const TfyPgLink *link, int64_t *until_ms, bool *late)
{
    for (;;) {
        const int left = link->api->flush(link->conn);
        if (left < 0) return false;
        if (!link->api->isBusy(link->conn)) return true;
        const int64_t rest_ms = *until_ms - tfy__steady_ms();
        struct pollfd on = {.fd = link->api->socket(link->conn), .events = (short)(POLLIN | (left ? POLLOUT : 0))};
        if (rest_ms <= 0) return *late = true, false;
        if (on.fd < 0 || (poll(&on, 1, (int)rest_ms) < 0 && errno != EINTR)) return false;
        if (on.revents & POLLOUT) *until_ms = tfy__steady_ms() + link->patience_ms;
        if (on.revents & (POLLIN | POLLERR | POLLHUP) && !link->api->consumeInput(link->conn)) {
            /* What had arrived before the end is still to be read. */
            if (link->api->isBusy(link->conn)) return false;
            return true;
        }
    }
}

/* The next answer, which may be NULL: behind the answers to each statement. False: the connection is gone. */
static bool next_answer(TfyPgLink *link, int64_t *until_ms, TfyPgResult **result)
{
    bool late = false;
    if (!link->conn) return false;
    if (!wait_answer(link, until_ms, &late)) {
        lose(link, 0, late ? "the database did not answer in time" : NULL);
        return false;
    }
    *result = link->api->getResult(link->conn);
    return true;
}

/* Reads the answer to one statement. */
static int take_answer(TfyPgLink *link, int number, TfyPgResult *result, TfyPgSee *see, void *state)
{
    bool kept = false;
    int code = 0;
    switch (link->api->resultStatus(result)) {
    case TFY_PG_DONE:
    case TFY_PG_ROWS:
        if (see) code = see(state, number, result, &kept);
        break;
    case TFY_PG_SKIPPED: break;
    default: code = take_error(link, result, number);
    }
    if (!kept) link->api->clear(result);
    return code;
}

/* The first error of what was sent together. */
typedef struct First {
    int code; /* 0: there was none */
    char state[TFY_PG_STATE_BYTES], error[sizeof((TfyPgLink *)NULL)->error];
} First;

static void note_first(const TfyPgLink *link, First *first, int code)
{
    if (first->code || !code) return;
    first->code = code;
    memcpy(first->state, link->state, sizeof first->state);
    memcpy(first->error, link->error, sizeof first->error);
}

static void recall_first(TfyPgLink *link, const First *first)
{
    memcpy(link->state, first->state, sizeof first->state);
    memcpy(link->error, first->error, sizeof first->error);
}

/* An error before says that the transaction did not happen, and is what is said of it. */
static int lost_in_answers(TfyPgLink *link, const First *first)
{
    lose(link, 0, "the database's answer cannot be read");
    if (!first->code) return TFY_STORE_UNKNOWN;
    recall_first(link, first);
    return first->code;
}

static int take_answers(TfyPgLink *link, TfyPgSee *see, void *state)
{
    int64_t until_ms = tfy__steady_ms() + link->patience_ms;
    const int count = link->queued;
    TfyPgResult *result = NULL;
    First first = {0};
    for (int i = 0; i < count; i++) {
        if (!next_answer(link, &until_ms, &result)) return lost_in_answers(link, &first);
        if (!result) return lost_in_answers(link, &first);
        note_first(link, &first, take_answer(link, i, result, first.code ? NULL : see, state));
        if (!link->conn) return lost_in_answers(link, &first);
        if (!next_answer(link, &until_ms, &result)) return lost_in_answers(link, &first);
        if (!result) continue;
        link->api->clear(result);
        return lost_in_answers(link, &first);
    }
    if (!next_answer(link, &until_ms, &result) || !result) return lost_in_answers(link, &first);
    const bool in_step = link->api->resultStatus(result) == TFY_PG_SYNC;
    link->api->clear(result);
    if (!in_step || !link->api->exitPipelineMode(link->conn)) return lost_in_answers(link, &first);
    link->queued = 0;
    return first.code;
}

static int send_queued(TfyPgLink *link, TfyPgSee *see, void *state)
{
    CHECK(link->queued > 0);
    link->warned = false;
    link->failed_at = -1;
    /* Even now closing the connection sends what was queued. */
    if (!link->api->pipelineSync(link->conn)) return lose(link, TFY_STORE_UNKNOWN, NULL);
    return take_answers(link, see, state);
}

int tfy__pg_sync(TfyPgLink *link, TfyPgSee *see, void *state)
{
    if (!link->conn) return TFY_STORE_AWAY;
    const int code = send_queued(link, see, state);
    if (!link->conn) return code;
    const int status = link->api->transactionStatus(link->conn);
    if (status == TFY_PG_IDLE || status == TFY_PG_IN_TRANSACTION) return code;
    /* A failed transaction stays open until it is rolled back. */
    const int failed_at = link->failed_at;
    First kept = {0};
    note_first(link, &kept, code);
    int rolled = tfy__pg_queue_text(link, "ROLLBACK", "roll back");
    if (!rolled) rolled = send_queued(link, NULL, NULL);
    if (rolled) tfy__pg_link_drop(link);
    if (code) recall_first(link, &kept);
    link->failed_at = failed_at;
    return code;
}

void tfy__pg_unqueue(TfyPgLink *link)
{
    if (link->queued) tfy__pg_link_drop(link);
}

typedef struct One {
    TfyPgResult *result;
} One;

static int keep(void *state, int number, TfyPgResult *result, bool *kept)
{
    (void)number;
    ((One *)state)->result = result;
    *kept = true;
    return 0;
}

int tfy__pg_one(TfyPgLink *link, const TfyPgAsk *ask, TfyPgResult **result)
{
    One one = {0};
    int code = tfy__pg_queue(link, ask);
    if (!code) code = tfy__pg_sync(link, keep, &one);
    if (code && one.result) link->api->clear(one.result);
    *result = code ? NULL : one.result;
    return code;
}

bool tfy__pg_in_transaction(const TfyPgLink *link)
{
    return link->conn && link->api->transactionStatus(link->conn) == TFY_PG_IN_TRANSACTION;
}

/* ---- connecting ---- */

static int check_server(TfyPgLink *link)
{
    char text[40];
    const int version = link->api->serverVersion(link->conn);
    const char *encoding = link->api->parameterStatus(link->conn, "server_encoding");
    snprintf(text, sizeof text, "%d.%d", version / 10000, version % 10000);
    if (version < SERVER_LEAST) return fail(link, TFY_E_STATE, "PostgreSQL 15 or newer is needed; this is ", text);
    if (!encoding || strcmp(encoding, "UTF8") != 0)
        return fail(link, TFY_E_STATE, "the database's encoding has to be UTF8; it is ", encoding ? encoding : "?");
    return 0;
}

typedef struct Opening {
    TfyPgLink *link;
    int meta; /* the number of that statement; -1: it was not asked */
} Opening;

static int take_meta(TfyPgLink *link, TfyPgResult *result)
{
    const TfyPgApi *api = link->api;
    uint8_t db[16];
    if (api->ntuples(result) != 1 || !tfy__pg_id(api, result, 0, 2, db))
        return fail(link, TFY_E_DATA, "table tfy.meta", " has no row; restore the database, or make it anew");
    const int64_t format = tfy__pg_word(api, result, 0, 0), reads_from = tfy__pg_word(api, result, 0, 1);
    char text[80];
    snprintf(text, sizeof text, "%lld; this is a program for format %d", (long long)format, TFY_PG_FORMAT);
    if (reads_from > TFY_PG_FORMAT && !link->newer)
        return fail(link, TFY_E_DATA, "the database's tables have format ", text);
    if (format < TFY_PG_FORMAT)
        return fail(link, TFY_E_DATA, "run `tfy db upgrade`: the database's tables have format ", text);
    if (link->known && memcmp(db, link->db, sizeof db) != 0)
        return fail(link, TFY_E_STATE, "another database", " answers under the same address");
    memcpy(link->db, db, sizeof db);
    link->lease_ms = tfy__pg_word(api, result, 0, 3);
    link->known = true;
    snprintf(link->prefix, sizeof link->prefix, "%s", api->getisnull(result, 0, 4) ? "" : api->getvalue(result, 0, 4));
    return 0;
}

static int see_opening(void *state, int number, TfyPgResult *result, bool *kept)
{
    const Opening *opening = state;
    (void)kept;
    return number == opening->meta ? take_meta(opening->link, result) : 0;
}

static int prepare(TfyPgLink *link, int statement)
{
    char name[16];
    const TfyPgStatement *it = &link->statements[statement];
    const int code = add_queued(link, it->what, it->needs);
    if (code) return code;
    name_statement(statement, name);
    const bool sent = link->api->sendPrepare(link->conn, name, it->text, 0, NULL);
    return sent ? 0 : lose(link, TFY_STORE_AWAY, NULL);
}

/* The settings, the check of the tables and the statements, in one round trip. */
static int set_up(TfyPgLink *link)
{
    Opening opening = {.link = link, .meta = -1};
    const bool holds = !link->address->unprepared;
    int code = check_server(link);
    if (!code && holds) code = queue_settings(link, false);
    if (!code && !link->bare) {
        opening.meta = link->queued;
        code = tfy__pg_queue_text(link, get_meta, "read table tfy.meta");
    }
    for (int i = 0; !code && holds && i < link->statement_count; i++)
        if (!link->statements[i].planned_anew) code = prepare(link, i);
    if (code || !link->queued) return code;
    code = tfy__pg_sync(link, see_opening, &opening);
    const bool missing = is_one_of(link->state, "42P01 3F000") && link->failed_at == opening.meta;
    if (code == TFY_E_STATE && missing)
        return fail(link, TFY_E_ABSENT, "the database has no tables of Tiffany",
                    "; run `tfy db create` with its address");
    return code;
}

/* The server's last words come before its end. */
bool tfy__pg_link_lives(TfyPgLink *link)
{
    if (!link->conn) return false;
    for (int i = 0; i < 4; i++) {
        struct pollfd on = {.fd = link->api->socket(link->conn), .events = POLLIN};
        if (on.fd >= 0 && poll(&on, 1, 0) == 0) return true;
        if (on.fd < 0 || !link->api->consumeInput(link->conn)) break;
        link->api->isBusy(link->conn); /* takes what it says */
    }
    if (link->api->status(link->conn) == TFY_PG_CONNECTED) return true;
    lose(link, 0, NULL);
    return false;
}

static void wait_longer(TfyPgLink *link)
{
    const int64_t now_ms = tfy__steady_ms();
    link->pause_ms = link->pause_ms ? link->pause_ms * 2 : PAUSE_FIRST_MS;
    if (link->pause_ms > PAUSE_MOST_MS) link->pause_ms = PAUSE_MOST_MS;
    /* Not all at once: what differs from process to process is when they find out. */
    link->again_ms =
        now_ms + link->pause_ms / 2 + (int64_t)((uint64_t)now_ms * 2654435761 % ((uint64_t)link->pause_ms / 2 + 1));
}

static int connect_now(TfyPgLink *link)
{
    const TfyPgApi *api = link->api;
    link->state[0] = '\0';
    link->conn = api->connectdbParams((const char *const *)link->address->keywords,
                                      (const char *const *)link->address->values, 0);
    if (!link->conn) return fail(link, TFY_STORE_AWAY, "no memory for a connection", "");
    if (api->status(link->conn) != TFY_PG_CONNECTED || api->setnonblocking(link->conn, 1) != 0) {
        const int lost = link->lost_pid; /* there was none behind this one */
        lose(link, 0, NULL);
        link->lost_pid = lost;
        return TFY_STORE_AWAY;
    }
    api->setNoticeReceiver(link->conn, take_notice, link);
    const int lost = link->lost_pid;
    int code = set_up(link);
    if (code && link->conn) tfy__pg_link_drop(link);
    if (code == TFY_STORE_UNKNOWN || code == TFY_PG_AGAIN) code = TFY_STORE_AWAY;
    link->lost_pid = lost;
    return code;
}

int tfy__pg_link_open(TfyPgLink *link)
{
    CHECK(!link->queued);
    if (tfy__pg_link_lives(link)) return 0;
    if (tfy__steady_ms() < link->again_ms) return TFY_STORE_AWAY;
    const int code = connect_now(link);
    if (code)
        wait_longer(link);
    else
        link->pause_ms = link->again_ms = 0;
    return code;
}

int tfy__pg_reach(TfyPgLink *link, TfyPgAddress *address, const char *text, int64_t patience_ms, char *error_text)
{
    *address = (TfyPgAddress){0};
    *link = (TfyPgLink){.address = address, .patience_ms = patience_ms};
    const int code = tfy__pg_api(&link->api, error_text);
    return code ? code : tfy__pg_address_read(address, link->api, text, "tfy", error_text);
}

void tfy__pg_leave(TfyPgLink *link, TfyPgAddress *address)
{
    if (link->api) tfy__pg_link_free(link);
    tfy__pg_address_free(address);
}

int tfy__pg_link_first(TfyPgLink *link, char *error_text)
{
    const int code = tfy__pg_link_open(link);
    if (!code) return 0;
    tfy__log_refuse(error_text, code, "%.200s: %.290s", link->address->text, link->error);
    return code <= TFY_STORE_FULL ? TFY_E_IO : code;
}

int tfy__pg_end_lost(TfyPgLink *link)
{
    const char *name = NULL;
    TfyPgResult *result;
    TfyPgAsk ask;
    for (int i = 0; i < link->address->count; i++)
        if (strcmp(link->address->keywords[i], "application_name") == 0) name = link->address->values[i];
    if (!link->lost_pid || !name) return 0;
    tfy__pg_ask_text(&ask,
                     "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND application_name = $2",
                     "end a lost connection");
    tfy__pg_ask_half(&ask, link->lost_pid);
    tfy__pg_ask_bytes(&ask, name, strlen(name), TFY_PG_TEXT);
    const int code = tfy__pg_one(link, &ask, &result);
    if (result) link->api->clear(result);
    if (!code) link->lost_pid = 0;
    return code;
}
