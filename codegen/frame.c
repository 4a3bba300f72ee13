/* frame.c: what is live where, where variables die, and which of them are in the frame.
 *
 * Liveness is the usual backward dataflow over bit sets, one per block, walked instruction by instruction because an
 * error can leave a block in the middle. Then every variable that owns a reference gets its releases:
 *
 *   - at the end of the statement that touched it last (IN_END), or right behind a definition nobody reads;
 *   - on an edge, when a branch or a point leads to a place where it is dead;
 *   - at a landing: all that may be held on some way in and is dead from there on. A place that is not held on the way
 *     actually taken holds NULL, so one list serves all ways in.
 *
 * Slots are given out by a linear scan over the stretches in which variables are live. Objects and scalars never share
 * a slot: a dead object slot must hold NULL. Parameters keep slots 0 … n-1, where the caller puts them.
 *
 * C compilers need more than linear time for long functions with many entries, so a long workflow is cut into parts,
 * each a C function of its own. Cuts are between statements, where no temporary is alive; a variable that is live
 * over a jump from one part to another is in the frame like one that is live over a point. */
#include <stdlib.h>
#include <string.h>

#include "machine.h"

typedef struct Frame {
    Routine *routine;
    Arena *arena;
    uint32_t words; /* per set */
    VarSet owned;   /* the variables that own references */
    VarSet scratch;
} Frame;

/* ---- sets ---- */

static VarSet set_new(const Frame *f)
{
    return arena_alloc(f->arena, (f->words + 1) * sizeof(uint64_t));
}

static void set_add(VarSet set, uint32_t id)
{
    set[id / 64] |= UINT64_C(1) << (id % 64);
}

static void set_remove(VarSet set, uint32_t id)
{
    set[id / 64] &= ~(UINT64_C(1) << (id % 64));
}

static bool set_has(const uint64_t *set, uint32_t id)
{
    return set[id / 64] >> (id % 64) & 1;
}

static void set_join(const Frame *f, VarSet set, const uint64_t *other)
{
    for (uint32_t i = 0; i < f->words; i++) set[i] |= other[i];
}

/* ---- liveness ---- */

static bool is_local(const Var *var)
{
    return var && var->kind != VAR_TEMP;
}

/* The variable an instruction gives a new value without looking at the old one. */
static Var *defined(const Instr *instr)
{
    switch (instr->kind) {
    case IN_STORE: return instr->i ? NULL : instr->dst;
    case IN_SET:
    case IN_TAKE:
    case IN_TAKE_ERROR:
    case IN_CALL: return is_local(instr->dst) ? instr->dst : NULL;
    default: return NULL;
    }
}

/* What is live behind the block's end. */
static void live_out(const Frame *f, const MBlock *block, VarSet live)
{
    const Term *term = &block->term;
    memset(live, 0, f->words * sizeof *live);
    if (term->to) set_join(f, live, term->to->live_in);
    if (term->other) set_join(f, live, term->other->live_in);
    if (term->landing) set_join(f, live, term->landing->live_in);
    for (uint32_t i = 0; i < term->case_count; i++) set_join(f, live, term->cases[i].to->live_in);
}

static void add_uses(VarSet live, Var *const *uses, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) set_add(live, uses[i]->id);
}

/* From behind an instruction to before it. */
static void step_back(const Frame *f, const Instr *instr, VarSet live)
{
    const Var *gone = defined(instr);
    if (gone) set_remove(live, gone->id);
    if (instr->kind == IN_STORE && instr->i) set_add(live, instr->dst->id);
    add_uses(live, instr->uses, instr->use_count);
    if (instr->landing) set_join(f, live, instr->landing->live_in);
}

static bool update_block(const Frame *f, MBlock *block)
{
    VarSet live = f->scratch;
    live_out(f, block, live);
    add_uses(live, block->term.uses, block->term.use_count);
    for (uint32_t i = block->count; i-- > 0;) step_back(f, block->instrs[i], live);
    if (memcmp(live, block->live_in, f->words * sizeof *live) == 0) return false;
    memcpy(block->live_in, live, f->words * sizeof *live);
    return true;
}

