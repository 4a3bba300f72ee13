/* program.c: see program.h. */
#include "cli/cluster/program.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cluster/cluster.h"
#include "cli/make/compile.h"
#include "tfy.h"
#include "wal/history/history.h"

enum { DIGITS_LEAST = 6, DIGITS_MOST = 32 /* of a hash */ };

static int open_object(const char *object, TfyShared **shared)
{
    char error[TFY_ERROR_TEXT] = "";
    const int code = tfy_shared_open(shared, object, error);
    return code == TFY_OK ? EXIT_DONE : tfy__fail(tfy__exit_status(code), "%s", error);
}

int tfy__program_of_file(const char *path, TfyShared **shared)
{
    const TfyCompile what = {.name = path, .path = path, .shared = true, .tables = true};
    char *object = NULL;
    int status = tfy__compile(&what, &object);
    if (status == EXIT_DONE) status = open_object(object, shared);
    free(object);
    return status;
}

static int note_kept(void *state, const TfyStoreProgram *row)
{
    TfyKept *kept = state;
    kept->id = row->id;
    memcpy(kept->hash, row->hash, sizeof kept->hash);
    return 0;
}

int tfy__program_keep(TfyCluster *cluster, const char *path, TfyKept *kept)
{
    TfyShared *shared = NULL;
    const int status = tfy__program_of_file(path, &shared);
    if (status != EXIT_DONE) return status;
    const TfyProgram *program = tfy_shared_program(shared);
    TfyStoreProgram row = {.tfyc = program->tfyc, .source = program->source, .layout = program->layout};
    memcpy(row.hash, program->hash, sizeof row.hash);
    row.id = cluster->ops->keep_program(cluster, &row);
    note_kept(kept, &row);
    tfy_shared_close(shared);
    return kept->id < 0 ? tfy__cluster_failed(cluster, kept->id) : EXIT_DONE;
}

int tfy__program_of_version(TfyCluster *cluster, const char *version, TfyKept *kept)
{
    const size_t len = strlen(version);
    if (len < DIGITS_LEAST || len > DIGITS_MOST || strspn(version, "0123456789abcdef") != len)
        return tfy__fail(EXIT_USAGE,
                         "a version is the beginning of a program's hash, from six digits on, not '%.60s'; 'tfy "
                         "cluster' shows them",
                         version);
    const int code = cluster->ops->find_program(cluster, version, note_kept, kept);
    if (code == TFY_E_ABSENT) return tfy__fail(EXIT_MISSING, "the database has no program of version %s", version);
    if (code == TFY_E_INVALID) return tfy__fail(EXIT_USAGE, "several versions start with %s; give more of it", version);
    return code ? tfy__cluster_failed(cluster, code) : EXIT_DONE;
}

typedef struct Wanted {
    TfyShared **shared;
    int64_t id;
    int status;
} Wanted;

/* Another compiler makes another program of the same source, and a run of that would find no worker. */
static int check_hash(const TfyStoreProgram *row, TfyShared **shared)
{
    const TfyProgram *program = tfy_shared_program(*shared);
    if (memcmp(program->hash, row->hash, sizeof row->hash) == 0) return EXIT_DONE;
    tfy_shared_close(*shared);
    *shared = NULL;
    return tfy__fail(EXIT_DATA,
                     "it was deployed by Tiffany %s, and this is %s: deploy it again, or start the run with that one",
                     row->tfyc, tfy_version());
}

static int compile_row(void *state, const TfyStoreProgram *row)
{
    Wanted *wanted = state;
    const TfyHistory stored = {.program_source = (char *)row->source, .program_layout = (char *)row->layout};
    char *object = NULL;
    wanted->id = row->id;
    wanted->status = tfy__compile_recorded(&stored, &(TfyCompile){.shared = true, .tables = true}, &object);
    if (wanted->status == EXIT_DONE) wanted->status = open_object(object, wanted->shared);
    if (wanted->status == EXIT_DONE) wanted->status = check_hash(row, wanted->shared);
    free(object);
    return 0;
}

int tfy__program_deployed(TfyCluster *cluster, const char *name, TfyShared **shared, int64_t *id)
{
    Wanted wanted = {.shared = shared};
    const int code = cluster->ops->deployed(cluster, name, compile_row, &wanted);
    *id = wanted.id;
    if (code == TFY_E_ABSENT)
        return tfy__fail(EXIT_MISSING, "the database has no program '%s'; 'tfy deploy FILE.tfy --name %s' gives it one",
                         name, name);
    return code ? tfy__cluster_failed(cluster, code) : wanted.status;
}
