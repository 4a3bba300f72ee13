/* turn.h: a request of a client under way, and what its parts share.
 *
 * Invariants
 *   - All of this belongs to the host's thread. What others answer comes back to it as a letter.
 *   - A turn is answered once: `answer` is NULL from then on. It is freed when it is answered and nothing that it asked
 *     the server for is under way.
 *   - A turn that waits has a run, and is looked at again with each record of that run, so it misses nothing: it looks
 *     once after it began to wait, and records come in order. */
#ifndef SERVE_MCP_TURN_H
#define SERVE_MCP_TURN_H

#include "base/list.h"
#include "mcp/server/asked.h"
#include "mcp/server/offer.h"
#include "mcp/server/state.h"
#include "serve/inside.h"
#include "serve/mcp/mcp.h"
#include "serve/programs.h"
#include "wal/rows/record.h"

struct TfyMcpPeer {
    uint32_t users; /* turns, and who made it: it is freed when there are none */
    TfyCaller caller;
    bool greeted;        /* with initialize: it speaks an older revision */
    TfyMcpClient client; /* … then */
    json_t *subscribed;  /* … then: addresses of resources; owned; NULL: none */
};

/* A workflow that is offered. */
typedef struct TfyMcpFound {
    const TfyServed *served; /* NULL: none is */
    const TfyMcpOffer *offer;
} TfyMcpFound;

/* What an older client was asked on the stream of a call: a question, or for its model. */
typedef struct TfyMcpPut {
    struct TfyMcpPut *next;
    char id[24];      /* of the request */
    json_t *question; /* owned; NULL: it is for its model: */
    char *sample;     /* its key; owned */
    bool over;        /* it was answered */
} TfyMcpPut;

typedef struct TfyMcpTurn {
    struct TfyMcpTurn *prev, *next; /* of the host's */
    TfyMcpHost *host;
    TfyMcpPeer *peer;
    TfyMcpAnswer *answer;  /* NULL: it is answered */
    TfyMcpMessage message; /* the request; owned */
    TfyMcpClient client;
    uint32_t away; /* requests of the server to itself that are under way */
    /* of a call */
    TfyMcpFound found;
    char *address;                  /* of the resource that is read; owned; NULL: none is */
    uint8_t digest[TFY_MCP_DIGEST]; /* of the request, and who it is from */
    char run[37];                   /* "": none yet */
    int64_t since;                  /* record of its start: what the run says from there on is told */
    int64_t told_to;                /* … up to this one, while it catches up */
    int64_t progress;               /* the least that is told: more than the last one */
    int64_t said_ms;                /* monotonic: when the client heard something last */
    bool waits;                     /* for the run */
    bool looks, again;              /* the run is being looked at; and has to be once more */
    uint32_t replying; /* answers of the client's that are on the way to the run: it is looked at after them */
    int64_t until_ms;  /* monotonic: it waits no longer; 0: it does */
    json_t *replies;   /* what the client answers beforehand, by the questions' keys; owned; NULL: nothing */
    json_t *run_json;  /* the run as it was seen last; owned; NULL: it was not */
    bool late;         /* it has waited long enough: it is answered with what is known */
    bool cancelled;    /* the client took it back before it had a run */
    json_t *listens;   /* what it wants to hear of (listen.c); owned; NULL: it is no such request */
    json_t *changed;   /* … and the statuses of tasks that were told; owned */
    void (*whole)(struct TfyMcpTurn *turn); /* whole.c; NULL: it is not there */
    LIST(TfyMcpPut) put;                    /* what it was asked on this stream */
} TfyMcpTurn;

struct TfyMcpHost {
    TfyServer *server;
    const TfyMcpSettings *settings;
    TfyMcpKey key;
    pthread_t thread;
    bool runs;                /* the thread does, or has to be joined */
    struct TfyEvents *events; /* the thread's own */
    bool following;
    int64_t cursor; /* … records behind this one */
    LIST(TfyMcpTurn) turns;
    LIST(struct TfyMcpKnown) offered;
    LIST(struct TfyMcpSession) sessions;
    LIST(struct TfyMcpSample) samples;     /* open requests of runs to models (sampling.c) */
    LIST(struct TfyMcpStanding) standings; /* of older clients (listen.c) */
    const TfyCatalog *catalog;             /* what was offered when anybody was told last */
    int64_t beat_ms;                       /* monotonic: when standing clients heard something last */
    TfyTable session_ids;
    uint64_t asked; /* questions put to older clients */
    struct TfyMcpIdle *idle;
    bool quits;            /* requests are refused */
    pthread_mutex_t mutex; /* held for: */
    pthread_cond_t more;
    LIST(struct TfyMcpLetter) letters;
    bool woken, ends;
    bool ended; /* letters are read no more */
};

