/* runner.c: runs the root workflows of a compiled file of generated programs in the virtual world and prints what each did, in the same
 * lines as the interpreter. runner [--crash] [WORKFLOW…]; without names all that begin with root_. --crash kills each at several places and
 * resumes it instead. */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/world.h"
#include "crash.h"
#include "runner.h"
#include "trace.h"

extern const TfyProgram tfyg_program;

/* There only in programs that are linked with the leak finder. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

void runner_collect(void *state, const char *text, size_t len)
{
    DiffState *diff = state;
    if (diff->out_len + len >= sizeof diff->out) {
        fprintf(stderr, "runner: too much output of one program\n");
        exit(70);
    }
    memcpy(diff->out + diff->out_len, text, len);
    if (len) trace_one_line(diff->out + diff->out_len, len - 1);
    diff->out_len += len;
    diff->out[diff->out_len] = '\0';
}

const char *runner_state_name(TfyTaskState state)
{
    switch (state) {
    case TFY_TASK_COMPLETED: return "completed";
    case TFY_TASK_FAILED: return "failed";
    case TFY_TASK_CANCELLED: return "cancelled";
    default: return "waiting";
    }
}

int runner_submit(TfyLoop *loop, const char *name, int64_t *tid, char *error)
{
    int code = tfy_submit(loop, name, "{}", tid, error);
    for (int i = 1; code >= 0 && i <= TRACE_SIGNALS; i++) {
        char value[16];
        snprintf(value, sizeof value, "%d", i);
        code = tfy_signal(loop, *tid, "go", value);
    }
    return code;
}

static int complain(const char *name, const char *what)
{
    fprintf(stderr, "runner: %s: %s\n", name, what);
    return 70;
}

static int run_program(const char *name)
{
    char error[TFY_ERROR_TEXT] = "";
    TfyWorld *world = tfy__world_virtual(1700000000000, 42);
    TfyOptions options = {
        .world = world, .on_output = runner_collect, .state = diff_state, .quiet = true, .approve_all = true};
    TfyLoop *loop;
    int64_t tid;
    memset(diff_state, 0, sizeof *diff_state);
    if (tfy_open(&loop, &tfyg_program, &options, error) < 0) return complain(name, error);
    if (runner_submit(loop, name, &tid, error) < 0) return complain(name, error);
    if (tfy_step_until_idle(loop) < 0) return complain(name, "the loop failed");
    trace_print(stdout, &(Trace){.name = name,
                                 .out = diff_state->out,
                                 .calls = diff_state->calls,
                                 .state = runner_state_name(tfy_task_state(loop, tid)),
                                 .result = tfy_task_result(loop, tid),
                                 .error = tfy_task_error(loop, tid)});
    fflush(stdout);
    int code = tfy_close(loop);
    tfy__world_free(world);
    if (code < 0) return complain(name, "closing failed");
    return 0;
}

static int crash(const char *name)
{
    int kills = crash_program(&tfyg_program, name);
    if (kills >= 0) printf("ok %s, killed %d times\n", name, kills);
    fflush(stdout);
    return kills < 0;
}

/* Looking for leaks takes as long as many programs do, so it is done after several. */
#define LEAKS_EVERY 16

static int look_for_leaks(const char *name)
{
    if (!__lsan_do_recoverable_leak_check || !__lsan_do_recoverable_leak_check()) return 0;
    return complain(name, "it leaks, or one of the 15 before it");
}

static bool wanted(const char *name, char **names, int count)
{
    if (!count) return strncmp(name, "root_", 5) == 0;
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

int main(int argc, char **argv)
{
    int status = 0;
    bool crashes = argc > 1 && strcmp(argv[1], "--crash") == 0;
    char **names = argv + 1 + crashes;
    int count = argc - 1 - crashes, ran = 0;
    const char *last = NULL;
    diff_state = mmap(NULL, sizeof *diff_state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (diff_state == MAP_FAILED) return complain("start", "no memory");
    for (uint32_t i = 0; i < tfyg_program.workflow_count; i++) {
        const char *name = tfyg_program.workflows[i]->name;
        if (!wanted(name, names, count)) continue;
        status |= crashes ? crash(name) : run_program(name);
        last = name;
        if (!crashes && ++ran % LEAKS_EVERY == 0) status |= look_for_leaks(name);
    }
    if (!crashes && last) status |= look_for_leaks(last);
    return status;
}
