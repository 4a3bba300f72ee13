/* env.c: the effect env, one variable of the process's environment, recorded. Names of secrets are refused: the
 * log contains every value that it reads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/effect.h"
#include "value/heap.h"

/* Is this one of the words that an '_' separates in a name? */
static bool has_word(const char *name, const char *word)
{
    const size_t len = strlen(word);
    for (const char *at = name; *at; at += strcspn(at, "_"), at += *at == '_')
        if (strcspn(at, "_") == len && strncasecmp(at, word, len) == 0) return true;
    return false;
}

static bool names_secret(const char *name)
{
    static const char *const words[] = {"KEY",      "KEYS",   "SECRET",     "SECRETS",    "TOKEN",       "TOKENS",
                                        "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "APIKEY"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has_word(name, words[i])) return true;
    return false;
}

static void env_start(TfyCall *call)
{
    const TfyString *name = (const TfyString *)call->args[0].o;
    call->outcome = TFY_NOT_DONE;
    if (!name->byte_len || memchr(name->bytes, 0, name->byte_len) || strchr(name->bytes, '=')) {
        tfy__call_tool_error(call, EINVAL, "'%s' is not the name of an environment variable", name->bytes);
        return;
    }
    if (names_secret(name->bytes)) {
        tfy__call_tool_error(call, EPERM,
                             "env(\"%s\") would write a secret into the log; give secret(\"%s\") to exec, http or a "
                             "tool",
                             name->bytes, name->bytes);
        return;
    }
    TfyTask *task = call->task; /* answering the call may free it */
    TfyHeap *heap = task->heap;
    const uint32_t mark = tfy_mark(task);
    const char *value = getenv(name->bytes);
    TfyObj *text = value ? tfy_string_of(task, value, strlen(value)) : NULL;
    if (value && !text)
        tfy__call_panicked(call);
    else
        tfy__call_done(call, tfy_of_obj(text));
    if (heap->temp_count > mark) tfy__cut(heap, mark);
}

/* It never waits. */
static void env_abort(TfyCall *call)
{
    (void)call;
}

const TfyPerformer tfy__perform_env = {.name = "env", .start = env_start, .abort = env_abort};
