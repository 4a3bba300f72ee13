/* reach.h: how far the tools of a program may go on this server, and what it may ask of models: "sandbox", "network", "grant",
 * "runners", "budget" and "secrets" of a program in the configuration, as these options of `tfy run`. A start may narrow them for its
 * run, and never widens them. What holds is recorded with the run, and stays with it. */
#ifndef SERVE_REACH_H
#define SERVE_REACH_H

#include "core/effect.h"
#include "serve/config_rows.h"
#include "serve/problem.h"

typedef struct TfyReach {
    struct TfyReach *next; /* of the configuration's */
    char *program;          /* all texts are owned; NULL: nothing is said */
    char *sandbox, *network, *grants, *budget;
    char *root;    /* the directory that its runs work in */
    char *secrets; /* where the values of its secrets are */
    bool runners;
} TfyReach;

void tfy__reach_free(TfyReach *reach);

/* Rows of the members of a program, whose arg is the reach. */
bool tfy__reach_sandbox(TfyReading *reading, json_t *value, const char *path, void *arg);
bool tfy__reach_network(TfyReading *reading, json_t *value, const char *path, void *arg);
bool tfy__reach_grant(TfyReading *reading, json_t *value, const char *path, void *arg);
bool tfy__reach_runners(TfyReading *reading, json_t *value, const char *path, void *arg);
bool tfy__reach_budget(TfyReading *reading, json_t *value, const char *path, void *arg);
bool tfy__reach_secrets(TfyReading *reading, json_t *value, const char *path, void *arg);
bool tfy__reach_root(TfyReading *reading, json_t *value, const char *path, void *arg);

/* NULL: the configuration says nothing about it. */
const TfyReach *tfy__reach_of(const TfyConfig *config, const char *program);
/* Whether each grant is for a tool that the program has. */
bool tfy__reach_fits(const TfyReach *reach, const TfyProgram *program, char *error);

/* What holds for a run. Its texts are the configuration's and the start's, but for: */
typedef struct TfyNarrowed {
    TfyCeiling ceiling;
    char budget[128]; /* of both */
} TfyNarrowed;
/* The reach (NULL: none) with the start's members "sandbox", "network" and "budget" in its place; of a budget, what the start
 * leaves out stays. False: the problem says what would widen it, or is none. */
bool tfy__reach_narrow(const TfyReach *reach, const json_t *start, TfyNarrowed *out, TfyProblem *problem);

#endif
