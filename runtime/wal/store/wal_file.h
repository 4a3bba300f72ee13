/* wal_file.h: SQLite's -wal file, read by its own rules and before SQLite does.
 *
 *   header, 32 bytes      magic, version, page size, sequence, salt (8), checksum (8)
 *   frames, 24 + page     page number, pages of the database if it ends a transaction, else 0, salt (8), checksum (8); page
 *
 * Numbers are big endian. A checksum goes over everything before it, of the header and of all frames up to here (of a
 * frame's own header its first 8 bytes), as 32-bit words in the byte order that the magic names. A frame with another
 * salt, or with a wrong checksum, is what an earlier filling left, or torn: SQLite ends its recovery in front of it
 * and says nothing. That is right after a power cut and wrong after rot, and only somebody who remembers how far the
 * file went can tell the two apart. */
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
    TFY_WAL_HOLDS, /* recovery comes at least to the place */
    TFY_WAL_OTHER, /* no file, an empty one, or one that was begun anew: all up to the place must be in the main file */
    TFY_WAL_BROKEN,     /* recovery would end in front of frame *frame, although the file was not begun anew */
    TFY_WAL_BAD_HEADER, /* recovery would find nothing, for the file's header is wrong */
    TFY_WAL_UNREADABLE, /* the system cannot read it */
} TfyWalVerdict;

/* Walks the -wal file of the database at db_path as far as `place`. */
TfyWalVerdict tfy__wal_walk(const char *db_path, const TfyWalPlace *place, int64_t *frame);

#endif
