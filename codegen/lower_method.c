/* lower_method.c: methods. Most are one call of the runtime, and a row of the table says which and with what. */
#include <string.h>

#include "lower.h"

/* One call. `args` has a letter for each argument: s the receiver, a and b the method's own (in capitals: as a
 * word), r the descriptor of the result's type, t of the receiver's, x the number that is after it in the row.
 * What is left out by the caller is the greatest int where an int is wanted, else null. */
typedef struct Plan {
    RtId func;
    const char *args;
    int extra;
} Plan;

static const Plan plans[BI_COUNT] = {
    [BI_STRING_LEN] = {RT_STRING_LEN, "s", 0},
    [BI_STRING_BYTE_LEN] = {RT_STRING_BYTE_LEN, "s", 0},
    [BI_STRING_SLICE] = {RT_STRING_SLICE, "sab", 0},
    [BI_STRING_TRIM] = {RT_STRING_TRIM, "s", 0},
    [BI_STRING_TRIM_START] = {RT_STRING_TRIM_START, "s", 0},
    [BI_STRING_TRIM_END] = {RT_STRING_TRIM_END, "s", 0},
    [BI_STRING_LINES] = {RT_STRING_LINES, "s", 0},
    [BI_STRING_CHARS] = {RT_STRING_CHARS, "s", 0},
    [BI_STRING_SPLIT] = {RT_STRING_SPLIT, "sab", 0},
    [BI_STRING_CONTAINS] = {RT_STRING_CONTAINS, "sa", 0},
    [BI_STRING_STARTS_WITH] = {RT_STRING_STARTS_WITH, "sa", 0},
    [BI_STRING_ENDS_WITH] = {RT_STRING_ENDS_WITH, "sa", 0},
    [BI_STRING_INDEX_OF] = {RT_STRING_INDEX_OF, "rsa", 0},
    [BI_STRING_REPLACE] = {RT_STRING_REPLACE, "sab", 0},
    [BI_STRING_REPEAT] = {RT_STRING_REPEAT, "sa", 0},
    [BI_STRING_PAD_START] = {RT_STRING_PAD, "sabx", true},
    [BI_STRING_PAD_END] = {RT_STRING_PAD, "sabx", false},
    [BI_STRING_TO_UPPER] = {RT_STRING_CASE, "sx", true},
    [BI_STRING_TO_LOWER] = {RT_STRING_CASE, "sx", false},
    [BI_STRING_MATCHES] = {RT_STRING_MATCHES, "sa", 0},
    [BI_STRING_FIND_MATCH] = {RT_STRING_FIND_MATCH, "sa", 0},
    [BI_STRING_FIND_MATCHES] = {RT_STRING_FIND_MATCHES, "rsa", 0},
    [BI_STRING_REPLACE_MATCHES] = {RT_STRING_REPLACE_MATCHES, "sab", 0},
    [BI_STRING_SPLIT_MATCHES] = {RT_STRING_SPLIT_MATCHES, "sa", 0},
    [BI_STRING_VETTED] = {RT_STRING_VETTED, "sa", 0},
    [BI_STRING_HASH] = {RT_HASH, "s", 0},
    [BI_STRING_BASE64] = {RT_BASE64, "s", 0},
    [BI_FROM_BASE64] = {RT_FROM_BASE64, "s", 0},
    [BI_URL_ENCODE] = {RT_URL_ENCODE, "s", 0},
    [BI_TO_BYTES] = {RT_TO_BYTES, "s", 0},
    [BI_BYTES_LEN] = {RT_STRING_BYTE_LEN, "s", 0},
    [BI_BYTES_SLICE] = {RT_BYTES_SLICE, "sab", 0},
    [BI_BYTES_TEXT] = {RT_BYTES_TEXT, "s", 0},
    [BI_BYTES_HASH] = {RT_HASH, "s", 0},
    [BI_BYTES_BASE64] = {RT_BASE64, "s", 0},
    [BI_PARSE_INT] = {RT_PARSE, "rs", 0},
    [BI_PARSE_FLOAT] = {RT_PARSE, "rs", 0},
    [BI_PARSE_TIME] = {RT_PARSE, "rs", 0},
    [BI_PARSE_DURATION] = {RT_PARSE, "rs", 0},
    [BI_PARSE_JSON] = {RT_PARSE, "rs", 0},
    [BI_LIST_LEN] = {RT_LIST_LEN, "s", 0},
    [BI_LIST_PUSH] = {RT_LIST_PUSHED, "sA", 0},
    [BI_LIST_CONCAT] = {RT_LIST_CONCAT, "sa", 0},
    [BI_LIST_GET] = {RT_LIST_GET, "rsa", 0},
    [BI_LIST_SET] = {RT_LIST_WITH, "saB", 0},
    [BI_LIST_INSERT] = {RT_LIST_INSERTED, "saB", 0},
    [BI_LIST_REMOVE] = {RT_LIST_WITHOUT, "sa", 0},
    [BI_LIST_SLICE] = {RT_LIST_SLICE, "sab", 0},
    [BI_LIST_FIRST] = {RT_LIST_GET, "rsx", 0},
    [BI_LIST_LAST] = {RT_LIST_LAST, "rs", 0},
    [BI_LIST_JOIN] = {RT_LIST_JOIN, "sa", 0},
    [BI_LIST_CONTAINS] = {RT_LIST_CONTAINS, "sA", 0},
    [BI_LIST_INDEX_OF] = {RT_LIST_INDEX_OF, "rsA", 0},
    [BI_LIST_REVERSE] = {RT_LIST_REVERSED, "s", 0},
    [BI_LIST_SORT] = {RT_LIST_SORTED, "ss", 0},
    [BI_LIST_UNIQUE] = {RT_LIST_UNIQUE, "s", 0},
    [BI_LIST_FLATTEN] = {RT_LIST_FLATTEN, "s", 0},
    [BI_LIST_COMPACT] = {RT_LIST_COMPACT, "rs", 0},
    [BI_LIST_SUM] = {RT_LIST_SUM, "s", 0},
    [BI_LIST_MIN] = {RT_LIST_EXTREME, "rsx", -1},
    [BI_LIST_MAX] = {RT_LIST_EXTREME, "rsx", 1},
    [BI_MAP_LEN] = {RT_MAP_LEN, "s", 0},
    [BI_MAP_GET] = {RT_MAP_GET, "rsA", 0},
    [BI_MAP_SET] = {RT_MAP_WITH, "sAB", 0},
    [BI_MAP_REMOVE] = {RT_MAP_WITHOUT, "sA", 0},
    [BI_MAP_CONTAINS] = {RT_MAP_CONTAINS, "sA", 0},
    [BI_MAP_KEYS] = {RT_MAP_KEYS, "rs", 0},
    [BI_MAP_VALUES] = {RT_MAP_VALUES, "rs", 0},
    [BI_MAP_MERGE] = {RT_MAP_MERGED, "sa", 0},
    [BI_TO_INT] = {RT_FLOAT_TO_INT, "s", 0},
    [BI_FLOAT_FLOOR] = {RT_FLOAT_ROUNDED, "sx", -1},
    [BI_FLOAT_CEIL] = {RT_FLOAT_ROUNDED, "sx", 1},
    [BI_FLOAT_ROUND] = {RT_FLOAT_ROUNDED, "sx", 0},
    [BI_FLOAT_SQRT] = {RT_FLOAT_SQRT, "s", 0},
    [BI_FLOAT_LN] = {RT_FLOAT_LN, "s", 0},
    [BI_FLOAT_EXP] = {RT_FLOAT_EXP, "s", 0},
    [BI_FLOAT_POW] = {RT_FLOAT_POW, "sa", 0},
    [BI_FLOAT_FORMAT] = {RT_FLOAT_FORMAT, "sa", 0},
    [BI_FLOAT_ABS] = {RT_FLOAT_ABS, "s", 0},
    [BI_FLOAT_MIN] = {RT_FLOAT_MIN, "sa", 0},
    [BI_FLOAT_MAX] = {RT_FLOAT_MAX, "sa", 0},
    [BI_INT_ABS] = {RT_INT_ABS, "s", 0},
    [BI_INT_MIN] = {RT_INT_MIN, "sa", 0},
    [BI_INT_MAX] = {RT_INT_MAX, "sa", 0},
    [BI_INT_WITHIN] = {RT_INT_WITHIN, "rsab", 0},
    [BI_TIME_YEAR] = {RT_TIME_PART, "sx", 0},
    [BI_TIME_MONTH] = {RT_TIME_PART, "sx", 1},
    [BI_TIME_DAY] = {RT_TIME_PART, "sx", 2},
    [BI_TIME_HOUR] = {RT_TIME_PART, "sx", 3},
    [BI_TIME_MINUTE] = {RT_TIME_PART, "sx", 4},
    [BI_TIME_SECOND] = {RT_TIME_PART, "sx", 5},
    [BI_TIME_WEEKDAY] = {RT_TIME_PART, "sx", 6},
    [BI_TIME_FORMAT] = {RT_TIME_FORMAT, "sab", 0},
    [BI_TIME_NEXT] = {RT_TIME_NEXT, "sab", 0},
    [BI_DURATION_TO_SECONDS] = {RT_DURATION_SECONDS, "s", 0},
    [BI_THREAD_LEN] = {RT_LIST_LEN, "s", 0},
    [BI_THREAD_SAY] = {RT_THREAD_SAY, "sa", 0},
    [BI_THREAD_TEXT] = {RT_THREAD_TEXT, "s", 0},
    [BI_THREAD_LAST] = {RT_THREAD_LAST, "s", 0},
    [BI_THREAD_MESSAGES] = {RT_THREAD_MESSAGES, "rs", 0},
    [BI_THREAD_JOIN] = {RT_LIST_CONCAT, "sa", 0},
    [BI_THREAD_TOLD] = {RT_THREAD_TOLD, "sab", 0},
    [BI_THREAD_SIZE] = {RT_THREAD_SIZE, "sab", 0},
    [BI_THREAD_OLDER] = {RT_THREAD_OLDER, "sa", 0},
    [BI_THREAD_CLEARED] = {RT_THREAD_CLEARED, "sa", 0},
    [BI_THREAD_SUMMARISED] = {RT_THREAD_SUMMARISED, "sab", 0},
    [BI_JSON_GET] = {RT_JSON_GET, "sa", 0},
    [BI_JSON_DECODE] = {RT_JSON_DECODE, "rsa", 0},
    [BI_JSON_KIND] = {RT_JSON_KIND, "s", 0},
    [BI_TO_JSON] = {RT_TO_JSON, "tS", 0},
};

