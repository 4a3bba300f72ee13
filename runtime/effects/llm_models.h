/* llm_models.h: the file of models: what a program's `model "strong"` stands for.
 *
 *   {"models": {"strong": {"api": "messages", "url": "https://models.example/v1", "model": "big-2", "key": "BIG_KEY",
 *                          "window": 200000, "price": {"in": 3, "cached": 0.3, "out": 15}, "then": "local"},
 *               "local": {"api": "chat", "url": "http://127.0.0.1:8080/v1", "model": "any"}},
 *    "day": {"cost": 20}}
 *
 * api is a wire form (llm_form.h), or "embeddings"; key the name of a secret, window in tokens, a price for a million of
 * them; with "stream": false answers come in one piece; "reasoning": "high" is the effort that a model is to spend on it. day bounds what a database asks of all of them in a day: cost,
 * tokens and calls. */
#ifndef EFFECTS_LLM_MODELS_H
#define EFFECTS_LLM_MODELS_H

#include "core/effect.h"
#include "effects/llm_form.h"

typedef struct TfyLlmEntry {
    const char *name;
    const TfyLlmForm *form; /* NULL: it is for embeddings, and answers no prompt */
    const char *url, *model;
    const char *key; /* the name of a secret; NULL: none */
    int64_t window;  /* tokens; 0: not known */
    const char *effort; /* of its reasoning; NULL: nothing is said */
    bool streams;    /* it is asked for streams */
    bool priced;
    double in, cached, out;         /* for a million tokens */
    const struct TfyLlmEntry *then; /* asked when this one has no time; NULL: none */
} TfyLlmEntry;

typedef struct TfyLlmModels TfyLlmModels;

/* Reads the text of such a file; name: of the file, for messages. NULL: error (TFY_ERROR_TEXT bytes) is one sentence
 * that says where and what. The models own everything. */
TfyLlmModels *tfy__llm_models_read(const char *text, size_t len, const char *name, char *error);
/* Reads the file of that path. missing: set when there is none, and then error says so. */
TfyLlmModels *tfy__llm_models_open(const char *path, bool *missing, char *error);
void tfy__llm_models_free(TfyLlmModels *models);

const TfyLlmEntry *tfy__llm_models_find(const TfyLlmModels *models, const char *name); /* NULL: there is none */
/* What "day" bounds; NULL: nothing. */
const TfyAmount *tfy__llm_models_day(const TfyLlmModels *models);
/* "strong, local": for messages; valid until the models are freed. */
const char *tfy__llm_models_names(const TfyLlmModels *models);

/* What tokens come to, in millionths, rounded up. cached: how many of `in` the endpoint had kept; -1: none. -1: no price. */
int64_t tfy__llm_cost(const TfyLlmEntry *entry, int64_t in, int64_t cached, int64_t out);

#endif
