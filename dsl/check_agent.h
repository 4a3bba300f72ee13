/* check_agent.h: prompts that are agents (check_agent.c). */
#ifndef DSL_CHECK_AGENT_H
#define DSL_CHECK_AGENT_H

#include "agent.h"
#include "check_internal.h"

/* A prompt with a row `tools`, or with a parameter of type thread. */
bool agent_is(const Decl *prompt);

/* Makes the enum of its calls, without cases, and the declarations of its question and its loop. Before types are
 * filled, so that NAME.Call can be named anywhere. */
void agent_declare(Check *c, Decl *prompt);

/* Reads its rows and writes the loop. After all signatures are known. */
void agent_write(Check *c, Decl *prompt);

/* Agents that offer each other: true after a report. */
bool agent_refuse_circle(Check *c, const Decl *prompt);

/* ---- between the files that make it ---- */

struct Make;

enum { AGENT_ROUNDS_USUAL = 20, AGENT_ROUNDS_MAX = 1000 };

const PromptRow *agent_row(const Decl *prompt, const char *name); /* NULL: it has no such row */
/* A row that is a number, or what is usual; reports any other. */
int64_t agent_number(const struct Make *m, const char *name, int64_t usual, int64_t least, int64_t most);
void agent_offers(const struct Make *m); /* fills the agent's targets */
Block *agent_loop(const struct Make *m);
bool agent_reads(Check *c, const Decl *decl); /* it changes nothing, and neither does what it reaches */

#endif
