/* hmac.h: HMAC-SHA256 of RFC 2104, with which webhooks are signed. */
#ifndef BASE_HMAC_H
#define BASE_HMAC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/sha256.h"

/* False: no memory. */
bool tfy__hmac_sha256(const void *key, size_t key_len, const void *text, size_t len,
                      unsigned char mac[TFY_SHA256_SIZE]);

#endif
