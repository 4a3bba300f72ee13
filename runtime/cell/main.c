/* main.c: tfy-cell: confines itself as its policy says, and becomes a tool. policy.h has the interface. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cell/cell.h"

/* One byte more than a policy may have shows that it was longer. */
static char datagram[TFY_CELL_POLICY_MAX + 1];
static Cell cell;

void cell_stop(const Cell *stopped, int error)
{
    const TfyCellAnswer answer = {.stage = stopped->stage, .error = error, .path = stopped->path};
    send(stopped->socket, &answer, sizeof answer, MSG_NOSIGNAL);
    _exit(TFY_CELL_FAILED);
}

long cell_must(const Cell *made, long result)
{
    if (result < 0) cell_stop(made, errno);
    return result;
}

/* A number from 0 up; -1: it is none. */
static int number_of(const char *text)
{
    char *end;
    const long number = text ? strtol(text, &end, 10) : -1;
    return text && *text && !*end && number >= 0 && number < 1 << 20 ? (int)number : -1;
}

static void read_policy(void)
{
    const long len = cell_must(&cell, recv(cell.socket, datagram, sizeof datagram, 0));
    if (!tfy__cell_policy_read(datagram, (size_t)len, &cell.policy)) cell_stop(&cell, EINVAL);
    cell_must(&cell, close_range(cell.policy.head.descriptors, ~0U, CLOSE_RANGE_CLOEXEC));
    cell_must(&cell, fcntl(cell.socket, F_SETFD, FD_CLOEXEC));
    cell.uid = getuid();
    cell.gid = getgid();
}

int main(int argc, char **argv)
{
    const int candidates = argc > 2 ? number_of(argv[2]) : -1;
    cell.socket = argc > 1 ? number_of(argv[1]) : -1;
    if (cell.socket < 3 || candidates < 0 || candidates > argc - 3) {
        static const char usage[] =
            "tfy-cell is started by tfy, with a policy; 'tfy sandbox -- COMMAND' is for people\n";
        return write(2, usage, sizeof usage - 1) < 0 ? TFY_CELL_FAILED : 64;
    }
    cell.candidates = argv + 3;
    cell.argv = argv + 3 + candidates;
    read_policy();
    if (!!candidates != !!*cell.argv) cell_stop(&cell, EINVAL);
    if (cell.policy.head.level == TFY_CELL_FULL) {
        cell_enter_namespaces(&cell);
        cell_mount(&cell);
    }
    /* Behind the mounts: a directory that was entered before them would still be the writable one. */
    cell_must(&cell, chdir(cell.policy.cwd));
    cell_drop_rights(&cell);
    cell_landlock(&cell);
    cell_filter_calls(&cell);
    cell_start(&cell);
}
