/* report.h: JSON that commands read and print: members with a default value, and a report on stdout. */
#ifndef CLI_FRAME_REPORT_H
#define CLI_FRAME_REPORT_H

#include <jansson.h>
#include <stddef.h>

/* Returns a member that is a text; "" when it is absent. */
const char *tfy__json_text(const json_t *object, const char *name);
/* Returns a member that is a whole number; 0 when it is absent. */
long long tfy__json_number(const json_t *object, const char *name);

/* Returns the text of any JSON (malloc'ed), members in their order, floats in their shortest form. indent: blanks per
 * level; 0: on one line. NULL: out of memory. */
char *tfy__json_print(const json_t *json, int indent);

/* Print a report on stdout and release it: over several lines with so many blanks per level, or as one line. */
void tfy__report_print(json_t *report, int indent);
void tfy__report_line(json_t *report);

#endif
