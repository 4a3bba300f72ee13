/* schedules.h: starts runs at the times of the configuration's schedules.
 *
 *   timer thread   waits for the next time, and asks the loop to start it; keeps what came of it in "<db>-serve"
 *   loop           starts the run, with the key "schedule/NAME/TIME-in-UTC". So each time starts one run, whatever was
 *                  written of it before a crash: the second start finds the run of the first.
 *
 * Invariants
 *   - A schedule is asked for one time at once, the oldest first.
 *   - A time is dealt with in memory and in the file only after its run is durable.
 *   - A schedule whose workflow is gone, or takes other arguments, is off: it says why, and its times are missed. */
#ifndef SERVE_SCHEDULES_H
#define SERVE_SCHEDULES_H

#include "serve/serve.h"

/* NULL: error (TFY_ERROR_TEXT bytes) says why. */
struct TfySchedules *tfy__schedules_open(TfyServer *server, char *error);
/* In the loop: there are other programs, and schedules may be on or off now. */
void tfy__schedules_look(struct TfySchedules *schedules);
double tfy__schedules_late_s(struct TfySchedules *schedules); /* how long the oldest time that is due waits */
void tfy__schedules_quit(struct TfySchedules *schedules);     /* asks the loop no more, which must be there */
void tfy__schedules_close(struct TfySchedules *schedules);    /* … and after the loop and the readers have ended */

void tfy__serve_schedules(TfyRequest *request); /* GET /v1/schedules */
void tfy__serve_trigger(TfyRequest *request);   /* POST /v1/schedules/{s}/trigger: a run starts now */
void tfy__serve_pause(TfyRequest *request);     /* POST /v1/schedules/{s}/pause */
void tfy__serve_unpause(TfyRequest *request);   /* POST /v1/schedules/{s}/unpause */

#endif
