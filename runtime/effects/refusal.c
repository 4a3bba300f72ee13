/* refusal.c: see refusal.h. */
#include "effects/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define SHOWN_MOST 3 /* paths or hosts of a list */

/* The words of an error, in any case. */
static const char *const of_files[] = {"permission denied", "operation not permitted", "read-only file system", NULL};
static const char *const of_hidden[] = {"no such file or directory", "directory nonexistent", NULL};
static const char *const of_network[] = {"network is unreachable",
                                         "connection refused",
                                         "could not resolve",
                                         "couldn't resolve",
                                         "temporary failure in name resolution",
                                         "name or service not known",
                                         "eai_again",
                                         NULL};
/* Words of a line that say that something was to be written. */
static const char *const of_writing[] = {"create", "writ",   "touch", "output", "mkdir",
                                         "remov",  "unlink", "renam", "mov",    NULL};

static bool has_word(const char *line, const char *const *words)
{
    for (; *words; words++)
        if (strcasestr(line, *words)) return true;
    return false;
}

/* ---- paths ---- */

/* Is the path one of these kinds, or below one? */
static bool is_of(const TfyConfined *confined, const char *path, int kind)
{
    const char *item;
    for (uint32_t i = 1; (item = tfy__cell_path_of(&confined->plan, i)); i++)
        if (item[-1] == kind && tfy__cell_within(path, item)) return true;
    return false;
}

static const char *first_of(const TfyConfined *confined, int kind)
{
    const char *item;
    for (uint32_t i = 1; (item = tfy__cell_path_of(&confined->plan, i)); i++)
        if (item[-1] == kind) return item;
    return NULL;
}

/* The path without links, or what exists of it; false: it cannot be looked at. *whole: all of it exists. */
static bool resolve(const char *path, char real[PATH_MAX], bool *whole)
{
    char above[PATH_MAX];
    *whole = true;
    if (snprintf(above, sizeof above, "%s", path) >= (int)sizeof above) return false;
    while (!realpath(above, real)) {
        char *slash = strrchr(above, '/');
        if (errno != ENOENT || !slash || slash == above) return false;
        *slash = 0;
        *whole = false;
    }
    return true;
}

typedef enum Verdict {
    OTHER,   /* the sandbox allows it, or nobody does */
    REFUSED, /* and nothing can be granted */
    READS,   /* refused; it could be read if granted */
    WRITES,
} Verdict;

static bool is_writable_inside(const TfyConfined *confined, const char *real)
{
    const bool root = confined->plan.head.flags & TFY_CELL_ROOT_WRITABLE && is_of(confined, real, TFY_CELL_ROOT);
    return root || is_of(confined, real, TFY_CELL_WRITES);
}

static Verdict judge_writing(const TfyConfined *confined, const char *real)
{
    if (access(real, W_OK) != 0) return OTHER;
    return is_of(confined, real, TFY_CELL_ROOT) || tfy__cell_unwritable(real, confined->root) ? REFUSED : WRITES;
}

/* What does the sandbox say of a path in an error? found becomes the path to grant. */
static Verdict judge(const TfyConfined *confined, const char *path, const char *line, char found[PATH_MAX])
{
    bool whole;
    if (!resolve(path, found, &whole)) return OTHER;
    const bool writing = has_word(line, of_writing) || strcasestr(line, "read-only file system");
    const bool partial = confined->plan.head.level == TFY_CELL_PARTIAL;
    if (is_of(confined, found, TFY_CELL_PROTECTED) || is_of(confined, found, TFY_CELL_CLOSED)) return REFUSED;
    if (partial && !whole && strcmp(found, confined->root) == 0) return REFUSED; /* nothing new in there */
    if (is_writable_inside(confined, found)) return OTHER;
    const bool readable =
        is_of(confined, found, TFY_CELL_ROOT) || is_of(confined, found, TFY_CELL_READS) || tfy__cell_in_system(found);
    if (readable || writing || !whole) return judge_writing(confined, found);
    if (access(found, R_OK) != 0) return OTHER;
    return tfy__cell_within(confined->root, found) ? REFUSED : READS;
}

/* ---- lines ---- */

/* The next word of a line that may be a path: quotes around it and a colon or comma behind it are left out. */
static bool next_word(const char **at, char word[PATH_MAX])
{
    static const char around[] = "'\"`()[]<>,;=";
    const char *from = *at;
    while (*from && (*from == ' ' || *from == '\t' || strchr(around, *from))) from++;
    const char *end = from;
    const char quote = from > *at ? from[-1] : 0;
    if (quote == '\'' || quote == '"')
        while (*end && *end != quote) end++;
    else
        while (*end && *end != ' ' && *end != '\t' && !strchr(around, *end)) end++;
    *at = end;
    size_t len = (size_t)(end - from);
    while (len && (from[len - 1] == ':' || from[len - 1] == '.')) len--;
    if (len >= PATH_MAX) len = 0;
    memcpy(word, from, len);
    word[len] = 0;
    return end > from;
}

/* A full sandbox shows these as empty directories: of what does not exist there nobody can say that it was refused. */
static bool is_shown_empty(const TfyConfined *confined, const char *path)
{
    const char *home = first_of(confined, TFY_CELL_HOME);
    return strcmp(path, "/tmp") == 0 || strcmp(path, "/dev/shm") == 0 || (home && strcmp(path, home) == 0);
}

