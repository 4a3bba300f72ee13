/* bench_agents.c: agents against a model that answers at once: rounds a second of 100 agents beside the same requests by libcurl alone, what a round
 * costs the log, and how long a run of a thousand rounds takes to ask again. The model is a process of its own. */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "bench.h"

enum { AGENTS = 100, ROUNDS = 20, LONG = 1000, CLIENTS = 512, BODY_MOST = 1 << 20 };

/* ---- what the processes share ---- */

typedef struct Shared {
    volatile long asked;      /* requests so far */
    volatile long answers;    /* this many are answered, and further ones wait */
    volatile double asked_at; /* when the newest came */
    volatile long syncs;
    char bodies[ROUNDS][64 << 10]; /* those of the first conversation */
    volatile long kept;
} Shared;

static Shared *shared;

/* SQLite's: one for each commit. */
int fdatasync(int fd)
{
    if (shared) shared->syncs++;
    return (int)syscall(SYS_fdatasync, fd);
}

/* ---- the model ---- */

typedef struct Client {
    int fd;
    size_t len;
    char bytes[BODY_MOST];
} Client;

static void answer(int fd, const char *body, size_t len)
{
    static const char json[] =
        "{\"model\":\"m\",\"choices\":[{\"finish_reason\":\"tool_calls\",\"message\":{\"content\":null,\"tool_calls\":["
        "{\"id\":\"c\","
        "\"type\":\"function\",\"function\":{\"name\":\"look_at\",\"arguments\":\"{\\\"number\\\":1}\"}}]}}],"
        "\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":10}}";
    char text[sizeof json + 200];
    const int size = snprintf(text, sizeof text,
                              "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                              sizeof json - 1, json);
    if (shared->kept < ROUNDS && len < sizeof shared->bodies[0]) memcpy(shared->bodies[shared->kept++], body, len);
    if (write(fd, text, (size_t)size) != size) bench_die("the model cannot answer");
}

/* One request in the buffer is answered; false: it is not whole, or has to wait. */
static bool take_request(Client *client)
{
    client->bytes[client->len] = '\0';
    const char *end = strstr(client->bytes, "\r\n\r\n"), *length = strcasestr(client->bytes, "content-length:");
    if (!end || !length) return false;
    const size_t head = (size_t)(end + 4 - client->bytes), body = strtoul(length + 15, NULL, 10);
    if (client->len < head + body) return false;
    shared->asked_at = bench_seconds();
    if (++shared->asked > shared->answers) return false;
    answer(client->fd, client->bytes + head, body);
    client->len = 0;
    return true;
}

/* Reads what has come. False: the client has left. */
static bool serve_client(Client *client)
{
    const ssize_t n = read(client->fd, client->bytes + client->len, sizeof client->bytes - 1 - client->len);
    if (n <= 0) return false;
    client->len += (size_t)n;
    take_request(client);
    return true;
}

static void greet(int poller, int listener, Client *clients)
{
    const int fd = accept(listener, NULL, NULL);
    if (fd < 0) return;
    if (fd >= CLIENTS) bench_die("the model has too many clients");
    clients[fd].fd = fd;
    clients[fd].len = 0;
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN, .data.fd = fd});
}

/* It costs as little as it can, whoever asks: the two cores are shared. */
_Noreturn static void serve(int listener)
{
    static Client clients[CLIENTS]; /* by their descriptors */
    struct epoll_event ready[64];
    const int poller = epoll_create1(0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN, .data.fd = listener});
    for (;;) {
        const int count = epoll_wait(poller, ready, 64, -1);
        for (int i = 0; i < count; i++) {
            const int fd = ready[i].data.fd;
            if (fd == listener)
                greet(poller, listener, clients);
            else if (!serve_client(&clients[fd]))
                close(fd);
        }
    }
}

