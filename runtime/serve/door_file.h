/* door_file.h: "<db>-serve": tokens and sessions, as SQLite keeps them. Only its owner may read it. Calls come one after the
 * other. */
#ifndef SERVE_DOOR_FILE_H
#define SERVE_DOOR_FILE_H

#include "base/sha256.h"
#include "serve/door.h"
#include "serve/serve_file.h"

/* A token, or a session with what its token allowed. */
typedef struct TfyDoorRow {
    uint8_t hash[TFY_SHA256_SIZE]; /* of its secret */
    bool session;
    char person[64]; /* of a session: whose it is */
    TfyToken token; /* of a session: its token's name, or "" if a code started it; created_ms and used_ms are its own */
} TfyDoorRow;

/* Shows every row until take returns false. */
bool tfy__door_file_read(TfyServeFile *file, bool (*take)(void *arg, const TfyDoorRow *row), void *arg, char *error);
/* All are durable when they return. */
int tfy__door_file_put(TfyServeFile *file, const TfyDoorRow *row);  /* TFY_E_STATE: the token's name is taken */
int tfy__door_file_drop(TfyServeFile *file, const char *token);     /* and its sessions; TFY_E_ABSENT */
int tfy__door_file_end(TfyServeFile *file, const uint8_t *session); /* by its hash */
/* Notes when these were used last, and drops sessions that started before that time. */
void tfy__door_file_used(TfyServeFile *file, const TfyDoorRow *rows, size_t count, int64_t before_ms);

#endif
