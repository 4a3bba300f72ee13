/* otlp_names.h: the names of OpenTelemetry's conventions for generative AI, version 1.41.0. They are not stable yet, so all of
 * them stand here. Names of our own start with "tfy.". */
#ifndef PUBLISH_OTLP_NAMES_H
#define PUBLISH_OTLP_NAMES_H

#define OTLP_SCHEMA "https://opentelemetry.io/schemas/1.41.0"

/* ---- resource ---- */
#define OTLP_SERVICE_NAME     "service.name"
#define OTLP_SERVICE_VERSION  "service.version"
#define OTLP_SERVICE_INSTANCE "service.instance.id"

/* ---- attributes ---- */
#define OTLP_ERROR_TYPE     "error.type"
#define OTLP_OPERATION      "gen_ai.operation.name"
#define OTLP_WORKFLOW       "gen_ai.workflow.name"
#define OTLP_PROVIDER       "gen_ai.provider.name"
#define OTLP_MODEL          "gen_ai.request.model"
#define OTLP_INPUT_TOKENS   "gen_ai.usage.input_tokens"
#define OTLP_OUTPUT_TOKENS  "gen_ai.usage.output_tokens"
#define OTLP_CACHED_TOKENS  "gen_ai.usage.cache_read.input_tokens"
#define OTLP_FINISH_REASONS "gen_ai.response.finish_reasons"
#define OTLP_TOKEN_TYPE     "gen_ai.token.type"
#define OTLP_TOOL           "gen_ai.tool.name"
#define OTLP_TOOL_CALL      "gen_ai.tool.call.id"
/* … with texts, only where they were asked for */
#define OTLP_TOOL_RESULT     "gen_ai.tool.call.result"
#define OTLP_OUTPUT_MESSAGES "gen_ai.output.messages"

/* ---- operations, which begin the names of spans ---- */
#define OTLP_INVOKE_WORKFLOW "invoke_workflow"
#define OTLP_CHAT            "chat"
#define OTLP_EXECUTE_TOOL    "execute_tool"

/* ---- metrics ---- */
#define OTLP_OPERATION_DURATION "gen_ai.client.operation.duration"
#define OTLP_TOKEN_USAGE        "gen_ai.client.token.usage"

/* ---- makers of models, by how their models' names start ---- */
#define OTLP_PROVIDERS(ROW)                                                                                            \
    ROW("claude", "anthropic")                                                                                         \
    ROW("gpt-", "openai")                                                                                              \
    ROW("gemini", "gcp.gemini")                                                                                        \
    ROW("mistral", "mistral_ai")                                                                                       \
    ROW("deepseek", "deepseek")                                                                                        \
    ROW("grok", "x_ai")

#endif
