/* type.c: the descriptors of built-in types. */
#include "value/heap.h"
#include "value/json.h"

#include <string.h>

const TfyType tfy_type_nothing = {.kind = TFY_NOTHING, .scalar = true, .name = "nothing"};
const TfyType tfy_type_bool = {.kind = TFY_BOOL, .scalar = true, .name = "bool"};
const TfyType tfy_type_int = {.kind = TFY_INT, .scalar = true, .name = "int"};
const TfyType tfy_type_float = {.kind = TFY_FLOAT, .scalar = true, .name = "float"};
const TfyType tfy_type_duration = {.kind = TFY_DURATION, .scalar = true, .name = "duration"};
const TfyType tfy_type_time = {.kind = TFY_TIME, .scalar = true, .name = "time"};
const TfyType tfy_type_string = {.kind = TFY_STRING, .name = "string"};
const TfyType tfy_type_bytes = {.kind = TFY_BYTES, .name = "bytes"};
const TfyType tfy_type_json = {.kind = TFY_JSON, .name = "json"};
const TfyType tfy_type_thread = {.kind = TFY_LIST, .name = "thread", .elem = &tfy_type_json};
const TfyType tfy_type_listener = {.kind = TFY_HANDLE, .scalar = true, .name = "listener"};
const TfyType tfy_type_stream = {.kind = TFY_HANDLE, .scalar = true, .name = "stream"};
const TfyType tfy_type_any_error = {.kind = TFY_ANY_ERROR, .name = "error"};
const TfyType tfy_type_list_string = {.kind = TFY_LIST, .name = "list<string>", .elem = &tfy_type_string};
const TfyType tfy_type_optional_string = {.kind = TFY_OPTIONAL, .name = "string?", .elem = &tfy_type_string};
const TfyType tfy_type_map_string_string = {
    .kind = TFY_MAP, .name = "map<string, string>", .elem = &tfy_type_string, .key = &tfy_type_string};

#define FIELDS(array) .fields = array, .field_count = sizeof array / sizeof array[0]

static const TfyField exec_result_fields[] = {
    {"code", &tfy_type_int, NULL, NULL},   {"out", &tfy_type_string, NULL, NULL},
    {"err", &tfy_type_string, NULL, NULL}, {"truncated", &tfy_type_bool, NULL, NULL},
    {"lossy", &tfy_type_bool, NULL, NULL},
};
static const TfyField http_response_fields[] = {
    {"status", &tfy_type_int, NULL, NULL},  {"headers", &tfy_type_map_string_string, NULL, NULL},
    {"body", &tfy_type_string, NULL, NULL}, {"truncated", &tfy_type_bool, NULL, NULL},
    {"lossy", &tfy_type_bool, NULL, NULL},
};
const TfyType tfy_type_http_response = {.kind = TFY_RECORD, .name = "HttpResponse", FIELDS(http_response_fields)};
static const TfyField patch_fields[] = {{"path", &tfy_type_string, NULL, NULL}, {"diff", &tfy_type_string, NULL, NULL}};
const TfyType tfy_type_exec_result = {.kind = TFY_RECORD, .name = "ExecResult", FIELDS(exec_result_fields)};
static const TfyField edit_fields[] = {{"find", &tfy_type_string, NULL, NULL},
                                       {"replace", &tfy_type_string, NULL, NULL}};
const TfyType tfy_type_edit = {.kind = TFY_RECORD, .name = "Edit", FIELDS(edit_fields)};
const TfyType tfy_type_patch = {.kind = TFY_RECORD, .name = "Patch", FIELDS(patch_fields)};

static const TfyType groups_type = {.kind = TFY_LIST, .name = "list<string?>", .elem = &tfy_type_optional_string};
static const TfyField match_fields[] = {{"text", &tfy_type_string, NULL, NULL},
                                        {"start", &tfy_type_int, NULL, NULL},
                                        {"end", &tfy_type_int, NULL, NULL},
                                        {"groups", &groups_type, NULL, NULL}};
static const TfyField symbol_fields[] = {{"name", &tfy_type_string, NULL, NULL},
                                         {"kind", &tfy_type_string, NULL, NULL},
                                         {"path", &tfy_type_string, NULL, NULL},
                                         {"line", &tfy_type_int, NULL, NULL},
                                         {"end", &tfy_type_int, NULL, NULL},
                                         {"signature", &tfy_type_optional_string, NULL, NULL},
                                         {"scope", &tfy_type_optional_string, NULL, NULL}};
const TfyType tfy_type_symbol = {.kind = TFY_RECORD, .name = "Symbol", FIELDS(symbol_fields)};
static const TfyField place_fields[] = {{"path", &tfy_type_string, NULL, NULL},
                                        {"line", &tfy_type_int, NULL, NULL},
                                        {"text", &tfy_type_string, NULL, NULL}};
const TfyType tfy_type_place = {.kind = TFY_RECORD, .name = "Place", FIELDS(place_fields)};
static const TfyField time_zone_fields[] = {{"name", &tfy_type_string, NULL, NULL},
                                            {"rules", &tfy_type_string, NULL, NULL}};
