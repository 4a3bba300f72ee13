/* admin.c: see admin.h. */
#include "serve/admin.h"

#include "wal/rows/payload.h"

TfyTicket tfy__admin_append(TfyLog *log, const TfyCaller *caller, const char *what, const char *name,
                            const json_t *value)
{
    TfyBuffer out = {0};
    tfy__put_begin(&out);
    tfy__put_text(&out, TFY_P_WHAT, what);
    if (name) tfy__put_text(&out, TFY_P_NAME, name);
    if (value) tfy__put_tree(&out, TFY_P_VALUE, value);
    tfy__put_text(&out, TFY_P_BY, caller->name);
    tfy__put(&out, TFY_P_VIA);
    tfy__via_text(caller, &out);
    tfy__put_end(&out);
    return tfy__log_append_payload(log, tfy__log_self(log), TFY_R_ADMIN, 0, 0, &out);
}

void tfy__admin_audit(TfyRequest *request, const char *what, const char *name, const json_t *value, TfyPosted then)
{
    TfyLoop *loop = request->server->loop;
    TfyLog *log = tfy__loop_log(loop);
    const TfyTicket ticket = tfy__admin_append(log, &request->caller, what, name, value);
    if (ticket > 0) {
        request->lsn = tfy__log_last_lsn(log);
        tfy__command_await(request, then);
        return;
    }
    tfy__problem(&request->problem, TFY_PROBLEM_INTERNAL, "it cannot be recorded");
    tfy__request_done(request);
}
