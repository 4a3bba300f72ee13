/* host.c: the host's thread: letters, the runs that turns wait for, and the ends of turns. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/look/event.h"
#include "serve/clock.h"
#include "serve/mcp/sessions.h"
#include "serve/mcp/turn.h"

enum {
    LOOK_MS = 1000,
    BEAT_MS = 15000, /* a client that waits hears something at least so often */
    PAGE = 2000,
};

typedef struct TfyMcpLetter {
    struct TfyMcpLetter *next;
    void (*call)(TfyMcpHost *host, void *arg);
    void *arg;
    bool alone; /* it is freed when it is read; otherwise it is part of its argument */
} TfyMcpLetter;

/* The offers of a version of a program. */
typedef struct TfyMcpKnown {
    struct TfyMcpKnown *next;
    const TfyServed *served;
    TfyMcpOffers *offers; /* owned */
} TfyMcpKnown;

typedef struct TfyMcpIdle {
    void (*call)(void *arg);
    void *arg;
    int64_t until_ms;
} TfyMcpIdle;

/* ---- letters ---- */

/* False: nobody reads letters any more. */
static bool send_letter(TfyMcpHost *host, TfyMcpLetter *letter)
{
    pthread_mutex_lock(&host->mutex);
    const bool read = !host->ended;
    if (read) LIST_APPEND(&host->letters, letter, next);
    pthread_cond_signal(&host->more);
    pthread_mutex_unlock(&host->mutex);
    return read;
}

bool tfy__mcp_host_post(TfyMcpHost *host, void (*call)(TfyMcpHost *host, void *arg), void *arg)
{
    TfyMcpLetter *letter = malloc(sizeof *letter);
    if (!letter) return false;
    *letter = (TfyMcpLetter){.call = call, .arg = arg, .alone = true};
    if (send_letter(host, letter)) return true;
    free(letter);
    return false;
}

void tfy__mcp_host_wake(TfyMcpHost *host)
{
    if (!host) return;
    pthread_mutex_lock(&host->mutex);
    host->woken = true;
    pthread_cond_signal(&host->more);
    pthread_mutex_unlock(&host->mutex);
}

/* ---- what clients say ---- */

typedef struct Heard {
    TfyMcpPeer *peer;
    TfyMcpAnswer *answer;
    TfyBuffer text;
} Heard;

static void hear(TfyMcpHost *host, void *arg)
{
    Heard *heard = arg;
    TfyMcpMessage message;
    tfy__mcp_read(heard->text.data ? heard->text.data : "", heard->text.len, &message);
    tfy__buffer_free(&heard->text);
    tfy__mcp_spoken(host, heard->peer, &message, heard->answer);
    free(heard);
}

bool tfy__mcp_hear(TfyMcpHost *host, TfyMcpPeer *peer, TfyBuffer *text, TfyMcpAnswer *answer)
{
    Heard *heard = malloc(sizeof *heard);
    if (!heard) return false;
    *heard = (Heard){peer, answer, *text};
    if (!tfy__mcp_host_post(host, hear, heard)) {
        free(heard);
        return false;
    }
    *text = (TfyBuffer){0};
    return true;
}

TfyMcpPeer *tfy__mcp_peer_new(const TfyCaller *caller)
{
    TfyMcpPeer *peer = calloc(1, sizeof *peer);
    if (!peer) return NULL;
    peer->caller = *caller;
    peer->users = 1;
    return peer;
}

void tfy__peer_keep(TfyMcpPeer *peer)
{
    peer->users++;
}

void tfy__mcp_peer_free(TfyMcpPeer *peer)
{
    if (!peer || --peer->users) return;
    json_decref(peer->subscribed);
    free(peer);
}

/* ---- requests of a turn ---- */

typedef struct Asking {
    TfyMcpLetter letter; /* made beforehand: an answer always arrives */
    TfyMcpTurn *turn;
    TfyMcpThen *then;
    TfyRequest *request;
} Asking;

static void free_turn(TfyMcpTurn *turn)
{
    if (turn->answer || turn->away) return;
    LIST2_REMOVE(&turn->host->turns, turn, prev, next);
    tfy__puts_free(turn);
    tfy__mcp_message_free(&turn->message);
    json_decref(turn->replies);
    json_decref(turn->listens);
    json_decref(turn->changed);
    free(turn->address);
    json_decref(turn->run_json);
    tfy__mcp_peer_free(turn->peer);
    free(turn);
}

