/* versions.h: which version of each program new runs get, and which others are loaded besides.
 *
 *   - The record Admin "deploy" says since when a version is the one that new runs get. A file of the command line is
 *     news when it is not what it was at its last deploy. If it is, the newest deploy counts, so a restart keeps what was
 *     deployed over HTTP.
 *   - The record Admin "retire" takes the deploys before it back: the program is not served. Its file, where one is named,
 *     is news.
 *   - An older version is loaded while it has runs that have not ended: at the start, from the source that the log
 *     has, and then as long as the server runs. */
#ifndef SERVE_VERSIONS_H
#define SERVE_VERSIONS_H

#include "serve/programs.h"

/* Before the loop turns, which has the programs of the command line: loads what the log says besides. A version that cannot
 * be compiled any more is told on stderr, and its runs wait. False: error says why. */
bool tfy__versions_open(TfyServer *server, char *error);

/* In the loop: the version with the source of an object: one that is there, or a new one, which takes the object (*shared is NULL
 * then). NULL: error has a sentence. */
const TfyServed *tfy__version_known(TfyPrograms *programs, const char *name, TfyShared **shared, char *error);

/* In the loop: new runs get this version from now on. Records it, and returns the ticket of that; or a
 * negative code, and error (TFY_ERROR_TEXT bytes) has a sentence. */
TfyTicket tfy__version_take(TfyServer *server, const TfyServed *served, const TfyCaller *caller, char *error);

#endif
