/* people.h: reads lines such as "Ada,36" into records. */
#ifndef PEOPLE_H
#define PEOPLE_H

#define NAME_MAX_BYTES 63

typedef struct Person {
    char name[NAME_MAX_BYTES + 1];
    int age; /* whole years */
} Person;

/* Reads one line, "NAME,AGE" with an optional newline. 0 on success, -1 when the line is malformed (then *person is unchanged). */
int person_parse(const char *line, Person *person);

#endif
