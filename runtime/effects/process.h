/* process.h: tools as child processes of the loop's watcher: started without a shell, their output collected
 * without blocking.
 *
 * A tool receives: exactly the given argv; an environment of the names in the list below, plus what the caller
 * gives, plus TFY_KEY (the step's key, by which tools can recognise a repetition), TFY_PROCESS (a mark by which
 * runaway descendants are found) and, in a shared database, TFY_FENCE (a number that grows with each owner of the
 * run, so that a target can refuse a former one); a working directory; stdin as an unnamed file that holds the text,
 * or /dev/null; no terminal; no other descriptors but an empty file that is part of the mark (former.h). Its output is
 * read as it comes and kept up to a limit; the rest is read and thrown away, so that the tool never blocks on the
 * runtime and never takes its memory. A caller that talks with the process gives it standard files of its own instead,
 * reads and writes their other ends itself, and is told the end as soon as the process exits. Names without a slash are
 * searched for in the absolute directories of the PATH that the tool is given.
 *
 * A tool in a cell is ended when all its processes together pass the limits of its plan (family.h).
 *
 * Processes that a tool leaves running when it exits live on until the loop closes; if it failed, until the next
 * process of the same key starts. Aborting a step (a timeout, a kill) ends the tool and all its descendants,
 * including those that left its group, session and environment. The next process of the same key starts when none
 * of them is left; a set-uid descendant, which may not be signalled, is waited for.
 *
 * The death of the watcher is not an outcome of a step. The loop stops (TFY_E_LOST) as if this process had been
 * killed; the resume finds out what the tools did. A watcher or a tool that cannot be started is an error of that
 * start.
 *
 * Passed on: PATH HOME LANG LANGUAGE LC_* TZ TMPDIR USER LOGNAME SHELL TERM XDG_CONFIG_HOME. All other variables
 * (keys of model services, GIT_DIR, LD_PRELOAD …) are withheld. */
#ifndef TFY_EFFECTS_PROCESS_H
#define TFY_EFFECTS_PROCESS_H

#include "core/effect.h"

/* tools running at once per loop (three descriptors each); more wait their turn */
#define TFY_PROCESS_AT_ONCE 200
/* how long to wait for output of processes that a tool left behind when it exited */
#define TFY_PROCESS_LINGER_MS 200

typedef struct TfyProcess TfyProcess;

/* Borrowed for the call of tfy__process_start. */
typedef struct TfyProcessSpec {
    const char *const *argv; /* NULL-terminated, at least one */
    /* NULL-terminated "NAME=value", each replaces the variable that would be passed on; may be NULL */
    const char *const *env;
    /* the step's key; while an aborted process of the same key is still dying, this one waits */
    const char *key;
    int64_t fence;       /* of the call (core/effect.h); 0: none */
    int cwd_fd;          /* directory to run in; duplicated */
    const char *input;   /* stdin; NULL: /dev/null */
    size_t input_len;    /* bytes */
    const int *standard; /* its stdin, stdout and stderr, duplicated; NULL: as above */
    size_t output_cap;   /* bytes kept of each output; 0: tfy__output_most */
    /* its cell (sandbox.h); NULL, or an open one: it has the rights of this process. The lists of hosts in it stay until
     * the handler is called or the process is aborted */
    const struct TfyConfined *confined;
} TfyProcessSpec;

/* How a process ended; borrowed for the call of the handler. */
typedef struct TfyProcessEnd {
    int error; /* 0: it ran; an errno value: it could not be started */
    /* … for lack of descriptors, processes or memory: it can be tried again later */
    bool no_room;
    char message[256];     /* one sentence if error is not 0 */
    int code;              /* exit code, or 128 + signal */
    int signal;            /* 0, or the signal that ended it */
    char passed[80];       /* what it did that passed one of its limits, for which it was ended; "": it was not */
    TfyBuffer out, err;    /* as printed; may be invalid UTF-8 */
    bool out_cut, err_cut; /* more was printed than kept */
    char refused[272];     /* the first "host:port" that its list of hosts did not allow; "": none */
} TfyProcessEnd;

typedef void (*TfyProcessHandler)(void *arg, const TfyProcessEnd *end);

/* Is this entry of the environment, "NAME=value", passed on to tools? */
bool tfy__process_passes_on(const char *entry);

/* Starts a process; handler is called once, later, from the loop, unless the process is aborted before. NULL:
 * errno says why. */
TfyProcess *tfy__process_start(TfyLoop *loop, const TfyProcessSpec *spec, TfyProcessHandler handler, void *arg);

/* The handler will not be called any more; the tool and its descendants receive SIGTERM, after 2 s SIGKILL. The
 * handle becomes invalid. */
void tfy__process_abort(TfyProcess *process);

/* Ends every process that still lives and the watcher, and waits for their end. */
void tfy__process_close(TfyLoop *loop);

/* The text as valid UTF-8 (invalid sequences become U+FFFD): borrowed, or NULL after a panic. *lossy is set if
 * something was replaced; with cut, an incomplete last character is dropped, which is not a loss. */
TfyObj *tfy__process_text(TfyTask *task, const TfyBuffer *output, bool cut, bool *lossy);

#endif
