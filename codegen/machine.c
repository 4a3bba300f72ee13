/* machine.c: building, finishing and printing the machines of machine.h. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

_Noreturn void machine_bug(const char *what)
{
    fprintf(stderr, "tfyc: internal error: %s\n", what);
    exit(70);
}

Rep machine_rep(const Type *type)
{
    switch (type->kind) {
    case TYPE_NOTHING: return REP_NONE;
    case TYPE_BOOL: return REP_BOOL;
    case TYPE_FLOAT: return REP_FLOAT;
    case TYPE_INT:
    case TYPE_DURATION:
    case TYPE_TIME:
    case TYPE_TASK:
    case TYPE_CHANNEL:
    case TYPE_LISTENER:
    case TYPE_STREAM: return REP_INT;
    default: return REP_OBJ;
    }
}

/* ---- the runtime's functions ---- */

#define VALUE(NAME, TASK, REP)                                                                                         \
    {                                                                                                                  \
        NAME, FAIL_NEVER, TASK, false, false, false, REP                                                               \
    }
#define MAKES(NAME, LINE)                                                                                              \
    {                                                                                                                  \
        NAME, FAIL_NULL, true, LINE, true, false, REP_OBJ                                                              \
    }
#define CHECKS(NAME, LINE, REP)                                                                                        \
    {                                                                                                                  \
        NAME, FAIL_FALSE, true, LINE, false, false, REP                                                                \
    }
#define OWNS(NAME, LINE)                                                                                               \
    {                                                                                                                  \
        NAME, FAIL_NULL, true, LINE, false, false, REP_PLACE                                                           \
    }
#define GIVES(NAME, LINE, REP) /* a value or null, on the release stack */                                             \
    {                                                                                                                  \
        NAME, FAIL_FALSE, true, LINE, true, false, REP                                                                 \
    }
#define TELLS(NAME, REP)                                                                                               \
    {                                                                                                                  \
        NAME, FAIL_FALSE, true, false, false, true, REP                                                                \
    }

