/* sessions.c: see sessions.h. */
#include "serve/mcp/sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <xxhash.h>

typedef struct TfyMcpSession {
    TfyLink link;                      /* by id */
    struct TfyMcpSession *prev, *next; /* the one that was used longest ago is the first */
    char id[TFY_MCP_SESSION];
    TfyMcpPeer *peer;
} Session;

static uint64_t hash_of(const char *id)
{
    return XXH3_64bits(id, strlen(id));
}

static Session *find(TfyMcpHost *host, const TfyCaller *caller, const char *id)
{
    TfyLink *link = tfy__table_find(&host->session_ids, hash_of(id));
    while (link && strcmp(TABLE_ITEM(link, Session, link)->id, id) != 0) link = tfy__table_next(link);
    Session *session = TABLE_ITEM(link, Session, link);
    return session && strcmp(session->peer->caller.name, caller->name) == 0 ? session : NULL;
}

/* What it still waits for is not answered any more; the runs go on. */
static void end(TfyMcpHost *host, Session *session)
{
    for (TfyMcpTurn *turn = host->turns.first; turn; turn = turn->next)
        if (turn->peer == session->peer) tfy__turn_drop(turn);
    tfy__mcp_unstand(host, session->peer, NULL, true);
    tfy__table_remove(&host->session_ids, &session->link);
    LIST2_REMOVE(&host->sessions, session, prev, next);
    tfy__mcp_peer_free(session->peer);
    free(session);
}

static bool name_it(char id[TFY_MCP_SESSION])
{
    unsigned char bytes[(TFY_MCP_SESSION - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) return false;
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

TfyMcpPeer *tfy__session_new(TfyMcpHost *host, const TfyCaller *caller, char id[TFY_MCP_SESSION])
{
    if (host->session_ids.count == TFY_MCP_SESSIONS_MOST) end(host, host->sessions.first);
    Session *session = tfy__table_reserve(&host->session_ids) ? calloc(1, sizeof *session) : NULL;
    if (session && name_it(session->id) && (session->peer = tfy__mcp_peer_new(caller))) {
        tfy__table_add(&host->session_ids, &session->link, hash_of(session->id));
        LIST2_APPEND(&host->sessions, session, prev, next);
        memcpy(id, session->id, TFY_MCP_SESSION);
        return session->peer;
    }
    free(session);
    return NULL;
}

TfyMcpPeer *tfy__session_peer(TfyMcpHost *host, const TfyCaller *caller, const char *id)
{
    Session *session = find(host, caller, id);
    if (!session) return NULL;
    LIST2_REMOVE(&host->sessions, session, prev, next);
    LIST2_APPEND(&host->sessions, session, prev, next);
    return session->peer;
}

bool tfy__session_end(TfyMcpHost *host, const TfyCaller *caller, const char *id)
{
    Session *session = find(host, caller, id);
    if (session) end(host, session);
    return session;
}

void tfy__sessions_free(TfyMcpHost *host)
{
    while (host->sessions.first) end(host, host->sessions.first);
    tfy__table_free(&host->session_ids);
}
