/* proxy_rules.h: the hosts that a list allows, and the addresses to which a name may lead.
 *
 * A rule is "host:port", "*.host:port" (every host below that one, not itself) or an address, "192.0.2.1:80" or
 * "[2001:db8::1]:80". Hosts are compared without regard to case. A name is never an address, and an address is
 * allowed by a rule that is that very address only: what a name leads to is checked behind its lookup. */
#ifndef TFY_EFFECTS_PROXY_RULES_H
#define TFY_EFFECTS_PROXY_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

typedef struct TfyProxyTarget {
    char host[256]; /* lower case, an address in its shortest form; without brackets */
    enum { TFY_PROXY_NAME, TFY_PROXY_IPV4, TFY_PROXY_IPV6 } kind;
    uint16_t port;
} TfyProxyTarget;

enum { TFY_PROXY_TARGET_TEXT = 272 }; /* bytes of a target as text, with the NUL */

/* Reads "host:port", exactly; port_else: the port if only "host" is there; 0: it must be there. */
bool tfy__proxy_target(const char *text, size_t len, uint16_t port_else, TfyProxyTarget *target);
void tfy__proxy_target_text(const TfyProxyTarget *target, char text[TFY_PROXY_TARGET_TEXT]);

/* NULL, or what is wrong with a rule, for people. */
const char *tfy__proxy_rule_wrong(const char *rule);
/* rules: ends with NULL; each is without fault. */
bool tfy__proxy_allows(const char *const *rules, const TfyProxyTarget *target);

/* The same for a ceiling of the command line: "any" and NULL allow all, "none" nothing; else rules with commas between
 * them. */
bool tfy__proxy_within(const char *ceiling, const TfyProxyTarget *target);

/* Is this the address of a host on the internet? Not: this machine, private networks, links, groups, and ranges in
 * which an address of IPv6 stands for one of IPv4. */
bool tfy__proxy_is_public(const struct sockaddr *address);

#endif
