/* config_rows.h: objects of the configuration, read by tables of their members; a part that is to come is a row more. */
#ifndef SERVE_CONFIG_ROWS_H
#define SERVE_CONFIG_ROWS_H

#include "serve/config.h"

/* While a file is read. */
typedef struct TfyReading {
    TfyConfig *config;
    const char *name, *text; /* of the file */
    size_t len;
    char *error; /* TFY_ERROR_TEXT bytes */
} TfyReading;

/* A member of an object: what it must be, and what is done with it. arg: what the object is about. */
typedef struct TfyConfigRow {
    const char *name;
    json_type type; /* JSON_TRUE: true or false; JSON_NULL: any value */
    bool (*take)(TfyReading *reading, json_t *value, const char *path, void *arg);
} TfyConfigRow;

enum { TFY_CONFIG_PATH = 512 }; /* bytes of a path, "$.programs.shop" */

/* Says what is wrong at a path, with the file and the line. Returns false. */
bool tfy__config_refuse(const TfyReading *reading, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reads an object by its rows; the last one has no name. */
bool tfy__config_object(TfyReading *reading, json_t *object, const TfyConfigRow *rows, const char *path, void *arg);
/* Reads each member of an object whose names are the person's own: an object of these rows. */
bool tfy__config_named(TfyReading *reading, json_t *objects, const TfyConfigRow *rows, const char *path);
bool tfy__config_text(TfyReading *reading, char **place, const json_t *value);
/* Whether a schedule or a hook may have this name. */
bool tfy__config_name_fits(const TfyReading *reading, const char *name, const char *path);
/* Reads "PROGRAM.WORKFLOW" into its parts, which are owned, but for the workflow, which is in `text`. */
bool tfy__config_workflow(TfyReading *reading, const json_t *value, const char *path, char **text, char **program,
                          const char **workflow);
/* Reads "30s" as milliseconds from least to most. */
bool tfy__config_duration(TfyReading *reading, const json_t *value, const char *path, int64_t most_ms, int64_t *ms);

#endif
