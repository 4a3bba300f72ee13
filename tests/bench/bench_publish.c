/* bench_publish.c: records a second that a follower gives to Redis and to NATS, from the first to the newest of 100,000, with their
 * servers on this machine. A server that is not installed is left out, which is said. */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "bench.h"
#include "publish/cursor.h"

enum { RECORDS = 100000, PATIENCE_S = 60, ROUNDS = 3 };

static int free_port(void)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof name;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)&name, len) < 0 || getsockname(fd, (struct sockaddr *)&name, &len) < 0)
        bench_die("no port: %s", strerror(errno));
    close(fd);
    return ntohs(name.sin_port);
}

static pid_t start(const char *const *words)
{
    const pid_t pid = fork();
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(127);
    execvp(words[0], (char *const *)words);
    _exit(127);
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static bool answers(int port)
{
    const struct sockaddr_in name = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    for (int tries = 0; tries < 500; tries++) {
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const bool there = connect(fd, (const struct sockaddr *)&name, sizeof name) == 0;
        close(fd);
        if (there) return true;
        usleep(10000);
    }
    return false;
}

/* Seconds until a follower of this name has given everything up to the record `head`. */
static double seconds_of(const char *db, const char *to, const char *name, int64_t head)
{
    char of[128], from[160];
    TfyCursorState state = {.lsn = 0};
    bool works;
    snprintf(from, sizeof from, "--db=%s", db);
    snprintf(of, sizeof of, "--name=%s", name);
    const char *const words[] = {"./tfy-publish", from, "--to", to, of, NULL};
    const double begin = bench_seconds();
    const pid_t pid = start(words);
    while (!tfy__follow_cursor_look(db, name, &state, &works) || state.lsn < head) {
        if (bench_seconds() - begin > PATIENCE_S) bench_die("%s has come to record %lld", to, (long long)state.lsn);
        usleep(1000);
    }
    const double took = bench_seconds() - begin;
    end(pid);
    return took;
}

/* kind: "redis", "nats". Each round has a stream and a follower of its own. */
static void measure(const char *db, const char *kind, int port, int64_t head, double goal)
{
    double best = 0;
    char text[80];
    for (int round = 0; round < ROUNDS; round++) {
        char to[96], name[32];
        snprintf(to, sizeof to, "%s://127.0.0.1:%d?stream=round%d", kind, port, round);
        snprintf(name, sizeof name, "%s%d", kind, round);
        const double rate = (double)head / seconds_of(db, to, name, head);
        if (rate > best) best = rate;
    }
    snprintf(text, sizeof text, "records a second to %s", kind);
    bench_report(text, best, ">=", goal);
}

static bool is_installed(const char *program)
{
    char command[96];
    snprintf(command, sizeof command, "command -v %s >/dev/null", program);
    if (system(command) == 0) return true;
    fprintf(stderr, "bench: %s is not installed\n", program);
    return false;
}

/* Returns the newest record. */
static int64_t make_log(const char *path)
{
    char args[32];
    snprintf(args, sizeof args, "{\"count\":%d}", RECORDS);
    TfyLoop *loop = bench_open(path);
    bench_submit(loop, "look", args, 1);
    if (tfy_run(loop) < 0) bench_die("the run failed");
    bench_close(loop);
    return RECORDS;
}

int main(void)
{
    BenchPlace place;
    char port_text[16], whole[512];
    bench_place(&place);
    setenv("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin", 1);
    if (!realpath(place.directory, whole)) bench_die("%s is gone", place.directory);
    const int64_t head = make_log(place.path);
    const int port = free_port();
    snprintf(port_text, sizeof port_text, "%d", port);
    if (is_installed("redis-server")) {
        const char *const words[] = {"redis-server", "--port", port_text, "--bind", "127.0.0.1", "--dir", whole, "--save", "", NULL};
        const pid_t pid = start(words);
        if (!answers(port)) bench_die("redis-server does not answer");
        measure(place.path, "redis", port, head, 50000);
        end(pid);
    }
    if (is_installed("nats-server")) {
        const char *const words[] = {"nats-server", "-a", "127.0.0.1", "-p", port_text, "-js", "-sd", whole, NULL};
        const pid_t pid = start(words);
        if (!answers(port)) bench_die("nats-server does not answer");
        measure(place.path, "nats", port, head, 20000);
        end(pid);
    }
    bench_clear(&place);
    return 0;
}
