/* address.h: the address of a target, "redis://127.0.0.1:6379/0?stream=tfy".
 *
 * An address with a password is refused, because ps shows it to everybody: secrets come from a file. Messages show only
 * scheme, host, port and path: a query may have a secret. */
#ifndef PUBLISH_ADDRESS_H
#define PUBLISH_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "tfy.h"

enum { TFY_ADDRESS_PARAMETERS = 8, TFY_ADDRESS_SHOWN = 200 };

/* All texts are its own. */
typedef struct TfyAddress {
    char *whole;                /* as it was given */
    char *scheme, *host, *path; /* small letters; without the brackets of [::1]; "/…" or "" */
    char *user;                 /* NULL: none */
    uint32_t port;              /* 0: none was given */
    char *query;                /* decoded in place: what the parameters point into; NULL: none */
    struct {
        const char *name, *value;
    } parameters[TFY_ADDRESS_PARAMETERS];
    uint32_t parameter_count;
    char shown[TFY_ADDRESS_SHOWN]; /* for messages */
} TfyAddress;

/* False: error (TFY_ERROR_TEXT bytes) says why not. It is freed in either case. */
bool tfy__address_read(TfyAddress *address, const char *text, char *error);
void tfy__address_free(TfyAddress *address);
/* The name of the kind of target (target.h) that its scheme is for, in any build. NULL: error says which schemes there are. */
const char *tfy__address_target(const TfyAddress *address, char *error);

/* Splits the query into parameters. False: error says which is unknown, or given twice. names ends with NULL. */
bool tfy__address_parameters(TfyAddress *address, const char *const *names, char *error);
const char *tfy__address_parameter(const TfyAddress *address, const char *name); /* NULL: it is not given */
/* … as a number from least to most; usual where it is not given. False: error says why not. */
bool tfy__address_number(const TfyAddress *address, const char *name, int64_t usual, int64_t least, int64_t most,
                         int64_t *out, char *error);

bool tfy__address_is_loopback(const TfyAddress *address);

#endif
