/* config.c: see config.h. */
#include "serve/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "serve/config_followers.h"
#include "serve/config_rows.h"
#include "serve/config_hooks.h"
#include "serve/config_schedules.h"
#include "serve/door.h"
#include "serve/file_text.h"
#include "serve/reach.h"
#include "serve/rate.h"
#include "serve/tls.h"
#include "tfy.h"

enum { COUNT_MOST = 1000000000 };

/* ---- "listen" ---- */

static bool take_address(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfyListen *listen = arg;
    const char *text = json_string_value(value), *colon = strrchr(text, ':');
    if (!colon || colon == text || !colon[1] || strlen(colon + 1) > 5 || colon[1 + strspn(colon + 1, "0123456789")] ||
        strtol(colon + 1, NULL, 10) > 65535)
        return tfy__config_refuse(reading, path, "it is not ADDRESS:PORT, such as 127.0.0.1:8433");
    return tfy__config_text(reading, &listen->address, value);
}

static bool take_path(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfyListen *listen = arg;
    if (json_string_length(value) < 2 || json_string_length(value) > 100 || *json_string_value(value) != '/')
        return tfy__config_refuse(reading, path, "it is not the path of a socket, with at most 100 bytes and from /");
    return tfy__config_text(reading, &listen->path, value);
}

static bool take_proxy(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfyListen *listen = arg;
    listen->proxy = json_is_true(value);
    return true;
}

