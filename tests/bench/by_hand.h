/* by_hand.h: the neighbours of nested calls and of short tasks: what C does without a scheduler. */
#ifndef BY_HAND_H
#define BY_HAND_H

#include <stddef.h>
#include <stdint.h>

/* A function that calls another one so many times through a pointer, with one argument and one result; every frame lies on a stack of the
 * program's own: taken, zeroed, filled, given back. Answers the seconds it took. */
double by_hand_calls(int64_t count);

/* So many pieces of memory of that size: malloc, push to a queue; pop, free. So many are alive at once. Answers the seconds it took. */
double by_hand_tasks(int64_t count, size_t size, int at_once);

#endif
