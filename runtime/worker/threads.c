/* threads.c: see threads.h. */
#include "worker/threads.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

enum { STACK_BYTES = 65536 /* of a handler, when a thread's own is used up */ };

/* Handlers have no arguments of their own. */
static TfyChildPage *page;
static _Thread_local uint32_t own_place; /* of the loop of this thread, from 1; 0: it has none */
static _Thread_local void *own_stack;

static void note_death(void)
{
    if (page && own_place) page->died = (int32_t)own_place;
}

/* The default action is back in force, and ends the process. */
static void on_fatal(int number)
{
    note_death();
    raise(number);
}

void tfy__deaths_watch(TfyChildPage *child_page)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
    const struct sigaction action = {.sa_handler = on_fatal, .sa_flags = SA_RESETHAND | SA_NODEFER | SA_ONSTACK};
    struct sigaction old;
    page = child_page;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
    atexit(note_death); /* a C function that exits */
}

void tfy__deaths_enter(uint32_t place)
{
    own_place = place + 1;
    if (!page || !(own_stack = malloc(STACK_BYTES))) return;
    sigaltstack(&(stack_t){.ss_sp = own_stack, .ss_size = STACK_BYTES}, NULL);
}

void tfy__deaths_leave(void)
{
    own_place = 0;
    if (own_stack) sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    free(own_stack);
    own_stack = NULL;
}
