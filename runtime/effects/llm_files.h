/* llm_files.h: the files that a prompt sends along with its text (llm_files.c). Only programs with such prompts carry
 * the code that reads files: their tools name tfy__sending. */
#ifndef EFFECTS_LLM_FILES_H
#define EFFECTS_LLM_FILES_H

#include "core/effect.h"
#include "effects/llm_form.h"

typedef struct TfyLlmReading TfyLlmReading;

/* All files are read. The receiver owns them. */
typedef void (*TfyLlmFilesRead)(void *arg, TfyLlmFiles *files);

typedef struct TfySending {
    /* What the files may come to, in tokens: a third of their bytes, and of an image 8192 at most. A file that cannot be
     * read is reported when it is sent. False: task->error is set. */
    bool (*reserve)(TfyCall *call, int64_t *tokens);
    /* Reads the files on a thread of the pool, inside the root and by the rules of read_file. NULL: it could not begin, and
     * the call has ended. Afterwards either done is called, or failed before the call ends. */
    TfyLlmReading *(*read)(TfyCall *call, TfyLlmFilesRead done, void (*failed)(void *arg), void *arg);
    void (*let_go)(TfyLlmReading *reading); /* nobody needs them any more: neither is called */
    void (*close)(TfyLoop *loop);
} TfySending;

#endif
