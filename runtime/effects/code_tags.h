/* code_tags.h: what universal-ctags is asked, and its answer, which is not trusted: a source can make it say anything.
 *
 *   ctags --options=NONE --_interactive=sandbox …
 *
 * It reads texts from its input and opens no file: a name tells it the language alone. Each request is a line of JSON
 * with the text behind it. The answers are lines of JSON, tags, with a line at the end of each request. So the
 * definitions belong to the request under way, whatever path they say; and when ctags is ended by a text, it is known
 * by which. */
#ifndef TFY_EFFECTS_CODE_TAGS_H
#define TFY_EFFECTS_CODE_TAGS_H

#include "effects/code_index.h"

/* Its words, which NULL ends. */
extern const char *const tfy__tags_words[];

/* A request, in `input`. */
typedef struct TfyTagsRequest {
    uint32_t file;    /* of the index */
    size_t begin, at; /* where the request begins, and its text */
    size_t len;       /* bytes of the text */
} TfyTagsRequest;

typedef struct TfyTags {
    TfyBuffer input;
    TfyTagsRequest *requests;
    uint32_t count, cap;
    uint32_t done; /* requests that were answered, or ended ctags */
} TfyTags;

void tfy__tags_free(TfyTags *tags);
/* Forgets all requests, and keeps the memory. */
void tfy__tags_reset(TfyTags *tags);

/* Adds a request for a file of the index. False: no memory. */
bool tfy__tags_ask(TfyTags *tags, uint32_t file, const char *path, const char *text, size_t len);

/* Takes what a process answered to the requests from `done` on. It may be cut anywhere, and it may be anything: the
 * request under way then has no symbols, and counts as done. False: universal-ctags did not say a word. */
bool tfy__tags_take(TfyTags *tags, TfyCodeIndex *index, const char *answer, size_t len);

#endif
