/* emit_graph.c: the states of every workflow as a graph, for Mermaid or Graphviz, or as JSON for programs.
 *
 * A node is a place where a workflow stops; an edge leads to the places it can reach from there without stopping.
 * Where an error can take it, the edge is dotted. Calls, spawned tasks, bodies of parallel and race and undo blocks
 * lead to the beginning of their workflow. The stops of fuel are left out: any loop has them. The same program gives
 * the same text. */
#include <stdlib.h>
#include <string.h>

#include "ctext.h"
#include "machine.h"

/* A kind of arrow: its label, and how it is drawn. */
typedef enum Arrow { ARROW_FLOW, ARROW_ERROR, ARROW_CALL, ARROW_SPAWN, ARROW_DETACHED, ARROW_BODY, ARROW_UNDO } Arrow;

static const char *const arrow_names[] = {
    [ARROW_FLOW] = "",     [ARROW_ERROR] = "error",       [ARROW_CALL] = "call", [ARROW_SPAWN] = "spawn",
    [ARROW_BODY] = "body", [ARROW_DETACHED] = "detached", [ARROW_UNDO] = "undo",
};

/* Numbers of nodes within a routine: 0 the beginning, pc for a state, then the end. */
typedef struct Edge {
    uint32_t from;
    /* ARROW_FLOW and ARROW_ERROR: in the same routine; else the routine whose beginning it leads to */
    uint32_t to;
    Arrow arrow;
} Edge;

typedef struct Graph {
    const Machine *machine;
    GraphFormat format;
    Text out;
    uint32_t *numbers;      /* by index of a routine: its place among the workflows */
    const Routine *routine; /* the one being walked */
    Edge *edges;            /* of that routine */
    uint32_t edge_count, edge_cap;
    uint8_t *visited; /* by block id: 1 as a matter of course, 2 after an error */
    const MBlock **stack;
    bool *stack_errors; /* beside stack: reached after an error */
} Graph;

static uint32_t end_of(const Routine *routine)
{
    return routine->resume_count + 1;
}

/* ---- walking ---- */

/* A routine has few edges that are equal, and they follow each other closely: the last ones are inspected. */
static void add_edge(Graph *g, uint32_t from, uint32_t to, Arrow arrow)
{
    for (uint32_t i = g->edge_count; i > 0 && g->edges[i - 1].from == from; i--)
        if (g->edges[i - 1].to == to &&
            (g->edges[i - 1].arrow == arrow || (arrow == ARROW_ERROR && g->edges[i - 1].arrow == ARROW_FLOW)))
            return;
    g->edges = arena_grow(g->machine->arena, g->edges, &g->edge_cap, g->edge_count + 1, sizeof *g->edges);
    g->edges[g->edge_count++] = (Edge){from, to, arrow};
}

static void note_start(Graph *g, uint32_t from, const Instr *instr)
{
    static const struct {
        RtId id;
        Arrow arrow;
    } starts[] = {{RT_SPAWN, ARROW_SPAWN},        {RT_SPAWN_DETACHED, ARROW_DETACHED},
                  {RT_SPAWN_UNHELD, ARROW_SPAWN}, {RT_SPAWN_DETACHED_UNHELD, ARROW_DETACHED},
                  {RT_SPAWN_WITH, ARROW_SPAWN},   {RT_BRANCH, ARROW_BODY},
                  {RT_UNDO_PUSH, ARROW_UNDO}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (!instr->func || instr->func != machine_func(starts[i].id)) continue;
        for (uint32_t n = 0; n < instr->argc; n++)
            if (instr->args[n]->kind == VAL_FLOW)
                add_edge(g, from, machine_find_workflow(g->machine, instr->args[n]->decl, instr->args[n]->routine),
                         starts[i].arrow);
    }
}

static uint32_t go_on(Graph *g, uint32_t depth, const MBlock *to, bool error)
{
    uint8_t bit = error ? 2 : 1;
    if (!to || g->visited[to->id] & (bit | 1)) return depth;
    g->visited[to->id] |= bit;
    g->stack[depth] = to;
    g->stack_errors[depth] = error;
    return depth + 1;
}

