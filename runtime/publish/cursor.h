/* cursor.h: how far a follower has come: the file DATABASE-follow/NAME.
 *
 * The file has two places of 4 KiB. Each is one line of JSON with blanks after it, and a sum; the valid one with the greater
 * `seq` counts. A save writes the other place and syncs it, so a crash leaves the one before. A follower that has the file
 * open holds a lock on it. Anybody may read it at any time: a server shows what it says. */
#ifndef PUBLISH_CURSOR_H
#define PUBLISH_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TFY_CURSOR_PLACE = 4096, TFY_FOLLOWER_NAME_MOST = 64, TFY_CURSOR_ERROR = 240 };

typedef struct TfyCursorState {
    char db[37];                  /* uuid of the database */
    int64_t lsn;                  /* records up to this one were acknowledged, given up, removed, or are not wanted */
    int64_t missed;               /* records that were removed before they could be delivered */
    int64_t dropped;              /* messages that the target refused for good, or that were given up */
    int64_t since_ms;             /* when the next message failed first, since 1970; 0: it has not */
    char to[200];                 /* the address, as messages show it */
    int64_t error_ms;             /* when that was, since 1970; 0: never */
    char error[TFY_CURSOR_ERROR]; /* the newest failure; "": there was none */
} TfyCursorState;

typedef struct TfyCursor {
    int fd;       /* below 0: not open */
    int dir_fd;   /* synced once the file has something */
    uint64_t seq; /* of the newest save; 0: there was none, and the cursor starts before the first record */
    TfyCursorState state;
} TfyCursor;

bool tfy__follower_name_fits(const char *name); /* a-z first, then a-z, 0-9, '_' and '-' */

/* Opens or creates it, and locks it. Returns an exit status; error (TFY_ERROR_TEXT bytes) says what is wrong. */
int tfy__follow_cursor_open(TfyCursor *cursor, const char *db_path, const char *name, char *error);
bool tfy__follow_cursor_save(TfyCursor *cursor); /* false, with errno: it cannot be written */
void tfy__follow_cursor_close(TfyCursor *cursor);

/* Reads one without a lock. False: there is none, or it has nothing yet. *works: a process holds it. */
bool tfy__follow_cursor_look(const char *db_path, const char *name, TfyCursorState *state, bool *works);

/* What a place of the file says, for the functions above and for tests. 0: it says nothing. */
uint64_t tfy__follow_cursor_read(const char place[TFY_CURSOR_PLACE], TfyCursorState *state);
void tfy__follow_cursor_seal(char place[TFY_CURSOR_PLACE]); /* writes its sum */

#endif
