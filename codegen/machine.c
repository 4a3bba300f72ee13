/* machine.c: building, finishing and printing the machines of machine.h. */
#include <ctype.h>
#include <string.h>

#include "machine.h"

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

#define ANSWER_VALUE                      .fail = FAIL_NEVER
#define ANSWER_MAKES                      .fail = FAIL_NULL, .temp = true
#define ANSWER_OWNS                       .fail = FAIL_NULL
#define ANSWER_CHECKS                     .fail = FAIL_FALSE
#define ANSWER_GIVES                      .fail = FAIL_FALSE, .temp = true
#define ANSWER_RECORDS                    .fail = FAIL_FALSE, .halts = true
#define ANSWER_DRAWS                      .fail = FAIL_FALSE, .temp = true, .halts = true
#define FIRST_NONE                        .task = false
#define FIRST_TASK                        .task = true
#define FIRST_LINE                        .task = true, .line = true
#define ROW(ID, NAME, ANSWER, FIRST, REP) [RT_##ID] = {#NAME, ANSWER_##ANSWER, FIRST_##FIRST, .result = REP_##REP},

const RtFunc *machine_func(RtId id)
{
    static const RtFunc functions[RT_COUNT] = {RT_FUNCTIONS(ROW)};
    CHECK(id < RT_COUNT);
    return &functions[id];
}

/* ---- routines, variables, blocks ---- */

void machine_at(const Routine *routine)
{
    const Decl *decl = routine->decl;
    if (decl) routine->machine->place.off = decl->span.off;
}

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
    CHECK(kind != VAR_PARAM || routine->var_count == routine->param_count); /* parameters come first */
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
    CHECK(routine->blocks[block->id] == block);
    CHECK(!block->placed);
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
    Val *policies[] = {term->cond, term->retry, term->backoff, term->timeout, term->key, term->call};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) machine_visit(policies[i], note_use, &list);
    for (uint32_t i = 0; i < term->argc; i++) machine_visit(term->args[i], note_use, &list);
    term->uses = list.vars;
    term->use_count = list.count;
}

/* ---- string literals ---- */

uint32_t machine_string(Machine *machine, const char *bytes, uint32_t len)
{
    StringLiteral literal = {len ? bytes : "", len};
    TableItem *item = table_add(machine->arena, &machine->string_numbers, literal.bytes, len);
    if (!item->number) {
        PUSH(machine->arena, machine->strings, machine->string_count, machine->string_cap, literal);
        item->number = machine->string_count;
    }
    return (uint32_t)item->number - 1;
}

/* ---- points ---- */

uint32_t machine_ordinal(Machine *machine, const char *path)
{
    return (uint32_t)++table_add(machine->arena, &machine->tally, path, strlen(path))->number;
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

void machine_add_hook(Machine *machine, const void *owner, const char *what, Routine *routine)
{
    CHECK(!machine_hook(machine, owner, what));
    Hook *hook = arena_new(machine->arena, Hook);
    *hook = (Hook){.owner = owner, .what = what, .routine = routine};
    TableItem *item = table_add(machine->arena, &machine->hooks, &hook->owner, sizeof hook->owner);
    hook->next = item->value;
    item->value = hook;
}

Routine *machine_hook(const Machine *machine, const void *owner, const char *what)
{
    const TableItem *item = table_find(&machine->hooks, &owner, sizeof owner);
    for (const Hook *hook = item ? item->value : NULL; hook; hook = hook->next)
        if (strcmp(hook->what, what) == 0) return hook->routine;
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

/* What every pass from here on relies on. */
static void check_instr(const Instr *instr)
{
    CHECK(instr->line > 0);
    CHECK(!instr->landing || instr->landing->landing); /* errors arrive at landings only */
    if (instr->kind == IN_CALL) CHECK(!instr->func != !instr->decl);
}

static void check_term(const Routine *routine, const Term *term)
{
    const bool leaves = term->kind == TERM_RETURN || term->kind == TERM_FAILED;
    CHECK(term->kind != TERM_NONE);
    CHECK(leaves == !term->to);
    CHECK((term->kind == TERM_BRANCH) == (term->other != NULL));
    CHECK((term->kind == TERM_SWITCH) == (term->case_count > 0));
    CHECK(!term->landing || term->landing->landing);
    if (term->kind == TERM_POINT) CHECK(term->point && term->landing);
    CHECK(!term->point || routine->kind == ROUTINE_WORKFLOW); /* only workflows stop */
    CHECK(!term->point || term->point->routine == routine);
}

static void check_block(const Routine *routine, const MBlock *block)
{
    CHECK(block->placed);
    CHECK(block->loop_end <= routine->order_count);
    for (uint32_t i = 0; i < block->count; i++) check_instr(block->instrs[i]);
    check_term(routine, &block->term);
}

static void drop_unreachable(Routine *routine)
{
    Arena *arena = routine->machine->arena;
    uint32_t *moved = arena_alloc(arena, (routine->order_count + 1) * sizeof *moved), kept = 0;
    Walk walk = {.arena = arena, .stamp = 1, .seen = arena_alloc(arena, routine->block_count * sizeof *walk.seen)};
    walk_to(&walk, routine->entry);
    while (walk.count) {
        const MBlock *block = walk.stack[--walk.count];
        check_block(routine, block);
        each_successor(block, walk_to, &walk);
    }
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
}

/* Can control come back to `head` without passing a stop? Only blocks of its loop are asked: they are between head
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
        CHECK(!point->number);
        CHECK(point->line > 0);
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
    CHECK(!machine->points); /* it is finished once */
    for (uint32_t i = 0; i < machine->routine_count; i++) points += machine->routines[i]->point_count;
    machine->points = arena_alloc(machine->arena, (points + 1) * sizeof *machine->points);
    for (uint32_t i = 0; i < machine->routine_count; i++) {
        Routine *routine = machine->routines[i];
        machine_at(routine);
        drop_unreachable(routine);
        if (routine->kind == ROUTINE_WORKFLOW) drop_idle_fuel(routine);
        number_points(routine);
    }
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
