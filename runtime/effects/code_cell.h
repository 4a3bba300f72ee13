/* code_cell.h: the cells of what reads a project: nothing in them can be written, and they have no network.
 *
 *   git     reads the root, without what is the runtime's, and its repository: it lists names
 *   ctags   reads no file of the root at all: texts come from its input */
#ifndef TFY_EFFECTS_CODE_CELL_H
#define TFY_EFFECTS_CODE_CELL_H

#include "effects/sandbox.h"

/* Plans for a level that was found (tfy__sandbox_level). out: zeroed. 0 or an errno value; of git ENOENT: the root is
 * in no repository. */
int tfy__code_cell_git(TfyTask *task, uint32_t level, TfyConfined *out);
int tfy__code_cell_tags(uint32_t level, TfyConfined *out);

/* The environment of both, which NULL ends. */
extern const char *const tfy__code_environment[];

#endif
