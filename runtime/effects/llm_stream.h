/* llm_stream.h: an answer that arrives piece by piece, in the events of a stream.
 *
 * A wire form puts the pieces together to the response that its endpoint would have given in one piece, and reads that
 * (llm_form.h). So an answer is the same however it came. Nothing of a stream is used before it is complete, but the text,
 * which people may see meanwhile. */
#ifndef EFFECTS_LLM_STREAM_H
#define EFFECTS_LLM_STREAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

/* A part of the answer that grows: a text, or the arguments of a call. */
typedef struct TfyLlmPiece {
    int64_t index;         /* as the endpoint counts it */
    json_t *item;          /* its members that came whole; owned */
    TfyBuffer text, other; /* what is added to; other: a signature, or the words of a refusal */
} TfyLlmPiece;

struct TfyLlmForm;

/* All zero, but for form and most, before the first event. */
typedef struct TfyLlmStream {
    const struct TfyLlmForm *form;
    size_t most;         /* bytes of all pieces */
    json_t *whole;       /* members of the response that came whole; owned */
    TfyLlmPiece *pieces; /* in the order in which they began */
    uint32_t count, cap;
    size_t size;    /* bytes of the pieces */
    TfyBuffer said; /* text that nobody was told yet; the reader empties it */
    json_t *error;  /* the endpoint gave up: its words, {"message", …}; owned */
    bool complete;  /* the answer is whole; figures may follow */
    bool ended;     /* nothing follows */
    bool failed;    /* no memory */
    bool too_long;  /* above `most` */
} TfyLlmStream;

/* Takes the data of one event. False: it is not an event of a stream of answers. */
bool tfy__llm_stream_take(TfyLlmStream *stream, const char *data, size_t len);
/* The response as if it had come in one piece; the caller owns it. NULL: no memory. */
json_t *tfy__llm_stream_response(TfyLlmStream *stream);
void tfy__llm_stream_free(TfyLlmStream *stream); /* keeps form and most: ready for another stream */

/* ---- for the forms ---- */

/* The piece with this index; NULL: there is none. */
TfyLlmPiece *tfy__llm_piece(const TfyLlmStream *stream, int64_t index);
/* A new one, of a copy of the item (NULL: without members); NULL: no memory. */
TfyLlmPiece *tfy__llm_piece_new(TfyLlmStream *stream, int64_t index, const json_t *item);
/* Adds a string to a piece's text; other values add nothing. */
void tfy__llm_piece_add(TfyLlmStream *stream, TfyBuffer *to, const json_t *text);
/* … that people may see. to NULL: they alone. */
void tfy__llm_piece_say(TfyLlmStream *stream, TfyBuffer *to, const json_t *text);
/* What was added, as a string; the caller owns it. NULL: no memory. */
json_t *tfy__llm_piece_text(const TfyBuffer *text);
/* The endpoint gives up, for this reason, an object with its words; a reason that was given before stays. */
void tfy__llm_stream_fail(TfyLlmStream *stream, const json_t *error);
/* Keeps a member of the response that came whole; null and NULL keep what was there. */
void tfy__llm_stream_keep(TfyLlmStream *stream, const char *name, const json_t *value);

#endif
