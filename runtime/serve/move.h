/* move.h: POST /v1/programs/{p}/move: runs of older versions continue with the active one, where `tfy compat` says that they
 * can. Each is moved in a turn of the loop of its own, and the others continue meanwhile. */
#ifndef SERVE_MOVE_H
#define SERVE_MOVE_H

#include "serve/serve.h"

void tfy__serve_move(TfyRequest *request);

struct TfyMove;
void tfy__move_free(struct TfyMove *move);

#endif