static void answered(TfyMcpHost *host, void *arg)
{
    Asking *asking = arg;
    TfyMcpTurn *turn = asking->turn;
    if (turn->answer) asking->then(turn, asking->request);
    tfy__request_free(asking->request);
    free(asking);
    turn->away--;
    free_turn(turn);
}

static void on_answer(void *arg, TfyRequest *request)
{
    Asking *asking = arg;
    asking->request = request;
    CHECK(send_letter(asking->turn->host, &asking->letter)); /* the host ends when all have arrived */
}

void tfy__turn_ask(TfyMcpTurn *turn, const TfyInside *what, TfyMcpThen *then)
{
    Asking *asking = calloc(1, sizeof *asking);
    TfyInside inside = *what;
    if (asking) {
        *asking = (Asking){.letter = {.call = answered, .arg = asking}, .turn = turn, .then = then};
        inside.caller = &turn->peer->caller;
        inside.done = on_answer;
        inside.arg = asking;
        turn->away++;
        if (tfy__inside_ask(turn->host->server, &inside)) return;
        turn->away--;
    } else {
        json_decref(inside.body);
    }
    free(asking);
    tfy__turn_refuse(turn, &(TfyMcpRefusal){TFY_MCP_INTERNAL, 500, NULL, "memory ran out"});
}

json_t *tfy__turn_heard(const TfyRequest *request)
{
    if (request->problem.kind || !request->answer.len) return NULL;
    return json_loadb(request->answer.data, request->answer.len, JSON_ALLOW_NUL, NULL);
}

/* ---- the end of a turn ---- */

static void end(TfyMcpTurn *turn, int status, TfyBuffer *text)
{
    TfyMcpAnswer *answer = turn->answer;
    if (!answer) return;
    turn->answer = NULL;
    turn->waits = false;
    answer->end(answer, status, text && !text->failed ? text->data : NULL, text ? text->len : 0);
    if (text) tfy__buffer_free(text);
}

/* What each result of the newest revision says. */
static void complete(json_t *result)
{
    json_t *meta = json_object_get(result, "_meta");
    if (!json_object_get(result, "resultType")) json_object_set_new(result, "resultType", json_string("complete"));
    if (!meta) json_object_set_new(result, "_meta", meta = json_object());
    json_object_set_new(meta, "io.modelcontextprotocol/serverInfo",
                        json_pack("{s:s, s:s}", "name", "tfy", "version", tfy_version()));
}

void tfy__turn_finish(TfyMcpTurn *turn, json_t *result)
{
    TfyBuffer text = {0};
    if (!result) {
        tfy__turn_refuse(turn, &(TfyMcpRefusal){TFY_MCP_INTERNAL, 500, NULL, "memory ran out"});
        return;
    }
    if (turn->client.modern) complete(result);
    tfy__mcp_write_result(&text, turn->message.id, result);
    json_decref(result);
    end(turn, 200, &text);
}

void tfy__turn_refuse(TfyMcpTurn *turn, TfyMcpRefusal *refusal)
{
    TfyBuffer text = {0};
    tfy__refusal_write(&text, turn->message.id, refusal);
    end(turn, turn->client.modern ? refusal->status : 200, &text);
}

void tfy__turn_refuse_for(TfyMcpTurn *turn, const TfyProblem *problem)
{
    TfyMcpRefusal refusal = {.code = 0};
    const bool missing = problem->kind == TFY_PROBLEM_NOT_FOUND;
    tfy__refusal_set(&refusal, missing ? 200 : tfy__problem_status(problem->kind),
                     missing ? TFY_MCP_INVALID_PARAMS : TFY_MCP_INTERNAL, "%.250s",
                     *problem->detail ? problem->detail : "the server failed");
    tfy__turn_refuse(turn, &refusal);
}

void tfy__turn_drop(TfyMcpTurn *turn)
{
    end(turn, 202, NULL);
}

/* text NULL: nothing; that is heard, too. */
static void say(TfyMcpTurn *turn, const TfyBuffer *text)
{
    turn->said_ms = tfy__monotonic_ms();
    if (turn->answer && !(text && text->failed))
        turn->answer->say(turn->answer, text ? text->data : NULL, text ? text->len : 0);
}

