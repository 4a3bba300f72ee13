/* grammar_probe.h: the parser lemon generates, and questions to it that leave it as it is.
 *
 * The newline rule and the list of expected tokens need to know what the automaton would do. Looking only at the
 * state on top gives wrong answers, because a reduction may lead into a state that takes nothing of the kind; so the
 * whole run is followed. */
#ifndef DSL_GRAMMAR_PROBE_H
#define DSL_GRAMMAR_PROBE_H

#include "ast_build.h"
#include "token.h"

void *grammar_Alloc(void *(*allocate)(size_t), Build *build);
void grammar_Free(void *parser, void (*release)(void *));
void grammar_(void *parser, int kind, Token token);

/* What a word counts as where no rule wants the word itself: TOK_ID, or 0 for a reserved one. */
int grammar_Fallback(int kind);

/* Kinds of token are 0 … grammar_kind_count - 1. */
extern const int grammar_kind_count;

/* Whether the parser would shift this kind of token next. `takes` lets a word that has a meaning only in places
 * count as a name; `wants` asks for the meaning itself. */
bool grammar_takes(void *parser, int kind);
bool grammar_wants(void *parser, int kind);

/* Reduces the rules that are complete whatever comes next. BAD reduces nothing, so without this it would take a
 * finished statement or a closed block apart. */
void grammar_settle(void *parser);

/* How many symbols are on the stack. */
uint32_t grammar_depth(void *parser);

#endif
