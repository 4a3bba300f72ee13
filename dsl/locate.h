/* locate.h: from a place in the text to what is there.
 *
 * A pure question about a checked tree: it changes nothing and makes nothing. The program may have mistakes; what
 * the checker could not understand is answered with LOC_NONE. */
#ifndef DSL_LOCATE_H
#define DSL_LOCATE_H

#include "type.h"

typedef enum LocateKind {
    LOC_NONE,
    /* variable; type, which may be narrower than the variable's */
    LOC_VARIABLE,
    LOC_DECL,          /* decl: a use of its name, or the name itself */
    LOC_FIELD,         /* field of owner: a record, an error or a case */
    LOC_PARAM,         /* param of decl, at a call that names it */
    LOC_CASE,          /* case_index of decl */
    LOC_BUILTIN,       /* builtin: an effect, or a method of type's values */
    LOC_BUILTIN_PARAM, /* builtin and builtin_param, at a call that names it */
    LOC_TYPE,          /* type: a built-in record or error, by its name */
    LOC_TYPE_PARAM,    /* type_param of decl */
} LocateKind;

typedef struct Located {
    LocateKind kind;
    Span span; /* the name that is there */
    const Type *type;
    const Variable *variable;
    const Decl *decl;
    const char *owner; /* name of what has the field */
    const TypeField *field;
    const Field *param;
    uint32_t case_index;
    const Builtin *builtin;
    const BuiltinParam *builtin_param;
    const Binding *type_param;
    const char *types; /* LOC_DECL: a generic fn is called here with "T is int"; else NULL */
    /* LOC_DECL, LOC_BUILTIN: the row of a prompt's `tools` that the name is in; else NULL */
    const struct Target *row;
    Span target;       /* where it is declared; len 0: the language brings it */
} Located;

/* What the name at a global offset means; the end of a name belongs to it. */
Located locate_at(const Program *program, uint32_t off);

/* The type of the value that a '.' directly before the name at `off` looks into; NULL when there is none. *name_decl
 * gets the enum, import or agent when the left side is the name of one. */
const Type *locate_receiver(const Program *program, uint32_t off, const Decl **name_decl);

/* Calls `found` for every variable whose scope holds the offset, in order of declaration. */
typedef void LocateFound(void *state, const Variable *variable);
void locate_scope(const Program *program, uint32_t off, LocateFound *found, void *state);

/* Calls `name` for every name in one file of the program, in no order that means anything. A name that stands for two
 * things is passed twice. */
typedef void LocateName(void *state, const Located *name);
void locate_names(const Program *program, const Source *source, LocateName *name, void *state);

#endif
