/* llm_talk.h: the messages that a task asks a model with, kept between its questions.
 *
 * Each question of an agent begins with the messages of the one before. So the messages of the newest question are kept,
 * by task and place, in two texts that only grow: as canonical JSON, of which the digest and the lines of recorded sessions
 * are made, and as the wire form that was sent. What is new is converted, once, and only parsed where it
 * is not plain (llm_plain.h); all else is compared and copied.
 *
 * Nothing depends on what is kept: a question that begins in another way, or whose talk was forgotten, is made anew. What
 * was not used longest is forgotten first, when all talks together pass a limit. */
#ifndef EFFECTS_LLM_TALK_H
#define EFFECTS_LLM_TALK_H

#include "base/table.h"
#include "core/effect.h"
#include "effects/llm_form.h"

typedef struct TfyLlmTalk {
    struct TfyLlmTalk *prev, *next; /* among those that are kept */
    TfyLink link;                   /* by task and place */
    uint64_t task;                  /* a hash of its run and path */
    const TfySite *site;            /* NULL: it is for one question */
    TfyBuffer text;                 /* {…},{…}: the messages */
    uint32_t count;                 /* of them */
    uint32_t met;                   /* of them, those that the question being made has so far */
    size_t at;                      /* bytes of these in the text */
    uint32_t fresh_from;            /* the number of the first message that was added last … */
    size_t fresh_at;                /* … and where it is in the text */
    json_t *fresh;                  /* the messages from it on; NULL: nobody has asked for them */
    bool adding;                    /* they are those of the question being made */
    TfyLlmWire wire;                /* may lag behind the text */
    size_t bytes;                   /* that it is counted with while it is kept */
} TfyLlmTalk;

/* Talks that no question is using. A zeroed struct is empty. */
typedef struct TfyLlmTalks {
    TfyTable by_place;
    TfyLlmTalk *first, *last; /* the one that was used longest ago is the first */
    size_t bytes;
} TfyLlmTalks;

/* Takes the talk of a task at a place, or a new one; talks NULL: a new one that is not kept. A question is made of it by
 * adding all its messages. NULL: no memory. */
TfyLlmTalk *tfy__talk_take(TfyLlmTalks *talks, TfyTask *task, const TfySite *site);
/* The next message, as canonical JSON. False: it is not a message; without memory text.failed is set, too. */
bool tfy__talk_add(TfyLlmTalk *talk, const char *message, size_t len);
/* All messages have been added: what is left of a longer question goes. */
void tfy__talk_end(TfyLlmTalk *talk);
/* The messages from this number on, as a list that the caller owns; NULL: no memory. */
json_t *tfy__talk_since(TfyLlmTalk *talk, uint32_t from);
/* The messages in this form, with what is opaque of the model `from`, which outlives the talk; files: whose bytes they
 * send, or NULL. NULL: no memory. */
const TfyLlmWire *tfy__talk_wire(TfyLlmTalk *talk, const TfyLlmForm *form, const char *from, const TfyLlmFiles *files);
/* The start of its first text by the user, on one line; cap: bytes of out. */
void tfy__talk_begins(TfyLlmTalk *talk, char *out, size_t cap);
/* The question is over. A talk without a place, or that failed, is freed. */
void tfy__talk_return(TfyLlmTalks *talks, TfyLlmTalk *talk);
void tfy__talks_close(TfyLlmTalks *talks);

#endif
