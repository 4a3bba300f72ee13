/* config_followers.h: the member "followers" of the configuration: {"bus": {"to": "redis://127.0.0.1:6379", "type": ["Approval"]}}. */
#ifndef SERVE_CONFIG_FOLLOWERS_H
#define SERVE_CONFIG_FOLLOWERS_H

#include "serve/config_rows.h"

/* One follower. All texts are its own. */
typedef struct TfyFollowerRow {
    struct TfyFollowerRow *next;
    char *name, *to;
    char *types;       /* "Approval,TaskComplete"; NULL: all */
    char *secret_file; /* NULL: none */
    bool content;
} TfyFollowerRow;

bool tfy__config_followers(TfyReading *reading, json_t *value, const char *path, void *arg);
void tfy__follower_row_free(TfyFollowerRow *row);
bool tfy__follower_rows_alike(const TfyFollowerRow *a, const TfyFollowerRow *b);

#endif