static void solve(const Frame *f)
{
    Routine *routine = f->routine;
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t i = routine->order_count; i-- > 0;) changed |= update_block(f, routine->order[i]);
    }
}

/* ---- results that go where they are kept ---- */

/* `i1 = f(…); x = i1` becomes `x = f(…)`: for scalars, and where no landing inspects x, for a call that fails may
 * have written it. */
static bool fuses(const Instr *call, const Instr *set)
{
    if (call->kind != IN_CALL || set->kind != IN_SET || !call->dst || call->dst->kind != VAR_TEMP) return false;
    if (set->a->kind != VAL_VAR || set->a->var != call->dst || set->dst->kind == VAR_TEMP) return false;
    if (call->dst->rep != set->dst->rep || call->dst->rep == REP_OBJ || (call->func && call->func->fail != FAIL_FALSE))
        return false;
    return !set_has(call->landing->live_in, set->dst->id);
}

static void fuse_results(MBlock *block)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < block->count; i++) {
        Instr *instr = block->instrs[i];
        if (i + 1 < block->count && fuses(instr, block->instrs[i + 1])) {
            instr->dst = block->instrs[i + 1]->dst;
            i++;
        }
        block->instrs[kept++] = instr;
    }
    block->count = kept;
}

/* ---- releases ---- */

static Instr *release(const Frame *f, Var *var, uint32_t line)
{
    CHECK(var->owned);
    Instr *instr = arena_new(f->arena, Instr);
    instr->kind = IN_RELEASE;
    instr->line = line;
    instr->dst = var;
    var->used = true;
    return instr;
}

/* Releases of what is held and owned but not live. */
static Instr **release_difference(const Frame *f, const uint64_t *held, const uint64_t *live, uint32_t line,
                                  uint32_t *count)
{
    Instr **list = NULL;
    uint32_t cap = 0;
    *count = 0;
    for (uint32_t w = 0; w < f->words; w++) {
        uint64_t bits = held[w] & f->owned[w] & ~(live ? live[w] : 0);
        for (; bits; bits &= bits - 1) {
            if (*count == cap) list = arena_grow(f->arena, list, &cap, cap + 1, sizeof *list);
            list[(*count)++] = release(f, f->routine->vars[w * 64 + (uint32_t)__builtin_ctzll(bits)], line);
        }
    }
    return list;
}

static void arrive(const Frame *f, MBlock *landing, const uint64_t *held)
{
    CHECK(landing->landing);
    if (!landing->arriving) landing->arriving = set_new(f);
    set_join(f, landing->arriving, held);
}

/* The variables that die behind an instruction, into `list`; answers how many. */
static uint32_t deaths(const Instr *instr, const uint64_t *live_after, Var **list)
{
    uint32_t count = 0;
    const Var *gone = defined(instr);
    if (gone && gone->owned && !set_has(live_after, gone->id)) list[count++] = instr->dst;
    if (instr->kind == IN_STORE && instr->i && !set_has(live_after, instr->dst->id)) list[count++] = instr->dst;
    for (uint32_t i = 0; instr->kind == IN_END && i < instr->use_count; i++)
        if (instr->uses[i]->owned && !set_has(live_after, instr->uses[i]->id)) list[count++] = instr->uses[i];
    return count;
}

/* What lived only for the landing of an instruction dies behind it: its statement does not touch it. Answers the
 * releases. */
static Instr **landing_deaths(const Frame *f, const Instr *instr, const uint64_t *live_after, uint32_t *count)
{
    VarSet dying = f->scratch;
    const Var *gone = defined(instr);
    *count = 0;
    if (!instr->landing) return NULL;
    memcpy(dying, instr->landing->live_in, f->words * sizeof *dying);
    for (uint32_t i = 0; i < instr->use_count; i++) set_remove(dying, instr->uses[i]->id);
    if (gone) set_remove(dying, gone->id);
    return release_difference(f, dying, live_after, instr->line, count);
}

/* Instructions in reverse order, for a walk that goes backwards. */
typedef struct Reversed {
    Instr **items;
    uint32_t count, cap;
} Reversed;

