/* llm_plain.c: see llm_plain.h. */
#include "effects/llm_plain.h"

#include <string.h>

enum { DEPTH_MOST = 16, DIGITS_MOST = 18 }; /* so many digits are written alike by all */

typedef struct Reader {
    const char *at, *end;
} Reader;

static bool takes(Reader *reader, const char *text)
{
    const size_t len = strlen(text);
    if ((size_t)(reader->end - reader->at) < len || memcmp(reader->at, text, len) != 0) return false;
    reader->at += len;
    return true;
}

static bool takes_string(Reader *reader)
{
    const char *at = reader->at, *end = reader->end;
    if (at == end || *at != '"') return false;
    for (at++; at < end && *at != '"'; at++) {
        if ((unsigned char)*at < ' ') return false;
        if (*at == '\\' && (++at == end || !memchr("\"\\bfnrt", *at, 7))) return false;
    }
    if (at == end) return false;
    reader->at = at + 1;
    return true;
}

static bool takes_number(Reader *reader)
{
    const char *digits = reader->at + (reader->at < reader->end && *reader->at == '-'), *at = digits;
    while (at < reader->end && *at >= '0' && *at <= '9') at++;
    if (at == digits || at - digits > DIGITS_MOST || (*digits == '0' && at - reader->at > 1)) return false;
    if (at < reader->end && memchr(".eE", *at, 3)) return false;
    reader->at = at;
    return true;
}

static bool takes_value(Reader *reader, int depth);

static bool takes_list(Reader *reader, int depth)
{
    if (!takes(reader, "[")) return false;
    if (takes(reader, "]")) return true;
    do
        if (!takes_value(reader, depth)) return false;
    while (takes(reader, ","));
    return takes(reader, "]");
}

static bool takes_object(Reader *reader, int depth)
{
    if (!takes(reader, "{")) return false;
    if (takes(reader, "}")) return true;
    do
        if (!takes_string(reader) || !takes(reader, ":") || !takes_value(reader, depth)) return false;
    while (takes(reader, ","));
    return takes(reader, "}");
}

static bool takes_value(Reader *reader, int depth)
{
    if (reader->at == reader->end || depth == DEPTH_MOST) return false;
    switch (*reader->at) {
    case '"': return takes_string(reader);
    case '{': return takes_object(reader, depth + 1);
    case '[': return takes_list(reader, depth + 1);
    case 't': return takes(reader, "true");
    case 'f': return takes(reader, "false");
    case 'n': return takes(reader, "null");
    default: return takes_number(reader);
    }
}

static bool string_behind(Reader *reader, const char *name, TfyLlmSlice *out)
{
    if (!takes(reader, name)) return false;
    out->at = reader->at;
    if (!takes_string(reader)) return false;
    out->len = (size_t)(reader->at - out->at);
    return true;
}

/* {"args":V,"id":"…","tool":"…"} */
static bool takes_call(Reader *reader, TfyLlmPlainCall *call)
{
    if (!takes(reader, "{\"args\":")) return false;
    call->args.at = reader->at;
    if (!takes_value(reader, 0)) return false;
    call->args.len = (size_t)(reader->at - call->args.at);
    return string_behind(reader, ",\"id\":", &call->id) && string_behind(reader, ",\"tool\":", &call->tool) &&
           takes(reader, "}");
}

/* "calls":[…], */
static bool takes_calls(Reader *reader, TfyLlmSlice *calls)
{
    TfyLlmPlainCall call;
    if (!takes(reader, "\"calls\":[")) return true;
    calls->at = reader->at;
    do
        if (!takes_call(reader, &call)) return false;
    while (takes(reader, ","));
    calls->len = (size_t)(reader->at - calls->at);
    return takes(reader, "],");
}

bool tfy__llm_plain(const char **at, const char *end, TfyLlmPlain *out)
{
    Reader reader = {*at, end};
    *out = (TfyLlmPlain){.calls = {NULL, 0}};
    if (!takes(&reader, "{") || !takes_calls(&reader, &out->calls)) return false;
    if (!string_behind(&reader, "\"content\":", &out->content)) return false;
    const Reader before = reader;
    if (!string_behind(&reader, ",\"id\":", &out->id)) {
        reader = before;
        out->id = (TfyLlmSlice){NULL, 0};
    }
    if (!string_behind(&reader, ",\"role\":", &out->role) || !takes(&reader, "}")) return false;
    *at = reader.at;
    return true;
}

bool tfy__llm_plain_call(TfyLlmSlice *calls, TfyLlmPlainCall *out)
{
    if (!calls->len) return false;
    Reader reader = {calls->at, calls->at + calls->len};
    if (!takes_call(&reader, out)) return false;
    takes(&reader, ",");
    *calls = (TfyLlmSlice){reader.at, (size_t)(reader.end - reader.at)};
    return true;
}
