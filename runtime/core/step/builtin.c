/* builtin.c: the built-in effects, as the tables that generated code refers to. */
#include "tfy_program.h"

static const TfyType optional_env = {
    .kind = TFY_OPTIONAL, .name = "map<string, string>?", .elem = &tfy_type_map_string_string};
static const TfyType any_task = {.kind = TFY_TASK, .scalar = true, .name = "task", .elem = &tfy_type_nothing};

const TfyType tfy_type_handles = {.kind = TFY_LIST, .name = "list<task>", .elem = &any_task};

static const TfyField sleep_params[] = {{"duration", &tfy_type_duration, NULL, NULL}};
static const TfyField sleep_until_params[] = {{"time", &tfy_type_time, NULL, NULL}};
static const TfyField join_params[] = {{"task", &any_task, NULL, NULL}};
static const TfyField approve_params[] = {{"question", &tfy_type_string, NULL, NULL},
                                          {"details", &tfy_type_optional_string, NULL, NULL}};
static const TfyField approve_call_params[] = {{"question", &tfy_type_string, NULL, NULL},
                                               {"details", &tfy_type_optional_string, NULL, NULL},
                                               {"call", &tfy_type_optional_string, NULL, NULL}};
static const TfyField exec_params[] = {{"argv", &tfy_type_list_string, NULL, NULL},
                                       {"stdin", &tfy_type_optional_string, NULL, NULL},
                                       {"cwd", &tfy_type_optional_string, NULL, NULL},
                                       {"env", &optional_env, NULL, NULL}};
const TfyField tfy_http_params[] = {{"method", &tfy_type_string, NULL, NULL},
                                    {"url", &tfy_type_string, NULL, NULL},
                                    {"headers", &optional_env, NULL, NULL},
                                    {"body", &tfy_type_optional_string, NULL, NULL}};
static const TfyType optional_bool = {.kind = TFY_OPTIONAL, .name = "bool?", .elem = &tfy_type_bool};
static const TfyField read_params[] = {{"path", &tfy_type_string, NULL, NULL}, {"lossy", &optional_bool, NULL, NULL}};
static const TfyField glob_params[] = {{"glob", &tfy_type_string, NULL, NULL}};
static const TfyField path_params[] = {{"path", &tfy_type_string, NULL, NULL}};
static const TfyField write_bytes_params[] = {{"path", &tfy_type_string, NULL, NULL},
                                              {"data", &tfy_type_bytes, NULL, NULL}};
static const TfyField write_params[] = {{"path", &tfy_type_string, NULL, NULL}, {"text", &tfy_type_string, NULL, NULL}};
static const TfyField preview_params[] = {{"path", &tfy_type_string, NULL, NULL},
                                          {"new_text", &tfy_type_string, NULL, NULL}};
static const TfyType edits = {.kind = TFY_LIST, .name = "list<Edit>", .elem = &tfy_type_edit};
static const TfyType patches = {.kind = TFY_LIST, .name = "list<Patch>", .elem = &tfy_type_patch};
static const TfyField preview_edit_params[] = {{"path", &tfy_type_string, NULL, NULL}, {"changes", &edits, NULL, NULL}};
static const TfyField preview_diff_params[] = {{"diff", &tfy_type_string, NULL, NULL}};
static const TfyType optional_int = {.kind = TFY_OPTIONAL, .name = "int?", .elem = &tfy_type_int};
static const TfyType optional_names = {.kind = TFY_OPTIONAL, .name = "list<string>?", .elem = &tfy_type_list_string};
static const TfyType symbols = {.kind = TFY_LIST, .name = "list<Symbol>", .elem = &tfy_type_symbol};
static const TfyType places = {.kind = TFY_LIST, .name = "list<Place>", .elem = &tfy_type_place};
static const TfyField code_map_params[] = {{"focus", &optional_names, NULL, NULL},
                                           {"tokens", &optional_int, NULL, NULL}};
static const TfyField code_symbols_params[] = {{"query", &tfy_type_string, NULL, NULL},
                                               {"limit", &optional_int, NULL, NULL}};
static const TfyField code_references_params[] = {{"name", &tfy_type_string, NULL, NULL},
                                                  {"limit", &optional_int, NULL, NULL}};
