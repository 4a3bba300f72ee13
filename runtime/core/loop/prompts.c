/* prompts.c: which runs keep what they send to models (TfyOptions.record_prompts). A run records how it started; the
 * option of the process that runs it decides, if it is given. */
#include <stdio.h>
#include <string.h>

#include "core/loop/state.h"

int tfy__prompts_check(const char *record_prompts, char *error_text)
{
    if (!record_prompts || strcmp(record_prompts, "full") == 0 || tfy__is_digests_only(record_prompts)) return 0;
    snprintf(error_text, TFY_ERROR_TEXT, "'%.40s' is not a way to record prompts; use full or digest", record_prompts);
    return TFY_E_INVALID;
}

bool tfy__is_digests_only(const char *record_prompts)
{
    return record_prompts && strcmp(record_prompts, DIGESTS_ONLY) == 0;
}

bool tfy__keeps_prompts(TfyTask *task)
{
    const TfyLoop *loop = task->loop;
    const char *option = loop->options.record_prompts;
    if (loop->options.forget) return false;
    return !(option ? tfy__is_digests_only(option) : rest_of(task)->run->digests_only);
}
