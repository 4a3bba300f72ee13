/* syntax.c: what is wrong with a tree that fits the grammar. */
#include "parse_internal.h"

void syntax_check(const Build *b, const Module *module)
{
    (void)b;
    (void)module;
}