void tfy__turn_say(TfyMcpTurn *turn, const char *method, const json_t *params)
{
    TfyBuffer text = {0};
    tfy__mcp_write_notification(&text, method, params);
    say(turn, &text);
    tfy__buffer_free(&text);
}

TfyMcpPut *tfy__turn_put(TfyMcpTurn *turn, const char *method, const json_t *params)
{
    TfyBuffer text = {0};
    TfyMcpPut *put = calloc(1, sizeof *put);
    if (!put) return NULL;
    snprintf(put->id, sizeof put->id, "q%llu", (unsigned long long)++turn->host->asked);
    LIST_APPEND(&turn->put, put, next);
    tfy__buffer_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"%s\",\"params\":", put->id, method);
    char *json = json_dumps(params, JSON_COMPACT);
    tfy__buffer_printf(&text, "%s}", json ? json : "{}");
    free(json);
    say(turn, &text);
    tfy__buffer_free(&text);
    return put;
}

/* ---- runs ---- */

static bool anybody_waits(const TfyMcpHost *host)
{
    for (const TfyMcpTurn *turn = host->turns.first; turn; turn = turn->next)
        if (turn->waits) return true;
    return false;
}

static bool follows(const TfyMcpHost *host)
{
    return anybody_waits(host) || tfy__anybody_listens(host);
}

static int64_t durable(const TfyMcpHost *host)
{
    return tfy__log_durable_lsn(tfy__loop_log(host->server->loop));
}

/* While nobody waits or listens, nothing is followed. */
void tfy__host_follow_from_now(TfyMcpHost *host)
{
    if (!host->following) host->cursor = durable(host);
    host->following = true;
}

static int tell_one(void *arg, const TfyEvent *event)
{
    TfyMcpTurn *turn = arg;
    if (event->record->lsn > turn->told_to) return 1;
    if (event->run && strcmp(turn->run, event->run->uuid) == 0) tfy__turn_told(turn, event);
    return 0;
}

/* Who looks once after it began to wait has seen what was recorded up to then. */
void tfy__turn_wait(TfyMcpTurn *turn, int64_t most_ms)
{
    TfyMcpHost *host = turn->host;
    tfy__host_follow_from_now(host);
    turn->waits = true;
    turn->told_to = host->cursor;
    if (turn->since && turn->since < host->cursor && tfy__wants_told(turn))
        (void)tfy__events_see(host->events, turn->since + 1, tell_one, turn);
    turn->said_ms = tfy__monotonic_ms();
    turn->until_ms = most_ms ? turn->said_ms + most_ms : 0;
    tfy__call_look(turn);
}

void tfy__turn_tell_rest(TfyMcpTurn *turn)
{
    turn->told_to = INT64_MAX;
    if (turn->host->following && tfy__wants_told(turn))
        (void)tfy__events_see(turn->host->events, turn->host->cursor + 1, tell_one, turn);
}

typedef struct Following {
    TfyMcpHost *host;
    int count;
    char run[37]; /* the one that changed last, of which those who listen were not told yet; "": none */
} Following;

/* Records of a run often come together, and say one thing to who listens. */
static void note_changed(Following *following)
{
    if (*following->run) tfy__run_changed(following->host, following->run);
    *following->run = '\0';
}

static int follow_one(void *arg, const TfyEvent *event)
{
    Following *following = arg;
    if (following->count++ == PAGE) return 1;
    following->host->cursor = event->record->lsn;
    if (!event->run) return 0;
    if (strcmp(following->run, event->run->uuid) != 0) note_changed(following);
    snprintf(following->run, sizeof following->run, "%s", event->run->uuid);
    for (TfyMcpTurn *turn = following->host->turns.first, *next; turn; turn = next) {
        next = turn->next;
        if (!turn->waits || strcmp(turn->run, event->run->uuid) != 0) continue;
        turn->again = true;
        tfy__turn_told(turn, event);
    }
    return 0;
}

static void look_again(TfyMcpHost *host)
{
    for (TfyMcpTurn *turn = host->turns.first, *next; turn; turn = next) {
        next = turn->next;
        if (turn->waits && turn->again && !turn->looks) tfy__call_look(turn);
    }
}

void tfy__run_asks(TfyMcpHost *host, const char *run)
{
    for (TfyMcpTurn *turn = host->turns.first; turn; turn = turn->next)
        turn->again |= turn->waits && strcmp(turn->run, run) == 0;
    look_again(host);
    tfy__run_changed(host, run);
}

