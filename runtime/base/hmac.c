/* hmac.c: see hmac.h. The names are those of RFC 2104, section 2. */
#include "base/hmac.h"

#include <string.h>

#include "base/buffer.h"

enum { B = 64 }; /* bytes of a block of SHA-256 */

/* Hashes K XOR pad, then the text. */
static bool hash_padded(const unsigned char K[B], unsigned char pad, const void *text, size_t len,
                        unsigned char digest[TFY_SHA256_SIZE])
{
    TfyBuffer whole = {0};
    for (int i = 0; i < B; i++) tfy__buffer_char(&whole, (char)(K[i] ^ pad));
    tfy__buffer_add(&whole, text, len);
    const bool fine = !whole.failed;
    if (fine) tfy__sha256(whole.data, whole.len, digest);
    tfy__buffer_free(&whole);
    return fine;
}

bool tfy__hmac_sha256(const void *key, size_t key_len, const void *text, size_t len, unsigned char mac[TFY_SHA256_SIZE])
{
    unsigned char K[B] = {0}, inner[TFY_SHA256_SIZE];
    if (key_len > B)
        tfy__sha256(key, key_len, K);
    else
        memcpy(K, key, key_len);
    return hash_padded(K, 0x36, text, len, inner) && hash_padded(K, 0x5c, inner, sizeof inner, mac);
}