static pid_t start_model(void)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof name;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char url[64];
    if (bind(fd, (struct sockaddr *)&name, len) < 0 || listen(fd, CLIENTS) < 0)
        bench_die("no listener: %s", strerror(errno));
    getsockname(fd, (struct sockaddr *)&name, &len);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/v1", ntohs(name.sin_port));
    setenv("TFY_LLM_URL", url, 1);
    setenv("no_proxy", "127.0.0.1", 1);
    const pid_t pid = fork();
    if (pid == 0) serve(fd);
    close(fd);
    return pid;
}

/* ---- rounds a second ---- */

static double seconds_of_agents(void)
{
    BenchPlace place;
    char args[32];
    bench_place(&place);
    snprintf(args, sizeof args, "{\"count\":%d}", AGENTS);
    TfyLoop *loop = bench_open(place.path);
    bench_submit(loop, "agents", args, 1);
    const double begin = bench_seconds();
    if (tfy_run(loop) < 0) bench_die("the run failed");
    const double took = bench_seconds() - begin;
    bench_close(loop);
    bench_clear(&place);
    return took;
}

/* One conversation: it posts one body after the other, and reads the answers. */
typedef struct Talk {
    CURL *easy;
    int round;
    size_t len;
    char answer[1024];
} Talk;

static size_t take_bytes(char *bytes, size_t size, size_t count, void *arg)
{
    Talk *talk = arg;
    if (talk->len + size * count >= sizeof talk->answer) return 0;
    memcpy(talk->answer + talk->len, bytes, size * count);
    talk->len += size * count;
    talk->answer[talk->len] = '\0';
    return size * count;
}

static void post(CURLM *multi, Talk *talk)
{
    talk->len = 0;
    curl_easy_setopt(talk->easy, CURLOPT_POSTFIELDS, shared->bodies[talk->round]);
    curl_easy_setopt(talk->easy, CURLOPT_POSTFIELDSIZE, (long)strlen(shared->bodies[talk->round]));
    curl_multi_add_handle(multi, talk->easy);
}

static double seconds_of_curl(void)
{
    static Talk talks[AGENTS];
    char url[100];
    CURLM *multi = curl_multi_init();
    struct curl_slist *headers =
        curl_slist_append(curl_slist_append(NULL, "Content-Type: application/json"), "Expect:");
    int running = AGENTS, left;
    snprintf(url, sizeof url, "%s/chat/completions", getenv("TFY_LLM_URL"));
    const double begin = bench_seconds();
    for (int i = 0; i < AGENTS; i++) {
        talks[i] = (Talk){.easy = curl_easy_init()};
        curl_easy_setopt(talks[i].easy, CURLOPT_URL, url);
        curl_easy_setopt(talks[i].easy, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(talks[i].easy, CURLOPT_WRITEFUNCTION, take_bytes);
        curl_easy_setopt(talks[i].easy, CURLOPT_WRITEDATA, &talks[i]);
        curl_easy_setopt(talks[i].easy, CURLOPT_PRIVATE, &talks[i]);
        post(multi, &talks[i]);
    }
    while (running) {
        int busy;
        curl_multi_perform(multi, &busy);
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
            Talk *talk;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &talk);
            if (message->data.result != CURLE_OK) bench_die("curl: %s", curl_easy_strerror(message->data.result));
            if (!strstr(talk->answer, "look_at")) bench_die("curl: the answer is '%s'", talk->answer);
            curl_multi_remove_handle(multi, talk->easy);
            if (++talk->round < ROUNDS)
                post(multi, talk);
            else
                running--;
        }
        if (running) curl_multi_poll(multi, NULL, 0, 100, NULL);
    }
    const double took = bench_seconds() - begin;
    for (int i = 0; i < AGENTS; i++) curl_easy_cleanup(talks[i].easy);
    curl_multi_cleanup(multi);
    curl_slist_free_all(headers);
    return took;
}

static void measure_rate(void)
{
    double ratios[BENCH_ROUNDS], ours[BENCH_ROUNDS];
    shared->answers = LONG * LONG;
    seconds_of_agents(); /* the bodies are known after it */
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        ours[i] = seconds_of_agents();
        ratios[i] = seconds_of_curl() / ours[i];
    }
    fprintf(stderr, "bench: agents: %.0f rounds/s\n", AGENTS * ROUNDS / bench_median(ours));
    bench_report("rounds a second of 100 agents (of the same requests by libcurl)", bench_median(ratios), ">=", 0.7);
}

