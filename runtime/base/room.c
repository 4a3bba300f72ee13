/* room.c: see room.h. */
#include "base/room.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool tfy__is_no_room(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

int tfy__room_for_descriptor(void)
{
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), error = errno;
    if (fd >= 0) close(fd);
    return fd < 0 && tfy__is_no_room(error) ? error : 0;
}
