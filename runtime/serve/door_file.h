/* door_file.h: "<db>-serve": tokens and sessions, as SQLite keeps them. Only its owner may read it. Calls come one after the
 * other. */
#ifndef SERVE_DOOR_FILE_H
#define SERVE_DOOR_FILE_H

#include "base/sha256.h"
#include "serve/door.h"

/* A token, or a session with what its token allowed. */
typedef struct TfyDoorRow {
    uint8_t hash[TFY_SHA256_SIZE]; /* of its secret */
    bool session;
    char person[64]; /* of a session: whose it is */
    TfyToken token; /* of a session: its token's name, or "" if a code started it; created_ms and used_ms are its own */
} TfyDoorRow;

typedef struct TfyDoorFile TfyDoorFile;

TfyDoorFile *tfy__door_file_open(const char *db_path, char *error);
void tfy__door_file_close(TfyDoorFile *file);
/* Shows every row until take returns false. */
bool tfy__door_file_read(TfyDoorFile *file, bool (*take)(void *arg, const TfyDoorRow *row), void *arg, char *error);
/* All are durable when they return. */
int tfy__door_file_put(TfyDoorFile *file, const TfyDoorRow *row);  /* TFY_E_STATE: the token's name is taken */
int tfy__door_file_drop(TfyDoorFile *file, const char *token);     /* and its sessions; TFY_E_ABSENT */
int tfy__door_file_end(TfyDoorFile *file, const uint8_t *session); /* by its hash */
/* Notes when these were used last, and drops sessions that started before that time. */
void tfy__door_file_used(TfyDoorFile *file, const TfyDoorRow *rows, size_t count, int64_t before_ms);

#endif
