/* output.h: prints a run's output, for output and for inspect --output. */
#ifndef CLI_LOOK_OUTPUT_H
#define CLI_LOOK_OUTPUT_H

#include <stdbool.h>

#include "wal/history/history.h"

void tfy__output_print(const TfyHistory *history, bool json);

#endif