/* What a tool does not find matters only if it is there, outside, or at least the directory that it would be in. */
static bool is_there(const TfyConfined *confined, const char *path)
{
    char above[PATH_MAX];
    if (access(path, F_OK) == 0) return true;
    snprintf(above, sizeof above, "%s", path);
    char *slash = strrchr(above, '/');
    if (!slash || slash == above) return false;
    *slash = 0;
    return access(above, F_OK) == 0 && !is_shown_empty(confined, above);
}

/* A relative word is a path only if it exists: "cat" and "denied" are words. */
static bool path_of_word(const TfyConfined *confined, const char *word, char path[PATH_MAX])
{
    const char *cwd = first_of(confined, TFY_CELL_CWD);
    if (*word == '/') return snprintf(path, PATH_MAX, "%s", word) < PATH_MAX;
    if (!*word || !cwd || snprintf(path, PATH_MAX, "%s/%s", cwd, word) >= PATH_MAX) return false;
    return access(path, F_OK) == 0;
}

/* hidden: the line says that something does not exist. */
static bool judge_line(const TfyConfined *confined, const char *line, bool hidden, TfyRefusal *out)
{
    char word[PATH_MAX], path[PATH_MAX], found[PATH_MAX];
    bool named = false, refused = false;
    for (const char *at = line; next_word(&at, word);) {
        if (!path_of_word(confined, word, path) || (hidden && !is_there(confined, path))) continue;
        named = true;
        const Verdict verdict = judge(confined, path, line, found);
        refused |= verdict != OTHER;
        if (verdict != READS && verdict != WRITES) continue; /* such as the program that complains */
        snprintf(out->grant, sizeof out->grant, "%s=%s", verdict == READS ? "reads" : "writes", found);
        return true;
    }
    return refused || (!named && !hidden);
}

static bool has_network(const TfyConfined *confined)
{
    return confined->plan.head.flags & TFY_CELL_HOST_NETWORK;
}

bool tfy__refusal_find(const TfyConfined *confined, const char *tail, size_t len, const char *host, TfyRefusal *out)
{
    char line[1024];
    *out->grant = *out->host = 0;
    if (confined->open || !first_of(confined, TFY_CELL_ROOT)) return false;
    if (*host) {
        snprintf(out->host, sizeof out->host, "%s", host);
        snprintf(out->grant, sizeof out->grant, "network=%s", host);
        return true;
    }
    for (size_t end = len; end;) {
        size_t from = end;
        while (from && tail[from - 1] != '\n') from--;
        snprintf(line, sizeof line, "%.*s", (int)(end - from), tail + from);
        end = from ? from - 1 : 0;
        if (!has_network(confined) && has_word(line, of_network)) {
            if (confined->plan.head.level == TFY_CELL_FULL)
                snprintf(out->grant, sizeof out->grant, "network=HOST:PORT");
            return true;
        }
        if (has_word(line, of_files) && judge_line(confined, line, false, out)) return true;
        if (has_word(line, of_hidden) && judge_line(confined, line, true, out)) return true;
    }
    return false;
}

/* ---- the sentence ---- */

static void say_paths(const TfyConfined *confined, int kind, const char *first, TfyBuffer *out)
{
    const size_t root_len = strlen(confined->root);
    const char *item;
    uint32_t count = 0;
    if (first) tfy__buffer_text(out, first);
    for (uint32_t i = 1; (item = tfy__cell_path_of(&confined->plan, i)); i++) {
        if (item[-1] != kind || ++count > SHOWN_MOST) continue;
        const bool inside = tfy__cell_within(item, confined->root) && item[root_len] == '/';
        tfy__buffer_printf(out, "%s%s", first || count > 1 ? ", " : "", inside ? item + root_len + 1 : item);
    }
    if (count > SHOWN_MOST) tfy__buffer_printf(out, " and %u more", (unsigned)(count - SHOWN_MOST));
    if (!first && !count) tfy__buffer_text(out, "nothing");
}

static void say_network(const TfyConfined *confined, TfyBuffer *out)
{
    uint32_t count = 0;
    tfy__buffer_text(out, has_network(confined) ? "any" : confined->hosts ? "" : "none");
    for (char **host = confined->hosts; host && *host; host++)
        if (++count <= SHOWN_MOST) tfy__buffer_printf(out, "%s%s", count > 1 ? ", " : "", *host);
    if (count > SHOWN_MOST) tfy__buffer_printf(out, " and %u more", (unsigned)(count - SHOWN_MOST));
}

void tfy__refusal_say(const TfyConfined *confined, const char *tool, const TfyRefusal *refusal, TfyBuffer *out)
{
    const bool writable = confined->plan.head.flags & TFY_CELL_ROOT_WRITABLE;
    tfy__buffer_printf(out, "the sandbox of '%s' ", tool);
    if (*refusal->host)
        tfy__buffer_printf(out, "refused %s: it reads ", refusal->host);
    else
        tfy__buffer_text(out, "may have refused this: it reads ");
    say_paths(confined, TFY_CELL_READS, "the working root", out);
    tfy__buffer_text(out, "; writes ");
    say_paths(confined, TFY_CELL_WRITES, writable ? "the working root" : NULL, out);
    tfy__buffer_text(out, "; network ");
    say_network(confined, out);
    if (!*refusal->grant) return;
    TfyBuffer grant = {0};
    tfy__buffer_printf(&grant, "%s:%s", tool, refusal->grant);
    if (!grant.failed) {
        tfy__buffer_text(out, "; --grant ");
        tfy__buffer_shell_word(out, grant.data);
    }
    tfy__buffer_free(&grant);
}
