/* challenge.c: see challenge.h.
 *
 * A list of challenges and their parameters has commas in both places: a word with "=" behind it is a parameter of the
 * scheme before it, any other word is a scheme. */
#include "mcp/login/challenge.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WORD_MOST 64 /* bytes of a scheme or a parameter's name, with a NUL */

static bool is_token(char c)
{
    return c > ' ' && c <= '~' && !strchr("()<>@,;:\\\"/[]?={}", c);
}

static const char *skip(const char *at, const char *what)
{
    return at + strspn(at, what);
}

/* Reads a word. NULL: there is none. A longer one than fits is cut, so it equals none that is known. */
static const char *read_word(const char *at, char word[WORD_MOST])
{
    size_t len = 0;
    while (at[len] && is_token(at[len])) len++;
    snprintf(word, WORD_MOST, "%.*s", (int)(len < WORD_MOST ? len : WORD_MOST - 1), at);
    return len ? at + len : NULL;
}

/* Reads a value, quoted or not, into out; longer ones leave it empty. Returns what follows. */
static const char *read_value(const char *at, char *out, size_t size)
{
    const bool quoted = *at == '"';
    size_t len = 0;
    for (at += quoted; *at && (quoted ? *at != '"' : is_token(*at)); at++) {
        if (quoted && *at == '\\' && at[1]) at++;
        if (len < size) out[len++] = *at;
    }
    out[len < size ? len : 0] = '\0';
    return at + (quoted && *at == '"');
}

/* "Basic abc==": letters behind a scheme that are no parameter. */
static const char *skip_token68(const char *at)
{
    const char *end = at;
    while (*end && (is_token(*end) || *end == '/')) end++;
    end = skip(end, "=");
    return *skip(end, " \t") == ',' || !*skip(end, " \t") ? end : at;
}

static bool is_visible(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text > '~') return false;
    return true;
}

/* The first that is said of each counts. */
static void take(TfyChallenge *challenge, const char *name, const char *value)
{
    if (strcasecmp(name, "resource_metadata") == 0 && !*challenge->metadata && is_visible(value))
        snprintf(challenge->metadata, sizeof challenge->metadata, "%s", value);
    if (strcasecmp(name, "scope") == 0 && !*challenge->scope && tfy__is_scope(value))
        snprintf(challenge->scope, sizeof challenge->scope, "%.*s", TFY_SCOPE_MOST - 1, value);
    if (strcasecmp(name, "error") == 0 && !*challenge->error && is_visible(value))
        snprintf(challenge->error, sizeof challenge->error, "%.*s", (int)sizeof challenge->error - 1, value);
}

/* A value that is too long for its place is as if it had not been said. */
static bool fits(const char *name, const char *value)
{
    const size_t len = strlen(value);
    return strcasecmp(name, "scope") == 0   ? len < TFY_SCOPE_MOST
           : strcasecmp(name, "error") == 0 ? len < sizeof((TfyChallenge *)0)->error
                                            : len < TFY_ADDRESS_MOST;
}

void tfy__challenge_read(const char *text, TfyChallenge *challenge)
{
    char word[WORD_MOST], value[TFY_ADDRESS_MOST];
    bool inside = false; /* of the first Bearer */
    *challenge = (TfyChallenge){.bearer = false};
    for (const char *at = text ? text : ""; *(at = skip(at, ", \t"));) {
        const char *end = read_word(at, word), *equals = end ? skip(end, " \t") : NULL;
        if (!end) {
            at++; /* not the beginning of anything */
        } else if (*equals == '=') {
            at = read_value(skip(equals + 1, " \t"), value, sizeof value);
            if (inside && fits(word, value)) take(challenge, word, value);
        } else {
            inside = !challenge->bearer && strcasecmp(word, "Bearer") == 0;
            challenge->bearer |= inside;
            at = inside ? end : skip_token68(skip(end, " \t"));
        }
    }
}

bool tfy__is_scope(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\') return false;
    return true;
}

/* Whether a list has this name of len bytes. */
static bool has_name(const char *scope, const char *name, size_t len)
{
    for (const char *at = skip(scope, " "); *at; at = skip(at + strcspn(at, " "), " "))
        if (strcspn(at, " ") == len && memcmp(at, name, len) == 0) return true;
    return false;
}

static bool add_name(char scope[TFY_SCOPE_MOST], const char *name, size_t len)
{
    const size_t used = strlen(scope);
    if (used + len + 2 > TFY_SCOPE_MOST) return false;
    snprintf(scope + used, TFY_SCOPE_MOST - used, "%s%.*s", used ? " " : "", (int)len, name);
    return true;
}

bool tfy__scope_add(char scope[TFY_SCOPE_MOST], const char *more)
{
    bool fit = true;
    for (const char *at = skip(more, " "); *at; at = skip(at + strcspn(at, " "), " ")) {
        const size_t len = strcspn(at, " ");
        if (!has_name(scope, at, len)) fit = add_name(scope, at, len) && fit;
    }
    return fit;
}

void tfy__scope_lacks(const char *had, const char *wanted, char out[TFY_SCOPE_MOST])
{
    *out = '\0';
    for (const char *at = skip(wanted, " "); *at; at = skip(at + strcspn(at, " "), " ")) {
        const size_t len = strcspn(at, " ");
        if (!has_name(had, at, len) && !has_name(out, at, len)) (void)add_name(out, at, len);
    }
}
