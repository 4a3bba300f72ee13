/* bench_mcp.c: `tfy mcp serve` with 1,000 runs that wait for people and have left memory: what the server needs of it, and
 * how long a client waits for the state of a task. */
#include <jansson.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "serving.h"

enum { RUNS = 1000, GETS = 201, ID = 37, SETTLE_S = 5 };

#define META                                                                                                           \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                           \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{},"                                              \
    "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}"

static Serving serving = {.db = "bench-mcp.db",
                          .program = "/// Asks.\n"
                                     "workflow asks(n: int) -> string { return yield ask(\"who is ${n}?\") }\n"};
static FILE *to, *from;
static char tasks[RUNS][ID];

static void start(void)
{
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0) bench_die("there is no pipe");
    serving.pid = fork();
    if (!serving.pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("TFY_PARK_AFTER", "100", 1); /* a minute, otherwise */
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        for (int i = 0; i < 2; i++) {
            close(in[i]);
            close(out[i]);
        }
        execl("./tfy", "tfy", "mcp", "serve", "bench.tfy", "--db", serving.db, "--hold", "100ms", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to = fdopen(in[1], "w");
    from = fdopen(out[0], "r");
}

static void end(void)
{
    fclose(to);
    waitpid(serving.pid, NULL, 0);
    fclose(from);
}

/* The result of a request; the caller owns it. */
static json_t *ask(const char *method, const char *params)
{
    static int number;
    char *line = NULL;
    size_t room = 0;
    fprintf(to, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{%s," META "}}\n", ++number, method,
            params);
    fflush(to);
    if (getline(&line, &room, from) <= 0) bench_die("the server has ended");
    json_t *answer = json_loads(line, 0, NULL), *result = json_incref(json_object_get(answer, "result"));
    if (!result) bench_die("%s is refused: %.300s", method, line);
    json_decref(answer);
    free(line);
    return result;
}

static void call(int n)
{
    char params[96];
    snprintf(params, sizeof params, "\"name\":\"asks\",\"arguments\":{\"n\":%d}", n);
    json_t *task = ask("tools/call", params);
    const char *id = json_string_value(json_object_get(task, "taskId"));
    if (!id) bench_die("a call is not a task");
    snprintf(tasks[n], ID, "%s", id);
    json_decref(task);
}

static double seconds_of_get(int n)
{
    char params[96];
    snprintf(params, sizeof params, "\"taskId\":\"%s\"", tasks[n]);
    const double begun = bench_seconds();
    json_t *task = ask("tasks/get", params);
    const double took = bench_seconds() - begun;
    if (json_object_size(json_object_get(task, "inputRequests")) != 1) bench_die("a task does not ask");
    json_decref(task);
    return took;
}

int main(void)
{
    serving_build(&serving);
    start();
    json_decref(ask("server/discover", "\"none\":0"));
    const long empty = serving_anonymous_kib(&serving);
    for (int i = 0; i < RUNS; i++) call(i);
    sleep(SETTLE_S);
    for (int i = 0; i < GETS; i++) serving_times[i] = seconds_of_get(i * 7 % RUNS);
    qsort(serving_times, GETS, sizeof *serving_times, bench_by_size);
    sleep(SETTLE_S);
    const long kib = serving_anonymous_kib(&serving);
    fprintf(stderr, "tfy mcp serve: %ld KiB of its own before the first call, %ld KiB with %d parked runs\n", empty,
            kib, RUNS);
    bench_report("memory of tfy mcp serve with 1,000 parked runs, in MB", (double)kib / 1024, "<=", 10);
    bench_report("tasks/get of a parked run, in milliseconds", serving_times[GETS / 2] * 1e3, "<=", 5);
    end();
    serving_remove(&serving);
    return 0;
}