static const RtFunc functions[RT_COUNT] = {
    [RT_INT_ADD] = CHECKS("tfy_int_add", true, REP_INT),
    [RT_INT_SUB] = CHECKS("tfy_int_sub", true, REP_INT),
    [RT_INT_MUL] = CHECKS("tfy_int_mul", true, REP_INT),
    [RT_INT_DIV] = CHECKS("tfy_int_div", true, REP_INT),
    [RT_INT_MOD] = CHECKS("tfy_int_mod", true, REP_INT),
    [RT_INT_NEG] = CHECKS("tfy_int_neg", true, REP_INT),
    [RT_FLOAT_ADD] = CHECKS("tfy_float_add", true, REP_FLOAT),
    [RT_FLOAT_SUB] = CHECKS("tfy_float_sub", true, REP_FLOAT),
    [RT_FLOAT_MUL] = CHECKS("tfy_float_mul", true, REP_FLOAT),
    [RT_FLOAT_DIV] = CHECKS("tfy_float_div", true, REP_FLOAT),
    [RT_FLOAT_MOD] = CHECKS("tfy_float_mod", true, REP_FLOAT),
    [RT_FLOAT_TO_INT] = CHECKS("tfy_float_to_int", true, REP_INT),
    [RT_FLOAT_ROUNDED] = CHECKS("tfy_float_rounded", true, REP_INT),
    [RT_FLOAT_SQRT] = CHECKS("tfy_float_sqrt", true, REP_FLOAT),
    [RT_FLOAT_FORMAT] = MAKES("tfy_float_format", true),
    [RT_FLOAT_ABS] = VALUE("tfy_float_abs", false, REP_FLOAT),
    [RT_FLOAT_MIN] = VALUE("tfy_float_min", false, REP_FLOAT),
    [RT_FLOAT_MAX] = VALUE("tfy_float_max", false, REP_FLOAT),
    [RT_INT_ABS] = CHECKS("tfy_int_abs", true, REP_INT),
    [RT_INT_MIN] = VALUE("tfy_int_min", false, REP_INT),
    [RT_INT_MAX] = VALUE("tfy_int_max", false, REP_INT),
    [RT_TIME_PART] = VALUE("tfy_time_part", false, REP_INT),
    [RT_DURATION_SECONDS] = VALUE("tfy_duration_seconds", false, REP_FLOAT),
    [RT_JSON_GET] = GIVES("tfy_json_get", true, REP_OBJ),
    [RT_JSON_DECODE] = GIVES("tfy_json_decode", true, REP_WORD),
    [RT_JSON_KIND] = VALUE("tfy_json_kind", false, REP_OBJ),
    [RT_TO_JSON] = MAKES("tfy_to_json", true),
    [RT_TEXT] = MAKES("tfy_text", false),
    [RT_BOX] = MAKES("tfy_box", false),
    [RT_CONCAT] = MAKES("tfy_concat", true),
    [RT_SECRET] = MAKES("tfy_secret", false),
    [RT_STRING_APPEND] = CHECKS("tfy_string_append", true, REP_NONE),
    [RT_STRING_LEN] = VALUE("tfy_string_len", false, REP_INT),
    [RT_STRING_BYTE_LEN] = VALUE("tfy_string_byte_len", false, REP_INT),
    [RT_STRING_AT] = MAKES("tfy_string_at", true),
    [RT_STRING_SLICE] = MAKES("tfy_string_slice", false),
    [RT_STRING_TRIM] = MAKES("tfy_string_trim", false),
    [RT_STRING_TRIM_START] = MAKES("tfy_string_trim_start", false),
    [RT_STRING_TRIM_END] = MAKES("tfy_string_trim_end", false),
    [RT_STRING_CHARS] = MAKES("tfy_string_chars", false),
    [RT_STRING_SPLIT] = MAKES("tfy_string_split", true),
    [RT_STRING_STARTS_WITH] = VALUE("tfy_string_starts_with", false, REP_BOOL),
    [RT_STRING_ENDS_WITH] = VALUE("tfy_string_ends_with", false, REP_BOOL),
    [RT_STRING_INDEX_OF] = GIVES("tfy_string_index_of", false, REP_OBJ),
    [RT_STRING_REPLACE] = MAKES("tfy_string_replace", true),
    [RT_STRING_REPEAT] = MAKES("tfy_string_repeat", true),
    [RT_STRING_PAD] = MAKES("tfy_string_pad", true),
    [RT_STRING_CASE] = MAKES("tfy_string_case", false),
    [RT_STRING_MATCHES] = CHECKS("tfy_string_matches", true, REP_BOOL),
    [RT_STRING_FIND_MATCH] = GIVES("tfy_string_find_match", true, REP_OBJ),
    [RT_STRING_FIND_MATCHES] = MAKES("tfy_string_find_matches", true),
    [RT_STRING_REPLACE_MATCHES] = MAKES("tfy_string_replace_matches", true),
    [RT_STRING_SPLIT_MATCHES] = MAKES("tfy_string_split_matches", true),
    [RT_PARSE] = GIVES("tfy_parse", false, REP_OBJ),
    [RT_STRING_LINES] = MAKES("tfy_string_lines", false),
    [RT_STRING_CONTAINS] = VALUE("tfy_string_contains", true, REP_BOOL),
    [RT_LIST_OF] = MAKES("tfy_list_of", false),
    [RT_LIST_LEN] = VALUE("tfy_list_len", false, REP_INT),
    [RT_LIST_AT] = CHECKS("tfy_list_at", true, REP_WORD),
    [RT_LIST_GET] = GIVES("tfy_list_get", false, REP_OBJ),
    [RT_LIST_PUSH] = CHECKS("tfy_list_push", true, REP_NONE),
    [RT_LIST_APPEND] = CHECKS("tfy_list_append", true, REP_NONE),
    [RT_LIST_PUT] = CHECKS("tfy_list_put", true, REP_NONE),
    [RT_LIST_PUSHED] = MAKES("tfy_list_pushed", true),
    [RT_LIST_CONCAT] = MAKES("tfy_list_concat", true),
    [RT_LIST_WITH] = MAKES("tfy_list_with", true),
    [RT_LIST_SLICE] = MAKES("tfy_list_slice", false),
    [RT_LIST_JOIN] = MAKES("tfy_list_join", true),
    [RT_LIST_CONTAINS] = VALUE("tfy_list_contains", true, REP_BOOL),
    [RT_LIST_INSERTED] = MAKES("tfy_list_inserted", true),
    [RT_LIST_WITHOUT] = MAKES("tfy_list_without", true),
    [RT_LIST_LAST] = GIVES("tfy_list_last", false, REP_OBJ),
    [RT_LIST_INDEX_OF] = GIVES("tfy_list_index_of", false, REP_OBJ),
    [RT_LIST_REVERSED] = MAKES("tfy_list_reversed", false),
    [RT_LIST_SORTED] = MAKES("tfy_list_sorted", false),
    [RT_LIST_UNIQUE] = MAKES("tfy_list_unique", false),
    [RT_LIST_FLATTEN] = MAKES("tfy_list_flatten", true),
    [RT_LIST_COMPACT] = MAKES("tfy_list_compact", false),
    [RT_LIST_ROOM] = MAKES("tfy_list_room", false),
    [RT_LIST_ADD] = VALUE("tfy_list_add", false, REP_NONE),
    [RT_LIST_FITTED] = MAKES("tfy_list_fitted", false),
    [RT_LIST_GROUPED] = MAKES("tfy_list_grouped", false),
    [RT_LIST_SUM] = CHECKS("tfy_list_sum", true, REP_WORD),
    [RT_LIST_EXTREME] = GIVES("tfy_list_extreme", false, REP_OBJ),
    [RT_LIST_ITEM] = VALUE("tfy_list_item", false, REP_WORD),
    [RT_MAP_OF] = MAKES("tfy_map_of", false),
    [RT_MAP_LEN] = VALUE("tfy_map_len", false, REP_INT),
    [RT_MAP_AT] = CHECKS("tfy_map_at", true, REP_WORD),
    [RT_MAP_GET] = GIVES("tfy_map_get", false, REP_OBJ),
    [RT_MAP_PUT] = CHECKS("tfy_map_put", true, REP_NONE),
    [RT_MAP_WITH] = MAKES("tfy_map_with", true),
    [RT_MAP_CONTAINS] = VALUE("tfy_map_contains", true, REP_BOOL),
    [RT_MAP_WITHOUT] = MAKES("tfy_map_without", false),
    [RT_MAP_KEYS] = MAKES("tfy_map_keys", false),
    [RT_MAP_VALUES] = MAKES("tfy_map_values", false),
    [RT_MAP_WITH_VALUES] = MAKES("tfy_map_with_values", false),
    [RT_MAP_ONLY] = MAKES("tfy_map_only", false),
    [RT_MAP_MERGED] = MAKES("tfy_map_merged", true),
    [RT_MAP_KEY_AT] = VALUE("tfy_map_key_at", false, REP_WORD),
    [RT_MAP_VALUE_AT] = VALUE("tfy_map_value_at", false, REP_WORD),
    [RT_RECORD_OF] = MAKES("tfy_record_of", false),
    [RT_ENUM_OF] = MAKES("tfy_enum_of", false),
    [RT_OWN_FIELD] = OWNS("tfy_own_field", false),
    [RT_OWN_ITEM] = OWNS("tfy_own_item", true),
    [RT_OWN_ENTRY] = OWNS("tfy_own_entry", true),
    [RT_FAIL] = {"tfy_fail", FAIL_NEVER, true, false, false, false, REP_NONE},
    [RT_FAIL_WITH] = {"tfy_fail_with", FAIL_NEVER, true, false, false, false, REP_NONE},
    [RT_ASSERT] = CHECKS("tfy_assert", true, REP_NONE),
    [RT_ASSERT_VALUES] = CHECKS("tfy_assert_values", true, REP_NONE),
    [RT_MOCK] = CHECKS("tfy_mock", true, REP_NONE),
    [RT_CALLS] = CHECKS("tfy_calls", true, REP_INT),
    [RT_OUTPUT] = {"tfy_output", FAIL_FALSE, true, false, true, false, REP_OBJ},
    [RT_EQUAL] = VALUE("tfy_equal", false, REP_BOOL),
    [RT_COMPARE] = VALUE("tfy_compare", false, REP_INT),
    [RT_CATCHABLE] = VALUE("tfy_catchable", true, REP_BOOL),
    [RT_REPLACEABLE] = VALUE("tfy_replaceable", true, REP_BOOL),
    [RT_RETRIABLE] = VALUE("tfy_retriable", true, REP_BOOL),
    [RT_ERROR_IS] = VALUE("tfy_error_is", true, REP_BOOL),
    [RT_SPAWN] = TELLS("tfy_spawn", REP_INT),
    [RT_SPAWN_DETACHED] = TELLS("tfy_spawn_detached", REP_INT),
    [RT_SPAWN_UNHELD] = TELLS("tfy_spawn_unheld", REP_NONE),
    [RT_SPAWN_DETACHED_UNHELD] = TELLS("tfy_spawn_detached_unheld", REP_NONE),
    [RT_SPAWN_WITH] = TELLS("tfy_spawn_with", REP_INT),
    [RT_BRANCH] = TELLS("tfy_branch", REP_NONE),
    [RT_CHANNEL] = CHECKS("tfy_channel", true, REP_INT),
    [RT_CHANNEL_CLOSE] = TELLS("tfy_channel_close", REP_NONE),
    [RT_CLOSE] = TELLS("tfy_close_descriptor", REP_NONE),
    [RT_UNLOCK] = TELLS("tfy_unlock", REP_NONE),
    [RT_DEADLINE_BEGIN] = TELLS("tfy_deadline_begin", REP_INT),
    [RT_DEADLINE_END] = VALUE("tfy_deadline_end", true, REP_NONE),
    [RT_UNDO_PUSH] = TELLS("tfy_undo_push", REP_NONE),
    [RT_UNDO_DONE] = VALUE("tfy_undo_done", true, REP_NONE),
    [RT_UNDO_FAILED] = VALUE("tfy_undo_failed", true, REP_NONE),
    [RT_UNDO_HEIGHT] = VALUE("tfy_undo_height", true, REP_INT),
    [RT_UNDO_LOST] = TELLS("tfy_undo_lost", REP_NONE),
    [RT_KILL] = TELLS("tfy_kill_task", REP_NONE),
    [RT_SELF] = {"tfy_self", FAIL_FALSE, true, false, true, true, REP_OBJ},
    [RT_NOW] = TELLS("tfy_now", REP_INT),
    [RT_RANDOM] = TELLS("tfy_random", REP_FLOAT),
    [RT_RANDOM_INT] = {"tfy_random_int", FAIL_FALSE, true, true, false, true, REP_INT},
    [RT_UUID] = {"tfy_uuid", FAIL_FALSE, true, false, true, true, REP_OBJ},
    [RT_PRINT] = TELLS("tfy_print", REP_NONE),
    [RT_LOG] = TELLS("tfy_log", REP_NONE),
    [RT_EMIT] = TELLS("tfy_emit", REP_NONE),
    [RT_SAVE] = TELLS("tfy_save", REP_NONE),
    [RT_FN_ENTER] = CHECKS("tfy_fn_enter", true, REP_NONE),
    [RT_FN_LEAVE] = VALUE("tfy_fn_leave", true, REP_NONE),
    [RT_INLINE_TURN] = CHECKS("tfy_inline_turn", true, REP_NONE),
    [RT_MARK] = VALUE("tfy_mark", true, REP_INT),
    [RT_CUT] = VALUE("tfy_cut", true, REP_NONE),
    [RT_FN_FUEL] = CHECKS("tfy_fn_fuel", true, REP_NONE),
};

