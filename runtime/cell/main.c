/* main.c: tfy-cell: confines itself as its policy says, and becomes a tool. policy.h has the interface. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/socket.h>

#include "cell/cell.h"
#include "cell/system.h"

/* One byte more than a policy may have shows that it was longer. */
static char datagram[TFY_CELL_POLICY_MAX + 1];
static Cell cell;

void cell_stop(const Cell *stopped, long error)
{
    const TfyCellAnswer answer = {.stage = stopped->stage, .error = (int32_t)error, .path = stopped->path};
    CALL6(sendto, stopped->socket, &answer, sizeof answer, MSG_NOSIGNAL, NULL, 0);
    cell_exit(TFY_CELL_FAILED);
}

long cell_must(const Cell *made, long result)
{
    if (result < 0) cell_stop(made, -result);
    return result;
}

/* A number from 0 up; -1: it is none. */
static int number_of(const char *text)
{
    int number = 0;
    if (!text || !*text) return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || number > 1 << 16) return -1;
        number = number * 10 + *text - '0';
    }
    return number;
}

/* The policy's bytes, and the descriptor that came with them; 0: none came. */
static size_t receive(int *descriptor)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } rights;
    struct iovec bytes = {.iov_base = datagram, .iov_len = sizeof datagram};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights.room};
    const long len = cell_must(&cell, CALL3(recvmsg, cell.socket, &message, MSG_CMSG_CLOEXEC));
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *descriptor = 0;
    if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof *descriptor))
        memcpy(descriptor, CMSG_DATA(head), sizeof *descriptor);
    return (size_t)len;
}

static void read_policy(void)
{
    const size_t len = receive(&cell.layer);
    if (!tfy__cell_policy_read(datagram, len, &cell.policy)) cell_stop(&cell, EINVAL);
    if (!cell.layer != !(cell.policy.head.flags & TFY_CELL_LAYER)) cell_stop(&cell, EINVAL);
    cell_must(&cell, CALL3(close_range, cell.policy.head.descriptors, ~0U, CLOSE_RANGE_CLOEXEC));
    cell_must(&cell, CALL3(fcntl, cell.socket, F_SETFD, FD_CLOEXEC));
    cell.uid = (uid_t)CALL1(getuid, 0);
    cell.gid = (gid_t)CALL1(getgid, 0);
}

int main(int argc, char **argv)
{
    const int candidates = argc > 2 ? number_of(argv[2]) : -1;
    cell.socket = argc > 1 ? number_of(argv[1]) : -1;
    if (cell.socket < 3 || candidates < 0 || candidates > argc - 3) {
        static const char usage[] =
            "tfy-cell is started by tfy, with a policy; 'tfy sandbox -- COMMAND' is for people\n";
        return CALL3(write, 2, usage, sizeof usage - 1) < 0 ? TFY_CELL_FAILED : 64;
    }
    cell.candidates = argv + 3;
    cell.argv = argv + 3 + candidates;
    read_policy();
    if (!!candidates != !!*cell.argv) cell_stop(&cell, EINVAL);
    if (cell.policy.head.flags & TFY_CELL_MAKE_LAYER) {
        cell_make_layer(&cell);
        cell_exit(0);
    }
    if (cell.policy.head.level == TFY_CELL_FULL) {
        cell_enter_namespaces(&cell);
        cell_mount(&cell);
    }
    /* Behind the mounts: a directory that was entered before them would still be the writable one. */
    cell_must(&cell, CALL1(chdir, cell.policy.cwd));
    cell_prepare_landlock(&cell);
    if (cell.policy.head.level == TFY_CELL_FULL) cell_join_network(&cell);
    cell_drop_rights(&cell);
    cell_landlock(&cell);
    cell_filter_calls(&cell);
    cell_start(&cell);
}
