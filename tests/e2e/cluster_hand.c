/* cluster_hand.c: makes runs of a program ready on a database of PostgreSQL, before any worker is there: ADDRESS OBJECT, and then
 *
 *   deploy                  writes the program's row, the database's first
 *   submit WORKFLOW ARGS    makes a run ready, and prints its uuid */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/buffer.h"
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

static void deploy(TfyCluster *cluster)
{
    TfyStore *store;
    int64_t lease_ms;
    TfyStoreProgram row = {.id = 1, .tfyc = program->tfyc, .source = program->source, .layout = program->layout};
    memcpy(row.hash, program->hash, sizeof row.hash);
    const int64_t session = cluster->ops->open_session(cluster, &(TfyNewSession){.worker = "hand"}, &lease_ms);
    if (session < 0) give_up(cluster->error);
    if (tfy__pg_open(&store, &(TfyPgOpen){.address = address, .session = session, .lease_ms = lease_ms}, error) < 0)
        give_up(error);
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

int main(int argc, char **argv)
{
    TfyShared *shared;
    if (argc < 4) give_up("ADDRESS OBJECT deploy|submit");
    address = argv[1];
    if (tfy_shared_open(&shared, argv[2], error) < 0) give_up(error);
    program = tfy_shared_program(shared);
    TfyCluster *cluster = connect_cluster();
    if (strcmp(argv[3], "deploy") == 0) deploy(cluster);
    if (strcmp(argv[3], "submit") == 0 && argc == 6) submit(cluster, argv[4], argv[5]);
    cluster->ops->close(cluster);
    return 0;
}
