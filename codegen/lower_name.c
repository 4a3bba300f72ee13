/* lower_name.c: what variables are called in C: as in the source where C allows it, and never twice in a routine. */
#include <string.h>

#include "lower.h"

/* i1, o2 …: temporaries; A0 …: saved arguments. */
static bool is_temp_like(const char *name)
{
    if (!name[0] || !strchr("Aifbovp", name[0]) || !name[1]) return false;
    return strspn(name + 1, "0123456789") == strlen(name + 1);
}

/* Words that mean something to C, to tfy_program.h's own includes or to the text around a routine. */
static bool is_reserved(const char *name)
{
    static const char *const words[] = {
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "asm",
        "typeof",
        "bool",
        "true",
        "false",
        "unix",
        "linux",
        "i386",
        "offsetof",
        "head",
        "out",
        "frame",
        "main",
        "t",
        "F",
        "A",
        "C",
        "M",
        "R",
        "X",
        "E",
        "NULL",
        "alignas",
        "alignof",
        "noreturn",
        "errno",
        "assert",
        "constexpr",
        "nullptr",
        "thread_local",
        "static_assert",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0) return true;
    static const char *const starts[] = {"INT",   "UINT",  "SIZE",  "PTR",  "TFY", "tfy",   "Tfy", "int8",
                                         "int16", "int32", "int64", "uint", "_",   "WCHAR", "SIG", "WINT"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0) return true;
    return is_temp_like(name);
}

/* Takes a name; false: somebody has it already. */
static bool take_name(Lower *l, const char *name)
{
    return table_add(l->arena, &l->names, name, strlen(name))->number++ == 0;
}

const char *lower_unique_name(Lower *l, const char *name, uint32_t id)
{
    char *plain = arena_strndup(l->arena, name, strlen(name));
    for (char *dot = plain; (dot = strchr(dot, '.')); dot++) *dot = '_'; /* of what the compiler writes */
    name = plain;
    if (!is_reserved(name) && take_name(l, name)) return name;
    /* No reserved name starts like this, so that the loop ends. */
    const char *other = arena_printf(l->arena, is_reserved(name) ? "v_%s_%u" : "%s_%u", name, id);
    while (is_reserved(other) || !take_name(l, other)) other = arena_printf(l->arena, "v_%s", other);
    return other;
}
