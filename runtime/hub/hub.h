/* hub.h: what a loop needs of a shared database besides its log: runs to work on, and what arrives for them.
 *
 * A hub belongs to one session and one loop. The loop asks and goes on; nothing here waits for the database. A run that was
 * claimed is the session's until it leaves by the log (tfy__log_leave), or the session ends. */
#ifndef HUB_HUB_H
#define HUB_HUB_H

#include <stdint.h>

struct TfyStore;

typedef struct TfyHub TfyHub;

typedef struct TfyHubOps {
    /* A handle for the log, which closes it. 0, or a negative code with a message (TFY_ERROR_TEXT bytes). */
    int (*join)(TfyHub *hub, struct TfyStore **store, char *error_text);
    /* A commit was acknowledged that was first sent then (CLOCK_BOOTTIME). In the thread that writes the log. */
    void (*renewed)(TfyHub *hub, int64_t sent_ns);
    /* The loop has room for so many more runs of a program, by its row id. */
    void (*want)(TfyHub *hub, int64_t program, uint32_t room);
    /* The id of the next run that was claimed; 0: none for now. */
    int64_t (*claimed)(TfyHub *hub);
    /* How much has ever arrived for a run, as far as this session has been told. */
    int64_t (*mail)(TfyHub *hub, int64_t run);
} TfyHubOps;

/* The loop is given one (TfyOptions), and whoever opened it frees it after tfy_close. */
struct TfyHub {
    const TfyHubOps *ops;
    int64_t session;
    int64_t lease_ms;
};

#endif
