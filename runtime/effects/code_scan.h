/* code_scan.h: brings an index up to date with the files of a project; only those that changed are read again.
 *
 *   listed names ─▶ stamps, compared with the derived file ─▶ changed texts ─▶ ctags, in parts ─▶ the new index
 *
 * A file is one of the project's code if it is a regular file that the program may read, not larger than TFY_CODE_FILE,
 * UTF-8 without NUL, and without a line longer than TFY_CODE_LINE. Any other is known by its name and has no symbols.
 * Links are not followed. A file that changed at most a second before it was read may change again and have the same
 * stamp: it is read again the next time. */
#ifndef TFY_EFFECTS_CODE_SCAN_H
#define TFY_EFFECTS_CODE_SCAN_H

#include <stdatomic.h>

#include "effects/code_index.h"
#include "effects/code_tags.h"
#include "effects/protect.h"

enum {
    TFY_CODE_FILES = 100000,  /* of one project */
    TFY_CODE_FILE = 1 << 20,  /* bytes */
    TFY_CODE_LINE = 16 << 10, /* bytes */
    TFY_CODE_PART = 16 << 20, /* bytes of texts that one ctags is given */
};

typedef struct TfyCodeScan {
    int root_fd;
    TfyProtect *protect;       /* owned */
    TfyBuffer listed;          /* the names, each with its NUL, in any order */
    const char **paths;        /* in listed; sorted, each once */
    uint32_t path_count, next; /* next: the first that was not looked at */
    TfyCodeIndex before, now;
    uint32_t *strings; /* of `before`, in `now` */
    uint32_t *old;     /* its files, sorted by path */
    uint32_t old_next; /* the first of them that is not behind the paths that were looked at */
    TfyTags tags;
    TfyBuffer text;   /* of the file that is being read */
    int64_t begun_ns; /* by the clock of files */
    bool changed;     /* the derived file is out of date */
    atomic_bool stop; /* nobody waits for it any more */
    int error;        /* an errno value */
} TfyCodeScan;

/* Sorts the names and reads the derived file. */
void tfy__scan_begin(TfyCodeScan *scan);
/* Looks at files until there is enough for one ctags, in scan->tags, or none is left. */
void tfy__scan_some(TfyCodeScan *scan);
/* Writes the derived file, if it is out of date. */
void tfy__scan_end(TfyCodeScan *scan);
void tfy__scan_free(TfyCodeScan *scan);

/* Reads one text of code; false: it is not one, or could not be read. */
bool tfy__scan_is_code(const char *text, size_t len);

#endif