const RtFunc *machine_func(RtId id)
{
    return &functions[id];
}

/* ---- routines, variables, blocks ---- */

#define PUSH(arena, array, count, cap, item)                                                                           \
    do {                                                                                                               \
        if ((count) == (cap)) (array) = arena_grow((arena), (array), &(cap), (count) + 1, sizeof *(array));            \
        (array)[(count)++] = (item);                                                                                   \
    } while (0)

Routine *machine_routine(Machine *machine, RoutineKind kind, const char *name, const Decl *decl, const Type *result,
                         uint32_t line)
{
    Routine *routine = arena_new(machine->arena, Routine);
    *routine = (Routine){
        .kind = kind, .name = name, .label = name, .decl = decl, .result = result, .line = line, .machine = machine};
    PUSH(machine->arena, machine->routines, machine->routine_count, machine->routine_cap, routine);
    return routine;
}

Var *machine_var(Routine *routine, VarKind kind, const Type *type, Rep rep, const char *name)
{
    Arena *arena = routine->machine->arena;
    Var *var = arena_new(arena, Var);
    *var = (Var){.kind = kind, .type = type, .rep = rep, .name = name, .slot = -1, .first = UINT32_MAX};
    if (kind == VAR_TEMP) return var;
    bool borrowed = kind == VAR_PARAM && routine->kind != ROUTINE_WORKFLOW;
    var->owned = rep == REP_OBJ && !borrowed;
    var->id = routine->var_count;
    PUSH(arena, routine->vars, routine->var_count, routine->var_cap, var);
    return var;
}

