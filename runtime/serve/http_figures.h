/* http_figures.h: how many requests each route had, what they were answered, and how long that took. Threads of HTTP count, and
 * anybody reads. */
#ifndef SERVE_HTTP_FIGURES_H
#define SERVE_HTTP_FIGURES_H

#include "base/buffer.h"
#include "serve/route.h"

typedef struct TfyHttpFigures TfyHttpFigures;

TfyHttpFigures *tfy__http_figures_new(void); /* NULL: no memory */
void tfy__http_figures_free(TfyHttpFigures *figures);

/* A request was answered. route: NULL: none was found. took_us: from its first line on. */
void tfy__http_answered(TfyHttpFigures *figures, const TfyRoute *route, int status, int64_t took_us);
/* Appends them in Prometheus' text format. */
void tfy__http_figures_text(const TfyHttpFigures *figures, TfyBuffer *out);

#endif
