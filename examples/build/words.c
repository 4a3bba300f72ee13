/* words.c: the C side of lib/words.tfy. words.h is made by tfyc: a function that does not fit its tool does not compile. */
#include "words.h"

#include <string.h>

static const char blanks[] = " \t\n";

bool words_count(TfyTask *task, TfyObj *text, int64_t *out)
{
    const char *at = ((TfyString *)text)->bytes;
    (void)task;
    for (*out = 0; *(at += strspn(at, blanks)); ++*out) at += strcspn(at, blanks);
    return true;
}

bool words_longest(TfyTask *task, TfyObj *text, TfyObj **out)
{
    const char *at = ((TfyString *)text)->bytes, *best = at;
    size_t best_len = 0;
    while (*(at += strspn(at, blanks))) {
        size_t len = strcspn(at, blanks);
        if (len > best_len) best = at, best_len = len;
        at += len;
    }
    *out = tfy_string_of(task, best, best_len);
    return *out;
}