/* ---- host.c ---- */

void tfy__peer_keep(TfyMcpPeer *peer);

/* What a turn does with the answer of the server to a request of its own. request: freed afterwards. */
typedef void TfyMcpThen(TfyMcpTurn *turn, TfyRequest *request);
/* Has the server answer; body is taken. Without memory the turn is refused. */
void tfy__turn_ask(TfyMcpTurn *turn, const TfyInside *what, TfyMcpThen *then);
/* The answer of such a request as JSON, which the caller owns; NULL: it was refused. */
json_t *tfy__turn_heard(const TfyRequest *request);

/* Answers: with a result, which is taken; with a refusal; with nothing. */
void tfy__turn_finish(TfyMcpTurn *turn, json_t *result);
void tfy__turn_refuse(TfyMcpTurn *turn, TfyMcpRefusal *refusal);
void tfy__turn_refuse_for(TfyMcpTurn *turn, const TfyProblem *problem);
void tfy__turn_drop(TfyMcpTurn *turn);
/* Says a notification, or asks something, before that. */
void tfy__turn_say(TfyMcpTurn *turn, const char *method, const json_t *params);
/* The caller fills in what it is, before anything else is done with the turn. NULL: no memory. */
TfyMcpPut *tfy__turn_put(TfyMcpTurn *turn, const char *method, const json_t *params);

/* The run has something to ask that is not recorded: those who wait for it look, and those who listen are told. */
void tfy__run_asks(TfyMcpHost *host, const char *run);

/* Begins to wait for the turn's run, for so long; 0: as long as it takes. */
void tfy__turn_wait(TfyMcpTurn *turn, int64_t most_ms);

/* The offers of a program that clients see, in the catalog's order, with their names for clients. */
const TfyMcpOffers *tfy__host_offers(TfyMcpHost *host, const TfyServed *served);
TfyMcpFound tfy__host_find(TfyMcpHost *host, const TfyCaller *caller, TfyMcpOffered as, const char *name);
/* The resource of that address, with the arguments that it stands for, which the caller owns. */
TfyMcpFound tfy__host_find_resource(TfyMcpHost *host, const TfyCaller *caller, const char *address, json_t **args);
/* What a run of that workflow is; served NULL: none that is offered, or is seen. */
TfyMcpFound tfy__host_find_workflow(TfyMcpHost *host, const TfyCaller *caller, const char *program,
                                    const char *workflow);
/* All of a kind that the caller sees, as a list that the caller owns. */
json_t *tfy__host_list(TfyMcpHost *host, const TfyCaller *caller, TfyMcpOffered as);

/* ---- speak.c ---- */

/* Takes a message apart, and begins the turn of a request. The message is the host's. */
void tfy__mcp_spoken(TfyMcpHost *host, TfyMcpPeer *peer, TfyMcpMessage *message, TfyMcpAnswer *answer);

/* ---- call.c ---- */

void tfy__turn_finish_ended(TfyMcpTurn *turn); /* answers with what its run, which has ended, has given */
void tfy__mcp_call(TfyMcpTurn *turn);
/* The same for what turn->found is, with the arguments; name: of it, for clients. */
void tfy__call_begin(TfyMcpTurn *turn, const char *name, json_t *args);
/* Waits for a run that is there already. */
void tfy__call_go_on(TfyMcpTurn *turn);
/* The run of a turn that waits has another record; the wait is over. */
void tfy__call_look(TfyMcpTurn *turn);
void tfy__call_late(TfyMcpTurn *turn);
/* An older client answers what it was asked. */
void tfy__call_replied(TfyMcpTurn *turn, TfyMcpPut *put, const TfyMcpMessage *message);
/* The client takes the request back. */
void tfy__call_cancelled(TfyMcpTurn *turn);
void tfy__puts_free(TfyMcpTurn *turn);

/* ---- told.c ---- */

bool tfy__wants_told(const TfyMcpTurn *turn);
struct TfyEvent;
/* Tells the client of a record of its run what it wants to hear of it. */
void tfy__turn_told(TfyMcpTurn *turn, const struct TfyEvent *event);

/* Its run has ended, of which more is recorded than was followed yet: tells the rest. */
void tfy__turn_tell_rest(TfyMcpTurn *turn);

/* ---- questions.c ---- */

