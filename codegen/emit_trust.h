/* emit_trust.h: the report of `tfy check --trust` (dsl/trust.h). */
#ifndef CODEGEN_EMIT_TRUST_H
#define CODEGEN_EMIT_TRUST_H

#include "../dsl/trust.h"

/* A text for people, or a JSON object of tools, sandboxes, dangerous, ways_out and warnings (docs/safety.md). In the
 * arena of the program. */
char *emit_trust(const Program *program, const TrustReport *report, bool json, size_t *len);

#endif
