/* shown.h: text from outside, as a person may see it on a terminal.
 *
 * A terminal obeys some of what it is sent: it moves the cursor, sets a title, types an answer by itself. Other
 * characters are obeyed by the eye: what is not visible, and what turns the order of the others around. A model or a
 * tool can write all of these into a text, so that a question reads otherwise than it is. They appear as \u{1b}, and
 * so do bytes that are not UTF-8; a carriage return appears as \r. Line breaks and tabs stay.
 *
 * Nothing here allocates memory or needs another file of the runtime: tfyc links it too. */
#ifndef BASE_SHOWN_H
#define BASE_SHOWN_H

#include <stdbool.h>
#include <stddef.h>

#define TFY_SHOWN_MAX 16 /* bytes with room for the longest escape, \u{e007f}, and its NUL */

/* How many bytes of the text stand for one thing: a character, or a byte that is none. shown gets how that appears;
 * "": as it is. left is above 0. */
size_t tfy__shown_step(const char *text, size_t left, char shown[TFY_SHOWN_MAX]);

typedef void TfyShownPut(void *to, const char *bytes, size_t len);

/* Gives the text to put, in order: stretches that stay as they are, and escapes. */
void tfy__shown_each(const char *text, size_t len, TfyShownPut *put, void *to);

#endif
