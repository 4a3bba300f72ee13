/* secret.c: finds the values of secrets and inserts them into texts. */
#include "effects/secret.h"

#include "effects/known.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "value/heap.h"

#define PREFIX "secret:"

/* ---- finding ---- */

/* The value after NAME= in the file, malloc'ed. NULL: it is not there, or *problem says why that cannot be
 * determined; *no_room: an error that says nothing about the file. */
static char *find_in_file(const char *path, const char *name, char *problem, int *no_room)
{
    char *line = NULL, *value = NULL;
    size_t cap = 0, name_len = strlen(name);
    struct stat st;
    FILE *file = fopen(path, "re");
    if (!file || fstat(fileno(file), &st) != 0) {
        *no_room = !file && tfy__is_no_room(errno) ? errno : 0;
        snprintf(problem, TFY_ERROR_TEXT, "cannot read the file of secrets %s: %s", path, strerror(errno));
    } else if (st.st_mode & 077 && S_ISREG(st.st_mode)) {
        snprintf(problem, TFY_ERROR_TEXT, "the file of secrets %s can be read by others; chmod 600 it", path);
    } else {
        errno = 0;
        for (ssize_t len; !value && (len = getline(&line, &cap, file)) >= 0;) {
            while (len && (line[len - 1] == '\n' || line[len - 1] == '\r')) line[--len] = '\0';
            if (strncmp(line, name, name_len) == 0 && line[name_len] == '=')
                value = tfy__sys_strdup(line + name_len + 1);
        }
    }
    if (!value && errno == ENOMEM) tfy__sys_refused();
    if (line) explicit_bzero(line, cap);
    free(line);
    if (file) fclose(file);
    return value;
}

static char *find_value(TfySecrets *secrets, const char *name)
{
    char variable[96];
    const char *path = tfy__secrets_option(secrets->loop);
    secrets->error[0] = '\0';
    secrets->no_room = 0;
    char *value = path ? find_in_file(path, name, secrets->error, &secrets->no_room) : NULL;
    if (value || secrets->error[0]) return value;
    snprintf(variable, sizeof variable, "TFY_SECRET_%s", name);
    const char *plain = tfy__known_variable(variable);
    if (plain && *plain) return tfy__sys_strdup(plain);
    snprintf(secrets->error, sizeof secrets->error, "the secret %s is missing; set %s%s%s", name, variable,
             path ? ", or write it into " : "", path ? path : "");
    return NULL;
}

/* NULL: secrets->error is set. */
static const TfySecret *need(TfySecrets *secrets, const char *name, size_t name_len)
{
    for (int i = 0; i < secrets->count; i++)
        if (strlen(secrets->items[i].name) == name_len && memcmp(secrets->items[i].name, name, name_len) == 0)
            return &secrets->items[i];
    TfySecret *secret = &secrets->items[secrets->count];
    if (secrets->count == TFY_SECRETS_MAX || name_len >= sizeof secret->name) {
        snprintf(secrets->error, sizeof secrets->error, "one step uses at most %d secrets", TFY_SECRETS_MAX);
        return NULL;
    }
    memcpy(secret->name, name, name_len);
    secret->name[name_len] = '\0';
    secret->value = find_value(secrets, secret->name);
    if (!secret->value) return NULL;
    secret->len = strlen(secret->value);
    secrets->count++;
    char label[96];
    snprintf(label, sizeof label, "secret:%s", secret->name);
    if (tfy__known_add(label, secret->value, secret->len)) return secret;
    snprintf(secrets->error, sizeof secrets->error, "memory ran out while a secret was read");
    return NULL;
}

/* ---- filling ---- */

static bool keep_text(TfySecrets *secrets, char *text, size_t len)
{
    if (!GROW(secrets->texts, secrets->text_cap, (size_t)secrets->text_count + 1, 4)) return false;
    secrets->texts[secrets->text_count++] = (TfySecretText){text, len};
    return true;
}

/* The filled text is made in two passes: the first finds all values, and thereby the size. */
static char *make_text(TfySecrets *secrets, const TfyString *text, size_t *len)
{
    const TfyStretch *stretches = tfy__string_secrets(&text->head);
    const size_t prefix_len = sizeof PREFIX - 1;
    const TfySecret *found[64];
    *len = text->byte_len;
    if (text->secrets > 64) {
        snprintf(secrets->error, sizeof secrets->error, "one text names more than 64 secrets");
        return NULL;
    }
    for (uint32_t i = 0; i < text->secrets; i++) {
        found[i] = need(secrets, text->bytes + stretches[i].at + prefix_len, stretches[i].len - prefix_len);
        if (!found[i]) return NULL;
        *len += found[i]->len - stretches[i].len;
    }
    char *made = tfy__sys_malloc(*len + 1), *to = made;
    uint32_t at = 0;
    for (uint32_t i = 0; made && i < text->secrets; i++) {
        to = mempcpy(to, text->bytes + at, stretches[i].at - at);
        to = mempcpy(to, found[i]->value, found[i]->len);
        at = stretches[i].at + stretches[i].len;
    }
    if (made) memcpy(to, text->bytes + at, text->byte_len - at + 1);
    return made;
}

const char *tfy__secrets_fill(TfySecrets *secrets, TfyLoop *loop, const TfyObj *string, size_t *len)
{
    const TfyString *text = (const TfyString *)string;
    *len = text->byte_len;
    if (!text->secrets) return text->bytes;
    secrets->loop = loop;
    secrets->error[0] = '\0';
    secrets->no_room = 0;
    char *made = make_text(secrets, text, len);
    if (made && keep_text(secrets, made, *len)) return made;
    if (!secrets->error[0]) snprintf(secrets->error, sizeof secrets->error, "memory ran out while a secret was read");
    free(made);
    return NULL;
}

void tfy__secrets_free(TfySecrets *secrets)
{
    for (int i = 0; i < secrets->count; i++) {
        explicit_bzero(secrets->items[i].value, secrets->items[i].len);
        free(secrets->items[i].value);
    }
    for (int i = 0; i < secrets->text_count; i++) {
        explicit_bzero(secrets->texts[i].bytes, secrets->texts[i].len);
        free(secrets->texts[i].bytes);
    }
    free(secrets->texts);
    *secrets = (TfySecrets){0};
}
