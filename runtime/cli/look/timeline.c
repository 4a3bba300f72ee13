/* timeline.c: tfy timeline: what each task of a run did when, computed from its records alone: a chart of characters on
 * a terminal, elsewhere one for Mermaid.
 */
#include "cli/frame/commands.h"
#include "cli/frame/report.h"
#include "cli/look/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/terminal.h"
#include "observe/screen.h"
#include "value/json.h"
#include "wal/rows/payload.h"
#include "wal/history/history.h"

/* ---- Mermaid ---- */

/* A name in a Gantt chart ends at a colon; '#' and ';' also have a meaning there. */
static void put_name(const char *text)
{
    for (; *text; text++) putchar(strchr(":;#%\"{}\\", *text) || (unsigned char)*text < ' ' ? ' ' : *text);
}

static void print_mermaid(const TfyTimeline *timeline)
{
    static const char *const tags[TFY_SPAN_KINDS] = {
        [TFY_SPAN_RUNS] = "",        [TFY_SPAN_WORKS] = "active, ", [TFY_SPAN_SLEEPS] = "done, ",
        [TFY_SPAN_WAITS] = "done, ", [TFY_SPAN_ASKS] = "active, ",  [TFY_SPAN_THINKS] = "active, "};
    const TfyHistory *history = timeline->history;
    printf("gantt\n    title ");
    put_name(history->workflow ? history->workflow : "run");
    printf("\n    dateFormat x\n    axisFormat %%H:%%M:%%S\n");
    size_t at = 0;
    for (uint32_t task = 0; task < history->task_count; task++) {
        printf("    section %s ", history->tasks[task].path);
        put_name(history->task_workflows[task] ? history->task_workflows[task] : "");
        putchar('\n');
        for (; at < timeline->count && timeline->spans[at].task == task; at++) {
            const TfySpan *span = &timeline->spans[at];
            printf("    ");
            put_name(*span->label ? span->label : tfy__span_kinds[span->kind]);
            printf(" :%s%lld, %lld\n", span->failed ? "crit, " : tags[span->kind], (long long)span->from_ms,
                   (long long)(span->to_ms > span->from_ms ? span->to_ms : span->from_ms + 1));
        }
    }
}

/* ---- SVG ---- */

enum { LABELS = 220, WIDTH = 1000, ROW = 24, HEAD = 40, FOOT = 34, TICKS = 8 };

static const char *const COLOURS[TFY_SPAN_KINDS] = {"#7aa6d8", "#2f7d4f", "#d9d9d9", "#f0c36a", "#b48ad6", "#3f62a8"};

static void put_xml(const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<': fputs("&lt;", stdout); break;
        case '>': fputs("&gt;", stdout); break;
        case '&': fputs("&amp;", stdout); break;
        case '"': fputs("&quot;", stdout); break;
        default: putchar((unsigned char)*text < ' ' ? ' ' : *text);
        }
    }
}

static double place(const TfyTimeline *timeline, int64_t ms)
{
    int64_t all = timeline->end_ms - timeline->begin_ms;
    return LABELS + (double)(ms - timeline->begin_ms) * WIDTH / (double)(all > 0 ? all : 1);
}

static void svg_axis(const TfyTimeline *timeline, int height)
{
    double all = (double)(timeline->end_ms - timeline->begin_ms) / 1000;
    for (int i = 0; i <= TICKS; i++) {
        double x = LABELS + (double)WIDTH * i / TICKS;
        printf("<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#e4e4e4\"/>\n", x, HEAD - 6, x,
               height - FOOT);
        printf("<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#666\">%.*f s</text>\n", x, HEAD - 12,
               all < 10    ? 2
               : all < 100 ? 1
                           : 0,
               all * i / TICKS);
    }
}

