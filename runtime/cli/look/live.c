#include "cli/look/live.h"
#include "base/buffer.h"
#include "cli/frame/report.h"
#include "cli/program/owner.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { ANSWER_SECONDS = 5 };

/* Adds a line to the tasks; other lines than those of tasks are passed over. */
static void take_live(json_t *tasks, const char *text, size_t len)
{
    json_t *line = json_loadb(text, len, 0, NULL);
    const char *path = strchr(tfy__json_text(line, "task_id"), '/');
    if (path && json_is_true(json_object_get(line, "live"))) json_object_set(tasks, path + 1, line);
    json_decref(line);
}

json_t *tfy__live_tasks(const char *db_path, const char *run)
{
    json_t *request = json_pack("{s:s,s:s}", "do", "tasks", "run", run);
    const int fd = request ? tfy__owner_connect(db_path, request) : -1;
    TfyBuffer in = {0};
    char bytes[65536];
    ssize_t got;
    json_decref(request);
    if (fd < 0) return NULL;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = ANSWER_SECONDS}, sizeof(struct timeval));
    while ((got = recv(fd, bytes, sizeof bytes, 0)) > 0) tfy__buffer_add(&in, bytes, (size_t)got);
    close(fd);
    json_t *tasks = got == 0 && in.data && !in.failed ? json_object() : NULL;
    for (const char *at = in.data, *end; tasks && (end = strchr(at, '\n')); at = end + 1)
        take_live(tasks, at, (size_t)(end - at));
    tfy__buffer_free(&in);
    return tasks;
}
