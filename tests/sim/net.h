/* net.h: the simulated network: sockets of the programs, the links between them and the peers outside, and what the world remembers of both.
 *
 * The runtime's own code for sockets runs as it is: the calls it makes to the system (socket, bind, connect, recv …) are led here by the linker,
 * and so is its poller. What a link does follows from the seed: bytes arrive after some time, in pieces or one by one; a side has room for so
 * much that was not taken; calls take and give less than they were asked to; connections are refused, come late or never; a peer stalls, ends
 * early, says all before it listens, or resets in the middle. A death of the process ends all links; bytes that had left stay where they came.
 *
 *   sockets.c   links, descriptors, the system's calls and the poller
 *   peers.c     who is at the other end: visitors of the listeners, and the servers of ports below 100
 *   traffic.c   what steps asked for, remembered across deaths, and the checks (w5 to w8, d5 and d6 of sim.h)
 *
 * Two ways of telling what is ready, by the seed: edges, as epoll does, and levels that are told once, as the poll(2) twin does. Both tell
 * sometimes what is not so, as the system may. */
#ifndef SIM_NET_H
#define SIM_NET_H

#include "sim.h"
#include "base/buffer.h"
#include "wal/history/history.h"

enum { SIM_FD_FIRST = 1 << 20, SIM_SOCKETS = 64, SIM_BACKLOG = 8, SIM_PORT_OF_PEERS = 100 };

typedef struct SimSocket SimSocket;
typedef struct SimPeer SimPeer;

/* One direction of a link. Nothing that was sent is thrown away: the checks look back. */
typedef struct SimStream {
    TfyBuffer bytes; /* all that was ever sent this way */
    size_t arrived;  /* of them, those that came to the other side */
    size_t taken;    /* … and were received there */
    size_t read;     /* … and stand in the log as read; for the check that is under way */
    size_t room;     /* how many may be sent and not taken */
    bool ended;      /* its sender sends no more */
    bool end_arrived;
    bool moving; /* an event is planned that lets some arrive */
    bool cut;    /* a write was stopped in its middle: nothing may follow */
} SimStream;

typedef struct SimLink {
    uint32_t number;       /* from 1 */
    SimStream streams[2];  /* [side]: what this side sends. Side 0 asked for the connection */
    SimSocket *sockets[2]; /* the program's ends; NULL: not accepted yet, closed, or a peer's */
    SimPeer *peer;         /* NULL: both ends are the program's */
    int peer_side;
    bool left[2];   /* whoever was at this end has closed it */
    uint32_t piece; /* bytes that arrive at once, at most; 0: all */
    bool reset;     /* by one of the sides: nothing arrives any more */
} SimLink;

/* sockets.c */
extern const TfyPoller sim_poller;
void sim_net_die(SimDeath death); /* the program's sockets are gone */
void sim_net_forget(void);        /* … and everything that was ever sent */
bool sim_net_awake(void);         /* the poller has something to tell */
bool sim_socket_ready(int fd, bool to_write);
bool sim_socket_close(int fd);         /* false: it is none of these */
bool sim_net_unlink(const char *name); /* the name of a Unix socket; false: there is none */
bool sim_socket_listens(const SimSocket *listener, uint64_t serial); /* still: false: it was closed since */
SimLink *sim_listener_link(SimSocket *listener); /* a new link that asks there; NULL: its queue is full */
SimLink *sim_link(uint32_t number);
uint64_t sim_socket_serial(int fd, uint32_t *link,
                           int *side); /* which socket a descriptor is, of all that ever were; 0: none */
size_t sim_link_send(SimLink *link, int side, const char *bytes, size_t len); /* how many there was room for */
void sim_link_take(SimLink *link, int side, size_t len);                      /* bytes that arrived at this side */
void sim_link_end(SimLink *link, int side);                                   /* it sends no more */
void sim_link_close(SimLink *link, int side);                                 /* … and takes no more */
void sim_link_reset(SimLink *link);
int64_t sim_net_delay(uint32_t us); /* of something on its way, ns */

/* peers.c */
void sim_peers_visit(SimSocket *listener, uint64_t serial); /* from now on, until it closes */
void sim_peer_serves(SimLink *link);                        /* it answers at side 1 */
void sim_peer_notices(SimLink *link); /* bytes, an end or a reset have arrived at its side, or there is room again */

/* traffic.c */
extern const TfyPerformer sim_sockets;
void sim_traffic_sent(const SimLink *link, int side, const char *bytes, size_t len); /* the program's bytes leave */
void sim_traffic_die(void);
/* Whether the text, which may break off within a character, is what a program is given of the first *used of the bytes: these, and U+FFFD for what
 * is no UTF-8. */
bool sim_gives_text(const char *bytes, size_t len, const char *text, size_t text_len, size_t *used);
void sim_check_waiting(TfyLoop *loop);                               /* w8: nothing more happens now */
void sim_check_traffic(const TfyHistory *history, const char *uuid); /* d5, d6 */
/* The same for a run that the log does not know. */
void sim_check_no_traffic(const char *uuid, const char *workflow);

#endif