static void follow(TfyMcpHost *host)
{
    int code = 1;
    host->following = follows(host);
    while (code > 0 && host->following) {
        Following following = {.host = host};
        code = tfy__events_see(host->events, host->cursor + 1, follow_one, &following);
        note_changed(&following);
        look_again(host);
    }
}

/* Who listens, or holds on, hears of new offers, and that it is heard. */
static void tell_listeners(TfyMcpHost *host)
{
    const int64_t now = tfy__monotonic_ms();
    const TfyCatalog *catalog = tfy__catalog(host->server);
    if (host->catalog && host->catalog != catalog) tfy__offers_changed(host);
    host->catalog = catalog;
    if (now - host->beat_ms < BEAT_MS) return;
    host->beat_ms = now;
    tfy__mcp_beat_standings(host);
}

static void end_waits(TfyMcpHost *host)
{
    const int64_t now = tfy__monotonic_ms();
    for (TfyMcpTurn *turn = host->turns.first, *next; turn; turn = next) {
        next = turn->next;
        if ((turn->waits || turn->listens) && now - turn->said_ms >= BEAT_MS) say(turn, NULL);
        if (!turn->waits || !turn->until_ms || turn->until_ms > now) continue;
        turn->until_ms = 0;
        tfy__call_late(turn);
    }
}

/* ---- the thread ---- */

static void free_ended(TfyMcpHost *host)
{
    for (TfyMcpTurn *turn = host->turns.first, *next; turn; turn = next) {
        next = turn->next;
        free_turn(turn);
    }
}

static int64_t pause_ms(const TfyMcpHost *host)
{
    int64_t least = LOOK_MS;
    const int64_t now = tfy__monotonic_ms();
    for (const TfyMcpTurn *turn = host->turns.first; turn; turn = turn->next)
        if (turn->waits && turn->until_ms && turn->until_ms - now < least) least = turn->until_ms - now;
    return least < 1 ? 1 : least;
}

static bool any_away(const TfyMcpHost *host)
{
    for (const TfyMcpTurn *turn = host->turns.first; turn; turn = turn->next)
        if (turn->away) return true;
    return false;
}

/* NULL: there are none, and it is time to look. */
static TfyMcpLetter *take_letters(TfyMcpHost *host)
{
    pthread_mutex_lock(&host->mutex);
    const struct timespec until = tfy__deadline(pause_ms(host));
    while (!host->letters.first && !host->woken && (!host->ends || any_away(host)) &&
           pthread_cond_timedwait(&host->more, &host->mutex, &until) != ETIMEDOUT) {}
    TfyMcpLetter *letter = host->letters.first;
    host->letters.first = host->letters.last = NULL;
    host->woken = false;
    host->quits = host->ends;
    host->ended = host->ends && !letter && !any_away(host);
    pthread_mutex_unlock(&host->mutex);
    return letter;
}

static void read_letters(TfyMcpHost *host, TfyMcpLetter *letter)
{
    for (TfyMcpLetter *next; letter; letter = next) {
        const TfyMcpLetter taken = *letter;
        next = letter->next;
        if (taken.alone) free(letter);
        taken.call(host, taken.arg);
    }
}

static void refuse_all(TfyMcpHost *host)
{
    tfy__mcp_unstand(host, NULL, NULL, true);
    for (TfyMcpTurn *turn = host->turns.first, *next; turn; turn = next) {
        next = turn->next;
        if (turn->answer)
            tfy__turn_refuse(turn, &(TfyMcpRefusal){TFY_MCP_INTERNAL, 503, NULL, "the server ends; ask it again"});
    }
}

/* Of one who leaves, once what it asked for is answered. */
static void tell_idle(TfyMcpHost *host)
{
    TfyMcpIdle *idle = host->idle;
    if (!idle || (host->turns.first && tfy__monotonic_ms() < idle->until_ms)) return;
    host->idle = NULL;
    idle->call(idle->arg);
    free(idle);
}

void tfy__mcp_host_when_idle(TfyMcpHost *host, int64_t most_ms, void (*call)(void *arg), void *arg)
{
    TfyMcpIdle *idle = malloc(sizeof *idle);
    if (!idle || host->idle) {
        free(idle);
        call(arg);
        return;
    }
    *idle = (TfyMcpIdle){call, arg, tfy__monotonic_ms() + most_ms};
    host->idle = idle;
}

