/* tasks.c: tfy tasks: draws the tasks of a run as a graph: which task spawned which, which task joined which, and
 * where failures and cancellations went. */
#include "base/grow.h"
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/look/db.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum EdgeKind { SPAWNED, JOINED, FAILED_INTO, CANCELLED } EdgeKind;

static const char *const EDGE_KINDS[] = {"spawn", "join", "failure", "cancel"};

typedef struct Edge {
    uint32_t from, to; /* tasks, indexes in the history */
    EdgeKind kind;
    char label[40];
} Edge;

typedef enum State { UNFINISHED, COMPLETED, FAILED, CANCELLED_STATE } State;

static const char *const STATES[] = {"unfinished", "completed", "failed", "cancelled"};

typedef struct Graph {
    const TfyHistory *history;
    State *states;      /* per task */
    char (*errors)[40]; /* per task: the error it failed with */
    Edge *edges;
    size_t count, cap;
    json_t *paths; /* task by path */
    json_t *seen;  /* set of the edges in the graph */
} Graph;

/* ---- reading ---- */

static void add(Graph *graph, uint32_t from, uint32_t to, EdgeKind kind, const char *label)
{
    char key[64];
    snprintf(key, sizeof key, "%u/%u/%d", from, to, (int)kind);
    if (json_object_get(graph->seen, key)) return;
    json_object_set_new(graph->seen, key, json_true());
    if (!GROW(graph->edges, graph->cap, graph->count + 1, 64)) return;
    Edge *edge = &graph->edges[graph->count++];
    *edge = (Edge){.from = from, .to = to, .kind = kind};
    snprintf(edge->label, sizeof edge->label, "%s", label);
}

/* Returns the task with a path; UINT32_MAX: none. */
static uint32_t find(const Graph *graph, const char *path, size_t len)
{
    char text[512];
    snprintf(text, sizeof text, "%.*s", (int)len, path);
    const json_t *index = json_object_get(graph->paths, text);
    return index ? (uint32_t)json_integer_value(index) : UINT32_MAX;
}

static void read_end(Graph *graph, uint32_t task, const TfyLogRecord *record, const TfyPayload *payload)
{
    const char *error = tfy__error_kind(tfy__payload_get(payload, TFY_P_ERROR));
    graph->states[task] = record->type == TFY_R_TASK_EXIT                      ? COMPLETED
                          : tfy__payload_get(payload, TFY_P_CANCELLED) != NULL ? CANCELLED_STATE
                                                                               : FAILED;
    snprintf(graph->errors[task], sizeof graph->errors[task], "%s", error ? error : "");
}

/* A task that failed or was cancelled passes that on to every task that joins it. */
static void read_join(Graph *graph, uint32_t task, const TfyPayload *payload)
{
    const char *path = tfy__payload_text(payload, TFY_P_PATH);
    uint32_t other = path ? find(graph, path, strlen(path)) : UINT32_MAX;
    if (other == UINT32_MAX) return;
    const char *group = tfy__payload_text(payload, TFY_P_GROUP);
    add(graph, task, other, JOINED, group ? group : "join");
    if (!tfy__payload_get(payload, TFY_P_ERROR)) return;
    add(graph, other, task, FAILED_INTO,
        graph->states[other] == CANCELLED_STATE      ? "killed"
        : strcmp(graph->errors[other], "Panic") == 0 ? "panic"
                                                     : "failed");
}

static void read_cancel(Graph *graph, uint32_t task, const TfyPayload *payload)
{
    const char *path = graph->history->tasks[task].path, *dot = strrchr(path, '.');
    const char *why = tfy__payload_text(payload, TFY_P_WHY);
    uint32_t parent = dot ? find(graph, path, (size_t)(dot - path)) : UINT32_MAX;
    if (parent != UINT32_MAX && why && strcmp(why, "killed") != 0) add(graph, parent, task, CANCELLED, "cancels");
}

static void read_record(Graph *graph, uint32_t task, const TfyLogRecord *record)
{
    TfyPayload payload;
    tfy__payload_open(&payload, record);
    const char *path = tfy__payload_text(&payload, TFY_P_PATH);
    switch (record->type) {
    case TFY_R_TASK_SPAWN: {
        uint32_t child = path ? find(graph, path, strlen(path)) : UINT32_MAX;
        if (child != UINT32_MAX)
            add(graph, task, child, SPAWNED, tfy__payload_get(&payload, TFY_P_DETACHED) ? "detached" : "spawn");
        break;
    }
    case TFY_R_JOIN_RESULT: read_join(graph, task, &payload); break;
    case TFY_R_TASK_CANCEL: read_cancel(graph, task, &payload); break;
    case TFY_R_TASK_EXIT:
    case TFY_R_TASK_ABORT: read_end(graph, task, record, &payload); break;
    default: break;
    }
    tfy__payload_close(&payload);
}

/* ---- printing ---- */

