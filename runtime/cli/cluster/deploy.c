/* deploy.c: tfy deploy on PostgreSQL: the program is kept in the database, and new runs of its name have it. Runs that began with
 * another version keep that one. */
#include <stdio.h>
#include <string.h>

#include "cli/cluster/cluster.h"
#include "cli/cluster/program.h"
#include "wal/log/run_id.h"

enum { NAME_BYTES = 65 };

/* --name, else that of the file without what follows its first dot. */
static int name_of(const TfyArgs *args, char name[NAME_BYTES])
{
    const char *given = args->option[OPT_PROGRAM_NAME], *file = args->words[0], *slash = strrchr(file, '/');
    const char *base = slash ? slash + 1 : file;
    const int len = given ? (int)strlen(given) : (int)strcspn(base, ".");
    const bool fits = snprintf(name, NAME_BYTES, "%.*s", len, given ? given : base) < NAME_BYTES;
    if (fits && tfy__program_name_fits(name)) return EXIT_DONE;
    return tfy__fail(EXIT_USAGE, "%s, so '%.*s' cannot be one%s", TFY_PROGRAM_NAME_RULE, len, given ? given : base,
                     given ? "" : "; --name gives it another");
}

static int deploy(TfyCluster *cluster, const char *name, const TfyProgram *program)
{
    const uint8_t *hash = (const uint8_t *)program->hash;
    TfyStoreProgram row = {.tfyc = program->tfyc, .source = program->source, .layout = program->layout};
    memcpy(row.hash, hash, sizeof row.hash);
    const int64_t id = cluster->ops->keep_program(cluster, &row);
    const int64_t changed = id < 0 ? id : cluster->ops->deploy(cluster, name, id);
    if (changed < 0) return tfy__cluster_failed(cluster, changed);
    printf("%s: version %02x%02x%02x%02x%02x%02x is active%s\n", name, hash[0], hash[1], hash[2], hash[3], hash[4],
           hash[5], changed ? "" : ", as before");
    return tfy__flush_stdout(EXIT_DONE);
}

int tfy__cluster_deploy(const TfyArgs *args)
{
    char name[NAME_BYTES];
    TfyShared *shared = NULL;
    TfyCluster *cluster = NULL;
    if (args->option[OPT_MOVE])
        return tfy__fail(EXIT_USAGE,
                         "--move is of a server; on PostgreSQL, runs keep the version that they began with");
    int status = name_of(args, name);
    if (status == EXIT_DONE) status = tfy__db_cluster(args, &cluster);
    if (status == EXIT_DONE) status = tfy__program_of_file(args->words[0], &shared);
    if (status == EXIT_DONE) status = deploy(cluster, name, tfy_shared_program(shared));
    tfy_shared_close(shared);
    if (cluster) cluster->ops->close(cluster);
    return status;
}