/* Follows one block to its end; answers the new depth of the stack. */
static uint32_t walk_block(Graph *g, uint32_t from, uint32_t depth, const MBlock *block, bool error)
{
    const Term *term = &block->term;
    for (uint32_t i = 0; i < block->count; i++) {
        note_start(g, from, block->instrs[i]);
        depth = go_on(g, depth, block->instrs[i]->landing, true);
    }
    switch (term->kind) {
    case TERM_POINT: add_edge(g, from, term->point->pc, error ? ARROW_ERROR : ARROW_FLOW); return depth;
    case TERM_RETURN: add_edge(g, from, end_of(g->routine), error ? ARROW_ERROR : ARROW_FLOW); return depth;
    case TERM_BRANCH: depth = go_on(g, depth, term->other, error); break;
    case TERM_SWITCH:
        for (uint32_t i = term->case_count; i > 0; i--) depth = go_on(g, depth, term->cases[i - 1].to, error);
        break;
    default: break;
    }
    return go_on(g, depth, term->to, error);
}

static void walk_from(Graph *g, uint32_t from, const MBlock *begin, const MBlock *landing)
{
    memset(g->visited, 0, g->routine->block_count);
    uint32_t depth = go_on(g, 0, landing, true);
    depth = go_on(g, depth, begin, false);
    while (depth) {
        depth--;
        depth = walk_block(g, from, depth, g->stack[depth], g->stack_errors[depth]);
    }
}

static int compare_edges(const void *left, const void *right)
{
    const Edge *a = left, *b = right;
    bool a_calls = a->arrow > ARROW_ERROR, b_calls = b->arrow > ARROW_ERROR;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    if (a_calls != b_calls) return a_calls ? 1 : -1;
    if (a->to != b->to) return a->to < b->to ? -1 : 1;
    return (int)a->arrow - (int)b->arrow;
}

/* All edges of a routine, by the node they leave; the way of an error is left out where the ordinary way leads there
 * too. */
static void walk_routine(Graph *g, const Routine *routine)
{
    g->routine = routine;
    g->edge_count = 0;
    g->visited = arena_alloc(g->machine->arena, routine->block_count + 1);
    g->stack = arena_alloc(g->machine->arena, (2 * routine->block_count + 2) * sizeof *g->stack);
    g->stack_errors = arena_alloc(g->machine->arena, 2 * routine->block_count + 2);
    walk_from(g, 0, routine->entry, NULL);
    for (uint32_t i = 0; i < routine->order_count; i++) {
        const Term *term = &routine->order[i]->term;
        if (term->kind != TERM_POINT) continue;
        walk_from(g, term->point->pc, term->to, term->landing);
        if (term->point->ask == ASK_CALL && term->callee)
            add_edge(g, term->point->pc, machine_find_workflow(g->machine, term->callee, NULL), ARROW_CALL);
    }
    qsort(g->edges, g->edge_count, sizeof *g->edges, compare_edges);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->edge_count; i++) {
        const Edge *edge = &g->edges[i], *last = kept ? &g->edges[kept - 1] : NULL;
        bool same_way = last && last->from == edge->from && last->to == edge->to && last->arrow <= ARROW_ERROR &&
                        edge->arrow <= ARROW_ERROR;
        if (!same_way) g->edges[kept++] = *edge;
    }
    g->edge_count = kept;
}

/* ---- names ---- */

/* Text in quotes: Mermaid has entities, Graphviz backslashes; a newline becomes one in the picture. */
static void put_escaped(Graph *g, const char *text)
{
    bool mermaid = g->format == GRAPH_MERMAID;
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '\n')
            text_put(&g->out, mermaid ? "<br/>" : "\\n");
        else if (c < 32 || c == 127)
            text_put(&g->out, " ");
        else if (mermaid && strchr("\"#&<>\\`", c))
            text_format(&g->out, "#%d;", c);
        else if (!mermaid && (c == '"' || c == '\\'))
            text_format(&g->out, "\\%c", c);
        else
            text_add(&g->out, text, 1);
    }
}

/* What it calls, by name; NULL: nothing. */
static const char *callee_name(const Point *point)
{
    return point->callee ? point->callee->full_name : point->builtin ? point->builtin->name : point->effect;
}

static const char *state_name(const Point *point, Arena *arena)
{
    const char *what = callee_name(point);
    switch (point->ask) {
    case ASK_CALL: return arena_printf(arena, "call %s", what);
    case ASK_BACKOFF: return "retry";
    case ASK_UNDO: return "undo";
    case ASK_YIELD: return "yield";
    default: return what ? what : "yield";
    }
}

