/* shown.h: text from outside, made safe to show on a terminal.
 *
 * A terminal obeys some of what it receives: it moves the cursor, sets a title, types an answer by itself. Other
 * characters mislead the eye: invisible ones, and those that reverse the order of their neighbours. A model or a tool
 * can write all of these into a text, so that a question reads differently from what it is. They appear as \u{1b},
 * and so do bytes that are not UTF-8; a carriage return appears as \r. Line breaks and tabs stay.
 *
 * Nothing here allocates memory or needs another file of the runtime: tfyc links it, too. */
#ifndef BASE_SHOWN_H
#define BASE_SHOWN_H

#include <stdbool.h>
#include <stddef.h>

#define TFY_SHOWN_MAX 16 /* bytes for the longest escape, \u{e007f}, and its NUL */

/* Returns how many bytes of the text form one character, or one byte that is not part of a character. `shown`
 * receives its escape; "": it appears unchanged. left must be above 0. */
size_t tfy__shown_step(const char *text, size_t left, char shown[TFY_SHOWN_MAX]);

typedef void TfyShownPut(void *to, const char *bytes, size_t len);

/* Passes the text to put, in order: unchanged stretches and escapes. */
void tfy__shown_each(const char *text, size_t len, TfyShownPut *put, void *to);

#endif