/* ---- one long run ---- */

/* Bytes of the records of so many rounds, from one on: what lies between two of the agent's questions. Snapshots apart. */
static double bytes_of_rounds(sqlite3 *db, int from, int count)
{
    sqlite3_stmt *row;
    double bytes = 0;
    static const char sql[] =
        "with asked as (select lsn, row_number() over (order by lsn) as n from wal where type = 2)"
        " select sum(length(payload)) from wal where type != 33 and lsn >= (select lsn from asked where n = ?)"
        " and lsn < (select lsn from asked where n = ?)";
    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK) bench_die("%s", sqlite3_errmsg(db));
    sqlite3_bind_int(row, 1, from);
    sqlite3_bind_int(row, 2, from + count);
    if (sqlite3_step(row) == SQLITE_ROW) bytes = sqlite3_column_double(row, 0);
    sqlite3_finalize(row);
    return bytes / count;
}

/* Seconds until the loop's run has asked once more, from the opening of the database. */
static double seconds_to_ask(const char *path, const char *workflow)
{
    const long before = shared->asked;
    char error[TFY_ERROR_TEXT] = "";
    int64_t tid;
    shared->answers = before;
    const double begin = bench_seconds();
    TfyLoop *loop = bench_open(path);
    if (workflow)
        bench_submit(loop, workflow, "{}", 1);
    else if (tfy_resume(loop, "last", &tid, error) < 0)
        bench_die("%s", error);
    while (shared->asked == before) {
        struct pollfd at = {.fd = tfy_fd(loop), .events = POLLIN};
        const int turn = tfy_step(loop);
        if (turn < 0) bench_die("the loop failed");
        if (turn == 0) poll(&at, 1, 1);
    }
    const double took = shared->asked_at - begin;
    bench_close(loop); /* an unfinished run stays unfinished */
    return took;
}

static void run_until(const char *path, long rounds)
{
    const long before = shared->asked;
    shared->answers = before + rounds;
    TfyLoop *loop = bench_open(path);
    bench_submit(loop, "one_agent", "{}", 1);
    while (shared->asked <= before + rounds) {
        struct pollfd at = {.fd = tfy_fd(loop), .events = POLLIN};
        const int turn = tfy_step(loop);
        if (turn < 0) bench_die("the loop failed");
        if (turn == 0) poll(&at, 1, 1);
    }
    bench_close(loop);
}

static void measure_long(void)
{
    BenchPlace place, fresh;
    sqlite3 *db;
    double late[BENCH_ROUNDS];
    bench_place(&place);
    const long syncs = shared->syncs;
    run_until(place.path, LONG - 5);
    bench_report("commits for a round of one agent without once", (double)(shared->syncs - syncs) / (LONG - 5),
                 "<=", 3);
    if (sqlite3_open(place.path, &db) != SQLITE_OK) bench_die("the log cannot be read");
    const double first = bytes_of_rounds(db, 6, 10), last = bytes_of_rounds(db, LONG - 20, 10);
    sqlite3_close(db);
    fprintf(stderr, "bench: agents: a round has %.0f bytes in the log\n", first);
    bench_report("bytes logged in round 1,000 (of round 10)", last / first, "<=", 1.1);
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        bench_place(&fresh);
        const double start = seconds_to_ask(fresh.path, "one_agent");
        late[i] = 1000 * (seconds_to_ask(place.path, NULL) - start);
        bench_clear(&fresh);
    }
    bench_report("a run at round 1,000 asks again (milliseconds beyond a new one)", bench_median(late), "<=", 50);
    bench_clear(&place);
}

int main(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) bench_die("no memory");
    curl_global_init(CURL_GLOBAL_DEFAULT);
    const pid_t model = start_model();
    measure_rate();
    measure_long();
    kill(model, SIGKILL);
    waitpid(model, NULL, 0);
    return 0;
}
