/* watch.h: --watch: a program whose file is saved is compiled again, and becomes the active version; what does not compile is told on
 * stderr, and changes nothing. A thread of its own looks at the files, three times a second. */
#ifndef SERVE_WATCH_H
#define SERVE_WATCH_H

#include "serve/programs.h"

/* What is watched: "shop=path/of/shop.tfy". */
enum { TFY_WATCH_MOST = 64 };

struct TfyWatch;
/* Looks at nothing if there are no words. NULL: error (TFY_ERROR_TEXT bytes) says why. */
struct TfyWatch *tfy__watch_open(TfyServer *server, const char *const *words, int count, char *error);
void tfy__watch_quit(struct TfyWatch *watch); /* deploys no more; the loop must be there */
void tfy__watch_close(struct TfyWatch *watch);

#endif
