/* known.h: the secrets this process knows: taken out of the environment when it starts, and taken out of all that
 * comes back.
 *
 * A secret that was read once is known until the process ends. Its value is looked for in its usual spellings: as it
 * is, in base64 (both alphabets, at each of the three places in a group), in hex, percent-encoded, and as a JSON
 * string has it. Values shorter than TFY_KNOWN_MIN bytes are not looked for, other spellings only of values of
 * TFY_KNOWN_SPELT bytes or more: shorter ones would be found in any text. All of this belongs to the loop's thread. */
#ifndef TFY_EFFECTS_KNOWN_H
#define TFY_EFFECTS_KNOWN_H

#include "base/buffer.h"

#define TFY_KNOWN_MIN   4 /* bytes */
#define TFY_KNOWN_SPELT 8 /* bytes */

/* Moves TFY_SECRET_* and TFY_LLM_KEY out of the environment, and wipes them where the kernel shows them
 * (/proc/PID/environ). */
void tfy__known_take(void);

/* The value of a variable, from the environment or from what was taken out of it; NULL: there is none. */
const char *tfy__known_variable(const char *name);

/* From now on the value is taken out of what comes back, as "[label]". False: no memory. */
bool tfy__known_add(const char *label, const char *value, size_t len);

/* A copy of the text in which every spelling of every value is replaced; cut: the text was cut off, so a beginning at
 * its end goes too. False: nothing was found, out is empty. */
bool tfy__known_mask(const char *text, size_t len, bool cut, TfyBuffer *out);

#endif
