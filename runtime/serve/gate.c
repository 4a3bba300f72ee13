/* gate.c: see gate.h. */
#include "serve/gate.h"

#include <stdlib.h>
#include <strings.h>

#include "base/hex.h"
#include "base/utf8.h"

static const char *const methods[TFY_METHOD_COUNT] = {"GET", "HEAD", "POST", "PUT", "DELETE"};

bool tfy__method_changes(TfyMethod method)
{
    return method != TFY_GET && method != TFY_HEAD;
}

const char *tfy__header(const TfyRequestHead *asked, const char *name)
{
    for (size_t i = 0; i < asked->header_count; i++)
        if (strcasecmp(asked->headers[i].name, name) == 0) return asked->headers[i].value;
    return NULL;
}

static size_t count_of(const TfyRequestHead *asked, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < asked->header_count; i++) count += strcasecmp(asked->headers[i].name, name) == 0;
    return count;
}

/* ---- percent encoding ---- */

size_t tfy__decode_percent(char *text, size_t len, bool plus)
{
    size_t to = 0;
    for (size_t at = 0; at < len; at++) {
        char c = text[at] == '+' && plus ? ' ' : text[at];
        if (c == '%') {
            const int high = at + 2 < len ? tfy__hex_digit(text[at + 1]) : -1,
                      low = at + 2 < len ? tfy__hex_digit(text[at + 2]) : -1;
            if (high < 0 || low < 0) return SIZE_MAX;
            c = (char)(high * 16 + low);
            at += 2;
        }
        text[to++] = c;
    }
    text[to] = '\0';
    return to;
}

/* ---- where a request ends ---- */

/* The library appends the second line of a header in two lines to the name of the first, so that a coding or a length would be
 * overlooked, which a proxy may have seen. */
static bool is_folded(const char *name)
{
    static const char *const ends[] = {"Content-Length", "Transfer-Encoding"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strncasecmp(name, ends[i], strlen(ends[i])) == 0 && name[strlen(ends[i])]) return true;
    return false;
}

static bool has_plain_names(const TfyRequestHead *asked, TfyProblem *problem)
{
    for (size_t i = 0; i < asked->header_count; i++) {
        const char *name = asked->headers[i].name;
        for (const char *c = name; *c; c++)
            if (*c <= ' ' || *c == ':' || (unsigned char)*c >= 0x7f)
                return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST,
                                    "the name of a header has a blank or is not ASCII");
        if (!*name) return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "a header has no name");
        if (is_folded(name))
            return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "a header that says where a body ends has two lines");
    }
    return true;
}

static bool has_one_end(const TfyRequestHead *asked, TfyProblem *problem)
{
    static const char *const once[] = {"Content-Length", "Transfer-Encoding", "Host",
                                       "Content-Type",   "Authorization",     "Origin"};
    const char *coding = tfy__header(asked, "Transfer-Encoding"), *length = tfy__header(asked, "Content-Length");
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        if (count_of(asked, once[i]) > 1)
            return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "the header %s is there twice", once[i]);
    if (coding && length)
        return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST,
                            "a body has Content-Length or Transfer-Encoding, not both");
    if (coding && strcasecmp(coding, "chunked") != 0)
        return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "a Transfer-Encoding other than chunked is not read");
    if (length && (!*length || length[strspn(length, "0123456789")]))
        return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "Content-Length is not a number");
    return true;
}

/* ---- the target ---- */

/* The path as it is written, before it is decoded: what a proxy may read in another way. */
static bool has_plain_path(const char *target, size_t len, TfyProblem *problem)
{
    for (size_t i = 0; i + 1 < len; i++)
        if (target[i] == '/' && target[i + 1] == '/')
            return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "the path has //");
    for (size_t i = 0; i + 2 < len; i++)
        if (target[i] == '%' && (strncasecmp(target + i, "%2f", 3) == 0 || strncasecmp(target + i, "%5c", 3) == 0))
            return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "the path has an encoded slash");
    return true;
}

static bool decodes(char *text, size_t len, bool path, TfyProblem *problem)
{
    const size_t size = tfy__decode_percent(text, len, false);
    if (size == SIZE_MAX)
        return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "a %% in the target is not followed by two digits");
    if (memchr(text, '\0', size)) return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "the target has a NUL");
    if (tfy__utf8_broken(text, size) < size)
        return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "the target is not UTF-8");
    if (path && strstr(text, "..")) return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "the path has ..");
    return true;
}

