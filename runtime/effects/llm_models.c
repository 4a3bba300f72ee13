/* llm_models.c: see llm_models.h. */
#include "effects/llm_models.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/effect.h"
#include "effects/http_client.h"

enum {
    FILE_MOST = 1 << 20, /* bytes */
    NAME_MOST = 60,
    MODELS_MOST = 256,
};
static const double PRICE_MOST = 1e6, DAY_MOST = 1e12;
static const TfyAmount unbounded = {TFY_UNBOUNDED, TFY_UNBOUNDED, TFY_UNBOUNDED};

struct TfyLlmModels {
    json_t *json; /* owns the texts */
    TfyLlmEntry entries[MODELS_MOST];
    size_t count;
    TfyAmount day;
    char names[1024];
};

typedef struct Reader {
    TfyLlmModels *models;
    const char *file;
    char *error;
} Reader;

__attribute__((format(printf, 2, 3))) static bool refuse(const Reader *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int at = snprintf(r->error, TFY_ERROR_TEXT, "%.200s: ", r->file);
    vsnprintf(r->error + at, TFY_ERROR_TEXT - (size_t)at, format, args);
    va_end(args);
    return false;
}

/* ---- members ---- */

static bool knows(const Reader *r, const json_t *json, const char *where, const char *const *names)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)json, name, value)
    {
        const char *const *known = names;
        while (*known && strcmp(*known, name) != 0) known++;
        if (!*known) return refuse(r, "%.80s has an unknown member '%.60s'", where, name);
    }
    return true;
}

/* A text that is there, or may be left out. */
static bool read_text(const Reader *r, const json_t *json, const char *where, const char *name, bool must,
                      const char **out)
{
    const json_t *text = json_object_get(json, name);
    *out = json_string_value(text);
    if (!text && !must) return true;
    if (!text) return refuse(r, "%.80s lacks '%s'", where, name);
    if (!*out || !**out || strlen(*out) != json_string_length(text))
        return refuse(r, "'%s' of %.80s is a text, not empty", name, where);
    return true;
}

static bool read_price(const Reader *r, const json_t *price, const char *where, const char *name, double *out)
{
    const json_t *number = json_object_get(price, name);
    *out = json_number_value(number);
    if (!json_is_number(number))
        return refuse(r, "the price of %.80s lacks '%s', a number for a million tokens", where, name);
    if (!(*out >= 0 && *out <= PRICE_MOST))
        return refuse(r, "the price '%s' of %.80s is a number from 0 to %g", name, where, PRICE_MOST);
    return true;
}

static bool read_prices(const Reader *r, const json_t *json, TfyLlmEntry *entry, const char *where)
{
    static const char *const names[] = {"in", "cached", "out", NULL};
    const json_t *price = json_object_get(json, "price");
    if (!price) return true;
    if (!json_is_object(price)) return refuse(r, "the price of %.80s is {\"in\", \"cached\", \"out\"}", where);
    entry->priced = true;
    if (!knows(r, price, "the price", names)) return false;
    if (!read_price(r, price, where, "in", &entry->in) || !read_price(r, price, where, "out", &entry->out))
        return false;
    entry->cached = entry->in;
    return !json_object_get(price, "cached") || read_price(r, price, where, "cached", &entry->cached);
}

