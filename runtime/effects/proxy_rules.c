/* proxy_rules.c: see proxy_rules.h. */
#include "effects/proxy_rules.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* ---- hosts and ports ---- */

/* From 1 to 65535, without leading zeros; 0: it is not a port. */
static uint16_t port_of(const char *text, size_t len)
{
    unsigned port = 0;
    if (!len || len > 5 || *text == '0') return 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') return 0;
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    return port <= 65535 ? (uint16_t)port : 0;
}

static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static bool is_label(const char *label, size_t len)
{
    if (!len || len > 63 || label[0] == '-' || label[len - 1] == '-') return false;
    for (size_t i = 0; i < len; i++)
        if (!is_of_name(label[i])) return false;
    return true;
}

/* Resolvers read "127.1", "0x7f.1" and "2130706433" as addresses: a name whose last label looks like a number is not
 * a name. */
static bool looks_like_number(const char *label)
{
    if (label[0] == '0' && label[1] == 'x') return label[2 + strspn(label + 2, "0123456789abcdef")] == 0;
    return label[strspn(label, "0123456789")] == 0;
}

static bool is_name(const char *host)
{
    if (strlen(host) > 253) return false;
    for (const char *label = host;;) {
        const size_t len = strcspn(label, ".");
        if (!is_label(label, len)) return false;
        if (!label[len]) return !looks_like_number(label);
        label += len + 1;
    }
}

/* The host, which has no brackets any more. */
static bool read_host(TfyProxyTarget *target, bool brackets)
{
    struct in6_addr v6;
    struct in_addr v4;
    if (brackets) {
        target->kind = TFY_PROXY_IPV6;
        return inet_pton(AF_INET6, target->host, &v6) == 1 &&
               inet_ntop(AF_INET6, &v6, target->host, sizeof target->host);
    }
    target->kind = TFY_PROXY_IPV4;
    if (inet_pton(AF_INET, target->host, &v4) == 1)
        return inet_ntop(AF_INET, &v4, target->host, sizeof target->host) != NULL;
    target->kind = TFY_PROXY_NAME;
    return is_name(target->host);
}

bool tfy__proxy_target(const char *text, size_t len, uint16_t port_else, TfyProxyTarget *target)
{
    const bool brackets = len && text[0] == '[';
    const char *const close = brackets ? memchr(text, ']', len) : NULL;
    const char *const host = text + brackets, *const end = text + len;
    const char *host_end = brackets ? close : memchr(text, ':', len);
    if (brackets && !close) return false;
    if (!host_end) host_end = end;
    const char *const rest = host_end + brackets;
    const size_t host_len = (size_t)(host_end - host);
    *target = (TfyProxyTarget){.port = port_else};
    if (!host_len || host_len >= sizeof target->host || memchr(host, 0, host_len)) return false;
    if (rest < end) target->port = *rest == ':' ? port_of(rest + 1, (size_t)(end - rest) - 1) : 0;
    if (!target->port) return false;
    for (size_t i = 0; i < host_len; i++)
        target->host[i] = (char)(host[i] >= 'A' && host[i] <= 'Z' ? host[i] - 'A' + 'a' : host[i]);
    return read_host(target, brackets);
}

void tfy__proxy_target_text(const TfyProxyTarget *target, char text[TFY_PROXY_TARGET_TEXT])
{
    const bool brackets = target->kind == TFY_PROXY_IPV6;
    snprintf(text, TFY_PROXY_TARGET_TEXT, "%s%.255s%s:%u", brackets ? "[" : "", target->host, brackets ? "]" : "",
             target->port);
}

/* ---- rules ---- */

static bool is_wildcard(const char *rule)
{
    return rule[0] == '*' && rule[1] == '.';
}

static bool read_rule(const char *rule, TfyProxyTarget *target)
{
    const char *const host = rule + (is_wildcard(rule) ? 2 : 0);
    return tfy__proxy_target(host, strlen(host), 0, target) && (host == rule || target->kind == TFY_PROXY_NAME);
}

