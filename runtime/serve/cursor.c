/* cursor.c: the places where the next pages of lists start. Clients keep them as they are: a cursor of another list, of an
 * index that was made anew, or one that somebody changed is refused, and never shows a wrong page. */
#include <stdio.h>

#include "serve/reader.h"
#include "serve/runs.h"

static unsigned long long sum_of(uint64_t made, uint64_t at, char list)
{
    return tfy__mix(made ^ at ^ (uint64_t)list << 56) & 0xffff;
}

bool tfy__cursor_read(TfyRequest *request, char list, int64_t *at)
{
    const char *text = tfy__request_parameter(request, "cursor");
    unsigned long long made, place, sum;
    int used = 0;
    *at = 0;
    if (!text) return true;
    const bool read =
        *text == list && sscanf(text + 1, "%llx-%llx-%llx%n", &made, &place, &sum, &used) == 3 && !text[1 + used];
    if (read && (int64_t)made == tfy__index_made(request->reader->index) && sum == sum_of(made, place, list)) {
        *at = (int64_t)place;
        return true;
    }
    return tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, "the cursor is not one of this list; begin anew");
}

void tfy__cursor_text(TfyRequest *request, char list, int64_t at, char *text, size_t size)
{
    const uint64_t made = (uint64_t)tfy__index_made(request->reader->index);
    snprintf(text, size, "%c%llx-%llx-%llx", list, (unsigned long long)made, (unsigned long long)at,
             sum_of(made, (uint64_t)at, list));
}

void tfy__cursor_write(TfyRequest *request, char list, int64_t at)
{
    enum { MANY = 2000 }; /* records: more than busy runs leave to be followed */
    const int64_t behind = tfy__tail_behind(request->server->tail);
    char text[64] = "";
    if (at) tfy__cursor_text(request, list, at, text, sizeof text);
    tfy__buffer_char(&request->answer, ']');
    tfy__answer_text(&request->answer, "next", at ? text : NULL);
    if (behind >= MANY) tfy__buffer_printf(&request->answer, ",\"behind\":%lld", (long long)behind);
    tfy__buffer_char(&request->answer, '}');
}
