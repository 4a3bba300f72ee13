/* proxy_request.c: see proxy_request.h. */
#include "effects/proxy_request.h"

#include <string.h>
#include <strings.h>

/* A part of the head. */
typedef struct Part {
    const char *at;
    size_t len;
} Part;

static bool is(Part part, const char *text)
{
    return part.len == strlen(text) && memcmp(part.at, text, part.len) == 0;
}

static bool is_any_case(Part part, const char *text)
{
    return part.len == strlen(text) && strncasecmp(part.at, text, part.len) == 0;
}

static bool is_token(Part part)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < part.len; i++) {
        const char c = part.at[i];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!plain && !(c && strchr(others, c))) return false;
    }
    return part.len > 0;
}

size_t tfy__proxy_head(const char *bytes, size_t len, size_t seen)
{
    const size_t from = seen > 3 ? seen - 3 : 0;
    const char *const end = len > from ? memmem(bytes + from, len - from, "\r\n\r\n", 4) : NULL;
    return end ? (size_t)(end - bytes) + 4 : 0;
}

/* Takes the next line, without its CR LF; the head has one. False: there is another control character in it. */
static bool take_line(const char **at, const char *end, Part *line)
{
    const char *const stop = memmem(*at, (size_t)(end - *at), "\r\n", 2);
    *line = (Part){*at, stop ? (size_t)(stop - *at) : 0};
    if (!stop) return false;
    for (size_t i = 0; i < line->len; i++) {
        const unsigned char c = (unsigned char)line->at[i];
        if ((c < ' ' && c != '\t') || c == 0x7f) return false;
    }
    *at = stop + 2;
    return true;
}

/* ---- the first line ---- */

/* Splits at exactly two spaces. */
static bool split(Part line, Part parts[3])
{
    for (int i = 0; i < 3; i++) {
        const char *const space = memchr(line.at, ' ', line.len);
        if (!space != (i == 2)) return false;
        const size_t len = space ? (size_t)(space - line.at) : line.len;
        parts[i] = (Part){line.at, len};
        if (!len) return false;
        if (space) line = (Part){space + 1, line.len - len - 1};
    }
    return true;
}

/* Visible ASCII, and nothing that starts a fragment. */
static bool is_path(Part path)
{
    for (size_t i = 0; i < path.len; i++)
        if (path.at[i] <= ' ' || path.at[i] > '~' || path.at[i] == '#') return false;
    return true;
}

/* "http://host:port/path". */
static int read_absolute(Part target, TfyProxyRequest *request)
{
    static const char scheme[] = "http://";
    const size_t skipped = sizeof scheme - 1;
    size_t len = 0;
    if (target.len < skipped || strncasecmp(target.at, scheme, skipped) != 0) return 400;
    const char *const authority = target.at + skipped;
    while (skipped + len < target.len && authority[len] != '/' && authority[len] != '?') len++;
    request->path = authority + len;
    request->path_len = target.len - skipped - len;
    if (!is_path((Part){request->path, request->path_len})) return 400;
    return tfy__proxy_target(authority, len, 80, &request->target) ? 0 : 403;
}

static int read_first(Part line, TfyProxyRequest *request)
{
    Part parts[3];
    if (!split(line, parts) || !is_token(parts[0])) return 400;
    if (parts[2].len != 8 || memcmp(parts[2].at, "HTTP/", 5) != 0) return 400;
    if (!is(parts[2], "HTTP/1.1") && !is(parts[2], "HTTP/1.0")) return 505;
    request->minor = parts[2].at[7];
    request->method = parts[0].at;
    request->method_len = parts[0].len;
    request->tunnel = is(parts[0], "CONNECT");
    if (request->tunnel) return tfy__proxy_target(parts[1].at, parts[1].len, 0, &request->target) ? 0 : 403;
    if (!is(parts[0], "GET") && !is(parts[0], "HEAD") && !is(parts[0], "POST")) return 405;
    return read_absolute(parts[1], request);
}

/* ---- fields ---- */

/* "name: value"; a line that begins with a space would continue the one before, and has no name. */
static bool split_field(Part line, Part *name, Part *value)
{
    const char *const colon = memchr(line.at, ':', line.len);
    if (!colon) return false;
    *name = (Part){line.at, (size_t)(colon - line.at)};
    *value = (Part){colon + 1, line.len - name->len - 1};
    while (value->len && (*value->at == ' ' || *value->at == '\t')) *value = (Part){value->at + 1, value->len - 1};
    while (value->len && (value->at[value->len - 1] == ' ' || value->at[value->len - 1] == '\t')) value->len--;
    return is_token(*name);
}

static bool read_length(Part value, uint64_t *length)
{
    *length = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] < '0' || value.at[i] > '9') return false;
        *length = *length * 10 + (uint64_t)(value.at[i] - '0');
    }
    return value.len > 0 && value.len < 19;
}

/* Fields that are between the tool and the proxy, or that the proxy writes itself. */
static bool stays_here(Part name)
{
    static const char *const names[] = {"Host", "Connection", "Keep-Alive", "TE", "Trailer", "Upgrade"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_any_case(name, names[i])) return true;
    return name.len >= 6 && strncasecmp(name.at, "Proxy-", 6) == 0;
}

static int read_fields(const char *at, const char *end, TfyProxyRequest *request)
{
    int lengths = 0, hosts = 0;
    Part line, name, value;
    for (;;) {
        if (!take_line(&at, end, &line)) return 400;
        if (!line.len) return 0;
        if (!split_field(line, &name, &value)) return 400;
        if (is_any_case(name, "Transfer-Encoding")) return 411; /* its end could only be found by reading it */
        if (is_any_case(name, "Host") && hosts++) return 400;
        if (is_any_case(name, "Content-Length") && (lengths++ || !read_length(value, &request->body))) return 400;
        if (request->tunnel && request->body) return 400;
    }
}

int tfy__proxy_request(const char *head, size_t len, TfyProxyRequest *request)
{
    const char *at = head, *const end = head + len;
    Part line;
    *request = (TfyProxyRequest){.tunnel = false};
    if (!take_line(&at, end, &line)) return 400;
    const int refused = read_first(line, request);
    request->fields = at;
    request->fields_len = (size_t)(end - at);
    /* A head that is not valid is that first, whomever it names. */
    const int wrong = read_fields(at, end, request);
    return wrong ? wrong : refused;
}

void tfy__proxy_forward(const TfyProxyRequest *request, TfyBuffer *out)
{
    char text[TFY_PROXY_TARGET_TEXT];
    const char *at = request->fields, *const end = at + request->fields_len;
    Part line, name, value;
    tfy__proxy_target_text(&request->target, text);
    if (request->target.port == 80) *strrchr(text, ':') = 0;
    tfy__buffer_printf(out, "%.*s %s%.*s HTTP/1.%c\r\nHost: %s\r\nConnection: close\r\n", (int)request->method_len,
                       request->method, request->path_len && *request->path == '/' ? "" : "/", (int)request->path_len,
                       request->path, request->minor, text);
    while (take_line(&at, end, &line) && line.len) {
        if (split_field(line, &name, &value) && !stays_here(name)) {
            tfy__buffer_add(out, line.at, line.len);
            tfy__buffer_text(out, "\r\n");
        }
    }
    tfy__buffer_text(out, "\r\n");
}
