/* process_words.c: see process_words.h. */
#include "effects/process_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "effects/former.h"
#include "effects/sandbox.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

extern char **environ;

static bool is_confined(const TfyProcessSpec *spec)
{
    return spec->confined && !spec->confined->open;
}

static const char *const passed_on[] = {"PATH",    "HOME",  "LANG", "LANGUAGE",       "TZ", "TMPDIR", "USER",
                                        "LOGNAME", "SHELL", "TERM", "XDG_CONFIG_HOME"};

bool tfy__process_passes_on(const char *entry)
{
    if (strncmp(entry, "LC_", 3) == 0 && strchr(entry, '=')) return true;
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) {
        size_t len = strlen(passed_on[i]);
        if (strncmp(entry, passed_on[i], len) == 0 && entry[len] == '=') return true;
    }
    return false;
}

/* The variables that a cell has of its own; the configuration that XDG_CONFIG_HOME leads to is not in it. */
static bool is_cells(const TfyProcessSpec *spec, const char *entry)
{
    return is_confined(spec) && (strncmp(entry, "HOME=", 5) == 0 || strncmp(entry, "TMPDIR=", 7) == 0 ||
                                 strncmp(entry, "XDG_CONFIG_HOME=", 16) == 0);
}

/* The entry of the same name in given, or NULL. */
static const char *find_given(const char *const *given, const char *entry)
{
    size_t len = (size_t)(strchr(entry, '=') - entry) + 1;
    for (; given && *given; given++) {
        if (strncmp(*given, entry, len) == 0) return *given;
    }
    return NULL;
}

static void add_string(TfyBuffer *blob, uint32_t *count, const char *text)
{
    tfy__buffer_add(blob, text, strlen(text) + 1);
    ++*count;
}

/* Variables that the runtime sets for every tool, whatever the caller gives. */
static bool is_ours(const char *entry)
{
    return strncmp(entry, "TFY_KEY=", 8) == 0 || strncmp(entry, "TFY_FENCE=", 10) == 0 ||
           strncmp(entry, TFY_MARK_VARIABLE, strlen(TFY_MARK_VARIABLE)) == 0;
}

static void add_environment(TfyProcessWords *words, const TfyProcessSpec *spec, uint64_t mark, uint32_t id)
{
    TfyWatcherRequest *wanted = &words->request;
    tfy__buffer_printf(&words->blob, TFY_MARK_VARIABLE "%016llx-%u", (unsigned long long)mark, id);
    add_string(&words->blob, &wanted->envc, "");
    tfy__buffer_text(&words->blob, "TFY_KEY=");
    add_string(&words->blob, &wanted->envc, spec->key);
    if (spec->fence) tfy__buffer_printf(&words->blob, "TFY_FENCE=%lld", (long long)spec->fence);
    if (spec->fence) add_string(&words->blob, &wanted->envc, "");
    for (char **entry = environ; entry && *entry; entry++) {
        if (tfy__process_passes_on(*entry) && !find_given(spec->env, *entry) && !is_cells(spec, *entry))
            add_string(&words->blob, &wanted->envc, *entry);
    }
    for (int i = 0; is_confined(spec) && i < 2; i++)
        if (!find_given(spec->env, spec->confined->variables[i]))
            add_string(&words->blob, &wanted->envc, spec->confined->variables[i]);
    const bool listed = is_confined(spec) && spec->confined->plan.head.flags & TFY_CELL_LISTENER;
    for (const char *const *entry = tfy__cell_proxy_variables; listed && *entry; entry++)
        if (!find_given(spec->env, *entry)) add_string(&words->blob, &wanted->envc, *entry);
    for (const char *const *entry = spec->env; entry && *entry; entry++) {
        if (!is_ours(*entry)) add_string(&words->blob, &wanted->envc, *entry);
    }
}

static const char *search_path(const TfyProcessSpec *spec)
{
    const char *given = find_given(spec->env, "PATH="), *own = getenv("PATH");
    return given ? given + strlen("PATH=") : own && *own ? own : DEFAULT_PATH;
}

/* One file to try; count: of candidates, or of the words of tfy-cell. */
static void add_candidate(TfyProcessWords *words, const TfyProcessSpec *spec, uint32_t *count, const char *dir,
                          size_t len)
{
    const size_t at = words->blob.len;
    tfy__buffer_add(&words->blob, dir, len);
    if (len) tfy__buffer_char(&words->blob, '/');
    add_string(&words->blob, count, spec->argv[0]);
    if (is_confined(spec) && !words->found && !words->blob.failed && access(words->blob.data + at, X_OK) == 0)
        words->found = tfy__sys_strdup(words->blob.data + at);
}

/* The files to try. Relative and empty directories of the PATH are left out: the working root may contain files of
 * any origin. */
static void add_candidates(TfyProcessWords *words, const TfyProcessSpec *spec, uint32_t *count)
{
    const char *name = spec->argv[0];
    if (strchr(name, '/')) {
        add_candidate(words, spec, count, "", 0);
        return;
    }
    for (const char *at = search_path(spec); *name && *at;) {
        size_t len = strcspn(at, ":");
        if (*at == '/') add_candidate(words, spec, count, at, len);
        at += len + (at[len] == ':');
    }
}

/* The words of tfy-cell before the tool's own (cell/policy.h): their number is known behind the candidates. */
static void add_cell(TfyProcessWords *words, const TfyProcessSpec *spec)
{
    enum { DIGITS = 10 };
    uint32_t count = 0;
    char digits[DIGITS + 1];
    add_string(&words->blob, &words->request.argc, "tfy-cell");
    add_string(&words->blob, &words->request.argc, "60"); /* stub.c may replace it */
    const size_t at = words->blob.len;
    add_string(&words->blob, &words->request.argc, "0000000000");
    add_candidates(words, spec, &count);
    words->request.argc += count;
    snprintf(digits, sizeof digits, "%0*u", DIGITS, count);
    if (!words->blob.failed) memcpy(words->blob.data + at, digits, DIGITS);
}

int tfy__process_words(const TfyProcessSpec *spec, uint64_t mark, uint32_t id, TfyProcessWords *words)
{
    words->request.fds = is_confined(spec) ? TFY_W_FD_COUNT : TFY_W_FD_OPEN_COUNT;
    if (is_confined(spec))
        add_cell(words, spec);
    else
        add_candidates(words, spec, &words->request.candidates);
    for (const char *const *arg = spec->argv; *arg; arg++) add_string(&words->blob, &words->request.argc, *arg);
    add_environment(words, spec, mark, id);
    words->request.kind = TFY_W_SPAWN;
    words->request.id = id;
    words->request.blob_len = (uint32_t)words->blob.len;
    return words->blob.starved ? ENOMEM : words->blob.failed || words->blob.len > UINT32_MAX ? E2BIG : 0;
}
