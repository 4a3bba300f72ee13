/* told.h: members of what an attempt sends (TfyPerformer.tell), as JSON. Secrets are the names that they have in the
 * program, since their values are filled in when an attempt starts; a value that a text holds all the same is masked, as
 * far as this process knows it (known.h). */
#ifndef EFFECTS_TOLD_H
#define EFFECTS_TOLD_H

#include "base/buffer.h"
#include "tfy_program.h"

void tfy__told_string(TfyBuffer *out, const char *bytes, size_t len); /* a JSON string */

/* Each begins with a comma, unless it is the first; nothing where the value is NULL. */
void tfy__told_text(TfyBuffer *out, const char *name, const TfyObj *text);
void tfy__told_texts(TfyBuffer *out, const char *name, const TfyObj *list);
/* Of the entries of a map<string, string>: their values may be secrets that nobody declared. */
void tfy__told_names(TfyBuffer *out, const char *name, const TfyObj *map);

#endif
