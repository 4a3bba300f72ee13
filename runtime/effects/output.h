/* output.h: text from outside as the result of a call: a tool's output, a server's response. */
#ifndef EFFECTS_OUTPUT_H
#define EFFECTS_OUTPUT_H

#include "core/effect.h"

/* Finishes a call whose result type is not a record of the whole outcome: a string receives the text as it is,
 * every other type is read from JSON. cut: the text was too long to be kept; `whole` names the type that can hold
 * a part of it. False: a panic is pending. */
bool tfy__output_give(TfyCall *call, const TfyBuffer *output, bool cut, const char *whole);

/* Making a value, or the program's own code for an argument or a default, panicked: the step finishes with that
 * panic. */
void tfy__output_panicked(TfyCall *call);

#endif
