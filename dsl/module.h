/* module.h: the files of a program. An import names a file, and a file is a module; nothing else is known about files
 * behind this.
 *
 * A path is looked for beside the file that imports it, then in each directory of the search list. A file is loaded
 * once, whatever names lead to it. A stored program (the log keeps the text of every run) is loaded from a bundle
 * instead, where each import says which of its files it means: an old run is built again from what it was built from,
 * and no directory is searched.
 *
 * A bundle is JSON: {"modules": [{"file", "text", "imports": {PATH: number of a module}}]}, the main file first.
 * Without "imports" a path is looked for beside its file, among the files of the bundle and nowhere else. */
#ifndef DSL_MODULE_H
#define DSL_MODULE_H

#include "ast.h"
#include "diag.h"

#define MODULES_MAX 1000 /* files of one program */

/* Directories that are searched after the importing file's own, in order. */
typedef struct ModulePaths {
    const char **dirs;
    uint32_t count;
} ModulePaths;

/* Parses a program's main file and every file it imports, directly or not: a list, the main file first, the others
 * in the order in which they are first named. What cannot be read and circles of imports are reported at their
 * import. Never NULL. */
Module *module_load(SourceSet *sources, Source *main, const ModulePaths *paths, Arena *arena, DiagList *diags);

/* The same from the text of a bundle; NULL with a sentence in *problem when it is none. name is the bundle's, for
 * messages. */
Module *module_load_bundle(SourceSet *sources, const char *text, size_t len, Arena *arena, DiagList *diags,
                           const char **problem);

#endif
