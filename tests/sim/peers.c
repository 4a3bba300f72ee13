/* peers.c: see net.h: who is at the other end of a link. Visitors come to every port at which a program listens, say some lines and want to hear
 * the same. Servers answer "ask 7" with "7 is 22." at the ports below 100. Both have their troubles, and leave at last whatever happens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

typedef enum Trouble {
    NO_TROUBLE,
    IT_RESETS,
    IT_ENDS, /* and still listens */
    IT_LEAVES,
    IT_STALLS,
} Trouble;

struct SimPeer {
    SimLink *link;
    int side;
    bool serves;
    TfyBuffer says;    /* all that it will say, as far as that is known */
    size_t said;       /* bytes of it that are sent */
    size_t understood; /* of what it heard: the lines up to here are answered */
    uint32_t piece;    /* bytes it says at once, at most; 0: all */
    uint32_t swallows; /* bytes it takes at once, at most; 0: all */
    Trouble trouble;
    size_t trouble_at; /* byte of what it says */
    bool ends;         /* a visitor that has said all ends its side, and listens on */
    bool planned;      /* it will act */
    bool over;
};

enum { VISITS_MAX = 400, GUESTS = 3, NEXT_VISIT_US = 2000, NEXT_TRY_US = 40000 };

static void act(SimEvent *event);

/* It does something after a while. */
static void plan_act(SimPeer *peer, int64_t delay_ns)
{
    if (peer->planned || peer->over) return;
    peer->planned = true;
    sim_plan_event(delay_ns, sim_below(&sim.chance, 4), act, peer, 0);
}

static void leaves(SimPeer *peer)
{
    if (peer->over) return;
    sim_trace("the peer of link %u leaves", peer->link->number);
    peer->over = true;
    sim_link_close(peer->link, peer->side);
}

static void gives_up(SimEvent *event)
{
    SimPeer *peer = event->arg;
    if (peer->over) return;
    if (event->number) sim_link_reset(peer->link);
    leaves(peer);
}

/* ---- hearing ---- */

/* A visitor hears what it said, as far as that was received. A line that was not ended may come back with an end. */
static void check_echo(const SimPeer *peer)
{
    const SimStream *out = &peer->link->streams[peer->side], *in = &peer->link->streams[1 - peer->side];
    size_t len = in->taken, used;
    if (sim_gives_text(out->bytes.data, out->taken, in->bytes.data, len, &used)) return;
    bool may_be_ended = out->ended && in->bytes.data[len - 1] == '\n';
    if (!may_be_ended || !sim_gives_text(out->bytes.data, out->taken, in->bytes.data, len - 1, &used) ||
        used < out->taken)
        sim_broken("w6", "visitor %u hears what it did not say: %.*s", peer->link->number, (int)in->taken,
                   in->bytes.data);
}

static void answer_line(SimPeer *peer, const char *line, size_t len)
{
    char text[40];
    long long n;
    snprintf(text, sizeof text, "%.*s", (int)len, line);
    if (sscanf(text, "ask %lld", &n) != 1) sim_broken("w6", "a server is asked \"%s\"", text);
    tfy__buffer_printf(&peer->says, "%lld is %lld.\n", n, n * 3 + 1);
}

static void understand(SimPeer *peer)
{
    const SimStream *in = &peer->link->streams[1 - peer->side];
    const char *end;
    while (in->taken > peer->understood &&
           (end = memchr(in->bytes.data + peer->understood, '\n', in->taken - peer->understood))) {
        const char *line = in->bytes.data + peer->understood;
        answer_line(peer, line, (size_t)(end - line));
        peer->understood += (size_t)(end - line) + 1;
    }
}

static void hear(SimPeer *peer)
{
    const SimStream *in = &peer->link->streams[1 - peer->side];
    size_t len = in->arrived - in->taken;
    if (peer->swallows && len > peer->swallows) len = peer->swallows;
    if (!len) return;
    sim_link_take(peer->link, peer->side, len);
    if (peer->serves)
        understand(peer);
    else
        check_echo(peer);
}

/* ---- saying ---- */

/* True: that was all it will ever do, or do for long. */
static bool meets_trouble(SimPeer *peer)
{
    if (peer->trouble == NO_TROUBLE || peer->said < peer->trouble_at) return false;
    Trouble trouble = peer->trouble;
    peer->trouble = NO_TROUBLE;
    switch (trouble) {
    case IT_RESETS: sim_link_reset(peer->link); break;
    case IT_LEAVES: leaves(peer); break;
    case IT_ENDS:
        peer->says.len = peer->said;
        peer->ends = true;
        return false;
    default: plan_act(peer, INT64_C(1000000) * (10 + sim_below(&sim.chance, 200))); break;
    }
    return true;
}

static void say(SimPeer *peer)
{
    size_t len = peer->link->streams[peer->side].ended ? 0 : peer->says.len - peer->said;
    if (peer->piece && len > peer->piece) len = peer->piece;
    if (peer->trouble && len > peer->trouble_at - peer->said) len = peer->trouble_at - peer->said;
    if (len) peer->said += sim_link_send(peer->link, peer->side, peer->says.data + peer->said, len);
}

static bool has_all_back(const SimPeer *peer)
{
    return !peer->serves && peer->said == peer->says.len && peer->link->streams[1 - peer->side].taken >= peer->said;
}