MBlock *machine_block(Routine *routine)
{
    MBlock *block = arena_new(routine->machine->arena, MBlock);
    block->id = routine->block_count;
    PUSH(routine->machine->arena, routine->blocks, routine->block_count, routine->block_cap, block);
    return block;
}

void machine_place(Routine *routine, MBlock *block)
{
    if (block->placed) machine_bug("a block was placed twice");
    block->placed = true;
    block->order = routine->order_count;
    PUSH(routine->machine->arena, routine->order, routine->order_count, routine->order_cap, block);
}

Instr *machine_instr(Routine *routine, MBlock *block, InstrKind kind, uint32_t line)
{
    Instr *instr = arena_new(routine->machine->arena, Instr);
    instr->kind = kind;
    instr->line = line;
    PUSH(routine->machine->arena, block->instrs, block->count, block->cap, instr);
    return instr;
}

/* ---- what is read ---- */

void machine_visit(const Val *val, void (*visit)(void *state, Var *var), void *state)
{
    if (!val) return;
    if (val->var) visit(state, val->var);
    machine_visit(val->a, visit, state);
    machine_visit(val->b, visit, state);
    machine_visit(val->c, visit, state);
    for (uint32_t i = 0; i < val->argc; i++) machine_visit(val->args[i], visit, state);
}

