/* tls.c: see tls.h. */
#include "serve/tls.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/file_text.h"
#include "tfy.h"

enum { CHAIN_MOST = 16 };

struct TfyTls {
    char *cert, *key, *ca;
    gnutls_pcert_st chain[CHAIN_MOST];
    unsigned chain_count;
    gnutls_privkey_t private_key;
    gnutls_x509_trust_list_t trusted; /* who may sign certificates of clients */
};

static bool fail(char *error, const char *file, int code)
{
    snprintf(error, TFY_ERROR_TEXT, "%.300s: %s", file, gnutls_strerror(code));
    return false;
}

static gnutls_datum_t datum_of(char *text)
{
    return (gnutls_datum_t){.data = (unsigned char *)text, .size = (unsigned)strlen(text)};
}

static bool read_chain(TfyTls *tls, const char *file, char *error)
{
    gnutls_x509_crt_t certs[CHAIN_MOST];
    unsigned count = CHAIN_MOST;
    const gnutls_datum_t text = datum_of(tls->cert);
    int code = gnutls_x509_crt_list_import(certs, &count, &text, GNUTLS_X509_FMT_PEM, 0);
    if (code < 0) return fail(error, file, code);
    for (unsigned i = 0; i < count; i++) {
        if (code >= 0) code = gnutls_pcert_import_x509(&tls->chain[i], certs[i], 0);
        if (code >= 0) tls->chain_count++;
        gnutls_x509_crt_deinit(certs[i]);
    }
    return code >= 0 || fail(error, file, code);
}

static bool read_key(TfyTls *tls, const char *file, char *error)
{
    const gnutls_datum_t text = datum_of(tls->key);
    int code = gnutls_privkey_init(&tls->private_key);
    if (code >= 0) code = gnutls_privkey_import_x509_raw(tls->private_key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);
    return code >= 0 || fail(error, file, code);
}