/* Calls then with the open questions of the turn's run, a list. */
void tfy__questions_ask(TfyMcpTurn *turn, TfyMcpThen *then);
/* Answers with what the client has said beforehand those of the questions that it is for, and returns their number. */
uint32_t tfy__questions_reply(TfyMcpTurn *turn, const json_t *questions, TfyMcpThen *then);
bool tfy__question_answer(TfyMcpTurn *turn, const json_t *question, const json_t *response, TfyMcpThen *then);
/* {KEY: {"method": "elicitation/create", "params"}} */
json_t *tfy__questions_requests(const json_t *questions);

/* ---- sampling.c ---- */

#define TFY_MCP_NEEDS_MODEL "the run asks a model, and the client lets none answer for it (capability sampling)"

/* Whether the run waits for the model of a client. */
bool tfy__samples_any(const TfyMcpHost *host, const char *run);
/* What the client would have to be able to do for its run, as the data of a refusal that the caller owns; NULL: nothing. */
json_t *tfy__samples_lack(const TfyMcpTurn *turn);
/* Adds {KEY: {"method": "sampling/createMessage", "params"}} for each open request. */
void tfy__samples_requests(const TfyMcpTurn *turn, json_t *requests);
/* Takes answers that the client has brought along, and returns their number. */
uint32_t tfy__samples_reply(TfyMcpTurn *turn);
void tfy__samples_put(TfyMcpTurn *turn); /* puts them to an older client, each once */
/* The client's answer, or its refusal, to the request of that key; one that is not open is left alone. */
void tfy__sample_answer(TfyMcpHost *host, const char *run, const char *key, const json_t *result);
void tfy__sample_refuse(TfyMcpHost *host, const char *run, const char *key, int64_t code, const char *why);
void tfy__samples_leave(TfyMcpHost *host); /* gives them all back: the server ends */
void tfy__samples_free(TfyMcpHost *host);

/* ---- lists.c ---- */

/* Says of a result that it holds now, and that nobody keeps it. */
json_t *tfy__cacheable(json_t *result);
void tfy__mcp_list_tools(TfyMcpTurn *turn);
void tfy__mcp_list_prompts(TfyMcpTurn *turn);
void tfy__mcp_list_resources(TfyMcpTurn *turn);
void tfy__mcp_list_templates(TfyMcpTurn *turn);
void tfy__mcp_get_prompt(TfyMcpTurn *turn);
void tfy__mcp_read_resource(TfyMcpTurn *turn);
void tfy__mcp_complete(TfyMcpTurn *turn);

/* ---- listen.c ---- */

void tfy__mcp_listen(TfyMcpTurn *turn);
void tfy__mcp_subscribe(TfyMcpTurn *turn);
void tfy__mcp_unsubscribe(TfyMcpTurn *turn);
/* Ends the standing answers of a peer, or that one; NULL: of any. ends: the answer is told so. */
void tfy__mcp_unstand(TfyMcpHost *host, const TfyMcpPeer *peer, const TfyMcpAnswer *answer, bool ends);
void tfy__mcp_beat_standings(TfyMcpHost *host);
bool tfy__anybody_listens(const TfyMcpHost *host);
void tfy__run_changed(TfyMcpHost *host, const char *run);
void tfy__offers_changed(TfyMcpHost *host);
/* Follows records at least from the newest durable one on. */
void tfy__host_follow_from_now(TfyMcpHost *host);

/* ---- own.c ---- */

void tfy__mcp_add_own(json_t *tools);
bool tfy__mcp_call_own(TfyMcpTurn *turn, const char *name, const json_t *args); /* false: it is none of these */

/* ---- tasks.c ---- */

void tfy__mcp_task_get(TfyMcpTurn *turn);
void tfy__mcp_task_update(TfyMcpTurn *turn);
void tfy__mcp_task_cancel(TfyMcpTurn *turn);
/* False: the client knows no tasks, and is refused. */
bool tfy__takes_tasks(const TfyMcpTurn *turn, TfyMcpRefusal *refusal);
/* The members of a task for a run as GET /v1/runs/{id} has it. */
json_t *tfy__task_of(const TfyMcpHost *host, const json_t *run);
void tfy__run_get(TfyMcpTurn *turn, TfyMcpThen *then);
void tfy__run_cancel(TfyMcpTurn *turn, TfyMcpThen *then);
/* What an ended run has given: a result, or NULL with a refusal. */
json_t *tfy__run_result(TfyMcpTurn *turn, const json_t *run, TfyMcpRefusal *refusal);

/* ---- whole.c ---- */

/* Completes turn->run_json where its run has ended, and calls then. */
void tfy__run_whole(TfyMcpTurn *turn, void (*then)(TfyMcpTurn *turn));

#endif
