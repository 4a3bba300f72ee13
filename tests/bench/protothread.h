/* protothread.h: the neighbour of the plain yield: what somebody would write by hand who needs nothing but switching. A switch on the place,
 * a function pointer per task, tasks of 64 bytes side by side, and the same ready queue: a ring of 32-bit slot numbers. */
#ifndef PROTOTHREAD_H
#define PROTOTHREAD_H

#include <stdint.h>

/* Runs tasks that yield `yields` times each, round robin, until all have ended; answers the seconds it took. */
double protothread_run(uint32_t tasks, int64_t yields);

#endif
