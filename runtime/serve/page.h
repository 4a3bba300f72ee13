/* page.h: the files of the page that people see in a browser. They are part of the program, packed by gzip when it was built;
 * runtime/serve/web has their sources. */
#ifndef SERVE_PAGE_H
#define SERVE_PAGE_H

#include <stddef.h>

struct TfyRequest;

typedef struct TfyWebFile {
    const char *name; /* "index.html", "views/runs.js" */
    const char *type; /* of its content */
    const char *etag; /* with its quotes */
    const char *bytes;
    size_t len;
} TfyWebFile;

extern const TfyWebFile tfy__web_files[]; /* ends with one without a name; made by make_web.c */

void tfy__serve_page(struct TfyRequest *request); /* "/" */
void tfy__serve_web(struct TfyRequest *request);  /* "/web/{file}", "/web/{folder}/{file}" */

#endif