static Val *absent(Lower *l, const Builtin *builtin, uint32_t at)
{
    return strcmp(builtin->params[at].type, "int") == 0 ? val_int(l, INT64_MAX) : val_null(l);
}

static Val *arg_of(Lower *l, const Expr *e, const Plan *plan, Val **values, char letter)
{
    switch (letter) {
    case 's': return values[0];
    case 'S': return val_word(l, values[0]);
    case 'a':
    case 'b': return values[letter - 'a' + 1];
    case 'A':
    case 'B': return val_word(l, values[letter - 'A' + 1]);
    case 'r': return val_type(l, e->type);
    case 't': return val_type(l, e->argv[0]->to);
    default: return val_int(l, plan->extra);
    }
}

static Val *lower_plan(Lower *l, const Expr *e, const Plan *plan)
{
    const RtFunc *func = machine_func(plan->func);
    Val *values[3] = {0};
    uint32_t argc = (uint32_t)strlen(plan->args);
    CHECK(e->argc <= sizeof values / sizeof *values);
    Val **args = arena_alloc(l->arena, (argc + 1) * sizeof *args);
    for (uint32_t i = 0; i < e->argc; i++)
        values[i] = e->argv[i] ? lower_expr(l, e->argv[i]) : absent(l, e->builtin, i - 1);
    for (uint32_t i = 0; i < argc; i++) args[i] = arg_of(l, e, plan, values, plan->args[i]);
    if (func->fail != FAIL_NEVER) {
        Val *value = lower_call_with(l, plan->func, NULL, args, argc);
        return func->result == REP_WORD ? val_read(l, value->var, machine_rep(e->type)) : value;
    }
    Val *value = val_pure(l, plan->func, func->result, 0);
    value->args = args;
    value->argc = argc;
    return value;
}

Val *lower_method(Lower *l, const Expr *e)
{
    if (e->builtin->effect) return lower_effect_now(l, e, NULL);
    if (lower_is_inline(e)) return lower_inline(l, e);
    switch (e->builtin->id) {
    case BI_TO_STRING: return lower_text(l, e->argv[0]->to, lower_expr(l, e->argv[0]));
    case BI_TO_FLOAT: return val_unary(l, VAL_FLOAT_OF, REP_FLOAT, lower_expr(l, e->argv[0]));
    case BI_TIME_UNIX_MS:
    case BI_DURATION_TO_MS: return lower_expr(l, e->argv[0]);
    case BI_OPTIONAL_OR: return lower_coalesce(l, e->argv[0], e->argv[1], e->type);
    default: break;
    }
    const Plan *plan = &plans[e->builtin->id];
    CHECK(plan->args); /* every method is lowered */
    return lower_plan(l, e, plan);
}
