/* fuzz_proxy.c: any bytes are a request to the proxy or refused; what is sent on of an accepted one is one request, to the host that was checked. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "effects/proxy_request.h"

static void must(bool fact)
{
    if (!fact) abort();
}

/* How often a field is there, by a reading of our own: after a line's end, in any case. */
static int fields(const char *text, const char *field)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, "\r\n")); at += 2)
        count += strncasecmp(at + 2, field, strlen(field)) == 0;
    return count;
}

static void try_forward(const TfyProxyRequest *request)
{
    char target[TFY_PROXY_TARGET_TEXT], again[TFY_PROXY_TARGET_TEXT], host[TFY_PROXY_TARGET_TEXT + 8];
    TfyBuffer out = {0}, absolute = {0};
    TfyProxyRequest other;
    tfy__proxy_forward(request, &out);
    must(!out.failed && strlen(out.data) == out.len && out.len > 4);
    /* One head, whose end is its only empty line; no end of a line but CR LF. */
    must(strstr(out.data, "\r\n\r\n") == out.data + out.len - 4);
    for (size_t i = 0; i < out.len; i++) must((out.data[i] == '\n') == (i && out.data[i - 1] == '\r'));
    must(fields(out.data, "Host:") == 1 && fields(out.data, "Connection:") == 1 && fields(out.data, "Proxy-") == 0);
    must(fields(out.data, "Transfer-Encoding:") == 0 && fields(out.data, "Content-Length:") <= 1);
    must(!strstr(out.data, "\r\n ") && !strstr(out.data, "\r\n\t"));
    const char *path = strchr(out.data, ' ') + 1;
    must(*path == '/' && strchr(path, ' ') < strstr(out.data, "\r\n"));
    /* Read once more, as if it came to a proxy, it is the same. */
    tfy__proxy_target_text(&request->target, target);
    tfy__buffer_printf(&absolute, "%.*shttp://%s", (int)(path - out.data), out.data, target);
    tfy__buffer_add(&absolute, path, out.len - (size_t)(path - out.data));
    must(tfy__proxy_request(absolute.data, absolute.len, &other) == 0);
    tfy__proxy_target_text(&other.target, again);
    must(strcmp(target, again) == 0 && other.body == request->body && !other.tunnel);
    if (request->target.port == 80) *strrchr(target, ':') = 0;
    snprintf(host, sizeof host, "\r\nHost: %s\r\n", target);
    must(strstr(out.data, host));
    tfy__buffer_free(&out);
    tfy__buffer_free(&absolute);
}

static void try_target(const TfyProxyTarget *target)
{
    static const char *const rules[] = {"allowed.example:443", "*.allowed.example:80", "127.0.0.1:80", NULL};
    TfyProxyTarget again;
    char text[TFY_PROXY_TARGET_TEXT];
    tfy__proxy_target_text(target, text);
    must(target->port && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_.:[]")]);
    must(tfy__proxy_target(text, strlen(text), 0, &again) && strcmp(target->host, again.host) == 0);
    must(target->kind == again.kind && target->port == again.port);
    if (tfy__proxy_allows(rules, target)) {
        const char *below = strstr(text, ".allowed.example:80");
        must(strcmp(text, rules[0]) == 0 || strcmp(text, rules[2]) == 0 || (below && below > text && !below[19]));
    }
    must(!tfy__proxy_rule_wrong(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    TfyProxyRequest request;
    char *bytes = malloc(size + 1);
    memcpy(bytes, data, size);
    bytes[size] = 0;
    tfy__proxy_rule_wrong(bytes);
    char *exact = malloc(size ? size : 1); /* nothing behind it */
    memcpy(exact, data, size);
    const size_t head = tfy__proxy_head(exact, size, 0);
    must(head <= size);
    for (size_t seen = size > 9 ? size - 9 : 0; seen <= size; seen++)
        if (!tfy__proxy_head(exact, seen, 0)) must(tfy__proxy_head(exact, size, seen) == head);
    if (head && tfy__proxy_request(exact, head, &request) == 0) {
        try_target(&request.target);
        must(!request.tunnel || !request.body);
        if (!request.tunnel) try_forward(&request);
    }
    TfyProxyTarget target;
    if (tfy__proxy_target(exact, size, 0, &target)) try_target(&target);
    free(exact);
    free(bytes);
    return 0;
}
