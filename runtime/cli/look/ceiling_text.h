/* ceiling_text.h: how far the tools of a run may go, as it would be typed. */
#ifndef CLI_LOOK_CEILING_TEXT_H
#define CLI_LOOK_CEILING_TEXT_H

#include <jansson.h>

#include "base/buffer.h"

/* Adds the options with which a run began: " --sandbox readonly --grant count:reads=/srv". ceiling: the member of its
 * InstructionStart; NULL: none was given. */
void tfy__ceiling_text(TfyBuffer *out, const json_t *ceiling);

#endif
