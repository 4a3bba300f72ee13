/* regex.h: what the heap must know of regular expressions: to give back the compiled ones. */
#ifndef TFY_VALUE_REGEX_H
#define TFY_VALUE_REGEX_H

#include "../tfy.h"

void tfy__regex_free(TfyHeap *heap);

#endif
