/* wal_file.h: SQLite's -wal file, read by its own rules, before SQLite reads it.
 *
 *   header, 32 bytes      magic, version, page size, sequence, salt (8), checksum (8)
 *   frames, 24 + page     page number, pages of the database if it ends a transaction, else 0, salt (8), checksum (8); page
 *
 * Numbers are big endian. A checksum covers everything before it, of the header and of all frames up to here (of a
 * frame's own header the first 8 bytes), as 32-bit words in the byte order that the magic names. A frame with another
 * salt or a wrong checksum is left over from an earlier filling, or torn: SQLite ends its recovery before it, without
 * a message. That is right after a power cut and wrong after corruption, and only a record of how far the file went
 * can distinguish the two. */
#ifndef WAL_STORE_WAL_FILE_H
#define WAL_STORE_WAL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "wal/store/page_vfs.h"
#include "wal/store/schema.h"

enum { WAL_HEADER_BYTES = 32, WAL_FRAME_HEADER_BYTES = 24, WAL_FRAME_BYTES = 24 + SCHEMA_PAGE_BYTES };

static inline bool tfy__wal_frame_ends_commit(const uint8_t *header)
{
    return header[4] | header[5] | header[6] | header[7];
}

typedef enum TfyWalVerdict {
    TFY_WAL_HOLDS, /* recovery reaches at least the place */
    /* No file, an empty one, or a restarted one: everything up to the place must be in the main file. */
    TFY_WAL_OTHER,
    /* Recovery would end before frame *frame, although the file was not restarted. */
    TFY_WAL_BROKEN,
    /* Recovery would find nothing, because the file's header is wrong. */
    TFY_WAL_BAD_HEADER,
    TFY_WAL_UNREADABLE, /* the system cannot read it */
} TfyWalVerdict;

/* Walks the -wal file of the database at db_path up to `place`. */
TfyWalVerdict tfy__wal_walk(const char *db_path, const TfyWalPlace *place, int64_t *frame);

#endif
