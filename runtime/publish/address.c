/* address.c: see address.h. libcurl reads it, which knows all the corners of addresses. */
#include "publish/address.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "cli/frame/cli.h"

enum { ADDRESS_MOST = 2000 };

static bool refuse(char *error, const char *why)
{
    snprintf(error, TFY_ERROR_TEXT, "%s", why);
    return false;
}

/* A part as libcurl has it, copied; NULL: there is none. */
static char *part_of(CURLU *url, CURLUPart part, unsigned flags)
{
    char *text = NULL, *copy = NULL;
    if (curl_url_get(url, part, &text, flags) == CURLUE_OK) copy = strdup(text);
    curl_free(text);
    return copy;
}

static bool has_password(CURLU *url)
{
    char *password = part_of(url, CURLUPART_PASSWORD, 0);
    free(password);
    return password;
}

static void show(TfyAddress *address)
{
    const bool six = strchr(address->host, ':');
    char port[16] = "";
    if (address->port) snprintf(port, sizeof port, ":%u", address->port);
    snprintf(address->shown, sizeof address->shown, "%s://%s%.100s%s%s%.60s", address->scheme, six ? "[" : "",
             address->host, six ? "]" : "", port, strcmp(address->path, "/") == 0 ? "" : address->path);
}

static bool take_parts(TfyAddress *address, CURLU *url, char *error)
{
    char *port = part_of(url, CURLUPART_PORT, 0);
    address->port = port ? (uint32_t)strtoul(port, NULL, 10) : 0;
    free(port);
    address->scheme = part_of(url, CURLUPART_SCHEME, 0);
    address->host = part_of(url, CURLUPART_HOST, 0);
    address->path = part_of(url, CURLUPART_PATH, CURLU_URLDECODE);
    address->user = part_of(url, CURLUPART_USER, CURLU_URLDECODE);
    address->query = part_of(url, CURLUPART_QUERY, 0);
    if (!address->path) address->path = strdup("");
    if (!address->scheme || !address->host || !address->path || !*address->host)
        return refuse(error, "the address has no host");
    const size_t len = strlen(address->host);
    if (*address->host == '[' && len > 2) {
        memmove(address->host, address->host + 1, len - 2);
        address->host[len - 2] = '\0';
    }
    if (has_password(url))
        return refuse(error,
                      "the address has a password, which ps shows to everybody: put it into a file, and name that "
                      "with --secret-file (\"secret_file\" in a configuration)");
    show(address);
    return true;
}

/* libcurl takes what has no scheme for http. */
static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text == 127) return false;
    return true;
}

bool tfy__address_read(TfyAddress *address, const char *text, char *error)
{
    *address = (TfyAddress){.whole = strdup(text)};
    CURLU *url = curl_url();
    bool fine = url && address->whole && strlen(text) <= ADDRESS_MOST && is_printable(text) && strstr(text, "://") &&
                curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK;
    if (!fine)
        refuse(error, "it is not an address such as redis://127.0.0.1:6379");
    else
        fine = take_parts(address, url, error);
    curl_url_cleanup(url);
    if (!fine) tfy__address_free(address);
    return fine;
}

/* Scheme, and the name of the kind of target. */
static const char *const schemes[][2] = {{"https", "webhook"}, {"http", "webhook"},   {"redis", "redis"},
                                         {"nats", "nats"},     {"otlp+http", "otlp"}, {"otlp+https", "otlp"}};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

const char *tfy__address_target(const TfyAddress *address, char *error)
{
    for (int i = 0; i < SCHEMES; i++)
        if (strcmp(schemes[i][0], address->scheme) == 0) return schemes[i][1];
    int len = snprintf(error, TFY_ERROR_TEXT, "'%.40s://' is not a kind of target; there are", address->scheme);
    for (int i = 0; i < SCHEMES && len < TFY_ERROR_TEXT; i++)
        len += snprintf(error + len, TFY_ERROR_TEXT - (size_t)len, "%s %s://",
                        i == 0            ? ""
                        : i < SCHEMES - 1 ? ","
                                          : " and",
                        schemes[i][0]);
    return NULL;
}

void tfy__address_free(TfyAddress *address)
{
    free(address->whole);
    free(address->scheme);
    free(address->host);
    free(address->path);
    free(address->user);
    free(address->query);
    *address = (TfyAddress){.whole = NULL};
}

/* ---- parameters ---- */

/* "%2F" as "/", in place. A NUL would end the text. */
static void decode(char *text)
{
    char *out = text;
    for (; *text; text++) {
        const int high = *text == '%' ? tfy__hex_digit(text[1]) : -1, low = high >= 0 ? tfy__hex_digit(text[2]) : -1;
        if (low >= 0 && high + low) {
            *out++ = (char)(high << 4 | low);
            text += 2;
        } else {
            *out++ = *text;
        }
    }
    *out = '\0';
}

static const char *name_at(const void *state, int index)
{
    return ((const char *const *)state)[index];
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0) names++;
    return *names;
}

static bool refuse_parameter(char *error, const char *name, const char *why, const char *meant)
{
    char shown[60];
    snprintf(shown, sizeof shown, "%.40s", name);
    for (char *c = shown; *c; c++)
        if (*c < ' ' || *c == 127) *c = '?';
    snprintf(error, TFY_ERROR_TEXT, "the address's parameter '%s' %s%s%s%s", shown, why,
             meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
    return false;
}

bool tfy__address_parameters(TfyAddress *address, const char *const *names, char *error)
{
    for (char *at = address->query, *next; at && *at; at = next) {
        next = strchr(at, '&');
        if (next) *next++ = '\0';
        char *value = strchr(at, '=');
        if (value) *value++ = '\0';
        decode(at);
        if (value) decode(value);
        if (!is_one_of(at, names)) return refuse_parameter(error, at, "is not known", tfy__nearest(at, name_at, names));
        if (tfy__address_parameter(address, at)) return refuse_parameter(error, at, "is given twice", NULL);
        if (!value || !*value) return refuse_parameter(error, at, "has no value", NULL);
        if (address->parameter_count == TFY_ADDRESS_PARAMETERS)
            return refuse_parameter(error, at, "is one too many", NULL);
        address->parameters[address->parameter_count].name = at;
        address->parameters[address->parameter_count++].value = value;
    }
    return true;
}

const char *tfy__address_parameter(const TfyAddress *address, const char *name)
{
    for (uint32_t i = 0; i < address->parameter_count; i++)
        if (strcmp(address->parameters[i].name, name) == 0) return address->parameters[i].value;
    return NULL;
}

bool tfy__address_number(const TfyAddress *address, const char *name, int64_t usual, int64_t least, int64_t most,
                         int64_t *out, char *error)
{
    const char *text = tfy__address_parameter(address, name);
    *out = usual;
    if (!text) return true;
    const bool digits = strlen(text) < 19 && !text[strspn(text, "0123456789")];
    *out = digits ? strtoll(text, NULL, 10) : -1;
    if (*out >= least && *out <= most) return true;
    snprintf(error, TFY_ERROR_TEXT, "the address's parameter '%s' is not a number from %lld to %lld", name,
             (long long)least, (long long)most);
    return false;
}

bool tfy__address_is_loopback(const TfyAddress *address)
{
    const char *host = address->host;
    unsigned a, b, c, d;
    char end;
    return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
           (sscanf(host, "%u.%u.%u.%u%c", &a, &b, &c, &d, &end) == 4 && a == 127);
}