static const char *state_text(const Point *point, Arena *arena)
{
    const Module *module = point->routine->decl->module;
    uint32_t line = point->line - module->source->line_base;
    const char *name = state_name(point, arena);
    if (point->label) name = arena_printf(arena, "%s\n%s", point->label, name);
    return module->number ? arena_printf(arena, "%s\n%s:%u", name, module->file, line)
                          : arena_printf(arena, "%s\nline %u", name, line);
}

static void put_node(Graph *g, uint32_t routine, uint32_t node, uint32_t end)
{
    if (node == 0)
        text_format(&g->out, "r%u_begin", routine);
    else if (node == end)
        text_format(&g->out, "r%u_end", routine);
    else
        text_format(&g->out, "r%u_s%u", routine, node);
}

/* ---- the two languages ---- */

static void put_state(Graph *g, uint32_t r, const Point *point)
{
    bool mermaid = g->format == GRAPH_MERMAID;
    text_format(&g->out, mermaid ? "    r%u_s%u[\"" : "    r%u_s%u [label=\"", r, point->pc);
    put_escaped(g, state_text(point, g->machine->arena));
    text_put(&g->out, mermaid ? "\"]\n" : "\"];\n");
}

/* Is the end reached at all? */
static bool has_end(const Graph *g, const Routine *routine)
{
    for (uint32_t i = 0; i < g->edge_count; i++)
        if (g->edges[i].arrow <= ARROW_ERROR && g->edges[i].to == end_of(routine)) return true;
    return false;
}

static void put_nodes(Graph *g, uint32_t r, const Routine *routine)
{
    bool mermaid = g->format == GRAPH_MERMAID;
    text_format(&g->out, mermaid ? "  subgraph r%u[\"" : "  subgraph cluster_r%u {\n    label=\"", r);
    put_escaped(g, routine->label);
    text_put(&g->out, mermaid ? "\"]\n" : "\";\n");
    text_format(&g->out, mermaid ? "    r%u_begin(( ))\n" : "    r%u_begin [shape=circle, label=\"\", width=0.2];\n",
                r);
    for (uint32_t i = 0; i < routine->resume_count; i++)
        if (routine->resume[i]->ask != ASK_FUEL) put_state(g, r, routine->resume[i]);
    if (has_end(g, routine))
        text_format(&g->out,
                    mermaid ? "    r%u_end(((\"end\")))\n" : "    r%u_end [shape=doublecircle, label=\"end\"];\n", r);
}

static void put_edge(Graph *g, uint32_t r, const Edge *edge)
{
    bool mermaid = g->format == GRAPH_MERMAID, inside = edge->arrow <= ARROW_ERROR;
    uint32_t end = end_of(g->routine);
    text_put(&g->out, inside ? "    " : "  ");
    put_node(g, r, edge->from, end);
    if (edge->arrow == ARROW_FLOW)
        text_put(&g->out, mermaid ? " --> " : " -> ");
    else if (mermaid)
        text_format(&g->out, " -. %s .-> ", arrow_names[edge->arrow]);
    else
        text_put(&g->out, " -> ");
    put_node(g, inside ? r : g->numbers[edge->to], inside ? edge->to : 0, end);
    if (!mermaid && edge->arrow != ARROW_FLOW)
        text_format(&g->out, " [style=%s, label=\"%s\"]", inside ? "dotted" : "dashed", arrow_names[edge->arrow]);
    text_put(&g->out, mermaid ? "\n" : ";\n");
}

static void put_edges(Graph *g, uint32_t r, bool inside)
{
    for (uint32_t i = 0; i < g->edge_count; i++)
        if ((g->edges[i].arrow <= ARROW_ERROR) == inside) put_edge(g, r, &g->edges[i]);
}

/* ---- as JSON ---- */

static void put_member(Graph *g, const char *name, const char *text)
{
    text_format(&g->out, "\"%s\":", name);
    text_quote_json(&g->out, text);
}

static void put_line(Graph *g, const Routine *routine, uint32_t line)
{
    const Module *module = routine->decl->module;
    if (module->number) {
        text_put(&g->out, ",");
        put_member(g, "file", module->file);
    }
    text_format(&g->out, ",\"line\":%u", line - module->source->line_base);
}