typedef struct UseList {
    Arena *arena;
    Var **vars;
    uint32_t count, cap;
} UseList;

static void note_use(void *state, Var *var)
{
    UseList *list = state;
    var->used = true;
    if (var->kind == VAR_TEMP) return;
    for (uint32_t i = list->count; i-- > 0 && list->count - i < 8;)
        if (list->vars[i] == var) return;
    PUSH(list->arena, list->vars, list->count, list->cap, var);
}

void machine_note_uses(Routine *routine, Instr *instr)
{
    UseList list = {.arena = routine->machine->arena};
    machine_visit(instr->a, note_use, &list);
    for (uint32_t i = 0; i < instr->argc; i++) machine_visit(instr->args[i], note_use, &list);
    if (instr->kind == IN_PUT && instr->dst) note_use(&list, instr->dst);
    if (instr->kind == IN_PUT_ERROR) note_use(&list, instr->dst);
    if (instr->dst) instr->dst->used = true;
    instr->uses = list.vars;
    instr->use_count = list.count;
}

void machine_note_term(Routine *routine, Term *term)
{
    UseList list = {.arena = routine->machine->arena};
    Val *policies[] = {term->cond, term->retry, term->backoff, term->timeout, term->key};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) machine_visit(policies[i], note_use, &list);
    for (uint32_t i = 0; i < term->argc; i++) machine_visit(term->args[i], note_use, &list);
    term->uses = list.vars;
    term->use_count = list.count;
}

