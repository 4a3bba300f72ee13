/* machine.h: what was counted: GET /v1/programs/{p}/graph, the states of a program's workflows with how often and how long
 * runs were there, and GET /v1/stats. */
#ifndef SERVE_MACHINE_H
#define SERVE_MACHINE_H

#include "serve/serve.h"

extern const char *const tfy__graph_parameters[], *const tfy__stats_parameters[];

void tfy__serve_graph(TfyRequest *request);
void tfy__serve_stats(TfyRequest *request);

#endif
