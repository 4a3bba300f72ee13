/* state.c: see state.h. */
#include "mcp/server/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hmac.h"
#include "tfy.h"
#include "value/json.h"

enum {
    VERSION = 1,
    RUN_AT = 1,
    REQUEST_AT = 17,
    UNTIL_AT = 33,
    SIGNED = 41, /* bytes under the signature, which follows */
    SIZE = SIGNED + TFY_SHA256_SIZE,
    TEXT_LEN = (SIZE + 2) / 3 * 4,
};

_Static_assert((int)TEXT_LEN < (int)TFY_MCP_STATE_TEXT, "the text has room");

/* ---- the key ---- */

static bool refuse(char *error, const char *path, const char *why)
{
    snprintf(error, TFY_ERROR_TEXT, "%.300s, which signs what clients keep, %s", path, why);
    return false;
}

/* A key that is lost costs clients their open questions, so it is on the disk before it signs anything. */
static bool make(TfyMcpKey *key, int fd)
{
    return getrandom(key->bytes, sizeof key->bytes, 0) == (ssize_t)sizeof key->bytes &&
           write(fd, key->bytes, sizeof key->bytes) == (ssize_t)sizeof key->bytes && fsync(fd) == 0;
}

static bool read_key(TfyMcpKey *key, const char *path, int fd, char *error)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0 || facts.st_size != TFY_MCP_KEY ||
        read(fd, key->bytes, sizeof key->bytes) != (ssize_t)sizeof key->bytes)
        return refuse(error, path, "is not a key: remove it, and a new one is made");
    return !(facts.st_mode & 077) || refuse(error, path, "can be read by others: chmod 600 it, or remove it");
}

bool tfy__mcp_key_open(TfyMcpKey *key, const char *db_path, char *error)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s-key", db_path) >= (int)sizeof path) return refuse(error, path, "has no room");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        const bool fine = make(key, fd);
        close(fd);
        if (!fine) unlink(path);
        return fine || refuse(error, path, "cannot be written");
    }
    fd = errno == EEXIST ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (fd < 0) return refuse(error, path, "cannot be opened");
    const bool fine = read_key(key, path, fd, error);
    close(fd);
    return fine;
}

/* ---- states ---- */

static bool sign(const TfyMcpKey *key, const unsigned char *bytes, unsigned char mac[TFY_SHA256_SIZE])
{
    return tfy__hmac_sha256(key->bytes, sizeof key->bytes, bytes, SIGNED, mac);
}

static bool encode(const unsigned char bytes[SIZE], char text[TFY_MCP_STATE_TEXT])
{
    TfyBuffer out = {0};
    tfy__write_base64(&out, bytes, SIZE);
    const bool fine = !out.failed && out.len == TEXT_LEN;
    if (fine) memcpy(text, out.data, TEXT_LEN + 1);
    tfy__buffer_free(&out);
    return fine;
}

bool tfy__mcp_state_write(const TfyMcpKey *key, const TfyMcpState *state, char text[TFY_MCP_STATE_TEXT])
{
    unsigned char bytes[SIZE] = {VERSION};
    memcpy(bytes + RUN_AT, state->run, sizeof state->run);
    memcpy(bytes + REQUEST_AT, state->request, sizeof state->request);
    for (int i = 0; i < 8; i++) bytes[UNTIL_AT + i] = (unsigned char)((uint64_t)state->until_ms >> (56 - 8 * i));
    return sign(key, bytes, bytes + SIGNED) && encode(bytes, text);
}

/* Takes as long wherever they differ. */
static bool are_same(const unsigned char *a, const unsigned char *b, size_t len)
{
    unsigned char differs = 0;
    for (size_t i = 0; i < len; i++) differs |= a[i] ^ b[i];
    return !differs;
}

/* Base64 in the one form that is written here: no two texts are the same state. */
static bool decode(const char *text, size_t len, unsigned char bytes[SIZE])
{
    char room[TEXT_LEN], again[TFY_MCP_STATE_TEXT];
    if (len != TEXT_LEN || tfy__read_base64(room, text, len) != SIZE) return false;
    memcpy(bytes, room, SIZE);
    return encode(bytes, again) && memcmp(again, text, TEXT_LEN) == 0;
}

bool tfy__mcp_state_read(const TfyMcpKey *key, const char *text, size_t len, const uint8_t request[TFY_MCP_DIGEST],
                         int64_t now_ms, uint8_t run[16])
{
    unsigned char bytes[SIZE], mac[TFY_SHA256_SIZE];
    uint64_t until_ms = 0;
    if (!decode(text, len, bytes) || !sign(key, bytes, mac)) return false;
    if (!are_same(mac, bytes + SIGNED, sizeof mac)) return false;
    for (int i = 0; i < 8; i++) until_ms = until_ms << 8 | bytes[UNTIL_AT + i];
    if (bytes[0] != VERSION || memcmp(bytes + REQUEST_AT, request, TFY_MCP_DIGEST) != 0) return false;
    memcpy(run, bytes + RUN_AT, 16);
    return now_ms >= 0 && (uint64_t)now_ms < until_ms;
}
