/* deploy.c: tfy deploy on PostgreSQL: the program is kept in the database, and new runs of its name have it, all of them or a
 * share. Runs that began with another version keep that one. */
#include <stdio.h>
#include <string.h>

#include "cli/cluster/cluster.h"
#include "cli/cluster/program.h"
#include "wal/log/run_id.h"

enum { NAME_BYTES = 65, HASH_SHOWN = 6 };

/* What is deployed. */
typedef struct Deploy {
    TfyCluster *cluster;
    char name[NAME_BYTES];
    const char *version; /* what follows NAME@: a version that is kept; NULL: a file */
    int percent;
    TfyKept program;
} Deploy;

static int take_name(Deploy *deploy, const char *name, int len, const char *hint)
{
    const bool fits = snprintf(deploy->name, NAME_BYTES, "%.*s", len, name) < NAME_BYTES;
    if (fits && tfy__program_name_fits(deploy->name)) return EXIT_DONE;
    return tfy__fail(EXIT_USAGE, "%s, so '%.*s' cannot be one%s", TFY_PROGRAM_NAME_RULE, len, name, hint);
}

/* --name, else that before the @, else that of the file without what follows its first dot. */
static int read_name(const TfyArgs *args, Deploy *deploy)
{
    const char *given = args->option[OPT_PROGRAM_NAME], *word = args->words[0], *slash = strrchr(word, '/');
    const char *base = slash ? slash + 1 : word, *at = tfy__is_source(word) ? NULL : strchr(word, '@');
    if (at) deploy->version = at + 1;
    if (given) return take_name(deploy, given, (int)strlen(given), "");
    if (at) return take_name(deploy, word, (int)(at - word), "");
    return take_name(deploy, base, (int)strcspn(base, "."), "; --name gives it another");
}

static int read_share(const TfyArgs *args, Deploy *deploy)
{
    uint64_t percent = 100;
    if (!tfy__args_limit(args, OPT_SHARE, 100, false, &percent)) return EXIT_USAGE;
    deploy->percent = (int)percent;
    return EXIT_DONE;
}

/* ---- the deployment ---- */

static int activate(const Deploy *deploy)
{
    const TfyClusterOps *ops = deploy->cluster->ops;
    const int changed = deploy->percent == 100
                            ? ops->deploy(deploy->cluster, deploy->name, deploy->program.id)
                            : ops->deploy_share(deploy->cluster, deploy->name, deploy->program.id, deploy->percent);
    if (changed < 0) return tfy__cluster_failed(deploy->cluster, changed);
    printf("%s: version ", deploy->name);
    for (int i = 0; i < HASH_SHOWN; i++) printf("%02x", deploy->program.hash[i]);
    if (deploy->percent < 100)
        printf(" is active for %d of 100 new runs\n", deploy->percent);
    else
        printf(" is active%s\n", changed ? "" : ", as before");
    return tfy__flush_stdout(EXIT_DONE);
}

int tfy__cluster_deploy(const TfyArgs *args)
{
    Deploy deploy = {.cluster = NULL};
    if (args->option[OPT_MOVE])
        return tfy__fail(EXIT_USAGE,
                         "--move is of a server; on PostgreSQL, runs keep the version that they began with");
    int status = read_name(args, &deploy);
    if (status == EXIT_DONE) status = read_share(args, &deploy);
    if (status == EXIT_DONE) status = tfy__db_cluster(args, &deploy.cluster);
    if (status == EXIT_DONE)
        status = deploy.version ? tfy__program_of_version(deploy.cluster, deploy.version, &deploy.program)
                                : tfy__program_keep(deploy.cluster, args->words[0], &deploy.program);
    if (status == EXIT_DONE) status = activate(&deploy);
    if (deploy.cluster) deploy.cluster->ops->close(deploy.cluster);
    return status;
}