static bool is_secret_name(const char *name)
{
    for (const char *c = name; *c; c++)
        if (!(*c == '_' || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9'))) return false;
    return strlen(name) < 64;
}

static bool read_entry(Reader *r, const char *name, const json_t *json)
{
    static const char *const names[] = {"api",   "url",  "model",  "key",       "window",
                                        "price", "then", "stream", "reasoning", NULL};
    TfyLlmEntry *entry = &r->models->entries[r->models->count++];
    char where[NAME_MOST + 20];
    const char *api, *then;
    snprintf(where, sizeof where, "the model '%s'", name);
    entry->name = name;
    if (!json_is_object(json)) return refuse(r, "%s is an object", where);
    if (!knows(r, json, where, names) || !read_text(r, json, where, "api", true, &api) ||
        !read_text(r, json, where, "url", true, &entry->url) ||
        !read_text(r, json, where, "model", true, &entry->model) ||
        !read_text(r, json, where, "key", false, &entry->key) || !read_text(r, json, where, "then", false, &then) ||
        !read_text(r, json, where, "reasoning", false, &entry->effort) || !read_prices(r, json, entry, where))
        return false;
    entry->form = tfy__llm_form_named(api);
    if (!entry->form && strcmp(api, "embeddings") != 0)
        return refuse(r, "%s has the unknown api '%.40s'; there are chat, messages, responses and embeddings", where,
                      api);
    CURLU *url = tfy__http_parse_url(entry->url);
    curl_url_cleanup(url);
    if (!url) return refuse(r, "the url of %s is not an http or https address", where);
    if (entry->key && !is_secret_name(entry->key))
        return refuse(r, "the key of %s is the name of a secret, such as BIG_KEY, and never the key itself", where);
    const json_t *window = json_object_get(json, "window"), *stream = json_object_get(json, "stream");
    entry->window = json_integer_value(window);
    if (window && (!json_is_integer(window) || entry->window < 1))
        return refuse(r, "the window of %s is a number of tokens, above 0", where);
    entry->streams = !json_is_false(stream);
    if (stream && !json_is_boolean(stream)) return refuse(r, "'stream' of %s is true or false", where);
    return true;
}

/* ---- what comes after ---- */

static bool read_then(Reader *r, TfyLlmEntry *entry)
{
    const char *name = json_string_value(
        json_object_get(json_object_get(json_object_get(r->models->json, "models"), entry->name), "then"));
    if (!name) return true;
    entry->then = tfy__llm_models_find(r->models, name);
    if (!entry->then)
        return refuse(r, "the model '%s' has \"then\": \"%.60s\", and there is no such model", entry->name, name);
    return !entry->form == !entry->then->form ||
           refuse(r, "the model '%s' has \"then\": \"%.60s\", and only one of the two is for embeddings", entry->name,
                  name);
}

static bool refuse_circle(Reader *r, const TfyLlmEntry *entry)
{
    size_t steps = 0;
    for (const TfyLlmEntry *at = entry->then; at; at = at->then)
        if (at == entry || ++steps > r->models->count)
            return refuse(r, "the model '%s' comes to itself by \"then\"", entry->name);
    return true;
}

/* One part of "day", in units of a scale. */
static bool read_part(Reader *r, const json_t *day, const char *name, double scale, int64_t *out)
{
    const json_t *number = json_object_get(day, name);
    const double most = json_number_value(number);
    if (!number) return true;
    if (!json_is_number(number) || !(most > 0 && most <= DAY_MOST))
        return refuse(r, "'%s' of \"day\" is a number above 0, and at most %g", name, DAY_MOST);
    *out = (int64_t)ceil(most * scale - 1e-6);
    return true;
}

static bool read_day(Reader *r, const json_t *day)
{
    static const char *const names[] = {"cost", "tokens", "calls", NULL};
    TfyAmount *limit = &r->models->day;
    if (!day) return true;
    if (!json_is_object(day) || !json_object_size(day))
        return refuse(r, "\"day\" is {\"cost\", \"tokens\", \"calls\"}, or some of them");
    return knows(r, day, "\"day\"", names) && read_part(r, day, "cost", 1e6, &limit->cost) &&
           read_part(r, day, "tokens", 1, &limit->tokens) && read_part(r, day, "calls", 1, &limit->calls);
}

static bool read_all(Reader *r)
{
    static const char *const names[] = {"models", "day", NULL};
    const json_t *models = json_object_get(r->models->json, "models");
    const char *name;
    json_t *value;
    if (!json_is_object(r->models->json) || !json_is_object(models) || !json_object_size(models))
        return refuse(r, "it is an object with \"models\", an object with one for each name");
    if (!knows(r, r->models->json, "the file", names)) return false;
    json_object_foreach((json_t *)models, name, value)
    {
        if (r->models->count == MODELS_MOST) return refuse(r, "there are more than %d models", MODELS_MOST);
        if (!*name || strlen(name) > NAME_MOST) return refuse(r, "the name of a model has 1 to %d bytes", NAME_MOST);
        if (!read_entry(r, name, value)) return false;
        char *names_end = r->models->names + strlen(r->models->names);
        snprintf(names_end, (size_t)(r->models->names + sizeof r->models->names - names_end), "%s%s",
                 r->models->count > 1 ? ", " : "", name);
    }
    for (size_t i = 0; i < r->models->count; i++)
        if (!read_then(r, &r->models->entries[i])) return false;
    for (size_t i = 0; i < r->models->count; i++)
        if (!refuse_circle(r, &r->models->entries[i])) return false;
    return read_day(r, json_object_get(r->models->json, "day"));
}

/* ---- public functions ---- */

TfyLlmModels *tfy__llm_models_read(const char *text, size_t len, const char *name, char *error)
{
    json_error_t where;
    Reader r = {.models = tfy__sys_calloc(1, sizeof *r.models), .file = name, .error = error};
    if (!r.models) {
        snprintf(error, TFY_ERROR_TEXT, "memory ran out while the file of models was read");
        return NULL;
    }
    r.models->day = unbounded;
    r.models->json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);
    if (!r.models->json)
        refuse(&r, "line %d, column %d: %.200s", where.line, where.column, where.text);
    else if (read_all(&r))
        return r.models;
    tfy__llm_models_free(r.models);
    return NULL;
}

TfyLlmModels *tfy__llm_models_open(const char *path, bool *missing, char *error)
{
    char *text = tfy__sys_malloc(FILE_MOST + 1);
    const int fd = text ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    TfyLlmModels *models = NULL;
    *missing = text && fd < 0 && errno == ENOENT;
    size_t len = 0;
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 && len <= FILE_MOST && (n = read(fd, text + len, FILE_MOST + 1 - len)) > 0) len += (size_t)n;
    if (!text)
        snprintf(error, TFY_ERROR_TEXT, "memory ran out while the file of models was read");
    else if (n < 0)
        snprintf(error, TFY_ERROR_TEXT, "the file of models %.200s cannot be read: %s", path, strerror(errno));
    else if (len > FILE_MOST)
        snprintf(error, TFY_ERROR_TEXT, "the file of models %.200s is longer than %d bytes", path, FILE_MOST);
    else
        models = tfy__llm_models_read(text, len, path, error);
    if (fd >= 0) close(fd);
    free(text);
    return models;
}

void tfy__llm_models_free(TfyLlmModels *models)
{
    if (!models) return;
    json_decref(models->json);
    free(models);
}

const TfyLlmEntry *tfy__llm_models_find(const TfyLlmModels *models, const char *name)
{
    for (size_t i = 0; models && i < models->count; i++)
        if (strcmp(models->entries[i].name, name) == 0) return &models->entries[i];
    return NULL;
}

const TfyAmount *tfy__llm_models_day(const TfyLlmModels *models)
{
    return models && memcmp(&models->day, &unbounded, sizeof unbounded) != 0 ? &models->day : NULL;
}

const char *tfy__llm_models_names(const TfyLlmModels *models)
{
    return models->names;
}

int64_t tfy__llm_cost(const TfyLlmEntry *entry, int64_t in, int64_t cached, int64_t out)
{
    if (!entry || !entry->priced) return -1;
    const int64_t kept = cached < 0 ? 0 : cached > in ? in : cached;
    /* a price for a million tokens is one in millionths for a token */
    const double cost = (double)(in - kept) * entry->in + (double)kept * entry->cached + (double)out * entry->out;
    return cost < 9e18 ? (int64_t)ceil(cost - 1e-6) : INT64_MAX / 2;
}
