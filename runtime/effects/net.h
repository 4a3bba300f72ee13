/* net.h: descriptors of the language: listeners and streams (connections, the standard input).
 *
 * For a program a descriptor is a number: the opening of the database and the loop in the high bits, a serial number in the low
 * ones. So a number from the log of an earlier process is recognised, and using it fails with Lost; nothing else
 * about it need be known. A descriptor belongs to its run and is closed when the program closes it, or when the
 * run has finished.
 *
 * Invariants
 *   - Each is registered with the poller once, for reading and writing, edge-triggered. A step tries first and
 *     waits only after EAGAIN, so no edge is missed; waiting steps try again, in order of arrival, when an event
 *     comes.
 *   - Two queues per descriptor: steps that take (accept, read, read_line, readable) and steps that give (write,
 *     writable). Only the first of a queue has touched the descriptor.
 *   - Bytes received but not yet requested are kept in `in`, which holds no memory while it is empty: an idle
 *     connection costs its struct.
 *   - The registration is removed before the descriptor is closed, and the number leaves the table then: a late
 *     event finds nothing. */
#ifndef TFY_EFFECTS_NET_H
#define TFY_EFFECTS_NET_H

#include <netdb.h>
#include <sys/socket.h>

#include "base/table.h"
#include "core/effect.h"

typedef struct TfyNet TfyNet;
typedef struct TfyDescriptor TfyDescriptor;

/* A step that waits for a descriptor. */
typedef struct TfyNetWait {
    TfyCall *call;
    TfyDescriptor *on;
    size_t done; /* write: bytes already written */
    struct TfyNetWait *prev, *next;
} TfyNetWait;

typedef struct TfyNetQueue {
    TfyNetWait *first, *last;
} TfyNetQueue;

struct TfyDescriptor {
    int64_t handle;
    TfyNet *net;
    int fd;
    int64_t watch; /* -1: a regular file, which is always ready */
    enum { TFY_NET_LISTENER, TFY_NET_SOCKET, TFY_NET_STDIN } kind;
    /* the file is shared with others and may not be made non-blocking: it is polled before each read */
    bool blocking;
    /* closed for the program; for the world once everything recorded before is durable */
    bool closing;
    bool ended;   /* the other side sends no more */
    bool cut_off; /* a write was stopped in the middle: nothing can follow it */
    char run[37]; /* uuid */
    char *path;   /* of a Unix listener, absolute: removed when it is closed; owned */
    TfyNetQueue takes, gives;
    TfyBuffer in;
    size_t at;      /* bytes of in that were handed out */
    size_t scanned; /* bytes of in, from at, that contain no end of a line */
    int64_t turn_ns;
    uint32_t at_once; /* steps answered at once in that turn */
    uint64_t again;   /* a timer: the queues are inspected again in the next turn; 0: none */
    TfyLink link;     /* of the table */
};

struct TfyNet {
    TfyLoop *loop;
    TfyTable table; /* by handle */
    int64_t serial;
    int64_t standard_in; /* its handle, while it is open; 0: it is not */
    char *chunk;         /* the buffer into which bytes are received first */
};

/* net.c. Adds a descriptor of the task's run. NULL: no memory, or the poller refuses it (then fd is closed and
 * errno says why). */
TfyDescriptor *tfy__net_add(TfyNet *net, TfyTask *task, int fd, int kind);
/* Describes an error in words for people; error: an errno value. */
const char *tfy__net_explain(int error);

/* net_address.c */
typedef struct TfyNetAddress {
    bool local;     /* a Unix socket */
    char host[256]; /* empty: every address of this machine */
    char port[8];
    char path[4096]; /* absolute */
} TfyNetAddress;
/* Parses "host:port", "1.2.3.4:port", "[::1]:port", ":port" or "unix:path". NULL, or a text that says what is
 * wrong. */
const char *tfy__net_address(TfyTask *task, const TfyObj *text, TfyNetAddress *out);
/* In the form that people write; at most size bytes. */
void tfy__net_address_text(const struct sockaddr_storage *address, socklen_t len, char *out, size_t size);
/* The socket address of a Unix path. A long path is reached through a descriptor of its directory, which is opened
 * for it: *dir, to be closed; -1: none. 0 or -errno. */
struct sockaddr_un;
int tfy__net_local_address(const char *path, struct sockaddr_un *out, int *dir);

/* net_dial.c: listen and connect, which may have to resolve a name first and try several addresses. */
void tfy__net_dial(TfyNet *net, TfyCall *call);
void tfy__net_dial_abort(TfyCall *call);

#endif
