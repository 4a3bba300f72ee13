/* The tool of deep_values.tfy: answers what it is given. */
#include "tfy.h"

bool tool_same_chain(TfyTask *task, TfyObj *value, TfyObj **out);
bool tool_same_chain(TfyTask *task, TfyObj *value, TfyObj **out)
{
    (void)task;
    *out = value;
    return true;
}
