/* sandbox_hosts.c: see sandbox_hosts.h. */
#include "cli/make/sandbox_hosts.h"
#include "cli/frame/commands.h"
#include "cli/make/bare_loop.h"
#include "core/world.h"
#include "effects/family.h"
#include "effects/proxy_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Cuts the text into rules. False: memory ran out. */
static bool split(TfySandboxHosts *hosts, const char *list)
{
    size_t count = 1;
    for (const char *at = list; *at; at++) count += *at == ',';
    hosts->text = tfy__sys_strdup(list);
    hosts->rules = tfy__sys_calloc(count + 1, sizeof *hosts->rules);
    if (!hosts->text || !hosts->rules) return false;
    char *rest = hosts->text;
    for (size_t i = 0; i < count; i++) hosts->rules[i] = strsep(&rest, ",");
    return true;
}

int tfy__sandbox_hosts_open(TfySandboxHosts *hosts, const char *list)
{
    char error[TFY_ERROR_TEXT] = "";
    if (!split(hosts, list)) return tfy__fail(EXIT_BUG, "memory ran out");
    for (const char **rule = hosts->rules; *rule; rule++) {
        const char *wrong = tfy__proxy_rule_wrong(*rule);
        if (wrong) return tfy__fail(EXIT_USAGE, "--network %s: %s", *rule, wrong);
    }
    if (tfy__bare_open(&hosts->loop, error) < 0)
        return tfy__fail(EXIT_MISSING, "the list of hosts cannot be served: %s", error);
    return EXIT_DONE;
}

int tfy__sandbox_hosts_listen(TfySandboxHosts *hosts, int listener)
{
    hosts->proxy = tfy__proxy_start(hosts->loop, listener, &(TfyProxyRules){.hosts = hosts->rules});
    const int error = hosts->proxy ? 0 : -errno;
    if (error) close(listener);
    return error;
}

static void on_exit_of(void *arg, uint32_t events)
{
    (void)events;
    *(bool *)arg = true;
}

void tfy__sandbox_hosts_serve(TfySandboxHosts *hosts, int process, void (*look)(void *arg), void *arg)
{
    bool exited = false;
    const int64_t watch = process < 0 ? -1 : tfy__watch_add(hosts->loop, process, TFY_FD_READ, on_exit_of, &exited);
    while (watch >= 0 && !exited && tfy__bare_turn(hosts->loop, TFY_FAMILY_LOOK_MS)) look(arg);
    if (!exited) tfy__say("the list of hosts is not served any more");
    if (watch >= 0) tfy__watch_del(hosts->loop, watch);
}

void tfy__sandbox_hosts_tell(const TfySandboxHosts *hosts)
{
    const char *refused;
    for (uint32_t i = 0; hosts->proxy && (refused = tfy__proxy_refused(hosts->proxy, i)); i++)
        tfy__say("the sandbox refused %s", refused);
}

void tfy__sandbox_hosts_close(TfySandboxHosts *hosts)
{
    tfy__proxy_close(hosts->proxy);
    if (hosts->loop) tfy_close(hosts->loop);
    free(hosts->rules);
    free(hosts->text);
    *hosts = (TfySandboxHosts){0};
}
