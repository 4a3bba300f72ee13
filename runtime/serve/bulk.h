/* bulk.h: POST /v1/bulk: the same change to many runs, which are named or found by a filter: at most 1,000 at a time, and a
 * cursor says where the others start. Each is changed in a turn of the loop of its own, with the roles that a single change
 * of it needs, and the answer leaves when all of it is durable. */
#ifndef SERVE_BULK_H
#define SERVE_BULK_H

#include "serve/serve.h"

void tfy__serve_bulk(TfyRequest *request);

struct TfyBulk;
void tfy__bulk_free(struct TfyBulk *bulk);

#endif
