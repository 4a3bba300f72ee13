/* named.h: runs that their starter names (run --id NAME). Starting one again is the same run, not a second one. */
#ifndef CLI_PROGRAM_NAMED_H
#define CLI_PROGRAM_NAMED_H

#include "cli/frame/cli.h"
#include "tfy_program.h"

/* What is to be done about a run of that name. */
typedef enum TfyNamed {
    TFY_NAMED_FAILED, /* status says how, after a message */
    TFY_NAMED_NEW,    /* there is none yet */
    TFY_NAMED_ENDED,  /* its outcome was printed; status is its process's */
    TFY_NAMED_UNFINISHED
} TfyNamed;

/* Looks for the run with the name, in the database of the arguments. params: JSON. run gets its uuid in any case. A run
 * with other arguments is refused, and so is an unfinished one of another version of the program. */
TfyNamed tfy__named_find(const TfyArgs *args, const TfyProgram *program, const TfyWorkflow *workflow,
                         const char *params, char run[37], int *status);

#endif
