/* llm_plain.h: a message of a conversation as slices of its own text.
 *
 * A message is canonical JSON (value/thread.c), so most of what a wire form wants of it stands there already, with the same
 * bytes: such parts need not become a tree and a text again. Only what may be written in another way elsewhere makes a
 * message not plain: fractions, large numbers, escapes by number, members that few messages have. */
#ifndef EFFECTS_LLM_PLAIN_H
#define EFFECTS_LLM_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

/* A value as it stands in the text, a string with its quotes. */
typedef struct TfyLlmSlice {
    const char *at;
    size_t len; /* 0: it is not there */
} TfyLlmSlice;

/* content and role are there, and strings; so is id, if it is there. */
typedef struct TfyLlmPlain {
    TfyLlmSlice calls; /* what is between the brackets */
    TfyLlmSlice content, id, role;
} TfyLlmPlain;

typedef struct TfyLlmPlainCall {
    TfyLlmSlice args, id, tool; /* id and tool are strings */
} TfyLlmPlainCall;

/* Reads the message that starts at *at, and moves *at behind it. False: it is not plain, which says nothing of whether it
 * is a message; *at stays. */
bool tfy__llm_plain(const char **at, const char *end, TfyLlmPlain *out);
/* Takes the first of the calls. False: there are no more. */
bool tfy__llm_plain_call(TfyLlmSlice *calls, TfyLlmPlainCall *out);

#endif
