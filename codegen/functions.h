/* functions.h: the runtime's functions that generated code calls as part of an expression or statement. One row each:
 * its name in the compiler, its name in C, how it answers, what it takes before its arguments, and what it gives.
 *
 * How it answers:
 *   VALUE    its value; it cannot fail
 *   MAKES    an object on the release stack; NULL after a panic
 *   OWNS     a place within an object that nobody else holds; NULL after a panic
 *   CHECKS   false after a panic; its value comes through a pointer behind the arguments
 *   GIVES    as CHECKS; what it gives (null, too) is on the release stack
 *   RECORDS  as CHECKS, or false without an error: the task was halted (a divergence, a failed log)
 *   DRAWS    as RECORDS; what it gives is on the release stack
 *
 * What comes first: NONE of them, the TASK, or the task and the source LINE. Their prototypes are in tfy_program.h. */
#ifndef CODEGEN_FUNCTIONS_H
#define CODEGEN_FUNCTIONS_H

/* clang-format off */
#define RT_FUNCTIONS(X)                                                      \
    X(INT_ADD, tfy_int_add, CHECKS, LINE, INT)                               \
    X(INT_SUB, tfy_int_sub, CHECKS, LINE, INT)                               \
    X(INT_MUL, tfy_int_mul, CHECKS, LINE, INT)                               \
    X(INT_DIV, tfy_int_div, CHECKS, LINE, INT)                               \
    X(INT_MOD, tfy_int_mod, CHECKS, LINE, INT)                               \
    X(INT_NEG, tfy_int_neg, CHECKS, LINE, INT)                               \
    X(FLOAT_ADD, tfy_float_add, CHECKS, LINE, FLOAT)                         \
    X(FLOAT_SUB, tfy_float_sub, CHECKS, LINE, FLOAT)                         \
    X(FLOAT_MUL, tfy_float_mul, CHECKS, LINE, FLOAT)                         \
    X(FLOAT_DIV, tfy_float_div, CHECKS, LINE, FLOAT)                         \
    X(FLOAT_MOD, tfy_float_mod, CHECKS, LINE, FLOAT)                         \
    X(FLOAT_TO_INT, tfy_float_to_int, CHECKS, LINE, INT)                     \
    X(FLOAT_ROUNDED, tfy_float_rounded, CHECKS, LINE, INT)                   \
    X(FLOAT_SQRT, tfy_float_sqrt, CHECKS, LINE, FLOAT)                       \
    X(FLOAT_LN, tfy_float_ln, CHECKS, LINE, FLOAT)                           \
    X(FLOAT_EXP, tfy_float_exp, CHECKS, LINE, FLOAT)                         \
    X(FLOAT_POW, tfy_float_pow, CHECKS, LINE, FLOAT)                         \
    X(FLOAT_FORMAT, tfy_float_format, MAKES, LINE, OBJ)                      \
    X(FLOAT_ABS, tfy_float_abs, VALUE, NONE, FLOAT)                          \
    X(FLOAT_MIN, tfy_float_min, VALUE, NONE, FLOAT)                          \
    X(FLOAT_MAX, tfy_float_max, VALUE, NONE, FLOAT)                          \
    X(INT_ABS, tfy_int_abs, CHECKS, LINE, INT)                               \
    X(INT_MIN, tfy_int_min, VALUE, NONE, INT)                                \
    X(INT_MAX, tfy_int_max, VALUE, NONE, INT)                                \
    X(INT_WITHIN, tfy_int_within, GIVES, TASK, OBJ)                          \
    X(TIME_PART, tfy_time_part, VALUE, NONE, INT)                            \
    X(TIME_FORMAT, tfy_time_format, MAKES, LINE, OBJ)                        \
    X(TIME_NEXT, tfy_time_next, CHECKS, LINE, INT)                           \
    X(DURATION_SECONDS, tfy_duration_seconds, VALUE, NONE, FLOAT)            \
    X(TURN_OF, tfy_turn_of, MAKES, TASK, OBJ)                                \
    X(THREAD_SAY, tfy_thread_say, MAKES, LINE, OBJ)                          \
    X(THREAD_TEXT, tfy_thread_text, MAKES, TASK, OBJ)                        \
    X(THREAD_LAST, tfy_thread_last, MAKES, TASK, OBJ)                        \
    X(THREAD_MESSAGES, tfy_thread_messages, MAKES, TASK, OBJ)                \
    X(THREAD_TOLD, tfy_thread_told, MAKES, LINE, OBJ)                        \
    X(THREAD_SIZE, tfy_thread_size, VALUE, NONE, INT)                        \
    X(THREAD_OLDER, tfy_thread_older, CHECKS, LINE, INT)                     \
    X(THREAD_CLEARED, tfy_thread_cleared, MAKES, LINE, OBJ)                  \
    X(THREAD_SUMMARISED, tfy_thread_summarised, MAKES, LINE, OBJ)            \
    X(JSON_GET, tfy_json_get, GIVES, LINE, OBJ)                              \
    X(JSON_DECODE, tfy_json_decode, GIVES, LINE, WORD)                       \
    X(JSON_KIND, tfy_json_kind, VALUE, NONE, OBJ)                            \
    X(TO_JSON, tfy_to_json, MAKES, LINE, OBJ)                                \
    X(TEXT, tfy_text, MAKES, TASK, OBJ)                                      \
    X(BOX, tfy_box, MAKES, TASK, OBJ)                                        \
    X(CONCAT, tfy_concat, MAKES, LINE, OBJ)                                  \
    X(SECRET, tfy_secret, MAKES, TASK, OBJ)                                  \
    X(STRING_APPEND, tfy_string_append, CHECKS, LINE, NONE)                  \
    X(STRING_LEN, tfy_string_len, VALUE, NONE, INT)                          \
    X(STRING_BYTE_LEN, tfy_string_byte_len, VALUE, NONE, INT)                \
    X(STRING_AT, tfy_string_at, MAKES, LINE, OBJ)                            \
    X(STRING_SLICE, tfy_string_slice, MAKES, TASK, OBJ)                      \
    X(STRING_TRIM, tfy_string_trim, MAKES, TASK, OBJ)                        \
    X(STRING_TRIM_START, tfy_string_trim_start, MAKES, TASK, OBJ)            \
    X(STRING_TRIM_END, tfy_string_trim_end, MAKES, TASK, OBJ)                \
    X(STRING_LINES, tfy_string_lines, MAKES, TASK, OBJ)                      \
    X(STRING_CHARS, tfy_string_chars, MAKES, TASK, OBJ)                      \
    X(STRING_SPLIT, tfy_string_split, MAKES, LINE, OBJ)                      \
    X(STRING_CONTAINS, tfy_string_contains, VALUE, TASK, BOOL)               \
    X(STRING_STARTS_WITH, tfy_string_starts_with, VALUE, NONE, BOOL)         \
    X(STRING_ENDS_WITH, tfy_string_ends_with, VALUE, NONE, BOOL)             \
    X(STRING_INDEX_OF, tfy_string_index_of, GIVES, TASK, OBJ)                \
    X(STRING_REPLACE, tfy_string_replace, MAKES, LINE, OBJ)                  \
    X(STRING_REPEAT, tfy_string_repeat, MAKES, LINE, OBJ)                    \
    X(STRING_PAD, tfy_string_pad, MAKES, LINE, OBJ)                          \
    X(STRING_CASE, tfy_string_case, MAKES, TASK, OBJ)                        \
    X(STRING_MATCHES, tfy_string_matches, CHECKS, LINE, BOOL)                \
    X(STRING_FIND_MATCH, tfy_string_find_match, GIVES, LINE, OBJ)            \
    X(STRING_FIND_MATCHES, tfy_string_find_matches, MAKES, LINE, OBJ)        \
    X(STRING_REPLACE_MATCHES, tfy_string_replace_matches, MAKES, LINE, OBJ)  \
    X(STRING_SPLIT_MATCHES, tfy_string_split_matches, MAKES, LINE, OBJ)      \
    X(STRING_VETTED, tfy_string_vetted, GIVES, LINE, OBJ)                    \
    X(HASH, tfy_hash, MAKES, TASK, OBJ)                                      \
    X(BASE64, tfy_base64, MAKES, TASK, OBJ)                                  \
    X(FROM_BASE64, tfy_from_base64, MAKES, LINE, OBJ)                        \
    X(URL_ENCODE, tfy_url_encode, MAKES, TASK, OBJ)                          \
    X(TO_BYTES, tfy_to_bytes, MAKES, TASK, OBJ)                              \
    X(BYTES_SLICE, tfy_bytes_slice, MAKES, TASK, OBJ)                        \
    X(BYTES_TEXT, tfy_bytes_text, GIVES, TASK, OBJ)                          \
    X(PARSE, tfy_parse, GIVES, TASK, OBJ)                                    \
    X(LIST_OF, tfy_list_of, MAKES, TASK, OBJ)                                \
    X(LIST_LEN, tfy_list_len, VALUE, NONE, INT)                              \
    X(LIST_AT, tfy_list_at, CHECKS, LINE, WORD)                              \
    X(LIST_GET, tfy_list_get, GIVES, TASK, OBJ)                              \
    X(LIST_PUSH, tfy_list_push, CHECKS, LINE, NONE)                          \
    X(LIST_APPEND, tfy_list_append, CHECKS, LINE, NONE)                      \
    X(LIST_PUT, tfy_list_put, CHECKS, LINE, NONE)                            \
    X(LIST_PUSHED, tfy_list_pushed, MAKES, LINE, OBJ)                        \
    X(LIST_CONCAT, tfy_list_concat, MAKES, LINE, OBJ)                        \
    X(LIST_WITH, tfy_list_with, MAKES, LINE, OBJ)                            \
    X(LIST_SLICE, tfy_list_slice, MAKES, TASK, OBJ)                          \
    X(LIST_JOIN, tfy_list_join, MAKES, LINE, OBJ)                            \
    X(LIST_CONTAINS, tfy_list_contains, VALUE, TASK, BOOL)                   \
    X(LIST_INSERTED, tfy_list_inserted, MAKES, LINE, OBJ)                    \
    X(LIST_WITHOUT, tfy_list_without, MAKES, LINE, OBJ)                      \
    X(LIST_LAST, tfy_list_last, GIVES, TASK, OBJ)                            \
    X(LIST_INDEX_OF, tfy_list_index_of, GIVES, TASK, OBJ)                    \
    X(LIST_REVERSED, tfy_list_reversed, MAKES, TASK, OBJ)                    \
    X(LIST_SORTED, tfy_list_sorted, MAKES, TASK, OBJ)                        \
    X(LIST_UNIQUE, tfy_list_unique, MAKES, TASK, OBJ)                        \
    X(LIST_FLATTEN, tfy_list_flatten, MAKES, LINE, OBJ)                      \
    X(LIST_COMPACT, tfy_list_compact, MAKES, TASK, OBJ)                      \
    X(LIST_SUM, tfy_list_sum, CHECKS, LINE, WORD)                            \
    X(LIST_ROOM, tfy_list_room, MAKES, TASK, OBJ)                            \
    X(LIST_ADD, tfy_list_add, VALUE, NONE, NONE)                             \
    X(LIST_HOLD, tfy_list_hold, VALUE, TASK, NONE)                           \
    X(LIST_FITTED, tfy_list_fitted, MAKES, TASK, OBJ)                        \
    X(LIST_GROUPED, tfy_list_grouped, MAKES, TASK, OBJ)                      \
    X(LIST_EXTREME, tfy_list_extreme, GIVES, TASK, OBJ)                      \
    X(LIST_ITEM, tfy_list_item, VALUE, NONE, WORD)                           \
    X(MAP_OF, tfy_map_of, MAKES, TASK, OBJ)                                  \
    X(MAP_LEN, tfy_map_len, VALUE, NONE, INT)                                \
    X(MAP_AT, tfy_map_at, CHECKS, LINE, WORD)                                \
    X(MAP_GET, tfy_map_get, GIVES, TASK, OBJ)                                \
    X(MAP_PUT, tfy_map_put, CHECKS, LINE, NONE)                              \
    X(MAP_WITH, tfy_map_with, MAKES, LINE, OBJ)                              \
    X(MAP_CONTAINS, tfy_map_contains, VALUE, TASK, BOOL)                     \
    X(MAP_WITHOUT, tfy_map_without, MAKES, TASK, OBJ)                        \
    X(MAP_KEYS, tfy_map_keys, MAKES, TASK, OBJ)                              \
    X(MAP_VALUES, tfy_map_values, MAKES, TASK, OBJ)                          \
    X(MAP_MERGED, tfy_map_merged, MAKES, LINE, OBJ)                          \
    X(MAP_WITH_VALUES, tfy_map_with_values, MAKES, TASK, OBJ)                \
    X(MAP_ONLY, tfy_map_only, MAKES, TASK, OBJ)                              \
    X(MAP_KEY_AT, tfy_map_key_at, VALUE, NONE, WORD)                         \
    X(MAP_VALUE_AT, tfy_map_value_at, VALUE, NONE, WORD)                     \
    X(RECORD_OF, tfy_record_of, MAKES, TASK, OBJ)                            \
    X(ENUM_OF, tfy_enum_of, MAKES, TASK, OBJ)                                \
    X(OWN_FIELD, tfy_own_field, OWNS, TASK, PLACE)                           \
    X(OWN_ITEM, tfy_own_item, OWNS, LINE, PLACE)                             \
    X(OWN_ENTRY, tfy_own_entry, OWNS, LINE, PLACE)                           \
    X(FAIL, tfy_fail, VALUE, TASK, NONE)                                     \
    X(FAIL_WITH, tfy_fail_with, VALUE, TASK, NONE)                           \
    X(ASSERT, tfy_assert, CHECKS, LINE, NONE)                                \
    X(ASSERT_VALUES, tfy_assert_values, CHECKS, LINE, NONE)                  \
    X(MOCK, tfy_mock, CHECKS, LINE, NONE)                                    \
    X(CALLS, tfy_calls, CHECKS, LINE, INT)                                   \
    X(OUTPUT, tfy_output, GIVES, TASK, OBJ)                                  \
    X(EQUAL, tfy_equal, VALUE, NONE, BOOL)                                   \
    X(COMPARE, tfy_compare, VALUE, NONE, INT)                                \
    X(DENIED, tfy_denied, VALUE, TASK, NONE)                                 \
    X(CATCHABLE, tfy_catchable, VALUE, TASK, BOOL)                           \
    X(REPLACEABLE, tfy_replaceable, VALUE, TASK, BOOL)                       \
    X(RETRIABLE, tfy_retriable, VALUE, TASK, BOOL)                           \
    X(ERROR_IS, tfy_error_is, VALUE, TASK, BOOL)                             \
    X(SPAWN, tfy_spawn, RECORDS, TASK, INT)                                  \
    X(SPAWN_DETACHED, tfy_spawn_detached, RECORDS, TASK, INT)                \
    X(SPAWN_UNHELD, tfy_spawn_unheld, RECORDS, TASK, NONE)                   \
    X(SPAWN_DETACHED_UNHELD, tfy_spawn_detached_unheld, RECORDS, TASK, NONE) \
    X(SPAWN_WITH, tfy_spawn_with, RECORDS, TASK, INT)                        \
    X(BRANCH, tfy_branch, RECORDS, TASK, NONE)                               \
    X(CHANNEL, tfy_channel, CHECKS, LINE, INT)                               \
    X(CHANNEL_CLOSE, tfy_channel_close, RECORDS, TASK, NONE)                 \
    X(CLOSE, tfy_close_descriptor, RECORDS, TASK, NONE)                      \
    X(UNLOCK, tfy_unlock, RECORDS, TASK, NONE)                               \
    X(DEADLINE_BEGIN, tfy_deadline_begin, RECORDS, TASK, INT)                \
    X(DEADLINE_END, tfy_deadline_end, VALUE, TASK, NONE)                     \
    X(BUDGET_BEGIN, tfy_budget_begin, CHECKS, LINE, NONE)                    \
    X(BUDGET_END, tfy_budget_end, VALUE, TASK, NONE)                         \
    X(UNDO_PUSH, tfy_undo_push, RECORDS, TASK, NONE)                         \
    X(UNDO_DONE, tfy_undo_done, VALUE, TASK, NONE)                           \
    X(UNDO_FAILED, tfy_undo_failed, VALUE, TASK, NONE)                       \
    X(UNDO_HEIGHT, tfy_undo_height, VALUE, TASK, INT)                        \
    X(UNDO_LOST, tfy_undo_lost, RECORDS, TASK, NONE)                         \
    X(KILL, tfy_kill_task, RECORDS, TASK, NONE)                              \
    X(SELF, tfy_self, DRAWS, TASK, OBJ)                                      \
    X(NOW, tfy_now, RECORDS, TASK, INT)                                      \
    X(RANDOM, tfy_random, RECORDS, TASK, FLOAT)                              \
    X(RANDOM_INT, tfy_random_int, RECORDS, LINE, INT)                        \
    X(UUID, tfy_uuid, DRAWS, TASK, OBJ)                                      \
    X(PRINT, tfy_print, RECORDS, TASK, NONE)                                 \
    X(LOG, tfy_log, RECORDS, TASK, NONE)                                     \
    X(EMIT, tfy_emit, RECORDS, TASK, NONE)                                   \
    X(PROGRESS, tfy_progress, RECORDS, TASK, NONE)                           \
    X(SAVE, tfy_save, RECORDS, TASK, NONE)                                   \
    X(FN_FUEL, tfy_fn_fuel, CHECKS, LINE, NONE)                              \
    X(FN_ENTER, tfy_fn_enter, CHECKS, LINE, NONE)                            \
    X(FN_LEAVE, tfy_fn_leave, VALUE, TASK, NONE)                             \
    X(INLINE_TURN, tfy_inline_turn, CHECKS, LINE, NONE)                      \
    X(MARK, tfy_mark, VALUE, TASK, INT)                                      \
    X(CUT, tfy_cut, VALUE, TASK, NONE)
/* clang-format on */

#endif
