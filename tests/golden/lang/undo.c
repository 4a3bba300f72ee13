/* The tools of undo.tfy. */
#include <tfy.h>

bool reserve(TfyTask *task, TfyObj *what, int64_t *out)
{
    (void)task;
    *out = tfy_string_len(what);
    return true;
}

bool refuse(TfyTask *task, TfyObj *what, int64_t *out)
{
    (void)what;
    (void)out;
    return tfy_tool_fail(task, 3, "nothing is free");
}
