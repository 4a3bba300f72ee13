/* asked.h: what stands behind the question of an `approve` policy, as lines for people. */
#ifndef TFY_OBSERVE_ASKED_H
#define TFY_OBSERVE_ASKED_H

#include <jansson.h>

#include "tfy_program.h"
#include "base/buffer.h"

struct Step;
struct TfyRecord_;
struct TfyQuestion;
/* What only programs with such questions carry. */
typedef struct TfyAsking {
    /* The question and the call behind it, whose arguments follow the first two. False: task->error is set. */
    bool (*take)(TfyTask *task, const TfySite *site, const TfyValue *args, TfyValue kept[3]);
    /* Adds the call to the payload of the step's start. true: the record asked about another call, and nothing came of
     * it; it was taken, and the question is asked anew. */
    bool (*complete)(struct Step *step, const struct TfyRecord_ *record, TfyBuffer *out);
    /* For people: the text, which it frees, and a line for each row (observe/asked.h). NULL: no memory. */
    char *(*tell)(char *text, const struct TfyQuestion *question, bool details);
} TfyAsking;

/* A line for each row of `call`, then of `origins`, as records have them (either may be NULL): "  runs      rm -r",
 * "  name      from the prompt 'plan', line 10". Words of an argv are quoted as a shell would read them. A word that is
 * long is cut in the middle, with its length and digest, unless `details`. Line breaks within a word appear as \n, and
 * the text is escaped for a terminal. Each line ends with a line break. */
void tfy__asked_lines(TfyBuffer *out, const char *indent, const json_t *call, const json_t *origins, bool details);

/* "  --yes does not answer this: 'summary' comes from the prompt 'coder'" and a line break; nothing without origins. */
void tfy__asked_why(TfyBuffer *out, const char *indent, const json_t *origins);

#endif
