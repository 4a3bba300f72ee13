/* serve_file.h: "<db>-serve": what a server knows besides the log, as SQLite keeps it: tokens and sessions (door_file.h), and
 * the states of schedules (schedule_file.h). Only its owner may read it, and what was written is durable. Each opens it with
 * a handle of their own. */
#ifndef SERVE_SERVE_FILE_H
#define SERVE_SERVE_FILE_H

#include <sqlite3.h>

enum { TFY_SERVE_PATH = 4096 };

/* Opens or makes it. NULL: error (TFY_ERROR_TEXT bytes) says why. path: gets its path. */
sqlite3 *tfy__serve_file_open(const char *db_path, char path[TFY_SERVE_PATH], char *error);

#endif