static bool has_plain_target(const char *target, TfyProblem *problem)
{
    const size_t len = strlen(target), path = strcspn(target, "?");
    if (len > TFY_TARGET_MAX) return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "the target is too long");
    if (target[0] != '/') return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "the target does not start with /");
    if (!has_plain_path(target, path, problem)) return false;
    char *copy = strdup(target);
    if (!copy) return tfy__problem(problem, TFY_PROBLEM_INTERNAL, "memory ran out");
    bool plain = decodes(copy, path, true, problem);
    memcpy(copy, target, len + 1);
    plain = plain && decodes(copy + path, len - path, false, problem);
    free(copy);
    return plain;
}

/* ---- who it is for, and who sends it ---- */

static bool is_one_of(const char *text, size_t len, const char *const *names)
{
    for (; *names; names++)
        if (strlen(*names) == len && strncasecmp(*names, text, len) == 0) return true;
    return false;
}

static bool is_for_us(const TfyGate *gate, const TfyRequestHead *asked, TfyProblem *problem)
{
    const char *host = tfy__header(asked, "Host");
    if (!host) return tfy__problem(problem, TFY_PROBLEM_BAD_REQUEST, "the request does not say which host it is for");
    if (!gate->hosts || is_one_of(host, strlen(host), gate->hosts)) return true;
    return tfy__problem(problem, TFY_PROBLEM_WRONG_HOST,
                        "the names of this server are in \"hosts\" of its configuration");
}

static bool has_origin(const TfyGate *gate, const char *origin, const char *scheme, bool allowed)
{
    const size_t len = strlen(scheme);
    return allowed && strncmp(origin, scheme, len) == 0 && is_one_of(origin + len, strlen(origin + len), gate->hosts);
}

static bool has_value(const TfyRequestHead *asked, const char *name, const char *value)
{
    const char *has = tfy__header(asked, name);
    return has && strcmp(has, value) == 0;
}

/* Somebody has followed a link to the page, from a mail or a chat: it is the same for everybody and says nothing, and the
 * cookie is not sent with that request. */
static bool follows_link(const TfyRequestHead *asked)
{
    return strcmp(asked->method, "GET") == 0 && strcmp(asked->target, "/") == 0 && !tfy__header(asked, "Origin") &&
           has_value(asked, "Sec-Fetch-Mode", "navigate") && has_value(asked, "Sec-Fetch-Dest", "document");
}

/* A page of somebody else's in the person's browser. Programs send neither header. */
static bool is_from_us(const TfyGate *gate, const TfyRequestHead *asked, TfyProblem *problem)
{
    const char *origin = tfy__header(asked, "Origin"), *site = tfy__header(asked, "Sec-Fetch-Site");
    const bool ours = !origin || (gate->hosts && (has_origin(gate, origin, "https://", gate->tls || gate->proxy) ||
                                                  has_origin(gate, origin, "http://", !gate->tls)));
    if (!ours) return tfy__problem(problem, TFY_PROBLEM_FORBIDDEN, "another page asks");
    if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0 && !follows_link(asked))
        return tfy__problem(problem, TFY_PROBLEM_FORBIDDEN, "another site asks");
    return true;
}

static bool has_json(const TfyRequestHead *asked, TfyProblem *problem)
{
    static const char json[] = "application/json";
    const char *type = tfy__header(asked, "Content-Type");
    const size_t len = sizeof json - 1;
    const char *end = type && strncasecmp(type, json, len) == 0 ? type + len : NULL;
    if (end && end[strspn(end, " \t")] == ';') return true;
    if (end && !*end) return true;
    return tfy__problem(problem, TFY_PROBLEM_MEDIA, "a body is sent with Content-Type: application/json");
}

static bool has_body(const TfyRequestHead *asked)
{
    const char *length = tfy__header(asked, "Content-Length");
    return tfy__header(asked, "Transfer-Encoding") || (length && length[strspn(length, "0")]);
}

static bool knows_method(const TfyRequestHead *asked, TfyMethod *method, TfyProblem *problem)
{
    for (int i = 0; i < TFY_METHOD_COUNT; i++) {
        *method = (TfyMethod)i;
        if (strcmp(asked->method, methods[i]) == 0) return true;
    }
    return tfy__problem(problem, TFY_PROBLEM_UNKNOWN_METHOD, "there are GET, HEAD, POST, PUT and DELETE");
}

/* DELETE needs no body, so it may have no type; every other change says what it sends. */
bool tfy__gate(const TfyGate *gate, const TfyRequestHead *asked, TfyMethod *method, TfyProblem *problem)
{
    return has_plain_names(asked, problem) && has_one_end(asked, problem) && knows_method(asked, method, problem) &&
           has_plain_target(asked->target, problem) && is_for_us(gate, asked, problem) &&
           is_from_us(gate, asked, problem) &&
           (!tfy__method_changes(*method) || (*method == TFY_DELETE && !has_body(asked)) || has_json(asked, problem));
}
