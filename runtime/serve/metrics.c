/* metrics.c: GET /metrics: the figures of the loop (observe/metrics.h), and the server's own, in Prometheus' text format. */
#include <stdlib.h>

#include "base/buffer.h"
#include "serve/followers.h"
#include "serve/http_figures.h"
#include "serve/queue.h"
#include "serve/reader.h"
#include "serve/schedules.h"
#include "serve/serve.h"
#include "serve/stream.h"

static void count_one(void *count, const char *run, const char *why)
{
    ++*(int *)count;
}

static void add_own(TfyServer *server, TfyBuffer *out)
{
    int diverged = 0;
    tfy__see_diverged(server->loop, count_one, &diverged);
    tfy__buffer_printf(out,
                       "# HELP tfy_runs_diverged Runs that differ from their log and are set aside.\n"
                       "# TYPE tfy_runs_diverged gauge\ntfy_runs_diverged %d\n",
                       diverged);
    tfy__buffer_printf(out,
                       "# HELP tfy_index_lag_records Records that lists do not have yet.\n"
                       "# TYPE tfy_index_lag_records gauge\ntfy_index_lag_records %lld\n",
                       (long long)tfy__tail_behind(server->tail));
    tfy__buffer_printf(out,
                       "# HELP tfy_sse_subscribers Streams of events that are open.\n"
                       "# TYPE tfy_sse_subscribers gauge\ntfy_sse_subscribers %u\n",
                       tfy__hub_listeners(server->hub));
    tfy__buffer_printf(out,
                       "# HELP tfy_schedule_late_seconds How long the oldest time of a schedule has been due.\n"
                       "# TYPE tfy_schedule_late_seconds gauge\ntfy_schedule_late_seconds %.3f\n",
                       tfy__schedules_late_s(server->schedules));
    tfy__queue_figures(server->queue, out);
    tfy__times_text(&server->turns, "tfy_loop_turn_seconds",
                    "How long a turn of the loop took, without the time that it slept.", out);
    tfy__http_figures_text(server->figures, out);
    tfy__followers_figures(server->followers, tfy__log_durable_lsn(tfy__loop_log(server->loop)), out);
    tfy__buffer_printf(out,
                       "# HELP tfy_build_info The version of the server.\n"
                       "# TYPE tfy_build_info gauge\ntfy_build_info{version=\"%s\"} 1\n",
                       tfy_version());
}

static int take_time(void *arg, const TfyLogRecord *record)
{
    *(int64_t *)arg = record->ts_ms;
    return 1;
}

/* In a reader: what lists know. */
static void add_waiting(TfyRequest *request)
{
    TfyWaiting waiting;
    TfyBuffer *out = &request->answer;
    int64_t asked_ms = 0;
    if (tfy__index_waiting(request->reader->index, &waiting) != TFY_OK) return; /* the lag says that lists are behind */
    if (waiting.oldest_lsn) (void)tfy__log_see(request->reader->log, waiting.oldest_lsn, take_time, &asked_ms);
    const int64_t late_ms = asked_ms ? tfy__clock_ms() - asked_ms : 0;
    tfy__buffer_printf(out,
                       "# HELP tfy_questions_open Questions that wait for people.\n"
                       "# TYPE tfy_questions_open gauge\ntfy_questions_open %lld\n"
                       "# HELP tfy_question_oldest_seconds How long the oldest of them has waited.\n"
                       "# TYPE tfy_question_oldest_seconds gauge\ntfy_question_oldest_seconds %.3f\n"
                       "# HELP tfy_in_doubt Steps of which nobody knows whether they were done.\n"
                       "# TYPE tfy_in_doubt gauge\ntfy_in_doubt %lld\n",
                       (long long)waiting.questions, late_ms > 0 ? (double)late_ms / 1000 : 0.0,
                       (long long)waiting.doubts);
}

/* In the loop, whose figures nobody else may read. */
static void add_loop(TfyLoop *loop, void *arg)
{
    TfyRequest *request = arg;
    TfyServer *server = request->server;
    TfyTicket ticket;
    if (!loop) {
        tfy__command_refuse(request);
        return;
    }
    tfy__metrics_text(loop, &request->answer, &ticket);
    add_own(server, &request->answer);
    request->type = "text/plain; version=0.0.4; charset=utf-8";
    tfy__command_await(request, tfy__command_answer);
}

static void pass_to_loop(TfyRequest *request)
{
    if (tfy__command_post(request->server, add_loop, request) != TFY_OK) tfy__command_refuse(request);
}

void tfy__serve_metrics(TfyRequest *request)
{
    if (!tfy__request_known(request, (const char *const[]){NULL})) return;
    add_waiting(request);
    request->pass = pass_to_loop;
}
