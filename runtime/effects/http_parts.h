/* http_parts.h: parts of requests that come from a program: header lines, and addresses that the command line may refuse. */
#ifndef EFFECTS_HTTP_PARTS_H
#define EFFECTS_HTTP_PARTS_H

#include "effects/secret.h"

/* "Name: value", or "Name;" without a value, as curl wants it, with secrets filled in; malloc'ed. NULL after the call has
 * failed: a name is one word, a value has no control characters, and Host comes from the address. */
char *tfy__http_header_line(TfyCall *call, TfySecrets *secrets, const TfyObj *name, const TfyObj *value);

/* May the run reach this address? what: how an error calls the request, "GET https://example.org/". *bounded: the command
 * line says which hosts may be reached. False after the call has failed. */
bool tfy__http_is_within(TfyCall *call, const char *url, const char *what, bool *bounded);

#endif
