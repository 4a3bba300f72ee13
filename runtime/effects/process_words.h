/* process_words.h: what the watcher receives of a tool: the files to try, its argv, its environment. */
#ifndef TFY_EFFECTS_PROCESS_WORDS_H
#define TFY_EFFECTS_PROCESS_WORDS_H

#include "effects/process.h"
#include "effects/watcher.h"

/* A zeroed struct is empty. */
typedef struct TfyProcessWords {
    TfyWatcherRequest request;
    TfyBuffer blob; /* its strings; owned */
    char *found;    /* in a cell: the file that would run outside; owned; NULL: none */
} TfyProcessWords;

/* mark, id: of the mark that its descendants inherit. 0 or an errno value. */
int tfy__process_words(const TfyProcessSpec *spec, uint64_t mark, uint32_t id, TfyProcessWords *words);

#endif
