/* index_file.h: the file of the index, as its writer and its readers open it.
 *
 * It is not synced, so a crash of the machine may tear it; that of a process cannot, since the system keeps what was written. So
 * the file says in which run of the machine it was last found whole, and is checked once in each. */
#ifndef SERVE_INDEX_FILE_H
#define SERVE_INDEX_FILE_H

#include <sqlite3.h>

#include "serve/index.h"

enum { TFY_INDEX_VERSION = 8 };

typedef struct TfyIndexMeta {
    uint8_t db[16];  /* of the log */
    int64_t version; /* TFY_INDEX_VERSION; below 0: the same without words to search for */
    int64_t made;    /* a number of this making */
    int64_t cursor;  /* the newest record that is in it */
    char boot[40];   /* the run of the machine in which it was found whole, or made; "": unknown */
} TfyIndexMeta;

/* All return a code of SQLite's. reads: only for reading. */
int tfy__index_file_open(const char *path, bool reads, sqlite3 **db);
int tfy__index_file_meta(sqlite3 *db, TfyIndexMeta *meta);
/* Whether it is whole; notes that it is. */
bool tfy__index_file_is_whole(sqlite3 *db, const TfyIndexMeta *meta);
void tfy__index_file_boot(char boot[40]); /* the run of the machine; "": unknown */

#endif
