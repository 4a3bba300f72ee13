/* door.h: whom the server knows: tokens, sessions, and codes with which a browser starts a session.
 *
 * "<db>-serve" keeps tokens and sessions, and is synced: a token that was revoked stays so after a crash. It has no secret,
 * only their SHA-256. The thread of HTTP asks the copy in memory, which readers change after the file. Codes are in memory
 * alone, each is good once and for ten minutes. */
#ifndef SERVE_DOOR_H
#define SERVE_DOOR_H

#include <jansson.h>

#include "serve/who.h"

enum {
    TFY_TOKEN_NAME = 40,  /* bytes of a name, at most */
    TFY_SECRET_SIZE = 96, /* bytes of "tfy_NAME_…", of a session or of a code, with the NUL */
    TFY_RATE_USUAL = 100, /* requests a second; twice as many at once */
};

typedef struct TfyDoor TfyDoor;

/* What is known of a token. */
typedef struct TfyToken {
    char name[TFY_TOKEN_NAME + 1]; /* also of the person or program that has it */
    unsigned roles;                /* of TfyRole */
    int64_t created_ms, used_ms;   /* used_ms 0: never */
    int64_t expires_ms;            /* 0: never */
    int64_t rate;                  /* requests a second; 0: any number */
    char only[TFY_ONLY_SIZE];      /* as in TfyCaller */
} TfyToken;

/* Opens or makes the file. NULL: error (TFY_ERROR_TEXT bytes) says why. */
TfyDoor *tfy__door_open(const char *db_path, char *error);
void tfy__door_close(TfyDoor *door);
/* Writes when tokens and sessions were used last, unless it did so within a minute. */
void tfy__door_keep(TfyDoor *door);

/* ---- roles, names and secrets ---- */

const char *tfy__role_name(TfyRole role); /* of one role; NULL: it is none */
/* Reads ["viewer", …] into bits; an empty list has none. False: something in it is not a role. */
bool tfy__roles_read(const json_t *list, unsigned *roles);
json_t *tfy__roles_json(unsigned roles);
/* 1 to 40 of a-z, 0-9 and '-', not first a '-'. */
bool tfy__token_name_fits(const char *name);
/* Blank-separated globs that fit; "" too. */
bool tfy__only_fits(const char *only);
/* Makes a secret: "tfy_NAME_" and 32 characters; NULL: without a name. False: the system gives no random numbers. */
bool tfy__secret_make(const char *name, char secret[TFY_SECRET_SIZE]);

/* ---- changes; in any thread but that of HTTP ---- */

/* TFY_E_STATE: there is a token of that name; TFY_E_IO. */
int tfy__door_add(TfyDoor *door, const TfyToken *token, const char *secret);
/* Ends its sessions, too. TFY_E_ABSENT: there is none of that name; TFY_E_IO. */
int tfy__door_revoke(TfyDoor *door, const char *name);
json_t *tfy__door_list(TfyDoor *door);
/* Makes a code for this caller. */
bool tfy__door_code(TfyDoor *door, const TfyCaller *caller, char code[TFY_SECRET_SIZE]);
/* Starts a session with a code or a token; session gets what its cookie says, caller who it is. TFY_E_ABSENT: neither is
 * known; TFY_E_IO. */
int tfy__door_enter(TfyDoor *door, const char *secret, TfyCaller *caller, char session[TFY_SECRET_SIZE]);
int tfy__door_leave(TfyDoor *door, const char *session);

/* ---- who it is; in the thread of HTTP ---- */

typedef enum TfyKnown {
    TFY_KNOWN_NOT,
    TFY_KNOWN,
    TFY_KNOWN_FAST, /* known, and above its rate */
} TfyKnown;

/* Fills in who has this secret: name, roles, token, only. */
TfyKnown tfy__door_token(TfyDoor *door, const char *secret, TfyCaller *caller);
TfyKnown tfy__door_session(TfyDoor *door, const char *session, TfyCaller *caller);
/* Whether what the caller has shown still counts; what they are by a socket or a proxy always does. */
bool tfy__door_holds(TfyDoor *door, const TfyCaller *caller);
/* Who has a token of that name, for those who show it in another way (a certificate). */
TfyKnown tfy__door_named(TfyDoor *door, const char *name, TfyCaller *caller);

#endif