static void put_before(const Frame *f, Reversed *list, Instr *instr)
{
    if (list->count == list->cap)
        list->items = arena_grow(f->arena, list->items, &list->cap, list->count + 1, sizeof *list->items);
    list->items[list->count++] = instr;
}

/* Debug: the named variables that a mark finds in the frame. A mark that is in several places (a finally has
 * several ways in) may know less at one of them than at another: it is noted once, where the walk meets it first. */
static void note_mark(const Frame *f, const Instr *instr, const uint64_t *live)
{
    for (uint32_t i = 0; i < instr->argc; i++) {
        Point *point = instr->args[i]->kind == VAL_POINT ? instr->args[i]->point : NULL;
        uint32_t cap = 0;
        if (!point || point->ask != ASK_MARK || point->live_count) continue;
        for (uint32_t id = 0; id < f->routine->var_count; id++) {
            Var *var = f->routine->vars[id];
            if (!var->label || !set_has(live, id)) continue;
            if (point->live_count == cap) point->live = arena_grow(f->arena, point->live, &cap, cap + 1, sizeof(Var *));
            point->live[point->live_count++] = var;
            var->crosses = true;
        }
    }
}

/* Walks the block backwards once more: inserts releases, and notes at landings what can arrive. live: what is live
 * before the block's end. */
static void release_in_block(const Frame *f, MBlock *block, VarSet live)
{
    Reversed list = {0};
    for (uint32_t i = block->count; i-- > 0;) {
        Instr *instr = block->instrs[i];
        Var **dying = arena_alloc(f->arena, (instr->use_count + 2) * sizeof *dying);
        uint32_t count = deaths(instr, live, dying);
        while (count) put_before(f, &list, release(f, dying[--count], instr->line));
        Instr **unneeded = landing_deaths(f, instr, live, &count);
        while (count) put_before(f, &list, unneeded[--count]);
        put_before(f, &list, instr);
        step_back(f, instr, live);
        if (f->routine->machine->debug) note_mark(f, instr, live);
        if (instr->landing) arrive(f, instr->landing, live);
    }
    for (uint32_t i = 0; i < list.count / 2; i++) {
        Instr *swapped = list.items[i];
        list.items[i] = list.items[list.count - 1 - i];
        list.items[list.count - 1 - i] = swapped;
    }
    block->instrs = list.items;
    block->count = list.count;
    block->cap = list.cap;
}

/* ---- edges ---- */

typedef struct Order {
    MBlock **blocks;
    uint32_t count, cap;
} Order;

static void order_add(const Frame *f, Order *order, MBlock *block)
{
    if (order->count == order->cap)
        order->blocks = arena_grow(f->arena, order->blocks, &order->cap, order->count + 1, sizeof *order->blocks);
    order->blocks[order->count++] = block;
}

/* An edge on which something dies: the releases go to the head of a block that only this edge reaches, or to a block
 * put in between. */
static void settle_edge(const Frame *f, Order *order, const Term *term, MBlock **to, const uint64_t *held)
{
    MBlock *target = *to;
    uint32_t count;
    if (target->landing) {
        arrive(f, target, held);
        return;
    }
    Instr **list = release_difference(f, held, target->live_in, term->line, &count);
    if (!count) return;
    if (target->preds > 1) {
        MBlock *between = machine_block(f->routine);
        between->term = (Term){.kind = TERM_JUMP, .line = term->line, .to = target};
        between->live_in = set_new(f);
        memcpy(between->live_in, target->live_in, f->words * sizeof *between->live_in);
        between->placed = true;
        between->preds = 1;
        order_add(f, order, between);
        *to = target = between;
    }
    CHECK(!target->prologue); /* this edge alone leads here */
    target->prologue = list;
    target->prologue_count = count;
}

/* Several cases of one switch may share a block in between. */
static void settle_switch(const Frame *f, Order *order, Term *term, const uint64_t *held)
{
    MBlock *seen = NULL, *became = NULL;
    for (uint32_t i = 0; i < term->case_count; i++) {
        MBlock *target = term->cases[i].to;
        if (target != seen) {
            seen = target;
            became = target;
            settle_edge(f, order, term, &became, held);
        }
        term->cases[i].to = became;
    }
    settle_edge(f, order, term, &term->to, held);
}

