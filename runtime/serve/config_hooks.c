/* config_hooks.c: see config_hooks.h. */
#include "serve/config_hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "serve/file_text.h"
#include "serve/hook.h"
#include "tfy.h"

static bool take_scheme(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfyHook *hook = arg;
    const char *text = json_string_value(value);
    if (strcmp(text, "github") == 0 || strcmp(text, "standard") == 0) {
        hook->scheme = *text == 'g' ? TFY_HOOK_GITHUB : TFY_HOOK_STANDARD;
        return true;
    }
    hook->scheme = TFY_HOOK_HMAC;
    if (strncmp(text, "hmac:", 5) != 0 || !text[5])
        return tfy__config_refuse(reading, path, "it is not github, standard, or hmac:HEADER");
    return (hook->header = strdup(text + 5));
}

/* It is read once the scheme is known. */
static bool take_secret(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return tfy__config_text(reading, &((TfyHook *)arg)->secret_file, value);
}

static bool take_dedupe(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return tfy__config_text(reading, &((TfyHook *)arg)->dedupe, value);
}

static bool take_start(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfyHook *hook = arg;
    return tfy__config_workflow(reading, value, path, &hook->start, &hook->program, &hook->workflow);
}

static bool take_signal(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return tfy__config_text(reading, &((TfyHook *)arg)->signal, value);
}

static bool take_template(TfyReading *reading, json_t *value, const char *path, json_t **place)
{
    const char *bad;
    *place = json_incref(value);
    return tfy__hook_template_fits(value, &bad) ||
           tfy__config_refuse(reading, path, "'%.80s' is not $body, $body.PATH or $header.NAME; $$ is a dollar", bad);
}

static bool take_args(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return take_template(reading, value, path, &((TfyHook *)arg)->args);
}

static bool take_run(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return take_template(reading, value, path, &((TfyHook *)arg)->run);
}

static bool take_value(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return take_template(reading, value, path, &((TfyHook *)arg)->value);
}

static bool complete(TfyReading *reading, TfyHook *hook, const char *path)
{
    if (!hook->start == !hook->signal)
        return tfy__config_refuse(reading, path, "a hook has \"start\", or \"signal\" and \"run\"");
    if (hook->start && (hook->run || hook->value))
        return tfy__config_refuse(reading, path, "\"run\" and \"value\" go with \"signal\"");
    if (hook->signal && (!hook->run || hook->args))
        return tfy__config_refuse(reading, path,
                                  hook->run ? "\"args\" goes with \"start\"" : "\"signal\" goes with \"run\"");
    if (!hook->secret_file) return tfy__config_refuse(reading, path, "a hook has \"secret_file\"");
    return true;
}

static bool read_hook(TfyReading *reading, const char *name, json_t *value, const char *path)
{
    static const TfyConfigRow rows[] = {{"scheme", JSON_STRING, take_scheme},
                                        {"secret_file", JSON_STRING, take_secret},
                                        {"dedupe", JSON_STRING, take_dedupe},
                                        {"start", JSON_STRING, take_start},
                                        {"args", JSON_OBJECT, take_args},
                                        {"signal", JSON_STRING, take_signal},
                                        {"run", JSON_STRING, take_run},
                                        {"value", JSON_NULL, take_value},
                                        {.name = NULL}};
    TfyHook *hook = calloc(1, sizeof *hook);
    if (!hook) return false;
    LIST_APPEND(&reading->config->hooks, hook, next);
    if (!(hook->name = strdup(name))) return false;
    if (!tfy__config_name_fits(reading, name, path)) return false;
    if (!json_is_object(value)) return tfy__config_refuse(reading, path, "it is not an object");
    if (!json_object_get(value, "scheme"))
        return tfy__config_refuse(reading, path, "a hook has \"scheme\": github, standard, or hmac:HEADER");
    return tfy__config_object(reading, value, rows, path, hook) && complete(reading, hook, path);
}

bool tfy__config_hooks(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    const char *name;
    json_t *one;
    json_object_foreach(value, name, one)
    {
        char below[TFY_CONFIG_PATH];
        snprintf(below, sizeof below, "%.400s.%.80s", path, name);
        if (!read_hook(reading, name, one, below)) return false;
    }
    return true;
}

/* ---- secrets ---- */

static bool refuse(const TfyHook *hook, char *error, const char *format, const char *text, const char *more)
{
    char why[TFY_ERROR_TEXT];
    snprintf(why, sizeof why, format, text, more);
    snprintf(error, TFY_ERROR_TEXT, "the hook %.64s: %.400s", hook->name, why);
    return false;
}

/* A file that others can read keeps no secret. */
static bool read_secret(TfyHook *hook, char *error)
{
    const char *file = hook->secret_file;
    struct stat st;
    if (stat(file, &st) == 0 && (st.st_mode & 077))
        return refuse(hook, error, "others can read %.150s; type: chmod 600 %.150s", file, file);
    char *text = tfy__file_text(file, NULL, error);
    if (!text) return false;
    const bool fits = tfy__hook_secret(hook, text);
    explicit_bzero(text, strlen(text));
    free(text);
    return fits || refuse(hook, error, "%.150s has no secret of 1 to 512 bytes in its first line%s", file, "");
}

bool tfy__config_hook_secrets(TfyConfig *config, char *error)
{
    for (TfyHook *hook = config->hooks.first; hook; hook = hook->next)
        if (!read_secret(hook, error)) return false;
    return true;
}
