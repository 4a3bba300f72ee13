/* fuzz_models.c: files of models, and answers of endpoints in each wire form. What is read of a file is complete and ends;
 * an answer gives calls and texts that can be recorded. The first byte chooses. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "core/effect.h"
#include "effects/llm_models.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void read_models(const char *text, size_t len)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyLlmModels *models = tfy__llm_models_read(text, len, "models.json", error);
    CHECK(models ? *tfy__llm_models_names(models) : *error);
    const TfyLlmEntry *entry = models ? tfy__llm_models_find(models, "a") : NULL;
    for (size_t steps = 0; entry; entry = entry->then) {
        CHECK(entry->form && entry->url && entry->model && steps++ < 256);
        CHECK(!entry->priced || tfy__llm_cost(entry, 1000, 10, 1000) >= 0);
    }
    tfy__llm_models_free(models);
}

static void read_answer(const char *api, const char *text, size_t len)
{
    const TfyLlmForm *form = tfy__llm_form_named(api);
    json_t *response = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
    TfyLlmParts parts = {.finish_reason = ""};
    if (response) form->read(response, &parts);
    CHECK(parts.finish_reason);
    CHECK(!parts.text || json_is_string(parts.text));
    CHECK(!parts.refusal || json_is_string(parts.refusal));
    json_t *call;
    size_t i;
    json_array_foreach(parts.calls, i, call)
    {
        CHECK(json_object_get(call, "args"));
        /* a conversation has calls as a turn names them: llm_turn.c */
        if (!json_is_string(json_object_get(call, "id"))) json_object_set_new(call, "id", json_string("c"));
        if (!json_is_string(json_object_get(call, "tool"))) json_object_set_new(call, "tool", json_string(""));
    }
    json_t *message = json_pack("{s:s, s:s, s:O?, s:{s:s, s:O?}}", "role", "assistant", "content", "", "calls",
                                parts.calls, "opaque", "from", "it", "items", parts.opaque);
    TfyLlmWire wire = {.form = form, .from = "it"};
    TfyBuffer body = {0};
    form->add(&wire, message);
    form->body(&body, &wire, &(TfyLlmAsked){.model = "m", .name = "n"});
    json_t *sent = body.failed ? NULL : json_loadb(body.data, body.len, JSON_ALLOW_NUL, NULL);
    CHECK(sent);
    json_decref(sent);
    json_decref(message);
    tfy__buffer_free(&body);
    tfy__llm_wire_free(&wire);
    json_decref(parts.text);
    json_decref(parts.calls);
    json_decref(parts.opaque);
    json_decref(response);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const apis[] = {"chat", "messages", "responses"};
    if (!len) return 0;
    const char *text = (const char *)data + 1;
    if (data[0] % 4 == 3)
        read_models(text, len - 1);
    else
        read_answer(apis[data[0] % 4], text, len - 1);
    return 0;
}
