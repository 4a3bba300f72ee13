/* emit_sandbox.h: sandboxes as JSON: in a program's layout, for `tfy sandbox NAME`, and in the report of `tfy check
 * --trust` (docs/safety.md has the members). */
#ifndef CODEGEN_EMIT_SANDBOX_H
#define CODEGEN_EMIT_SANDBOX_H

#include "../dsl/sandbox.h"
#include "ctext.h"

void put_json_sandbox(Text *out, const Sandbox *sandbox);
/* Its member "network": "none", "any", or the list of hosts. */
void put_json_network(Text *out, SandboxNetwork network, const SandboxTexts *hosts);
void put_json_texts(Text *out, const char *key, const SandboxTexts *texts);

#endif
