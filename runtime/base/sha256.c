/* sha256.c: see sha256.h. The names are those of FIPS 180-4, sections 4.1.2 and 6.2.2. */
#include "base/sha256.h"

#include <stdint.h>
#include <string.h>

#define BLOCK 64 /* bytes */

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static uint32_t read_word(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void expand(uint32_t W[64], const unsigned char *block)
{
    for (int t = 0; t < 16; t++) W[t] = read_word(block + 4 * t);
    for (int t = 16; t < 64; t++) {
        const uint32_t s0 = rotr(W[t - 15], 7) ^ rotr(W[t - 15], 18) ^ W[t - 15] >> 3;
        const uint32_t s1 = rotr(W[t - 2], 17) ^ rotr(W[t - 2], 19) ^ W[t - 2] >> 10;
        W[t] = W[t - 16] + s0 + W[t - 7] + s1;
    }
}

static void compress(uint32_t H[8], const unsigned char *block)
{
    enum { a, b, c, d, e, f, g, h };
    uint32_t W[64], v[8];
    expand(W, block);
    memcpy(v, H, sizeof v);
    for (int t = 0; t < 64; t++) {
        const uint32_t S1 = rotr(v[e], 6) ^ rotr(v[e], 11) ^ rotr(v[e], 25), Ch = (v[e] & v[f]) ^ (~v[e] & v[g]);
        const uint32_t S0 = rotr(v[a], 2) ^ rotr(v[a], 13) ^ rotr(v[a], 22);
        const uint32_t Maj = (v[a] & v[b]) ^ (v[a] & v[c]) ^ (v[b] & v[c]);
        const uint32_t T1 = v[h] + S1 + Ch + K[t] + W[t], T2 = S0 + Maj;
        memmove(v + 1, v, 7 * sizeof *v);
        v[e] += T1;
        v[a] = T1 + T2;
    }
    for (int i = 0; i < 8; i++) H[i] += v[i];
}

void tfy__sha256(const void *bytes, size_t len, unsigned char digest[TFY_SHA256_SIZE])
{
    uint32_t H[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char last[2 * BLOCK] = {0};
    const unsigned char *at = bytes;
    const size_t rest = len % BLOCK, last_len = rest + 9 > BLOCK ? 2 * BLOCK : BLOCK;
    for (const unsigned char *end = at + (len - rest); at < end; at += BLOCK) compress(H, at);
    if (rest) memcpy(last, at, rest);
    last[rest] = 0x80;
    for (size_t i = 0; i < 8; i++) last[last_len - 1 - i] = (unsigned char)((uint64_t)len * 8 >> 8 * i);
    for (size_t i = 0; i < last_len; i += BLOCK) compress(H, last + i);
    for (size_t i = 0; i < TFY_SHA256_SIZE; i++) digest[i] = (unsigned char)(H[i / 4] >> (24 - 8 * (i % 4)));
}