static void svg_span(const TfyTimeline *timeline, const TfySpan *span)
{
    double from = place(timeline, span->from_ms), to = place(timeline, span->to_ms);
    int y = HEAD + (int)span->task * ROW + 4;
    printf("<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" rx=\"2\" fill=\"%s\"%s><title>", from, y,
           to - from > 1 ? to - from : 1, ROW - 8, COLOURS[span->kind],
           span->failed ? " stroke=\"#c00\" stroke-width=\"1.5\"" : "");
    put_xml(*span->label ? span->label : tfy__span_kinds[span->kind]);
    printf(": %.3f s, step %lld%s</title></rect>\n", (double)(span->to_ms - span->from_ms) / 1000,
           (long long)span->step, span->failed ? ", failed" : "");
    if (to - from < 7.0 * (double)strlen(span->label) + 8) return;
    printf("<text x=\"%.2f\" y=\"%d\" fill=\"%s\" pointer-events=\"none\">", from + 4, y + 12,
           span->kind == TFY_SPAN_WORKS || span->kind == TFY_SPAN_THINKS ? "#fff" : "#222");
    put_xml(span->label);
    printf("</text>\n");
}

static void svg_legend(int height)
{
    for (int i = 0; i < TFY_SPAN_KINDS; i++) {
        int x = LABELS + i * 90;
        printf("<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" rx=\"2\" fill=\"%s\"/>"
               "<text x=\"%d\" y=\"%d\" fill=\"#444\">%s</text>\n",
               x, height - 22, COLOURS[i], x + 18, height - 12, tfy__span_kinds[i]);
    }
    int x = LABELS + TFY_SPAN_KINDS * 90;
    printf("<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" rx=\"2\" fill=\"none\" stroke=\"#c00\" "
           "stroke-width=\"1.5\"/>"
           "<text x=\"%d\" y=\"%d\" fill=\"#444\">failed</text>\n",
           x, height - 22, x + 18, height - 12);
}

static void print_svg(const TfyTimeline *timeline)
{
    const TfyHistory *history = timeline->history;
    int height = HEAD + (int)history->task_count * ROW + FOOT, width = LABELS + WIDTH + 40;
    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
           "font-family=\"sans-serif\" font-size=\"11\">\n"
           "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
           width, height, width, height, width, height);
    svg_axis(timeline, height);
    for (uint32_t task = 0; task < history->task_count; task++) {
        char name[64];
        snprintf(name, sizeof name, "%.20s %.*s", history->tasks[task].path, 20,
                 history->task_workflows[task] ? history->task_workflows[task] : "");
        printf("<text x=\"8\" y=\"%d\">", HEAD + (int)task * ROW + 16);
        put_xml(name);
        printf("</text>\n");
    }
    for (size_t i = 0; i < timeline->count; i++) svg_span(timeline, &timeline->spans[i]);
    svg_legend(height);
    printf("</svg>\n");
}

/* ---- a chart of characters ---- */

enum {
    CHART_COLUMNS = 100,
    CHART_LEAST = 40,
    NAME_MOST = 24,
    TOOK_WIDTH = 8,
    CELLS_MOST = 480,
    MARKS = TFY_SPAN_KINDS + 1
};

/* A chart: a line for each task, its name, its cells, the time it took. Each cell shows what the task did most of its
 * part of the time; the last mark is a failure, which a cell shows however short it was. */
typedef struct Chart {
    int name, cells; /* widths */
    bool utf8, colour;
} Chart;

static const char *const MARKS_UTF8[MARKS] = {"▒", "█", "·", "░", "?", "~", "×"};
static const char *const MARKS_ASCII[MARKS] = {"=", "#", ".", "-", "?", "~", "x"};
static const char *const MARK_COLOURS[MARKS] = {"34", "32", "2", "33", "35", "36", "1;31"};

static void put_mark(const Chart *chart, int mark, int times)
{
    char code[16];
    snprintf(code, sizeof code, "\033[%sm", MARK_COLOURS[mark]);
    if (chart->colour) tfy__terminal_codes(stdout, code);
    for (int i = 0; i < times; i++) fputs((chart->utf8 ? MARKS_UTF8 : MARKS_ASCII)[mark], stdout);
    if (chart->colour) tfy__terminal_codes(stdout, "\033[0m");
}

