/* canvas_edit.c: preview_edit: a preview of a file in which some texts, each of which is there once, are replaced.
 *
 * All texts are searched in the file as it is, so the order of the changes does not matter, and no replacement can be
 * found by a later change. A text that is not there, or more than once, is a BadValue that shows where to look: mostly
 * a model reads it, and asks again. */
#include "effects/canvas.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "effects/file.h"
#include "effects/former.h"
#include "wal/rows/record.h"

enum {
    CHANGES = 256,     /* in one call: each is searched in the whole file, while the loop waits */
    COUNTED = 1000,    /* places of a text that are counted */
    NAMED = 5,         /* places whose lines are named */
    NEAREST = 3,       /* lines that are shown when a text is not there */
    SHOWN = 160,       /* bytes of such a line */
    LINE_BYTES = 1000, /* of a line, compared with what is searched */
    PAIRS = 4096,      /* kinds of pairs of letters */
};

/* A change whose text was found. */
typedef struct Found {
    size_t at;                /* where */
    const TfyString *find;    /* what */
    const TfyString *replace; /* by what */
    int64_t change;           /* which of the changes */
} Found;

static void fail(TfyCanvasJob *job, int64_t change, const char *what, TfyBuffer *message)
{
    char path[64];
    TfyCall *call = tfy__canvas_leave(job);
    snprintf(path, sizeof path, "changes[%lld].%s", (long long)change, what);
    if (message->failed)
        tfy__call_starved(call);
    else
        tfy__call_bad_value(call, path, message->data);
    tfy__buffer_free(message);
}

/* ---- a text that is there more than once ---- */

static const char *find_next(const char *at, const char *end, const TfyString *find)
{
    return memmem(at, (size_t)(end - at), find->bytes, find->byte_len);
}

static int64_t lines_between(const char *from, const char *to)
{
    int64_t lines = 0;
    while ((from = memchr(from, '\n', (size_t)(to - from)))) from++, lines++;
    return lines;
}

static void fail_count(TfyCanvasJob *job, int64_t change, const TfyString *find)
{
    TfyBuffer lines = {0}, message = {0};
    const char *text = job->text.data, *end = text + job->text.len, *last = text;
    int64_t count = 0, line = 1;
    for (const char *at = text; count < COUNTED && (at = find_next(at, end, find)); at++, count++) {
        if (count >= NAMED) continue;
        line += lines_between(last, at);
        last = at;
        tfy__buffer_printf(&lines, "%s%lld", count ? ", " : "", (long long)line);
    }
    tfy__buffer_printf(&message,
                       "changes[%lld].find is in '%s' %s%lld times, and must be there once: in lines %s%s; add what is "
                       "around it",
                       (long long)change, job->path, count == COUNTED ? "at least " : "", (long long)count,
                       lines.data ? lines.data : "", count > NAMED ? " …" : "");
    message.failed |= lines.failed;
    tfy__buffer_free(&lines);
    fail(job, change, "find", &message);
}

/* ---- a text that is not there ---- */

typedef struct Line {
    const char *bytes;
    size_t len; /* without white space around it */
    int64_t number;
    double likeness; /* 0 to 1 */
} Line;

/* The line at `at` without the white space around it; returns where the next one begins. */
static const char *take_line(const char *at, const char *end, Line *line)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
    while (at < stop && (unsigned char)*at <= ' ') at++;
    while (stop > at && (unsigned char)stop[-1] <= ' ') stop--;
    line->bytes = at;
    line->len = (size_t)(stop - at);
    return newline ? newline + 1 : end;
}

static uint16_t *pair_at(uint16_t *pairs, const Line *line, size_t i)
{
    const unsigned char *at = (const unsigned char *)line->bytes + i;
    return &pairs[(at[0] * 31u + at[1]) % PAIRS];
}

static size_t pairs_of(const Line *line)
{
    return line->len < 2 ? 0 : (line->len < LINE_BYTES ? line->len : LINE_BYTES) - 1;
}

/* How many pairs of letters both have (Dice's coefficient). pairs: those of the line that is searched; as before
 * afterwards. */
static double likeness(uint16_t *pairs, size_t wanted, const Line *line)
{
    size_t count = pairs_of(line), both = 0;
    bool taken[LINE_BYTES];
    for (size_t i = 0; i < count; i++) {
        uint16_t *pair = pair_at(pairs, line, i);
        taken[i] = *pair;
        if (taken[i]) --*pair, both++;
    }
    for (size_t i = 0; i < count; i++)
        if (taken[i]) ++*pair_at(pairs, line, i);
    return count + wanted ? 2.0 * (double)both / (double)(count + wanted) : 0;
}

/* Keeps the likest lines; of equal ones the first. */
static void keep_line(Line best[NEAREST], const Line *line)
{
    int place = NEAREST;
    while (place && line->likeness > best[place - 1].likeness) place--;
    for (int i = NEAREST - 1; i > place; i--) best[i] = best[i - 1];
    if (place < NEAREST) best[place] = *line;
}

static void find_nearest(const TfyBuffer *text, const Line *wanted, Line best[NEAREST])
{
    uint16_t pairs[PAIRS] = {0};
    const char *at = text->data, *end = at + text->len;
    for (size_t i = 0; i < pairs_of(wanted); i++) ++*pair_at(pairs, wanted, i);
    for (Line line = {.number = 1}; at < end; line.number++) {
        at = take_line(at, end, &line);
        line.likeness = likeness(pairs, pairs_of(wanted), &line);
        if (line.likeness >= 0.5) keep_line(best, &line);
    }
}