static bool take_header(TfyReading *reading, json_t *value, const char *path, char **place)
{
    const char *name = json_string_value(value);
    if (!*name || name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")])
        return tfy__config_refuse(reading, path, "it is not the name of a header");
    return tfy__config_text(reading, place, value);
}

static bool take_user_header(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return take_header(reading, value, path, &((TfyListen *)arg)->user_header);
}

static bool take_groups_header(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return take_header(reading, value, path, &((TfyListen *)arg)->groups_header);
}

static bool take_groups(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    TfyListen *listen = arg;
    const char *group;
    json_t *list;
    json_object_foreach(value, group, list)
    {
        char below[512];
        snprintf(below, sizeof below, "%.400s.%.80s", path, group);
        unsigned roles;
        if (!json_is_array(list)) return tfy__config_refuse(reading, below, "it is not a list");
        if (!tfy__roles_read(list, &roles))
            return tfy__config_refuse(reading, below, "roles are viewer, approver, operator and admin");
    }
    json_decref(listen->groups);
    listen->groups = json_incref(value);
    return true;
}

static bool read_listen(TfyReading *reading, json_t *item, const char *path)
{
    static const TfyConfigRow rows[] = {{"address", JSON_STRING, take_address},
                                        {"unix", JSON_STRING, take_path},
                                        {"proxy", JSON_TRUE, take_proxy},
                                        {"user_header", JSON_STRING, take_user_header},
                                        {"groups_header", JSON_STRING, take_groups_header},
                                        {"groups", JSON_OBJECT, take_groups},
                                        {.name = NULL}};
    TfyListen *listen = &reading->config->listen[reading->config->listen_count++];
    if (!json_is_object(item)) return tfy__config_refuse(reading, path, "it is not an object");
    if (!tfy__config_object(reading, item, rows, path, listen)) return false;
    if (!listen->address == !listen->path) return tfy__config_refuse(reading, path, "it has \"address\" or \"unix\"");
    if ((listen->user_header || listen->path) && !listen->proxy)
        return tfy__config_refuse(reading, path, "this is for a listener with \"proxy\": true");
    return true;
}

static bool take_listen(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    json_t *item;
    size_t i;
    json_array_foreach(value, i, item)
    {
        char below[64];
        snprintf(below, sizeof below, "%.40s[%zu]", path, i);
        if (i == TFY_LISTEN_MOST) return tfy__config_refuse(reading, below, "there are more than %d", TFY_LISTEN_MOST);
        if (!read_listen(reading, item, below)) return false;
    }
    return true;
}

/* ---- "hosts" ---- */

static bool take_hosts(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    json_t *item;
    size_t i;
    json_array_foreach(value, i, item)
    {
        char below[64];
        const char *name = json_string_value(item);
        snprintf(below, sizeof below, "%.40s[%zu]", path, i);
        if (i == TFY_HOSTS_MOST) return tfy__config_refuse(reading, below, "there are more than %d", TFY_HOSTS_MOST);
        if (!name || !*name || strpbrk(name, "/ \t\r\n@*"))
            return tfy__config_refuse(reading, below, "it is not the name of a host, such as tfy.example.org");
        if (!tfy__config_text(reading, &reading->config->hosts[i], item)) return false;
    }
    return true;
}

/* ---- "programs" ---- */

/* Whoever asks for it reads it there. */
static bool take_flag(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return true;
}

static bool take_count(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return (json_integer_value(value) >= 1 && json_integer_value(value) <= COUNT_MOST) ||
           tfy__config_refuse(reading, path, "it is not a number from 1 to %d", COUNT_MOST);
}

static bool take_rate(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    int64_t rate, rate_ms;
    return tfy__rate_read(json_string_value(value), &rate, &rate_ms) ||
           tfy__config_refuse(reading, path, "it is not a rate such as 10/s, 100/m, 5/h or 1/d, of at most %d",
                              TFY_RATE_MOST);
}

static bool take_limits(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    static const TfyConfigRow rows[] = {
        {"max_running", JSON_INTEGER, take_count}, {"max_queued", JSON_INTEGER, take_count},
        {"per_key", JSON_INTEGER, take_count},     {"rate", JSON_STRING, take_rate},
        {"not_by_starter", JSON_TRUE, take_flag},  {.name = NULL}};
    return tfy__config_named(reading, value, rows, path);
}

static bool take_file(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    const char *file = json_string_value(value), *end = strrchr(file, '.');
    return (end && (strcmp(end, ".tfy") == 0 || strcmp(end, ".so") == 0) && *file != '-') ||
           tfy__config_refuse(reading, path, "it is not FILE.tfy, or FILE.so that `tfy build --shared` made");
}

static bool take_programs(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    static const TfyConfigRow rows[] = {{"file", JSON_STRING, take_file},
                                        {"limits", JSON_OBJECT, take_limits},
                                        {"mcp", JSON_TRUE, take_flag},
                                        {"sandbox", JSON_STRING, tfy__reach_sandbox},
                                        {"network", JSON_STRING, tfy__reach_network},
                                        {"grant", JSON_ARRAY, tfy__reach_grant},
                                        {"runners", JSON_TRUE, tfy__reach_runners},
                                        {"budget", JSON_STRING, tfy__reach_budget},
                                        {"root", JSON_STRING, tfy__reach_root},
                                        {"secrets", JSON_STRING, tfy__reach_secrets},
                                        {.name = NULL}};
    const char *name;
    json_t *program;
    json_object_foreach(value, name, program)
    {
        char below[TFY_CONFIG_PATH];
        TfyReach *reach = calloc(1, sizeof *reach);
        snprintf(below, sizeof below, "%.400s.%.80s", path, name);
        if (reach) LIST_APPEND(&reading->config->reaches, reach, next);
        if (!reach || !(reach->program = strdup(name))) return tfy__config_refuse(reading, below, "memory ran out");
        if (!json_is_object(program)) return tfy__config_refuse(reading, below, "it is not an object");
        if (!tfy__config_object(reading, program, rows, below, reach)) return false;
    }
    json_decref(reading->config->programs);
    reading->config->programs = json_incref(value);
    return true;
}

const json_t *tfy__config_limits(const TfyConfig *config, const char *program, const char *workflow)
{
    return json_object_get(json_object_get(json_object_get(config->programs, program), "limits"), workflow);
}

bool tfy__config_not_by_starter(const TfyConfig *config, const char *program, const char *workflow)
{
    return json_is_true(json_object_get(tfy__config_limits(config, program, workflow), "not_by_starter"));
}

/* ---- "tls" ---- */

static bool take_cert(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return tfy__config_text(reading, &reading->config->cert, value);
}

static bool take_key(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return tfy__config_text(reading, &reading->config->key, value);
}

static bool take_ca(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return tfy__config_text(reading, &reading->config->ca, value);
}

static bool take_tls(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    static const TfyConfigRow rows[] = {
        {"cert", JSON_STRING, take_cert}, {"key", JSON_STRING, take_key}, {"ca", JSON_STRING, take_ca}, {.name = NULL}};
    if (!tfy__config_object(reading, value, rows, path, NULL)) return false;
    if (!reading->config->cert != !reading->config->key)
        return tfy__config_refuse(reading, path, "a certificate has \"cert\" and \"key\"");
    return true;
}

static const int64_t drain_most_ms = INT64_C(86400000);

static bool take_drain(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    return tfy__config_duration(reading, value, path, drain_most_ms, &reading->config->drain_ms);
}

static bool take_models(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    if (access(json_string_value(value), R_OK) != 0)
        return tfy__config_refuse(reading, path, "it cannot be read: %s", strerror(errno));
    return tfy__config_text(reading, &reading->config->models, value);
}

static bool take_search(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    reading->config->no_search = json_is_false(value);
    return true;
}

static const int64_t compile_most_ms = 3600000;

static bool take_compile(TfyReading *reading, json_t *value, const char *path, void *arg)
{
    int64_t ms;
    if (!tfy__config_duration(reading, value, path, compile_most_ms, &ms)) return false;
    reading->config->compile_ms = (int)ms;
    return ms >= 1000 || tfy__config_refuse(reading, path, "a program is given a second at least");
}

/* ---- the file ---- */

static bool read_file(TfyReading *reading)
{
    static const TfyConfigRow rows[] = {{"$schema", JSON_STRING, take_flag}, /* for editors: docs/serve.schema.json */
                                        {"listen", JSON_ARRAY, take_listen},
                                        {"hosts", JSON_ARRAY, take_hosts},
                                        {"programs", JSON_OBJECT, take_programs},
                                        {"schedules", JSON_OBJECT, tfy__config_schedules},
                                        {"followers", JSON_OBJECT, tfy__config_followers},
                                        {"hooks", JSON_OBJECT, tfy__config_hooks},
                                        {"tls", JSON_OBJECT, take_tls},
                                        {"drain", JSON_STRING, take_drain},
                                        {"compile", JSON_STRING, take_compile},
                                        {"models", JSON_STRING, take_models},
                                        {"search", JSON_TRUE, take_search},
                                        {.name = NULL}};
    json_error_t where;
    json_t *json = json_loadb(reading->text, reading->len, JSON_REJECT_DUPLICATES, &where);
    if (!json) {
        snprintf(reading->error, TFY_ERROR_TEXT, "%.300s:%d: %.200s", reading->name, where.line, where.text);
        return false;
    }
    const bool fits = json_is_object(json) ? tfy__config_object(reading, json, rows, "$", NULL)
                                           : tfy__config_refuse(reading, "$", "it is not an object");
    reading->config->given = json;
    return fits;
}

TfyConfig *tfy__config_parse(const char *name, const char *text, size_t len, char *error)
{
    TfyConfig *config = calloc(1, sizeof *config);
    TfyReading reading = {.config = config, .name = name, .text = text, .len = len, .error = error};
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (config) config->drain_ms = TFY_DRAIN_MS;
    if (config) config->compile_ms = TFY_COMPILE_MS;
    if (config && read_file(&reading)) return config;
    tfy__config_free(config);
    return NULL;
}

static void free_listen(TfyListen *listen)
{
    free(listen->address);
    free(listen->path);
    free(listen->user_header);
    free(listen->groups_header);
    json_decref(listen->groups);
}

void tfy__config_free(TfyConfig *config)
{
    for (TfyConfig *older; config; config = older) {
        older = config->older;
        for (size_t i = 0; i < config->listen_count; i++) free_listen(&config->listen[i]);
        for (size_t i = 0; i < TFY_HOSTS_MOST; i++) free(config->hosts[i]);
        while (config->own_count) free(config->own[--config->own_count]);
        free(config->models);
        json_decref(config->given);
        json_decref(config->programs);
        for (TfyReach *reach; (reach = LIST_TAKE(&config->reaches, next));) tfy__reach_free(reach);
        for (TfyHook *hook; (hook = LIST_TAKE(&config->hooks, next));) tfy__hook_free(hook);
        for (TfySchedule *schedule; (schedule = LIST_TAKE(&config->schedules, next));) tfy__schedule_free(schedule);
        for (TfyFollowerRow *row; (row = LIST_TAKE(&config->followers, next));) tfy__follower_row_free(row);
        free(config->cert);
        free(config->key);
        free(config->ca);
        tfy__tls_free(config->tls);
        free(config);
    }
}

/* ---- with the command line ---- */

static bool set(char **place, const char *text)
{
    if (!text) return true;
    free(*place);
    return (*place = strdup(text));
}

static bool add_listen(TfyConfig *config, const char *address, bool usual, char *error)
{
    TfyListen *listen = &config->listen[config->listen_count++];
    json_t *value = json_string(address);
    TfyReading reading = {.config = config, .name = "--listen", .text = "", .error = error};
    const bool fits = value && take_address(&reading, value, address, listen);
    listen->usual = usual;
    json_decref(value);
    return fits;
}

static bool add_drain(TfyConfig *config, const char *text, char *error)
{
    json_t *value = json_string(text);
    TfyReading reading = {.config = config, .name = "", .text = "", .error = error};
    const bool fits = value && take_drain(&reading, value, "--drain", NULL);
    json_decref(value);
    return fits;
}

/* What the command line names replaces what the file does. */
static bool take_flags(TfyConfig *config, const TfyServeFlags *flags, char *error)
{
    if (flags->drain && !add_drain(config, flags->drain, error)) return false;
    bool fine = set(&config->cert, flags->cert) && set(&config->key, flags->key) && set(&config->ca, flags->ca);
    if (!fine) return false;
    if (flags->listen_count || flags->no_tcp)
        while (config->listen_count) {
            TfyListen *listen = &config->listen[--config->listen_count];
            free_listen(listen);
            *listen = (TfyListen){.address = NULL};
        }
    for (size_t i = 0; fine && i < flags->listen_count; i++) fine = add_listen(config, flags->listen[i], false, error);
    if (fine && !config->listen_count && !flags->no_tcp) fine = add_listen(config, "127.0.0.1:8433", true, error);
    return fine;
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strncmp(address, "[::1]:", 6) == 0;
}

/* Nothing crosses a network unless TLS or a proxy of ours protects it, and nobody else may say who asks. */
static bool is_protected(const TfyConfig *config, char *error)
{
    if (!config->cert != !config->key || (config->ca && !config->cert)) {
        snprintf(error, TFY_ERROR_TEXT, "TLS needs a certificate and its key: --tls-cert FILE --tls-key FILE");
        return false;
    }
    for (size_t i = 0; i < config->listen_count; i++) {
        const TfyListen *listen = &config->listen[i];
        if (listen->address && !listen->proxy && !config->cert && !is_loopback(listen->address)) {
            snprintf(
                error, TFY_ERROR_TEXT,
                "%.100s can be reached from other machines: it needs TLS (--tls-cert, --tls-key), or \"proxy\": true "
                "in the configuration where a proxy is in front of it",
                listen->address);
            return false;
        }
        if (listen->user_header && listen->address && !config->ca) {
            snprintf(error, TFY_ERROR_TEXT,
                     "%.100s believes a header that says who asks, so only the proxy may reach it: use \"unix\", or "
                     "certificates of clients (\"ca\")",
                     listen->address);
            return false;
        }
    }
    return true;
}

static bool fill_in(TfyConfig *config, const TfyServeFlags *flags, char *error)
{
    if (!take_flags(config, flags, error) || !is_protected(config, error)) return false;
    if (!tfy__config_hook_secrets(config, error)) return false;
    for (size_t i = 0; i < config->listen_count; i++)
        tfy__config_name(config, &config->listen[i], config->listen[i].address);
    return !config->cert || (config->tls = tfy__tls_read(config->cert, config->key, config->ca, error));
}

TfyConfig *tfy__config_read(const TfyServeFlags *flags, char *error)
{
    size_t len = 2;
    TfyConfig *config = NULL;
    char *text = flags->config ? tfy__file_text(flags->config, &len, error) : strdup("{}");
    if (text) config = tfy__config_parse(flags->config ? flags->config : "", text, len, error);
    free(text);
    if (!config || fill_in(config, flags, error)) return config;
    tfy__config_free(config);
    return NULL;
}

/* ---- names ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool tfy__config_listens_alike(const TfyConfig *a, const TfyConfig *b)
{
    bool alike = a->listen_count == b->listen_count && !a->cert == !b->cert && !a->ca == !b->ca;
    for (size_t i = 0; alike && i < a->listen_count; i++)
        alike = same_text(a->listen[i].address, b->listen[i].address) &&
                same_text(a->listen[i].path, b->listen[i].path) && a->listen[i].proxy == b->listen[i].proxy;
    return alike;
}

/* A name with the port, too, since a port that is not the usual one is a part of what callers say. */
static void add_name(TfyConfig *config, const char **at, const char *name, const char *port)
{
    char *own = NULL;
    if (config->own_count == sizeof config->own / sizeof *config->own ||
        asprintf(&own, "%s%s%s", name, port ? ":" : "", port ? port : "") < 0)
        return;
    *at = config->own[config->own_count++] = own;
}

void tfy__config_name(TfyConfig *config, TfyListen *listen, const char *address)
{
    const char *port = address ? strrchr(address, ':') + 1 : NULL, **at = listen->hosts;
    for (size_t i = 0; config->hosts[i]; i++) {
        *at++ = config->hosts[i];
        if (port) add_name(config, at++, config->hosts[i], port);
    }
    *at = NULL;
    if (!port) return;
    add_name(config, at++, "localhost", port);
    add_name(config, at++, "127.0.0.1", port);
    add_name(config, at++, "[::1]", port);
    add_name(config, at++, address, NULL);
    *at = NULL;
}