static const TfyField apply_params[] = {{"patch", &tfy_type_patch, NULL, NULL}};
static const TfyField commit_params[] = {{"message", &tfy_type_string, NULL, NULL}};
static const TfyCase land_cases[] = {{"squash", NULL, 0, NULL, NULL}, {"merge", NULL, 0, NULL, NULL}};
static const TfyType land = {.kind = TFY_ENUM, .name = "Land", .cases = land_cases, .case_count = 2};
static const TfyType optional_land = {.kind = TFY_OPTIONAL, .name = "Land?", .elem = &land};
static const TfyField land_params[] = {{"message", &tfy_type_string, NULL, NULL}, {"how", &optional_land, NULL, NULL}};
static const TfyField llm_params[] = {{"prompt", &tfy_type_string, NULL, NULL},
                                      {"model", &tfy_type_optional_string, NULL, NULL},
                                      {"system", &tfy_type_optional_string, NULL, NULL}};
static const TfyField ask_params[] = {{"question", &tfy_type_string, NULL, NULL}};
static const TfyField signal_params[] = {{"name", &tfy_type_string, NULL, NULL}};
static const TfyField lock_params[] = {{"name", &tfy_type_string, NULL, NULL}, {"permits", &tfy_type_int, NULL, NULL}};
static const TfyType any_handle = {.kind = TFY_HANDLE, .scalar = true, .name = "handle"};
static const TfyField address_params[] = {{"address", &tfy_type_string, NULL, NULL}};
static const TfyField handle_params[] = {{"of", &any_handle, NULL, NULL}};
static const TfyField accept_params[] = {{"from", &tfy_type_listener, NULL, NULL}};
static const TfyField receive_params[] = {{"from", &tfy_type_stream, NULL, NULL}, {"most", &optional_int, NULL, NULL}};
static const TfyField line_params[] = {{"from", &tfy_type_stream, NULL, NULL}, {"longest", &optional_int, NULL, NULL}};
static const TfyField transmit_params[] = {{"to", &tfy_type_stream, NULL, NULL},
                                           {"text", &tfy_type_string, NULL, NULL}};
static const TfyField group_params[] = {{"tasks", &tfy_type_handles, NULL, NULL}};
static const TfyField room_params[] = {{"tasks", &tfy_type_handles, NULL, NULL}, {"limit", &tfy_type_int, NULL, NULL}};

#define EFFECT(Name, Family, Repeat, Params, Result)                                                                   \
    const TfyTool tfy_effect_##Name = {.name = #Name,                                                                  \
                                       .family = Family,                                                               \
                                       .repeat = Repeat,                                                               \
                                       .params = Params,                                                               \
                                       .param_count = sizeof Params / sizeof *Params,                                  \
                                       .result = &Result}

EFFECT(sleep, TFY_F_SLEEP, TFY_PURE, sleep_params, tfy_type_nothing);
EFFECT(sleep_until, TFY_F_SLEEP_UNTIL, TFY_PURE, sleep_until_params, tfy_type_nothing);
EFFECT(join, TFY_F_JOIN, TFY_PURE, join_params, tfy_type_nothing);
EFFECT(approve, TFY_F_APPROVE, TFY_PURE, approve_params, tfy_type_bool);
const TfyTool tfy_effect_approve_call = {.name = "approve",
                                         .family = TFY_F_APPROVE,
                                         .repeat = TFY_PURE,
                                         .params = approve_call_params,
                                         .param_count = 3,
                                         .added = 1, /* call */
                                         .result = &tfy_type_bool,
                                         .effect = &tfy_effect_approve};
EFFECT(exec, TFY_F_EXEC, TFY_ONCE, exec_params, tfy_type_exec_result);
/* One effect in three classes: the method written at a place selects the class. */
#define HTTP(Suffix, Repeat)                                                                                           \
    const TfyTool tfy_effect_http##Suffix = {.name = "http",                                                           \
                                             .family = TFY_F_HTTP,                                                     \
                                             .repeat = Repeat,                                                         \
                                             .params = tfy_http_params,                                                \
                                             .param_count = sizeof tfy_http_params / sizeof *tfy_http_params,          \
                                             .result = &tfy_type_http_response,                                        \
                                             .effect = &tfy_effect_http}
HTTP(, TFY_ONCE);
HTTP(_idempotent, TFY_IDEMPOTENT);
HTTP(_pure, TFY_PURE);
const TfyTool tfy_effect_read_file = {.name = "read_file",
                                      .family = TFY_F_READ_FILE,
                                      .repeat = TFY_PURE,
                                      .params = read_params,
                                      .param_count = 2,
                                      .added = 1, /* lossy */
                                      .result = &tfy_type_string};
