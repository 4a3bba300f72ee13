/* invocation.c: see invocation.h. */
#include "effects/invocation.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "effects/file.h"

/* A text for the tool, its secrets inserted; NULL after the call has failed. */
static const char *text_for(TfyInvocation *it, TfyCall *call, const TfyObj *string, const char *what, int64_t index)
{
    size_t len;
    const char *text = tfy__secrets_fill(&it->secrets, call, string, &len);
    if (!text) {
        tfy__secrets_fail(call, &it->secrets);
    } else if (memchr(text, 0, len)) {
        tfy__call_tool_error(call, EINVAL, "%s %lld of '%s' has a NUL byte in it", what, (long long)index,
                             call->tool->name);
        text = NULL;
    }
    return text;
}

/* A word from outside would be an option of the tool; false after the call has failed. A probe has words of its own. */
static bool refuse_options(TfyCall *call, const char *const *argv, int64_t count)
{
    const TfyWord *word = call->tool == call->site->tool ? call->site->point->words : NULL;
    for (; word && word->text; word++) {
        if (word->at >= count || *argv[word->at] != '-') continue;
        tfy__call_tool_error(call, EINVAL, "'%s' was not started: %s begins with '-' and %s", call->tool->name,
                             word->text,
                             word->behind ? "may be read as an option; write it and the option before it as one word, "
                                            "such as --name=value, or put \"--\" before it"
                                          : "would be read as an option; put \"--\" before it");
        return false;
    }
    return true;
}

/* The argv as C strings, NULL-terminated, borrowed; NULL after the call has failed. */
static const char **c_argv(TfyInvocation *it, TfyCall *call, const TfyObj *list)
{
    int64_t count = tfy_list_len(list);
    const char **argv = tfy__sys_calloc((size_t)count + 1, sizeof *argv);
    if (!argv) {
        tfy__call_starved(call);
        return NULL;
    }
    for (int64_t i = 0; i < count; i++) {
        argv[i] = text_for(it, call, tfy_list_item(list, i).o, "argument", i);
        if (!argv[i]) goto failed;
    }
    if (!refuse_options(call, argv, count)) goto failed;
    if (count && *argv[0]) return argv;
    tfy__call_tool_error(call, EINVAL, "'%s' was given no command to run", call->tool->name);
failed:
    free(argv);
    return NULL;
}

static void free_env(char **env)
{
    for (char **entry = env; env && *entry; entry++) {
        explicit_bzero(*entry, strlen(*entry));
        free(*entry);
    }
    free(env);
}

/* One "NAME=value"; NULL after the call has failed. */
static char *env_entry(TfyInvocation *it, TfyCall *call, const TfyObj *name, const TfyObj *value, int64_t index)
{
    const TfyString *word = (const TfyString *)name;
    if (!word->byte_len || memchr(word->bytes, '=', word->byte_len)) {
        tfy__call_tool_error(call, EINVAL,
                             "environment entry %lld is not valid: a name must not be empty or contain '='",
                             (long long)index);
        return NULL;
    }
    const char *left = text_for(it, call, name, "environment entry", index);
    const char *right = left ? text_for(it, call, value, "environment entry", index) : NULL;
    if (!right) return NULL;
    char *entry = tfy__sys_printf("%s=%s", left, right);
    if (!entry) tfy__call_starved(call);
    return entry;
}

/* "NAME=value" strings from the map; NULL after the call has failed. */
static char **c_env(TfyInvocation *it, TfyCall *call, const TfyObj *map)
{
    int64_t count = map ? tfy_map_len(map) : 0;
    char **env = tfy__sys_calloc((size_t)count + 1, sizeof *env);
    if (!env) tfy__call_starved(call);
    for (int64_t i = 0; env && i < count; i++) {
        env[i] = env_entry(it, call, tfy_map_key_at(map, i).o, tfy_map_value_at(map, i).o, i);
        if (env[i]) continue;
        free_env(env);
        return NULL;
    }
    return env;
}

/* The directory to run in, or -1 after the call has failed. */
static int open_cwd(TfyCall *call, const TfyObj *cwd)
{
    const char *path = cwd ? tfy__path_below(call->task, cwd) : ".";
    int fd = path ? tfy__beneath_open(tfy__root_fd(call->task), path, O_PATH | O_DIRECTORY, true) : -EXDEV;
    if (fd >= 0 && tfy__root_is_gone(call->task)) {
        close(fd);
        fd = -ENOENT;
    }
    if (fd < 0) tfy__file_error(call, "run in", cwd ? ((const TfyString *)cwd)->bytes : ".", -fd);
    return fd;
}

/* Puts the words of the runner before those of the tool. False after the call has failed. */
static bool add_runner(TfyInvocation *it, TfyCall *call)
{
    char **runner = it->confined.runner;
    size_t before = 0, count = 1; /* NULL, too */
    if (!runner) return true;
    while (runner[before]) before++;
    while (it->argv[count - 1]) count++;
    const char **longer = tfy__sys_calloc(before + count, sizeof *longer);
    if (!longer) {
        tfy__call_starved(call);
        return false;
    }
    memcpy(longer, runner, before * sizeof *longer);
    memcpy(longer + before, it->argv, count * sizeof *longer);
    free(it->argv);
    it->argv = longer;
    return true;
}

/* False after the call, or the loop, has failed. */
static bool confine(TfyInvocation *it, TfyCall *call, const char *granted)
{
    char why[TFY_CONFINED_WHY];
    const int error = tfy__sandbox_confine(call, granted, it->cwd_fd, &it->confined, why);
    if (tfy__is_no_room(error))
        tfy__call_no_room(call, error);
    else if (error > 0)
        tfy__call_tool_error(call, error, "the sandbox '%s' of '%s' cannot be built: %s", it->confined.name,
                             call->tool->name, why);
    else if (error < 0)
        tfy__loop_fail(call->loop, error, "%s", why);
    return error == 0;
}

bool tfy__invocation_build(TfyInvocation *it, TfyCall *call, const TfyObj *argv, const TfyObj *env, const TfyObj *cwd,
                           const char *granted)
{
    it->argv = c_argv(it, call, argv);
    it->env = it->argv ? c_env(it, call, env) : NULL;
    it->cwd_fd = it->env ? open_cwd(call, cwd) : -1;
    return it->cwd_fd >= 0 && confine(it, call, granted) && add_runner(it, call);
}

void tfy__invocation_started(TfyInvocation *it)
{
    if (it->cwd_fd >= 0) close(it->cwd_fd);
    it->cwd_fd = -1;
    free_env(it->env);
    it->env = NULL;
    free(it->argv);
    it->argv = NULL;
}

void tfy__invocation_free(TfyInvocation *it)
{
    tfy__invocation_started(it);
    tfy__secrets_free(&it->secrets);
    tfy__confined_free(&it->confined);
}
