/* page.c: see page.h. A browser asks each time whether its copy is the one that this program has, so that after an update no
 * file of before runs beside one of after. */
#include "serve/page.h"

#include <stdio.h>

#include "serve/serve.h"

static void serve_file(TfyRequest *request, const char *name)
{
    const TfyWebFile *file = tfy__web_files;
    while (file->name && strcmp(file->name, name) != 0) file++;
    if (!file->name) {
        tfy__problem(&request->problem, TFY_PROBLEM_NOT_FOUND, "the page has no file '%.100s'", name);
        return;
    }
    request->type = file->type;
    request->packed = true;
    snprintf(request->etag, sizeof request->etag, "%s", file->etag);
    if (request->match && strcmp(request->match, file->etag) == 0)
        request->status = 304;
    else
        tfy__buffer_add(&request->answer, file->bytes, file->len);
}

void tfy__serve_page(TfyRequest *request)
{
    serve_file(request, "index.html");
}

void tfy__serve_web(TfyRequest *request)
{
    const TfyRouteNames *names = &request->names;
    char name[256];
    snprintf(name, sizeof name, "%s%s%s", names->text[0], names->count > 1 ? "/" : "",
             names->count > 1 ? names->text[1] : "");
    serve_file(request, name);
}
