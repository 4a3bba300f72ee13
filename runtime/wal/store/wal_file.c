/* wal_file.c: see wal_file.h. The file is read through the system's VFS, as SQLite would read it. */
#include "wal/store/wal_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_AT_ONCE = 64 };
static const uint32_t magic_little = 0x377f0682, magic_big = 0x377f0683;

typedef struct Walk {
    sqlite3_file *file;
    uint8_t *frames;   /* FRAMES_AT_ONCE of them */
    bool big;          /* checksums use big-endian words */
    uint32_t check[2]; /* over everything walked so far */
    uint8_t salt[8];   /* of this filling */
    int64_t size;      /* of the file */
} Walk;

static uint32_t word_be(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t word_le(const uint8_t *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static void add_to_check(Walk *walk, const uint8_t *bytes, size_t len)
{
    uint32_t a = walk->check[0], b = walk->check[1];
    if (walk->big) {
        for (size_t i = 0; i < len; i += 8) {
            a += word_be(bytes + i) + b;
            b += word_be(bytes + i + 4) + a;
        }
    } else {
        for (size_t i = 0; i < len; i += 8) {
            a += word_le(bytes + i) + b;
            b += word_le(bytes + i + 4) + a;
        }
    }
    walk->check[0] = a;
    walk->check[1] = b;
}

static bool check_is(const Walk *walk, const uint8_t *at)
{
    return walk->check[0] == word_be(at) && walk->check[1] == word_be(at + 4);
}

static TfyWalVerdict walk_header(Walk *walk, const TfyWalPlace *place)
{
    uint8_t header[WAL_HEADER_BYTES];
    if (walk->size < WAL_HEADER_BYTES) return TFY_WAL_OTHER;
    if (walk->file->pMethods->xRead(walk->file, header, sizeof header, 0) != SQLITE_OK) return TFY_WAL_UNREADABLE;
    const uint32_t magic = word_be(header);
    walk->big = magic == magic_big;
    add_to_check(walk, header, 24);
    memcpy(walk->salt, header + 16, sizeof walk->salt);
    if ((magic != magic_big && magic != magic_little) || !check_is(walk, header + 24)) return TFY_WAL_BAD_HEADER;
    return memcmp(walk->salt, &place->salt, sizeof walk->salt) == 0 ? TFY_WAL_HOLDS : TFY_WAL_OTHER;
}

static bool frame_follows(Walk *walk, const uint8_t *frame)
{
    if (memcmp(frame + 8, walk->salt, sizeof walk->salt) != 0) return false;
    add_to_check(walk, frame, 8);
    add_to_check(walk, frame + WAL_FRAME_HEADER_BYTES, SCHEMA_PAGE_BYTES);
    return check_is(walk, frame + 16);
}

/* Frames are counted from 1; the walk ended before `*frame`. */
static TfyWalVerdict walk_frames(Walk *walk, const TfyWalPlace *place, int64_t *frame)
{
    const int64_t whole = (walk->size - WAL_HEADER_BYTES) / WAL_FRAME_BYTES;
    const int64_t upto = whole < place->frame ? whole : place->frame;
    for (*frame = 1; *frame <= upto;) {
        const int64_t left = upto - *frame + 1, count = left < FRAMES_AT_ONCE ? left : FRAMES_AT_ONCE;
        const int64_t at = WAL_HEADER_BYTES + (*frame - 1) * WAL_FRAME_BYTES;
        if (walk->file->pMethods->xRead(walk->file, walk->frames, (int)(count * WAL_FRAME_BYTES), at) != SQLITE_OK)
            return TFY_WAL_UNREADABLE;
        for (int64_t i = 0; i < count; i++, ++*frame) {
            const uint8_t *bytes = walk->frames + i * WAL_FRAME_BYTES;
            if (!frame_follows(walk, bytes)) return TFY_WAL_BROKEN;
            if (*frame == place->frame && memcmp(bytes + 16, &place->check, 8) != 0) return TFY_WAL_BROKEN;
        }
    }
    return *frame > place->frame ? TFY_WAL_HOLDS : TFY_WAL_BROKEN;
}

static TfyWalVerdict walk_open(Walk *walk, const TfyWalPlace *place, int64_t *frame)
{
    sqlite3_int64 size;
    if (walk->file->pMethods->xFileSize(walk->file, &size) != SQLITE_OK) return TFY_WAL_UNREADABLE;
    walk->size = size;
    const TfyWalVerdict verdict = walk_header(walk, place);
    return verdict == TFY_WAL_HOLDS ? walk_frames(walk, place, frame) : verdict;
}

TfyWalVerdict tfy__wal_walk(const char *db_path, const TfyWalPlace *place, int64_t *frame)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    /* VFSes look for parameters behind a name's NUL. */
    const size_t name_room = strlen(db_path) + sizeof "-wal" + 2;
    char *name = calloc(1, name_room);
    Walk walk = {.file = calloc(1, vfs ? (size_t)vfs->szOsFile : 1),
                 .frames = malloc(FRAMES_AT_ONCE * WAL_FRAME_BYTES)};
    TfyWalVerdict verdict = TFY_WAL_UNREADABLE;
    int there = 0;
    *frame = 0;
    if (!vfs || !name || !walk.file || !walk.frames) goto free_memory;
    snprintf(name, name_room, "%s-wal", db_path);
    if (vfs->xAccess(vfs, name, SQLITE_ACCESS_EXISTS, &there) != SQLITE_OK) goto free_memory;
    if (!there) {
        verdict = TFY_WAL_OTHER;
        goto free_memory;
    }
    if (vfs->xOpen(vfs, name, walk.file, SQLITE_OPEN_WAL | SQLITE_OPEN_READONLY, NULL) == SQLITE_OK)
        verdict = walk_open(&walk, place, frame);
    if (walk.file->pMethods) walk.file->pMethods->xClose(walk.file);
free_memory:
    free(walk.frames);
    free(walk.file);
    free(name);
    return verdict;
}