static void cover(const TfyTimeline *timeline, const Chart *chart, const TfySpan *span, double (*cells)[MARKS])
{
    const int64_t all = timeline->end_ms - timeline->begin_ms;
    const double each = (double)(all > 0 ? all : 1) / chart->cells, from = (double)(span->from_ms - timeline->begin_ms),
                 to = (double)(span->to_ms - timeline->begin_ms);
    const int mark = span->failed ? TFY_SPAN_KINDS : (int)span->kind;
    int first = (int)(from / each), last = (int)(to / each);
    if (first >= chart->cells) first = chart->cells - 1;
    if (last >= chart->cells) last = chart->cells - 1;
    for (int i = first; i <= last; i++) {
        const double low = from > i * each ? from : i * each, high = to < (i + 1) * each ? to : (i + 1) * each;
        cells[i][mark] += high > low ? high - low : 0;
        if (mark != TFY_SPAN_RUNS) cells[i][mark] += 1e-9; /* something without duration is more than nothing */
    }
}

/* Returns the mark of a cell; -1: the task did not exist then. */
static int mark_of(const double cell[MARKS])
{
    int best = -1;
    double most = 0;
    if (cell[TFY_SPAN_KINDS] > 0) return TFY_SPAN_KINDS;
    for (int i = 0; i < TFY_SPAN_KINDS; i++) {
        if (cell[i] > most) best = i;
        if (cell[i] > most) most = cell[i];
    }
    return best;
}

static void put_cells(const Chart *chart, double (*cells)[MARKS])
{
    for (int i = 0, next; i < chart->cells; i = next) {
        const int mark = mark_of(cells[i]);
        for (next = i + 1; next < chart->cells && mark_of(cells[next]) == mark; next++) continue;
        if (mark < 0)
            printf("%*s", next - i, "");
        else
            put_mark(chart, mark, next - i);
    }
}

static void chart_task(const TfyTimeline *timeline, const Chart *chart, uint32_t task, size_t *at)
{
    static double cells[CELLS_MOST][MARKS];
    TfyBuffer name = {0}, took = {0};
    const char *workflow = timeline->history->task_workflows[task];
    int64_t from_ms = INT64_MAX, to_ms = INT64_MIN;
    memset(cells, 0, sizeof cells);
    for (; *at < timeline->count && timeline->spans[*at].task == task; ++*at) {
        const TfySpan *span = &timeline->spans[*at];
        if (span->from_ms < from_ms) from_ms = span->from_ms;
        if (span->to_ms > to_ms) to_ms = span->to_ms;
        cover(timeline, chart, span, cells);
    }
    tfy__buffer_printf(&name, "%s %s", timeline->history->tasks[task].path, workflow ? workflow : "");
    TfyBuffer column = {0};
    tfy__screen_column(&column, name.data ? name.data : "", chart->name);
    printf("%s  ", column.data ? column.data : "");
    put_cells(chart, cells);
    if (to_ms >= from_ms) tfy__screen_elapsed(&took, to_ms - from_ms);
    printf("  %*s\n", TOOK_WIDTH, took.data ? took.data : "");
    tfy__buffer_free(&name);
    tfy__buffer_free(&column);
    tfy__buffer_free(&took);
}

/* Writes the times at the left, the middle and the right of the cells. */
static void chart_axis(const TfyTimeline *timeline, const Chart *chart)
{
    const int64_t all = timeline->end_ms - timeline->begin_ms;
    TfyBuffer middle = {0}, right = {0};
    tfy__screen_elapsed(&middle, all / 2);
    tfy__screen_elapsed(&right, all);
    if (!middle.failed && !right.failed)
        printf("%*s  0%*s%*s\n", chart->name, "", chart->cells / 2 - 1, middle.data, chart->cells - chart->cells / 2,
               right.data);
    tfy__buffer_free(&middle);
    tfy__buffer_free(&right);
}

