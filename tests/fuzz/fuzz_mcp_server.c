/* fuzz_mcp_server.c: what the MCP server reads of clients: requests and what they say of themselves, arguments of prompts,
 * addresses, answers to questions, states that come back. The first byte chooses. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/server/asked.h"
#include "mcp/server/offer.h"
#include "mcp/server/question.h"
#include "mcp/server/state.h"
#include "base/check.h"
#include "value/form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const TfyField params[] = {{.name = "id", .type = &tfy_type_string}, {.name = "n", .type = &tfy_type_int}};
static const TfyWorkflow workflow = {.name = "w", .params = params, .param_count = 2, .result = &tfy_type_string};

static void read_request(const char *text, size_t len)
{
    TfyMcpMessage message;
    TfyMcpClient client;
    TfyMcpRefusal refusal = {.code = 0};
    TfyBuffer out = {0};
    tfy__mcp_read(text, len, &message);
    if (message.kind == TFY_MCP_REQUEST) {
        if (tfy__mcp_client_of(message.params, &client, &refusal)) CHECK(client.modern && client.revision);
        tfy__refusal_set(&refusal, 400, TFY_MCP_INVALID_REQUEST, "%s", message.method);
        tfy__refusal_write(&out, message.id, &refusal);
        tfy__mcp_client_greets(message.params, &client);
        CHECK(client.revision && !client.modern);
        json_decref(tfy__mcp_prompt_args(&workflow, message.params));
    }
    tfy__buffer_free(&out);
    tfy__mcp_message_free(&message);
}

/* The question is up to the line feed, the response behind it. */
static void read_reply(const char *text)
{
    const char *end = strchr(text, '\n');
    char key[TFY_MCP_QUESTION_KEY], error[TFY_ERROR_TEXT];
    json_t *question = json_loadb(text, end ? (size_t)(end - text) : strlen(text), 0, NULL), *body = NULL;
    json_t *response = end ? json_loads(end + 1, 0, NULL) : NULL;
    if (question) (void)tfy__mcp_question_key(question, key);
    if (question) json_decref(tfy__mcp_question_params(question, true));
    if (question && response && tfy__mcp_question_reply(question, response, &body) == TFY_MCP_REPLY_GIVEN) CHECK(body);
    if (question && end) (void)tfy__form_fits(question, end + 1, error);
    json_decref(body);
    json_decref(question);
    json_decref(response);
}

static void read_address(const char *text)
{
    const char *end = strchr(text, '\n');
    char *address = strndup(text, end ? (size_t)(end - text) : strlen(text));
    json_t *args = NULL;
    if (address && tfy__mcp_address_fits(address, end ? end + 1 : "", &args)) CHECK(args);
    json_decref(args);
    free(address);
}

/* Nobody guesses the key. */
static void read_state(const char *text, size_t len)
{
    static const TfyMcpKey key = {{7}};
    const uint8_t request[TFY_MCP_DIGEST] = {1};
    uint8_t run[16];
    CHECK(!tfy__mcp_state_read(&key, text, len, request, 0, run));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = size ? strndup((const char *)data + 1, size - 1) : NULL;
    if (!text) return 0;
    switch (*data % 4) {
    case 0: read_request((const char *)data + 1, size - 1); break;
    case 1: read_reply(text); break;
    case 2: read_address(text); break;
    default: read_state(text, strlen(text)); break;
    }
    free(text);
    return 0;
}
