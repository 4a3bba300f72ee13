/* threads.h: by which of its loops a child dies: see worker.h.
 *
 * Several loops execute a run each, and the run of one of them is to blame. A handler runs in the thread that has caused its
 * signal, so it knows the loop, and writes it into the page before the process is gone. A single loop needs none. */
#ifndef WORKER_THREADS_H
#define WORKER_THREADS_H

#include "worker/worker.h"

/* From now on. What handles such signals already, stays. */
void tfy__deaths_watch(TfyChildPage *page);
/* This thread has the loop at that place, from 0; or it has none any more. */
void tfy__deaths_enter(uint32_t place);
void tfy__deaths_leave(void);

#endif
