/* terminal.h: the standard streams of a process that people look at.
 *
 * What a command prints is made of words of its own and text from outside, and the next command will be written by
 * somebody who does not think of that. So nothing is asked of those who print: where standard output or standard
 * error is a terminal, its stream is replaced by one that shows all text as shown.h says. Only who writes a code for
 * the terminal has to say so. Pipes and files get every byte as it is. */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

#include <stdio.h>

/* First of all in a main function, while nothing has been printed yet. */
void tfy__terminal_guard(void);

/* Writes codes that the terminal is to obey. They must not hold anything from outside. */
void tfy__terminal_codes(FILE *out, const char *codes);

#endif
