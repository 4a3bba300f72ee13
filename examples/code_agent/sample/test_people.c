#include "people.h"

#include <stdio.h>
#include <string.h>

static int failures;

static void check(int ok, const char *what)
{
    if (ok) return;
    failures++;
    printf("FAIL: %s\n", what);
}

int main(void)
{
    Person person;
    check(person_parse("Ada,36\n", &person) == 0 && strcmp(person.name, "Ada") == 0 && person.age == 36,
          "a plain line is read");
    check(person_parse("Zoe,0", &person) == 0 && person.age == 0, "age zero is accepted");
    check(person_parse("Bob", &person) == -1, "a line without a comma is refused");
    check(person_parse(",12", &person) == -1, "an empty name is refused");
    check(person_parse("Bob,old", &person) == -1, "an age that is no number is refused");
    check(person_parse("Bob,-1", &person) == -1, "a negative age is refused");
    check(person_parse("Bob,4000000000", &person) == -1, "an age beyond 200 is refused");
    if (failures)
        printf("%d failed\n", failures);
    else
        printf("all passed\n");
    return failures != 0;
}
