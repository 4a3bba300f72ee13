/* hook.c: see hook.h. */
#include "serve/hook.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/hex.h"
#include "base/hmac.h"
#include "value/json.h"

enum { PATH_MOST = 512 };

void tfy__hook_free(TfyHook *hook)
{
    if (!hook) return;
    explicit_bzero(hook->secret, sizeof hook->secret);
    free(hook->name);
    free(hook->header);
    free(hook->secret_file);
    free(hook->dedupe);
    free(hook->start);
    free(hook->program);
    free(hook->signal);
    json_decref(hook->args);
    json_decref(hook->run);
    json_decref(hook->value);
    free(hook);
}

/* ---- signatures ---- */

bool tfy__hook_secret(TfyHook *hook, const char *text)
{
    const size_t len = strcspn(text, "\r\n");
    const bool coded = hook->scheme == TFY_HOOK_STANDARD && len > 6 && strncmp(text, "whsec_", 6) == 0;
    if (!len || len > TFY_HOOK_SECRET) return false;
    const int64_t got = coded ? tfy__read_base64((char *)hook->secret, text + 6, len - 6) : (int64_t)len;
    if (!coded) memcpy(hook->secret, text, len);
    hook->secret_len = got > 0 ? (size_t)got : 0;
    return got > 0;
}

const char *tfy__hook_header(const json_t *headers, const char *name)
{
    char small[128];
    size_t i = 0;
    for (; name[i] && i < sizeof small - 1; i++) small[i] = (char)tolower((unsigned char)name[i]);
    small[i] = '\0';
    const char *value = json_string_value(json_object_get(headers, small));
    return value ? value : "";
}

/* Takes as long for one that is nearly right as for any other. */
static bool same_mac(const unsigned char a[TFY_SHA256_SIZE], const unsigned char b[TFY_SHA256_SIZE])
{
    unsigned char differs = 0;
    for (int i = 0; i < TFY_SHA256_SIZE; i++) differs |= a[i] ^ b[i];
    return !differs;
}

static bool read_hex(const char *text, size_t len, unsigned char mac[TFY_SHA256_SIZE])
{
    if (len != 2 * TFY_SHA256_SIZE) return false;
    for (int i = 0; i < TFY_SHA256_SIZE; i++) {
        const int high = tfy__hex_digit(text[2 * i]), low = tfy__hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        mac[i] = (unsigned char)(16 * high + low);
    }
    return true;
}

static bool read_mac(const char *text, size_t len, unsigned char mac[TFY_SHA256_SIZE])
{
    char bytes[64];
    if (len > 7 && strncmp(text, "sha256=", 7) == 0) return read_mac(text + 7, len - 7, mac);
    if (read_hex(text, len, mac)) return true;
    if (len != 44 || tfy__read_base64(bytes, text, len) != TFY_SHA256_SIZE) return false;
    memcpy(mac, bytes, TFY_SHA256_SIZE);
    return true;
}

static bool is_mac_of(const TfyHook *hook, const char *given, size_t given_len, const char *text, size_t len)
{
    unsigned char wanted[TFY_SHA256_SIZE], mac[TFY_SHA256_SIZE];
    return read_mac(given, given_len, mac) && tfy__hmac_sha256(hook->secret, hook->secret_len, text, len, wanted) &&
           same_mac(mac, wanted);
}

/* One of several signatures, with blanks between them, each "v1,BASE64". */
static bool has_standard(const TfyHook *hook, const char *given, const TfyBuffer *text)
{
    bool found = false;
    for (const char *at = given; *at;) {
        const size_t len = strcspn(at, " ");
        if (len > 3 && strncmp(at, "v1,", 3) == 0) found |= is_mac_of(hook, at + 3, len - 3, text->data, text->len);
        at += len + (at[len] == ' ');
    }
    return found;
}

