/* cursor.c: the places where the next pages of lists start. Clients keep them as they are: a cursor of another list, of an
 * index that was made anew, or one that somebody changed is refused, and never shows a wrong page. */
#include <stdio.h>

#include "serve/reader.h"
#include "serve/runs.h"

static unsigned long long sum_of(uint64_t made, const TfyPlace *place, char list)
{
    return tfy__mix(made ^ tfy__mix((uint64_t)place->value) ^ (uint64_t)place->at ^ (uint64_t)list << 56) & 0xffff;
}

bool tfy__cursor_read(TfyRequest *request, char list, TfyPlace *place)
{
    const char *text = tfy__request_parameter(request, "cursor");
    unsigned long long made, at, value, sum;
    int used = 0;
    *place = (TfyPlace){0};
    if (!text) return true;
    const bool read = *text == list &&
                      sscanf(text + 1, "%llx-%llx-%llx-%llx%n", &made, &at, &value, &sum, &used) == 4 &&
                      !text[1 + used];
    const TfyPlace found = {.at = read ? (int64_t)at : 0, .value = read ? (int64_t)value : 0};
    if (read && (int64_t)made == request->reader->lists->made(request->reader) && sum == sum_of(made, &found, list)) {
        *place = found;
        return true;
    }
    return tfy__problem(&request->problem, TFY_PROBLEM_BAD_REQUEST, "the cursor is not one of this list; begin anew");
}

void tfy__cursor_text(TfyRequest *request, char list, TfyPlace place, char *text, size_t size)
{
    const uint64_t made = (uint64_t)request->reader->lists->made(request->reader);
    snprintf(text, size, "%c%llx-%llx-%llx-%llx", list, (unsigned long long)made, (unsigned long long)place.at,
             (unsigned long long)place.value, sum_of(made, &place, list));
}

void tfy__cursor_write(TfyRequest *request, char list, TfyPlace place)
{
    enum { MANY = 2000 }; /* records: more than busy runs leave to be followed */
    const int64_t behind = request->server->lists->behind(request->server);
    char text[TFY_CURSOR_SIZE] = "";
    if (place.at) tfy__cursor_text(request, list, place, text, sizeof text);
    tfy__buffer_char(&request->answer, ']');
    tfy__answer_text(&request->answer, "next", place.at ? text : NULL);
    if (behind >= MANY) tfy__buffer_printf(&request->answer, ",\"behind\":%lld", (long long)behind);
    tfy__buffer_char(&request->answer, '}');
}