static void settle_edges(const Frame *f, Order *order, MBlock *block, const uint64_t *held)
{
    Term *term = &block->term;
    if (term->landing) arrive(f, term->landing, held);
    switch (term->kind) {
    case TERM_SWITCH: settle_switch(f, order, term, held); return;
    case TERM_BRANCH:
        settle_edge(f, order, term, &term->to, held);
        settle_edge(f, order, term, &term->other, held);
        return;
    case TERM_JUMP:
    case TERM_FUEL:
    case TERM_POINT: settle_edge(f, order, term, &term->to, held); return;
    default: return;
    }
}

static void count_preds(Routine *routine)
{
    routine->entry->preds = 1;
    for (uint32_t i = 0; i < routine->order_count; i++) {
        const Term *term = &routine->order[i]->term;
        const MBlock *last = NULL;
        if (term->to) term->to->preds++;
        if (term->other) term->other->preds++;
        for (uint32_t n = 0; n < term->case_count; n++) {
            if (term->cases[n].to != last) term->cases[n].to->preds++;
            last = term->cases[n].to;
        }
    }
}

/* ---- points ---- */

/* Marks what must be kept while stopped at the block's end: owners that are held, and all that is live behind. */
static void note_point(const Frame *f, const MBlock *block, const uint64_t *held)
{
    Point *point = block->term.point;
    VarSet kept = f->scratch;
    uint32_t cap = 0;
    live_out(f, block, kept);
    for (uint32_t w = 0; w < f->words; w++) {
        uint64_t bits = kept[w] | (held[w] & f->owned[w]);
        for (; bits; bits &= bits - 1) {
            Var *var = f->routine->vars[w * 64 + (uint32_t)__builtin_ctzll(bits)];
            var->crosses = true;
            if (point->live_count == cap) point->live = arena_grow(f->arena, point->live, &cap, cap + 1, sizeof(Var *));
            point->live[point->live_count++] = var;
        }
    }
}

/* The runtime keeps an effect's arguments itself, so what dies with them need not wait in the frame. */
static void give_up_arguments(const Frame *f, Term *term, VarSet held)
{
    VarSet live = f->scratch;
    if (term->point->ask != ASK_EFFECT || !term->use_count) return;
    term->dying = arena_alloc(f->arena, term->use_count * sizeof *term->dying);
    memset(live, 0, f->words * sizeof *live);
    set_join(f, live, term->to->live_in);
    set_join(f, live, term->landing->live_in);
    for (uint32_t i = 0; i < term->use_count; i++) {
        Var *var = term->uses[i];
        if (!var->owned || set_has(live, var->id)) continue;
        term->dying[term->dying_count++] = var;
        set_remove(held, var->id);
    }
}

static void release_all(Frame *f)
{
    Routine *routine = f->routine;
    Order order = {0};
    VarSet held = set_new(f), live = set_new(f);
    count_preds(routine);
    for (uint32_t i = 0; i < routine->order_count; i++) {
        MBlock *block = routine->order[i];
        live_out(f, block, held);
        add_uses(held, block->term.uses, block->term.use_count);
        memcpy(live, held, f->words * sizeof *live);
        if (block->term.kind == TERM_POINT) give_up_arguments(f, &block->term, held);
        if (block->term.point) note_point(f, block, held);
        release_in_block(f, block, live);
        order_add(f, &order, block);
        settle_edges(f, &order, block, held);
    }
    routine->order = order.blocks;
    routine->order_count = routine->order_cap = order.count;
}

