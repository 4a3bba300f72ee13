/* llm_memory.h: what lives longer than a request to a model. `replay` rebuilds it from the log, so that a resumed run
 * continues exactly where it was:
 *
 * - How often each request was answered in each run. The n-th equal request of a run finds the n-th recorded
 *   answer; LLMPlan carries the request's digest and occurrence for that. Only answers count: a request that an
 *   endpoint failed to answer does not.
 * - A misfit: the answer that could not be decoded, and why, per task. The next request at the same place shows
 *   both to the model. A task has at most one open misfit, since it is at one place. */
#ifndef EFFECTS_LLM_MEMORY_H
#define EFFECTS_LLM_MEMORY_H

#include "base/table.h"
#include "effects/llm.h"

/* A zeroed struct is empty. */
typedef struct TfyLlmMemory {
    TfyTable runs;   /* those that asked */
    TfyTable counts; /* of all of them */
} TfyLlmMemory;

/* The highest occurrence of a request that was answered in its run, 0 at first; NULL: no memory. Valid until the next
 * call. */
uint32_t *tfy__llm_answered(TfyLlmMemory *memory, TfyTask *task, uint64_t digest);

/* The model's earlier answer at this place, or NULL for a first attempt. */
const TfyLlmMisfit *tfy__llm_recall(TfyLlmMemory *memory, const TfyCall *call);
/* Keeps a misfit for the next attempt; after the last attempt nothing would use it. Without memory the next
 * attempt is a fresh one. */
void tfy__llm_remember(TfyLlmMemory *memory, TfyTask *task, const TfySite *site, const char *answer, size_t len,
                       const char *error);
void tfy__llm_forget(TfyLlmMemory *memory, TfyTask *task);

/* For snapshots: two members; memory may be NULL. Without memory a request counts as a new one after a restore, and an
 * attempt as the first, as in tfy__llm_remember. */
void tfy__llm_memory_save(const TfyLlmMemory *memory, const char *run_uuid, TfyBuffer *out);
bool tfy__llm_memory_is_saved(const json_t *json); /* there is something to restore */
void tfy__llm_memory_restore(TfyLlmMemory *memory, TfyLoop *loop, const char *run_uuid, const json_t *json);
void tfy__llm_memory_leave(TfyLlmMemory *memory, const char *run_uuid); /* the run leaves memory */
void tfy__llm_memory_close(TfyLlmMemory *memory);

#endif