static void put_json_node(Graph *g, const Point *point)
{
    static const char *const kinds[] = {[ASK_YIELD] = "yield",
                                        [ASK_EFFECT] = "effect",
                                        [ASK_CALL] = "call",
                                        [ASK_BACKOFF] = "backoff",
                                        [ASK_UNDO] = "undo"};
    text_put(&g->out, "{");
    put_member(g, "point", point->id);
    text_format(&g->out, ",\"kind\":\"%s\"", kinds[point->ask]);
    put_line(g, point->routine, point->line);
    text_put(&g->out, ",");
    if (callee_name(point)) {
        put_member(g, "callee", callee_name(point));
        text_put(&g->out, ",");
    }
    put_member(g, "label", point->label ? point->label : state_name(point, g->machine->arena));
    text_put(&g->out, "}");
}

/* The beginning and the end have no point. */
static void put_json_end(Graph *g, const char *name, uint32_t node)
{
    if (node == 0 || node == end_of(g->routine))
        text_format(&g->out, "\"%s\":null", name);
    else
        put_member(g, name, g->routine->resume[node - 1]->id);
}

static void put_json_edge(Graph *g, const Edge *edge)
{
    text_put(&g->out, "{");
    put_json_end(g, "from", edge->from);
    text_put(&g->out, ",");
    if (edge->arrow <= ARROW_ERROR) {
        put_json_end(g, "to", edge->to);
        if (edge->arrow == ARROW_ERROR) text_put(&g->out, ",\"error\":true");
    } else {
        put_member(g, "starts", g->machine->routines[edge->to]->label);
        text_put(&g->out, ",");
        put_member(g, "label", arrow_names[edge->arrow]);
    }
    text_put(&g->out, "}");
}

static void put_json_workflow(Graph *g, const Routine *routine)
{
    const char *comma = "";
    walk_routine(g, routine);
    text_put(&g->out, "{");
    put_member(g, "name", routine->label);
    put_line(g, routine, routine->line);
    text_put(&g->out, ",\"nodes\":[");
    for (uint32_t i = 0; i < routine->resume_count; i++) {
        if (routine->resume[i]->ask == ASK_FUEL) continue;
        text_put(&g->out, comma);
        put_json_node(g, routine->resume[i]);
        comma = ",\n";
    }
    text_put(&g->out, "],\n\"edges\":[");
    for (uint32_t i = 0; i < g->edge_count; i++) {
        if (i) text_put(&g->out, ",\n");
        put_json_edge(g, &g->edges[i]);
    }
    text_put(&g->out, "]}");
}

static void put_json(Graph *g)
{
    const char *comma = "{\"workflows\":[\n";
    for (uint32_t i = 0; i < g->machine->routine_count; i++) {
        if (g->machine->routines[i]->kind != ROUTINE_WORKFLOW) continue;
        text_put(&g->out, comma);
        put_json_workflow(g, g->machine->routines[i]);
        comma = ",\n";
    }
    text_put(&g->out, *comma == '{' ? "{\"workflows\":[]}\n" : "]}\n");
}

/* ---- as a whole ---- */

static void number_workflows(Graph *g)
{
    uint32_t count = 0;
    g->numbers = arena_alloc(g->machine->arena, (g->machine->routine_count + 1) * sizeof *g->numbers);
    for (uint32_t i = 0; i < g->machine->routine_count; i++)
        if (g->machine->routines[i]->kind == ROUTINE_WORKFLOW) g->numbers[i] = count++;
}

/* Edges between workflows are after the workflows: in Mermaid a node belongs to the group that names it first. */
static void put_picture(Graph *g)
{
    const Machine *machine = g->machine;
    const bool mermaid = g->format == GRAPH_MERMAID;
    text_put(&g->out, mermaid ? "flowchart TD\n" : "digraph program {\n  node [shape=box, fontname=\"sans-serif\"];\n");
    number_workflows(g);
    for (int calls = 0; calls < 2; calls++)
        for (uint32_t r = 0; r < machine->routine_count; r++) {
            const Routine *routine = machine->routines[r];
            if (routine->kind != ROUTINE_WORKFLOW) continue;
            walk_routine(g, routine);
            if (!calls) put_nodes(g, g->numbers[r], routine);
            put_edges(g, g->numbers[r], !calls);
            if (!calls) text_put(&g->out, mermaid ? "  end\n" : "  }\n");
        }
    if (!mermaid) text_put(&g->out, "}\n");
}

char *emit_graph(const Machine *machine, GraphFormat format, size_t *len)
{
    Graph *g = arena_new(machine->arena, Graph);
    *g = (Graph){.machine = machine, .format = format, .out = {.arena = machine->arena}};
    if (format == GRAPH_JSON)
        put_json(g);
    else
        put_picture(g);
    *len = g->out.len;
    return g->out.data;
}
