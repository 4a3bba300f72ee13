/* llm_stream.c: see llm_stream.h. */
#include "effects/llm_stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "effects/llm_form.h"
#include "value/json.h"

static const char DONE[] = "[DONE]"; /* the last event of chat completions is no JSON */

enum { PIECE_SIZE = 4096 }; /* counts for one without content, so that a stream of empty ones ends, too */

static void take_object(TfyLlmStream *stream, const json_t *event)
{
    const json_t *error = json_object_get(event, "error");
    if (!stream->whole) stream->whole = json_object();
    if (!stream->whole)
        stream->failed = true;
    else if (error && !json_is_null(error))
        tfy__llm_stream_fail(stream, error);
    else
        stream->form->take(stream, event);
}

bool tfy__llm_stream_take(TfyLlmStream *stream, const char *data, size_t len)
{
    if (!len || stream->ended) return true;
    if (len == sizeof DONE - 1 && memcmp(data, DONE, len) == 0) return stream->ended = true;
    json_t *event = tfy__json_read(data, len, JSON_ALLOW_NUL, NULL);
    const bool fits = json_is_object(event);
    if (fits) take_object(stream, event);
    json_decref(event);
    return fits;
}

json_t *tfy__llm_stream_response(TfyLlmStream *stream)
{
    return stream->failed || !stream->whole ? NULL : stream->form->whole(stream);
}

void tfy__llm_stream_free(TfyLlmStream *stream)
{
    for (uint32_t i = 0; i < stream->count; i++) {
        json_decref(stream->pieces[i].item);
        tfy__buffer_free(&stream->pieces[i].text);
        tfy__buffer_free(&stream->pieces[i].other);
    }
    free(stream->pieces);
    json_decref(stream->whole);
    json_decref(stream->error);
    tfy__buffer_free(&stream->said);
    *stream = (TfyLlmStream){.form = stream->form, .most = stream->most};
}

/* ---- for the forms ---- */

TfyLlmPiece *tfy__llm_piece(const TfyLlmStream *stream, int64_t index)
{
    for (uint32_t i = stream->count; i-- > 0;)
        if (stream->pieces[i].index == index) return &stream->pieces[i];
    return NULL;
}

static void count(TfyLlmStream *stream, size_t len)
{
    stream->size += len;
    stream->too_long |= stream->size > stream->most;
}

TfyLlmPiece *tfy__llm_piece_new(TfyLlmStream *stream, int64_t index, const json_t *item)
{
    json_t *copy = json_is_object(item) ? json_deep_copy(item) : json_object();
    count(stream, PIECE_SIZE + (item ? json_dumpb(item, NULL, 0, JSON_COMPACT) : 0));
    if (!copy || !GROW(stream->pieces, stream->cap, stream->count + 1, 4)) {
        json_decref(copy);
        stream->failed = true;
        return NULL;
    }
    TfyLlmPiece *piece = &stream->pieces[stream->count++];
    *piece = (TfyLlmPiece){.index = index, .item = copy};
    return piece;
}

void tfy__llm_piece_add(TfyLlmStream *stream, TfyBuffer *to, const json_t *text)
{
    const size_t len = json_string_length(text);
    count(stream, len);
    if (stream->too_long || !json_is_string(text)) return;
    tfy__buffer_add(to, json_string_value(text), len);
    stream->failed |= to->failed;
}

void tfy__llm_piece_say(TfyLlmStream *stream, TfyBuffer *to, const json_t *text)
{
    if (to) tfy__llm_piece_add(stream, to, text);
    if (!stream->too_long && json_is_string(text))
        tfy__buffer_add(&stream->said, json_string_value(text), json_string_length(text));
}

json_t *tfy__llm_piece_text(const TfyBuffer *text)
{
    return json_stringn(text->data ? text->data : "", text->len);
}

void tfy__llm_stream_fail(TfyLlmStream *stream, const json_t *error)
{
    if (!stream->error) stream->error = json_incref((json_t *)error);
}

void tfy__llm_stream_keep(TfyLlmStream *stream, const char *name, const json_t *value)
{
    if (value && !json_is_null(value)) json_object_set(stream->whole, name, (json_t *)value);
}
