/* cluster_hand.c: what a worker and a sender do with a program on a database of PostgreSQL: ADDRESS OBJECT, and then
 *
 *   deploy                  writes the program's row
 *   submit WORKFLOW ARGS    makes a run ready, and prints its number
 *   work                    executes runs, until SIGTERM */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/buffer.h"
#include "hub/hub_cluster.h"
#include "tfy.h"
#include "wal/store/pg.h"
#include "wal/store/pg_cluster.h"

static const char *address;
static const TfyProgram *program;
static char error[TFY_ERROR_TEXT];

static void give_up(const char *why)
{
    fprintf(stderr, "hand: %s\n", why);
    exit(1);
}

static TfyCluster *connect_cluster(void)
{
    TfyCluster *cluster;
    if (tfy__pg_cluster_open(&cluster, &(TfyPgOpen){.address = address}, error) < 0) give_up(error);
    return cluster;
}

static int join(void *state, int64_t session, int64_t lease_ms, TfyStore **store, char *error_text)
{
    (void)state;
    const TfyPgOpen open = {.address = address, .session = session, .lease_ms = lease_ms};
    return tfy__pg_open(store, &open, error_text);
}

static void deploy(TfyCluster *cluster)
{
    TfyStore *store;
    int64_t lease_ms;
    TfyStoreProgram row = {.id = 1, .tfyc = program->tfyc, .source = program->source, .layout = program->layout};
    memcpy(row.hash, program->hash, sizeof row.hash);
    const int64_t session = cluster->ops->open_session(cluster, &(TfyNewSession){.worker = "hand"}, &lease_ms);
    if (session < 0 || join(NULL, session, lease_ms, &store, error) < 0) give_up(error);
    if (store->ops->begin(store, &(TfyStoreHold){session, 1}) || store->ops->put_program(store, &row) ||
        store->ops->commit(store))
        give_up(store->error);
    store->ops->close(store, true);
    if (cluster->ops->end_session(cluster, session, 1, 0, "it is done") != 1) give_up(cluster->error);
}

static void submit(TfyCluster *cluster, const char *workflow, const char *args)
{
    TfyBuffer birth = {0};
    char uuid[37];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    TfyLogRun row = {.root = 1, .program = 1, .started_ms = now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000};
    if (getrandom(row.uuid, sizeof row.uuid, 0) < 0) give_up("no random bytes");
    row.uuid[0] = 1;
    tfy__uuid_text(row.uuid, uuid);
    tfy__buffer_printf(&birth,
                       "{\"run\":\"%s\",\"tid\":1,\"path\":\"1\",\"workflow\":\"%s\",\"args\":%s,"
                       "\"seed\":\"0123456789abcdef\",\"fuel\":%d}",
                       uuid, workflow, args, (int)TFY_FUEL_SLICE);
    const int64_t queue = cluster->ops->queue(cluster, "default", 1);
    const int64_t id = queue > 0 ? cluster->ops->submit(cluster, queue, &row, birth.data) : queue;
    if (id <= 0) give_up(cluster->error);
    printf("%s\n", uuid);
    tfy__buffer_free(&birth);
}

static TfyLoop *loop;

static void on_term(int signal)
{
    (void)signal;
    tfy_drain(loop, 0);
}

static void work(TfyCluster *cluster)
{
    TfyHub *hub;
    TfyHubOpen open = {.cluster = cluster, .join = join, .session = {.worker = "hand"}, .leased = true};
    if (tfy__hub_cluster_open(&hub, &open, error) < 0) give_up(error);
    const TfyOptions options = {.quiet = true, .stay = true, .park_after_ms = 50, .hub = hub};
    if (tfy_open(&loop, program, &options, error) < 0) give_up(error);
    signal(SIGTERM, on_term);
    tfy_run(loop);
    tfy_close(loop);
    tfy__hub_cluster_close(hub, true);
}

int main(int argc, char **argv)
{
    TfyShared *shared;
    if (argc < 4) give_up("ADDRESS OBJECT deploy|submit|work");
    address = argv[1];
    if (tfy_shared_open(&shared, argv[2], error) < 0) give_up(error);
    program = tfy_shared_program(shared);
    TfyCluster *cluster = connect_cluster();
    if (strcmp(argv[3], "work") == 0) return work(cluster), 0;
    if (strcmp(argv[3], "deploy") == 0) deploy(cluster);
    if (strcmp(argv[3], "submit") == 0 && argc == 6) submit(cluster, argv[4], argv[5]);
    cluster->ops->close(cluster);
    return 0;
}
