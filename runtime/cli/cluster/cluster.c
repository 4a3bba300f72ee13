/* cluster.c: see cluster.h. */
#include "cli/cluster/cluster.h"

#include "tfy.h"
#include "wal/store/pg.h"
#include "wal/store/pg_address.h"
#include "wal/store/pg_cluster.h"

int tfy__shared_log_open(const char *address, TfyLog **log, char *error_text)
{
    TfyLogOptions options = {.read_only = true, .existing = true};
    const int code = tfy__pg_open(&options.store, &(TfyPgOpen){.address = address}, error_text);
    return code ? code : tfy__log_open(log, &options, error_text);
}

int tfy__db_cluster(const TfyArgs *args, TfyCluster **cluster)
{
    char error[TFY_ERROR_TEXT] = "";
    const int code = tfy__pg_cluster_open(cluster, &(TfyPgOpen){.address = tfy__db_path(args)}, error);
    return code == 0 ? EXIT_DONE : tfy__fail(tfy__exit_status(code), "%s", error);
}

int tfy__cluster_code(int64_t code)
{
    return code <= TFY_STORE_FULL ? TFY_E_IO : (int)code;
}

int tfy__cluster_failed(const TfyCluster *cluster, int64_t code)
{
    return tfy__fail(tfy__exit_status(tfy__cluster_code(code)), "%s", cluster->error);
}