EFFECT(read_bytes, TFY_F_READ_BYTES, TFY_PURE, path_params, tfy_type_bytes);
EFFECT(write_bytes, TFY_F_WRITE_BYTES, TFY_IDEMPOTENT, write_bytes_params, tfy_type_nothing);
EFFECT(write_file, TFY_F_WRITE_FILE, TFY_IDEMPOTENT, write_params, tfy_type_nothing);
EFFECT(list_files, TFY_F_LIST_FILES, TFY_PURE, glob_params, tfy_type_list_string);
EFFECT(exists, TFY_F_EXISTS, TFY_PURE, path_params, tfy_type_bool);
EFFECT(remove_file, TFY_F_REMOVE_FILE, TFY_IDEMPOTENT, path_params, tfy_type_nothing);
EFFECT(make_dir, TFY_F_MAKE_DIR, TFY_IDEMPOTENT, path_params, tfy_type_nothing);
EFFECT(code_map, TFY_F_CODE_MAP, TFY_PURE, code_map_params, tfy_type_string);
EFFECT(code_symbols, TFY_F_CODE_SYMBOLS, TFY_PURE, code_symbols_params, symbols);
EFFECT(code_outline, TFY_F_CODE_OUTLINE, TFY_PURE, path_params, symbols);
EFFECT(code_references, TFY_F_CODE_REFERENCES, TFY_PURE, code_references_params, places);
EFFECT(env, TFY_F_ENV, TFY_PURE, signal_params, tfy_type_optional_string);
EFFECT(zone, TFY_F_ZONE, TFY_PURE, signal_params, tfy_type_time_zone);
EFFECT(preview, TFY_F_PREVIEW, TFY_PURE, preview_params, tfy_type_patch);
EFFECT(preview_edit, TFY_F_PREVIEW_EDIT, TFY_PURE, preview_edit_params, tfy_type_patch);
EFFECT(preview_diff, TFY_F_PREVIEW_DIFF, TFY_PURE, preview_diff_params, patches);
EFFECT(apply, TFY_F_APPLY, TFY_IDEMPOTENT, apply_params, tfy_type_nothing);
EFFECT(commit, TFY_F_COMMIT, TFY_IDEMPOTENT, commit_params, tfy_type_string);
EFFECT(land, TFY_F_LAND, TFY_IDEMPOTENT, land_params, tfy_type_string);
EFFECT(llm, TFY_F_LLM, TFY_IDEMPOTENT, llm_params, tfy_type_string);
EFFECT(ask, TFY_F_ASK, TFY_PURE, ask_params, tfy_type_string);
EFFECT(signal, TFY_F_SIGNAL, TFY_PURE, signal_params, tfy_type_json);
EFFECT(listen, TFY_F_LISTEN, TFY_IDEMPOTENT, address_params, tfy_type_listener);
EFFECT(accept, TFY_F_ACCEPT, TFY_PURE, accept_params, tfy_type_stream);
EFFECT(connect, TFY_F_CONNECT, TFY_IDEMPOTENT, address_params, tfy_type_stream);
const TfyTool tfy_effect_stdin = {
    .name = "stdin", .family = TFY_F_STDIN, .repeat = TFY_PURE, .result = &tfy_type_stream};
EFFECT(readable, TFY_F_READABLE, TFY_PURE, handle_params, tfy_type_nothing);
EFFECT(writable, TFY_F_WRITABLE, TFY_PURE, handle_params, tfy_type_nothing);
EFFECT(read, TFY_F_READ, TFY_PURE, receive_params, tfy_type_optional_string);
EFFECT(read_line, TFY_F_READ_LINE, TFY_PURE, line_params, tfy_type_optional_string);
/* For the language it is once, so that no `retry` sends a text again. It has no StepStart, though: after a crash
 * the connection is gone, and a repeated write fails with Lost. */
EFFECT(write, TFY_F_WRITE, TFY_PURE, transmit_params, tfy_type_int);
EFFECT(address, TFY_F_ADDRESS, TFY_PURE, handle_params, tfy_type_string);
EFFECT(lock, TFY_F_LOCK, TFY_PURE, lock_params, tfy_type_nothing);
EFFECT(parallel, TFY_F_PARALLEL, TFY_PURE, group_params, tfy_type_nothing);
EFFECT(race, TFY_F_RACE, TFY_PURE, group_params, tfy_type_nothing);
EFFECT(room, TFY_F_ROOM, TFY_PURE, room_params, tfy_type_bool);
EFFECT(abandon, TFY_F_ABANDON, TFY_PURE, group_params, tfy_type_nothing);