static const char *colour_of(State state)
{
    static const char *const colours[] = {"#eeeeee", "#ccffcc", "#ffaaaa", "#ffeebb"};
    return colours[state];
}

static const char *workflow_of(const Graph *graph, uint32_t task)
{
    const char *name = graph->history->task_workflows[task];
    return name ? name : "";
}

static void print_mermaid(const Graph *graph)
{
    printf("flowchart TD\n");
    for (uint32_t i = 0; i < graph->history->task_count; i++)
        printf("  t%u[\"%s %s%s%s\"]:::%s\n", i, graph->history->tasks[i].path, workflow_of(graph, i),
               *graph->errors[i] ? "<br/>" : "", graph->errors[i], STATES[graph->states[i]]);
    for (size_t i = 0; i < graph->count; i++) {
        const Edge *edge = &graph->edges[i];
        printf("  t%u %s|%s| t%u\n", edge->from,
               edge->kind == SPAWNED  ? "-->"
               : edge->kind == JOINED ? "==>"
                                      : "-.->",
               edge->label, edge->to);
    }
    for (int i = UNFINISHED; i <= CANCELLED_STATE; i++)
        printf("  classDef %s fill:%s,stroke:#666\n", STATES[i], colour_of(i));
}

static void print_dot(const Graph *graph)
{
    printf("digraph tasks {\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n");
    for (uint32_t i = 0; i < graph->history->task_count; i++)
        printf("  t%u [label=\"%s %s%s%s\", fillcolor=\"%s\"];\n", i, graph->history->tasks[i].path,
               workflow_of(graph, i), *graph->errors[i] ? "\\n" : "", graph->errors[i], colour_of(graph->states[i]));
    for (size_t i = 0; i < graph->count; i++) {
        static const char *const styles[] = {
            [SPAWNED] = "solid", [JOINED] = "bold", [FAILED_INTO] = "dashed", [CANCELLED] = "dotted"};
        const Edge *edge = &graph->edges[i];
        printf("  t%u -> t%u [label=\"%s\", style=%s%s];\n", edge->from, edge->to, edge->label, styles[edge->kind],
               edge->kind == FAILED_INTO ? ", color=\"#aa0000\"" : "");
    }
    printf("}\n");
}

static void print_json(const Graph *graph)
{
    json_t *tasks = json_array(), *edges = json_array();
    for (uint32_t i = 0; i < graph->history->task_count; i++)
        json_array_append_new(tasks, json_pack("{s:s,s:s,s:s,s:s*}", "task", graph->history->tasks[i].path, "workflow",
                                               workflow_of(graph, i), "state", STATES[graph->states[i]], "error",
                                               *graph->errors[i] ? graph->errors[i] : NULL));
    for (size_t i = 0; i < graph->count; i++) {
        const Edge *edge = &graph->edges[i];
        json_array_append_new(edges, json_pack("{s:s,s:s,s:s,s:s}", "from", graph->history->tasks[edge->from].path,
                                               "to", graph->history->tasks[edge->to].path, "kind",
                                               EDGE_KINDS[edge->kind], "label", edge->label));
    }
    json_t *report = json_pack("{s:o,s:o}", "tasks", tasks, "edges", edges);
    tfy__report_print(report, 1);
}

static int print(const TfyArgs *args, Graph *graph)
{
    const char *format = args->option[OPT_FORMAT];
    const TfyHistory *history = graph->history;
    graph->states = calloc(history->task_count + 1, sizeof *graph->states);
    graph->errors = calloc(history->task_count + 1, sizeof *graph->errors);
    if (!graph->states || !graph->errors) return tfy__fail(EXIT_BUG, "memory ran out");
    for (uint32_t i = 0; i < history->task_count; i++)
        json_object_set_new(graph->paths, history->tasks[i].path, json_integer(i));
    for (uint32_t i = 0; i < history->record_count; i++)
        read_record(graph, history->record_tasks[i], &history->records[i]);
    if (args->option[OPT_JSON])
        print_json(graph);
    else if (format && strcmp(format, "dot") == 0)
        print_dot(graph);
    else
        print_mermaid(graph);
    return EXIT_DONE;
}

static int draw(const TfyArgs *args, const TfyHistory *history, bool held)
{
    (void)held;
    tfy__db_say_base(history);
    Graph graph = {.history = history, .paths = json_object(), .seen = json_object()};
    const int status = print(args, &graph);
    free(graph.states);
    free(graph.errors);
    free(graph.edges);
    json_decref(graph.paths);
    json_decref(graph.seen);
    return status;
}

int tfy__cmd_tasks(const TfyArgs *args)
{
    const char *format = args->option[OPT_FORMAT];
    if (format && strcmp(format, "mermaid") != 0 && strcmp(format, "dot") != 0)
        return tfy__fail(EXIT_USAGE, "tasks are drawn with --format mermaid or dot, not '%s'", format);
    return tfy__db_with_history(args, draw);
}