static void *work(void *arg)
{
    TfyMcpHost *host = arg;
    pthread_setname_np(pthread_self(), "tfy mcp");
    while (!host->ended) {
        read_letters(host, take_letters(host));
        if (host->quits) refuse_all(host);
        follow(host);
        end_waits(host);
        tell_listeners(host);
        free_ended(host);
        tell_idle(host);
        if (host->server->draining) tfy__samples_leave(host);
    }
    return NULL;
}

/* ---- offers ---- */

/* The command line names it, or "mcp": true of its configuration. */
static bool is_offered(const TfyServer *server, const char *program)
{
    const TfyConfig *config = server->config;
    for (const char *const *name = server->offering->programs; name && *name; name++)
        if (strcmp(*name, program) == 0) return true;
    return json_is_true(json_object_get(json_object_get(config->programs, program), "mcp"));
}

static void add_names(TfyBuffer *list, const char *const *names, bool bound)
{
    for (; names && *names; names++) {
        const char *equal = bound ? strrchr(*names, '=') : NULL;
        tfy__buffer_printf(list, "%s%s", list->len ? "," : "", equal ? equal + 1 : *names);
    }
}

const char *tfy__mcp_offer_of(const TfyServer *server, const char *program, TfyBuffer *list)
{
    if (!is_offered(server, program)) return NULL;
    const TfyMcpWanted *wanted = &server->offering->wanted;
    tfy__buffer_text(list, wanted->tools ? "" : "-");
    add_names(list, wanted->tools, false);
    add_names(list, wanted->prompts, false);
    add_names(list, wanted->resources, true);
    return list->failed ? "-" : list->data;
}

/* How many programs are: where there are several, a tool is PROGRAM.WORKFLOW. */
static size_t offered_count(const TfyMcpHost *host, const TfyCatalog *catalog)
{
    size_t count = 0;
    for (size_t i = 0; i < catalog->count; i++) count += is_offered(host->server, catalog->served[i]->name);
    return count;
}

const TfyMcpOffers *tfy__host_offers(TfyMcpHost *host, const TfyServed *served)
{
    char error[TFY_ERROR_TEXT];
    for (const TfyMcpKnown *known = host->offered.first; known; known = known->next)
        if (known->served == served) return known->offers;
    TfyMcpKnown *offered = is_offered(host->server, served->name) ? calloc(1, sizeof *offered) : NULL;
    if (!offered) return NULL;
    offered->served = served;
    offered->offers = tfy__mcp_offers_new(served->program, &host->settings->wanted, error);
    LIST_APPEND(&host->offered, offered, next);
    return offered->offers;
}

static bool has_name(size_t programs, const TfyServed *served, const char *workflow, const char *tool)
{
    const size_t len = strlen(served->name);
    if (programs == 1) return strcmp(workflow, tool) == 0;
    return strncmp(tool, served->name, len) == 0 && tool[len] == '.' && strcmp(tool + len + 1, workflow) == 0;
}

/* Calls see with each offer that the caller may use, until it returns true. */
static bool see_offers(TfyMcpHost *host, const TfyCaller *caller,
                       bool (*see)(void *arg, size_t programs, const TfyMcpFound *found), void *arg)
{
    const TfyCatalog *catalog = tfy__catalog(host->server);
    const size_t programs = offered_count(host, catalog);
    for (size_t i = 0; i < catalog->count; i++) {
        const TfyMcpOffers *offers = tfy__host_offers(host, catalog->served[i]);
        for (size_t k = 0; offers && k < offers->count; k++) {
            const TfyMcpFound found = {catalog->served[i], &offers->items[k]};
            if (tfy__may_see(caller, found.served->name, found.offer->workflow->name) && see(arg, programs, &found))
                return true;
        }
    }
    return false;
}

/* What is looked for, and what was found. */
typedef struct Search {
    TfyMcpOffered as;
    const char *name;    /* for clients; of a resource: an address; with a program: of the workflow */
    const char *program; /* NULL: any */
    json_t **args;       /* of a resource */
    TfyMcpFound found;
} Search;

static bool is_searched(void *arg, size_t programs, const TfyMcpFound *found)
{
    Search *search = arg;
    const TfyMcpOffer *offer = found->offer;
    const char *workflow = offer->workflow->name;
    bool is = offer->as == search->as;
    if (search->program)
        is = strcmp(search->program, found->served->name) == 0 && strcmp(search->name, workflow) == 0;
    else if (search->args)
        is = is && tfy__mcp_address_fits(offer->address, search->name, search->args);
    else
        is = is && has_name(programs, found->served, workflow, search->name);
    if (is) search->found = *found;
    return is;
}

