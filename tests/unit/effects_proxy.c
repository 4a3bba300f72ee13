/* effects_proxy.c: the way out of a sandbox with a list of hosts: rules, addresses, requests, and connections through real sockets. */
#include "effects_fixture.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "effects/pool.h"
#include "effects/proxy.h"
#include "effects/proxy_request.h"
#include "effects/proxy_rules.h"

/* ---- rules ---- */

static void test_rules(void **state)
{
    static const struct {
        const char *rule, *wrong; /* wrong: the beginning of the text */
    } rules[] = {
        {"crates.io:443", NULL},
        {"*.crates.io:443", NULL},
        {"a_b.example:1", NULL},
        {"LocalHost:65535", NULL},
        {"192.0.2.1:80", NULL},
        {"[2001:db8::1]:80", NULL},
        {"*", "'*' is every host"},
        {"*:443", "'*' is every host"},
        {"https://a.b", "a host and a port"},
        {"https://a.b:443", "a host and a port"},
        {"a.b", "a host and a port"},
        {"a.b:", "a host and a port"},
        {":443", "a host and a port"},
        {"", "a host and a port"},
        {"a.b:0", "ports go from"},
        {"a.b:65536", "ports go from"},
        {"a.b:080", "ports go from"},
        {"a.b:http", "a host and a port"},
        {"a..b:443", "a host and a port"},
        {".a.b:443", "a host and a port"},
        {"a.b.:443", "a host and a port"},
        {"-a.b:443", "a host and a port"},
        {"a b.c:443", "a host and a port"},
        {"x@a.b:443", "a host and a port"},
        {"a.*.b:443", "a host and a port"},
        {"*.*.b:443", "a host and a port"},
        {"*.192.0.2.1:80", "a host and a port"},
        {"*.[::1]:80", "a host and a port"},
        {"127.1:80", "a host and a port"},
        {"2130706433:80", "a host and a port"},
        {"0x7f.0x1:80", "a host and a port"},
        {"::1:80", "a host and a port"},
        {"[::1%lo]:80", "a host and a port"},
        {"[::1:80", "a host and a port"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const char *wrong = tfy__proxy_rule_wrong(rules[i].rule);
        if (!wrong != !rules[i].wrong || (wrong && strncmp(wrong, rules[i].wrong, strlen(rules[i].wrong)) != 0))
            fail_msg("'%s': %s", rules[i].rule, wrong ? wrong : "allowed");
    }
}

static bool allows(const char *const *rules, const char *text)
{
    TfyProxyTarget target;
    if (!tfy__proxy_target(text, strlen(text), 0, &target)) fail_msg("'%s' is not a target", text);
    return tfy__proxy_allows(rules, &target);
}

static void test_allowed(void **state)
{
    static const char *const rules[] = {"crates.io:443",  "*.crates.io:443", "Plain.Example:80",
                                        "127.0.0.1:8080", "[::1]:80",        NULL};
    static const char *const good[] = {"crates.io:443",     "CRATES.io:443",    "static.crates.io:443",
                                       "a.b.crates.io:443", "plain.example:80", "127.0.0.1:8080",
                                       "[::1]:80",          "[0:0::1]:80"};
    static const char *const bad[] = {"crates.io:80",
                                      "evilcrates.io:443",
                                      "crates.io.evil.example:443",
                                      "io:443",
                                      "a.plain.example:80",
                                      "127.0.0.1:80",
                                      "127.0.0.2:8080",
                                      "localhost:8080",
                                      "[::ffff:127.0.0.1]:8080",
                                      "[::]:80",
                                      "[::1]:81"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!allows(rules, good[i])) fail_msg("'%s' is refused", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (allows(rules, bad[i])) fail_msg("'%s' is allowed", bad[i]);
    assert_false(allows(rules + 5, "crates.io:443"));
}

static struct addrinfo *numeric(const char *host, const char *port)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *list;
    assert_int_equal(getaddrinfo(host, port, &hints, &list), 0);
    return list;
}

static void test_addresses(void **state)
{
    static const char *const open[] = {"1.1.1.1",       "8.8.8.8",      "9.255.255.255", "11.0.0.0",   "100.63.255.255",
                                       "100.128.0.0",   "126.0.0.1",    "128.0.0.1",     "172.15.0.1", "172.32.0.1",
                                       "169.253.1.1",   "192.167.1.1",  "198.17.1.1",    "198.20.1.1", "223.255.255.1",
                                       "2606:4700::11", "2a00:1450::1", "3ffe::1"};
    static const char *const closed[] = {
        "0.0.0.0",     "0.1.2.3",     "10.0.0.1",         "10.255.255.255", "100.64.0.1",      "100.127.255.255",
        "127.0.0.1",   "127.255.0.1", "169.254.169.254",  "172.16.0.1",     "172.31.255.255",  "192.0.0.1",
        "192.0.2.1",   "192.88.99.1", "192.168.0.1",      "198.18.0.1",     "198.19.255.255",  "198.51.100.1",
        "203.0.113.1", "224.0.0.1",   "239.1.1.1",        "240.0.0.1",      "255.255.255.255", "::",
        "::1",         "::7f00:1",    "::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b:1::1",
        "100::1",      "2001::1",     "2001:1ff::1",      "2001:db8::1",    "2002:7f00:1::1",  "3fff::1",
        "4000::1",     "fc00::1",     "fd12::1",          "fe80::1",        "fec0::1",         "ff02::1"};
    (void)state;
    for (size_t i = 0; i < sizeof open / sizeof *open + sizeof closed / sizeof *closed; i++) {
        const bool is_open = i < sizeof open / sizeof *open;
        const char *text = is_open ? open[i] : closed[i - sizeof open / sizeof *open];
        struct addrinfo *list = numeric(text, "80");
        if (tfy__proxy_is_public(list->ai_addr) != is_open) fail_msg("%s is %s", text, is_open ? "closed" : "open");
        freeaddrinfo(list);
    }
}

/* ---- requests ---- */

static void test_requests(void **state)
{
    static const struct {
        const char *head;
        int status;
        const char *target, *forward; /* NULL: not compared */
    } cases[] = {
        {"CONNECT a.b:443 HTTP/1.1\r\nHost: a.b:443\r\n\r\n", 0, "a.b:443", NULL},
        {"CONNECT [::1]:443 HTTP/1.0\r\n\r\n", 0, "[::1]:443", NULL},
        {"CONNECT a.b:443 HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 0, "a.b:443", NULL},
        {"GET http://A.b HTTP/1.1\r\nHost: other.example\r\nX: y\r\n\r\n", 0, "a.b:80",
         "GET / HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\nX: y\r\n\r\n"},
        {"GET http://a.b:8080?q=1 HTTP/1.0\r\n\r\n", 0, "a.b:8080",
         "GET /?q=1 HTTP/1.0\r\nHost: a.b:8080\r\nConnection: close\r\n\r\n"},
        {"HEAD HTTP://[::1]:80/x/../y HTTP/1.1\r\n\r\n", 0, "[::1]:80",
         "HEAD /x/../y HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n"},
        {"POST http://a.b/p HTTP/1.1\r\nProxy-Connection: keep-alive\r\nproxy-authorization: Basic eA==\r\n"
         "Connection: keep-alive, Content-Length\r\nContent-Length: 5\r\nTE: trailers\r\nUpgrade: h2c\r\nKeep-Alive: "
         "5\r\n\r\n",
         0, "a.b:80", "POST /p HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\nContent-Length: 5\r\n\r\n"},
        {"GET http://a.b/ HTTP/1.1\r\nX:\t a\tb \t\r\nEmpty:\r\n\r\n", 0, "a.b:80", NULL},
        /* no target that a rule could allow */
        {"CONNECT allowed.example@evil:443 HTTP/1.1\r\n\r\n", 403, NULL, NULL},
        {"GET http://allowed.example@evil/ HTTP/1.1\r\n\r\n", 403, NULL, NULL},
        {"GET http://allowed.example:80@evil/ HTTP/1.1\r\n\r\n", 403, NULL, NULL},
        {"CONNECT a.b HTTP/1.1\r\n\r\n", 403, NULL, NULL},
        {"CONNECT a.b:0 HTTP/1.1\r\n\r\n", 403, NULL, NULL},
        {"CONNECT a.b:65536 HTTP/1.1\r\n\r\n", 403, NULL, NULL},
        {"CONNECT a.b:443/x HTTP/1.1\r\n\r\n", 403, NULL, NULL},
        {"CONNECT http://a.b:443 HTTP/1.1\r\n\r\n", 403, NULL, NULL},
        {"CONNECT 0x7f000001:443 HTTP/1.1\r\n\r\n", 403, NULL, NULL},
        {"CONNECT 127.1:443 HTTP/1.1\r\n\r\n", 403, NULL, NULL},
        {"CONNECT 0177.0.0.1:443 HTTP/1.1\r\n\r\n", 403, NULL, NULL},
        {"GET http:///x HTTP/1.1\r\n\r\n", 403, NULL, NULL},
        {"GET http://a.b\\@evil/ HTTP/1.1\r\n\r\n", 403, NULL, NULL},
        {"GET http://a%2eb/ HTTP/1.1\r\n\r\n", 403, NULL, NULL},
        /* no request */
        {"GET / HTTP/1.1\r\nHost: a.b\r\n\r\n", 400, NULL, NULL},
        {"GET https://a.b/ HTTP/1.1\r\n\r\n", 400, NULL, NULL},
        {"GET http://a.b/#x HTTP/1.1\r\n\r\n", 400, NULL, NULL},
        {"GET http://a.b/\x80 HTTP/1.1\r\n\r\n", 400, NULL, NULL},
        {"GET  http://a.b/ HTTP/1.1\r\n\r\n", 400, NULL, NULL},
        {"GET http://a.b/ HTTP/1.1 \r\n\r\n", 400, NULL, NULL},
        {" GET http://a.b/ HTTP/1.1\r\n\r\n", 400, NULL, NULL},
        {"GET http://a.b/ HTTP/1.1 x\r\n\r\n", 400, NULL, NULL},
        {"GET http://a.b/\r\n\r\n", 400, NULL, NULL},
        {"GET\thttp://a.b/\tHTTP/1.1\r\n\r\n", 400, NULL, NULL},
        {"GET http://a.b/ http/1.1\r\n\r\n", 400, NULL, NULL},
        {"GET http://a.b/ HTTP/1.1\r\n continued\r\n\r\n", 400, NULL, NULL},
        {"GET http://a.b/ HTTP/1.1\r\nX: a\r\n b\r\n\r\n", 400, NULL, NULL},
        {"GET http://a.b/ HTTP/1.1\r\nX : a\r\n\r\n", 400, NULL, NULL},
        {"GET http://a.b/ HTTP/1.1\r\nX\r\n\r\n", 400, NULL, NULL},
        {"GET http://a.b/ HTTP/1.1\r\n: a\r\n\r\n", 400, NULL, NULL},
        {"GET http://a.b/ HTTP/1.1\nX: y\r\n\r\n", 400, NULL, NULL},
        {"GET http://a.b/ HTTP/1.1\r\nX: a\rY: b\r\n\r\n", 400, NULL, NULL},
        {"GET http://a.b/ HTTP/1.1\r\nX: \x01\r\n\r\n", 400, NULL, NULL},
        {"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nhost: a.b\r\n\r\n", 400, NULL, NULL},
        {"POST http://a.b/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400, NULL, NULL},
        {"POST http://a.b/ HTTP/1.1\r\nContent-Length: +1\r\n\r\n", 400, NULL, NULL},
        {"POST http://a.b/ HTTP/1.1\r\nContent-Length: 1,1\r\n\r\n", 400, NULL, NULL},
        {"POST http://a.b/ HTTP/1.1\r\nContent-Length: \r\n\r\n", 400, NULL, NULL},
        {"POST http://a.b/ HTTP/1.1\r\nContent-Length: 9999999999999999999\r\n\r\n", 400, NULL, NULL},
        {"CONNECT a.b:443 HTTP/1.1\r\nContent-Length: 1\r\n\r\n", 400, NULL, NULL},
        {"\r\n\r\n", 400, NULL, NULL},
        {"PUT http://a.b/ HTTP/1.1\r\n\r\n", 405, NULL, NULL},
        {"get http://a.b/ HTTP/1.1\r\n\r\n", 405, NULL, NULL},
        {"POST http://a.b/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411, NULL, NULL},
        {"POST http://a.b/ HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: x\r\n\r\n", 411, NULL, NULL},
        {"GET http://a.b/ HTTP/2.0\r\n\r\n", 505, NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t len = strlen(cases[i].head);
        TfyProxyRequest request;
        char text[TFY_PROXY_TARGET_TEXT];
        assert_int_equal(tfy__proxy_head(cases[i].head, len, 0), len);
        for (size_t seen = 0; seen < len; seen++) {
            assert_int_equal(tfy__proxy_head(cases[i].head, seen, 0), 0);
            assert_int_equal(tfy__proxy_head(cases[i].head, len, seen), len);
        }
        char *head = malloc(len); /* no NUL behind it */
        memcpy(head, cases[i].head, len);
        const int status = tfy__proxy_request(head, len, &request);
        if (status != cases[i].status) fail_msg("%d, not %d: %s", status, cases[i].status, cases[i].head);
        if (cases[i].target) {
            tfy__proxy_target_text(&request.target, text);
            assert_string_equal(text, cases[i].target);
        }
        if (cases[i].forward) {
            TfyBuffer forward = {0};
            tfy__proxy_forward(&request, &forward);
            assert_string_equal(forward.data, cases[i].forward);
            tfy__buffer_free(&forward);
        }
        free(head);
    }
}

/* ---- sockets ---- */

static int open_loop(void **state)
{
    clock_ahead_ns = 0;
    *state = loop_open();
    return 0;
}

static int close_loop(void **state)
{
    tfy__pool_close(*state);
    loop_close(*state);
    return 0;
}

static int listen_at(const char *address, uint16_t *port)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(*port)};
    socklen_t len = sizeof name;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, address, &name.sin_addr);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, len), 0);
    assert_int_equal(listen(fd, 100), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &len), 0);
    *port = ntohs(name.sin_port);
    return fd;
}

