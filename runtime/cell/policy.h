/* policy.h: what a cell has to hold, and what it answers. The one header that the runtime and tfy-cell share.
 *
 *   tfy-cell SOCKET CANDIDATES CANDIDATE… ARGUMENT…
 *
 * tfy-cell is started in the place of a tool. SOCKET is the number of its end of a SOCK_SEQPACKET pair. It reads one
 * datagram there, the policy, and builds the walls in their order (TfyCellStage). Then it becomes the tool: the
 * first of the CANDIDATES (paths) that can be executed, with the ARGUMENTs, of which the first is the tool's name,
 * and with the environment that tfy-cell was given. The answer is the end of file, or one TfyCellAnswer: then the
 * tool never ran. Without candidates and arguments it builds all walls and exits with 0: a probe.
 *
 * With TFY_CELL_LISTENER or TFY_CELL_MAKE_LAYER, a TfyCellHandout comes before the end of file; or an answer comes in
 * its stead or behind it.
 *
 * No wall is ever left out. A policy that the cell does not understand to its last byte is refused (stage 0).
 *
 *   ┌──────────────┬──────┬──────┬────┬──────┬──────┬────┬───┐
 *   │ TfyCellHead  │ kind │ path │ \0 │ kind │ path │ \0 │ … │    head.size bytes, head.paths paths
 *   └──────────────┴──────┴──────┴────┴──────┴──────┴────┴───┘ */
#ifndef TFY_CELL_POLICY_H
#define TFY_CELL_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TFY_CELL_MAGIC   UINT32_C(0x6c6c6563) /* "cell" */
#define TFY_CELL_VERSION UINT32_C(2)

enum {
    TFY_CELL_POLICY_MAX = 64 << 10, /* bytes of a datagram */
    TFY_CELL_PATHS_MAX = 1024,
    TFY_CELL_FAILED = 127, /* exit status of a cell whose tool never ran */
};

/* full: all stages. partial: stages 3 to 5, where the kernel refuses namespaces. A cell never lowers its level. */
enum { TFY_CELL_FULL = 1, TFY_CELL_PARTIAL = 2 };

/* Where a cell stopped; the walls are numbered from 1. */
typedef enum TfyCellStage {
    TFY_CELL_POLICY = 0,     /* the policy was not received, or is not valid */
    TFY_CELL_NAMESPACES = 1, /* full only */
    TFY_CELL_MOUNTS = 2,     /* full only */
    TFY_CELL_RIGHTS = 3,     /* capabilities, no_new_privs, limits */
    TFY_CELL_LANDLOCK = 4,
    TFY_CELL_CALLS = 5, /* seccomp */
    TFY_CELL_START = 6, /* all walls stand, and the tool could not be executed */
} TfyCellStage;

enum {
    TFY_CELL_ROOT_WRITABLE = 1, /* else the root is only read */
    TFY_CELL_HOST_NETWORK = 2,  /* else none: full has a loopback of its own, partial no sockets */
    /* full: what the tool leaves running lives on until it ends by itself; else it ends with the tool */
    TFY_CELL_KEEP_RUNNING = 4,
    /* full, without TFY_CELL_HOST_NETWORK: a listener on the loopback of the tool is handed out */
    TFY_CELL_LISTENER = 8,
    /* partial: a ruleset comes with the policy, which a cell with TFY_CELL_MAKE_LAYER has handed out */
    TFY_CELL_LAYER = 16,
    /* partial, a probe: hands out a ruleset that allows to read everything but what is hidden below /etc. One rule for
     * each entry there takes longer than all walls, so who starts many tools has them made once. */
    TFY_CELL_MAKE_LAYER = 32,
    TFY_CELL_FLAGS = 63,
};

/* All integers in the machine's own byte order: the datagram never leaves the machine. */
typedef struct TfyCellHead {
    uint32_t magic, version;
    uint32_t size;        /* bytes of the whole datagram */
    uint32_t level;       /* TFY_CELL_FULL or TFY_CELL_PARTIAL */
    uint32_t flags;       /* TFY_CELL_ROOT_WRITABLE … */
    uint32_t descriptors; /* those below this number reach the tool, all others are closed; at least 3 */
    uint32_t paths;
    uint32_t reserved;   /* 0 */
    uint64_t memory;     /* bytes of data of one process; 0: no limit, as for all four */
    uint64_t processes;  /* full, not as root: in this cell */
    uint64_t cpu_s;      /* seconds of one process */
    uint64_t file_bytes; /* size of one file */
} TfyCellHead;

/* What a path is for. All paths are absolute and without links, "." or "..": the sender has resolved them. Order: the
 * cell sorts them itself. */
enum {
    TFY_CELL_ROOT = 'R',      /* the working root; exactly one, not "/" */
    TFY_CELL_CWD = 'C',       /* where the tool starts; exactly one */
    TFY_CELL_HOME = 'H',      /* at most one; full: becomes an empty directory; an ancestor of the root or beside it */
    TFY_CELL_TEMP = 'T',      /* at most one; partial: the empty directory that is the tool's HOME and TMPDIR */
    TFY_CELL_READS = 'r',     /* read and executed, with all below */
    TFY_CELL_WRITES = 'w',    /* the same and written; not the root, nor above it. full: also inside a PROTECTED */
    TFY_CELL_PROTECTED = 'p', /* inside the root or a WRITES: read, never written; exists */
    TFY_CELL_CLOSED = 'x',    /* neither read nor written; exists; not the root, nor above it */
};

typedef struct TfyCellPath {
    int kind;
    const char *path; /* in the datagram */
} TfyCellPath;

typedef struct TfyCellPolicy {
    TfyCellHead head;
    const char *root, *cwd, *home, *temp; /* home, temp: NULL: none */
    TfyCellPath paths[TFY_CELL_PATHS_MAX];
} TfyCellPolicy;

typedef struct TfyCellAnswer {
    uint32_t stage; /* TfyCellStage */
    int32_t error;  /* an errno value */
    uint32_t path;  /* the ordinal of the policy's path at which it failed, from 1; 0: none of them */
} TfyCellAnswer;

/* Comes with one descriptor: of a listener at 127.0.0.1 inside, or of a ruleset. No tool can take the listener's port
 * away: it is below those that a program without capabilities may use. */
#define TFY_CELL_LISTENER_MAGIC UINT32_C(0x7473696c) /* "list" */
#define TFY_CELL_LAYER_MAGIC    UINT32_C(0x7279616c) /* "layr" */
#define TFY_CELL_PROXY_PORT     880
typedef struct TfyCellHandout {
    uint32_t magic; /* what it is */
    uint32_t port;  /* a listener: TFY_CELL_PROXY_PORT; else 0 */
} TfyCellHandout;

/* Reads a datagram that stays where it is. False: it is not a valid policy of this version. */
bool tfy__cell_policy_read(const void *datagram, size_t len, TfyCellPolicy *policy);

/* Is path the directory above, or below it? Both as in a policy. */
bool tfy__cell_within(const char *path, const char *above);

#endif
