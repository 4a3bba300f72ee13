/* output.h: printing what a run printed, for output and for inspect --output. */
#ifndef TFY_CLI_OUTPUT_H
#define TFY_CLI_OUTPUT_H

#include <stdbool.h>

#include "wal/log.h"

void tfy__output_print(const TfyHistory *history, bool json);

#endif
