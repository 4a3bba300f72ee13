/* room.h: whether the system refused a descriptor, a process, a thread or kernel memory for lack of room. Such a
 * refusal says nothing about the request itself: it can be repeated later. */
#ifndef TFY_BASE_ROOM_H
#define TFY_BASE_ROOM_H

#include <stdbool.h>

/* Whether a system call that failed with this error found no room. Only for fork and threads does EAGAIN mean
 * that. */
bool tfy__is_no_room(int error);

/* 0, or the error if the process gets no descriptor now: for libraries that do not say why they failed. */
int tfy__room_for_descriptor(void);

#endif
