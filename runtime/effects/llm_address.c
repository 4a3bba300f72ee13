/* llm_address.c: see llm_address.h. */
#include "effects/llm_address.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "effects/llm.h"

enum { ADDRESSES_MOST = 8 };

/* ---- addresses ---- */

static bool ends_with(const char *text, const char *tail)
{
    size_t len = strlen(text), tail_len = strlen(tail);
    return len >= tail_len && strcmp(text + len - tail_len, tail) == 0;
}

/* "" and "/" become /v1/chat/completions, /v1 gets /chat/completions, and a path that ends with that stays. */
static char *complete_path(const char *path, const char *tail)
{
    size_t len = strlen(path);
    char *full = tfy__sys_malloc(len + sizeof "/v1" + strlen(tail) + 1);
    if (!full) return NULL;
    memcpy(full, path, len + 1);
    while (len > 0 && full[len - 1] == '/') full[--len] = '\0';
    if (ends_with(full, tail)) return full;
    if (len == 0) strcat(full, "/v1");
    return strcat(full, tail);
}

char *tfy__llm_endpoint(const TfyLlmForm *form, const char *url)
{
    CURLU *parts = tfy__http_parse_url(url);
    if (!parts) return NULL;
    char *path = NULL, *full = NULL, *endpoint = NULL;
    if (curl_url_get(parts, CURLUPART_PATH, &path, 0) == CURLUE_OK) full = complete_path(path, form->path);
    if (full && curl_url_set(parts, CURLUPART_PATH, full, 0) == CURLUE_OK) endpoint = tfy__http_take_url(parts);
    free(full);
    curl_free(path);
    curl_url_cleanup(parts);
    return endpoint;
}

/* ---- headers ---- */

static bool add_header(TfyLlmAddress *address, const char *line)
{
    struct curl_slist *longer = curl_slist_append(address->headers, line);
    if (longer) address->headers = longer;
    return longer;
}

static bool add_key(TfyLlmAddress *address)
{
    char *line = tfy__sys_printf("%s%s", address->form->key, address->key);
    const bool ok = line && add_header(address, line);
    if (line) explicit_bzero(line, strlen(line));
    free(line);
    return ok;
}

/* "Expect:" keeps curl from waiting for a permission that many small servers never give. */
static bool add_headers(TfyLlmAddress *address)
{
    const char *fixed = address->form->fixed;
    return (!address->key[0] || add_key(address)) && (!fixed || add_header(address, fixed)) &&
           add_header(address, "Content-Type: application/json") && add_header(address, "Accept: application/json") &&
           add_header(address, "Expect:");
}

/* ---- addresses ---- */

static void free_address(TfyHttp *http, TfyLlmAddress *address)
{
    while (address->spare_count) tfy__http_easy_free(http, address->spare[--address->spare_count]);
    tfy__http_headers_free(address->headers);
    if (address->key) explicit_bzero(address->key, strlen(address->key));
    free(address->key);
    free(address->from);
    free(address->url);
    free(address->shown);
    free(address);
}

void tfy__llm_address_leave(TfyLlmAddresses *addresses, TfyLlmAddress *address)
{
    if (address && --address->users == 0) free_address(addresses->http, address);
}

static int new_address(TfyHttp *http, const TfyLlmForm *form, const char *from, const char *key, TfyLlmAddress **out)
{
    char *url = tfy__llm_endpoint(form, from);
    TfyLlmAddress *address = url ? tfy__sys_calloc(1, sizeof *address) : NULL;
    *out = address;
    if (!url) return EINVAL;
    if (!address) {
        free(url);
        return ENOMEM;
    }
    *address = (TfyLlmAddress){.form = form,
                               .from = tfy__sys_strdup(from),
                               .key = tfy__sys_strdup(key),
                               .url = url,
                               .shown = tfy__http_public_url(url),
                               .users = 1};
    if (address->from && address->key && address->shown && add_headers(address)) return 0;
    free_address(http, address);
    return ENOMEM;
}

static void leave_oldest(TfyLlmAddresses *addresses)
{
    TfyLlmAddress **place = &addresses->first;
    for (int count = 0; *place && count < ADDRESSES_MOST; count++) place = &(*place)->next;
    TfyLlmAddress *oldest = *place;
    *place = NULL;
    tfy__llm_address_leave(addresses, oldest);
}

static bool is_at(const TfyLlmAddress *address, const TfyLlmForm *form, const char *from, const char *key)
{
    return address->form == form && strcmp(address->from, from) == 0 && strcmp(address->key, key) == 0;
}

int tfy__llm_address(TfyLlmAddresses *addresses, const TfyLlmForm *form, const char *url, const char *key,
                     TfyLlmAddress **out)
{
    TfyLlmAddress **place = &addresses->first, *address;
    while (*place && !is_at(*place, form, url, key)) place = &(*place)->next;
    address = *place;
    if (address) {
        *place = address->next;
    } else {
        const int code = new_address(addresses->http, form, url, key, &address);
        if (code) return code;
    }
    address->next = addresses->first;
    addresses->first = *out = address;
    address->users++;
    leave_oldest(addresses);
    return 0;
}

void tfy__llm_addresses_close(TfyLlmAddresses *addresses)
{
    for (TfyLlmAddress *address; (address = addresses->first);) {
        addresses->first = address->next;
        tfy__llm_address_leave(addresses, address);
    }
}

/* ---- handles ---- */

static bool set_options(CURL *easy, const TfyLlmAddress *address)
{
    return curl_easy_setopt(easy, CURLOPT_URL, address->url) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, address->headers) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POST, 1L) == CURLE_OK;
}

CURL *tfy__llm_address_easy(TfyLlmAddresses *addresses, TfyLlmAddress *address)
{
    if (address->spare_count) return address->spare[--address->spare_count];
    CURL *easy = tfy__http_easy(addresses->http);
    if (!easy || set_options(easy, address)) return easy;
    tfy__http_easy_free(addresses->http, easy);
    return NULL;
}

void tfy__llm_address_easy_free(TfyLlmAddresses *addresses, TfyLlmAddress *address, CURL *easy)
{
    if (easy && address->spare_count < TFY_LLM_EASIES)
        address->spare[address->spare_count++] = easy;
    else
        tfy__http_easy_free(addresses->http, easy);
}
