/* sha256.h: SHA-256 of FIPS 180-4. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>

#define TFY_SHA256_SIZE 32

void tfy__sha256(const void *bytes, size_t len, unsigned char digest[TFY_SHA256_SIZE]);

#endif
