/* sandbox_hosts.h: the list of hosts of tfy sandbox --network, and the proxy that leads to them while the command runs. */
#ifndef CLI_MAKE_SANDBOX_HOSTS_H
#define CLI_MAKE_SANDBOX_HOSTS_H

#include "effects/proxy.h"

/* A zeroed struct has no list. */
typedef struct TfySandboxHosts {
    char *text;         /* of the rules; owned */
    const char **rules; /* ends with NULL; owned; NULL: there is no list */
    TfyLoop *loop;
    TfyProxy *proxy;
} TfySandboxHosts;

/* Reads "crates.io:443,*.crates.io:443" and makes a loop for the proxy. Returns an exit status, after a message. */
int tfy__sandbox_hosts_open(TfySandboxHosts *hosts, const char *list);
/* Serves the listener from now on. 0 or -errno; then it is closed. */
int tfy__sandbox_hosts_listen(TfySandboxHosts *hosts, int listener);
/* Serves until the process, of which this is a pidfd, has exited; calls look every TFY_FAMILY_LOOK_MS or more often. */
void tfy__sandbox_hosts_serve(TfySandboxHosts *hosts, int process, void (*look)(void *arg), void *arg);
/* Says which hosts were refused. */
void tfy__sandbox_hosts_tell(const TfySandboxHosts *hosts);
void tfy__sandbox_hosts_close(TfySandboxHosts *hosts);

#endif
