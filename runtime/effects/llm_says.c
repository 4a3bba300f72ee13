/* llm_says.c: see llm_says.h. */
#include "effects/llm_says.h"

#include "effects/known.h"

#define PAUSE_NS INT64_C(100000000) /* between two pieces */

/* Tells what may be told, and keeps the rest. */
static void tell(TfyLlmSays *says)
{
    TfyBuffer text = {0}, *held = &says->held;
    const size_t len = held->len ? tfy__known_mask_piece(held->data, held->len, &text) : 0;
    if (text.len && !text.failed && tfy__activity_says(says->task, TFY_SAYS_MORE, text.data, text.len)) {
        says->told = true;
        memmove(held->data, held->data + len, held->len - len);
        held->len -= len;
    }
    tfy__buffer_free(&text);
}

static void on_pause(void *arg);

/* Tells the held text now, and what comes meanwhile after a pause. */
static void tell_and_pause(TfyLlmSays *says)
{
    TfyLoop *loop = says->task->loop;
    tell(says);
    says->timer = tfy__timer_add(loop, tfy__now_ns(loop) + PAUSE_NS, on_pause, says);
}

static void on_pause(void *arg)
{
    TfyLlmSays *says = arg;
    says->timer = 0;
    if (says->held.len) tell_and_pause(says);
}

void tfy__llm_says_add(TfyLlmSays *says, const char *text, size_t len)
{
    tfy__buffer_add(&says->held, text, len);
    if (!says->timer) tell_and_pause(says);
}

void tfy__llm_says_end(TfyLlmSays *says, bool lost)
{
    static const char LOST[] = "the answer was lost";
    TfyBuffer text = {0}, *held = &says->held;
    if (says->timer) tfy__timer_del(says->task->loop, says->timer);
    if (!lost && held->len && !tfy__known_mask(held->data, held->len, false, &text))
        tfy__buffer_add(&text, held->data, held->len);
    if (text.len && !text.failed) tfy__activity_says(says->task, TFY_SAYS_LAST, text.data, text.len);
    if (lost && says->told) tfy__activity_says(says->task, TFY_SAYS_VOID, LOST, sizeof LOST - 1);
    tfy__buffer_free(&text);
    tfy__buffer_free(held);
    *says = (TfyLlmSays){.task = says->task};
}
