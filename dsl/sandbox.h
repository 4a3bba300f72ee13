/* sandbox.h: what a tool's process may reach, as the program writes it down.
 *
 * A sandbox is constant: it is the same in every run of a program, whatever models, people and files say. So all of
 * it is known when the program is compiled, and can be read in one place. */
#ifndef DSL_SANDBOX_H
#define DSL_SANDBOX_H

#include <stdint.h>

#include "source.h"

typedef enum SandboxRoot {
    SANDBOX_WORKSPACE, /* the run's root can be written, but for what programs outside take commands from */
    SANDBOX_READONLY,  /* the root can be read */
    SANDBOX_OPEN,      /* no cell: the tool has the rights of the run */
} SandboxRoot;

typedef enum SandboxNetwork {
    NETWORK_NONE, /* a loopback of its own */
    NETWORK_ANY,  /* the host's */
    NETWORK_LIST, /* a loopback of its own, and a proxy to the hosts that are listed */
} SandboxNetwork;

typedef struct SandboxTexts {
    const char **items;
    uint32_t count, cap;
} SandboxTexts;

/* The limits of one process and its descendants; 0: the runtime's own. */
typedef struct SandboxLimits {
    int64_t memory;    /* bytes */
    int64_t files;     /* bytes of one file */
    int64_t output;    /* bytes that are kept */
    int64_t processes; /* at once */
    int64_t cpu_ms;
} SandboxLimits;

typedef struct Sandbox {
    const char *name;   /* as the program as a whole calls it: "builds", "text.builds" */
    const char *c_name; /* the same as a part of a name in C */
    SandboxRoot root;
    SandboxNetwork network;
    /* Paths, each absolute, "~/…", or below the root; without "." and ".." and a slash at the end. */
    SandboxTexts reads, writes;
    SandboxTexts hosts;  /* NETWORK_LIST: "host:port" or "*.host:port" */
    SandboxTexts runner; /* before the tool's argv; {root} and {cwd} are filled in */
    SandboxLimits limits;
} Sandbox;

/* "workspace", "readonly" and "open" need no declaration; NULL: name is none of them. */
const Sandbox *sandbox_given(const char *name);
/* Their names, and the names of the rows; NULL ends both. */
const char *const *sandbox_given_names(void);
const char *const *sandbox_rows(void);

/* Whether a tool in it can reach a network; NULL is the sandbox of a program that names none. */
static inline bool sandbox_reaches_out(const Sandbox *sandbox)
{
    return sandbox && (sandbox->root == SANDBOX_OPEN || sandbox->network != NETWORK_NONE);
}

#endif
