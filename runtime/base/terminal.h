/* terminal.h: the standard streams of a process, made safe for a terminal.
 *
 * A command prints words of its own mixed with text from outside, and the author of the next command will not think
 * of that. So the code that prints needs to do nothing: if standard output or standard error is a terminal, its
 * stream is replaced by one that escapes all text as shown.h says. Only code that writes terminal codes must say so.
 * Pipes and files receive every byte unchanged. */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

#include <stdio.h>

/* Call it first in main, before anything is printed. */
void tfy__terminal_guard(void);

/* Writes codes that the terminal must obey. They must not contain anything from outside. */
void tfy__terminal_codes(FILE *out, const char *codes);

/* Returns the width of the terminal; 0: the descriptor is not a terminal, or its width is unknown. */
int tfy__terminal_columns(int fd);

#endif