static bool can_say(const SimPeer *peer)
{
    const SimStream *out = &peer->link->streams[peer->side];
    return peer->said < peer->says.len && !out->ended && out->bytes.len - out->taken < out->room;
}

static void act(SimEvent *event)
{
    SimPeer *peer = event->arg;
    SimLink *link = peer->link;
    const SimStream *in = &link->streams[1 - peer->side];
    peer->planned = false;
    if (peer->over) return;
    hear(peer);
    if (meets_trouble(peer)) return;
    say(peer);
    bool all_said = peer->said == peer->says.len;
    if (peer->ends && all_said && !link->streams[peer->side].ended) sim_link_end(link, peer->side);
    if (link->reset || in->end_arrived || (has_all_back(peer) && !peer->ends))
        leaves(peer);
    else if (can_say(peer) || in->arrived > in->taken || (peer->trouble && peer->said >= peer->trouble_at))
        plan_act(peer, sim_net_delay(500));
}

void sim_peer_notices(SimLink *link)
{
    plan_act(link->peer, sim_percent(&sim.chance, 50) ? 0 : sim_net_delay(1000));
}

/* ---- coming ---- */

static SimPeer *peer_new(SimLink *link, int side)
{
    SimPeer *peer = calloc(1, sizeof *peer);
    if (!peer) abort();
    peer->link = link;
    peer->side = link->peer_side = side;
    link->peer = peer;
    if (sim.expecting) return peer;
    if (sim_percent(&sim.chance, 30)) peer->piece = 1 + sim_below(&sim.chance, 8);
    if (sim_percent(&sim.chance, 15)) peer->swallows = 1 + sim_below(&sim.chance, 8);
    bool resets = sim_percent(&sim.chance, 30);
    sim_plan_event(INT64_C(1000000) * (150 + sim_below(&sim.chance, 300)), 0, gives_up, peer, resets);
    return peer;
}

/* Trouble comes somewhere in the first so many bytes, within a character too. */
static void foresee_trouble(SimPeer *peer, size_t len)
{
    static const Trouble troubles[] = {IT_RESETS, IT_ENDS, IT_LEAVES, IT_STALLS};
    if (sim.expecting || sim_percent(&sim.chance, 60)) return;
    peer->trouble = troubles[sim_below(&sim.chance, sizeof troubles / sizeof *troubles)];
    peer->trouble_at = sim_below(&sim.chance, (uint32_t)len + 1);
}

void sim_peer_serves(SimLink *link)
{
    SimPeer *peer = peer_new(link, 1);
    peer->serves = true;
    foresee_trouble(peer, 10);
    plan_act(peer, 0);
}

static void visitor_lines(SimPeer *peer)
{
    static const char *const words[] = {"hello", "grüß dich", "", "wie geht's, 世界?", "ok"};
    uint32_t lines = 1 + sim_below(&sim.chance, 4);
    for (uint32_t i = 0; i < lines; i++) {
        tfy__buffer_printf(&peer->says, "%u.%u", peer->link->number, i);
        uint32_t more = sim_percent(&sim.chance, 10) ? 300 : sim_below(&sim.chance, 3);
        while (more--) tfy__buffer_printf(&peer->says, " %s", words[sim_below(&sim.chance, 5)]);
        tfy__buffer_char(&peer->says, '\n');
    }
    if (peer->says.failed) abort();
}

static void visitor_comes(SimLink *link)
{
    SimPeer *peer = peer_new(link, 0);
    peer->serves = false;
    visitor_lines(peer);
    peer->ends = sim_percent(&sim.chance, 40);
    foresee_trouble(peer, peer->says.len);
    plan_act(peer, sim_net_delay(300));
}

/* ---- visiting ---- */

typedef struct Visits {
    SimSocket *listener;
    uint64_t serial;
    SimPeer *guests[GUESTS];
    uint32_t count;
} Visits;

static void visit(SimEvent *event);

static void plan_visit(Visits *visits, uint32_t within_us)
{
    if (visits->count >= VISITS_MAX) return;
    int64_t delay_ns = 100000 + sim_net_delay(within_us);
    sim_plan_event(delay_ns, sim_below(&sim.chance, 3), visit, visits, 0);
}

static uint32_t free_place(const Visits *visits)
{
    uint32_t place = 0;
    while (place < GUESTS && visits->guests[place] && !visits->guests[place]->over) place++;
    return place;
}

/* False: it is turned away, for those that gave up unaccepted still fill the queue. It counts as a visit, so that a
 * program that never accepts is found out in the end. */
static bool guest_comes(Visits *visits, uint32_t place)
{
    SimLink *link = sim_listener_link(visits->listener);
    visits->count++;
    if (!link) {
        sim_trace("a visitor is turned away");
        return false;
    }
    sim_trace("visitor %u comes", link->number);
    visitor_comes(link);
    visits->guests[place] = link->peer;
    return true;
}

static void visit(SimEvent *event)
{
    Visits *visits = event->arg;
    if (!sim_socket_listens(visits->listener, visits->serial)) return;
    uint32_t place = free_place(visits);
    bool turned_away = place < GUESTS && !guest_comes(visits, place);
    plan_visit(visits, turned_away ? NEXT_TRY_US : NEXT_VISIT_US);
}

void sim_peers_visit(SimSocket *listener, uint64_t serial)
{
    Visits *visits = calloc(1, sizeof *visits);
    if (!visits) abort();
    visits->listener = listener;
    visits->serial = serial;
    plan_visit(visits, NEXT_VISIT_US);
}
