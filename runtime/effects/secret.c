/* secret.c: finds the values of secrets and inserts them into texts. */
#include "effects/secret.h"

#include "effects/known.h"
#include "effects/secret_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "value/heap.h"
#include "wal/rows/payload.h"

#define PREFIX "secret:"

/* ---- finding ---- */

/* False: secrets->error says why, or the call waits. */
static bool find_value(TfySecrets *secrets, const TfyCall *call, TfySecret *secret)
{
    TfyLoop *loop = call->loop;
    const char *path = tfy__secrets_option(loop, tfy__program_of(call->task)), *command = tfy__secrets_command(loop);
    TfySought sought = {.name = secret->name, .given = path, .error = secrets->error};
    const bool known = tfy__secret_look(&sought);
    if (!known && command && !tfy__secret_ask(call, &sought)) {
        secrets->waits = true;
        snprintf(secrets->error, sizeof secrets->error, "the secret %s is being asked for", secret->name);
        return false;
    }
    secrets->no_room = sought.no_room;
    secret->value = sought.value;
    secret->len = sought.len;
    if (sought.value) return true;
    if (*secrets->error) return false;
    if (known || command)
        snprintf(secrets->error, sizeof secrets->error, "memory ran out while a secret was read");
    else
        snprintf(secrets->error, sizeof secrets->error, "the secret %s is missing; set TFY_SECRET_%s%s%.400s",
                 secret->name, secret->name, path ? ", or write it into " : "", path ? path : "");
    return false;
}

static bool learn(const TfySecret *secret)
{
    char label[96];
    snprintf(label, sizeof label, "secret:%s", secret->name);
    return tfy__known_add(label, secret->value, secret->len);
}

/* NULL: secrets->error is set. */
static const TfySecret *need(TfySecrets *secrets, const TfyCall *call, const char *name, size_t name_len)
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
    if (!find_value(secrets, call, secret)) return NULL;
    secrets->count++;
    if (learn(secret)) return secret;
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
static char *make_text(TfySecrets *secrets, const TfyCall *call, const TfyString *text, size_t *len)
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
        found[i] = need(secrets, call, text->bytes + stretches[i].at + prefix_len, stretches[i].len - prefix_len);
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

const char *tfy__secrets_fill(TfySecrets *secrets, const TfyCall *call, const TfyObj *string, size_t *len)
{
    const TfyString *text = (const TfyString *)string;
    *len = text->byte_len;
    if (!text->secrets) return text->bytes;
    secrets->error[0] = '\0';
    secrets->no_room = 0;
    secrets->waits = false;
    char *made = make_text(secrets, call, text, len);
    if (made && keep_text(secrets, made, *len)) return made;
    if (!secrets->error[0]) snprintf(secrets->error, sizeof secrets->error, "memory ran out while a secret was read");
    free(made);
    return NULL;
}

const char *tfy__secrets_named(TfySecrets *secrets, const TfyCall *call, const char *name)
{
    const TfySecret *secret = need(secrets, call, name, strlen(name));
    return secret ? secret->value : NULL;
}

/* ---- what is known from the start ---- */

static bool learn_all(const char *const *names, const char *given)
{
    char error[TFY_ERROR_TEXT];
    bool fine = true;
    for (; names && *names && fine; names++) {
        TfySought sought = {.name = *names, .given = given, .error = error};
        TfySecret secret = {.value = NULL};
        if (!tfy__secret_look(&sought) || !sought.value) continue;
        snprintf(secret.name, sizeof secret.name, "%s", *names);
        secret.value = sought.value;
        secret.len = sought.len;
        fine = learn(&secret);
        explicit_bzero(sought.value, sought.len);
        free(sought.value);
    }
    return fine;
}

int tfy__secrets_prepare(TfyLoop *loop, const TfyProgram *program, char *error_text)
{
    if (learn_all(program->secrets, tfy__secrets_option(loop, program))) return TFY_OK;
    snprintf(error_text, TFY_ERROR_TEXT, "memory ran out while a secret was read");
    return TFY_E_NOMEM;
}

/* ---- the call ---- */

void tfy__secrets_fail(TfyCall *call, const TfySecrets *secrets)
{
    if (secrets->waits) {
        tfy__call_no_room(call, 0);
        return;
    }
    tfy__secret_asked(call);
    if (secrets->no_room)
        tfy__call_no_room(call, secrets->no_room);
    else
        tfy__call_tool_error(call, ENOENT, "%s", secrets->error);
}

static bool note(TfyCall *call, const char *name)
{
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_NAME, name);
    tfy__put_text(&out, TFY_P_TOOL, call->tool->name);
    tfy__put_text(&out, TFY_P_TASK, tfy__task_path(call->task));
    tfy__put_int(&out, TFY_P_STEP, call->step);
    tfy__put_end(&out);
    const bool fine = tfy__call_note(call, TFY_R_SECRET, &out);
    tfy__buffer_free(&out);
    return fine;
}

void tfy__secrets_used(TfyCall *call, const TfySecrets *secrets)
{
    for (int i = 0; i < secrets->count; i++)
        if (note(call, secrets->items[i].name))
            tfy__activity(call->task, "SecretUsed", "%s by %s", secrets->items[i].name, call->tool->name);
    if (secrets->count) tfy__secret_asked(call);
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
