/* llm_says.h: what a model says while its answer streams, for those who watch: live events of the stage Says.
 *
 * The text comes in pieces of a few letters. It is told a few times a second, with secrets masked: the end of a piece that
 * may be the beginning of a secret waits for the next. Nothing of it is recorded; the record has the finished answer. */
#ifndef EFFECTS_LLM_SAYS_H
#define EFFECTS_LLM_SAYS_H

#include "core/effect.h"

/* All zero, but for the task, before the first piece. */
typedef struct TfyLlmSays {
    TfyTask *task;
    TfyBuffer held; /* text that was not told yet */
    uint64_t timer; /* tells it; 0: none */
    bool told;      /* something of this answer was: if the answer is lost, that is told, too */
} TfyLlmSays;

void tfy__llm_says_add(TfyLlmSays *says, const char *text, size_t len);
/* The answer is there (lost: not, and what was said is void). Ready for another one. */
void tfy__llm_says_end(TfyLlmSays *says, bool lost);

#endif
