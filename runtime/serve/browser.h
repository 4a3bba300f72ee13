/* browser.h: the person's browser, which xdg-open starts. */
#ifndef SERVE_BROWSER_H
#define SERVE_BROWSER_H

#include <stdbool.h>

/* Opens an address that lets in whoever has it. Every user of a machine sees the words of a command, so the browser gets a
 * file, "<db>-live/open.html", which only the server's user can read, and which leads there. The browser lives on by
 * itself. False: there is no xdg-open, or the file cannot be written. */
bool tfy__browser_open(const char *db, const char *address);
/* Removes the file. */
void tfy__browser_end(const char *db);

#endif
