/* llm_sent.h: what models were sent, kept in the log: each text once, and of a conversation only what is new.
 *
 * The messages of a request are texts with roles. A text is recorded as a Text, in the root's chain, before the first
 * LLMPlan of its run that names it by its digest. An LLMPlan that continues an earlier asking of its task at the same
 * place (all messages of that one are the first messages of this one) names the step of that asking, `after`, and
 * only the messages behind those. And a text that starts as the same message of that asking did, as the growing user
 * text of a loop does, is recorded from where it differs, with the digest of the other: so neither the names nor the
 * texts of a conversation of n rounds grow with n squared.
 *
 * Every secret that the process knows is masked before anything else is done. The digest of a Text is that of the
 * masked text: anybody can check it, and nobody can try guesses of a secret against it.
 *
 * What is remembered, per loop and within limits:
 *
 * - Known texts: digests that a run has recorded, those named last. A snapshot lists those of its run, since only they
 *   can be named again without being written; compaction keeps them. A text that was forgotten is written again.
 * - Askings: the newest one of each task at each place. They are forgotten when a snapshot is written, so no LLMPlan
 *   continues one from before a snapshot, and compaction can remove those.
 *
 * A resume rebuilds both from the recorded LLMPlans. The texts themselves it does not read back: the first one that
 * differs is then written whole. */
#ifndef EFFECTS_LLM_SENT_H
#define EFFECTS_LLM_SENT_H

#include <jansson.h>

#include "effects/llm_talk.h"

struct TfyPayload;

/* The request was sent, and the call's LLMPlan comes next: appends the Texts that are new, and adds `after` and `texts`
 * to call->extra. Without memory the loop stops, as a kill would stop it. */
void tfy__sent_record(TfyCall *call, TfyLlmTalk *talk);
/* The history has this LLMPlan; for TfyPerformer.recorded. */
void tfy__sent_recorded(TfyCall *call, const struct TfyPayload *payload);

/* For snapshots: a member `texts`, if the run has known texts. The run's askings are forgotten. */
void tfy__sent_save(TfyLoop *loop, const char *run_uuid, TfyBuffer *out);
void tfy__sent_restore(TfyLoop *loop, const char *run_uuid, const json_t *json);

void tfy__sent_leave(TfyLoop *loop, const char *run_uuid); /* the run leaves memory */
void tfy__sent_close(TfyLoop *loop);

#endif