static void release_at_landings(const Frame *f)
{
    Routine *routine = f->routine;
    for (uint32_t i = 0; i < routine->order_count; i++) {
        MBlock *block = routine->order[i];
        if (block->halts && block != routine->failed) {
            arrive(f, routine->failed, block->live_in);
            routine->failed->halts = true;
        }
    }
    for (uint32_t i = 0; i < routine->order_count; i++) {
        MBlock *block = routine->order[i];
        if (block->arriving)
            block->prologue =
                release_difference(f, block->arriving, block->live_in, block->term.line, &block->prologue_count);
    }
    routine->entry_releases = NULL;
    if (routine->kind != ROUTINE_WORKFLOW) return;
    VarSet params = set_new(f);
    for (uint32_t i = 0; i < routine->param_count; i++) set_add(params, i);
    routine->entry_releases =
        release_difference(f, params, routine->entry->live_in, routine->line, &routine->entry_release_count);
}

/* ---- jumps that only lead on ---- */

static bool is_empty(const MBlock *block)
{
    return block->term.kind == TERM_JUMP && !block->landing && !block->count && !block->prologue_count;
}

/* Where a jump to a block really leads. */
static MBlock *resolve(MBlock *block)
{
    for (int hops = 0; hops < 1000 && is_empty(block) && block->term.to != block; hops++) block = block->term.to;
    return block;
}

/* True when a branch turned out to lead to one place only, which may leave its block empty. */
static bool resolve_targets(MBlock *block)
{
    Term *term = &block->term;
    if (term->to) term->to = resolve(term->to);
    if (term->other) term->other = resolve(term->other);
    for (uint32_t i = 0; i < term->case_count; i++) term->cases[i].to = resolve(term->cases[i].to);
    if (term->kind != TERM_BRANCH || term->to != term->other) return false;
    term->kind = TERM_JUMP;
    term->other = NULL;
    return true;
}

/* Leaves out blocks that do nothing but lead on. */
static void thread_jumps(Routine *routine)
{
    uint32_t kept = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < routine->order_count; i++) changed |= resolve_targets(routine->order[i]);
    }
    for (uint32_t i = 0; i < routine->order_count; i++) {
        MBlock *block = routine->order[i];
        if (is_empty(block) && block != routine->entry && resolve(block) != block) continue;
        routine->order[kept++] = block;
    }
    routine->order_count = kept;
}

/* ---- parts ---- */

/* instructions and ends of blocks, about; small enough for a compiler's quadratic passes not to show */
#define PART_WEIGHT 400

static uint32_t weight_of(const MBlock *block)
{
    bool stops = block->term.kind == TERM_POINT || block->term.kind == TERM_FUEL;
    return block->count + 2 + (stops ? 8 : 0);
}

static void cut_into_parts(Routine *routine)
{
    uint32_t weight = 0, part = 0;
    for (uint32_t i = 0; i < routine->order_count; i++) {
        MBlock *block = routine->order[i];
        if (block->fresh && weight >= PART_WEIGHT) {
            part++;
            weight = 0;
        }
        block->part = part;
        weight += weight_of(block);
    }
    routine->part_count = part + 1;
}

static void cross_set(const Frame *f, const uint64_t *set)
{
    for (uint32_t w = 0; set && w < f->words; w++)
        for (uint64_t bits = set[w]; bits; bits &= bits - 1)
            f->routine->vars[w * 64 + (uint32_t)__builtin_ctzll(bits)]->crosses = true;
}

/* A jump from another part: what is live at its end, and what it releases there, must be in the frame. */
static void enter(const Frame *f, const MBlock *from, MBlock *to)
{
    if (!to || from->part == to->part || to->entry) return;
    to->entry = ++f->routine->entry_count;
    cross_set(f, to->live_in);
    cross_set(f, to->arriving);
    for (uint32_t i = 0; i < to->prologue_count; i++) to->prologue[i]->dst->crosses = true;
}

static void find_entries(const Frame *f)
{
    Routine *routine = f->routine;
    for (uint32_t i = 0; i < routine->order_count; i++) {
        const MBlock *block = routine->order[i];
        const Term *term = &block->term;
        for (uint32_t n = 0; n < block->count; n++) enter(f, block, block->instrs[n]->landing);
        for (uint32_t n = 0; n < term->case_count; n++) enter(f, block, term->cases[n].to);
        enter(f, block, term->to);
        enter(f, block, term->other);
        enter(f, block, term->landing);
        if (block->halts) enter(f, block, routine->failed);
    }
}

