/* config_print.c: what a server does, as its configuration would say it (config.h). */
#include <stdlib.h>
#include <string.h>

#include "serve/config.h"
#include "value/json.h"

static json_t *duration(int64_t ms)
{
    TfyBuffer text = {0};
    tfy__write_duration(&text, ms);
    json_t *made = text.failed ? NULL : json_stringn(text.data, text.len);
    tfy__buffer_free(&text);
    return made;
}

/* What listens where nobody's file says so. */
static json_t *listeners(const TfyConfig *config)
{
    json_t *list = json_array();
    for (size_t i = 0; i < config->listen_count; i++)
        if (config->listen[i].address)
            json_array_append_new(list, json_pack("{s:s}", "address", config->listen[i].address));
    return list;
}

static void set_file(json_t *tls, const char *name, const char *path)
{
    if (path) json_object_set_new(tls, name, json_string(path));
}

static json_t *certificates(const TfyConfig *config)
{
    json_t *tls = json_object();
    set_file(tls, "cert", config->cert);
    set_file(tls, "key", config->key);
    set_file(tls, "ca", config->ca);
    return tls;
}

bool tfy__config_print(const TfyConfig *config, const TfyServeFlags *flags, FILE *out)
{
    json_t *all = config->given ? json_deep_copy(config->given) : json_object();
    if (!json_object_get(all, "listen") || flags->listen_count || flags->no_tcp)
        json_object_set_new(all, "listen", listeners(config));
    if (config->cert) json_object_set_new(all, "tls", certificates(config));
    json_object_set_new(all, "drain", duration(config->drain_ms));
    json_object_set_new(all, "compile", duration(config->compile_ms));
    json_object_set_new(all, "search", json_boolean(!config->no_search));
    const bool fine = all && json_dumpf(all, out, JSON_INDENT(2)) == 0 && fputc('\n', out) != EOF && fflush(out) == 0;
    json_decref(all);
    return fine;
}