/* ---- string literals ---- */

static uint32_t hash_bytes(const char *bytes, uint32_t len)
{
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < len; i++) hash = (hash ^ (uint8_t)bytes[i]) * 16777619u;
    return hash;
}

static void grow_string_index(Machine *machine)
{
    uint32_t cap = machine->string_index_cap ? machine->string_index_cap * 2 : 256;
    machine->string_index = arena_alloc(machine->arena, cap * sizeof *machine->string_index);
    machine->string_index_cap = cap;
    for (uint32_t i = 0; i < machine->string_count; i++) {
        uint32_t at = hash_bytes(machine->strings[i].bytes, machine->strings[i].len) & (cap - 1);
        while (machine->string_index[at]) at = (at + 1) & (cap - 1);
        machine->string_index[at] = i + 1;
    }
}

uint32_t machine_string(Machine *machine, const char *bytes, uint32_t len)
{
    if (machine->string_count * 2 >= machine->string_index_cap) grow_string_index(machine);
    uint32_t mask = machine->string_index_cap - 1, at = hash_bytes(bytes, len) & mask;
    for (; machine->string_index[at]; at = (at + 1) & mask) {
        const StringLiteral *known = &machine->strings[machine->string_index[at] - 1];
        if (known->len == len && memcmp(known->bytes, bytes, len) == 0) return machine->string_index[at] - 1;
    }
    StringLiteral literal = {len ? bytes : "", len};
    PUSH(machine->arena, machine->strings, machine->string_count, machine->string_cap, literal);
    machine->string_index[at] = machine->string_count;
    return machine->string_count - 1;
}

/* ---- points ---- */

/* How often a structural path was used: the ordinal among equals. */
typedef struct Tally {
    const char **paths;
    uint32_t *counts;
    uint32_t count, cap; /* cap is a power of two */
} Tally;

static void tally_grow(Arena *arena, Tally *tally)
{
    Tally old = *tally;
    tally->cap = old.cap ? old.cap * 2 : 64;
    tally->paths = arena_alloc(arena, tally->cap * sizeof *tally->paths);
    tally->counts = arena_alloc(arena, tally->cap * sizeof *tally->counts);
    for (uint32_t i = 0; i < old.cap; i++) {
        if (!old.paths[i]) continue;
        uint32_t at = hash_bytes(old.paths[i], (uint32_t)strlen(old.paths[i])) & (tally->cap - 1);
        while (tally->paths[at]) at = (at + 1) & (tally->cap - 1);
        tally->paths[at] = old.paths[i];
        tally->counts[at] = old.counts[i];
    }
}

uint32_t machine_ordinal(Machine *machine, const char *path)
{
    if (!machine->tally) machine->tally = arena_new(machine->arena, Tally);
    Tally *tally = machine->tally;
    if (tally->count * 2 >= tally->cap) tally_grow(machine->arena, tally);
    uint32_t at = hash_bytes(path, (uint32_t)strlen(path)) & (tally->cap - 1);
    while (tally->paths[at] && strcmp(tally->paths[at], path) != 0) at = (at + 1) & (tally->cap - 1);
    if (!tally->paths[at]) {
        tally->paths[at] = path;
        tally->count++;
    }
    return ++tally->counts[at];
}

Point *machine_point(Routine *routine, AskKind ask, const char *label, const char *kind, const char *callee,
                     uint32_t line)
{
    Machine *machine = routine->machine;
    Point *point = arena_new(machine->arena, Point);
    const char *path = callee ? arena_printf(machine->arena, "%s/%s/%s", routine->label, kind, callee)
                              : arena_printf(machine->arena, "%s/%s", routine->label, kind);
    uint32_t ordinal = machine_ordinal(machine, path);
    *point = (Point){.label = label, .ask = ask, .line = line, .routine = routine};
    point->id = label ? label : arena_printf(machine->arena, "%s/%u", path, ordinal);
    PUSH(machine->arena, routine->points, routine->point_count, routine->point_cap, point);
    return point;
}

