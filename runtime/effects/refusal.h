/* refusal.h: did a tool fail because of its sandbox? Nobody says so: the kernel answers the tool with an error, and the
 * tool prints what it makes of that. So the last lines of its stderr are searched for the words of the errors that a
 * sandbox causes. A path in such a line is then looked at from outside: what nobody refuses here, and what this process
 * may not do either, was not refused by the sandbox.
 *
 * This is a guess, for people. Nothing is ever allowed because of it. */
#ifndef TFY_EFFECTS_REFUSAL_H
#define TFY_EFFECTS_REFUSAL_H

#include "effects/sandbox.h"

typedef struct TfyRefusal {
    char grant[PATH_MAX + 16]; /* "reads=/srv/data", as in --grant TOOL:…; "": nothing that could be granted is known */
    char host[272];            /* what the proxy refused; "": nothing */
} TfyRefusal;

/* tail: the last lines of stderr, len bytes; host: the "host:port" that the proxy refused, or "". */
bool tfy__refusal_find(const TfyConfined *confined, const char *tail, size_t len, const char *host, TfyRefusal *out);

/* Appends the sentence: what the sandbox allows, and what to type. */
void tfy__refusal_say(const TfyConfined *confined, const char *tool, const TfyRefusal *refusal, TfyBuffer *out);

#endif