const TfyType tfy_type_time_zone = {.kind = TFY_RECORD, .name = "TimeZone", FIELDS(time_zone_fields)};
const TfyType tfy_type_match = {.kind = TFY_RECORD, .name = "Match", FIELDS(match_fields)};

static const TfyField message_only[] = {{"message", &tfy_type_string, NULL, NULL}};
static const TfyField timeout_fields[] = {{"message", &tfy_type_string, NULL, NULL},
                                          {"in_doubt", &tfy_type_bool, NULL, NULL}};
static const TfyField tool_error_fields[] = {{"message", &tfy_type_string, NULL, NULL},
                                             {"tool", &tfy_type_string, NULL, NULL},
                                             {"code", &tfy_type_int, NULL, NULL}};
static const TfyField task_failed_fields[] = {{"message", &tfy_type_string, NULL, NULL},
                                              {"task", &tfy_type_string, NULL, NULL},
                                              {"kind", &tfy_type_string, NULL, NULL}};
static const TfyField budget_fields[] = {{"message", &tfy_type_string, NULL, NULL},
                                         {"what", &tfy_type_string, NULL, NULL},
                                         {"limit", &tfy_type_float, NULL, NULL},
                                         {"spent", &tfy_type_float, NULL, NULL}};
static const TfyField conflict_fields[] = {{"message", &tfy_type_string, NULL, NULL},
                                           {"paths", &tfy_type_list_string, NULL, NULL}};
static const TfyField bad_value_fields[] = {{"message", &tfy_type_string, NULL, NULL},
                                            {"path", &tfy_type_string, NULL, NULL}};

const TfyType tfy_type_timeout = {.kind = TFY_ERROR, .name = "Timeout", FIELDS(timeout_fields)};
const TfyType tfy_type_tool_error = {.kind = TFY_ERROR, .name = "ToolError", FIELDS(tool_error_fields)};
const TfyType tfy_type_task_failed = {.kind = TFY_ERROR, .name = "TaskFailed", FIELDS(task_failed_fields)};
const TfyType tfy_type_channel_closed = {.kind = TFY_ERROR, .name = "ChannelClosed", FIELDS(message_only)};
const TfyType tfy_type_bad_value = {.kind = TFY_ERROR, .name = "BadValue", FIELDS(bad_value_fields)};
const TfyType tfy_type_lost = {.kind = TFY_ERROR, .name = "Lost", FIELDS(message_only)};
const TfyType tfy_type_denied = {.kind = TFY_ERROR, .name = "Denied", FIELDS(message_only)};
const TfyType tfy_type_conflict = {.kind = TFY_ERROR, .name = "Conflict", FIELDS(conflict_fields)};
const TfyType tfy_type_budget_exceeded = {.kind = TFY_ERROR, .name = "BudgetExceeded", FIELDS(budget_fields)};
const TfyType tfy_type_panic = {.kind = TFY_ERROR, .name = "Panic", FIELDS(message_only)};
const TfyType tfy_type_cancelled = {.kind = TFY_ERROR, .name = "Cancelled", FIELDS(message_only)};

static const TfyType *const builtin_errors[] = {
    &tfy_type_timeout,   &tfy_type_tool_error, &tfy_type_task_failed, &tfy_type_channel_closed,
    &tfy_type_bad_value, &tfy_type_lost,       &tfy_type_denied,      &tfy_type_budget_exceeded,
    &tfy_type_conflict,  &tfy_type_panic,      &tfy_type_cancelled,
};

const TfyType *tfy__builtin_error(const char *name)
{
    for (size_t i = 0; i < sizeof builtin_errors / sizeof builtin_errors[0]; i++)
        if (strcmp(builtin_errors[i]->name, name) == 0) return builtin_errors[i];
    return NULL;
}

static const TfyType box_types[] = {
    [TFY_BOOL] = {.kind = TFY_BOX, .name = "bool?", .elem = &tfy_type_bool},
    [TFY_INT] = {.kind = TFY_BOX, .name = "int?", .elem = &tfy_type_int},
    [TFY_FLOAT] = {.kind = TFY_BOX, .name = "float?", .elem = &tfy_type_float},
    [TFY_DURATION] = {.kind = TFY_BOX, .name = "duration?", .elem = &tfy_type_duration},
    [TFY_TIME] = {.kind = TFY_BOX, .name = "time?", .elem = &tfy_type_time},
    [TFY_TASK] = {.kind = TFY_BOX, .name = "task?", .elem = &tfy_type_int},
    [TFY_CHANNEL] = {.kind = TFY_BOX, .name = "channel?", .elem = &tfy_type_int},
    [TFY_HANDLE] = {.kind = TFY_BOX, .name = "stream?", .elem = &tfy_type_int},
};

const TfyType *tfy__box_type(const TfyType *scalar)
{
    return &box_types[scalar->kind];
}
