/* listener.c: full, with a list of hosts: the tool's way out is made inside its network and handed out to the runtime,
 * which serves it from outside. The tool never has it. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "cell/cell.h"
#include "cell/system.h"

enum { BACKLOG = 64 };

static int listen_inside(const Cell *cell)
{
    const struct sockaddr_in name = {
        .sin_family = AF_INET, .sin_port = htons(TFY_CELL_PROXY_PORT), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int listener =
        (int)cell_must(cell, CALL3(socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
    cell_must(cell, CALL3(bind, listener, &name, sizeof name));
    cell_must(cell, CALL2(listen, listener, BACKLOG));
    return listener;
}

void cell_hand_out(const Cell *cell, const TfyCellHandout *said, int descriptor)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } rights = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct iovec bytes = {.iov_base = (void *)(uintptr_t)said, .iov_len = sizeof *said};
    const struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights.room};
    memcpy(CMSG_DATA(&rights.head), &descriptor, sizeof descriptor);
    cell_must(cell, CALL3(sendmsg, cell->socket, &message, MSG_NOSIGNAL));
    cell_must(cell, CALL1(close, descriptor));
}

void cell_hand_out_listener(const Cell *cell)
{
    const TfyCellHandout said = {.magic = TFY_CELL_LISTENER_MAGIC, .port = TFY_CELL_PROXY_PORT};
    cell_hand_out(cell, &said, listen_inside(cell));
}