TfyMcpFound tfy__host_find(TfyMcpHost *host, const TfyCaller *caller, TfyMcpOffered as, const char *name)
{
    Search search = {.as = as, .name = name};
    see_offers(host, caller, is_searched, &search);
    return search.found;
}

TfyMcpFound tfy__host_find_resource(TfyMcpHost *host, const TfyCaller *caller, const char *address, json_t **args)
{
    Search search = {.as = TFY_MCP_RESOURCE, .name = address, .args = args};
    *args = NULL;
    see_offers(host, caller, is_searched, &search);
    return search.found;
}

TfyMcpFound tfy__host_find_workflow(TfyMcpHost *host, const TfyCaller *caller, const char *program,
                                    const char *workflow)
{
    Search search = {.name = workflow, .program = program};
    see_offers(host, caller, is_searched, &search);
    return search.found;
}

typedef struct Listing {
    TfyMcpOffered as;
    json_t *list;
} Listing;

static bool add_shown(void *arg, size_t programs, const TfyMcpFound *found)
{
    const Listing *listing = arg;
    json_t *shown = found->offer->as == listing->as ? json_copy(found->offer->shown) : NULL;
    if (shown && programs > 1)
        json_object_set_new(shown, "name", json_sprintf("%s.%s", found->served->name, found->offer->workflow->name));
    if (shown) json_array_append_new(listing->list, shown);
    return false;
}

json_t *tfy__host_list(TfyMcpHost *host, const TfyCaller *caller, TfyMcpOffered as)
{
    Listing listing = {as, json_array()};
    see_offers(host, caller, add_shown, &listing);
    return listing.list;
}

/* ---- opening and closing ---- */

/* What cannot be offered is told before anything is. */
static bool check_offers(TfyMcpHost *host, char *error)
{
    const TfyCatalog *catalog = tfy__catalog(host->server);
    size_t count = 0;
    for (size_t i = 0; i < catalog->count; i++) {
        if (!is_offered(host->server, catalog->served[i]->name)) continue;
        TfyMcpOffers *offers = tfy__mcp_offers_new(catalog->served[i]->program, &host->settings->wanted, error);
        if (!offers) return false;
        count += offers->count;
        tfy__mcp_offers_free(offers);
    }
    if (count) return true;
    snprintf(
        error, TFY_ERROR_TEXT,
        "there is nothing to offer: a tool is a workflow with a doc comment that takes and gives JSON, and FILE.so "
        "is of `tfy build --shared --offer -`");
    return false;
}

TfyMcpHost *tfy__mcp_host_open(TfyServer *server, const TfyMcpSettings *settings, char *error)
{
    TfyMcpHost *host = calloc(1, sizeof *host);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (!host) return NULL;
    host->server = server;
    host->settings = settings;
    pthread_mutex_init(&host->mutex, NULL);
    tfy__cond_init(&host->more);
    if (check_offers(host, error) && tfy__mcp_key_open(&host->key, server->db, error))
        host->events = tfy__events_open(server->db, error);
    host->runs = host->events && pthread_create(&host->thread, NULL, work, host) == 0;
    if (host->runs) return host;
    tfy__mcp_host_close(host);
    return NULL;
}

void tfy__mcp_host_quit(TfyMcpHost *host)
{
    if (!host || !host->runs) return;
    pthread_mutex_lock(&host->mutex);
    host->ends = true;
    pthread_cond_signal(&host->more);
    pthread_mutex_unlock(&host->mutex);
    pthread_join(host->thread, NULL);
    host->runs = false;
}

void tfy__mcp_host_close(TfyMcpHost *host)
{
    if (!host) return;
    tfy__mcp_host_quit(host);
    for (TfyMcpKnown *offered; (offered = LIST_TAKE(&host->offered, next));) {
        tfy__mcp_offers_free(offered->offers);
        free(offered);
    }
    tfy__sessions_free(host);
    tfy__samples_free(host);
    tfy__events_close(host->events);
    free(host->idle);
    pthread_mutex_destroy(&host->mutex);
    pthread_cond_destroy(&host->more);
    free(host);
}