static int connect_local(uint16_t port)
{
    const struct sockaddr_in name = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

/* A proxy and a server to which its first rule leads. */
typedef struct Scene {
    TfyLoop *loop;
    TfyProxy *proxy;
    uint16_t port, server_port;
    int server;
    char rule[32];
    const char *hosts[4];
} Scene;

static void scene_open(Scene *scene, TfyLoop *loop, const TfyProxyRules *given)
{
    TfyProxyRules rules = given ? *given : (TfyProxyRules){.hosts = NULL};
    *scene = (Scene){.loop = loop};
    scene->server = listen_at("127.0.0.1", &scene->server_port);
    snprintf(scene->rule, sizeof scene->rule, "127.0.0.1:%u", scene->server_port);
    scene->hosts[0] = scene->rule;
    scene->hosts[1] = "allowed.example:80";
    scene->hosts[2] = "localhost:80";
    if (!rules.hosts) rules.hosts = scene->hosts;
    scene->proxy = tfy__proxy_start(loop, listen_at("127.0.0.1", &scene->port), &rules);
    assert_non_null(scene->proxy);
}

static void scene_close(Scene *scene)
{
    tfy__proxy_close(scene->proxy);
    close(scene->server);
}

/* Lets the proxy work until something comes, or the end: then "" with *ended. At most 5 s. */
static size_t receive(Scene *scene, int fd, char *bytes, size_t size, bool *ended)
{
    for (int64_t end_ns = clock_ns() + INT64_C(5000000000); clock_ns() < end_ns;) {
        const ssize_t len = recv(fd, bytes, size, 0);
        *ended = len == 0 || (len < 0 && errno != EAGAIN);
        if (len >= 0 || *ended) return len < 0 ? 0 : (size_t)len;
        turn(scene->loop);
    }
    fail_msg("nothing came");
    return 0;
}

/* All until the end. */
static const char *receive_all(Scene *scene, int fd)
{
    static char all[1 << 16];
    size_t len = 0;
    for (bool ended = false; !ended;) len += receive(scene, fd, all + len, sizeof all - 1 - len, &ended);
    all[len] = 0;
    close(fd);
    return all;
}

static void expect(Scene *scene, int fd, const char *wanted)
{
    char came[4096];
    size_t len = 0;
    bool ended = false;
    while (len < strlen(wanted) && !ended) len += receive(scene, fd, came + len, strlen(wanted) - len, &ended);
    came[len] = 0;
    assert_string_equal(came, wanted);
}

static void expect_end(Scene *scene, int fd)
{
    char byte;
    bool ended;
    assert_int_equal(receive(scene, fd, &byte, 1, &ended), 0);
    assert_true(ended);
}

static void put(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static int ask(Scene *scene, const char *text)
{
    const int fd = connect_local(scene->port);
    put(fd, text);
    return fd;
}

static int accept_one(Scene *scene)
{
    int fd;
    for (int tries = 0; (fd = accept4(scene->server, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) < 0; tries++) {
        assert_true(tries < 100);
        turn(scene->loop);
    }
    return fd;
}

/* A tunnel to the server; *other: the server's end. */
static int tunnel(Scene *scene, int *other)
{
    char text[100];
    snprintf(text, sizeof text, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", scene->rule, scene->rule);
    const int fd = ask(scene, text);
    *other = accept_one(scene);
    expect(scene, fd, "HTTP/1.1 200 Connection established\r\n\r\n");
    return fd;
}

static void test_tunnel(void **state)
{
    Scene scene;
    int other;
    scene_open(&scene, *state, NULL);
    const int before = open_descriptors();
    const int fd = tunnel(&scene, &other);
    put(fd, "hello");
    expect(&scene, other, "hello");
    put(other, "yes?");
    expect(&scene, fd, "yes?");
    shutdown(fd, SHUT_WR); /* one way ends, the other goes on */
    expect_end(&scene, other);
    put(other, "still here");
    expect(&scene, fd, "still here");
    close(other);
    expect_end(&scene, fd);
    close(fd);
    run_for(*state, 20);
    assert_int_equal(open_descriptors(), before);
    assert_null(tfy__proxy_refused(scene.proxy, 0));
    scene_close(&scene);
}

/* What comes in pieces, or all at once with what follows. */
static void test_pieces(void **state)
{
    Scene scene;
    char text[100];
    scene_open(&scene, *state, NULL);
    snprintf(text, sizeof text, "CONNECT %s HTTP/1.1\r\n\r\nearly", scene.rule);
    int fd = connect_local(scene.port);
    for (const char *at = text; *at; at++) {
        assert_int_equal(send(fd, at, 1, 0), 1);
        if (at - text < 40) turn(*state);
    }
    int other = accept_one(&scene);
    expect(&scene, other, "early");
    close(fd);
    expect_end(&scene, other);
    close(other);
    scene_close(&scene);
}

/* More than both buffers and both sockets hold, read slowly: nothing is lost, and nothing is kept beyond them. */
static void test_backpressure(void **state)
{
    enum { MUCH = 24 << 20, PIECE = 1 << 16 };
    static char piece[PIECE], came[PIECE];
    Scene scene;
    int other;
    size_t sent = 0, read = 0;
    scene_open(&scene, *state, NULL);
    const int fd = tunnel(&scene, &other);
    for (int still = 0; still < 20;) { /* until it is stuck */
        for (size_t i = 0; i < PIECE; i++) piece[i] = (char)((sent + i) * 7 >> 8);
        const ssize_t len = sent < MUCH ? send(fd, piece, PIECE, MSG_NOSIGNAL) : -1;
        if (len > 0) sent += (size_t)len;
        still = len > 0 ? 0 : still + 1;
        if (len < 0) run_for(*state, 1);
    }
    assert_true(sent < MUCH);
    for (bool ended = false; !ended;) {
        for (size_t i = 0; i < PIECE; i++) piece[i] = (char)((sent + i) * 7 >> 8);
        const ssize_t len = sent < MUCH ? send(fd, piece, sent + PIECE < MUCH ? PIECE : MUCH - sent, MSG_NOSIGNAL) : -1;
        if (len > 0) sent += (size_t)len;
        if (sent == MUCH) shutdown(fd, SHUT_WR);
        const size_t taken = receive(&scene, other, came, PIECE, &ended);
        for (size_t i = 0; i < taken; i++) assert_int_equal(came[i], (char)((read + i) * 7 >> 8));
        read += taken;
    }
    assert_int_equal(read, MUCH);
    close(fd);
    close(other);
    scene_close(&scene);
}

static void test_absolute(void **state)
{
    Scene scene;
    char text[400], wanted[200];
    scene_open(&scene, *state, NULL);
    /* The second request is never passed on, whether it comes with the first or later. */
    snprintf(text, sizeof text,
             "POST http://%s/in HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 4\r\n\r\nbodyGET http://%s/second "
             "HTTP/1.1\r\n\r\n",
             scene.rule, scene.rule);
    snprintf(wanted, sizeof wanted,
             "POST /in HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody", scene.rule);
    const int fd = ask(&scene, text);
    int other = accept_one(&scene);
    expect(&scene, other, wanted);
    put(fd, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n");
    run_for(*state, 20);
    char byte;
    assert_int_equal(recv(other, &byte, 1, 0), -1);
    assert_int_equal(errno, EAGAIN);
    put(other, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    close(other);
    assert_string_equal(receive_all(&scene, fd), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_int_equal(accept(scene.server, NULL, NULL), -1);
    /* A body that is cut off is not finished by the next client. */
    snprintf(text, sizeof text, "POST http://%s/ HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf", scene.rule);
    const int cut = ask(&scene, text);
    other = accept_one(&scene);
    shutdown(cut, SHUT_WR);
    expect_end(&scene, cut);
    close(cut);
    close(other);
    scene_close(&scene);
}

/* A server that answers before the body is whole, and leaves. */
static void test_early_answer(void **state)
{
    Scene scene;
    char text[200];
    scene_open(&scene, *state, NULL);
    snprintf(text, sizeof text, "POST http://%s/ HTTP/1.0\r\nContent-Length: 100000\r\n\r\n", scene.rule);
    const int fd = ask(&scene, text);
    const int other = accept_one(&scene);
    put(other, "HTTP/1.1 413 No\r\n\r\n");
    shutdown(other, SHUT_RDWR);
    assert_string_equal(receive_all(&scene, fd), "HTTP/1.1 413 No\r\n\r\n");
    close(other);
    scene_close(&scene);
}

/* ---- refusals ---- */

static int given_look_up(const char *name, const char *port, struct addrinfo **list)
{
    const char *const addresses[] = {"127.0.0.1", "::1", "::ffff:127.0.0.1"};
    struct addrinfo **end = list;
    if (strcmp(name, "nowhere.example") == 0) return EAI_NONAME;
    for (size_t i = 0; i < 3; i++) {
        *end = numeric(addresses[i], port);
        end = &(*end)->ai_next;
    }
    return 0;
}

static void test_refused(void **state)
{
    static const char *const hosts[] = {"allowed.example:80", "nowhere.example:80", "both.example:80", "localhost:80",
                                        NULL};
    static const char *const ceiling[] = {"allowed.example:80", "nowhere.example:80", "localhost:80",
                                          "other.example:80", NULL};
    static const struct {
        const char *request, *wanted; /* wanted: status and the end of the answer */
    } cases[] = {
        {"CONNECT evil.example:443 HTTP/1.1\r\n\r\n", "403 the sandbox refused evil.example:443\n"},
        {"GET http://evil.example/ HTTP/1.1\r\n\r\n", "403 the sandbox refused evil.example:80\n"},
        {"CONNECT allowed.example:443 HTTP/1.1\r\n\r\n", "403 the sandbox refused allowed.example:443\n"},
        {"CONNECT both.example:80 HTTP/1.1\r\n\r\n", "403 the sandbox refused both.example:80\n"},
        {"CONNECT other.example:80 HTTP/1.1\r\n\r\n", "403 the sandbox refused other.example:80\n"},
        {"CONNECT 127.0.0.1:80 HTTP/1.1\r\n\r\n", "403 the sandbox refused 127.0.0.1:80\n"},
        {"CONNECT allowed.example:80 HTTP/1.1\r\n\r\n",
         "403 the sandbox refused allowed.example:80: its address is ::ffff:127.0.0.1\n"},
        {"GET http://localhost/ HTTP/1.1\r\n\r\n",
         "403 the sandbox refused localhost:80: its address is ::ffff:127.0.0.1\n"},
        {"GET http://allowed.example@evil/ HTTP/1.1\r\n\r\n",
         "403 the sandbox refused an address that is not a host and a port\n"},
        {"GET http://nowhere.example/ HTTP/1.1\r\n\r\n",
         "502 cannot connect to nowhere.example:80: there is no host with that name\n"},
        {"PUT http://allowed.example/ HTTP/1.1\r\n\r\n", "405 the sandbox passes on GET, HEAD, POST and CONNECT\n"},
        {"SSH-2.0-x\r\n\r\n", "400 this is not a request to a proxy\n"},
    };
    Scene scene;
    scene_open(&scene, *state, &(TfyProxyRules){.hosts = hosts, .ceiling = ceiling, .look_up = given_look_up});
    for (int twice = 0; twice < 2; twice++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const char *answer = receive_all(&scene, ask(&scene, cases[i].request));
            const char *body = strstr(answer, "\r\n\r\n");
            if (!body || strncmp(answer + 9, cases[i].wanted, 3) != 0 || strcmp(body + 4, cases[i].wanted + 4) != 0)
                fail_msg("%s: %s", cases[i].request, answer);
        }
    }
    static const char *const refused[] = {"evil.example:443",   "evil.example:80",  "allowed.example:443",
                                          "both.example:80",    "other.example:80", "127.0.0.1:80",
                                          "allowed.example:80", "localhost:80"};
    for (uint32_t i = 0; i < 8; i++) assert_string_equal(tfy__proxy_refused(scene.proxy, i), refused[i]);
    assert_null(tfy__proxy_refused(scene.proxy, 8));
    scene_close(&scene);
}

/* The system's own resolver. */
static void test_localhost(void **state)
{
    Scene scene;
    scene_open(&scene, *state, NULL);
    const char *answer = receive_all(&scene, ask(&scene, "CONNECT localhost:80 HTTP/1.1\r\n\r\n"));
    assert_int_equal(strncmp(answer, "HTTP/1.1 403 ", 13), 0);
    scene_close(&scene);
}

/* The answer arrives although the tool is still sending. */
static void test_long_head(void **state)
{
    enum { MUCH = 1 << 20 };
    static char much[MUCH];
    Scene scene;
    scene_open(&scene, *state, NULL);
    memset(much, 'x', MUCH);
    memcpy(much, "GET http://allowed.example/ HTTP/1.1\r\nX: ", 41);
    const int fd = connect_local(scene.port);
    for (size_t sent = 0; sent < MUCH;) {
        const ssize_t len = send(fd, much + sent, MUCH - sent, MSG_NOSIGNAL);
        assert_true(len > 0 || errno == EAGAIN);
        if (len > 0) sent += (size_t)len;
        turn(*state);
    }
    const char *answer = receive_all(&scene, fd);
    assert_int_equal(strncmp(answer, "HTTP/1.1 431 ", 13), 0);
    scene_close(&scene);
}

/* ---- limits ---- */

static void test_slow(void **state)
{
    Scene scene;
    int other;
    char byte;
    scene_open(&scene, *state, NULL);
    const int before = open_descriptors();
    const int slow = ask(&scene, "CONNECT allowed.exa"), busy = tunnel(&scene, &other);
    clock_ahead_ns += INT64_C(9000000000);
    run_for(*state, 5);
    put(slow, "m");
    run_for(*state, 5);
    assert_int_equal(recv(slow, &byte, 1, 0), -1);
    clock_ahead_ns += INT64_C(2000000000); /* a byte does not buy more time */
    assert_int_equal(strncmp(receive_all(&scene, slow), "HTTP/1.1 408 ", 13), 0);
    /* A tunnel is idle once nothing has moved for five minutes. */
    clock_ahead_ns += INT64_C(250000000000);
    put(busy, "x");
    expect(&scene, other, "x");
    clock_ahead_ns += INT64_C(250000000000);
    run_for(*state, 60);
    assert_int_equal(recv(busy, &byte, 1, 0), -1);
    clock_ahead_ns += INT64_C(51000000000);
    expect_end(&scene, busy);
    close(busy);
    close(other);
    assert_int_equal(open_descriptors(), before);
    /* One that does not read its refusal, nor end, is closed. */
    const int deaf = ask(&scene, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n");
    run_for(*state, 5);
    assert_int_equal(open_descriptors(), before + 2);
    clock_ahead_ns += INT64_C(3000000000);
    run_for(*state, 60);
    assert_int_equal(open_descriptors(), before + 1);
    close(deaf);
    scene_close(&scene);
}

static void test_many(void **state)
{
    enum { MANY = 70, AT_ONCE = 64 };
    int fds[MANY], others[MANY];
    char text[100];
    Scene scene;
    scene_open(&scene, *state, NULL);
    const int before = open_descriptors();
    snprintf(text, sizeof text, "CONNECT %s HTTP/1.1\r\n\r\n", scene.rule);
    for (int i = 0; i < MANY; i++) fds[i] = ask(&scene, text);
    for (int i = 0; i < AT_ONCE; i++) others[i] = accept_one(&scene);
    run_for(*state, 50);
    assert_int_equal(accept(scene.server, NULL, NULL), -1);
    for (int i = 0; i < MANY - AT_ONCE; i++) { /* each that ends lets one in */
        close(fds[i]);
        expect_end(&scene, others[i]);
        close(others[i]);
        others[AT_ONCE + i] = accept_one(&scene);
    }
    for (int i = MANY - AT_ONCE; i < MANY; i++) {
        expect(&scene, fds[i], "HTTP/1.1 200 Connection established\r\n\r\n");
        close(fds[i]);
        close(others[i]);
    }
    run_for(*state, 50);
    assert_int_equal(open_descriptors(), before);
    scene_close(&scene);
}

static void test_no_server(void **state)
{
    Scene scene;
    char text[100], wanted[100];
    scene_open(&scene, *state, NULL);
    close(scene.server);
    scene.server = -1;
    snprintf(text, sizeof text, "CONNECT %s HTTP/1.1\r\n\r\n", scene.rule);
    snprintf(wanted, sizeof wanted, "cannot connect to %s: Connection refused\n", scene.rule);
    assert_string_equal(strstr(receive_all(&scene, ask(&scene, text)), "\r\n\r\n") + 4, wanted);
    tfy__proxy_close(scene.proxy);
}

static int slow_look_up(const char *name, const char *port, struct addrinfo **list)
{
    usleep(100000);
    return given_look_up(name, port, list);
}

/* In each state, and while a lookup is under way. */
static void test_close(void **state)
{
    static const char *const hosts[] = {"allowed.example:80", NULL};
    Scene scene;
    int other;
    const int before = open_descriptors();
    scene_open(&scene, *state, NULL);
    const int fds[] = {ask(&scene, "CON"), tunnel(&scene, &other), ask(&scene, "x\r\n\r\n")};
    run_for(*state, 5);
    scene_close(&scene);
    for (int i = 0; i < 3; i++) close(fds[i]);
    close(other);
    scene_open(&scene, *state, &(TfyProxyRules){.hosts = hosts, .look_up = slow_look_up});
    const int waits = ask(&scene, "CONNECT allowed.example:80 HTTP/1.1\r\n\r\n");
    run_for(*state, 5);
    scene_close(&scene);
    /* The tool's time is over before the answer is there. */
    scene_open(&scene, *state, &(TfyProxyRules){.hosts = hosts, .look_up = slow_look_up});
    const int late = ask(&scene, "CONNECT allowed.example:80 HTTP/1.1\r\n\r\n");
    run_for(*state, 5);
    clock_ahead_ns += INT64_C(31000000000);
    assert_int_equal(strncmp(receive_all(&scene, late), "HTTP/1.1 504 ", 13), 0);
    run_for(*state, 150);
    scene_close(&scene);
    close(waits);
    tfy__pool_close(*state);
    /* A thread that still looks a name up outlives the pool, and closes its descriptor. */
    for (int i = 0; i < 500 && open_descriptors() != before; i++) usleep(10000);
    assert_int_equal(open_descriptors(), before);
}

/* ---- public addresses, in a network of our own ---- */

static int public_look_up(const char *name, const char *port, struct addrinfo **list)
{
    (void)name;
    *list = numeric("10.1.2.3", port);
    (*list)->ai_next = numeric("::1", port);
    (*list)->ai_next->ai_next = numeric("198.41.0.5", port); /* nobody listens there */
    (*list)->ai_next->ai_next->ai_next = numeric("198.41.0.4", port);
    return 0;
}

static bool enter_network(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    struct sockaddr_in *address = (struct sockaddr_in *)(void *)&request.ifr_addr;
    if (unshare(CLONE_NEWNET | (getuid() ? CLONE_NEWUSER : 0)) < 0) return false;
    const int link = socket(AF_INET, SOCK_DGRAM, 0);
    request.ifr_flags = IFF_UP;
    bool done = ioctl(link, SIOCSIFFLAGS, &request) == 0;
    for (int i = 0; i < 2; i++) {
        *address = (struct sockaddr_in){.sin_family = AF_INET};
        snprintf(request.ifr_name, sizeof request.ifr_name, "lo%s", i ? ":1" : "");
        inet_pton(AF_INET, i ? "198.41.0.4" : "127.0.0.1", &address->sin_addr);
        done = done && ioctl(link, SIOCSIFADDR, &request) == 0;
    }
    close(link);
    return done;
}

/* Of many addresses only the public ones are tried, one behind another. */
static void test_public(void **state)
{
    static const char *const hosts[] = {"*.example:80", NULL};
    Scene scene;
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        TfyLoop *loop = *state;
        uint16_t port = 80;
        if (!enter_network()) _exit(77);
        const int server = listen_at("198.41.0.4", &port);
        scene_open(&scene, loop, &(TfyProxyRules){.hosts = hosts, .look_up = public_look_up});
        close(scene.server);
        scene.server = server;
        const int fd = ask(&scene, "GET http://a.example/x HTTP/1.1\r\n\r\n"), other = accept_one(&scene);
        expect(&scene, other, "GET /x HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
        put(other, "done");
        close(other);
        _exit(strcmp(receive_all(&scene, fd), "done") == 0 && !tfy__proxy_refused(scene.proxy, 0) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) skip(); /* no network can be made here */
    assert_int_equal(status, 0);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
#define SOCKETS(name) cmocka_unit_test_setup_teardown(name, open_loop, close_loop)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_requests),
        SOCKETS(test_tunnel),
        SOCKETS(test_pieces),
        SOCKETS(test_backpressure),
        SOCKETS(test_absolute),
        SOCKETS(test_early_answer),
        SOCKETS(test_refused),
        SOCKETS(test_localhost),
        SOCKETS(test_long_head),
        SOCKETS(test_slow),
        SOCKETS(test_many),
        SOCKETS(test_no_server),
        SOCKETS(test_close),
        SOCKETS(test_public),
    };
    return cmocka_run_group_tests_name("effects_proxy", tests, NULL, NULL);
}
