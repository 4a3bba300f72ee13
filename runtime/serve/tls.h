/* tls.h: TLS 1.2 and later, with the certificates of the configuration, and those of clients.
 *
 * The library asks clients for a certificate and lets them in whatever it is, so it is verified here: the signature and the
 * dates, and that the verification itself worked. What counts of it is its name, a URI "tfy:NAME". */
#ifndef SERVE_TLS_H
#define SERVE_TLS_H

#include <stdbool.h>
#include <stddef.h>

struct MHD_Connection;

typedef struct TfyTls TfyTls;

/* Reads files in PEM; ca may be NULL. NULL: error (TFY_ERROR_TEXT bytes) says why. */
TfyTls *tfy__tls_read(const char *cert, const char *key, const char *ca, char *error);
void tfy__tls_free(TfyTls *tls);

const char *tfy__tls_cert(const TfyTls *tls); /* the texts */
const char *tfy__tls_key(const TfyTls *tls);
const char *tfy__tls_ca(const TfyTls *tls); /* NULL: clients have no certificates */

typedef enum TfyClientCert {
    TFY_CERT_NONE,  /* the client has shown none */
    TFY_CERT_BAD,   /* it does not hold, or names nobody */
    TFY_CERT_NAMED, /* it holds, and name says whose it is */
} TfyClientCert;
/* Whose certificate the client of a connection has shown. */
TfyClientCert tfy__tls_client(const TfyTls *tls, struct MHD_Connection *connection, char *name, size_t size);

/* What MHD_OPTION_HTTPS_CERT_CALLBACK takes; it asks this for the newest TLS. */
void tfy__tls_serve(const TfyTls *(*newest)(void));
extern const void *const tfy__tls_callback;

#endif