static Hook **hook_place(const Machine *machine, const void *owner)
{
    uintptr_t hash = (uintptr_t)owner >> 4;
    return &machine->hooks[(hash ^ hash >> 12) & (machine->hook_cap - 1)];
}

Routine *machine_hook(const Machine *machine, const void *owner, const char *what)
{
    for (const Hook *hook = machine->hook_cap ? *hook_place(machine, owner) : NULL; hook; hook = hook->next)
        if (hook->owner == owner && strcmp(hook->what, what) == 0) return hook->routine;
    return NULL;
}

/* ---- finishing ---- */

/* Calls visit for every block that can follow, errors included. */
static void each_successor(const MBlock *block, void (*visit)(void *state, MBlock *to), void *state)
{
    const Term *term = &block->term;
    MBlock *last = NULL;
    for (uint32_t i = 0; i < block->count; i++) {
        MBlock *landing = block->instrs[i]->landing;
        if (landing && landing != last) visit(state, landing);
        last = landing ? landing : last;
    }
    if (term->to) visit(state, term->to);
    if (term->other) visit(state, term->other);
    if (term->landing && term->kind != TERM_JUMP) visit(state, term->landing);
    for (uint32_t i = 0; i < term->case_count; i++) visit(state, term->cases[i].to);
}

typedef struct Walk {
    MBlock **stack;
    uint32_t count, cap;
    uint32_t *seen; /* by block id: the stamp of the last walk that came by */
    uint32_t stamp;
    Arena *arena;
} Walk;

static void walk_to(void *state, MBlock *block)
{
    Walk *walk = state;
    if (walk->seen[block->id] == walk->stamp) return;
    walk->seen[block->id] = walk->stamp;
    PUSH(walk->arena, walk->stack, walk->count, walk->cap, block);
}

static void drop_unreachable(Routine *routine)
{
    Arena *arena = routine->machine->arena;
    uint32_t *moved = arena_alloc(arena, (routine->order_count + 1) * sizeof *moved), kept = 0;
    Walk walk = {.arena = arena, .stamp = 1, .seen = arena_alloc(arena, routine->block_count * sizeof *walk.seen)};
    walk_to(&walk, routine->entry);
    while (walk.count) each_successor(walk.stack[--walk.count], walk_to, &walk);
    for (uint32_t i = 0; i < routine->order_count; i++) {
        MBlock *block = routine->order[i];
        moved[i] = kept;
        if (!walk.seen[block->id]) continue;
        block->order = kept;
        routine->order[kept++] = block;
    }
    moved[routine->order_count] = kept;
    for (uint32_t i = 0; i < kept; i++) routine->order[i]->loop_end = moved[routine->order[i]->loop_end];
    routine->order_count = kept;
    for (uint32_t i = 0; i < routine->block_count; i++)
        if (walk.seen[i] && !routine->blocks[i]->placed) machine_bug("a block is used but never placed");
}

/* Can control come back to `head` without passing a stop? Only blocks of its loop are asked: they stand between head
 * and loop_end. */
typedef struct Cycle {
    Walk walk;
    MBlock *head;
    bool back;
} Cycle;

static void cycle_to(void *state, MBlock *block)
{
    Cycle *cycle = state;
    if (block == cycle->head)
        cycle->back = true;
    else if (block->order > cycle->head->order && block->order < cycle->head->loop_end)
        walk_to(&cycle->walk, block);
}

static bool stops(const MBlock *block)
{
    const Term *term = &block->term;
    if (term->kind == TERM_FUEL) return true;
    return term->kind == TERM_POINT && (term->point->ask == ASK_YIELD || term->point->ask == ASK_EFFECT);
}