const char *tfy__proxy_rule_wrong(const char *rule)
{
    TfyProxyTarget target;
    const char *const port = strrchr(rule, ':');
    if (strcmp(rule, "*") == 0 || strncmp(rule, "*:", 2) == 0) return "'*' is every host; write: any";
    if (read_rule(rule, &target)) return NULL;
    if (port && port[1] && !port[1 + strspn(port + 1, "0123456789")] && !port_of(port + 1, strlen(port + 1)))
        return "ports go from 1 to 65535";
    return "a host and a port, such as \"a.b:443\"";
}

static bool rule_allows(const char *rule, const TfyProxyTarget *target)
{
    TfyProxyTarget own;
    if (!read_rule(rule, &own) || own.port != target->port || own.kind != target->kind) return false;
    if (!is_wildcard(rule)) return strcmp(own.host, target->host) == 0;
    const size_t len = strlen(own.host), its_len = strlen(target->host);
    return its_len > len + 1 && target->host[its_len - len - 1] == '.' &&
           strcmp(target->host + its_len - len, own.host) == 0;
}

bool tfy__proxy_allows(const char *const *rules, const TfyProxyTarget *target)
{
    for (; *rules; rules++)
        if (rule_allows(*rules, target)) return true;
    return false;
}

bool tfy__proxy_within(const char *ceiling, const TfyProxyTarget *target)
{
    char rule[TFY_PROXY_TARGET_TEXT];
    if (!ceiling || strcmp(ceiling, "any") == 0) return true;
    for (const char *at = ceiling; *at; at += strcspn(at, ","), at += *at == ',')
        if (snprintf(rule, sizeof rule, "%.*s", (int)strcspn(at, ","), at) < (int)sizeof rule &&
            rule_allows(rule, target))
            return true;
    return false;
}

/* ---- addresses ---- */

typedef struct Range {
    uint8_t bytes[4]; /* the first of the address */
    uint8_t bits;
} Range;

static bool is_in(const uint8_t *address, const Range *range)
{
    for (uint8_t bit = 0; bit < range->bits; bit++)
        if ((address[bit / 8] ^ range->bytes[bit / 8]) & 0x80 >> bit % 8) return false;
    return true;
}

static bool is_in_any(const uint8_t *address, const Range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_in(address, &ranges[i])) return true;
    return false;
}

/* What IANA's registry of special addresses does not call globally reachable, and groups. */
static const Range closed_v4[] = {
    {{0}, 8},            /* this network */
    {{10}, 8},           /* private */
    {{100, 64}, 10},     /* between a provider and its customers */
    {{127}, 8},          /* loopback */
    {{169, 254}, 16},    /* link-local; metadata of clouds */
    {{172, 16}, 12},     /* private */
    {{192, 0, 0}, 24},   /* protocols */
    {{192, 0, 2}, 24},   /* documentation */
    {{192, 88, 99}, 24}, /* relays of 6to4 */
    {{192, 168}, 16},    /* private */
    {{198, 18}, 15},     /* measurements */
    {{198, 51, 100}, 24},
    {{203, 0, 113}, 24}, /* documentation */
    {{224}, 3},          /* groups, reserved, broadcast */
};
/* Only 2000::/3 is given out: that leaves out loopback, mapped and translated addresses (64:ff9b::/96), private ones,
 * links and groups. */
static const Range open_v6 = {{0x20}, 3};
static const Range closed_v6[] = {
    {{0x20, 0x01, 0x00}, 23},       /* protocols; 2001::/32 is Teredo */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
    {{0x20, 0x02}, 16},             /* 6to4 */
    {{0x3f, 0xff, 0x00}, 20},       /* documentation */
};

#define COUNT(ranges) (sizeof(ranges) / sizeof *(ranges))

bool tfy__proxy_is_public(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        return !is_in_any((const uint8_t *)&v4.sin_addr, closed_v4, COUNT(closed_v4));
    }
    if (address->sa_family != AF_INET6) return false;
    struct sockaddr_in6 v6;
    memcpy(&v6, address, sizeof v6);
    return is_in(v6.sin6_addr.s6_addr, &open_v6) && !is_in_any(v6.sin6_addr.s6_addr, closed_v6, COUNT(closed_v6));
}