static void put_line(TfyBuffer *out, const Line *line)
{
    size_t len = line->len;
    if (len > SHOWN)
        for (len = SHOWN; len && (line->bytes[len] & 0xC0) == 0x80;) len--; /* not within a letter */
    tfy__buffer_printf(out, "\n%lld: ", (long long)line->number);
    tfy__buffer_add(out, line->bytes, len);
    if (len < line->len) tfy__buffer_text(out, "…");
}

static void fail_absent(TfyCanvasJob *job, int64_t change, const TfyString *find)
{
    TfyBuffer message = {0};
    Line wanted = {0}, best[NEAREST] = {0};
    const char *at = find->bytes, *end = at + find->byte_len;
    while (at < end && !wanted.len) at = take_line(at, end, &wanted);
    if (job->text.len) find_nearest(&job->text, &wanted, best);
    tfy__buffer_printf(&message, "changes[%lld].find is not in '%s'", (long long)change, job->path);
    if (best[0].len) tfy__buffer_text(&message, "; the nearest to its first line:");
    for (int i = 0; i < NEAREST && best[i].len; i++) put_line(&message, &best[i]);
    fail(job, change, "find", &message);
}

/* ---- the new text ---- */

static int by_place(const void *a, const void *b)
{
    const Found *one = a, *other = b;
    return one->at < other->at ? -1 : one->at > other->at;
}

/* False: the call has failed. */
static bool find_change(TfyCanvasJob *job, int64_t change, TfyObj *edit, Found *found)
{
    const TfyString *find = (const TfyString *)tfy_field(edit, 0).o;
    const char *text = job->text.data ? job->text.data : "", *end = text + job->text.len;
    if (!find->byte_len) {
        TfyBuffer message = {0};
        tfy__buffer_printf(&message, "changes[%lld].find is empty; give the text to replace", (long long)change);
        fail(job, change, "find", &message);
        return false;
    }
    const char *at = find_next(text, end, find);
    if (at && !find_next(at + 1, end, find)) {
        *found = (Found){(size_t)(at - text), find, (const TfyString *)tfy_field(edit, 1).o, change};
        return true;
    }
    if (at)
        fail_count(job, change, find);
    else
        fail_absent(job, change, find);
    return false;
}

/* The text between the changes, which are in the order of their places, and what they put in. False: two of them are
 * about the same text, and the call has failed. */
static bool replace_all(TfyCanvasJob *job, const Found *found, int64_t count, TfyBuffer *out)
{
    size_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        if (found[i].at < at) {
            TfyBuffer message = {0};
            tfy__buffer_printf(&message, "changes[%lld].find overlaps changes[%lld].find; make one change of them",
                               (long long)found[i].change, (long long)found[i - 1].change);
            fail(job, found[i].change, "find", &message);
            return false;
        }
        tfy__buffer_add(out, job->text.data + at, found[i].at - at);
        tfy__buffer_add(out, found[i].replace->bytes, found[i].replace->byte_len);
        at = found[i].at + found[i].find->byte_len;
    }
    if (job->text.len) tfy__buffer_add(out, job->text.data + at, job->text.len - at);
    return true;
}

static void preview_changes(TfyCanvasJob *job, Found *found, TfyObj *changes)
{
    TfyBuffer text = {.max = tfy__file_most(job->call->loop)};
    const int64_t count = tfy_list_len(changes);
    for (int64_t i = 0; i < count; i++)
        if (!find_change(job, i, tfy_list_item(changes, i).o, &found[i])) return;
    qsort(found, (size_t)count, sizeof *found, by_place);
    const bool fits = replace_all(job, found, count, &text);
    if (fits && text.starved)
        tfy__call_starved(tfy__canvas_leave(job));
    else if (fits && text.failed)
        tfy__canvas_file_error(job, "preview", EFBIG);
    else if (fits)
        tfy__canvas_preview(job, text.data ? text.data : "", text.len);
    tfy__buffer_free(&text);
}

static void preview_edit_start(TfyCall *call)
{
    Found found[CHANGES];
    TfyCanvasJob *job = tfy__canvas_job(call, call->args[0].o, "preview");
    TfyObj *changes = call->args[1].o;
    if (!job) return;
    call->record_type = TFY_R_PATCH_PREVIEW;
    if (tfy_list_len(changes) > CHANGES) {
        TfyBuffer message = {0};
        tfy__buffer_printf(&message, "there are %lld changes; %d can be made at once", (long long)tfy_list_len(changes),
                           CHANGES);
        fail(job, CHANGES, "find", &message);
    } else if (tfy__canvas_take_old(job)) {
        if (job->exists)
            preview_changes(job, found, changes);
        else
            tfy__canvas_file_error(job, "preview", ENOENT);
    }
}

const TfyPerformer tfy__perform_preview_edit = {.name = "preview_edit",
                                                .start = preview_edit_start,
                                                .abort = tfy__canvas_abort,
                                                .close = tfy__canvas_close,
                                                .prepare = tfy__canvas_prepare,
                                                .ask = tfy__git_ask,
                                                .end_former = tfy__former_end};
