/* bench_mcp_call.c: calls of a pure tool of an MCP server over stdio, one after the other, against the line that somebody
 * would write first: the same request to the same child over plain pipes, its answer read, and the row that we keep of it
 * kept by a bare SQLite loop. Both sync each answer to the same disk before the next request leaves. With the word
 * `answer` this program is that child. */
#include <jansson.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/wait.h>

#include "bare.h"
#include "bench.h"

enum { CALLS = 50, BLOCKS = 20, COMMITS = 60 /* of a block, at most */, LINE = 1024 };

/* ---- the child ---- */

static json_t *result_of(const char *method, const json_t *params)
{
    if (strcmp(method, "server/discover") == 0)
        return json_pack("{s:s, s:i, s:s, s:[s], s:{s:{}}}", "resultType", "complete", "ttlMs", 0, "cacheScope",
                         "private", "supportedVersions", "2026-07-28", "capabilities", "tools");
    if (strcmp(method, "tools/list") == 0)
        return json_pack("{s:s, s:[{s:s, s:s, s:{s:s, s:{s:{s:s}}, s:[s]}}]}", "resultType", "complete", "tools",
                         "name", "echo", "description", "Says the text again.", "inputSchema", "type", "object",
                         "properties", "text", "type", "string", "required", "text");
    return json_pack("{s:s, s:[{s:s, s:O}]}", "resultType", "complete", "content", "type", "text", "text",
                     json_object_get(json_object_get(params, "arguments"), "text"));
}

static void answer_line(const char *line)
{
    json_t *request = json_loads(line, 0, NULL);
    const char *method = json_string_value(json_object_get(request, "method"));
    json_t *id = json_object_get(request, "id");
    json_t *answer = json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result",
                               result_of(method ? method : "", json_object_get(request, "params")));
    if (answer) json_dumpf(answer, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    json_decref(answer);
    json_decref(request);
}

static int be_child(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) answer_line(line);
    free(line);
    return 0;
}

/* ---- ours ---- */

static void run_calls(TfyLoop *loop)
{
    char args[32], error[TFY_ERROR_TEXT] = "";
    int64_t tid;
    snprintf(args, sizeof args, "{\"count\":%d}", CALLS);
    if (tfy_submit(loop, "calls", args, &tid, error) < 0) bench_die("%s", error);
    if (tfy_run(loop) < 0) bench_die("the calls failed");
    const char *failure = tfy_task_error(loop, tid);
    if (failure) bench_die("a call failed: %s", failure);
}

/* ---- the neighbour ---- */

typedef struct Pipes {
    pid_t pid;
    int to, from;
    int asked; /* lines until now */
} Pipes;

static void open_pipes(Pipes *pipes)
{
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0) bench_die("there is no pipe");
    *pipes = (Pipes){.pid = fork(), .to = in[1], .from = out[0]};
    if (!pipes->pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[1]);
        close(out[0]);
        execl("/proc/self/exe", "bench_mcp_call", "answer", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
}

static void close_pipes(Pipes *pipes)
{
    close(pipes->to);
    close(pipes->from);
    waitpid(pipes->pid, NULL, 0);
}

