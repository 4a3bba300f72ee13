/* code_index.h: what is known of a project's code: its files, what each defines, and the identifiers that it uses.
 *
 * Everything is numbers in four arrays and one text, so that it is written to a file and read back as it is:
 *
 *   files     a path, how the file was when it was read, and its parts of the next two
 *   symbols   definitions, as universal-ctags found them, by line
 *   uses      an identifier and how often it is there
 *   strings   each once, by number from 1; 0: none
 *
 * The file below `.tfy` is derived: it can be removed at any time, and one that is damaged, or another version's,
 * counts as missing. */
#ifndef TFY_EFFECTS_CODE_INDEX_H
#define TFY_EFFECTS_CODE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/table.h"

enum {
    TFY_CODE_NAME = 200,      /* bytes of a name: a longer one is left out */
    TFY_CODE_TEXT = 160,      /* bytes that are kept of a line, a signature or a scope */
    TFY_CODE_SYMBOLS = 10000, /* of one file */
};

/* How a file was. All zero: it is read again in any case. */
typedef struct TfyCodeStamp {
    uint64_t inode;
    int64_t size, modified_ns, changed_ns;
} TfyCodeStamp;

typedef struct TfyCodeSymbol {
    uint32_t name, kind, scope, signature, text; /* strings; text: the line where it is, trimmed */
    uint32_t line, end;                          /* from 1 */
    uint32_t local;                              /* 1: no other file can use it; 0 */
} TfyCodeSymbol;

typedef struct TfyCodeUse {
    uint32_t name, count;
} TfyCodeUse;

typedef struct TfyCodeFile {
    TfyCodeStamp stamp;
    uint32_t path;
    uint32_t symbol_at, symbol_count; /* in symbols */
    uint32_t use_at, use_count;       /* in uses */
    uint32_t language;                /* as ctags names it, "C"; 0: it has no symbols */
} TfyCodeFile;

/* A zeroed struct is an empty index. */
typedef struct TfyCodeIndex {
    TfyBuffer text;   /* the strings, each with its NUL */
    uint32_t *starts; /* of the strings, in text */
    uint64_t *keys;   /* of the strings, in by_key; not read from a file, so nothing can be added to such an index */
    TfyIndex by_key;
    uint32_t *seen; /* by string: its use in the file that is being read, from 1 */
    TfyCodeFile *files;
    TfyCodeSymbol *symbols;
    TfyCodeUse *uses;
    uint32_t string_count, start_cap, key_cap, seen_cap, file_count, file_cap, symbol_count, symbol_cap, use_count,
        use_cap;
    bool failed; /* memory ran out: what was added last is missing */
} TfyCodeIndex;

void tfy__code_index_free(TfyCodeIndex *index);

/* A string by its number; "" for 0. */
static inline const char *tfy__code_text(const TfyCodeIndex *index, uint32_t string)
{
    return string ? index->text.data + index->starts[string - 1] : "";
}

/* The number of a string, which is added if it is new; 0: no memory. */
uint32_t tfy__code_string(TfyCodeIndex *index, const char *text, size_t len);
/* Adds a file without symbols and uses; its number. */
uint32_t tfy__code_add_file(TfyCodeIndex *index, const char *path, const TfyCodeStamp *stamp);
/* Adds a file as another index has it. strings: by number of `from`, what it is here, or 0; it is filled as needed. */
void tfy__code_copy_file(TfyCodeIndex *index, const TfyCodeIndex *from, const TfyCodeFile *file, uint32_t *strings);
/* Adds to the file that was added last. */
void tfy__code_add_symbol(TfyCodeIndex *index, const TfyCodeSymbol *symbol);
void tfy__code_add_uses(TfyCodeIndex *index, const char *text, size_t len);
/* The symbols of a file that were added last, from this one on, become those of the file. They are sorted by line. */
void tfy__code_end_symbols(TfyCodeIndex *index, uint32_t file, uint32_t from);

/* The next identifier in [at, end), which is all of [*word, returned); NULL: there is none. */
const char *tfy__code_word(const char *at, const char *end, const char **word);

/* The line at `at`, trimmed and cut, with spaces for what cannot be shown; its length. */
size_t tfy__code_line(const char *at, const char *end, char text[TFY_CODE_TEXT]);

/* Reads the derived file of the root. False: there is none that can be used, and the index is empty. */
bool tfy__code_load(int root_fd, TfyCodeIndex *index);
/* The same from its bytes, of which the index takes what it needs. */
bool tfy__code_read(const char *bytes, size_t len, TfyCodeIndex *index);
/* Writes it, whole or not at all. What cannot be written is made again the next time. */
void tfy__code_save(int root_fd, const TfyCodeIndex *index);

#endif
