/* bare_loop.c: see bare_loop.h. */
#include "cli/make/bare_loop.h"

#include <poll.h>

#include "tfy_program.h"

static const TfyProgram nothing = {.name = "tfy", .source = "", .layout = "{}", .tfyc = "", .main = UINT32_MAX};

int tfy__bare_open(TfyLoop **loop, char *error_text)
{
    const TfyOptions options = {.forget = true, .quiet = true};
    return tfy_open(loop, &nothing, &options, error_text);
}

bool tfy__bare_turn(TfyLoop *loop, int most_ms)
{
    enum { WITHOUT_DESCRIPTOR_MS = 5 }; /* TFY_POLLER=poll has none */
    struct pollfd at = {.fd = tfy_fd(loop), .events = POLLIN};
    const int done = tfy_step(loop), most = at.fd >= 0 ? most_ms : WITHOUT_DESCRIPTOR_MS;
    const int wanted = tfy_timeout_ms(loop);
    if (done == 0) poll(&at, at.fd >= 0, wanted >= 0 && wanted < most ? wanted : most);
    return done >= 0;
}
