/* programs.c: the programs whose runs a loop runs. Most loops have the one that tfy_open was given; a server loads
 * others, and several versions of one. They share the scheduler, the log and the performers.
 *
 *   - A program stays loaded while the loop is open. Its runs point to it, and so do their frames, tasks and steps.
 *   - A recorded run belongs to the program that has its source, whichever compiler made that (same source: the
 *     records are compared anyway).
 *   - A family is performed by the performer of the first program that names one. All programs of a process are linked
 *     with the same runtime, so it is the same performer. */
#include <stdlib.h>
#include <string.h>

#include "core/loop/state.h"

/* A program that opens descriptors. */
static bool holds_descriptors(const TfyProgram *program)
{
    for (uint32_t i = 0; i < program->point_count; i++) {
        const TfySite *site = program->sites[i];
        if (site && site->tool && site->tool->family >= TFY_F_LISTEN && site->tool->family <= TFY_F_ADDRESS)
            return true;
    }
    return false;
}

/* A program carries the performers that it names and no others (TfyProgram.performers). */
static void choose_performers(TfyLoop *loop, const TfyProgram *program)
{
    const TfyPerformer *const *named = loop->world.performs ? program->performers : NULL;
    const bool all = loop->world.performs == TFY_PERFORMS_ALL;
    for (int family = 0; family < TFY_F_COUNT; family++) {
        if (!loop->performers[family]) loop->performers[family] = loop->world.performers[family];
        if (named && (all || family == TFY_F_EXTERN) && !loop->performers[family])
            loop->performers[family] = named[family];
    }
}

Loaded *tfy__loaded_new(TfyLoop *loop, const TfyProgram *program)
{
    Loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded) return NULL;
    loaded->loop = loop;
    loaded->program = program;
    loaded->snapshots = program->routines && program->sites;
    loaded->parks = loaded->snapshots && !holds_descriptors(program);
    choose_performers(loop, program);
    LIST_APPEND(&loop->programs, loaded, next);
    return loaded;
}

void tfy__programs_free(TfyLoop *loop)
{
    for (Loaded *loaded; (loaded = LIST_TAKE(&loop->programs, next));) free(loaded);
}

Loaded *tfy__loaded_as(const TfyLoop *loop, const TfyProgram *program)
{
    Loaded *loaded = loop->programs.first;
    while (loaded && loaded->program != program) loaded = loaded->next;
    return loaded;
}

static Loaded *by_source(const TfyLoop *loop, const char *source)
{
    Loaded *loaded = loop->programs.first;
    while (loaded && strcmp(loaded->program->source, source) != 0) loaded = loaded->next;
    return loaded;
}

Loaded *tfy__loaded_of(const TfyLoop *loop, const TfyHistory *history)
{
    return history->program_source ? by_source(loop, history->program_source) : NULL;
}

int64_t tfy__loaded_row(TfyLoop *loop, Loaded *loaded)
{
    const TfyProgram *program = loaded->program;
    const int64_t row = loaded->row ? loaded->row
                                    : tfy__log_program(loop->log, (const uint8_t *)program->hash, program->tfyc,
                                                       program->source, program->layout);
    if (row > 0) loaded->row = row;
    return row;
}

int64_t tfy__store_program(TfyLoop *loop, const TfyProgram *program)
{
    Loaded *loaded = tfy__loaded_as(loop, program);
    return loaded ? tfy__loaded_row(loop, loaded) : TFY_E_ABSENT;
}

/* Its root, if it names none: that of the program that the loop was opened for. */
static int root_of(TfyLoop *loop, const TfyLoadOptions *options, Root **out, char *error_text)
{
    *out = loop->programs.first->root;
    return options && options->root ? tfy__root_open(loop, options->root, out, error_text) : TFY_OK;
}

static int load_new(TfyLoop *loop, const TfyProgram *program, const TfyLoadOptions *options, char *error_text)
{
    Root *root;
    int code = root_of(loop, options, &root, error_text);
    Loaded *loaded = code ? NULL : tfy__loaded_new(loop, program);
    if (!loaded) return code ? code : TFY_E_NOMEM;
    loaded->root = root;
    loaded->secrets = options ? options->secrets : NULL;
    code = tfy__loop_prepare(loop, program, error_text);
    if (!code) return code;
    LIST_REMOVE(&loop->programs, loaded, next);
    free(loaded);
    return code;
}

