/* target.c: the table of kinds. */
#include "publish/target.h"

#include <stdio.h>
#include <string.h>

/* What this build has no library for is still known by name. */
#ifndef TFY_HIREDIS
const TfyTargetKind tfy__redis_kind = {.name = "redis", .schemes = {"redis"}, .package = "libhiredis-dev"};
#endif
#ifndef TFY_NATS
const TfyTargetKind tfy__nats_kind = {.name = "nats", .schemes = {"nats"}, .package = "libnats-dev"};
#endif

static const TfyTargetKind *const kinds[] = {&tfy__webhook_kind, &tfy__redis_kind, &tfy__nats_kind, &tfy__otlp_kind,
                                             NULL};

static bool has_scheme(const TfyTargetKind *kind, const char *scheme)
{
    for (const char *const *one = kind->schemes; *one; one++)
        if (strcmp(*one, scheme) == 0) return true;
    return false;
}

/* "http://, https://, redis://" */
static void list_schemes(char *text, size_t size)
{
    size_t used = 0;
    for (const TfyTargetKind *const *kind = kinds; *kind; kind++)
        for (const char *const *one = (*kind)->schemes; *one && used < size; one++)
            used += (size_t)snprintf(text + used, size - used, "%s%s://", used ? ", " : "", *one);
}

const TfyTargetKind *tfy__target_kind(const TfyAddress *address, char *error)
{
    char schemes[160] = "";
    const TfyTargetKind *const *kind = kinds;
    while (*kind && !has_scheme(*kind, address->scheme)) kind++;
    if (*kind && !(*kind)->package) return *kind;
    list_schemes(schemes, sizeof schemes);
    if (*kind)
        snprintf(error, TFY_ERROR_TEXT, "this tfy was built without %s: install the package, and build it again",
                 (*kind)->package);
    else
        snprintf(error, TFY_ERROR_TEXT, "'%.40s://' is not a kind of target; there are %s", address->scheme, schemes);
    return NULL;
}