static bool read_ca(TfyTls *tls, const char *file, char *error)
{
    const gnutls_datum_t text = datum_of(tls->ca);
    int code = gnutls_x509_trust_list_init(&tls->trusted, 0);
    if (code >= 0) code = gnutls_x509_trust_list_add_trust_mem(tls->trusted, &text, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
    if (code == 0) code = GNUTLS_E_NO_CERTIFICATE_FOUND;
    return code >= 0 || fail(error, file, code);
}

/* A key of another certificate would be found by the first client only. */
static bool belong_together(const TfyTls *tls, const char *file, char *error)
{
    unsigned char of_cert[64], of_key[64];
    size_t cert_len = sizeof of_cert, key_len = sizeof of_key;
    gnutls_pubkey_t key = NULL;
    int code = gnutls_pubkey_init(&key);
    if (code >= 0) code = gnutls_pubkey_import_privkey(key, tls->private_key, 0, 0);
    if (code >= 0) code = gnutls_pubkey_get_key_id(key, GNUTLS_KEYID_USE_SHA256, of_key, &key_len);
    if (code >= 0) code = gnutls_pubkey_get_key_id(tls->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256, of_cert, &cert_len);
    gnutls_pubkey_deinit(key);
    if (code < 0) return fail(error, file, code);
    if (cert_len == key_len && memcmp(of_cert, of_key, cert_len) == 0) return true;
    snprintf(error, TFY_ERROR_TEXT, "%.300s: it is not the key of the certificate", file);
    return false;
}

TfyTls *tfy__tls_read(const char *cert, const char *key, const char *ca, char *error)
{
    TfyTls *tls = calloc(1, sizeof *tls);
    snprintf(error, TFY_ERROR_TEXT, "memory ran out");
    if (tls && (tls->cert = tfy__file_text(cert, NULL, error)) && (tls->key = tfy__file_text(key, NULL, error)) &&
        (!ca || (tls->ca = tfy__file_text(ca, NULL, error))) && read_chain(tls, cert, error) &&
        read_key(tls, key, error) && (!ca || read_ca(tls, ca, error)) && belong_together(tls, key, error))
        return tls;
    tfy__tls_free(tls);
    return NULL;
}

void tfy__tls_free(TfyTls *tls)
{
    if (!tls) return;
    for (unsigned i = 0; i < tls->chain_count; i++) gnutls_pcert_deinit(&tls->chain[i]);
    if (tls->private_key) gnutls_privkey_deinit(tls->private_key);
    if (tls->trusted) gnutls_x509_trust_list_deinit(tls->trusted, 1);
    free(tls->cert);
    free(tls->key);
    free(tls->ca);
    free(tls);
}

const char *tfy__tls_cert(const TfyTls *tls)
{
    return tls->cert;
}

const char *tfy__tls_key(const TfyTls *tls)
{
    return tls->key;
}

const char *tfy__tls_ca(const TfyTls *tls)
{
    return tls->ca;
}

/* ---- our certificate ---- */

static const TfyTls *(*newest_tls)(void);

void tfy__tls_serve(const TfyTls *(*newest)(void))
{
    newest_tls = newest;
}

/* For each handshake, so that certificates can be renewed while the server runs. */
static int show_certificate(gnutls_session_t session, const gnutls_datum_t *issuers, int issuer_count,
                            const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **chain,
                            unsigned *chain_count, gnutls_privkey_t *key)
{
    TfyTls *tls = (TfyTls *)newest_tls();
    *chain = tls->chain;
    *chain_count = tls->chain_count;
    *key = tls->private_key;
    return 0;
}

const void *const tfy__tls_callback = (const void *)show_certificate;

/* ---- certificates of clients ---- */

static bool holds(const TfyTls *tls, gnutls_x509_crt_t *chain, unsigned count)
{
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)(char[]){GNUTLS_KP_TLS_WWW_CLIENT}};
    unsigned status = ~0u;
    const int code = gnutls_x509_trust_list_verify_crt2(tls->trusted, chain, count, &purpose, 1, 0, &status, NULL);
    return code == 0 && status == 0;
}

/* The part of its first URI "tfy:NAME". */
static bool find_name(gnutls_x509_crt_t cert, char *name, size_t size)
{
    for (unsigned i = 0;; i++) {
        char uri[256];
        size_t len = sizeof uri - 1;
        const int type = gnutls_x509_crt_get_subject_alt_name(cert, i, uri, &len, NULL);
        if (type == GNUTLS_E_SHORT_MEMORY_BUFFER) continue;
        if (type < 0) return false;
        uri[len] = '\0';
        if (type != GNUTLS_SAN_URI || strncmp(uri, "tfy:", 4) != 0 || strlen(uri) != len) continue;
        return (size_t)snprintf(name, size, "%s", uri + 4) < size;
    }
}

TfyClientCert tfy__tls_client(const TfyTls *tls, struct MHD_Connection *connection, char *name, size_t size)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    gnutls_x509_crt_t chain[CHAIN_MOST];
    unsigned count = 0, shown = 0;
    if (!tls || !tls->trusted || !info) return TFY_CERT_NONE;
    const gnutls_datum_t *list = gnutls_certificate_get_peers((gnutls_session_t)info->tls_session, &shown);
    if (!list || !shown) return TFY_CERT_NONE;
    while (count < shown && count < CHAIN_MOST && gnutls_x509_crt_init(&chain[count]) == 0) {
        count++;
        if (gnutls_x509_crt_import(chain[count - 1], &list[count - 1], GNUTLS_X509_FMT_DER) < 0) shown = 0;
    }
    const bool named = count && count == shown && holds(tls, chain, count) && find_name(chain[0], name, size);
    for (unsigned i = 0; i < count; i++) gnutls_x509_crt_deinit(chain[i]);
    return named ? TFY_CERT_NAMED : TFY_CERT_BAD;
}
