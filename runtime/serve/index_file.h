/* index_file.h: the file of the index, as its writer and its readers open it. */
#ifndef SERVE_INDEX_FILE_H
#define SERVE_INDEX_FILE_H

#include <sqlite3.h>

#include "serve/index.h"

enum { TFY_INDEX_VERSION = 4 };

typedef struct TfyIndexMeta {
    uint8_t db[16]; /* of the log */
    int64_t version; /* TFY_INDEX_VERSION; below 0: the same without words to search for */
    int64_t made;   /* a number of this making */
    int64_t cursor; /* the newest record that is in it */
} TfyIndexMeta;

/* All return a code of SQLite's. reads: only for reading. */
int tfy__index_file_open(const char *path, bool reads, sqlite3 **db);
int tfy__index_file_meta(sqlite3 *db, TfyIndexMeta *meta);
bool tfy__index_file_is_whole(sqlite3 *db);

#endif
