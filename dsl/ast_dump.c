/* ast_dump.c: the tree as text. */
#include "parse.h"

void ast_dump(const Module *module, FILE *out)
{
    for (const Decl *decl = module->decls; decl; decl = decl->next)
        fprintf(out, "%d %s\n", (int)decl->kind, decl->name.text ? decl->name.text : "");
}