static bool standard_signed(const TfyHook *hook, const json_t *headers, const char *body, size_t len, int64_t now_s,
                            const char **why)
{
    const char *id = tfy__hook_header(headers, "webhook-id"), *when = tfy__hook_header(headers, "webhook-timestamp");
    const size_t digits = strspn(when, "0123456789");
    const int64_t at_s = digits && digits < 12 && !when[digits] ? strtoll(when, NULL, 10) : 0;
    TfyBuffer text = {0};
    *why = "its time differs from the clock here by more than five minutes";
    if (at_s < now_s - TFY_HOOK_OLD_S || at_s > now_s + TFY_HOOK_OLD_S) return false;
    *why = "the signature does not hold";
    tfy__buffer_printf(&text, "%s.%s.", id, when);
    tfy__buffer_add(&text, body, len);
    const bool holds = !text.failed && has_standard(hook, tfy__hook_header(headers, "webhook-signature"), &text);
    tfy__buffer_free(&text);
    return holds;
}

bool tfy__hook_signed(const TfyHook *hook, const json_t *headers, const char *body, size_t len, int64_t now_s,
                      const char **why)
{
    if (hook->scheme == TFY_HOOK_STANDARD) return standard_signed(hook, headers, body, len, now_s, why);
    const char *given =
        tfy__hook_header(headers, hook->scheme == TFY_HOOK_GITHUB ? "x-hub-signature-256" : hook->header);
    *why = "the signature does not hold";
    return is_mac_of(hook, given, strlen(given), len ? body : "", len);
}

/* ---- templates ---- */

static bool is_reference(const char *text)
{
    return strcmp(text, "$body") == 0 || strncmp(text, "$body.", 6) == 0 ||
           (strncmp(text, "$header.", 8) == 0 && text[8]);
}

bool tfy__hook_template_fits(const json_t *template, const char **bad)
{
    const char *name, *text = json_string_value(template);
    json_t *part;
    size_t i;
    if (text && *text == '$' && text[1] != '$' && !is_reference(text)) {
        *bad = text;
        return false;
    }
    json_object_foreach((json_t *)template, name, part) if (!tfy__hook_template_fits(part, bad)) return false;
    json_array_foreach(template, i, part) if (!tfy__hook_template_fits(part, bad)) return false;
    return true;
}

bool tfy__hook_is_outside(const json_t *template)
{
    const char *name, *text = json_string_value(template);
    json_t *part;
    size_t i;
    if (text) return is_reference(text);
    json_object_foreach((json_t *)template, name, part) if (tfy__hook_is_outside(part)) return true;
    json_array_foreach(template, i, part) if (tfy__hook_is_outside(part)) return true;
    return false;
}

/* What is at a path such as "a.0.b": members, and places in lists. Borrowed. */
static const json_t *at_path(const json_t *at, const char *path)
{
    while (at && *path) {
        char name[PATH_MOST];
        const size_t len = strcspn(path, ".");
        if (len >= sizeof name) return NULL;
        memcpy(name, path, len);
        name[len] = '\0';
        const bool place = json_is_array(at) && len && len < 7 && strspn(name, "0123456789") == len;
        at = place ? json_array_get(at, (size_t)strtoul(name, NULL, 10)) : json_object_get(at, name);
        path += len + (path[len] == '.');
    }
    return at;
}

static json_t *fill_text(const char *text, const json_t *headers, const json_t *body)
{
    if (!is_reference(text)) return json_string(text + (text[0] == '$'));
    if (strncmp(text, "$header.", 8) == 0) {
        const char *value = tfy__hook_header(headers, text + 8);
        return *value ? json_string(value) : NULL;
    }
    return json_deep_copy(at_path(body, text[5] ? text + 6 : ""));
}

static json_t *fill_object(const json_t *template, const json_t *headers, const json_t *body)
{
    json_t *out = json_object(), *part;
    const char *name;
    json_object_foreach((json_t *)template, name, part)
    {
        json_t *value = tfy__hook_fill(part, headers, body);
        if (value) json_object_set_new(out, name, value);
    }
    return out;
}

static json_t *fill_array(const json_t *template, const json_t *headers, const json_t *body)
{
    json_t *out = json_array(), *part;
    size_t i;
    json_array_foreach(template, i, part)
    {
        json_t *value = tfy__hook_fill(part, headers, body);
        if (!value || json_array_append_new(out, value) != 0) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

json_t *tfy__hook_fill(const json_t *template, const json_t *headers, const json_t *body)
{
    if (json_is_string(template)) return fill_text(json_string_value(template), headers, body);
    if (json_is_object(template)) return fill_object(template, headers, body);
    if (json_is_array(template)) return fill_array(template, headers, body);
    return json_deep_copy(template);
}
