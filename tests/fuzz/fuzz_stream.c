/* fuzz_stream.c: streams of answers, in each wire form, cut where the input says. The framing gives the same events however
 * the bytes are cut, and an answer that is put together can be read. The first byte chooses the form, the second the
 * lengths. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "effects/llm_form.h"
#include "effects/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { MOST = 4096 };

static bool add_event(void *arg, const char *data, size_t len)
{
    CHECK(data[len] == '\0');
    tfy__buffer_add(arg, data, len);
    tfy__buffer_char(arg, '\n');
    return true;
}

static bool take_event(void *arg, const char *data, size_t len)
{
    TfyLlmStream *stream = arg;
    const bool fits = tfy__llm_stream_take(stream, data, len);
    CHECK(!stream->failed);
    CHECK(stream->size <= stream->most || stream->too_long);
    tfy__buffer_reset(&stream->said);
    return fits && !stream->too_long && !stream->error;
}

/* Feeds pieces of up to so many bytes, each of its own, so that a sanitizer sees what is read behind it. */
static bool feed(const char *text, size_t len, size_t most, TfySseTake *take, void *arg)
{
    TfySse sse = {.most = MOST};
    bool more = true;
    for (size_t at = 0, n; more && at < len; at += n) {
        n = len - at < most ? len - at : most;
        char *piece = malloc(n);
        memcpy(piece, text + at, n);
        more = tfy__sse_feed(&sse, piece, n, take, arg);
        free(piece);
    }
    CHECK(sse.line.len < MOST && sse.data.len < MOST);
    tfy__sse_free(&sse);
    return more;
}

static void read_answer(TfyLlmStream *stream)
{
    json_t *response = tfy__llm_stream_response(stream);
    TfyLlmParts parts = {.finish_reason = ""};
    const json_t *call;
    size_t i;
    if (response) stream->form->read(response, &parts);
    CHECK(parts.finish_reason);
    CHECK(!parts.text || json_is_string(parts.text));
    CHECK(!parts.refusal || json_is_string(parts.refusal));
    json_array_foreach(parts.calls, i, call) CHECK(json_object_get(call, "args"));
    json_decref(parts.text);
    json_decref(parts.calls);
    json_decref(parts.opaque);
    json_decref(response);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const apis[] = {"chat", "messages", "responses"};
    if (len < 2) return 0;
    const char *text = (const char *)data + 2;
    const size_t most = data[1] ? data[1] : 1;
    TfyBuffer once = {0}, pieces = {0};
    const bool fits = feed(text, len - 2, len, add_event, &once);
    CHECK(feed(text, len - 2, most, add_event, &pieces) == fits);
    CHECK(!fits || (once.len == pieces.len && (!once.len || memcmp(once.data, pieces.data, once.len) == 0)));
    tfy__buffer_free(&once);
    tfy__buffer_free(&pieces);
    TfyLlmStream stream = {.form = tfy__llm_form_named(apis[data[0] % 3]), .most = MOST};
    feed(text, len - 2, most, take_event, &stream);
    const json_t *error = stream.error;
    CHECK(!error || tfy__llm_error_status(error) >= 400);
    read_answer(&stream);
    tfy__llm_stream_free(&stream);
    return 0;
}