/* ---- stretches ---- */

static void stretch(Var *var, uint32_t at)
{
    if (at < var->first) var->first = at;
    if (at > var->last) var->last = at;
}

static void stretch_set(const Frame *f, const uint64_t *set, uint32_t at)
{
    for (uint32_t w = 0; w < f->words; w++)
        for (uint64_t bits = set[w]; bits; bits &= bits - 1)
            stretch(f->routine->vars[w * 64 + (uint32_t)__builtin_ctzll(bits)], at);
}

static void stretch_uses(Var *const *uses, uint32_t count, uint32_t at)
{
    for (uint32_t i = 0; i < count; i++) stretch(uses[i], at);
}

static uint32_t stretch_block(const Frame *f, const MBlock *block, uint32_t at)
{
    const Term *term = &block->term;
    const MBlock *last = NULL;
    stretch_set(f, block->live_in, at++);
    for (uint32_t i = 0; i < block->count; i++, at++) {
        const Instr *instr = block->instrs[i];
        stretch_uses(instr->uses, instr->use_count, at);
        if (is_local(instr->dst)) stretch(instr->dst, at);
        if (instr->landing && instr->landing != last) stretch_set(f, instr->landing->live_in, at);
        last = instr->landing;
    }
    stretch_uses(term->uses, term->use_count, at);
    live_out(f, block, f->scratch);
    stretch_set(f, f->scratch, at);
    return at + 1;
}

static void find_stretches(const Frame *f)
{
    uint32_t at = 1;
    for (uint32_t i = 0; i < f->routine->param_count; i++) stretch(f->routine->vars[i], 0);
    for (uint32_t i = 0; i < f->routine->order_count; i++) at = stretch_block(f, f->routine->order[i], at);
}

/* ---- slots ---- */

/* Slots of one class, the one that is free first on top. */
typedef struct Heap {
    uint32_t *slots, *until;
    uint32_t count;
} Heap;

static void heap_swap(Heap *heap, uint32_t a, uint32_t b)
{
    uint32_t slot = heap->slots[a], until = heap->until[a];
    heap->slots[a] = heap->slots[b];
    heap->until[a] = heap->until[b];
    heap->slots[b] = slot;
    heap->until[b] = until;
}

static bool heap_less(const Heap *heap, uint32_t a, uint32_t b)
{
    return heap->until[a] != heap->until[b] ? heap->until[a] < heap->until[b] : heap->slots[a] < heap->slots[b];
}

static void heap_push(Heap *heap, uint32_t slot, uint32_t until)
{
    uint32_t at = heap->count++;
    heap->slots[at] = slot;
    heap->until[at] = until;
    for (; at && heap_less(heap, at, (at - 1) / 2); at = (at - 1) / 2) heap_swap(heap, at, (at - 1) / 2);
}

static uint32_t heap_pop(Heap *heap)
{
    CHECK(heap->count > 0);
    uint32_t slot = heap->slots[0], at = 0;
    heap_swap(heap, 0, --heap->count);
    for (;;) {
        uint32_t best = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap->count; child++)
            if (heap_less(heap, child, best)) best = child;
        if (best == at) return slot;
        heap_swap(heap, at, best);
        at = best;
    }
}

