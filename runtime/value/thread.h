/* thread.h: messages of a conversation, in the neutral form (thread.c). */
#ifndef TFY_VALUE_THREAD_H
#define TFY_VALUE_THREAD_H

#include "base/buffer.h"
#include "tfy_program.h"

/* The thread with one message more, whose canonical JSON is in the buffer; borrowed. NULL: a panic. */
TfyObj *tfy__thread_add(TfyTask *task, uint32_t line, TfyObj *thread, const TfyBuffer *message);

/* Append the JSON of a message: what somebody says, what a call gave, and what the program or a person says. */
void tfy__thread_message(TfyBuffer *out, const char *role, const char *text, size_t len);
void tfy__thread_tell(TfyBuffer *out, const char *id, const char *text, size_t len);
void tfy__thread_user(TfyBuffer *out, const char *text, size_t len);

/* The number of the first message of the newest rounds, which stay as they are (thread_short.c); first: of the message
 * that started the work. What is before it, but for that message, is older. */
int64_t tfy__thread_cut(TfyTask *task, const TfyObj *thread, int64_t first);

#endif
