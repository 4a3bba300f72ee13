/* cookie.h: the cookie of a session, among those that a browser sends. */
#ifndef SERVE_COOKIE_H
#define SERVE_COOKIE_H

#include <stdbool.h>
#include <stddef.h>

/* The value of a cookie in "a=b; c=d", which has less than `size` bytes. *twice: there is another one of its name; it stays
 * as it is otherwise. False: there is none, or it is longer. */
bool tfy__cookie_find(const char *cookies, const char *name, char *value, size_t size, bool *twice);

#endif
