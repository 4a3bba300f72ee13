/* caller.c: see caller.h. */
#include "serve/caller.h"

#include <netdb.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/bounds.h"
#include "serve/cookie.h"
#include "serve/door.h"
#include "serve/tls.h"

void tfy__cookie_name(const TfyServer *server, bool tls, char name[48])
{
    const uint8_t *db = server->uuid;
    snprintf(name, 48, "%stfy_session_%02x%02x%02x%02x", tls ? "__Host-" : "", db[0], db[1], db[2], db[3]);
}

/* ---- the server's own socket ---- */

static bool by_socket(TfyRequest *request, int fd)
{
    TfyCaller *caller = &request->caller;
    struct ucred peer;
    socklen_t len = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || (peer.uid != geteuid() && peer.uid != 0))
        return true;
    caller->how = "unix";
    caller->roles = TFY_ROLE_ALL;
    snprintf(caller->name, sizeof caller->name, "%s", peer.uid == 0 ? request->server->root : request->server->user);
    return true;
}

/* ---- where it comes from ---- */

/* Of a proxy, the one that it has added last: what stands before may be anybody's. */
static void take_address(TfyCaller *caller, const TfyRequestHead *asked, const TfyCame *came)
{
    const char *told = came->listen->proxy ? tfy__header(asked, "X-Forwarded-For") : NULL;
    const char *last = told && strrchr(told, ',') ? strrchr(told, ',') + 1 : told;
    if (last) {
        last += strspn(last, " \t");
        snprintf(caller->from, sizeof caller->from, "%.*s", (int)strspn(last, "0123456789abcdefABCDEF.:"), last);
    } else if (came->from) {
        const socklen_t len =
            came->from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
        (void)getnameinfo(came->from, len, caller->from, sizeof caller->from, NULL, 0, NI_NUMERICHOST);
    }
}

/* ---- who says so ---- */

static bool fails(TfyRequest *request, const char *why)
{
    tfy__bounds_failed(request->server->bounds, request->caller.from);
    request->caller.roles = 0;
    return tfy__problem(&request->problem, TFY_PROBLEM_UNAUTHENTICATED, "%s", why);
}

static bool is_known(TfyRequest *request, TfyKnown known, const char *why)
{
    if (known == TFY_KNOWN) return true;
    if (known == TFY_KNOWN_NOT) return fails(request, why);
    request->retry_after_s = 1;
    return tfy__problem(&request->problem, TFY_PROBLEM_BUSY, "%s asks more often than its rate", request->caller.name);
}

static bool by_bearer(TfyRequest *request, const char *told)
{
    static const char bearer[] = "Bearer ";
    const size_t len = sizeof bearer - 1;
    if (strncasecmp(told, bearer, len) != 0 || strlen(told + len) >= TFY_SECRET_SIZE)
        return fails(request, "Authorization is Bearer and a token");
    return is_known(request, tfy__door_token(request->server->door, told + len, &request->caller),
                    "the token is not known, or has expired");
}

/* The roles of the groups that the proxy names. */
static unsigned roles_of_groups(const TfyListen *listen, const char *told)
{
    unsigned roles = 0;
    while (told && *told) {
        unsigned of_group = 0;
        char group[128];
        told += strspn(told, " \t,");
        const size_t len = strcspn(told, ",");
        snprintf(group, sizeof group, "%.*s", (int)(len < 127 ? len : 127), told);
        for (size_t end = strlen(group); end && strchr(" \t", group[end - 1]);) group[--end] = '\0';
        (void)tfy__roles_read(json_object_get(listen->groups, group), &of_group); /* it was checked when it was read */
        roles |= of_group;
        told += len;
    }
    return roles;
}

static bool by_proxy(TfyRequest *request, const TfyRequestHead *asked, const TfyListen *listen, const char *user)
{
    TfyCaller *caller = &request->caller;
    const char *groups = listen->groups_header ? tfy__header(asked, listen->groups_header) : NULL;
    if (!*user || strlen(user) >= sizeof caller->name) return fails(request, "the proxy names nobody");
    snprintf(caller->name, sizeof caller->name, "%s", user);
    caller->how = "proxy";
    caller->roles = roles_of_groups(listen, groups);
    return true;
}

static bool by_certificate(TfyRequest *request, const char *name)
{
    request->caller.how = "certificate";
    return is_known(request, tfy__door_named(request->server->door, name, &request->caller),
                    "nobody has given roles to the name of the certificate");
}

/* The cookie of a session that has ended is nobody's: its browser may log in again. */
static bool by_cookie(TfyRequest *request, const TfyRequestHead *asked, const char *session)
{
    const char *ours = tfy__header(asked, "Tfy-Request");
    const TfyKnown known = tfy__door_session(request->server->door, session, &request->caller);
    if (known == TFY_KNOWN_NOT) return true;
    if (tfy__method_changes(request->method) && (!ours || strcmp(ours, "1") != 0))
        return tfy__problem(&request->problem, TFY_PROBLEM_FORBIDDEN, "a browser changes things with Tfy-Request: 1");
    snprintf(request->session, sizeof request->session, "%s", session);
    return is_known(request, known, "");
}

/* The first way that the request names is the one that counts. */
static bool by_what_it_shows(TfyRequest *request, const TfyRequestHead *asked, const TfyCame *came)
{
    const TfyListen *listen = came->listen;
    const char *bearer = tfy__header(asked, "Authorization"), *cookies = tfy__header(asked, "Cookie"),
               *user = listen->user_header ? tfy__header(asked, listen->user_header) : NULL;
    char name[64], cookie[48], session[TFY_SECRET_SIZE];
    bool twice = false;
    const TfyClientCert cert = tfy__tls_client(came->tls, request->connection, name, sizeof name);
    if (cert == TFY_CERT_BAD) return fails(request, "the certificate does not hold, or has no URI tfy:NAME");
    /* behind a proxy with a certificate the person counts, and not the proxy */
    if (user)
        return (!came->tls || cert == TFY_CERT_NAMED) ? by_proxy(request, asked, listen, user)
                                                      : fails(request, "only the proxy names people");
    if (bearer) return by_bearer(request, bearer);
    if (cert == TFY_CERT_NAMED) return by_certificate(request, name);
    tfy__cookie_name(request->server, request->tls, cookie);
    if (cookies && tfy__cookie_find(cookies, cookie, session, sizeof session, &twice)) {
        if (twice) return tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, "the cookie is there twice");
        return by_cookie(request, asked, session);
    }
    return true;
}

bool tfy__caller_find(TfyRequest *request, const TfyRequestHead *asked, const TfyCame *came)
{
    TfyCaller *caller = &request->caller;
    caller->how = "http";
    if (!came->listen) return by_socket(request, came->fd);
    take_address(caller, asked, came);
    if (tfy__bounds_refused(request->server->bounds, caller->from)) {
        request->retry_after_s = 60;
        return tfy__problem(&request->problem, TFY_PROBLEM_BUSY, "too many have failed from %s", caller->from);
    }
    return by_what_it_shows(request, asked, came);
}
