/* http_figures.c: see http_figures.h. */
#include "serve/http_figures.h"

#include <stdlib.h>

#include "base/check.h"
#include "serve/gate.h"
#include "serve/times.h"

/* Those that there are, as problem.h and the routes have them; another one counts as 0. */
static const int codes[] = {0,   200, 201, 202, 304, 400, 401, 403, 404, 405, 409,
                            410, 412, 413, 415, 421, 422, 429, 431, 500, 501, 503};

enum { CODES = sizeof codes / sizeof *codes, ROUTES_MOST = 128 };

struct TfyHttpFigures {
    _Atomic uint64_t answered[ROUTES_MOST][CODES]; /* the first row: of no route */
    TfyTimes times;
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
    size_t code = CODES - 1;
    CHECK(row < ROUTES_MOST);
    while (code && codes[code] != status) code--;
    figures->answered[row][code]++;
    tfy__times_add(&figures->times, took_us);
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

void tfy__http_figures_text(const TfyHttpFigures *figures, TfyBuffer *out)
{
    tfy__buffer_text(out, "# HELP tfy_http_requests_total Requests, by route and status.\n"
                          "# TYPE tfy_http_requests_total counter\n");
    for (size_t row = 0; row == 0 || tfy__routes[row - 1].pattern; row++) add_row(figures, row, out);
    tfy__times_text(&figures->times, "tfy_http_seconds",
                    "Time from a request's first line to its answer; of a stream, to its start.", out);
}
