/* report.h: JSON that commands read and print: members with a default, and a report on stdout. */
#ifndef CLI_FRAME_REPORT_H
#define CLI_FRAME_REPORT_H

#include <jansson.h>
#include <stddef.h>

/* A member that is a text; "" when there is none. */
const char *tfy__json_text(const json_t *object, const char *name);
/* A member that is a whole number; 0 when there is none. */
long long tfy__json_number(const json_t *object, const char *name);

/* Print a report on stdout and release it: over several lines with this format of jansson, or as one line. */
void tfy__report_print(json_t *report, size_t format);
void tfy__report_line(json_t *report);

#endif