static int by_first(const void *a, const void *b)
{
    const Var *x = *(Var *const *)a, *y = *(Var *const *)b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void give_slot(Routine *routine, Var *var, Heap *heap)
{
    bool reuse = heap->count && heap->until[0] < var->first;
    var->slot = (int32_t)(reuse ? heap_pop(heap) : routine->slot_count++);
    heap_push(heap, (uint32_t)var->slot, var->last);
}

/* Slots do not overlap, which the scan that gave them out does not say: the variable in a slot is dead before the
 * next one lives there, and has the same class. vars: in the order in which they start to live. */
static void check_slots(const Frame *f, Var *const *vars, uint32_t count)
{
    const Routine *routine = f->routine;
    const Var **holds = arena_alloc(f->arena, (routine->slot_count + 1) * sizeof *holds);
    for (uint32_t i = 0; i < routine->param_count; i++) holds[i] = routine->vars[i];
    for (uint32_t i = 0; i < count; i++) {
        const Var *var = vars[i], *before;
        CHECK(var->first <= var->last);
        CHECK((uint32_t)var->slot < routine->slot_count);
        before = holds[var->slot];
        CHECK(!before || before->last < var->first);
        CHECK(!before || (before->rep == REP_OBJ) == (var->rep == REP_OBJ));
        holds[var->slot] = var;
    }
}

static void assign_slots(const Frame *f)
{
    Routine *routine = f->routine;
    Var **vars = arena_alloc(f->arena, (routine->var_count + 1) * sizeof *vars);
    Heap heaps[2];
    uint32_t count = 0;
    for (int i = 0; i < 2; i++) {
        heaps[i] = (Heap){.slots = arena_alloc(f->arena, (routine->var_count + 1) * sizeof(uint32_t))};
        heaps[i].until = arena_alloc(f->arena, (routine->var_count + 1) * sizeof(uint32_t));
    }
    routine->slot_count = routine->param_count;
    for (uint32_t i = 0; i < routine->var_count; i++) {
        Var *var = routine->vars[i];
        if (i < routine->param_count) {
            var->slot = (int32_t)i;
            heap_push(&heaps[var->rep == REP_OBJ], i, var->last);
        } else if (var->crosses) {
            vars[count++] = var;
        }
    }
    qsort(vars, count, sizeof *vars, by_first);
    for (uint32_t i = 0; i < count; i++) give_slot(routine, vars[i], &heaps[vars[i]->rep == REP_OBJ]);
    check_slots(f, vars, count);
}

static int by_slot(const void *a, const void *b)
{
    return (*(Var *const *)a)->slot - (*(Var *const *)b)->slot;
}

static void check_uses(const Routine *routine, Var *const *uses, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        CHECK(uses[i]->id < routine->var_count);
        CHECK(routine->vars[uses[i]->id] == uses[i]);
    }
}

/* Sets are over the variables of one routine, by their ids. */
static void check_variables(const Routine *routine)
{
    for (uint32_t i = 0; i < routine->order_count; i++) {
        const MBlock *block = routine->order[i];
        for (uint32_t n = 0; n < block->count; n++)
            check_uses(routine, block->instrs[n]->uses, block->instrs[n]->use_count);
        check_uses(routine, block->term.uses, block->term.use_count);
    }
}

/* Only parameters have a value when the routine starts: whatever else is read was set before, on every way. */
static void check_entry(const Frame *f)
{
    const Routine *routine = f->routine;
    for (uint32_t i = routine->param_count; i < routine->var_count; i++) CHECK(!set_has(routine->entry->live_in, i));
}

static void frame_routine(Routine *routine)
{
    Frame f = {.routine = routine, .arena = routine->machine->arena, .words = (routine->var_count + 63) / 64};
    machine_at(routine);
    check_variables(routine);
    f.owned = set_new(&f);
    f.scratch = set_new(&f);
    for (uint32_t i = 0; i < routine->var_count; i++)
        if (routine->vars[i]->owned) set_add(f.owned, i);
    for (uint32_t i = 0; i < routine->order_count; i++) routine->order[i]->live_in = set_new(&f);
    solve(&f);
    check_entry(&f);
    for (uint32_t i = 0; i < routine->order_count; i++) fuse_results(routine->order[i]);
    release_all(&f);
    release_at_landings(&f);
    thread_jumps(routine);
    if (routine->kind != ROUTINE_WORKFLOW) return;
    cut_into_parts(routine);
    find_entries(&f);
    find_stretches(&f);
    assign_slots(&f);
    for (uint32_t i = 0; i < routine->point_count; i++) {
        Point *point = routine->points[i];
        for (uint32_t n = 0; n < point->live_count; n++) CHECK(point->live[n]->slot >= 0);
        if (point->live_count > 1) qsort(point->live, point->live_count, sizeof(Var *), by_slot);
    }
}

void frame_assign(Machine *machine)
{
    for (uint32_t i = 0; i < machine->routine_count; i++) frame_routine(machine->routines[i]);
}
