#include "people.h"

#include <stdlib.h>
#include <string.h>

int person_parse(const char *line, Person *person)
{
    const char *comma = strchr(line, ',');
    if (!comma || comma == line || comma - line > NAME_MAX_BYTES) return -1;

    char *end;
    long age = strtol(comma + 1, &end, 10);
    if (end == comma + 1) return -1;
    if (*end != '\0' && *end != '\n') return -1;

    memcpy(person->name, line, (size_t)(comma - line));
    person->name[comma - line] = '\0';
    person->age = (int)age;
    return 0;
}
