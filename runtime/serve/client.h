/* client.h: asks a server, for the commands of tfy: the one of a database at its socket, or one elsewhere at its URL, with the
 * token from the file that $TFY_TOKEN_FILE names. */
#ifndef SERVE_CLIENT_H
#define SERVE_CLIENT_H

#include <jansson.h>
#include <stdbool.h>

typedef struct TfyClient {
    const char *db;
    const char *url; /* "https://tfy.example.org"; NULL: the server of the database */
    const char *key; /* Idempotency-Key; NULL: none */
    int wait_s;      /* Prefer: wait; 0: it is not waited for */
} TfyClient;

typedef struct TfyReply {
    long status;  /* of HTTP; 0: nobody answered, and error says why */
    bool absent;  /* … because no server of the database runs */
    json_t *json; /* owned; NULL: none, or it is no JSON */
    char error[512];
} TfyReply;

/* body: JSON, or NULL. The caller releases the reply. */
TfyReply tfy__client_ask(const TfyClient *client, const char *method, const char *path, const json_t *body);
void tfy__client_free(TfyReply *reply);

/* EXIT_DONE, or the exit status after a message that says what the server, or nobody, answered. */
int tfy__client_judge(const TfyClient *client, const TfyReply *reply);

#endif
