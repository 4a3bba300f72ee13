/* desktop.h: opens things for the person at this machine, with xdg-open. */
#ifndef BASE_DESKTOP_H
#define BASE_DESKTOP_H

#include <stdbool.h>

/* Opens a file or an address in the person's browser, which lives on by itself. Every user of the machine can see the
 * words of a command, so an address that lets in whoever has it must not be one. False: there is no xdg-open. */
bool tfy__desktop_open(const char *what);

#endif
