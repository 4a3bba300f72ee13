/* serve_file.h: "<db>-serve": what a server knows besides the log, as SQLite keeps it: tokens and sessions (door_file.h), and
 * the states of schedules (schedule_file.h). Only its owner may read it, and what was written is durable. Each opens it with
 * a handle of their own. */
#ifndef SERVE_SERVE_FILE_H
#define SERVE_SERVE_FILE_H

#include <sqlite3.h>
#include <stddef.h>

typedef struct TfyServeFile {
    sqlite3 *db;
    char path[4096];
} TfyServeFile;

/* Opens or makes it. NULL: error (TFY_ERROR_TEXT bytes) says why. */
TfyServeFile *tfy__serve_file_open(const char *db_path, char *error);
void tfy__serve_file_close(TfyServeFile *file);

/* A column of a row as text, "" for NULL; what does not fit is cut. */
void tfy__serve_file_text(sqlite3_stmt *stmt, int at, char *out, size_t size);

#endif
