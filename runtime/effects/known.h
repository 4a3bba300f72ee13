/* known.h: the secrets that this process knows: removed from the environment at start, and masked in everything
 * that comes back.
 *
 * A secret that was read once is known until the process exits. Its value is searched for in its usual spellings:
 * as it is, in base64 (both alphabets, at each of the three positions in a group), in hex, percent-encoded, and as
 * in a JSON string. Values shorter than TFY_KNOWN_MIN bytes are not searched for, and other spellings only for
 * values of TFY_KNOWN_SPELT bytes or more: shorter ones would be found in any text. Only the loop's thread may
 * call these functions. */
#ifndef TFY_EFFECTS_KNOWN_H
#define TFY_EFFECTS_KNOWN_H

#include "base/buffer.h"

#define TFY_KNOWN_MIN   4 /* bytes */
#define TFY_KNOWN_SPELT 8 /* bytes */

/* Moves TFY_SECRET_* and TFY_LLM_KEY out of the environment, and wipes them where the kernel shows them
 * (/proc/PID/environ). */
void tfy__known_take(void);

/* The value of a variable, in the environment or removed from it; NULL: it is not set. */
const char *tfy__known_variable(const char *name);

/* From now on the value is masked in everything that comes back, as "[label]". False: no memory. */
bool tfy__known_add(const char *label, const char *value, size_t len);

/* Copies the text with every spelling of every value replaced; cut: the text was cut off, so a partial value at
 * its end is replaced too. False: nothing was found, out is empty. */
bool tfy__known_mask(const char *text, size_t len, bool cut, TfyBuffer *out);
/* The same in the buffer itself; what it held is wiped. */
void tfy__known_mask_in(TfyBuffer *text, bool cut);

/* The same of a text that comes in pieces: appends what can be told of this one, and returns how many of its bytes that
 * is. The rest may be the beginning of a value, and comes again with what follows. */
size_t tfy__known_mask_piece(const char *text, size_t len, TfyBuffer *out);

#endif
