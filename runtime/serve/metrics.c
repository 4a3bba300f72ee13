/* metrics.c: GET /metrics: the figures of the loop (observe/metrics.h), and the server's own, in Prometheus' text format. */
#include <stdlib.h>

#include "base/buffer.h"
#include "serve/followers.h"
#include "serve/queue.h"
#include "serve/schedules.h"
#include "serve/serve.h"
#include "serve/stream.h"

static void add_own(TfyServer *server, TfyBuffer *out)
{
    const int64_t head = tfy__log_durable(tfy__loop_log(server->loop)), lag = head - tfy__tail_cursor(server->tail);
    tfy__buffer_printf(out,
                       "# HELP tfy_index_lag_records Records that lists do not have yet.\n"
                       "# TYPE tfy_index_lag_records gauge\ntfy_index_lag_records %lld\n",
                       (long long)(lag > 0 ? lag : 0));
    tfy__buffer_printf(out,
                       "# HELP tfy_sse_subscribers Streams of events that are open.\n"
                       "# TYPE tfy_sse_subscribers gauge\ntfy_sse_subscribers %u\n",
                       tfy__hub_listeners(server->hub));
    tfy__buffer_printf(out,
                       "# HELP tfy_schedule_late_seconds How long the oldest time of a schedule has been due.\n"
                       "# TYPE tfy_schedule_late_seconds gauge\ntfy_schedule_late_seconds %.3f\n",
                       tfy__schedules_late_s(server->schedules));
    tfy__queue_figures(server->queue, out);
    tfy__followers_figures(server->followers, head, out);
    tfy__buffer_printf(out,
                       "# HELP tfy_build_info The version of the server.\n"
                       "# TYPE tfy_build_info gauge\ntfy_build_info{version=\"%s\"} 1\n",
                       tfy_version());
}

void tfy__serve_metrics(TfyRequest *request)
{
    TfyServer *server = request->server;
    int64_t lsn;
    if (tfy__request_known(request, (const char *const[]){NULL})) {
        tfy__metrics_text(server->loop, &request->answer, &lsn);
        add_own(server, &request->answer);
        request->type = "text/plain; version=0.0.4; charset=utf-8";
        tfy__command_await(request, tfy__command_answer);
    } else {
        tfy__request_done(request);
    }
}
