/* canvas_once.c: commits that are made once: each carries the key of its step as a trailer, and is found again by it.
 *
 *   Tiffany-Run: <uuid>            only of a landing, for people: which run it is from
 *   Tiffany-Step: <uuid>/1/7       the key
 *
 * A message cannot pretend to be another step's: git reads trailers from the last paragraph alone, and that is ours. */
#include "effects/canvas.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_blank(const TfyString *text)
{
    return strspn(text->bytes, " \t\r\n") == text->byte_len;
}

/* The key as one word: characters that git would fold or cut are percent-encoded. */
static void fill_trailer(TfyCanvasJob *job)
{
    TfyBuffer trailer = {0};
    for (const char *at = job->call->key; *at; at++) {
        bool plain = (unsigned char)*at > ' ' && *at != 0x7f && *at != '%';
        tfy__buffer_printf(&trailer, plain ? "%c" : "%%%02X", (unsigned char)*at);
    }
    job->trailer = trailer.failed ? NULL : trailer.data;
    if (trailer.failed) tfy__buffer_free(&trailer);
}

bool tfy__canvas_message(TfyCanvasJob *job, const TfyString *message, const char *what)
{
    size_t len = message->byte_len;
    if (is_blank(message) || memchr(message->bytes, 0, message->byte_len)) {
        tfy__canvas_error(job, EINVAL, "a %s needs a message, without NUL bytes", what);
        return false;
    }
    while (len && strchr(" \t\r\n", message->bytes[len - 1])) len--;
    fill_trailer(job);
    tfy__buffer_add(&job->text, message->bytes, len);
    tfy__buffer_text(&job->text, "\n\n");
    if (job->landing) tfy__buffer_printf(&job->text, "Tiffany-Run: %s\n", tfy__run_uuid(job->call->task));
    tfy__buffer_printf(&job->text, "Tiffany-Step: %s\n", job->trailer ? job->trailer : "");
    if (job->trailer && !job->text.failed) return true;
    tfy__call_starved(tfy__canvas_leave(job));
    return false;
}

/* Searches for this step's trailer among lines "SHA trailer trailer…": whole words, since one key may be a prefix
 * of another. */
bool tfy__canvas_found(TfyCanvasJob *job, const TfyBuffer *log)
{
    const char *end = log->data + log->len, *line = log->data;
    size_t want = strlen(job->trailer), id_len = 0;
    for (const char *word = line; word < end;) {
        size_t len = strcspn(word, " \n");
        if (word == line) id_len = len;
        if (word != line && len == want && memcmp(word, job->trailer, want) == 0) {
            snprintf(job->commit_id, sizeof job->commit_id, "%.*s", (int)id_len, line);
            return true;
        }
        if (word[len] == '\n') line = word + len + 1;
        word += len + 1;
    }
    return false;
}

bool tfy__git_id(TfyCanvasJob *job, const TfyProcessEnd *end, char id[TFY_GIT_ID_LEN + 1], const char *what)
{
    size_t len = end->code ? 0 : tfy__git_line_len(&end->out);
    if (len && len <= TFY_GIT_ID_LEN) {
        snprintf(id, TFY_GIT_ID_LEN + 1, "%.*s", (int)len, end->out.data);
        return true;
    }
    tfy__git_fail(job, end, what);
    return false;
}

/* ---- who commits ---- */

/* Without a name and an address git refuses to commit. */
static void on_identity(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    bool fits = end->code == 0 || job->named ||
                (tfy__canvas_add_env(job, "GIT_AUTHOR_NAME=Tiffany") &&
                 tfy__canvas_add_env(job, "GIT_AUTHOR_EMAIL=tiffany@localhost") &&
                 tfy__canvas_add_env(job, "GIT_COMMITTER_NAME=Tiffany") &&
                 tfy__canvas_add_env(job, "GIT_COMMITTER_EMAIL=tiffany@localhost"));
    if (!fits) {
        tfy__call_starved(tfy__canvas_leave(job));
        return;
    }
    job->named = true;
    job->ready(job);
}

void tfy__canvas_identify(TfyCanvasJob *job, void (*ready)(TfyCanvasJob *job))
{
    job->ready = ready;
    tfy__git_run(job, on_identity, &(TfyGit){.args = {"-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"}});
}

/* ---- the commit ---- */

static void on_made(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (tfy__git_id(job, end, job->commit_id, "git commit-tree failed")) job->ready(job);
}

/* commit-tree reads no file, no hook and no index; it uses the repository's settings, since they name the
 * committer. */
static void on_message(TfyCanvasJob *job, const TfyProcessEnd *end)
{
    if (end->code) {
        tfy__git_fail(job, end, "git stripspace failed");
        return;
    }
    TfyGit git = {.args = {"commit-tree", job->tree_id, "-F", "-"},
                  .input = end->out.data ? end->out.data : "",
                  .input_len = end->out.len};
    for (int i = 0, at = 4; i < 2; i++) {
        if (!job->parents[i] || !*job->parents[i]) continue;
        git.args[at++] = "-p";
        git.args[at++] = job->parents[i];
    }
    tfy__git_run(job, on_made, &git);
}

void tfy__canvas_make_commit(TfyCanvasJob *job, const char *first, const char *second, void (*ready)(TfyCanvasJob *job))
{
    job->parents[0] = first;
    job->parents[1] = second;
    job->ready = ready;
    TfyGit git = {.args = {"stripspace"}, .input = job->text.data, .input_len = job->text.len, .apart = true};
    tfy__git_run(job, on_message, &git);
}

/* ---- files ---- */

void tfy__git_fail_files(TfyCanvasJob *job, const TfyProcessEnd *end, const char *what, const char *command)
{
    const char *words;
    int len = tfy__git_words(end, &words);
    char text[200];
    snprintf(text, sizeof text, "git %s failed", command);
    if (memmem(words, (size_t)len, " filter '", 9))
        snprintf(text, sizeof text,
                 "cannot %s: a filter that only the repository's settings define is not run; define it in your own. "
                 "Your own filters run in a sandbox",
                 what);
    tfy__git_fail(job, end, text);
}

void tfy__git_on_names(TfyCanvasJob *job, TfyCanvasNext *next, const TfyBuffer *names, const TfyGit *words)
{
    TfyGit git = {
        .args = {"-C", job->tree}, .input = names->data ? names->data : "", .input_len = names->len, .apart = true};
    for (int i = 0; words->args[i]; i++) git.args[i + 2] = words->args[i];
    tfy__git_run(job, next, &git);
}