static void chart_legend(const Chart *chart)
{
    for (int i = 0; i < MARKS; i++) {
        if (i) fputs("  ", stdout);
        put_mark(chart, i, 1);
        printf(" %s", i < TFY_SPAN_KINDS ? tfy__span_kinds[i] : "failed");
    }
    putchar('\n');
}

static void print_chart(const TfyTimeline *timeline)
{
    const TfyHistory *history = timeline->history;
    const int columns = tfy__terminal_columns(STDOUT_FILENO);
    Chart chart = {
        .name = 4, .utf8 = tfy__screen_utf8(), .colour = tfy__screen_obeys(STDOUT_FILENO) && tfy__screen_colour()};
    for (uint32_t i = 0; i < history->task_count; i++) {
        const char *workflow = history->task_workflows[i];
        const int width = (int)strlen(history->tasks[i].path) + 1 + (workflow ? tfy__screen_width(workflow) : 0);
        if (width > chart.name) chart.name = width;
    }
    if (chart.name > NAME_MOST) chart.name = NAME_MOST;
    const int width = columns > CHART_LEAST ? columns - 1 : columns ? CHART_LEAST : CHART_COLUMNS;
    chart.cells = width - chart.name - TOOK_WIDTH - 4;
    if (chart.cells > CELLS_MOST) chart.cells = CELLS_MOST;
    chart_axis(timeline, &chart);
    size_t at = 0;
    for (uint32_t task = 0; task < history->task_count && !ferror(stdout); task++)
        chart_task(timeline, &chart, task, &at);
    chart_legend(&chart);
}

/* ---- JSON ---- */

static json_t *time_json(int64_t ms)
{
    TfyBuffer text = {0};
    tfy__write_time(&text, ms);
    json_t *json = json_string(text.data ? text.data : "");
    tfy__buffer_free(&text);
    return json;
}

static void print_json(const TfyTimeline *timeline)
{
    const TfyHistory *history = timeline->history;
    json_t *spans = json_array();
    for (size_t i = 0; i < timeline->count; i++) {
        const TfySpan *span = &timeline->spans[i];
        const char *workflow = history->task_workflows[span->task];
        json_array_append_new(spans,
                              json_pack("{s:s,s:s*,s:s,s:s,s:I,s:o,s:o,s:b}", "task", history->tasks[span->task].path,
                                        "workflow", workflow, "kind", tfy__span_kinds[span->kind], "what", span->label,
                                        "step", (json_int_t)span->step, "from", time_json(span->from_ms), "to",
                                        time_json(span->to_ms), "failed", span->failed));
    }
    tfy__report_print(spans, 1);
}

static int print(const TfyArgs *args, const TfyTimeline *timeline)
{
    const char *format = args->option[OPT_FORMAT];
    if (!timeline->readings) return tfy__fail(EXIT_BUG, "memory ran out");
    if (args->option[OPT_JSON])
        print_json(timeline);
    else if (format && strcmp(format, "svg") == 0)
        print_svg(timeline);
    else if (format ? strcmp(format, "text") == 0 : isatty(STDOUT_FILENO))
        print_chart(timeline);
    else
        print_mermaid(timeline);
    return EXIT_DONE;
}

static int draw(const TfyArgs *args, const TfyHistory *history, bool held)
{
    (void)held;
    TfyTimeline timeline = {0};
    tfy__db_say_base(history);
    tfy__timeline_read(&timeline, history);
    const int status = print(args, &timeline);
    tfy__timeline_free(&timeline);
    return status;
}

int tfy__cmd_timeline(const TfyArgs *args)
{
    const char *format = args->option[OPT_FORMAT];
    if (format && strcmp(format, "mermaid") != 0 && strcmp(format, "svg") != 0 && strcmp(format, "text") != 0)
        return tfy__fail(EXIT_USAGE, "a timeline is drawn with --format text, mermaid or svg, not '%s'", format);
    return tfy__db_with_history(args, draw);
}
