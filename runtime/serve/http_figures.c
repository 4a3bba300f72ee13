/* http_figures.c: see http_figures.h. */
#include "serve/http_figures.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/check.h"
#include "serve/gate.h"

/* Those that there are, as problem.h and the routes have them; another one counts as 0. */
static const int codes[] = {0,   200, 201, 202, 304, 400, 401, 403, 404, 405, 409,
                            410, 412, 413, 415, 421, 422, 429, 431, 500, 501, 503};

/* Upper bounds, in microseconds; the last one is unbounded. */
static const int64_t bounds_us[] = {500,   1000,   2500,   5000,    10000,   25000,
                                    50000, 100000, 250000, 1000000, 2500000, 10000000};

enum { CODES = sizeof codes / sizeof *codes, BOUNDS = sizeof bounds_us / sizeof *bounds_us, ROUTES_MOST = 128 };

struct TfyHttpFigures {
    _Atomic uint64_t answered[ROUTES_MOST][CODES]; /* the first row: of no route */
    _Atomic uint64_t within[BOUNDS + 1];           /* not cumulative */
    _Atomic uint64_t took_us;
};

TfyHttpFigures *tfy__http_figures_new(void)
{
    return calloc(1, sizeof(TfyHttpFigures));
}

void tfy__http_figures_free(TfyHttpFigures *figures)
{
    free(figures);
}

void tfy__http_answered(TfyHttpFigures *figures, const TfyRoute *route, int status, int64_t took_us)
{
    const size_t row = route ? (size_t)(route - tfy__routes) + 1 : 0;
    size_t code = CODES - 1, bound = 0;
    CHECK(row < ROUTES_MOST);
    while (code && codes[code] != status) code--;
    while (bound < BOUNDS && took_us > bounds_us[bound]) bound++;
    figures->answered[row][code]++;
    figures->within[bound]++;
    figures->took_us += (uint64_t)took_us;
}

static void add_row(const TfyHttpFigures *figures, size_t row, TfyBuffer *out)
{
    static const char *const methods[] = {
        [TFY_GET] = "GET", [TFY_HEAD] = "HEAD", [TFY_POST] = "POST", [TFY_PUT] = "PUT", [TFY_DELETE] = "DELETE"};
    const TfyRoute *route = row ? &tfy__routes[row - 1] : NULL;
    for (size_t i = 0; i < CODES; i++) {
        const uint64_t count = figures->answered[row][i];
        if (count)
            tfy__buffer_printf(out, "tfy_http_requests_total{route=\"%s%s%s\",code=\"%d\"} %llu\n",
                               route ? methods[route->method] : "", route ? " " : "", route ? route->pattern : "none",
                               codes[i], (unsigned long long)count);
    }
}

static void add_times(const TfyHttpFigures *figures, TfyBuffer *out)
{
    uint64_t count = 0;
    for (size_t i = 0; i < BOUNDS; i++) {
        count += figures->within[i];
        tfy__buffer_printf(out, "tfy_http_seconds_bucket{le=\"%g\"} %llu\n", (double)bounds_us[i] / 1e6,
                           (unsigned long long)count);
    }
    count += figures->within[BOUNDS];
    tfy__buffer_printf(out,
                       "tfy_http_seconds_bucket{le=\"+Inf\"} %llu\ntfy_http_seconds_sum %.6f\n"
                       "tfy_http_seconds_count %llu\n",
                       (unsigned long long)count, (double)figures->took_us / 1e6, (unsigned long long)count);
}

void tfy__http_figures_text(const TfyHttpFigures *figures, TfyBuffer *out)
{
    tfy__buffer_text(out, "# HELP tfy_http_requests_total Requests, by route and status.\n"
                          "# TYPE tfy_http_requests_total counter\n");
    for (size_t row = 0; row == 0 || tfy__routes[row - 1].pattern; row++) add_row(figures, row, out);
    tfy__buffer_text(
        out, "# HELP tfy_http_seconds Time from a request's first line to its answer; of a stream, to its start.\n"
             "# TYPE tfy_http_seconds histogram\n");
    add_times(figures, out);
}
