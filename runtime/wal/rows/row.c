/* row.c: recognizes a saved table by its text in the schema. */
#include "wal/rows/row.h"

#include <stdio.h>
#include <string.h>

bool tfy__saved_table_text(const char *name, const char *sql)
{
    char head[SAVED_NAME + 160];
    const int len = snprintf(head, sizeof head, "CREATE TABLE \"%s\"" SAVED_HEAD, name);
    return len < (int)sizeof head && strncmp(sql, head, (size_t)len) == 0;
}
