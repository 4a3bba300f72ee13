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

#endif