/* The program that the loop was opened for may be given other secrets than the loop's. */
static int check_same(TfyLoop *loop, Loaded *same, const TfyProgram *program, const TfyLoadOptions *options,
                      char *error_text)
{
    Root *root = same->root;
    const int code = options && options->root ? tfy__root_open(loop, options->root, &root, error_text) : TFY_OK;
    if (code) return code;
    if (same->program == program && same->root == root) {
        if (!options || !options->secrets || options->secrets == same->secrets) return TFY_OK;
        same->secrets = options->secrets;
        return tfy__loop_prepare(loop, program, error_text);
    }
    snprintf(error_text, TFY_ERROR_TEXT, "the loop has a program with the source of %s, which works in %.300s",
             program->name, same->root->at.path);
    return TFY_E_STATE;
}

int tfy_load(TfyLoop *loop, const TfyProgram *program, const TfyLoadOptions *options, char *error_text)
{
    char scratch[TFY_ERROR_TEXT];
    if (!error_text) error_text = scratch;
    *error_text = '\0';
    if (strcmp(program->tfyc, tfy_version()) != 0) {
        snprintf(error_text, TFY_ERROR_TEXT, "%s was compiled by tfyc %s, and this is Tiffany %s: compile it again",
                 program->name, program->tfyc, tfy_version());
        return TFY_E_INVALID;
    }
    Loaded *same = by_source(loop, program->source);
    const int code =
        same ? check_same(loop, same, program, options, error_text) : load_new(loop, program, options, error_text);
    return tfy__explained(code, error_text);
}

/* ---- for effects ---- */

bool tfy__is_served(TfyLoop *loop)
{
    return loop->options.served;
}

const char *tfy__secrets_option(TfyLoop *loop, const TfyProgram *program)
{
    const Loaded *loaded = tfy__loaded_as(loop, program);
    return loaded && loaded->secrets ? loaded->secrets : loop->options.secrets;
}

const TfyProgram *tfy__program_of(TfyTask *task)
{
    return program_of(rest_of(task)->run);
}

const TfyProgram *tfy__program_at(TfyLoop *loop, uint32_t i)
{
    const Loaded *loaded = loop->programs.first;
    for (; loaded && i; i--) loaded = loaded->next;
    return loaded ? loaded->program : NULL;
}

const char *tfy__source_name(TfyLoop *loop, uint32_t i)
{
    for (const Loaded *loaded = loop->programs.first; loaded; loaded = loaded->next) {
        const TfyProgram *program = loaded->program;
        const uint32_t count = program->module_count ? program->module_count : 1;
        if (i < count) return program->module_count ? program->modules[i].file : program->name;
        i -= count;
    }
    return NULL;
}

const TfySite *tfy__site_at(TfyLoop *loop, const char *run_uuid, uint32_t point)
{
    uint8_t uuid[16];
    const Run *run = tfy__uuid_read(run_uuid, uuid) ? tfy__run_by_uuid(loop, uuid) : NULL;
    return run ? tfy__site_of(program_of(run), point) : NULL;
}

const TfyPoint *tfy__point_of(const TfyProgram *program, uint32_t number)
{
    return number && number <= program->point_count ? program->points[number - 1] : NULL;
}

const TfySite *tfy__site_of(const TfyProgram *program, uint32_t point)
{
    return program->sites && point && point <= program->point_count ? program->sites[point - 1] : NULL;
}

uint32_t tfy__point_line(const TfyProgram *program, uint32_t number)
{
    const TfyPoint *point = tfy__point_of(program, number);
    return point ? point->line : 0;
}

const char *tfy__line_file(const TfyProgram *program, uint32_t *line)
{
    uint32_t at = program->module_count;
    while (at > 1 && program->modules[at - 1].first_line > *line) at--;
    if (at < 2) return NULL;
    *line -= program->modules[at - 1].first_line - 1;
    return program->modules[at - 1].file;
}