/* One request of as many bytes as ours, and its answer. */
static void ask(Pipes *pipes)
{
    static const char format[] =
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{"
        "\"text\":\"hello\"},\"_meta\":{\"tfy/key\":\"01a21e22-b454-71c8-bc40-7c1d5f3e4a56/1/%d/1\","
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{"
        "\"name\":\"tfy\",\"version\":\"%s\"},\"io.modelcontextprotocol/clientCapabilities\":{}}}}\n";
    char line[LINE];
    const int id = ++pipes->asked, len = snprintf(line, sizeof line, format, id, id, tfy_version());
    if (write(pipes->to, line, (size_t)len) != len) bench_die("the child does not read");
    ssize_t have = 0;
    do {
        const ssize_t got = read(pipes->from, line + have, sizeof line - (size_t)have);
        if (got <= 0) bench_die("the child does not answer");
        have += got;
    } while (line[have - 1] != '\n');
}

/* ---- rounds ---- */

/* Seconds of each, one behind the other. */
typedef struct Times {
    double *seconds;
    size_t count;
} Times;

typedef struct Round {
    double call, kept, plain; /* medians */
} Round;

/* What calls leave in the log. */
static BareRows *rows_of_calls(int64_t *commits)
{
    BenchPlace place;
    bench_place(&place);
    TfyLoop *loop = bench_open(place.path);
    const int64_t first = bare_commits();
    for (int i = 0; i < BLOCKS; i++) run_calls(loop);
    *commits = bare_commits() - first;
    bench_close(loop);
    BareRows *rows = bare_read(place.path);
    bench_clear(&place);
    return rows;
}

static void keep_lines(Pipes *pipes, BareLoop *bare)
{
    for (int i = 0; i < CALLS; i++) {
        ask(pipes);
        bare_commit(bare);
    }
}

static void plain_lines(Pipes *pipes, Times *times)
{
    for (int i = 0; i < CALLS; i++) {
        const double begun = bench_seconds();
        ask(pipes);
        times->seconds[times->count++] = bench_seconds() - begun;
    }
}

static void add_times(Times *times, int64_t first)
{
    if (bare_commits() - first > COMMITS) bench_die("%d calls make more than %d commits", CALLS, COMMITS);
    times->count += bare_between_commits(first, times->seconds + times->count);
}

/* The disk may be slow for a while, so the two take turns, some calls each. */
static Round run_round(Pipes *pipes, const BareRows *rows, int64_t commits)
{
    static double seconds[3][BLOCKS * COMMITS];
    Times calls = {.seconds = seconds[0]}, kept = {.seconds = seconds[1]}, plain = {.seconds = seconds[2]};
    BenchPlace place;
    char path[128];
    bench_place(&place);
    snprintf(path, sizeof path, "%s/bare.db", place.directory);
    TfyLoop *loop = bench_open(place.path);
    BareLoop *bare = bare_open(rows, path, commits);
    run_calls(loop); /* the child is started, and greeted */
    for (int i = 0; i < BLOCKS; i++) {
        int64_t first = bare_commits();
        run_calls(loop);
        add_times(&calls, first);
        first = bare_commits();
        keep_lines(pipes, bare);
        add_times(&kept, first);
        plain_lines(pipes, &plain);
    }
    bench_close(loop);
    bare_close(bare);
    bench_clear(&place);
    return (Round){.call = bench_median_of(calls.seconds, calls.count),
                   .kept = bench_median_of(kept.seconds, kept.count),
                   .plain = bench_median_of(plain.seconds, plain.count)};
}

static void measure(void)
{
    double ratios[BENCH_ROUNDS], calls[BENCH_ROUNDS], kept[BENCH_ROUNDS], plain[BENCH_ROUNDS];
    int64_t commits;
    Pipes pipes;
    BareRows *rows = rows_of_calls(&commits);
    open_pipes(&pipes);
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        const Round round = run_round(&pipes, rows, commits);
        calls[i] = round.call * 1e6;
        kept[i] = round.kept * 1e6;
        plain[i] = round.plain * 1e6;
        ratios[i] = round.call / round.kept;
    }
    close_pipes(&pipes);
    bare_free(rows);
    fprintf(
        stderr,
        "bench: a call of an MCP tool: %.0f us, in %.2f commits; a line to a child and back: %.0f us with its answer "
        "kept, %.0f us without\n",
        bench_median(calls), (double)commits / CALLS / BLOCKS, bench_median(kept), bench_median(plain));
    fprintf(stderr, "bench: a call, which is kept, takes %.1f times a line that is not\n",
            bench_median(calls) / bench_median(plain));
    bench_report(
        "a call of an MCP tool over stdio, against a line to the same child and back whose answer a bare SQLite "
        "loop keeps",
        bench_median(ratios), "<=", 1.5);
}

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "answer") == 0) return be_child();
    bare_count_commits();
    measure();
    return 0;
}