static bool needs_fuel(Routine *routine, MBlock *head, uint32_t *seen)
{
    Cycle cycle = {.walk = {.arena = routine->machine->arena, .seen = seen, .stamp = head->id + 1}, .head = head};
    cycle_to(&cycle, head->term.to);
    while (cycle.walk.count && !cycle.back) {
        MBlock *block = cycle.walk.stack[--cycle.walk.count];
        if (!stops(block)) each_successor(block, cycle_to, &cycle);
    }
    return cycle.back;
}

/* Inner loops come later in the order, so going backwards settles them first. */
static void drop_idle_fuel(Routine *routine)
{
    uint32_t *seen = arena_alloc(routine->machine->arena, routine->block_count * sizeof *seen);
    for (uint32_t i = routine->order_count; i-- > 0;) {
        Term *term = &routine->order[i]->term;
        if (term->kind != TERM_FUEL || needs_fuel(routine, routine->order[i], seen)) continue;
        term->kind = TERM_JUMP;
        term->landing = NULL;
        term->point = NULL;
    }
}

static void number_points(Routine *routine)
{
    Machine *machine = routine->machine;
    for (uint32_t i = 0; i < routine->order_count; i++) {
        const MBlock *block = routine->order[i];
        if (block->term.point) block->term.point->kept = true;
        for (uint32_t n = 0; n < block->count; n++)
            for (uint32_t k = 0; k < block->instrs[n]->argc; k++)
                if (block->instrs[n]->args[k]->point) block->instrs[n]->args[k]->point->kept = true;
    }
    routine->resume = arena_alloc(machine->arena, (routine->point_count + 1) * sizeof *routine->resume);
    for (uint32_t i = 0; i < routine->point_count; i++) {
        Point *point = routine->points[i];
        if (!point->kept) continue;
        machine->points[machine->point_count++] = point;
        point->number = machine->point_count;
        if (point->ask == ASK_MARK) continue;
        routine->resume[routine->resume_count++] = point;
        point->pc = routine->resume_count;
    }
}

void machine_finish(Machine *machine)
{
    uint32_t points = 0;
    for (uint32_t i = 0; i < machine->routine_count; i++) points += machine->routines[i]->point_count;
    machine->points = arena_alloc(machine->arena, (points + 1) * sizeof *machine->points);
    for (uint32_t i = 0; i < machine->routine_count; i++) {
        Routine *routine = machine->routines[i];
        drop_unreachable(routine);
        if (routine->kind == ROUTINE_WORKFLOW) drop_idle_fuel(routine);
        number_points(routine);
    }
}

static void place_hook(Machine *machine, Hook *hook)
{
    Hook **place = hook_place(machine, hook->owner);
    hook->next = *place;
    *place = hook;
}

static void grow_hooks(Machine *machine)
{
    Hook **old = machine->hooks;
    uint32_t old_cap = machine->hook_cap;
    machine->hook_cap = old_cap ? old_cap * 2 : 64;
    machine->hooks = arena_alloc(machine->arena, machine->hook_cap * sizeof(Hook *));
    for (uint32_t i = 0; i < old_cap; i++) {
        for (Hook *hook = old[i], *next; hook; hook = next) {
            next = hook->next;
            place_hook(machine, hook);
        }
    }
}

void machine_add_hook(Machine *machine, const void *owner, const char *what, Routine *routine)
{
    Hook *hook = arena_new(machine->arena, Hook);
    *hook = (Hook){.owner = owner, .what = what, .routine = routine};
    if (machine->hook_count++ >= machine->hook_cap) grow_hooks(machine);
    place_hook(machine, hook);
}

/* ---- looking things up ---- */

uint32_t machine_find_workflow(const Machine *machine, const Decl *decl, const Routine *routine)
{
    uint32_t i = 0;
    for (; i < machine->routine_count; i++) {
        const Routine *at = machine->routines[i];
        if (routine ? at == routine : at->kind == ROUTINE_WORKFLOW && at->decl == decl && !at->closure) break;
    }
    return i;
}
