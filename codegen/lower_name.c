/* lower_name.c: what variables are called in C: as in the source where C allows it, and never twice in a routine. */
#include <string.h>

#include "lower.h"

struct NameSlot {
    const char *name;
};

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

static uint32_t hash_name(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 16777619u;
    return hash;
}

/* Takes a name; false: somebody has it already. */
static bool take_name(Lower *l, const char *name)
{
    if (l->name_count * 2 >= l->name_cap) {
        uint32_t old_cap = l->name_cap, cap = old_cap ? old_cap * 2 : 32;
        NameSlot *old = l->names;
        l->names = arena_alloc(l->arena, cap * sizeof *l->names);
        l->name_cap = cap;
        l->name_count = 0;
        for (uint32_t i = 0; i < old_cap; i++)
            if (old[i].name) take_name(l, old[i].name);
    }
    uint32_t at = hash_name(name) & (l->name_cap - 1);
    for (; l->names[at].name; at = (at + 1) & (l->name_cap - 1))
        if (strcmp(l->names[at].name, name) == 0) return false;
    l->names[at].name = name;
    l->name_count++;
    return true;
}

const char *lower_unique_name(Lower *l, const char *name, uint32_t id)
{
    if (!is_reserved(name) && take_name(l, name)) return name;
    /* No reserved name starts like this, so that the loop ends. */
    const char *other = arena_printf(l->arena, is_reserved(name) ? "v_%s_%u" : "%s_%u", name, id);
    while (is_reserved(other) || !take_name(l, other)) other = arena_printf(l->arena, "v_%s", other);
    return other;
}
