/* target.c: the table of kinds. */
#include "publish/target.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"

/* What this build has no library for is still known by name. */
#ifndef TFY_HIREDIS
const TfyTargetKind tfy__redis_kind = {.name = "redis", .package = "libhiredis-dev"};
#endif
#ifndef TFY_NATS
const TfyTargetKind tfy__nats_kind = {.name = "nats", .package = "libnats-dev"};
#endif

static const TfyTargetKind *const kinds[] = {&tfy__webhook_kind, &tfy__redis_kind, &tfy__nats_kind, &tfy__otlp_kind,
                                             NULL};

const TfyTargetKind *tfy__target_kind(const TfyAddress *address, char *error)
{
    const TfyTargetKind *const *kind = kinds;
    const char *name = tfy__address_target(address, error);
    if (!name) return NULL;
    while (*kind && strcmp((*kind)->name, name) != 0) kind++;
    CHECK(*kind);
    if (!(*kind)->package) return *kind;
    snprintf(error, TFY_ERROR_TEXT, "this tfy was built without %s: install the package, and build it again",
             (*kind)->package);
    return NULL;
}
