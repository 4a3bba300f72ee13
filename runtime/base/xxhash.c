/* xxhash.c: the one place where the functions of xxhash are made, from its header: a program carries those that it uses, and
 * needs no shared library for them. Their names begin with tfy__ (XXH_NAMESPACE, set for the whole build). */
#define XXH_STATIC_LINKING_ONLY
#define XXH_IMPLEMENTATION
#include <xxhash.h>
