/* room.h: whether the process has room for what it wants of the system: descriptors, processes, threads, memory of
 * the kernel. What is refused for want of it says nothing about what was asked for: it can be asked for again. */
#ifndef TFY_BASE_ROOM_H
#define TFY_BASE_ROOM_H

#include <stdbool.h>

/* Whether a system call that failed with this found no room. EAGAIN says so of fork and of threads only. */
bool tfy__is_no_room(int error);

/* 0, or the error with which the process gets no descriptor now: for libraries that do not say why they failed. */
int tfy__room_for_descriptor(void);

#endif
