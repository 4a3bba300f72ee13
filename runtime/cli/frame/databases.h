/* databases.h: the databases of a directory.
 *
 * One process writes a database. Where neither --db nor $TFY_DB names one, a run that is started while another process
 * holds .tfy/runs.db is written to .tfy/runs-2.db, or to the first of the following ones that is free. So commands that
 * take a run look for it in all of them, and commands about all runs go through them one after the other. */
#ifndef CLI_FRAME_DATABASES_H
#define CLI_FRAME_DATABASES_H

#include "cli/frame/cli.h"
#include "wal/store/place.h"

enum { TFY_DATABASES_MAX = 64 };

/* Whether nothing names the database. */
bool tfy__db_is_default(const TfyArgs *args);
/* The path of a database of the directory: 1 is .tfy/runs.db. False: it leads nowhere. */
bool tfy__db_numbered(int number, char path[TFY_PLACE_BYTES]);
/* The same, if the file exists. */
bool tfy__db_exists(int number, char path[TFY_PLACE_BYTES]);
/* Whether the path is that of a default database, of any number. */
bool tfy__db_is_usual(const char *path);

/* Sets args->db to the default database that has the run which the command's words name. Changes nothing if the
 * database is named, or the command takes no run. Returns -1 to continue, or the exit status after a message. */
int tfy__db_choose(TfyArgs *args);

/* Calls run for each database that exists, with its path in args->db; once if the database is named. Returns the
 * highest status. */
int tfy__db_each(TfyArgs *args, int (*run)(const TfyArgs *args, void *state), void *state);
/* The same for a command that is about all runs, such as gc; calls run once for any other. */
int tfy__db_run(TfyArgs *args, int (*run)(const TfyArgs *args, void *state), void *state);

/* Serialises the choice of a database between processes that start. -1: without it. Closed by the caller. */
int tfy__db_choice_lock(void);

#endif
