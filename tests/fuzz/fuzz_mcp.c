/* fuzz_mcp.c: messages of MCP servers. What is read as a message has all that its kind says, and what is written of it
 * is read again as the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "mcp/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_fields(const TfyMcpMessage *message)
{
    const bool is_call = message->kind == TFY_MCP_REQUEST || message->kind == TFY_MCP_NOTIFICATION;
    CHECK((message->kind == TFY_MCP_NONE || message->kind == TFY_MCP_TOO_DEEP) == (message->why != NULL));
    CHECK(!is_call || message->method);
    CHECK(!is_call || (message->id != NULL) == (message->kind == TFY_MCP_REQUEST));
    CHECK(!is_call || !message->params || json_is_object(message->params));
    CHECK(message->kind != TFY_MCP_RESULT || (message->id && json_is_object(message->result)));
    CHECK(message->kind != TFY_MCP_ERROR || message->message);
}

static void write_again(TfyBuffer *out, const TfyMcpMessage *message)
{
    if (message->kind == TFY_MCP_REQUEST) tfy__mcp_write_request(out, 7, message->method, message->params, NULL);
    if (message->kind == TFY_MCP_NOTIFICATION) tfy__mcp_write_notification(out, message->method, message->params);
    if (message->kind == TFY_MCP_RESULT) tfy__mcp_write_result(out, message->id, message->result);
    if (message->kind == TFY_MCP_ERROR && message->id)
        tfy__mcp_write_error(out, message->id, message->code, message->message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char *text = malloc(len + !len); /* of its own, so that a sanitizer sees what is read behind it */
    TfyMcpMessage message, again;
    TfyBuffer out = {0};
    memcpy(text, data, len);
    tfy__mcp_read(text, len, &message);
    free(text);
    check_fields(&message);
    write_again(&out, &message);
    if (out.len) {
        tfy__mcp_read(out.data, out.len, &again);
        CHECK(again.kind == message.kind);
        CHECK(!message.method || strcmp(message.method, again.method) == 0);
        CHECK(message.kind != TFY_MCP_ERROR || again.code == message.code);
        CHECK(message.kind != TFY_MCP_REQUEST || tfy__mcp_is_id(again.id, 7));
        tfy__mcp_message_free(&again);
    }
    tfy__buffer_free(&out);
    tfy__mcp_message_free(&message);
    return 0;
}
